"""
Subproblem 1: turn one vector onto another.

Problem
-------
R(k, t) p = q, with the rotation R(k, t) about the unit axis k by t; p, q any vectors.

Solutions
---------
One. It is also the angle that brings R(k, t) p nearest to q.

Method
------
1. a = k x p, b = k x q: the parts perpendicular to k, turned by a quarter.
2. t = atan2(k . (a x b), a . b).

The sine is taken from a x b: (k x p) . q would lose the angle when p and q are nearly parallel to k.

Degeneracies
------------
Lengths or heights along k that differ: NEAREST. Otherwise p and q parallel to k: the angle is FREE.

Cost
----
Two cross products, one arc tangent.

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


@inline_kernel
def angle_between(k, p, q):
    """
    Return the angle t in [-pi, pi] for which p, turned about k by t, is nearest to q [rad].

    If p or q is parallel to k, every angle is equally near; then the result is mostly 0, but may be any angle.

    :param k: unit axis.
    :param p, q: vectors.
    """
    a, b = vectors.cross(k, p), vectors.cross(k, q)
    return math.atan2(vectors.dot(k, vectors.cross(a, b)), vectors.dot(a, b))


@inline_kernel
def solve(k, p, q):
    """
    Return (outcome, t): the angle t with R(k, t) p = q [rad], or the angle that brings R(k, t) p nearest to q.

    The outcome is NEAREST if no angle solves the equation, FREE if p and q are parallel to k, else EXACT.

    :param k: unit axis.
    :param p, q: vectors.
    """
    a, b = vectors.cross(k, p), vectors.cross(k, q)
    t = math.atan2(vectors.dot(k, vectors.cross(a, b)), vectors.dot(a, b))
    size = max(vectors.dot(p, p), vectors.dot(q, q))
    la, lb = vectors.norm(a), vectors.norm(b)
    height = abs(vectors.dot(k, p) - vectors.dot(k, q))
    if height * height > RELATIVE_MISS * RELATIVE_MISS * size or abs(
        la - lb
    ) > RELATIVE_MISS * math.sqrt(size):
        return NEAREST, t
    if min(la, lb) <= ZERO_COEFFICIENT * math.sqrt(size):
        return FREE, t
    return EXACT, t
