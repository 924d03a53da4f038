"""``ssik place``: find places for the bases of one arm or two, so that the arms reach the tasks of a file."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import print_table, progress_bar
from ssik_ros.errors import counted, short
from ssik_ros.reach.place import find_places, Placement, PlaceResult
from ssik_ros.reach.place_file import read_cell, WorkCell
from ssik_ros.reach.placement import COORDINATES, PlacedArm
from ssik_ros.value_class import dataclass

_WIDTH = 120
MOST_LINES = 20
"""Tasks that are explained one by one."""

EXAMPLES = (
    'ssik place cell.yaml',
    'ssik place cell.yaml --json',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument(
        'file', type=Path, metavar='FILE', help='YAML that names arms, places, tasks and boxes'
    )
    add_option(parser, '--json', 'print JSON')


@dataclass(frozen=True, eq=False, slots=True)
class _Choice:
    """One choice of robots, and the places that were found for their bases, the best first."""

    arms: tuple[PlacedArm, ...]
    result: PlaceResult

    @property
    def names(self) -> str:
        """Return the names of the robots, joined by "and"."""
        return ' and '.join(arm.robot.name for arm in self.arms)

    @property
    def rank(self) -> tuple[float, float]:
        """
        Return (weight of the reached tasks, value of the objective) of the best placement, the key for sorting choices.

        A value that is NaN counts as -1.
        """
        best = self.result.placements[0]
        return best.weight, -1.0 if math.isnan(best.value) else best.value


def run(arguments: argparse.Namespace) -> int:
    """
    Find places and print them, the best choice of robots first; return 0 if its best place reaches all tasks, else 1.

    :param arguments: the parsed arguments.
    :raises SsikError: when the file, a robot or a setting is wrong.
    """
    cell = read_cell(arguments.file)
    with progress_bar(_WIDTH, quiet=arguments.json) as show:
        choices = [
            _Choice(arms, find_places(arms, cell.tasks, cell.settings, show))
            for arms in cell.choices()
        ]
    choices.sort(key=lambda choice: choice.rank, reverse=True)
    if arguments.json:
        print(json.dumps([as_mapping(choice.arms, choice.result) for choice in choices], indent=2))
    else:
        _print(cell, choices)
    return 0 if choices[0].result.reaches_all else 1


def as_mapping(arms: tuple[PlacedArm, ...], result: PlaceResult) -> dict[str, Any]:
    """
    Return a result as a mapping for JSON; numbers that are not finite are null.

    :param arms: the robots.
    :param result: their places.
    """
    return {
        'robots': [arm.robot.name for arm in arms],
        'reaches_all': result.reaches_all,
        'places': [_placement_mapping(placement) for placement in result.placements],
        'tried': result.tried,
        'hopeless': list(result.hopeless),
        'conflicts': [list(pair) for pair in result.conflicts],
        'notes': list(result.notes),
    }


def _placement_mapping(placement: Placement) -> dict[str, Any]:
    """Return a placement as a mapping for JSON: angles of bases in degrees, joint values in rad or m."""
    return {
        'bases': [dict(zip(COORDINATES, row, strict=True)) for row in _in_degrees(placement)],
        'weight': placement.weight,
        'value': placement.value if math.isfinite(placement.value) else None,
        'tasks': [
            {
                'reached': task.reached,
                'arm': task.arm if task.reached else None,
                'q': None if task.q is None else task.q.tolist(),
                'value': task.value if math.isfinite(task.value) else None,
                'reason': task.reason,
            }
            for task in placement.tasks
        ],
    }


def _in_degrees(placement: Placement) -> list[list[float]]:
    """Return the coordinates (x, y, z, roll, pitch, yaw) of each base [m, degrees]."""
    rows = placement.coordinates.copy()
    rows[:, 3:] = np.degrees(rows[:, 3:])
    in_degrees: list[list[float]] = rows.tolist()
    return in_degrees


def _print(cell: WorkCell, choices: list[_Choice]) -> None:
    """Print a table of the robots, the places of the best choice, and why tasks fail there."""
    best, count = choices[0], len(cell.tasks.poses)
    if len(choices) > 1:
        rows = [
            (each.names, f'{each.result.placements[0].reached} of {count}', short(each.rank[1]))
            for each in choices
        ]
        print_table(('robots', 'tasks', f'worst {cell.settings.objective}'), rows, _WIDTH)
    result = best.result
    word = 'every task' if result.reaches_all else 'the most'
    print(f"'{cell.name}': places of {best.names} that reach {word}, {result.tried} tried.")
    columns = ('base', *COORDINATES[:3], *(f'{name} [deg]' for name in COORDINATES[3:]))
    lines: list[tuple[str, ...]] = [
        (
            arm.robot.name,
            *map(short, row),
            f'{placement.reached} of {count}',
            short(placement.value),
        )
        for placement in result.placements
        for arm, row in zip(best.arms, _in_degrees(placement), strict=True)
    ]
    print_table((*columns, 'tasks', f'worst {cell.settings.objective}'), lines, _WIDTH)
    _print_reasons(result)


def _print_reasons(result: PlaceResult) -> None:
    """
    Print why tasks fail at the best place, and which tasks, or pairs of tasks, no place that was tried reaches.

    At most ``MOST_LINES`` of each are printed. The notes of the result follow.
    """
    failed = [
        (number, task)
        for number, task in enumerate(result.placements[0].tasks)
        if not task.reached
    ]
    for number, task in failed[:MOST_LINES]:
        print(f'Task {number} fails at the best place: {task.reason}.')
    if len(failed) > MOST_LINES:
        print(f'{counted(len(failed) - MOST_LINES, "more task")} fail there.')
    if result.hopeless:
        numbers = ', '.join(map(str, result.hopeless[:MOST_LINES]))
        print(f'No place that was tried reaches task {numbers}, even alone and without obstacles.')
    for a, b in result.conflicts[:MOST_LINES]:
        print(f'No place that was tried reaches tasks {a} and {b} together.')
    for note in result.notes:
        print(note)
