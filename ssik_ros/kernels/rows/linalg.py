"""Form, factorise and solve small dense systems of linear equations, in place in arrays of the caller."""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry.vectors import add_scaled, inner

SMALLEST_PIVOT = 1e-150
"""Smallest pivot; directions with a smaller pivot are left out of the solution."""


@inline_kernel
def outer_gram(out, jacobian, damping, m):
    """
    Write the lower triangle of J J^T + damping I into ``out``.

    :param out: (m, m); entries above the diagonal are not written.
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
    Write the lower triangle of J^T J + damping I into ``out``.

    :param out: (n, n); entries above the diagonal are not written.
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
    Replace a symmetric positive semidefinite matrix in place by its factors L D L^T.

    The diagonal gets 1 / D and the upper triangle L^T; the lower triangle is scratch. For a pivot of at most
    SMALLEST_PIVOT, also a negative one, 0 is stored for 1 / D, so that its unknown becomes zero. Each column is
    subtracted at once, so that the loop can be vectorized.

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
    Replace a right side in place by the solution of the equations that :func:`factorise` has factorised.

    :param factors: (size, size) result of :func:`factorise`.
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
def largest_entry(a, n):
    """Return the largest absolute value of an entry in the first n rows and columns of a matrix."""
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(a[i, j]))
    return largest


@inline_kernel
def find_pivot(a, j, m):
    """Return (row, size) of the entry with the largest absolute value among the rows j to m - 1 of column ``j``."""
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
    Make the entries below (k, k) zero: subtract multiples of row ``k`` from the rows k + 1 to m - 1, in place.

    Only the columns ``first`` to ``end`` - 1 are changed; column k becomes zero only if it is among them.

    :param pivot: entry (k, k).
    """
    for i in range(k + 1, m):
        factor = a[i, k] / pivot
        for j in range(first, end):
            a[i, j] -= factor * a[k, j]


@inline_kernel
def back_substitute(a, x, n):
    """
    Solve R x = right side in place, where R is the upper triangle of ``a`` (n, n), without zeros on its diagonal.

    :param x: (n,) right side in, solution out.
    """
    for j in range(n - 1, -1, -1):
        total = x[j]
        for i in range(j + 1, n):
            total -= a[j, i] * x[i]
        x[j] = total / a[j, j]


@kernel
def reject(row, basis, rank, n):
    """
    Subtract from a row in place its projection on an orthonormal basis; return the length of the remainder.

    The projection is subtracted twice, so that the remainder is orthogonal up to rounding.

    :param row: (n,) at least, overwritten.
    :param basis: (., n) at least; its first ``rank`` rows are the orthonormal basis.
    """
    for _ in range(2):
        for b in range(rank):
            add_scaled(row, -inner(row, basis[b], n), basis[b], n)
    return math.sqrt(inner(row, row, n))
