"""Time all peers on the same cases, their calls interleaved pose by pose."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.arms import FloatArray
from bench.cases import Cases
from bench.clocks import measure_overhead
from bench.peers import Prepared
from ssik_ros.benchmark.harness import no_garbage_collection, timed_call

WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that was seen of one peer: one row per repeat, one column per case."""

    wall: FloatArray
    """(r, k) [us]"""
    cpu: FloatArray
    """(r, k) [us]"""
    solutions: tuple[tuple[FloatArray | None, ...], ...]
    """r rows of k joint vectors or None."""

    def joined(self, other: 'Measurement') -> 'Measurement':
        """Return the passes of two measurements of the same cases as one."""
        return Measurement(
            np.vstack([self.wall, other.wall]),
            np.vstack([self.cpu, other.cpu]),
            self.solutions + other.solutions,
        )


def measure(
    prepared: Mapping[str, Prepared], cases: Cases, repeats: int
) -> dict[str, Measurement]:
    """
    Return the times and solutions of every peer.

    :param prepared: the peers by name; the first of them alternates from pose to pose.
    :param cases: goals and seeds.
    :param repeats: passes over all cases.
    """
    names, count = list(prepared), len(cases.q)
    targets = {name: [prepared[name].convert(t) for t in cases.targets] for name in names}
    for name in names:
        for index in range(min(WARM_UP, count)):
            prepared[name].solve(targets[name][index], cases.seeds[index].copy())
    spent = {name: np.empty((2, repeats, count)) for name in names}
    solutions = {name: [[None] * count for _ in range(repeats)] for name in names}
    overhead = measure_overhead()
    with no_garbage_collection():
        for repeat in range(repeats):
            for index, seed in enumerate(cases.seeds):
                order = names if (index + repeat) % 2 == 0 else names[::-1]
                for name in order:
                    solution, wall, cpu = timed_call(
                        prepared[name].solve, targets[name][index], seed
                    )
                    spent[name][:, repeat, index] = wall - overhead.wall, cpu - overhead.cpu
                    solutions[name][repeat][index] = solution
    return {
        name: Measurement(*(1e-3 * spent[name]), tuple(map(tuple, solutions[name])))
        for name in names
    }
