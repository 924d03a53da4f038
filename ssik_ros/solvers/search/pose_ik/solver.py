"""
The solver ``ssik_ros/PoseIK``: damped least squares from a deterministic sequence of starts, for one tip or several.

:class:`PoseIkSolver` is a :class:`ssik_ros.solvers.search.solver.SearchSolver` with other options. A search of more
than 8 starts runs in slices. Before each slice but the first it waits for a free search slot, so that other requests
get their turn. With ``solve_mode`` ``optimize_distance``, all starts are in one slice.
"""

import time

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.search import laws, state
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.problem.request_fields import LARGEST_TIMEOUT
from ssik_ros.problem.scheduling import SEARCH_SLOTS, Slices
from ssik_ros.solvers.search.arrays import SearchArrays
from ssik_ros.solvers.search.batches import BatchResult, BatchWork, solve_batch
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import Frames, GROUP_FRAMES, Run, SearchSolver
from ssik_ros.value_class import NEW_TUPLE

FIRST_FOUND_SEARCHES = 10_000
"""Default budget of starts; a reachable pose is found in two or three."""
OPTIMIZE_SEARCHES = 200
"""Default budget of starts while optimising: every branch of an arm is met many times."""
FIRST_SLICE = 8
"""Starts after which a search counts as a long one, and lets other searches run in between. Before that it runs without a
slot, so a larger number delays the responses to other requests."""
POLICY = {
    state.LAW: laws.POSE_IK,
    # PoseIK measures by the general evaluation.
    state.SERIAL: 0,
    state.PROGRESS_STEPS: 3,
    state.PROGRESS: 0.36,
    state.POLISH_STEPS: 5,
    state.POLISH_GAIN: 0.25,
}
"""Numbers of PoseIK among the kernel's options, by place."""


class PoseIkSolver(SearchSolver):
    """The solver ``ssik_ros/PoseIK`` for one group: damped least squares; several threads may call it at once."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: PoseIkOptions | None = None,
        *,
        frames: Frames = GROUP_FRAMES,
        rows: Rows | None = None,
        position_only: bool = False,
    ) -> None:
        """
        Prepare the group's problem.

        :param robot: the robot.
        :param group: one of its groups.
        :param options: parameters; None means the defaults.
        :param frames: links of the targets.
        :param rows: which rows of each target count; None means all six.
        :param position_only: leave the orientation free; the same as ``rows=position_rows()``.
        """
        chosen = rows or (position_rows() if position_only else None)
        self.options = parameters = options or PoseIkOptions()
        optimise = parameters.solve_mode == 'optimize_distance'
        settings = SearchSettings(
            ilimit=parameters.gd_max_iters,
            slimit=OPTIMIZE_SEARCHES if optimise else FIRST_FOUND_SEARCHES,
            tolerance=parameters.target_tolerance,
            k=parameters.gd_jacobian_damping,
        )
        super().__init__(robot, group, settings, 'ssik_ros/PoseIK', frames, chosen)
        numbers = {
            **POLICY,
            state.MULTIPLIER: parameters.gd_step_multiplier,
            state.THRESHOLD: parameters.gd_adaptive_threshold,
            state.OPTIMISE: optimise,
            state.OPTIMISE_NS: min(parameters.optimization_timeout, LARGEST_TIMEOUT) * 1e9,
            state.PULL_GAIN: parameters.optimization_distance_gain,
        }
        for place, value in numbers.items():
            self.packed[place] = value
        self._first_slice = _cut(self.packed)

    def run(self, run: Run, timeout_ns: int, phase: int = state.FRESH) -> int:
        """
        Run the kernel until the search ends, and return its last code; ``validate`` of the request sees each candidate.

        If the first 8 starts find too few solutions, the search goes on in slices, each of which waits for a free
        search slot. With ``solve_mode`` ``optimize_distance``, all starts are in the first slice.
        """
        begun = time.perf_counter()
        problem, options, arrays, out, request = run
        first = self._first_slice if options is self.packed else _cut(options)
        first_run = NEW_TUPLE(Run, (problem, first, arrays, out, request))
        code = super().run(first_run, timeout_ns, phase)
        if _is_cut(run, code):
            most = int(options[state.MAX_SEARCHES])
            code = self._go_on(run, code, Slices(SEARCH_SLOTS, most, begun, timeout_ns))
        return code

    def _go_on(self, run: Run, code: int, slices: Slices) -> int:
        """
        Run the remaining slices of a search until it ends, and return the kernel's last code.

        :param code: code of the first slice.
        :param slices: limits the starts of each slice, and waits for a free search slot.
        """
        slice_run, cancel = run._replace(options=run.options.copy()), self.flag_of(run.request)
        try:
            while _is_cut(run, code):
                if not slices.pass_on(int(run.arrays.counters[state.SEARCHES]), cancel):
                    break
                slice_run.options[state.MAX_SEARCHES] = slices.limit
                slice_run.options[state.GOES_ON] = slices.limit < run.options[state.MAX_SEARCHES]
                code = super().run(slice_run, 0, state.CONTINUED)
        finally:
            slices.close()
        return code

    def remaining_error(self, arrays: SearchArrays) -> float:
        """Return the norm of the weighted errors of the best state of a failed search [m and rad mixed]."""
        return float(arrays.scalars[state.BEST_ERROR])

    def solve_many(
        self, request: SolveRequest, targets: FloatArray, timeout: float | None = None
    ) -> BatchResult:
        """
        Return the solutions of a request for each of many targets, with at most 8 starts for each target.

        With ``solve_mode`` ``optimize_distance``, each target gets all its starts. A target without a solution stays
        unsolved; :meth:`solve` then tries more starts. All targets stay unsolved for a solver with several tips, and
        for a request with limits, a tolerance or other special fields.

        :param request: a request without a validation; its own targets are ignored.
        :param targets: (m, 4, 4) poses of the only tip in the base frame.
        :param timeout: time limit for all targets together [s]; None means no limit.
        :raises RequestError: if an array has a wrong shape or an option a wrong value.
        """
        if len(self.tip_frames) != 1 or self.requests.is_special(request):
            return BatchResult.empty(len(targets), self.problem.group_size)
        return solve_batch(
            len(targets),
            self.problem.group_size,
            lambda work: self._solve_rows(request, targets, work),
            timeout,
        )

    def _solve_rows(self, request: SolveRequest, targets: FloatArray, work: BatchWork) -> None:
        """Solve the targets that ``work`` yields by the first slice of a search; store solutions by ``work.put``."""
        problem = self.problem if request.tool_offsets is None else self._for_tools(request)
        arrays = self.borrow()
        try:
            self.requests.write_seed(request, arrays.reference)
            start, place = arrays.reference.copy(), arrays.matrices[0]
            out, size = np.empty((2, self.width)), problem.group_size
            run = Run(problem, self._first_slice, arrays, out, request)
            for row, timeout_ns in work:
                place[...] = targets[row]
                arrays.reference[:] = start
                if super().run(run, timeout_ns) == state.FOUND:
                    work.put(row, out[0, :size], out[0, self._error_columns])
        finally:
            self.give_back(arrays)


def _is_cut(run: Run, code: int) -> bool:
    """
    Return whether a search needs another slice: it has too few solutions, and starts and time are left.

    :param run: the whole search; its options have the full number of starts.
    :param code: code with which the last slice ended.
    """
    counters = run.arrays.counters
    return bool(
        code in (state.EXHAUSTED, state.FOUND)
        and counters[state.COUNT] < run.request.max_solutions
        and not counters[state.CLOCK_ENDED]
        and counters[state.SEARCHES] < run.options[state.MAX_SEARCHES]
    )


def _cut(options: FloatArray) -> FloatArray:
    """
    Return a copy of the kernel's options for the first slice of a search, with at most FIRST_SLICE (8) starts.

    An optimisation keeps all its starts.
    """
    cut = options.copy()
    if not options[state.OPTIMISE]:
        cut[state.MAX_SEARCHES] = min(options[state.MAX_SEARCHES], FIRST_SLICE)
        cut[state.GOES_ON] = cut[state.MAX_SEARCHES] < options[state.MAX_SEARCHES]
    return cut
