"""
Chains of joints as products of exponentials: E_1(q_1) ... E_n(q_n) = G.

Axes (3 n) are unit directions h_i, points (3 n) lie on the axes, both in the base frame at q = 0. E_i(q) x =
o_i + R(h_i, q) (x - o_i), or x + q h_i for a prismatic joint. The integer ``slides`` is a bit mask of the prismatic
joints, bit i for joint i from zero. G = T M^-1 is the target times the inverse of the tip's pose at zero. It is stored
as twelve numbers as in :mod:`ssik_ros.kernels.geometry.se3`. So no formula contains the tool or the rotation at zero.
"""

from collections.abc import Iterable

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3, vectors


def pack_slides(is_prismatic: Iterable[bool]) -> int:
    """
    Return the integer ``slides``, a bit mask of the prismatic joints: bit i for joint i from zero.

    :param is_prismatic: for each joint, whether it is prismatic.
    """
    return sum(1 << joint for joint, slides in enumerate(is_prismatic) if slides)


@inline_kernel
def triple(array, index):
    """
    Return the three numbers of joint ``index`` from a flat array, such as its axis, as a tuple.

    :param array: (3 n,) three numbers for each joint.
    :param index: index of the joint, from zero.
    """
    return array[3 * index], array[3 * index + 1], array[3 * index + 2]


@inline_kernel
def is_slide(slides, index):
    """
    Return whether a joint is prismatic.

    :param slides: bit mask of the prismatic joints.
    :param index: index of the joint, from zero.
    """
    return slides != 0 and (slides >> index) & 1 != 0


@inline_kernel
def screw(h, o, c, s, x):
    """
    Rotate a point about a line, and return its new position as a tuple of three numbers [m].

    :param h, o: unit direction and a point of the line.
    :param c, s: cosine and sine of the angle.
    :param x: the point.
    """
    return vectors.add(o, vectors.turn(h, c, s, vectors.subtract(x, o)))


@inline_kernel
def map_point(g, x):
    """Return R x + t, the point x moved by the transform g (12,): its rotation R row by row, then its translation t."""
    return vectors.add(vectors.times(g, x), (g[9], g[10], g[11]))


@inline_kernel
def unmap_point(g, x):
    """Return R^T (x - t), the point x moved by the inverse of the rigid transform g (12,) with rotation R, shift t."""
    return vectors.transposed_times(g, (x[0] - g[9], x[1] - g[10], x[2] - g[11]))


@kernel
def write_screw(out, h, o, q):
    """
    Write the rotation about the axis of a revolute joint as a transform.

    :param out: (12,) out: rotation row by row, then translation.
    :param h, o: unit direction and a point of the axis.
    :param q: angle [rad].
    """
    s, c = so3.sine_cosine(q)
    d = 1.0 - c
    x, y, z = h
    out[0], out[1], out[2] = c + d * x * x, d * x * y - s * z, d * x * z + s * y
    out[3], out[4], out[5] = d * x * y + s * z, c + d * y * y, d * y * z - s * x
    out[6], out[7], out[8] = d * x * z - s * y, d * y * z + s * x, c + d * z * z
    out[9] = o[0] - out[0] * o[0] - out[1] * o[1] - out[2] * o[2]
    out[10] = o[1] - out[3] * o[0] - out[4] * o[1] - out[5] * o[2]
    out[11] = o[2] - out[6] * o[0] - out[7] * o[1] - out[8] * o[2]


@kernel
def write_motion(out, axes, points, slides, joint, q):
    """
    Write the motion of one joint of a chain as a transform: a rotation about its axis, or a shift along it.

    :param out: (12,) out: rotation row by row, then translation.
    :param axes, points, slides: directions and points of the joint axes (3 n,), bit mask of the prismatic joints.
    :param joint: index of the joint, from zero.
    :param q: angle [rad] or length [m].
    """
    h = triple(axes, joint)
    if is_slide(slides, joint):
        for k in range(3):
            for j in range(3):
                out[3 * k + j] = 1.0 if k == j else 0.0
            out[9 + k] = q * h[k]
    else:
        write_screw(out, h, triple(points, joint), q)
