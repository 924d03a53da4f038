"""Poses of the tips of a group in its base frame, to check solutions: the solvers use other kernels."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose, pose_errors
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel


class TipPoses:
    """Forward kinematics of one group of a robot; joints outside the group have their default positions."""

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Keep a robot and a group.

        :param robot: the robot.
        :param group: the group.
        """
        self.robot, self.group = robot, group
        self._state = robot.default_positions()

    def tip_poses(self, positions: FloatArray) -> FloatArray:
        """
        Return the poses (t, 4, 4) of the group's tips in its base frame.

        :param positions: (n,) joint vector of the group.
        """
        tree, state = self.robot.tree, self._state.copy()
        state[self.group.idx_q] = positions
        joints = compute_joint_poses(tree, self.robot.with_mimic(state))
        base, *tips = (
            compute_link_pose(tree, joints, tree.link(link))
            for link in (self.group.base_link, *self.group.tips)
        )
        to_base = invert_pose(base)
        return np.array([to_base @ tip for tip in tips])

    def errors(self, positions: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return the position errors (t,) [m] and orientation errors (t,) [rad] of a joint vector.

        :param positions: (n,) joint vector of the group.
        :param targets: (t, 4, 4) target poses of the tips in the base frame.
        """
        pairs = zip(self.tip_poses(positions), targets, strict=True)
        errors = np.array([pose_errors(pose, target) for pose, target in pairs])
        return errors[:, 0], errors[:, 1]
