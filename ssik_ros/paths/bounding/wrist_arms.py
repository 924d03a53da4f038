"""
Boxes in joint space that hold every posture over a cell of the free parameters, for arms with a spherical wrist.

Problem
-------
A cell holds all values of the free parameters (the first joints and the held joint) within half widths of its centre.
Find a few boxes in joint space that hold all postures of a pose for all values in the cell.

Solutions
---------
With these values given, six joints are left, on the chain or the reversed chain: axes 1 and 2 meet in S, axes 4, 5, 6
in W. Then E_1 ... E_6 = G has at most eight branches. Each branch takes one of two solutions of three subproblems,

1. ``|E_3 W - S| = |G W - S|`` for joint 3,
2. ``h_1 . R_2 p = h_1 . w`` for joint 2, with ``p = E_3 W - S`` and ``w = G W - S``,
3. ``h_4 . R_5 h_6 = h_4 . M h_6`` for joint 5, with ``M = (R_1 R_2 R_3)^T R_G``.

Each is ``cos(q - q_0) = x``; joints 1, 4, 6 follow by the angle from one vector to another.

Method
------
1. Over the cell G W stays in a ball around its place at the centre, and R_G within an angle. Both radii are sums over
   the joints of half width times lever (motion per unit of the joint). From these follow an interval of x of the first
   subproblem, by ``acos`` an interval of joint 3, a ball for p, and so on. The intervals of all six joints are the
   loose box.
2. A branch whose x is outside [-1, 1] over the cell does not exist there. If all three x stay within (-1, 1), the
   branch exists for all values in the cell. It is continuous, because the two solutions of a subproblem never meet.
3. :mod:`ssik_ros.paths.bounding.enclosures` finds a smaller box for such a branch. If this fails, and for all other
   branches, it narrows the loose box if it can.

Degeneracies
------------
If x reaches 1 or -1 (fold, straight wrist), it is not proved that a branch exists; smaller cells make its box smaller.
Margins of 1e-9 cover rounding errors, which are far smaller.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import BoolArray, chosen_rows, FloatArray, IntArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.rotations import rotations
from ssik_ros.paths.tool_chain import ToolChain

Rows = IntArray | BoolArray | slice

MEETING = 1e-9
"""Distance below which axes count as meeting in a common point [m]."""
BOUND_ROUNDING = 1e-9
"""Distance that each bound is widened by, so that it holds in spite of rounding [rad or m]."""
SIX = 6
LABELS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
"""(8, 3) which of the two solutions of each subproblem each branch takes: -1 or 1."""


class ParameterCells(NamedTuple):
    """k cells of the free parameters: boxes of values around centres, each for the pose of one layer."""

    layers: IntArray
    """(k,) index of the layer of each cell."""
    centers: FloatArray
    """(k, r) values in the middle of each cell [rad or m]."""
    halves: FloatArray
    """(k, r) half widths [rad or m]."""

    def chosen(self, rows: 'Rows') -> 'ParameterCells':
        """
        Return the cells with the given indices, as a new ParameterCells.

        :param rows: indices, a slice, or a mask (k,).
        """
        return chosen_rows(self, rows)


class LooseBoxes(NamedTuple):
    """For each of k cells and each of eight branches, a box of joint values that holds all postures of the branch."""

    q: FloatArray
    """(k, 8, n) centres; where ``is_sure``, the posture at the centre of the cell."""
    halves: FloatArray
    """(k, 8, n) half widths."""
    is_there: BoolArray
    """(k, 8) False only if the branch exists nowhere in the cell."""
    is_sure: BoolArray
    """(k, 8) True only if the branch exists for all values in the cell, and is continuous."""


class WristArm:
    """
    An arm whose postures follow from six joints with a spherical wrist; its other joints are free parameters.

    Of the six joints the axes of the last three meet in one point (the wrist), and the first two axes meet in another
    one. The order may be reversed, with the wrist at the base.
    """

    def __init__(self, chain: ToolChain, six: list[int], is_reversed: bool) -> None:
        """
        Store the axes of the six joints, and compute the two points in which they meet.

        :param chain: all moving joints of the arm.
        :param six: indices of the six joints that are not parameters, ascending.
        :param is_reversed: True if the wrist is at the base end, so that the six joints are read backwards.
        """
        serial = chain.chain
        self.chain, self.is_reversed = chain, is_reversed
        self.six = six[::-1] if is_reversed else six
        self.parameters = [joint for joint in range(chain.size) if joint not in six]
        """Joints that are parameters."""
        self._axes, self._points = serial.axes[self.six], serial.points[self.six]
        self._s = _meeting_point(self._axes[:2], self._points[:2])
        self._w = _meeting_point(self._axes[3:], self._points[3:])

    @classmethod
    def of_chain(cls, chain: ToolChain) -> 'WristArm | None':
        """
        Return the arm of a chain; None if the chain does not fit.

        The last seven joints must turn, and the first or last of them must be the held joint. The other six must have a
        spherical wrist. Chains with a spin of the tool do not fit.

        :param chain: the joints.
        """
        if not chain.has_held or chain.has_spin or chain.size - chain.outer != SIX + 1:
            return None
        inner = list(range(chain.outer, chain.size))
        if chain.held not in (inner[0], inner[-1]):
            return None
        six = [joint for joint in inner if joint != chain.held]
        if (chain.chain.kinds[inner] == JointKind.PRISMATIC).any():
            return None
        for is_reversed in (False, True):
            arm = cls(chain, six, is_reversed)
            if arm._is_of_class():
                return arm
        return None

    def _is_of_class(self) -> bool:
        """
        Return whether the six joints have the assumed geometry, within small tolerances.

        Axes 1 and 2 must meet, axes 4 to 6 must meet, and consecutive axes among these must not be parallel. Joint 3
        must change the distance between the two meeting points.
        """
        meets = _farthest_distance(self._s, self._axes[:2], self._points[:2]) < MEETING
        meets &= _farthest_distance(self._w, self._axes[3:], self._points[3:]) < MEETING
        h = self._axes
        crosses = [np.linalg.norm(np.cross(h[a], h[b])) for a, b in ((0, 1), (3, 4), (4, 5))]
        return meets and bool(min(crosses) > 1e-3) and self._elbow()[1] > 1e-6

    def _elbow(self) -> tuple[float, float, float]:
        """
        Return (a, b, q0) of the distance between shoulder and wrist point: sqrt(a - 2 b cos(q - q0)) [m].

        q is the value of joint 3; a and b are in m^2, q0 in rad.
        """
        h, v = self._axes[2], self._w - self._points[2]
        u = self._s - self._points[2]
        across = v - (h @ v) * h
        a, b = float(u @ across), float(u @ np.cross(h, across))
        return float(v @ v + u @ u - 2.0 * (h @ u) * (h @ v)), math.hypot(a, b), math.atan2(b, a)

    def _target(
        self, cells: ParameterCells, poses: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """
        Return the rotation (k, 3, 3) and the place of the wrist point (k, 3) that the six joints have to reach.

        They are for the centre of each cell. The last two arrays (k,) bound how far, over the cell, the place shifts
        [m] and the rotation turns [rad].
        """
        chain, serial = self.chain, self.chain.chain
        k = len(cells.layers)
        fixed = poses[cells.layers] @ np.linalg.inv(serial.home)
        place = np.tile(np.append(self._w, 1.0), (k, 1))
        whole, shift = np.tile(np.eye(4), (k, 1, 1)), np.zeros(k)
        held = chain.held
        before = [joint for joint in self.parameters if joint != held]
        # G = E_h^-1 O^-1 X, or O^-1 X E_h^-1 with the last joint held. The factor that acts on W first comes first.
        steps: list[tuple[int, float]] = [(-1, 0.0), *((joint, -1.0) for joint in before)]
        steps = [*steps, (held, -1.0)] if held == chain.outer else [(held, -1.0), *steps]
        if self.is_reversed:
            steps = [(joint, -sign) for joint, sign in steps[::-1]]
        for joint, sign in steps:
            if joint < 0:
                motion = np.linalg.inv(fixed) if self.is_reversed else fixed
            else:
                column = self.parameters.index(joint)
                motion = chain.motions(joint, sign * cells.centers[:, column])
                lever = np.ones(k)
                if serial.kinds[joint] != JointKind.PRISMATIC:
                    lever = np.linalg.norm(
                        np.cross(place[:, :3] - serial.points[joint], serial.axes[joint]), axis=1
                    )
                shift = shift + lever * cells.halves[:, column]
            place = np.einsum('kij,kj->ki', motion, place)
            whole = motion @ whole
        turns = serial.kinds[self.parameters] != JointKind.PRISMATIC
        return (
            whole[:, :3, :3],
            place[:, :3],
            shift + BOUND_ROUNDING,
            cells.halves @ turns + BOUND_ROUNDING,
        )

    def boxes(self, cells: ParameterCells, poses: FloatArray) -> LooseBoxes:
        """
        Return, for each cell of the free parameters, a box in joint space for each of the eight branches.

        A box holds all postures of its branch that reach the pose of the cell's layer.

        :param cells: cells of the free parameters.
        :param poses: (layers, 4, 4) pose of the tip of each layer.
        """
        rotation, place, shift, turn = self._target(cells, poses)
        k = len(cells.layers)
        h = self._axes
        labels = LABELS[None].repeat(k, axis=0)
        w = (place - self._s)[:, None]
        shift, turn = shift[:, None], turn[:, None]
        # 1: the elbow.
        a, b, zero = self._elbow()
        far = np.linalg.norm(w, axis=2)
        x = [
            (a - each**2) / (2.0 * b) for each in (far, far + shift, np.maximum(far - shift, 0.0))
        ]
        angle, width, there, sure = _arc_cosine(*x)
        q3, d3 = zero + labels[..., 0] * angle, width.repeat(len(LABELS), axis=1)
        # 2: the two axes in S.
        arm = self._w - self._points[2]
        p = self._points[2] + _turned(h[2], q3, arm) - self._s
        p_radius = np.linalg.norm(np.cross(h[2], arm)) * d3 + BOUND_ROUNDING
        along = p @ h[1]
        across = np.sqrt(np.maximum((p * p).sum(axis=2) - along**2, 0.0))
        c12, s12 = float(h[0] @ h[1]), float(np.linalg.norm(np.cross(h[0], h[1])))
        level = w @ h[0] - c12 * along
        slack = shift + abs(c12) * p_radius
        near, wide = s12 * np.maximum(across - p_radius, 1e-300), s12 * (across + p_radius)
        ends = np.stack([(level + s) / d for s in (-slack, slack) for d in (near, wide)])
        middle = level / np.maximum(s12 * across, 1e-300)
        angle, width, joint2_there, joint2_sure = _arc_cosine(
            middle, ends.min(axis=0), ends.max(axis=0)
        )
        there, sure = there & joint2_there, sure & joint2_sure & (across > 2.0 * p_radius)
        first = np.arctan2(np.cross(h[1], p) @ h[0], p @ h[0] - c12 * along)
        q2, d2 = first + labels[..., 1] * angle, width + _swing(p_radius, across)
        v = _turned(h[1], q2, p)
        v_radius = p_radius + across * np.minimum(d2, math.pi)
        radius = np.sqrt(np.maximum((w * w).sum(axis=2) - (w @ h[0]) ** 2, 0.0))
        q1 = _angle_between(h[0], v, np.broadcast_to(w, v.shape))
        d1 = _swing(v_radius, radius) + _swing(shift, radius)
        # 3: the wrist.
        m, m_turn = rotation[:, None], d1 + d2 + d3 + turn
        for joint, q in ((0, q1), (1, q2), (2, q3)):
            m = _rotation(h[joint], -q) @ m
        angles, widths, wrist_there, wrist_sure = self._wrist(m, m_turn, labels[..., 2])
        there, sure = there & wrist_there, sure & wrist_sure
        angles = np.concatenate([np.stack([q1, q2, q3], axis=2), angles], axis=2)
        widths = np.concatenate([np.stack([d1, d2, d3], axis=2), widths], axis=2)
        widths = np.minimum(widths, math.pi)
        q = np.empty((k, len(LABELS), self.chain.size))
        halves = np.empty_like(q)
        q[..., self.six] = -angles if self.is_reversed else angles
        halves[..., self.six] = widths
        q[..., self.parameters] = cells.centers[:, None]
        halves[..., self.parameters] = cells.halves[:, None]
        return LooseBoxes(q, halves, there & np.isfinite(q).all(axis=2), sure)

    def _wrist(
        self, m: FloatArray, m_turn: FloatArray, signs: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """
        Return angles and half widths (k, 8, 3) of the last three joints [rad], and two masks (k, 8) of branches.

        The first mask is True for branches that may exist in the cell, the second for branches that exist all over the
        cell.

        :param m: (k, 8, 3, 3) the rotation that the three joints make together, at the centre of the cell.
        :param m_turn: (k, 8) angle by which the rotation may differ from ``m`` over the cell [rad].
        :param signs: (k, 8) 1 or -1: which of two solutions the middle joint takes.
        """
        h = self._axes
        tool = m @ h[5]
        back = np.swapaxes(m, 2, 3) @ h[3]
        polar = np.arctan2(np.linalg.norm(np.cross(h[3], tool), axis=2), tool @ h[3])
        c45, c56 = float(h[3] @ h[4]), float(h[4] @ h[5])
        s45, s56 = (float(np.linalg.norm(np.cross(h[a], h[b]))) for a, b in ((3, 4), (4, 5)))
        lows, highs = np.minimum(polar + m_turn, math.pi), np.maximum(polar - m_turn, 0.0)
        x = [(np.cos(each) - c45 * c56) / (s45 * s56) for each in (polar, lows, highs)]
        angle, d5, there, sure = _arc_cosine(*x)
        cross = np.cross(h[4], h[5])
        zero5 = math.atan2(float(h[3] @ cross), float(h[3] @ h[5]) - c45 * c56)
        q5 = zero5 + signs * angle
        sine = np.sin(polar)
        q4 = _angle_between(h[3], _turned(h[4], q5, h[5]), tool)
        q6 = -_angle_between(h[5], _turned(h[4], -q5, h[3]), back)
        d4 = _swing(m_turn, sine) + _swing(s56 * d5, sine)
        d6 = _swing(m_turn, sine) + _swing(s45 * d5, sine)
        angles = np.stack([q4, q5, q6], axis=2)
        return angles, np.stack([d4, d5, d6], axis=2), there, sure


def _meeting_point(axes: FloatArray, points: FloatArray) -> FloatArray:
    """
    Return the point (3,) nearest to some lines: the sum of its squared distances from them is least [m].

    :param axes, points: (k, 3) unit direction and a point of each line.
    """
    planes = np.eye(3) - np.einsum('ki,kj->kij', axes, axes)
    right = np.einsum('kij,kj->i', planes, points)
    return np.asarray(np.linalg.lstsq(planes.sum(axis=0), right, rcond=None)[0])


def _farthest_distance(point: FloatArray, axes: FloatArray, points: FloatArray) -> float:
    """
    Return the distance of a point (3,) from the farthest of some lines [m].

    :param axes, points: (k, 3) unit direction and a point of each line.
    """
    return float(np.linalg.norm(np.cross(point - points, axes), axis=1).max())


def _arc_cosine(
    middle: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
    """
    Return acos of ``middle`` [rad], and how far acos of any number in [low, high] may be from it [rad].

    The last two arrays are masks: whether the interval overlaps [-1, 1], and whether it lies within (-1, 1).
    """
    low, high = np.minimum(low, high) - BOUND_ROUNDING, np.maximum(low, high) + BOUND_ROUNDING
    there, sure = (low <= 1.0) & (high >= -1.0), (low > -1.0) & (high < 1.0)
    center, least, most = (np.arccos(np.clip(each, -1.0, 1.0)) for each in (middle, high, low))
    width: FloatArray = np.maximum(most - center, center - least) + BOUND_ROUNDING
    return center, width, there, sure


def _swing(shift: FloatArray, radius: FloatArray) -> FloatArray:
    """
    Return the largest turn (k,) of a vector about an axis when its end shifts [rad]; pi if it can reach the axis.

    :param shift: (k,) largest shift of the vector's end [m].
    :param radius: (k,) distance of the vector's end from the axis [m].
    """
    ratio = shift / np.maximum(radius, 1e-300)
    return np.where(ratio < 1.0, np.arcsin(np.minimum(ratio, 1.0)) + BOUND_ROUNDING, math.pi)


def _rotation(axis: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the rotation matrices (..., 3, 3) about one unit axis (3,) by ``angles`` [rad]."""
    flat = rotations(angles.reshape(-1, 1) * axis)
    return flat.reshape(*angles.shape, 3, 3)


def _turned(axis: FloatArray, angles: FloatArray, vectors: FloatArray) -> FloatArray:
    """
    Return vectors (..., 3) turned by angles (...) [rad] about one unit axis (3,).

    :param vectors: (..., 3) one for each angle, or (3,) one for all.
    """
    c, s = np.cos(angles)[..., None], np.sin(angles)[..., None]
    vectors = np.broadcast_to(vectors, (*angles.shape, 3))
    along = (vectors @ axis)[..., None] * axis
    turned: FloatArray = along + c * (vectors - along) + s * np.cross(axis, vectors)
    return turned


def _angle_between(axis: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """
    Return the angles (...) about a unit axis (3,) that turn vectors ``start`` towards ``end``, -pi to pi [rad].

    After the turn, both vectors are in the same half plane that is bounded by the axis.

    :param start, end: (..., 3) vectors; one of both may be (3,), for all.
    """
    sines = np.cross(start, end) @ axis
    cosines = np.einsum('...i,...i->...', start, end) - (start @ axis) * (end @ axis)
    return np.asarray(np.arctan2(sines, cosines))
