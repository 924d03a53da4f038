"""The overhead of reading the clocks, and the speed of the machine."""

from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns

import numpy as np

from ssik_ros.benchmark.harness import timed_call

CALIBRATION_SUMS = 500
"""Running sums of a thousand numbers: half a million additions, each of which waits for the one before."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Time that the clocks show for an empty measurement [ns]."""

    wall: int
    cpu: int


def measure_overhead(repeats: int = 2001) -> Overhead:
    """
    Return the time that the clocks show between two readings in a row.

    :param repeats: readings, of which the median counts.
    """
    walls, cpus = np.empty(repeats), np.empty(repeats)
    for index in range(repeats):
        cpu = process_time_ns()
        wall = perf_counter_ns()
        walls[index] = perf_counter_ns() - wall
        cpus[index] = process_time_ns() - cpu
    return Overhead(int(np.median(walls)), int(np.median(cpus)))


_NUMBERS = np.linspace(0.0, 1.0, 1000)
_SUMS = np.empty_like(_NUMBERS)


def _add_up() -> None:
    for _ in range(CALIBRATION_SUMS):
        np.add.accumulate(_NUMBERS, 0, None, _SUMS)


def calibrate(repeats: int = 7) -> float:
    """
    Return how long a fixed piece of arithmetic takes [ms], to compare machines and moments.

    :param repeats: of which the best counts.
    """
    return min(timed_call(_add_up)[2] for _ in range(repeats)) * 1e-6
