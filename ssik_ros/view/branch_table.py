"""
The branches of a pose as rows of a table: distance from the shown posture, distance to the limits, manipulability.

:func:`list_branches` makes a :class:`BranchRow` for each; other functions return titles and texts of the columns.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.server.requests.ik_requests import Branch
from ssik_ros.view.limit_room import in_unit, short, smallest_room
from ssik_ros.view.sessions.session import HELD, Session


class BranchRow(NamedTuple):
    """A row of the table: the shown posture, or a branch, which is another posture that reaches the target."""

    rank: int
    """
    Number of the branch, from 1 on, and of its ghost, the transparent robot that shows it; 0 for the shown posture.
    """
    signs: str
    """Label of the branch; empty for the shown posture."""
    held: str
    """Position of the joint that the solver holds, as text; empty if the solver holds no joint."""
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
    return [first, *sort_rows(session.branches, session.manipulability, order)]


def sort_rows(
    branches: Sequence[Branch], measure: Callable[[FloatArray], float], order: str
) -> list[BranchRow]:
    """
    Return a row for each branch, sorted by ``order``.

    :param branches: the branches, in the order of their ghosts.
    :param measure: returns the manipulability of a posture (n,).
    :param order: ``distance`` (nearest to the shown posture first), ``room to limits`` (farthest from joint limits
        first) or ``manipulability`` (largest first).
    """
    rows = []
    for rank, branch in enumerate(branches, 1):
        signs, _, held = branch.label.partition(HELD)
        windings = tuple(branch.windings) if any(branch.windings) else ()
        figures = branch.distance, branch.limit_margin, measure(branch.positions)
        rows.append(BranchRow(rank, signs, held, windings, *figures))
    return sorted(rows, key=KEYS[order])


def column_titles(unit: str) -> tuple[str, ...]:
    """
    Return the titles of the columns: rank, name, distance, room to limits, manipulability.

    :param unit: of distances: ``rad``, ``deg``, ``m`` or ``rad or m``.
    """
    return ('', 'branch', f'distance [{unit}]', f'to limit [{unit}]', 'manipulability')


def name_of(row: BranchRow) -> str:
    """
    Return the name of a branch in the table: its label, its windings, and the value of the joint that the solver fixed.

    :param row: its row.
    """
    windings = f'winding {" ".join(map(str, row.windings))}' if row.windings else ''
    return ', '.join(filter(None, (row.signs, windings, row.held)))


def write_numbers(row: BranchRow, unit: str) -> list[str]:
    """
    Return distance, room to limits and manipulability as texts.

    :param row: the row.
    :param unit: of distances: ``rad``, ``deg``, ``m`` or ``rad or m``.
    """
    numbers = (in_unit(row.distance, unit), in_unit(row.room, unit), row.manipulability)
    return [short(number) for number in numbers]
