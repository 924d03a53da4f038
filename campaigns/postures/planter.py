"""
Postures that a campaign plants: regular, special and singular ones, at limits, and close to all of these.

A planted posture within the limits proves that its pose is reachable. Singular postures are found by the determinant of
the judges' own Jacobian, never from a list of robots.
"""

from dataclasses import dataclass
import functools
import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.arms import FloatArray
from campaigns.postures.robots import Robot

OFFSETS = (0.0, *(10.0**-k for k in range(12, 1, -1)))
"""Distances from a special posture in every joint [rad, and lengths of the arm]."""
SMALL = 0.3
"""Distance from zero or a multiple of pi / 4 that is small [rad, and lengths of the arm]."""
WIDTHS = (2.0, 2.0, 1.0, 0.5, 0.1)
"""Half widths of limits around a posture [rad]."""
SCANNED = 97
"""Values of a joint between which the determinant may change its sign."""
BISECTIONS = 40
SAMPLES = 8
"""Number of angles of a joint at which the determinant is sampled for its harmonics."""
SECANT, POLISHES = 1e-6, 4
"""First step and number of the secants that end at a root [rad]."""
STARTS = 5
"""Number of random postures at which the special values of each joint are determined."""
FLAT = 1e-12
"""Determinant that is rounding: the posture is singular whatever the joint does."""
SAME = 1e-6
"""Difference of two values of a joint that are one special value [rad or m]."""
CLASSES = ('regular', 'zero', 'angle', 'fixed', 'fold', 'limit')
"""
Kinds of planted postures.

``zero`` has some joints at zero, ``angle`` some joints at multiples of pi / 4, ``fixed`` some joints at values that are singular
whatever the other joints do, ``fold`` one joint at a value that is singular for the others' values, ``limit`` some joints at
their limits.
"""


@dataclass(frozen=True, eq=False)
class Group:
    """Postures of one class under one pair of limits."""

    robot: Robot
    """With these limits."""
    kind: str
    """One of :data:`CLASSES`."""
    is_own: bool
    """Whether the limits are the robot's own."""
    q: FloatArray
    """(k, n)."""
    offsets: FloatArray
    """(k,) one of :data:`OFFSETS`."""
    seed: int
    """Seed of the judges' random draws."""
    numbers: NDArray[np.int64]
    """(k,) numbers of the postures, which seed the judges' draws for each."""

    def generator(self, row: int) -> Generator:
        """Return the generator of the judges' random draws for one posture."""
        return np.random.default_rng([self.seed, int(self.numbers[row])])


class Planter:
    """Plants postures of one robot."""

    def __init__(self, robot: Robot, rng: Generator) -> None:
        """
        Learn where the robot is singular.

        :param rng: source of all draws.
        """
        self._robot, self._rng = robot, rng
        self._lower, self._upper = robot.bounds()

    def reseed(self, rng: Generator) -> None:
        """Draw from another source from now on."""
        self._rng = rng

    def draw(self, count: int, kinds: tuple[str, ...] = CLASSES) -> Group:
        """
        Return postures of one class.

        :param count: how many, about.
        :param kinds: classes to draw from.
        """
        rng = self._rng
        kind, seed, numbers = str(rng.choice(kinds)), int(rng.integers(2**31)), np.arange(count)
        if rng.random() < 0.5:
            q, offsets = self._postures(kind, count)[0], rng.choice(OFFSETS, count)
            q = self._near(q, offsets, self._bounds())
            return Group(self._robot, kind, True, q, offsets, seed, numbers)
        centers, free = self._postures(kind, 1)
        center, is_free = centers[0], free[0]
        lower, upper = self._window(center)
        robot = self._robot.with_limits(lower, upper)
        rows = np.tile(center, (count, 1))
        again, joints = rng.random(count) < 0.5, np.flatnonzero(is_free)
        rows[np.ix_(again, joints)] = rng.uniform(
            lower[joints], upper[joints], (int(again.sum()), len(joints))
        )
        offsets = np.resize(OFFSETS, count)
        q = self._near(rows, offsets, (lower, upper))
        return Group(robot, kind, False, q, offsets, seed, numbers)

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the limits; infinite for joints without limits."""
        return self._robot.arm.lower, self._robot.arm.upper

    def _near(
        self, q: FloatArray, offsets: FloatArray, bounds: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        """Return postures moved by their offsets, kept within limits."""
        moves = self._rng.uniform(-1.0, 1.0, q.shape) * (offsets[:, None] * self._robot.unit)
        result: FloatArray = np.clip(q + moves, *bounds)
        return result

    def _window(self, center: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return limits that contain a posture: around it, on one side of it, or the robot's own for some joints."""
        rng = self._rng
        width = float(rng.choice(WIDTHS)) * self._robot.unit
        below, above = width, width
        if rng.random() < 0.5:
            below, above = width * rng.random(len(width)), width * rng.random(len(width))
        if rng.random() < 0.2:
            below = np.where(rng.random(len(width)) < 0.3, 0.0, below)
        lower, upper = center - below, center + above
        wide = rng.random(len(width)) < 0.3
        own_lower, own_upper = self._bounds()
        lower = np.where(wide & np.isfinite(own_lower), own_lower, lower)
        upper = np.where(wide & np.isfinite(own_upper), own_upper, upper)
        return np.minimum(lower, center), np.maximum(upper, center)

    def _postures(self, kind: str, count: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return postures (k, n) of a class, and (k, n) which of their joints may have any value."""
        rows = [self._posture(kind) for _ in range(count)]
        q, free = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        if kind == 'fold' or (kind == 'fixed' and free.all()):
            q = self._folded(q)
            free[:] = False
        return q, free

    def _posture(self, kind: str) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return a posture of a class, and (n,) which of its joints may have any value."""
        rng, n = self._rng, self._robot.dof
        q = rng.uniform(self._lower, self._upper)
        chosen = rng.choice(n, int(rng.integers(1, n + 1)), replace=False)
        if kind in ('zero', 'angle') and rng.random() < 0.4:
            # The other joints are close to such values, too.
            center = [0.0 if kind == 'zero' else self._exact_angle(joint) for joint in range(n)]
            q = np.clip(
                center + rng.uniform(-SMALL, SMALL, n) * self._robot.unit, self._lower, self._upper
            )
        if kind == 'zero':
            q[chosen] = np.clip(0.0, self._lower[chosen], self._upper[chosen])
        elif kind == 'angle':
            q[chosen] = np.array([self._exact_angle(joint) for joint in chosen])
        elif kind == 'limit':
            ends = np.where(rng.random(n) < 0.5, self._lower, self._upper)
            q[chosen] = ends[chosen]
        elif kind == 'fixed':
            some = [joint for joint in chosen if len(self.special[joint])]
            chosen = np.array(some or [j for j in range(n) if len(self.special[j])][:1], dtype=int)
            for joint in chosen:
                q[joint] = rng.choice(self.special[joint])
        else:
            chosen = chosen[:0]
        is_free = np.ones(n, dtype=bool)
        is_free[chosen] = False
        return q, is_free

    def _exact_angle(self, joint: int) -> float:
        """Return a multiple of pi / 4 within the limits; of a slide, a tenth of its range."""
        low, high = self._lower[joint], self._upper[joint]
        step = math.pi / 4.0 if self._robot.turns[joint] else (high - low) / 10.0
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last or step == 0.0:
            return float(low)
        return float(step * self._rng.integers(first, last + 1))

    def _folded(self, q: FloatArray) -> FloatArray:
        """Return postures (k, n) with one joint moved to a singular value, where there is such a value."""
        q = q.copy()
        left = np.arange(len(q))
        for joint in self._rng.permutation(self._robot.dof):
            if not len(left):
                break
            roots = self._roots(q[left], int(joint))
            for row, values in zip(left, roots, strict=True):
                if len(values):
                    q[row, joint] = self._rng.choice(values)
            left = left[[not len(values) for values in roots]]
        return q

    @functools.cached_property
    def special(self) -> list[FloatArray]:
        """Return for each joint the values that are singular whatever the other joints do."""
        values: list[FloatArray] = []
        for joint in range(self._robot.dof):
            starts = self._rng.uniform(self._lower, self._upper, (STARTS, self._robot.dof))
            roots = self._roots(starts, joint)
            recurring: list[float] = []
            for value in np.concatenate(roots[:2]):
                times = sum(bool((np.abs(other - value) < SAME).any()) for other in roots)
                if times > STARTS // 2 and all(abs(value - one) > SAME for one in recurring):
                    recurring.append(self._exact(float(value), joint))
            low, high = self._lower[joint], self._upper[joint]
            values.append(np.array([v for v in recurring if low <= v <= high]))
        return values

    def _exact(self, value: float, joint: int) -> float:
        """Return a value without the rounding of the search, where it is a multiple of pi / 4."""
        quarter = math.pi / 4.0
        nearest = round(value / quarter) * quarter
        is_rounded = bool(self._robot.turns[joint]) and abs(value - nearest) < 1e-9
        return nearest if is_rounded else value

    def _determinants(self, q: FloatArray, dropped: int | None) -> FloatArray:
        """Return (k,) determinants of six columns of the Jacobian, lengths in units of the arm."""
        result: FloatArray = np.linalg.det(scaled_jacobians(self._robot, q, dropped))
        return result

    def _roots(self, q: FloatArray, joint: int) -> list[FloatArray]:
        """Return for each posture (k, n) the values of a joint at which it is singular: of seven, with one of them held."""
        count, nothing = len(q), np.zeros(0)
        if self._robot.dof not in (6, 7) or not self._robot.turns[joint]:
            return [nothing] * count
        dropped = None
        if self._robot.dof == 7:
            others = [other for other in range(7) if other != joint]
            dropped = int(self._rng.choice(others))
        # Three columns at most lie on one side of the joint, so that the determinant has three harmonics of its angle.
        angles = 2.0 * math.pi * np.arange(SAMPLES) / SAMPLES
        rows = np.repeat(q, SAMPLES, axis=0)
        rows[:, joint] = np.tile(angles, count)
        determinants = self._determinants(rows, dropped).reshape(count, SAMPLES)
        determinants[np.abs(determinants).max(axis=1) < FLAT] = 1.0
        waves = np.fft.rfft(determinants, axis=1) / SAMPLES
        waves[:, 1:] *= 2.0
        values = np.linspace(self._lower[joint], self._upper[joint], SCANNED)
        is_below = _sum_waves(waves[:, None], values) < 0.0
        owner, cells = np.nonzero(is_below[:, :-1] != is_below[:, 1:])
        left, right = values[cells].copy(), values[cells + 1].copy()
        sign = is_below[owner, cells]
        for _ in range(BISECTIONS if len(owner) else 0):
            middle = 0.5 * (left + right)
            is_left = (_sum_waves(waves[owner], middle) < 0.0) == sign
            left, right = np.where(is_left, middle, left), np.where(is_left, right, middle)
        ends = self._polished(
            q[owner], joint, dropped, 0.5 * (left + right), values[1] - values[0]
        )
        return [ends[owner == row] for row in range(count)]

    def _polished(
        self, q: FloatArray, joint: int, dropped: int | None, values: FloatArray, room: float
    ) -> FloatArray:
        """Return roots (r,) of the determinant itself near roots of its harmonics, by secants."""
        if not len(values):
            return values
        before, after, probe = values + SECANT, values.copy(), q.copy()
        probe[:, joint] = before
        old = self._determinants(probe, dropped)
        for _ in range(POLISHES):
            probe[:, joint] = after
            new = self._determinants(probe, dropped)
            slope = (new - old) / np.where(after == before, 1.0, after - before)
            step = np.where(slope == 0.0, 0.0, new / np.where(slope == 0.0, 1.0, slope))
            before, old, after = after, new, after - np.clip(step, -room, room)
        # Where the determinant only touches zero the secants lead astray.
        result: FloatArray = np.where(np.abs(after - values) < room, after, values)
        return np.clip(result, self._lower[joint], self._upper[joint])


def _sum_waves(waves: NDArray[np.complex128], angles: FloatArray) -> FloatArray:
    """Return sums of harmonics (..., h) at angles (...)."""
    orders = np.arange(waves.shape[-1])
    turned = waves * np.exp(1j * np.asarray(angles)[..., None] * orders)
    result: FloatArray = turned.sum(axis=-1).real
    return result


def scaled_jacobians(robot: Robot, q: FloatArray, dropped: int | None = None) -> FloatArray:
    """
    Return Jacobians (k, 6, n) with lengths in units of the arm.

    :param robot: any.
    :param q: (k, n) postures.
    :param dropped: index of a column that is left out, None for all columns.
    """
    jacobians = rescaled(robot, robot.arm.fk_and_jacobian(q)[1])
    return jacobians if dropped is None else np.delete(jacobians, dropped, axis=2)


def smallest_singular_values(robot: Robot, q: FloatArray) -> FloatArray:
    """
    Return the smallest singular values (k,) of the Jacobians, lengths in units of the arm.

    :param robot: any.
    :param q: (k, n) postures.
    """
    values: FloatArray = np.linalg.svd(scaled_jacobians(robot, q), compute_uv=False)[:, -1]
    return values


def rescaled(robot: Robot, jacobians: FloatArray) -> FloatArray:
    """
    Return Jacobians (k, 6, n) with lengths in units of the arm.

    :param robot: any.
    :param jacobians: (k, 6, n) with lengths in metres.
    """
    rows = np.repeat([1.0 / robot.size, 1.0], 3)[:, None]
    result: FloatArray = jacobians * rows * robot.unit
    return result
