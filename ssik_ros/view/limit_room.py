"""Tell how near joints are to their limits (:class:`LimitRoom`), and write joint values in radians or degrees."""

from collections.abc import Sequence
from enum import IntEnum
import math

import numpy as np

from ssik_ros.arrays import FloatArray

NEAR_LIMIT_SHARE = 0.05
"""If a joint is nearer to a limit than this share of its range, it is near the limit [1]."""
AT_LIMIT_SHARE = 1e-4
"""If a joint is nearer to a limit than this share of its range, it is at the limit [1]."""
UNITS = ('rad', 'deg')


class LimitRoom(IntEnum):
    """
    How near a joint is to its nearest limit: free, near (within 5 % of its range), or at the limit.

    A joint within 0.01 % of its range from a limit, or beyond a limit, is at the limit. A joint that lacks a limit
    counts as free, even at its other limit; so does a joint whose range is empty.
    """

    FREE = 0
    NEAR = 1
    """Within 5 % of the range."""
    AT = 2


def find_room(q: FloatArray, lower: FloatArray, upper: FloatArray) -> list[LimitRoom]:
    """
    Return for each joint whether it is free, near a limit or at a limit.

    A joint whose range is infinite or empty counts as free.

    :param q: (n,) posture [rad or m].
    :param lower, upper: (n,) limits [rad or m].
    """
    return [_room(*numbers) for numbers in zip(q.tolist(), lower.tolist(), upper.tolist())]


def _room(value: float, low: float, high: float) -> LimitRoom:
    span = high - low
    if not math.isfinite(span) or span <= 0.0:
        return LimitRoom.FREE
    part = min(value - low, high - value) / span
    return (
        LimitRoom.AT
        if part <= AT_LIMIT_SHARE
        else LimitRoom.NEAR
        if part <= NEAR_LIMIT_SHARE
        else LimitRoom.FREE
    )


def smallest_room(q: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """
    Return the distance of the joint that is nearest to one of its limits [rad or m].

    The distance is infinite without limits, and negative for a joint beyond a limit.

    :param q: (n,) posture [rad or m].
    :param lower, upper: (n,) limits [rad or m].
    """
    return float(np.minimum(q - lower, upper - q).min(initial=math.inf))


def in_unit(value: float, unit: str) -> float:
    """
    Convert an angle from radians to a unit that a user has chosen.

    :param value: the angle [rad].
    :param unit: ``rad`` or ``deg``; any other unit, such as ``m``, returns the value unchanged.
    """
    return math.degrees(value) if unit == 'deg' else value


def from_unit(value: float, unit: str) -> float:
    """
    Convert a number that a user has typed to radians; numbers that are not in degrees are returned unchanged.

    :param value: the number, in the unit.
    :param unit: ``rad``, ``deg`` or ``m``.
    """
    return math.radians(value) if unit == 'deg' else value


def short(number: float) -> str:
    """
    Return a number as short text: at most four significant digits, at most three after the point.

    A dash stands for infinite numbers and NaN.

    :param number: the number.
    """
    return f'{round(number, 3) + 0.0:.4g}' if math.isfinite(number) else '–'


def shared_unit(is_angle: Sequence[bool], unit: str) -> str:
    """
    Return the unit in which one number can describe all of some joints.

    If all joints turn, this is ``unit``; if none does, ``m``; otherwise ``rad or m``.

    :param is_angle: whether each joint turns.
    :param unit: unit of angles, ``rad`` or ``deg``.
    """
    if all(is_angle):
        return unit
    return 'rad or m' if any(is_angle) else 'm'
