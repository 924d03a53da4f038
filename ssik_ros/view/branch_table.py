"""The branches of a pose as rows of a table: distance from the shown posture, distance to the limits, manipulability."""

from collections.abc import Callable
from typing import NamedTuple

from ssik_ros.view.limit_room import smallest_room
from ssik_ros.view.session import HELD, Session


class BranchRow(NamedTuple):
    """A row of the table: the shown posture, or a branch, which is another posture that reaches the target."""

    rank: int
    """Number of its ghost, from 1 on; 0 for the shown posture."""
    signs: str
    """Label of the branch; empty for the shown posture."""
    held: str
    """Position of the joint that the solver holds; empty if the arm has no redundant joint."""
    windings: tuple[int, ...]
    """Winding of each variable; empty if no joint is wound."""
    distance: float
    """From the shown posture [rad or m]."""
    room: float
    """Smallest distance of a joint from a limit [rad or m]."""
    manipulability: float
    """Product of the singular values of the Jacobian; NaN for several tips."""


KEYS: dict[str, Callable[[BranchRow], float]] = {
    'distance': lambda row: row.distance,
    'room to limits': lambda row: -row.room,
    'manipulability': lambda row: -row.manipulability,
}
"""The value by which rows are sorted, smallest first, by the name of the order."""


def list_branches(session: Session, order: str = 'distance') -> list[BranchRow]:
    """
    Return a row for the shown posture, followed by a row for each other branch, sorted by ``order``.

    :param session: after :meth:`Session.complete`, which finds the branches.
    :param order: ``distance`` (nearest to the shown posture first), ``room to limits`` (farthest from joint limits
        first) or ``manipulability`` (largest first).
    """
    here = session.joints
    room = smallest_room(here, session.lower, session.upper)
    first = BranchRow(0, '', '', (), 0.0, room, session.manipulability(here))
    rows = []
    for rank, branch in enumerate(session.branches, 1):
        signs, _, held = branch.label.partition(HELD)
        windings = tuple(branch.windings) if any(branch.windings) else ()
        measure = session.manipulability(branch.positions)
        rows.append(
            BranchRow(rank, signs, held, windings, branch.distance, branch.limit_margin, measure)
        )
    return [first, *sorted(rows, key=KEYS[order])]
