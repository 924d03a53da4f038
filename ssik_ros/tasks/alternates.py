"""Alternate configurations: the same pose of every object with some joints turned by whole turns (windings)."""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import sys

import numpy as np

from ssik_ros.arguments import read_count, read_numbers
from ssik_ros.arrays import FloatArray, TURN, turns_within
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import IkJoint, joint_values
from ssik_ros.tasks.objects import ObjectTable


def alternate_configs(
    world: ObjectTable,
    joints: Sequence[IkJoint],
    values: FloatArray,
    low: Sequence[float] | None = None,
    ranges: Sequence[float] | None = None,
    max_configs: int | None = None,
) -> FloatArray:
    """
    Return configurations (k, n) of some joints: all combinations of their windings, in lexicographic order.

    A winding is a joint value plus whole turns. Only joints of :func:`has_windings` get several values; all other
    joints keep their value. The start is one of the rows if it is inside the intervals, unless ``max_configs`` cuts it
    off.

    :param joints: the joints of a configuration; a spherical one has four of the n numbers.
    :param values: (nq,) values of all joints of the world to start from.
    :param low, ranges: lower end and width of the interval of each joint, cut by its limits. Width 0, as without
        ``ranges``, means the limits themselves. A negative width means an interval of that width centred on the joint's
        value.
    :param max_configs: most rows; None for all.
    :returns: no rows if the interval of a joint contains none of its windings.
    :raises DimensionMismatch: if ``low`` or ``ranges`` have another length than ``joints``.
    :raises InvalidOption: for a positive width in ``ranges`` without ``low``, or a negative ``max_configs``.
    """
    low, ranges = (
        [] if numbers is None else read_numbers(name, numbers, (None,)).tolist()
        for name, numbers in (('low', low), ('ranges', ranges))
    )
    for name, numbers in (('low limits', low), ('ranges', ranges)):
        if len(numbers) not in (0, len(joints)):
            raise DimensionMismatch(
                f'There are {counted(len(joints), "joint")} and {len(numbers)} {name}.'
            )
    if ranges and not low and any(number > 0.0 for number in ranges):
        raise InvalidOption('Positive ranges need low limits.')
    if max_configs is not None and read_count('max_configs', max_configs) > sys.maxsize:
        max_configs = None
    choices: list[list[float]] = []
    for index, joint in enumerate(joints):
        numbers = [float(number) for number in joint_values([joint], values)]
        if not has_windings(world, joint):
            choices += [[number] for number in numbers]
            continue
        lower, upper = _interval(
            joint, numbers[0], low[index] if low else 0.0, ranges[index] if ranges else 0.0
        )
        choices.append(equivalents(numbers[0], lower, upper))
    rows = list(itertools.islice(itertools.product(*choices), max_configs))
    return np.array(rows, dtype=float).reshape(len(rows), len(choices))


def has_windings(world: ObjectTable, joint: IkJoint) -> bool:
    """
    Return whether whole turns of a joint change no pose, so that its limits may hold several windings of a value.

    True for a revolute joint with limits, without a screw lead, that follows no other joint. All joints that follow it
    must be revolute and turn by whole turns, too.
    """
    plain = joint.kind == JointType.REVOLUTE and joint.screw_lead == 0.0 and not joint.cyclic
    return plain and joint.dependency is None and world.wraps(joint)


def _interval(joint: IkJoint, value: float, low: float, width: float) -> tuple[float, float]:
    """
    Return the interval (lower, upper) in which windings of a joint are listed [rad].

    The interval is the part of the joint's limits within a window. A positive ``width`` gives the window ``low`` to
    ``low + width``. A negative one gives a window of that width centred on ``value``. Zero gives the limits themselves.
    """
    lower, upper = joint.limits
    if width > 0.0:
        return max(lower, low), min(upper, low + width)
    if width < 0.0:
        return max(lower, value + 0.5 * width), min(upper, value - 0.5 * width)
    return lower, upper


def equivalents(value: float, lower: float, upper: float) -> list[float]:
    """
    Return all angles ``value + 2 pi k``, k a whole number, from ``lower`` to ``upper`` in increasing order [rad].

    Angles that are outside by rounding only are moved onto the limit. For k = 0 ``value`` is returned unchanged. The
    list is empty if no angle is inside.
    """
    first, last = map(int, turns_within(value, lower, upper, LIMIT_ROUNDING))
    return [
        value if k == 0 else min(max(value + TURN * k, lower), upper)
        for k in range(first, last + 1)
    ]
