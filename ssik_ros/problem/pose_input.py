"""
Read poses in every form that users give them, and return them as matrices (4, 4).

:func:`pose` makes one from numbers, and the other functions read arguments:

>>> pose(xyz=(0.4, 0.1, 0.5), rpy=(3.14159, 0.0, 0.0))
"""

from collections.abc import Iterable
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidOption, InvalidTarget
from ssik_ros.kernels.geometry.rotations import matrix_of_quaternion, matrix_of_rpy, pose_matrix
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FORMS = 'a matrix (4, 4), x y z roll pitch yaw, x y z qx qy qz qw, a pair (xyz, rotation), pin.SE3 or a geometry_msgs Pose'
"""The forms of a pose, for messages."""
POSITION_ALONE = (
    'is a position without an orientation. Call arm.solve_position(xyz) to leave the orientation free, or give '
    'ssik_ros.pose(xyz=..., rpy=...)'
)
NO_POSES = ((0,), (0, 6), (0, 7))
"""Further shapes of empty lists of poses."""
MATRIX_ATTRIBUTES = ('homogeneous', 'A')
"""Where other libraries keep the matrix of a pose: pinocchio's SE3, and the toolbox's."""


@names_keywords
def pose(
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    *,
    rpy: ArrayLike | None = None,
    quat: ArrayLike | None = None,
    R: Any = None,
) -> FloatArray:
    """
    Return the pose (4, 4) of a position and at most one rotation.

    Without a rotation, its axes are parallel to the axes of the base.

    :param xyz: position [m].
    :param rpy: roll, pitch and yaw as in a URDF [rad].
    :param quat: quaternion x, y, z, w of length 1, within 1 %.
    :param R: (3, 3) rotation matrix, which is not checked, or another form of :func:`read_rotation`, such as scipy's
        ``Rotation``.
    :raises ValueError: for several rotations, wrong sizes, numbers that are not finite, and a quaternion of another
        length.
    :raises TypeError: if an argument does not hold real numbers.
    """
    given = {'rpy': rpy, 'quat': quat, 'R': R}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InvalidOption(f'pose takes one rotation, and {" and ".join(names)} are two.')
    rotation = np.eye(3)
    if rpy is not None:
        rotation = matrix_of_rpy(*_numbers('rpy', rpy, 3))
    elif quat is not None:
        rotation = _of_quaternion('quat', _numbers('quat', quat, 4))
    elif R is not None:
        rotation = read_rotation('R', R)
    return pose_matrix(_numbers('xyz', xyz, 3), rotation)


def read_pose(value: Any, name: str = 'pose') -> FloatArray:
    """
    Return a pose as a new array (4, 4); whether a given matrix is finite and rigid is not checked.

    :param value: a matrix (4, 4), x y z roll pitch yaw, x y z qx qy qz qw, a pair (xyz, rotation), pin.SE3 or a
        geometry_msgs Pose, in metres and radians. A rotation of a pair is a quaternion x y z w, a matrix (3, 3), roll
        pitch yaw, or scipy's ``Rotation``.
    :param name: the argument, for messages.
    :raises TypeError: if the value does not hold real numbers.
    :raises ValueError: for numbers that do not form a pose.
    """
    given = _as_plain(value, name)
    if isinstance(given, tuple | list) and len(given) == 2 and np.ndim(given[0]) < 2:
        position, rotation = given
        if hasattr(position, 'as_matrix'):
            position, rotation = rotation, position
        return pose_matrix(_numbers(name, position, 3), read_rotation(name, rotation))
    array = _array(given, name)
    if array.shape == (4, 4):
        return array
    if array.shape == (3,):
        raise DimensionMismatch(f'{name} {POSITION_ALONE}.', expected=(4, 4), actual=(3,))
    if array.shape[1:] == (4, 4):
        raise DimensionMismatch(
            f'{name} must have the shape (4, 4), not {array.shape}: one pose. arm.solve_batch takes many.',
            expected=(4, 4),
            actual=array.shape,
        )
    if array.shape in ((6,), (7,)):
        numbers = _numbers(name, array, array.size)
        rest = numbers[3:]
        rotation = matrix_of_rpy(*rest) if len(rest) == 3 else _of_quaternion(name, rest)
        return pose_matrix(numbers[:3], rotation)
    raise DimensionMismatch(
        f'{name} must have the shape (4, 4), not {array.shape}. A pose is {FORMS}.',
        expected=(4, 4),
        actual=array.shape,
    )


def read_poses(values: Any, name: str = 'poses') -> FloatArray:
    """
    Return poses as a contiguous array (m, 4, 4).

    :param values: an array (m, 4, 4), or a sequence of poses in the forms of :func:`read_pose`.
    :param name: the argument, for messages.
    :raises TypeError: if a value does not hold real numbers.
    :raises ValueError: for numbers that do not form poses.
    """
    try:
        is_stack = np.shape(values)[1:] == (4, 4)
    except (TypeError, ValueError):
        is_stack = False
    if not is_stack and not isinstance(values, np.ndarray) and isinstance(values, Iterable):
        values = [read_pose(value, f'{name}[{row}]') for row, value in enumerate(values)]
    array = _array(values, name)
    if array.shape in NO_POSES:
        return np.empty((0, 4, 4))
    if array.ndim == 2 and array.shape[1] in (6, 7):
        array = np.array([read_pose(row, f'{name}[{k}]') for k, row in enumerate(array)])
    if array.ndim != 3 or array.shape[1:] != (4, 4):
        raise DimensionMismatch(
            f'{name} must have the shape (m, 4, 4), not {array.shape}. Each pose is {FORMS}.',
            actual=array.shape,
        )
    return np.ascontiguousarray(array)


def read_pose_or_poses(value: Any, name: str = 'poses') -> FloatArray:
    """
    Return one pose as an array (4, 4), or several as (m, 4, 4).

    :param value: a pose in a form of :func:`read_pose`, a list of such poses, or an array (m, 4, 4), (m, 6) or (m, 7).
    :param name: the argument, for messages.
    :raises TypeError: if a value does not hold real numbers.
    :raises ValueError: for numbers that do not form poses.
    """
    return read_poses(value, name) if _is_several(value) else read_pose(value, name)


def is_position(value: Any) -> bool:
    """
    Return whether a value has the shape (3,), so that it is a position and not a pair (position, rotation).

    :param value: anything.
    """
    try:
        return bool(np.shape(value) == (3,))
    except (TypeError, ValueError):
        return False


def read_rotation(name: str, value: Any) -> FloatArray:
    """
    Return a rotation as a matrix (3, 3); whether a given matrix is a rotation is not checked.

    :param name: the argument, for messages.
    :param value: a matrix (3, 3), a quaternion x y z w, roll pitch yaw [rad], or scipy's ``Rotation``.
    :raises TypeError: if the value does not hold real numbers.
    :raises ValueError: for another shape, angles that are not finite, and a quaternion that is not of length 1, within
        1 %.
    """
    if hasattr(value, 'as_matrix'):
        value = value.as_matrix()
    array = _array(value, name)
    if array.shape == (4,):
        return _of_quaternion(name, array)
    if array.shape == (3,):
        return matrix_of_rpy(*_numbers(name, array, 3))
    if array.shape != (3, 3):
        raise DimensionMismatch(
            f'{name}: a rotation is a matrix (3, 3), a quaternion x y z w, roll pitch yaw or a scipy Rotation, not an '
            f'array of shape {array.shape}.',
            expected=(3, 3),
            actual=array.shape,
        )
    return array


def _is_several(value: Any) -> bool:
    """Return whether a value is a list or an array of poses, and not a single pose."""
    if isinstance(value, np.ndarray):
        return value.ndim == 3 or (value.ndim == 2 and value.shape[1] in (6, 7))
    if not isinstance(value, tuple | list) or not len(value):
        return isinstance(value, list)
    first = value[0]
    is_pair = len(value) == 2 and (is_position(first) or hasattr(first, 'as_matrix'))
    is_row = np.isscalar(first) or (len(value) == 4 and np.shape(first) == (4,))
    return not is_pair and not is_row


def _as_plain(value: Any, name: str) -> Any:
    """
    Return the matrix, or the pair (position, quaternion x y z w), that a pose object of another library holds.

    A ROS pose message gives a pair. Other values are returned unchanged.

    :param value: the object.
    :param name: the argument, for messages.
    :raises InvalidOption: for a stamped message, because its frame cannot be looked up here.
    """
    if isinstance(value, np.ndarray | tuple | list):
        return value
    for attribute in MATRIX_ATTRIBUTES:
        if hasattr(value, attribute):
            return getattr(value, attribute)
    if hasattr(value, 'as_matrix'):
        return value.as_matrix()
    if hasattr(value, 'header'):
        raise InvalidOption(
            f'{name} is a stamped message, whose frame this call cannot look up: give the pose in the base frame of '
            f'the arm, as {name}.pose.'
        )
    position = getattr(value, 'position', getattr(value, 'translation', None))
    rotation = getattr(value, 'orientation', getattr(value, 'rotation', None))
    if position is not None and hasattr(rotation, 'w'):
        return (
            [getattr(position, axis) for axis in 'xyz'],
            [getattr(rotation, axis) for axis in 'xyzw'],
        )
    return value


def _of_quaternion(name: str, quaternion: FloatArray) -> FloatArray:
    """
    Return the rotation (3, 3) of a quaternion x y z w.

    :param name: the argument, for messages.
    :raises InvalidTarget: if the length of the quaternion is not 1 within 1 %.
    """
    length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) <= DEFAULT_TOLERANCES.quaternion_norm:
        raise InvalidTarget(
            f'{name}: the quaternion x y z w = {quaternion.tolist()} has the length {length:.6g}, not 1.'
        )
    rotation: FloatArray = matrix_of_quaternion(quaternion)
    return rotation


def _numbers(name: str, value: Any, count: int) -> FloatArray:
    """
    Return a value as an array (count,) of finite numbers.

    :param name: the argument, for messages.
    :raises DimensionMismatch: for another shape.
    :raises InvalidOption: for anything but real numbers.
    :raises InvalidTarget: for numbers that are not finite.
    """
    array = _array(value, name)
    if array.shape != (count,):
        raise DimensionMismatch(
            f'{name} must hold {count} numbers, not the shape {array.shape}.',
            expected=(count,),
            actual=array.shape,
        )
    if not all(map(math.isfinite, array.tolist())):
        raise InvalidTarget(f'{name} has values that are not finite: {array.tolist()}.')
    return array


def _array(value: Any, name: str) -> FloatArray:
    """Return a value as an array of real numbers; the error for other values lists the forms of a pose."""
    try:
        return read_numbers(name, value)
    except InvalidOption as error:
        error.message += f' A pose is {FORMS}.'
        raise
