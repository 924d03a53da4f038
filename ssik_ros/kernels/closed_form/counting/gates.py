"""
Comparisons for eight poses at once that also report whether their result is certain.

Problem
-------
A branch exists and is within limits if certain numbers compare. These numbers have rounding errors. So branches can be
counted without certification only if no comparison is close.

Method
------
Each gate returns two masks: whether the condition holds, and whether this is certain. It is certain if rounding, the
tolerance of a solution and the distance of equal branches cannot change it. Poses with an uncertain gate are left to
:mod:`ssik_ros.kernels.closed_form.branches.search`, which certifies every branch.

Angles are stored as sine and cosine. Limits are compared by the cosine of the distance from the middle of the range, so
no trigonometric function is needed.

Cost
----
A few multiplications for each gate.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import lanes, vectors

EDGE = 1e-5
"""Distance of a component from the end of its range below which a gate is uncertain, in sizes of the arm."""
SHORT = 1e-6
"""Squared length of a vector below which its direction is uncertain, in squared sizes of the arm."""
STRAIGHT_SQUARE = 1e-6
"""Squared sine between two axes below which the angles about them are uncertain."""
LIMIT_DOUBT = 1e-5
"""Distance of a joint from a limit below which it is in doubt whether the joint is inside [rad]."""
COARSEST = 1e-9
"""Largest rounding error of a sine or cosine."""
MISSED = 1e-18
"""Largest squared Frobenius norm of FK - T of a branch that reaches its pose."""

LIMIT = 4
"""Numbers for each joint in a table of limits: cosine and sine of the middle, cosine of the half width, width of the
edge."""


@kernel
def write_limits(table, lower, upper, n, is_reversed):
    """
    Write a table of joint limits as cosines and sines, in the form that :func:`within` reads.

    :param table: (LIMIT n,) out, in the order of the class. For each joint: cosine and sine of the middle, cosine of
        the half width, and half width of the edge, in cosines, at which a comparison is uncertain.
    :param lower, upper: (n,) limits of the chain [rad]; may be infinite.
    :param n: number of joints.
    :param is_reversed: True if the class fits the reversed chain.
    """
    for k in range(n):
        joint = n - 1 - k if is_reversed else k
        half = 0.5 * (upper[joint] - lower[joint])
        at = LIMIT * k
        # A range of a full turn contains a winding of any angle.
        if half >= math.pi:
            table[at], table[at + 1], table[at + 2], table[at + 3] = 0.0, 0.0, 0.0, -1.0
            continue
        middle = 0.5 * (upper[joint] + lower[joint])
        table[at], table[at + 1] = math.cos(middle), math.sin(middle)
        table[at + 2] = math.cos(half)
        table[at + 3] = LIMIT_DOUBT * math.sin(half) + COARSEST


@inline_kernel
def within(table, joint, s, c):
    """
    Return (is_inside, certain): masks of the lanes whose angle has a winding within limits, and where this is certain.

    :param table: limits, from :func:`write_limits`.
    :param joint: index of the joint in the class.
    :param s, c: sine and cosine of the angle, in eight lanes.
    """
    at = LIMIT * joint
    # cos(angle - middle) - cos(half). For a joint without limits it is 0, which exceeds the edge of -1.
    over = c * table[at] + s * table[at + 1] - table[at + 2]
    return over >= 0.0, lanes.absolute(over) > table[at + 3]


@inline_kernel
def component(r2, d, size2):
    """
    Decide whether a cos t + b sin t = d has two angles t, and prepare them for :func:`solution`.

    :param r2: a^2 + b^2 in each lane.
    :param d: right side in each lane.
    :param size2: square of the reference length, in the unit of r2.
    :returns: (has_two, certain, x): mask of lanes with two angles; mask of lanes where this is certain; x = sqrt(r2 -
        d^2), 0 in lanes without angles.
    """
    square = d * d
    gap = r2 - square
    # |r - |d|| > EDGE size, by (r + |d|)^2 <= 2 (r2 + d^2).
    certain = gap * gap > (2.0 * EDGE * EDGE * size2) * (r2 + square)
    certain = certain & ((r2 > SHORT * size2) | (gap < 0.0))
    return gap > 0.0, certain, lanes.root(lanes.greater(gap, 0.0))


@inline_kernel
def angle(y, x, inverse):
    """
    Return (sine, cosine) of the angle from the x axis to the vector (x, y), in each lane.

    :param y, x: components of the vector.
    :param inverse: inverse of the vector's length, correct up to rounding.
    """
    s, c = y * inverse, x * inverse
    # A Newton step for 1 / sqrt squares the rounding error of the length.
    scale = 1.5 - 0.5 * (s * s + c * c)
    return s * scale, c * scale


@inline_kernel
def solution(number, a, b, d, x, inverse):
    """
    Return (sine, cosine) of a solution t of a cos t + b sin t = d, in each lane.

    Lanes in which :func:`component` found no two angles get meaningless numbers.

    :param number: 0 or 1, for the first and the second solution.
    :param a, b, d: coefficients of the equation.
    :param x: sqrt(a^2 + b^2 - d^2), from :func:`component`.
    :param inverse: inverse of a^2 + b^2.
    """
    side = 1.0 - 2.0 * number
    return angle(b * d + side * a * x, a * d - side * b * x, inverse)


@inline_kernel
def not_in(mask):
    """Return a bit mask of the eight lanes in which ``mask`` is false."""
    return ~lanes.bits_of(mask) & ((1 << lanes.LANES) - 1)


@inline_kernel
def missed(x, y, t, wanted_x, wanted_y, wanted_t):
    """
    Return the squared Frobenius norm of the difference of two frames, as 3x4 matrices, in each lane.

    :param x, y, t: two axes and the origin of a frame.
    :param wanted_x, wanted_y, wanted_t: two axes and the origin of the other frame.
    """
    dx, dy = vectors.subtract(x, wanted_x), vectors.subtract(y, wanted_y)
    dz = vectors.subtract(vectors.cross(x, y), vectors.cross(wanted_x, wanted_y))
    dt = vectors.subtract(t, wanted_t)
    turned = vectors.dot(dx, dx) + vectors.dot(dy, dy) + vectors.dot(dz, dz)
    return turned + vectors.dot(dt, dt)
