"""
Subproblem 2: turn two vectors about two axes until they meet.

Problem
-------
R(k1, t1) p = R(k2, t2) q, k1 and k2 unit axes that are not parallel; p, q any vectors. R(k, t) is the rotation about k
by t.

Solutions
---------
Two pairs, one when tangent. Without a solution, the pair that turns p and q into the plane of the axes.

Method
------
1. Lengths do not matter for the angles: p and q become unit vectors, and z = R(k1, t1) p = R(k2, t2) q has k1.z = k1.p
   and k2.z = k2.q: z = a k1 + b k2 + w k1 x k2 with c = k1.k2, a = (k1.p - c k2.q) / (1 - c^2),
   b = (k2.q - c k1.p) / (1 - c^2).
2. |z| = 1 gives w. With e = 1 -+ k1.p = |p -+ k1|^2 / 2, (w (1 - c^2))^2 = 2 e (1 -+ c k2.q) - e^2 - (c -+ k2.q)^2,
   upper signs where k1.p > 0; likewise with 1 and 2 exchanged. Of both forms, use the form with the smaller e: it
   keeps its digits if z is close to an axis. Negative values are set to zero.
3. t1 from p to z and t2 from q to z by subproblem 1.

Degeneracies
------------
k1 parallel to k2: only t1 - t2 (or t1 + t2) is determined; FREE, with t2 = 0. p and q zero: all pairs are equally good;
zeros, FREE. Only p or only q zero: zeros, NEAREST. p parallel to k1, or q to k2: its angle is FREE. w^2 < 0 or unequal
lengths: NEAREST.

Cost
----
Four arc tangents, one square root.

References
----------
[Paden1986], [Elias2025]
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.subproblems.outcomes import (
    EXACT,
    FREE,
    NEAREST,
    RELATIVE_MISS,
    ZERO_COEFFICIENT,
)
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

PARALLEL_SQUARE = 1e-18
"""Squared sine of the angle between the axes below which they count as parallel."""


@inline_kernel
def squared_height(k1, p, k2, q, c, sign):
    """
    Return (square of w (1 - c^2), e = 1 - sign k1.p), for step 2 of the module's method.

    Here w is the component along k1 x k2 of the common image z of p and q. A negative square means that no solution
    exists.

    :param k1, k2, p, q: unit vectors; their components may be lanes.
    :param c: k1.k2.
    :param sign: 1 where k1.p >= 0, -1 elsewhere.
    """
    apart = vectors.subtract(p, vectors.scale(sign, k1))
    e = 0.5 * vectors.dot(apart, apart)
    d2 = vectors.dot(k2, q)
    skew = c - sign * d2
    return e * (2.0 * (1.0 - sign * c * d2) - e) - skew * skew, e


@inline_kernel
def solve(k1, p, k2, q):
    """
    Return (outcome, t1, t2, t1', t2'): two pairs of angles with R(k1, t1) p = R(k2, t2) q [rad].

    The outcome is NEAREST if no pair solves the equation. If this is because the lengths of p and q differ, the pairs
    may still make their directions equal. Otherwise both pairs bring p and q into the plane of the axes. The outcome is
    FREE if an angle is not determined, else EXACT. For parallel axes it is FREE in any case, with t2 = 0, even if no
    pair solves the equation.

    :param k1, k2: unit axes.
    :param p, q: vectors.
    """
    n = vectors.cross(k1, k2)
    s2 = vectors.dot(n, n)
    lp, lq = vectors.norm(p), vectors.norm(q)
    if s2 < PARALLEL_SQUARE or lp == 0.0 or lq == 0.0:
        t = angle_between(k1, p, q)
        return FREE if lp == lq or s2 < PARALLEL_SQUARE else NEAREST, t, 0.0, t, 0.0
    p, q = vectors.scale(1.0 / lp, p), vectors.scale(1.0 / lq, q)
    c = vectors.dot(k1, k2)
    d1, d2 = vectors.dot(k1, p), vectors.dot(k2, q)
    height1, e1 = squared_height(k1, p, k2, q, c, 1.0 if d1 >= 0.0 else -1.0)
    height2, e2 = squared_height(k2, q, k1, p, c, 1.0 if d2 >= 0.0 else -1.0)
    height = height1 if e1 <= e2 else height2
    w = math.sqrt(max(0.0, height)) / s2
    flat = vectors.add(
        vectors.scale((d1 - c * d2) / s2, k1), vectors.scale((d2 - c * d1) / s2, k2)
    )
    z1 = vectors.add(flat, vectors.scale(w, n))
    z2 = vectors.add(flat, vectors.scale(-w, n))
    outcome = EXACT
    if height < -RELATIVE_MISS * s2 or abs(lp - lq) > RELATIVE_MISS * (lp + lq):
        outcome = NEAREST
    elif min(e1 * (2.0 - e1), e2 * (2.0 - e2)) <= ZERO_COEFFICIENT * ZERO_COEFFICIENT:
        outcome = FREE
    return (
        outcome,
        angle_between(k1, p, z1),
        angle_between(k2, q, z1),
        angle_between(k1, p, z2),
        angle_between(k2, q, z2),
    )
