"""
Decide for poses whether an arm reaches them without a collision; count self-motions and measure clearances.

:class:`CheckedArm` decides. :func:`make_arm` returns one if there are shapes, or if clearance or self-motions are
wanted; otherwise it returns a :class:`ssik_ros.reach.cells.ReachArm`.

Proofs
    A REACHABLE pose has a posture that does not collide. A pose is COLLIDES only if all branches are known, none of
    them is singular, and each collides. An arm with seven joints has curves of postures. If all samples collide,
    more samples are taken along the curves; if these collide too, the pose is UNKNOWN. If all postures collide and
    one is singular or comes from a search, the pose is UNKNOWN too, because there may be others.
"""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.cells import (
    as_matrices,
    Decided,
    MOST_BRANCHES,
    MOST_EFFORT,
    ReachArm,
    ReachSettings,
    unknown_results,
)
from ssik_ros.reach.collisions.chain_scene import ChainScene
from ssik_ros.reach.collisions.posture_checks import PostureChecks
from ssik_ros.reach.measures import are_singular, best_measures, largest_of
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.solvers.closed_form.plan import CERTIFIED_ERROR
from ssik_ros.solvers.closed_form.posture_search import Goal
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.tracer import SelfMotionTracer

CHECKED_SPACING = 0.1
"""Distance of two postures of a self-motion that are checked [rad]."""
SEVEN = 7
OTHER_STARTS = 16
"""Random first starts of a search for a posture that does not collide."""
MOST_SELF_MOTIONS = 255
MEASURED = 32
"""Postures of a pose, at most, whose distance is measured by meshes, where hulls of all overlap."""


def make_arm(
    chain: SerialChain, settings: ReachSettings, scene: ChainScene | None = None
) -> ReachArm:
    """
    Return the object that decides which poses a chain reaches: a ReachArm, or a CheckedArm if it needs more checks.

    :param chain: the chain.
    :param settings: the quantities to compute.
    :param scene: shapes for collision checks; None for no checks.
    :raises InvalidOption, SolverError: as :class:`CheckedArm`.
    """
    if scene is None and not (settings.clearance or settings.self_motions):
        return ReachArm(chain, settings)
    return CheckedArm(chain, settings, scene)


class _Postures:
    """The k postures of m poses in one table, ordered by pose, with the number of postures of each pose."""

    def __init__(self, q: FloatArray, counts: IntArray) -> None:
        """
        Store the postures of m poses.

        :param q: (k, n) postures, ordered by pose.
        :param counts: (m,) number of postures of each pose.
        """
        self.q, self.counts = q, counts
        self.owners = np.repeat(np.arange(len(counts)), counts)

    def kept(self, which: NDArray[np.bool_]) -> '_Postures':
        """Return only the postures for which the mask ``which`` (k,) is true; the poses stay the same."""
        counts = np.bincount(self.owners[which], minlength=len(self.counts))
        return _Postures(self.q[which], counts)

    def with_others(self, more: dict[int, FloatArray]) -> '_Postures':
        """
        Return a copy in which some poses that had no posture get postures.

        :param more: postures (k, n) by index of the pose.
        """
        if not more:
            return self
        counts = self.counts.copy()
        parts = np.split(self.q, np.cumsum(counts)[:-1])
        for pose, q in more.items():
            parts[pose], counts[pose] = q, len(q)
        return _Postures(np.concatenate(parts), counts)


class CheckedArm(ReachArm):
    """Decides which poses one chain reaches without a collision, with clearance and self-motions; serves one thread."""

    def __init__(
        self, chain: SerialChain, settings: ReachSettings, scene: ChainScene | None
    ) -> None:
        """
        Prepare the solver and the collision checks.

        :param chain: from the base link, in which poses are given, to the tip link.
        :param settings: the quantities to compute.
        :param scene: shapes for collision checks; None for no checks.
        :raises InvalidOption: if self-motions are wanted without seven joints and a closed form, or clearance without
            shapes.
        :raises SolverError: for collision checks without coal.
        """
        super().__init__(chain, settings)
        has_curves = self._arm is not None and len(chain.joint_names) == SEVEN
        if settings.self_motions and not has_curves:
            raise InvalidOption(
                f"self_motions are counted for seven joints with a closed form; '{chain.tip_link}' has "
                f'{len(chain.joint_names)} joints.'
            )
        if settings.clearance and scene is None:
            raise InvalidOption('clearance needs the shapes of the robot.')
        self._checks = None if scene is None else PostureChecks(chain, scene)
        self._tracer = SelfMotionTracer(self._arm, SEVEN) if has_curves and self._arm else None

    @property
    def method(self) -> str:
        """Return a phrase that says how poses are decided; it ends in 'each posture is checked' if collisions count."""
        return super().method + ('' if self._checks is None else '; each posture is checked')

    def decide(self, poses: FloatArray) -> Decided:
        """
        Return the status of poses with collision checks, with free branches and the quantities of the settings.

        :param poses: (n, 4, 4) of the tip in the base, or (n, 7) positions and unit quaternions x, y, z, w.
        :raises DimensionMismatch: for other shapes.
        :raises InvalidTarget: if a pose is not a rigid transform.
        """
        matrices = as_matrices(poses)
        decided = unknown_results(len(matrices))
        branches = self._branches(matrices, decided)
        reached = _Postures(branches.q, np.maximum(branches.counts[:, search.COUNT], 0))
        free, decided = self._check(matrices, reached, decided)
        decided.status[free.counts > 0] = CellStatus.REACHABLE
        decided.branches[:] = np.minimum(free.counts, MOST_BRANCHES)
        if self.settings.measures:
            best = best_measures(self.chain, free.q, free.counts)
            decided.manipulability[:], decided.limit_margin[:] = best
        if self.settings.self_motions:
            decided = decided._replace(self_motions=self._count_curves(matrices, reached.counts))
        return decided

    def _check(
        self, poses: FloatArray, reached: _Postures, decided: Decided
    ) -> tuple[_Postures, Decided]:
        """
        Check the postures of poses for collisions; return (free postures, ``decided`` with more results).

        ``decided`` gets the status of poses whose postures all collide, the clearances, and the effort. If it is not
        proved that such a pose always collides, further postures are tried.

        :param reached: the postures within limits of each pose.
        """
        if self._checks is None:
            return reached, decided
        is_free = self._checks.free(reached.q)
        free = reached.kept(is_free)
        stuck = np.flatnonzero((reached.counts > 0) & (free.counts == 0))
        decided.status[stuck] = self._status_of_stuck(reached, stuck)
        more = {}
        for pose in np.flatnonzero(decided.status == CellStatus.UNKNOWN).tolist():
            if reached.counts[pose]:
                q, tried = self._look_further(poses[pose])
                effort = int(decided.effort[pose]) + int(reached.counts[pose]) + tried
                decided.effort[pose] = min(effort, MOST_EFFORT)
                if len(q):
                    more[pose] = q
        free = free.with_others(more)
        if self.settings.clearance:
            decided = decided._replace(clearance=self._clearance(free))
        return free, decided

    def _status_of_stuck(self, reached: _Postures, stuck: NDArray[np.int64]) -> NDArray[np.uint8]:
        """
        Return the status of poses whose postures all collide: COLLIDES if no other posture can exist, else UNKNOWN.

        :param reached: the postures of all poses.
        :param stuck: indices of the poses.
        """
        status = np.full(len(stuck), CellStatus.UNKNOWN, dtype=np.uint8)
        if self.is_complete and len(stuck):
            postures = reached.kept(np.isin(reached.owners, stuck))
            singular = np.zeros(len(postures.counts), dtype=np.bool_)
            singular[postures.owners[are_singular(self.chain, postures.q)]] = True
            status[~singular[stuck]] = CellStatus.COLLIDES
        return status

    def _look_further(self, pose: FloatArray) -> tuple[FloatArray, int]:
        """
        Try further postures of a pose whose postures all collide; return (free ones (k, n), number tried).

        They come from self-motions if the arm has seven joints and a closed form, otherwise from a search. If the
        closed form finds all branches, nothing is tried.
        """
        assert self._checks is not None
        if self._tracer is not None:
            return self._look_along(pose)
        if self._search is None:
            return np.empty((0, len(self.chain.axes))), 0
        return self._look_elsewhere(pose)

    def _look_along(self, pose: FloatArray) -> tuple[FloatArray, int]:
        """
        Sample the self-motions of a pose until a curve has free postures; return (free postures, number tried).

        The free postures (k, 7) lie on one curve; k = 0 if no curve has any.
        """
        assert self._checks is not None
        tried = 0
        for curve in self._motions(pose) or ():
            q = curve.sample(CHECKED_SPACING)
            free, tried = q[self._checks.free(q)], tried + len(q)
            if len(free):
                return free, tried
        return np.empty((0, SEVEN)), tried

    def _look_elsewhere(self, pose: FloatArray) -> tuple[FloatArray, int]:
        """
        Search from at most OTHER_STARTS random starts for a free posture of a pose; return (posture, number of starts).

        The posture is an array (1, n), or empty (0, n) if none is found.
        """
        assert self._search is not None and self._checks is not None
        rng, limits = np.random.default_rng(0), self._limits
        low, high = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        for tried in range(1, OTHER_STARTS + 1):
            goal = Goal(pose, limits, CERTIFIED_ERROR, rng.uniform(low, high))
            one = self._search.find(goal)
            if one.q is not None and self._checks.free(one.q[None])[0]:
                return one.q[None], tried
        return np.empty((0, len(low))), OTHER_STARTS

    def _clearance(self, free: _Postures) -> NDArray[np.float32]:
        """
        Return the clearance (m,) of each pose: the largest one of its free postures [m]; NaN for poses without any.

        It is a lower bound, with hulls in place of meshes. If the hulls overlap in each free posture of a pose, at most
        32 of these postures are measured by exact meshes.
        """
        assert self._checks is not None
        _, apart = self._checks.clearances(free.q)
        best = largest_of(apart, free.counts)
        # Overlapping hulls do not give a distance: then the meshes are measured.
        for pose in np.flatnonzero(best <= 0.0).tolist():
            rows = np.flatnonzero(free.owners == pose)[:MEASURED]
            best[pose] = max(self._checks.least_distance(free.q[row]) for row in rows)
        return best

    def _count_curves(self, poses: FloatArray, counts: IntArray) -> NDArray[np.uint8]:
        """
        Return the number (m,) of self-motions of each pose, whether they collide or not, at most MOST_SELF_MOTIONS.

        :param counts: (m,) number of postures of each pose; poses without any get 0.
        """
        curves = np.zeros(len(poses), dtype=np.uint8)
        for pose in np.flatnonzero(counts > 0).tolist():
            motions = self._motions(poses[pose])
            curves[pose] = 0 if motions is None else min(len(motions), MOST_SELF_MOTIONS)
        return curves

    def _motions(self, pose: FloatArray) -> SelfMotions | None:
        """Return the self-motions of a pose; None if the arm does not have seven joints and a closed form."""
        return None if self._tracer is None else self._tracer.motions(pose)
