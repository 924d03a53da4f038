"""
What solvers that run a restart search in one kernel have in common: requests to arrays, counters to causes.

A subclass says how its options are packed and which kernel searches. State codes and counters are those of
:mod:`ssik_ros.kernels.search.pose_search`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidLimits, InvalidOption, quote
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import pose_search
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import build_problem, PoseConstraint, Problem, Rows
from ssik_ros.problem.request_limits import narrow_limits
from ssik_ros.results import Cause, IkResult, IkStatus

EVIDENCE = 100
"""Starts that must all have got stuck before more of them are called useless."""
LARGEST_TIMEOUT = 1e9
"""Longer budgets [s] than this mean none (and would not fit into nanoseconds)."""
KEPT_TOOLS = 16
SOLVED, NO_CAUSE = IkStatus.SOLVED, Cause.NONE
"""Members of enumerations by plain names: looking them up costs as much as a forward pass."""


class SearchArrays:
    """The arrays of one running search; reused by later ones, never shared by two at a time."""

    __slots__ = (
        *('best', 'counters', 'errors'),
        *('matrices', 'reference', 'scalars', 'work'),
    )

    def __init__(
        self,
        problem: Problem,
        counters: NDArray[np.int64] | None = None,
        work: FloatArray | None = None,
    ) -> None:
        """
        Make the views; what is not given is allocated.

        :param counters: (STATE_SIZE,); work: (workspace_size,).
        """
        self.counters = (
            np.zeros(pose_search.STATE_SIZE, dtype=np.int64) if counters is None else counters
        )
        self.work = np.zeros(problem.workspace_size) if work is None else work
        views = layout.WORKSPACE.show(problem.ints, self.work)
        self.matrices = views.matrices.reshape(-1, 4, 4)
        self.best, self.reference = views.best, views.reference
        self.scalars: FloatArray = views.scalars
        self.errors: FloatArray = views.errors.ravel()


class IterativeSolver:
    """A restart search for one group; may be asked from several threads at once."""

    tier = 'iterative'
    reason = 'iterative: it solves chains of any kind'
    kernel: Any
    """The search, called as :func:`ssik_ros.kernels.search.pose_search.search`."""
    at_lower: int
    """Where the limits of the velocity variables start in the options."""
    at_max_searches: int
    at_keeps_looking: int
    keeps_limits: bool = True
    """Whether solutions outside the limits count for nothing."""
    packed: FloatArray
    """The kernel's options for the solver's own parameters; shared, not to be written to."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        name: str,
        base_frame: str | None,
        tip_frames: tuple[str, ...] | None,
        rows: Rows,
    ) -> None:
        """
        Prepare the group's problem.

        :param base_frame: link that targets are given in; None means the group's base.
        :param tip_frames: links that targets are for; None means the group's tips.
        :param rows: which rows of each target count.
        """
        self.name = name
        self.robot = robot
        self.group = group
        self.joint_names = group.joint_names
        self.base_frame = base_frame if base_frame is not None else group.base_link
        self.tip_frames = tip_frames if tip_frames is not None else group.tips
        self._rows = rows
        self.problem = self._build(None)
        self._with_tools: dict[bytes, Problem] = {}
        self._defaults = robot.default_positions()[self.problem.idx_q]
        self.middle = self._middle_of_limits()
        self._passive = self.problem.nq != self.problem.group_size
        self._stack = (len(self.tip_frames), 4, 4)
        self._seed_shape = (self.problem.group_size,)
        self.width = self.problem.nq + 2 * len(self.tip_frames) + 2
        self._error_columns = slice(self.problem.nq, self.problem.nq + 2 * len(self.tip_frames))
        self.pool: list[SearchArrays] = []
        self.never = np.zeros(1, dtype=np.int64)

    def narrowed_options(
        self, options: FloatArray, request: SolveRequest, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Write what a special request changes beside limits and budgets into a copy of the options."""
        raise NotImplementedError

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
        return build_problem(
            self.robot.tree,
            self.joint_names,
            constraints,
            with_hulls=True,
            keeps_limits=self.keeps_limits,
        )

    def _middle_of_limits(self) -> FloatArray:
        """Return the seed of a request without one: mid-range, or the default where there is none."""
        middle = self._defaults.copy()
        problem = self.problem
        for v, place in enumerate(problem.variable_q):
            lower, upper = problem.lower[v], problem.upper[v]
            if place >= problem.group_size:
                continue
            if problem.variable_kind[v] <= layout.LINEAR and math.isfinite(upper - lower):
                middle[place] = 0.5 * (lower + upper)
        return middle

    def warm_up(self) -> None:
        """Call all kernels once by solving an easy request, plain and with tools."""
        targets = np.broadcast_to(np.eye(4), (len(self.tip_frames), 4, 4)).copy()
        for tools in (None, targets):
            self.solve(SolveRequest(targets=targets, tool_offsets=tools, max_searches=1))

    def borrow(self) -> SearchArrays:
        """Return arrays for one search; :meth:`give_back` ends the loan."""
        try:
            return self.pool.pop()
        except IndexError:
            return self.make_arrays()

    def make_arrays(self) -> SearchArrays:
        """Return fresh arrays."""
        return SearchArrays(self.problem)

    def give_back(self, arrays: SearchArrays) -> None:
        """Take arrays back."""
        self.pool.append(arrays)

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Answer one request.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises InvalidLimits: when a joint would have to be sampled that has no range, by name.
        """
        pool = self.pool
        try:
            arrays = pool.pop()
        except IndexError:
            arrays = self.make_arrays()
        try:
            return self._solve(request, arrays)
        finally:
            pool.append(arrays)

    def _solve(self, request: SolveRequest, arrays: SearchArrays) -> IkResult:
        """Write the request into the search's arrays, run it, and say what came out."""
        problem = self.problem if request.tool_offsets is None else self._for_tools(request)
        arrays.matrices[...] = self._checked_poses(request.targets)
        self._write_seed(request, arrays.reference)
        options = self.packed
        if self._is_special(request):
            if not joint_values.are_usable(arrays.reference):
                return self._empty(IkStatus.REFUSED, Cause.BAD_STATE, self.middle)
            narrowed = self._request_options(options, request, problem, arrays.reference)
            if narrowed is None:
                return self._empty(IkStatus.UNSOLVED, Cause.CONSISTENCY, arrays.reference)
            options = narrowed
        out = np.empty((request.max_solutions + 1, self.width))
        timeout_ns = 0 if request.timeout is None else nanoseconds(request.timeout)
        code = self.run(problem, options, timeout_ns, arrays, out, request)
        if code == pose_search.FOUND:
            return self._solved(arrays, out)
        if code == pose_search.EXHAUSTED and request.wants_nearest:
            code = self._prove(problem, options, arrays, request)
        return self._failed(code, request, problem, options, arrays)

    def run(
        self,
        problem: Problem,
        options: FloatArray,
        timeout_ns: int,
        arrays: SearchArrays,
        out: FloatArray,
        request: SolveRequest,
        phase: int = pose_search.FRESH,
    ) -> int:
        """
        Run the kernel, and ask the request's validation about each candidate; return the last code.

        :param phase: FRESH, or CONTINUED for a search that goes on.
        """
        validate = request.validate
        cancel = self.never if request.cancel is None else checked_flag(request.cancel)
        kernel, ints, reals = self.kernel, problem.ints, problem.reals
        counters, work = arrays.counters, arrays.work
        while True:
            code: int = kernel(
                ints, reals, options, phase, timeout_ns, cancel, counters, work, out
            )
            if code != pose_search.CANDIDATE or validate is None:
                return code
            accepted = validate(out[-1, : problem.group_size].copy())
            phase = pose_search.ACCEPTED if accepted else pose_search.REFUSED

    def flag_of(self, request: SolveRequest) -> NDArray[np.int64]:
        """Return what cancels a request."""
        return self.never if request.cancel is None else checked_flag(request.cancel)

    def remaining_error(self, arrays: SearchArrays) -> float:
        """Return the error of the state that a search without a solution left."""
        return float(np.linalg.norm(arrays.errors))

    def _for_tools(self, request: SolveRequest) -> Problem:
        """Return the problem whose tips carry the request's tools; the last few are kept."""
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
            reference[:] = self.middle
        else:
            reference[:size] = self.checked_seed(seed)
        if self._passive or request.state is not None:
            passive = self._defaults if request.state is None else self._state(request.state)
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

        :param seeds: (k, n); None means the middle of the limits.
        """
        if seeds is None:
            return self.middle[None].copy()
        states = np.tile(self.middle, (len(seeds), 1))
        states[:, : self.problem.group_size] = seeds
        return states

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
            or request.wants_nearest
            or type(request.max_solutions) is not int
            or request.max_solutions < 1
            or request.locked
        )

    def _state(self, state: FloatArray) -> FloatArray:
        """Return the problem's variables out of a full state."""
        full = np.asarray(state, dtype=np.float64)
        if full.shape != (self.robot.tree.nq,):
            raise DimensionMismatch(
                f'A full state of robot {quote(self.robot.name)} has {counted(self.robot.tree.nq, "position")}, '
                f'not the shape {full.shape}.',
                expected=(self.robot.tree.nq,),
                actual=full.shape,
            )
        return full[self.problem.idx_q]

    def _request_options(
        self, options: FloatArray, request: SolveRequest, problem: Problem, seed: FloatArray
    ) -> FloatArray | None:
        """Return the kernel's options for a special request; None when consistency leaves no room."""
        require_count('max_solutions', request.max_solutions)
        options = options.copy()
        options[pose_search.VALIDATED] = float(request.validate is not None)
        options[self.at_keeps_looking] = float(request.wants_nearest)
        if request.max_searches is not None:
            require_count('max_searches', request.max_searches)
            options[self.at_max_searches] = request.max_searches
        nv = problem.nv
        lower = options[self.at_lower : self.at_lower + nv]
        upper = options[self.at_lower + nv : self.at_lower + 2 * nv]
        room = narrow_limits(request, problem, self.group, seed, lower, upper)
        self.narrowed_options(options, request, lower, upper)
        return options if room else None

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
        found = counters[pose_search.COUNT]
        out.setflags(write=False)
        return IkResult(
            SOLVED,
            NO_CAUSE,
            out[:found, : self.problem.group_size],
            out[:found, self._error_columns],
            None,
            out.item(0, -2),
            counters[pose_search.ITERATIONS],
            counters[pose_search.SEARCHES],
            counters[pose_search.CLOCK_ENDED] != 0,
        )

    def _prove(
        self, problem: Problem, options: FloatArray, arrays: SearchArrays, request: SolveRequest
    ) -> int:
        """Return OUT_OF_REACH where a proof says so after all, for a search that did not ask for one, else EXHAUSTED."""
        own, out = options.copy(), np.empty((2, self.width))
        own[self.at_keeps_looking], own[self.at_max_searches] = 0.0, 0.0
        other = self.make_arrays()
        other.matrices[...], other.reference[:] = arrays.matrices, arrays.reference
        return self.run(problem, own, 0, other, out, request)

    def _failed(
        self,
        code: int,
        request: SolveRequest,
        problem: Problem,
        options: FloatArray,
        arrays: SearchArrays,
    ) -> IkResult:
        """Say what the kernel's code and counters mean when there is no solution."""
        if code == pose_search.UNSAMPLED:
            variable = int(arrays.counters[pose_search.UNSAMPLED_VARIABLE])
            raise self.unsampled(problem, variable)
        status, cause = self.explain(code, arrays.counters, arrays.matrices, problem, options)
        is_searched = code != pose_search.OUT_OF_REACH
        if cause == Cause.LIMITS and request.consistency_limits is not None and is_searched:
            cause = Cause.CONSISTENCY
        refused = code in (pose_search.BAD_STATE, pose_search.BAD_TARGET)
        return self._empty(
            status,
            cause,
            self.middle if code == pose_search.BAD_STATE else arrays.best,
            math.inf if refused else self.remaining_error(arrays),
            int(arrays.counters[pose_search.ITERATIONS]),
            int(arrays.counters[pose_search.SEARCHES]),
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
        n = self.problem.group_size
        arrays = np.empty((0, n)), np.empty((0, 2 * len(self.tip_frames))), nearest[:n].copy()
        for array in arrays:
            array.setflags(write=False)
        return IkResult(status, cause, *arrays, residual, iterations, searches, clock_ended)

    def unsampled(self, problem: Problem, variable: int) -> InvalidLimits:
        """Return the error that names the joint which has no range to draw from."""
        name = problem.joint_of_variable[variable]
        return InvalidLimits(
            f'The seed did not lead to a solution, and other starts cannot be drawn: joint {quote(name)} '
            'has no finite limits. Give it limits in the URDF or in the request.',
            joint=name,
        )

    def explain(
        self,
        code: int,
        counters: NDArray[np.int64],
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> tuple[IkStatus, Cause]:
        """
        Return status and cause of a search without a solution.

        :param code, counters: what the search left.
        :param targets: (4, 4) or (4 t, 4) or (t, 4, 4), its targets.
        :param problem, options: what it was asked; None for the solver's own.
        """
        if code == pose_search.BAD_TARGET:
            return IkStatus.REFUSED, Cause.BAD_TARGET
        if code == pose_search.BAD_STATE:
            return IkStatus.REFUSED, Cause.BAD_STATE
        if code == pose_search.OUT_OF_REACH:
            return IkStatus.UNSOLVED, self._cause_of_proof(targets, problem, options)
        if counters[pose_search.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.VALIDATION
        if code in (pose_search.DEADLINE, pose_search.CANCELLED):
            return IkStatus.UNSOLVED, Cause.DEADLINE
        if counters[pose_search.LIMITS_SEEN]:
            return IkStatus.UNSOLVED, Cause.LIMITS
        searches = counters[pose_search.SEARCHES]
        stuck = searches >= EVIDENCE and counters[pose_search.STALLED] == searches
        return IkStatus.UNSOLVED, Cause.NOT_FOUND if stuck else Cause.BUDGET

    def _cause_of_proof(
        self, targets: FloatArray, problem: Problem | None, options: FloatArray | None
    ) -> Cause:
        """Return LIMITS where a proof uses limits of slides and there is none without, else UNREACHABLE."""
        reaches = (self.problem if problem is None else problem).reaches
        if not reaches:
            return Cause.UNREACHABLE
        position, rotation = self.largest_errors(self.packed if options is None else options)
        poses = np.reshape(targets, (-1, 4, 4))
        for target, reach in reaches:
            if reach is not None and reach.refuses(poses[target], position, rotation):
                return Cause.UNREACHABLE
        return Cause.LIMITS

    def largest_errors(self, options: FloatArray) -> tuple[float, float]:
        """
        Return the largest position error [m] and rotation error [rad] that a solution may have at a tip.

        :param options: the kernel's options.
        """
        tolerances = options[self.at_lower + 2 * self.problem.nv :]
        largest = float(tolerances[: len(self.tip_frames)].max())
        return largest, largest


def checked_flag(flag: NDArray[np.int64]) -> NDArray[np.int64]:
    """
    Return a cancel flag of exactly the kind the kernel was compiled for.

    :raises InvalidOption: when it is another one.
    """
    usable = isinstance(flag, np.ndarray) and flag.dtype == np.int64 and flag.shape == (1,)
    if not usable or not flag.flags.writeable or not flag.flags.c_contiguous:
        raise InvalidOption(f'cancel must be a writeable int64 array of shape (1,), not {flag!r}.')
    return flag


def require_count(name: str, value: Any) -> None:
    """
    Refuse what is no count of at least one.

    :raises InvalidOption: with its name.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidOption(f'{name} must be a whole number of at least 1, not {value!r}.')


def nanoseconds(seconds: float) -> int:
    """
    Return a budget in nanoseconds; 0 for none.

    :raises InvalidOption: for NaN and negative numbers.
    """
    if not seconds >= 0.0:
        raise InvalidOption(
            f'timeout must be a number of seconds from 0 on (0 and None set no limit), not {seconds}.',
            name='timeout',
            value=seconds,
        )
    return 0 if seconds == 0.0 or seconds >= LARGEST_TIMEOUT else max(1, round(seconds * 1e9))
