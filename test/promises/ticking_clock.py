"""
Run searches against a clock that ticks once a reading, and print how far each went: run as a program by a test.

The pose to fail at comes as JSON on the standard input. Kernels run as plain Python here, so that their clock can be
replaced. One reading is one tick is one nanosecond.
"""

import itertools
import json
import os
import sys

os.environ['NUMBA_DISABLE_JIT'] = '1'

from test.promises.shipped_arms import load_arm

import numpy as np

from ssik_ros.kernels.search import clock
from ssik_ros.problem.contract import SolveRequest

TICKS = (1, 2, 3, 5, 8, 40)
NANOSECOND = 1e-9
SECOND = 1_000_000_000


def run(mode: str, ticks: int, target: np.ndarray, seed: np.ndarray) -> dict[str, object]:
    """
    Return the figures of a search that had a number of ticks.

    :param mode: ``solve_mode``.
    :param ticks: its timeout.
    :param target: (4, 4).
    :param seed: (n,).
    """
    readings = itertools.count(17 * SECOND - 3)
    read = 0

    def tick(scratch: np.ndarray) -> int:
        nonlocal read
        read += 1
        return next(readings)

    clock.monotonic_ns = tick
    solver = load_arm('panda').solver_with(solve_mode=mode)
    request = SolveRequest(targets=target, seed=seed, timeout=ticks * NANOSECOND)
    result = solver.solve(request)
    return {
        'mode': mode,
        'ticks': ticks,
        'iterations': result.iterations,
        'readings': read,
        'clock_ended': result.clock_ended,
        'cause': result.cause.name,
    }


def main() -> None:
    """Print one JSON list."""
    arm = load_arm('panda')
    (reachable, seed), *_ = arm.reachable(1, seed=31)
    blocked = np.array(json.load(sys.stdin))
    runs = [run('first_found', ticks, blocked, seed) for ticks in (*TICKS, 400)]
    runs += [run('optimize_distance', ticks, reachable, seed) for ticks in (*TICKS, 400)]
    print(json.dumps(runs))


if __name__ == '__main__':
    main()
