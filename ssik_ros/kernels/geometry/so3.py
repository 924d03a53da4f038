"""
Rotations in kernels: sine and cosine, matrices, rotation vectors, quaternions (x, y, z, w), wrapping of angles.

Matrices are written as the first nine numbers of a row-major array. So the same functions serve a (3, 3) matrix and the
(12,) poses of :mod:`ssik_ros.kernels.geometry.se3`.

References: [Sola2018] for the exponential, the logarithm and the Jacobians of SO(3); [Shepperd1978] for the
choice of the largest quaternion component.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel

TWO_PI = 2.0 * math.pi
SMALL_ANGLE = 1e-4
"""Below it the series used here are exact to double precision [rad]."""
NEARLY_HALF_TURN = -0.9
"""Cosine of the angle below which a logarithm goes through the quaternion: the skew part of the
matrix, which vanishes at pi, no longer determines the axis well."""


TO_QUARTERS = 2.0 / math.pi
QUARTER_HIGH = 1.5707963267341256
QUARTER_MIDDLE = 6.077100506303966e-11
QUARTER_LOW = 2.0222662487959506e-21
"""pi/2 in three parts, the first two short enough that their products with a count of quarters are exact."""
LARGEST_ANGLE = 1e5
"""Above it the reduction by quarters would lose bits, and the C library's functions are used [rad]."""


@kernel
def large_sine_cosine(angle):
    """Return (sine, cosine) of an angle of any size [rad], computed by the C library."""
    return math.sin(angle), math.cos(angle)


@inline_kernel
def within_a_quarter(x):
    """
    Return (sine, cosine) of an angle in [-pi/4, pi/4] by polynomials.

    :param x: a number, or lanes of several numbers [rad].
    """
    z = x * x
    sine = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
    sine = sine * z + 2.75573137070700676789e-06
    sine = sine * z - 1.98412698298579493134e-04
    sine = sine * z + 8.33333333332248946124e-03
    sine = sine * z - 1.66666666666666324348e-01
    sine = x + x * z * sine
    cosine = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09
    cosine = cosine * z - 2.75573143513906633035e-07
    cosine = cosine * z + 2.48015872894767294178e-05
    cosine = cosine * z - 1.38888888888741095749e-03
    cosine = cosine * z + 4.16666666666666019037e-02
    half = 0.5 * z
    rest = 1.0 - half
    cosine = rest + (((1.0 - rest) - half) + z * z * cosine)
    return sine, cosine


@inline_kernel
def sine_cosine(angle):
    """
    Return (sine, cosine) of an angle [rad], within three units in the last place; within two below 1000 rad.

    If |angle| is below :data:`LARGEST_ANGLE`, the result has the same bytes on every machine. The angle is reduced to
    [-pi/4, pi/4] by whole quarter turns; :func:`within_a_quarter` does the rest. Otherwise the C library computes both.

    References: [Cody1980] for the reduction, [Ng1992] for the minimax coefficients.
    """
    if not abs(angle) < LARGEST_ANGLE:
        return large_sine_cosine(angle)
    quarters = math.floor(angle * TO_QUARTERS + 0.5)
    x = ((angle - quarters * QUARTER_HIGH) - quarters * QUARTER_MIDDLE) - quarters * QUARTER_LOW
    sine, cosine = within_a_quarter(x)
    # Exact products instead of branches: a processor cannot predict the quadrant of an arbitrary angle.
    quadrant = int(quarters) & 3
    odd = float(quadrant & 1)
    even = 1.0 - odd
    sine_sign = 1.0 - float(quadrant & 2)
    cosine_sign = 1.0 - float((quadrant + 1) & 2)
    return sine_sign * (even * sine + odd * cosine), cosine_sign * (even * cosine + odd * sine)


@inline_kernel
def wrap_to_pi(angle):
    """Return an angle moved by whole turns into (-pi, pi] [rad]; pi stays pi, and -pi becomes pi."""
    wrapped = angle - TWO_PI * math.ceil((angle - math.pi) / TWO_PI)
    # Rounding of the quotient can leave the interval by 2 pi, and of the product by one bit.
    if wrapped > math.pi:
        wrapped -= TWO_PI
    return math.pi if wrapped <= -math.pi else wrapped


@inline_kernel
def _write_series(out, x, y, z, a, b):
    """
    Write the matrix I + a W + b W^2 into the first nine numbers of ``out``, row by row.

    W is the skew matrix of (x, y, z): W v is the vector product (x, y, z) x v.
    """
    out[0] = 1.0 - b * (y * y + z * z)
    out[1] = b * x * y - a * z
    out[2] = b * x * z + a * y
    out[3] = b * x * y + a * z
    out[4] = 1.0 - b * (x * x + z * z)
    out[5] = b * y * z - a * x
    out[6] = b * x * z - a * y
    out[7] = b * y * z + a * x
    out[8] = 1.0 - b * (x * x + y * y)


@kernel
def exp(out, x, y, z):
    """
    Write the rotation matrix of a rotation vector: the rotation about the vector by its length.

    :param out: (9+,) row-major rotation.
    :param x, y, z: rotation vector [rad].
    """
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle < SMALL_ANGLE:
        a = 1.0 - square / 6.0
        b = 0.5 - square / 24.0
    else:
        a = math.sin(angle) / angle
        half = math.sin(0.5 * angle)
        b = 2.0 * half * half / square
    _write_series(out, x, y, z, a, b)


@kernel
def quaternion_of(r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """
    Return the unit quaternion (x, y, z, w) of a rotation matrix, w >= 0.

    The largest of the four components is computed first, the others follow from it without cancellation.

    :param r00, r01, r02, r10, r11, r12, r20, r21, r22: the matrix, row by row.
    """
    trace = r00 + r11 + r22
    if trace >= r00 and trace >= r11 and trace >= r22:
        w = 1.0 + trace
        x, y, z = r21 - r12, r02 - r20, r10 - r01
    elif r00 >= r11 and r00 >= r22:
        x = 1.0 + r00 - r11 - r22
        y, z, w = r01 + r10, r02 + r20, r21 - r12
    elif r11 >= r22:
        y = 1.0 - r00 + r11 - r22
        x, z, w = r01 + r10, r12 + r21, r02 - r20
    else:
        z = 1.0 - r00 - r11 + r22
        x, y, w = r02 + r20, r12 + r21, r10 - r01
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    if w < 0.0:
        scale = -scale
    return x * scale, y * scale, z * scale, w * scale


@inline_kernel
def log_of(r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """
    Return the rotation vector (x, y, z) of a rotation matrix [rad]; its norm is in [0, pi].

    At exactly pi both signs of the vector are right. The vector whose first non-zero component is positive is returned,
    so that equal matrices give equal vectors.

    :param r00, r01, r02, r10, r11, r12, r20, r21, r22: the matrix, row by row.
    """
    x, y, z = r21 - r12, r02 - r20, r10 - r01
    sine2 = math.sqrt(x * x + y * y + z * z)
    cosine2 = r00 + r11 + r22 - 1.0
    if cosine2 > 2.0 * NEARLY_HALF_TURN:
        scale = (
            0.5 + sine2 * sine2 / 48.0
            if sine2 < SMALL_ANGLE
            else math.atan2(sine2, cosine2) / sine2
        )
        return x * scale, y * scale, z * scale
    qx, qy, qz, qw = quaternion_of(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    norm = math.sqrt(qx * qx + qy * qy + qz * qz)
    scale = 2.0 * math.atan2(norm, qw) / norm
    if qw == 0.0 and (qx < 0.0 or (qx == 0.0 and (qy < 0.0 or (qy == 0.0 and qz < 0.0)))):
        scale = -scale
    return qx * scale, qy * scale, qz * scale


@inline_kernel
def matrix_of(x, y, z, w):
    """
    Return the rotation matrix of a quaternion (x, y, z, w) as a tuple of nine numbers, row by row.

    The quaternion may have any length but zero.
    """
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - s * (y * y + z * z),
        s * (x * y - z * w),
        s * (x * z + y * w),
        s * (x * y + z * w),
        1.0 - s * (x * x + z * z),
        s * (y * z - x * w),
        s * (x * z - y * w),
        s * (y * z + x * w),
        1.0 - s * (x * x + y * y),
    )


@kernel
def from_quaternion(out, x, y, z, w):
    """
    Write the rotation matrix of a quaternion (x, y, z, w) of any length but zero.

    :param out: (9+,) row-major rotation.
    """
    out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], out[8] = matrix_of(x, y, z, w)


@kernel
def inverse_left_jacobian(out, x, y, z):
    """
    Write the matrix Jl^-1(v), the inverse of the left Jacobian of SO(3) at the rotation vector v = (x, y, z).

    For a small rotation w, log(exp(w) exp(v)) - v is Jl^-1(v) w to first order. The inverse right Jacobian is
    Jl^-1(-v).

    :param out: (9,) row-major matrix.
    :param x, y, z: rotation vector of norm below 2 pi [rad].
    """
    square = x * x + y * y + z * z
    if square < SMALL_ANGLE * SMALL_ANGLE:
        b = 1.0 / 12.0 + square / 720.0
    else:
        angle = math.sqrt(square)
        # 1/t^2 - (1 + cos t)/(2 t sin t), with (1 + cos t)/sin t = cot(t/2), which is regular at pi.
        b = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / square
    _write_series(out, x, y, z, -0.5, b)


@kernel
def rotate_quaternion(quaternion, x, y, z):
    """
    Rotate a unit quaternion q in place by a rotation vector v in the frame of the body: q becomes q exp(v), normalised.

    :param quaternion: (4,) q as x, y, z, w.
    :param x, y, z: rotation vector v [rad].
    """
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle < SMALL_ANGLE:
        s = 0.5 - square / 48.0
        c = 1.0 - square / 8.0
    else:
        s = math.sin(0.5 * angle) / angle
        c = math.cos(0.5 * angle)
    ax, ay, az, aw = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    bx, by, bz = s * x, s * y, s * z
    qx = aw * bx + ax * c + ay * bz - az * by
    qy = aw * by - ax * bz + ay * c + az * bx
    qz = aw * bz + ax * by - ay * bx + az * c
    qw = aw * c - ax * bx - ay * by - az * bz
    scale = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    quaternion[0] = qx * scale
    quaternion[1] = qy * scale
    quaternion[2] = qz * scale
    quaternion[3] = qw * scale
