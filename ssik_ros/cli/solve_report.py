"""The result of a solver with errors by independent forward kinematics, as a table or as JSON."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.cli.tip_poses import TipPoses
from ssik_ros.errors import short
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.contract import IkSolver
from ssik_ros.results import IkResult
from ssik_ros.value_class import dataclass

_GAP = 2
"""Spaces between columns."""
_FOOTER = {
    'position_error': 'position error [m]',
    'orientation_error': 'orientation error [rad]',
    'limit_margin': 'margin to limits',
}


@dataclass(frozen=True, slots=True)
class SolveReport:
    """The result of a solve, with its solver, its targets, and the forward kinematics that gives the errors."""

    solver: IkSolver
    """The solver of the request."""
    oracle: TipPoses
    """Independent forward kinematics of the group."""
    targets: FloatArray
    """(t, 4, 4) target poses of the tips in the base frame."""
    result: IkResult
    """Result of the solve."""
    vectors: tuple[FloatArray, ...]
    """The solutions in the group's joint order; else the nearest state of the search. Empty if nothing was searched."""
    elapsed_ms: float
    """Time of the solve [ms]."""
    reason: str = ''
    """Why this solver was chosen."""

    @property
    def group(self) -> JointGroup:
        return self.oracle.group


def as_mapping(report: SolveReport) -> dict[str, Any]:
    """
    Return a report as a mapping for JSON.

    ``solutions`` is empty after a failure; ``nearest`` then is the nearest state of the search, or null.

    :param report: the report.
    """
    result, solver = report.result, report.solver
    shown = [_solution(report, q) for q in report.vectors]
    return {
        'robot': report.oracle.robot.name,
        'group': report.group.name,
        'solver': solver.name,
        'reason': report.reason,
        'base_frame': solver.base_frame,
        'tip_frames': list(solver.tip_frames),
        'variables': list(report.group.variable_names),
        'status': result.status.name,
        'cause': result.cause.name,
        'summary': result.summary(),
        'solutions': shown if result.solved else [],
        'nearest': None if result.solved or not shown else shown[0],
        'iterations': result.iterations,
        'searches': result.searches,
        'clock_ended': result.clock_ended,
        'solve_time_ms': report.elapsed_ms,
    }


def _solution(report: SolveReport, q: FloatArray) -> dict[str, Any]:
    """Return a joint vector (n,) for JSON, with its errors by independent FK and its margin to the limits."""
    distances, angles = report.oracle.errors(q, report.targets)
    margin = _limit_margin(report.group, q)
    return {
        'positions': q.tolist(),
        'position_error': float(distances.max()),
        'orientation_error': float(angles.max()),
        'limit_margin': margin if np.isfinite(margin) else None,
    }


def _limit_margin(group: JointGroup, q: FloatArray) -> float:
    """Return the smallest distance of a joint vector (n,) to a limit [rad or m]: negative outside, inf without limits."""
    return float(np.minimum(q - group.lower, group.upper - q).min())


def print_report(report: SolveReport) -> None:
    """
    Print a report as a table: a row per joint, a column per solution.

    After a failure, the only column is the nearest state of the search, if something was searched.

    :param report: the report.
    """
    result, group = report.result, report.group
    tips = ', '.join(report.solver.tip_frames)
    print(f'{report.solver.name}: {group.name}, {report.solver.base_frame} -> {tips}\n')
    titles = [f'#{i + 1}' if result.solved else 'nearest' for i in range(len(report.vectors))]
    rows = [['joint [rad or m]', 'lower', 'upper', *titles]]
    for i, name in enumerate(group.variable_names):
        values = (group.lower[i], group.upper[i], *(q[i] for q in report.vectors))
        rows.append([name, *map(short, values)])
    shown = [_solution(report, q) for q in report.vectors]
    footer = [
        [title, '', '', *(_footer_cell(one[key]) for one in shown)]
        for key, title in _FOOTER.items()
        if shown
    ]
    widths = [max(map(len, column)) for column in zip(*rows, *footer, strict=True)]
    lines = [_line(row, widths) for row in (*rows, *footer)]
    rule = ' ' + '\u2500' * (sum(widths) + _GAP * (len(widths) - 1))
    body, end = lines[1 : len(rows)], lines[len(rows) :]
    print('\n'.join([lines[0], rule, *body, '', *([*end, ''] if end else [])]))
    print(f'{result.summary()} {report.elapsed_ms:.3g} ms.')


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row of the table as text: the name left-aligned, all other cells right-aligned."""
    numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return ' ' + (' ' * _GAP).join((row[0].ljust(widths[0]), *numbers)).rstrip()


def _footer_cell(value: float | None) -> str:
    return 'no limits' if value is None else f'{value:.3g}'
