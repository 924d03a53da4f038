"""
Largest and smallest singular value of a small matrix.

Problem
    Given k rows of l >= k numbers, find the largest and the smallest of their k singular values.

Method
    Rotate pairs of rows until all are orthogonal. The lengths of the rows are the singular values then.

Degeneracies
    Rows of zeros are singular values of zero.

Cost
    About five sweeps over all pairs, O(k^2 l) each.

References
    [Hestenes1958]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel

SWEEPS = 30
"""Most sweeps. They converge quadratically."""
ORTHOGONAL_ROWS = 1e-9
"""Largest cosine between rows that count as orthogonal: singular values change by its square."""


@kernel
def extreme_values(rows):
    """
    Return (largest, smallest) of the k singular values of a matrix.

    :param rows: (k, l) with k <= l, overwritten.
    """
    k = rows.shape[0]
    for _ in range(SWEEPS):
        has_turned = False
        for a in range(k - 1):
            for b in range(a + 1, k):
                has_turned = _turn(rows[a], rows[b]) or has_turned
        if not has_turned:
            break
    largest, smallest = 0.0, math.inf
    for a in range(k):
        length = math.sqrt(_product(rows[a], rows[a]))
        largest, smallest = max(largest, length), min(smallest, length)
    return largest, smallest


@inline_kernel
def _turn(a, b):
    """
    Make two rows orthogonal by a rotation in place; return True.

    If they are orthogonal up to rounding already, change nothing and return False.
    """
    of_a, of_b, common = _product(a, a), _product(b, b), _product(a, b)
    if abs(common) <= ORTHOGONAL_ROWS * math.sqrt(of_a * of_b):
        return False
    ratio = (of_b - of_a) / (2.0 * common)
    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = cosine * tangent
    for k in range(a.shape[0]):
        first, second = a[k], b[k]
        a[k] = cosine * first - sine * second
        b[k] = sine * first + cosine * second
    return True


@inline_kernel
def _product(a, b):
    """Return the scalar product of two rows."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total
