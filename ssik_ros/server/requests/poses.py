"""
Convert poses between (4, 4) matrices and seven numbers, and refuse poses that are not finite or too far away.

The seven numbers are position [m] and quaternion x, y, z, w, as ROS messages have them.
"""

import numpy as np

from ssik_ros.arrays import FloatArray, is_within_reason, TOO_FAR
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.pose_matrix import pose_matrix
from ssik_ros.server.requests.refusals import Refusal

SevenNumbers = tuple[float, float, float, float, float, float, float]

NO_POSE = 'a number is not finite, or the quaternion has a length below 1e-150 or above 1e150'
"""Why numbers are no pose, to users: the square of such a length leaves the range of numbers."""


def require_pose(noun: str, pose: FloatArray) -> None:
    """
    Raise an error for a pose (4, 4) that is not finite, or whose position is farther away than any robot reaches.

    :param noun: name of the pose, which begins the message.
    :param pose: the pose.
    :raises RequestRefused: for such a pose; positions are bounded by ``LARGEST_REQUEST_VALUE`` [m].
    """
    problem = ''
    if not np.isfinite(pose).all():
        problem = f'is no finite rigid transform: {NO_POSE}'
    elif not is_within_reason(pose[:3, 3]):
        problem = f'has a coordinate {TOO_FAR}'
    if problem:
        raise Refusal.BAD_TARGET.error(f'{noun} {problem}.')


def pose_of_numbers(*numbers: float) -> FloatArray:
    """
    Return the pose (4, 4) of a position [m] and a quaternion, whose length need not be one.

    A quaternion shorter than about 1e-154, or a number that is not finite, gives a matrix that is not finite.

    :param numbers: x, y, z [m], and the quaternion x, y, z, w.
    """
    pose = np.empty((4, 4))
    pose_matrix(pose, *numbers)
    return pose


def numbers_of_pose(pose: FloatArray) -> SevenNumbers:
    """
    Return x, y, z [m] and the unit quaternion qx, qy, qz, qw of a pose.

    :param pose: (4, 4) rigid transform.
    """
    (r00, r01, r02, x), (r10, r11, r12, y), (r20, r21, r22, z), _ = pose.tolist()
    qx, qy, qz, qw = so3.quaternion_of(r00, r01, r02, r10, r11, r12, r20, r21, r22)
    return x, y, z, qx, qy, qz, qw
