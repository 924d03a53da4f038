"""
Vectors of three numbers as tuples (x, y, z), rotations about unit axes, and the usual loops over arrays.

A tuple lives in registers: nothing is allocated and nothing is indexed at run time.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.geometry import so3


@inline_kernel
def dot(a, b):
    """Return the scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline_kernel
def cross(a, b):
    """Return the vector product of two vectors."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inline_kernel
def add(a, b):
    """Return a + b, the sum of two vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline_kernel
def subtract(a, b):
    """Return a - b, the difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline_kernel
def scale(s, a):
    """Return s a, a vector times a number."""
    return s * a[0], s * a[1], s * a[2]


@inline_kernel
def unit(k):
    """
    Return the unit vector (x, y, z) along a coordinate axis.

    :param k: 0 for x, 1 for y, 2 for z.
    """
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@inline_kernel
def read(array, start):
    """Return the three numbers of a flat array from index ``start`` on as a vector."""
    return array[start], array[start + 1], array[start + 2]


@inline_kernel
def write(array, start, a):
    """Write the three components of vector ``a`` into a flat array from index ``start`` on."""
    array[start], array[start + 1], array[start + 2] = a


@inline_kernel
def column(rows, k):
    """Return column ``k`` (0 to 2) of the (3, 3) matrix in the first nine numbers of ``rows``, row by row."""
    return rows[k], rows[3 + k], rows[6 + k]


@inline_kernel
def combine(x, y, z, a):
    """Return x a_0 + y a_1 + z a_2, for numbers or lanes: the matrix with columns x, y, z times a vector."""
    return (
        x[0] * a[0] + y[0] * a[1] + z[0] * a[2],
        x[1] * a[0] + y[1] * a[1] + z[1] * a[2],
        x[2] * a[0] + y[2] * a[1] + z[2] * a[2],
    )


@inline_kernel
def times(rows, a):
    """Return R a, with the (3, 3) matrix R in the first nine numbers or lanes of ``rows``, row by row."""
    return (
        rows[0] * a[0] + rows[1] * a[1] + rows[2] * a[2],
        rows[3] * a[0] + rows[4] * a[1] + rows[5] * a[2],
        rows[6] * a[0] + rows[7] * a[1] + rows[8] * a[2],
    )


@inline_kernel
def transposed_times(rows, a):
    """Return R^T a, with the (3, 3) matrix R in the first nine numbers or lanes of ``rows``, row by row."""
    return (
        rows[0] * a[0] + rows[3] * a[1] + rows[6] * a[2],
        rows[1] * a[0] + rows[4] * a[1] + rows[7] * a[2],
        rows[2] * a[0] + rows[5] * a[1] + rows[8] * a[2],
    )


@inline_kernel
def norm(a):
    """Return the length of a vector."""
    return math.sqrt(dot(a, a))


@inline_kernel
def turn(k, cosine, sine, v):
    """
    Return a vector rotated about a unit axis, by the right-hand rule.

    :param k: unit axis.
    :param cosine, sine: cosine and sine of the rotation angle.
    :param v: the vector to rotate.
    """
    along = dot(k, v) * (1.0 - cosine)
    w = cross(k, v)
    return (
        cosine * v[0] + sine * w[0] + along * k[0],
        cosine * v[1] + sine * w[1] + along * k[1],
        cosine * v[2] + sine * w[2] + along * k[2],
    )


@inline_kernel
def rotate(k, t, v):
    """
    Return a vector rotated about a unit axis.

    :param k: unit axis.
    :param t: rotation angle [rad].
    :param v: the vector to rotate.
    """
    s, c = so3.sine_cosine(t)
    return turn(k, c, s, v)


@inline_kernel
def perpendicular(k):
    """
    Return a unit vector at right angles to a unit vector; equal inputs give equal results.

    :param k: unit vector.
    """
    # The coordinate axis furthest from k.
    ax, ay, az = abs(k[0]), abs(k[1]), abs(k[2])
    if ax <= ay and ax <= az:
        v = (0.0, -k[2], k[1])
    elif ay <= az:
        v = (k[2], 0.0, -k[0])
    else:
        v = (-k[1], k[0], 0.0)
    return scale(1.0 / norm(v), v)


@inline_kernel
def copy(out, source):
    """
    Copy the first n numbers of ``source`` into ``out``; the two arrays must not overlap.

    This loop replaces ``out[:] = source``, for which numba would compile an overlap check and an error text each time.

    :param out: (n,).
    :param source: (n,) or longer.
    """
    for i in range(len(out)):
        out[i] = source[i]


@inline_kernel
def copy_table(out, source):
    """
    Copy the first m rows and n columns of ``source`` into ``out``; the two arrays must not overlap.

    :param out: (m, n).
    :param source: (m, n) or larger.
    """
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = source[i, j]


@inline_kernel
def fill(out, value):
    """
    Set all elements of an array to a value.

    :param out: (n,).
    :param value: the value of every element.
    """
    for i in range(len(out)):
        out[i] = value


@inline_kernel
def put(out, source, count):
    """Copy the first ``count`` numbers of ``source`` to the begin of ``out``; the two arrays must not overlap."""
    for i in range(count):
        out[i] = source[i]


@inline_kernel
def inner(a, b, count):
    """Return the scalar product of the first ``count`` numbers of two arrays."""
    total = 0.0
    for i in range(count):
        total += a[i] * b[i]
    return total


@inline_kernel
def add_scaled(out, factor, a, count):
    """Add ``factor`` times ``a`` to ``out`` in place, for the first ``count`` numbers."""
    for i in range(count):
        out[i] += factor * a[i]


@inline_kernel
def stretch(out, factor, count):
    """Multiply the first ``count`` numbers of ``out`` by a factor, in place."""
    for i in range(count):
        out[i] *= factor


@inline_kernel
def divide(out, divisor, count):
    """Divide the first ``count`` numbers of ``out`` by ``divisor``, in place."""
    for i in range(count):
        out[i] /= divisor


@inline_kernel
def largest_of(a, count):
    """Return the largest absolute value of the first ``count`` numbers of an array."""
    largest = 0.0
    for i in range(count):
        largest = max(largest, abs(a[i]))
    return largest


@inline_kernel
def write_unit(out, place):
    """Set the element with index ``place`` of an array (n,) to 1 and all others to 0."""
    fill(out, 0.0)
    out[place] = 1.0
