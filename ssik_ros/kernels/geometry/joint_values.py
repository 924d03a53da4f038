"""The largest joint value that seeds and states may have, for kernels and their callers."""

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e150
"""Largest value of a joint in a seed or a state [rad or m]: the square of a larger one is no finite number."""


def are_usable(values: NDArray[np.float64]) -> bool:
    """
    Return whether all values are finite and not larger than :data:`LARGEST`.

    :param values: of any shape [rad or m].
    """
    return bool((np.abs(values) <= LARGEST).all())


def describe_unusable(values: NDArray[np.float64]) -> str:
    """
    Return what is wrong with values that are not usable.

    :param values: of any shape [rad or m].
    """
    if not np.isfinite(values).all():
        return f'has values that are not finite: {values.tolist()}'
    return f'has values beyond {LARGEST:g}, which no joint can have: {values.tolist()}'
