"""
Decide whether a closed form or a search solves a request: :func:`choose` returns the methods in their order.

=========================================  =======================================================================
chain                                      methods for one solution, in the order in which they are tried
=========================================  =======================================================================
no closed form                             Levenberg-Marquardt, then PoseIK with more starts
closed form that may miss branches         Levenberg-Marquardt, closed form, Levenberg-Marquardt with other starts
slow complete closed form                  Levenberg-Marquardt, closed form
fast complete closed form                  closed form (a near seed is followed first), Levenberg-Marquardt
=========================================  =======================================================================

A complete closed form finds every branch of a pose that is not singular. It is fast if three axes of the arm are
parallel or the wrist is spherical. A closed form may miss branches if it samples a joint, if the axes fit its class
only nearly, or if the arm has fewer than six joints.

If several solutions are wanted, any closed form comes first. If the nearest one is wanted, only a complete closed form
comes first; without it, PoseIK solves. PoseIK also solves if a parameter is given that only PoseIK has. If joints are
locked, Levenberg-Marquardt replaces a complete closed form. The tolerance of a request does not influence the decision.
"""

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from typing import Any, TypeVar

from ssik_ros.errors import ModelError, TopologyMismatch, UnsupportedJoint
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.problem.contract import BranchSolver, IkSolver
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.request_arrays import TURNING

Made = TypeVar('Made')

ONLY_OF_POSE_IK = (
    'gd_max_iters',
    'gd_jacobian_damping',
    'gd_step_multiplier',
    'gd_adaptive_threshold',
)
"""Parameters that only PoseIK has."""
TARGET_TOLERANCE = 'target_tolerance'


class Knowledge(IntEnum):
    """How many branches of a pose the closed form of a chain finds, from none (NOTHING) to all, fast (ALL_AT_ONCE)."""

    NOTHING = 0
    """The chain has no closed form."""
    SAMPLES = 1
    """Several branches, maybe not all: a joint is sampled, the axes fit only nearly, or the arm lacks a sixth joint."""
    ALL = 2
    """Every branch of a pose that is not singular, in the time of about ten descents of a search."""
    ALL_AT_ONCE = 3
    """Every branch of a pose that is not singular, in less time than one descent takes."""


class Wanted(Enum):
    """Which solutions a request asks for: any one, the one nearest to the seed, or several."""

    ONE = 'one solution'
    NEAREST = 'the solution nearest to the seed'
    SEVERAL = 'several solutions'


class SolveMethod(Enum):
    """A method that may solve a request: closed form, Levenberg-Marquardt search, or PoseIK search."""

    CLOSED_FORM = 'closed form'
    SEARCH = 'Levenberg-Marquardt'
    POSE_IK = 'PoseIK'


def choose(
    knowledge: Knowledge,
    wanted: Wanted = Wanted.ONE,
    *,
    is_tuned: bool = False,
    is_locked: bool = False,
) -> tuple[SolveMethod, ...]:
    """
    Return the methods for a request, in the order in which they are tried.

    :param knowledge: knowledge of the chain's closed form.
    :param wanted: kind of solutions that the request asks for.
    :param is_tuned: True if a parameter is given that only PoseIK has.
    :param is_locked: True if the request locks joints. If the closed form is complete, the other joints are too few to
        reach a pose exactly, and a search finds solutions within the tolerance.
    """
    wants_nearest = wanted == Wanted.NEAREST
    if is_tuned or (wants_nearest and knowledge < Knowledge.ALL):
        return (SolveMethod.POSE_IK,)
    if knowledge == Knowledge.NOTHING:
        return SolveMethod.SEARCH, SolveMethod.POSE_IK
    if is_locked and knowledge >= Knowledge.ALL:
        return (SolveMethod.SEARCH,)
    if wanted != Wanted.ONE or knowledge == Knowledge.ALL_AT_ONCE:
        return SolveMethod.CLOSED_FORM, SolveMethod.SEARCH
    more = () if knowledge == Knowledge.ALL else (SolveMethod.SEARCH,)
    return SolveMethod.SEARCH, SolveMethod.CLOSED_FORM, *more


def uses_closed_form(knowledge: Knowledge, parameters: Mapping[str, Any]) -> bool:
    """
    Return whether a request that asks for all solutions and names no solver is solved by the arm's closed form.

    :param knowledge: knowledge of the arm's closed form.
    :param parameters: parameters of ``ssik_ros/Auto`` by name. Any parameter except the tolerance requires the search.
    """
    methods = choose(
        knowledge, Wanted.SEVERAL, is_tuned=bool(parameters.keys() - {TARGET_TOLERANCE})
    )
    return methods[0] == SolveMethod.CLOSED_FORM


def find_closed_form(make: Callable[[], Made]) -> tuple[Made | None, str]:
    """
    Return the closed form of a chain and an empty text, or None and the reason why the chain has no closed form.

    :param make: function that creates the closed form. Its TopologyMismatch, UnsupportedJoint or ModelError is the
        reason that is returned; other exceptions pass through.
    """
    try:
        return make(), ''
    except (TopologyMismatch, UnsupportedJoint, ModelError) as error:
        return None, str(error)


def knowledge_of_arm(arm: AnalyticArm) -> Knowledge:
    """
    Return how many branches of a pose the closed form of an arm finds.

    SAMPLES for an arm with a held joint, without exactly six joints, or with axes that fit their class only nearly. For
    other arms, ALL_AT_ONCE if three axes are parallel or the wrist is spherical, otherwise ALL.

    :param arm: closed form of the arm.
    """
    plan = arm.plan
    if plan.held >= 0 or plan.drift != 0.0 or plan.size != 6:
        return Knowledge.SAMPLES
    is_fast = plan.ints[search.KIND] in TURNING
    return Knowledge.ALL_AT_ONCE if is_fast else Knowledge.ALL


def knowledge_of(solver: IkSolver) -> Knowledge:
    """
    Return how many branches of a pose a solver finds; NOTHING for a solver that does not tell.

    For a solver that returns all branches, it is ALL if the solver is complete, otherwise SAMPLES.

    :param solver: any solver.
    """
    if isinstance(solver, BranchSolver):
        return Knowledge.ALL if solver.is_complete else Knowledge.SAMPLES
    knowledge: Knowledge = getattr(solver, 'knowledge', Knowledge.NOTHING)
    return knowledge
