"""Turn an index array into a slice if its indices are consecutive, because numpy copies a slice faster."""

import numpy as np
from numpy.typing import NDArray

Places = slice | NDArray[np.int64]
"""Index of a vector."""


def index_range(indices: NDArray[np.int64]) -> Places:
    """
    Return indices as a slice if each is one more than the one before, else unchanged.

    :param indices: (n,) indices of a vector, none negative.
    """
    if not len(indices):
        return slice(0, 0)
    first = int(indices[0])
    end = first + len(indices)
    return slice(first, end) if np.array_equal(indices, np.arange(first, end)) else indices
