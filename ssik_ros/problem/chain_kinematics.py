"""Forward kinematics, Jacobian and manipulability of one tip relative to one base, by the kernels that solvers use."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch
from ssik_ros.kernels.rows import relative_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.problem import Axes, build_problem, PoseConstraint, Rows


def manipulability_of(jacobian: FloatArray) -> FloatArray:
    """
    Return the manipulability of Jacobians: the product of their min(6, n) singular values.

    At a singular posture it is 0 up to rounding. With six or more joints it is Yoshikawa's measure.

    :param jacobian: (..., 6, n) one or more Jacobians.
    :returns: an array (...) with one number for each Jacobian.
    """
    values: FloatArray = np.linalg.svd(jacobian, compute_uv=False).prod(axis=-1)
    return values


class ChainKinematics:
    """
    Forward kinematics and Jacobians of a tip link in a base link.

    The group has ``n`` joint variables and ``m`` joint velocities; they differ for ball joints.
    """

    def __init__(self, robot: RobotModel, group: JointGroup, base: str, tip: str) -> None:
        """
        Pack the chain from a base link to a tip link for the kernels.

        :param robot: the robot.
        :param group: the group, whose joints are the variables.
        :param base, tip: links; joints between them that are not in the group have default values, unless a call gives
            a state.
        :raises FrameNotFound: if the robot has no such link.
        :raises ModelError: if a joint of the group only follows another joint.
        """
        rows = Rows(position_axes=Axes.FRAME_A, rotation_axes=Axes.FRAME_A)
        constraint = PoseConstraint(frame_a=base, frame_b=tip, rows=rows)
        self.problem = build_problem(robot.tree, group.joint_names, [constraint])
        """The chain as the kernels read it."""
        self._defaults = robot.default_positions()[self.problem.idx_q]
        in_group = self.problem.variable_q < self.problem.group_size
        self._columns = np.flatnonzero(in_group)

    def _variables(self, q: FloatArray, state: FloatArray | None = None) -> FloatArray:
        """
        Return the variables of the packed chain: the joint vector of the group, then the values of passive joints.

        A passive joint moves the tip but is not in the group.

        :param q: (n,) joint vector [rad or m].
        :param state: (nq,) full state with the values of passive joints; None means default values.
        :raises DimensionMismatch: if ``q`` has another size.
        """
        size = self.problem.group_size
        if q.shape != (size,):
            raise DimensionMismatch(
                f'The chain has {size} joint variables; the given vector has the shape {q.shape}.',
                expected=(size,),
                actual=q.shape,
            )
        others = self._defaults if state is None else state[self.problem.idx_q]
        return np.concatenate([q, others[size:]])

    def pose(self, q: FloatArray, state: FloatArray | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of the tip in the base.

        :param q: (n,) joint vector [rad or m].
        :param state: (nq,) full state, read for joints outside the group; None means default values.
        :raises DimensionMismatch: if ``q`` has another size.
        """
        problem = self.problem
        work, pose = np.empty(problem.workspace_size), np.empty((4, 4))
        variables = self._variables(q, state)
        relative_pose.pose_of_b_in_a(problem.ints, problem.reals, work, variables, pose)
        return pose

    def jacobian(self, q: FloatArray) -> FloatArray:
        """
        Return the Jacobian (6, m): twist (linear, angular) of the tip in base axes for a unit of each joint velocity.

        Joints outside the group have default values and no column.

        :param q: (n,) joint vector [rad or m].
        :raises DimensionMismatch: if ``q`` has another size.
        """
        problem = self.problem
        work, jacobian = np.empty(problem.workspace_size), np.empty((6, problem.nv))
        variables = self._variables(q)
        relative_pose.twist_of_b_in_a(problem.ints, problem.reals, work, variables, jacobian)
        return jacobian[:, self._columns]
