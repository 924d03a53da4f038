"""Collision checks of an arm among boxes, spheres, meshes and other objects."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arguments import check_kind, check_listed, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, ModelError, quote, tells_near_names
from ssik_ros.model.collision.checks import CollisionChecker, import_coal
from ssik_ros.model.collision.objects import (
    ObjectShape,
    place_objects,
    read_mesh_shape,
    read_objects,
    SolidKind,
    WorldObject,
)
from ssik_ros.model.default_seed import default_state
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.pose_input import is_position, pose, read_pose

ORIGIN = np.eye(4)
POSE_WORDS = ('xyz', 'rpy', 'quat', 'R')
"""Arguments of :func:`ssik_ros.pose`."""
_ARGUMENTS = {SolidKind.BOX: 'boxes', SolidKind.SPHERE: 'spheres', SolidKind.MESH: 'meshes'}
Items = Mapping[str, Any] | Iterable[Any]
"""Objects of one kind: ``(size, where)`` by name, or without names; ``where`` is a position or a pose."""


@tells_near_names
class ArmScene:
    """
    Tells whether links of an arm's robot collide with each other or with ``objects`` at a posture. Serves one thread.

    Only the first colliding pair is named. Joints outside the arm have their values in
    :func:`ssik_ros.model.default_seed.default_state`.
    """

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        boxes: Items = (),
        spheres: Items = (),
        meshes: Items = (),
        objects: Iterable[WorldObject] = (),
    ) -> None:
        """
        Load the collision shapes of the robot.

        :param robot: the robot.
        :param group: the joints of the arm.
        :param boxes: (edges, where) of each [m].
        :param spheres: (radius, where) of each [m].
        :param meshes: (file, where) of each, in metres.
        :param objects: more objects, as :func:`ssik_ros.paths.planner.plan_tool_path` takes them.
        :raises ModelError: when the robot has no collision shapes, and for an invalid object.
        :raises FileNotFoundError: if the file of a mesh does not exist.
        :raises SolverError: when coal, the collision library, is missing.
        :raises TypeError: for an object that is neither such a pair nor a mapping with ``size``, and for unknown keys.
        :raises ValueError: for a malformed pose, and for a file that is not a mesh.
        """
        check_kind('robot', robot, RobotModel)
        check_kind('group', group, JointGroup)
        given = (
            *_make('box', boxes, SolidKind.BOX),
            *_make('sphere', spheres, SolidKind.SPHERE),
            *_make('mesh', meshes, SolidKind.MESH),
            *check_listed('objects', objects),
        )
        self.objects = read_objects('objects', given)
        """The objects, in the frame of the arm's base link."""
        checker = CollisionChecker(robot)
        if not checker.available:
            more = ' '.join(checker.warnings)
            raise ModelError(
                f'Robot {quote(robot.name)} has no collision shapes, so that nothing can be checked: load a URDF with '
                f'<collision> elements. {more}'.rstrip()
            )
        self._idx_q, self._state = group.idx_q, default_state(robot)
        poses = compute_joint_poses(robot.tree, self._state)
        base = compute_link_pose(robot.tree, poses, robot.tree.link(group.base_link))
        self.in_model = place_objects(self.objects, base)
        """The objects, in the root link of the robot."""
        self._scene = checker.scene_of(self.in_model)

    def colliding_pair(self, q: FloatArray) -> tuple[str, str] | None:
        """
        Return the names of two bodies that collide, or None if no bodies do.

        The bodies are links and objects. If several pairs collide, the first one in the order of the shapes is
        returned: links, then objects.

        :param q: (n,) joint vector [rad or m].
        :raises ValueError: when the size is another or a value is not finite.
        :raises TypeError: for anything but real numbers.
        """
        state = self._state.copy()
        state[self._idx_q] = read_numbers('q', q, self._idx_q.shape)
        return self._scene.colliding_pair(state)

    def is_free(self, q: FloatArray) -> bool:
        """
        Return whether the robot collides neither with an object nor with itself at a posture.

        :param q: (n,) joint vector [rad or m].
        :raises TypeError, ValueError: as :meth:`colliding_pair`.
        """
        return self.colliding_pair(q) is None

    def __repr__(self) -> str:
        """Return a text with the names of the objects."""
        return f'<ArmScene: {", ".join(item.name for item in self.objects) or "no objects"}>'


def _make(noun: str, items: Items, kind: SolidKind) -> Iterable[WorldObject]:
    """
    Yield world objects of one kind, with names.

    Raise InvalidOption if ``items`` is not iterable; errors of :func:`_parts` and of a shape pass through.

    :param noun: beginning of the name of an object without a name, such as ``box`` for ``box 1``.
    :param items: objects as :func:`_parts` takes them, in a list or by name.
    :param kind: box, sphere or mesh.
    """
    if not isinstance(items, Iterable) or isinstance(items, str):
        refuse(_ARGUMENTS[kind], items, 'pairs (size, where), in a list or by name')
    named = items.items() if isinstance(items, Mapping) else _numbered(noun, items)
    for name, item in named:
        size, where = _parts(item, str(name))
        yield WorldObject(str(name), where, (_shape_of(kind, size, str(name)),))


def _parts(item: Any, name: str) -> tuple[Any, FloatArray]:
    """
    Return the size and the pose (4, 4) of one object.

    :param item: a pair (size, where), or a mapping with ``size`` and either ``pose`` or arguments of
        :func:`ssik_ros.pose`.
    :param name: name of the object, for messages.
    :raises InvalidOption: for another form.
    :raises ValueError: for numbers that do not form a position or a pose.
    """
    if isinstance(item, Mapping) and 'size' in item:
        where = {str(key): value for key, value in item.items() if key != 'size'}
        if where.keys() == {'pose'}:
            return item['size'], _place(where['pose'], name)
        if 'pose' in where:
            raise InvalidOption(
                f'{name}: an object has a pose, or xyz and one rotation, not both.'
            )
        for word in sorted(where.keys() - POSE_WORDS):
            raise InvalidOption.unknown(
                f'{name}: an object has no {quote(word)}', word, ('size', 'pose', *POSE_WORDS)
            )
        return item['size'], pose(**where)
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise InvalidOption(
            f'{name}: an object is a pair (size, where), such as ((0.1, 0.2, 0.3), (0.5, 0, 0.2)) for a box, or a mapping '
            f'such as dict(size=(0.1, 0.2, 0.3), xyz=(0.5, 0, 0.2)), not {shown(item)}.'
        )
    return item[0], _place(item[1], name)


def _numbered(noun: str, items: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    """Give each object a name of ``noun`` and a number from 1, such as ``box 1``; return pairs (name, object)."""
    return ((f'{noun} {number}', item) for number, item in enumerate(items, start=1))


def _shape_of(kind: SolidKind, size: Any, name: str) -> ObjectShape:
    """Return the shape of an object; ``size`` is edges or radius [m], or the path of a mesh."""
    if kind is SolidKind.MESH:
        if not isinstance(size, str | Path):
            refuse(name, size, 'the path of a file')
        return read_mesh_shape(Path(size), 1.0, import_coal())
    return ObjectShape(kind, np.atleast_1d(read_numbers(name, size)).tolist(), ORIGIN)


def _place(where: Any, name: str) -> FloatArray:
    """Return the pose (4, 4) of an object; a position (3,) gets the identity as its rotation."""
    return pose(where) if is_position(where) else read_pose(where, name)
