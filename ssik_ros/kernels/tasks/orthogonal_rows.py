"""
Orthonormal bases of the rows of small matrices, and the pseudo-inverse step that needs no damping.

Method
    Gram-Schmidt, applied twice to every new row: the rest is orthogonal to rounding, however small it is. If less than
    ``COVERED`` of the length of a row is left, the row is covered: a motion in the complement changes the row by no
    more than this share.

    A matrix A is factorised as A = L B with orthonormal rows B, the largest remainder first. Of all steps x with the
    least residual |A x - e|, the shortest one is B^T L^+ e. L has full column rank; orthonormal columns of L give L^+
    by substitution.

Degeneracies
    Rows that depend on others, at singular configurations and for conflicting tasks, are left out by rank.

References
    [Golub2013] sections 5.2 and 5.5 for Gram-Schmidt and rank-deficient least squares.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.vectors import add_scaled, inner
from ssik_ros.kernels.rows import linalg

COVERED = 1e-10
"""Share of a row's length below which it counts as a combination of others when priorities are kept."""
DEPENDENT = 1e-8
"""The same for an inverse without damping, which amplifies a remainder by its reciprocal."""


@kernel
def add_row(basis, rank, row, tolerance):
    """
    Append the normalised part of a row at right angles to an orthonormal basis to this basis; return the new rank.

    Nothing is appended if the basis is full or the part is too short; in the second case row ``rank`` is scratch.

    :param basis: (., n) whose first ``rank`` rows are the orthonormal basis.
    :param rank: number of these rows.
    :param row: (n,) not changed.
    :param tolerance: the part is too short if its length is at most this share of the row's length.
    """
    if rank == basis.shape[0]:
        return rank
    n, new = row.shape[0], basis[rank]
    vectors.put(new, row, n)
    left = linalg.reject(new, basis, rank, n)
    if not left > tolerance * math.sqrt(inner(row, row, n)):
        return rank
    vectors.divide(new, left, n)
    return rank + 1


@kernel
def least_step(out, rows, right, basis, factors, columns, upper):
    """
    Write the shortest x of all that minimise |A x - b|, without damping; dependent rows of A are left out by rank.

    :param out: (n,) out: x.
    :param rows: (m, n) A, overwritten.
    :param right: (m,) b.
    :param basis, factors: (m, n) and (n, m) scratch: B and L^T of A = L B.
    :param columns, upper: (n, m) and (n, n) scratch: orthonormal columns of L as rows, and their triangle.
    """
    m, n = rows.shape
    rank = factor_rows(rows, basis, factors)
    for r in range(rank):
        vectors.put(columns[r], factors[r], m)
        vectors.divide(columns[r], linalg.reject(columns[r], columns, r, m), m)
        for b in range(r + 1):
            upper[b, r] = inner(factors[r], columns[b], m)
    vectors.fill(out, 0.0)
    # Substitution from the last pivot; the diagonal's place of each row keeps its solution.
    for r in range(rank - 1, -1, -1):
        total = inner(columns[r], right, m)
        for b in range(r + 1, rank):
            total -= upper[r, b] * columns[b, 0]
        value = total / upper[r, r]
        # The column r itself is not needed any more: rows above use only columns[< r].
        columns[r, 0] = value
        add_scaled(out, value, basis[r], n)


@kernel
def factor_rows(rows, basis, factors):
    """
    Write the factors of A = L B, where the rows of B are orthonormal; return their number, the rank of A.

    Each next row of B comes from the row of A with the largest remainder. The rank counts remainders longer than
    DEPENDENT times the longest row of A; further rows of ``basis`` and ``factors`` are not written.

    :param rows: (m, n) A, overwritten by the remainders of its rows.
    :param basis: (m, n) out: B.
    :param factors: (n, m) out: L^T.
    """
    m, n = rows.shape
    first = 0.0
    rank = 0
    for r in range(min(m, n)):
        pivot, largest = 0, -1.0
        for s in range(m):
            square = inner(rows[s], rows[s], n)
            if square > largest:
                pivot, largest = s, square
        length = math.sqrt(largest)
        if r == 0:
            first = length
        if not length > DEPENDENT * first:
            break
        vectors.put(basis[r], rows[pivot], n)
        vectors.divide(basis[r], length, n)
        vectors.divide(basis[r], linalg.reject(basis[r], basis, r, n), n)
        for s in range(m):
            along = inner(rows[s], basis[r], n)
            factors[r, s] = along
            add_scaled(rows[s], -along, basis[r], n)
        rank = r + 1
    return rank
