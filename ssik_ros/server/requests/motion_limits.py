"""Velocity and acceleration limits of a request: the robot's, scaled as in MoveIt."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel

DEFAULT_ACCELERATION = 1.0
"""For joints without an acceleration limit [rad/s^2 or m/s^2]: a URDF has none, a joint_limits.yaml may."""


def scaled_limits(
    robot: RobotModel, group: JointGroup, velocity_scale: float, acceleration_scale: float
) -> tuple[FloatArray, FloatArray]:
    """
    Return velocity limits (n,), inf for none, and acceleration limits (n,) of the variables of a group.

    A variable without an acceleration limit gets ``DEFAULT_ACCELERATION``; the scale applies to it too.

    :param robot: the robot.
    :param group: the group.
    :param velocity_scale, acceleration_scale: parts of the limits to use; outside (0, 1] all of them, as in MoveIt.
    """
    velocity: FloatArray = robot.tree.velocity[group.idx_q] * _scale(velocity_scale)
    limits = robot.accelerations
    acceleration = [limits.get(name, DEFAULT_ACCELERATION) for name in group.variable_names]
    return velocity, _scale(acceleration_scale) * np.array(acceleration)


def _scale(factor: float) -> float:
    """Return a scaling factor; outside (0, 1] it is 1, as in MoveIt."""
    return factor if 0.0 < factor <= 1.0 else 1.0
