"""
Solve plain requests by one kernel call: one pose, one seed, one solution, and no special options.

Planners and control loops send nearly nothing else, and the call takes less time than the general path needs to
translate a request. All other requests, and those without a solution, go on to the general path.
"""

from collections.abc import Callable
import dataclasses
from math import hypot
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, freeze
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.kernels.geometry.joint_values import LARGEST_JOINT_VALUE
from ssik_ros.kernels.search import causes, plain_request, state
from ssik_ros.problem.contract import ONE, ONE_TIP, SolveRequest
from ssik_ros.problem.request_fields import checked_flag, LARGEST_TIMEOUT, nanoseconds
from ssik_ros.results import Cause, CAUSES, error_norm, IkResult, OneSolution, Report
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_block import BranchBlock
from ssik_ros.solvers.closed_form.branch_request import (
    Branches,
    BranchRequest,
    cause_of_absence,
)
from ssik_ros.solvers.search.arrays import SingleArrays
from ssik_ros.solvers.search.settings import tip_tolerances
from ssik_ros.solvers.search.solver import SearchSolver

LARGEST_SEED_ERROR = 0.3
"""Largest error of a seed at which a descent starts there [m, rad]. It exceeds the error of joints off by 0.05 rad on a
1 m arm."""
LONGEST_WAY = 0.5
"""Largest change of a joint between the seed and an accepted solution next to it [rad or m]."""
NDARRAY, FLOAT64, EMPTY, NEW_OBJECT = np.ndarray, np.dtype(np.float64), np.empty, object.__new__
"""Kept as module constants: looking up an attribute costs time at every solve."""
FOUND, OUT_OF_REACH = state.FOUND, state.OUT_OF_REACH
EXHAUSTED, NOT_CALLED = state.EXHAUSTED, plain_request.NOT_CALLED
MALFORMED = (
    plain_request.MISSHAPEN,
    state.BAD_TARGET,
    state.BAD_STATE,
    state.UNSAMPLED,
)
"""Codes of malformed requests, which the general path explains in words."""
LEAST_SECONDS = 1e-9
"""Shorter budgets are rounded up to a nanosecond."""
GoOn = Callable[..., IkResult]
"""Solves a request. After an attempt it also gets the result (None for malformed arrays) and the start time [s]."""
MOST_TOLERANCES = 16
"""Largest number of request tolerances with kept arrays."""


class ClosedForm(NamedTuple):
    """
    A complete closed form of an arm, with two flags for the fast path.

    They tell whether it runs before the search, and whether a solution near the seed is accepted at once.
    """

    arm: AnalyticArm
    follows_seed: bool
    """True if a solution near the seed is accepted although another solution may be nearer."""
    is_first: bool
    """True if the closed form runs before the search, False if it runs after a search without a solution."""


class PlainRequests:
    """
    The fast path for plain requests to one arm: one kernel call.

    Other requests, and those without a solution, go on to the general path. Several threads may call it at once.
    """

    def __init__(
        self,
        solver: SearchSolver,
        go_on: GoOn,
        closed_form: ClosedForm | None = None,
        tolerance: float | None = None,
    ) -> None:
        """
        Prepare the kernel call.

        :param solver: the search, for one tip and without variables outside the group. A closed form that
            ``is_first`` runs before it; the search then only solves poses that are just out of reach.
        :param go_on: function of the general path. It gets a request that is not plain, or a plain request with its
            result and start time.
        :param closed_form: a complete closed form; None if the arm has none.
        :param tolerance: largest norm over position [m] and rotation [rad] error of a solution; None means the
            tolerance of ``solver``.
        """
        self._solver, self._go_on = solver, go_on
        self._closed_form = closed_form
        self.tolerance = solver.settings.tolerance if tolerance is None else tolerance
        """Largest norm over position [m] and rotation [rad] error of a solution."""
        self.problem = solver.problem
        """Packed problem of the search."""
        self._options = solver.packed.copy()
        tip_tolerances(self._options, solver.problem.nv, 1)[state.NORM] = self.tolerance
        self._others: dict[float, PlainRequests] = {}
        self._size, self._state_shape = solver.problem.group_size, solver.requests.state_shape
        self._nothing = np.empty((0, self._size)), np.empty((0, 2))
        freeze(*self._nothing)
        # Decided once: for an arm without slides, this proof has always the same cause.
        unread = np.zeros(state.STATE_SIZE, dtype=np.int64), np.eye(4)
        self._proved = (
            None if solver.problem.reaches else solver.failures.explain(OUT_OF_REACH, *unread)
        )
        self._start = solver.start[: self._size].copy()
        self._no_flag = address_of(solver.no_cancel)
        self._last_flag = solver.no_cancel, self._no_flag
        self._search: Callable[..., Any] = plain_request.search_one
        self._solve_one: Callable[..., Any] = plain_request.solve_one
        self._pool: list[tuple[int, BranchBlock | None, SingleArrays]] = []

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Return the result of one request: by one kernel call if the request is plain, otherwise by the general path.

        A plain request that the kernel call does not solve goes on to the general path, too.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises JointNotFound: if a locked joint does not exist.
        :raises InvalidLimits: if starts must be drawn for a joint without a range; names the joint. Also for a lower
            limit above an upper limit, and for a joint that is locked outside its limits.
        """
        tolerance = request.tolerance
        if tolerance is not None and tolerance is not self.tolerance:
            return self._solve_within(request, self._solver.requests.tolerance(tolerance).item())
        robot_state = request.state
        # As ``is_plain`` of the contract, whose call would take 4 % of the time of a solve.
        if not (
            request.max_solutions is ONE
            and (request.validate is None and request.tool_offsets is None)
            and request.max_searches is None
            and request.lower is request.upper is request.consistency_limits is None
            and not (request.wants_nearest or request.locked)
        ):
            return self._go_on(request)
        # As ``is_state_usable`` of the reader, which judges all other states.
        if robot_state is not None and not (
            type(robot_state) is NDARRAY
            and (robot_state.dtype is FLOAT64 and robot_state.shape == self._state_shape)
            and hypot(*robot_state.tolist()) <= LARGEST_JOINT_VALUE
        ):
            return self._go_on(request)
        target, cancel = request.targets, request.cancel
        seed = self._start if request.seed is None else request.seed
        # The kernel checks the sizes.
        if type(target) is NDARRAY and target.shape == ONE_TIP:
            target = target[0]
        if not (type(target) is type(seed) is NDARRAY and target.ndim == 2 and seed.ndim == 1):
            return self._go_on(request)
        if target.dtype is not FLOAT64 or seed.dtype is not FLOAT64:
            return self._go_on(request)
        # The clock is read only if a budget is given.
        began, timeout, seconds = 0.0, 0, request.timeout
        if seconds is not None:
            began = monotonic()
            usual = type(seconds) is float and LEAST_SECONDS <= seconds < LARGEST_TIMEOUT
            timeout = round(seconds * 1e9) if usual else nanoseconds(seconds)
        last_cancel, flag = self._last_flag
        # A server has one flag for all of its requests.
        if cancel is not last_cancel:
            flag = self._no_flag if cancel is None else self._address_of(cancel)
        try:
            memory = self._pool.pop()
        except IndexError:
            memory = self.make_arrays()
        address, closed, arrays = memory
        q = EMPTY(self._size)
        report = (
            self._search(address, timeout, flag, seed, target, q)
            if closed is None
            else self._solve_one(address, closed.address, timeout, flag, seed, target, q)
        )
        if report[0] == FOUND:
            self._pool.append(memory)
            # A positional argument (write) takes half the time.
            q.setflags(False)  # type: ignore[call-arg]
            solution = NEW_OBJECT(OneSolution)
            solution._q, solution._report = q, report
            return solution
        result = self._result_without(request, arrays, q, report)
        self._pool.append(memory)
        return self._go_on(request, result, began)

    def _solve_within(self, request: SolveRequest, tolerance: float) -> IkResult:
        """
        Return the result for a request with another tolerance, by a second fast path with this tolerance.

        The fast paths of at most 16 tolerances are kept for later requests.
        """
        if tolerance not in self._others:
            if len(self._others) >= MOST_TOLERANCES:
                self._others.clear()
            self._others[tolerance] = PlainRequests(
                self._solver, self._go_on, self._closed_form, tolerance
            )
        other = self._others[tolerance]
        return other.solve(dataclasses.replace(request, tolerance=other.tolerance))

    def _address_of(self, cancel: NDArray[np.int64]) -> int:
        """
        Check a cancel flag, and return the memory address of its number for the kernel; remember the last flag.

        Raise InvalidOption for anything but a writeable int64 array of shape (1,).
        """
        address = address_of(checked_flag(cancel))
        self._last_flag = cancel, address
        return address

    def _result_without(
        self, request: SolveRequest, arrays: SingleArrays, q: FloatArray, report: Report
    ) -> IkResult | None:
        """
        Return the result of a request after a kernel call that found no solution.

        If the search has used all its starts, a closed form that has proved nothing yet is asked, and may find a
        solution. Return None for malformed arrays, which the general path refuses with a text.

        :param arrays: arrays of the kernel call.
        :param q: (n,) posture nearest to the pose that the kernel call found.
        :param report: numbers that the kernel call returned.
        """
        closed_form = self._closed_form
        if report[0] == EXHAUSTED and closed_form is not None and report[6] == NOT_CALLED:
            return self._solve_by_branches(closed_form, request, arrays, q, report)
        return None if report[0] in MALFORMED else self._unsolved(arrays, q, report)

    def _solve_by_branches(
        self,
        closed_form: ClosedForm,
        request: SolveRequest,
        arrays: SingleArrays,
        q: FloatArray,
        report: Report,
    ) -> IkResult:
        """
        Return the result of the closed form for a request that the search could not solve.

        A branch that misses the pose by more than the tolerance does not count.

        :param arrays, report: arrays of the kernel call, and the numbers that it returned.
        :param q: (n,) posture nearest to the pose; the nearest posture of the result if no branch is found.
        """
        branches = self._find_branch(closed_form, request)
        if not len(branches.q):
            cause = cause_of_absence(closed_form.arm.plan, branches, Cause.LIMITS)
            return self._unsolved(arrays, q, report, cause)
        position, rotation, _ = branches.errors[0].tolist()
        residual = error_norm(position, rotation)
        if not residual <= self.tolerance:
            # The closed form has a wider tolerance than the request: nothing is proved.
            return self._unsolved(arrays, q, report)
        values = branches.q[0]
        values.setflags(write=False)
        report = FOUND, report[1], 1, residual, position, rotation, branches.branches
        return OneSolution(values, report)

    def _find_branch(self, closed_form: ClosedForm, request: SolveRequest) -> Branches:
        """
        Return the branch of a request that is nearest to the seed; the result may have none.

        A slower search, which includes curves of postures, follows at a singular pose. If the kernel call has not asked
        the closed form, it follows only without a branch within the limits.

        :param request: a request whose pose the search has accepted as a rigid transform.
        """
        pose = np.array(request.targets, order='C').reshape(4, 4)
        seed = np.array(self._start if request.seed is None else request.seed)
        arm, nearest = closed_form.arm, BranchRequest(seed=seed, max_solutions=1)
        branches = arm.branches(pose, nearest)
        assert branches is not None
        if branches.is_doubtful and (closed_form.is_first or not len(branches.q)):
            branches = arm.branches_refined(pose, nearest) or branches
        return branches

    def _unsolved(
        self, arrays: SingleArrays, q: FloatArray, report: Report, exact: Cause | None = None
    ) -> IkResult:
        """
        Return a result without a solution, with the cause that the kernel's code and the closed form prove.

        :param arrays: arrays of the kernel call.
        :param q: (n,) posture nearest to the pose, which becomes read-only.
        :param report: numbers of the kernel call. Item 6 is the number of branches outside the limits, or -1
            (NOT_CALLED) if the closed form has decided nothing.
        :param exact: cause of the closed form; None takes it from ``report``.
        """
        code, iterations, searches, residual, _, _, branches = report[:7]
        if exact is None and branches != NOT_CALLED:
            # A complete closed form in no doubt.
            exact = CAUSES[causes.of_absence(False, False, branches > 0, True, causes.LIMITS)]
        q.setflags(False)  # type: ignore[call-arg]
        if code == OUT_OF_REACH and self._proved is not None:
            return IkResult(
                *self._proved, *self._nothing, q, residual, iterations, searches, clock_ended=False
            )
        solver = self._solver
        status, cause = solver.failures.explain(
            code, arrays.counters, arrays.matrices, solver.problem, self._options
        )
        clock_ended = code in (state.DEADLINE, state.CANCELLED)
        if exact is not None and not clock_ended:
            is_near = causes.is_nearly_met(residual, self.tolerance)
            cause = CAUSES[causes.of_both(exact, cause, residual, self.tolerance)]
            # An empty set of branches is a proof without any start, unless the pose is nearly met.
            if exact != Cause.NOT_FOUND and not is_near:
                searches = 0 if exact == Cause.UNREACHABLE else 1
        return IkResult(
            status, cause, *self._nothing, q, residual, iterations, searches, clock_ended
        )

    def make_arrays(self) -> tuple[int, BranchBlock | None, SingleArrays]:
        """Return new memory for one kernel call: address of the search arrays, closed-form block or None, search arrays."""
        solver, closed_form = self._solver, self._closed_form
        arrays = SingleArrays(solver.problem, self._options, solver.start)
        block = None
        if closed_form is not None and closed_form.is_first:
            block = _make_block(closed_form.arm, closed_form.follows_seed, self.tolerance)
        return arrays.address, block, arrays


def _make_block(arm: AnalyticArm, follows_seed: bool, tolerance: float) -> BranchBlock:
    """
    Return a new block of memory for one closed-form request, as :func:`plain_request.solve_one` reads it.

    Three extra numbers are in its part OWN. They are the largest error of a solution, and the largest error of a seed
    at which a descent starts (0 for no descent). The third is the largest joint motion from such a seed to a solution.

    :param follows_seed: True lets a descent start at a seed near the pose, before the closed form is called.
    :param tolerance: largest norm over position [m] and rotation [rad] error of a solution.
    """
    prepared = arm.requests.prepare(BranchRequest(seed=np.zeros(arm.plan.size), max_solutions=1))
    numbers = np.zeros(plain_request.NUMBERS)
    numbers[plain_request.SOLUTION_ERROR] = tolerance
    numbers[plain_request.SEED_ERROR] = LARGEST_SEED_ERROR if follows_seed else 0.0
    numbers[plain_request.LONGEST_WAY] = LONGEST_WAY
    return BranchBlock(prepared, numbers)
