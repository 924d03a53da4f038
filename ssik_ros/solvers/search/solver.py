"""
A restart search as a solver: requests become arrays, counters become causes.

The mathematics is in :mod:`ssik_ros.kernels.search.restart_search`. The settings are the policy: PoseIK,
Newton-Raphson, Gauss-Newton and Levenberg-Marquardt differ in the options that the kernel receives.
"""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, freeze, IntArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidLimits, InvalidOption, quote
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.search import restart_search, state
from ssik_ros.model.default_seed import default_seed
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import build_problem, PoseConstraint, Problem, Rows
from ssik_ros.problem.request_limits import narrow_limits
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers.search.arrays import SearchArrays, SingleSearch
from ssik_ros.solvers.search.settings import joint_rows, SearchSettings, tip_tolerances

EVIDENCE = 100
"""If at least this many starts were made and all stalled, the cause is NOT_FOUND instead of BUDGET."""
LARGEST_TIMEOUT = 1e9
"""Budgets of at least this many seconds mean no budget; their nanoseconds would not fit an integer [s]."""
KEPT_TOOLS = 16
SOLVED, NO_CAUSE, NEW = IkStatus.SOLVED, Cause.NONE, tuple.__new__
"""Module constants, because attribute access and named tuples cost time at every solve."""
NO_WORK = math.inf, 0, 0, False
"""Residual, iterations, searches and ``clock_ended`` of a request without a search."""
Work = tuple[float, int, int, bool]


class Frames(NamedTuple):
    """Links of a solver's targets; None means the links of the group."""

    base: str | None = None
    """Link in whose frame targets are given."""
    tips: tuple[str, ...] | None = None
    """Links that have a target."""


GROUP_FRAMES = Frames()


class Run(NamedTuple):
    """One run of the kernel."""

    problem: Problem
    options: FloatArray
    arrays: SearchArrays
    out: FloatArray
    """(max_solutions + 1, width) solutions; the last row is the candidate."""
    request: SolveRequest


class SearchSolver:
    """A restart search for one group; several threads may call it at once."""

    tier = 'iterative'
    reason = 'iterative: it solves chains of any kind'
    kernel: Any = staticmethod(restart_search.search)

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        settings: SearchSettings,
        name: str = 'ssik_ros/LevenbergMarquardt',
        frames: Frames = GROUP_FRAMES,
        rows: Rows | None = None,
    ) -> None:
        """
        Prepare the group's problem.

        :param settings: policy, tolerances, budgets.
        :param rows: selected rows of each target; None means all six.
        """
        self.name = name
        self.robot = robot
        self.group = group
        self.settings = settings
        self.joint_names = group.joint_names
        self.base_frame = group.base_link if frames.base is None else frames.base
        self.tip_frames = group.tips if frames.tips is None else frames.tips
        self._rows = rows or Rows()
        self.problem = self._build(None)
        self._with_tools: dict[bytes, Problem] = {}
        self._defaults = robot.default_positions()[self.problem.idx_q]
        self.start = self._defaults.copy()
        """First start of a request without a seed (nq,)."""
        size = self.problem.group_size
        self.start[:size] = default_seed(robot, group)[:size]
        self._passive = self.problem.nq != self.problem.group_size
        self._stack = (len(self.tip_frames), 4, 4)
        self._seed_shape = (self.problem.group_size,)
        self.width = self.problem.nq + 2 * len(self.tip_frames) + 2
        self._error_columns = slice(self.problem.nq, self.problem.nq + 2 * len(self.tip_frames))
        self.pool: list[SearchArrays] = []
        self.no_cancel = np.zeros(1, dtype=np.int64)
        self.packed = settings.pack(self.problem, self.start)
        """Kernel options for plain requests. They are shared: do not write to them."""

    def _build(self, tools: FloatArray | None) -> Problem:
        """Return the packed problem for tools (t, 4, 4) at the tips, in arrays that the kernel accepts."""
        constraints = [
            PoseConstraint(
                frame_a=self.base_frame,
                frame_b=tip,
                target=index,
                tool=None if tools is None else tools[index],
                rows=self._rows,
            )
            for index, tip in enumerate(self.tip_frames)
        ]
        problem = build_problem(
            self.robot.tree,
            self.joint_names,
            constraints,
            with_hulls=True,
            keeps_limits=self.settings.joint_limits,
        )
        return dataclasses.replace(problem, ints=problem.ints.copy(), reals=problem.reals.copy())

    @functools.cached_property
    def single(self) -> SingleSearch:
        """Return the fast call that solves one pose."""
        return SingleSearch(self.problem, self.packed, self.start, self.no_cancel)

    def warm_up(self) -> None:
        """Call all kernels once by solving an easy request, plain and with tools."""
        targets = np.broadcast_to(np.eye(4), self._stack).copy()
        for tools in (None, targets):
            self.solve(SolveRequest(targets=targets, tool_offsets=tools, max_searches=1))

    def borrow(self) -> SearchArrays:
        """Return arrays for one search; return them with :meth:`give_back`."""
        try:
            return self.pool.pop()
        except IndexError:
            return SearchArrays(self.problem)

    def give_back(self, arrays: SearchArrays) -> None:
        """Return borrowed arrays to the pool."""
        self.pool.append(arrays)

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Solve one request.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises InvalidLimits: when starts have to be drawn for a joint without a range.
        """
        pool = self.pool
        try:
            arrays = pool.pop()
        except IndexError:
            arrays = SearchArrays(self.problem)
        try:
            return self._solve(request, arrays)
        finally:
            pool.append(arrays)

    def _solve(self, request: SolveRequest, arrays: SearchArrays) -> IkResult:
        """Write the request into the search's arrays, run it, and return the result."""
        problem = self.problem if request.tool_offsets is None else self._for_tools(request)
        arrays.matrices[...] = self._checked_poses(request.targets)
        self._write_seed(request, arrays.reference)
        options = self.packed
        if self._is_special(request):
            if not joint_values.are_usable(arrays.reference):
                return self._unsolved(IkStatus.REFUSED, Cause.BAD_STATE, self.start)
            narrowed = self._request_options(request, problem, arrays.reference)
            if narrowed is None:
                return self._unsolved(IkStatus.UNSOLVED, Cause.CONSISTENCY, arrays.reference)
            options = narrowed
        out = np.empty((request.max_solutions + 1, self.width))
        timeout_ns = 0 if request.timeout is None else nanoseconds(request.timeout)
        run = NEW(Run, (problem, options, arrays, out, request))
        code = self.run(run, timeout_ns)
        if code == state.FOUND:
            return self._solved(arrays, out)
        if code == state.EXHAUSTED and request.wants_nearest:
            code = self._prove(run)
        return self._failed(run, code)

    def run(self, run: Run, timeout_ns: int, phase: int = state.FRESH) -> int:
        """
        Run the kernel, and pass each candidate to the request's validation; return the last code.

        :param timeout_ns: budget of a fresh search [ns]; 0 means no budget.
        :param phase: FRESH, or CONTINUED for a search that goes on.
        """
        problem, options, arrays, out, request = run
        validate = request.validate
        cancel = self.no_cancel if request.cancel is None else checked_flag(request.cancel)
        kernel, ints, reals = self.kernel, problem.ints, problem.reals
        counters, work = arrays.counters, arrays.work
        while True:
            code: int = kernel(
                ints, reals, options, phase, timeout_ns, cancel, counters, work, out
            )
            if code != state.CANDIDATE or validate is None:
                return code
            accepted = validate(out[-1, : problem.group_size].copy())
            phase = state.ACCEPTED if accepted else state.REFUSED

    def flag_of(self, request: SolveRequest) -> IntArray:
        """Return the flag that cancels a request."""
        return self.no_cancel if request.cancel is None else checked_flag(request.cancel)

    def _for_tools(self, request: SolveRequest) -> Problem:
        """Return the problem whose tips carry the request's tools; recent problems are cached."""
        tools = np.array(self._checked_poses(request.tool_offsets), dtype=np.float64)
        tools = tools.reshape(self._stack)
        key = tools.tobytes()
        problem = self._with_tools.get(key)
        if problem is None:
            problem = self._build(tools)
            if len(self._with_tools) >= KEPT_TOOLS:
                self._with_tools.clear()
            self._with_tools[key] = problem
        return problem

    def _checked_poses(self, poses: FloatArray | None) -> FloatArray:
        """Return an array of one pose for each tip: (t, 4, 4), or (4, 4) for one tip."""
        array = poses if isinstance(poses, np.ndarray) else np.array(poses, dtype=np.float64)
        shape = array.shape
        if shape != self._stack and (shape != (4, 4) or self._stack[0] != 1):
            raise DimensionMismatch(
                f'{self.name} has the tips {list(self.tip_frames)} and needs poses of shape '
                f'{self._stack}, not {shape}.',
                expected=self._stack,
                actual=shape,
            )
        return array

    def _write_seed(self, request: SolveRequest, reference: FloatArray) -> None:
        """Write the seed, and passive variables from the robot's state, into the search's reference."""
        seed, size = request.seed, self.problem.group_size
        if seed is None:
            reference[:] = self.start
        else:
            reference[:size] = self.checked_seed(seed)
        if self._passive or request.state is not None:
            passive = self._defaults
            if request.state is not None:
                passive = self.robot.tree.full_state(request.state)[self.problem.idx_q]
            reference[size:] = passive[size:]

    def checked_seed(self, seed: Any) -> FloatArray:
        """
        Return a seed as an array (n,).

        :raises DimensionMismatch: when it has another shape.
        """
        array = seed if isinstance(seed, np.ndarray) else np.array(seed, dtype=np.float64)
        if array.shape != self._seed_shape:
            raise DimensionMismatch(
                f'Group {quote(self.group.name)} has {self.problem.group_size} joint variables '
                f'{list(self.group.variable_names)}; the seed has the shape {array.shape}.',
                expected=self._seed_shape,
                actual=array.shape,
            )
        return array

    def full_states(self, seeds: FloatArray | None) -> FloatArray:
        """
        Return seeds as states of the problem (k, nq), other variables at their defaults.

        :param seeds: (k, n); None means :attr:`start`.
        """
        if seeds is None:
            return self.start[None].copy()
        states = np.tile(self.start, (len(seeds), 1))
        states[:, : self.problem.group_size] = seeds
        return states

    def _is_special(self, request: SolveRequest) -> bool:
        """Return whether a request needs its own kernel options."""
        return bool(
            self._passive
            or request.validate is not None
            or request.tolerance is not None
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
            or request.max_searches is not None
            or request.wants_nearest
            or type(request.max_solutions) is not int
            or request.max_solutions < 1
            or request.locked
        )

    def _request_options(
        self, request: SolveRequest, problem: Problem, seed: FloatArray
    ) -> FloatArray | None:
        """Return the kernel's options for a special request; None when consistency leaves no room."""
        require_count('max_solutions', request.max_solutions)
        options = self.packed.copy()
        options[state.VALIDATED] = float(request.validate is not None)
        options[state.KEEPS_LOOKING] = float(request.wants_nearest)
        if request.max_searches is not None:
            require_count('max_searches', request.max_searches)
            options[state.MAX_SEARCHES] = request.max_searches
        rows = joint_rows(options, problem.nv)
        lower, upper = rows[state.LOWER], rows[state.UPPER]
        room = narrow_limits(request, problem, self.group, seed, lower, upper)
        if request.tolerance is not None:
            norm = tip_tolerances(options, problem.nv, len(self.tip_frames))[state.NORM]
            norm[:] = self.checked_tolerance(request.tolerance)
        if not room:
            return None
        for row in (state.SAMPLING_LOWER, state.SAMPLING_UPPER):
            np.clip(rows[row], lower, upper, out=rows[row])
        return options

    def checked_tolerance(self, tolerance: float | FloatArray) -> FloatArray:
        """
        Return a tolerance for each tip, one number or (t,).

        :raises InvalidOption: when it is not positive and finite, or has another shape.
        """
        value = np.asarray(tolerance, dtype=np.float64)
        positive = (value > 0.0) & np.isfinite(value)
        if value.shape not in ((), (len(self.tip_frames),)) or not positive.all():
            raise InvalidOption(
                f'The tolerance must be a positive number, or one for each of the '
                f'{counted(len(self.tip_frames), "tip")}, not {tolerance}.'
            )
        return value

    def _solved(self, arrays: SearchArrays, out: FloatArray) -> IkResult:
        """Return the solutions that the kernel left in ``out``."""
        counters = arrays.counters.tolist()
        found = counters[state.COUNT]
        out.setflags(write=False)
        return IkResult(
            SOLVED,
            NO_CAUSE,
            out[:found, : self.problem.group_size],
            out[:found, self._error_columns],
            None,
            out.item(0, -2),
            counters[state.ITERATIONS],
            counters[state.SEARCHES],
            counters[state.CLOCK_ENDED] != 0,
        )

    def _prove(self, run: Run) -> int:
        """Return OUT_OF_REACH if a proof that the search did not use excludes the targets, else EXHAUSTED."""
        options, other = run.options.copy(), SearchArrays(self.problem)
        options[state.KEEPS_LOOKING] = options[state.MAX_SEARCHES] = 0.0
        other.matrices[...], other.reference[:] = run.arrays.matrices, run.arrays.reference
        out = np.empty((2, self.width))
        return self.run(run._replace(options=options, arrays=other, out=out), 0)

    def _failed(self, run: Run, code: int) -> IkResult:
        """Return the result of a search without a solution, from the kernel's code and counters."""
        arrays, counters = run.arrays, run.arrays.counters
        if code == state.UNSAMPLED:
            raise self.unsampled(int(counters[state.UNSAMPLED_VARIABLE]))
        status, cause = self.explain(code, counters, arrays.matrices, run.problem, run.options)
        is_bounded = run.request.consistency_limits is not None
        if cause == Cause.LIMITS and is_bounded and code != state.OUT_OF_REACH:
            cause = Cause.CONSISTENCY
        nearest = self.start if code == state.BAD_STATE else arrays.best
        refused = code in (state.BAD_STATE, state.BAD_TARGET)
        residual = math.inf if refused else self.remaining_error(arrays)
        iterations, searches = int(counters[state.ITERATIONS]), int(counters[state.SEARCHES])
        clock_ended = code in (state.DEADLINE, state.CANCELLED)
        work = residual, iterations, searches, clock_ended
        return self._unsolved(status, cause, nearest, work)

    def _unsolved(
        self,
        status: IkStatus,
        cause: Cause,
        nearest: FloatArray,
        work: Work = NO_WORK,
    ) -> IkResult:
        """Return a result without solutions."""
        n = self.problem.group_size
        arrays = np.empty((0, n)), np.empty((0, 2 * len(self.tip_frames))), nearest[:n].copy()
        freeze(*arrays)
        residual, iterations, searches, clock_ended = work
        return IkResult(status, cause, *arrays, residual, iterations, searches, clock_ended)

    def remaining_error(self, arrays: SearchArrays) -> float:
        """Return the error of the best state of a search without a solution."""
        return float(np.linalg.norm(arrays.errors))

    def unsampled(self, variable: int) -> InvalidLimits:
        """Return the error for a joint without a range, whose starts cannot be drawn."""
        name = self.problem.joint_of_variable[variable]
        return InvalidLimits(
            f'The seed did not lead to a solution, and other starts cannot be drawn: joint {quote(name)} '
            'has no finite limits. Give it limits in the URDF or in the request.',
            joint=name,
        )

    def explain(
        self,
        code: int,
        counters: IntArray,
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> tuple[IkStatus, Cause]:
        """
        Return status and cause of a search without a solution.

        :param code: final code of the search.
        :param counters: counters of the search.
        :param targets: (4, 4) or (4 t, 4) or (t, 4, 4) targets of the search.
        :param problem, options: problem and options of the search; None means the defaults of the solver.
        """
        if code == state.BAD_TARGET:
            return IkStatus.REFUSED, Cause.BAD_TARGET
        if code == state.BAD_STATE:
            return IkStatus.REFUSED, Cause.BAD_STATE
        if code == state.OUT_OF_REACH:
            return IkStatus.UNSOLVED, self._cause_of_proof(targets, problem, options)
        if counters[state.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.VALIDATION
        if code in (state.DEADLINE, state.CANCELLED):
            return IkStatus.UNSOLVED, Cause.DEADLINE
        if counters[state.LIMITS_SEEN]:
            return IkStatus.UNSOLVED, Cause.LIMITS
        searches = counters[state.SEARCHES]
        if searches >= EVIDENCE and counters[state.STALLED] == searches:
            return IkStatus.UNSOLVED, Cause.NOT_FOUND
        is_singular = counters[state.SINGULAR_SEEN] and counters[state.SINGULAR_SEEN] == searches
        return IkStatus.UNSOLVED, Cause.SINGULAR if is_singular else Cause.BUDGET

    def _cause_of_proof(
        self, targets: FloatArray, problem: Problem | None, options: FloatArray | None
    ) -> Cause:
        """Return LIMITS if the only proof uses limits of prismatic joints, else UNREACHABLE."""
        reaches = (self.problem if problem is None else problem).reaches
        if not reaches:
            return Cause.UNREACHABLE
        options = self.packed if options is None else options
        largest = tip_tolerances(options, self.problem.nv, len(self.tip_frames)).max(axis=1)
        norm = min(largest[state.NORM], math.sqrt(options[state.ERROR_SQUARED]))
        position, rotation = (float(min(norm, each)) for each in largest[1:])
        poses = np.reshape(targets, (-1, 4, 4))
        for target, reach in reaches:
            if reach is not None and reach.refuses(poses[target], position, rotation):
                return Cause.UNREACHABLE
        return Cause.LIMITS


def checked_flag(flag: IntArray) -> IntArray:
    """
    Return a cancel flag after a check of its type and shape.

    :raises InvalidOption: when it has another type or shape.
    """
    usable = isinstance(flag, np.ndarray) and flag.dtype == np.int64 and flag.shape == (1,)
    if not usable or not flag.flags.writeable or not flag.flags.c_contiguous:
        raise InvalidOption(f'cancel must be a writeable int64 array of shape (1,), not {flag!r}.')
    return flag


def require_count(name: str, value: Any) -> None:
    """
    Raise an error unless a value is a whole number of at least 1.

    :raises InvalidOption: has the name of the option.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidOption(f'{name} must be a whole number of at least 1, not {value!r}.')


def nanoseconds(seconds: float) -> int:
    """
    Return a budget in nanoseconds; 0 means no budget.

    :raises InvalidOption: for NaN and negative numbers.
    """
    if not seconds >= 0.0:
        raise InvalidOption(
            f'timeout must be a number of seconds from 0 on (0 and None set no limit), not {seconds}.',
            name='timeout',
            value=seconds,
        )
    return 0 if seconds == 0.0 or seconds >= LARGEST_TIMEOUT else max(1, round(seconds * 1e9))
