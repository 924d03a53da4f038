"""
Count the poses found with the settings of the toolbox: ``python bench/toolbox_settings.py --help``.

Compares the calls of the toolbox with ours on the same poses of the panda: all searches from a random posture, and one
search from the random and from the ready posture. Fails if a row of ours finds fewer poses than the toolbox.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
import sys
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.arms import Arm, read_arm
from bench.cases import Cases, draw_cases
from bench.peers.roboticstoolbox import make_chain
from ssik_ros.manipulator.manipulator import Manipulator

READY = np.array([0.0, -np.pi / 4, 0.0, -3.0 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(('ik_NR', {'pinv': True, 'pinv_damping': damping}) for damping in (0.0, 0.01, 0.1)),
    *(('ik_GN', {'pinv': True, 'pinv_damping': damping}) for damping in (0.0, 0.1)),
    *(('ik_LM', {'method': 'chan', 'k': k}) for k in (1.0, 0.1, 0.01)),
    *(('ik_LM', {'method': 'wampler', 'k': k}) for k in (1.0, 0.1, 0.01, 1e-4)),
    *(('ik_LM', {'method': 'sugihara', 'k': k}) for k in (1.0, 0.1, 0.01, 1e-4)),
)
"""Calls and their arguments."""
STARTS = (('random', 100), ('ready', 1), ('random', 1))
"""Where a call begins, and how many searches it may make."""
HEADER = ('call', 'arguments', 'start', 'searches', 'toolbox', 'ours', '')


class Row(NamedTuple):
    """One setting from one start."""

    call: str
    arguments: dict[str, Any]
    start: str
    searches: int


def rows() -> list[Row]:
    """Return all rows of the table."""
    return [
        Row(call, arguments, start, searches)
        for call, arguments in SETTINGS
        for start, searches in STARTS
    ]


def count_found(ask: Callable[..., Any], row: Row, cases: Cases) -> int:
    """
    Return how many poses a call finds.

    :param ask: the toolbox's method, or ours.
    :param row: its arguments.
    :param cases: the poses.
    """
    found = 0
    for target, seed in zip(cases.targets, cases.seeds, strict=True):
        start = READY if row.start == 'ready' else seed
        solution = ask(target, q0=start, slimit=row.searches, joint_limits=True, **row.arguments)
        found += int(solution.success)
    return found


def ours(arm: Arm) -> Manipulator:
    """
    Return an arm as users of ours make it.

    :param arm: the arm.
    """
    return Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)


def poses(arm: Arm, count: int) -> Cases:
    """
    Return the poses of the class ``first_found_1e-3``.

    :param arm: the arm.
    :param count: how many.
    """
    return draw_cases(arm, count)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print the table; return 1 when a row of ours is below the toolbox's.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Compare what the settings of the toolbox find.')
    parser.add_argument('--samples', type=int, default=1000, help='poses (%(default)s)')
    options = parser.parse_args(arguments)
    arm = read_arm('panda')
    cases, chain, own = poses(arm, options.samples), make_chain(arm), ours(arm)
    table, behind = [], 0
    for row in rows():
        theirs = count_found(getattr(chain, row.call), row, cases)
        mine = count_found(getattr(own, row.call), row, cases)
        behind += mine < theirs
        said = ', '.join(f'{name}={value}' for name, value in row.arguments.items())
        numbers = (str(row.searches), str(theirs), str(mine))
        table.append((row.call, said, row.start, *numbers, 'fewer' if mine < theirs else ''))
    print(report.table(HEADER, table))
    return int(behind > 0)


if __name__ == '__main__':
    sys.exit(main())
