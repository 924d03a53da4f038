"""Options of MoveIt's inverse-kinematics requests, the replies to them, and MoveIt's numeric codes for both."""

from collections.abc import Callable, Sequence
from enum import IntEnum
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.results import Cause, CAUSE_TEXT, IkResult
from ssik_ros.value_class import dataclass

Vector = Sequence[float] | FloatArray

SUCCESS = 1
NO_IK_SOLUTION = -31
TIMED_OUT = -6


class DiscretizationMethod(IntEnum):
    """
    How redundant joints are sampled: not at all, at steps or at random, and all of them or only the first (SOME).

    The values are MoveIt's numbers.
    """

    NO_DISCRETIZATION = 1
    ALL_DISCRETIZED = 2
    SOME_DISCRETIZED = 3
    ALL_RANDOM_SAMPLED = 4
    SOME_RANDOM_SAMPLED = 5


class KinematicError(IntEnum):
    """Outcome of a request for several solutions; names (with their spelling) and numbers are MoveIt's."""

    OK = 1
    UNSUPORTED_DISCRETIZATION_REQUESTED = 2
    DISCRETIZATION_NOT_INITIALIZED = 3
    MULTIPLE_TIPS_NOT_SUPPORTED = 4
    EMPTY_TIP_POSES = 5
    IK_SEED_OUTSIDE_LIMITS = 6
    SOLVER_NOT_ACTIVE = 7
    NO_SOLUTION = 8


@dataclass(frozen=True)
class KinematicsQueryOptions:
    """Options of a request: whether to hold redundant joints, accept approximate solutions, or sample redundant joints."""

    lock_redundant_joints: bool = False
    """Hold the redundant joints at the values of the seed."""
    return_approximate_solution: bool = False
    """
    If no posture is within tolerance, a request for one solution returns the nearest one, marked as approximate.

    ``search_position_ik`` treats requests of a control loop differently: it returns one step from the seed towards the
    pose, see :mod:`ssik_ros.moveit.nearest_steps`.
    """
    discretization_method: DiscretizationMethod = DiscretizationMethod.NO_DISCRETIZATION
    """How a request for several solutions samples the redundant joints; a request for one solution ignores it."""


DEFAULT_OPTIONS = KinematicsQueryOptions()


class IkReply(NamedTuple):
    """
    Reply to a request for one solution: the joint vector, or MoveIt's error code with the cause and a text.

    ``solved`` is True and ``error_code`` is SUCCESS for an approximate solution, too; its ``cause`` says why it is not
    exact. ``error_code`` is SUCCESS, TIMED_OUT or NO_IK_SOLUTION of this module. ``text`` is a sentence about the
    outcome.
    """

    solved: bool
    solution: FloatArray
    """(n,) joint vector; empty without a solution."""
    error_code: int
    cause: Cause
    text: str
    is_approximate: bool = False


class IkReplies(NamedTuple):
    """Reply to a request for several solutions: joint vectors, the outcome, and the share of solved samples."""

    solutions: list[FloatArray]
    """Joint vectors (n,), nearest to the seed first."""
    kinematic_error: KinematicError
    solution_percentage: float
    """
    Share, 0 to 1, of the combinations of sampled values of redundant joints for which a solution was found.

    It is 1 if the request was solved without sampling, and 0 after a failure.
    """

    @property
    def solved(self) -> bool:
        """Return whether there is at least one solution."""
        return bool(self.solutions)


SolutionCallback = Callable[[FloatArray, FloatArray], int | bool]
"""Called with the (first) pose and a candidate; SUCCESS or true takes it, anything else goes on searching."""
CostFunction = Callable[[FloatArray, FloatArray, FloatArray], float]
"""Called with the (first) pose, a solution and the seed; the smallest value wins."""


def error_code_of(result: IkResult) -> int:
    """
    Return MoveIt's error code for a result: SUCCESS, TIMED_OUT if the clock ended the search, or NO_IK_SOLUTION.

    :param result: the solver's result.
    """
    if result.solved:
        return SUCCESS
    is_late = result.cause == Cause.DEADLINE or result.clock_ended
    return TIMED_OUT if is_late else NO_IK_SOLUTION


def has_usable_nearest(result: IkResult) -> bool:
    """
    Return whether a failed search has a nearest state with finite joint values and a finite residual.

    :param result: result of the failed search.
    """
    nearest = result.nearest
    return (
        nearest is not None and math.isfinite(result.residual) and bool(np.isfinite(nearest).all())
    )


def no_reply(cause: Cause, text: str, code: int = NO_IK_SOLUTION) -> IkReply:
    """
    Return the reply to a request for one solution that has failed.

    :param cause: cause of the failure.
    :param text: about the failure; empty for the usual text of the cause.
    :param code: MoveIt's error code.
    """
    return IkReply(False, np.empty(0), code, cause, text or CAUSE_TEXT[cause])


def no_replies(error: KinematicError) -> IkReplies:
    """
    Return the reply to a request for several solutions that has failed.

    :param error: the reason, as MoveIt's outcome.
    """
    return IkReplies([], error, 0.0)
