"""
Measure a mechanism with loops, frame by frame: ``python bench/closed_chain.py --help``.

The hexapod that comes along (48 degrees of freedom, 36 rows of closures, 6 of the goal): its platform goes round a circle
in steps of 1.3 mm, one solve a frame. Results go to ``bench_output/closed_chain.json``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
import math
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import conditions
from bench import pinning
from bench import program
from bench import report
from bench.clocks import measure_overhead
from bench.clocks import timed_call
from bench.measure import no_garbage_collection
from ssik_ros.closed_chain import Goal
from ssik_ros.closed_chain import load_mechanism
from ssik_ros.closed_chain import Solver

MECHANISM = 'hexapod'
PLATFORM = 'platform'
GOAL_US = 90.0
PEER_US = 900.0
"""closed-chain-ik-js 0.0.6 with node 20, a hexapod built alike, on another machine: it is JavaScript, and not asked here."""
RADIUS, STEP = 0.012, 0.0013
WARM_UP = 50
HEADER = ('mechanism', 'frames', 'median us', 'mean', 'p95', 'p99', 'wall median', 'converged %')


@dataclass(frozen=True, slots=True)
class Row:
    """One run of frames."""

    mechanism: str
    frames: int
    converged: float
    """Frames whose loops and goal were met [%]."""
    worst_goal: float
    """Largest distance of the platform from where it was to be [m]."""
    cpu: report.Times
    wall: report.Times


def run(frames: int) -> Row:
    """
    Return what the frames cost.

    :param frames: how many.
    """
    robot = load_mechanism(MECHANISM)
    platform = robot.links[PLATFORM]
    centre = np.array(platform.matrix_world)[:3, 3]
    goal = Goal('goal')
    goal.set_position(*centre)
    goal.make_closure(platform)
    solver = Solver([robot.root])
    overhead = measure_overhead()
    wall, cpu = np.empty(frames), np.empty(frames)
    converged, worst = 0, 0.0
    with no_garbage_collection():
        for k in range(-WARM_UP, frames):
            angle = (k + WARM_UP) * STEP / RADIUS
            circle = np.array([math.cos(angle), math.sin(angle), 0.0])
            wanted = centre + RADIUS * circle
            goal.set_position(*wanted)
            results, spent_wall, spent_cpu = timed_call(solver.solve)
            if k < 0:
                continue
            wall[k] = (spent_wall - overhead.wall) * 1e-3
            cpu[k] = (spent_cpu - overhead.cpu) * 1e-3
            converged += all(result.status.name == 'CONVERGED' for result in results)
            reached = np.array(platform.matrix_world)[:3, 3]
            worst = max(worst, float(np.linalg.norm(reached - wanted)))
    times = (report.times_of(values[None])[0] for values in (cpu, wall))
    return Row(MECHANISM, frames, 100.0 * converged / frames, worst, *times)


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means those of the process.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--frames', type=int, default=1000, help='(%(default)s)')
    program.add_common_options(parser)
    options = parser.parse_args(arguments)
    around = conditions.describe(pinning.pin(options.cpu), ())
    row = run(options.frames)
    times = (row.cpu.median, row.cpu.mean, row.cpu.p95, row.cpu.p99, row.wall.median)
    figures = [f'{value:.1f}' for value in times]
    line = [row.mechanism, str(row.frames), *figures, f'{row.converged:.1f}']
    print(f'{conditions.as_text(around)}\n\n{report.table(HEADER, [line])}')
    content = {'conditions': around, 'rows': [asdict(row)], 'goal_us': GOAL_US, 'peer_us': PEER_US}
    report.write_json(options.output / 'closed_chain.json', content)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
