"""
PoseIK: damped least squares from a deterministic sequence of starts, for one tip or several.

The mathematics stands in :mod:`ssik_ros.kernels.pose_search`; this module translates a request into arrays, asks
the user's validation about candidates, and says what the outcome means.
"""

import dataclasses
import functools
import logging
import math
import time

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import DimensionMismatch
from ssik_ros.errors import InvalidLimits
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels import layout
from ssik_ros.kernels import pose_search
from ssik_ros.kernels.compilation import has_machine_code
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.results import IkResult
from ssik_ros.results import IkStatus
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.many_rows import ManyAnswers
from ssik_ros.solvers.many_rows import RowWork
from ssik_ros.solvers.many_rows import solve_rows
from ssik_ros.solvers.parameter_file import load_schema
from ssik_ros.solvers.pose_ik.options import PARAMETERS_FILE
from ssik_ros.solvers.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.problem import build_problem
from ssik_ros.solvers.problem import PoseConstraint
from ssik_ros.solvers.problem import position_rows
from ssik_ros.solvers.problem import Problem
from ssik_ros.solvers.problem import Rows
from ssik_ros.solvers.request_limits import narrow_limits
from ssik_ros.solvers.turns import Slices
from ssik_ros.solvers.turns import TURNS
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FloatArray = NDArray[np.float64]

_LOGGER = logging.getLogger('ssik_ros.compilation')

FIRST_FOUND_SEARCHES = 10_000
"""Default budget of starts; a reachable pose is found in two or three."""
OPTIMIZE_SEARCHES = 200
"""Default budget of starts while optimising: every branch of an arm is met many times."""
FIRST_SLICE = 32
"""Starts after which a search counts as a long one, and lets others search in between."""
EVIDENCE = 100
"""Starts that must all have got stuck before an unproven target is called unreachable."""
SOLVED, NO_CAUSE = IkStatus.SOLVED, Cause.NONE
"""Members of enumerations by plain names: looking them up costs as much as a forward pass."""
LARGEST_TIMEOUT = 1e9
"""Longer budgets [s] than this mean none (and would not fit into nanoseconds)."""


class _SearchState:
    """The arrays of one running search; reused by later ones, never shared by two at a time."""

    __slots__ = ('best', 'counters', 'matrices', 'reference', 'scalars', 'work')

    def __init__(self, problem: Problem) -> None:
        """Allocate what a problem needs."""
        self.counters = np.zeros(pose_search.STATE_SIZE, dtype=np.int64)
        self.work = np.zeros(problem.workspace_size)
        place, targets = int(problem.ints[layout.WORK_MATRICES]), int(problem.ints[layout.TARGETS])
        self.matrices = self.work[place : place + 16 * targets].reshape(targets, 4, 4)
        place = int(problem.ints[layout.WORK_STATES])
        states = self.work[place : place + layout.STATE_ARRAYS * problem.nq]
        states = states.reshape(layout.STATE_ARRAYS, problem.nq)
        self.best, self.reference = states[layout.BEST], states[layout.REFERENCE]
        place = int(problem.ints[layout.WORK_SCRATCH]) + layout.SCRATCH
        self.scalars = self.work[place : place + layout.SCALARS]


class PoseIkSolver:
    """PoseIK for one group; may be asked from several threads at once."""

    tier = 'iterative'
    reason = 'iterative: it solves chains of any kind'

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: PoseIkOptions | None = None,
        *,
        base_frame: str | None = None,
        tip_frames: tuple[str, ...] | None = None,
        rows: Rows | None = None,
        position_only: bool = False,
        name: str = 'ssik_ros/PoseIK',
    ) -> None:
        """
        Prepare the group's problem.

        :param options: parameters; None means the defaults.
        :param base_frame: link that targets are given in; None means the group's base.
        :param tip_frames: links that targets are for; None means the group's tips.
        :param rows: which rows of each target count; None means all six.
        :param position_only: leave the orientation free; the same as ``rows=position_rows()``.
        """
        _announce_compilation()
        self.name = name
        self.robot = robot
        self.group = group
        self.options = _checked(options) if options is not None else PoseIkOptions()
        self.joint_names = group.joint_names
        self.base_frame = base_frame if base_frame is not None else group.base_link
        self.tip_frames = tip_frames if tip_frames is not None else group.tips
        self._rows = rows or (position_rows() if position_only else Rows())
        self._problem = self._build(None)
        self._with_tools: dict[bytes, Problem] = {}
        self._options = self._pack_options(self._problem)
        self._first_slice = _cut(self._options)
        self._defaults = robot.default_positions()[self._problem.idx_q]
        self._middle = self._middle_of_limits()
        self._passive = self._problem.nq != self._problem.group_size
        self._stack = (len(self.tip_frames), 4, 4)
        self._seed_shape = (self._problem.group_size,)
        self._out_width = self._problem.nq + 2 * len(self.tip_frames) + 2
        self._error_columns = slice(self._problem.nq, self._problem.nq + 2 * len(self.tip_frames))
        self._pool: list[_SearchState] = []
        self._never = np.zeros(1, dtype=np.int64)

    def _build(self, tools: FloatArray | None) -> Problem:
        """Return the packed problem for tools (t, 4, 4) at the tips."""
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
        return build_problem(self.robot.tree, self.joint_names, constraints)

    def _pack_options(self, problem: Problem) -> FloatArray:
        """Return the kernel's options for the solver's own parameters."""
        own = self.options
        optimise = own.solve_mode == 'optimize_distance'
        head = np.zeros(pose_search.OPTIONS)
        head[pose_search.DAMPING] = own.gd_jacobian_damping
        head[pose_search.MULTIPLIER] = own.gd_step_multiplier
        head[pose_search.THRESHOLD] = own.gd_adaptive_threshold
        head[pose_search.MAX_ITERATIONS] = own.gd_max_iters
        head[pose_search.OPTIMISE] = float(optimise)
        head[pose_search.GAIN] = own.optimization_distance_gain
        head[pose_search.MAX_SEARCHES] = OPTIMIZE_SEARCHES if optimise else FIRST_FOUND_SEARCHES
        head[pose_search.OPTIMISE_NS] = min(own.optimization_timeout, LARGEST_TIMEOUT) * 1e9
        head[pose_search.RIGID] = DEFAULT_TOLERANCES.rigid
        head[pose_search.SAME] = DEFAULT_TOLERANCES.same_solution
        tolerance = np.full(len(self.tip_frames), own.target_tolerance)
        return np.concatenate([head, problem.lower, problem.upper, tolerance])

    def _middle_of_limits(self) -> FloatArray:
        """Return the seed of a request without one: mid-range, or the default where there is none."""
        middle = self._defaults.copy()
        for v, place in enumerate(self._problem.variable_q):
            lower, upper = self._problem.lower[v], self._problem.upper[v]
            if self._problem.variable_kind[v] <= layout.LINEAR and math.isfinite(upper - lower):
                middle[place] = 0.5 * (lower + upper)
        return middle

    def warm_up(self) -> None:
        """Load or compile all kernels by solving an easy request, plain and with tools."""
        targets = np.broadcast_to(np.eye(4), (len(self.tip_frames), 4, 4)).copy()
        for tools in (None, targets):
            self.solve(SolveRequest(targets=targets, tool_offsets=tools, max_searches=1))

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Answer one request.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises InvalidLimits: when a joint would have to be sampled that has no range, by name.
        """
        state = self._take_state()
        try:
            return self._solve(request, state)
        finally:
            self._pool.append(state)

    def _solve(self, request: SolveRequest, state: _SearchState) -> IkResult:
        """Write the request into the search's arrays, run it, and say what came out."""
        problem = self._problem if request.tool_offsets is None else self._for_tools(request)
        state.matrices[...] = self._checked_poses(request.targets)
        self._write_seed(request, state.reference)
        options = self._options
        if self._is_special(request):
            if not np.isfinite(state.reference).all():
                return self._empty(IkStatus.REFUSED, Cause.BAD_STATE, self._middle)
            narrowed = self._request_options(request, problem, state.reference)
            if narrowed is None:
                return self._empty(IkStatus.UNSOLVED, Cause.CONSISTENCY, state.reference)
            options = narrowed
        out = np.empty((request.max_solutions + 1, self._out_width))
        timeout = request.timeout
        timeout_ns = 0 if timeout is None else _nanoseconds(timeout)
        begun = time.perf_counter()
        first = self._first_slice if options is self._options else _cut(options)
        code = self._search(problem, first, timeout_ns, state, out, request)
        if self._is_cut(code, options, state, request):
            slices = Slices(TURNS, int(options[pose_search.MAX_SEARCHES]), begun, timeout_ns)
            code = self._go_on(problem, options, slices, state, out, request, code)
        if code == pose_search.FOUND:
            return self._solved(state, out)
        return self._failed(code, request, problem, state)

    @staticmethod
    def _is_cut(
        code: int, options: FloatArray, state: _SearchState, request: SolveRequest
    ) -> bool:
        """Return whether it was the end of a slice that ended a search."""
        counters = state.counters
        return bool(
            code in (pose_search.EXHAUSTED, pose_search.FOUND)
            and counters[pose_search.COUNT] < request.max_solutions
            and not counters[pose_search.CLOCK_ENDED]
            and counters[pose_search.SEARCHES] < options[pose_search.MAX_SEARCHES]
        )

    def _go_on(
        self,
        problem: Problem,
        options: FloatArray,
        slices: Slices,
        state: _SearchState,
        out: FloatArray,
        request: SolveRequest,
        code: int,
    ) -> int:
        """Return the kernel's code of a search that goes on in slices."""
        own, cancel = options.copy(), self._flag(request)
        try:
            while self._is_cut(code, options, state, request):
                if not slices.pass_on(int(state.counters[pose_search.SEARCHES]), cancel):
                    break
                own[pose_search.MAX_SEARCHES] = slices.limit
                code = self._search(problem, own, 0, state, out, request, pose_search.CONTINUED)
        finally:
            slices.close()
        return code

    def solve_many(
        self, request: SolveRequest, targets: FloatArray, timeout: float | None = None
    ) -> ManyAnswers:
        """
        Answer a request for each of many targets, as far as a first slice of starts finds an answer.

        Rows that it leaves are for :meth:`solve`, which gives the same answers and says why there is none. Several
        threads work for a while; what takes longer goes on in one, and takes turns with other searches.

        :param request: the question, without a validation; its own targets do not count.
        :param targets: (m, 4, 4) poses of the only tip in the base frame.
        :param timeout: for all of them together [s]; None for no end.
        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        """
        if len(self.tip_frames) != 1 or self._is_special(request):
            return ManyAnswers.of_nobody(len(targets), self._problem.group_size)
        return solve_rows(
            len(targets),
            self._problem.group_size,
            lambda work: self._solve_rows(request, targets, work),
            timeout,
        )

    def _solve_rows(self, request: SolveRequest, targets: FloatArray, work: RowWork) -> None:
        """Solve the rows that a work hands out, in arrays of this thread's own."""
        problem = self._problem if request.tool_offsets is None else self._for_tools(request)
        state = self._take_state()
        try:
            self._write_seed(request, state.reference)
            start, place = state.reference.copy(), state.matrices[0]
            out, size = np.empty((2, self._out_width)), problem.group_size
            for row, timeout_ns in work:
                place[...] = targets[row]
                state.reference[:] = start
                code = self._search(problem, self._first_slice, timeout_ns, state, out, request)
                if code == pose_search.FOUND:
                    work.put(row, out[0, :size], out[0, self._error_columns])
        finally:
            self._pool.append(state)

    def _take_state(self) -> _SearchState:
        """Return arrays that no other search is using."""
        try:
            return self._pool.pop()
        except IndexError:
            return _SearchState(self._problem)

    def _flag(self, request: SolveRequest) -> NDArray[np.int64]:
        """Return what cancels a request."""
        return self._never if request.cancel is None else _checked_flag(request.cancel)

    def _search(
        self,
        problem: Problem,
        options: FloatArray,
        timeout_ns: int,
        state: _SearchState,
        out: FloatArray,
        request: SolveRequest,
        phase: int = pose_search.FRESH,
    ) -> int:
        """Run the kernel, and ask the validation about each candidate it hands out."""
        validate = request.validate
        cancel = self._flag(request)
        while True:
            code: int = pose_search.search(
                problem.ints,
                problem.reals,
                options,
                phase,
                timeout_ns,
                cancel,
                state.counters,
                state.work,
                out,
            )
            if code != pose_search.CANDIDATE or validate is None:
                return code
            accepted = validate(out[-1, : problem.group_size].copy())
            phase = pose_search.ACCEPTED if accepted else pose_search.REFUSED

    def _for_tools(self, request: SolveRequest) -> Problem:
        """Return the problem whose tips carry the request's tools; the last few are kept."""
        tools = np.array(self._checked_poses(request.tool_offsets), dtype=np.float64)
        tools = tools.reshape(self._stack)
        key = tools.tobytes()
        problem = self._with_tools.get(key)
        if problem is None:
            problem = self._build(tools)
            if len(self._with_tools) >= 16:
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
        seed, size = request.seed, self._problem.group_size
        if seed is None:
            reference[:] = self._middle
        else:
            array = seed if isinstance(seed, np.ndarray) else np.array(seed, dtype=np.float64)
            if array.shape != self._seed_shape:
                raise DimensionMismatch(
                    f"Group '{self.group.name}' has {size} joint variables "
                    f'{list(self.group.variable_names)}; the seed has the shape {array.shape}.',
                    expected=(size,),
                    actual=array.shape,
                )
            if self._passive:
                reference[:size] = array
            else:
                reference[:] = array
        passive = self._defaults if request.state is None else self._state(request.state)
        if self._passive:
            reference[size:] = passive[size:]

    def _is_special(self, request: SolveRequest) -> bool:
        """Return whether a request needs options of its own."""
        return bool(
            self._passive
            or request.validate is not None
            or request.tolerance is not None
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
            or request.max_searches is not None
            or type(request.max_solutions) is not int
            or request.max_solutions < 1
            or request.locked
        )

    def _state(self, state: FloatArray) -> FloatArray:
        """Return the problem's variables out of a full state."""
        full = np.asarray(state, dtype=np.float64)
        if full.shape != (self.robot.tree.nq,):
            raise DimensionMismatch(
                f"A full state of robot '{self.robot.name}' has {self.robot.tree.nq} positions, "
                f'not the shape {full.shape}.',
                expected=(self.robot.tree.nq,),
                actual=full.shape,
            )
        return full[self._problem.idx_q]

    def _request_options(
        self, request: SolveRequest, problem: Problem, seed: FloatArray
    ) -> FloatArray | None:
        """Return the kernel's options for a special request; None when consistency leaves no room."""
        _require_count('max_solutions', request.max_solutions)
        options = self._options.copy()
        options[pose_search.VALIDATED] = float(request.validate is not None)
        if request.max_searches is not None:
            _require_count('max_searches', request.max_searches)
            options[pose_search.MAX_SEARCHES] = request.max_searches
        if request.tolerance is not None:
            options[pose_search.OPTIONS + 2 * problem.nv :] = self._tolerance(request.tolerance)
        nv = problem.nv
        lower = options[pose_search.OPTIONS : pose_search.OPTIONS + nv]
        upper = options[pose_search.OPTIONS + nv : pose_search.OPTIONS + 2 * nv]
        room = narrow_limits(request, problem, self.group, seed, lower, upper)
        return options if room else None

    def _tolerance(self, tolerance: float | FloatArray) -> FloatArray:
        """Return a tolerance for each tip."""
        value = np.asarray(tolerance, dtype=np.float64)
        positive = (value > 0.0) & np.isfinite(value)
        if value.shape not in ((), (len(self.tip_frames),)) or not positive.all():
            raise InvalidOption(
                f'The tolerance must be a positive number, or one for each of the '
                f'{len(self.tip_frames)} tips, not {tolerance}.'
            )
        return value

    def _solved(self, state: _SearchState, out: FloatArray) -> IkResult:
        """Return the solutions that the kernel left in ``out``."""
        counters = state.counters.tolist()
        found = counters[pose_search.COUNT]
        out.setflags(write=False)
        return IkResult(
            SOLVED,
            NO_CAUSE,
            out[:found, : self._problem.group_size],
            out[:found, self._error_columns],
            None,
            out.item(0, -2),
            counters[pose_search.ITERATIONS],
            counters[pose_search.SEARCHES],
            counters[pose_search.CLOCK_ENDED] != 0,
        )

    def _failed(
        self, code: int, request: SolveRequest, problem: Problem, state: _SearchState
    ) -> IkResult:
        """Say what the kernel's code and counters mean when there is no solution."""
        if code == pose_search.UNSAMPLED:
            raise self._unsampled(problem, state)
        status, cause = self._explain(code, state.counters, request)
        return self._empty(
            status,
            cause,
            self._middle if code == pose_search.BAD_STATE else state.best,
            float(state.scalars[pose_search.BEST_ERROR]),
            int(state.counters[pose_search.ITERATIONS]),
            int(state.counters[pose_search.SEARCHES]),
            code in (pose_search.DEADLINE, pose_search.CANCELLED),
        )

    def _empty(
        self,
        status: IkStatus,
        cause: Cause,
        nearest: FloatArray,
        residual: float = math.inf,
        iterations: int = 0,
        searches: int = 0,
        clock_ended: bool = False,
    ) -> IkResult:
        """Return a result without solutions."""
        n = self._problem.group_size
        arrays = np.empty((0, n)), np.empty((0, 2 * len(self.tip_frames))), nearest[:n].copy()
        for array in arrays:
            array.setflags(write=False)
        return IkResult(status, cause, *arrays, residual, iterations, searches, clock_ended)

    def _unsampled(self, problem: Problem, state: _SearchState) -> InvalidLimits:
        """Return the error that names the joint which has no range to draw from."""
        variable = int(state.counters[pose_search.UNSAMPLED_VARIABLE])
        name = problem.joint_of_variable[variable]
        return InvalidLimits(
            f"The seed did not lead to a solution, and other starts cannot be drawn: joint '{name}' "
            'has no finite limits. Give it limits in the URDF or in the request.',
            joint=name,
        )

    def _explain(
        self, code: int, counters: NDArray[np.int64], request: SolveRequest
    ) -> tuple[IkStatus, Cause]:
        """Return status and cause of a search without a solution."""
        if code == pose_search.BAD_TARGET:
            return IkStatus.REFUSED, Cause.BAD_TARGET
        if code == pose_search.BAD_STATE:
            return IkStatus.REFUSED, Cause.BAD_STATE
        if code == pose_search.OUT_OF_REACH:
            return IkStatus.UNSOLVED, Cause.UNREACHABLE
        if counters[pose_search.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.VALIDATION
        if code in (pose_search.DEADLINE, pose_search.CANCELLED):
            return IkStatus.UNSOLVED, Cause.DEADLINE
        if counters[pose_search.LIMITS_SEEN]:
            consistent = request.consistency_limits is None
            return IkStatus.UNSOLVED, Cause.LIMITS if consistent else Cause.CONSISTENCY
        searches = counters[pose_search.SEARCHES]
        stuck = searches >= EVIDENCE and counters[pose_search.STALLED] == searches
        return IkStatus.UNSOLVED, Cause.UNREACHABLE if stuck else Cause.BUDGET


def _cut(options: FloatArray) -> FloatArray:
    """Return the kernel's options for the first slice of a search; an optimisation has no slices."""
    cut = options.copy()
    if not options[pose_search.OPTIMISE]:
        cut[pose_search.MAX_SEARCHES] = min(options[pose_search.MAX_SEARCHES], FIRST_SLICE)
    return cut


@functools.cache
def _announce_compilation() -> None:
    """Say once that the first solve will take its time, when it will."""
    if not has_machine_code(pose_search.search):
        _LOGGER.info('The first solve compiles the kernels: about half a minute, once.')


def _checked(options: PoseIkOptions) -> PoseIkOptions:
    """Return options that were made by hand, checked like those of a file."""
    return load_schema(PARAMETERS_FILE).resolve(dataclasses.asdict(options), PoseIkOptions)


def _checked_flag(flag: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a cancel flag of exactly the kind the kernel was compiled for."""
    usable = isinstance(flag, np.ndarray) and flag.dtype == np.int64 and flag.shape == (1,)
    if not usable or not flag.flags.writeable or not flag.flags.c_contiguous:
        raise InvalidOption(f'cancel must be a writeable int64 array of shape (1,), not {flag!r}.')
    return flag


def _require_count(name: str, value: int) -> None:
    """Refuse what is no count of at least one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidOption(f'{name} must be a whole number of at least 1, not {value!r}.')


def _nanoseconds(seconds: float) -> int:
    """Return a budget in nanoseconds; 0 for none."""
    if math.isnan(seconds):
        raise InvalidOption('A timeout must be a number of seconds, not NaN.')
    return 0 if seconds <= 0.0 or seconds >= LARGEST_TIMEOUT else max(1, round(seconds * 1e9))
