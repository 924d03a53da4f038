"""
Arm angle of seven joints with a spherical shoulder and a spherical wrist.

Points: axes 1, 2 and 3 meet in S, axes 5, 6 and 7 meet in W. The elbow is the point of axis 4 nearest to S. The arm
angle is measured about the line from S to W. It begins at the half plane through axis 1 and ends at the half plane
through the elbow. If W lies on axis 1, or the elbow on the line from S to W, it is undefined.
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.rotations import invert_pose, rotate_about
from ssik_ros.kernels.geometry.subproblems import sp3, three_axes
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry

UNDEFINED = 1e-9
"""Distance from the line S W, relative to its length, below which a half plane is undefined."""
SAME_VALUE = 1e-9
"""Values of joint 1 that differ by at most this count as one value [rad]."""


class ArmAngle:
    """
    Computes arm angles of one chain of seven revolute joints with a spherical shoulder and wrist.

    The arm angle is the rotation of the elbow about the line from shoulder to wrist. The class also returns the values
    of joint 1 that give a wanted arm angle at a target.
    """

    def __init__(self, chain: SerialChain, shoulder: FloatArray, wrist: FloatArray) -> None:
        """Store the centers of shoulder (3,) and wrist (3,) in the base frame, with all joints at zero [m]."""
        self.chain = chain
        self.shoulder = shoulder
        self.wrist = wrist
        h, o = chain.axes[3], chain.points[3]
        self.elbow = o + h * float(h @ (shoulder - o))

    @classmethod
    def of_chain(cls, chain: SerialChain) -> 'ArmAngle | None':
        """
        Return the object that computes arm angles of a chain, or None for a chain of another kind.

        The chain needs seven revolute joints, with a spherical shoulder and a spherical wrist.

        :param chain: any chain.
        """
        if len(chain.joint_names) != 7 or (chain.kinds == JointKind.PRISMATIC).any():
            return None
        axes = AxisGeometry(chain.axes, chain.points)
        shoulder, wrist = axes.meet(0, 1, 2), axes.meet(4, 5, 6)
        if shoulder is None or wrist is None:
            return None
        return cls(chain, shoulder, wrist)

    def measure(self, q: FloatArray) -> float:
        """
        Return the arm angle of a posture in [-pi, pi] [rad]; NaN if it is undefined.

        :param q: (7,) joint angles [rad].
        """
        first = self._rotation(q[:3])
        elbow = first @ (self.elbow - self.shoulder)
        wrist = first @ (self._turned_wrist(q[3]) - self.shoulder)
        return self._angle(wrist, elbow)

    def first_joint(self, target: FloatArray, angle: float) -> FloatArray:
        """
        Return the sorted values (k,) of joint 1 [rad] at which postures reach a target with an arm angle.

        They are empty if the arm angle is undefined there. Limits are ignored. If the target is too near or too far, no
        posture reaches it. The values are then for the nearest distance between shoulder and wrist that the arm can
        have.

        :param target: (4, 4) pose of the tip, a rigid transform.
        :param angle: the arm angle [rad].
        """
        moved = target @ invert_pose(self.chain.home)
        reach = moved[:3, :3] @ self.wrist + moved[:3, 3] - self.shoulder
        length = float(np.linalg.norm(reach))
        h, o = self.chain.axes[3], self.chain.points[3]
        _, *bends = sp3.solve(
            tuple(h), tuple(self.wrist - o), tuple(self.shoulder - o), length * length
        )
        values = [q1 for bend in bends for q1 in self._values(reach, float(bend), angle)]
        distinct: list[float] = []
        for value in sorted(values):
            if not distinct or value - distinct[-1] > SAME_VALUE:
                distinct.append(value)
        return np.array(distinct)

    def _values(self, reach: FloatArray, bend: float, angle: float) -> list[float]:
        """
        Return the values of joint 1 that give an arm angle at one value of joint 4 [rad]; empty if it is undefined.

        :param reach: (3,) vector from the shoulder's center to the wrist's center at the target [m].
        :param bend: value of joint 4 [rad].
        :param angle: the arm angle [rad].
        """
        folded = self._turned_wrist(bend) - self.shoulder
        swing = _rotation_between(folded, reach)
        now = self._angle(reach, swing @ (self.elbow - self.shoulder))
        if not math.isfinite(now):
            return []
        line = reach / np.linalg.norm(reach)
        wanted = rotate_about(line, angle - now) @ swing
        h1, h2, h3 = (tuple(axis) for axis in self.chain.axes[:3])
        out = np.empty((2, 3))
        three_axes.solve(
            out,
            0,
            h1,
            h2,
            h3,
            tuple(wanted @ h3),
            tuple(wanted.T @ h1),
            tuple(wanted @ vectors.perpendicular(h3)),
            0.0,
        )
        return [float(value) for value in out[:, 0]]

    def _rotation(self, q: FloatArray) -> FloatArray:
        """
        Return the rotation (3, 3) from zero that the first k joints give the link after joint k.

        :param q: (k,) angles of these joints, at most three [rad].
        """
        rotation = np.eye(3)
        for axis, value in zip(self.chain.axes, q, strict=False):
            rotation = rotation @ rotate_about(axis, float(value))
        return rotation

    def _turned_wrist(self, bend: float) -> FloatArray:
        """
        Return the position (3,) of the wrist's center in the base [m] when only joint 4 leaves zero.

        :param bend: angle of joint 4 [rad].
        """
        h, o = self.chain.axes[3], self.chain.points[3]
        rotated: FloatArray = o + rotate_about(h, float(bend)) @ (self.wrist - o)
        return rotated

    def _angle(self, wrist: FloatArray, elbow: FloatArray) -> float:
        """
        Return the arm angle [rad] from the vectors (3,) from shoulder to wrist and to elbow.

        It is NaN if the wrist is at the shoulder. It is also NaN if the elbow is on the line from shoulder to wrist, or
        if axis 1 is parallel to this line.
        """
        length = float(np.linalg.norm(wrist))
        if length < UNDEFINED:
            return math.nan
        line = wrist / length
        offset = elbow - line * (line @ elbow)
        plane = self.chain.axes[0] - line * (line @ self.chain.axes[0])
        if np.linalg.norm(offset) < UNDEFINED * length or np.linalg.norm(plane) < UNDEFINED:
            return math.nan
        return math.atan2(float(line @ np.cross(plane, offset)), float(plane @ offset))


def _rotation_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """
    Return the smallest rotation (3, 3) that turns vector a into the direction of vector b; neither may be zero.

    If the vectors are opposite, it is a half turn about one of the axes perpendicular to a.
    """
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine <= 1e-15 * float(np.linalg.norm(a) * np.linalg.norm(b)):
        if cosine > 0.0:
            return np.eye(3)
        return rotate_about(np.array(vectors.perpendicular(tuple(a / np.linalg.norm(a)))), math.pi)
    return rotate_about(axis / sine, math.atan2(sine, cosine))
