"""Remedies for a pose without a solution: constraints that a user can ignore to see whether the pose is reachable then."""

from dataclasses import replace
from typing import NamedTuple

from ssik_ros.errors import quote
from ssik_ros.results import Cause
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.sessions.session import Session

FREE_ORIENTATION = 'Leave the orientation free'


class Remedy(NamedTuple):
    """A suggestion to ignore one more constraint: text for a button, and the relaxations to apply."""

    label: str
    relaxations: Relaxations


def find_remedies(session: Session) -> list[Remedy]:
    """
    Return suggestions of constraints to ignore, none of which is certain to make the pose reachable.

    They are the joint limits that would have to be wider to reach the pose from the nearest posture. The colliding pair
    of links is added if collisions are the cause, else the orientation. Constraints that are ignored already are left
    out. The list is empty if the target is reached or nothing is explained.

    :param session: after :meth:`Session.complete`.
    """
    explanation, now = session.explanation, session.relaxations
    if session.outcome.solved or explanation is None:
        return []
    remedies = [
        Remedy(f'Release the limit of {limit.joint}', now.with_limit(limit.joint))
        for limit in explanation.limits
        if limit.joint not in now.limits
    ]
    if explanation.cause == Cause.COLLISION and len(explanation.colliding) == 2:
        first, second = explanation.colliding
        links = session.robot.tree.link_index
        if first in links and second in links:
            label = f'Let {quote(first)} and {quote(second)} touch'
            remedies.append(Remedy(label, now.with_pair(first, second)))
    if not now.orientation and explanation.cause != Cause.COLLISION:
        remedies.append(Remedy(FREE_ORIENTATION, replace(now, orientation=True)))
    return remedies
