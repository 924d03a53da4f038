"""
Test an artifact before it is written: its solutions must be exact to 1e-9, and the same as this package's.

An artifact is a generated Python module that solves one arm. :func:`try_module` runs the trials, and its
:class:`TrialReport` tells the result.
"""

from collections.abc import Callable, Iterator
from dataclasses import field
import math
import time
from types import ModuleType
from typing import Any

import numpy as np

from ssik_ros.arrays import are_inside, finite_range, FloatArray
from ssik_ros.artifact.module_text import ArtifactSubject
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL, WITHIN_LIMITS
from ssik_ros.value_class import dataclass

Judge = Callable[[FloatArray], FloatArray]
"""Joint vector in, pose (4, 4) of the tip out."""

TRIAL_ERROR = 1e-9
"""Largest Frobenius norm of FK - T of a solution; the trial fails above it."""
SAME_JOINT_VALUE = 1e-6
"""Largest difference of a joint between two solutions that count as the same [rad]."""
TRIAL_SEED = 20_250_715


@dataclass(frozen=True, slots=True)
class Trial:
    """One test of an artifact: a random posture (n,) [rad or m], whose pose must be solved with or without limits."""

    posture: FloatArray
    respect_limits: bool


@dataclass
class TrialReport:
    """Counts and errors of the trials of an artifact module, as far as they were run."""

    poses: int
    """Number of trials, of which each solves one pose."""
    solved: int = 0
    """Number of poses with at least one solution."""
    only_with_seed: int = 0
    """Poses of arms with a held joint that were solved only when a seed gave the value of the held joint."""
    worst: float = 0.0
    """Largest Frobenius norm of FK - T of a solution, by forward kinematics of the loaded chain."""
    different: int = 0
    """Number of poses whose solutions differ from this package's."""
    outside: int = 0
    """Number of solutions outside of the limits in trials that respect limits."""
    raised: str = ''
    """The first error that ended a trial; empty if all trials ran to the end."""
    times: list[float] = field(default_factory=list)
    """Duration of each call of the module's ``solve`` [ms]."""

    @property
    def median_ms(self) -> float:
        """Return the median duration of a call of the module's ``solve`` [ms]; NaN without a call."""
        return float(np.median(self.times)) if self.times else math.nan

    @property
    def passed(self) -> bool:
        """
        Return whether the module passed all trials, so that it may be written.

        It must solve every pose without an exception. All solutions must be exact to 1e-9, and the same as this
        package's. In trials that respect limits, they must be within the limits.
        """
        is_right = self.worst <= TRIAL_ERROR and not self.different and not self.outside
        is_right = is_right and not self.raised
        return self.solved == self.poses and is_right

    @property
    def faults(self) -> str:
        """Return a text that lists why trials failed; empty if all passed."""
        said = {
            f'{self.poses - self.solved} of {self.poses} poses unsolved': self.poses - self.solved,
            f'{self.different} poses with other solutions than the library has': self.different,
            f'{self.outside} solutions outside of the limits': self.outside,
            f'a solution misses its pose by {self.worst:.3g}': self.worst > TRIAL_ERROR,
            f'a pose ended with {self.raised}': bool(self.raised),
        }
        return ', '.join(text for text, count in said.items() if count)


def load_module(text: str, name: str = 'artifact') -> Any:
    """
    Execute the text of a module, and return it as a Python module.

    Errors of the text pass through, such as a SyntaxError.

    :param text: text of the module.
    :param name: name of the module.
    """
    module = ModuleType(name)
    exec(compile(text, f'{name}.py', 'exec'), vars(module))
    return module


def make_judge(robot: RobotModel, chain: SerialChain) -> Judge:
    """
    Return a function that computes the tip pose (4, 4) in the base of a joint vector (n,) by pinocchio.

    It is independent of this package's kinematics. Joints outside the chain have their default positions.

    :param robot: the robot.
    :param chain: its chain, whose base and tip are used.
    :raises ModelError: if pinocchio refuses the robot, or the robot has more than 2000 joints.
    """
    reference = ReferenceKinematics(robot)
    group = robot.group_from_links(chain.base_link, chain.tip_link)
    state = robot.default_positions()

    def pose(q: FloatArray) -> FloatArray:
        state[chain.idx_q] = q
        tip: FloatArray = reference.group_tip_poses(state, group)[0]
        return tip

    return pose


def try_module(module: Any, subject: ArtifactSubject, judge: Judge, count: int) -> TrialReport:
    """
    Test a module with random poses, and return the report: ``count`` trials respect limits, ``count`` do not.

    The first poses are of postures within limits, the others of postures with joint values from -pi to pi. An exception
    in a trial is reported, not raised; it counts as a failed trial.

    :param module: the loaded module.
    :param subject: the arm for which it was made.
    :param judge: forward kinematics of the loaded chain.
    :param count: number of poses of each kind.
    """
    trials = list(_make_trials(subject.chain, count))
    report = TrialReport(len(trials))
    for trial in trials:
        try:
            _run(trial, module, subject, judge, report)
        except Exception as error:
            report.raised = report.raised or f'{type(error).__name__}: {error}'
    return report


def _run(
    trial: Trial, module: Any, subject: ArtifactSubject, judge: Judge, report: TrialReport
) -> None:
    """
    Solve the pose of a trial's posture by the module and by this package, and count the result in the report.

    If the module finds nothing and the arm has a held joint, solve again with the posture as the seed.
    """
    target = judge(trial.posture)

    def solve(seed: FloatArray | None) -> list[Any]:
        start = time.perf_counter()
        solutions: list[Any] = module.solve(
            target, q_seed=seed, respect_limits=trial.respect_limits
        )
        report.times.append(1e3 * (time.perf_counter() - start))
        return solutions

    seed = None
    solutions = solve(seed)
    if not solutions and subject.arm.plan.held >= 0:
        seed = trial.posture
        solutions = solve(seed)
        report.only_with_seed += bool(solutions)
    report.solved += bool(solutions)
    vectors = np.array([solution.q for solution in solutions]).reshape(-1, len(trial.posture))
    theirs = _solve_by_library(subject, target, trial, seed)
    report.different += not _are_same(vectors, theirs)
    if trial.respect_limits:
        report.outside += _count_outside(subject.chain, vectors)
    for q in vectors:
        report.worst = max(report.worst, _residual(judge(q), target))


def _make_trials(chain: SerialChain, count: int) -> Iterator[Trial]:
    """
    Yield ``count`` trials with random postures within limits, then ``count`` with values from -pi to pi and no limits.

    In the first ones, :func:`finite_range` replaces missing limits. Every call yields the same trials.
    """
    rng = np.random.default_rng(TRIAL_SEED)
    lower, upper = finite_range(chain.lower, chain.upper)
    for _ in range(count):
        yield Trial(rng.uniform(lower, upper), True)
    for _ in range(count):
        yield Trial(rng.uniform(-math.pi, math.pi, len(lower)), False)


def _solve_by_library(
    subject: ArtifactSubject, target: FloatArray, trial: Trial, seed: FloatArray | None
) -> FloatArray:
    """Return the solutions (k, n) that this package finds for the target of a trial."""
    mode = WITHIN_LIMITS if trial.respect_limits else KEEP_ALL
    branches = subject.arm.branches(target.copy(), BranchRequest(seed=seed, mode=mode))
    n = len(trial.posture)
    return np.empty((0, n)) if branches is None else branches.q


def _are_same(ours: FloatArray, theirs: FloatArray) -> bool:
    """
    Return whether two sets (k, n) of solutions are equal, whole turns ignored.

    They must have as many solutions, and each must be in the other set within 1e-6 in every joint.
    """
    if len(ours) != len(theirs):
        return False
    apart = np.abs(np.exp(1j * ours[:, None]) - np.exp(1j * theirs[None])).max(axis=2, initial=0.0)
    near = apart <= SAME_JOINT_VALUE
    return bool(near.any(axis=0).all() and near.any(axis=1).all())


def _count_outside(chain: SerialChain, vectors: FloatArray) -> int:
    """Return the number of solutions (k, n) that are outside the limits."""
    return int((~are_inside(vectors, chain.lower, chain.upper)).any(axis=1).sum())


def _residual(actual: FloatArray, target: FloatArray) -> float:
    """Return the Frobenius norm of the difference of two poses; infinite if it is not finite."""
    residual = float(np.linalg.norm(actual - target))
    return residual if math.isfinite(residual) else math.inf
