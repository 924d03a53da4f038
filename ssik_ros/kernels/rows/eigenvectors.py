"""
Eigenvalues and right eigenvectors of a matrix of a few rows; the vectors come from inverse iteration.

The matrix minus an eigenvalue is singular up to rounding. Solving with it turns almost any vector into an eigenvector.
One such step is made; a second step would spoil the vectors of defective matrices. If the solution is not large, the
start vector had hardly any component along the eigenvector, and another start vector is tried.
"""

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.rows import eigenvalues as values

STARTS = 4
"""Most start vectors."""
LARGE = 0.01
"""Size of a solution, relative to the inverse of rounding, that proves an eigenvector."""
GOLDEN = 0.6180339887498949
"""Start vectors are fractions of its multiples, which have no structure."""


def scratch_size(n):
    """Return how many numbers the scratch of :func:`eigensystem` has for a matrix of n rows."""
    return 3 * n * n + (2 + values.SCRATCH_ROWS) * n


@kernel
def _write_shifted(re, im, a, n, x, y):
    """
    Write the matrix A - (x + i y) I into ``re`` and ``im``; return the largest absolute real or imaginary part.

    :param re, im: (n, n + 1) parts; the last column stays as it is.
    :param a: (n, n).
    """
    largest = 0.0
    for i in range(n):
        for j in range(n):
            re[i, j], im[i, j] = a[i, j], 0.0
        re[i, i], im[i, i] = a[i, i] - x, -y
        for j in range(n):
            largest = max(largest, abs(re[i, j]), abs(im[i, j]))
    return largest


@kernel
def _exchange(re, im, n, j):
    """
    Exchange row ``j`` of a complex matrix with the row from ``j`` on that has the largest entry in column ``j``.

    Only the columns from ``j`` on are exchanged.

    :param re, im: (n, n + 1) real and imaginary parts.
    """
    place, pivot = j, abs(re[j, j]) + abs(im[j, j])
    for i in range(j + 1, n):
        size = abs(re[i, j]) + abs(im[i, j])
        if size > pivot:
            place, pivot = i, size
    if place != j:
        for k in range(j, n + 1):
            re[j, k], re[place, k] = re[place, k], re[j, k]
            im[j, k], im[place, k] = im[place, k], im[j, k]


@kernel
def _solve(re, im, n, least):
    """
    Solve complex linear equations in place: the last column is the right side in and the solution out.

    :param re, im: (n, n + 1) real and imaginary parts of the equations; the other columns are overwritten.
    :param least: smallest pivot; a smaller pivot is replaced by this number.
    """
    for j in range(n):
        _exchange(re, im, n, j)
        if not abs(re[j, j]) + abs(im[j, j]) > least:
            re[j, j], im[j, j] = least, 0.0
        size = re[j, j] * re[j, j] + im[j, j] * im[j, j]
        u, v = re[j, j] / size, -im[j, j] / size
        for k in range(j, n + 1):
            re[j, k], im[j, k] = u * re[j, k] - v * im[j, k], u * im[j, k] + v * re[j, k]
        for i in range(j + 1, n):
            u, v = re[i, j], im[i, j]
            for k in range(j, n + 1):
                re[i, k] -= u * re[j, k] - v * im[j, k]
                im[i, k] -= u * im[j, k] + v * re[j, k]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            u, v = re[i, j], im[i, j]
            re[i, n] -= u * re[j, n] - v * im[j, n]
            im[i, n] -= u * im[j, n] + v * re[j, n]


@kernel
def _normalise(re, im, n):
    """
    Divide the last column of a complex matrix by its largest entry, which becomes 1; return the size of this entry.

    The size is |real part| + |imaginary part|, which also decides about the largest; 0 for a column of zeros, which
    stays.

    :param re, im: (n, n + 1) real and imaginary parts.
    """
    largest, u, v = 0.0, 0.0, 0.0
    for i in range(n):
        size = abs(re[i, n]) + abs(im[i, n])
        if size > largest:
            largest, u, v = size, re[i, n], im[i, n]
    if largest == 0.0:
        return 0.0
    # Divided by its size first: the square of an entry of the solution may be too large.
    u, v = u / largest, v / largest
    square = u * u + v * v
    u, v = u / square / largest, -v / square / largest
    for i in range(n):
        re[i, n], im[i, n] = u * re[i, n] - v * im[i, n], u * im[i, n] + v * re[i, n]
    return largest


@kernel
def _write_vector(re, im, a, n, x, y, column):
    """
    Write a right eigenvector of the eigenvalue x + i y into the last column of ``re`` and ``im``, with one entry 1.

    No entry has an absolute value above the root of 2, or above 1 for a real eigenvalue. Up to STARTS start vectors are
    tried; if none proves an eigenvector, the last result stays.

    :param re, im: (n, n + 1) real and imaginary parts, overwritten.
    :param a: (n, n) the matrix.
    :param column: index of the eigenvalue, which chooses the start vector, so that equal eigenvalues get different
        ones.
    """
    for attempt in range(STARTS):
        for i in range(n):
            share = (1 + i + (column + attempt * n) * n) * GOLDEN
            re[i, n], im[i, n] = 0.5 + share - int(share), 0.0
        largest = _write_shifted(re, im, a, n, x, y)
        least = values.EPSILON * largest if largest > 0.0 else 1.0
        _solve(re, im, n, least)
        if _normalise(re, im, n) * least > LARGE:
            break


@kernel
def eigensystem(real, imaginary, vectors, a, n, scratch):
    """
    Write eigenvalues and right eigenvectors of a matrix; return 0, or 1 if the eigenvalues do not converge.

    :param real, imaginary: (n,) out: real and imaginary part of each eigenvalue. Of a conjugate pair, which has two
        neighbouring entries, the eigenvalue with the positive imaginary part comes first.
    :param vectors: (n n,) out: one vector after the other, scaled as by :func:`_write_vector`: one entry is 1, and no
        real vector has a larger one. A vector that inverse iteration does not prove, such as one of a multiple
        eigenvalue, is written, too. Of a conjugate pair, the first n numbers are the real part, the next n the
        imaginary part, of the vector of the first eigenvalue.
    :param a: (n n,) matrix by rows, not changed; entries whose squares are not finite mostly give the result 1, see
        :func:`eigenvalues.eigenvalues`.
    :param n: size of the matrix.
    :param scratch: (scratch_size(n),) scratch.
    """
    table, size = matrix(a, 0, n, n), n * (n + 1)
    re, im = matrix(scratch, 0, n, n + 1), matrix(scratch, size, n, n + 1)
    place = 2 * size
    copy = vector(scratch, place, n * n)
    for i in range(n * n):
        copy[i] = a[i]
    rest = vector(scratch, place + n * n, values.SCRATCH_ROWS * n)
    if values.eigenvalues(real, imaginary, copy, n, rest) != 0:
        return 1
    for column in range(n):
        if imaginary[column] < 0.0:
            continue
        _write_vector(re, im, table, n, real[column], imaginary[column], column)
        for i in range(n):
            vectors[column * n + i] = re[i, n]
            if imaginary[column] > 0.0:
                vectors[(column + 1) * n + i] = im[i, n]
    return 0
