"""
Angles that turn vectors, for four or eight candidates at a time, one in each lane.

:func:`between` turns one vector onto another, which is subproblem 1. :func:`of_component` gives a turned vector a
wanted component, which is subproblem 4. The formulas are in :mod:`ssik_ros.kernels.geometry.subproblems`. Both return
two numbers (y, x) of an angle atan2(y, x). :func:`turned_by` makes its sine and cosine of them without a trigonometric
function.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import lanes, vectors


@inline_kernel
def spread_vector(v):
    """Return a vector (three numbers) as three lane values: each component is copied into all eight lanes."""
    return lanes.spread(v[0]), lanes.spread(v[1]), lanes.spread(v[2])


@inline_kernel
def wrapped(angle):
    """Return the angle in each lane moved by whole turns into [-pi, pi) [rad]."""
    return angle - 2.0 * math.pi * lanes.floor(angle * (0.5 / math.pi) + 0.5)


@inline_kernel
def turned_by(y, x):
    """Return (sine, cosine) of the angle atan2(y, x) in each lane; (0, 1) where x = y = 0."""
    size = lanes.root(x * x + y * y)
    is_none = size == 0.0
    inverse = 1.0 / lanes.select(is_none, 1.0, size)
    return y * inverse, lanes.select(is_none, 1.0, x * inverse)


@inline_kernel
def between(k, p, q):
    """
    Return (y, x) in each lane: atan2(y, x) is the angle t for which p, turned about k by t, is nearest to q.

    This is subproblem 1. Both numbers are 0 in lanes where p or q is parallel to k.

    :param k: unit axis, three lane values.
    :param p, q: vectors, three lane values each.
    """
    a, b = vectors.cross(k, p), vectors.cross(k, q)
    return vectors.dot(k, vectors.cross(a, b)), vectors.dot(a, b)


@inline_kernel
def of_component(a, b, d, side):
    """
    Return (y, x) in each lane: t = atan2(y, x) solves a cos t + b sin t = d, which is subproblem 4.

    Without a solution in a lane, t is the angle with the smallest error.

    :param a, b, d: a number in each lane.
    :param side: in each lane 1 or -1, which selects one of the two solutions (t1 or t2 of ``sp4.solve_linear``).
    """
    r, size = lanes.root(a * a + b * b), lanes.absolute(d)
    x = side * lanes.root(lanes.greater((r - size) * (size + r), 0.0))
    return b * d + a * x, a * d - b * x


@inline_kernel
def side_of(places, stride):
    """
    Return 1 or -1 in each lane: the ``side`` that selects the first or second solution in :func:`of_component`.

    The first ``stride`` lanes get 1, the next ``stride`` lanes -1, and so on in turn.

    :param places: index of each lane.
    :param stride: 1.0, 2.0 or 4.0.
    """
    place = lanes.floor(places / stride)
    return lanes.select(place - 2.0 * lanes.floor(0.5 * place) > 0.5, -1.0, 1.0)


@inline_kernel
def pair_of(v):
    """
    Return a vector of four-lane components as a vector of eight-lane components.

    Lane i of a component is copied into the lanes 2 i and 2 i + 1.

    :param v: three values of four lanes.
    """
    return lanes.in_pairs(v[0]), lanes.in_pairs(v[1]), lanes.in_pairs(v[2])


@inline_kernel
def read_rows(table, column, count):
    """
    Return four lanes from a column of a table: lane i is ``table[i, column]``.

    :param table: (4, .) numbers.
    :param count: number of valid rows, at least 1; the lanes after them repeat the last valid row.
    """
    places = lanes.places_half()
    value = lanes.spread_half(table[0, column])
    for row in range(1, count):
        value = lanes.select(places >= 1.0 * row, table[row, column], value)
    return value


@inline_kernel
def write_columns(out, column, value, scratch):
    """
    Write the eight lanes of ``value`` into column ``column`` of a table: lane i goes to row i.

    :param out: (8 or more, .) table.
    :param scratch: (8,) numbers, overwritten.
    """
    lanes.store(scratch, 0, value)
    for lane in range(lanes.LANES):
        out[lane, column] = scratch[lane]


@inline_kernel
def write_pairs(out, column, value, scratch):
    """
    Write the four lanes of ``value`` into column ``column`` of a table: lane i goes to the rows 2 i and 2 i + 1.

    :param out: (8 or more, .) table.
    :param scratch: (4,) numbers, overwritten.
    """
    lanes.store(scratch, 0, value)
    for lane in range(lanes.HALF_LANES):
        out[2 * lane, column] = out[2 * lane + 1, column] = scratch[lane]
