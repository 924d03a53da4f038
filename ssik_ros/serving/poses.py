"""Poses as seven numbers, as messages carry them, and as matrices."""

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from ssik_ros.kernels import so3

FloatArray = NDArray[np.float64]
SevenNumbers = tuple[float, float, float, float, float, float, float]

FARTHEST = 1e9
"""Lengths and joint values beyond are taken for mistakes: their powers would leave the range of numbers [m or rad]."""
TOO_FAR = f'beyond {FARTHEST:g} m'


def is_within_reason(values: ArrayLike) -> bool:
    """
    Return whether numbers are finite and not absurdly large.

    :param values: lengths [m] or joint values [rad or m].
    """
    return bool((np.abs(values) <= FARTHEST).all())


def warm_up() -> None:
    """Load or compile the kernels of this module, for a first message is not to wait for a compiler."""
    numbers_of_pose(pose_of_numbers(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))


def pose_of_numbers(
    x: float, y: float, z: float, qx: float, qy: float, qz: float, qw: float
) -> FloatArray:
    """
    Return the pose (4, 4) of a position [m] and a quaternion of any length.

    A zero quaternion, or a number that is not finite, gives a matrix that is not finite.

    :param x, y, z: position [m].
    :param qx, qy, qz, qw: quaternion.
    """
    rotation = np.empty(9)
    so3.from_quaternion(rotation, float(qx), float(qy), float(qz), float(qw))
    pose = np.eye(4)
    pose[:3, :3] = rotation.reshape(3, 3)
    pose[:3, 3] = x, y, z
    return pose


def numbers_of_pose(pose: FloatArray) -> SevenNumbers:
    """
    Return x, y, z [m] and the unit quaternion qx, qy, qz, qw of a pose.

    :param pose: (4, 4) rigid transform.
    """
    (r00, r01, r02, x), (r10, r11, r12, y), (r20, r21, r22, z), _ = pose.tolist()
    qx, qy, qz, qw = so3.quaternion_of(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    return x, y, z, qx, qy, qz, qw
