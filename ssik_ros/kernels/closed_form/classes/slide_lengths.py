"""
Compute the lengths along given directions that add up to a vector.

Problem
-------
x a + y b + z c = r, a, b, c unit vectors (:func:`solve_three`); likewise with two directions (:func:`solve_two`).

Solutions
---------
One solution. With two directions, or three in one plane, it is the one nearest to r.

Method
------
Quotients of triple products: with n = a x b, x = (r x b) . n / n.n and y = (a x r) . n / n.n; with three directions,
x = r . (b x c) / a . (b x c), and cyclically.

Degeneracies
------------
Directions in one plane, or parallel: FREE; a redundant direction gets the length zero.

Cost
----
Three vector products, and one or two divisions.

References
----------
[Elias2025]
"""

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.subproblems.outcomes import EXACT, FREE, ZERO_COEFFICIENT


@inline_kernel
def solve_two(a, b, r):
    """
    Return (outcome, x, y) with x a + y b nearest to r; outcome FREE with y = 0 if a and b are parallel, else EXACT.

    :param a, b: unit vectors.
    :param r: the vector to reach.
    """
    n = vectors.cross(a, b)
    nn = vectors.dot(n, n)
    if nn <= ZERO_COEFFICIENT * ZERO_COEFFICIENT:
        return FREE, vectors.dot(a, r), 0.0
    x = vectors.dot(vectors.cross(r, b), n) / nn
    return EXACT, x, vectors.dot(vectors.cross(a, r), n) / nn


@kernel
def solve_three(a, b, c, r):
    """
    Return (outcome, x, y, z) with x a + y b + z c = r, or nearest to it.

    The outcome is EXACT; for coplanar directions it is FREE, and at least one length is 0.

    :param a, b, c: unit vectors.
    :param r: the vector to reach.
    """
    bc, ca, ab = vectors.cross(b, c), vectors.cross(c, a), vectors.cross(a, b)
    volume = vectors.dot(a, bc)
    if abs(volume) > ZERO_COEFFICIENT:
        share = 1.0 / volume
        x, y = share * vectors.dot(r, bc), share * vectors.dot(r, ca)
        return EXACT, x, y, share * vectors.dot(r, ab)
    sizes = vectors.dot(bc, bc), vectors.dot(ca, ca), vectors.dot(ab, ab)
    if sizes[2] >= sizes[0] and sizes[2] >= sizes[1]:
        _, x, y = solve_two(a, b, r)
        return FREE, x, y, 0.0
    if sizes[0] >= sizes[1]:
        _, y, z = solve_two(b, c, r)
        return FREE, 0.0, y, z
    _, x, z = solve_two(a, c, r)
    return FREE, x, 0.0, z
