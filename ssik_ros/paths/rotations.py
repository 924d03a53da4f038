"""Rotation matrices, rotation vectors and angles of many rotations at once."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray

HALF_TURN_SINE = 1e-8
"""Sine of an angle near pi below which rounding hides the axis, so that the rotation counts as a half turn."""


def rotations(vectors: FloatArray) -> FloatArray:
    """
    Return the rotation matrices (k, 3, 3) of rotation vectors.

    :param vectors: (k, 3) [rad].
    """
    angles = np.linalg.norm(vectors, axis=1)
    axes = vectors / np.where(angles > 0.0, angles, 1.0)[:, None]
    cross = np.zeros((len(vectors), 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]] = axes
    cross[:, [1, 2, 0], [2, 0, 1]] = -axes
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    turned: FloatArray = np.eye(3) + sines * cross + (1.0 - cosines) * (cross @ cross)
    return turned


def rotation_vectors(turned: FloatArray) -> FloatArray:
    """
    Return the rotation vectors (k, 3) of rotation matrices [rad], at most pi long; half turns have one of both axes.

    :param turned: (k, 3, 3).
    """
    return _scaled(*_sines_and_cosines(turned), turned)


def tilts_of(axes: FloatArray, turned: FloatArray) -> FloatArray:
    """
    Return the shortest rotation vectors (k, 3) that bring axes to the same directions as given rotations do [rad].

    For an axis that is turned to its opposite, it is the vector of the rotation itself, which is a half turn.

    :param axes: (k, 3) unit axes.
    :param turned: (k, 3, 3) rotations.
    """
    there = np.einsum('kij,kj->ki', turned, axes)
    return _scaled(np.cross(axes, there), np.einsum('ki,ki->k', axes, there), turned)


def angles_about(axes: FloatArray, turned: FloatArray) -> FloatArray:
    """
    Return the signed angles (k,) of rotations about their known axes [rad].

    :param axes: (k, 3) unit axes.
    :param turned: (k, 3, 3) rotations.
    """
    sines, cosines = _sines_and_cosines(turned)
    return np.asarray(np.arctan2(np.einsum('ki,ki->k', axes, sines), cosines))


def angles_between(first: FloatArray, second: FloatArray) -> FloatArray:
    """
    Return the angles (k,) between two rotations each [rad].

    They come from the Frobenius norm of the difference, 2 sqrt(2) sin(angle / 2): a cosine would lose small angles.

    :param first, second: (k, 3, 3) rotations.
    """
    chords = np.linalg.norm(second - first, axis=(1, 2))
    return np.asarray(2.0 * np.arcsin(np.minimum(chords / math.sqrt(8.0), 1.0)))


def _sines_and_cosines(turned: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the axes of rotations (k, 3, 3) times the sines of their angles (k, 3), and the cosines (k,)."""
    skew = 0.5 * (turned - np.swapaxes(turned, 1, 2))
    sines = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    return sines, 0.5 * (np.trace(turned, axis1=1, axis2=2) - 1.0)


def _scaled(sines: FloatArray, cosines: FloatArray, turned: FloatArray) -> FloatArray:
    """
    Return rotation vectors (k, 3) [rad] from axes times sines (k, 3), and the cosines of the angles (k,).

    :param turned: (k, 3, 3) rotations that are half turns about the axes where the sines are too small to tell an axis.
    """
    lengths = np.linalg.norm(sines, axis=1)
    angles = np.arctan2(lengths, cosines)
    vectors = np.asarray(sines * (angles / np.where(lengths > 0.0, lengths, 1.0))[:, None])
    for row in np.flatnonzero((lengths < HALF_TURN_SINE) & (cosines < 0.0)):
        # R + I of a half turn is twice the product of its axis with itself.
        product = turned[row] + np.eye(3)
        axis = product[product.diagonal().argmax()]
        vectors[row] = math.pi / np.linalg.norm(axis) * axis
    return vectors


def roll_pitch_yaw(turned: FloatArray) -> FloatArray:
    """Return roll, pitch and yaw (k, 3) of rotations (k, 3, 3) = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    pitch = np.arctan2(-turned[:, 2, 0], np.hypot(turned[:, 0, 0], turned[:, 1, 0]))
    yaw = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
    roll = np.arctan2(turned[:, 2, 1], turned[:, 2, 2])
    return np.stack([roll, pitch, yaw], axis=1)
