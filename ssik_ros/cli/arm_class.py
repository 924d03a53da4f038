"""Find the kinematic class of an arm from its joint axes; ``catalogue.yaml`` explains the names of the classes."""

from collections.abc import Sequence
from itertools import pairwise
import math
from typing import NamedTuple

from ssik_ros.model.catalogue import NearMiss
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry

CLASS_DEVIATION = 1e-9
"""Largest sine of the angle between parallel axes [1], and largest distance of axes from their common point [m]."""
NEAR_ANGLE = 2e-3
"""Largest sine between axes of a near miss."""
NEAR_DISTANCE = {6: 0.005, 7: 0.025}
"""Largest distance of an axis from the common point of a near miss, by the number of joints [m]."""

Joints = tuple[int, ...]
_WRIST, _SHOULDER = (4, 5, 6), (1, 2, 3)


class _Class(NamedTuple):
    """
    A class of arms: pairs of joints with parallel axes, and groups of joints whose axes meet in one point.

    Joints are counted from 1.
    """

    name: str
    parallel: Sequence[Joints] = ()
    meeting: Sequence[Joints] = ()


_CLASSES = {
    6: (
        _Class('three_parallel', [(2, 3), (3, 4)]),
        _Class('spherical_wrist_2_parallel_3', [(2, 3)], [_WRIST]),
        _Class('spherical_wrist_1_parallel_2', [(1, 2)], [_WRIST]),
        _Class('spherical_wrist_1_meets_2', [], [_WRIST, (1, 2)]),
        _Class('spherical_wrist_2_meets_3', [], [_WRIST, (2, 3)]),
        _Class('spherical_wrist', [], [_WRIST]),
        _Class('spherical_shoulder_4_parallel_5', [(4, 5)], [_SHOULDER]),
        _Class('spherical_shoulder_5_parallel_6', [(5, 6)], [_SHOULDER]),
        _Class('spherical_shoulder_5_meets_6', [], [_SHOULDER, (5, 6)]),
        _Class('spherical_shoulder_4_meets_5', [], [_SHOULDER, (4, 5)]),
        _Class('spherical_shoulder_6r', [], [_SHOULDER]),
        _Class('three_parallel_3_4_5', [(3, 4), (4, 5)]),
        _Class('three_parallel_1_2_3', [(1, 2), (2, 3)], [(5, 6)]),
        _Class('three_parallel_4_5_6', [(4, 5), (5, 6)], [(1, 2)]),
    ),
    7: (
        _Class('srs', [], [_SHOULDER, (5, 6, 7)]),
        _Class('spherical_shoulder', [], [_SHOULDER, (5, 6)]),
        _Class('reversed_spherical_shoulder', [], [(5, 6, 7), (2, 3)]),
    ),
}
"""In their order; the first one that holds is the arm's."""


def classify_arm(chain: SerialChain) -> tuple[str, NearMiss | None]:
    """
    Return the class of a chain as the catalogue names it, and its near miss.

    The classes for the number of joints are compared in their order, until one fits. The near miss is the first class
    before that one that the axes almost fit; None without such a class. A chain with a prismatic joint is
    ``prismatic``, other chains of fewer than six joints are ``at_most_5r``. Other arms that fit no class are
    ``general_6r`` or ``general_7r``; seven joints with a near miss are ``approximately_`` and the name of that class.

    :param chain: at most seven joints.
    :raises KeyError: for more than seven revolute joints.
    """
    n = len(chain.joint_names)
    if (chain.kinds == JointKind.PRISMATIC).any():
        return 'prismatic', None
    if n < 6:
        return 'at_most_5r', None
    geometry, near = AxisGeometry(chain.axes, chain.points), None
    for wanted in _CLASSES[n]:
        distance, angle = _misses(geometry, wanted)
        if distance < CLASS_DEVIATION and angle < CLASS_DEVIATION:
            return wanted.name, near
        if near is None and distance <= NEAR_DISTANCE[n] and angle <= NEAR_ANGLE:
            near = NearMiss(wanted.name, distance, angle)
    if near is not None and n == 7:
        return f'approximately_{near.arm_class}', near
    return f'general_{n}r', near


def _misses(geometry: AxisGeometry, wanted: _Class) -> tuple[float, float]:
    """
    Return by how much axes violate a class: largest distance from a common point [m], and largest sine of an angle.

    The angle is between two axes that the class requires to be parallel. A number is 0 if the class has no such
    condition. The distance is infinite if axes that shall meet have no best common point, or two consecutive ones of
    them are parallel.
    """
    distances = (_spread(geometry, [joint - 1 for joint in joints]) for joints in wanted.meeting)
    sines = (geometry.sine(a - 1, b - 1) for a, b in wanted.parallel)
    return max(distances, default=0.0), max(sines, default=0.0)


def _spread(geometry: AxisGeometry, joints: list[int]) -> float:
    """
    Return the largest distance [m] of some axes from their best common point.

    The distance is infinite if two consecutive axes are parallel, or if the axes have no best common point. ``joints``
    are indices from 0.
    """
    if any(geometry.sine(a, b) < CLASS_DEVIATION for a, b in pairwise(joints)):
        return math.inf
    meeting = geometry.meeting(joints)
    return math.inf if meeting is None else meeting.drift
