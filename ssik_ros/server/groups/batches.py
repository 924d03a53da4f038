"""
Requests for many poses of one link: :func:`solve_batch` finds joint positions for each pose of a :class:`BatchRequest`.

:func:`read_poses` reads the poses. The :class:`BatchResponse` has a row for each pose, NaN for a pose without solution.
"""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, LARGEST_REQUEST_VALUE
from ssik_ros.errors import counted
from ssik_ros.kernels.geometry.rotations import rotations_of
from ssik_ros.results import Cause
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    FullState,
    LinkGoal,
    NOTHING_GIVEN,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.solvers.search.batches import BatchSolver
from ssik_ros.value_class import dataclass

MOST_POSES = 100_000
"""Poses of one request."""


@dataclass(slots=True)
class BatchRequest:
    """Request for joint positions of a group for each of many poses of one link."""

    group: str
    """Name of the planning group."""
    poses: FloatArray
    """(7 m,) position [m] and quaternion x, y, z, w of each pose."""
    frame: str = ''
    """Frame of the poses; empty for the model frame."""
    link: str = ''
    """The link, or carried object, that is to be at the poses; empty for the only tip."""
    state: StateGiven = NOTHING_GIVEN
    """Seed, and joints outside the group; other joints keep their current values."""
    seed_from_previous: bool = False
    """Whether each pose is searched from the last one that was solved, not from the state."""
    avoid_collisions: bool = False
    """Whether solutions must be free of collisions."""
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    """Constraints that solutions must satisfy."""
    timeout: float = 0.0
    """Budget for all poses together [s]; zero or less means the group's budget for each pose."""


class BatchResponse(NamedTuple):
    """Joint positions, cause and errors for each of m poses, or the reason of a refusal."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """DEADLINE if the clock or a cancellation left a pose without a solution, else NONE; the cause of a refusal."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: tuple[str, ...] = ()
    """Names of the variables of the group, in the order of ``positions``."""
    positions: FloatArray = np.empty((0, 0))
    """(m, n), NaN for poses without a solution [rad or m]."""
    causes: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
    """(m,) numbers of :class:`Cause`; NONE for a solved pose."""
    errors: FloatArray = np.empty((0, 2))
    """(m, 2) position error [m] and orientation error [rad]; NaN for poses without a solution."""

    @property
    def solved(self) -> bool:
        """Return whether the request was accepted, even if no pose has a solution; ``causes`` tells the outcome of each."""
        return self.refusal is Refusal.NONE

    @property
    def solved_count(self) -> int:
        """Return how many poses have a solution."""
        return int((self.causes == Cause.NONE).sum())


def read_poses(numbers: FloatArray) -> FloatArray:
    """
    Return the poses (m, 4, 4) of flat numbers; quaternions may have any length above zero.

    All numbers of an invalid pose become NaN: of a zero quaternion, a number that is not finite, or a coordinate above
    LARGEST_REQUEST_VALUE [m].

    :param numbers: (7 m,) position [m] and quaternion x, y, z, w of each pose.
    :raises RequestRefused: if the length is not a multiple of 7, or for more than MOST_POSES poses.
    """
    flat = np.asarray(numbers, dtype=np.float64)
    if len(flat) % 7 or len(flat) > 7 * MOST_POSES:
        raise Refusal.GOAL_COUNT.error(
            f'poses has {counted(len(flat), "number")}; each pose has 7, and there may be {MOST_POSES} poses.',
        )
    rows = flat.reshape(-1, 7)
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        largest = np.abs(rows[:, 3:]).max(axis=1, keepdims=True, initial=0.0)
        q = rows[:, 3:] / largest
        rotations = rotations_of(q / np.linalg.norm(q, axis=1, keepdims=True))
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = rotations
    poses[:, :3, 3] = rows[:, :3]
    # All numbers of an invalid pose become NaN: infinities would cause warnings on the way.
    poses[~(np.abs(poses) <= LARGEST_REQUEST_VALUE).all(axis=(1, 2))] = np.nan
    return poses


def solve_batch(
    server: GroupServer,
    request: BatchRequest,
    goal: LinkGoal,
    poses: FloatArray,
    state: FullState,
    checks: CandidateChecks | None,
) -> BatchResponse:
    """
    Solve the poses one after the other; return a row for each.

    A positive ``request.timeout`` is one deadline for all; otherwise each pose has the group's budget. Poses that are
    not tried before the deadline or a cancellation have the cause DEADLINE. Without checks and without
    ``seed_from_previous``, a solver of whole batches solves the poses together first.

    :param server: the group.
    :param request: the budget, and whether a solution is the next seed.
    :param goal: the link or carried object that is to be at the poses; its own pose is ignored.
    :param poses: (m, 4, 4) in the model frame.
    :param state: seed, and joints outside the group.
    :param checks: checks that candidates have to pass; None without checks.
    :raises RequestRefused: for a group without solver or a link that is not fixed to a tip of it.
    """
    solver = server.require_solver()
    count, size = len(poses), len(server.group.idx_q)
    positions, errors = np.full((count, size), np.nan), np.full((count, 2), np.nan)
    causes = np.full(count, Cause.DEADLINE, dtype=np.uint8)
    # The first pose makes the request; the others only change its target.
    first = goal._replace(pose=np.eye(4))
    solve_request = server.make_request(
        solver, [first], state, timeout=request.timeout, accepts=checks
    )
    tip = server.tip_of(solver, goal.link)
    targets = np.array(solve_request.targets).reshape(-1, 4, 4)
    in_base = server.frames.model_in_link(solver.base_frame, state) @ poses
    solve_request.targets = targets
    deadline = time.monotonic() + request.timeout if request.timeout > 0.0 else None
    done = np.zeros(count, dtype=np.bool_)
    if isinstance(solver, BatchSolver) and checks is None and not request.seed_from_previous:
        budget = request.timeout if request.timeout > 0.0 else None
        results = solver.solve_many(solve_request, in_base, budget)
        positions, done = results.positions, results.solved
        errors, causes[done] = results.errors, Cause.NONE
    for row in np.flatnonzero(~done).tolist():
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
            solve_request.timeout = left
        if server.cancel[0]:
            break
        targets[tip] = in_base[row]
        result = solver.solve(solve_request)
        if result.solved:
            positions[row] = result.solutions[0]
            errors[row] = result.errors[0, 2 * tip : 2 * tip + 2]
            causes[row] = Cause.NONE
            if request.seed_from_previous:
                solve_request.seed = positions[row].copy()
        elif result.cause == Cause.VALIDATION and checks is not None:
            causes[row] = checks.cause_of(result.clock_ended)
        else:
            causes[row] = result.cause
    solved = int((causes == Cause.NONE).sum())
    text = f'{solved} of {counted(count, "pose")} solved by {solver.name}.'
    names = server.group.variable_names
    cause = Cause.DEADLINE if (causes == Cause.DEADLINE).any() else Cause.NONE
    return BatchResponse(Refusal.NONE, cause, text, names, positions, causes, errors)
