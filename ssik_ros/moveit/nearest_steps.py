"""
Steps for programs that ask for a motion in cycles, such as MoveIt Servo.

Servo sends the pose of the next cycle with the current posture as the seed, allows approximate solutions, and gives half
of the cycle as the budget. A solution on another branch would be a jump, and no solution would be a halt. The step from
the seed that comes nearest to the pose, within the velocity limits, is neither.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.model.joint_group import DEFAULT_VELOCITY, JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.results import Cause
from ssik_ros.solvers.search.newton.tracker import Tracker, TrackStatus
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

LONGEST_BUDGET = 0.05
"""Longest budget of a request for one cycle [s]."""
CYCLES = 2.0
"""Length of a cycle, as a multiple of the budget."""
EXACT = 1e-9
"""Largest error of a step that reaches the pose [m, rad]."""
REASONS = {
    Cause.CONSISTENCY: 'joints move at their velocity limits',
    Cause.LIMITS: 'joints are on their limits',
    Cause.SINGULAR: 'the posture is singular, and no motion of the joints comes nearer',
    Cause.UNREACHABLE: 'the pose is out of reach',
}
"""Why a step does not reach its pose."""
MOST_STEPS = 6
"""Most updates of one step. Later ones gain little."""
MOST_KEPT = 16
"""Most lengths of a cycle that trackers are kept for."""


class Step(NamedTuple):
    """The posture at the end of one cycle."""

    q: FloatArray
    """(n,) [rad or m]."""
    is_exact: bool
    """Whether it reaches the pose."""
    distance: float
    """From the pose [m]."""
    angle: float
    """[rad]."""
    cause: Cause
    """Why it does not reach the pose: a key of :data:`REASONS`; NONE if it does."""

    @property
    def text(self) -> str:
        """Return a sentence about the step."""
        if self.is_exact:
            return 'Solved by one step from the seed.'
        reason = REASONS.get(self.cause, 'no step comes nearer')
        return (
            f'The nearest step is off by {self.distance:.3g} m and {self.angle:.3g} rad: {reason}.'
        )


class NearestSteps:
    """Steps of one group with one tip; several threads may take them at once."""

    def __init__(
        self, robot: RobotModel, group: JointGroup, base: str, tip: str, position_only: bool
    ) -> None:
        """
        Prepare the steps.

        :param base, tip: links of the poses.
        :param position_only: whether the orientation of poses is free.
        """
        self._kinematics = ChainKinematics(robot, group, base, tip)
        self._group, self._position_only = group, position_only
        velocity = robot.tree.velocity[group.idx_q]
        self._velocity = np.where(np.isfinite(velocity), velocity, DEFAULT_VELOCITY)
        settings = SearchSettings(law='adaptive', pos_tol=EXACT, rot_tol=EXACT)
        rows = position_rows() if position_only else Rows()
        self._solver = SearchSolver(robot, group, settings, rows=rows)
        self._trackers: dict[float, list[Tracker]] = {}

    def take(self, pose: FloatArray, seed: FloatArray, budget: float) -> Step | None:
        """
        Return the step of one cycle, or None if the request asks for something else.

        It asks for a step if the budget is short, and if the joints could move the tip as far as the pose is away. The
        seed has to be within the limits.

        :param pose: (4, 4) of the tip in the base.
        :param seed: (n,) posture at the beginning of the cycle.
        :param budget: [s].
        """
        room = CYCLES * budget * self._velocity
        if not 0.0 < budget <= LONGEST_BUDGET or not (room > 0.0).all():
            return None
        if not ((self._group.lower <= seed) & (seed <= self._group.upper)).all():
            return None
        distance, angle = pose_errors(self._kinematics.pose(seed), pose)
        most = np.abs(self._kinematics.jacobian(seed)) @ room
        if distance > np.linalg.norm(most[:3]):
            return None
        if angle > np.linalg.norm(most[3:]) and not self._position_only:
            return None
        tracker = self._take_tracker(seed, budget, room)
        tracker.reset(seed)
        is_exact = tracker.track(pose) == TrackStatus.OK
        errors = tracker.position_error, tracker.rotation_error
        step = Step(tracker.q.copy(), is_exact, *errors, tracker.cause)
        self._waiting(budget).append(tracker)
        return step

    def _take_tracker(self, seed: FloatArray, budget: float, room: FloatArray) -> Tracker:
        """Return a tracker that no other thread uses."""
        try:
            return self._waiting(budget).pop()
        except IndexError:
            return Tracker(self._solver, seed, max_step=room, max_iterations=MOST_STEPS)

    def _waiting(self, budget: float) -> list[Tracker]:
        """Return the trackers that no thread uses, for cycles of this length."""
        if budget not in self._trackers and len(self._trackers) >= MOST_KEPT:
            self._trackers.clear()
        return self._trackers.setdefault(budget, [])
