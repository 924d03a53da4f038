"""Collision checks of a robot among objects: colliding pairs, contacts and least distance of the bodies in a state."""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arguments import read_number, shown
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import RequestError, UnsupportedJoint
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.geometry import as_coal, CollisionShape, Mesh
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.kinematic_tree import KinematicTree
from ssik_ros.model.robot_model import RobotModel

AT_ROOT = np.eye(4)[None]
IN_WORLD = -2
"""Carrier of shapes that are fixed in the world."""
SLACK = 1e-9
"""Bounding boxes that are nearer to each other than this count as overlapping; it covers rounding errors [m]."""


class BodyKind(IntEnum):
    """Kind of a body in a scene: a link, a world object or a carried object; numbered as in MoveIt's messages."""

    LINK = 0
    WORLD = 1
    CARRIED = 2


class SceneShape(NamedTuple):
    """A collision shape in a scene, with the kind of its body and the link that carries it."""

    shape: CollisionShape
    """Its ``link`` is the name of the link or of the object."""
    kind: BodyKind
    holder: str = ''
    """The link that carries a carried object."""
    touch_links: frozenset[str] = frozenset()
    """Links that may touch a carried object."""


class Contact(NamedTuple):
    """A contact between two bodies that collide: names, point, normal and depth."""

    first: str
    second: str
    kinds: tuple[BodyKind, BodyKind]
    """Kind of the first and of the second body."""
    position: FloatArray
    """(3,) in the model frame [m]."""
    normal: FloatArray
    """(3,) unit vector from the first body to the second, in the model frame."""
    depth: float
    """Penetration depth [m]."""


class NearestPair(NamedTuple):
    """The two bodies of a scene with the least distance, and the points where they are nearest."""

    first: str
    second: str
    distance: float
    """Distance of the two bodies [m]; if they overlap, 0 for two meshes and negative otherwise."""
    points: FloatArray
    """(2, 3) the nearest point of each, in the model frame [m]."""


class PlacedLinks(NamedTuple):
    """The s shapes of a robot's links in one posture: poses and bounding spheres in the model frame."""

    shapes: tuple[CollisionShape, ...]
    poses: FloatArray
    """(s, 4, 4) in the model frame."""
    centers: FloatArray
    """(s, 3) centres of their bounding spheres in the model frame [m]."""
    radii: FloatArray
    """(s,) radii of their bounding spheres [m]."""


def find_touching_links(
    first: PlacedLinks, second: PlacedLinks, coal: Any
) -> tuple[str, str] | None:
    """
    Return the names of a link of one robot and a link of another one that collide; None if none collide.

    :param first, second: the links of the two robots, placed in one frame.
    :param coal: the collision library.
    """
    apart = np.linalg.norm(first.centers[:, None] - second.centers[None], axis=2)
    near = np.argwhere(apart <= first.radii[:, None] + second.radii[None])
    request = coal.CollisionRequest()
    for a, b in near.tolist():
        ends = [
            (
                as_coal(placed.shapes[k].geometry, coal.BVHModelOBB),
                coal.Transform3s(pose[:3, :3], pose[:3, 3]),
            )
            for placed, k in ((first, a), (second, b))
            for pose in (placed.poses[k],)
        ]
        result = coal.CollisionResult()
        coal.collide(*ends[0], *ends[1], request, result)
        if result.isCollision():
            return first.shapes[a].link, second.shapes[b].link
    return None


def carrier_poses(
    tree: KinematicTree, positions: FloatArray, world: FloatArray = AT_ROOT
) -> FloatArray:
    """
    Return the poses (nj + 2, 4, 4) in the root link of everything that carries shapes.

    The first nj are the frames that move with the joints. The last two are the world and the root link, so that they
    have the carrier indices -2 and -1.

    :param tree: the robot.
    :param positions: (nq) full state, mimic joints included.
    :param world: (1, 4, 4) pose of the model frame in the root link; by default the identity.
    """
    return np.concatenate([compute_joint_poses(tree, positions), world, AT_ROOT])


def poses_from_link(tree: KinematicTree, positions: FloatArray, link: str) -> FloatArray:
    """
    Return the poses (nj + 2, 4, 4) of everything that carries collision shapes, in the frame of a link.

    The first nj are the frames that move with the joints, in the order of the tree. The last two are the world and the
    root link; they are equal, because the world is taken to be at the root link.

    :param tree: the robot.
    :param positions: (nq) full state, mimic joints included.
    :param link: name of the link.
    :raises FrameNotFound: if the robot has no such link.
    """
    poses = carrier_poses(tree, positions)
    seen: FloatArray = invert_pose(compute_link_pose(tree, poses, tree.link(link))) @ poses
    return seen


def last_movers(tree: KinematicTree, joints: IntArray, advice: str) -> IntArray:
    """
    Return (nj + 2,), for each carrier of shapes, the place in ``joints`` of the last joint that moves it; -1 if none does.

    The last two entries are for the world and the root link.

    :param tree: the robot.
    :param joints: (n,) indices of the joints that move, in the tree.
    :param advice: sentence that ends the message of the error.
    :raises UnsupportedJoint: if a joint mimics one of ``joints``.
    """
    places = {int(joint): place for place, joint in enumerate(joints)}
    movers = np.full(len(tree.joint_names) + 2, -1, dtype=np.int64)
    for joint, name in enumerate(tree.joint_names):
        if int(tree.leaders[joint]) in places:
            raise UnsupportedJoint(
                f"Joint '{name}' mimics a joint of the chain; collisions of its links cannot be checked. {advice}",
                joint=name,
            )
        # Parents come first. The parent -1, the root link, is the last entry.
        movers[joint] = places.get(joint, int(movers[tree.parents[joint]]))
    return movers


class CollisionScene:
    """
    The collision shapes of a robot and of objects, and the pairs of shapes to check; serves one thread.

    Methods that take a state raise RequestError for a state of another size or with a value that is not finite. Only
    :meth:`colliding_pair` does not read the state if no pair is checked.
    """

    def __init__(
        self,
        robot: RobotModel,
        coal: Any,
        shapes: Sequence[SceneShape],
        pairs: Sequence[tuple[int, int]] | IntArray,
        padding: float,
    ) -> None:
        """
        Prepare collision checks of given pairs of shapes.

        :param robot: the robot.
        :param coal: the collision library.
        :param shapes: all shapes.
        :param pairs: pairs of indices of the shapes that are checked.
        :param padding: shapes nearer to each other than this count as colliding [m].
        :raises InvalidOption: if the padding is not a finite number.
        """
        self.shapes, self.padding = shapes, read_number('padding', padding)
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        """(p, 2) indices of the two shapes of each pair that is checked."""
        self._robot, self._coal = robot, coal
        collision_shapes = [entry.shape for entry in shapes]
        self._radii = np.array([shape.radius for shape in collision_shapes])
        self._carriers = np.array([shape.carrier for shape in collision_shapes], dtype=np.int64)
        self._placements = np.array([shape.placement for shape in collision_shapes]).reshape(
            -1, 4, 4
        )
        self._centers = np.array([shape.center for shape in collision_shapes]).reshape(-1, 3, 1)
        self._halves = np.array([shape.half for shape in collision_shapes]).reshape(-1, 3, 1)
        meshes = np.array([isinstance(shape.geometry, Mesh) for shape in collision_shapes], bool)
        first, second = meshes[self.pairs].T
        self._are_meshes = first & second
        """Mask (p,) of the pairs of two meshes: the library gives a distance of 0 if they overlap, and no depth."""
        self._reaches = self._radii[self.pairs].sum(axis=1)
        """(p,) sum of the radii of the bounding spheres of each pair [m]."""
        self._are_boxed = (first | second) & np.isfinite(self._reaches)
        """Mask (p,) of the pairs whose bounding boxes are compared: a mesh takes longer to check than its box."""
        self._has_meshes = bool(self._are_boxed.any())
        self._request = coal.CollisionRequest()
        self._request.security_margin = self.padding
        self._detailed = coal.CollisionRequest()
        self._detailed.security_margin = self.padding
        self._detailed.enable_contact = True
        self._detailed.num_max_contacts = 1

    def with_pairs(self, pairs: Sequence[tuple[int, int]]) -> 'CollisionScene':
        """
        Return a scene of the same shapes in which other pairs are checked.

        :param pairs: pairs of indices of the shapes.
        """
        return CollisionScene(self._robot, self._coal, self.shapes, pairs, self.padding)

    def colliding_pair(
        self, positions: FloatArray, root_pose: FloatArray | None = None
    ) -> tuple[str, str] | None:
        """
        Return the names of the first two bodies that collide, in the order of the shapes; None if no bodies do.

        :param positions: (nq) full state.
        :param root_pose: (4, 4) pose of the root link in the model frame; None means identity.
        :raises RequestError: for a state of another size, and for a state or pose that is not finite. Without a pair to
            check, neither is read.
        """
        if not len(self.pairs):
            return None
        poses = self.shape_poses(positions, root_pose)
        for a, b in self._near_pairs(poses):
            if self._collide(a, b, poses, self._request).isCollision():
                return self.shapes[a].shape.link, self.shapes[b].shape.link
        return None

    def place_links(self, positions: FloatArray, root_pose: FloatArray) -> 'PlacedLinks':
        """
        Return the collision shapes of all links with their poses in the model frame; objects are left out.

        :param positions: (nq) full state.
        :param root_pose: (4, 4) pose of the root link in the model frame.
        """
        links = [k for k, entry in enumerate(self.shapes) if entry.kind is BodyKind.LINK]
        poses = root_pose @ self.shape_poses(positions, root_pose)[links]
        centers = (poses[:, :3, :3] @ self._centers[links])[..., 0] + poses[:, :3, 3]
        shapes = tuple(self.shapes[k].shape for k in links)
        return PlacedLinks(shapes, poses, centers, self._radii[links])

    def contacts(
        self,
        positions: FloatArray,
        root_pose: FloatArray,
        counts: Callable[[SceneShape], bool],
    ) -> list[Contact]:
        """
        Return one contact for each pair of bodies that collide.

        :param positions: (nq,) full state.
        :param root_pose: (4, 4) pose of the root link in the model frame.
        :param counts: filter of shapes: a pair is left out if this returns False for both of its shapes.
        :raises RequestError: for a state of another size, and for a state or pose that is not finite.
        """
        poses = self.shape_poses(positions, root_pose)
        contacts: dict[tuple[str, str], Contact] = {}
        for a, b in self._near_pairs(poses):
            first, second = self.shapes[a], self.shapes[b]
            key = first.shape.link, second.shape.link
            if key in contacts or not (counts(first) or counts(second)):
                continue
            result = self._collide(a, b, poses, self._detailed)
            if result.isCollision():
                contact = result.getContact(0)
                contacts[key] = Contact(
                    *key,
                    (first.kind, second.kind),
                    root_pose[:3, :3] @ np.array(contact.pos).ravel() + root_pose[:3, 3],
                    root_pose[:3, :3] @ np.array(contact.normal).ravel(),
                    -float(contact.penetration_depth),
                )
        return list(contacts.values())

    def distances(self, positions: FloatArray, enough: FloatArray) -> FloatArray:
        """
        Return a lower bound (p,) on the distance of each checked pair of shapes [m]; it is exact below ``enough``.

        The distance is negative for shapes that overlap, and 0 for two meshes that do.

        :param positions: (nq,) full state.
        :param enough: (p,) if the distance of the bounding spheres or boxes is at least this number, it is returned
            [m].
        """
        poses = self.shape_poses(positions, None)
        apart = self._least_distances(poses, enough)
        placed = [self._transform(pose) for pose in poses]
        for pair in np.flatnonzero(apart < enough):
            apart[pair] = self._distance(pair, placed)
        return apart

    def least_distance(self, positions: FloatArray) -> float:
        """
        Return the least distance of all pairs [m]; at most 0 if two overlap, infinite without pairs.

        :param positions: (nq) full state.
        """
        nearest = self.nearest_pair(positions)
        return np.inf if nearest is None else nearest.distance

    def nearest_pair(
        self, positions: FloatArray, root_pose: FloatArray | None = None
    ) -> NearestPair | None:
        """
        Return the two bodies with the least distance, with distance and nearest points; None if no pair is checked.

        If several pairs overlap, one of them is returned, not always the pair that overlaps most.

        :param positions: (nq,) full state.
        :param root_pose: (4, 4) pose of the root link in the model frame; None means identity.
        :raises RequestError: for a state of another size, and for a state or pose that is not finite.
        """
        poses = self.shape_poses(positions, root_pose)
        bounds = self._least_distances(poses)
        placed = [self._transform(pose) for pose in poses]
        nearest, least = None, np.inf
        for pair in np.argsort(bounds, kind='stable'):
            if bounds[pair] >= least:
                break
            if least <= 0.0 and self._are_meshes[pair]:
                continue
            result = self._coal.DistanceResult()
            distance = self._distance(pair, placed, result)
            if distance < least:
                least, nearest = distance, (pair, result)
        if nearest is None:
            return None
        first, second = (self.shapes[int(k)].shape.link for k in self.pairs[nearest[0]])
        ends = (nearest[1].getNearestPoint1(), nearest[1].getNearestPoint2())
        points = np.array([np.asarray(end).ravel() for end in ends])
        if root_pose is not None:
            points = points @ root_pose[:3, :3].T + root_pose[:3, 3]
        return NearestPair(first, second, float(least), points)

    def moving_pairs(self, some: FloatArray, other: FloatArray) -> list[tuple[int, int]]:
        """
        Return the checked pairs of shapes, as two indices, whose relative pose differs between two states.

        :param some, other: (nq,) full states.
        """
        relative_poses = []
        for positions in (some, other):
            poses = self.shape_poses(positions, None)
            a, b = self.pairs.T
            relative_poses.append(np.linalg.solve(poses[a], poses[b]))
        is_moved = (
            np.abs(relative_poses[0] - relative_poses[1]).max(axis=(1, 2), initial=0.0) > 1e-9
        )
        return [(int(a), int(b)) for a, b in self.pairs[is_moved]]

    def _least_distances(
        self, poses: FloatArray, enough: FloatArray | float = np.inf
    ) -> FloatArray:
        """
        Return a lower bound (p,) on the distance of each checked pair [m]; negative if the bounds of the shapes overlap.

        :param poses: (s, 4, 4) poses of all shapes.
        :param enough: (p,) distance above which the distance of the bounding spheres is returned [m].
        """
        centers = (poses[:, :3, :3] @ self._centers)[..., 0] + poses[:, :3, 3]
        a, b = self.pairs.T
        apart = np.linalg.norm(centers[a] - centers[b], axis=1) - self._reaches
        if self._has_meshes:
            rows = np.flatnonzero(self._are_boxed & (apart <= enough))
            gaps = self._box_gaps(rows, poses, centers)
            # Pairs whose boxes overlap stay in the order of their spheres: the first that overlaps is named.
            apart[rows] = np.where(gaps > 0.0, np.maximum(apart[rows], gaps), apart[rows])
        return np.asarray(apart)

    def _box_gaps(self, rows: IntArray, poses: FloatArray, centers: FloatArray) -> FloatArray:
        """
        Return the widest gap (k,) of the bounding boxes of some pairs along an edge of the boxes [m].

        A gap is a lower bound on the distance of the boxes; without a gap it is negative.

        :param rows: (k,) rows of ``pairs``.
        :param poses: (s, 4, 4) poses of all shapes.
        :param centers: (s, 3) centres of the boxes in the frame of the poses.
        """
        a, b = self.pairs[rows].T
        to_a, to_b = (poses[k, :3, :3].transpose(0, 2, 1) for k in (a, b))
        apart = (centers[b] - centers[a])[..., None]
        shares = np.abs(to_a @ poses[b, :3, :3])
        half_a, half_b = self._halves[a], self._halves[b]
        gaps_a = np.abs(to_a @ apart) - half_a - shares @ half_b
        gaps_b = np.abs(to_b @ apart) - half_b - shares.transpose(0, 2, 1) @ half_a
        gaps: FloatArray = np.maximum(gaps_a, gaps_b).max(axis=(1, 2)) - SLACK
        return gaps

    def _distance(
        self, pair: np.integer[Any], placed: list[Any], result: Any | None = None
    ) -> float:
        """
        Return the distance of a pair of shapes by the library [m]: negative if they overlap, 0 for two meshes that do.

        :param pair: row of ``pairs``.
        :param placed: poses of all shapes as coal's transforms.
        :param result: coal's DistanceResult, which gets the nearest points.
        """
        a, b = (int(index) for index in self.pairs[pair])
        kind = self._coal.BVHModelOBBRSS
        return float(
            self._coal.distance(
                as_coal(self.shapes[a].shape.geometry, kind),
                placed[a],
                as_coal(self.shapes[b].shape.geometry, kind),
                placed[b],
                self._coal.DistanceRequest(),
                self._coal.DistanceResult() if result is None else result,
            )
        )

    def build_trees(self) -> None:
        """Build the trees of all meshes that collision checks can need, so that no later check waits for them."""
        for index in np.unique(self.pairs).tolist():
            as_coal(self.shapes[index].shape.geometry, self._coal.BVHModelOBB)

    def near_pairs(self, positions: FloatArray) -> set[tuple[int, int]]:
        """
        Return the pairs of shapes, as two indices, whose bounds overlap or are at most the padding apart.

        :param positions: (nq) full state.
        """
        return set(self._near_pairs(self.shape_poses(positions, None)))

    def touching_pairs(self, positions: FloatArray) -> set[tuple[int, int]]:
        """
        Return every colliding pair of shapes, as two indices of shapes.

        :param positions: (nq) full state.
        """
        poses = self.shape_poses(positions, None)
        near = self._near_pairs(poses)
        return {(a, b) for a, b in near if self._collide(a, b, poses, self._request).isCollision()}

    def _collide(self, a: int, b: int, poses: FloatArray, request: Any) -> Any:
        """Return coal's CollisionResult for the shapes ``a`` and ``b``, given by index; ``poses`` holds all shapes."""
        result, kind = self._coal.CollisionResult(), self._coal.BVHModelOBB
        self._coal.collide(
            as_coal(self.shapes[a].shape.geometry, kind),
            self._transform(poses[a]),
            as_coal(self.shapes[b].shape.geometry, kind),
            self._transform(poses[b]),
            request,
            result,
        )
        return result

    def _transform(self, pose: FloatArray) -> Any:
        """Return a pose (4, 4) as coal's Transform3s."""
        return self._coal.Transform3s(pose[:3, :3], pose[:3, 3])

    def shape_poses(self, positions: FloatArray, root_pose: FloatArray | None) -> FloatArray:
        """
        Return the poses (s, 4, 4) of all shapes in the root link, with mimic joints set from their leaders.

        :param positions: (nq) full state.
        :param root_pose: (4, 4) pose of the root link in the model frame; None means identity.
        :raises DimensionMismatch: if the state has another size.
        :raises RequestError: for a state or pose that is not finite: the collision library would find no collision.
        """
        robot = self._robot
        model = AT_ROOT if root_pose is None else invert_pose(root_pose)[None]
        carriers = carrier_poses(robot.tree, robot.with_mimic(positions), model)
        if not math.isfinite(carriers.sum()):
            raise RequestError(
                f'A state that is not finite cannot be checked for collisions: {shown(positions)}.',
                positions=positions,
                root_pose=root_pose,
            )
        poses: FloatArray = carriers[self._carriers] @ self._placements
        return poses

    def _near_pairs(self, poses: FloatArray) -> Iterator[tuple[int, int]]:
        """
        Iterate over the checked pairs of shapes whose bounds overlap or are at most the padding apart.

        :param poses: (s, 4, 4) poses of all shapes.
        """
        a, b = self.pairs[self._least_distances(poses, self.padding) <= self.padding].T
        return zip(a.tolist(), b.tolist(), strict=True)
