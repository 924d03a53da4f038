"""
Subproblem 3: turn a point until it is at a given distance from another point.

Problem
-------
|R(k, t) p - q| = d, with the rotation R(k, t) about the unit axis k by t; p, q any vectors, d >= 0.

Solutions
---------
Two, one when tangent. Without a solution, the angle whose distance is nearest to d.

Method
------
1. Squared: q . R(k, t) p = (p.p + q.q - d^2) / 2.
2. Subproblem 4 with h = q.

Degeneracies
------------
No angle with this distance: NEAREST. Otherwise p or q on the axis: the distance does not change, the angles are FREE.

Cost
----
The same as subproblem 4.

References
----------
[Paden1986], [Elias2025]
"""

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.subproblems import sp4


@inline_kernel
def coefficients(k, p, q):
    """
    Return (A, B, C) for which |R(k, t) p - q|^2 = r^2 means A cos t + B sin t = C - r^2 / 2.

    :param k: unit axis.
    :param p, q: vectors.
    """
    a, b, c = sp4.coefficients(q, k, p)
    return a, b, 0.5 * (vectors.dot(p, p) + vectors.dot(q, q)) - c


@inline_kernel
def solve(k, p, q, squared_distance):
    """
    Return (outcome, t1, t2): both angles t with |R(k, t) p - q|^2 = ``squared_distance`` [rad].

    If no angle has this distance, both are the angle whose distance is nearest to it, and the outcome is NEAREST. If p
    or q is on the axis, every angle has the same distance: FREE if it is right, else NEAREST. Otherwise the outcome is
    EXACT.

    :param k: unit axis.
    :param p, q: vectors.
    :param squared_distance: square of the wanted distance.
    """
    pp, qq = vectors.dot(p, p), vectors.dot(q, q)
    a, b, c = sp4.coefficients(q, k, p)
    return sp4.solve_linear(a, b, 0.5 * (pp + qq - squared_distance) - c, pp + qq)
