"""
What is asked of the package for planted postures, and what of the responses is wrong.

The judges have kinematics of their own (:mod:`bench.arms`). A planted posture within the limits proves that its pose is
reachable, so that a response which calls it proved to be out of reach is a false proof, however the pose was solved.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
import functools
import math
from typing import Any

import numpy as np

from bench.arms import FloatArray
from bench.campaign.postures import Group, scaled_jacobians
from bench.campaign.robots import Robot
from ssik_ros.errors import SsikError
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.reach.cells import ReachArm, ReachSettings
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.results import Cause

ANALYTIC = 'ssik_ros/Analytic'
SEARCHES = ('ssik_ros/Auto', 'ssik_ros/LevenbergMarquardt', 'ssik_ros/PoseIK')
"""Solvers that may know a posture where a closed form returns none."""
PROOFS = (Cause.UNREACHABLE, Cause.LIMITS)
"""Causes that say that no posture exists."""
CLOSES = 1e-6
"""Error of a search's posture up to which it counts as a solution [rad, and lengths of the arm below 1 m]."""
FROBENIUS = 1.5
"""Largest norm of FK(q) - T per norm over metres and radians, sqrt(2), with rounding."""
ISOLATED = 1e-6
"""Smallest singular value from which on a planted posture is an isolated solution."""
LOCATED = 1e-11
"""Error of the pose that rounding explains: a posture is known to this over its smallest singular value."""
NEAREST = 1e-5
"""Distance up to which a returned branch is the planted one [rad, and lengths of the arm]."""
LIMIT_ROUNDING = 1e-15
"""Relative rounding of a joint's value at a limit."""
DUPLICATE = 1e-9
"""Distance below which two returned postures are one."""


@dataclass(frozen=True)
class Fault:
    """Something wrong in one response."""

    claim: str
    """What is broken: ``false proof``, ``lost``, ``unfound``, ``missing``, ``extra``, ``duplicate``, ``limits``, ``error``."""
    judge: str
    """Which part of the package was asked."""
    robot: Robot
    kind: str
    """Class of the planted posture."""
    offset: float
    q: FloatArray
    """(n,) planted posture."""
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
        self._unit = np.where(group.robot.turns, 1.0, group.robot.size)

    @functools.cached_property
    def sigma(self) -> FloatArray:
        """Return (k,) smallest singular values at the planted postures."""
        jacobians = scaled_jacobians(self.robot, self.group.q)
        return np.linalg.svd(jacobians, compute_uv=False)[:, -1]

    def errors(self, row: int, q: FloatArray) -> FloatArray:
        """Return (m,) Frobenius norms of FK(q) - T for postures (m, n) of a pose, lengths in metres."""
        if not len(q):
            return np.zeros(0)
        return np.linalg.norm(self.robot.arm.fk(q) - self.poses[row], axis=(1, 2))

    @property
    def tolerance(self) -> float:
        """Return the error up to which a posture of a search counts as a solution."""
        return CLOSES * min(1.0, self.robot.size)

    def outside(self, q: FloatArray) -> FloatArray:
        """Return (m,) how far postures (m, n) are outside of the limits [rad or m]."""
        arm = self.robot.arm
        beyond = np.maximum(arm.lower - q, q - arm.upper).max(axis=1, initial=0.0)
        return np.maximum(0.0, beyond)

    def distances(self, q: FloatArray, center: FloatArray) -> FloatArray:
        """Return (m,) largest differences of joints, full turns left out, lengths in units of the arm."""
        difference = np.abs(q - center) / self._unit
        turns = self.robot.turns
        wrapped = np.abs((difference + math.pi) % (2.0 * math.pi) - math.pi)
        return np.where(turns, wrapped, difference).max(axis=1, initial=0.0)

    def fault(self, claim: str, judge: str, row: int, detail: str) -> Fault:
        """Return a fault of one planted posture."""
        group = self.group
        where = self.robot, group.kind, float(group.offsets[row]), group.q[row].copy()
        return Fault(claim, judge, *where, f'{detail}; sigma {self.sigma[row]:.1e}')

    def request(self, row: int) -> SolveRequest:
        """Return the request of one solution of a pose within the tolerance."""
        return SolveRequest(targets=self.poses[row], tolerance=self.tolerance)

    def solved_elsewhere(self, row: int) -> list[str]:
        """Return the names of the searches that find a posture within the limits."""
        found = []
        for name in SEARCHES:
            solver = self.manipulator.solver(name)
            q = solver.solve(self.request(row)).solutions
            is_good = (self.errors(row, q) <= FROBENIUS * self.tolerance) & (
                self.outside(q) == 0.0
            )
            if is_good.any():
                found.append(name.removeprefix('ssik_ros/'))
        return found


def judge_solve(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask for all branches, many poses at once and one by one, and judge every solution."""
    arm = judged.manipulator
    plan = arm.dispatch_plan
    options = {} if plan.is_analytic else {'target_tolerance': judged.tolerance}
    allowed = arm.policy.fk_atol if plan.is_analytic else FROBENIUS * judged.tolerance
    batch = arm.solve_batch(judged.poses, threads=1, **options)
    is_complete = plan.is_analytic and plan.held_joint is None and plan.drift == 0.0
    for row, pose in enumerate(judged.poses):
        solutions = batch[row]
        yield from _judge_solutions(judged, tally, row, solutions, 'solve', allowed)
        if len(solutions):
            if is_complete and judged.sigma[row] >= ISOLATED:
                unsure = max(NEAREST, LOCATED / judged.sigma[row])
                nearest = judged.distances(solutions, judged.group.q[row]).min()
                if nearest > unsure:
                    yield judged.fault('missing', 'solve', row, f'nearest {nearest:.2g}')
            continue
        solutions, diagnostic = arm.solve(pose, explain=True, **options)
        if not len(solutions):
            yield from _judge_nothing(judged, row, 'solve', diagnostic.cause, True)


def _judge_nothing(
    judged: Judged, row: int, judge: str, cause: Cause, is_proved: bool
) -> Iterator[Fault]:
    """Return what is wrong with a response without solutions."""
    if cause in PROOFS and is_proved:
        yield judged.fault('false proof', judge, row, cause.name)
    others = judged.solved_elsewhere(row)
    claim, detail = ('lost', ', '.join(others)) if others else ('unfound', 'no search finds it')
    yield judged.fault(claim, judge, row, f'{cause.name}; {detail}')


def _judge_solutions(
    judged: Judged, tally: Tally, row: int, solutions: FloatArray, judge: str, allowed: float
) -> Iterator[Fault]:
    """Return what is wrong with the solutions (m, n) of a pose; their error must not exceed the allowed one."""
    if not len(solutions):
        return
    errors, outside = judged.errors(row, solutions), judged.outside(solutions)
    tally.residual[judge] = max(tally.residual[judge], float(errors.max() / allowed))
    tally.outside = max(tally.outside, float(outside.max()))
    if errors.max() > allowed:
        yield judged.fault('extra', judge, row, f'error {errors.max():.2g}')
    if (outside > LIMIT_ROUNDING * np.abs(solutions).max(axis=1)).any():
        yield judged.fault('limits', judge, row, f'outside by {outside.max():.2g}')
    for index in range(1, len(solutions)):
        gap = judged.distances(solutions[:index], solutions[index]).min()
        if gap < DUPLICATE:
            yield judged.fault('duplicate', judge, row, f'distance {gap:.2g}')
            break


def judge_analytic(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the solver of planning groups for one solution."""
    if not judged.manipulator.dispatch_plan.is_analytic:
        return
    solver, allowed = judged.manipulator.solver(ANALYTIC), judged.manipulator.policy.fk_atol
    for row, pose in enumerate(judged.poses):
        result = solver.solve(SolveRequest(targets=pose))
        yield from _judge_solutions(judged, tally, row, result.solutions, 'Analytic', allowed)
        if not len(result.solutions):
            yield from _judge_nothing(judged, row, 'Analytic', result.cause, result.is_proved)


def judge_auto(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the default solver of planning groups for one solution."""
    solver, allowed = judged.manipulator.solver(SEARCHES[0]), FROBENIUS * judged.tolerance
    for row in range(len(judged.poses)):
        result = solver.solve(judged.request(row))
        yield from _judge_solutions(judged, tally, row, result.solutions, 'Auto', allowed)
        if not len(result.solutions):
            yield from _judge_nothing(judged, row, 'Auto', result.cause, result.is_proved)


def judge_reach(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask whether the poses are reachable, as reach maps do."""
    del tally
    manipulator = judged.manipulator
    chain = manipulator_chain(manipulator)
    decided = ReachArm(chain, ReachSettings()).decide(judged.poses)
    for row in np.flatnonzero(decided.status == CellStatus.OUT_OF_REACH):
        yield judged.fault('false proof', 'reach', int(row), 'OUT_OF_REACH')
    for row in np.flatnonzero(decided.status == CellStatus.UNKNOWN):
        yield judged.fault('unfound', 'reach', int(row), 'UNKNOWN')


def manipulator_chain(manipulator: Manipulator) -> Any:
    """Return the chain of an arm as reach maps take it."""
    from ssik_ros.model.serial_chain import SerialChain

    return SerialChain.from_group(manipulator.robot, manipulator.group)


JUDGES: dict[str, Callable[[Judged, Tally], Iterator[Fault]]] = {
    'solve': judge_solve,
    'Analytic': judge_analytic,
    'Auto': judge_auto,
    'reach': judge_reach,
}
"""By the name of the part of the package that they ask."""


def judge(group: Group, tally: Tally, names: tuple[str, ...] = tuple(JUDGES)) -> list[Fault]:
    """
    Ask about all postures of a group and return what is wrong.

    :param group: planted postures.
    :param tally: to count in.
    :param names: keys of :data:`JUDGES`.
    """
    judged = Judged(group)
    tally.robots.add(group.robot.name)
    tally.planted += len(group.q)
    tally.singular += int((judged.sigma < ISOLATED).sum())
    faults = []
    for name in names:
        tally.trials[name, group.kind] += len(group.q)
        try:
            faults += JUDGES[name](judged, tally)
        except SsikError as error:
            faults.append(judged.fault('error', name, 0, f'{type(error).__name__}: {error}'))
    for fault in faults:
        tally.faults[fault.claim, fault.judge, fault.robot.name, fault.kind] += 1
    return faults
