"""
The posture with which a viewer opens: not nearly singular if possible, so that targets can be dragged.

The default state, such as the named posture ``ready`` or ``home``, comes first. If it is nearly singular, named
postures of the group are tried, and then random postures around the middle of the limits. If none fits, the default
state is taken.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray
from ssik_ros.model.default_seed import default_state, take_values
from ssik_ros.model.forward_kinematics import compute_link_poses
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics

REGULAR_SHARE = 0.03
"""Smallest singular value of a regular Jacobian, as a part of the largest; lengths are divided by the arm's length."""
TRIED = 300
"""Random postures; the best of them is taken."""
MIDDLE_PART = 0.35
"""Random postures are at most this part of a joint's range away from its middle."""
LARGEST_OFFSET = 1.8
"""Largest distance of a random angle or position from the middle of its range [rad or m]."""
SEED = 0
IsFree = Callable[[FloatArray], bool]


def find_first_state(robot: RobotModel, group: JointGroup, is_free: IsFree) -> FloatArray:
    """
    Return the full state (nq,) with which a viewer of a group opens [rad or m].

    The default state (:func:`ssik_ros.model.default_seed.default_state`) is returned unless it is nearly singular, even
    if it collides. Otherwise named postures of the group are tried in their order, then random ones, the most regular
    first. The first one that is neither nearly singular nor colliding is returned. A random one must also keep the
    links on joints of the group at or above the height of the base link. If none fits, the default state is returned. A
    group with several tips, or with joints of several variables, always gets the default state.

    :param robot: the robot.
    :param group: the group whose tip has a target.
    :param is_free: returns whether a full state (nq,) is without collisions.
    """
    default = default_state(robot)
    if len(group.tips) != 1 or group.variable_count != len(group.joint_names):
        return default
    measure = _Regularity(robot, group)
    if measure(default) >= REGULAR_SHARE:
        return default
    for state in _named_states(robot, group, default):
        if measure(state) >= REGULAR_SHARE and is_free(state):
            return state
    drawn = sorted(_random_states(robot, group, default), key=measure, reverse=True)
    lowest = _lowest_base(robot, group, default)
    for state in drawn:
        if measure(state) < REGULAR_SHARE:
            break
        if _lowest(robot, group, state) >= lowest and is_free(state):
            return state
    return default


class _Regularity:
    """
    A function that measures how far a full state is from a singularity: 0 if singular, at most 1.

    The measure is the least singular value of the Jacobian divided by the largest one. Before, the rows of the
    translation are divided by the length of their largest column.
    """

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        self._places = group.idx_q
        self._chain = ChainKinematics(robot, group, group.base_link, group.tip)
        self._rank = min(6, len(self._places))

    def __call__(self, state: FloatArray) -> float:
        jacobian = np.array(self._chain.jacobian(state[self._places]))
        # Metres and radians count alike if the largest column of the translation is one.
        jacobian[:3] /= max(float(np.linalg.norm(jacobian[:3], axis=0).max()), 1e-12)
        values = np.linalg.svd(jacobian, compute_uv=False)
        return float(values[self._rank - 1] / max(float(values[0]), 1e-12))


def _named_states(
    robot: RobotModel, group: JointGroup, default: FloatArray
) -> Iterator[FloatArray]:
    """Yield a full state (nq,) for each named posture of the group in the SRDF; other joints have their default values."""
    for named in robot.srdf.states:
        if named.group == group.name:
            state = default.copy()
            take_values(robot, state, named.values)
            yield robot.with_mimic(state)


def _random_states(
    robot: RobotModel, group: JointGroup, default: FloatArray
) -> Iterator[FloatArray]:
    """
    Yield TRIED random full states (nq,) with the group's joints around the middle of their limits.

    Other joints have their default values. The sequence is the same in each call.
    """
    rng = np.random.default_rng(SEED)
    lower, upper = finite_range(group.lower, group.upper)
    span = np.minimum(MIDDLE_PART * (upper - lower), LARGEST_OFFSET)
    for _ in range(TRIED):
        state = default.copy()
        state[group.idx_q] = 0.5 * (lower + upper) + rng.uniform(-1.0, 1.0, len(span)) * span
        yield robot.with_mimic(state)


def _lowest(robot: RobotModel, group: JointGroup, state: FloatArray) -> float:
    """Return the least z coordinate, in the model frame, of the links that move with joints of the group [m]."""
    poses = compute_link_poses(robot.tree, state)
    carried = np.isin(robot.tree.link_joints, group.joint_indices)
    return float(poses[carried, 2, 3].min(initial=np.inf))


def _lowest_base(robot: RobotModel, group: JointGroup, state: FloatArray) -> float:
    """
    Return the z coordinate of the group's base link in the model frame [m].

    Random postures keep the links on joints of the group at or above this height.
    """
    poses = compute_link_poses(robot.tree, state)
    return float(poses[robot.tree.link(group.base_link), 2, 3])
