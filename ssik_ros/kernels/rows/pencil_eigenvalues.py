"""
Eigenvalues of a small real pencil, by the QZ method.

Problem
-------
A v = x B v for dense matrices A and B of a few dozen rows. Either of them may be singular.

Solutions
---------
n eigenvalues as quotients (real + i imaginary) / beta, infinite ones with beta = 0, complex ones in conjugate pairs.
They are exact for a pencil that differs from the given one by rounding.

Method
------
1. Make B triangular by reflections.
2. Make A a Hessenberg matrix by rotations that keep B triangular.
3. Make double QZ steps with the eigenvalues of the last two rows as shifts. If an entry of A below the diagonal is
   negligible, split the pencil there.
4. If a diagonal entry of B is negligible, move the zero to the last row and split off an infinite eigenvalue.

Degeneracies
------------
The eigenvalues of a pencil that is singular for every x are arbitrary. If squares of entries are not finite, or if the
steps do not converge, a code is returned instead.

Cost
----
About 40 n^3 operations: additions, products, quotients and square roots, in a fixed order.

References
----------
docs/math/eigenvalues.md: [Moler1973], [Golub2013], [Anderson1999]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.rows.eigenvalues import (
    eigenvalues_of_two,
    EPSILON,
    EXCEPTIONAL,
    NEGLIGIBLE_SHARE,
    reflect_columns,
    reflect_rows,
    reflection,
    STEPS,
)


@inline_kernel
def _rotation(f, g):
    """Return (c, s, r) of the rotation that turns (f, g) to (r, 0): c f + s g = r and c g - s f = 0."""
    square = f * f + g * g
    if g == 0.0 or square == 0.0:
        return 1.0, 0.0, f
    r = math.copysign(math.sqrt(square), f)
    return f / r, g / r, r


@inline_kernel
def _turn_rows(a, start, n, c, s, count):
    """
    Rotate two neighbouring rows of a matrix in place: x, y become c x + s y and c y - s x.

    :param a: (n n,) matrix by rows.
    :param start: index in ``a`` of the first entry of the upper row x that takes part.
    :param c, s: cosine and sine of the rotation.
    :param count: number of entries of each row that take part.
    """
    upper, lower = vector(a, start, count), vector(a, start + n, count)
    for k in range(count):
        x, y = upper[k], lower[k]
        upper[k], lower[k] = c * x + s * y, c * y - s * x


@inline_kernel
def _turn_columns(a, start, n, c, s, count):
    """
    Rotate two neighbouring columns of a matrix in place: the left one y becomes c y - s x, the right one x c x + s y.

    :param a: (n n,) matrix by rows.
    :param start: index in ``a`` of the first entry of the left column that takes part.
    :param c, s: cosine and sine of the rotation.
    :param count: number of entries of each column that take part.
    """
    for k in range(count):
        two = vector(a, start + k * n, 2)
        x, y = two[1], two[0]
        two[1], two[0] = c * x + s * y, c * y - s * x


@inline_kernel
def _clear_below(a, b, n, k, first, end):
    """
    Make the entry of B at row k, column k - 1 zero: rotate the columns k - 1 and k of A and B.

    :param a, b: (n n,) matrices by rows, changed in place.
    :param first: first row of both matrices that takes part.
    :param end: row of A after the last one that takes part.
    """
    place = k * n + k
    c, s, r = _rotation(b[place], b[place - 1])
    b[place], b[place - 1] = r, 0.0
    start = first * n + k - 1
    _turn_columns(b, start, n, c, s, k - first)
    _turn_columns(a, start, n, c, s, end - first)


@kernel
def _make_triangular(a, b, n):
    """
    Make B upper triangular in place, by reflections of rows that are applied to A and B.

    :param a, b: (n, n).
    """
    for k in range(n - 1):
        rest = 0.0
        for i in range(k + 1, n):
            rest += b[i, k] * b[i, k]
        if rest == 0.0:
            continue
        tau, factor, r = reflection(b[k, k], rest)
        for i in range(k + 1, n):
            b[i, k] *= factor
        for table, begin in ((b, k + 1), (a, 0)):
            for j in range(begin, n):
                total = table[k, j]
                for i in range(k + 1, n):
                    total += b[i, k] * table[i, j]
                total *= tau
                table[k, j] -= total
                for i in range(k + 1, n):
                    table[i, j] -= total * b[i, k]
        b[k, k] = r
        for i in range(k + 1, n):
            b[i, k] = 0.0


@kernel
def _reduce(a, b, n):
    """
    Make A a Hessenberg matrix in place by rotations that keep B triangular.

    :param a, b: (n n,) matrices by rows.
    """
    for j in range(n - 2):
        for i in range(n - 1, j + 1, -1):
            above, place = (i - 1) * n, i * n + j
            if a[place] == 0.0:
                continue
            c, s, r = _rotation(a[above + j], a[place])
            a[above + j], a[place] = r, 0.0
            _turn_rows(a, above + j + 1, n, c, s, n - j - 1)
            _turn_rows(b, above + i - 1, n, c, s, n - i + 1)
            _clear_below(a, b, n, i, 0, n)


@kernel
def _split_infinite(a, b, n, zero, first, last):
    """
    Move a zero from the diagonal of B down to row ``last``, and make row ``last`` of A zero left of the diagonal.

    So an infinite eigenvalue is split off from the block, whose last row is then ``last`` - 1.

    :param a, b: (n n,) matrices by rows, of which the block of rows ``first`` to ``last`` takes part.
    :param zero: row of the zero on the diagonal of B.
    """
    b[zero * n + zero] = 0.0
    for j in range(zero, last):
        place = j * n + j
        c, s, r = _rotation(b[place + 1], b[place + n + 1])
        b[place + 1], b[place + n + 1] = r, 0.0
        _turn_rows(b, place + 2, n, c, s, last - j - 1)
        left = max(j - 1, first)
        _turn_rows(a, j * n + left, n, c, s, last + 1 - left)
        if j > first:
            c, s, r = _rotation(a[place + n], a[place + n - 1])
            a[place + n], a[place + n - 1] = r, 0.0
            _turn_columns(a, first * n + j - 1, n, c, s, j + 1 - first)
            _turn_columns(b, first * n + j - 1, n, c, s, j - first)
    place = last * n + last
    c, s, r = _rotation(a[place], a[place - 1])
    a[place], a[place - 1] = r, 0.0
    _turn_columns(a, first * n + last - 1, n, c, s, last - first)
    _turn_columns(b, first * n + last - 1, n, c, s, last - first)


@inline_kernel
def _null_reflection(p0, p1, p2, q0, q1, q2):
    """
    Return (tau, v, w) of the reflection I - tau u u^T, u = (1, v, w), whose first column is orthogonal to two vectors.

    The vectors are (p0, p1, p2) and (q0, q1, q2).
    """
    if max(abs(q1), abs(q2)) > max(abs(p1), abs(p2)):
        p0, p1, p2, q0, q1, q2 = q0, q1, q2, p0, p1, p2
    exchanged = abs(p2) > abs(p1)
    if exchanged:
        p1, p2, q1, q2 = p2, p1, q2, q1
    if abs(p1) == 0.0:
        return 1.0, 1.0, 0.0
    factor = q1 / p1
    y, corner = q0 - factor * p0, q2 - factor * p2
    scale = 1.0
    if abs(corner) == 0.0:
        scale, y = 0.0, 1.0
        x = -p2 / p1
    else:
        if abs(corner) < abs(y):
            scale = abs(corner / y)
        if abs(p1) < abs(scale * p0):
            scale = abs(p1 / p0)
        y = scale * y / corner
        x = (scale * p0 - p2 * y) / p1
    if exchanged:
        x, y = y, x
    size = math.sqrt(scale * scale + x * x + y * y)
    inverse = -1.0 / (scale + size)
    return 1.0 + scale / size, inverse * x, inverse * y


@inline_kernel
def _quotient(a, b, i):
    """
    Return a 2x2 matrix, row by row, with the eigenvalues of the 2x2 block of a pencil in the rows i and i + 1.

    The matrix is A B^-1 or B^-1 A of these blocks; B must have no zero on the diagonal there.
    """
    j = i + 1
    p, q, r = b[i, i], b[i, j], b[j, j]
    if abs(p) > abs(r):
        # A B^-1, otherwise B^-1 A: the small entry divides as few numbers as possible.
        w, y = a[i, i] / p, a[j, i] / p
        return w, (a[i, j] - w * q) / r, y, (a[j, j] - y * q) / r
    y, z = a[j, i] / r, a[j, j] / r
    return (a[i, i] - q * y) / p, (a[i, j] - q * z) / p, y, z


@inline_kernel
def _start(a, b, first, last, steps):
    """
    Return the vector (u, v, w) with which a double QZ step begins, scaled to |u| + |v| + |w| = 1.

    These are the first entries of the first column of (M - x1 I) (M - x2 I). Here M is A B^-1, and x1, x2 are the
    shifts.

    :param a, b: (n, n) Hessenberg matrix A and triangular matrix B.
    :param first, last: first and last row of the block.
    :param steps: number of steps for this eigenvalue; every EXCEPTIONAL steps the shifts are arbitrary.
    """
    w, x, y, z = _quotient(a, b, last - 1)
    if steps % EXCEPTIONAL == 0:
        size = abs(y) + abs(a[last - 1, last - 2] / b[last - 2, last - 2])
        w = z = 0.75 * size + z
        x, y = -0.4375 * size, size
    x1, x2, y1, _ = eigenvalues_of_two(w, x, y, z)
    if y1 == 0.0:
        # Twice the one that is nearer: then one eigenvalue after the other converges, quadratically.
        x1 = x2 = x1 if abs(x1 - z) <= abs(x2 - z) else x2
    i, j = first, first + 1
    p, q, r = b[i, i], b[i, j], b[j, j]
    d, e = a[i, i] / p, a[j, i] / p
    above, below = (a[i, j] - d * q) / r, (a[j, j] - e * q) / r
    u = (d - x1) * (d - x2) + y1 * y1 + above * e
    v = e * (d + below - x1 - x2)
    w = e * (a[j + 1, j] / r)
    scale = 1.0 / (abs(u) + abs(v) + abs(w))
    return u * scale, v * scale, w * scale


@kernel
def _step(a, b, n, first, last, u, v, w):
    """
    Make one double QZ step in the block of rows ``first`` to ``last``, which has three rows at least.

    :param a, b: (n n,) matrices by rows, changed in place.
    :param u, v, w: result of :func:`_start`.
    """
    end = last + 1
    for j in range(first, last - 1):
        place = j * n + j
        below = place + n
        if j > first:
            u, v, w = a[place - 1], a[below - 1], a[below + n - 1]
        tau, factor, r = reflection(u, v * v + w * w)
        v, w = factor * v, factor * w
        if j > first:
            a[place - 1], a[below - 1], a[below + n - 1] = r, 0.0, 0.0
        reflect_rows(a, place, n, end - j, tau, v, w)
        reflect_rows(b, place, n, end - j, tau, v, w)
        p, q = vector(b, below, 3), vector(b, below + n, 3)
        tau, v, w = _null_reflection(p[0], p[1], p[2], q[0], q[1], q[2])
        top = first * n + j
        reflect_columns(a, top, n, min(j + 4, end) - first, tau, v, w)
        reflect_columns(b, top, n, j + 3 - first, tau, v, w)
        p[0] = q[0] = 0.0
    place = (last - 1) * n + last - 1
    c, s, r = _rotation(a[place - 1], a[place + n - 1])
    a[place - 1], a[place + n - 1] = r, 0.0
    _turn_rows(a, place, n, c, s, 2)
    _turn_rows(b, place, n, c, s, 2)
    _clear_below(a, b, n, last, first, end)


@inline_kernel
def _norm(a, n):
    """Return the Frobenius norm of a matrix (n, n): the root of the sum of all squares."""
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += a[i, j] * a[i, j]
    return math.sqrt(total)


@inline_kernel
def _first_row(a, last, nothing):
    """
    Return the first row of the unreduced block that ends at row ``last`` of a Hessenberg matrix.

    The negligible entry left of this row's diagonal is set to zero.

    :param nothing: an entry of at most this size is always negligible.
    """
    k = last
    while k > 0:
        if abs(a[k, k - 1]) <= max(nothing, EPSILON * (abs(a[k, k]) + abs(a[k - 1, k - 1]))):
            a[k, k - 1] = 0.0
            break
        k -= 1
    return k


@kernel
def _iterate(real, imaginary, beta, a, b, n, size_a, size_b):
    """
    Write the eigenvalues (real + i imaginary) / beta of a Hessenberg matrix A and a triangular matrix B.

    :param real, imaginary, beta: (n,) out; the caller has set ``imaginary`` to 0 and ``beta`` to 1.
    :param a, b: (n n,) by rows, overwritten.
    :param size_a, size_b: Frobenius norms of A and B.
    :returns: 0, or 1 if the QZ steps do not converge.
    """
    h, t = matrix(a, 0, n, n), matrix(b, 0, n, n)
    last, steps = n - 1, 0
    most = STEPS * max(10, n)
    while last >= 0:
        first = _first_row(h, last, NEGLIGIBLE_SHARE * size_a)
        zero = first
        while zero <= last and not abs(t[zero, zero]) <= EPSILON * size_b:
            zero += 1
        if zero <= last or first == last:
            if zero < last or (zero == last and first < last):
                _split_infinite(a, b, n, zero, first, last)
            real[last] = math.copysign(1.0, t[last, last]) * h[last, last]
            beta[last] = abs(t[last, last]) if zero > last else 0.0
            last, steps = last - 1, 0
        elif first == last - 1:
            w, x, y, z = _quotient(h, t, first)
            real[first], real[last], imaginary[first], imaginary[last] = eigenvalues_of_two(
                w, x, y, z
            )
            last, steps = last - 2, 0
        elif steps == most:
            return 1
        else:
            steps += 1
            u, v, w = _start(h, t, first, last, steps)
            _step(a, b, n, first, last, u, v, w)
    return 0


@kernel
def generalised_eigenvalues(real, imaginary, beta, a, b, n):
    """
    Write the eigenvalues x = (real + i imaginary) / beta of A v = x B v.

    Of a conjugate pair, which has two neighbouring entries, the eigenvalue with the positive imaginary part comes
    first.

    :param real, imaginary, beta: (n,) out; beta >= 0, and 0 marks an infinite eigenvalue. Rounding may make an infinite
        eigenvalue a large finite one.
    :param a, b: (n n,) matrices, both by rows or both by columns, overwritten.
    :returns: 0, or 1 if the QZ steps do not converge or the square of an entry is not finite.
    """
    upper, lower = matrix(a, 0, n, n), matrix(b, 0, n, n)
    size_a, size_b = _norm(upper, n), _norm(lower, n)
    if not size_a + size_b < math.inf:
        return 1
    _make_triangular(upper, lower, n)
    _reduce(a, b, n)
    for i in range(n):
        imaginary[i], beta[i] = 0.0, 1.0
    return _iterate(real, imaginary, beta, a, b, n, size_a, size_b)
