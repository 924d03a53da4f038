"""Small dense linear algebra in place, for the damped normal equations of a step."""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import kernel

TINY = 1e-150
"""Pivot that replaces one that rounding made zero or negative: its direction then takes no part."""


@inline_kernel
def outer_gram(out, jacobian, damping, m):
    """
    Write the lower triangle of J J^T + damping I.

    :param out: (m, m).
    :param jacobian: (m, n).
    :param m: number of rows; a literal lets the compiler unroll.
    """
    for a in range(m):
        for b in range(a + 1):
            total = 0.0
            for i in range(jacobian.shape[1]):
                total += jacobian[a, i] * jacobian[b, i]
            out[a, b] = total
        out[a, a] += damping


@kernel
def inner_gram(out, jacobian, damping):
    """
    Write the lower triangle of J^T J + damping I.

    :param out: (n, n).
    :param jacobian: (m, n).
    """
    m, n = jacobian.shape
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for i in range(m):
                total += jacobian[i, a] * jacobian[i, b]
            out[a, b] = total
        out[a, a] += damping


@inline_kernel
def cholesky(matrix, size):
    """
    Replace the lower triangle of a symmetric positive semidefinite matrix by its Cholesky factor.

    The diagonal is stored inverted. A pivot lost to rounding is replaced so that its unknown becomes zero.

    :param matrix: (size, size); only the lower triangle is read and written.
    :param size: a literal lets the compiler unroll.
    """
    for j in range(size):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        inverse = 1.0 / math.sqrt(pivot) if pivot > TINY else 0.0
        matrix[j, j] = inverse
        for i in range(j + 1, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total * inverse


@inline_kernel
def cholesky_solve(factor, right, size):
    """
    Solve with a factor from :func:`cholesky`, in place.

    :param factor: (size, size).
    :param right: (size,) right side in, solution out.
    :param size: a literal lets the compiler unroll.
    """
    for i in range(size):
        total = right[i]
        for k in range(i):
            total -= factor[i, k] * right[k]
        right[i] = total * factor[i, i]
    for i in range(size - 1, -1, -1):
        total = right[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * right[k]
        right[i] = total * factor[i, i]
