"""
Subproblem 6: two equations that are linear in the cosines and sines of two angles.

Problem
-------
A u1 + B u2 = d with u1 = (cos t1, sin t1), u2 = (cos t2, sin t2); A and B are 2x2.

Solutions
---------
Up to four pairs. There are none if an angle would have to be far from real. Pairs that rounding has moved off the real
axis are returned, see :mod:`ssik_ros.kernels.geometry.polynomials`. NEAREST: a pair misses the equations, or no pair is
left.

Method
------
1. If one matrix has rank one, its left null vector gives an equation in the other angle only, which is subproblem 4.
   The other equation is subproblem 4 in the second angle. These are two by two pairs; double ones appear twice.
2. Otherwise eliminate the angle whose matrix has the larger relative determinant, say t2: u2 = B^-1 (d - A u1), and
   |u2| = 1 is a trigonometric polynomial of degree two in t1.

Degeneracies
------------
Both matrices of rank one with the same left null vector: if the equations contradict each other, the outcome is
NEAREST. Otherwise they repeat each other, and an angle is FREE.

Cost
----
Step 1: six arc tangents. Step 2: the polynomial, and an arc tangent for each zero.

References
----------
[Elias2025]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.polynomials import trigonometric_zeros
from ssik_ros.kernels.geometry.subproblems.outcomes import EXACT, FREE, NEAREST, RELATIVE_MISS
from ssik_ros.kernels.geometry.subproblems.sp4 import solve_linear

RANK_ONE = 1e-9
"""If the determinant is smaller, relative to the product of the row norms, a matrix counts as rank one."""


@inline_kernel
def _worse(first, second):
    """
    Return the outcome of two subproblems that are solved one after the other, from both outcomes.

    NEAREST if one of them is NEAREST, else FREE if one of them is FREE, else EXACT.
    """
    if first == NEAREST or second == NEAREST:
        return NEAREST
    return FREE if first == FREE or second == FREE else EXACT


@inline_kernel
def relative_determinant(m11, m12, m21, m22):
    """Return |det M| divided by the sum of the squares of all four entries of a 2x2 matrix M; 0 for the zero matrix."""
    size = m11 * m11 + m12 * m12 + m21 * m21 + m22 * m22
    return abs(m11 * m22 - m12 * m21) / size if size > 0.0 else 0.0


@inline_kernel
def split_rank_one(a, b, d):
    """
    Return (first, second), two equations that are equivalent to A u1 + B u2 = d if B has rank one.

    The first equation is (p, q, r) with p cos t1 + q sin t1 = r. It contains the first angle only, because the left
    null vector of B is applied to both equations. The second is (m, n, p, q, r) with m cos t2 + n sin t2 = r - p cos t1
    - q sin t1. It is the given equation with the larger coefficients of the second angle.

    :param a, b: the 2x2 matrices A and B as tuples, row by row.
    :param d: right-hand side, a pair.
    """
    row1 = b[0] * b[0] + b[1] * b[1]
    row2 = b[2] * b[2] + b[3] * b[3]
    along = b[0] * b[2] + b[1] * b[3]
    if row1 >= row2:
        n1, n2 = (-along / row1, 1.0) if row1 > 0.0 else (0.0, 1.0)
        rest = b[0], b[1], a[0], a[1], d[0]
    else:
        n1, n2 = 1.0, -along / row2
        rest = b[2], b[3], a[2], a[3], d[1]
    alone = n1 * a[0] + n2 * a[2], n1 * a[1] + n2 * a[3], n1 * d[0] + n2 * d[1]
    return alone, rest


@kernel
def _eliminate_rank_one(out, first, second, a, b, d, scale):
    """
    Write four pairs of angles with A u1 + B u2 = d, where B has rank one; return (outcome, 4).

    Double solutions are written twice. If an equation has no solution, the pairs miss it by the least, and the outcome
    is NEAREST. Otherwise it is FREE if an angle is not determined, else EXACT.

    :param out: (4, .) pairs [rad].
    :param first, second: columns of ``out`` for the angle of A and for the angle of B.
    :param a, b: the 2x2 matrices A and B as tuples, row by row.
    :param d: right-hand side, a pair.
    :param scale: size of the terms in the equations; smaller differences count as rounding.
    """
    alone, (m1, m2, ma1, ma2, md) = split_rank_one(a, b, d)
    outcome, t, other = solve_linear(alone[0], alone[1], alone[2], scale)
    count = 0
    for _ in range(2):
        sine, cosine = so3.sine_cosine(t)
        rest = md - ma1 * cosine - ma2 * sine
        inner, s1, s2 = solve_linear(m1, m2, rest, scale)
        outcome = _worse(outcome, inner)
        out[count, first], out[count, second] = t, s1
        out[count + 1, first], out[count + 1, second] = t, s2
        count += 2
        t = other
    return outcome, count


@kernel
def _eliminate(out, first, second, a, b, d, zeros):
    """
    Write the pairs of angles with A u1 + B u2 = d, where B is regular; return (outcome, count).

    The outcome is EXACT, or NEAREST if no pair exists or a pair misses the equations.

    :param out: (4, .) pairs [rad]; only the first ``count`` rows are written.
    :param first, second: columns of ``out`` for the angle of A and for the angle of B.
    :param a, b: the 2x2 matrices A and B as tuples, row by row.
    :param d: right-hand side, a pair.
    :param zeros: (4,) scratch.
    """
    inverse = 1.0 / (b[0] * b[3] - b[1] * b[2])
    c11 = inverse * (b[3] * a[0] - b[1] * a[2])
    c12 = inverse * (b[3] * a[1] - b[1] * a[3])
    c21 = inverse * (b[0] * a[2] - b[2] * a[0])
    c22 = inverse * (b[0] * a[3] - b[2] * a[1])
    e1 = inverse * (b[3] * d[0] - b[1] * d[1])
    e2 = inverse * (b[0] * d[1] - b[2] * d[0])
    q11 = c11 * c11 + c21 * c21
    q22 = c12 * c12 + c22 * c22
    q12 = c11 * c12 + c21 * c22
    count = trigonometric_zeros(
        zeros,
        0.5 * (q11 + q22) + e1 * e1 + e2 * e2 - 1.0,
        -2.0 * (c11 * e1 + c21 * e2),
        -2.0 * (c12 * e1 + c22 * e2),
        0.5 * (q11 - q22),
        q12,
    )
    outcome = EXACT if count > 0 else NEAREST
    size = 1.0 + e1 * e1 + e2 * e2 + q11 + q22
    for i in range(count):
        s, c = so3.sine_cosine(zeros[i])
        x, y = e1 - c11 * c - c12 * s, e2 - c21 * c - c22 * s
        out[i, first], out[i, second] = zeros[i], math.atan2(y, x)
        if abs(x * x + y * y - 1.0) > RELATIVE_MISS * size:
            outcome = NEAREST
    return outcome, count


@kernel
def solve(out, a, b, d, scale, zeros):
    """
    Write the pairs (t1, t2) with A u1 + B u2 = d, where u = (cos t, sin t); return (outcome, count).

    The outcome is NEAREST if a pair misses the equations or none exists, FREE if an angle is not determined, else
    EXACT.

    :param out: (4, 2 or more) pairs in the first two columns [rad]; only the first ``count`` rows are valid.
    :param a, b: the 2x2 matrices A and B as tuples, row by row.
    :param d: right-hand side, a pair.
    :param scale: size of the terms in the equations; smaller differences count as rounding.
    :param zeros: (4,) scratch.
    """
    rank_a = relative_determinant(a[0], a[1], a[2], a[3])
    rank_b = relative_determinant(b[0], b[1], b[2], b[3])
    if rank_b < RANK_ONE:
        return _eliminate_rank_one(out, 0, 1, a, b, d, scale)
    if rank_a < RANK_ONE:
        return _eliminate_rank_one(out, 1, 0, b, a, d, scale)
    if rank_b >= rank_a:
        return _eliminate(out, 0, 1, a, b, d, zeros)
    return _eliminate(out, 1, 0, b, a, d, zeros)
