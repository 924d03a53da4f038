"""
Decide whether an arm of seven joints reaches a pose within its limits: by a posture, or by a proof that none exists.

:class:`HeldDecision` decides for many poses; some stay undecided. :class:`AbsenceCauses` tells why searches of any arm
found no posture. Samples of the held joint cannot prove that no posture exists; these proofs hold for all its values.
They are in :mod:`ssik_ros.kernels.closed_form.counting.held_ranges`.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import held_search, search
from ssik_ros.kernels.closed_form.classes import candidates, spherical_wrist
from ssik_ros.kernels.closed_form.counting import held_decision, held_ranges as hr
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.search.causes import of_absences
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import PLAIN

MOST_CELLS, MOST_SPLIT = 4096, 65_536
"""Most cells examined for one pose: of the held joint, or of the held joint and the joint at the other end."""

LEAST_PROOF_SINE = 1e-3
"""Smallest useful sine between axes of wrist and of shoulder, and smallest useful lever of the elbow."""
MOST_DRIFT = 0.5
"""Largest useful drift of a chain from the class, in sizes of the chain."""
SHRINKING = 0.02
"""Largest drift for which joint ranges and drift are used to bound each other."""
EXACT_DRIFT = 1e-9
"""Drift of axes below which the chain counts as a member of the class, in sizes of the arm; the margin of the proof is
larger."""
LEAST_DIVISOR = 1e-300
"""Least size that lengths are divided by, so that a chain of size zero gives no NaN."""


class Decisions(NamedTuple):
    """Outcome for each of ``m`` poses: reached, proved to have no posture, undecided, or not a rigid transform."""

    status: IntArray
    """(m,) code of :mod:`held_decision`: REACHED, PROVED, UNDECIDED or NOT_RIGID."""
    branches: IntArray
    """(m,) number of branches within limits in the first batch of held values that has any; 0 if none was found."""
    cells: IntArray
    """(m,) number of examined cells: parts of the held joint's range, or of the ranges of this and another joint."""


class HeldDecision:
    """
    Decides for poses of an arm with seven joints whether a posture within the limits exists; some stay undecided.

    If ``finds_postures`` is False, only the absence of a posture is decided. Several threads may call one instance.
    """

    def __init__(self, arm: AnalyticArm, constants: hr.HeldArm, most: int = MOST_CELLS) -> None:
        """
        Prepare the kernel's arrays.

        :param arm: closed form of seven joints.
        :param constants: constants of the chain from :func:`held_arm`.
        :param most: most cells to examine for one pose; a cell is an interval of the held joint's range.
        """
        self._constants, self._prepared = constants, arm.requests.prepare(PLAIN)
        is_reversed = bool(constants.numbers[hr.SIGN] > 0.0)
        held = 6 if is_reversed else 0
        lower, upper = float(arm.chain.lower[held]), float(arm.chain.upper[held])
        low, high = held_search.turning_range(lower, upper, True)
        beyond = hr.PROVED_OUTSIDE if high - low < 2.0 * np.pi - hr.PROVED_OUTSIDE else 0.0
        ints = arm.plan.ints
        is_class = ints[search.KIND] == candidates.SPHERICAL_WRIST
        is_class = is_class and ints[search.CASE] == spherical_wrist.MEETING_12
        is_held = arm.plan.held == held and bool(ints[search.REVERSED]) == is_reversed
        self.finds_postures = bool(is_class and is_held and constants.numbers[hr.DRIFT] == 0.0)
        """True if postures are searched, too. A chain that only nearly fits the class gets proofs and nothing else."""
        looks = float(self.finds_postures)
        self._spread = np.array([low, high, beyond, float(is_reversed), most, looks])

    @classmethod
    def of(cls, arm: AnalyticArm) -> 'HeldDecision | None':
        """
        Return an instance for an arm; None if the arm's axes do not allow the proof, see :func:`held_arm`.

        :param arm: closed form of any arm.
        """
        constants = held_arm(arm.chain)
        if constants is None:
            return None
        return cls(
            arm, constants, MOST_CELLS if constants.numbers[hr.SPLIT] == 0.0 else MOST_SPLIT
        )

    def decide(self, poses: FloatArray) -> Decisions:
        """
        Return for each pose a status code (REACHED, PROVED, UNDECIDED or NOT_RIGID), and counts of branches and cells.

        PROVED means that no posture within the limits exists.

        :param poses: (m, 4, 4) poses of the tip in the base, contiguous.
        """
        count, prepared = len(poses), self._prepared
        most = int(self._spread[held_decision.CELL_COUNT])
        counters = np.zeros(search.COUNTERS + 1, dtype=np.int64)
        work = np.empty(search.work_size(7, 1))
        scratch = np.empty(held_decision.scratch_size(most))
        decisions = Decisions(*(np.zeros(count, dtype=np.int64) for _ in range(3)))
        held_decision.decide_many(
            *decisions,
            poses,
            prepared.ints,
            prepared.reals,
            prepared.options,
            prepared.seed,
            *self._constants,
            self._spread,
            counters,
            work,
            scratch,
        )
        return decisions


class AbsenceCauses:
    """
    Gives for many poses the cause why a search found no branch within the limits: LIMITS, UNREACHABLE or NOT_FOUND.

    Several threads may call one instance at once.
    """

    def __init__(self, arm: AnalyticArm) -> None:
        """
        Prepare proofs that poses have no posture within the limits.

        :param arm: closed form of any arm.
        """
        self._plan, chain = arm.plan, arm.chain
        self._limited = None if self._plan.is_complete else HeldDecision.of(arm)
        if self._limited is not None:
            wide = np.full(len(chain.axes), np.inf)
            self._free = HeldDecision.of(
                AnalyticArm(dataclasses.replace(chain, lower=-wide, upper=wide))
            )

    def explain(self, poses: FloatArray, counts: IntArray) -> IntArray:
        """
        Return the :class:`Cause` (m,) why each pose has no branch within the limits; NONE for a pose with branches.

        LIMITS and UNREACHABLE are proved; all other poses without branches get NOT_FOUND.

        :param poses: (m, 4, 4) rigid poses of the tip in the base, contiguous; this is not checked.
        :param counts: (m, COUNTERS) counters of the search for branches within limits.
        """
        causes = np.empty(len(counts), dtype=np.int64)
        # The samples of a held joint prove no limits.
        beyond = Cause.LIMITS if self._plan.is_complete else Cause.NOT_FOUND
        of_absences(causes, counts, self._plan.is_complete, beyond)
        is_dropped = counts[:, search.DROPPED] > 0
        if self._limited is not None and self._free is not None:
            left = np.flatnonzero(causes == Cause.NOT_FOUND)
            left = left[self._limited.decide(poses[left]).status == held_decision.PROVED]
            # A branch outside the limits is known from the search, or is searched here without limits.
            free = self._free.decide(poses[left]).status
            is_met = is_dropped[left] | (free == held_decision.REACHED)
            causes[left[is_met]] = Cause.LIMITS
            causes[left[~is_met & (free == held_decision.PROVED)]] = Cause.UNREACHABLE
        return causes


def held_arm(chain: SerialChain) -> hr.HeldArm | None:
    """
    Return the constants of the proof for a chain; None if the proof does not apply.

    The proof holds the first or the last of seven revolute joints. Seen from the held joint, the next two axes must
    meet, or nearly meet, and so must the last three axes at the other end.

    :param chain: any chain.
    """
    if len(chain.axes) != 7 or (chain.kinds == JointKind.PRISMATIC).any():
        return None
    geometry = AxisGeometry.of_chain(chain)
    both = [_held_at(chain, geometry, is_reversed) for is_reversed in (True, False)]
    arms = [each for each in both if each is not None]
    return min(arms, key=lambda each: float(each.numbers[hr.DRIFT]), default=None)


def _held_at(chain: SerialChain, geometry: AxisGeometry, is_reversed: bool) -> hr.HeldArm | None:
    """
    Return the constants of the proof with the first or the last joint held; None if the proof does not apply.

    The proof does not apply if the axes miss their common points by too much, or if a divisor of its formulas vanishes.

    :param geometry: the axes of the chain.
    :param is_reversed: True holds the last joint and reverses the chain, False holds the first joint.
    """
    held = 6 if is_reversed else 0
    order = [5, 4, 3, 2, 1, 0] if is_reversed else [1, 2, 3, 4, 5, 6]
    size, sign = geometry.size, -1.0 if is_reversed else 1.0
    h, o = sign * chain.axes[order], chain.points[order] / max(size, LEAST_DIVISOR)
    a, w = _nearest_point(h, o, 0), _nearest_point(h, o, 3)
    if a is None or w is None:
        return None
    moved = o.copy()
    moved[:2], moved[3:] = a, w
    shifts = moved - o
    shifts -= (shifts * h).sum(axis=1, keepdims=True) * h
    drift = 2.0 * float(np.linalg.norm(shifts, axis=1).sum())
    numbers = _numbers(h, a - o[2], w - o[2])
    if (
        min(numbers[hr.S12], numbers[hr.TWO_R], numbers[hr.R5]) < LEAST_PROOF_SINE
        or drift > MOST_DRIFT
    ):
        return None
    axis = chain.axes[held]
    numbers[hr.S1U], numbers[hr.SIGN] = _across(h[0], axis), -sign
    numbers[hr.SIZE], numbers[hr.DRIFT] = size, 0.0 if drift < EXACT_DRIFT else drift
    if drift > SHRINKING:
        # The proof can split the drift only if joint 6 causes all of it.
        if np.abs(shifts[:5]).max() > EXACT_DRIFT:
            return None
        numbers[hr.SPLIT] = float(np.linalg.norm(shifts[5]))
    table = _vectors(h, a, w, a - o[2], w - o[2])
    table[hr.U], table[hr.AROUND] = axis, chain.points[held] / size
    limits = _ranges(chain.lower[order], chain.upper[order])
    return hr.HeldArm(table.ravel(), numbers, limits, shifts.ravel())


def _nearest_point(h: FloatArray, o: FloatArray, first: int) -> FloatArray | None:
    """
    Return the point (3,) nearest to the axes ``first`` and ``first + 1``, or None if they are nearly parallel.

    :param h, o: (6, 3) unit direction of each axis, and a point on it.
    """
    across = [np.eye(3) - np.outer(h[k], h[k]) for k in (first, first + 1)]
    if _across(h[first], h[first + 1]) < LEAST_PROOF_SINE:
        return None
    return np.asarray(
        np.linalg.solve(across[0] + across[1], across[0] @ o[first] + across[1] @ o[first + 1])
    )


def _vectors(
    h: FloatArray, a: FloatArray, w: FloatArray, base: FloatArray, elbow: FloatArray
) -> FloatArray:
    """
    Return the vectors that the proof needs as a table (VECTORS, 3), one row for each name in ``held_ranges``.

    The two rows of the held joint are zero; the caller fills them in.

    :param h: (6, 3) unit directions of the free axes.
    :param a, w: points where the first two axes meet, and the last three, in sizes of the chain.
    :param base, elbow: vectors from a point on the third axis to ``a`` and to ``w``.
    """
    table = np.zeros((hr.VECTORS, 3))
    c12, s12 = float(h[0] @ h[1]), _across(h[0], h[1])
    table[[hr.H1, hr.H2, hr.H3, hr.H4, hr.H5, hr.H6]] = h
    table[hr.ACROSS] = np.cross(h[0], h[1]) / s12
    table[hr.ALONG1], table[hr.ALONG2] = (h[1] - c12 * h[0]) / s12, (h[0] - c12 * h[1]) / s12
    table[[hr.A, hr.W, hr.BASE, hr.ELBOW]] = a, w, base, elbow
    for x, y, axis in ((hr.X4, hr.Y4, h[3]), (hr.X6, hr.Y6, h[5])):
        table[x] = vectors.perpendicular(tuple(axis.tolist()))
        table[y] = np.cross(axis, table[x])
    return table


def _numbers(h: FloatArray, base: FloatArray, elbow: FloatArray) -> FloatArray:
    """
    Return the scalars that the proof needs (NUMBERS,): sines, cosines, phases and levers of the free axes.

    A lever is the distance of a point from an axis. The size, the drift and the entries of the held joint are zero; the
    caller fills them in.

    :param h: (6, 3) unit directions of the free axes.
    :param base, elbow: vectors from a point on the third axis to the points where axes 1 and 2, and 4 to 6, meet.
    """
    numbers = np.zeros(hr.NUMBERS)
    numbers[hr.C12], numbers[hr.S12] = float(h[0] @ h[1]), _across(h[0], h[1])
    along = float(base @ h[2]) * float(elbow @ h[2])
    x, y = float(base @ elbow) - along, float(base @ np.cross(h[2], elbow))
    numbers[hr.MIDDLE3] = float(base @ base) + float(elbow @ elbow) - 2.0 * along
    numbers[hr.TWO_R], numbers[hr.PHASE3] = 2.0 * np.sqrt(x * x + y * y), np.arctan2(y, x)
    numbers[hr.LEVER_W], numbers[hr.LEVER_A] = _across(h[2], elbow), _across(h[2], base)
    for place, joint in ((hr.S23, 1), (hr.S45, 3), (hr.S56, 4)):
        numbers[place] = _across(h[joint], h[joint + 1])
    numbers[hr.C5] = float(h[3] @ h[4]) * float(h[4] @ h[5])
    x, y = float(h[3] @ h[5]) - numbers[hr.C5], float(h[3] @ np.cross(h[4], h[5]))
    numbers[hr.R5], numbers[hr.PHASE5] = np.sqrt(x * x + y * y), np.arctan2(y, x)
    return numbers


def _across(h: FloatArray, v: FloatArray) -> float:
    """Return the length of the component of v perpendicular to the unit vector h."""
    return float(np.linalg.norm(np.cross(h, v)))


def _ranges(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """
    Return the middles, then the half widths of six joint ranges (12,) [rad].

    A joint whose range covers a full turn has the middle 0 and an infinite half width.

    :param lower, upper: (6,) limits of the free joints.
    """
    half = 0.5 * (upper - lower)
    is_free = ~(half < np.pi)
    middle = 0.5 * (np.where(is_free, 0.0, lower) + np.where(is_free, 0.0, upper))
    return np.concatenate([middle, np.where(is_free, np.inf, half)])
