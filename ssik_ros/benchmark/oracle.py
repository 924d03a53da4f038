"""
The independent check of solutions: forward kinematics by pinocchio, which the solvers do not use.

Poses are (4, 4) transforms of a group's tips in the group's base frame.
"""

import numpy as np

from ssik_ros.arrays import FloatArray, whole_turns
from ssik_ros.benchmark.trials import TrialVerdict
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.value_class import dataclass

DEFAULT_TOLERANCE = 0.001
"""Norm of position and orientation error that counts as reached if a solver has no ``target_tolerance``."""
ERROR_ROUNDING = 1e-12
"""Largest difference between two correct computations of an error [m, rad]; it is added to the tolerance."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of the independent check of one solution: verdict, limits, and errors of the tips."""

    verdict: TrialVerdict
    """VERIFIED, NOT_FINITE, OUTSIDE_LIMITS or OUTSIDE_TOLERANCE."""
    within_limits: bool
    """Whether all joint positions are within their limits; False when the vector is not finite."""
    position_error: float
    """Largest position error of a tip [m]; NaN when the vector is not finite."""
    orientation_error: float
    """Largest orientation error of a tip [rad]; NaN when the vector is not finite."""


class GroupOracle:
    """Independent forward kinematics of one group of a robot, and checks of solutions with it."""

    def __init__(
        self, robot: RobotModel, group: JointGroup, state: FloatArray | None = None
    ) -> None:
        """
        Prepare the forward kinematics.

        :param robot: the robot.
        :param group: the group.
        :param state: (nq,) full state that gives the joints outside the group; None for their default positions.
        :raises ModelError: if pinocchio refuses the robot, or the robot has more than 2000 joints.
        """
        self.robot = robot
        self.group = group
        self._reference = ReferenceKinematics(robot)
        self._state = robot.default_positions() if state is None else state.copy()
        self._wrapping = np.array(
            [robot.tree.kinds[joint] == JointKind.CONTINUOUS for joint in group.joint_indices]
        )

    def tip_poses(self, positions: FloatArray) -> FloatArray:
        """
        Return the poses (t, 4, 4) of the group's tips in its base frame.

        :param positions: (n,) joint vector of the group.
        """
        state = self._state.copy()
        state[self.group.idx_q] = positions
        state = self.robot.with_mimic(state)
        return self._reference.group_tip_poses(state, self.group)

    def errors(self, positions: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return position errors (t,) [m] and orientation errors (t,) [rad] of the tips at a joint vector.

        :param positions: (n,) joint vector of the group.
        :param targets: (t, 4, 4) target poses of the tips in the base frame.
        """
        pairs = zip(self.tip_poses(positions), targets, strict=True)
        errors = np.array([self._reference.pose_errors(pose, target) for pose, target in pairs])
        return errors[:, 0], errors[:, 1]

    def verify(
        self,
        positions: FloatArray,
        targets: FloatArray,
        tolerance: float,
        *,
        position_only: bool = False,
    ) -> Verification:
        """
        Check a solution against targets, tolerance and limits, and return the verdict with the errors.

        The verdict is VERIFIED, OUTSIDE_TOLERANCE, or OUTSIDE_LIMITS, also if the solution is outside both. A vector of
        another size, or one that is not finite, gets NOT_FINITE, and its errors are NaN.

        :param positions: joint vector of the group to check.
        :param targets: (t, 4, 4) target poses of the tips in the base frame.
        :param tolerance: bound of the norm of position [m] and orientation error [rad] of each tip.
        :param position_only: whether only the position errors count.
        """
        if positions.shape != self.group.lower.shape or not np.isfinite(positions).all():
            return Verification(TrialVerdict.NOT_FINITE, False, np.nan, np.nan)
        inside = self._reference.within_limits(self.group, positions)
        distances, angles = self.errors(positions, targets)
        norms = distances if position_only else np.hypot(distances, angles)
        verdict = TrialVerdict.VERIFIED
        if not (norms <= tolerance + ERROR_ROUNDING).all():
            verdict = TrialVerdict.OUTSIDE_TOLERANCE
        if not inside:
            verdict = TrialVerdict.OUTSIDE_LIMITS
        return Verification(verdict, inside, float(distances.max()), float(angles.max()))

    def joint_distance(self, positions: FloatArray, seed: FloatArray) -> float:
        """
        Return the norm of the joint differences between a solution and a seed [rad or m].

        Differences of continuous joints are reduced by whole turns, except if a joint of the group has several
        variables.

        :param positions: (n,) the solution; another shape gives NaN.
        :param seed: (n,) joint vector to compare with.
        """
        if positions.shape != seed.shape:
            return float('nan')
        difference = positions - seed
        if self._wrapping.shape == difference.shape:
            difference = difference - whole_turns(difference) * self._wrapping
        return float(np.linalg.norm(difference))
