"""Helpers for joint values: the largest value that is accepted in seeds and states, and whole turns of angles."""

import math

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry.so3 import TWO_PI

PER_RADIAN = 1.0 / TWO_PI
"""Number of turns in a radian [1/rad]."""
LARGEST_JOINT_VALUE = 1e150
"""Largest value of a joint in a seed or a state [rad or m]; squares of larger values would overflow."""
FEW = 64
"""Largest number of values for which Python's numbers take less time than arrays."""
LIMIT_ROUNDING = 1e-9
"""Distance by which rounding may put a joint value beyond its limit [rad or m]; the value is then on the limit."""


@inline_kernel
def whole_turns(angle):
    """Return the multiple of 2 pi that is nearest to an angle; the larger one of two at a tie [rad]."""
    return TWO_PI * math.floor(angle * PER_RADIAN + 0.5)


@inline_kernel
def winding(value, near):
    """
    Return ``value`` plus the whole turns that bring it nearest to ``near`` [rad].

    :param value: an angle [rad].
    :param near: the angle to come near to [rad].
    """
    return value + whole_turns(near - value)


@inline_kernel
def wrapped(angle):
    """Return an angle moved by whole turns to [-pi, pi) [rad]."""
    return angle - whole_turns(angle)


def are_usable(values: NDArray[np.float64]) -> bool:
    """
    Return whether all values are finite and their absolute values are at most :data:`LARGEST_JOINT_VALUE`.

    :param values: array of any shape [rad or m].
    """
    # No value is above the norm, which takes less time for the values of one robot.
    if values.size <= FEW and math.hypot(*values.ravel().tolist()) <= LARGEST_JOINT_VALUE:
        return True
    return bool((np.abs(values) <= LARGEST_JOINT_VALUE).all())


def describe_unusable(values: NDArray[np.float64]) -> str:
    """
    Return the end of an error sentence that lists joint values which :func:`are_usable` refuses.

    The text begins with "has values", and says whether values are not finite or too large.

    :param values: array of any shape [rad or m].
    """
    if not np.isfinite(values).all():
        return f'has values that are not finite: {values.tolist()}'
    return f'has values beyond {LARGEST_JOINT_VALUE:g}, which no joint can have: {values.tolist()}'
