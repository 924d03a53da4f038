"""
A rotation as a product of rotations about three given axes.

Problem
-------
R(h1, t1) R(h2, t2) R(h3, t3) = R, h1, h2, h3 unit axes in general position. R(h, t) is the rotation about h by t.

Solutions
---------
Two triples. If the axes cannot make R, the nearest triple, twice. If the outer axes line up, a continuum.

Method
------
1. h1 . R(h2, t2) h3 = h1 . R h3 = d is subproblem 4, a cos t2 + b sin t2 = d - p with p = (h1.h2)(h2.h3). Its root
   x^2 = a^2 + b^2 - (d - p)^2 is computed from e = 1 -+ d = |R h3 -+ h1|^2 / 2, which keeps its digits if the outer
   axes nearly line up: x^2 = 2 e (1 -+ p) - e^2 - (h1.h2 -+ h2.h3)^2, upper signs where d > 0.
2. t1 turns R(h2, t2) h3 onto R h3; t3 turns R(h2, t2)^T h1 onto R^T h1, about -h3: subproblem 1.

Degeneracies
------------
If R h3 is within NEARLY_ALIGNED of h1 or -h1, t1 and t3 are ill-conditioned, but their sum or difference is not. Then
t3 is read from a vector perpendicular to h3, so that the product is R for any t1. Within ALIGNED_SINE, the caller
chooses t3, and t1 is read from this vector.

Cost
----
Six arc tangents, two square roots.

References
----------
[Shuster2003]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.subproblems import sp4
from ssik_ros.kernels.geometry.subproblems.outcomes import (
    EXACT,
    FREE,
    NEAREST,
    RELATIVE_MISS,
    ZERO_COEFFICIENT,
)
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

ALIGNED_SINE = 1e-11
"""Sine of the angle between the outer axes below which they count as lined up."""
NEARLY_ALIGNED = 1e-3
"""Sine below which the last angle is read from a vector perpendicular to its axis."""


@inline_kernel
def squared_height(h1, h2, h3, image, sign):
    """
    Return (a, b, d - p, a^2 + b^2 - (d - p)^2) of the equation a cos t + b sin t = d - p for the middle angle t.

    The equation is h1 . R(h2, t) h3 = h1 . image = d. The last number is computed without cancellation; it is negative
    if no angle solves the equation.

    :param h1, h2, h3, image: unit vectors; their components may be lanes.
    :param sign: 1 where d >= 0, -1 elsewhere.
    """
    a, b, p = sp4.coefficients(h1, h2, h3)
    apart = vectors.subtract(image, vectors.scale(sign, h1))
    e = 0.5 * vectors.dot(apart, apart)
    skew = vectors.dot(h1, h2) - sign * vectors.dot(h2, h3)
    height = e * (2.0 * (1.0 - sign * p) - e) - skew * skew
    return a, b, vectors.dot(h1, image) - p, height


@inline_kernel
def middle_angles(h1, h2, h3, image):
    """
    Return (outcome, t2, t2'): both angles t with h1 . R(h2, t) h3 = h1 . image [rad].

    If no angle solves the equation, both are the angle of least error, and the outcome is NEAREST. Otherwise the
    outcome is FREE if h2 is parallel to h1 or h3, else EXACT.

    :param h1, h2, h3: unit axes.
    :param image: unit vector, the wanted image of h3 under all three rotations.
    """
    sign = 1.0 if vectors.dot(h1, image) >= 0.0 else -1.0
    a, b, rest, root = squared_height(h1, h2, h3, image, sign)
    x = math.sqrt(max(0.0, root))
    first = math.atan2(b * rest + a * x, a * rest - b * x)
    second = math.atan2(b * rest - a * x, a * rest + b * x)
    r = math.sqrt(a * a + b * b)
    if root < -RELATIVE_MISS * (r + abs(rest)):
        return NEAREST, first, second
    return FREE if r <= ZERO_COEFFICIENT else EXACT, first, second


@kernel
def solve(out, row, h1, h2, h3, image, preimage, aside, offered):
    """
    Write two triples (t1, t2, t3) with R(h1, t1) R(h2, t2) R(h3, t3) = R; return the outcome.

    The outcome is NEAREST if the axes cannot make R; then the nearest triple is written twice. Otherwise it is FREE if
    an angle is not determined, else EXACT. R is given by its effect on three vectors, so that the caller need not
    multiply rotations.

    :param out: (., 3 or more) triples in the first three columns [rad]; the rows ``row`` and ``row + 1`` are written.
    :param h1, h2, h3: unit axes.
    :param image: R h3.
    :param preimage: R^T h1.
    :param aside: R v for v = perpendicular(h3); used if the outer axes line up or nearly do.
    :param offered: value for t3 if the outer axes line up [rad].
    """
    outcome, t2, other = middle_angles(h1, h2, h3, image)
    tilt = vectors.cross(h1, image)
    squared_sine = vectors.dot(tilt, tilt)
    is_free = squared_sine <= ALIGNED_SINE * ALIGNED_SINE
    for i in range(row, row + 2):
        s, c = so3.sine_cosine(t2)
        out[i, 1] = t2
        if is_free:
            turned = vectors.rotate(h3, offered, vectors.perpendicular(h3))
            out[i, 0] = angle_between(h1, vectors.turn(h2, c, s, turned), aside)
            out[i, 2] = offered
        else:
            t1 = angle_between(h1, vectors.turn(h2, c, s, h3), image)
            out[i, 0] = t1
            if squared_sine > NEARLY_ALIGNED * NEARLY_ALIGNED:
                out[i, 2] = -angle_between(h3, vectors.turn(h2, c, -s, h1), preimage)
            else:
                turned = vectors.turn(h2, c, -s, vectors.rotate(h1, -t1, aside))
                out[i, 2] = angle_between(h3, vectors.perpendicular(h3), turned)
        t2 = other
    return FREE if is_free and outcome == EXACT else outcome
