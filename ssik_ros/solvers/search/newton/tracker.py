"""
Tracking for control loops: each cycle takes one target and moves the arm by one step.

:class:`Tracker` moves the arm. :class:`TrackStatus` says how a cycle ended, and :class:`StoppedBy` says which bound
stopped a joint.
"""

from enum import IntEnum
import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    read_count,
    read_number,
    read_numbers,
    read_one_each,
    refuse,
    shown,
)
from ssik_ros.arrays import are_inside, FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
    RequestError,
    tells_near_names,
    TopologyMismatch,
)
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import causes, state, tracking
from ssik_ros.problem.pose_input import read_pose_or_poses
from ssik_ros.results import Cause, CAUSES
from ssik_ros.solvers.search.newton.stacks import per_variable
from ssik_ros.solvers.search.settings import joint_rows
from ssik_ros.solvers.search.solver import SearchSolver

MOST_VARIABLES = 64
"""Most variables of an arm for which each step is the best one within its bounds."""


class StoppedBy(IntEnum):
    """The bound that keeps a joint from moving further in a cycle: on its position, velocity or acceleration."""

    NOTHING = int(tracking.BY_NOTHING)
    LIMIT = int(tracking.BY_LIMIT)
    """It is on a position limit."""
    VELOCITY = int(tracking.BY_VELOCITY)
    """It moved by its velocity limit, or by the largest step."""
    ACCELERATION = int(tracking.BY_ACCELERATION)
    """It could not change its velocity further, or it brakes for a position limit."""


class TrackStatus(IntEnum):
    """Outcome of one cycle: target reached (OK), nearer (LIMITED), or neither (HELD)."""

    OK = 0
    """The arm is at the target, within tolerance."""
    LIMITED = 1
    """The arm came nearer, as far as limits and the motion of one cycle allow."""
    HELD = 2
    """No step comes nearer, or the target is invalid or proved out of reach: the arm stays. With acceleration limits,
    it brakes instead, so that its joints may still move."""


@tells_near_names
class Tracker:
    """
    Moves an arm towards a target by one step in each control cycle, and keeps the state of the arm.

    The state is the joint values :attr:`q`, a view that the next call overwrites, and the motion of the last cycle. For
    targets as arrays (4, 4) or (t, 4, 4), :meth:`track` makes no new arrays. One tracker serves one thread.
    """

    def __init__(
        self,
        solver: SearchSolver,
        q: ArrayLike,
        *,
        dt: float | None = None,
        velocity_limits: ArrayLike | None = None,
        acceleration_limits: ArrayLike | None = None,
        max_step: ArrayLike | None = None,
        max_iterations: int = 30,
    ) -> None:
        """
        Start at a configuration, at rest.

        :param solver: search, whose law, tolerances, limits and null-space terms the cycles use.
        :param q: (n,) configuration of the arm [rad or m].
        :param dt: time of one cycle [s], needed with velocity and acceleration limits.
        :param velocity_limits: one number or (n,) [rad/s or m/s].
        :param acceleration_limits: one number or (n,) [rad/s^2 or m/s^2]. Joints then brake before their limits and
            before the target. Of the secondary objectives only ``posture`` can be combined with them.
        :param max_step: largest motion of each joint in one cycle, one number or (n,) [rad or m].
        :param max_iterations: most updates in one cycle.
        :raises ValueError: for wrong shapes, bounds that are not positive, limits without ``dt``, and a ``q`` outside
            the limits. Also for acceleration limits of an arm with more than 64 variables or with another secondary
            objective.
        """
        self._solver = solver
        n, nv = solver.problem.group_size, solver.problem.nv
        base = solver.packed.copy()
        base[state.MAX_ITERATIONS] = read_count('max_iterations', max_iterations)
        self._base, self._cycle_options = base, base.copy()
        self._numbers = np.zeros(tracking.CYCLE_ROWS * nv)
        self._cycle = tracking.Cycle(*self._numbers.reshape(tracking.CYCLE_ROWS, nv))
        self.bound(dt, velocity_limits, acceleration_limits, max_step)
        problem = solver.problem
        is_own = (problem.variable_q < n) & (problem.variable_kind <= layout.LINEAR)
        self._variables = np.flatnonzero(is_own)
        self._joints = problem.variable_q[self._variables]
        self._arrays = solver.borrow()
        self._report = np.zeros(tracking.NUMBERS)
        size = steps.optimal_size(solver.problem.rows, nv)
        self._scratch = np.empty(size if nv <= MOST_VARIABLES else 0)
        self._state = solver.requests.full_states(None)[0]
        self._view: FloatArray = self._state[:n].view()
        self._view.setflags(write=False)
        self._shape = (len(solver.tip_frames), 4, 4)
        self._previous, self._rests = np.empty(16 * self._shape[0]), np.empty(0)
        self.status = TrackStatus.HELD
        self.cause = Cause.NONE
        self.reset(q)

    def bound(
        self,
        dt: float | None = None,
        velocity_limits: ArrayLike | None = None,
        acceleration_limits: ArrayLike | None = None,
        max_step: ArrayLike | None = None,
    ) -> None:
        """
        Set the bounds of all later cycles; they replace all former bounds.

        :param dt: time of one cycle [s]; None only without velocity and acceleration limits.
        :param velocity_limits: one number or (n,) [rad/s or m/s]; None for no bound.
        :param acceleration_limits: one number or (n,) [rad/s^2 or m/s^2]; None for no bound.
        :param max_step: largest motion of each joint in one cycle, one number or (n,) [rad or m]; None for no bound.
        :raises ValueError: for wrong shapes, bounds that are not positive, and limits without a positive ``dt``. Also
            for acceleration limits of an arm with more than 64 variables or with another secondary objective than
            ``posture``.
        """
        solver = self._solver
        n = solver.problem.group_size
        bounds, changes = np.full(n, np.inf), np.full(n, np.inf)
        if max_step is not None:
            bounds = np.minimum(bounds, _positive_each('max_step', max_step, n))
        period = math.nan if dt is None else read_number('dt', dt)
        limits = {'velocity_limits': velocity_limits, 'acceleration_limits': acceleration_limits}
        for name, value in limits.items():
            if value is not None and not period > 0.0:
                raise InvalidOption(f'{name} need a positive dt, not {shown(dt)}.', name='dt')
        if velocity_limits is not None:
            allowed = _positive_each('velocity_limits', velocity_limits, n)
            bounds = np.minimum(bounds, period * allowed)
        if acceleration_limits is not None:
            self._require_braking()
            changes = period**2 * _positive_each('acceleration_limits', acceleration_limits, n)
        self._dt = period
        self._cycle.largest_motion[:] = per_variable(solver, bounds)
        self._cycle.largest_change[:] = per_variable(solver, changes)

    def _require_braking(self) -> None:
        """
        Raise InvalidOption if acceleration limits cannot be kept.

        This is so for more than MOST_VARIABLES variables, and with a secondary objective other than posture.
        """
        nv, packed = self._solver.problem.nv, self._solver.packed
        if nv > MOST_VARIABLES:
            raise InvalidOption(
                f'acceleration_limits are for at most {MOST_VARIABLES} variables; the arm has {nv}.',
                name='acceleration_limits',
            )
        if packed[state.LIMIT_GAIN] or packed[state.MANIPULABILITY_GAIN]:
            raise InvalidOption(
                'With acceleration_limits the only secondary objective is posture, with its weight kp.',
                name='acceleration_limits',
            )

    def set_posture(self, posture: ArrayLike | None) -> None:
        """
        Set the posture that later cycles go to as far as the target leaves a choice.

        :param posture: (n,) [rad or m]; None: the posture of the solver.
        :raises ValueError: for a wrong shape, and for values that are not finite.
        """
        solver = self._solver
        n, nq = solver.problem.group_size, solver.problem.nq
        for options in (self._base, self._cycle_options):
            for place in (state.POSTURE_GAIN, state.IMPROVES):
                options[place] = solver.packed[place] if posture is None else 1.0
            options[-nq:] = solver.packed[-nq:]
            if posture is not None:
                options[-nq:][:n] = self._read_joints('posture', posture)

    def reset(
        self, q: ArrayLike, velocity: ArrayLike | None = None, full_state: ArrayLike | None = None
    ) -> None:
        """
        Set the configuration and the velocity of the arm.

        :param q: (n,) [rad or m].
        :param velocity: (n,) of the joints [rad/s or m/s]; None for an arm at rest. It counts for acceleration limits.
        :param full_state: (nq,) the whole robot, for joints outside the group that move a tip; None for their defaults.
        :raises ValueError: for a wrong shape, values that are not finite, a ``q`` outside the limits, or a velocity
            without the ``dt`` of the tracker.
        """
        values = self._read_joints('q', q)
        group = self._solver.group
        limited = bool(self._base[state.LIMITED])
        inside = are_inside(values, group.lower, group.upper)
        if limited and not inside.all():
            raise RequestError(
                f'A tracker starts at values within the limits, not at {values.tolist()}.',
                q=values,
            )
        self._state[: len(values)] = values
        if len(self._state) > len(values):
            self._place_others(len(values), full_state)
        self._cycle.last_motion[:] = 0.0
        if velocity is not None:
            if not self._dt > 0.0:
                raise InvalidOption('A velocity needs the dt of the tracker.', name='dt')
            velocities = self._read_joints('velocity', velocity)
            self._cycle.last_motion[self._variables] = self._dt * velocities[self._joints]

    def _place_others(self, size: int, full_state: ArrayLike | None) -> None:
        """
        Set the variables of joints outside the group, and fix them by equal limits.

        :param size: number of variables of the group, which come first.
        :param full_state: (nq,) state of the whole robot; None means default values.
        """
        solver, problem = self._solver, self._solver.problem
        if full_state is None:
            self._state[size:] = solver.requests.defaults[size:]
        else:
            full = solver.robot.tree.full_state(np.asarray(full_state))
            self._state[size:] = full[problem.idx_q[size:]]
        outside = problem.variable_q >= size
        rows = joint_rows(self._base, problem.nv)
        for row in (state.LOWER, state.UPPER):
            rows[row][outside] = self._state[problem.variable_q[outside]]

    def _read_joints(self, name: str, given: ArrayLike) -> FloatArray:
        """
        Return an argument as one finite number for each joint variable (n,).

        :param name: name of the argument, for messages.
        :raises InvalidOption: if it does not hold numbers.
        :raises RequestError: for another shape, and for numbers that are not finite or too large.
        """
        values = read_numbers(name, given)
        if values.shape != self._view.shape:
            raise DimensionMismatch(
                f'The tracker needs {self._view.shape[0]} joint values in {name}, not the shape {values.shape}.',
                expected=self._view.shape,
                actual=values.shape,
            )
        if not joint_values.are_usable(values):
            raise RequestError(f'{name} needs finite numbers, not {values.tolist()}.', q=values)
        return values

    @property
    def q(self) -> FloatArray:
        """Return the configuration (n,), a read-only view that the next call overwrites [rad or m]."""
        return self._view

    @property
    def position_error(self) -> float:
        """Return the distance of the tip from the last target [m]; of several tips, the largest distance."""
        return float(self._arrays.errors[0::2].max())

    @property
    def rotation_error(self) -> float:
        """Return the rotation angle from the tip to the last target [rad]; of several tips, the largest angle."""
        return float(self._arrays.errors[1::2].max())

    @property
    def velocity(self) -> FloatArray:
        """Return the velocities of the joints (n,) in the last cycle; NaN without dt [rad/s or m/s]."""
        return self._of_joints(self._cycle.last_motion / self._dt)

    @property
    def stopped_by(self) -> list[StoppedBy]:
        """Return the bound that stopped each joint in the last cycle."""
        return [StoppedBy(int(value)) for value in self._of_joints(self._cycle.stopped_by)]

    @property
    def scale(self) -> float:
        """
        Return the part of the error that the last cycle removed, 0 to 1.

        It is 1 if the cycle reached the target, and 0 if it did not come nearer.
        """
        if self.status == TrackStatus.OK:
            return 1.0
        before, after = self._report[[tracking.BEFORE, tracking.AFTER]].tolist()
        return max(0.0, 1.0 - math.sqrt(after / before)) if before > 0.0 else 0.0

    @property
    def condition(self) -> float:
        """
        Return the condition number of the Jacobian where the last cycle ended; infinite at a singular posture.

        :raises TopologyMismatch: for an arm with more than 64 variables.
        """
        if not self._scratch.size:
            raise TopologyMismatch(f'The arm has more than {MOST_VARIABLES} variables.')
        problem = self._solver.problem
        return float(
            tracking.condition_number(
                problem.ints, problem.reals, self._base, self._arrays.work, self._scratch
            )
        )

    def _of_joints(self, values: FloatArray) -> FloatArray:
        """Return numbers of the velocity variables (nv,) as numbers of the joint variables (n,); 0 for ball joints."""
        numbers = np.zeros(len(self._view))
        numbers[self._joints] = values[self._variables]
        return numbers

    @property
    def iterations(self) -> int:
        """Return the number of joint updates in the last call of :meth:`track`."""
        return int(self._report[tracking.ITERATIONS])

    def track(self, target: ArrayLike, previous: ArrayLike | None = None) -> TrackStatus:
        """
        Move the arm towards a target, by one cycle.

        :param target: a pose in any form of :func:`ssik_ros.pose`; for several tips a list of such poses, or (t, 4, 4).
        :param previous: target of the cycle before, if the target moves, as along a path; None if the target rests.
            With acceleration limits, joints then follow the moving target and do not brake for it.
        :returns: OK if the target is reached, LIMITED if the arm came nearer, HELD if it stays. :attr:`cause` says why
            the target is not reached: CONSISTENCY for the motion of one cycle, LIMITS, UNREACHABLE, SINGULAR,
            BAD_TARGET.
        :raises TypeError, ValueError: if the target does not hold one pose for each tip.
        """
        arrays, solver = self._arrays, self._solver
        arrays.matrices[...] = self._read(target, 'target')
        before = self._rests
        if previous is not None:
            before = self._previous
            before.reshape(self._shape)[...] = self._read(previous, 'previous')
        code = tracking.follow(
            solver.problem.ints,
            solver.problem.reals,
            self._base,
            self._cycle_options,
            self._numbers,
            before,
            solver.no_cancel,
            arrays.counters,
            arrays.work,
            self._state,
            self._report,
            self._scratch,
        )
        self.status, self.cause = self._judge(code)
        return self.status

    def _read(self, target: ArrayLike, name: str) -> ArrayLike:
        """
        Return an argument as the pose of each tip (t, 4, 4), or as one pose (4, 4) for a single tip.

        Arrays of these shapes are returned unchanged. Raise DimensionMismatch for another number of poses.

        :param name: name of the argument, for messages.
        """
        shape = getattr(target, 'shape', None)
        if shape == self._shape or (shape == (4, 4) and self._shape[0] == 1):
            return target
        poses = read_pose_or_poses(target, name).reshape(-1, 4, 4)
        if poses.shape != self._shape:
            raise DimensionMismatch(
                f'track needs a {name} of shape {self._shape}, not {poses.shape}.',
                expected=self._shape,
                actual=poses.shape,
            )
        return poses

    def _judge(self, code: int) -> tuple[TrackStatus, Cause]:
        """
        Return (status, cause) of the last cycle.

        :param code: code that the kernel returned for the cycle.
        """
        if code == state.FOUND:
            return TrackStatus.OK, Cause.NONE
        report, failures = self._report, self._solver.failures
        is_proved = code == state.OUT_OF_REACH and failures.is_proved_without_slides(
            self._arrays.matrices
        )
        cause = CAUSES[causes.of_step(code, is_proved, report)]
        nearer = report.item(tracking.AFTER) < report.item(tracking.BEFORE)
        is_limited = nearer and code != state.BAD_TARGET
        return TrackStatus.LIMITED if is_limited else TrackStatus.HELD, cause


def _positive_each(name: str, value: ArrayLike, n: int) -> FloatArray:
    """
    Return an argument as an array (n,) of positive numbers; a single number counts for all joints.

    Raise DimensionMismatch for another shape, and InvalidOption for a number that is not positive.
    """
    array = read_one_each(name, value, n)
    if not (array > 0.0).all():
        refuse(name, value, 'positive')
    return array
