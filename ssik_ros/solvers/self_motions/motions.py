"""All self-motions of one pose."""

from collections.abc import Callable, Iterator, Sequence
import functools

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import SolverError
from ssik_ros.kernels.closed_form.self_motions import folds, segments
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.solvers.self_motions.curve import CurvePoint, JOINTS, SelfMotion, TracedPose
from ssik_ros.solvers.self_motions.objectives import Objective


class SelfMotions:
    """
    The curves of solutions of one pose, within the limits.

    A sequence of :class:`SelfMotion`, empty where the pose has no solution.
    """

    def __init__(
        self,
        pose: TracedPose,
        knots: FloatArray,
        rows: IntArray,
        resolution: float,
        find_gap: Callable[[], str],
    ) -> None:
        """
        Keep the knots of all curves.

        :param pose: what the curves share.
        :param knots: (k, segments.COLUMNS) curve behind curve, not yet parted at folds and crossings.
        :param rows: (c,) how many knots each of these has.
        :param resolution: see the attribute.
        :param find_gap: returns why a curve may be missing, empty if none can be.
        """
        self._pose, self._knots, self._rows, self._find_gap = pose, knots, rows, find_gap
        self.resolution = resolution
        """Every curve on which the held joint moves by more than this is here, if ``is_complete`` [rad or m]."""

    @functools.cached_property
    def reason(self) -> str:
        """Return why a longer curve may be missing, empty if it is proved that none is: the proof runs when first asked."""
        return self._find_gap()

    @property
    def is_complete(self) -> bool:
        """
        Return whether it is proved that no curve is missing on which the held joint moves by more than :attr:`resolution`.

        False also where a curve is missing on which it hardly moves, see Completeness in docs/math.
        """
        return not self.reason

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the arm's joints."""
        return self._pose.plan.chain.joint_names[: self._pose.dof]

    @functools.cached_property
    def curves(self) -> tuple[SelfMotion, ...]:
        """Return the curves, parted where the held joint turns back and where they cross."""
        size = len(self._knots)
        knots = np.empty((folds.ROOM * size, segments.COLUMNS))
        heads = np.empty((2 * size, folds.COLUMNS), dtype=np.int64)
        at, work, pose = np.empty(size, dtype=np.int64), np.empty(folds.scratch_size()), self._pose
        where = pose.plan.ints, pose.reals, pose.target, JOINTS, work
        count = folds.part_curves(knots, heads, at, self._knots, self._rows, *where)
        return tuple(
            SelfMotion(pose, index, knots[row[0] : row[0] + row[1]], tuple(row[2:]))
            for index, row in enumerate(heads[:count].tolist())
        )

    def __len__(self) -> int:
        """Return the number of curves."""
        return len(self.curves)

    def __iter__(self) -> Iterator[SelfMotion]:
        """Return the curves one by one."""
        return iter(self.curves)

    def __getitem__(self, index: int) -> SelfMotion:
        """Return a curve by its index."""
        return self.curves[index]

    def __repr__(self) -> str:
        """Return how many curves there are, and up to which length they are all."""
        proof = f'complete to {self.resolution:.3g}' if self.is_complete else self.reason
        return f'SelfMotions({len(self)} curves, {proof})'

    def sample(self, spacing: float) -> FloatArray:
        """
        Return postures (m, dof) along all curves.

        :param spacing: distance between two of one curve at most [rad].
        """
        rows = [curve.sample(spacing) for curve in self.curves]
        return np.vstack(rows) if rows else np.empty((0, self._pose.dof))

    def nearest(self, seed: ArrayLike) -> CurvePoint | None:
        """
        Return the posture of all curves that is nearest to a posture, None where there is no curve.

        A curve whose nearest posture cannot be verified, next to a singular one, counts only if there is no other.

        :param seed: (dof,) the posture [rad or m].
        :raises SolverError: when no curve has one that can be verified.
        """
        found, refusal = [], None
        for curve in self.curves:
            try:
                found.append(curve.nearest(seed))
            except SolverError as error:
                refusal = error
        if refusal is not None and not found:
            raise refusal
        return min(found, key=lambda point: point.value, default=None)

    def best(
        self,
        objective: str | Objective,
        posture: ArrayLike | None = None,
        obstacles: Sequence[WorldObject] = (),
    ) -> CurvePoint | None:
        """
        Return the posture of all curves with the largest value of an objective, None where there is no curve.

        :param objective, posture, obstacles: as for :meth:`SelfMotion.best`.
        """
        if objective == 'clearance' and self._pose.clearance is not None:
            # The geometry is read once for all curves.
            objective = self._pose.clearance(obstacles)
        found = [curve.best(objective, posture) for curve in self.curves]
        return max(found, key=lambda point: point.value, default=None)
