"""
Singular values and right singular vectors of a small matrix, by Jacobi's rotations of its columns.

Small values come out with the accuracy of large ones, which normal equations cannot give.
"""

import math

from ssik_ros.kernels._jit import kernel

SWEEPS = 20
ORTHOGONAL_COLUMNS = 1e-15
"""Cosine of the angle of two columns below which they are orthogonal."""


@kernel
def _turn_columns(table, rows, p, q, c, s):
    """Replace columns p and q of a table by c p - s q and s p + c q, in its first ``rows`` rows."""
    for i in range(rows):
        a, b = table[i, p], table[i, q]
        table[i, p], table[i, q] = c * a - s * b, s * a + c * b


@kernel
def decompose(values, vectors, a, rows, columns):
    """
    Write the singular values of a small matrix, in descending order, and its right singular vectors.

    :param values: (columns,) out.
    :param vectors: (columns, columns or more) out: one vector in each column.
    :param a: (rows, columns or more) the matrix; overwritten, its columns become orthogonal.
    :param rows, columns: size of the matrix.
    """
    for i in range(columns):
        for j in range(columns):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(columns - 1):
            for q in range(p + 1, columns):
                alpha = beta = gamma = 0.0
                for i in range(rows):
                    alpha += a[i, p] * a[i, p]
                    beta += a[i, q] * a[i, q]
                    gamma += a[i, p] * a[i, q]
                if abs(gamma) <= ORTHOGONAL_COLUMNS * math.sqrt(alpha * beta) or gamma == 0.0:
                    continue
                turned = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                _turn_columns(a, rows, p, q, c, c * t)
                _turn_columns(vectors, columns, p, q, c, c * t)
        if not turned:
            break
    for j in range(columns):
        total = 0.0
        for i in range(rows):
            total += a[i, j] * a[i, j]
        values[j] = math.sqrt(total)
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
