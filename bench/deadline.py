"""
Measure how far a search overruns its timeout: ``python bench/deadline.py --help``.

Requests poses that cannot be reached but are not provably out of reach, so that only the clock ends the search. The
overrun is measured around the call and at the return of the kernel. The Python code around the kernel makes the
difference.
"""

from collections.abc import Iterator, Sequence
import contextlib
from dataclasses import dataclass
from pathlib import Path
import resource
import sys
import time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import pinning, program
from bench.arms import Arm, FloatArray, read_arm
from ssik_ros.benchmark.harness import no_garbage_collection
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

TIMEOUTS_MS = (1.0, 5.0, 50.0)
SEARCHES = 10**9
"""Starts that no timeout leaves room for."""
PROBE = 300
"""Starts that must fail before a pose counts as unreachable."""
HEADER = (
    *('arm', 'timeout ms', 'calls', 'by clock', 'iteration us', 'overhead us'),
    *('overrun p50', 'p99', 'max us', 'undisturbed', 'p50', 'p99', 'max us'),
    *('of the kernel', 'p99', 'max us'),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One arm and timeout; overruns are wall time of the call less the timeout [us]."""

    arm: str
    timeout_ms: float
    calls: int
    clock_ended: int
    iteration_us: float
    """Median over the calls: time of a call divided by its iterations."""
    overhead_us: float
    """Time of a call whose timeout is a nanosecond: all that is not iteration."""
    overrun: tuple[float, float, float]
    """Median, 99 % quantile and largest."""
    undisturbed: int
    """Calls that were not taken off the core meanwhile."""
    overrun_undisturbed: tuple[float, float, float]
    overrun_kernel: tuple[float, float, float]
    """Overrun of the kernel only, for the same calls: wall time inside the kernel minus the timeout."""


def candidates(arm: Arm, generator: np.random.Generator, count: int) -> FloatArray:
    """
    Return poses (count, 4, 4) near the edge of the workspace, most of them just not reachable.

    One half has positions the arm comes to, turned at random; the other lies up to a fifth further out.

    :param arm: the arm.
    :param generator: where they come from.
    :param count: how many.
    """
    lower, upper = arm.sampling_bounds()
    poses = arm.fk(generator.uniform(lower, upper, (40 * count, len(arm.joints))))
    # The first joint's axis is vertical: its height does not depend on the configuration.
    centre = arm.joints[0].placement[:3, 3]
    away = poses[:, :3, 3] - centre
    far = np.argsort(-np.linalg.norm(away, axis=1))[:count]
    result = poses[far]
    result[:, :3, :3] = poses[generator.permutation(len(poses))[:count], :3, :3]
    stretch = np.where(np.arange(count) % 2 == 0, 1.0, generator.uniform(1.0, 1.2, count))
    result[:, :3, 3] = centre + stretch[:, None] * away[far]
    return result


def unreachable_poses(arm: Arm, solver: PoseIkSolver, count: int) -> FloatArray:
    """
    Return poses that many starts fail to reach, and that are not refused at once.

    :param arm: the arm.
    :param solver: its solver.
    :param count: how many.
    """
    generator = np.random.default_rng(2)
    kept: list[FloatArray] = []
    while len(kept) < count:
        for pose in candidates(arm, generator, 2 * count):
            result = solver.solve(SolveRequest(targets=pose, max_searches=PROBE))
            if not result.solved and result.iterations >= PROBE:
                kept.append(pose)
    return np.array(kept[:count])


def quantiles(overruns: FloatArray) -> tuple[float, float, float]:
    """
    Return median, 99 % quantile and largest; NaN without values.

    :param overruns: (k,).
    """
    if not len(overruns):
        return np.nan, np.nan, np.nan
    median, p99 = np.percentile(overruns, [50, 99])
    return float(median), float(p99), float(overruns.max())


@contextlib.contextmanager
def watched_kernel(solver: PoseIkSolver) -> Iterator[list[int]]:
    """
    Yield a list that receives the times when kernel calls begin and end, in turn [ns].

    :param solver: whose kernel.
    """
    times: list[int] = []
    kernel = solver.kernel

    def timed(*arguments: Any) -> int:
        times.append(time.perf_counter_ns())
        code: int = kernel(*arguments)
        times.append(time.perf_counter_ns())
        return code

    solver.kernel = timed
    try:
        yield times
    finally:
        del solver.kernel


def time_overhead(solver: PoseIkSolver, poses: FloatArray) -> float:
    """
    Return the time of a call that may do nothing [us].

    :param solver: the solver.
    :param poses: (k, 4, 4).
    """
    times = []
    for pose in poses:
        request = SolveRequest(targets=pose, timeout=1e-9, max_searches=SEARCHES)
        begin = time.perf_counter_ns()
        solver.solve(request)
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times)) * 1e-3


def measure(arm: Arm, solver: PoseIkSolver, poses: FloatArray, timeout_ms: float) -> Row:
    """
    Return the overruns of one arm and timeout.

    :param arm: the arm.
    :param solver: its solver.
    :param poses: (k, 4, 4) that cannot be reached.
    :param timeout_ms: the timeout.
    """
    overruns, iterations, disturbed, inside, by_clock = [], [], [], [], 0
    overhead = time_overhead(solver, poses)
    with watched_kernel(solver) as times:
        for pose in poses:
            times.clear()
            request = SolveRequest(targets=pose, timeout=1e-3 * timeout_ms, max_searches=SEARCHES)
            switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            begin = time.perf_counter_ns()
            result = solver.solve(request)
            elapsed = 1e-3 * (time.perf_counter_ns() - begin)
            # Long searches go on in slices: from the beginning of the first to the end of the last.
            inside.append(times[-1] - times[0])
            disturbed.append(resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw != switches)
            overruns.append(elapsed - 1e3 * timeout_ms)
            iterations.append((elapsed - overhead) / max(1, result.iterations))
            by_clock += result.clock_ended
    quiet = ~np.array(disturbed)
    return Row(
        arm=arm.name,
        timeout_ms=timeout_ms,
        calls=len(poses),
        clock_ended=by_clock,
        iteration_us=float(np.median(iterations)),
        overhead_us=overhead,
        overrun=quantiles(np.array(overruns)),
        undisturbed=int(quiet.sum()),
        overrun_undisturbed=quantiles(np.array(overruns)[quiet]),
        overrun_kernel=quantiles((1e-3 * np.array(inside) - 1e3 * timeout_ms)[quiet]),
    )


def measure_arm(name: str, samples: int) -> list[Row]:
    """
    Return the overruns of one arm for each timeout.

    :param name: the arm.
    :param samples: calls per timeout.
    """
    arm = read_arm(name)
    robot = load_robot(arm.urdf_path)
    solver = PoseIkSolver(robot, robot.group_from_links(arm.base, arm.tip))
    solver.warm_up()
    poses = unreachable_poses(arm, solver, samples)
    with no_garbage_collection():
        return [measure(arm, solver, poses, timeout) for timeout in TIMEOUTS_MS]


def cells(row: Row) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    """
    return [
        *(row.arm, f'{row.timeout_ms:g}', str(row.calls), str(row.clock_ended)),
        *(f'{row.iteration_us:.2f}', f'{row.overhead_us:.1f}'),
        *(f'{value:.1f}' for value in row.overrun),
        *(str(row.undisturbed), *(f'{value:.1f}' for value in row.overrun_undisturbed)),
        *(f'{value:.1f}' for value in row.overrun_kernel),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = program.parse(arguments, 'How far a search overruns its time.', 200)
    program.run(
        options, lambda name: measure_arm(name, options.samples), HEADER, cells, 'deadline.json'
    )


if __name__ == '__main__':
    pinning.limit_threads()
    main()
