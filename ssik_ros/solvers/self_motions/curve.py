"""One curve of a self-motion: its ends, and the postures on it."""

from collections.abc import Sequence
import enum
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidOption, SolverError
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.self_motions import folds, readout, segments, trace
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.solvers.closed_form.labels import label_branch, NO_LABEL
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.self_motions.maximum import find_maximum
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker, make_objective, Objective

JOINTS = np.arange(7)
LOOK_EVERY = 0.05
"""Distance of the postures of a curve at which an objective is asked first [rad]."""


class EndKind(enum.Enum):
    """What a curve ends at."""

    LIMIT = 'limit'
    """A joint is on its limit."""
    FOLD = 'fold'
    """The held joint turns back: two branches of the six other joints meet."""
    CROSSING = 'crossing'
    """Another curve passes through the same posture."""
    CLOSED = 'closed'
    """Where the curve began."""
    SINGULAR = 'singular'
    """No direction is left, or more than one: the curve could not be followed further."""


INSIDE_ENDS = {trace.FOLD: EndKind.FOLD, trace.CROSSING: EndKind.CROSSING}


class CurveEnd(NamedTuple):
    """One of the two ends of a curve."""

    kind: EndKind
    joint: str = ''
    """Name of the joint on its limit, empty for other kinds."""
    is_upper: bool = False
    """Whether the limit is the upper one."""
    curves: tuple[int, ...] = ()
    """Indices of the curves that continue here."""

    def __str__(self) -> str:
        """Return it as ``limit of joint4 (upper)``, ``fold, on to curve 3``."""
        if self.kind is EndKind.LIMIT:
            return f'limit of {self.joint} ({"upper" if self.is_upper else "lower"})'
        others = ', '.join(str(index) for index in self.curves)
        return f'{self.kind.value}, on to curve {others}' if others else self.kind.value


class CurvePoint(NamedTuple):
    """A posture of a curve."""

    q: FloatArray
    """(dof,) joint values [rad or m]."""
    curve: int
    """Index of the curve."""
    s: float
    """Arc length from the start of the curve [rad]."""
    value: float
    """Distance from the seed [rad], or value of the objective."""


class TracedPose(NamedTuple):
    """What the curves of one pose have in common."""

    plan: AnalyticPlan
    """Of seven joints, a spin about the tool's axis being the last one where the arm has six."""
    dof: int
    """Joints of the arm: 7, or 6 with a spin."""
    reals: FloatArray
    """The plan's numbers with the limits and the tool of the request."""
    target: FloatArray
    """(12,) pose for the kernels."""
    tolerance: float
    """Frobenius norm of FK - T that a posture may have."""
    lower: FloatArray
    """(7,) limits [rad or m]."""
    upper: FloatArray
    clearance: ClearanceMaker | None
    """Makes the objective of that name."""


class SelfMotion:
    """Postures of one branch that reach a pose, as a curve over its arc length."""

    def __init__(
        self, pose: TracedPose, index: int, knots: FloatArray, others: tuple[int, ...]
    ) -> None:
        """
        Keep the knots.

        :param pose: what all curves of the pose share.
        :param index: of this curve among them.
        :param knots: (k, segments.COLUMNS), arc lengths from 0 on.
        :param others: the curves that continue at the first knot, then those at the last one, -1 for none.
        """
        self._pose, self._others = pose, others
        self.index = index
        self.knots = knots
        """(k, 17) joints, unit tangent, arc length, kind, and room of points near the curve."""

    @functools.cached_property
    def length(self) -> float:
        """Return the arc length, with metres of slides counted as radians [rad]."""
        return float(self.knots[-1, segments.ARC])

    @functools.cached_property
    def start(self) -> CurveEnd:
        """Return the end of the curve at its first knot."""
        return self._read_end(0, self._others[: folds.OTHERS])

    @functools.cached_property
    def end(self) -> CurveEnd:
        """Return the end of the curve at its last knot."""
        return self._read_end(-1, self._others[folds.OTHERS :])

    def _read_end(self, row: int, others: tuple[int, ...]) -> CurveEnd:
        """Return the end at the first or the last knot."""
        kind = float(self.knots[row, segments.KIND])
        if kind in INSIDE_ENDS:
            return CurveEnd(INSIDE_ENDS[kind], curves=tuple(i for i in others if i >= 0))
        if trace.LIMIT < kind < trace.CLOSED:
            code = round(32.0 * (kind - trace.LIMIT)) - 1
            names = self._pose.plan.chain.joint_names
            return CurveEnd(EndKind.LIMIT, names[code // 2], code % 2 == 1)
        return CurveEnd(EndKind.SINGULAR if kind == trace.SINGULAR else EndKind.CLOSED)

    @property
    def is_closed(self) -> bool:
        """Return whether the curve comes back to its beginning."""
        return self.start.kind is EndKind.CLOSED

    @functools.cached_property
    def label(self) -> str:
        """Return the branch of the curve, such as ``shoulder +, elbow -, wrist +``; empty where the class has no signs."""
        label = label_branch(self._pose.plan, self._solve(np.array([0.5 * self.length]))[0])
        return '' if label == NO_LABEL else str(label)

    def __repr__(self) -> str:
        """Return what a reader wants to know of the curve."""
        return (
            f'SelfMotion({self.index}: {self.label or "no label"}, length {self.length:.4f}, '
            f'{self.start} to {self.end})'
        )

    def __call__(self, s: ArrayLike) -> FloatArray:
        """
        Return the posture (dof,) at an arc length, or (m, dof) at several: verified to reach the pose within the limits.

        :param s: from 0 to :attr:`length` [rad].
        :raises ValueError: for an arc length that is outside, or no number.
        """
        arcs = np.asarray(s, dtype=np.float64)
        if arcs.ndim > 1 or not ((arcs >= 0.0) & (arcs <= self.length)).all():
            raise InvalidOption(
                f'The arc length must be from 0 to {self.length:.9g}, one or a list, not {s!r}.'
            )
        q = self._wind(self._solve(np.atleast_1d(arcs)))[:, : self._pose.dof]
        return q if arcs.ndim else q[0]

    def sample(self, spacing: float) -> FloatArray:
        """
        Return postures (m, dof) along the curve, both ends included.

        :param spacing: distance between two of them at most [rad].
        """
        if not spacing > 0.0:
            raise InvalidOption(f'spacing must be a positive number, not {spacing!r}.')
        count = int(np.ceil(self.length / spacing)) + 1
        return self(np.linspace(0.0, self.length, max(count, 1 + (self.length > 0.0))))

    def nearest(self, seed: ArrayLike) -> CurvePoint:
        """
        Return the posture of the curve that is nearest to a posture; joints of a range of a turn or more modulo a turn.

        :param seed: (dof,) the posture [rad or m].
        """
        pose, wish = self._pose, np.zeros(7)
        given = np.asarray(seed, dtype=np.float64)
        if given.shape != (pose.dof,) or not np.isfinite(given).all():
            raise DimensionMismatch(
                f'nearest needs {pose.dof} finite joint values, not {seed!r}.',
                expected=(pose.dof,),
            )
        wish[: pose.dof], q = given, np.empty(7)
        s = readout.write_nearest(
            q, self.knots, wish, pose.dof, pose.plan.ints, pose.reals, pose.target, JOINTS, _work()
        )
        s = min(max(float(s), 0.0), self.length)
        found = self._wind(self._solve(np.array([s])), wish)[0, : pose.dof]
        away = self._differences(found - given)
        return CurvePoint(found, self.index, s, float(np.linalg.norm(away)))

    def best(
        self,
        objective: str | Objective,
        posture: ArrayLike | None = None,
        obstacles: Sequence[WorldObject] = (),
    ) -> CurvePoint:
        """
        Return the posture of the curve with the largest value of an objective.

        The objective is asked every 0.05 rad, and around the three best of those postures as often as needed. A peak
        narrower than that may be missed.

        :param objective: ``manipulability``; ``limit_margin``, the least distance of a joint to a limit; ``clearance``, the
            least distance of two links, or of a link and an obstacle, that the arm moves towards each other [m];
            ``distance`` from a posture, which is to be small; or a function of a joint vector (dof,).
        :param posture: (dof,) for ``distance``.
        :param obstacles: objects in the root frame of the robot, for ``clearance``.
        :raises TypeError: for other objectives.
        """
        pose = self._pose
        makes = pose.clearance
        clearance = None if makes is None else functools.partial(makes, obstacles)
        function = make_objective(objective, pose.plan.chain, pose.dof, posture, clearance)
        s, value = find_maximum(lambda s: function(self(s)), self.length, LOOK_EVERY)
        return CurvePoint(self(s), self.index, s, value)

    def _solve(self, arcs: FloatArray) -> FloatArray:
        """Return postures (m, 7) at arc lengths, as continuous as the curve; raise if one misses the pose."""
        pose = self._pose
        q, errors = np.empty((len(arcs), 7)), np.empty((len(arcs), 3))
        readout.write_postures(
            q, errors, arcs, self.knots, pose.plan.ints, pose.reals, pose.target, JOINTS, _work()
        )
        limited = ~_are_free(pose)
        outside = np.maximum(pose.lower - q, q - pose.upper)[:, limited].max(initial=-np.inf)
        if not (errors[:, 2].max(initial=0.0) <= pose.tolerance and outside <= 0.0):
            raise SolverError(
                f'The curve misses the pose by {errors[:, 2].max():.3g}, or a limit by {outside:.3g}: a singular '
                'posture is too near.'
            )
        return q

    def _differences(self, away: FloatArray) -> FloatArray:
        """Return differences of joints (dof,), those of free ones modulo a turn."""
        free = _are_free(self._pose)[: self._pose.dof]
        return np.where(free, away - 2.0 * np.pi * np.round(away / (2.0 * np.pi)), away)

    def _wind(self, q: FloatArray, wish: FloatArray | None = None) -> FloatArray:
        """Return postures (m, 7) with free joints inside their limits: nearest to a posture, or to the middle of the range."""
        pose = self._pose
        for k in np.flatnonzero(_are_free(pose)).tolist():
            low, high, turn = pose.lower[k], pose.upper[k], 2.0 * np.pi
            middle = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
            around = middle if wish is None else wish[k]
            column = q[:, k] + turn * np.round((around - q[:, k]) / turn)
            column = column - turn * np.ceil((column - high) / turn).clip(0.0)
            column = column + turn * np.ceil((low - column) / turn).clip(0.0)
            q[:, k] = column.clip(low, high)
        return q


def _are_free(pose: TracedPose) -> NDArray[np.bool_]:
    """Return (7,) of which joints every angle has a winding within the limits."""
    slides = (int(pose.plan.ints[search.SLIDES]) >> JOINTS) & 1
    return np.asarray(~(pose.upper - pose.lower < 2.0 * np.pi) & (slides == 0))


def _work() -> FloatArray:
    """Return scratch of the kernels here."""
    return np.empty(readout.scratch_size())
