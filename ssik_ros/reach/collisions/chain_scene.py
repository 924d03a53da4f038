"""
The collision shapes of a robot and its surroundings as plain arrays, which a reach map stores.

:func:`make_scene` makes the arrays, a :class:`ChainScene`, from a robot; :func:`build_shapes` makes shapes from them.

With the arrays, a worker process or a later reader of the map needs neither the URDF nor its meshes. Joints that are
not in the chain stay at their default values. Pairs of shapes whose distance no joint of the chain changes are left
out.
"""

from collections.abc import Iterator, Sequence
import hashlib
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.checks import CollisionChecker, import_coal
from ssik_ros.model.collision.geometry import make_shape, Mesh
from ssik_ros.model.collision.objects import make_geometry, ObjectShape, SolidKind, WorldObject
from ssik_ros.model.collision.scene import (
    BodyKind,
    carrier_poses,
    CollisionScene,
    last_movers,
    poses_from_link,
    SceneShape,
)
from ssik_ros.model.kinematic_tree import KinematicTree
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.waypoints import wrong_poses

SOLIDS = ('Box', 'Sphere', 'Capsule', 'Cylinder', 'Cone', 'Plane')
"""Classes of the collision library by their number in the arrays; the next number is a mesh."""
MESH = len(SOLIDS)
NUMBERS = 4
ADVICE = 'Leave out --obstacles, --collisions and clearance.'
"""Advice for a robot whose collisions cannot be checked."""


class ChainScene(NamedTuple):
    """All shapes that collision checks of a chain need, as arrays: links, objects, and pairs to check."""

    names: tuple[str, ...]
    """(s,) link or object of each shape."""
    kinds: IntArray
    """(s,) index into :data:`SOLIDS`, or :data:`MESH`."""
    are_links: IntArray
    """(s,) 1 for shapes of links, 0 for shapes of objects."""
    sizes: FloatArray
    """(s, 4) edges of a box, radius and length of a round solid, normal and offset of a plane [m]; 0 for meshes."""
    carriers: IntArray
    """(s,) joint of the chain that moves a shape; -1 for a fixed shape."""
    placements: FloatArray
    """(s, 4, 4) pose of each shape in the base link of the chain, all joints of the chain at zero."""
    vertices: FloatArray
    """(v, 3) of all meshes [m]."""
    triangles: IntArray
    """(t, 3) vertex indices of all meshes, counted from the first vertex of the mesh."""
    ends: IntArray
    """(s + 1, 2) first vertex and first triangle of each shape."""
    pairs: IntArray
    """(p, 2) indices of two shapes that are checked against each other."""

    def checksum(self) -> str:
        """Return the SHA-256 of all names and arrays, as hexadecimal text."""
        check = hashlib.sha256('\n'.join(self.names).encode())
        for array in self[1:]:
            # Adding zero turns -0.0 into 0.0.
            check.update((np.asarray(array, dtype=np.float64) + 0.0).tobytes())
        return check.hexdigest()

    @property
    def objects(self) -> list[str]:
        """Return the names of the objects that are not links of the robot, each once."""
        pairs = zip(self.names, self.are_links, strict=True)
        return list(dict.fromkeys(name for name, is_link in pairs if not is_link))


def scene_layout(count: int) -> dict[str, tuple[str, tuple[int | None, ...]]]:
    """
    Return, for each array of a ChainScene by its name, its data type and shape; None is an axis of any size.

    :param count: number of shapes in the scene.
    """
    return {
        'kinds': ('int64', (count,)),
        'are_links': ('int64', (count,)),
        'sizes': ('float64', (count, NUMBERS)),
        'carriers': ('int64', (count,)),
        'placements': ('float64', (count, 4, 4)),
        'vertices': ('float64', (None, 3)),
        'triangles': ('int64', (None, 3)),
        'ends': ('int64', (count + 1, 2)),
        'pairs': ('int64', (None, 2)),
    }


def check_scene(scene: ChainScene, joints: int) -> None:
    """
    Raise ValueError if the arrays of a scene are inconsistent, so that the collision library could crash.

    :param scene: a scene whose arrays have the types and shapes of :func:`scene_layout`.
    :param joints: number of joints of the chain.
    """
    count = len(scene.names)
    totals = len(scene.vertices), len(scene.triangles)
    is_right = (
        _are_within(scene.kinds, 0, MESH)
        and _are_within(scene.are_links, 0, 1)
        and _are_within(scene.carriers, -1, joints - 1)
        and _are_within(scene.pairs, 0, count - 1)
        and all(np.isfinite(array).all() for array in (scene.sizes, scene.vertices))
        and not wrong_poses(scene.placements).size
        and scene.ends[0].tolist() == [0, 0]
        and tuple(scene.ends[-1]) == totals
        and (np.diff(scene.ends, axis=0) >= 0).all()
        and all(_is_sound(scene, index) for index in range(count))
    )
    if not is_right:
        raise ValueError('the shapes are damaged')


def _are_within(numbers: IntArray, low: int, high: int) -> bool:
    """Return whether all numbers are from ``low`` to ``high``, both included."""
    return bool(((numbers >= low) & (numbers <= high)).all())


def _is_sound(scene: ChainScene, index: int) -> bool:
    """
    Return whether one shape of a scene is valid.

    The sizes of a solid must be positive, and the normal of a plane not zero. A mesh must have triangles, which use
    only its own vertices.
    """
    kind, sizes = int(scene.kinds[index]), scene.sizes[index]
    if kind != MESH:
        is_plane = SOLIDS[kind] == 'Plane'
        return bool(sizes[:3].any() if is_plane else (sizes[: _size_count(kind)] > 0.0).all())
    (first, begin), (last, end) = scene.ends[index : index + 2]
    triangles = scene.triangles[begin:end]
    return bool(len(triangles) and _are_within(triangles, 0, int(last - first) - 1))


def _size_count(kind: int) -> int:
    """Return how many of the four sizes a solid of a kind uses; not for planes and meshes."""
    return {'Box': 3, 'Sphere': 1}.get(SOLIDS[kind], 2)


class ScenePlan(NamedTuple):
    """Result of :func:`make_scene`: shapes as arrays, and sentences for the user about shapes and pairs left out."""

    scene: ChainScene
    notes: tuple[str, ...]


def make_scene(
    robot: RobotModel, chain: SerialChain, world: Sequence[WorldObject] = ()
) -> ScenePlan:
    """
    Return the collision shapes of a robot and of objects as arrays, with the pairs that the chain can bring together.

    :param robot: the robot.
    :param chain: the joints of the robot that move.
    :param world: objects in the model frame.
    :raises InvalidOption: for a robot without collision geometry, and if no joint of the chain moves two shapes
        towards each other.
    :raises UnsupportedJoint: if a joint of the robot mimics a joint of the chain.
    :raises ModelError: for a malformed shape of the robot, and for an invalid object.
    :raises SolverError: when coal is missing.
    """
    checker = CollisionChecker(robot)
    if not checker.available:
        raise InvalidOption(
            f"'{robot.name}' has no collision geometry, so its collisions cannot be checked. Take a URDF with "
            '<collision> elements, or leave out --obstacles, --collisions and clearance.'
        )
    scene = checker.scene(list(world))
    carried_by = last_movers(robot.tree, chain.joint_indices, ADVICE)
    at_rest = _rest_poses(robot, chain)
    joints = np.array([entry.shape.carrier for entry in scene.shapes], dtype=np.int64)
    placed = at_rest[joints] @ np.array([entry.shape.placement for entry in scene.shapes])
    carriers = carried_by[joints]
    moves = carriers[scene.pairs[:, 0]] != carriers[scene.pairs[:, 1]]
    if not moves.any():
        raise InvalidOption(
            f"In the chain, no joint of '{robot.name}' moves two shapes towards each other, so nothing can collide. "
            + ADVICE
        )
    notes = (*checker.warnings, *_touching(robot, scene, scene.pairs[~moves]))
    return ScenePlan(_gather(scene.shapes, carriers, placed, scene.pairs[moves]), notes)


def _gather(
    shapes: Sequence[SceneShape], carriers: IntArray, placed: FloatArray, pairs: IntArray
) -> ChainScene:
    """
    Return the shapes that occur in ``pairs`` as arrays; the pairs get the new indices of the shapes.

    :param carriers: for each shape, the joint of the chain that moves it; -1 for none.
    :param placed: pose (4, 4) of each shape in the base link, all joints at zero.
    :param pairs: (p, 2) indices of shapes.
    """
    used, numbers = np.unique(pairs, return_inverse=True)
    used_shapes = [shapes[k] for k in used.tolist()]
    kinds, sizes, meshes = zip(
        *(_read(entry.shape.geometry) for entry in used_shapes), strict=True
    )
    counts = [(len(vertices), len(triangles)) for vertices, triangles in meshes]
    return ChainScene(
        names=tuple(entry.shape.link for entry in used_shapes),
        kinds=np.array(kinds, dtype=np.int64),
        are_links=np.array([entry.kind is BodyKind.LINK for entry in used_shapes], dtype=np.int64),
        sizes=np.array(sizes),
        carriers=carriers[used],
        placements=placed[used],
        vertices=np.concatenate([vertices for vertices, _ in meshes]),
        triangles=np.concatenate([triangles for _, triangles in meshes]),
        ends=np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(counts, axis=0)]),
        pairs=numbers.reshape(-1, 2).astype(np.int64),
    )


def _read(geometry: Any) -> tuple[int, FloatArray, tuple[FloatArray, IntArray]]:
    """
    Return a shape of the collision library as numbers: (kind, sizes, (vertices, triangles)).

    ``kind`` is an index into SOLIDS or MESH. ``sizes`` (4,) are padded with zeros, all zero for a mesh [m]. Solids have
    no vertices.
    """
    name, nothing = type(geometry).__name__, (np.empty((0, 3)), np.empty((0, 3), dtype=np.int64))
    if isinstance(geometry, Mesh):
        return MESH, np.zeros(NUMBERS), (geometry.vertices, geometry.triangles)
    if name == 'Box':
        numbers = 2.0 * np.ravel(geometry.halfSide)
    elif name == 'Sphere':
        numbers = np.array([geometry.radius])
    elif name == 'Plane':
        numbers = np.array([*np.ravel(geometry.n), geometry.d])
    else:
        numbers = np.array([geometry.radius, 2.0 * geometry.halfLength])
    return SOLIDS.index(name), np.resize(np.append(numbers, np.zeros(NUMBERS)), NUMBERS), nothing


def _rest_poses(robot: RobotModel, chain: SerialChain) -> FloatArray:
    """
    Return the poses (joints + 2, 4, 4) of the robot's joints, of the world and of the root link in the chain's base link.

    Joints of the chain are at zero, all others at their default positions.
    """
    state = robot.default_positions()
    state[chain.idx_q] = 0.0
    return poses_from_link(robot.tree, robot.with_mimic(state), chain.base_link)


def _touching(robot: RobotModel, scene: CollisionScene, pairs: IntArray) -> Iterator[str]:
    """
    Yield a sentence for each pair of links that touch in every posture of the chain, because it never moves them apart.

    :param pairs: (p, 2) shapes of ``scene`` whose distance the chain does not change.
    """
    still = CollisionScene(robot, import_coal(), scene.shapes, pairs.tolist(), 0.0)
    names = [entry.shape.link for entry in scene.shapes]
    touching = sorted(still.touching_pairs(robot.default_positions())) if len(pairs) else []
    for first, second in dict.fromkeys((names[a], names[b]) for a, b in touching):
        yield f"'{first}' touches '{second}' in every posture of the arm; this pair is left out."


class ChainRobot:
    """
    Substitute for a robot that consists only of one chain, so that collision checks work without a robot model.

    It has the attributes of a RobotModel and of a ToolChain that these checks use.
    """

    turned: tuple[str, ...] = ()
    """Names of joints that move a workpiece, as of a ToolChain: none."""

    def __init__(self, chain: SerialChain) -> None:
        """
        Make the kinematic tree of the chain.

        :param chain: the chain.
        """
        self.chain, self.size = chain, len(chain.joint_names)
        self.tree: KinematicTree = chain.as_tree()
        self.robot = self

    def with_mimic(self, positions: FloatArray) -> FloatArray:
        """Return ``positions`` unchanged, because a chain has no mimic joints."""
        return positions

    def full_state(self, q: FloatArray) -> FloatArray:
        """Return the posture ``q`` (n,) unchanged: it is the full state, because all joints are in the chain."""
        return q


def build_shapes(robot: ChainRobot, scene: ChainScene, coal: Any) -> list[SceneShape]:
    """
    Return the shapes of a scene as objects of the collision library, placed on the joints of the chain.

    :param robot: the chain.
    :param scene: the arrays.
    :param coal: the module of the collision library.
    """
    every = carrier_poses(robot.tree, np.zeros(robot.size))
    shapes = []
    for index, name in enumerate(scene.names):
        carrier, geometry = int(scene.carriers[index]), _build(scene, index, coal)
        placement = invert_pose(every[carrier]) @ scene.placements[index]
        is_endless = scene.kinds[index] == SOLIDS.index('Plane')
        shape = make_shape(name, carrier, placement, geometry, is_endless=is_endless)
        kind = BodyKind.LINK if scene.are_links[index] else BodyKind.WORLD
        shapes.append(SceneShape(shape, kind))
    return shapes


def _build(scene: ChainScene, index: int, coal: Any) -> Any:
    """Return one shape of a scene as a solid of the collision library or as a Mesh."""
    kind, sizes = int(scene.kinds[index]), scene.sizes[index]
    if kind == MESH:
        (vertex, triangle), (vertex_end, triangle_end) = scene.ends[index : index + 2]
        vertices = scene.vertices[vertex:vertex_end]
        triangles = scene.triangles[triangle:triangle_end]
        mesh = ObjectShape(SolidKind.MESH, (), np.eye(4), vertices, triangles)
        return make_geometry(mesh, coal)
    if SOLIDS[kind] == 'Plane':
        return coal.Plane(sizes[:3], float(sizes[3]))
    return getattr(coal, SOLIDS[kind])(*sizes[: _size_count(kind)].tolist())
