"""Small dense linear algebra in place."""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry.vectors import add_scaled, inner

SMALLEST_PIVOT = 1e-150
"""Smallest pivot; directions with a smaller pivot are left out of the solution."""


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

    The diagonal gets 1 / D, the upper triangle L^T; the lower triangle is scratch. Each column is subtracted from the
    rest immediately, so that the compiler can vectorize the loop. No square root is needed. A pivot lost to rounding is
    left out: its unknown becomes zero.

    :param matrix: (size, size); only the lower triangle is read.
    :param size: a literal lets the compiler unroll.
    """
    for j in range(size):
        pivot = matrix[j, j]
        inverse = 1.0 / pivot if pivot > SMALLEST_PIVOT else 0.0
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


@inline_kernel
def find_pivot(a, j, m):
    """Return the row of the largest entry in column ``j`` of m rows, on the diagonal or below it, and its size."""
    place, pivot = j, abs(a[j, j])
    for i in range(j + 1, m):
        if abs(a[i, j]) > pivot:
            place, pivot = i, abs(a[i, j])
    return place, pivot


@inline_kernel
def exchange_rows(a, i, j, first, end):
    """Exchange rows i and j of a matrix in the columns ``first`` .. ``end`` - 1."""
    for c in range(first, end):
        a[i, c], a[j, c] = a[j, c], a[i, c]


@inline_kernel
def clear_below(a, k, m, pivot, first, end):
    """
    Subtract multiples of row k from the rows k + 1 .. m - 1, in the columns ``first`` .. ``end`` - 1.

    :param pivot: entry (k, k); with column k among the columns, the entries below it become zero.
    """
    for i in range(k + 1, m):
        factor = a[i, k] / pivot
        for j in range(first, end):
            a[i, j] -= factor * a[k, j]


@inline_kernel
def back_substitute(a, x, n):
    """Solve with the upper triangle of a matrix (n, n); x (n,) is the right side in and the solution out."""
    for j in range(n - 1, -1, -1):
        total = x[j]
        for i in range(j + 1, n):
            total -= a[j, i] * x[i]
        x[j] = total / a[j, j]


@kernel
def reject(row, basis, rank, n):
    """
    Remove the part of a row along a basis, twice; return the length of the remainder.

    :param row: (n,) at least, overwritten.
    :param basis: (., n) at least; its first ``rank`` rows are used, which are orthonormal.
    """
    for _ in range(2):
        for b in range(rank):
            add_scaled(row, -inner(row, basis[b], n), basis[b], n)
    return math.sqrt(inner(row, row, n))
