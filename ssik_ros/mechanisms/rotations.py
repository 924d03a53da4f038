"""Rotations of frames in plain numpy: quaternions (x, y, z, w) and turns about z, then y, then x."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry import so3


def matrix_of_quaternion(quaternion: FloatArray) -> FloatArray:
    """Return the rotation matrix of a quaternion, which need not be a unit one."""
    out = np.empty(9)
    so3.from_quaternion(out, *(float(c) for c in quaternion))
    return out.reshape(3, 3)


def quaternion_of_matrix(rotation: FloatArray) -> FloatArray:
    """Return the unit quaternion of a rotation matrix, w >= 0."""
    return np.array(so3.quaternion_of(*(float(r) for r in np.ravel(rotation))))


def matrix_of_euler(ex: float, ey: float, ez: float) -> FloatArray:
    """Return Rz(ez) Ry(ey) Rx(ex)."""
    sx, cx, sy, cy, sz, cz = (f(a) for a in (ex, ey, ez) for f in (math.sin, math.cos))
    return np.array(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def euler_of_matrix(rotation: FloatArray) -> tuple[float, float, float]:
    """Return ex, ey, ez of a rotation matrix; ez = 0 where ex and ez turn about one line."""
    cosine = math.hypot(rotation[0, 0], rotation[1, 0])
    ey = math.atan2(-rotation[2, 0], cosine)
    if cosine > 1e-12:
        ex = math.atan2(rotation[2, 1], rotation[2, 2])
        return ex, ey, math.atan2(rotation[1, 0], rotation[0, 0])
    return math.atan2(-rotation[1, 2], rotation[1, 1]), ey, 0.0


def pose_matrix(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """Return the 4x4 matrix of a position and a rotation matrix."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    return matrix


def inverse_pose(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a rigid 4x4 matrix."""
    rotation = matrix[:3, :3].T
    return pose_matrix(-rotation @ matrix[:3, 3], rotation)
