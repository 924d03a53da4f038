"""Convex bodies of a robot and its obstacles, as the flat arrays that the collision kernels take."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.rotations import pose_matrix, pose_numbers
from ssik_ros.kernels.paths import convex
from ssik_ros.kernels.paths.clearance import Bodies
from ssik_ros.model.collision.geometry import Mesh
from ssik_ros.model.collision.scene import (
    BodyKind,
    CollisionScene,
    last_movers,
    poses_from_link,
    SceneShape,
)
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.control import do_nothing, import_library
from ssik_ros.paths.tool_chain import ToolChain

PLANE_HALF_SIDE = 100.0
"""Half side of the square that stands for a plane [m]: further than any arm reaches."""
MOST_TRIANGLES = 256
"""Triangles of a mesh whose hull stands for them; larger meshes are cut into patches."""
FARTHEST_SLIDE = 1e3
"""Assumed range of a slide without limits [m]."""
ADVICE = 'Leave the obstacles out, or lock the joint that it follows.'
"""Advice for a robot with a joint that mimics a joint of the chain."""


class Core(NamedTuple):
    """
    A convex solid in the form that collision kernels take: a simple shape that is inflated by a radius.

    The simple shape is a point, segment, box, cylinder, cone or the hull of points. A sphere is an inflated point.
    """

    kind: int
    """Kind of the simple shape: POINT, SEGMENT, BOX, CYLINDER, CONE or HULL of the kernel module ``convex``."""
    sizes: FloatArray
    """(4,) half lengths and radii by kind; the last one is the distance by which the shape is inflated [m]."""
    vertices: FloatArray
    """(v, 3) corners of a hull [m]; (0, 3) for other kinds."""
    placement: FloatArray
    """(4, 4) pose of the solid in the frame of the geometry that it replaces."""


def make_bodies(
    chain: ToolChain, scene: CollisionScene, look_up: Callable[[], None] = do_nothing
) -> tuple[Bodies, IntArray]:
    """
    Return the convex bodies of a collision scene as arrays for the kernels, and the shape that each body is a part of.

    Only pairs of bodies whose distance some joint of the chain can change are kept. A large mesh of an object becomes
    several bodies.

    :param chain: the joints that move.
    :param scene: the robot among obstacles.
    :param look_up: called between shapes; it raises an exception to stop the work.
    :returns: the arrays, and (s,) the index in ``scene.shapes`` of the shape of each body.
    :raises UnsupportedJoint: if a joint of the robot mimics a joint of the chain.
    :raises SolverError: if there are meshes and SciPy is missing.
    """
    serial, n = chain.chain, chain.size
    parts = [_parts(entry, look_up) for entry in scene.shapes]
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    shapes = [scene.shapes[int(owner)].shape for owner in owners]
    tree_carriers = np.array([shape.carrier for shape in shapes], dtype=np.int64)
    carriers = _chain_carriers(chain)[tree_carriers]
    cores = [core for part in parts for core in part]
    at_rest = poses_from_link(chain.robot.tree, chain.full_state(np.zeros(n)), serial.base_link)
    placements = np.array([shape.placement for shape in shapes]).reshape(-1, 4, 4)
    homes = at_rest[tree_carriers] @ placements
    homes = np.array([home @ core.placement for home, core in zip(homes, cores, strict=True)])
    homes = homes.reshape(-1, 4, 4)
    spheres = np.array([_sphere(core) for core in cores]).reshape(-1, 4)
    counts = [len(core.vertices) for core in cores]
    pairs = _moving_pairs(_pairs_of_parts(scene.pairs, owners), carriers)
    arrays = Bodies(
        axes=serial.axes.ravel().copy(),
        points=serial.points.ravel().copy(),
        slides=sum(1 << k for k in range(n) if serial.kinds[k] == JointKind.PRISMATIC),
        kinds=np.array([core.kind for core in cores], dtype=np.int64),
        sizes=np.array([core.sizes for core in cores]).reshape(-1, 4),
        vertices=np.vstack([np.zeros((0, 3)), *(core.vertices for core in cores)]),
        ends=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        carriers=carriers,
        homes=np.array([pose_numbers(home) for home in homes]).reshape(-1, 12),
        spheres=spheres,
        pairs=pairs,
        levers=_levers(chain, homes, spheres, carriers),
        poses=np.zeros((len(cores), 12)),
        places=np.zeros((len(cores), 3)),
        moved=np.zeros((n + 1, 12)),
        axis_of=np.zeros((len(pairs), 3)),
        room=np.zeros(convex.BOUNDS_SCRATCH),
    )
    return arrays, owners


def _parts(entry: SceneShape, look_up: Callable[[], None]) -> list[Core]:
    """
    Return the convex bodies that replace one shape: a single body, or one for each patch of a large mesh.

    Only meshes of objects with more than MOST_TRIANGLES triangles are cut into patches; a link's mesh becomes one hull.
    """
    geometry = entry.shape.geometry
    look_up()
    if not isinstance(geometry, Mesh):
        return [make_core(geometry)]
    # SciPy's geometry takes long to import, and only meshes need it.
    import_library('scipy.spatial', look_up)
    if entry.kind is BodyKind.LINK or len(geometry.triangles) <= MOST_TRIANGLES:
        return [make_core(geometry)]
    vertices, corners = geometry.vertices, geometry.triangles
    patches = _patches(vertices[corners].mean(axis=1))
    return [_mesh(vertices[np.unique(corners[patch])]) for patch in patches]


def _patches(centers: FloatArray) -> list[IntArray]:
    """
    Return groups of neighbouring triangles, at most MOST_TRIANGLES in each, as arrays of triangle indices.

    ``centers`` (t, 3) are the centres of the triangles [m]. Groups are halved along their longest side.
    """
    waiting, done = [np.arange(len(centers))], []
    while waiting:
        group = waiting.pop()
        if len(group) <= MOST_TRIANGLES:
            done.append(group)
            continue
        side = int(np.argmax(np.ptp(centers[group], axis=0)))
        order = group[np.argsort(centers[group, side], kind='stable')]
        waiting += [order[: len(order) // 2], order[len(order) // 2 :]]
    return done


def _pairs_of_parts(pairs: IntArray, owners: IntArray) -> IntArray:
    """
    Return all pairs (p, 2) of bodies whose shapes are a pair in ``pairs``.

    ``pairs`` holds two shape indices per row, and ``owners`` (s,) the shape index of each body, ascending.
    """
    starts = np.searchsorted(owners, np.arange(owners.max(initial=-1) + 2))
    body_pairs = [np.zeros((0, 2), dtype=np.int64)]
    for a, b in pairs:
        first, second = (np.arange(starts[k], starts[k + 1]) for k in (a, b))
        body_pairs.append(
            np.column_stack([np.repeat(first, len(second)), np.tile(second, len(first))])
        )
    return np.concatenate(body_pairs)


def _chain_carriers(chain: ToolChain) -> IntArray:
    """
    Return (joints + 2,), for each joint of the robot, the last joint of the chain that moves it; -1 if none does.

    The last two entries are for the carrier indices -2 (world) and -1 (root link). If the path is given on a moved
    workpiece, the chain starts at the workpiece: its joints move all other bodies, including the world. Raise
    UnsupportedJoint if a joint of the robot mimics a joint of the chain.
    """
    turned = len(chain.turned)
    movers = last_movers(chain.robot.tree, chain.chain.joint_indices, ADVICE)
    # A joint that moves the workpiece moves the bodies before it in the tree, and the joint before it those after it.
    numbers = np.append(np.arange(chain.size), turned - 1)
    numbers[:turned] -= 1
    return numbers[movers]


def _moving_pairs(pairs: IntArray, carriers: IntArray) -> IntArray:
    """
    Return the pairs (p, 2) of bodies that different joints of the chain carry; only their distance can change.

    ``carriers`` (s,) is the chain joint that carries each body. In each pair the body on the earlier joint comes first.
    """
    moving = pairs[carriers[pairs[:, 0]] != carriers[pairs[:, 1]]]
    swap = carriers[moving[:, 0]] > carriers[moving[:, 1]]
    moving[swap] = moving[swap][:, ::-1]
    return np.ascontiguousarray(moving)


def _levers(
    chain: ToolChain, homes: FloatArray, spheres: FloatArray, carriers: IntArray
) -> FloatArray:
    """
    Return the levers (n, s): upper bounds on how far a point of each body moves per unit of each joint.

    They hold in any posture in which slides without limits stay within FARTHEST_SLIDE. The unit is m/rad for a turning
    joint and 1 for a prismatic joint. The lever is 0 if the joint does not move the body.

    :param homes: (s, 4, 4) pose of each body in the base, with all joints at zero.
    :param spheres: (s, 4) bounding sphere of each body in its frame: centre and radius [m].
    :param carriers: (s,) index of the last joint that moves each body; -1 for none.
    """
    serial, n = chain.chain, chain.size
    centers = np.einsum('sij,sj->si', homes[:, :3, :3], spheres[:, :3]) + homes[:, :3, 3]
    slides = serial.kinds == JointKind.PRISMATIC
    furthest = np.maximum(np.abs(serial.lower), np.abs(serial.upper))
    extra = np.where(slides, np.minimum(furthest, FARTHEST_SLIDE), 0.0)
    levers = np.zeros((n, len(carriers)))
    for body, carrier in enumerate(carriers):
        reach = 0.0
        for joint in range(int(carrier), -1, -1):
            ahead = centers[body] if joint == carrier else serial.points[joint + 1]
            reach += float(np.linalg.norm(ahead - serial.points[joint])) + extra[joint]
            levers[joint, body] = 1.0 if slides[joint] else reach + spheres[body, 3]
    return levers


def _sphere(core: Core) -> FloatArray:
    """Return a bounding sphere of a solid as (4,): its centre in the frame of the solid, and its radius [m]."""
    a, b, c, radius = core.sizes
    center = np.zeros(3)
    if core.kind == convex.SEGMENT:
        radius += a
    elif core.kind == convex.BOX:
        radius += np.sqrt(a * a + b * b + c * c)
    elif core.kind in (convex.CYLINDER, convex.CONE):
        radius += np.hypot(a, b)
    elif core.kind == convex.HULL:
        center = 0.5 * (core.vertices.min(axis=0) + core.vertices.max(axis=0))
        radius += np.linalg.norm(core.vertices - center, axis=1).max()
    return np.array([*center, radius])


def make_core(geometry: Any) -> Core:
    """
    Return a shape of the collision library as a convex solid for the kernels; a mesh is replaced by its convex hull.

    :param geometry: coal's sphere, capsule, box, cylinder, cone or plane, or a Mesh. A plane becomes a large flat square.
    """
    name = type(geometry).__name__
    if name == 'Sphere':
        return _solid(convex.POINT, 0.0, 0.0, 0.0, geometry.radius)
    if name == 'Capsule':
        return _solid(convex.SEGMENT, geometry.halfLength, 0.0, 0.0, geometry.radius)
    if name == 'Box':
        return _solid(convex.BOX, *np.asarray(geometry.halfSide).ravel(), 0.0)
    if name in ('Cylinder', 'Cone'):
        kind = convex.CYLINDER if name == 'Cylinder' else convex.CONE
        return _solid(kind, geometry.radius, geometry.halfLength, 0.0, 0.0)
    if name == 'Plane':
        return _plane(np.asarray(geometry.n).ravel(), float(geometry.d))
    return _mesh(geometry.vertices)


def _solid(kind: int, *sizes: float) -> Core:
    """Return a solid without corners, at the origin of the geometry; ``sizes`` are the four of :class:`Core`."""
    return Core(kind, np.array(sizes), np.zeros((0, 3)), np.eye(4))


def _mesh(vertices: FloatArray) -> Core:
    """Return the convex hull of the vertices (v, 3) of a mesh."""
    return Core(convex.HULL, np.zeros(4), _hull(vertices), np.eye(4))


def _plane(normal: FloatArray, offset: float) -> Core:
    """
    Return the plane ``normal . x = offset`` [m] as a flat square of half side PLANE_HALF_SIDE.

    Its centre is the plane's point nearest to the origin.
    """
    other = np.eye(3)[int(np.argmin(np.abs(normal)))]
    x = np.cross(normal, other)
    x /= np.linalg.norm(x)
    rotation = np.column_stack([x, np.cross(normal, x), normal])
    square = _solid(convex.BOX, PLANE_HALF_SIDE, PLANE_HALF_SIDE, 0.0, 0.0)
    return square._replace(placement=pose_matrix(offset * normal, rotation))


def _hull(vertices: NDArray[np.float64]) -> FloatArray:
    """Return the corners (h, 3) of the convex hull of points (v, 3); all points unchanged if they span no volume."""
    from scipy.spatial import ConvexHull, QhullError

    vertices = np.ascontiguousarray(vertices, dtype=np.float64)
    try:
        return vertices[ConvexHull(vertices).vertices]
    except (QhullError, ValueError):
        return vertices
