"""How near joints are to their limits, and numbers of joints in the unit and with the digits that a user reads."""

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
    """Distance of a joint from its nearest limit."""

    FREE = 0
    NEAR = 1
    """Within 5 % of the range."""
    AT = 2


def find_room(q: FloatArray, lower: FloatArray, upper: FloatArray) -> list[LimitRoom]:
    """
    Return how near each joint is to a limit; a joint without two limits is free.

    :param q: (n) posture [rad or m].
    :param lower, upper: (n) limits [rad or m].
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
    Return the smallest distance of a joint from a limit [rad or m]; inf without limits.

    :param q: (n) posture [rad or m].
    :param lower, upper: (n) limits [rad or m].
    """
    return float(np.minimum(q - lower, upper - q).min(initial=math.inf))


def in_unit(value: float, unit: str) -> float:
    """
    Return an angle in one of :data:`UNITS`.

    :param value: [rad].
    :param unit: ``rad`` or ``deg``.
    """
    return math.degrees(value) if unit == 'deg' else value


def from_unit(value: float, unit: str) -> float:
    """
    Return an angle in one of :data:`UNITS` in rad.

    :param value: in the unit.
    :param unit: ``rad`` or ``deg``.
    """
    return math.radians(value) if unit == 'deg' else value


def short(number: float) -> str:
    """
    Return a number with at most four digits, of which at most three follow the point.

    :param number: the number.
    """
    return f'{round(number, 3) + 0.0:.4g}' if math.isfinite(number) else '–'


def shared_unit(is_angle: Sequence[bool], unit: str) -> str:
    """
    Return the unit of a number that may be of any of some joints: one of :data:`UNITS`, ``m``, or ``rad or m``.

    :param is_angle: whether each joint turns.
    :param unit: of angles, if all joints turn.
    """
    if all(is_angle):
        return unit
    return 'rad or m' if any(is_angle) else 'm'
