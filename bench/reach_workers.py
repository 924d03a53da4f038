"""
Measure the gain of a second worker for a reach map: ``python bench/reach_workers.py --help``.

Makes the same map with one worker and with two. On an idle machine, the ratio of the wall times is the gain. On a busy
machine, the processor time shows the bottleneck: the units, the start of the workers, or the process that sends units
and schedules.
"""

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import resource
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ssik_ros.model.catalogue import arm_data, load_arm
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.engine import Progress, Workers
from ssik_ros.reach.grid import Grid, GridRegion
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.reach.store import MapPlan


class Run(NamedTuple):
    """One map made."""

    wall: float
    """From the call to the finished map [s]."""
    first: float
    """To the first report: start of the workers, and the first unit of each [s]."""
    here: float
    """Processor time of this process, the scheduler included [s]."""
    below: float
    """Processor time of the workers, their start included [s]."""
    units: float
    """Processor time of the units [s]."""
    memory: int
    """Largest of a worker [bytes]."""
    cells: int


def _processor(who: int) -> float:
    """Return the processor time of this process or of its children so far [s]."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def make(plan: MapPlan, folder: Path, workers: int) -> Run:
    """
    Make a map and return its times.

    :param plan, folder, workers: as for ``make_map``.
    """
    times: list[float] = []
    last = Progress(0, 0, 0.0, 0)

    def report(progress: Progress, units: int) -> None:
        nonlocal last
        last = progress
        times.append(time.perf_counter())

    begun = time.perf_counter()
    before = [_processor(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    make_map(plan, folder, Workers(workers), report)
    wall = time.perf_counter() - begun
    after = [_processor(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    here, below = after[0] - before[0], after[1] - before[1]
    first = times[0] - begun
    return Run(wall, first, here, below, last.processor, last.memory, last.cells)


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='One worker and two on the same reach map.')
    parser.add_argument('--robot', default='ur5e', help='of the catalogue (%(default)s)')
    parser.add_argument('--grid', type=float, default=0.015, help='[m] (%(default)s)')
    parser.add_argument('--orientations', type=int, default=256, help='(%(default)s)')
    parser.add_argument('--unit', type=int, default=65_536, help='cells of a unit (%(default)s)')
    parser.add_argument('--workers', type=int, nargs='+', default=[1, 2], help='(1 2)')
    options = parser.parse_args(arguments)
    data = arm_data(options.robot)
    chain = SerialChain.from_robot(load_arm(options.robot), data.base_link, data.tip_link)
    turns = spread_orientations(options.orientations)
    region = GridRegion.sphere((0.0, 0.0, 0.2), 1.0)
    plan = make_plan(chain, options.robot, Grid(region, options.grid, turns, options.unit))
    runs = []
    for count in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            run = make(plan, Path(folder) / 'map.zarr', count)
        runs.append(run)
        print(
            f'{count} workers: {run.cells:,} cells, wall {run.wall:.1f} s (first report {run.first:.1f} s), units '
            f'{run.units:.1f} s of processor time, workers {run.below:.1f} s, this process {run.here:.1f} s, '
            f'{run.memory / 1e6:.0f} MB a worker, load {os.getloadavg()[0]:.1f}',
            flush=True,
        )
    for count, run in zip(options.workers[1:], runs[1:], strict=True):
        whole, part = (each.wall - each.first for each in (runs[0], run))
        print(
            f'{count} against {options.workers[0]}: {runs[0].wall / run.wall:.2f} times, '
            f'{whole / part:.2f} times without the start; {run.units / run.wall:.2f} processors busy with units'
        )


if __name__ == '__main__':
    main()
