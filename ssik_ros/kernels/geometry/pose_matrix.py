"""The matrix (4, 4) of a pose from the seven numbers of a message: position and quaternion (x, y, z, w)."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import so3


@kernel
def pose_matrix(out, x, y, z, qx, qy, qz, qw):
    """
    Write the matrix (4, 4) of a pose, given by a position and a quaternion, into ``out``.

    The quaternion may have any length; if its length is zero, the rotation is NaN.

    :param out: (4, 4).
    :param x, y, z: position [m].
    :param qx, qy, qz, qw: quaternion.
    """
    a, b, c, d, e, f, g, h, i = so3.matrix_of(qx, qy, qz, qw)
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = a, b, c, x
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = d, e, f, y
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = g, h, i, z
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0
