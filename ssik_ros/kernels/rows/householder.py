"""
Orthogonal factorisations of tiny matrices with column pivoting, for their rank and the complement of their columns.

:func:`factorise` factorises a real matrix; :func:`solve_factorised` and :func:`write_orthogonal` use the factors.
:func:`reduce_complex` is for complex matrices. Reflector j is I - tau v v^T. Entry j of v is 1, the entries before it
are 0, and the entries after it are those below the diagonal in column j of the factorised matrix.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.rows import linalg

LARGEST_ZERO = 2.0**-400
"""Largest number that is treated as zero; squares of smaller numbers begin to lose digits."""


@kernel
def _swap_largest(a, m, n, order, j):
    """
    Exchange column ``j`` with the column from ``j`` on whose entries from row ``j`` on have the largest norm.

    ``order`` is exchanged likewise.

    :param a: (m, n) matrix, changed in place.
    :param order: (n,) original index of each column.
    :returns: squared norm of these entries.
    """
    largest, place = -1.0, j
    for c in range(j, n):
        total = 0.0
        for i in range(j, m):
            total += a[i, c] * a[i, c]
        if total > largest:
            largest, place = total, c
    if place != j:
        order[j], order[place] = order[place], order[j]
        for i in range(m):
            a[i, j], a[i, place] = a[i, place], a[i, j]
    return largest


@kernel
def factorise(a, m, n, tau, order, tolerance):
    """
    Replace a matrix A in place by its pivoted factorisation A P = H R; return the rank.

    P permutes columns, H is a product of reflectors, R is upper triangular.

    :param a: (m, n) at least. Out: R in and above the diagonal, the vectors of the reflectors below. Columns beyond the
        rank are not reduced.
    :param tau: (min(m, n),) out: factors of the reflectors.
    :param order: (n,) floats, out: column j of A P is column ``order[j]`` of A.
    :param tolerance: the rank ends where a diagonal entry of R is at most this share of the first one.
    """
    for c in range(n):
        order[c] = c
    first = 0.0
    for j in range(min(m, n)):
        norm = math.sqrt(_swap_largest(a, m, n, order, j))
        if j == 0:
            first = norm
        if not norm > tolerance * first:
            return j
        lead = a[j, j]
        diagonal = -math.copysign(norm, lead)
        tau[j] = (diagonal - lead) / diagonal
        inverse = 1.0 / (lead - diagonal)
        for i in range(j + 1, m):
            a[i, j] *= inverse
        a[j, j] = diagonal
        for c in range(j + 1, n):
            total = a[j, c]
            for i in range(j + 1, m):
                total += a[i, j] * a[i, c]
            total *= tau[j]
            a[j, c] -= total
            for i in range(j + 1, m):
                a[i, c] -= total * a[i, j]
    return min(m, n)


@kernel
def reflect(x, a, m, tau, j):
    """
    Multiply a vector in place by reflector ``j`` of a factorisation.

    :param x: (m,) the vector; entries before j stay.
    :param a, tau: results of :func:`factorise`.
    """
    total = x[j]
    for i in range(j + 1, m):
        total += a[i, j] * x[i]
    total *= tau[j]
    x[j] -= total
    for i in range(j + 1, m):
        x[i] -= total * a[i, j]


@kernel
def write_orthogonal(out, a, m, tau, rank, column):
    """
    Write column ``column`` of the orthogonal matrix H of a factorisation.

    The columns from ``rank`` on are orthogonal to all columns of A, up to the tolerance of the rank.

    :param out: (m,) out.
    :param a, tau, rank: results of :func:`factorise`.
    """
    for i in range(m):
        out[i] = 0.0
    out[column] = 1.0
    for j in range(rank - 1, -1, -1):
        reflect(out, a, m, tau, j)


@kernel
def solve_factorised(x, a, m, tau, rank):
    """
    Replace a right side in place by the least-squares solution of A x = right side.

    :param x: (m,) right side in. Out: entry j < rank is the unknown of column ``order[j]`` of A; other entries are
        scratch.
    :param a, tau, rank: results of :func:`factorise`.
    """
    for j in range(rank):
        reflect(x, a, m, tau, j)
    linalg.back_substitute(a, x, rank)


@kernel
def _reflect_complex(re, im, m, c, v_re, v_im, j, scale):
    """
    Multiply column ``c`` of a complex matrix in place by I - scale v v^H.

    :param re, im: (m, .) real and imaginary parts of the matrix.
    :param v_re, v_im: (m,) parts of v; its entries before ``j`` count as zero.
    """
    total = 0j
    for i in range(j, m):
        total += complex(v_re[i], -v_im[i]) * complex(re[i, c], im[i, c])
    total *= scale
    for i in range(j, m):
        step = total * complex(v_re[i], v_im[i])
        re[i, c] -= step.real
        im[i, c] -= step.imag


@kernel
def reduce_complex(re, im, m, n, total, scratch, tolerance):
    """
    Reduce the first n columns of a complex matrix to triangular form by reflections of all columns; return their rank.

    The first n columns are exchanged among each other, the largest remainder first.

    If the columns from n on are the unit matrix, they end as H^H, the inverse of the product of the reflections. Then
    the rows of H^H from the rank on, times the first n columns, are zero up to the tolerance.

    :param re, im: (m, total) real and imaginary parts of the matrix, overwritten.
    :param scratch: (2 m,) scratch.
    :param tolerance: the rank ends where the norm of the largest remainder is at most this share of the first one.
    """
    v_re, v_im = scratch[:m], scratch[m:]
    first = 0.0
    for j in range(min(m, n)):
        largest, place = -1.0, j
        for c in range(j, n):
            size = 0.0
            for i in range(j, m):
                size += re[i, c] * re[i, c] + im[i, c] * im[i, c]
            if size > largest:
                largest, place = size, c
        norm = math.sqrt(largest)
        if j == 0:
            first = norm
        if not norm > tolerance * first:
            return j
        for i in range(m):
            re[i, j], re[i, place] = re[i, place], re[i, j]
            im[i, j], im[i, place] = im[i, place], im[i, j]
            v_re[i], v_im[i] = re[i, j], im[i, j]
        # Not hypot, which C libraries round differently.
        size = math.sqrt(v_re[j] * v_re[j] + v_im[j] * v_im[j])
        phase = complex(v_re[j], v_im[j]) / size if size > LARGEST_ZERO else 1.0 + 0j
        v_re[j] += norm * phase.real
        v_im[j] += norm * phase.imag
        scale = 1.0 / (norm * (norm + size))
        for c in range(j, total):
            _reflect_complex(re, im, m, c, v_re, v_im, j, scale)
    return min(m, n)
