"""
What a proof over the held joint of seven knows of a chain, as arrays for the kernels.

The formulas are those of :mod:`ssik_ros.kernels.closed_form.counting.held_ranges`.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import held_search, search
from ssik_ros.kernels.closed_form.classes import candidates, spherical_wrist
from ssik_ros.kernels.closed_form.counting import held_decision, held_ranges as hr
from ssik_ros.kernels.geometry import vectors
from ssik_ros.solvers.closed_form.arm import AnalyticArm, PLAIN
from ssik_ros.solvers.closed_form.plan import AnalyticPlan

MOST_CELLS = 4096
"""Cells of the held joint that are looked at for one pose."""

LEAST_SINE = 1e-3
"""Sine between neighbouring axes of the wrist and of the shoulder, and lever of the elbow, below which there is no proof."""


class Decisions(NamedTuple):
    """What some poses are."""

    status: IntArray
    """(m,) of :mod:`held_decision`: REACHED, PROVED, UNDECIDED or NOT_RIGID."""
    branches: IntArray
    """(m,) branches within limits at the first values of the held joint that have any."""
    cells: IntArray
    """(m,) cells of the held joint that were looked at."""


class HeldDecision:
    """Decides poses of an arm with seven joints; a thread has its own."""

    def __init__(self, arm: AnalyticArm, known: hr.HeldArm, most: int = MOST_CELLS) -> None:
        """
        Allocate.

        :param arm: of which :func:`has_proof` is true.
        :param known: from :func:`held_arm`.
        :param most: cells that are looked at for one pose.
        """
        self._arm, self._known, plan = arm, known, arm.plan
        self._prepared = arm.prepare(PLAIN)
        lower, upper = float(arm.chain.lower[plan.held]), float(arm.chain.upper[plan.held])
        low, high = held_search.turning_range(lower, upper, True)
        beyond = hr.BESIDE if high - low < 2.0 * np.pi - hr.BESIDE else 0.0
        self.finds_postures = plan.drift == 0.0
        """Whether poses are decided; of a chain that is nearly of the class there are only proofs."""
        self._spread = np.array([low, high, beyond, most, float(self.finds_postures)])
        self._counters = np.zeros(search.COUNTERS + 1, dtype=np.int64)
        self._work = np.empty(search.work_size(7, 1))
        self._scratch = np.empty(held_decision.scratch_size(most))

    def decide(self, poses: FloatArray) -> Decisions:
        """
        Return what some poses are.

        :param poses: (m, 4, 4) contiguous.
        """
        count, prepared = len(poses), self._prepared
        found = Decisions(*(np.zeros(count, dtype=np.int64) for _ in range(3)))
        held_decision.decide_many(
            *found,
            poses,
            prepared.ints,
            prepared.reals,
            prepared.options,
            prepared.seed,
            *self._known,
            self._spread,
            self._counters,
            self._work,
            self._scratch,
        )
        return found


def has_proof(plan: AnalyticPlan) -> bool:
    """
    Return whether the kernels of a proof serve a plan: its held joint, at one end, rotates the target of a meeting shoulder.

    :param plan: of seven joints.
    """
    ints = plan.ints
    is_class = ints[search.KIND] == candidates.SPHERICAL_WRIST
    is_class = is_class and ints[search.CASE] == spherical_wrist.MEETING_12
    is_turning = ints[search.N] == 7 and ints[search.SLIDES] == 0
    is_end = plan.held == (6 if ints[search.REVERSED] else 0)
    return bool(is_class and is_turning and is_end)


def held_arm(plan: AnalyticPlan, lower: FloatArray, upper: FloatArray) -> hr.HeldArm | None:
    """
    Return what the kernels know of a chain, None if a lever or a sine is too small for them.

    :param plan: one of which :func:`has_proof` is true.
    :param lower, upper: (7,) limits [rad], infinite for none.
    """
    own = plan.reals[8 * 7 + 24 :]
    special, own_axes, own_points = own[:6], own[6:27].reshape(7, 3), own[27:48].reshape(7, 3)
    is_reversed, held = bool(plan.ints[search.REVERSED]), plan.held
    order = [joint for joint in range(7) if joint != held]
    order = order[::-1] if is_reversed else order
    sign = -1.0 if is_reversed else 1.0
    size = float(np.linalg.norm(np.diff(own_points, axis=0), axis=1).sum())
    if size == 0.0:
        return None
    h, o = sign * own_axes[order], own_points[order] / size
    w, a = special[:3] / size, special[3:] / size
    beside = (own_points - plan.chain.points)[order] / size
    beside -= (beside * h).sum(axis=1, keepdims=True) * h
    c12 = float(h[0] @ h[1])
    s12 = float(np.linalg.norm(np.cross(h[0], h[1])))
    base, elbow = a - o[2], w - o[2]
    along = float(base @ h[2]) * float(elbow @ h[2])
    a3, b3 = float(base @ elbow) - along, float(base @ np.cross(h[2], elbow))
    c5 = float(h[3] @ h[4]) * float(h[4] @ h[5])
    a5, b5 = float(h[3] @ h[5]) - c5, float(h[3] @ np.cross(h[4], h[5]))
    two_r, r5 = 2.0 * float(np.hypot(a3, b3)), float(np.hypot(a5, b5))
    if min(s12, two_r, r5) < LEAST_SINE:
        return None
    axis = own_axes[held]
    x4, x6 = (np.array(vectors.perpendicular(tuple(h[k].tolist()))) for k in (3, 5))
    table = np.zeros((hr.VECTORS, 3))
    table[hr.U], table[hr.AROUND] = axis, own_points[held] / size
    table[[hr.H1, hr.H2, hr.H3, hr.H4, hr.H5, hr.H6]] = h
    table[hr.ACROSS] = np.cross(h[0], h[1]) / s12
    table[hr.ALONG1], table[hr.ALONG2] = (h[1] - c12 * h[0]) / s12, (h[0] - c12 * h[1]) / s12
    table[hr.A], table[hr.W], table[hr.BASE], table[hr.ELBOW] = a, w, base, elbow
    table[[hr.X4, hr.Y4]] = x4, np.cross(h[3], x4)
    table[[hr.X6, hr.Y6]] = x6, np.cross(h[5], x6)
    numbers = np.zeros(hr.NUMBERS)
    numbers[[hr.C12, hr.S12]] = c12, s12
    numbers[hr.MIDDLE3] = float(base @ base) + float(elbow @ elbow) - 2.0 * along
    numbers[[hr.TWO_R, hr.PHASE3]] = two_r, np.arctan2(b3, a3)
    numbers[[hr.LEVER_W, hr.LEVER_A]] = _sine(h[2], elbow), _sine(h[2], base)
    numbers[[hr.S23, hr.S1U]] = _sine(h[1], h[2]), _sine(h[0], axis)
    numbers[[hr.S45, hr.S56]] = _sine(h[3], h[4]), _sine(h[4], h[5])
    numbers[[hr.C5, hr.R5, hr.PHASE5]] = c5, r5, np.arctan2(b5, a5)
    numbers[[hr.SIGN, hr.SIZE]] = -sign, size
    numbers[hr.DRIFT] = 2.0 * float(np.linalg.norm(beside, axis=1).sum())
    return hr.HeldArm(table.ravel(), numbers, _ranges(lower[order], upper[order]), beside.ravel())


def _sine(h: FloatArray, v: FloatArray) -> float:
    """Return the length of the part of a vector across a unit vector."""
    return float(np.linalg.norm(np.cross(h, v)))


def _ranges(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return middles and half widths of limits (12,), infinite where every angle has a winding inside."""
    half = 0.5 * (upper - lower)
    is_free = ~(half < np.pi)
    middle = 0.5 * (np.where(is_free, 0.0, lower) + np.where(is_free, 0.0, upper))
    return np.concatenate([middle, np.where(is_free, np.inf, half)])
