"""Remedies for a pose without a solution: relaxations that a user can try."""

from dataclasses import replace
from typing import NamedTuple

from ssik_ros.errors import quote
from ssik_ros.results import Cause
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.session import Session


class Remedy(NamedTuple):
    """One relaxation more."""

    label: str
    relaxations: Relaxations


def find_remedies(session: Session) -> list[Remedy]:
    """
    Return relaxations that might help; none is certain to suffice.

    :param session: after :meth:`Session.complete`.
    """
    known, now = session.explanation, session.relaxations
    if session.outcome.solved or known is None:
        return []
    found = [
        Remedy(f'Release the limit of {limit.joint}', now.with_limit(limit.joint))
        for limit in known.limits
        if limit.joint not in now.limits
    ]
    if known.cause == Cause.COLLISION and len(known.colliding) == 2:
        first, second = known.colliding
        links = session.robot.tree.link_index
        if first in links and second in links:
            label = f'Let {quote(first)} and {quote(second)} touch'
            found.append(Remedy(label, now.with_pair(first, second)))
    if not now.orientation and known.cause != Cause.COLLISION:
        found.append(Remedy('Leave the orientation free', replace(now, orientation=True)))
    return found
