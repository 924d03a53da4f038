"""
Conversions between the poses that users write and the twelve numbers that kernels read; Euler angles.

Users write seven numbers (x, y, z, qx, qy, qz, qw), twelve (a 3x4 matrix row by row), or a 3x4 or 4x4 matrix. Other
forms of :func:`ssik_ros.pose` are read, too. Euler angles are (alpha, beta, gamma) with R = Rx(alpha) Ry(beta)
Rz(gamma) [rad]. Inside, a pose (12,) is the rotation matrix row by row, then the translation [m].
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import as_floats, read_numbers, shown
from ssik_ros.arrays import FloatArray, with_length
from ssik_ros.errors import DimensionMismatch, InvalidTarget, RequestError
from ssik_ros.kernels.geometry import se3, so3
from ssik_ros.problem import pose_input
from ssik_ros.tasks.constants import JointType
from ssik_ros.tolerances import DEFAULT_TOLERANCES

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
"""The pose of an object that coincides with its parent."""
OWN_SHAPES = ((7,), (12,), (3, 4), (4, 4))
"""Shapes of a pose that task sets read themselves: quaternions of any length, and twelve numbers."""


def read_pose(value: Any, noun: str = 'pose') -> FloatArray:
    """
    Return a pose as a new array (12,): the rotation matrix row by row, then the translation [m].

    :param value: 7 or 12 numbers, a 3x4 matrix, or a pose in any other form of :func:`ssik_ros.pose`.
    :param noun: name of the pose, for messages.
    :raises TypeError, ValueError: if ``value`` has no form of a pose.
    :raises InvalidTarget: if the pose is not a finite rigid transform.
    """
    array = _own_form(value)
    if array is None:
        array = pose_input.read_pose(value, f'The {noun}')
    if array.shape == (7,):
        out = np.empty(12)
        out[9:] = array[:3]
        so3.from_quaternion(out, *read_quaternion(array[3:], noun))
        if not np.isfinite(out).all():
            raise InvalidTarget(f'The {noun} is not finite: {array.tolist()}.')
        return out
    if array.shape == (12,):
        array = array.reshape(3, 4)
    if array.shape == (3, 4):
        array = np.vstack([array, [0.0, 0.0, 0.0, 1.0]])
    array = np.ascontiguousarray(array)
    if not se3.is_rigid(array, 0, DEFAULT_TOLERANCES.rigid):
        raise InvalidTarget(f'The {noun} is not a finite rigid transform: {array.tolist()}.')
    out = np.empty(12)
    se3.from_matrix(out, array, 0)
    se3.orthonormalise(out)
    return out


def _own_form(value: Any) -> FloatArray | None:
    """Return a value as a float array if its shape is (7,), (12,), (3, 4) or (4, 4); None for any other value."""
    try:
        array = as_floats('pose', value)
    except RequestError:
        return None
    return array if array.shape in OWN_SHAPES else None


def read_quaternion(value: ArrayLike, noun: str = 'quaternion') -> FloatArray:
    """
    Return a quaternion (4,) with length 1: x, y, z, w.

    :param value: x, y, z, w, of any length above 1e-9.
    :raises InvalidTarget: for a shorter quaternion, and for numbers that are not finite.
    :raises DimensionMismatch: for another shape than (4,).
    :raises InvalidOption: for anything but numbers.
    """
    array = read_numbers(noun, value)
    if array.shape != (4,):
        raise DimensionMismatch(f'The {noun} needs 4 numbers, not the shape {array.shape}.')
    array, norm = with_length(array)
    if not (math.isfinite(norm) and norm > 1e-9):
        raise InvalidTarget(f'The {noun} has a quaternion without a direction: {array.tolist()}.')
    # Dividing a unit quaternion again would change its last bits, and a saved file with them.
    return array if abs(norm - 1.0) < 4e-16 else array / norm


def read_rotation(value: ArrayLike, noun: str = 'rotation') -> FloatArray:
    """
    Return the unit quaternion x, y, z, w of a rotation.

    :param value: three Euler angles [rad], a quaternion, a 3x3 matrix, or a pose whose translation is ignored.
    :raises InvalidTarget: for numbers that are not finite, a zero quaternion, and a matrix that is not a rotation.
    :raises TypeError, ValueError: for a value of any other form.
    """
    array = read_numbers(noun, value)
    if array.shape == (3,):
        return euler_to_quaternion(array)
    if array.shape == (4,):
        return read_quaternion(array, noun)
    if array.shape == (3, 3):
        array = np.column_stack([array, np.zeros(3)])
    if array.shape == (12,):
        array = array.reshape(3, 4).copy()
        array[:, 3] = 0.0
    pose = read_pose(array, noun)
    return np.array(so3.quaternion_of(*pose[:9]))


def euler_to_quaternion(angles: ArrayLike) -> FloatArray:
    """
    Return the unit quaternion x, y, z, w of Rx(alpha) Ry(beta) Rz(gamma).

    :param angles: (alpha, beta, gamma) [rad].
    :raises InvalidTarget: if an angle is not finite.
    :raises InvalidOption, DimensionMismatch: for anything but three numbers.
    """
    a, b, c = (0.5 * float(angle) for angle in read_numbers('angles', angles, (3,)))
    if not math.isfinite(a + b + c):
        raise InvalidTarget(f'Euler angles must be finite: {shown(angles)}.')
    (sa, ca), (sb, cb), (sc, cc) = ((math.sin(x), math.cos(x)) for x in (a, b, c))
    return np.array(
        [
            sa * cb * cc + ca * sb * sc,
            ca * sb * cc - sa * cb * sc,
            ca * cb * sc + sa * sb * cc,
            ca * cb * cc - sa * sb * sc,
        ]
    )


def to_euler(pose: FloatArray) -> FloatArray:
    """
    Return the Euler angles (alpha, beta, gamma) of a pose [rad]; gamma is 0 at beta = +-pi/2, where it is not unique.

    :param pose: (12,) rotation matrix row by row, then translation.
    """
    beta = math.asin(min(1.0, max(-1.0, pose[2])))
    if abs(pose[2]) > 1.0 - 1e-12:
        return np.array([math.atan2(pose[7], pose[4]), beta, 0.0])
    return np.array([math.atan2(-pose[5], pose[8]), beta, math.atan2(-pose[1], pose[0])])


def to_seven(pose: FloatArray) -> FloatArray:
    """Return x, y, z [m], qx, qy, qz, qw of a pose (12,), which has the rotation row by row, then the translation."""
    return np.array([*pose[9:], *so3.quaternion_of(*pose[:9])])


def to_twelve(pose: FloatArray) -> FloatArray:
    """Return the 3x4 matrix [rotation, translation] of a pose (12,) row by row; the pose has the rotation first."""
    return np.column_stack([pose[:9].reshape(3, 3), pose[9:]]).ravel()


def to_matrix(pose: FloatArray) -> FloatArray:
    """Return the 4x4 matrix of a pose (12,)."""
    out = np.empty((4, 4))
    se3.to_matrix(out, pose)
    return out


def compose(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product a * b of two poses (12,): if ``b`` is relative to frame ``a``, the pose relative to the base of ``a``."""
    rotation = a[:9].reshape(3, 3)
    return np.concatenate([(rotation @ b[:9].reshape(3, 3)).ravel(), rotation @ b[9:] + a[9:]])


def invert(a: FloatArray) -> FloatArray:
    """Return the inverse of a pose (12,)."""
    rotation = a[:9].reshape(3, 3).T
    return np.concatenate([rotation.ravel(), -rotation @ a[9:]])


def interpolate(start: FloatArray, end: FloatArray, fraction: float) -> FloatArray:
    """
    Return the pose (12,) at a fraction of the way between two poses.

    The position moves along a line, the orientation about one axis, both at constant speed.

    :param start, end: (12,) poses.
    :param fraction: 0 gives exactly the start, 1 exactly the end.
    """
    if fraction == 0.0 or fraction == 1.0:
        return (start if fraction == 0.0 else end).copy()
    x, y, z = se3.relative_rotation_vector(start, end)
    rotation = np.empty(12)
    so3.exp(rotation, fraction * x, fraction * y, fraction * z)
    rotation[9:] = 0.0
    out = compose(rotation, start)
    out[9:] = (1.0 - fraction) * start[9:] + fraction * end[9:]
    return out


def joint_motion(kind: JointType, value: float | FloatArray, screw_lead: float) -> FloatArray:
    """
    Return the motion of a joint at a value, as a pose (12,) relative to the joint's frame at the value zero.

    :param value: [rad or m]; a quaternion x, y, z, w for a spherical joint.
    :param screw_lead: translation along the axis per turn of a revolute joint [m].
    """
    out = np.array(IDENTITY)
    if isinstance(value, np.ndarray):
        so3.from_quaternion(out, *value)
    elif kind == JointType.PRISMATIC:
        out[11] = value
    else:
        out[0] = out[4] = math.cos(value)
        out[3] = math.sin(value)
        out[1] = -out[3]
        out[11] = screw_lead / (2.0 * math.pi) * value
    return out
