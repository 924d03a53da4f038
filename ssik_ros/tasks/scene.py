"""
Scenes: a robot and frames around it, which environments copy, and whose joints they can move.

A scene is any object with the four methods of :class:`Scene`. A :class:`RobotScene` has a robot from a URDF and joint
values in memory. :class:`ssik_ros.ros.streams.ros_scene.RosScene` has a running robot, over ROS 2 topics and tf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
import math
import os
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_kind, check_listed, check_mapping, read_float
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import FrameNotFound, JointNotFound, ModelError, quote
from ssik_ros.kernels.geometry.rotations import invert_pose, pose_numbers
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.problem import rotation_to_axis
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.pose_formats import (
    compose,
    IDENTITY,
    invert,
    joint_motion,
    read_pose,
    read_quaternion,
    to_matrix,
)
from ssik_ros.value_class import dataclass

Positions = Mapping[str, float | Sequence[float] | FloatArray]
STAND_IN_LIMIT = 1e4
"""Limit of a joint that needs one but has none in its file [rad or m]."""
TO_X = rotation_to_axis(np.array([1.0, 0.0, 0.0]))
TO_Y = rotation_to_axis(np.array([0.0, 1.0, 0.0]))


@dataclass(frozen=True)
class SceneItem:
    """One frame of a scene: a joint, which moves about or along its z axis, or a link or other frame without ``joint``."""

    name: str
    parent: str | None
    """Name of the item that carries this item, with its joint motion; None for the world."""
    pose: FloatArray
    """(12,) pose in the parent, without the joint's own motion: rotation matrix row by row, then translation [m]."""
    joint: JointType | None = None
    """Type of the joint; None for a link or another frame."""
    limits: tuple[float, float] | None = None
    """Lower and upper limit [rad or m]; None for a joint without limits."""
    screw_lead: float = 0.0
    """Translation along the axis per whole turn of a revolute joint [m]; 0 for no screw."""
    master: str | None = None
    """Name of the joint whose value this joint follows; None for a free joint."""
    multiplier: float = 1.0
    """Factor of the master's value in the value of this joint."""
    offset: float = 0.0
    """Added to multiplier * master's value [rad or m]."""
    passive: bool = False
    """Whether the joint is not to be moved by a solve."""


class Scene(Protocol):
    """Interface of a scene: it gives frames, joint values and poses, and takes joint values."""

    def structure(self) -> Sequence[SceneItem]:
        """Return all frames (links, joints and others), each after its parent."""
        ...

    def joint_positions(self) -> Positions:
        """Return the values of all joints by name [rad or m]; a quaternion x, y, z, w for a spherical joint."""
        ...

    def pose(self, frame: str, relative_to: str | None = None) -> FloatArray:
        """Return the pose (4, 4) of a frame at the present joint values, relative to another frame or to the world (None)."""
        ...

    def apply(self, positions: Positions) -> None:
        """
        Set the values of the named joints [rad or m].

        A joint that a controller drives gets its value as a target of the controller instead.
        """
        ...


@dataclass(frozen=True)
class LinkedTask:
    """A task that was added from a scene, with the frames and joints that are exchanged with the scene for it."""

    task_set: int
    """Handle of the task set."""
    base: str | None
    target: str
    """Names of base and target in the scene; None for the world as base."""
    joints: tuple[str, ...]
    """Names, in the scene, of the joints that tip and target hang on, and of all dependent ones."""


@dataclass
class SceneMaps:
    """A record of the frames that an environment copied from a scene, with their copies, and of the tasks added from it."""

    scene: Scene
    to_ik: dict[str, int] = field(default_factory=dict)
    """Name in the scene -> handle in the environment."""
    tasks: list[LinkedTask] = field(default_factory=list)
    """Tasks that were added from the scene."""

    @property
    def to_scene(self) -> dict[int, str]:
        """Return a mapping from the handle of each copied object in the environment to its name in the scene."""
        return {handle: name for name, handle in self.to_ik.items()}

    def copy(self) -> SceneMaps:
        """Return a copy with its own tables, for the same scene."""
        return replace(self, to_ik=dict(self.to_ik), tasks=list(self.tasks))


class RobotScene:
    """A scene without ROS: a robot from a URDF with joint values in memory, and frames that the user adds."""

    def __init__(
        self,
        robot: RobotModel | str | os.PathLike[str],
        positions: Positions | None = None,
        passive: Sequence[str] = (),
    ) -> None:
        """
        Make a scene of a robot.

        :param robot: a loaded robot, or path or text of its URDF.
        :param positions: values of joints by name [rad or m]; other joints get the robot's default positions.
        :param passive: names of joints that solves must not move.
        :raises FrameNotFound: for an unknown name in ``passive``.
        :raises SsikError: for an unknown joint or a wrong value in ``positions``, or a robot that cannot be loaded.
        """
        model = robot if isinstance(robot, RobotModel) else load_robot(robot)
        names = [
            check_kind('passive', name, str, 'names of joints')
            for name in check_listed('passive', passive)
        ]
        self.name = model.name
        self._passive = frozenset(names)
        self._items = {item.name: item for item in _tree_items(model, self._passive)}
        for name in names:
            self._item(name)
        self._positions = joint_values_of(model.tree, model.default_positions())
        self.driven: set[str] = set()
        """Joints that a controller drives: an applied value becomes their target."""
        self.targets: dict[str, float | FloatArray] = {}
        """Last values that were applied to driven joints."""
        self._write({} if positions is None else positions)

    def _item(self, name: str) -> SceneItem:
        """Return a frame of the scene by its name; raise FrameNotFound for an unknown name."""
        if not isinstance(name, str) or name not in self._items:
            raise FrameNotFound.unknown(
                f'Scene {quote(self.name)} has no frame {quote(name)}', name, self._items
            )
        return self._items[name]

    def structure(self) -> Sequence[SceneItem]:
        """
        Return all links, joints and added frames.

        Each comes after its parent, unless a frame was moved to a parent that was added after it.
        """
        return tuple(self._items.values())

    def joint_positions(self) -> Positions:
        """Return the values of all joints by name [rad or m]; a quaternion x, y, z, w for a spherical joint."""
        return dict(self._positions)

    def set_frame(self, name: str, pose: ArrayLike, parent: str | None = None) -> None:
        """
        Add a frame, or move a frame that was added before.

        :param name: name of the frame. A link of the robot with this name is replaced by the frame.
        :param pose: in the parent: 7 or 12 numbers, or a matrix.
        :param parent: name of the frame that carries this frame; None for the world.
        :raises ModelError: if ``name`` is a joint, or if the frame would carry its parent.
        :raises FrameNotFound: for an unknown parent.
        :raises InvalidTarget: if the pose is not a finite rigid transform.
        :raises TypeError, ValueError: if name, parent or pose have another form.
        """
        check_kind('name', name, str, 'a text')
        if name in self._items and self._items[name].joint is not None:
            raise ModelError(f'{quote(name)} is a joint of scene {quote(self.name)}.')
        if parent is not None:
            above: str | None = check_kind('parent', parent, str, 'the name of a frame')
            while above is not None:
                if above == name:
                    raise ModelError(
                        f'{quote(parent)} cannot carry {quote(name)}, which carries it.'
                    )
                above = self._item(above).parent
        self._items[name] = SceneItem(name, parent, read_pose(pose, f'pose of {quote(name)}'))

    def pose(self, frame: str, relative_to: str | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of a frame at the present joint values, relative to another frame or to the world (None).

        :raises FrameNotFound: for an unknown name.
        """
        pose = self._world_pose(frame)
        if relative_to is not None:
            pose = compose(invert(self._world_pose(relative_to)), pose)
        return to_matrix(pose)

    def _world_pose(self, name: str | None) -> FloatArray:
        """Return the pose (12,) of a frame in the world at the present joint values; the identity for None."""
        pose = np.array(IDENTITY)
        while name is not None:
            item = self._item(name)
            local = item.pose
            if item.joint is not None:
                motion = joint_motion(item.joint, self._positions[name], item.screw_lead)
                local = compose(local, motion)
            pose = compose(local, pose)
            name = item.parent
        return pose

    def apply(self, positions: Positions) -> None:
        """
        Set joint values by name [rad or m]; limits are not checked.

        A spherical joint takes a quaternion x, y, z, w. Values of joints in ``driven`` are stored in ``targets`` only.
        Then each mimic joint whose leader is not in ``driven`` gets the value that follows from its leader. A value
        given for it has no effect.

        :raises SsikError: for an unknown joint or a wrong value; ``targets`` may have changed already.
        """
        check_mapping('positions', positions, 'values by the name of a joint')
        self.targets.update(
            {
                name: self._read(name, value)
                for name, value in positions.items()
                if name in self.driven
            }
        )
        self._write({n: value for n, value in positions.items() if n not in self.driven})

    def _read(self, name: str, value: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return a joint value as a float or unit quaternion; raise SsikError for an unknown joint or a wrong value."""
        if not isinstance(name, str) or name not in self._positions:
            raise JointNotFound.unknown(
                f'Scene {quote(self.name)} has no joint {quote(name)}', name, self._positions
            )
        if isinstance(self._positions[name], np.ndarray):
            return read_quaternion(value, name)
        number = read_float(f'The value of joint {quote(name)}', value)
        if not math.isfinite(number):
            raise ModelError(f'The value of joint {quote(name)} must be finite: {value}.')
        return number

    def _write(self, positions: Positions) -> None:
        """Set joint values by name, then the values of mimic joints whose master no controller drives."""
        check_mapping('positions', positions, 'values by the name of a joint')
        self._positions.update({name: self._read(name, v) for name, v in positions.items()})
        for item in self._items.values():
            if item.master is not None and item.master not in self.driven:
                value = self._positions[item.master]
                assert isinstance(value, float)
                self._positions[item.name] = item.multiplier * value + item.offset


def places_of_joints(tree: KinematicTree) -> dict[str, tuple[int, int]]:
    """Return where the values of each joint of a scene are in a full state of the robot: (first index, how many), by name."""
    places = {}
    for index, name in enumerate(tree.joint_names):
        at = int(tree.idx_q[index])
        for part, _, kind in _axes(tree, index, name):
            places[part] = at, 4 if kind == JointType.SPHERICAL else 1
            at += places[part][1]
    return places


def joint_values_of(tree: KinematicTree, positions: FloatArray) -> dict[str, float | FloatArray]:
    """
    Return the values of each joint of a scene, by name, from a full state (nq,) of the robot.

    A value is a float [rad or m], or an array (4,) for a spherical joint.
    """
    return {
        part: float(positions[at]) if size == 1 else positions[at : at + size].copy()
        for part, (at, size) in places_of_joints(tree).items()
    }


def _tree_items(robot: RobotModel, passive: frozenset[str]) -> list[SceneItem]:
    """
    Return the links and joints of a robot as frames of a scene, each after its parent, with the parents of the URDF.

    The frame of a joint is turned so that its axis is z, and the pose of its link undoes this turn. Fixed joints have
    no frame. A link that shares its name with a joint is called ``name (link)``.
    """
    tree = robot.tree
    above = {joint.child: joint for joint in robot.urdf.joints.values()}
    names = {
        link: link if link not in tree.joint_names else f'{link} (link)'
        for link in tree.link_names
    }
    places = {link: tree.link_placements[index] for index, link in enumerate(tree.link_names)}
    at = places_of_joints(tree)
    items: list[SceneItem] = []
    for link in tree.link_names:
        joint = above.get(link)
        if joint is None:
            items.append(SceneItem(names[link], None, np.array(IDENTITY)))
            continue
        parent, placement = names[joint.parent], invert_pose(places[joint.parent])
        if joint.name in tree.joint_index:
            index = tree.joint_index[joint.name]
            placement = placement @ tree.placements[index]
            for part, axis, kind in _axes(tree, index, joint.name):
                local = placement @ axis
                item = SceneItem(part, parent, pose_numbers(local), kind, passive=part in passive)
                items.append(_with_limits(item, tree, index, at[part][0]))
                parent, placement = part, axis.T
        items.append(SceneItem(names[link], parent, pose_numbers(placement @ places[link])))
    return items


def _axes(tree: KinematicTree, index: int, name: str) -> list[tuple[str, FloatArray, JointType]]:
    """
    Return (name, rotation (4, 4) that takes z to the axis, type) of each scene joint that a joint of the robot becomes.

    A planar or floating joint becomes several: ``name/x``, ``name/y`` and so on. Others become one of the same name.

    :param index, name: index and name of the joint in the robot's tree.
    """
    kind = JointKind(int(tree.kinds[index]))
    slide, identity = JointType.PRISMATIC, np.eye(4)
    if kind == JointKind.SPHERICAL:
        return [(name, identity, JointType.SPHERICAL)]
    if kind in (JointKind.PLANAR, JointKind.FLOATING):
        flat = [(f'{name}/x', TO_X, slide), (f'{name}/y', TO_Y, slide)]
        if kind == JointKind.PLANAR:
            return [*flat, (f'{name}/theta', identity, JointType.REVOLUTE)]
        ball = (f'{name}/rotation', identity, JointType.SPHERICAL)
        return [*flat, (f'{name}/z', identity, slide), ball]
    rotation = rotation_to_axis(np.asarray(tree.axes[index]))
    return [(name, rotation, slide if kind == JointKind.PRISMATIC else JointType.REVOLUTE)]


def _with_limits(item: SceneItem, tree: KinematicTree, index: int, at: int) -> SceneItem:
    """
    Return a joint of the scene completed by its limits and by the joint that it follows.

    A spherical joint, and a revolute joint without limits, get None. All other limits are cut to -1e4 and 1e4, also
    missing ones [rad or m].

    :param index: of the joint in the tree.
    :param at: index of its first value in a full state.
    """
    lower, upper = float(tree.lower[at]), float(tree.upper[at])
    endless = item.joint == JointType.REVOLUTE and not (
        math.isfinite(lower) or math.isfinite(upper)
    )
    limits = None
    if item.joint != JointType.SPHERICAL and not endless:
        limits = max(lower, -STAND_IN_LIMIT), min(upper, STAND_IN_LIMIT)
    leader = int(tree.leaders[index])
    return replace(
        item,
        limits=limits,
        master=None if leader < 0 else tree.joint_names[leader],
        multiplier=float(tree.multipliers[index]),
        offset=float(tree.offsets[index]),
    )
