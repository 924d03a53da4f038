"""
Ask Auto about 10,000 random reachable poses of each arm: ``python bench/sweep.py --help``.

Every solution is judged by the harness' own kinematics. On arms with all branches known the nearest solution is compared with
the nearest of all branches, too. The program fails when anything is missing.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import conditions, pinning, program, report
from bench.arms import Arm, CHAINS, FloatArray, read_arm
from bench.cases import Cases, draw_cases
from bench.catalogue_arms import make_arm
from bench.verify import verify
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import BranchSolver, SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.solvers.registry import create_solver

ARMS = (*CHAINS, 'jaco2', 'xarm6', 'iiwa14', 'rizon4')
SEEDS = {'anywhere': None, 'within 0.05 rad': 0.05}
TOLERANCE = 1e-6
SAME = 1e-6
"""How much further than the nearest branch a solution may be [rad]."""
MOST_WINDINGS = 2
"""Largest number of windings by which a joint value may be shifted."""
HEADER = (
    *('arm', 'seeds', 'asked', 'verified %', 'wrong', 'worst m', 'worst rad', 'starts', 'causes'),
    *('nearest asked', 'not nearest'),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One arm and one kind of seeds."""

    arm: str
    seeds: str
    asked: int
    verified: float
    """Solutions that hold [%]."""
    wrong: int
    worst_position: float
    worst_orientation: float
    most_starts: int
    causes: str
    """Why there was no solution, and how often."""
    nearest_asked: int
    not_nearest: int
    """Solutions to ``optimize_distance`` that are further away than a branch is."""

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is missing."""
        return self.verified == 100.0 and self.wrong == 0 and self.not_nearest == 0


def find_arm(name: str, folder: Path) -> Arm:
    """
    Return an arm as the judge reads it.

    :param name: one of :data:`ARMS`.
    :param folder: where the URDF of an arm of the catalogue is written.
    """
    return read_arm(name) if name in CHAINS else make_arm(name, folder / 'urdf')


def solver_of(arm: Arm, name: str, **parameters: object) -> Callable[[SolveRequest], IkResult]:
    """Return the solver of an arm."""
    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    return create_solver(name, robot, group, parameters).solve


def sweep(arm: Arm, seeds: str, samples: int) -> Row:
    """
    Return the results of random poses of an arm.

    :param seeds: a key of :data:`SEEDS`.
    :param samples: number of poses.
    """
    cases = draw_cases(arm, samples, SEEDS[seeds])
    solve = solver_of(arm, 'ssik_ros/Auto', target_tolerance=TOLERANCE)
    asked = [SolveRequest(t, q) for t, q in zip(cases.targets, cases.seeds, strict=True)]
    results = [solve(request) for request in asked]
    solutions = [result.q if result.solved else None for result in results]
    verdict = verify(arm, solutions, cases.targets, TOLERANCE)
    causes = Counter(result.cause.name for result in results if not result.solved)
    compared, further = count_further(arm, cases)
    return Row(
        arm.name,
        seeds,
        verdict.asked,
        verdict.success,
        verdict.claimed_wrongly,
        verdict.worst_position,
        verdict.worst_orientation,
        max(result.searches for result in results),
        ', '.join(f'{name}: {count}' for name, count in causes.items()),
        compared,
        further,
    )


def count_further(arm: Arm, cases: Cases) -> tuple[int, int]:
    """
    Return how many nearest solutions were compared with all branches, and how many are further away than one of them.

    :param cases: targets and seeds; nothing is compared for arms whose branches are unknown.
    """
    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    closed_form = create_solver('ssik_ros/Analytic', robot, group)
    if not (isinstance(closed_form, BranchSolver) and closed_form.is_complete):
        return 0, 0
    nearest = solver_of(
        arm, 'ssik_ros/Auto', target_tolerance=TOLERANCE, solve_mode='optimize_distance'
    )
    further = 0
    for target, seed in zip(cases.targets, cases.seeds, strict=True):
        request = SolveRequest(target, seed)
        branches = closed_form.solve_all(request).q
        result = nearest(request)
        found = seed_distance(arm, result.q, seed) if result.solved else np.inf
        further += int(not found <= nearest_winding(arm, branches, seed).min() + SAME)
    return len(cases.q), further


def seed_distance(arm: Arm, q: FloatArray, seed: FloatArray) -> float:
    """
    Return the joint distance of a state to a seed; joints without limits compare modulo 2 pi.

    :param q, seed: (n,).
    """
    way = q - seed
    endless = np.isinf(arm.lower) & np.isinf(arm.upper)
    way[endless] = (way[endless] + np.pi) % (2.0 * np.pi) - np.pi
    return float(np.linalg.norm(way))


def nearest_winding(arm: Arm, q: FloatArray, seed: FloatArray) -> FloatArray:
    """
    Return the distances (k,) of states to a seed when each joint may take any winding within its limits.

    :param q: (k, n) states within limits.
    :param seed: (n,).
    """
    windings = 2.0 * np.pi * np.arange(-MOST_WINDINGS, MOST_WINDINGS + 1)
    windings = np.where(
        np.array([joint.is_revolute for joint in arm.joints])[:, None], windings, 0.0
    )
    wound = q[:, :, None] + windings
    inside = (wound >= arm.lower[:, None]) & (wound <= arm.upper[:, None]) | (windings == 0.0)
    ways = np.where(inside, np.abs(wound - seed[:, None]), np.inf).min(axis=2)
    distances: FloatArray = np.linalg.norm(ways, axis=1)
    return distances


def cells(row: Row) -> list[str]:
    """Return a row as text, in the order of :data:`HEADER`."""
    return [
        *(row.arm, row.seeds, str(row.asked), f'{row.verified:.2f}', str(row.wrong)),
        *(f'{row.worst_position:.1e}', f'{row.worst_orientation:.1e}', str(row.most_starts)),
        row.causes or '-',
        *(str(row.nearest_asked or '-'), str(row.not_nearest) if row.nearest_asked else '-'),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Ask, print, write, and fail when something is missing.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--arms', nargs='+', choices=ARMS, default=list(ARMS))
    parser.add_argument('--samples', type=int, default=10_000, help='poses (%(default)s)')
    program.add_common_options(parser)
    options = parser.parse_args(arguments)
    around = conditions.describe(pinning.pin(options.cpu), ())
    print(conditions.as_text(around), flush=True)
    rows = []
    for name in options.arms:
        arm = find_arm(name, options.output)
        rows += [sweep(arm, seeds, options.samples) for seeds in SEEDS]
    print('\n' + report.table(HEADER, [cells(row) for row in rows]))
    content = {'conditions': around, 'rows': [asdict(row) for row in rows]}
    report.write_json(options.output / 'sweep.json', content)
    if not all(row.is_complete for row in rows):
        sys.exit('bench: something is missing')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
