"""
Rotations and poses in plain numpy, for set-up and for one pose at a time; loops use the kernels.

Quaternions are (x, y, z, w). Roll, pitch and yaw are defined as in a URDF: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.kernels.geometry import so3

NO_YAW = 1e-14
"""If the cosine of the pitch is smaller, only a sum of roll and yaw is determined, and yaw is set to 0."""


def rotate_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """
    Return the rotation (3, 3) about a unit axis.

    :param axis: (3) unit vector.
    :param angle: [rad].
    """
    x, y, z = axis
    c, s = math.cos(angle), math.sin(angle)
    # 1 - cos(angle) without cancellation at small angles.
    k = 2.0 * math.sin(0.5 * angle) ** 2
    return np.array(
        [
            [c + k * x * x, k * x * y - s * z, k * x * z + s * y],
            [k * x * y + s * z, c + k * y * y, k * y * z - s * x],
            [k * x * z - s * y, k * y * z + s * x, c + k * z * z],
        ]
    )


def matrix_of_quaternion(quaternion: ArrayLike) -> np.ndarray:
    """
    Return the rotation (3, 3) of a quaternion (x, y, z, w), which need not have the length 1.

    It is NaN for a zero quaternion, and for lengths below about 1e-154 or above about 1e154. With NUMBA_DISABLE_JIT=1,
    a zero quaternion raises ZeroDivisionError.
    """
    out = np.empty(9)
    so3.from_quaternion(out, *np.asarray(quaternion, dtype=np.float64).tolist())
    return out.reshape(3, 3)


def quaternion_of_matrix(rotation: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,) of a rotation (3, 3): x, y, z, w with w >= 0."""
    return np.array(so3.quaternion_of(*np.ravel(rotation).tolist()))


def matrix_of_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Return the rotation (3, 3) of roll, pitch and yaw [rad]: Rz(yaw) Ry(pitch) Rx(roll), as in a URDF."""
    sx, cx, sy, cy, sz, cz = (f(a) for a in (roll, pitch, yaw) for f in (math.sin, math.cos))
    return np.array(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def rpy_of_matrix(rotation: np.ndarray) -> tuple[float, float, float]:
    """Return (roll, pitch, yaw) [rad] of a rotation (3, 3), exact at pitch +-pi/2 too; yaw is 0 there."""
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = rotation.tolist()
    cosine = math.hypot(r00, r10)
    yaw = math.atan2(r10, r00) if cosine > NO_YAW else 0.0
    # The first two columns rotated back by yaw; roll stays defined where yaw is arbitrary.
    s, c = math.sin(yaw), math.cos(yaw)
    return math.atan2(s * r02 - c * r12, c * r11 - s * r01), math.atan2(-r20, cosine), yaw


def pose_matrix(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) with a position (3,) [m] and a rotation (3, 3)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    return matrix


def invert_pose(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse (4, 4) of a rigid pose (4, 4)."""
    rotation = matrix[:3, :3].T
    return pose_matrix(-rotation @ matrix[:3, 3], rotation)


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """Return a pose (4, 4) as the array (12,) that kernels use: the rotation row by row, then the position [m]."""
    return np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])


def pose_from_numbers(numbers: np.ndarray) -> np.ndarray:
    """
    Return the pose (4, 4) of twelve numbers: the rotation row by row, then the position [m].

    It is the inverse of :func:`pose_numbers`.
    """
    return pose_matrix(numbers[9:], numbers[:9].reshape(3, 3))


def rotations_of(quaternions: np.ndarray) -> np.ndarray:
    """
    Return the rotation matrices (n, 3, 3) of unit quaternions x, y, z, w.

    :param quaternions: (n, 4).
    """
    x, y, z, w = quaternions.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
