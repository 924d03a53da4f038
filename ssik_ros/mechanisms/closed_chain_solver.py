"""
The IK solver ``ssik_ros/ClosedChain``: finds joint values with which the tips reach their targets and all loops close.

It iterates from the seed, then from random starts that are the same at each call. Robots without loops are solved, too.
"""

import math
from pathlib import Path
import time
from typing import Any

import numpy as np

from ssik_ros.arrays import are_inside, FloatArray, wrap_angles
from ssik_ros.errors import counted
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.mechanisms import descent
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import restart_search, state
from ssik_ros.mechanisms.group_mechanism import GroupMechanism
from ssik_ros.mechanisms.loop_closures import LoopClosures, read_loop_closures
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.problem import position_rows, Problem, Rows
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.mechanisms.group_options import ClosedChainGroupOptions
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions
from ssik_ros.solvers.search.failures import SearchFailures
from ssik_ros.solvers.search.settings import joint_rows, SearchSettings, tip_tolerances
from ssik_ros.solvers.search.solver import Run, SearchSolver
from ssik_ros.tolerances import DEFAULT_TOLERANCES

OPEN_LOOP = 100
"""Code of a search that reached all tips, but only with open loops."""
TARGET_DEVIATION = 1e-4
"""Largest deviation of a target's rotation from orthonormal columns [1]."""


class ClosedChainSolver(SearchSolver):
    """
    Finds joint values of one planning group at which its tips reach their targets, by iterations.

    The passive joints are solved with them, so that all loops of the robot close.
    """

    kernel = staticmethod(descent.solve)

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: ClosedChainGroupOptions | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Build the mechanism of the robot, with its loops closed by the constraints of its URDF or by a file.

        :param robot: the robot.
        :param group: the group whose joints are the unknowns.
        :param options: the parameters; None means the defaults.
        :param position_only: leave the orientation of targets free.
        :raises SsikError: if a loop is not well-defined, or the file of loops is missing or malformed.
        """
        rows = position_rows() if position_only else Rows()
        self.parameters = options = options or ClosedChainGroupOptions()
        settings = SearchSettings(slimit=options.max_searches, tolerance=options.target_tolerance)
        super().__init__(robot, group, settings, 'ssik_ros/ClosedChain', rows=rows)
        file = options.loop_closures_file
        loops = read_loop_closures(Path(file).expanduser()) if file else LoopClosures()
        closed = from_urdf(
            robot, loops=loops, use_constraints=options.use_constraints, free_root=False
        )
        self.initial_state = closed.positions
        size = self.problem.group_size
        self.requests.defaults = self.initial_state[self.problem.idx_q]
        self.start[size:] = self.requests.defaults[size:]
        self.failures = _LoopFailures(self.problem, self.packed, len(self.tip_frames))
        if closed.closures:
            self.reason = (
                f'iterative: it closes {counted(len(closed.closures), "loop")} of the robot'
            )
        self.solve_options = ClosedChainOptions(
            method=options.method,
            max_iterations=options.max_iterations,
            escapes=options.escapes,
            seed=options.seed,
            translation_converge_threshold=options.loop_tolerance,
            rotation_converge_threshold=options.loop_tolerance,
        )
        self._first = GroupMechanism(
            closed, group, self.base_frame, self.tip_frames, position_only
        )
        self._idle = [self._first]
        problem = self.problem
        self.places = problem.idx_q[problem.variable_q]
        scalar = problem.variable_kind <= layout.LINEAR
        self.limited = scalar & (problem.variable_q < problem.group_size)
        """Variables with limits that a request may narrow: scalar ones of the group."""

    def run(self, run: Run, timeout_ns: int, phase: int = state.FRESH) -> int:
        """
        Search from the seed, then from random starts, until there are enough solutions, searches or time are used up.

        Solutions go to ``run.out``, sorted by the distance to the seed. Counters and the best state go to
        ``run.arrays``.

        :param run: request, options and arrays of the search.
        :param timeout_ns: time for the search [ns]; 0 for no limit.
        :param phase: ignored; each call begins a new search.
        :returns: a code of :mod:`ssik_ros.kernels.search.state`, FOUND with at least one solution; or OPEN_LOOP if a
            search reached all tips, but with open loops.
        """
        arrays, problem = run.arrays, run.problem
        arrays.counters[:] = 0
        arrays.best[:] = arrays.reference
        arrays.errors[:] = math.inf
        if not all(se3.is_rigid(pose, 0, TARGET_DEVIATION) for pose in arrays.matrices):
            return state.BAD_TARGET
        if not np.isfinite(arrays.reference).all():
            return state.BAD_STATE
        targets = np.zeros((len(arrays.matrices), 12))
        targets[:, 9:] = arrays.matrices[:, :3, 3]
        is_far = restart_search.is_out_of_reach(
            problem.ints, problem.reals, run.options, targets, False
        )
        try:
            posed = self._idle.pop()
        except IndexError:
            posed = self._first.twin()
        try:
            code = _ClosedChainSearch(self, posed, run).run(timeout_ns, is_far)
        finally:
            self._idle.append(posed)
        if code == state.FOUND:
            self._sort(run.out[: int(arrays.counters[state.COUNT])], arrays.reference)
        return code

    def _sort(self, solutions: FloatArray, reference: FloatArray) -> None:
        """
        Sort rows of solutions in place by the distance of the group's joints to the seed ``reference``.

        Joints without a lower limit are compared modulo 2 pi.
        """
        difference = solutions[:, : self.problem.group_size] - reference[: self.problem.group_size]
        endless = np.isinf(self.group.lower)
        difference[:, endless] = wrap_angles(difference[:, endless])
        solutions[:] = solutions[np.argsort(np.linalg.norm(difference, axis=1), kind='stable')]


class _LoopFailures(SearchFailures):
    """Maps the code of a failed search to status and cause, with the further cause LOOP for loops that stay open."""

    def explain(
        self,
        code: int,
        counters: Any,
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
        beyond: Cause = Cause.LIMITS,
    ) -> tuple[IkStatus, Cause]:
        """
        Return status and cause of a failed search; Cause.LOOP if all tips were reached, but with open loops.

        All other failures are explained by :meth:`SearchFailures.explain`, which gets the same arguments. So are open
        loops if the request refused a solution.

        :param code: code of :meth:`ClosedChainSolver.run`.
        :param counters: counters of the search.
        :param targets: target poses of the tips.
        :param beyond: cause if solutions exist only outside the limits.
        """
        if code == OPEN_LOOP and not counters[state.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.LOOP
        return super().explain(code, counters, targets, problem, options, beyond)


class _ClosedChainSearch:
    """
    The searches for one request: makes their starts, and descends from each by the iterations of a mechanism.

    Solutions, errors and counters go to the arrays of a :class:`~ssik_ros.solvers.search.solver.Run`.
    """

    def __init__(self, solver: ClosedChainSolver, posed: GroupMechanism, run: Run) -> None:
        """
        Read limits, tolerances and tool offsets of a request.

        :param solver: the solver.
        :param posed: a mechanism that no other thread uses.
        :param run: request, options and arrays of the search.
        """
        self._solver, self._posed, self._problem = solver, posed, solver.problem
        self._arrays, self._out, self._request = run.arrays, run.out, run.request
        self._counters = run.arrays.counters
        self._cancel = solver.flag_of(run.request)
        nv, tips = self._problem.nv, len(solver.tip_frames)
        self._limits = joint_rows(run.options, nv)[: state.UPPER + 1]
        self._tolerances = tip_tolerances(run.options, nv, tips)[state.NORM]
        self._most = int(run.options[state.MAX_SEARCHES])
        tools = run.request.tool_offsets
        self._tools = None if tools is None else np.reshape(tools, (-1, 4, 4))

    def run(self, timeout_ns: int, is_far: bool) -> int:
        """
        Search from the seed, then from random starts.

        :param timeout_ns: time for the search [ns]; 0 for no limit.
        :param is_far: True if a target is proved out of reach. Then only one descent is made, from the seed, for a near
            state.
        :returns: a code of :mod:`ssik_ros.kernels.search.state`, or OPEN_LOOP if a search reached all tips, but with
            open loops.
        """
        counters, arrays = self._counters, self._arrays
        self._end = time.monotonic_ns() + timeout_ns if timeout_ns else math.inf
        generator = np.random.default_rng(self._solver.parameters.seed)
        best, code = math.inf, state.EXHAUSTED
        for search in range(self._most):
            late = time.monotonic_ns() >= self._end
            if search and (late or self._cancel[0]):
                counters[state.CLOCK_ENDED] = 1
                ended = state.DEADLINE if late else state.CANCELLED
                return state.FOUND if counters[state.COUNT] else ended
            start = self._start(generator if search else None)
            q, errors, loops = self._descend(start, self._limits)
            miss = float(np.hypot(errors[:, 0], errors[:, 1]).max() + loops)
            if is_far or miss < best:
                best = miss
                arrays.best[:], arrays.errors[:] = q, errors.ravel()
            if is_far:
                return state.OUT_OF_REACH
            counters[state.SEARCHES] += 1
            reached, closed = self._check(errors, loops)
            if reached and not closed and code == state.EXHAUSTED:
                code = OPEN_LOOP
            if reached and closed and self._accept(q, errors):
                return state.FOUND
        if counters[state.COUNT]:
            return state.FOUND
        if code == state.EXHAUSTED and not counters[state.REFUSALS]:
            return self._look_beyond_limits()
        return code

    def _check(self, errors: FloatArray, loops: float) -> tuple[bool, bool]:
        """
        Return whether all tips are within tolerance, and whether all loops are closed.

        ``errors`` (t, 2) are the errors of tips [m], [rad], ``loops`` is the largest error of a loop [m or rad].
        """
        closed = loops <= self._solver.parameters.loop_tolerance
        return bool((np.hypot(errors[:, 0], errors[:, 1]) <= self._tolerances).all()), closed

    def _look_beyond_limits(self) -> int:
        """
        Descend once more from the best state, without joint limits, to tell whether limits prevent a solution.

        Return FOUND if the solution happens to be within the limits and is stored, otherwise EXHAUSTED. A solution
        outside the limits is counted in LIMITS_SEEN.
        """
        lower, upper = self._limits
        start = self._full_state()
        start[self._problem.idx_q] = self._arrays.best
        is_free = lower < upper
        wide = np.where(is_free, np.array([[-math.inf], [math.inf]]), self._limits)
        q, errors, loops = self._descend(start, wide)
        if not all(self._check(errors, loops)):
            return state.EXHAUSTED
        values = q[self._problem.variable_q]
        if (~are_inside(values, lower, upper) & self._solver.limited).any():
            self._counters[state.LIMITS_SEEN] += 1
            return state.EXHAUSTED
        self._accept(q, errors)
        return state.FOUND if self._counters[state.COUNT] else state.EXHAUSTED

    def _full_state(self) -> FloatArray:
        """Return a copy (nq,) of the full state in the request; without one, the robot's initial state."""
        given = self._request.state
        return np.array(self._solver.initial_state if given is None else given, dtype=float)

    def _accept(self, q: FloatArray, errors: FloatArray) -> bool:
        """
        Store a solution if it is new and the request accepts it; return True when the request has enough solutions.

        :param q: values of the solver's variables.
        :param errors: (t, 2) errors of the tips [m], [rad].
        """
        size, out, request = self._problem.group_size, self._out, self._request
        count = int(self._counters[state.COUNT])
        near = np.abs(out[:count, :size] - q[:size]) < DEFAULT_TOLERANCES.same_solution
        if near.all(axis=1).any():
            return False
        if request.validate is not None and not request.validate(q[:size].copy()):
            self._counters[state.REFUSALS] += 1
            return False
        n = len(q)
        out[count, :n], out[count, n : n + errors.size] = q, errors.ravel()
        out[count, -2] = float(np.linalg.norm(errors))
        self._counters[state.COUNT] = count + 1
        return count + 1 >= request.max_solutions

    def _start(self, generator: 'np.random.Generator | None') -> FloatArray:
        """
        Return the full state (nq,) at the start of a search.

        Without a generator it is the seed, otherwise random values within the limits. Angles are drawn from at most -pi
        to pi. Quaternions, translations that lack a limit, and passive joints keep their values. So do angles whose
        limits exclude all values from -pi to pi.

        :param generator: generator of random numbers, or None.
        """
        full, problem = self._full_state(), self._problem
        full[problem.idx_q] = self._arrays.reference
        if generator is None:
            return full
        drawn = generator.uniform(size=len(self._solver.places))
        for v, place in enumerate(self._solver.places.tolist()):
            low, high = self._limits[:, v]
            if problem.variable_kind[v] != layout.LINEAR:
                low, high = max(low, -math.pi), min(high, math.pi)
            if self._solver.limited[v] and math.isfinite(high - low) and low <= high:
                full[place] = low + (high - low) * drawn[v]
        return full

    def _descend(
        self, start: FloatArray, limits: FloatArray
    ) -> tuple[FloatArray, FloatArray, float]:
        """
        Solve all loops and tip targets by iterations from one full state, for at most the time that is left.

        Return the values of the solver's variables, the errors (t, 2) of the tips [m], [rad], and the largest
        error of a loop [m or rad].

        :param start: (nq,) full state.
        :param limits: (2, nv) lower and upper limits of the variables.
        """
        posed, options = self._posed, self._solver.solve_options
        posed.place(start, self._arrays.matrices, self._tools)
        for v, place in enumerate(self._solver.places.tolist()):
            if self._solver.limited[v]:
                posed.narrow(place, *limits[:, v])
        if self._end < math.inf:
            left = max(1e-9 * (self._end - time.monotonic_ns()), 1e-6)
            options = options.changed(max_time=left)
        self._counters[state.ITERATIONS] += posed.solve(options, self._cancel)
        errors, loops = posed.errors()
        return posed.read()[self._problem.idx_q], errors, loops
