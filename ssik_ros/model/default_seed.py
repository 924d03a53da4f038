"""The state that a request without a seed starts from: a named posture of the SRDF, or the middle of the limits."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray, wrap_angle
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel

PREFERRED = ('home', 'ready')
"""Postures of an SRDF that give joints their default seed, the later name first; capital letters do not count."""
SCALAR = (JointKind.REVOLUTE, JointKind.PRISMATIC)


def default_seed(robot: RobotModel, group: JointGroup) -> FloatArray:
    """
    Return the seed (n,) of requests that give none: the variables of a group in :func:`default_state`.

    :param robot: the robot.
    :param group: one of its groups, or a chain of it.
    """
    return default_state(robot)[group.idx_q]


def default_state(robot: RobotModel) -> FloatArray:
    """
    Return the full state (nq,) that is assumed while no joint values are known [rad or m].

    A joint has its value in an SRDF posture ``ready`` of any group, else in ``home``, clamped to its limits. Without
    such a value it has the middle of its limits. If the limits allow, the middle of an angle is moved by whole turns to
    between -pi and pi. A joint that lacks a limit has 0 instead, or the limit that it has if 0 is outside. Joints with
    several variables have MoveIt's default position, see :meth:`RobotModel.default_positions`. Mimic joints follow
    their leaders.

    :param robot: the robot.
    """
    tree, positions = robot.tree, robot.default_positions()
    for joint in np.flatnonzero(np.isin(tree.kinds, SCALAR) & (tree.leaders < 0)):
        place = tree.idx_q[joint]
        lower, upper = float(tree.lower[place]), float(tree.upper[place])
        if math.isfinite(upper - lower):
            positions[place] = _middle(lower, upper, tree.kinds[joint] == JointKind.REVOLUTE)
    for wanted in PREFERRED:
        for state in robot.srdf.states:
            if state.name.lower() == wanted:
                take_values(robot, positions, state.values)
    return robot.with_mimic(positions)


def _middle(lower: float, upper: float, is_angle: bool) -> float:
    """
    Return the middle of two limits [rad or m].

    An angle is moved by whole turns to between -pi and pi if the result is within the limits.
    """
    middle = 0.5 * lower + 0.5 * upper
    turned = wrap_angle(middle)
    return turned if is_angle and lower <= turned <= upper else middle


def take_values(
    robot: RobotModel, positions: FloatArray, values: dict[str, tuple[float, ...]]
) -> None:
    """
    Write the joint values of a named posture into a full state in place, clamped to the limits.

    Unknown joints and joints with several variables are skipped.

    :param positions: (nq,) the full state.
    :param values: numbers of each joint by its name [rad or m].
    """
    tree = robot.tree
    for name, numbers in values.items():
        joint = tree.joint_index.get(name)
        if (
            joint is None
            or JointKind(tree.kinds[joint]) > JointKind.PRISMATIC
            or len(numbers) != 1
        ):
            continue
        place = tree.idx_q[joint]
        positions[place] = min(max(numbers[0], tree.lower[place]), tree.upper[place])
