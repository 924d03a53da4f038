"""
Subproblem 4: turn a vector until it has a given component.

Problem
-------
h . R(k, t) p = d, with the rotation R(k, t) about the unit axis k by t; h and p any vectors.

Solutions
---------
Two, one when tangent. Without a solution, the angle whose component is nearest to d.

Method
------
1. h . R(k, t) p = A cos t + B sin t + C with A = h.p - (h.k)(k.p), B = h . (k x p), C = (h.k)(k.p).
2. D = d - C, r2 = A^2 + B^2, x = sqrt(max(0, r2 - D^2)).
3. t = atan2(B D +- A x, A D -+ B x).

Degeneracies
------------
|D| > sqrt(r2): NEAREST. Otherwise r2 = 0 (h or p parallel to k): the component does not change, the angles are FREE.

Cost
----
Two arc tangents, two square roots.

References
----------
[Elias2025]
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.subproblems.outcomes import (
    BADLY,
    EXACT,
    FREE,
    NEAREST,
    RELATIVE_MISS,
)


@inline_kernel
def coefficients(h, k, p):
    """
    Return (A, B, C) with h . R(k, t) p = A cos t + B sin t + C for every angle t.

    :param h, p: vectors.
    :param k: unit axis.
    """
    along = vectors.dot(h, k) * vectors.dot(k, p)
    return vectors.dot(h, p) - along, vectors.dot(h, vectors.cross(k, p)), along


@inline_kernel
def solve_linear(a, b, d, scale):
    """
    Return (outcome, t1, t2): both angles t with a cos t + b sin t = d [rad], or the angle with the least error twice.

    The outcome is NEAREST if |d| is larger than the root of a^2 + b^2. Otherwise it is FREE if a and b are zero or
    tiny, else EXACT.

    :param a, b, d: numbers.
    :param scale: size of the terms that a, b and d are sums of; smaller differences count as rounding.
    """
    r = math.sqrt(a * a + b * b)
    miss = abs(d) - r
    x = math.sqrt(max(0.0, -miss * (abs(d) + r)))
    t1 = math.atan2(b * d + a * x, a * d - b * x)
    t2 = math.atan2(b * d - a * x, a * d + b * x)
    if miss > RELATIVE_MISS * scale:
        return NEAREST, t1, t2
    if r <= BADLY * scale:
        return FREE, t1, t2
    return EXACT, t1, t2


@inline_kernel
def solve(h, k, p, d):
    """
    Return (outcome, t1, t2): both angles t with h . R(k, t) p = d [rad], or the angle with the least error twice.

    The outcome is NEAREST if no angle solves the equation. Otherwise it is FREE if h or p is parallel to k, else EXACT.

    :param h, p: vectors.
    :param k: unit axis.
    :param d: wanted component of the turned vector along h, times |h|.
    """
    a, b, c = coefficients(h, k, p)
    return solve_linear(a, b, d - c, vectors.norm(h) * vectors.norm(p) + abs(d))
