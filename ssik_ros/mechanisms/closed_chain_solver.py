"""``ssik_ros/ClosedChain``: groups of robots, with loops and without, from a deterministic sequence of starts."""

import math
from pathlib import Path
import time
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.kernels.mechanisms import descent
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import pose_search
from ssik_ros.mechanisms.group_mechanism import GroupMechanism
from ssik_ros.mechanisms.loop_closures import LoopClosures, read_loop_closures
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Problem, Rows
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.closed_chain.group_options import ClosedChainGroupOptions
from ssik_ros.solvers.closed_chain.options import ClosedChainOptions
from ssik_ros.solvers.search.iterative_solver import IterativeSolver, SearchArrays

OPEN_LOOP = 100
"""Code of a search in which tips were reached, but never with closed loops."""
RIGID = 1e-4
"""How far the columns of a target's rotation may be from orthonormal."""
SAME = 1e-4
"""Solutions that differ by less in every variable are one [rad or m]."""


class ClosedChainSolver(IterativeSolver):
    """A search for one group, whose joints are found together with the passive ones of the robot's loops."""

    kernel = staticmethod(descent.solve)
    at_lower = pose_search.OPTIONS
    at_max_searches = pose_search.MAX_SEARCHES
    at_keeps_looking = pose_search.KEEPS_LOOKING

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: ClosedChainGroupOptions | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Close the loops of the robot.

        :param robot: the robot.
        :param group: the group whose joints are the unknowns.
        :param options: the parameters; None means the defaults.
        :param position_only: leave the orientation of targets free.
        :raises SsikError: when a loop is not well-defined.
        """
        rows = position_rows() if position_only else Rows()
        super().__init__(robot, group, 'ssik_ros/ClosedChain', None, None, rows)
        self._own = options = options or ClosedChainGroupOptions()
        file = options.loop_closures_file
        loops = read_loop_closures(Path(file).expanduser()) if file else LoopClosures()
        closed = from_urdf(
            robot, loops=loops, use_constraints=options.use_constraints, free_root=False
        )
        self._start = closed.positions
        self._defaults = self._start[self.problem.idx_q]
        self.middle = self._middle_of_limits()
        if closed.closures:
            self.reason = (
                f'iterative: it closes {counted(len(closed.closures), "loop")} of the robot'
            )
        self._solve_options = ClosedChainOptions(
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
        packed = np.zeros(pose_search.OPTIONS)
        packed[pose_search.MAX_SEARCHES] = options.max_searches
        tolerances = np.full(len(self.tip_frames), options.target_tolerance)
        self.packed = np.concatenate([packed, problem.lower, problem.upper, tolerances])
        self._places = problem.idx_q[problem.variable_q]
        scalar = problem.variable_kind <= layout.LINEAR
        self._limited = scalar & (problem.variable_q < problem.group_size)
        """Which variables have limits of their own: what is not of the group is the mechanism's business."""

    def narrowed_options(
        self, options: FloatArray, request: SolveRequest, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Write the request's tolerance into a copy of the options."""
        if request.tolerance is not None:
            options[self.at_lower + 2 * len(lower) :] = self.checked_tolerance(request.tolerance)

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
        """Search from start to start; return a code of :mod:`ssik_ros.kernels.search.pose_search`."""
        arrays.counters[:] = 0
        arrays.best[:] = arrays.reference
        arrays.errors[:] = math.inf
        if not _are_rigid(arrays.matrices):
            return pose_search.BAD_TARGET
        if not np.isfinite(arrays.reference).all():
            return pose_search.BAD_STATE
        targets = np.zeros((len(arrays.matrices), 12))
        targets[:, 9:] = arrays.matrices[:, :3, 3]
        is_far = pose_search.out_of_reach(problem.ints, problem.reals, options, targets)
        try:
            posed = self._idle.pop()
        except IndexError:
            posed = self._first.twin()
        try:
            code = self._search(posed, options, timeout_ns, arrays, out, request, is_far)
        finally:
            self._idle.append(posed)
        if code == pose_search.FOUND:
            self._sort(out[: int(arrays.counters[pose_search.COUNT])], arrays.reference)
        return code

    def _sort(self, found: FloatArray, reference: FloatArray) -> None:
        """Put solutions in the order of their distance to the seed, without whole turns of joints without limits."""
        size = self.problem.group_size
        difference = found[:, :size] - reference[:size]
        endless = np.isinf(self.group.lower)
        difference[:, endless] -= (
            2.0 * math.pi * np.round(difference[:, endless] / (2.0 * math.pi))
        )
        found[:] = found[np.argsort(np.linalg.norm(difference, axis=1), kind='stable')]

    def _search(
        self,
        posed: GroupMechanism,
        options: FloatArray,
        timeout_ns: int,
        arrays: SearchArrays,
        out: FloatArray,
        request: SolveRequest,
        is_far: bool,
    ) -> int:
        """Search from start to start; for a target proved out of reach, once for the nearest posture."""
        counters, nv, cancel = arrays.counters, self.problem.nv, self.flag_of(request)
        limits = options[self.at_lower : self.at_lower + 2 * nv].reshape(2, nv)
        end = time.monotonic_ns() + timeout_ns if timeout_ns else math.inf
        generator = np.random.default_rng(self._own.seed)
        best, code = math.inf, pose_search.EXHAUSTED
        for search in range(int(options[self.at_max_searches])):
            late = time.monotonic_ns() >= end
            if search and (late or cancel[0]):
                counters[pose_search.CLOCK_ENDED] = 1
                ended = pose_search.DEADLINE if late else pose_search.CANCELLED
                return pose_search.FOUND if counters[pose_search.COUNT] else ended
            start = self._start_of(search, generator, limits, arrays, request)
            found, errors, loops = self._descend(posed, start, limits, arrays, request, end)
            if is_far:
                arrays.best[:], arrays.errors[:] = found, errors.ravel()
                return pose_search.OUT_OF_REACH
            counters[pose_search.SEARCHES] += 1
            reached = self._reaches(errors, options)
            closed = loops <= self._own.loop_tolerance
            miss = float(np.hypot(errors[:, 0], errors[:, 1]).max() + loops)
            if miss < best:
                best = miss
                arrays.best[:], arrays.errors[:] = found, errors.ravel()
            if reached and not closed and code == pose_search.EXHAUSTED:
                code = OPEN_LOOP
            if reached and closed and self._accept(found, errors, arrays, out, request):
                return pose_search.FOUND
        if counters[pose_search.COUNT]:
            return pose_search.FOUND
        if code == pose_search.EXHAUSTED and not counters[pose_search.REFUSALS]:
            return self._look_beyond(posed, options, limits, arrays, out, request, end)
        return code

    def _reaches(self, errors: FloatArray, options: FloatArray) -> bool:
        """Return whether every tip is at its target, given what each misses (t, 2)."""
        tolerances = options[self.at_lower + 2 * self.problem.nv :]
        return bool((np.hypot(errors[:, 0], errors[:, 1]) <= tolerances).all())

    def _look_beyond(
        self,
        posed: GroupMechanism,
        options: FloatArray,
        limits: FloatArray,
        arrays: SearchArrays,
        out: FloatArray,
        request: SolveRequest,
        end: float,
    ) -> int:
        """Descend from the best state without the limits of the group's joints: whether these are the cause."""
        start = self._full_state(request)
        start[self.problem.idx_q] = arrays.best
        is_free = limits[0] < limits[1]
        wide = np.where(is_free, np.array([[-math.inf], [math.inf]]), limits)
        found, errors, loops = self._descend(posed, start, wide, arrays, request, end)
        if not self._reaches(errors, options) or loops > self._own.loop_tolerance:
            return pose_search.EXHAUSTED
        values = found[self.problem.variable_q]
        outside = (values < limits[0]) | (values > limits[1])
        if (outside & self._limited).any():
            arrays.counters[pose_search.LIMITS_SEEN] += 1
            return pose_search.EXHAUSTED
        self._accept(found, errors, arrays, out, request)
        found_one = bool(arrays.counters[pose_search.COUNT])
        return pose_search.FOUND if found_one else pose_search.EXHAUSTED

    def _full_state(self, request: SolveRequest) -> FloatArray:
        """Return a copy of the (nq) state around a search."""
        return (
            self._start.copy() if request.state is None else np.array(request.state, dtype=float)
        )

    def _accept(
        self,
        found: FloatArray,
        errors: FloatArray,
        arrays: SearchArrays,
        out: FloatArray,
        request: SolveRequest,
    ) -> bool:
        """Keep a solution that is new and that the request accepts; return whether there are enough."""
        counters, size = arrays.counters, self.problem.group_size
        count = int(counters[pose_search.COUNT])
        known = out[:count, :size]
        if (np.abs(known - found[:size]) < SAME).all(axis=1).any():
            return False
        if request.validate is not None and not request.validate(found[:size].copy()):
            counters[pose_search.REFUSALS] += 1
            return False
        out[count, : len(found)] = found
        out[count, self._error_columns] = errors.ravel()
        out[count, -2] = float(np.linalg.norm(errors))
        counters[pose_search.COUNT] = count + 1
        return count + 1 >= request.max_solutions

    def _start_of(
        self,
        search: int,
        generator: 'np.random.Generator',
        limits: FloatArray,
        arrays: SearchArrays,
        request: SolveRequest,
    ) -> FloatArray:
        """Return the (nq) full state that a search starts from: the seed, then draws within the limits."""
        full = self._full_state(request)
        full[self.problem.idx_q] = arrays.reference
        if search:
            drawn = generator.uniform(size=len(self._places))
            for v, place in enumerate(self._places.tolist()):
                if not self._limited[v]:
                    continue
                low, high = limits[:, v]
                if self.problem.variable_kind[v] != layout.LINEAR:
                    low, high = max(low, -math.pi), min(high, math.pi)
                if math.isfinite(high - low) and low <= high:
                    full[place] = low + (high - low) * drawn[v]
        return full

    def _descend(
        self,
        posed: GroupMechanism,
        start: FloatArray,
        limits: FloatArray,
        arrays: SearchArrays,
        request: SolveRequest,
        end: float,
    ) -> tuple[FloatArray, FloatArray, float]:
        """Return what one start leads to: the problem's variables, errors of tips and of loops."""
        tools = request.tool_offsets
        stack = None if tools is None else np.reshape(tools, (-1, 4, 4))
        posed.place(start, arrays.matrices, stack)
        for v, place in enumerate(self._places.tolist()):
            if self._limited[v]:
                posed.narrow(place, *limits[:, v])
        options = self._solve_options
        if end < math.inf:
            left = max(1e-9 * (end - time.monotonic_ns()), 1e-6)
            options = options.changed(max_time=left)
        cancel = self.flag_of(request)
        arrays.counters[pose_search.ITERATIONS] += posed.solve(options, cancel)
        errors, loops = posed.errors()
        return posed.read()[self.problem.idx_q], errors, loops

    def explain(
        self,
        code: int,
        counters: Any,
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> tuple[IkStatus, Cause]:
        """Return status and cause of a search without a solution."""
        if code == OPEN_LOOP and not counters[pose_search.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.LOOP
        return super().explain(code, counters, targets, problem, options)


def _are_rigid(poses: FloatArray) -> bool:
    """Return whether poses (t, 4, 4) are finite rigid transforms."""
    if not np.isfinite(poses).all() or np.abs(poses[:, 3] - (0.0, 0.0, 0.0, 1.0)).max() > RIGID:
        return False
    turns = poses[:, :3, :3]
    gaps = turns.transpose(0, 2, 1) @ turns - np.eye(3)
    return bool(np.abs(gaps).max() < RIGID and (np.linalg.det(turns) > 0.0).all())
