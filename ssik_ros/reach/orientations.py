"""
Orientations that are spread evenly over all rotations, and the covering angle of a set of orientations.

Problem
    Find n unit quaternions so that every rotation is near one of them.

Method
    A super-Fibonacci spiral: points of a spiral on a solid torus are mapped to unit quaternions. The map keeps
    volumes, so that even spacing stays even. It is defined for every n, needs no search and gives the same numbers
    in each call. The covering angle is exact: q and -q are one rotation, so the set with its antipodes lies on the
    unit sphere of four dimensions. The facets of its convex hull are the cells of its Delaunay triangulation. The
    rotation farthest from the set is the centre of the largest facet.

Degeneracies
    For fewer than four quaternions, or if all are in a hyperplane, some rotation differs from all of them by pi.

References
    Alexa 2022, Super-Fibonacci spirals: fast, low-discrepancy sampling of SO(3).
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption

MOST_ORIENTATIONS = 20_000
"""Most orientations of a set; the covering angle of this set takes some seconds."""
PHI = math.sqrt(2.0)
PSI = 1.533751168755204288118041
"""The positive root of x^4 = x + 4."""


def spread_orientations(count: int) -> FloatArray:
    """
    Return quaternions x, y, z, w (count, 4) that spread evenly over all rotations.

    :param count: number of quaternions.
    :raises InvalidOption: for less than one, and for more than 20,000.
    """
    if not 1 <= count <= MOST_ORIENTATIONS:
        raise InvalidOption(f'A map has 1 to {MOST_ORIENTATIONS} orientations, not {count}.')
    places = np.arange(count) + 0.5
    inner, outer = np.sqrt(places / count), np.sqrt(1.0 - places / count)
    first, second = 2.0 * math.pi * places / PHI, 2.0 * math.pi * places / PSI
    quaternions: FloatArray = np.stack(
        [
            inner * np.sin(first),
            inner * np.cos(first),
            outer * np.sin(second),
            outer * np.cos(second),
        ],
        axis=1,
    )
    return quaternions


def covering_angle(quaternions: FloatArray) -> float:
    """
    Return the covering angle of a set of orientations: the largest angle from any rotation to its nearest one [rad].

    It is at most pi.

    :param quaternions: (n, 4) unit quaternions x, y, z, w.
    """
    # SciPy's geometry takes half a second to import, and whoever reads a map or a placement needs none of it.
    from scipy.spatial import ConvexHull, QhullError

    both = np.concatenate([quaternions, -quaternions])
    if np.linalg.matrix_rank(quaternions, tol=1e-9) < 4:
        return math.pi
    try:
        hull = ConvexHull(both)
    except QhullError:
        return math.pi
    # A facet lies in the hyperplane normal . x = d, whose distance from the origin is the cosine of its radius.
    nearest = float(-hull.equations[:, -1].max())
    return 2.0 * math.acos(min(max(nearest, 0.0), 1.0))


def quaternions_of(rotations: FloatArray) -> FloatArray:
    """
    Return the unit quaternions x, y, z, w (n, 4) of rotation matrices.

    :param rotations: (n, 3, 3).
    """
    trace = np.trace(rotations, axis1=1, axis2=2)
    diagonal = np.diagonal(rotations, axis1=1, axis2=2)
    # Squares of all four times four; the largest one divides without loss.
    squares = np.column_stack([1.0 + 2.0 * diagonal - trace[:, None], 1.0 + trace])
    r = rotations
    wx, wy, wz = r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]
    xy, xz, yz = r[:, 0, 1] + r[:, 1, 0], r[:, 0, 2] + r[:, 2, 0], r[:, 1, 2] + r[:, 2, 1]
    sx, sy, sz, sw = squares.T
    choices = np.stack(
        [
            np.stack([sx, xy, xz, wx], axis=1),
            np.stack([xy, sy, yz, wy], axis=1),
            np.stack([xz, yz, sz, wz], axis=1),
            np.stack([wx, wy, wz, sw], axis=1),
        ],
        axis=1,
    )
    chosen = choices[np.arange(len(r)), np.argmax(squares, axis=1)]
    unit: FloatArray = chosen / np.linalg.norm(chosen, axis=1, keepdims=True)
    return unit


def angles_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """
    Return the angle (n,) of the rotation from each orientation in ``a`` to the one in the same row of ``b`` [rad].

    :param a, b: (n, 4) unit quaternions x, y, z, w.
    """
    sign = np.where((a * b).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    apart, together = np.linalg.norm(a - sign * b, axis=1), np.linalg.norm(a + sign * b, axis=1)
    angles: FloatArray = 4.0 * np.arctan2(apart, together)
    return angles
