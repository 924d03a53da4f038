"""
Which axes of a chain are parallel or meet in a point, and how far axes are from doing so.

Axes are lines: points may lie anywhere on them, and directions have no sign. Axes that meet only nearly do not count as
meeting; a :class:`Meeting` has their drift, the largest distance of an axis from the point nearest to all of them.
"""

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.value_class import dataclass

EXACT_PARALLEL = 1e-8
"""Largest sine of the angle between two axes that count as parallel [1]."""
EXACT_MEETING = 1e-8
"""Distance of axes from a common point below which they meet, divided by a length as in ``AxisGeometry.near`` [1]."""
COMPARED_SIZE = 0.01
"""Size of an arm below which distances are compared with it, and not with a metre [m]."""
NEVER_MEETING = 1e-6
"""Sine of the angle between axes below which rounding decides where they meet [1]."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The point nearest to some axes, and the largest distance of an axis from it (drift)."""

    point: FloatArray
    """(3,) the point with the least squared distance from these axes, in the frame of the axes [m]."""
    drift: float
    """Largest distance of one of the axes from this point [m]."""


@dataclass(frozen=True, eq=False, slots=True)
class AxisGeometry:
    """
    The n joint axes of a chain as lines, with tolerances for parallel and meeting axes.

    The axis of a prismatic joint has only a direction, so that :meth:`meet` never counts it as meeting another axis.
    """

    axes: FloatArray
    """(n, 3) unit directions."""
    points: FloatArray
    """(n, 3) a point of each axis [m]."""
    parallel: float = EXACT_PARALLEL
    """Largest sine of the angle between axes that count as parallel."""
    near: float = EXACT_MEETING
    """
    Distance of axes from a common point, divided by a length, below which they count as meeting.

    The length is the size of the chain if that is below 1 cm or above 1 m, else 1 m.
    """
    slides: frozenset[int] = frozenset()
    """Indices of the joints that are prismatic."""
    _meetings: dict[tuple[int, ...], Meeting | None] = field(
        default_factory=dict, init=False, repr=False
    )
    """Cache of :meth:`meeting`: the rules need the same axes repeatedly."""

    @classmethod
    def of_chain(
        cls, chain: SerialChain, parallel: float = EXACT_PARALLEL, near: float = EXACT_MEETING
    ) -> 'AxisGeometry':
        """
        Return the axes of a chain at zero joint values.

        :param chain: the chain.
        :param parallel: largest sine of the angle between axes that count as parallel.
        :param near: distance of axes from a common point, divided by the length in :attr:`near`, below which they count
            as meeting.
        """
        slides = np.flatnonzero(chain.kinds == JointKind.PRISMATIC)
        return cls(chain.axes, chain.points, parallel, near, frozenset(slides.tolist()))

    @property
    def size(self) -> float:
        """Return the size of the chain [m]: the sum of distances between points of successive axes, at least 1 mm."""
        gaps = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        return max(float(gaps.sum()), 1e-3)

    def reversed(self) -> 'AxisGeometry':
        """Return the axes of the reversed chain: in reverse order, with opposite directions."""
        last = len(self.axes) - 1
        slides = frozenset(last - joint for joint in self.slides)
        points = self.points[::-1].copy()
        return AxisGeometry(-self.axes[::-1], points, self.parallel, self.near, slides)

    def without(self, joint: int) -> 'AxisGeometry':
        """
        Return the axes without one joint, as if it were rigid at zero.

        :param joint: index of the joint.
        """
        return AxisGeometry(
            np.delete(self.axes, joint, axis=0),
            np.delete(self.points, joint, axis=0),
            self.parallel,
            self.near,
            frozenset(other - (other > joint) for other in self.slides if other != joint),
        )

    def sine(self, a: int, b: int) -> float:
        """
        Return the sine of the angle between two axes.

        :param a, b: indices of joints.
        """
        return float(np.linalg.norm(_cross(self.axes[a], self.axes[b])))

    def are_parallel(self, *joints: int) -> bool:
        """
        Return whether all given axes are parallel to the first one within the tolerance.

        Opposite directions count as parallel.

        :param joints: indices of joints, at least one.
        """
        first, *others = joints
        return all(self.sine(first, other) < self.parallel for other in others)

    def meeting(self, joints: Sequence[int]) -> Meeting | None:
        """
        Return the point nearest to some axes and their drift from it; None if all the axes are parallel.

        :param joints: indices of joints.
        """
        key = tuple(joints)
        if key not in self._meetings:
            self._meetings[key] = self._compute_meeting(key)
        return self._meetings[key]

    def _compute_meeting(self, joints: tuple[int, ...]) -> Meeting | None:
        """Compute the point with the least squared distance from some axes; return None if all of them are parallel."""
        normal, right = np.zeros((3, 3)), np.zeros(3)
        for joint in joints:
            across = np.eye(3) - np.outer(self.axes[joint], self.axes[joint])
            normal += across
            right += across @ self.points[joint]
        # The smallest eigenvalue is the square of a sine: for parallel axes it is rounding, of either sign.
        first, *others = joints
        if all(self.sine(first, other) < NEVER_MEETING for other in others):
            return None
        point = np.asarray(np.linalg.solve(normal, right), dtype=np.float64)
        gaps = [_cross(self.axes[j], point - self.points[j]) for j in joints]
        return Meeting(point, float(np.linalg.norm(gaps, axis=1).max()))

    def meet(self, *joints: int) -> FloatArray | None:
        """
        Return the common point (3,) of axes that meet within the tolerance; None if they do not.

        None is also returned if one of the joints is prismatic.

        :param joints: indices of joints.
        """
        if self.slides.intersection(joints):
            return None
        meeting = self.meeting(joints)
        if meeting is None or meeting.drift >= self.near * _compared_with(self.size):
            return None
        return meeting.point


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """
    Return the cross product (3,) of two vectors.

    It is written out, because numpy's function is slow for one pair (docs/explanation/performance.md).
    """
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def _compared_with(size: float) -> float:
    """
    Return the length that distances between axes are divided by [m]: at least 1 m, but the size of a tiny arm.

    An arm is tiny below 1 cm. There, errors of 1e-8 m would be large compared with the arm.

    :param size: size of the arm [m].
    """
    return size if size < COMPARED_SIZE else max(1.0, size)
