"""Poses as seven numbers, as messages carry them, and as matrices."""

from array import array
from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels import python_of
from ssik_ros.kernels.geometry import so3

SevenNumbers = tuple[float, float, float, float, float, float, float]

FARTHEST = 1e9
"""Lengths and joint values beyond are taken for mistakes: their powers would leave the range of numbers [m or rad]."""
IS_WITHIN = FARTHEST.__ge__
"""Whether the absolute value of a number is finite and not larger; for NaN it is false."""
FEW = 64
POSE, FLOAT64 = (4, 4), np.dtype(np.float64)
_MATRIX_OF = python_of(so3.matrix_of)
"""The kernel as Python has it, with the same bits: for a few products, calling machine code takes longer than they do."""
TOO_FAR = f'beyond {FARTHEST:g} m'


def is_within_reason(values: ArrayLike) -> bool:
    """
    Return whether numbers are finite and not absurdly large.

    :param values: lengths [m] or joint values [rad or m].
    """
    # Below a few dozen numbers, loops in C over Python's own numbers are faster than numpy's calls.
    if type(values) is array and len(values) <= FEW:
        return all(map(IS_WITHIN, map(abs, values)))
    if isinstance(values, np.ndarray) and values.ndim == 1 and len(values) <= FEW:
        return all(map(IS_WITHIN, map(abs, values.tolist())))
    return bool((np.abs(values) <= FARTHEST).all())


def as_floats(values: Sequence[float]) -> FloatArray:
    """
    Return numbers as a vector; the numbers of a message as a view of them.

    :param values: of a message, or any others.
    """
    if type(values) is array and values.typecode == 'd':
        # asarray finds out the same by the description of the memory, in twice the time.
        return np.ndarray(len(values), FLOAT64, values)
    return np.asarray(values, dtype=np.float64)


NO_POSE = 'a number is not finite, or the quaternion has a length below 1e-150 or above 1e150'
"""Why numbers are no pose, to users: the square of such a length leaves the range of numbers."""


def warm_up() -> None:
    """Call the kernels of this module once, so that the first message finds them loaded."""
    numbers_of_pose(pose_of_numbers(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))


def pose_of_numbers(
    x: float, y: float, z: float, qx: float, qy: float, qz: float, qw: float
) -> FloatArray:
    """
    Return the pose (4, 4) of a position [m] and a quaternion of any length.

    A zero quaternion, or a number that is not finite, gives a matrix that is not finite.

    :param x, y, z: position [m].
    :param qx, qy, qz, qw: quaternion.
    """
    try:
        a, b, c, d, e, f, g, h, i = _MATRIX_OF(float(qx), float(qy), float(qz), float(qw))
    except ZeroDivisionError:
        a = b = c = d = e = f = g = h = i = math.nan
    numbers = (a, b, c, x, d, e, f, y, g, h, i, z, 0.0, 0.0, 0.0, 1.0)
    # In the memory of a plain array: numpy's own way from numbers to a matrix takes twice as long.
    return np.ndarray(POSE, FLOAT64, array('d', numbers))


def numbers_of_pose(pose: FloatArray) -> SevenNumbers:
    """
    Return x, y, z [m] and the unit quaternion qx, qy, qz, qw of a pose.

    :param pose: (4, 4) rigid transform.
    """
    (r00, r01, r02, x), (r10, r11, r12, y), (r20, r21, r22, z), _ = pose.tolist()
    qx, qy, qz, qw = so3.quaternion_of(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    return x, y, z, qx, qy, qz, qw
