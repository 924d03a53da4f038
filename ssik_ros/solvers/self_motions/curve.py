"""
One curve of a self-motion: all its postures reach one pose. It gives postures by arc length, and both ends.

A curve is stored as knots. A knot has a posture, the unit tangent of the curve, the arc length from the start, and the
least pivot of the Jacobian. A code says whether and why the curve ends there.
"""

from collections.abc import Sequence
import enum
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arguments import read_float, read_numbers, refuse
from ssik_ros.arrays import are_inside, FloatArray, IntArray, TURN, whole_turns, wrap_angles
from ssik_ros.errors import DimensionMismatch, InvalidOption, SolverError
from ssik_ros.kernels.closed_form.branches import plan_layout, search
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points,
    descents,
    folds,
    inside,
    readout,
    segments,
    trace,
)
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.solvers.closed_form.labels import label_branch, NO_LABEL
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.self_motions.maximum import find_maximum
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker, make_objective, Objective

JOINTS = np.arange(7)
LOOK_EVERY = 0.05
"""Distance of postures on a curve at which an objective is first evaluated [rad]."""


class EndKind(enum.Enum):
    """Reason why a curve ends."""

    LIMIT = 'limit'
    """A joint is at its limit."""
    FOLD = 'fold'
    """The held joint turns back: two branches of the other six joints meet."""
    CROSSING = 'crossing'
    """Another curve passes through the same posture."""
    CLOSED = 'closed'
    """The curve is closed: it returns to its first posture."""
    SINGULAR = 'singular'
    """The posture is singular, with no unique direction: the curve could not be followed further."""


INSIDE_ENDS = {trace.FOLD: EndKind.FOLD, trace.CROSSING: EndKind.CROSSING}


class CurveEnd(NamedTuple):
    """One end of a curve: the reason why it ends there, and the joint at its limit or the curves that continue."""

    kind: EndKind
    joint: str = ''
    """Name of the joint at its limit; empty for other kinds."""
    is_upper: bool = False
    """True if the joint is at its upper limit."""
    curves: tuple[int, ...] = ()
    """Indices of the curves that continue here."""

    def __str__(self) -> str:
        """Return text such as ``limit of joint4 (upper)`` or ``fold, on to curve 3``."""
        if self.kind is EndKind.LIMIT:
            return f'limit of {self.joint} ({"upper" if self.is_upper else "lower"})'
        others = ', '.join(str(index) for index in self.curves)
        return f'{self.kind.value}, on to curve {others}' if others else self.kind.value


class CurvePoint(NamedTuple):
    """One posture on a curve, with the index of the curve, its arc length there, and a distance or objective value."""

    q: FloatArray
    """(dof,) joint values [rad or m]."""
    curve: int
    """Index of the curve among the curves of the pose."""
    s: float
    """Arc length from the start of the curve [rad]."""
    value: float
    """Distance from the seed [rad], or value of the objective."""


class TracedPose(NamedTuple):
    """
    Data that all curves of one pose share: plan and limits of seven joints, the target pose, and the tolerance.

    Joints are added to an arm with fewer than seven: a spin about the tool's axis, or joints that do not move along a
    curve.
    """

    plan: AnalyticPlan
    """Plan of the seven joints."""
    dof: int
    """Number of leading joints that results show; joints that were added at the end are left out."""
    reals: FloatArray
    """Numbers of the plan, with the limits and the tool of the request."""
    target: FloatArray
    """(12,) pose as the kernels read it."""
    tolerance: float
    """Largest Frobenius norm of FK - T of a posture."""
    lower: FloatArray
    """(7,) lower limits [rad or m]."""
    upper: FloatArray
    clearance: ClearanceMaker | None
    """Makes the objective ``clearance``; None if the robot has no geometry."""

    @property
    def arguments(self) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        """Return the arguments (ints, reals, target, joints) that all kernels of self-motions take."""
        return self.plan.ints, self.reals, self.target, JOINTS

    def without_limits(self, joints: IntArray) -> 'TracedPose':
        """
        Return this data with infinite limits of some joints in ``reals``; ``lower`` and ``upper`` stay as they are.

        :param joints: indices of the joints.
        """
        free = self.reals.copy()
        for part, limit in (('lower', -np.inf), ('upper', np.inf)):
            free[plan_layout.PLAN.start(part, curve_points.N) + joints] = limit
        return self._replace(reals=free)

    def descend(self, rows: FloatArray) -> FloatArray:
        """
        Refine postures by Newton iterations, and return those that reach the pose (m, 7), within the limits in ``reals``.

        :param rows: (k, 7) postures; they may be overwritten, and the result may be a view of them.
        """
        if not len(rows):
            return rows
        rows, work = np.ascontiguousarray(rows), np.empty(descents.scratch_size())
        count: int = descents.descend(rows, *self.arguments, work)
        return rows[:count]

    def starts_inside(self, seeds: FloatArray, parts: Sequence[FloatArray]) -> FloatArray:
        """
        Return the postures (m, 7) of ``seeds`` within the limits, and points of each stretch of curves within them.

        :param seeds: (k, 7) postures of the pose.
        :param parts: knots of each curve.
        """
        is_inside = are_inside(seeds, self.lower, self.upper, LIMIT_ROUNDING).all(axis=1)
        starts = [seeds[is_inside].clip(self.lower, self.upper)]
        work = np.empty(inside.scratch_size())
        for part in parts:
            out = np.empty((inside.MARKS * len(part), 7))
            starts.append(out[: inside.write_inside(out, part, *self.arguments, work)])
        return np.vstack(starts)


def orthonormal_numbers(pose: FloatArray) -> FloatArray:
    """Return a pose (4, 4) as the array (12,) that kernels use, with its rotation made orthonormal."""
    numbers = np.empty(12)
    se3.from_matrix(numbers, pose, 0)
    se3.orthonormalise(numbers)
    return numbers


def split_curves(knots: FloatArray, rows: IntArray) -> list[FloatArray]:
    """
    Return the knots of each curve.

    :param knots: knots of all curves in turn.
    :param rows: number of knots of each curve.
    """
    return np.split(knots, np.cumsum(rows)[:-1]) if len(rows) else []


class SelfMotion:
    """A curve of postures that all reach one pose, as a function of its arc length; :attr:`label` names its branch."""

    def __init__(
        self, pose: TracedPose, index: int, knots: FloatArray, others: tuple[int, ...]
    ) -> None:
        """
        Store the knots of the curve: postures with tangents and arc lengths, between which the curve is interpolated.

        :param pose: data shared by all curves of the pose.
        :param index: index of this curve.
        :param knots: (k, segments.COLUMNS) knots; arc lengths start at 0.
        :param others: indices of the curves that continue at the first knot, then of those at the last knot. Both
            halves have the same length; -1 fills unused places.
        """
        self._pose, self._others = pose, others
        self.index = index
        self.knots = knots
        """(k, 17) joint values, unit tangent, arc length, kind, and the least pivot of the Jacobian, small near other
        curves."""

    @functools.cached_property
    def length(self) -> float:
        """Return the arc length [rad]; a metre of a prismatic joint counts as a radian."""
        return float(self.knots[-1, segments.ARC])

    @functools.cached_property
    def start(self) -> CurveEnd:
        """Return how the curve ends at its first knot: the reason, and the curves that continue there."""
        return self._read_end(0, self._others[: folds.OTHERS])

    @functools.cached_property
    def end(self) -> CurveEnd:
        """Return how the curve ends at its last knot: the reason, and the curves that continue there."""
        return self._read_end(-1, self._others[folds.OTHERS :])

    def _read_end(self, row: int, others: tuple[int, ...]) -> CurveEnd:
        """
        Return the end of the curve at its first knot (row 0) or last knot (row -1).

        :param others: indices of the curves that may continue there; -1 for unused places.
        """
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
        """Return whether the curve returns to its first posture."""
        return self.start.kind is EndKind.CLOSED

    @functools.cached_property
    def label(self) -> str:
        """
        Return the branch label, such as ``shoulder +, elbow -, wrist +``; empty if the class has no signs.

        :raises SolverError: if the middle of the curve misses the pose or a limit.
        """
        label = label_branch(self._pose.plan, self._solve(np.array([0.5 * self.length]))[0])
        return '' if label == NO_LABEL else str(label)

    def __repr__(self) -> str:
        """Return index, branch label, length and ends of the curve."""
        return (
            f'SelfMotion({self.index}: {self.label or "no label"}, length {self.length:.4f}, '
            f'{self.start} to {self.end})'
        )

    def __call__(self, s: ArrayLike) -> FloatArray:
        """
        Return the posture (dof,) at an arc length, or (m, dof) at several, verified to reach the pose within limits.

        :param s: arc length, 0 to :attr:`length` [rad].
        :raises ValueError: if an arc length is out of range or not a number.
        :raises SolverError: if a posture misses the pose or a limit, because a singular posture is too near.
        """
        arcs = read_numbers('The arc length', s)
        if arcs.ndim > 1 or not ((arcs >= 0.0) & (arcs <= self.length)).all():
            raise InvalidOption(
                f'The arc length must be from 0 to {self.length:.9g}, one or a list, not {s!r}.'
            )
        q = self._wind(self._solve(np.atleast_1d(arcs)))[:, : self._pose.dof]
        return q if arcs.ndim else q[0]

    def sample(self, spacing: float) -> FloatArray:
        """
        Return postures along the curve with both ends (m, dof).

        :param spacing: largest distance between neighbours [rad].
        :raises ValueError: if the spacing is not positive.
        :raises SolverError: if a posture misses the pose or a limit, because a singular posture is too near.
        """
        step = read_float('spacing', spacing)
        if not step > 0.0:
            refuse('spacing', spacing, 'a positive number')
        count = int(np.ceil(self.length / step)) + 1
        return self(np.linspace(0.0, self.length, max(count, 1 + (self.length > 0.0))))

    def nearest(self, seed: ArrayLike) -> CurvePoint:
        """
        Return the posture on the curve nearest to a seed, with its distance as ``value``.

        On each stretch between two stored postures, one minimum of the distance is examined, so that a nearer posture
        may be missed. Revolute joints with a range of 2 pi or more are compared modulo 2 pi.

        :param seed: (dof,) joint values [rad or m].
        :raises ValueError: if the seed does not have one finite number for each joint.
        :raises SolverError: if the posture misses the pose or a limit, because a singular posture is too near.
        """
        pose, wish = self._pose, np.zeros(7)
        given = read_numbers('seed', seed)
        if given.shape != (pose.dof,) or not np.isfinite(given).all():
            raise DimensionMismatch(
                f'nearest needs {pose.dof} finite joint values, not {seed!r}.',
                expected=(pose.dof,),
            )
        wish[: pose.dof], q = given, np.empty(7)
        s = readout.write_nearest(q, self.knots, wish, pose.dof, *pose.arguments, _work())
        s = min(max(float(s), 0.0), self.length)
        posture = self._wind(self._solve(np.array([s])), wish)[0, : pose.dof]
        differences = self._differences(posture - given)
        return CurvePoint(posture, self.index, s, float(np.linalg.norm(differences)))

    def best(
        self,
        objective: str | Objective,
        posture: ArrayLike | None = None,
        obstacles: Sequence[WorldObject] = (),
    ) -> CurvePoint:
        """
        Return the posture on the curve with the largest value of an objective.

        The objective is evaluated at steps of at most 0.05 rad, then refined around the three best postures. A narrower
        peak may be missed.

        :param objective: ``manipulability``; ``limit_margin``, the smallest distance of a joint from a limit;
            ``clearance``, the smallest distance of two bodies (links or obstacles) whose relative pose the arm changes
            [m]; ``distance``, minus the distance from ``posture``; or a function of joint values (dof,).
        :param posture: (dof,) reference of ``distance``. Other than in :meth:`nearest`, whole turns count as distance.
        :param obstacles: objects in the root frame of the robot, for ``clearance``.
        :raises TypeError: for other objectives.
        :raises ValueError: if ``distance`` has no posture of dof finite numbers.
        :raises SolverError: if an evaluated posture misses the pose or a limit, because a singular posture is too near.
        """
        pose = self._pose
        makes = pose.clearance
        clearance = None if makes is None else functools.partial(makes, obstacles)
        function = make_objective(objective, pose.plan.chain, pose.dof, posture, clearance)
        s, value = find_maximum(lambda s: function(self(s)), self.length, LOOK_EVERY)
        return CurvePoint(self(s), self.index, s, value)

    def _solve(self, arcs: FloatArray) -> FloatArray:
        """
        Return the postures (m, 7) at arc lengths (m,); neighbouring postures never differ by a whole turn of a joint.

        Raise SolverError if a posture misses the pose or a limit.
        """
        pose = self._pose
        q, errors = np.empty((len(arcs), 7)), np.empty((len(arcs), 3))
        readout.write_postures(q, errors, arcs, self.knots, *pose.arguments, _work())
        limited = ~_are_free(pose)
        outside = np.maximum(pose.lower - q, q - pose.upper)[:, limited].max(initial=-np.inf)
        if not (errors[:, 2].max(initial=0.0) <= pose.tolerance and outside <= 0.0):
            raise SolverError(
                f'The curve misses the pose by {errors[:, 2].max():.3g}, or a limit by {outside:.3g}: a singular '
                'posture is too near.'
            )
        return q

    def _differences(self, differences: FloatArray) -> FloatArray:
        """Return joint differences (dof,), wrapped to [-pi, pi] for revolute joints with a range of at least 2 pi."""
        free = _are_free(self._pose)[: self._pose.dof]
        return np.where(free, wrap_angles(differences), differences)

    def _wind(self, q: FloatArray, wish: FloatArray | None = None) -> FloatArray:
        """
        Move revolute joints with a range of at least 2 pi by whole turns into their limits, and return the postures.

        The array is changed in place. Among several turns, take the value nearest to ``wish`` (7,), or for None to the
        middle of the limits.

        :param q: (m, 7) postures.
        """
        pose = self._pose
        for k in np.flatnonzero(_are_free(pose)).tolist():
            low, high = pose.lower[k], pose.upper[k]
            middle = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
            around = middle if wish is None else wish[k]
            column = q[:, k] + whole_turns(around - q[:, k])
            column = column - TURN * np.ceil((column - high) / TURN).clip(0.0)
            column = column + TURN * np.ceil((low - column) / TURN).clip(0.0)
            q[:, k] = column.clip(low, high)
        return q


def _are_free(pose: TracedPose) -> NDArray[np.bool_]:
    """Return a mask (7,) of the revolute joints with a range of at least 2 pi, whose values are compared modulo 2 pi."""
    slides = (int(pose.plan.ints[search.SLIDES]) >> JOINTS) & 1
    return np.asarray(~(pose.upper - pose.lower < 2.0 * np.pi) & (slides == 0))


def _work() -> FloatArray:
    """Return a new scratch array for the kernels that read a curve."""
    return np.empty(readout.scratch_size())
