"""
Decisions for eight poses at once: each is certain, or says that it is not.

Problem
-------
Whether a branch of a pose exists and is within limits are comparisons of numbers that carry rounding. Counting branches without
certifying each one is right only where no comparison is close.

Method
------
Every gate returns two masks: whether it is open, and whether that is certain by more than what rounding, the tolerance of a
solution and the distance of two branches that may count as one can change. Poses with an uncertain gate are left to
:mod:`ssik_ros.kernels.closed_form.branches.search`, which certifies every branch.

Angles are kept as sine and cosine: limits are compared through the cosine of the distance from the middle of the range, so that
no trigonometric function is needed.

Cost
----
A few multiplications for each gate.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import lanes, vectors

EDGE = 1e-5
"""How close to the end of its range a component may come, relative to the size of the arm, before a gate is uncertain."""
SHORT = 1e-6
"""Squared length, relative to the squared size of the arm, below which a direction is uncertain."""
STRAIGHT = 1e-6
"""Squared sine between two axes below which the angles about them are uncertain."""
BESIDE = 1e-5
"""How close to a limit a joint may come before it is uncertain whether it is within [rad]."""
COARSEST = 1e-9
"""Largest difference of a sine or cosine that rounding may make."""
MISSED = 1e-18
"""Squared Frobenius norm of FK - T up to which a branch reaches its pose."""

LIMIT = 4
"""Numbers for each joint of a table of limits: cosine and sine of the middle, cosine of the half, width of the edge."""


@kernel
def write_limits(table, lower, upper, n, is_reversed):
    """
    Write the limits of joints as :func:`within` reads them.

    :param table: (LIMIT n,) out, joints in the order of the class.
    :param lower, upper: (n,) limits of the chain [rad], infinite for none.
    :param is_reversed: whether the class is that of the reversed chain.
    """
    for k in range(n):
        joint = n - 1 - k if is_reversed else k
        half = 0.5 * (upper[joint] - lower[joint])
        at = LIMIT * k
        # A range of a whole revolution holds some winding of any angle.
        if half >= math.pi:
            table[at], table[at + 1], table[at + 2], table[at + 3] = 0.0, 0.0, 0.0, -1.0
            continue
        middle = 0.5 * (upper[joint] + lower[joint])
        table[at], table[at + 1] = math.cos(middle), math.sin(middle)
        table[at + 2] = math.cos(half)
        table[at + 3] = BESIDE * math.sin(half) + COARSEST


@inline_kernel
def within(table, joint, s, c):
    """
    Return the lanes in which an angle has a winding within limits, and those in which that is certain.

    :param table: from :func:`write_limits`.
    :param joint: its place in the class.
    :param s, c: sine and cosine of the angle.
    """
    at = LIMIT * joint
    # cos(angle - middle) - cos(half); nought for a joint without limits, and above a width of -1.
    over = c * table[at] + s * table[at + 1] - table[at + 2]
    return over >= 0.0, lanes.absolute(over) > table[at + 3]


@inline_kernel
def component(r2, d, size2):
    """
    Return (open, certain, x) for the two angles t with a cos t + b sin t = d.

    :param r2: a^2 + b^2 in each lane.
    :param d: in each lane.
    :param size2: the square of what counts as one, of the unit of r2.
    :returns: where there are two angles, where that is certain, and x = sqrt(r2 - d^2), zero where there are none.
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
    Return sine and cosine of the angle of a vector (x, y) whose length is known up to rounding.

    :param inverse: one over that length.
    """
    s, c = y * inverse, x * inverse
    # One step of Newton's method for 1 / sqrt: rounding of the length goes squared.
    scale = 1.5 - 0.5 * (s * s + c * c)
    return s * scale, c * scale


@inline_kernel
def not_in(mask):
    """Return the bits of the lanes in which a mask is not true."""
    return ~lanes.bits_of(mask) & ((1 << lanes.LANES) - 1)


@inline_kernel
def missed(x, y, t, wanted_x, wanted_y, wanted_t):
    """
    Return the squared Frobenius norm of the difference of two frames.

    :param x, y, t: two axes and a point of one frame, of the other behind them.
    """
    dx, dy = vectors.subtract(x, wanted_x), vectors.subtract(y, wanted_y)
    dz = vectors.subtract(vectors.cross(x, y), vectors.cross(wanted_x, wanted_y))
    dt = vectors.subtract(t, wanted_t)
    turned = vectors.dot(dx, dx) + vectors.dot(dy, dy) + vectors.dot(dz, dz)
    return turned + vectors.dot(dt, dt)
