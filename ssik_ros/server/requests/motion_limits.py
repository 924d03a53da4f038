"""Velocity and acceleration limits of a request: the limits of the robot, scaled by its factors as in MoveIt."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import list_names
from ssik_ros.model.joint_group import DEFAULT_VELOCITY, JointGroup
from ssik_ros.model.robot_model import RobotModel

DEFAULT_ACCELERATION = 1.0
"""For joints without an acceleration limit [rad/s^2 or m/s^2]: a URDF has none, a joint_limits.yaml may."""


def scaled_limits(
    robot: RobotModel, group: JointGroup, velocity_scale: float, acceleration_scale: float
) -> tuple[FloatArray, FloatArray]:
    """
    Return velocity limits (n,) [rad/s or m/s] and acceleration limits (n,) [rad/s^2 or m/s^2] of a group's variables.

    A variable without a velocity limit gets inf, which no scale changes. A variable without an acceleration limit gets
    ``DEFAULT_ACCELERATION``; the scale applies to it too.

    :param robot: the robot.
    :param group: the group.
    :param velocity_scale, acceleration_scale: parts of the limits to use; outside (0, 1] all of them, as in MoveIt.
    """
    velocity: FloatArray = robot.tree.velocity[group.idx_q] * _scale(velocity_scale)
    limits = robot.accelerations
    acceleration = [limits.get(name, DEFAULT_ACCELERATION) for name in group.variable_names]
    return velocity, _scale(acceleration_scale) * np.array(acceleration)


def describe_unscaled(robot: RobotModel, group: JointGroup, velocity_scale: float) -> str:
    """
    Return a text that names variables of a group whose times a velocity scale does not change, at most 20 of them.

    They have no velocity limit. The text is empty if every variable has one, or if the scale counts as 1.

    :param robot: the robot.
    :param group: the group.
    :param velocity_scale: part of the velocity limits to use; outside (0, 1] it counts as 1.
    """
    limits = robot.tree.velocity[group.idx_q].tolist()
    names = [name for name, limit in zip(group.variable_names, limits) if limit == math.inf]
    if not names or _scale(velocity_scale) == 1.0:
        return ''
    return (
        f'Without a velocity limit: {list_names(names)}. The times assume {DEFAULT_VELOCITY:g} rad/s or m/s there, '
        f'and the velocity scale {velocity_scale:g} has no effect; add limits to the URDF or joint_limits.yaml.'
    )


def _scale(factor: float) -> float:
    """Return a factor on velocity or acceleration limits: the given one, or 1 if it is outside (0, 1], as in MoveIt."""
    return factor if 0.0 < factor <= 1.0 else 1.0
