"""
Single steps for programs that control an arm in cycles, such as MoveIt Servo.

Servo sends the pose of the next cycle with the current posture as the seed. It allows approximate solutions, and gives
half of the cycle as the budget. A solution on another branch would be a jump, and no solution would be a halt. The step
from the seed that comes nearest to the pose within the velocity limits avoids both.
"""

import numpy as np

from ssik_ros.arrays import are_inside, FloatArray
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.model.joint_group import JointGroup, with_default
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.solvers.search.newton.steps import Bounds, Start, Step, StepSolver
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

LONGEST_BUDGET = 0.05
"""Longest budget of a request for one cycle [s]."""
CYCLES = 2.0
"""Length of a cycle, as a multiple of the budget."""
NEAREST_STEP_ERROR = 1e-9
"""Largest error of a nearest step that reaches the pose [m, rad]."""
MOST_STEPS = 6
"""Most updates of one step. Later ones gain little."""
MOST_KEPT = 16
"""Most lengths of a cycle that bounds are kept for."""


class NearestSteps:
    """
    Computes the joint step of one control cycle, from a seed towards a pose, for a group with one tip.

    Several threads may call :meth:`take` at once.
    """

    def __init__(
        self, robot: RobotModel, group: JointGroup, base: str, tip: str, position_only: bool
    ) -> None:
        """
        Prepare the steps of one group.

        :param robot, group: the robot and its planning group.
        :param base, tip: names of links: poses give the tip in the base.
        :param position_only: whether the orientation of poses is free.
        :raises FrameNotFound: for a link that the robot does not have.
        """
        self._kinematics = ChainKinematics(robot, group, base, tip)
        self._group, self._position_only = group, position_only
        self._velocity = with_default(robot.tree.velocity[group.idx_q])
        settings = SearchSettings(
            law='adaptive', pos_tol=NEAREST_STEP_ERROR, rot_tol=NEAREST_STEP_ERROR
        )
        rows = position_rows() if position_only else Rows()
        self._steps = StepSolver(SearchSolver(robot, group, settings, rows=rows), MOST_STEPS)
        self._bounds: dict[float, Bounds] = {}

    def take(self, pose: FloatArray, seed: FloatArray, budget: float) -> Step | None:
        """
        Return the step from the seed that comes nearest to a pose within the velocity limits of one control cycle.

        A joint without a velocity limit moves at most at 1 rad/s or 1 m/s.

        Return None if the request seems not to come from a control loop: if the budget is not above 0 or is above 0.05
        s, or the seed is outside the limits. Return None also if the pose is farther than the joints can move the tip
        in a cycle, by the Jacobian at the seed. A joint with the velocity limit 0 gives None, too.

        :param pose: (4, 4) of the tip in the base.
        :param seed: (n,) posture at the beginning of the cycle.
        :param budget: half of the cycle [s].
        """
        room = CYCLES * budget * self._velocity
        if not 0.0 < budget <= LONGEST_BUDGET or not (room > 0.0).all():
            return None
        if not are_inside(seed, self._group.lower, self._group.upper).all():
            return None
        distance, angle = pose_errors(self._kinematics.pose(seed), pose)
        most = np.abs(self._kinematics.jacobian(seed)) @ room
        if distance > np.linalg.norm(most[:3]):
            return None
        if angle > np.linalg.norm(most[3:]) and not self._position_only:
            return None
        bounds = self._bounds.get(budget)
        if bounds is None:
            if len(self._bounds) >= MOST_KEPT:
                self._bounds.clear()
            bounds = self._bounds[budget] = Bounds(max_step=room)
        return self._steps.take(pose, Start(seed), bounds)
