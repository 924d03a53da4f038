"""
Reduce a closed loop of six rotations to a small eigenvalue problem in the half-angle of one of them.

The loop is Rz(q_0) B_0 Rz(q_1) B_1 ... Rz(q_5) B_5 = I with constant motions B. Cutting it at a joint k gives 14
equations in which joint k+3 does not occur; the joints k-1 and k-2 are eliminated by an orthogonal factorisation, k+1
and k+2 by the eigenvalue problem. The derivation is in docs/math/general_6r.md.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.elimination.line_representation import (
    expand_turn,
    LINE,
    transform_lines,
    write_line,
)
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import linalg
from ssik_ros.kernels.rows.householder import (
    factorise,
    reduce_complex,
    solve_factorised,
    write_orthogonal,
)
from ssik_ros.kernels.rows.views import Floats, Memory

EQUATIONS = 14
RANK = 8
"""Number of unknowns of the joints k-1 and k-2: products of (sin, cos, 1) without the constant one."""
LEFT = 6
"""Number of equations that remain without these joints."""
PRODUCTS = 9
SIZE = 12
"""Unknowns x_a^i x_b^j of the joints k+1 and k+2, i = 3..0, j = 2..0."""
MOST_EIGENVALUES = 16
"""Largest size of the eigenvalue problem, and so the largest number of solutions."""

RANK_LOST = 1e-10
"""Relative size below which an equation of the joints k-1 and k-2 counts as zero."""
PARTLY_FREE = 1e-8
"""Like RANK_LOST, for the remaining equations after joint k is taken out."""


class Elimination(NamedTuple):
    """
    The part of a cut loop's 14 equations that joints k-1 and k-2 contribute, as views of one flat array.

    k is the joint where the loop is cut. ``null`` (6, 14) are six combinations of the equations without joints k-1 and
    k-2, ``offset`` (6,) their constant parts. ``mix`` (6, 6) combines the six rows again, so that few of them are
    quadratic in tan(q_k / 2); ``counts`` (4,) has the numbers of these rows. ``factors``, ``tau`` and ``order`` are the
    factorisation that later gives the two angles. ``constant`` (14,) is the part of each equation without the angles.
    """

    null: Annotated[Floats, LEFT, EQUATIONS]
    """Combinations of the equations without these joints."""
    mix: Annotated[Floats, LEFT, LEFT]
    """Rows: combinations of these six equations; pairs of linear rows first, then quadratic, then constant rows."""
    offset: Annotated[Floats, LEFT]
    """Scalar product of each row of ``null`` with ``constant``."""
    factors: Annotated[Floats, EQUATIONS, RANK]
    """Orthogonal factorisation of the coefficients."""
    tau: Annotated[Floats, RANK]
    """Scalar factors of the reflections of this factorisation."""
    order: Annotated[Floats, RANK]
    """Column order of this factorisation."""
    constant: Annotated[Floats, EQUATIONS]
    """Part of each equation that contains neither angle: its coefficient at 1."""
    counts: Annotated[Floats, 4]
    """Number of pairs of linear rows, of quadratic rows, of constant rows, and rank of the factorisation."""


_MEMORY = Memory(Elimination, '', globals())
_view = _MEMORY.kernel('_view')
ELIMINATION = _MEMORY.length('ELIMINATION')
"""Length of the array of an :class:`Elimination`."""

SCRATCH = 3 * LINE * PRODUCTS + 200
"""Floats of scratch for :func:`eliminate` and :func:`write_polynomials`."""
AT_TABLE = 2 * LINE * PRODUCTS
"""Place of the table of products in that scratch; :func:`_write_products` uses the scratch before it."""
MIX_TAU, MIX_ORDER, MIX_PAIRS, MIX_BASIS = 48, 56, 48, 200
"""Places in the scratch of :func:`_write_mix` after a table: a factorisation, later the linear pairs; a basis."""
COMPLETION, COMPLETION_TAU, COMPLETION_ORDER, MIX_ROW = 48, 84, 90, 100
"""Places there when the pairs are known: a table with its factorisation, and one row."""
PAIRS_IMAGINARY, PAIRS_SCRATCH, MIX_PAIRS_SIZE = 60, 120, 132
"""Places in the scratch of :func:`_write_linear_pairs` after the real parts, and its size."""


@inline_kernel
def view_elimination(array, start):
    """Return an :class:`Elimination` of views of a flat array, in which it begins at offset ``start``."""
    return _view(vector(array, start, ELIMINATION))


@kernel
def _write_products(out, first, middle, last, scratch):
    """
    Write a line that two joints rotate, as coefficients of the nine products of (sin, cos, 1) of both angles.

    The line is rho(first) rho(Rz(u)) rho(middle) rho(Rz(v)) X, where rho acts as in :mod:`line_representation`.

    :param out: (15, 9) out; column 3 i + j belongs to term i of u and term j of v.
    :param first, middle, last: (12,) motions; X is the z axis of ``last``.
    :param scratch: (2 LINE PRODUCTS,).
    """
    a = matrix(scratch, 0, LINE, PRODUCTS)
    b = matrix(scratch, LINE * PRODUCTS, LINE, PRODUCTS)
    write_line(a, 0, last)
    expand_turn(b, a, 1)
    transform_lines(a, middle, b, 3)
    expand_turn(b, a, 3)
    transform_lines(out, first, b, PRODUCTS)


@kernel
def _write_null_space(out, table):
    """
    Write the six combinations of the 14 equations of a cut loop in which two joints do not occur, by factorisation.

    The joints are k-1 and k-2 of a loop that is cut at joint k.

    :param out: an :class:`Elimination`; ``null``, ``offset``, ``factors``, ``tau``, ``order``, ``constant`` and the
        last number of ``counts`` are written. This number is the rank; below 8 the equations leave more combinations
        than the six.
    :param table: (15, 9) coefficients of the products of sines and cosines of both joints, from
        :func:`_write_products`.
    """
    for i in range(EQUATIONS):
        vectors.copy(out.factors[i], table[i + 1])
        out.constant[i] = table[i + 1, RANK]
    rank = factorise(out.factors, EQUATIONS, RANK, out.tau, out.order, RANK_LOST)
    out.counts[3] = rank
    for row in range(LEFT):
        write_orthogonal(out.null[row], out.factors, EQUATIONS, out.tau, rank, RANK + row)
        out.offset[row] = vectors.inner(out.null[row], out.constant, EQUATIONS)


# Rows of the 14 equations that a rotation of joint k mixes: first of each pair.
PAIRS = (0, 3, 8, 11)


@kernel
def _write_linear_pairs(mix, rows, real, scratch):
    """
    Write pairs (r, t) of combinations of the six equations that give linear equations; return the number of pairs.

    The equations belong to a loop that is cut at joint k. For each pair, r + x t and x r - t are linear in x = tan(q_k
    / 2).

    :param mix: (6, 6) out: two rows of coefficients for each pair, from row 0 on.
    :param rows: (6, 8) coefficients of joint k as complex numbers: real parts in columns 0..3, imaginary parts in 4..7.
    :param real: number of leading rows in which joint k occurs.
    :param scratch: (132,).
    """
    total = 4 + real
    re = matrix(scratch, 0, real, total)
    im = matrix(scratch, PAIRS_IMAGINARY, real, total)
    for i in range(real):
        for j in range(total):
            re[i, j] = rows[i, j] if j < 4 else 0.0
            im[i, j] = rows[i, 4 + j] if j < 4 else 0.0
        re[i, 4 + i] = 1.0
    row = vector(scratch, PAIRS_SCRATCH, 2 * real)
    rank = reduce_complex(re, im, real, 4, total, row, PARTLY_FREE)
    pairs = min(real - rank, real // 2)
    for p in range(pairs):
        for i in range(LEFT):
            inside = i < real
            mix[2 * p, i] = re[real - 1 - p, 4 + i] if inside else 0.0
            mix[2 * p + 1, i] = im[real - 1 - p, 4 + i] if inside else 0.0
    return pairs


@kernel
def _write_mix(out, scratch):
    """
    Write into ``out.mix`` the combinations of the six equations that have low degrees in tan(q_k / 2).

    The equations belong to a loop that is cut at joint k. Pairs of rows come first, see :func:`_write_linear_pairs`,
    then quadratic rows, then rows without joint k. The numbers of pairs and of both other kinds are written to
    ``out.counts``.

    :param out: an :class:`Elimination` whose ``null`` is written.
    :param scratch: (236,).
    """
    a = matrix(scratch, 0, LEFT, 8)
    for i in range(LEFT):
        for j in range(4):
            a[i, j] = out.null[i, PAIRS[j]]
            a[i, 4 + j] = out.null[i, PAIRS[j] + 1]
    tau, order = vector(scratch, MIX_TAU, 8), vector(scratch, MIX_ORDER, 8)
    # Rows that joint k does not enter at all, from an orthogonal basis of the six.
    real = factorise(a, LEFT, 8, tau, order, PARTLY_FREE)
    basis = matrix(scratch, MIX_BASIS, LEFT, LEFT)
    for j in range(LEFT):
        write_orthogonal(basis[j], a, LEFT, tau, real, j)
    turned = matrix(scratch, 0, LEFT, 8)
    for i in range(LEFT):
        for j in range(8):
            entry = PAIRS[j % 4] + j // 4
            total = 0.0
            for c in range(LEFT):
                total += basis[i, c] * out.null[c, entry]
            turned[i, j] = total
    mix = out.mix
    inner = vector(scratch, MIX_PAIRS, MIX_PAIRS_SIZE)
    pairs = _write_linear_pairs(mix, turned, real, inner)
    out.counts[0], out.counts[1], out.counts[2] = pairs, real - 2 * pairs, LEFT - real
    # The quadratic rows complete them.
    b = matrix(scratch, COMPLETION, LEFT, LEFT)
    tau, order = vector(scratch, COMPLETION_TAU, LEFT), vector(scratch, COMPLETION_ORDER, LEFT)
    for i in range(real):
        for j in range(2 * pairs):
            b[i, j] = mix[j, i]
    rank = factorise(b, real, 2 * pairs, tau, order, 0.0)
    for row in range(2 * pairs, LEFT):
        vectors.write_unit(mix[row], row)
        if row < real:
            write_orthogonal(mix[row], b, real, tau, rank, row)
    # Back from the rotated rows.
    turned_back = vector(scratch, MIX_ROW, LEFT)
    for row in range(LEFT):
        for c in range(LEFT):
            turned_back[c] = vectors.inner(mix[row], basis[:, c], LEFT)
        vectors.copy(mix[row], turned_back)


@kernel
def eliminate(out, inverses, k, scratch):
    """
    Write an :class:`Elimination`: remove joints k-1 and k-2 from the equations of a loop that is cut at joint k.

    :param out: the :class:`Elimination`.
    :param inverses: (6, 12) inverse motions of the loop.
    :param k: index of the joint whose half-angle remains as unknown, 0 to 5.
    :param scratch: (SCRATCH,).
    """
    table = matrix(scratch, AT_TABLE, LINE, PRODUCTS)
    _write_products(
        table, inverses[(k + 5) % 6], inverses[(k + 4) % 6], inverses[(k + 3) % 6], scratch
    )
    _write_null_space(out, table)
    _write_mix(out, scratch)


@inline_kernel
def _to_half_angles(out, row, v):
    """
    Convert a polynomial in sines and cosines of two angles to a polynomial in the tangents of half the angles.

    With these tangents x_a and x_b, the result is the polynomial times (1 + x_a^2) (1 + x_b^2).

    :param out: (., 9) table; row ``row`` gets the coefficients of x_a^i x_b^j, i and j from 2 to 0.
    :param v: (9,) coefficients of the products of (sin, cos, 1) of both angles; overwritten.
    """
    for i in range(3):
        s, c, one = v[3 * i], v[3 * i + 1], v[3 * i + 2]
        v[3 * i], v[3 * i + 1], v[3 * i + 2] = one - c, 2.0 * s, one + c
    for j in range(3):
        s, c, one = v[j], v[3 + j], v[6 + j]
        out[row, j], out[row, 3 + j], out[row, 6 + j] = one - c, 2.0 * s, one + c


@kernel
def write_polynomials(sine, cosine, one, elimination, loop, k, scratch):
    """
    Write six equations of a loop cut at joint k as polynomials in x_a and x_b; joints k-1 and k-2 do not occur.

    x_a and x_b are the tangents of half the angles of joints k+1 and k+2. An equation is the sum of three polynomials,
    times sin q_k, cos q_k and 1.

    :param sine, cosine, one: (6, 9) out: coefficients of x_a^i x_b^j, i, j = 2..0, of these three polynomials.
    :param elimination: the :class:`Elimination` of joint k.
    :param loop: (6, 12) motions of the loop.
    :param k: joint where the loop is cut, 0 to 5.
    :param scratch: (SCRATCH,).
    """
    table = matrix(scratch, AT_TABLE, LINE, PRODUCTS)
    _write_products(table, loop[k], loop[(k + 1) % 6], loop[(k + 2) % 6], scratch)
    rows = matrix(scratch, 0, 3, PRODUCTS)
    s, c, fixed = rows[0], rows[1], rows[2]
    null = elimination.null
    for row in range(LEFT):
        for j in range(PRODUCTS):
            s[j] = c[j] = fixed[j] = 0.0
        for at in PAIRS:
            x, y = null[row, at], null[row, at + 1]
            for j in range(PRODUCTS):
                s[j] += y * table[at + 1, j] - x * table[at + 2, j]
                c[j] += x * table[at + 1, j] + y * table[at + 2, j]
        for at in (2, 5, 6, 7, 10, 13):
            vectors.add_scaled(fixed, null[row, at], table[at + 1], PRODUCTS)
        fixed[8] -= elimination.offset[row]
        _to_half_angles(sine, row, s)
        _to_half_angles(cosine, row, c)
        _to_half_angles(one, row, fixed)


@kernel
def mix_rows(out, mix, rows):
    """
    Write the matrix product of ``mix`` and ``rows``: combinations of six equations with low degrees in tan(q_k / 2).

    Joint k is the joint where the loop is cut.

    :param out: (6, 9) out.
    :param mix: (6, 6) coefficients, from the :class:`Elimination`.
    :param rows: (6, 9) polynomials of the six equations, from :func:`write_polynomials`.
    """
    for i in range(LEFT):
        vectors.fill(out[i], 0.0)
        for c in range(LEFT):
            vectors.add_scaled(out[i], mix[i, c], rows[c], PRODUCTS)


@inline_kernel
def _put(table, column, row):
    """
    Write an equation, and the same equation times x_a, into two neighbouring columns of the transposed system.

    :param table: (12, .) rows belong to the unknowns x_a^i x_b^j, i = 3..0, j = 2..0.
    :param column: column of the equation; the next column gets its multiple.
    :param row: (9,) coefficients of the equation.
    """
    for j in range(SIZE):
        table[j, column] = table[j, column + 1] = 0.0
    for j in range(PRODUCTS):
        table[3 + j, column] = row[j]
        table[j, column + 1] = row[j]


WIDTH = SIZE + MOST_EIGENVALUES
"""Columns of the transposed system: leading coefficients, then coefficients of the lower powers."""


@kernel
def _write_system(table, sine, cosine, one, pairs, quadratic, constant, c, s, row):
    """
    Write the twelve equations of a cut loop, transposed, as polynomials in tan((q_k - origin) / 2).

    A pair of rows (r, t) gives the two linear equations r + x t and x r - t, with the unknown x. Each of the six
    equations then comes twice: unchanged, and times x_a, the tangent of half the angle of joint k+1.

    :param table: (12, WIDTH) out; columns: leading coefficients of linear, quadratic, constant rows; then the constant
        coefficients of the linear rows, and the linear and the constant coefficients of the quadratic rows.
    :param sine, cosine, one: (6, 9) polynomials from :func:`mix_rows`.
    :param pairs, quadratic, constant: number of pairs of linear rows, of quadratic rows and of constant rows.
    :param c, s: cosine and sine of the origin.
    :param row: (9,) scratch.
    """
    linear = 2 * pairs
    lower = SIZE
    for p in range(pairs):
        i = 2 * p
        # With r, t the two rows: r + x t and x r - t are linear in x.
        for kind in range(4):
            for j in range(PRODUCTS):
                ec = c * cosine[i, j] + s * sine[i, j]
                es = c * sine[i, j] - s * cosine[i, j]
                if kind == 0:
                    row[j] = es + one[i + 1, j]
                elif kind == 1:
                    row[j] = one[i, j] - ec
                elif kind == 2:
                    row[j] = ec + one[i, j]
                else:
                    row[j] = es - one[i + 1, j]
            _put(table, (2 * i if kind < 2 else lower + 2 * i) + 2 * (kind % 2), row)
    for p in range(quadratic):
        i = linear + p
        for j in range(PRODUCTS):
            row[j] = one[i, j] - (c * cosine[i, j] + s * sine[i, j])
        _put(table, 2 * i, row)
        for j in range(PRODUCTS):
            row[j] = 2.0 * (c * sine[i, j] - s * cosine[i, j])
        _put(table, lower + 2 * i, row)
        for j in range(PRODUCTS):
            row[j] = one[i, j] + (c * cosine[i, j] + s * sine[i, j])
        _put(table, lower + 2 * i + 2 * quadratic, row)
    for p in range(constant):
        i = linear + quadratic + p
        _put(table, 2 * i, one[i])


@kernel
def _divide(table, width):
    """
    Multiply a table by the inverse of its first twelve columns, in place, by Gauss-Jordan elimination.

    :param table: (12, WIDTH).
    :param width: number of columns that are used.
    :returns: smallest pivot over largest pivot; 0 for a singular matrix.
    """
    smallest, largest = math.inf, 0.0
    for j in range(SIZE):
        place, pivot = linalg.find_pivot(table, j, SIZE)
        if not pivot > 0.0:
            return 0.0
        smallest, largest = min(smallest, pivot), max(largest, pivot)
        inverse = 1.0 / table[place, j]
        for c in range(j, width):
            value = table[place, c]
            table[place, c] = table[j, c]
            table[j, c] = value * inverse
        for i in range(SIZE):
            factor = table[i, j]
            if i != j and factor != 0.0:
                for c in range(j, width):
                    table[i, c] -= factor * table[j, c]
    return smallest / largest


@kernel
def write_companion(out, sine, cosine, one, counts, c, s, scratch):
    """
    Write the matrix whose eigenvalues are tan((q_k - origin) / 2) at the solutions of a loop cut at joint k.

    :param out: (256,) out: the matrix by columns.
    :param sine, cosine, one: (6, 9) polynomials of the six equations, from :func:`mix_rows`.
    :param counts: (4,) numbers of rows, from the :class:`Elimination`.
    :param c, s: cosine and sine of the origin, a reference angle of joint k.
    :param scratch: (12 WIDTH + 9,).
    :returns: (rows, largest): number of rows of the matrix, and its largest entry; (0, inf) if the leading coefficients
        are singular at this origin, so that no matrix exists.
    """
    pairs, quadratic, constant = int(counts[0]), int(counts[1]), int(counts[2])
    linear, second = 4 * pairs, 2 * quadratic
    table = matrix(scratch, 0, SIZE, WIDTH)
    row = vector(scratch, SIZE * WIDTH, PRODUCTS)
    _write_system(table, sine, cosine, one, pairs, quadratic, constant, c, s, row)
    width = SIZE + linear + 2 * second
    if not _divide(table, width) > 1e-14:
        return 0, math.inf
    free = linear + second
    size = free + second
    h = matrix(out, 0, size, size)
    largest = 0.0
    for j in range(free):
        for i in range(size):
            h[j, i] = -table[j, SIZE + i]
            largest = max(largest, abs(h[j, i]))
    for j in range(second):
        vectors.write_unit(h[free + j], linear + j)
    return size, largest


@kernel
def other_angles(loop_line, elimination, scratch):
    """
    Return (q_(k-1), q_(k-2)), two angles of a loop that is cut at joint k [rad], from the line that both make.

    :param loop_line: (15, 1) z axis after the rotations of joints k, k+1 and k+2, as in :mod:`line_representation`.
    :param elimination: the :class:`Elimination` of joint k.
    :param scratch: (14,).
    """
    e = elimination
    rank = int(e.counts[3])
    for i in range(EQUATIONS):
        scratch[i] = loop_line[i + 1, 0] - e.constant[i]
    solve_factorised(scratch, e.factors, EQUATIONS, e.tau, rank)
    s1 = c1 = s2 = c2 = 0.0
    for j in range(rank):
        place = e.order[j]
        if place == 2:
            s1 = scratch[j]
        elif place == 5:
            c1 = scratch[j]
        elif place == 6:
            s2 = scratch[j]
        elif place == 7:
            c2 = scratch[j]
    return math.atan2(-s1, c1), math.atan2(-s2, c2)
