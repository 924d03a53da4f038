"""
Rigid transforms as twelve numbers: the rotation row by row, then the translation.

``T_ab`` is the pose of b in a: it maps coordinates in b to coordinates in a. A twist is (linear, angular), as in
pinocchio. ``compose(out, T_ab, T_bc)`` writes T_ac.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3


@inline_kernel
def identity(out):
    """Write the identity transform into ``out`` (12,)."""
    for i in range(12):
        out[i] = 1.0 if i == 0 or i == 4 or i == 8 else 0.0


@kernel
def compose(out, a, b):
    """
    Write the product a b of two transforms: T_ac, if a is T_ab and b is T_bc.

    :param out: (12,) the product; a different array than ``a`` and ``b``.
    :param a, b: (12,) transforms.
    """
    for i in range(3):
        x, y, z = a[3 * i], a[3 * i + 1], a[3 * i + 2]
        out[3 * i] = x * b[0] + y * b[3] + z * b[6]
        out[3 * i + 1] = x * b[1] + y * b[4] + z * b[7]
        out[3 * i + 2] = x * b[2] + y * b[5] + z * b[8]
        out[9 + i] = x * b[9] + y * b[10] + z * b[11] + a[9 + i]


@kernel
def invert(out, a):
    """
    Write the inverse of a rigid transform.

    :param out: (12,) the inverse; a different array than ``a``.
    :param a: (12,) transform, not checked.
    """
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = a[3 * j + i]
        out[9 + i] = -(a[i] * a[9] + a[3 + i] * a[10] + a[6 + i] * a[11])


@kernel
def is_rigid(matrix, first, tolerance):
    """
    Return whether four rows of an array are a finite rigid transform; a reflection is not rigid.

    :param matrix: (., 4); the 4x4 matrix starts at row ``first``.
    :param tolerance: largest deviation of R^T R from identity and of the last row from (0, 0, 0, 1).
    """
    m = matrix[first : first + 4]
    for i in range(3):
        for j in range(4):
            if not math.isfinite(m[i, j]):
                return False
    for i in range(3):
        for j in range(i + 1):
            product = m[0, i] * m[0, j] + m[1, i] * m[1, j] + m[2, i] * m[2, j]
            if not abs(product - (1.0 if i == j else 0.0)) <= tolerance:
                return False
        if not abs(m[3, i]) <= tolerance:
            return False
    determinant = (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )
    return determinant > 0.0 and abs(m[3, 3] - 1.0) <= tolerance


@kernel
def from_matrix(out, matrix, first):
    """
    Write a 4x4 matrix, stored in four rows of an array, as the twelve numbers of a transform; nothing is checked.

    :param out: (12,) the rotation row by row, then the translation.
    :param matrix: (., 4); the 4x4 matrix starts at row ``first``.
    """
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = matrix[first + i, j]
        out[9 + i] = matrix[first + i, 3]


@kernel
def to_matrix(out, transform):
    """
    Write a transform as a 4x4 matrix.

    :param out: (4, 4).
    :param transform: (12,).
    """
    for i in range(3):
        for j in range(3):
            out[i, j] = transform[3 * i + j]
        out[i, 3] = transform[9 + i]
        out[3, i] = 0.0
    out[3, 3] = 1.0


@kernel
def orthonormalise(transform):
    """
    Bring a nearly orthonormal rotation onto SO(3) in place, by one Newton step of the polar decomposition.

    A deviation d of R^T R from identity becomes a deviation of order d^2: 1e-6 becomes about 1e-12, and 1e-8 rounding.

    :param transform: (12,).
    """
    r00, r01, r02 = transform[0], transform[1], transform[2]
    r10, r11, r12 = transform[3], transform[4], transform[5]
    r20, r21, r22 = transform[6], transform[7], transform[8]
    a = 1.5 - 0.5 * (r00 * r00 + r10 * r10 + r20 * r20)
    b = 1.5 - 0.5 * (r01 * r01 + r11 * r11 + r21 * r21)
    c = 1.5 - 0.5 * (r02 * r02 + r12 * r12 + r22 * r22)
    d = -0.5 * (r00 * r01 + r10 * r11 + r20 * r21)
    e = -0.5 * (r00 * r02 + r10 * r12 + r20 * r22)
    f = -0.5 * (r01 * r02 + r11 * r12 + r21 * r22)
    for i in range(3):
        x, y, z = transform[3 * i], transform[3 * i + 1], transform[3 * i + 2]
        transform[3 * i] = x * a + y * d + z * e
        transform[3 * i + 1] = x * d + y * b + z * f
        transform[3 * i + 2] = x * e + y * f + z * c


@kernel
def errors_between(actual, target):
    """
    Return (distance, angle) between two poses: position error [m] and rotation error [rad].

    :param actual, target: (12,) poses in the same frame.
    :returns: (distance, angle): at least 0 [m], and in [0, pi] [rad].
    """
    dx, dy, dz = target[9] - actual[9], target[10] - actual[10], target[11] - actual[11]
    x, y, z = relative_rotation_vector(actual, target)
    return math.sqrt(dx * dx + dy * dy + dz * dz), math.sqrt(x * x + y * y + z * z)


@inline_kernel
def relative_rotation_vector(actual, target):
    """
    Return the rotation vector (x, y, z) [rad] that turns ``actual`` into ``target``, in axes of the common frame.

    It is log(R_target R_actual^T).

    :param actual, target: (12,) poses in the same frame.
    """
    a, t = actual, target
    return so3.log_of(
        t[0] * a[0] + t[1] * a[1] + t[2] * a[2],
        t[0] * a[3] + t[1] * a[4] + t[2] * a[5],
        t[0] * a[6] + t[1] * a[7] + t[2] * a[8],
        t[3] * a[0] + t[4] * a[1] + t[5] * a[2],
        t[3] * a[3] + t[4] * a[4] + t[5] * a[5],
        t[3] * a[6] + t[4] * a[7] + t[5] * a[8],
        t[6] * a[0] + t[7] * a[1] + t[8] * a[2],
        t[6] * a[3] + t[7] * a[4] + t[8] * a[5],
        t[6] * a[6] + t[7] * a[7] + t[8] * a[8],
    )
