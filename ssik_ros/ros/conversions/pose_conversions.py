"""Convert messages of geometry_msgs: Pose and Transform from and to (4, 4) matrices, and Vector3 to three numbers."""

from geometry_msgs.msg import Pose, Transform, Vector3

from ssik_ros.arrays import FloatArray
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers


def read_pose(message: Pose) -> FloatArray:
    """
    Return the pose (4, 4) of a message; not finite for a zero quaternion.

    :param message: position [m], and quaternion, which need not have unit length. If it is shorter than 1e-150 or
        longer than 1e150, the pose may be not finite too.
    """
    p, q = message.position, message.orientation
    return pose_of_numbers(p.x, p.y, p.z, q.x, q.y, q.z, q.w)


def write_pose(message: Pose, pose: FloatArray) -> None:
    """
    Fill a pose message.

    :param message: the message to fill.
    :param pose: (4, 4).
    """
    p, q = message.position, message.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = numbers_of_pose(pose)


def read_transform(message: Transform) -> FloatArray:
    """
    Return the pose (4, 4) of a transform; not finite for a zero quaternion.

    :param message: translation [m], and quaternion as for :func:`read_pose`, which need not have unit length.
    """
    p, q = message.translation, message.rotation
    return pose_of_numbers(p.x, p.y, p.z, q.x, q.y, q.z, q.w)


def read_vector(message: Vector3) -> tuple[float, float, float]:
    """
    Return x, y and z of a vector.

    :param message: the vector.
    """
    return message.x, message.y, message.z


def write_transform(pose: FloatArray) -> Transform:
    """
    Return a pose as a Transform message.

    :param pose: (4, 4).
    """
    message = Transform()
    p, q = message.translation, message.rotation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = numbers_of_pose(pose)
    return message
