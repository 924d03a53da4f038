"""
The motion of a group in one control cycle: :class:`StepFinder` moves joints towards a pose of a link, within limits.

A :class:`StepRequest` has the pose, the start and the period; a :class:`StepResponse` has the step. A step need not
reach the pose.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, quote, SsikError
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.mechanisms.closed_chain_solver import ClosedChainSolver
from ssik_ros.model.joint_group import with_default
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.results import Cause
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.requests.ik_requests import (
    FramedPose,
    FullState,
    LinkGoal,
    NOTHING_GIVEN,
    StateGiven,
)
from ssik_ros.server.requests.motion_limits import scaled_limits
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.search.newton.steps import Bounds, Start, Step, StepSolver
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import Frames, SearchSolver
from ssik_ros.value_class import dataclass

CYCLE_STEP_ERROR = 1e-6
"""Largest error of the step of a control cycle that reaches the pose [m, rad]."""
MOST_KEPT = 16
"""Most bounds of cycles that are kept."""
LONGEST_PERIOD = 1e3
"""Longest cycle [s]."""


@dataclass(slots=True)
class StepRequest:
    """Request for the motion of a group in one control cycle, towards a pose of a link and within joint limits."""

    group: str
    """Name of the planning group."""
    links: Sequence[str]
    """Name of one link; empty for the only tip."""
    poses: Sequence[FramedPose]
    """A list of one: the pose that the link approaches."""
    previous: Sequence[FramedPose] = ()
    """A list of one: the pose of the cycle before, if the pose moves; empty if it rests."""
    state: StateGiven = NOTHING_GIVEN
    """Joint positions at the beginning of the cycle; joints that it does not name have their current values."""
    velocities: Sequence[float] = ()
    """Velocity of each joint that ``state`` names, at the beginning of the cycle [rad/s or m/s]; empty for an arm at
    rest."""
    period: float = 0.0
    """Length of the cycle [s]."""
    velocity_scale: float = 0.0
    """Part of the velocity limits; outside (0, 1] all of them, as in MoveIt."""
    accelerations: Sequence[float] = ()
    """Acceleration limits [rad/s^2 or m/s^2]: one number for all, or one for each variable of the group; empty for the
    values of joint_limits.yaml, no limit for variables that the file does not have."""
    posture: Sequence[float] = ()
    """Joint vector (n,) that the step approaches as far as the pose leaves a choice; empty for none."""


class StepResponse(NamedTuple):
    """The step of one cycle, which need not reach the pose; or the reason why the request was refused."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """NONE for every step, even if it does not reach the pose; else the cause of a refusal."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: tuple[str, ...] = ()
    """Names of the variables of the group, in the order of the step."""
    step: Step | None = None
    """The step; None for a refused request."""


class StepFinder:
    """Finds the motion of one group in a control cycle towards a pose; several threads may call it at once."""

    def __init__(self, server: GroupServer) -> None:
        """
        Keep a group.

        :param server: the group.
        """
        self._server = server
        self._solvers: dict[tuple[str, ...], StepSolver] = {}
        self._bounds: dict[tuple[float, ...], Bounds] = {}

    def find(
        self, request: StepRequest, goals: Sequence[LinkGoal], state: FullState
    ) -> StepResponse:
        """
        Return the step of one control cycle from a state towards the pose of a link.

        Even if the step does not reach the pose, the cause of the response is ``NONE``. A joint without a velocity
        limit moves at most at 1 rad/s or 1 m/s, whatever the velocity scale.

        :param request: period, limits, velocities and posture; ``goals`` has its poses.
        :param goals: a goal with the pose in the model frame. If the pose moves, a second goal has the pose of the
            cycle before.
        :param state: joints at the beginning of the cycle.
        :raises RequestRefused: for invalid numbers, a state outside the limits, and groups with loops or without
            solver. Also for a link that is not fixed to a tip, and with position-only kinematics for a carried object.
        """
        server = self._server
        steps = self._solver_for(goals[0])
        targets = [self._target(steps, goal, state) for goal in goals]
        start = Start(
            self._start_positions(state),
            self._velocity(request),
            state.positions,
        )
        try:
            step = steps.take(
                targets[0],
                start,
                self._bounds_of(request),
                previous=targets[1] if targets[1:] else None,
                posture=request.posture if len(request.posture) else None,
                wants_motion=True,
            )
        except SsikError as error:
            raise Refusal.BAD_OPTION.error(str(error)) from error
        return StepResponse(Refusal.NONE, Cause.NONE, step.text, server.group.variable_names, step)

    def _solver_for(self, goal: LinkGoal) -> StepSolver:
        """
        Return the step solver for the link of a goal, made at the first request for this link.

        Raise RequestRefused for a group with loops or without solver, and for a link that is not fixed to a tip.
        """
        server = self._server
        solver = server.require_solver()
        if isinstance(solver, ClosedChainSolver):
            raise Refusal.NO_SOLVER.error(
                f'Group {quote(server.group.name)} closes loops ({solver.name}); steps are for groups without.'
            )
        tips = list(solver.tip_frames)
        place = server.tip_of(solver, goal.link)
        tips[place] = goal.link or tips[place]
        key = tuple(tips)
        if key not in self._solvers:
            settings = SearchSettings(
                law='adaptive', pos_tol=CYCLE_STEP_ERROR, rot_tol=CYCLE_STEP_ERROR
            )
            rows = position_rows() if server.kinematics.position_only else Rows()
            frames = Frames(solver.base_frame, key)
            made = SearchSolver(server.robot, server.group, settings, frames=frames, rows=rows)
            self._solvers[key] = StepSolver(made)
        return self._solvers[key]

    def _target(self, steps: StepSolver, goal: LinkGoal, state: FullState) -> FloatArray:
        """
        Return the target poses of all tips in the base link; a tip without a goal keeps its present pose.

        The shape is (t, 4, 4), or (4, 4) for a solver with one tip that carries no object. A goal for a carried object
        is converted to a pose of its tip. With position-only kinematics, such a goal raises RequestRefused.
        """
        server = self._server
        asked = server.make_request(steps.solver, [goal], state, timeout=0.0)
        if asked.tool_offsets is None:
            return asked.targets
        if server.kinematics.position_only:
            raise Refusal.UNKNOWN_LINK.error(
                'With position_only_ik, steps lead links, not the objects that they carry.'
            )
        tips: FloatArray = asked.targets @ np.array(
            [invert_pose(tool) for tool in asked.tool_offsets]
        )
        return tips

    def _start_positions(self, state: FullState) -> FloatArray:
        """
        Return the positions (n,) of the group at the beginning, moved into its limits if only rounding is beyond.

        Raise RequestRefused for a state that is farther outside the limits.
        """
        server = self._server
        positions = state.positions[server.places]
        rows = zip(
            server.group.variable_names,
            positions.tolist(),
            server.lowest,
            server.highest,
            strict=True,
        )
        for name, value, lowest, highest in rows:
            if not lowest <= value <= highest:
                raise Refusal.BAD_STATE.error(
                    f'{quote(name)} starts at {value:.6g}, outside its limits {lowest:.6g} and {highest:.6g}: a step '
                    'begins within them.'
                )
        return np.clip(positions, server.group.lower, server.group.upper)

    def _velocity(self, request: StepRequest) -> FloatArray | None:
        """
        Return the velocities (n,) at the beginning, 0 for joints not named; None if the request gives no velocities.

        Raise RequestRefused if the velocity of a joint of the group is not finite, or if their number is not the number
        of joints in the state.
        """
        given = request.velocities
        if not len(given):
            return None
        names = list(request.state.names)
        if len(given) != len(names):
            raise Refusal.BAD_STATE.error(
                f'The state has {counted(len(given), "velocity", "velocities")} for {counted(len(names), "joint")}.'
            )
        velocities = dict(zip(names, given))
        velocity = np.array(
            [velocities.get(name, 0.0) for name in self._server.group.variable_names]
        )
        if not np.isfinite(velocity).all():
            raise Refusal.BAD_STATE.error('A velocity of the state is not finite.')
        return velocity

    def _bounds_of(self, request: StepRequest) -> Bounds:
        """
        Return the period, velocity limits and acceleration limits of a request, from a cache of recent requests.

        Raise RequestRefused for a period that is not above 0 or is longer than ``LONGEST_PERIOD``.
        """
        key = request.period, request.velocity_scale, *request.accelerations
        bounds = self._bounds.get(key)
        if bounds is None:
            bounds = self._make_bounds(request)
            if len(self._bounds) >= MOST_KEPT:
                self._bounds.clear()
            self._bounds[key] = bounds
        return bounds

    def _make_bounds(self, request: StepRequest) -> Bounds:
        if not 0.0 < request.period <= LONGEST_PERIOD:
            raise Refusal.BAD_OPTION.error(
                f'period is {request.period:g} s; it has to be above 0 and at most {LONGEST_PERIOD:g} s.'
            )
        group, robot = self._server.group, self._server.robot
        velocity, _ = scaled_limits(robot, group, request.velocity_scale, 1.0)
        accelerations: Sequence[float] | float = request.accelerations
        if not len(request.accelerations):
            limits = robot.accelerations
            accelerations = [limits.get(name, math.inf) for name in group.variable_names]
            if not limits.keys() & set(group.variable_names):
                return Bounds(request.period, with_default(velocity))
        elif len(request.accelerations) == 1:
            accelerations = request.accelerations[0]
        return Bounds(request.period, with_default(velocity), accelerations)
