"""Questions about robots with loops by name, as a service receives them, and their answers."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, list_names, quote
from ssik_ros.mechanisms.names import SOLVE_STATUS
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.server.requests.ik_requests import FramedPose, FullState, NOTHING_GIVEN, StateGiven
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass

TOLERANCE = 1e-6
"""Largest error of goals and loops where a question does not say [m, rad]."""
ITERATIONS = 100
"""Iterations of one chain where a question does not say."""
MOST_ITERATIONS = 1_000_000
MOST_RESTARTS = 10_000
MOST_GOALS = 1000
MOST_STEPS = 10_000


class PoseGoal(NamedTuple):
    """A pose, or a part of one, that a frame on a link is to reach."""

    name: str
    """Empty for that of the link."""
    link: str
    pose: FramedPose
    offset: FloatArray
    """(4, 4) of the frame in the link."""
    free: Sequence[str] = ()
    """Names of degrees of freedom that do not count."""
    world_axes: bool = False
    """Whether these are along and about the axes of the model frame, not those of the goal."""


@dataclass(slots=True)
class GoalsQuestion:
    """Find joint positions in which all goals are met and all loops are closed."""

    goals: Sequence[PoseGoal]
    state: StateGiven = NOTHING_GIVEN
    """Where the search starts."""
    locked_joints: Sequence[str] = ()
    free_root: bool = False
    translation_tolerance: float = 0.0
    """[m]; 0: ``TOLERANCE``."""
    rotation_tolerance: float = 0.0
    """[rad]; likewise."""
    timeout: float = 0.0
    """Of each chain, restarts included [s]; 0: none."""
    max_iterations: int = 0
    """Of each start of a chain; 0: ``ITERATIONS``."""
    max_restarts: int = 0
    """Of each chain, from random states."""
    seed: int = 0
    """Of these states."""


@dataclass(slots=True)
class CompletionQuestion:
    """Find all joints from some."""

    names: Sequence[str]
    """Empty for the active joints."""
    positions: Sequence[float]
    state: StateGiven = NOTHING_GIVEN
    """Where all others start."""
    steps: int = 0


class ChainOutcome(NamedTuple):
    """How the solve of one chain ended."""

    status: SOLVE_STATUS
    iterations: int
    joint_names: tuple[str, ...]
    closures: tuple[str, ...]
    errors: FloatArray
    """(C, 2) what each closure misses [m], [rad]."""
    limits_active: tuple[str, ...]
    restarts: int = 0


class LoopAnswer(NamedTuple):
    """A state and how it was found, or why nothing was tried."""

    state: FullState | None
    """Without success the best that was seen; None where nothing was tried."""
    chains: tuple[ChainOutcome, ...]
    clamped: tuple[str, ...]
    """Given joints that stand at a limit instead of where they were to stand."""
    refusal: Refusal
    text: str

    @property
    def solved(self) -> bool:
        """Return whether everything converged."""
        done = all(chain.status == SOLVE_STATUS.CONVERGED for chain in self.chains)
        return self.state is not None and done and not self.clamped


def outcome_of(
    result: ChainResult, joint_names: Container[str], goal_names: Mapping[str, str]
) -> ChainOutcome:
    """
    Return what a question gets to know about one chain.

    :param result: of its solve.
    :param joint_names: of the robot: what else carries frames is nobody else's business.
    :param goal_names: of closures that have other names in the result.
    """
    return ChainOutcome(
        result.status,
        result.iterations,
        tuple(name for name in result.joint_names if name in joint_names),
        tuple(goal_names.get(name, name) for name in result.closures),
        result.closure_errors.copy(),
        result.limits_active,
        result.restarts,
    )


def describe(chains: Sequence[ChainOutcome], clamped: Sequence[str]) -> str:
    """
    Return what came out, in one sentence for success and one for each chain that did not converge.

    :param chains: of the answer.
    :param clamped: given joints outside their limits.
    """
    parts = []
    if clamped:
        parts.append(f'Given outside the limits: {list_names(clamped)}.')
    for chain in chains:
        if chain.status != SOLVE_STATUS.CONVERGED:
            worst = int(np.argmax(chain.errors.max(axis=1)))
            length, angle = chain.errors[worst]
            tried = counted(chain.iterations, 'iteration')
            if chain.restarts:
                tried += f' from {chain.restarts + 1} starts'
            parts.append(
                f'{chain.status.name} after {tried}: {quote(chain.closures[worst])} '
                f'is off by {length:.3g} m and {angle:.3g} rad.'
            )
    return ' '.join(parts) or f'{counted(len(chains), "chain")} converged.'
