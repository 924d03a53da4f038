"""Self collisions of a robot on the geometry of its URDF, by coal."""

from collections.abc import Iterator
import importlib
from typing import Any

import numpy as np

from ssik_ros.errors import SolverError
from ssik_ros.model.collision_geometry import CollisionShape
from ssik_ros.model.collision_geometry import read_shapes
from ssik_ros.model.forward_kinematics import compute_joint_poses
from ssik_ros.model.kinematic_tree import FloatArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel

PROBES = 20
PROBE_SEED = 1


def import_coal() -> Any:
    """
    Return the collision library, under whichever of its two names it is installed.

    :raises SolverError: when it is missing.
    """
    for name in ('coal', 'hppfcl'):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise SolverError('Collision checking needs coal (or its older name hppfcl); install coal.')


class CollisionChecker:
    """
    Checks pairs of links that the semantic description does not exclude.

    Links that no joint moves against each other are never checked. Where the semantic description
    excludes nothing at all, neighbours in the tree are excluded, and pairs that touch in every one of
    some random states: they do so by design. One instance serves one thread.
    """

    def __init__(self, robot: RobotModel, padding: float = 0.0) -> None:
        """
        Load the geometry.

        :param robot: the robot.
        :param padding: links nearer than this to each other collide [m].
        """
        self.robot = robot
        self.padding = padding
        self._coal = import_coal()
        self.shapes, self.warnings = read_shapes(robot, self._coal)
        """Sentences about geometry that is left out are in ``warnings``."""
        self._pairs = np.array(list(self._checked_pairs()), dtype=np.int64).reshape(-1, 2)
        self._radii = np.array([shape.radius for shape in self.shapes])
        self._carriers = np.array([shape.carrier for shape in self.shapes], dtype=np.int64)
        self._placements = np.array([shape.placement for shape in self.shapes]).reshape(-1, 4, 4)
        self._centers = np.array([shape.center for shape in self.shapes]).reshape(-1, 3, 1)
        self._request = self._coal.CollisionRequest()
        self._request.security_margin = padding
        if not robot.srdf.disabled_collisions:
            self._exclude_touching()

    @property
    def available(self) -> bool:
        """Return whether there is anything to check; without geometry nothing is known."""
        return bool(self.shapes)

    @property
    def checked_links(self) -> tuple[str, ...]:
        """Return the links that have geometry."""
        return tuple(dict.fromkeys(shape.link for shape in self.shapes))

    def colliding_pair(self, positions: FloatArray) -> tuple[str, str] | None:
        """
        Return the first two links that collide, in tree order, or None.

        :param positions: (nq) full state.
        """
        if not len(self._pairs):
            return None
        poses = self._shape_poses(positions)
        for a, b in self._near_pairs(poses):
            if self._collide(a, b, poses):
                return self.shapes[a].link, self.shapes[b].link
        return None

    def _collide(self, a: int, b: int, poses: FloatArray) -> bool:
        """Return whether two shapes collide at their poses."""
        result = self._coal.CollisionResult()
        self._coal.collide(
            self.shapes[a].geometry,
            self._transform(poses[a]),
            self.shapes[b].geometry,
            self._transform(poses[b]),
            self._request,
            result,
        )
        return bool(result.isCollision())

    def _exclude_touching(self) -> None:
        """Leave out the pairs that collide in every one of some random states."""
        touching = {(int(a), int(b)) for a, b in self._pairs}
        for positions in _random_states(self.robot):
            poses = self._shape_poses(positions)
            touching = {
                (a, b)
                for a, b in self._near_pairs(poses)
                if (a, b) in touching and self._collide(a, b, poses)
            }
        kept = [pair for pair in self._pairs.tolist() if tuple(pair) not in touching]
        self._pairs = np.array(kept, dtype=np.int64).reshape(-1, 2)

    def _transform(self, pose: FloatArray) -> Any:
        """Return coal's form of a pose."""
        return self._coal.Transform3s(pose[:3, :3], pose[:3, 3])

    def _shape_poses(self, positions: FloatArray) -> FloatArray:
        """Return the poses (s, 4, 4) of all shapes in the root frame."""
        joint_poses = compute_joint_poses(self.robot.tree, self.robot.with_mimic(positions))
        carriers = np.concatenate([joint_poses, np.eye(4)[None]])[self._carriers]
        poses: FloatArray = carriers @ self._placements
        return poses

    def _near_pairs(self, poses: FloatArray) -> Iterator[tuple[int, int]]:
        """Return the pairs of shapes whose bounding spheres touch."""
        centers = (poses[:, :3, :3] @ self._centers)[..., 0] + poses[:, :3, 3]
        a, b = self._pairs.T
        distances = np.linalg.norm(centers[a] - centers[b], axis=1)
        near = distances <= self._radii[a] + self._radii[b] + self.padding
        return zip(a[near].tolist(), b[near].tolist(), strict=True)

    def _checked_pairs(self) -> Iterator[tuple[int, int]]:
        """Return the pairs of shapes to check."""
        for a, first in enumerate(self.shapes):
            for b in range(a + 1, len(self.shapes)):
                if self._may_collide(first, self.shapes[b]):
                    yield a, b

    def _may_collide(self, first: CollisionShape, second: CollisionShape) -> bool:
        """Return whether a pair of shapes is to be checked."""
        if first.carrier == second.carrier:
            return False
        srdf = self.robot.srdf
        pair = {first.link, second.link}
        if any({p.link1, p.link2} == pair for p in srdf.enabled_collisions):
            return True
        if pair & set(srdf.no_default_collisions):
            return False
        if not srdf.disabled_collisions:
            return not self._are_neighbours(first.carrier, second.carrier)
        return all({p.link1, p.link2} != pair for p in srdf.disabled_collisions)

    def _are_neighbours(self, first: int, second: int) -> bool:
        """Return whether one moving body hangs on the other."""
        parents = self.robot.tree.parents
        return bool(
            (first >= 0 and parents[first] == second) or (second >= 0 and parents[second] == first)
        )


def _random_states(robot: RobotModel) -> Iterator[FloatArray]:
    """Return the same few states each time, spread over the limits where there are some."""
    tree = robot.tree
    rng = np.random.default_rng(PROBE_SEED)
    default = robot.default_positions()
    angular = np.zeros(tree.nq, dtype=bool)
    angular[tree.idx_q[np.isin(tree.kinds, (JointKind.REVOLUTE, JointKind.CONTINUOUS))]] = True
    low = np.where(np.isfinite(tree.lower), tree.lower, np.where(angular, -np.pi, default))
    high = np.where(np.isfinite(tree.upper), tree.upper, np.where(angular, np.pi, default))
    for _ in range(PROBES):
        yield robot.with_mimic(rng.uniform(low, np.maximum(low, high)))
