"""
The self-motions of one pose as a sequence, :class:`SelfMotions`: curves along which the joints move and the tip stays.

``tracer`` and ``continuum`` find the curves and make the sequence. It cuts the curves at folds and crossings, samples
postures on them, and finds the posture with the largest value of an objective on all of them.
"""

from collections.abc import Callable, Iterator, Sequence
import functools

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import SolverError
from ssik_ros.kernels.closed_form.self_motions import folds, segments
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.solvers.self_motions.curve import CurvePoint, SelfMotion, TracedPose
from ssik_ros.solvers.self_motions.objectives import Objective


class SelfMotions:
    """
    The curves of postures that were found for one pose, within the limits, as a sequence of :class:`SelfMotion`.

    If :attr:`is_complete` is True, no curve is missing on which the held joint moves by more than ``resolution``. The
    sequence is empty if no solution of the pose was found.
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
        Store the curves as knots: postures with tangents and arc lengths.

        :param pose: data shared by the curves.
        :param knots: (k, segments.COLUMNS) knots of all curves in turn, not yet split at folds and crossings.
        :param rows: (c,) number of knots of each curve.
        :param resolution: if complete, every curve on which the held joint moves by more than this is included [rad or
            m].
        :param find_gap: returns why a curve may be missing; an empty text if all curves are proved to be found.
        """
        self._pose, self._knots, self._rows, self._find_gap = pose, knots, rows, find_gap
        self.resolution = resolution
        """If ``is_complete``, every curve on which the held joint moves by more than this is included [rad or m]."""

    @functools.cached_property
    def reason(self) -> str:
        """
        Return a text that says why a curve may be missing; empty if :attr:`is_complete` is True.

        The proof runs at the first access.
        """
        return self._find_gap()

    @property
    def is_complete(self) -> bool:
        """
        Return whether all curves on which the held joint moves by more than ``resolution`` are proved to be included.

        It is also False if a posture was found on a further curve, along which the held joint hardly moves. See
        Completeness in docs/math.
        """
        return not self.reason

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the arm's joints."""
        return self._pose.plan.chain.joint_names[: self._pose.dof]

    @functools.cached_property
    def curves(self) -> tuple[SelfMotion, ...]:
        """Return the curves, cut where the held joint turns back (folds) and where curves cross."""
        size = len(self._knots)
        knots = np.empty((folds.ROWS_PER_KNOT * size, segments.COLUMNS))
        heads = np.empty((2 * size, folds.COLUMNS), dtype=np.int64)
        at, work, pose = np.empty(size, dtype=np.int64), np.empty(folds.scratch_size()), self._pose
        count = folds.part_curves(knots, heads, at, self._knots, self._rows, *pose.arguments, work)
        return tuple(
            SelfMotion(pose, index, knots[row[0] : row[0] + row[1]], tuple(row[2:]))
            for index, row in enumerate(heads[:count].tolist())
        )

    def __len__(self) -> int:
        """Return the number of curves."""
        return len(self.curves)

    def __iter__(self) -> Iterator[SelfMotion]:
        """Iterate over the curves."""
        return iter(self.curves)

    def __getitem__(self, index: int) -> SelfMotion:
        """Return a curve by its index."""
        return self.curves[index]

    def __repr__(self) -> str:
        """
        Return the number of curves, and the resolution to which they are complete or why curves may be missing.

        The first call may take long, because it runs the proof of completeness.
        """
        proof = f'complete to {self.resolution:.3g}' if self.is_complete else self.reason
        return f'SelfMotions({len(self)} curves, {proof})'

    def sample(self, spacing: float) -> FloatArray:
        """
        Return postures along all curves (m, dof); m is 0 if there are no curves.

        :param spacing: largest distance between neighbours on a curve [rad].
        :raises ValueError: if there are curves, and the spacing is not positive.
        :raises SolverError: if a posture of any curve misses the pose or a limit.
        """
        rows = [curve.sample(spacing) for curve in self.curves]
        return np.vstack(rows) if rows else np.empty((0, self._pose.dof))

    def nearest(self, seed: ArrayLike) -> CurvePoint | None:
        """
        Return the posture nearest to a seed on any curve, or None if there are no curves.

        On each curve it is searched as by :meth:`SelfMotion.nearest`, so that a nearer posture may be missed.

        Near a singular posture, the nearest posture of a curve may miss the pose or a limit. Such a curve is skipped
        unless all curves fail.

        :param seed: (dof,) joint values [rad or m].
        :raises ValueError: if there are curves, and the seed does not have one finite number for each joint.
        :raises SolverError: if the nearest posture of every curve misses the pose or a limit.
        """
        points, refusal = [], None
        for curve in self.curves:
            try:
                points.append(curve.nearest(seed))
            except SolverError as error:
                refusal = error
        if refusal is not None and not points:
            raise refusal
        return min(points, key=lambda point: point.value, default=None)

    def best(
        self,
        objective: str | Objective,
        posture: ArrayLike | None = None,
        obstacles: Sequence[WorldObject] = (),
    ) -> CurvePoint | None:
        """
        Return the posture of all curves with the largest value of an objective, or None if there are no curves.

        Each curve is searched at steps of at most 0.05 rad, so that a narrower peak may be missed.

        :param objective: ``manipulability``, ``limit_margin``, ``clearance``, ``distance``, or a function of joint
            values (dof,); see :meth:`SelfMotion.best`.
        :param posture: (dof,) reference of ``distance`` [rad or m].
        :param obstacles: objects in the root frame of the robot, for ``clearance``.
        :raises TypeError: for other objectives. Without curves, no argument is checked.
        :raises ValueError: if ``distance`` has no posture of dof finite numbers.
        :raises SolverError: if an evaluated posture of any curve misses the pose or a limit.
        """
        makes = self._pose.clearance
        if makes is not None and isinstance(objective, str) and objective == 'clearance':
            # Read the geometry once for all curves.
            objective = makes(obstacles)
        points = [curve.best(objective, posture) for curve in self.curves]
        return max(points, key=lambda point: point.value, default=None)
