"""Read and write poses and joint values as text that a user copies and pastes."""

from collections.abc import Callable, Iterable, Sequence
import re

import numpy as np

from ssik_ros.arrays import FloatArray, LARGEST_REQUEST_VALUE
from ssik_ros.errors import counted, InvalidTarget
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, pose_matrix, rpy_of_matrix
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers

MOST_POSE_CHARACTERS = 4096
"""Most characters of a pasted pose."""
NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')
PASTED_DEVIATION = 1e-3
"""Largest deviation of a pasted matrix or quaternion from a rotation [1]: poses are often pasted with four digits."""
FORMS = 'x y z roll pitch yaw, x y z qx qy qz qw, or the 12 or 16 numbers of a matrix'

DIGITS = 9
"""
Digits after the point of written numbers: 1 nm, or 1 nrad. Fewer would move postures at the edge of the reach out of it.
"""


def read_numbers(text: str) -> list[float]:
    """
    Return the numbers in a text; brackets, commas, semicolons and white space separate them.

    :param text: for example ``[0.4, 0, 0.5]``.
    :raises InvalidTarget: for anything that is not a number, for a text that is too long, and for numbers that are too
        large.
    """
    if len(text) > MOST_POSE_CHARACTERS:
        raise InvalidTarget(
            f'The text has {len(text)} characters; up to {MOST_POSE_CHARACTERS} are read.'
        )
    words = re.sub(r'[\[\](){},;\s]+', ' ', text).split()
    for word in words:
        if not NUMBER.fullmatch(word):
            raise InvalidTarget(f"'{word[:40]}' is no number.")
    numbers = [float(word) for word in words]
    if any(abs(number) > LARGEST_REQUEST_VALUE for number in numbers):
        raise InvalidTarget(f'A number is larger than {LARGEST_REQUEST_VALUE:g}.')
    return numbers


def read_pose(text: str) -> FloatArray:
    """
    Return the pose (4, 4) that a text describes.

    :param text: position and roll, pitch, yaw; position and quaternion (x y z w); or a matrix row by row.
    :raises InvalidTarget: if the text has none of these forms, for a matrix or quaternion that is not a rotation, and
        as :func:`read_numbers`.
    """
    numbers = read_numbers(text)
    if len(numbers) == 6:
        return pose_matrix(np.array(numbers[:3]), matrix_of_rpy(*numbers[3:]))
    if len(numbers) == 7:
        norm = float(np.linalg.norm(numbers[3:]))
        if abs(norm - 1.0) > PASTED_DEVIATION:
            raise InvalidTarget(f'The quaternion qx qy qz qw has norm {norm:.6g}, not 1.')
        return pose_of_numbers(*numbers)
    if len(numbers) in (12, 16):
        return _read_matrix(np.reshape([*numbers, 0.0, 0.0, 0.0, 1.0][:16], (4, 4)))
    raise InvalidTarget(f'{counted(len(numbers), "number")} make no pose: paste {FORMS}.')


def _read_matrix(pose: FloatArray) -> FloatArray:
    """
    Return a pasted 4x4 matrix as a pose (4, 4) whose rotation is exactly orthonormal.

    :raises InvalidTarget: if the matrix differs from a pose by more than PASTED_DEVIATION.
    """
    left, _, right = np.linalg.svd(pose[:3, :3])
    rotation = left @ right
    if np.abs(rotation - pose[:3, :3]).max() > PASTED_DEVIATION or np.linalg.det(rotation) < 0.0:
        raise InvalidTarget('The upper left 3 by 3 numbers of the matrix are no rotation.')
    if np.abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() > PASTED_DEVIATION:
        raise InvalidTarget('The last row of the matrix is not 0 0 0 1.')
    return pose_matrix(pose[:3, 3], rotation)


def write_pose(pose: FloatArray) -> str:
    """
    Return a pose as the text ``x y z qx qy qz qw``, with nine digits after the point.

    :param pose: (4, 4).
    """
    return write_numbers(numbers_of_pose(pose))


def _write_angles(pose: FloatArray) -> str:
    return write_numbers([*pose[:3, 3], *rpy_of_matrix(pose[:3, :3])])


def _write_matrix(pose: FloatArray) -> str:
    return str(pose.tolist())


WRITERS: dict[str, Callable[[FloatArray], str]] = {
    'x y z qx qy qz qw': write_pose,
    'x y z roll pitch yaw': _write_angles,
    'matrix': _write_matrix,
}
"""How a pose (4, 4) becomes text, by the name of the form."""


def rounded(numbers: Iterable[float] | FloatArray) -> list[float]:
    """
    Return numbers rounded to nine digits after the point; zero has no sign.

    :param numbers: the numbers.
    """
    return [round(float(number), DIGITS) + 0.0 for number in numbers]


def write_numbers(numbers: Sequence[float] | FloatArray) -> str:
    """
    Return numbers with nine digits after the point, separated by spaces.

    :param numbers: the numbers.
    """
    return ' '.join(map(repr, rounded(numbers)))
