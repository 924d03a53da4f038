"""Small dense linear algebra in place, for the damped normal equations of a step."""

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry.vectors import inner

TINY = 1e-150
"""Smallest pivot. A direction with a smaller one is left out of the solution."""


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
            out[a, b] = inner(jacobian[a], jacobian[b], jacobian.shape[1])
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
def factorise(matrix, size):
    """
    Replace a symmetric positive semidefinite matrix by its factors L D L^T.

    The diagonal gets 1 / D, the upper triangle L^T; the lower one is scratch. Each column is subtracted from the rest
    at once, so that the compiler can do many entries side by side; there is no square root to wait for. A pivot lost
    to rounding is left out: its unknown becomes zero.

    :param matrix: (size, size); only the lower triangle is read.
    :param size: a literal lets the compiler unroll.
    """
    for j in range(size):
        pivot = matrix[j, j]
        inverse = 1.0 / pivot if pivot > TINY else 0.0
        matrix[j, j] = inverse
        for i in range(j + 1, size):
            factor = matrix[i, j] * inverse
            for k in range(j + 1, i + 1):
                matrix[i, k] -= factor * matrix[k, j]
            matrix[j, i] = factor


@inline_kernel
def solve_factored(factors, right, size):
    """
    Solve with the factors of :func:`factorise`, in place.

    :param factors: (size, size).
    :param right: (size,) right side in, solution out.
    :param size: a literal lets the compiler unroll.
    """
    for k in range(size):
        for i in range(k + 1, size):
            right[i] -= factors[k, i] * right[k]
    for k in range(size - 1, -1, -1):
        total = right[k] * factors[k, k]
        for i in range(k + 1, size):
            total -= factors[k, i] * right[i]
        right[k] = total
