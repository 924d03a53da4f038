"""
Compute eigenvalues and eigenvectors by numpy in artifacts, in place of kernels with the same arguments.

An artifact is a generated Python module that solves one arm. The kernels' QR steps would be slow in plain Python.
"""

import math
from typing import Any

import numpy as np

ROTATIONS = 4
"""Number of rotations of a pencil that are compared."""


def eigenvalues(real: Any, imaginary: Any, a: Any, n: Any, scratch: Any) -> int:
    """
    Write the eigenvalues of a matrix; return 0, or 1 without writing after a failure.

    It fails if the eigenvalues do not converge, or if an element is not finite.

    :param real, imaginary: (n,) out: real and imaginary parts; conjugate pairs are neighbours.
    :param a: (n n,) matrix, by rows or by columns.
    :param n: size of the matrix.
    :param scratch: not used.
    """
    try:
        values = np.linalg.eigvals(a[: n * n].reshape(n, n).T)
    except np.linalg.LinAlgError:
        return 1
    real[:n], imaginary[:n] = values.real, values.imag
    return 0


def eigensystem(real: Any, imaginary: Any, vectors: Any, a: Any, n: Any, scratch: Any) -> int:
    """
    Write eigenvalues and right eigenvectors of a matrix; return 0, or 1 without writing after a failure.

    It fails if the eigenvalues do not converge, or if an element is not finite.

    :param real, imaginary: (n,) out: real and imaginary parts; conjugate pairs are neighbours.
    :param vectors: (n n,) out: one vector after the other, scaled so that its largest entry is real. Of a conjugate
        pair, the first n numbers are the real part, the next n the imaginary part, of the first eigenvalue's vector.
    :param a: (n n,) matrix by rows.
    :param n: size of the matrix.
    :param scratch: not used.
    """
    try:
        values, columns = np.linalg.eig(a[: n * n].reshape(n, n))
    except np.linalg.LinAlgError:
        return 1
    real[:n], imaginary[:n] = values.real, values.imag
    second = np.asarray(values.imag) < 0.0
    stored = np.where(second, -columns.imag, columns.real)
    vectors[: n * n] = stored.T.ravel()
    return 0


def generalised_eigenvalues(real: Any, imaginary: Any, beta: Any, a: Any, b: Any, n: Any) -> int:
    """
    Write the eigenvalues (real + i imaginary) / beta of A v = x B v; return 0, or 1 without writing after a failure.

    The pencil is rotated, A1 = cA + sB and B1 = cB - sA, by the one of four angles for which B1 has the smallest
    condition number. An eigenvalue m of A1 v = m B1 v gives x = (c m - s) / (s m + c), which may be infinite. The
    function fails if the eigenvalues do not converge, an element is not finite, or B1 is singular. numpy has no such
    routine.

    :param real, imaginary, beta: (n,) out; beta >= 0, and 0 for an infinite eigenvalue.
    :param a, b: (n n,) matrices, both by rows or both by columns.
    :param n: size of the matrices.
    """
    first, second = (part[: n * n].reshape(n, n).T for part in (a, b))
    angles = [(0.5 + k) * math.pi / ROTATIONS for k in range(ROTATIONS)]
    rotations = [(math.cos(angle), math.sin(angle)) for angle in angles]
    try:
        c, s = min(rotations, key=lambda r: np.linalg.cond(r[0] * second - r[1] * first))
        quotient = np.linalg.solve(c * second - s * first, c * first + s * second)
        values = np.linalg.eigvals(quotient)
    except np.linalg.LinAlgError:
        return 1
    top, bottom = c * values - s, s * values + c
    size = np.abs(bottom)
    top = top * np.where(size > 0.0, np.conj(bottom), 1.0) / np.where(size > 0.0, size, 1.0)
    unit = np.hypot(np.abs(top), size)
    real[:n], imaginary[:n], beta[:n] = top.real / unit, top.imag / unit, size / unit
    return 0
