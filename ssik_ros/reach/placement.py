"""Parts of a search for base places: tasks, the space of places, and an arm with its postures for tasks."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import read_numbers
from ssik_ros.arrays import are_inside, FloatArray, IntArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption, InvalidTarget
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.geometry.rotations import invert_pose, matrix_of_rpy, pose_matrix
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.collision.scene import PlacedLinks
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.pose_freedom import PoseFreedom
from ssik_ros.paths.requests import ANY_ANGLE, FIXED_ANGLE, PathTolerance
from ssik_ros.paths.tolerance_reach import ReachProof
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.waypoints import wrong_poses
from ssik_ros.problem.pose_input import read_poses
from ssik_ros.reach.measures import limit_margin, manipulability
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_request import PLAIN
from ssik_ros.solvers.closed_form.counting import count_branches
from ssik_ros.solvers.closed_form.held_proof import AbsenceCauses
from ssik_ros.value_class import dataclass

COORDINATES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
"""Of a base in the cell [m, rad]; the rotation is yaw after pitch after roll."""
OBJECTIVES = {'manipulability': manipulability, 'limit_margin': limit_margin}
"""Quantities that may be maximised in the worst posture of a placement."""
SPINS = 24
"""Turns about the axis of the tool that are tried where it is free to spin."""
MOST_TASKS = 10_000
LARGEST_MARGIN = np.pi
"""Limit margin that is as good as no limit [rad]."""


class Variants(NamedTuple):
    """
    The poses that are tried for all tasks: the pose of each task, and poses at the ends of its tolerances.

    If the tool may spin, each of these poses is tried at 24 angles about the tool's z axis.
    """

    poses: FloatArray
    """(v, 4, 4) in the frame of the cell; the first of each task is the pose of the task."""
    owners: IntArray
    """(v,) index of the task of each pose, ascending."""


@dataclass(frozen=True, eq=False)
class PlaceTasks:
    """m poses that the tip has to reach in the work cell, each with a weight and a tolerance."""

    poses: FloatArray
    """(m, 4, 4) poses of the tip in the frame of the cell."""
    weights: FloatArray
    """(m,) positive."""
    distances: FloatArray
    """(m,) tolerance of the position [m]; 0 for an exact one."""
    tilts: FloatArray
    """(m,) tolerance of the orientation [rad]; 0 for an exact one."""
    spins: NDArray[np.bool_]
    """(m,) whether the tool may spin about its z axis."""

    @classmethod
    def exact(cls, poses: FloatArray, weights: Sequence[float] | None = None) -> 'PlaceTasks':
        """
        Return tasks without tolerance.

        :param poses: (m, 4, 4) of the tip in the cell, or a list of poses in any form.
        :param weights: (m,); None for ones.
        :raises TypeError, ValueError: for anything but poses and numbers.
        """
        given = read_poses(poses)
        count = len(given)
        task_weights = np.ones(count) if weights is None else read_numbers('weights', weights)
        return cls(
            given, task_weights, np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
        )

    def __post_init__(self) -> None:
        """Raise DimensionMismatch or InvalidTarget for wrong shapes and numbers."""
        count = len(self.poses)
        if self.poses.shape != (count, 4, 4) or not 1 <= count <= MOST_TASKS:
            raise DimensionMismatch(
                f'Tasks are 1 to {MOST_TASKS} poses (m, 4, 4), not {self.poses.shape}.'
            )
        columns = (self.weights, self.distances, self.tilts, self.spins)
        if any(column.shape != (count,) for column in columns):
            raise DimensionMismatch(f'Each of {count} tasks takes one weight and one tolerance.')
        numbers = np.column_stack((self.weights, self.distances, self.tilts))
        is_wrong = ~np.isfinite(numbers).all(axis=1) | (numbers.min(axis=1) < 0.0)
        is_wrong[wrong_poses(self.poses)] = True
        for index in np.flatnonzero(is_wrong | (self.weights == 0.0)):
            text = 'needs a finite rigid pose, a positive weight and tolerances of 0 or more'
            raise InvalidTarget(f'Task {index} {text}.', task=int(index))

    def variants(self) -> Variants:
        """Return the poses that are tried for all tasks, in the order of the tasks."""
        poses, owners = [], []
        for index in range(len(self.poses)):
            poses.append(self.variants_of(index))
            owners.append(np.full(len(poses[-1]), index))
        return Variants(np.concatenate(poses), np.concatenate(owners))

    def variants_of(self, index: int) -> FloatArray:
        """
        Return the poses (v, 4, 4) that are tried for one task: first the pose of the task, then ends of its tolerances.

        :param index: index of the task.
        """
        tolerances = self.distances[index], self.tilts[index], self.spins[index]
        return _variants_of(self.poses[index], *tolerances)


def _variants_of(pose: FloatArray, distance: float, tilt: float, spins: bool) -> FloatArray:
    """
    Return the poses (v, 4, 4) that are tried for one task: first its pose, then the ends of its tolerances.

    :param distance: the pose is shifted by this along each axis, to both sides [m].
    :param tilt: the pose is turned by this about each axis, to both sides [rad].
    :param spins: if True, all poses are also turned about the tool's z axis, to SPINS angles.
    """
    motions = [np.eye(4)]
    for axis in range(3):
        for side in (1.0, -1.0):
            shift, turn = np.zeros(3), np.zeros(3)
            shift[axis], turn[axis] = side * distance, side * tilt
            if distance > 0.0:
                motions.append(pose_matrix(shift, np.eye(3)))
            if tilt > 0.0:
                motions.append(pose_matrix(np.zeros(3), matrix_of_rpy(*turn)))
    count = SPINS if spins else 1
    turns = [
        pose_matrix(np.zeros(3), matrix_of_rpy(0.0, 0.0, 2.0 * np.pi * k / count))
        for k in range(count)
    ]
    every: FloatArray = pose @ np.array([motion @ turn for turn in turns for motion in motions])
    return every


@dataclass(frozen=True, eq=False)
class BaseSpace:
    """
    The places that an arm's base link may have in the cell: a first place, and d directions to move along.

    A place is given by shares: for each direction a number from 0 to 1. Coordinates are x, y, z [m], roll, pitch, yaw
    [rad].
    """

    origin: FloatArray
    """(6,) coordinates of the first place."""
    directions: FloatArray
    """(d, 6) difference of coordinates from one end of each direction to the other."""

    @classmethod
    def box(cls, low: Sequence[float], high: Sequence[float]) -> 'BaseSpace':
        """
        Return a space in which each coordinate has its own range.

        :param low, high: (6,) ends of the ranges [m, rad]; coordinates with equal ends are fixed.
        :raises DimensionMismatch: unless both have six finite numbers.
        :raises InvalidOption: if a range ends before it begins.
        """
        first, last = read_numbers('low', low), read_numbers('high', high)
        if first.shape != (6,) or last.shape != (6,) or not np.isfinite([first, last]).all():
            raise DimensionMismatch(
                f'A place has six finite coordinates: {", ".join(COORDINATES)}.'
            )
        if (last < first).any():
            name = COORDINATES[int(np.argmax(last < first))]
            raise InvalidOption(f'The range of {name} ends before it begins.')
        return cls(first, np.diag(last - first)[last > first])

    @property
    def size(self) -> int:
        """Return the number d of directions in which the base may move or turn."""
        return len(self.directions)

    def coordinates(self, shares: FloatArray) -> FloatArray:
        """
        Return the coordinates (c, 6) of places: x, y, z [m], roll, pitch, yaw [rad] in the cell.

        :param shares: (c, d) shares of each direction, from 0 to 1.
        """
        every: FloatArray = self.origin + shares @ self.directions
        return every

    def lengths(self) -> FloatArray:
        """Return the length (d,) of each direction from one end to the other [m or rad]."""
        lengths: FloatArray = np.linalg.norm(self.directions, axis=1)
        return lengths


def base_pose(coordinates: FloatArray) -> FloatArray:
    """
    Return the pose (4, 4) of a base link in the cell.

    :param coordinates: (6,) x, y, z [m], roll, pitch, yaw [rad].
    """
    return pose_matrix(coordinates[:3], matrix_of_rpy(*coordinates[3:].tolist()))


class PlacedPostures(NamedTuple):
    """k postures of tasks at places of the base, each with the value of the objective."""

    q: FloatArray
    """(k, n) [rad or m]."""
    cells: IntArray
    """(k,) index of the place times the number of tasks, plus index of the task."""
    values: FloatArray
    """(k,) value of the objective at each posture, at most LARGEST_MARGIN (pi)."""


class PlacedArm:
    """An arm whose base is to be placed: computes its postures for tasks at any place; serves one thread."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        space: BaseSpace,
        world: Sequence[WorldObject] = (),
        rest: FloatArray | None = None,
    ) -> None:
        """
        Find the closed form of the arm and load its collision geometry.

        :param robot: the robot.
        :param group: a group with one tip.
        :param space: the places that its base link may have in the cell.
        :param world: objects of the cell, in the cell's frame.
        :param rest: (n,) posture in which it waits while another arm works; None if both may work at the same time.
        :raises TopologyMismatch: for a chain without closed form.
        :raises InvalidOption: for an arm with more than seven joints, and a rest posture outside the limits.
        :raises ModelError: for a malformed shape of the robot, and for an invalid object.
        :raises SolverError: when coal is missing.
        """
        self.robot, self.space = robot, space
        self._tool = ToolChain(robot, group)
        if self._tool.outer:
            raise InvalidOption(
                f"'{robot.name}' has {self._tool.size} joints in its chain; a placement takes arms of up to seven."
            )
        self.chain = self._tool.chain
        self._absence, self._proof = AbsenceCauses(self._tool.arm), ReachProof(self.chain)
        checker = CollisionChecker(robot)
        self.is_checked = checker.available
        """Whether the robot has collision geometry."""
        self._scene = checker.scene(list(world)) if checker.available else None
        self._root_in_base = invert_pose(self._tool.base_pose())
        self.rest = None if rest is None else self._read_rest(rest)

    def _read_rest(self, rest: FloatArray) -> FloatArray:
        """Return a rest posture (n,) as an array; raise SsikError for a wrong size and values outside the limits."""
        given, chain = read_numbers('rest', rest), self.chain
        names = ', '.join(chain.joint_names)
        if given.shape != chain.lower.shape:
            raise DimensionMismatch(
                f"The rest posture of '{self.robot.name}' has {given.size} values, not one for each of {names}.",
                shape=given.shape,
            )
        outside = ~are_inside(given, chain.lower, chain.upper)
        if outside.any():
            joint = int(np.argmax(outside))
            raise InvalidOption(
                f"The rest posture of '{self.robot.name}' has {given[joint]:g} for '{chain.joint_names[joint]}', outside "
                f'its limits {chain.lower[joint]:g} to {chain.upper[joint]:g}.'
            )
        return given

    def place_links(self, coordinates: FloatArray, q: FloatArray) -> PlacedLinks:
        """
        Return the shapes of the arm's links with their poses in the cell, for one place and posture.

        The arm must have collision geometry.

        :param coordinates: (6,) coordinates of the base.
        :param q: (n,) posture.
        """
        assert self._scene is not None
        root = base_pose(coordinates) @ self._root_in_base
        return self._scene.place_links(self._tool.full_state(q), root)

    def targets(self, coordinates: FloatArray, poses: FloatArray) -> FloatArray:
        """
        Return poses of the cell as seen from the base link at each place (c v, 4, 4).

        All poses at the first place come first, then all poses at the second place, and so on.

        :param coordinates: (c, 6) coordinates of the base.
        :param poses: (v, 4, 4) in the cell.
        """
        bases = np.array([invert_pose(base_pose(row)) for row in coordinates])
        return np.ascontiguousarray((bases[:, None] @ poses[None]).reshape(-1, 4, 4))

    def reaches(self, coordinates: FloatArray, variants: Variants) -> NDArray[np.bool_]:
        """
        Return a mask (c, m) of the tasks for which a posture within limits is found at each place.

        Collisions are not checked. If the arm has a held joint, only samples of this joint are tried.

        :param coordinates: (c, 6) coordinates of the base.
        :param variants: the poses that are tried for each task.
        """
        targets = self.targets(coordinates, variants.poses)
        counts = count_branches(self._tool.arm, targets).counts > 0
        starts = np.searchsorted(variants.owners, np.unique(variants.owners))
        any_of: NDArray[np.bool_] = np.logical_or.reduceat(
            counts.reshape(len(coordinates), -1), starts, axis=1
        )
        return any_of

    def postures(
        self, coordinates: FloatArray, variants: Variants, objective: str
    ) -> PlacedPostures:
        """
        Return the postures within limits of all tasks at each place, without collision checks.

        If the arm has a held joint, these are the postures at samples of this joint.

        :param coordinates: (c, 6) coordinates of the base.
        :param variants: the poses that are tried for each task.
        :param objective: name of one of :data:`OBJECTIVES`.
        """
        targets = self.targets(coordinates, variants.poses)
        branches = search_batch(self._tool.arm, targets, None, PLAIN, 1)
        counts = np.maximum(branches.counts[:, search.COUNT], 0)
        tasks = int(variants.owners[-1]) + 1
        places = np.repeat(np.arange(len(coordinates)), len(variants.owners))
        cells = places * tasks + np.tile(variants.owners, len(coordinates))
        values = np.minimum(OBJECTIVES[objective](self.chain, branches.q), LARGEST_MARGIN)
        return PlacedPostures(branches.q, np.repeat(cells, counts), values)

    def colliding_pair(self, coordinates: FloatArray, q: FloatArray) -> tuple[str, str] | None:
        """
        Return the names of two bodies that collide in a posture, of the arm or of objects in the scene.

        Return None if the posture is free, or if the arm has no collision geometry.

        :param coordinates: (6,) coordinates of the base.
        :param q: (n,) posture.
        """
        if self._scene is None:
            return None
        root = base_pose(coordinates) @ self._root_in_base
        return self._scene.colliding_pair(self._tool.full_state(q), root)

    def why_not(self, coordinates: FloatArray, tasks: PlaceTasks, index: int) -> str:
        """
        Return a text that says why the arm has no posture within limits for a task.

        "out of reach", and "every posture is outside the joint limits", are proved. A text that begins with "not
        reached" proves nothing.

        :param coordinates: (6,) coordinates of the base.
        :param tasks: all tasks.
        :param index: index of the task.
        """
        poses = tasks.variants_of(index)
        targets = self.targets(coordinates[None], poses)
        place = f'{float(np.linalg.norm(targets[0, :3, 3])):.2f} m from the base link'
        spin = ANY_ANGLE if tasks.spins[index] else FIXED_ANGLE
        room = float(tasks.distances[index]), float(tasks.tilts[index])
        if self._proof.refuses(targets[0], PoseFreedom([PathTolerance(spin=spin)], 1), 0, room):
            return f'out of reach, {place}'
        counts = search_batch(self._tool.arm, targets, None, PLAIN, 1).counts
        if len(poses) == 1:
            cause = self._absence.explain(targets, counts)[0]
            if cause == Cause.UNREACHABLE:
                return f'out of reach, {place}'
            if cause == Cause.LIMITS:
                return 'every posture is outside the joint limits'
        outside = int(counts[:, search.DROPPED].sum())
        tried = f' in {len(poses)} poses within its tolerance' if len(poses) > 1 else ''
        if outside:
            text = (
                f'{counted(outside, "posture")} found{tried}, each with a joint outside its range'
            )
            return f'not reached: {text}'
        return f'not reached{tried}, {place}'
