"""The table that a node logs when its groups are ready: one line for each group with its solver and warm-up time."""

from collections.abc import Sequence

from ssik_ros.errors import list_names
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.robot_server import RobotServer

HEAD = ('group', 'solver', 'base -> tips', 'joints', 'timeout [s]', 'warm-up [s]', 'why')


def make_start_table(server: RobotServer) -> str:
    """
    Return a table with a line for each group as text: solver, links, joints, time-out, warm-up time and reason.

    :param server: a server that has been warmed up.
    """
    rows = [HEAD, *(_row(group) for group in server.groups.values())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD) - 1)]
    return '\n'.join(_line(row, widths) for row in rows)


def _row(server: GroupServer) -> Sequence[str]:
    group = server.group
    return (
        group.name,
        'none' if server.solver is None else server.kinematics.solver,
        f'{group.base_link} -> {list_names(group.tips) or "none"}',
        str(group.variable_count),
        f'{server.kinematics.timeout:g}',
        f'{server.warm_up_seconds:.2f}',
        server.reason,
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells of a row padded to widths, as one line; the last cell is not padded."""
    cells = [cell.ljust(width) for cell, width in zip(row, widths)]
    return '  '.join((*cells, row[-1])).rstrip()
