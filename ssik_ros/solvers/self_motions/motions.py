"""All self-motions of one pose."""

from collections.abc import Iterator
import functools
import itertools

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.self_motions import folds, segments, trace
from ssik_ros.solvers.self_motions.curve import (
    CurveEnd,
    CurvePoint,
    EndKind,
    JOINTS,
    SelfMotion,
    TracedPose,
)
from ssik_ros.solvers.self_motions.objectives import Objective

INSIDE_ENDS = {trace.FOLD: EndKind.FOLD, trace.CROSSING: EndKind.CROSSING}
SAME_POSTURE = 1e-4
"""Distance of two ends below which one curve continues the other [rad]."""


class SelfMotions:
    """
    The curves of solutions of one pose, within the limits.

    A sequence of :class:`SelfMotion`, empty where the pose has no solution.
    """

    def __init__(
        self, pose: TracedPose, knots: FloatArray, rows: IntArray, resolution: float, why: str
    ) -> None:
        """
        Keep the knots of all curves.

        :param pose: what the curves share.
        :param knots: (k, segments.COLUMNS) curve behind curve, not yet parted at folds and crossings.
        :param rows: (c,) how many knots each of these has.
        :param resolution: see the attribute.
        :param why: reason why it is not proved that no curve is missing, empty where it is.
        """
        self._pose, self._knots, self._rows = pose, knots, rows
        self.resolution = resolution
        """Every curve on which the held joint moves by more than this is here, if ``is_complete`` [rad or m]."""
        singular = knots[:, segments.KIND] == trace.SINGULAR
        self.reason = 'a curve ends in a singular posture' if singular.any() else why
        """Why it is not proved that no longer curve is missing; empty where it is."""

    @property
    def is_complete(self) -> bool:
        """Return whether it is proved that no curve longer than :attr:`resolution` is missing."""
        return not self.reason

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the arm's joints."""
        return self._pose.plan.chain.joint_names[: self._pose.dof]

    @functools.cached_property
    def curves(self) -> tuple[SelfMotion, ...]:
        """Return the curves, parted where the held joint turns back and where they cross."""
        pieces = [piece for part in self._parts() for piece in _split(part)]
        ends = [self._end(piece, row) for piece in pieces for row in (0, -1)]
        linked = self._link(pieces, ends)
        return tuple(
            SelfMotion(self._pose, index, piece, linked[2 * index], linked[2 * index + 1])
            for index, piece in enumerate(pieces)
        )

    def _parts(self) -> list[FloatArray]:
        """Return the knots of each curve before it is parted, those of its folds among them."""
        if not len(self._rows):
            return []
        pose, work = self._pose, np.empty(int(trace.scratch_size()))
        parts = np.split(self._knots, np.cumsum(self._rows)[:-1])
        out, found = np.empty((2 * int(self._rows.max()), segments.COLUMNS)), []
        for part in parts:
            own = pose.plan.ints, pose.reals, pose.target, JOINTS, work
            found.append(out[: folds.insert_folds(out, part, *own)].copy())
        return found

    def _end(self, knots: FloatArray, row: int) -> CurveEnd:
        """Return what stands at the first or the last knot of a curve, without what continues there."""
        kind = float(knots[row, segments.KIND])
        if kind in INSIDE_ENDS:
            return CurveEnd(INSIDE_ENDS[kind])
        if trace.LIMIT < kind < trace.CLOSED:
            code = round(32.0 * (kind - trace.LIMIT)) - 1
            return CurveEnd(
                EndKind.LIMIT, self._pose.plan.chain.joint_names[code // 2], code % 2 == 1
            )
        return CurveEnd(EndKind.SINGULAR if kind == trace.SINGULAR else EndKind.CLOSED)

    def _link(self, pieces: list[FloatArray], ends: list[CurveEnd]) -> list[CurveEnd]:
        """Return ends, two of each piece, with the indices of the curves that have an end in the same posture."""
        kinds = np.array([piece[row, segments.KIND] for piece in pieces for row in (0, -1)])
        joined = np.flatnonzero((kinds == trace.FOLD) | (kinds == trace.CROSSING))
        places = np.array([piece[row, :7] for piece in pieces for row in (0, -1)])[joined]
        found = list(ends)
        for place, end in zip(places, joined.tolist(), strict=True):
            away = np.abs(self._pose.plan.chain.wrap_turns(places - place)).max(axis=1)
            others = joined[(away < SAME_POSTURE) & (joined != end)] // 2
            curves = tuple(dict.fromkeys(others.tolist()))
            found[end] = found[end]._replace(curves=curves)
        return found

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
        """Return how many curves there are, and whether that is proved."""
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

        :param seed: (dof,) the posture [rad or m].
        """
        found = [curve.nearest(seed) for curve in self.curves]
        return min(found, key=lambda point: point.value, default=None)

    def best(
        self, objective: str | Objective, posture: ArrayLike | None = None
    ) -> CurvePoint | None:
        """
        Return the posture of all curves with the largest value of an objective, None where there is no curve.

        :param objective, posture: as for :meth:`SelfMotion.best`.
        """
        found = [curve.best(objective, posture) for curve in self.curves]
        return max(found, key=lambda point: point.value, default=None)


def _split(knots: FloatArray) -> list[FloatArray]:
    """Return the pieces of a curve between its folds and crossings; of a closed one, its beginning is no end then."""
    kinds = knots[:, segments.KIND]
    inner = np.flatnonzero((kinds == trace.FOLD) | (kinds == trace.CROSSING))
    inner = inner[(inner > 0) & (inner < len(knots) - 1)]
    if not len(inner):
        return [knots]
    bounds = [0, *inner.tolist(), len(knots) - 1]
    pieces = [knots[a : b + 1].copy() for a, b in itertools.pairwise(bounds)]
    for piece in pieces:
        piece[:, segments.ARC] -= piece[0, segments.ARC]
    if trace.CLOSED not in (kinds[0], kinds[-1]):
        return pieces
    first, last = pieces[0], pieces.pop()
    first[:, :7] += np.round((last[-1, :7] - first[0, :7]) / (2.0 * np.pi)) * 2.0 * np.pi
    first[:, segments.ARC] += last[-1, segments.ARC]
    pieces[0] = np.vstack([last[:-1], first])
    return pieces
