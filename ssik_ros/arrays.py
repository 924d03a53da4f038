"""Array types of annotations, read-only arrays, and arrays of angles."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TURN = 2.0 * math.pi


def wrap_angles(angles: FloatArray) -> FloatArray:
    """
    Return angles, or differences of angles, moved by whole turns into [-pi, pi) [rad].

    :param angles: of any shape [rad].
    """
    return np.asarray(np.mod(angles + math.pi, TURN) - math.pi)


def freeze(*arrays: 'np.ndarray[Any, Any]') -> None:
    """
    Make arrays read-only.

    :param arrays: any.
    """
    for array in arrays:
        array.setflags(write=False)


def freeze_fields(instance: object) -> None:
    """
    Make all arrays among the attributes of an object read-only.

    :param instance: such as a data class.
    """
    freeze(*(value for value in vars(instance).values() if isinstance(value, np.ndarray)))
