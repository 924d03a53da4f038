"""
The manipulability ellipsoid of a tip: the linear velocities that joint velocities of norm up to 1 give.

**Problem.** v = J dq with the upper three rows of the Jacobian, and norm(dq) <= 1. The set of all v is an ellipsoid.

**Method.** J = U S V^T. The columns of U are its axes, the singular values in S are its radii. A radius of zero is a
direction in which the tip cannot move: the posture is singular.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import pose_matrix


class VelocityEllipsoid(NamedTuple):
    """The ellipsoid of all linear velocities that a tip can have with joint velocities of norm up to 1."""

    pose: FloatArray
    """(4, 4) of the ellipsoid in the model frame; its axes are the columns of the rotation."""
    radii: FloatArray
    """(3,) velocity along each axis, largest first [m/s for 1 rad/s]."""

    @property
    def ratio(self) -> float:
        """Return the smallest radius divided by the largest one; 0 at a singularity."""
        return float(self.radii[2] / max(self.radii[0], 1e-12))

    @property
    def weakest(self) -> FloatArray:
        """Return the unit vector (3,), in the model frame, along which the tip moves slowest."""
        direction: FloatArray = self.pose[:3, 2]
        return direction


def make_ellipsoid(jacobian: FloatArray, place: FloatArray) -> VelocityEllipsoid:
    """
    Return the manipulability ellipsoid of a Jacobian.

    :param jacobian: (3, n) maps joint velocities to the linear velocity of the tip in the model frame.
    :param place: (3,) position of the tip in the model frame [m].
    """
    axes, values, _ = np.linalg.svd(jacobian)
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0
    # An arm with fewer than three joints has fewer singular values.
    return VelocityEllipsoid(pose_matrix(place, axes), np.pad(values, (0, 3 - len(values))))
