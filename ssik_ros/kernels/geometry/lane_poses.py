"""
Eight poses side by side in SIMD lanes, as flat arrays: rows of LANES numbers, one number for each pose.

The first nine rows have the rotation, row by row. The last three rows have the translation.
"""

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import lanes
from ssik_ros.kernels.geometry.lanes import LANES

TRANSLATION = 9
"""First row of the translation; the rotation begins at row 0."""
SIZE = 12 * LANES
"""Size of the poses, in numbers."""


@inline_kernel
def load_vector(array, start, row):
    """
    Return a vector of three lane values, read from three neighbouring rows of eight numbers.

    :param array: flat array.
    :param start: index in the array where row 0 begins.
    :param row: number of the first of the three rows.
    """
    at = start + row * LANES
    return (
        lanes.load(array, at),
        lanes.load(array, at + LANES),
        lanes.load(array, at + 2 * LANES),
    )


@inline_kernel
def load_poses(array, start):
    """
    Return eight poses as twelve lane values: nine of the rotation row by row, then three of the translation.

    :param array: flat array.
    :param start: index in the array where the poses begin.
    """
    first, second = load_vector(array, start, 0), load_vector(array, start, 3)
    third, translation = load_vector(array, start, 6), load_vector(array, start, TRANSLATION)
    return first + second + third + translation
