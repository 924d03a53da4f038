"""Auto: the solver that suits a chain; the name to write in a kinematics.yaml when in doubt."""

from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.solvers.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.pose_ik.solver import PoseIkSolver

NAME = 'ssik_ros/Auto'


def make_auto(
    robot: RobotModel,
    group: JointGroup,
    options: PoseIkOptions | None = None,
    *,
    position_only: bool = False,
) -> PoseIkSolver:
    """
    Return the solver for a group: PoseIK, which solves every chain, as long as it has no rival.

    :param options: parameters of PoseIK.
    :param position_only: leave the orientation of targets free.
    """
    return PoseIkSolver(robot, group, options, position_only=position_only, name=NAME)
