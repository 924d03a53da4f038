"""
Measure all branches of many poses in one call: ``python bench/many_poses.py --help``.

``Manipulator.solve_batch`` gets limits and a seed for each pose, and runs on one thread and on several. It is compared
with eaik's ``IK_batched`` (no limits, no seed) if eaik is installed. Results go to ``bench_output/many_poses.json``.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import functools
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import goals, pinning, program
from bench.arms import Arm
from bench.cases import draw_cases
from bench.catalogue_arms import make_arm, MEASURED
from bench.peers import eaik_closed_form, NotComparable
from bench.tables import table_of
from ssik_ros.benchmark.harness import timed_call
from ssik_ros.manipulator.manipulator import Manipulator

ARMS = ('ur5e', 'irb6700')
"""Closed forms of six joints, one of each class."""
OWN = 'solve_batch'
COLUMNS = {
    'arm': '{arm}',
    'call': '{call}',
    'threads': '{threads}',
    'wall us': '{spent.wall:.2f}',
    'median': '{spent.median:.2f}',
    'cpu us': '{spent.cpu:.2f}',
    'solutions': '{solutions:.2f}',
    'as single': '{same}',
}


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
    """Whether single calls give the same bytes; None if there were no single calls."""


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
    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    cases, rows = draw_cases(arm, options.poses), []
    poses = cases.targets
    for threads in sorted({1, options.threads}):
        call = functools.partial(manipulator.solve_batch, poses, cases.seeds, threads=threads)
        batch, spent = times(call, len(poses), options.passes)
        alone = (manipulator.solve_q(pose, seed) for pose, seed in cases.pairs())
        same = all(a.tobytes() == b.tobytes() for a, b in zip(batch, alone, strict=True))
        mean = float(batch.counts.mean())
        rows.append(Row(name, OWN, threads, spent, mean, same))
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


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    numbers = {'poses': 10_000, 'threads': 2, 'passes': 15}
    parser = program.make_parser(__doc__, MEASURED, ARMS, is_pinned=False, **numbers)
    options = parser.parse_args(arguments)
    run = program.Run('many_poses', options, (eaik_closed_form.PEER,))
    rows = [row for name in options.arms for row in measure(name, options)]
    run.show(table_of(COLUMNS, rows))
    goals.finish(run, poses=options.poses, rows=rows)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
