"""Values of joints: their largest size in seeds and states, and windings of angles."""

import math

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels._jit import inline_kernel

LARGEST_JOINT_VALUE = 1e150
"""Largest value of a joint in a seed or a state [rad or m]; squares of larger values would overflow."""
LIMIT_ROUNDING = 1e-9
"""Distance by which rounding may put a joint value beyond its limit [rad or m]; the value is then on the limit."""


@inline_kernel
def winding(value, near):
    """
    Return an angle moved by whole turns, so that it is nearest to another angle [rad].

    :param value: the angle [rad].
    :param near: the other angle [rad].
    """
    return value + 2.0 * math.pi * math.floor((near - value) / (2.0 * math.pi) + 0.5)


@inline_kernel
def wrapped(angle):
    """Return an angle moved by whole turns to [-pi, pi) [rad]."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


def are_usable(values: NDArray[np.float64]) -> bool:
    """
    Return whether all values are finite and at most :data:`LARGEST_JOINT_VALUE`.

    :param values: of any shape [rad or m].
    """
    return bool((np.abs(values) <= LARGEST_JOINT_VALUE).all())


def describe_unusable(values: NDArray[np.float64]) -> str:
    """
    Return the end of a sentence ("has values ...") that tells why :func:`are_usable` is False, with all values.

    :param values: values of any shape [rad or m], at least one of them not finite or too large.
    """
    if not np.isfinite(values).all():
        return f'has values that are not finite: {values.tolist()}'
    return f'has values beyond {LARGEST_JOINT_VALUE:g}, which no joint can have: {values.tolist()}'
