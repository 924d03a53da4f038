"""
Texts for a pose that is not reached: the cause, the distance of the nearest posture, remedies and details.

:func:`find_reason` collects them for a session as a :class:`FailureReason`.
"""

from typing import NamedTuple

from ssik_ros.results import Cause, CAUSE_TEXT
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.view.limit_room import in_unit, short
from ssik_ros.view.remedies import find_remedies, Remedy
from ssik_ros.view.sessions.posture_session import SolveOutcome
from ssik_ros.view.sessions.session import Session

SAME_PLACE = 1e-3
"""A nearest posture whose tip is within this distance of the target is wrong in its orientation [m]."""
BETWEEN = 'In the nearest posture the tip is '
AT_TARGET = 'At the target.'
NOT_AT_TARGET = 'Not at the target.'
REACHED = 'The pose is reached.'
REACHED_HAS_BRANCHES = 'A pose that is reached has branches.'
HELP_TITLE = 'What would help'
TAKE_BACK = 'Take it all back'
DETAILS_TITLE = 'Details'


class FailureReason(NamedTuple):
    """
    Explanation of targets that are not reached: distance of the nearest posture, remedies and details.

    For reached targets, text and lists are empty, but ``details`` may say that collisions are not checked.
    """

    nearest: str
    """Sentence with the distance or angle between the nearest posture and the target; empty if none was found."""
    remedies: list[Remedy]
    """Constraints that a user may ignore."""
    details: list[str]
    """The report of the solver, and sentences with all numbers."""


def describe_cause(outcome: SolveOutcome) -> str:
    """
    Return the cause of a failure as one short sentence; the text of the outcome if the cause has no sentence.

    :param outcome: of a request that failed.
    """
    text = CAUSE_TEXT.get(outcome.cause, '') if outcome.cause != Cause.NONE else ''
    return f'{text[:1].upper()}{text[1:]}.' if text else outcome.text


def find_reason(session: Session, unit: str = 'rad') -> FailureReason:
    """
    Return the explanation of why the targets are not reached.

    If they are reached, it is empty, or says only that collisions are not checked.

    :param session: after :meth:`Session.complete`, which finds the nearest posture.
    :param unit: unit of angles in texts, ``rad`` or ``deg``.
    """
    outcome = session.outcome
    details = [] if outcome.solved else [outcome.text]
    if session.explanation is not None:
        details += session.explanation.advice
    if session.unchecked:
        details.append(f'Collisions are not checked: {session.unchecked}')
    # Each sentence once, in the order of their first places.
    return FailureReason(
        describe_nearest(session.explanation, unit),
        find_remedies(session),
        list(dict.fromkeys(details)),
    )


def describe_nearest(explanation: Explanation | None, unit: str = 'rad') -> str:
    """
    Return how far the nearest posture is from the target; empty if the pose is reached or no posture is known.

    :param explanation: why the pose is not reached.
    :param unit: of the angle: ``rad`` or ``deg``.
    """
    if explanation is None or explanation.solved or explanation.nearest is None:
        return ''
    if explanation.distance >= SAME_PLACE:
        return f'{BETWEEN}{short(explanation.distance)} m from the target.'
    return f'{BETWEEN}turned by {short(in_unit(explanation.angle, unit))} {unit} from the target.'
