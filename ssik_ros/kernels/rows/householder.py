"""
Orthogonal factorisations of tiny matrices with column pivoting, for their rank and the complement of their columns.

Reflector j is I - tau v v^T with v = (0, .., 0, 1, below the diagonal of column j).
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.rows import linalg

LARGEST_ZERO = 2.0**-400
"""Largest number that is treated as zero; squares of smaller numbers begin to lose digits."""


@kernel
def _swap_largest(a, m, n, order, j):
    """
    Swap the column whose part from row j on is largest to place j, also in ``order``.

    Return the squared norm of the part.
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
    Replace a matrix by its pivoted factorisation A P = H R; return its rank.

    :param a: (m, n) at least; R in and above the diagonal, reflectors below. Columns beyond the rank stay as they are.
    :param tau: (min(m, n),) factors of the reflectors.
    :param order: (n,) floats; column j of A P is column ``order[j]`` of A.
    :param tolerance: a diagonal entry that is at most this times the first ends the rank.
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
    Apply reflector j of a factorisation to a vector in place.

    :param x: (m,); entries before j stay.
    :param a, tau: of :func:`factorise`.
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
    Write column ``column`` of the orthogonal matrix H; columns from the rank on are orthogonal to all columns of A.

    :param out: (m,).
    :param a, tau, rank: of :func:`factorise`.
    """
    for i in range(m):
        out[i] = 0.0
    out[column] = 1.0
    for j in range(rank - 1, -1, -1):
        reflect(out, a, m, tau, j)


@kernel
def solve_factorised(x, a, m, tau, rank):
    """
    Replace a right side by the least-squares solution in the first ``rank`` entries, in the order of the factorisation.

    :param x: (m,) right side in, solution out; entry j belongs to column ``order[j]`` of the matrix.
    :param a, tau, rank: of :func:`factorise`.
    """
    for j in range(rank):
        reflect(x, a, m, tau, j)
    linalg.back_substitute(a, x, rank)


@kernel
def _reflect_complex(re, im, m, c, v_re, v_im, j, scale):
    """
    Multiply column c of a complex matrix by I - scale v v^H in place; v has entries from row j on.

    :param re, im: (m, .) parts of the matrix.
    :param v_re, v_im: (m,) parts of v.
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
    Reduce the first n columns of a complex matrix by reflections of all columns; return the rank.

    With the unit matrix in the columns from n on these end as H^H, whose rows from the rank on annihilate the columns
    before.

    :param re, im: (m, total) parts of the matrix, overwritten.
    :param scratch: (2 m,).
    :param tolerance: as for :func:`factorise`.
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
