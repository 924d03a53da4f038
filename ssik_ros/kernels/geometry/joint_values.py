"""Largest allowed joint value of seeds and states, for kernels and their callers."""

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e150
"""Largest value of a joint in a seed or a state [rad or m]; squares of larger values would overflow."""


def are_usable(values: NDArray[np.float64]) -> bool:
    """
    Return whether all values are finite and at most :data:`LARGEST`.

    :param values: of any shape [rad or m].
    """
    return bool((np.abs(values) <= LARGEST).all())


def describe_unusable(values: NDArray[np.float64]) -> str:
    """
    Return a text that describes why values are not usable.

    :param values: values of any shape [rad or m].
    """
    if not np.isfinite(values).all():
        return f'has values that are not finite: {values.tolist()}'
    return f'has values beyond {LARGEST:g}, which no joint can have: {values.tolist()}'
