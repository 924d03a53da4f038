"""
How near to the seed the solutions of ``optimize_distance`` are: ``python bench/nearest.py --help``.

Arms with six joints are measured against the nearest of all branches and windings, redundant ones against ``first_found``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import pinning, program
from bench.arms import Arm, FloatArray, read_arm
from bench.branches import load_nearest
from bench.cases import Cases, draw_cases
from bench.verify import verify
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

TOLERANCE = 1e-3
HEADER = (
    *(
        'arm',
        'compared with',
        'mean distance',
        'of the other',
        'ratio',
        'of squares',
        'within 1 %',
        'nearer',
    ),
    *('success %', 'median ms', 'branches', 'oracle complete %'),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One arm."""

    arm: str
    compared_with: str
    samples: int
    mean_distance: float
    """Norm of the joint difference to the seed, over the solved goals [rad]."""
    mean_distance_compared: float
    ratio: float
    ratio_of_squares: float
    """The same ratio for the mean squared distance, which the solver minimises."""
    within_one_percent: float
    """Share of goals solved no more than 1 % (or the tolerance) further than the other [%]."""
    nearer: int
    """Goals solved clearly nearer than the other; with a complete oracle none."""
    success: float
    median_ms: float
    branches: float = np.nan
    """Mean number found by the oracle."""
    oracle_complete: float = np.nan
    """Share of goals whose known configuration the oracle met on its own [%]."""


def solution_all(arm: Arm, cases: Cases, mode: str) -> tuple[list[FloatArray | None], FloatArray]:
    """
    Return the solutions of PoseIK, and the time of each [ms].

    :param arm: the arm.
    :param cases: goals and seeds.
    :param mode: its ``solve_mode``.
    """
    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    solver = PoseIkSolver(robot, group, PoseIkOptions(solve_mode=mode))
    solver.warm_up()
    solutions: list[FloatArray | None] = []
    times = []
    for target, seed in zip(cases.targets, cases.seeds, strict=True):
        begin = time.perf_counter()
        result = solver.solve(SolveRequest(targets=target, seed=seed))
        times.append(1e3 * (time.perf_counter() - begin))
        solutions.append(result.solutions[0] if result.solved else None)
    return solutions, np.array(times)


def distances(arm: Arm, solutions: Sequence[FloatArray | None], seeds: FloatArray) -> FloatArray:
    """
    Return the joint distance (k,) of each solution to its seed; NaN if a pose has no solution.

    Joints without limits compare modulo 2 pi.

    :param arm: the arm.
    :param solutions: k joint vectors or None.
    :param seeds: (k, n).
    """
    nothing = np.full(len(arm.joints), np.nan)
    difference = np.array([nothing if q is None else q for q in solutions]) - seeds
    windings = 2.0 * np.pi * np.round(difference / (2.0 * np.pi))
    difference -= np.where(np.isfinite(arm.lower), 0.0, windings)
    result: FloatArray = np.linalg.norm(difference, axis=1)
    return result


def compare(arm: Arm, options: argparse.Namespace) -> Row:
    """
    Return the figures of one arm.

    :param arm: the arm.
    :param options: samples and output.
    """
    cases = draw_cases(arm, options.samples)
    solutions, times = solution_all(arm, cases, 'optimize_distance')
    own = distances(arm, solutions, cases.seeds)
    branches = complete = np.nan
    if len(arm.joints) == 6:
        oracle = load_nearest(options.output / f'branches_{arm.name}.npz', arm, cases)
        other, against = oracle.distance, 'nearest branch'
        branches, complete = float(oracle.branches.mean()), oracle.complete
    else:
        first, _ = solution_all(arm, cases, 'first_found')
        other, against = distances(arm, first, cases.seeds), 'first_found'
    both = np.isfinite(own) & np.isfinite(other)
    # A solution may use its tolerance to come nearer, so differences below this slack do not count as farther.
    slack = 10.0 * TOLERANCE + 0.01 * other
    return Row(
        arm=arm.name,
        compared_with=against,
        samples=len(cases.q),
        mean_distance=float(own[both].mean()),
        mean_distance_compared=float(other[both].mean()),
        ratio=float(own[both].mean() / other[both].mean()),
        ratio_of_squares=float(np.square(own[both]).mean() / np.square(other[both]).mean()),
        within_one_percent=100.0 * float((own <= other + slack)[both].mean()),
        nearer=int((own < other - slack)[both].sum()),
        success=verify(arm, solutions, cases.targets, TOLERANCE).success,
        median_ms=float(np.median(times)),
        branches=branches,
        oracle_complete=complete,
    )


def cells(row: Row) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    """
    return [
        *(row.arm, row.compared_with, f'{row.mean_distance:.3f}'),
        *(f'{row.mean_distance_compared:.3f}', f'{row.ratio:.3f}'),
        f'{row.ratio_of_squares:.3f}',
        *(f'{row.within_one_percent:.1f} %', str(row.nearer), f'{row.success:.2f}'),
        *(f'{row.median_ms:.2f}', f'{row.branches:.2f}', f'{row.oracle_complete:.2f}'),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = program.parse(arguments, 'How near the solutions of optimize_distance are.', 1000)
    program.run(
        options, lambda name: [compare(read_arm(name), options)], HEADER, cells, 'nearest.json'
    )


if __name__ == '__main__':
    pinning.limit_threads()
    main()
