"""The types of arrays that annotations name, and arrays that nobody may write to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
