"""The closed form of a chosen arm, or the reason why it has none and the solver to use instead."""

import sys

from ssik_ros.cli.robot_choice import ChosenGroup
from ssik_ros.errors import TopologyMismatch, UnsupportedJoint
from ssik_ros.manipulator.solution import SolverFacts
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.registry import DEFAULT_SOLVER

INSTEAD = 'ssik_ros/PoseIK'
_TIERS = (
    'closed form',
    'closed form for each of several values of a held joint',
    'numerical elimination',
)


def find_closed_form(verb: str, chosen: ChosenGroup) -> AnalyticArm | None:
    """
    Return the closed form of an arm; if it has none, print the reason to stderr and return None.

    :param verb: name of the verb, for the message.
    :param chosen: the arm.
    :raises ModelError: if its group is not a chain with joints and one tip.
    """
    try:
        return AnalyticArm(chosen.chain())
    except (TopologyMismatch, UnsupportedJoint) as error:
        print(
            f'ssik {verb}: {error} {DEFAULT_SOLVER} solves it numerically, by {INSTEAD}.',
            file=sys.stderr,
        )
        return None


def describe_tier(facts: SolverFacts) -> str:
    """
    Return the kind of a closed form as text: the number of its tier, 0 to 2, with the meaning in brackets.

    :param facts: facts about the solver.
    """
    return f'{facts.tier} ({_TIERS[facts.tier]})'
