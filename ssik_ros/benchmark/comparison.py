"""
A trial of several solvers on one group in bounded time: the same requests to all, checked by independent kinematics.

Requests come in blocks of one kind (see Kind), and a round has a block of each kind. Each solver solves a block without
a pause. The random seed decides the requests. The time and the largest number of requests decide how many there are.
Only requests that every solver got count. Except for the kind SEVERAL, each block begins with a call that does not
count, so that caches are warm for the timed ones. A request for a pose out of reach is dropped if a solver reached it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from enum import Enum
import time
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.calls import describe_exception, time_call
from ssik_ros.benchmark.oracle import DEFAULT_TOLERANCE, GroupOracle
from ssik_ros.benchmark.trials import TrialVerdict
from ssik_ros.errors import SsikError
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.robot_model import QUATERNION_START
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.problem.solver_order import in_group_order, joint_order
from ssik_ros.results import IkResult
from ssik_ros.solvers.registry import create_solver
from ssik_ros.value_class import dataclass

Clock = Callable[[], float]
"""Returns seconds, never fewer than before."""

SEED_OFFSET = 0.05
"""Largest distance at each joint of a near seed from a known solution [rad or m]."""
MOST_SOLUTIONS = 16
"""Solutions that a request for several solutions wants."""
POSTURES_FOR_REACH = 200
"""Random postures whose farthest tip stands for the reach of a group."""
BEYOND = (1.15, 1.5)
"""Distance of a pose out of reach, in farthest distances; postures at random come within a tenth of the farthest."""


class Kind(str, Enum):
    """
    Kinds of requests in a trial: seed anywhere, seed near a solution, pose out of reach, several solutions wanted.

    A pose out of reach is farther away than any of many random postures; that it is unreachable is not proved.
    """

    ANYWHERE = 'seed anywhere'
    NEAR = 'seed near'
    OUT_OF_REACH = 'out of reach'
    SEVERAL = 'several solutions'


BLOCKS = {Kind.ANYWHERE: 16, Kind.NEAR: 16, Kind.OUT_OF_REACH: 8, Kind.SEVERAL: 2}
"""Requests of a round; several solutions may take the whole time of a request, hence few."""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Settings of a trial: time for all requests and for each one, number of requests of kind ANYWHERE, random seed."""

    seconds: float = 10.0
    """Time for all requests to all solvers, without the time to make the solvers [s]."""
    timeout: float = 0.05
    """Time for one request [s]."""
    samples: int = 1000
    """Largest number of requests of kind ANYWHERE; the other kinds are in proportion."""
    random_seed: int = 12345


class TrialRequest(NamedTuple):
    """A request of a trial: a target pose for each tip, and a seed."""

    targets: FloatArray
    """(t, 4, 4) poses of the tips in the base frame."""
    seed: FloatArray
    """(n,) in the joint order of the group."""


class CheckedResult(NamedTuple):
    """A solver's result for one request, with its time and the verdict of independent kinematics."""

    verdict: TrialVerdict
    time_us: float
    """Time of the solve [us]."""
    solutions: int
    """Number of correct solutions."""
    seed_distance: float
    """Norm of the joint differences between the first solution and the seed [rad or m]; NaN without a solution."""
    cause: str
    """Name of the cause that the solver gives for a failure, a member of Cause; ``NONE`` for a success."""


@dataclass(slots=True)
class Entrant:
    """A solver that takes part in a trial, with its results by kind of request, or the reason why it takes no part."""

    name: str
    set_up_seconds: float = 0.0
    """Time to make and warm up the solver, compiling included [s]."""
    refusal: str = ''
    """Why it takes no part; empty if it does."""
    results: dict[Kind, list[CheckedResult]] = field(
        default_factory=lambda: {kind: [] for kind in Kind}
    )
    """Results by kind of request, in the order of the requests."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    The results of a trial.

    All solvers that took part (entrants without a refusal) have the same number of results of each kind.
    """

    oracle: GroupOracle
    settings: TrialSettings
    entrants: tuple[Entrant, ...]
    """All solvers that were named, also those with a refusal."""
    elapsed: float
    """Time for the requests [s]."""

    @property
    def running(self) -> tuple[Entrant, ...]:
        """Return the solvers that took part until the end."""
        return tuple(entrant for entrant in self.entrants if not entrant.refusal)


class TrialRequests:
    """Generates the random requests of a trial to a group; the same random seed gives the same requests."""

    def __init__(self, oracle: GroupOracle, random_seed: int) -> None:
        """
        Prepare a random sequence for each kind, and measure the reach of the group by random postures.

        :param oracle: the group and its forward kinematics.
        :param random_seed: seed of the random generators.
        :raises InvalidLimits: if a translation of the group, such as a sliding joint, lacks a limit.
        """
        self._oracle = oracle
        robot, group = oracle.robot, oracle.group
        self._rng = {k: np.random.default_rng([random_seed, i]) for i, k in enumerate(Kind)}
        rng = np.random.default_rng([random_seed, len(Kind)])
        poses = np.array(
            [oracle.tip_poses(robot.sample(group, rng)) for _ in range(POSTURES_FOR_REACH)]
        )
        self._reach = np.linalg.norm(poses[:, :, :3, 3], axis=2).max(axis=0)
        kinds = [JointKind(robot.tree.kinds[joint]) for joint in group.joint_indices]
        sizes = [POSITION_SIZE[kind] for kind in kinds]
        self._spread = SEED_OFFSET * np.repeat(
            [kind not in QUATERNION_START for kind in kinds], sizes
        )

    def take(self, kind: Kind, count: int) -> list[TrialRequest]:
        """
        Return the next ``count`` random requests of a kind.

        The poses are poses of random postures within the limits; for OUT_OF_REACH they are moved beyond the reach of
        such postures. For NEAR, each joint of the seed differs from the posture by at most ``SEED_OFFSET``. For other
        kinds, the seed is another random posture. Each kind has a random sequence that does not depend on the others.

        :param kind: the kind.
        :param count: number of requests.
        """
        return [self._next(kind) for _ in range(count)]

    def _next(self, kind: Kind) -> TrialRequest:
        rng, oracle = self._rng[kind], self._oracle
        group = oracle.group
        goal = oracle.robot.sample(group, rng)
        targets = oracle.tip_poses(goal)
        if kind is Kind.NEAR:
            moved = goal + self._spread * rng.uniform(-1.0, 1.0, goal.shape)
            return TrialRequest(targets, np.clip(moved, group.lower, group.upper))
        seed = oracle.robot.sample(group, rng)
        if kind is Kind.OUT_OF_REACH:
            directions = rng.standard_normal((len(targets), 3))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            distances = self._reach * rng.uniform(*BEYOND)
            targets[:, :3, 3] = distances[:, None] * directions
        return TrialRequest(targets, seed)


def compare_solvers(
    oracle: GroupOracle,
    names: Sequence[str],
    settings: TrialSettings,
    *,
    clock: Clock = time.monotonic,
    tell: Callable[[str], None] = lambda what: None,
) -> Comparison:
    """
    Send the same requests to several solvers for a limited time, and return their checked results.

    A solver that cannot be made for the group, raises, or returns another type than IkResult takes no part. The reason
    is in its ``refusal``.

    :param oracle: the group and its independent check.
    :param names: names of the solvers.
    :param settings: time and size of the trial.
    :param clock: returns the time that ``settings.seconds`` limits [s].
    :param tell: called with a text about each step.
    :raises InvalidLimits: if a translation of the group, such as a sliding joint, lacks a limit.
    """
    runners = []
    for name in names:
        tell(f'preparing {name}')
        runners.append(_Runner(name, oracle, settings))
    entrants = tuple(runner.entrant for runner in runners)
    source = TrialRequests(oracle, settings.random_seed)
    tell(f'solving for up to {settings.seconds:g} s')
    start = clock()
    stop = start + settings.seconds
    for kind, trials in _blocks(source, settings.samples):
        for runner in runners:
            runner.solve(kind, trials, stop, clock)
        # Rotate the order of solvers so that no solver always runs with a warm CPU cache.
        runners = runners[1:] + runners[:1]
        if clock() >= stop or all(entrant.refusal for entrant in entrants):
            break
    elapsed = clock() - start
    _keep_common([entrant for entrant in entrants if not entrant.refusal])
    return Comparison(oracle, settings, entrants, elapsed)


def _blocks(source: TrialRequests, samples: int) -> Iterator[tuple[Kind, list[TrialRequest]]]:
    """
    Yield blocks (kind, requests), in rounds of one block for each kind.

    Together there are ``samples`` requests of the kind ANYWHERE. The others are in the proportion of BLOCKS to them, at
    least one in each round.
    """
    full = BLOCKS[Kind.ANYWHERE]
    for first in range(0, samples, full):
        share = min(samples - first, full) / full
        for kind, size in BLOCKS.items():
            yield kind, source.take(kind, max(1, round(share * size)))


class _Runner:
    """A solver that solves the requests of a trial, and stores its results or the reason of its failure in an Entrant."""

    def __init__(self, name: str, oracle: GroupOracle, settings: TrialSettings) -> None:
        """
        Make and warm up a solver, and solve one request of each kind, so that code and tables are loaded.

        If that fails, the entrant gets the reason as its refusal.
        """
        self._oracle, self._timeout = oracle, settings.timeout
        self.entrant = Entrant(name)
        start = time.perf_counter()
        try:
            self._solver: IkSolver = create_solver(name, oracle.robot, oracle.group)
            self._order = joint_order(oracle.group, self._solver)
            self._solver.warm_up()
        except SsikError as error:
            self.entrant.refusal = ' '.join(str(error).split())
        except Exception as error:
            # Third-party code: whatever it raises is its own reason, not the end of the trial.
            self.entrant.refusal = f'could not be prepared: {describe_exception(error)}'
        else:
            first = TrialRequests(oracle, settings.random_seed)
            for kind in Kind:
                self._solve(kind, first.take(kind, 1)[0])
        self.entrant.set_up_seconds = time.perf_counter() - start

    def solve(self, kind: Kind, trials: list[TrialRequest], stop: float, clock: Clock) -> None:
        """
        Solve the requests of a block until the clock reaches ``stop``; check the results and store them in the entrant.

        Before, one request is solved that does not count, except for the kind SEVERAL. A failure of the solver ends the
        block.

        :param stop: time of ``clock`` after which no request is sent [s].
        """
        done: list[tuple[TrialRequest, tuple[IkResult, float]]] = []
        if kind is not Kind.SEVERAL and clock() < stop:
            # Not counted: the code of the others is still in the caches.
            self._solve(kind, trials[-1])
        for trial in trials:
            if self.entrant.refusal or clock() >= stop:
                break
            outcome = self._solve(kind, trial)
            if outcome is not None:
                done.append((trial, outcome))
        results = self.entrant.results[kind]
        results += [self._check(trial, *outcome) for trial, outcome in done]

    def _solve(self, kind: Kind, trial: TrialRequest) -> tuple[IkResult, float] | None:
        """
        Solve a request, and return the result and its time [us].

        None if the solver raises or returns another type than IkResult; its entrant then gets the reason as refusal.
        Also None, without a call, if the entrant has a refusal already.
        """
        if self.entrant.refusal:
            return None
        request = SolveRequest(
            targets=trial.targets.copy(),
            seed=trial.seed[self._order],
            timeout=self._timeout,
            max_solutions=MOST_SOLUTIONS if kind is Kind.SEVERAL else 1,
        )
        call = time_call(self._solver.solve, request)
        if call.result is None:
            # All solvers get the same request: a solver that fails does not support this group.
            self.entrant.refusal = f'failed at a request: {call.note}'
            return None
        return call.result, call.wall_ns * 1e-3

    def _check(self, trial: TrialRequest, result: IkResult, time_us: float) -> CheckedResult:
        """
        Return a result with its number of correct solutions and a verdict by independent kinematics.

        The verdict is NO_SOLUTION if the solver reports a failure. It is VERIFIED only if all solutions are correct,
        otherwise the error of the first wrong one. A success without a vector is NOT_FINITE.
        """
        if not result.solved:
            return CheckedResult(TrialVerdict.NO_SOLUTION, time_us, 0, np.nan, result.cause.name)
        oracle, targets = self._oracle, trial.targets
        vectors = [in_group_order(q, self._order) for q in np.asarray(result.solutions)]
        checks = [oracle.verify(q, targets, DEFAULT_TOLERANCE).verdict for q in vectors]
        wrong = [verdict for verdict in checks if verdict is not TrialVerdict.VERIFIED]
        verdict = (
            wrong[0] if wrong else TrialVerdict.VERIFIED if checks else TrialVerdict.NOT_FINITE
        )
        distance = oracle.joint_distance(vectors[0], trial.seed) if vectors else np.nan
        good = len(checks) - len(wrong)
        return CheckedResult(verdict, time_us, good, distance, result.cause.name)


def _keep_common(entrants: Sequence[Entrant]) -> None:
    """
    Shorten the results of all entrants, in place, to the requests that every entrant got.

    Requests out of reach are dropped, too, if any solver reached the pose.
    """
    for kind in Kind:
        count = min((len(entrant.results[kind]) for entrant in entrants), default=0)
        kept = list(range(count))
        if kind is Kind.OUT_OF_REACH:
            kept = [i for i in kept if not any(_reached(entrant, i) for entrant in entrants)]
        for entrant in entrants:
            entrant.results[kind] = [entrant.results[kind][i] for i in kept]


def _reached(entrant: Entrant, index: int) -> bool:
    return entrant.results[Kind.OUT_OF_REACH][index].verdict is TrialVerdict.VERIFIED
