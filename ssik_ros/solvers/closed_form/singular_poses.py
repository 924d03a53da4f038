"""
Search the postures of singular and nearly singular poses, for which the closed form is in doubt; others may exist.

At a singular pose the closed form may miss a curve of postures that passes inside the limits, and return one of its
points outside. Or rounding may lose roots. Three sources of candidates make up for it:

1. The branches of the closed form, regardless of limits.
2. Descents within the limits that start at these branches, moved inside the limits, and at spread starts.
3. If these give no posture within the limits: a posture refined from one with nearly all joints on limits.

:mod:`ssik_ros.kernels.closed_form.singular.singular_postures` then reduces the candidates to isolated solutions and to
one point of each curve. With a seed, this is the point within the limits that is nearest to the seed.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, whole_turns
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.elimination.general_search import CURVE_REFERENCE
from ssik_ros.kernels.closed_form.singular import singular_postures
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.solvers.closed_form.placing import measure, place
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.closed_form.posture_search import Goal, KeptLimits, PostureSearch
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement

STARTS = (16, 128), (512,)
"""Numbers of spread starts. The second number of a pair is used if no descent of the first has reached the pose. The
second tuple is used if no descent has ended within the limits at a posture that is accepted."""
COPY_DISTANCE = 1e-5
"""Two postures are the same solution if all joints differ by less than this [rad or m]."""
NEARLY_COPY_DISTANCE = 1e-3
"""Two postures are the same solution, too, if all joints differ by less than this and their midpoint also reaches the
pose [rad or m]."""
SAFE = 10.0
"""Largest residual of the midpoint of two equal postures, as a multiple of the rounding of the pose."""
LITTLE_ASIDE = 1e-6
"""With a seed, the wanted point is shifted by this times the joint's number, to break ties [rad]."""


class Settled(NamedTuple):
    """Postures of one singular pose within the limits, best first with a seed, and the curve through each, if any."""

    rows: FloatArray
    """(k, n + 3) joint values within limits and their errors: position [m], rotation [rad], Frobenius norm of FK -
    T."""
    curves: FloatArray
    """(k, n + 2) unit tangent of the curve of postures through each posture, then the lengths of the curve within the
    limits against the tangent and along it [rad]; zeros for isolated postures."""
    outside: int
    """Number of other postures: outside the limits, or off the pose by more than the tolerance."""
    starts: int
    """Number of descents."""


class SingularPoses:
    """Searches the postures of singular poses of one arm, and may miss some; several threads may call it at once."""

    def __init__(self, plan: AnalyticPlan, posture_search: PostureSearch) -> None:
        """
        Prepare the search of one arm.

        :param plan: plan of a chain.
        :param posture_search: posture search of the same chain.
        """
        self._plan, self._n, self._search = plan, plan.size, posture_search
        self.refinement = BoundedRefinement(plan.chain)
        """Refines postures of this chain within limits."""
        self._slides = int(plan.ints[search.SLIDES])
        self._turns = np.array([not self._slides >> joint & 1 for joint in range(self._n)])

    def settle(self, goal: Goal, candidates: FloatArray) -> Settled:
        """
        Return the postures of a singular pose within the limits that a search finds; others may exist.

        They are the isolated postures, and one point of each curve of postures. With a seed the nearest comes first;
        without a seed the order is open.

        :param goal: pose, limits, tolerance and seed.
        :param candidates: (k, n) branches of the closed form, limits ignored.
        """
        seeds, count = [self._moved_inside(q, goal.limits) for q in candidates], 0
        for starts in STARTS:
            postures, tried = self._search.find_several(goal, seeds, starts)
            count += tried
            settled = self._settle_postures(goal, candidates, postures)
            if len(settled.rows):
                return settled._replace(starts=count)
        bounds = goal.limits.bounds
        beginnings = self.refinement.near_limits(goal.pose, bounds)
        q = self.refinement.first_refined(goal.pose, beginnings, bounds, goal.tolerance)
        if q is not None:
            settled = self._settle_postures(goal, candidates, [q])
        return settled._replace(starts=count)

    def _settle_postures(
        self, goal: Goal, candidates: FloatArray, postures: list[FloatArray]
    ) -> Settled:
        """
        Reduce candidates to the different postures of a pose within the limits; with a seed the nearest comes first.

        The field ``starts`` of the result is 0. If the reduction leaves no posture, the result has the most exact
        candidate within limits and tolerance, if any.

        :param goal: pose, limits, tolerance and seed.
        :param candidates: (k, n) branches of the closed form, limits ignored.
        :param postures: (n,) each: ends of descents within the limits.
        """
        # Postures within the limits come first: they begin the walk on each curve to its point nearest to the seed.
        rows = np.vstack([*postures, candidates])
        settled, curves = self._settle(goal, rows)
        different = self._different(goal.pose, settled, curves)
        settled, curves = settled[different], curves[different]
        inside, places = self._inside(goal, settled)
        # Near surfaces of solutions, and on limits, the reduction may keep no posture: take the most exact candidate.
        if not inside:
            where = goal.limits.bounds, goal.tolerance
            polished = [self.refinement.refine(goal.pose, q, *where) for q in postures]
            rows = np.vstack([rows, *(q for q in polished if q is not None)])
            refined = self._inside(goal, rows)[0]
            inside = sorted(refined, key=lambda row: float(row[-1]))[:1]
            curves, places = np.zeros((1, self._n + 2)), [0] * len(inside)
        order = self._order(inside, goal)
        return Settled(
            np.array([inside[i] for i in order]).reshape(-1, self._n + 3),
            np.array([curves[places[i]] for i in order]).reshape(-1, self._n + 2),
            max(0, len(settled) - len(inside)),
            0,
        )

    def nearest_inside(
        self, rows: FloatArray, limits: KeptLimits, most: int
    ) -> tuple[list[FloatArray], float]:
        """
        Move postures into the limits, and return the ``most`` of them that move least, with the least motion.

        The motion of a posture is its largest joint motion [rad or m]; whole turns do not count. The least motion is
        infinite if there are no postures.

        :param rows: (k, n) postures, whatever the limits.
        :param limits: limits of the joints.
        :param most: largest number of postures to return.
        """
        moved = [self._moved_inside(q, limits) for q in rows]
        motions = [
            float(np.abs(self._plan.chain.wrap_turns(new - old)).max())
            for new, old in zip(moved, rows, strict=True)
        ]
        order = np.argsort(motions, kind='stable')[:most]
        return [moved[number] for number in order], min(motions, default=math.inf)

    def _moved_inside(self, q: FloatArray, limits: KeptLimits) -> FloatArray:
        """
        Return a posture (n,) with each joint at the winding nearest to the middle of its limits, clipped to them.

        Prismatic joints, and joints that lack a limit, keep their values until they are clipped. If the limits are not
        kept, return a copy.
        """
        lower, upper = limits.lower, limits.upper
        if not limits.are_kept:
            return q.copy()
        is_limited = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(is_limited, lower, q), np.where(is_limited, upper, q)
        middle = 0.5 * (low + high)
        nearest = np.where(self._turns, q - whole_turns(q - middle), q)
        return np.clip(nearest, lower, upper)

    def _settle(self, goal: Goal, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return solutions (k, n), one for each curve and each isolated solution, and their curves (k, n + 2).

        The curves are as in :class:`Settled`. The point of a curve is the one nearest to the seed, or to a fixed
        reference posture without a seed.

        :param rows: (m, n) candidates; they are refined in place.
        """
        n = self._n
        joints = np.arange(1.0, n + 1.0)
        wish = (
            CURVE_REFERENCE * (1.0 + 0.37 * joints)
            if goal.seed is None
            else goal.seed + LITTLE_ASIDE * joints
        )
        out = np.empty((singular_postures.MOST_SINGULAR_SOLUTIONS, n))
        curves = np.empty((singular_postures.MOST_SINGULAR_SOLUTIONS, n + 2))
        isolated = np.empty(len(rows))
        count = singular_postures.settle_rows(
            out,
            curves,
            isolated,
            rows,
            *self.refinement.aim(goal.pose),
            goal.limits.bounds,
            wish,
            np.array([certify.rounding(pose_numbers(goal.pose)), goal.tolerance]),
            np.empty(singular_postures.scratch_size(n)),
        )
        # Near a surface of solutions, the kernel takes isolated solutions for points of curves: add them again.
        alone = rows[isolated > 0.0]
        return np.vstack([out[:count], alone]), np.vstack(
            [curves[:count], np.zeros((len(alone), n + 2))]
        )

    def _inside(self, goal: Goal, postures: FloatArray) -> tuple[list[FloatArray], list[int]]:
        """
        Return the postures that are within the limits at some winding, as rows (n + 3,), and their indices.

        A row has joint values and errors. Rows whose error exceeds the tolerance are left out. Postures outside by no
        more than rounding are clipped to the limits.
        """
        limits = goal.limits
        mode = ranking.WITHIN_LIMITS if limits.are_kept else ranking.KEEP_ALL
        rows, numbers = [], []
        for number, q in enumerate(postures):
            row = place(self._plan, q, goal.pose, goal.seed, limits[:2], mode)
            if row is None:
                row = self._on_limits(goal.pose, q, limits)
            if row is not None and row[-1] <= goal.tolerance:
                rows.append(row)
                numbers.append(number)
        return rows, numbers

    def _on_limits(self, pose: FloatArray, q: FloatArray, limits: KeptLimits) -> FloatArray | None:
        """
        Return a posture clipped to the limits with its errors (n + 3,); None if it is outside by more than rounding.

        At a nearly singular posture, rounding moves joints by much more than it moves the pose.
        """
        moved = self._moved_inside(q, limits)
        if np.abs(self._plan.chain.wrap_turns(moved - q)).max() > ranking.FOLD_LIMIT_ROUNDING:
            return None
        return measure(self._plan, moved, pose)

    def _different(self, pose: FloatArray, settled: FloatArray, curves: FloatArray) -> list[int]:
        """
        Return the ascending indices of the solutions that are left after copies of more exact ones are dropped.

        An isolated solution is a copy if all its joints differ from a kept solution by less than 1e-5. It is also a
        copy if all differ by less than 1e-3, and the midpoint of the two reaches the pose, too. A point of a curve is a
        copy only if it equals a kept solution up to 1e-9. Differences of revolute joints ignore whole turns.

        :param settled: (k, n) solutions.
        :param curves: (k, n + 2) curve through each solution; zeros for an isolated solution.
        """
        enough = SAFE * certify.rounding(pose_numbers(pose))
        errors = [measure(self._plan, q, pose)[-1] for q in settled]
        differences = self._plan.chain.wrap_turns(settled[:, None] - settled)
        largest = np.abs(differences).max(axis=2)
        kept: list[int] = []
        for number in np.argsort(errors, kind='stable').tolist():
            near = [other for other in kept if largest[number, other] < NEARLY_COPY_DISTANCE]
            # Where curves cross, each of them has the same point.
            is_copy = any(largest[number, other] <= search.SAME_VALUE for other in near)
            for other in [] if curves[number].any() else near:
                middle = settled[other] + 0.5 * differences[number, other]
                is_copy = is_copy or largest[number, other] < COPY_DISTANCE
                is_copy = is_copy or bool(measure(self._plan, middle, pose)[-1] <= enough)
            if not is_copy:
                kept.append(number)
        return sorted(kept)

    def _order(self, rows: list[FloatArray], goal: Goal) -> list[int]:
        """Return the indices that sort rows by distance from the seed, nearest first; without a seed, their present order."""
        if goal.seed is None:
            return list(range(len(rows)))
        how = self._n, self._slides, *goal.limits[:2], goal.metric
        keys = [ranking.distance(row[: self._n].copy(), goal.seed, *how) for row in rows]
        return sorted(range(len(rows)), key=keys.__getitem__)
