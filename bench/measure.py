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


def measure(
    prepared: Mapping[str, Prepared], cases: Cases, repeats: int
) -> dict[str, Measurement]:
    """
    Return the times and solutions of every peer.

    :param prepared: the peers by name; the first of them alternates from pose to pose.
    :param cases: goals and seeds.
    :param repeats: passes over all cases.
    """
    names = list(prepared)
    targets = {name: [prepared[name].convert(t) for t in cases.targets] for name in names}
    for name in names:
        for index in range(min(WARM_UP, len(cases.q))):
            prepared[name].solve(targets[name][index], cases.seeds[index].copy())
    shape = (repeats, len(cases.q))
    wall = {name: np.empty(shape) for name in names}
    cpu = {name: np.empty(shape) for name in names}
    solutions: dict[str, list[list[FloatArray | None]]] = {name: [] for name in names}
    overhead = measure_overhead()
    with no_garbage_collection():
        for repeat in range(repeats):
            for name in names:
                solutions[name].append([])
            for index, seed in enumerate(cases.seeds):
                order = names if (index + repeat) % 2 == 0 else names[::-1]
                for name in order:
                    solution, spent_wall, spent_cpu = timed_call(
                        prepared[name].solve, targets[name][index], seed
                    )
                    wall[name][repeat, index] = (spent_wall - overhead.wall) * 1e-3
                    cpu[name][repeat, index] = (spent_cpu - overhead.cpu) * 1e-3
                    solutions[name][-1].append(solution)
    return {
        name: Measurement(wall[name], cpu[name], tuple(tuple(row) for row in solutions[name]))
        for name in names
    }
