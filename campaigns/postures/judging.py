"""
Planted postures with their poses, faults, and counts, shared by all judges of a campaign.

The judges have kinematics of their own (:mod:`bench.arms`). A planted posture within the limits proves that its pose is
reachable. If a response calls the pose proved to be out of reach, the proof is false, whichever solver gave it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
import functools

import numpy as np
from numpy.typing import NDArray

from bench.arms import FloatArray
from bench.branch_sets import residuals, wrap
from campaigns.postures.planter import Group, smallest_singular_values
from campaigns.postures.robots import Robot
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause

SEARCHES = ('ssik_ros/Auto', 'ssik_ros/LevenbergMarquardt', 'ssik_ros/PoseIK')
"""Solvers that may know a posture where a closed form returns none."""
PROOFS = (Cause.UNREACHABLE, Cause.LIMITS)
"""Causes that say that no posture exists."""
IntArray = NDArray[np.int64]

CLOSES = 1e-6
"""Largest error at which a search's posture counts as a solution [rad, and lengths of the arm below 1 m]."""
FROBENIUS = 1.5
"""Largest norm of FK(q) - T per norm over metres and radians, sqrt(2), with rounding."""
ISOLATED = 1e-6
"""If its smallest singular value is at least this, a planted posture is an isolated solution."""
LOCATED = 1e-11
"""Error of the pose that rounding explains: a posture is known to this over its smallest singular value."""
NEAREST = 1e-5
"""Largest distance at which a returned branch is the planted posture [rad, and lengths of the arm]."""
DUPLICATE = 1e-9
"""Distance below which two returned postures are one."""


@dataclass(frozen=True)
class Fault:
    """Something wrong in one response."""

    claim: str
    """
    The broken claim: ``false proof``, ``lost``, ``unfound``, ``missing``, ``extra``, ``duplicate``, ``limits``,
    ``step``, ``law``, ``error``.
    """
    judge: str
    """Which part of the package was asked."""
    robot: Robot
    kind: str
    """Class of the planted posture."""
    offset: float
    q: FloatArray
    """(n,) planted posture."""
    seed: int
    number: int
    """Seed of the group and number of the posture in it; they reproduce the judge's random draws."""
    detail: str


@dataclass
class Tally:
    """Counts of a campaign."""

    trials: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By judge and class of posture."""
    faults: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    """By claim, judge, name of the robot and class of posture."""
    singular: int = 0
    """Planted postures whose smallest singular value is below :data:`ISOLATED`."""
    planted: int = 0
    robots: set[str] = field(default_factory=set)
    residual: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Largest error of a returned solution by judge, in units of the allowed error."""
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Processor time by judge [s]."""
    outside: float = 0.0
    """Largest distance of a returned joint value from its limits [rad or m]."""


class Judged:
    """One robot with its limits, as every part of the package is asked about it."""

    def __init__(self, group: Group) -> None:
        """
        Load the robot.

        :param group: planted postures.
        """
        self.group, self.robot = group, group.robot
        self.manipulator: Manipulator = group.robot.manipulator()
        self.poses = np.ascontiguousarray(group.robot.arm.fk(group.q))

    @functools.cached_property
    def sigma(self) -> FloatArray:
        """Return (k,) smallest singular values at the planted postures."""
        return smallest_singular_values(self.robot, self.group.q)

    def errors(self, rows: int | IntArray, q: FloatArray) -> FloatArray:
        """Return (m,) Frobenius norms of FK(q) - T for postures (m, n) of one pose or of one each, lengths in metres."""
        if not len(q):
            return np.zeros(0)
        return residuals(self.robot.arm, q, self.poses[rows])

    @property
    def tolerance(self) -> float:
        """Return the largest error at which a posture of a search counts as a solution."""
        return CLOSES * min(1.0, self.robot.size)

    def outside(self, q: FloatArray) -> FloatArray:
        """Return (m,) how far postures (m, n) are outside of the limits [rad or m]."""
        arm = self.robot.arm
        beyond = np.maximum(arm.lower - q, q - arm.upper).max(axis=1, initial=0.0)
        return np.maximum(0.0, beyond)

    def distances(self, q: FloatArray, center: FloatArray) -> FloatArray:
        """Return (m,) largest differences of joints, full turns left out, lengths in units of the arm."""
        return self._gaps(q - center)

    def repeated(self, q: FloatArray) -> IntArray:
        """Return the indices of postures (m, n) that are as good as an earlier one."""
        gaps = self._gaps(q[:, None] - q[None])
        return np.flatnonzero((np.tril(gaps < DUPLICATE, -1)).any(axis=1))

    def _gaps(self, differences: FloatArray) -> FloatArray:
        """Return the largest entry (...) of joint differences (..., n), in the units of :meth:`distances`."""
        scaled = np.abs(differences) / self.robot.unit
        wrapped = np.where(self.robot.turns, np.abs(wrap(scaled)), scaled)
        return wrapped.max(axis=-1, initial=0.0)

    def fault(self, claim: str, judge: str, row: int, detail: str) -> Fault:
        """Return a fault of one planted posture."""
        group = self.group
        where = self.robot, group.kind, float(group.offsets[row]), group.q[row].copy()
        drawn = group.seed, int(group.numbers[row])
        nearness = f'sigma {self.sigma[row]:.1e}, margin {self.margin(group.q[row]):.1e}'
        return Fault(claim, judge, *where, *drawn, f'{detail}; {nearness}')

    @functools.cached_property
    def chain(self) -> SerialChain:
        """Return the chain as reach maps take it."""
        return SerialChain.from_group(self.manipulator.robot, self.manipulator.group)

    @property
    def is_complete(self) -> bool:
        """Return whether the package says that it returns every branch of a pose."""
        return is_complete(self.manipulator)

    def margin(self, q: FloatArray) -> float:
        """Return the least distance of a posture (n,) from the limits [rad or m]."""
        arm = self.robot.arm
        return float(np.minimum(q - arm.lower, arm.upper - q).min())

    def rows(self, most: int) -> list[int]:
        """Return some rows of the group, spread evenly."""
        count = len(self.group.q)
        return [
            int(row) for row in np.unique(np.linspace(0, count - 1, min(most, count), dtype=int))
        ]

    def request(self, row: int) -> SolveRequest:
        """Return the request of one solution of a pose within the tolerance."""
        return SolveRequest(targets=self.poses[row], tolerance=self.tolerance)

    def solved_elsewhere(self, row: int) -> list[str]:
        """Return the names of the searches that find a posture within the limits."""
        names = []
        for name in SEARCHES:
            solver = self.manipulator.solver(name)
            q = solver.solve(self.request(row)).solutions
            is_good = (self.errors(row, q) <= FROBENIUS * self.tolerance) & (
                self.outside(q) == 0.0
            )
            if is_good.any():
                names.append(name.removeprefix('ssik_ros/'))
        return names


def is_complete(manipulator: Manipulator) -> bool:
    """
    Return whether the package says that it returns every branch of a pose.

    :param manipulator: the arm as the package loads it.
    """
    plan = manipulator.dispatch_plan
    return plan.is_analytic and plan.held_joint is None and plan.drift == 0.0


def branch_distance(sigma: float) -> float:
    """
    Return the largest distance at which two postures may be one branch [rad, and lengths of the arm].

    :param sigma: smallest singular value at a posture; rounding moves the branch by the inverse of it.
    """
    return max(NEAREST, LOCATED / max(sigma, 1e-300))


def judge_nothing(
    judged: Judged, row: int, judge: str, cause: Cause, is_proved: bool
) -> Iterator[Fault]:
    """Yield the faults of a response without solutions."""
    if cause in PROOFS and is_proved:
        yield judged.fault('false proof', judge, row, cause.name)
    others = judged.solved_elsewhere(row)
    claim, detail = ('lost', ', '.join(others)) if others else ('unfound', 'no search finds it')
    yield judged.fault(claim, judge, row, f'{cause.name}; {detail}')


def judge_solutions(
    judged: Judged,
    tally: Tally,
    row: int,
    solutions: FloatArray,
    judge: str,
    allowed: float,
    errors: FloatArray | None = None,
) -> Iterator[Fault]:
    """Yield the faults of the solutions (m, n) of a pose; their error must not exceed the allowed one."""
    if not len(solutions):
        return
    if errors is None:
        errors = judged.errors(row, solutions)
    outside = judged.outside(solutions)
    tally.residual[judge] = max(tally.residual[judge], float(errors.max() / allowed))
    tally.outside = max(tally.outside, float(outside.max()))
    if errors.max() > allowed:
        yield judged.fault('extra', judge, row, f'error {errors.max():.2g}')
    if outside.max() > 0.0:
        yield judged.fault('limits', judge, row, f'outside by {outside.max():.2g}')
    for index in judged.repeated(solutions)[:1]:
        gap = judged.distances(solutions[:index], solutions[index]).min()
        yield judged.fault('duplicate', judge, row, f'distance {gap:.2g}')
