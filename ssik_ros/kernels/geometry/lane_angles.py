"""
Subproblems 1 and 4 for four or eight candidates at a time: angles with their sines and cosines.

The formulas are in :mod:`ssik_ros.kernels.geometry.subproblems`. Sine and cosine come from the same two numbers as the
angle, without a trigonometric function.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import lanes, vectors


@inline_kernel
def spread_vector(v):
    """Return a vector of three numbers with every component copied into all eight lanes."""
    return lanes.spread(v[0]), lanes.spread(v[1]), lanes.spread(v[2])


@inline_kernel
def wrapped(angle):
    """Return angles moved by whole turns to [-pi, pi) [rad]."""
    return angle - 2.0 * math.pi * lanes.floor(angle * (0.5 / math.pi) + 0.5)


@inline_kernel
def turned_by(y, x):
    """Return the sine and the cosine of the angle of the vector (x, y); 0 and 1 for (0, 0)."""
    size = lanes.root(x * x + y * y)
    is_none = size == 0.0
    inverse = 1.0 / lanes.select(is_none, 1.0, size)
    return y * inverse, lanes.select(is_none, 1.0, x * inverse)


@inline_kernel
def between(k, p, q):
    """
    Return (y, x) with atan2(y, x) the angle t for which R(k, t) p is nearest to q: subproblem 1.

    :param k: unit axis; ``p``, ``q`` vectors.
    """
    a, b = vectors.cross(k, p), vectors.cross(k, q)
    return vectors.dot(k, vectors.cross(a, b)), vectors.dot(a, b)


@inline_kernel
def of_component(a, b, d, side):
    """
    Return (y, x) with atan2(y, x) an angle t with a cos t + b sin t = d, or nearest to it: subproblem 4.

    :param a, b, d: in each lane.
    :param side: 1 for the first of both solutions, -1 for the second.
    """
    r, size = lanes.root(a * a + b * b), lanes.absolute(d)
    x = side * lanes.root(lanes.greater((r - size) * (size + r), 0.0))
    return b * d + a * x, a * d - b * x


@inline_kernel
def side_of(places, stride):
    """
    Return 1 in lanes of the first solution, -1 in lanes of the second; they alternate every ``stride`` lanes.

    :param places: index of each lane.
    :param stride: 1.0, 2.0 or 4.0.
    """
    place = lanes.floor(places / stride)
    return lanes.select(place - 2.0 * lanes.floor(0.5 * place) > 0.5, -1.0, 1.0)


@inline_kernel
def pair_of(v):
    """Return a vector with four lanes as a vector with eight lanes: lane i becomes the lanes 2 i and 2 i + 1."""
    return lanes.in_pairs(v[0]), lanes.in_pairs(v[1]), lanes.in_pairs(v[2])


@inline_kernel
def read_rows(table, column, count):
    """
    Return four lanes: lane i holds ``table[i, column]``.

    :param table: (4, .) numbers; lanes from ``count`` on repeat the row ``count - 1``.
    """
    places = lanes.places_half()
    value = lanes.spread_half(table[0, column])
    for row in range(1, count):
        value = lanes.select(places >= 1.0 * row, table[row, column], value)
    return value


@inline_kernel
def write_columns(out, column, value, scratch):
    """
    Write the eight lanes of ``value`` into a column of a table, rows 0 to 7.

    :param out: (8 or more, .) table.
    :param scratch: (8,) numbers.
    """
    lanes.store(scratch, 0, value)
    for lane in range(lanes.LANES):
        out[lane, column] = scratch[lane]


@inline_kernel
def write_pairs(out, column, value, scratch):
    """
    Write the four lanes of ``value`` into a column of a table: lane i into the rows 2 i and 2 i + 1.

    :param out: (8 or more, .) table.
    :param scratch: (4,) numbers.
    """
    lanes.store(scratch, 0, value)
    for lane in range(lanes.HALF_LANES):
        out[2 * lane, column] = out[2 * lane + 1, column] = scratch[lane]
