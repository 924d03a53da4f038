"""
Measure all branches of many poses in one call: ``python bench/many_poses.py --help``.

``Manipulator.solve_batch`` gets limits and a seed for each pose, and runs on one thread and on several. It is compared
with eaik's ``IK_batched`` (no limits, no seed) if eaik is installed. Results go to ``bench_output/many_poses.json``.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
import functools
import os
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import conditions, pinning, program, report
from bench.arms import Arm
from bench.catalogue_arms import GOALS, make_arm
from bench.peers import eaik_closed_form, NotComparable
from ssik_ros.benchmark.harness import timed_call
from ssik_ros.manipulator.manipulator import Manipulator

ARMS = ('ur5e', 'irb6700')
"""Closed forms of six joints, one of each class."""
GOAL_HERE, GOAL_DESIGN = 1.5, 1.0
"""Longest allowed time of a pose on two threads [us]."""
HEADER = (
    *(
        'arm',
        'call',
        'threads',
        'wall us',
        'median',
        'cpu us',
        'solutions',
        'as single',
        'goal here',
        'design',
    ),
)


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of one pose in a call for many poses [us]."""

    wall: float
    """In the fastest pass."""
    median: float
    """In the median pass, also by the wall clock."""
    cpu: float
    """Processor time of all threads together, in the pass with the least."""


@dataclass(frozen=True, slots=True)
class Row:
    """One call on one arm, per pose."""

    arm: str
    call: str
    threads: int
    spent: Spent
    solutions: float
    """Mean number."""
    same: bool | None
    """Whether single calls give the same bytes; None without single calls."""


def draw(arm: Arm, count: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return random reachable poses (m, 4, 4) and seeds (m, n), within limits.

    :param arm: the arm.
    :param count: how many.
    """
    rng, (lower, upper) = np.random.default_rng(11), arm.sampling_bounds()
    q, seeds = (rng.uniform(lower, upper, (count, len(lower))) for _ in range(2))
    return np.ascontiguousarray(arm.fk(q)), seeds


def times(call: Callable[[], Any], poses: int, passes: int) -> tuple[Any, Spent]:
    """
    Return the result of a call and its time for each pose.

    :param call: the call to time.
    :param poses: number of poses that it solves.
    :param passes: number of timed calls.
    """
    solution = call()
    spent = np.array([timed_call(call)[1:] for _ in range(passes)]) / (1e3 * poses)
    wall, cpu = spent.T
    return solution, Spent(float(wall.min()), float(np.median(wall)), float(cpu.min()))


def measure(name: str, options: argparse.Namespace) -> list[Row]:
    """
    Return the rows of an arm.

    :param name: one of :data:`ARMS`.
    :param options: poses, threads, passes and output.
    """
    arm = make_arm(name, options.output / 'urdf')
    own = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    poses, seeds = draw(arm, options.poses)
    rows = []
    for threads in sorted({1, options.threads}):
        call = functools.partial(own.solve_batch, poses, seeds, threads=threads)
        batch, spent = times(call, len(poses), options.passes)
        alone = (own.solve_q(pose, seed) for pose, seed in zip(poses, seeds, strict=True))
        same = all(a.tobytes() == b.tobytes() for a, b in zip(batch, alone, strict=True))
        mean = float(batch.counts.mean())
        rows.append(Row(name, 'solve_batch', threads, spent, mean, same))
    return rows + measure_eaik(arm, poses, options)


def measure_eaik(arm: Arm, poses: np.ndarray, options: argparse.Namespace) -> list[Row]:
    """
    Return eaik's rows; empty if eaik is not installed or does not support the arm.

    :param arm: the arm.
    :param poses: (m, 4, 4) of its tip.
    :param options: threads and passes.
    """
    if not eaik_closed_form.PEER.available():
        return []
    try:
        robot, rotation = eaik_closed_form.make_robot(arm)
    except NotComparable:
        return []
    targets, rows = np.ascontiguousarray(poses @ rotation), []
    for threads in sorted({1, options.threads}):
        call = functools.partial(robot.IK_batched, targets, threads)
        solutions, spent = times(call, len(poses), min(3, options.passes))
        mean = float(np.mean([(~np.array(a.is_LS, dtype=bool)).sum() for a in solutions[:500]]))
        rows.append(Row(arm.name, 'eaik IK_batched', threads, spent, mean, None))
    return rows


def cells(row: Row, threads: int) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`; the goals are for the call with most threads.

    :param row: the row.
    :param threads: most threads that were used.
    """
    is_goal = row.call == 'solve_batch' and row.threads == threads
    same = {None: '-', True: 'yes', False: 'NO'}[row.same]
    goals = [
        f'{goal:g} ' + ('reached' if row.spent.wall <= goal else 'MISSED') if is_goal else '-'
        for goal in (GOAL_HERE, GOAL_DESIGN)
    ]
    spent = row.spent.wall, row.spent.median, row.spent.cpu, row.solutions
    figures = (f'{value:.2f}' for value in spent)
    return [row.arm, row.call, str(row.threads), *figures, same, *goals]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--arms', nargs='+', choices=GOALS, default=list(ARMS))
    parser.add_argument('--poses', type=int, default=10_000, help='(%(default)s)')
    parser.add_argument('--threads', type=int, default=2, help='most threads (%(default)s)')
    parser.add_argument('--passes', type=int, default=15, help='passes (%(default)s)')
    parser.add_argument('--output', type=Path, default=program.OUTPUT)
    options = parser.parse_args(arguments)
    around = conditions.describe(None, (eaik_closed_form.PEER,))
    print(conditions.as_text(around), flush=True)
    rows = [row for name in options.arms for row in measure(name, options)]
    around['load_average_after'] = [round(value, 2) for value in os.getloadavg()]
    print(f'load afterwards {around["load_average_after"]}\n')
    print(report.table(HEADER, [cells(row, options.threads) for row in rows]))
    content = {'conditions': around, 'poses': options.poses, 'rows': [asdict(row) for row in rows]}
    report.write_json(options.output / 'many_poses.json', content)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
