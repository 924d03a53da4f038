"""
Iterative IK solver for one group: it starts again from other states until it has a solution or its budget ends.

:class:`SearchSolver` converts requests to kernel arrays, and the kernel's counters to results with causes. The
mathematics is in :mod:`ssik_ros.kernels.search.restart_search`. PoseIK, Newton-Raphson, Gauss-Newton and
Levenberg-Marquardt differ in the options that the kernel receives; PoseIK also searches in slices.
"""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, freeze, IntArray
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.search import restart_search, state
from ssik_ros.model.default_seed import default_seed
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import build_problem, PoseConstraint, Problem, Rows
from ssik_ros.problem.request_fields import checked_flag, nanoseconds
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers.search.arrays import SearchArrays, SingleSearch
from ssik_ros.solvers.search.failures import SearchFailures
from ssik_ros.solvers.search.requests import SearchRequests
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.value_class import NEW_TUPLE

KEPT_TOOLS = 16
SOLVED, NO_CAUSE = IkStatus.SOLVED, Cause.NONE
"""Module constants, because attribute access and named tuples cost time at every solve."""
NO_WORK = math.inf, 0, 0, False
"""Residual, iterations, searches and ``clock_ended`` of a request without a search."""
Work = tuple[float, int, int, bool]


class Frames(NamedTuple):
    """Names of the base link and the tip links of a solver's targets; None means the links of the group."""

    base: str | None = None
    """Link in whose frame targets are given."""
    tips: tuple[str, ...] | None = None
    """Links that have a target."""


GROUP_FRAMES = Frames()


class Run(NamedTuple):
    """The arguments of one run of the search kernel: problem, options, arrays, output and request."""

    problem: Problem
    options: FloatArray
    arrays: SearchArrays
    out: FloatArray
    """
    (k + 1, width) solutions, and the present candidate in the last row; k is ``max_solutions`` of the request.

    If several solutions are wanted, k is at most the number of starts plus one. A row has the state (nq,), the errors
    of each tip, the norm of all errors, and the squared distance from the seed.
    """
    request: SolveRequest


class SearchSolver:
    """Iterative IK solver for one group: it searches from several starts. Several threads may call it at once."""

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

        :param robot: the robot.
        :param group: one of its groups.
        :param settings: step law, tolerances and budgets.
        :param name: name of the solver, for messages.
        :param frames: links of the targets.
        :param rows: selected rows of each target; None means all six.
        :raises FrameNotFound: for a link that the robot does not have.
        :raises InvalidOption, DimensionMismatch, JointNotFound, InvalidLimits: as :meth:`SearchSettings.pack`.
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
        self.start = robot.default_positions()[self.problem.idx_q]
        """First start of a request without a seed (nq,)."""
        size = self.problem.group_size
        self.start[:size] = default_seed(robot, group)[:size]
        self.width = self.problem.nq + 2 * len(self.tip_frames) + 2
        self._error_columns = slice(self.problem.nq, self.problem.nq + 2 * len(self.tip_frames))
        self.pool: list[SearchArrays] = []
        self.no_cancel = np.zeros(1, dtype=np.int64)
        self.packed = settings.pack(self.problem, self.start)
        """Kernel options for plain requests. They are shared: do not write to them."""
        self.requests = SearchRequests(
            name, robot, group, self.problem, self.tip_frames, self.packed, self.start
        )
        self.failures = SearchFailures(self.problem, self.packed, len(self.tip_frames))

    def _build(self, tools: FloatArray | None) -> Problem:
        """
        Return the packed problem of this solver with a tool at each tip.

        :param tools: (t, 4, 4) pose of each tool in its tip frame; None for no tools.
        """
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
        """Return the fast call for one pose, which checks nothing; made at the first access."""
        return SingleSearch(self.problem, self.packed, self.start, self.no_cancel)

    def warm_up(self) -> None:
        """Call all kernels once by solving an easy request, plain and with tools."""
        targets = np.broadcast_to(np.eye(4), self.requests.stack).copy()
        for tools in (None, targets):
            self.solve(SolveRequest(targets=targets, tool_offsets=tools, max_searches=1))

    def borrow(self) -> SearchArrays:
        """Take arrays from the pool, or make new ones; give them back by :meth:`give_back`."""
        try:
            return self.pool.pop()
        except IndexError:
            return SearchArrays(self.problem)

    def give_back(self, arrays: SearchArrays) -> None:
        """Put borrowed arrays into the pool."""
        self.pool.append(arrays)

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Return the result of one request; its status is REFUSED for a pose that is not rigid.

        It is REFUSED for an unusable seed or state, too.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises JointNotFound: if a locked joint does not exist.
        :raises InvalidLimits: when starts have to be drawn for a joint without a range. Also for a lower limit above an
            upper limit, and for a joint that is locked outside its limits.
        """
        arrays = self.borrow()
        try:
            return self._solve(request, arrays)
        finally:
            self.give_back(arrays)

    def _solve(self, request: SolveRequest, arrays: SearchArrays) -> IkResult:
        """Write a request into arrays, run the search, and return the result."""
        problem = self.problem if request.tool_offsets is None else self._for_tools(request)
        arrays.matrices[...] = self.requests.poses(request.targets)
        if request.state is not None and not self.requests.is_state_usable(request.state):
            return self._unsolved(IkStatus.REFUSED, Cause.BAD_STATE, self.start)
        self.requests.write_seed(request, arrays.reference)
        options = self.packed
        if self.requests.is_special(request):
            if not joint_values.are_usable(arrays.reference):
                return self._unsolved(IkStatus.REFUSED, Cause.BAD_STATE, self.start)
            narrowed = self.requests.options(request, problem, arrays.reference)
            if narrowed is None:
                return self._unsolved(IkStatus.UNSOLVED, Cause.CONSISTENCY, arrays.reference)
            options = narrowed
        most = request.max_solutions
        if most > 1:
            # No start gives two solutions: one row more than starts is never filled, and ends no search.
            most = min(most, int(options[state.MAX_SEARCHES]) + 1)
        out = np.empty((most + 1, self.width))
        timeout_ns = 0 if request.timeout is None else nanoseconds(request.timeout)
        run = NEW_TUPLE(Run, (problem, options, arrays, out, request))
        code = self.run(run, timeout_ns)
        if code == state.FOUND:
            return self._solved(arrays, out)
        if code == state.EXHAUSTED and request.wants_nearest:
            code = self._prove(run)
        return self._failed(run, code)

    def run(self, run: Run, timeout_ns: int, phase: int = state.FRESH) -> int:
        """
        Run the kernel until it ends, and return its last code; each candidate is passed to the request's ``validate``.

        :param run: problem, options, arrays and output.
        :param timeout_ns: budget of a fresh search [ns]; 0 means no budget.
        :param phase: ``state.FRESH``, or ``state.CONTINUED`` for a search that goes on.
        :raises InvalidOption: if the cancel flag of the request is not a writeable int64 array of shape (1,).
        """
        problem, options, arrays, out, request = run
        validate = request.validate
        cancel = self.no_cancel if request.cancel is None else self.flag_of(request)
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
        """
        Return the cancel flag (1,) of a request, or a flag that stays zero.

        :raises InvalidOption: if the flag of the request is not such an array.
        """
        return self.no_cancel if request.cancel is None else checked_flag(request.cancel)

    def _for_tools(self, request: SolveRequest) -> Problem:
        """Return the packed problem with the tools of a request at the tips; up to 16 problems are cached."""
        tools = self.requests.poses(request.tool_offsets, 'tool_offsets')
        key = tools.tobytes()
        problem = self._with_tools.get(key)
        if problem is None:
            problem = self._build(self.requests.tools(tools))
            if len(self._with_tools) >= KEPT_TOOLS:
                self._with_tools.clear()
            self._with_tools[key] = problem
        return problem

    def _solved(self, arrays: SearchArrays, out: FloatArray) -> IkResult:
        """
        Return the result of a search that found solutions.

        :param out: (max_solutions + 1, width) rows of the kernel: state, errors of each tip, norm of all errors,
            squared distance from the seed.
        """
        counters = arrays.counters.tolist()
        count = counters[state.COUNT]
        out.setflags(write=False)
        return IkResult(
            SOLVED,
            NO_CAUSE,
            out[:count, : self.problem.group_size],
            out[:count, self._error_columns],
            None,
            out.item(0, -2),
            counters[state.ITERATIONS],
            counters[state.SEARCHES],
            counters[state.CLOCK_ENDED] != 0,
        )

    def _prove(self, run: Run) -> int:
        """
        Return ``state.OUT_OF_REACH`` if the targets are proved to be out of reach, otherwise ``state.EXHAUSTED``.

        A search for the nearest state runs without this proof, so :meth:`solve` calls this method after such a search
        has failed.

        :param run: the failed search; its results stay as they are.
        """
        options, other = run.options.copy(), SearchArrays(self.problem)
        options[state.KEEPS_LOOKING] = options[state.MAX_SEARCHES] = 0.0
        other.matrices[...], other.reference[:] = run.arrays.matrices, run.arrays.reference
        out = np.empty((2, self.width))
        return self.run(run._replace(options=options, arrays=other, out=out), 0)

    def _failed(self, run: Run, code: int) -> IkResult:
        """
        Return the result of a search without a solution: status, cause and nearest state.

        Raise InvalidLimits if starts could not be drawn for a joint without limits.

        :param code: last code of the kernel.
        """
        arrays, counters = run.arrays, run.arrays.counters
        if code == state.UNSAMPLED:
            raise self.failures.unsampled(int(counters[state.UNSAMPLED_VARIABLE]))
        is_bounded = run.request.consistency_limits is not None
        beyond = Cause.CONSISTENCY if is_bounded else Cause.LIMITS
        status, cause = self.failures.explain(
            code, counters, arrays.matrices, run.problem, run.options, beyond
        )
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
        """
        Return a result without solutions.

        :param nearest: (nq,) nearest state; the variables of the group (n,) are copied.
        :param work: residual, iterations, searches, and whether the clock ended the search.
        """
        n = self.problem.group_size
        arrays = np.empty((0, n)), np.empty((0, 2 * len(self.tip_frames))), nearest[:n].copy()
        freeze(*arrays)
        residual, iterations, searches, clock_ended = work
        return IkResult(status, cause, *arrays, residual, iterations, searches, clock_ended)

    def remaining_error(self, arrays: SearchArrays) -> float:
        """Return the norm of all errors of the best state of a failed search [m and rad mixed]."""
        return float(np.linalg.norm(arrays.errors))
