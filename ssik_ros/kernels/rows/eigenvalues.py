"""
Eigenvalues of a small real matrix, by balancing, reduction to Hessenberg form and shifted QR steps.

Problem
-------
A v = x v for a dense matrix A of a few dozen rows that has no symmetry.

Solutions
---------
All n eigenvalues, complex ones in conjugate pairs. They are exact for a matrix that differs from A by rounding.

Method
------
1. Exchange rows and columns to isolate eigenvalues; scale the rest by powers of two.
2. Reduce the rest to Hessenberg form by reflections.
3. Make double QR steps with the eigenvalues of the last two rows as shifts. If an entry below the diagonal is
   negligible, split the matrix there.

Degeneracies
------------
Eigenvalues of multiplicity m have errors of the size of the m-th root of rounding. If steps make no progress, an
arbitrary shift is used every ``EXCEPTIONAL`` steps. If squares of entries are not finite, or if the steps do not
converge, a code is returned instead.

Cost
----
About 14 n^3 operations. They are additions, products, quotients and square roots only, in a fixed order. So the results
are bitwise equal on every processor.

References
----------
docs/math/eigenvalues.md: [Parlett1969], [Francis1961], [Ahues1997], [Anderson1999]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import vectors

SCRATCH_ROWS = 3
"""A matrix of n rows needs ``SCRATCH_ROWS * n`` floats of scratch."""

EPSILON = 2.0**-52
NEGLIGIBLE_SHARE = 2.0**-200
"""Relative size of an entry below the diagonal that is negligible regardless of its neighbours."""
SCALING_GAIN = 0.95
"""A row and a column are scaled if the sum of their norms falls below this share of its old value."""
SCALINGS = 20
"""Most passes over all rows and columns."""
STEPS = 30
"""Most QR steps for an eigenvalue, as a multiple of the number of rows; fewer than ten rows count as ten."""
EXCEPTIONAL = 10
"""Number of steps for an eigenvalue after which an arbitrary shift is used."""


@inline_kernel
def _exchange(h, n, i, j):
    """Exchange the rows i and j of a matrix (n, n), then its columns i and j."""
    for k in range(n):
        h[i, k], h[j, k] = h[j, k], h[i, k]
    for k in range(n):
        h[k, i], h[k, j] = h[k, j], h[k, i]


@inline_kernel
def _stands_alone(row, i, low, high):
    """
    Return whether the entries ``low`` to ``high`` of a row or column are zero, except entry ``i``.

    Entry i may have any value.
    """
    j = low
    while j <= high and (j == i or row[j] == 0.0):
        j += 1
    return j > high


@kernel
def _isolate(h, n):
    """
    Permute a matrix ``h`` (n, n) in place, so that eigenvalues which are on the diagonal already come to its ends.

    :returns: (low, high): first and last index of the block in the middle, whose eigenvalues must be computed; high <
        low if none are left.
    """
    low, high, i = 0, n - 1, n - 1
    while i >= low:
        if _stands_alone(h[i], i, low, high):
            _exchange(h, n, i, high)
            high -= 1
            i = high
        else:
            i -= 1
    j = low
    while j <= high:
        if _stands_alone(h[:, j], j, low, high):
            _exchange(h, n, j, low)
            low += 1
            j = low
        else:
            j += 1
    return low, high


@kernel
def _scale(h, low, high):
    """
    Scale a block in place by powers of two, so that row i and column i have similar norms for each i.

    Eigenvalues do not change.

    :param h: (n, n), of which the rows and columns from ``low`` to ``high`` take part.
    :returns: False if the squares of a row and its column have no finite sum, else True.
    """
    for _ in range(SCALINGS):
        done = True
        for i in range(low, high + 1):
            column = row = 0.0
            for j in range(low, high + 1):
                column += h[j, i] * h[j, i]
                row += h[i, j] * h[i, j]
            if not column + row < math.inf:
                return False
            if column == 0.0 or row == 0.0:
                continue
            # These are squares of norms, so that a factor of two counts four times.
            factor, before = 1.0, math.sqrt(column) + math.sqrt(row)
            while 4.0 * column <= row:
                factor, column, row = 2.0 * factor, 4.0 * column, 0.25 * row
            while column >= 4.0 * row:
                factor, column, row = 0.5 * factor, 0.25 * column, 4.0 * row
            if math.sqrt(column) + math.sqrt(row) < SCALING_GAIN * before:
                done = False
                inverse = 1.0 / factor
                vectors.stretch(h[i, low:], inverse, high + 1 - low)
                vectors.stretch(h[low:, i], factor, high + 1 - low)
        if done:
            break
    return True


@inline_kernel
def reflection(u, rest):
    """
    Return (tau, factor, r): the reflection I - tau v v^T with v = (1, factor x) turns the vector (u, x) to (r, 0).

    :param u: first number of the vector.
    :param rest: squared norm of the other numbers x.
    """
    if rest == 0.0:
        return 0.0, 0.0, u
    r = -math.copysign(math.sqrt(u * u + rest), u)
    return (r - u) / r, 1.0 / (u - r), r


@inline_kernel
def _reflect_both_sides(a, n, count, tau, v, row):
    """
    Replace a square block H in place by P H P with the reflection P = I - tau v v^T.

    :param a: flat array with the block; row i of the block begins at ``i * n``.
    :param count: number of rows of the block.
    :param v: (count,) vector of the reflection.
    :param row: (2 count,) scratch.
    """
    column = vector(row, count, count)
    vectors.fill(vector(row, 0, count), 0.0)
    product = 0.0
    for i in range(count):
        here, factor = vector(a, i * n, count), v[i]
        total = 0.0
        for j in range(count):
            total += here[j] * v[j]
            row[j] += factor * here[j]
        column[i] = tau * total
        product += factor * column[i]
    for j in range(count):
        row[j] = tau * (row[j] - product * v[j])
    for i in range(count):
        here, first, second = vector(a, i * n, count), v[i], column[i]
        for j in range(count):
            here[j] -= first * row[j] + second * v[j]


@kernel
def reduce_to_hessenberg(a, n, low, high, scratch):
    """
    Make the rows and columns from ``low`` to ``high`` a Hessenberg matrix with the same eigenvalues, in place.

    In this block all entries left of the subdiagonal become zero. Entries outside the block stay.

    :param a: (n n,) matrix by rows, changed in place.
    :param scratch: (SCRATCH_ROWS n,) scratch.
    """
    h = matrix(a, 0, n, n)
    for k in range(low, high - 1):
        count = high - k
        v = vector(scratch, 0, count)
        rest = 0.0
        for i in range(1, count):
            v[i] = h[k + 1 + i, k]
            rest += v[i] * v[i]
        if rest == 0.0:
            continue
        tau, inverse, r = reflection(h[k + 1, k], rest)
        for i in range(1, count):
            v[i] *= inverse
            h[k + 1 + i, k] = 0.0
        v[0], h[k + 1, k] = 1.0, r
        below = k + 1
        for i in range(low, below):
            tail = vector(a, i * n + below, count)
            total = tau * vectors.inner(tail, v, count)
            vectors.add_scaled(tail, -total, v, count)
        block = vector(a, below * n + below, (count - 1) * n + count)
        _reflect_both_sides(block, n, count, tau, v, vector(scratch, n, 2 * n))


@inline_kernel
def _is_negligible(h, k, low, high, nothing):
    """
    Return whether the entry left of the diagonal in row ``k`` is so small that it can be set to zero, by [Ahues1997].

    :param h: (n, n) Hessenberg matrix.
    :param low, high: first and last row of the part of the matrix that is solved.
    :param nothing: an entry of at most this size is always negligible.
    """
    below = abs(h[k, k - 1])
    if below <= nothing:
        return True
    before, here = h[k - 1, k - 1], h[k, k]
    size = abs(before) + abs(here)
    if size == 0.0:
        size += abs(h[k - 1, k - 2]) if k - 2 >= low else 0.0
        size += abs(h[k + 1, k]) if k + 1 <= high else 0.0
    if not below <= EPSILON * size:
        return False
    above, gap, here = abs(h[k - 1, k]), abs(before - here), abs(here)
    most, least = max(below, above), min(below, above)
    wide, narrow = max(here, gap), min(here, gap)
    total = wide + most
    return least * (most / total) <= max(nothing, EPSILON * (narrow * (wide / total)))


@inline_kernel
def eigenvalues_of_two(a, b, c, d):
    """Return the eigenvalues of [[a, b], [c, d]] as (x1, x2, y1, y2): two real parts, then two imaginary parts."""
    half, larger = 0.5 * (a - d), max(abs(b), abs(c))
    scale = max(abs(half), larger)
    if scale == 0.0:
        return a, d, 0.0, 0.0
    smaller = math.copysign(min(abs(b), abs(c)), b) * math.copysign(1.0, c)
    square = (half / scale) * half + (larger / scale) * smaller
    root = math.sqrt(scale) * math.sqrt(abs(square))
    if square < 0.0:
        middle = 0.5 * (a + d)
        return middle, middle, root, -root
    # Compute corrections of the diagonal, so that a small eigenvalue keeps its digits next to a large one.
    far = half + math.copysign(root, half)
    step = larger / far * smaller if far != 0.0 else 0.0
    return a + step, d - step, 0.0, 0.0


@inline_kernel
def _shifts(h, first, last, steps):
    """
    Return the two shifts of a double QR step in the rows ``first`` to ``last`` as (x1, y1, x2, y2).

    The shifts x1 + i y1 and x2 + i y2 are the eigenvalues of the last two rows. Of two real ones, the one nearer to the
    last diagonal entry is used twice.

    :param h: (n, n) Hessenberg matrix.
    :param steps: number of steps for this eigenvalue; every ``EXCEPTIONAL`` steps the shifts are arbitrary.
    """
    if steps % EXCEPTIONAL == 0:
        k, at = (last - 2, last) if steps % (2 * EXCEPTIONAL) == 0 else (first, first)
        size = abs(h[k + 1, k]) + abs(h[k + 2, k + 1])
        a = d = 0.75 * size + h[at, at]
        b, c = -0.4375 * size, size
    else:
        a, b = h[last - 1, last - 1], h[last - 1, last]
        c, d = h[last, last - 1], h[last, last]
    x1, x2, y1, y2 = eigenvalues_of_two(a, b, c, d)
    if y1 == 0.0:
        # Twice the one that is nearer: then one eigenvalue after the other converges, quadratically.
        x1 = x2 = x1 if abs(x1 - d) <= abs(x2 - d) else x2
    return x1, y1, x2, y2


@inline_kernel
def _start(h, first, last, x1, y1, x2, y2):
    """
    Return (m, u, v, w): the row where a double QR step can begin, and the vector of its first reflection.

    The reflection turns (u, v, w) to (r, 0, 0). The vector is scaled so that |u| + |v| + |w| = 1.

    :param h: (n, n) Hessenberg matrix.
    :param first, last: first and last row of the block.
    :param x1, y1, x2, y2: the shifts x1 + i y1 and x2 + i y2.
    """
    m = last - 2
    while True:
        below = abs(h[m + 1, m])
        scale = abs(h[m, m] - x2) + abs(y2) + below
        below = h[m + 1, m] / scale
        u = below * h[m, m + 1] + (h[m, m] - x1) * ((h[m, m] - x2) / scale) - y1 * (y2 / scale)
        v = below * (h[m, m] + h[m + 1, m + 1] - x1 - x2)
        w = below * h[m + 2, m + 1]
        scale = 1.0 / (abs(u) + abs(v) + abs(w))
        u, v, w = u * scale, v * scale, w * scale
        if m == first:
            break
        diagonal = abs(h[m - 1, m - 1]) + abs(h[m, m]) + abs(h[m + 1, m + 1])
        if abs(h[m, m - 1]) * (abs(v) + abs(w)) <= EPSILON * abs(u) * diagonal:
            break
        m -= 1
    return m, u, v, w


@inline_kernel
def reflect_rows(a, start, n, count, tau, v, w):
    """
    Multiply three neighbouring rows of a matrix in place from the left by I - tau u u^T with u = (1, v, w).

    :param a: (n n,) matrix by rows.
    :param start: index in ``a`` of the first entry of the upper row that takes part.
    :param count: number of entries of each row that take part.
    :param tau, v, w: numbers of the reflection.
    """
    next_row = start + n
    first, second = vector(a, start, count), vector(a, next_row, count)
    third = vector(a, next_row + n, count)
    tau_v, tau_w = tau * v, tau * w
    for j in range(count):
        total = first[j] + v * second[j] + w * third[j]
        first[j] -= total * tau
        second[j] -= total * tau_v
        third[j] -= total * tau_w


@inline_kernel
def reflect_columns(a, start, n, count, tau, v, w):
    """
    Multiply three neighbouring columns of a matrix in place from the right by I - tau u u^T with u = (1, v, w).

    :param a: (n n,) matrix by rows.
    :param start: index in ``a`` of the first entry of the left column that takes part.
    :param count: number of entries of each column that take part.
    :param tau, v, w: numbers of the reflection.
    """
    tau_v, tau_w = tau * v, tau * w
    for i in range(count):
        three = vector(a, start + i * n, 3)
        total = three[0] + v * three[1] + w * three[2]
        three[0] -= total * tau
        three[1] -= total * tau_v
        three[2] -= total * tau_w


@kernel
def _step(a, n, first, last, x1, y1, x2, y2):
    """
    Make one double QR step in place in the block of rows ``first`` to ``last``; entries outside the block stay.

    :param a: (n n,) matrix by rows.
    :param n: size of the matrix.
    :param first, last: first and last row of the block, which has three rows at least.
    :param x1, y1, x2, y2: the shifts x1 + i y1 and x2 + i y2.
    """
    h = matrix(a, 0, n, n)
    m, u, v, w = _start(h, first, last, x1, y1, x2, y2)
    tau, factor, _ = reflection(u, v * v + w * w)
    v, w = factor * v, factor * w
    if m > first:
        h[m, m - 1] *= 1.0 - tau
    for k in range(m, last - 1):
        reflect_rows(a, k * n + k, n, last - k + 1, tau, v, w)
        # The next reflection depends on the lower rows only; its root and quotient overlap with work on upper rows.
        lower = min(3, last - k)
        reflect_columns(a, (k + 1) * n + k, n, lower, tau, v, w)
        below = h[k + 3, k] if lower == 3 else 0.0
        second = h[k + 2, k]
        next_tau, factor, r = reflection(h[k + 1, k], second * second + below * below)
        h[k + 1, k], h[k + 2, k] = r, 0.0
        if lower == 3:
            h[k + 3, k] = 0.0
        reflect_columns(a, first * n + k, n, k - first + 1, tau, v, w)
        tau, v, w = next_tau, factor * second, factor * below
    k, tau_v = last - 1, tau * v
    for j in range(k, last + 1):
        total = h[k, j] + v * h[last, j]
        h[k, j] -= total * tau
        h[last, j] -= total * tau_v
    for i in range(first, last + 1):
        two = vector(a, i * n + k, 2)
        total = two[0] + v * two[1]
        two[0] -= total * tau
        two[1] -= total * tau_v


@kernel
def _iterate(real, imaginary, a, n, low, high):
    """
    Write the eigenvalues of the block of rows ``low`` to ``high`` of a Hessenberg matrix.

    :param real, imaginary: (n,) out: real and imaginary parts, entries ``low`` to ``high``.
    :param a: (n n,) matrix by rows, overwritten.
    :returns: 0, or 1 if the QR steps do not converge.
    """
    h = matrix(a, 0, n, n)
    first, last, steps = low, high, 0
    most = STEPS * max(10, high - low + 1)
    largest = 0.0
    for i in range(low, high):
        largest = max(largest, abs(h[i, i]), abs(h[i + 1, i]))
    while last >= low:
        k = last
        while k > first and not _is_negligible(h, k, low, high, NEGLIGIBLE_SHARE * largest):
            k -= 1
        first = k
        if first > low:
            h[first, first - 1] = 0.0
        if first >= last - 1:
            if first == last:
                real[last], imaginary[last] = h[last, last], 0.0
            else:
                real[first], real[last], imaginary[first], imaginary[last] = eigenvalues_of_two(
                    h[first, first], h[first, last], h[last, first], h[last, last]
                )
            first, last, steps = low, first - 1, 0
            continue
        steps += 1
        if steps > most:
            return 1
        x1, y1, x2, y2 = _shifts(h, first, last, steps)
        _step(a, n, first, last, x1, y1, x2, y2)
    return 0


@kernel
def eigenvalues(real, imaginary, a, n, scratch):
    """
    Write the eigenvalues of a matrix; return 0, or 1 if the QR steps do not converge or squares have no finite sum.

    :param real, imaginary: (n,) out: real and imaginary part of each eigenvalue. Of a conjugate pair, which has two
        neighbouring entries, the eigenvalue with the positive imaginary part comes first.
    :param a: (n n,) matrix by rows or by columns, overwritten. Entries that need no QR steps, as in a triangular
        matrix, are not tested for finite squares.
    :param n: size of the matrix.
    :param scratch: (SCRATCH_ROWS n,) scratch.
    """
    h = matrix(a, 0, n, n)
    low, high = _isolate(h, n)
    if not _scale(h, low, high):
        return 1
    reduce_to_hessenberg(a, n, low, high, scratch)
    for i in range(n):
        real[i], imaginary[i] = h[i, i], 0.0
    return _iterate(real, imaginary, a, n, low, high)
