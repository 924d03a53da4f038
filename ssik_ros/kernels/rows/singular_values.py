"""
Singular values of a small matrix, with or without right singular vectors.

Problem
    Given a matrix of k rows and l columns, find its l singular values; for a condition number only the largest and the
    smallest.

Method
    Rotate pairs of columns until all are orthogonal. The lengths of the columns are the singular values then. The same
    rotations turn the unit vectors into the right singular vectors.

Degeneracies
    Columns of zeros are singular values of zero.

Cost
    About five sweeps over all pairs, O(l^2 k) each. Small values come out with the accuracy of large ones, which normal
    equations cannot give.

References
    [Hestenes1958]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel

SWEEPS = 20
"""Most sweeps. They converge quadratically."""
ORTHOGONAL_COLUMNS = 1e-15
"""Cosine of the angle of two columns below which they are orthogonal."""
NEARLY_ORTHOGONAL_COLUMNS = 1e-9
"""The same if only values are wanted: they change by its square."""


@inline_kernel
def _turn_columns(table, rows, p, q, c, s):
    """Replace columns p and q of a table by c p - s q and s p + c q, in its first ``rows`` rows."""
    for i in range(rows):
        a, b = table[i, p], table[i, q]
        table[i, p], table[i, q] = c * a - s * b, s * a + c * b


@kernel
def _make_orthogonal(a, rows, columns, vectors, size, nearly):
    """
    Rotate pairs of columns in place until all are orthogonal, or SWEEPS sweeps are made.

    :param a: (rows, columns or more) the matrix; further columns stay.
    :param vectors: (size, columns or more) its columns are rotated, too; not read if ``size`` is zero.
    :param nearly: largest cosine of the angle of two columns that count as orthogonal.
    """
    for _ in range(SWEEPS):
        turned = False
        for p in range(columns - 1):
            for q in range(p + 1, columns):
                alpha = beta = gamma = 0.0
                for i in range(rows):
                    alpha += a[i, p] * a[i, p]
                    beta += a[i, q] * a[i, q]
                    gamma += a[i, p] * a[i, q]
                if abs(gamma) <= nearly * math.sqrt(alpha * beta) or gamma == 0.0:
                    continue
                turned = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                _turn_columns(a, rows, p, q, c, c * t)
                _turn_columns(vectors, size, p, q, c, c * t)
        if not turned:
            break


@inline_kernel
def _length(a, rows, column):
    """Return the Euclidean length of a column."""
    total = 0.0
    for i in range(rows):
        total += a[i, column] * a[i, column]
    return math.sqrt(total)


@kernel
def extreme_values(table):
    """
    Return (largest, smallest) of the singular values of a matrix.

    :param table: (k, l) with k >= l, overwritten.
    """
    rows, columns = table.shape
    _make_orthogonal(table, rows, columns, table, 0, NEARLY_ORTHOGONAL_COLUMNS)
    largest, smallest = 0.0, math.inf
    for j in range(columns):
        length = _length(table, rows, j)
        largest, smallest = max(largest, length), min(smallest, length)
    return largest, smallest


@kernel
def decompose(values, vectors, a, rows, columns):
    """
    Write the singular values of a small matrix, in descending order, and its right singular vectors.

    :param values: (columns,) or longer, out.
    :param vectors: (columns, columns or more) out: one vector in each column.
    :param a: (rows, columns or more) the matrix; overwritten, its columns become orthogonal.
    :param rows, columns: size of the matrix.
    """
    for i in range(columns):
        for j in range(columns):
            vectors[i, j] = 1.0 if i == j else 0.0
    _make_orthogonal(a, rows, columns, vectors, columns, ORTHOGONAL_COLUMNS)
    for j in range(columns):
        values[j] = _length(a, rows, j)
    _sort(values, vectors, columns)


@kernel
def _sort(values, vectors, columns):
    """Sort singular values (columns,) in descending order, in place, and the columns of ``vectors`` with them."""
    for j in range(columns):
        best = j
        for k in range(j + 1, columns):
            if values[k] > values[best]:
                best = k
        if best != j:
            values[j], values[best] = values[best], values[j]
            for i in range(columns):
                vectors[i, j], vectors[i, best] = vectors[i, best], vectors[i, j]
