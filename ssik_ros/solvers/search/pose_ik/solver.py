"""
PoseIK: damped least squares from a deterministic sequence of starts, for one tip or several.

The mathematics stands in :mod:`ssik_ros.kernels.search.pose_search`; this module translates a request into arrays, asks
the user's validation about candidates, and says what the outcome means.
"""

import dataclasses
import time

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.search import pose_search
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Problem, Rows
from ssik_ros.problem.scheduling import SEARCH_SLOTS, Slices
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.iterative_solver import IterativeSolver, LARGEST_TIMEOUT, SearchArrays
from ssik_ros.solvers.search.many_rows import ManyAnswers, RowWork, solve_rows
from ssik_ros.solvers.search.pose_ik.options import PARAMETERS_FILE, PoseIkOptions
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FIRST_FOUND_SEARCHES = 10_000
"""Default budget of starts; a reachable pose is found in two or three."""
OPTIMIZE_SEARCHES = 200
"""Default budget of starts while optimising: every branch of an arm is met many times."""
FIRST_SLICE = 32
"""Starts after which a search counts as a long one, and lets others search in between."""


class PoseIkSolver(IterativeSolver):
    """PoseIK for one group; may be asked from several threads at once."""

    kernel = staticmethod(pose_search.search)
    at_lower = pose_search.OPTIONS
    at_max_searches = pose_search.MAX_SEARCHES
    at_keeps_looking = pose_search.KEEPS_LOOKING

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
        chosen = rows or (position_rows() if position_only else Rows())
        super().__init__(robot, group, name, base_frame, tip_frames, chosen)
        self.options = _checked(options) if options is not None else PoseIkOptions()
        self.packed = self._pack_options(self.problem)
        self._first_slice = _cut(self.packed)

    def narrowed_options(
        self, options: FloatArray, request: SolveRequest, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Write a request's tolerance into the options."""
        if request.tolerance is not None:
            at = pose_search.OPTIONS + 2 * self.problem.nv
            options[at:] = self.checked_tolerance(request.tolerance)

    def remaining_error(self, arrays: SearchArrays) -> float:
        """Return the smallest error that a search without a solution has seen."""
        return float(arrays.scalars[pose_search.BEST_ERROR])

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
        """Run the kernel as the other searches do, but a long search in slices."""
        begun = time.perf_counter()
        first = self._first_slice if options is self.packed else _cut(options)
        search = IterativeSolver.run
        code = search(self, problem, first, timeout_ns, arrays, out, request, phase)
        if _is_cut(code, options, arrays, request):
            slices = Slices(
                SEARCH_SLOTS, int(options[pose_search.MAX_SEARCHES]), begun, timeout_ns
            )
            code = self._go_on(problem, options, slices, arrays, out, request, code)
        return code

    def _go_on(
        self,
        problem: Problem,
        options: FloatArray,
        slices: Slices,
        arrays: SearchArrays,
        out: FloatArray,
        request: SolveRequest,
        code: int,
    ) -> int:
        """Return the kernel's code of a search that goes on in slices."""
        own, cancel, going_on = options.copy(), self.flag_of(request), pose_search.CONTINUED
        try:
            while _is_cut(code, options, arrays, request):
                if not slices.pass_on(int(arrays.counters[pose_search.SEARCHES]), cancel):
                    break
                own[pose_search.MAX_SEARCHES] = slices.limit
                code = super().run(problem, own, 0, arrays, out, request, going_on)
        finally:
            slices.close()
        return code

    def solve_many(
        self, request: SolveRequest, targets: FloatArray, timeout: float | None = None
    ) -> ManyAnswers:
        """
        Answer a request for each of many targets, as far as a first slice of starts finds an answer.

        Rows that it leaves are for :meth:`solve`, which gives the same answers and says why there is none. Several
        threads work for a while; what takes longer goes on in one, and waits for free slots.

        :param request: the question, without a validation; its own targets do not count.
        :param targets: (m, 4, 4) poses of the only tip in the base frame.
        :param timeout: for all of them together [s]; None for no end.
        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        """
        if len(self.tip_frames) != 1 or self._is_special(request):
            return ManyAnswers.of_nobody(len(targets), self.problem.group_size)
        return solve_rows(
            len(targets),
            self.problem.group_size,
            lambda work: self._solve_rows(request, targets, work),
            timeout,
        )

    def _solve_rows(self, request: SolveRequest, targets: FloatArray, work: RowWork) -> None:
        """Solve the rows that a work hands out, in arrays of this thread's own."""
        problem = self.problem if request.tool_offsets is None else self._for_tools(request)
        arrays = self.borrow()
        try:
            self._write_seed(request, arrays.reference)
            start, place = arrays.reference.copy(), arrays.matrices[0]
            out, size = np.empty((2, self.width)), problem.group_size
            search = IterativeSolver.run
            for row, timeout_ns in work:
                place[...] = targets[row]
                arrays.reference[:] = start
                code = search(self, problem, self._first_slice, timeout_ns, arrays, out, request)
                if code == pose_search.FOUND:
                    work.put(row, out[0, :size], out[0, self._error_columns])
        finally:
            self.give_back(arrays)


def _is_cut(code: int, options: FloatArray, arrays: SearchArrays, request: SolveRequest) -> bool:
    """Return whether it was the end of a slice that ended a search."""
    counters = arrays.counters
    return bool(
        code in (pose_search.EXHAUSTED, pose_search.FOUND)
        and counters[pose_search.COUNT] < request.max_solutions
        and not counters[pose_search.CLOCK_ENDED]
        and counters[pose_search.SEARCHES] < options[pose_search.MAX_SEARCHES]
    )


def _cut(options: FloatArray) -> FloatArray:
    """Return the kernel's options for the first slice of a search; an optimisation has no slices."""
    cut = options.copy()
    if not options[pose_search.OPTIMISE]:
        cut[pose_search.MAX_SEARCHES] = min(options[pose_search.MAX_SEARCHES], FIRST_SLICE)
    return cut


def _checked(options: PoseIkOptions) -> PoseIkOptions:
    """Return options that were made by hand, checked like those of a file."""
    return load_schema(PARAMETERS_FILE).resolve(dataclasses.asdict(options), PoseIkOptions)
