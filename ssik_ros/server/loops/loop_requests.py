"""
Requests to a robot with closed loops, by name, and their response.

A :class:`GoalsRequest` asks for joint positions that reach poses, a :class:`CompletionRequest` for all joint positions
from some of them. Both get a :class:`LoopResponse`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, list_names, quote
from ssik_ros.mechanisms.names import SOLVE_STATUS
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import FramedPose, FullState, NOTHING_GIVEN, StateGiven
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass

DEFAULT_LOOP_TOLERANCE = 1e-6
"""Largest error of goals and loops if a request names no tolerance [m, rad]."""
ITERATIONS = 100
"""Iterations of one chain if a request names none."""
MOST_ITERATIONS = 1_000_000
MOST_RESTARTS = 10_000
MOST_GOALS = 1000
MOST_STEPS = 10_000


class PoseGoal(NamedTuple):
    """A full or partial target pose of a frame on a link."""

    name: str
    """Name in the response; empty for the name of the link."""
    link: str
    """Name of the link that has the frame."""
    pose: FramedPose
    """Target pose of the frame."""
    offset: FloatArray
    """(4, 4) pose of the frame in the link."""
    free: Sequence[str] = ()
    """Names of degrees of freedom that are ignored: X, Y, Z along the axes, EX, EY, EZ about them."""
    world_axes: bool = False
    """Whether ``free`` is measured along and about the axes of the model frame, not of the goal."""


@dataclass(slots=True)
class GoalsRequest:
    """Request for joint positions that reach all goals and close all loops."""

    goals: Sequence[PoseGoal]
    """The targets; none if only loops are to be closed."""
    state: StateGiven = NOTHING_GIVEN
    """The seed of the search; joints that it does not name have their current values."""
    locked_joints: Sequence[str] = ()
    """Names of the joints that keep their positions; all others may move."""
    free_root: bool = False
    """Whether the root link may move."""
    translation_tolerance: float = 0.0
    """[m]; 0: ``DEFAULT_LOOP_TOLERANCE``."""
    rotation_tolerance: float = 0.0
    """[rad]; 0: ``DEFAULT_LOOP_TOLERANCE``."""
    timeout: float = 0.0
    """Budget of each chain, restarts included [s]; 0: no limit."""
    max_iterations: int = 0
    """Iterations of each start of a chain; 0: ``ITERATIONS``."""
    max_restarts: int = 0
    """Restarts of each chain from random states; 0: none."""
    seed: int = 0
    """Seed of the random states."""


@dataclass(slots=True)
class CompletionRequest:
    """Request for the positions of all joints, given the positions of some, such that all loops are closed."""

    names: Sequence[str]
    """Names of the given joints; empty for the active joints."""
    positions: Sequence[float]
    """Position of each given joint [rad or m]; empty without names closes the loops only."""
    state: StateGiven = NOTHING_GIVEN
    """The seed of all other joints."""
    steps: int = 0
    """Parts into which the motion to the given positions is divided; 0 counts as 1."""


class LoopResponse(NamedTuple):
    """The state after a solve, with one result for each kinematic chain; or the reason why the request was refused."""

    state: FullState | None
    """The solved state; if the solve failed, the state of the smallest error; None for a refused request."""
    chains: tuple[ChainResult, ...]
    """One result for each kinematic chain; empty for a refused request."""
    clamped: tuple[str, ...]
    """Given joints that are at a limit because their given positions are outside."""
    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    text: str
    """One sentence or more about the outcome."""
    failure: Cause = Cause.NOT_FOUND
    """Cause of the response if a chain did not converge for another reason than time, or a given joint was clamped."""

    @property
    def cause(self) -> Cause:
        """Return NONE if :attr:`solved`, BUDGET if a chain ran out of time, else the cause in ``failure``."""
        if self.solved:
            return Cause.NONE
        ended = any(chain.status == SOLVE_STATUS.TIMEOUT for chain in self.chains)
        return Cause.BUDGET if ended else self.failure

    @property
    def solved(self) -> bool:
        """Return whether all chains converged with all given joints inside their limits."""
        done = all(chain.converged for chain in self.chains)
        return self.state is not None and done and not self.clamped


def describe(chains: Sequence[ChainResult], clamped: Sequence[str]) -> str:
    """
    Return a sentence about clamped joints and one about each chain that did not converge; without any, one on success.

    :param chains: the chains of the response.
    :param clamped: given joints outside their limits.
    """
    parts = [f'Given outside the limits: {list_names(clamped)}.'] if clamped else []
    for chain in (chain for chain in chains if not chain.converged):
        errors = chain.closure_errors
        worst = int(np.argmax(errors.max(axis=1)))
        length, angle = errors[worst]
        tried = counted(chain.iterations, 'iteration')
        if chain.restarts:
            tried += f' from {chain.restarts + 1} starts'
        parts.append(
            f'{chain.status.name} after {tried}: {quote(chain.closures[worst])} '
            f'is off by {length:.3g} m and {angle:.3g} rad.'
        )
    return ' '.join(parts) or f'{counted(len(chains), "chain")} converged.'
