"""
Poses along straight lines: positions linear, orientations at constant angular velocity.

**Problem.** Sample the lines from a pose through waypoints so that neighbouring samples are near to each other.

**Derivation.** Between T_a and T_b at s in [0, 1]: p = (1 - s) p_a + s p_b, R = R_a exp(s log(R_a^T R_b)). The number
of steps is max(floor(d / d_max), floor(a / (3.5 d_max))) + 1 for the distance d and the angle a, as MoveIt has it.

**Degenerate cases.** A rotation by pi can go either way around its axis; one of the two ways is taken.

**References.** docs/reference/ros2.md.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.server.requests.poses import numbers_of_pose

RADIANS_PER_METRE = 3.5
"""How far a step may rotate for each metre that it may move."""


class Line(NamedTuple):
    """The straight motion of a frame from one pose to the next; :func:`make_line` makes it from the two poses."""

    start: FloatArray
    """(4, 4) first pose."""
    end: FloatArray
    """(4, 4) last pose, in the same frame."""
    axis: FloatArray
    """(3,) unit axis of the rotation, in the axes of the start pose."""
    angle: float
    """Angle of the rotation [rad]."""

    def at(self, part: float) -> FloatArray:
        """
        Return the pose (4, 4) at a part of the line.

        :param part: from 0, the start, to 1, the end.
        """
        if part >= 1.0:
            return self.end
        pose = np.eye(4)
        pose[:3, :3] = self.start[:3, :3] @ rotate_about(self.axis, part * self.angle)
        pose[:3, 3] = (1.0 - part) * self.start[:3, 3] + part * self.end[:3, 3]
        return pose

    def count_steps(self, max_step: float) -> float:
        """
        Return the number of steps of a line, at least 1; a float, because it may exceed every integer.

        :param max_step: largest distance of a step [m], above zero; its largest angle [rad] is 3.5 times this number.
        """
        distance = math.dist(self.start[:3, 3].tolist(), self.end[:3, 3].tolist())
        moves, rotations = distance / max_step, self.angle / (RADIANS_PER_METRE * max_step)
        return float(max(np.floor(moves), np.floor(rotations))) + 1.0


def make_line(start: FloatArray, end: FloatArray) -> Line:
    """
    Return the line between two poses.

    :param start, end: (4, 4).
    """
    difference = np.eye(4)
    difference[:3, :3] = start[:3, :3].T @ end[:3, :3]
    *_, x, y, z, w = numbers_of_pose(difference)
    length = math.hypot(x, y, z)
    if length == 0.0:
        return Line(start, end, np.array([0.0, 0.0, 1.0]), 0.0)
    sign = -1.0 if w < 0.0 else 1.0
    angle = 2.0 * math.atan2(length, abs(w))
    return Line(start, end, np.array([x, y, z]) * (sign / length), angle)
