"""
Compare all branches of a pose with the analytic peers: ``python bench/analytic.py --help``.

Results go to ``bench_output/``: ``analytic.json``, ``analytic.md``, the poses and the arms' URDFs. Times are processor
time of one call from Python, on one core.
"""

import argparse
import bisect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
import os
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench import conditions, pinning, program, report
from bench.arms import Arm
from bench.branch_sets import BranchSets, judge
from bench.cases import Cases, draw_cases
from bench.catalogue_arms import ARMS, goal_of, make_arm
from bench.measure import measure, Measurement
from bench.peers import load_peers, NotComparable, Peer, Prepared, ssik_ros_solve_q
from bench.start_up import ask, OWN_MODULE

CLASS = 'all_branches'
OWN = ssik_ros_solve_q.PEER.name
FREE = ssik_ros_solve_q.FREE.name
AS_MANY = f'{OWN} as many'
"""Our solver with as many samples of the redundancy as it takes to return at least ssik's number of solutions."""
REFERENCE = 'ssik'
LEAST_SAMPLES, MOST_SAMPLES = 16, 256
HEADER = (
    *(
        'arm',
        'peer',
        'median us',
        'mean',
        'p99',
        'wall median',
        'solutions',
        'their mean',
        'empty %',
    ),
    *('known %', 'wrong', 'outside', 'worst residual', 'times ours', 'remark'),
)
GOAL_HEADER = (
    *('arm', 'ours us', 'as many us', 'goal here', '', 'design', '', 'ssik / ours', 'mean', 'p99'),
    *('eaik / ours', 'solutions: ours', 'as many', 'ssik', 'set-up s', 'import s'),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One peer on one arm."""

    arm: str
    peer: str
    note: str = ''
    cpu: report.Times | None = None
    """Of the pass with the lowest median; None when the peer was not asked, for the reason in the note."""
    wall: report.Times | None = None
    cpu_medians: tuple[float, ...] = ()
    sets: BranchSets | None = None
    cases: str = ''
    own: bool = False


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--arms', nargs='+', choices=ARMS, default=list(ARMS))
    parser.add_argument('--samples', type=int, default=400, help='poses per arm (%(default)s)')
    parser.add_argument('--repeats', type=int, default=3, help='passes (%(default)s)')
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def prepare_all(
    arm: Arm, cases: Cases, peers: dict[str, Peer]
) -> tuple[dict[str, Prepared], list[Row]]:
    """
    Return the peers that can be asked, and rows that say why the others cannot.

    :param arm: the arm.
    :param cases: poses, for the number of samples.
    :param peers: everyone by name.
    """
    prepared: dict[str, Prepared] = {}
    absent = []
    for name, peer in peers.items():
        try:
            if not peer.available():
                raise NotComparable('not installed')
            prepared[name] = peer.prepare(arm)
        except NotComparable as reason:
            absent.append(Row(arm.name, name, str(reason)))
    if len(arm.joints) == 7 and REFERENCE in prepared:
        prepared[AS_MANY] = as_many(arm, cases, prepared[REFERENCE])
    return prepared, absent


def solution_count(arm: Arm, cases: Cases, prepared: Prepared) -> int:
    """
    Return how many different solutions a peer has for all poses together.

    :param arm: the arm.
    :param cases: poses and seeds.
    :param prepared: the peer.
    """
    solutions = [
        prepared.read(prepared.solve(prepared.convert(target), seed))
        for target, seed in zip(cases.targets, cases.seeds, strict=True)
    ]
    return sum(judge(arm, solutions, cases).counts)


def as_many(arm: Arm, cases: Cases, reference: Prepared) -> Prepared:
    """
    Return our solver with the fewest samples, at least 16, that give at least a peer's solutions.

    :param arm: an arm of seven joints.
    :param cases: poses and seeds.
    :param reference: the peer.
    """
    wanted = solution_count(arm, cases, reference)
    samples = LEAST_SAMPLES + bisect.bisect_left(
        range(LEAST_SAMPLES, MOST_SAMPLES),
        wanted,
        key=lambda s: solution_count(arm, cases, ssik_ros_solve_q.prepare(arm, s)),
    )
    ours = ssik_ros_solve_q.prepare(arm, samples)
    if samples == MOST_SAMPLES:
        ours = replace(ours, note=f'{ours.note}; still fewer solutions than {REFERENCE}')
    return ours


def make_row(
    arm: Arm, name: str, cases: Cases, prepared: Prepared, measurement: Measurement
) -> Row:
    """
    Return the figures of one peer.

    :param arm: the arm.
    :param name: the peer's name.
    :param cases: poses and seeds.
    :param prepared: the peer.
    :param measurement: times and solutions of its calls.
    """
    cpu, cpu_medians = report.times_of(measurement.cpu)
    wall, _ = report.times_of(measurement.wall)
    solutions = [prepared.read(solution) for solution in measurement.solutions[0]]
    sets = judge(arm, solutions, cases)
    own = name in (OWN, FREE, AS_MANY)
    return Row(arm.name, name, prepared.note, cpu, wall, cpu_medians, sets, cases.digest, own)


def compare(arm: Arm, peers: dict[str, Peer], options: argparse.Namespace) -> list[Row]:
    """
    Return the rows of one arm.

    :param arm: the arm.
    :param peers: everyone by name.
    :param options: samples, repeats and output.
    """
    cases = draw_cases(arm, options.samples)
    prepared, absent = prepare_all(arm, cases, peers)
    measured = measure_apart(prepared, cases, options.repeats)
    return [
        *(make_row(arm, name, cases, prepared[name], measured[name]) for name in prepared),
        *absent,
    ]


def measure_apart(
    prepared: dict[str, Prepared], cases: Cases, repeats: int
) -> dict[str, Measurement]:
    """
    Return the figures of every peer; the rows of :data:`FREE` and of our other rows come from separate passes.

    Our rows run the same kernels. If they shared a pass, the second one would find the kernels in the caches. The
    other peers take part in all passes, and their best pass counts.

    :param prepared: the peers by name.
    :param cases: poses and seeds.
    :param repeats: passes.
    """
    measured = measure({n: p for n, p in prepared.items() if n != FREE}, cases, repeats)
    if FREE in prepared:
        others = {n: p for n, p in prepared.items() if n not in (OWN, AS_MANY)}
        for name, more in measure(others, cases, repeats).items():
            measured[name] = together(measured[name], more) if name in measured else more
    return measured


def together(first: Measurement, second: Measurement) -> Measurement:
    """
    Return the passes of two measurements of one peer as one.

    :param first, second: of the same cases.
    """
    return Measurement(
        np.vstack([first.wall, second.wall]),
        np.vstack([first.cpu, second.cpu]),
        first.solutions + second.solutions,
    )


def set_up_cost(arm: Arm) -> dict[str, Any]:
    """
    Return the cost of a fresh process that loads an arm from its URDF, with compiled kernels in the cache.

    :param arm: the arm.
    """
    # The first process may have kernels to compile that no call so far has needed.
    costs = [ask(arm, OWN_MODULE, OWN, seconds=300.0) for _ in range(2)]
    return costs[-1]


def find(rows: Sequence[Row], arm: str, peer: str) -> Row | None:
    """
    Return the row of a peer on an arm if it has figures, else None.

    :param rows: all rows.
    :param arm: the arm's name.
    :param peer: the peer's name.
    """
    fitting = (r for r in rows if (r.arm, r.peer) == (arm, peer) and r.cpu is not None)
    return next(fitting, None)


def ratios(rows: Sequence[Row], arm: str, peer: str, own: str = OWN) -> dict[str, float] | None:
    """
    Return how many times our processor time a peer needs; None when one of both was not measured.

    :param rows: all rows.
    :param arm: the arm's name.
    :param peer: the peer's name.
    :param own: which of our rows is meant.
    """
    ours, theirs = find(rows, arm, own), find(rows, arm, peer)
    if ours is None or theirs is None or ours.cpu is None or theirs.cpu is None:
        return None
    return {
        'median': theirs.cpu.median / ours.cpu.median,
        'mean': theirs.cpu.mean / ours.cpu.mean,
        'p99': theirs.cpu.p99 / ours.cpu.p99,
    }


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    :param rows: all rows.
    """
    if row.cpu is None or row.wall is None or row.sets is None:
        return [row.arm, row.peer, *[''] * (len(HEADER) - 3), row.note]
    faster = ratios(rows, row.arm, row.peer)
    counts = row.sets.counts
    return [
        *(row.arm, row.peer),
        *(f'{value:.1f}' for value in (row.cpu.median, row.cpu.mean, row.cpu.p99)),
        f'{row.wall.median:.1f}',
        f'{min(counts)}-{np.median(counts):.0f}-{max(counts)}',
        f'{np.mean(counts):.1f}',
        f'{row.sets.empty:.1f}',
        _known(row.sets),
        *(str(row.sets.wrong), str(row.sets.outside), f'{row.sets.worst_residual:.0e}'),
        f'{faster["median"]:.2f}' if faster else '-',
        row.note,
    ]


def _known(sets: BranchSets) -> str:
    """Return the share of known configurations that were met, where the branches are all there are."""
    return '-' if sets.known is None else f'{sets.known:.1f}'


def verdict(spent: float, goal: float) -> str:
    """
    Return whether a goal is reached.

    :param spent: median [us].
    :param goal: the most it may be [us].
    """
    return 'reached' if spent <= goal else 'MISSED'


def goal_cells(arm: str, rows: Sequence[Row], set_up: dict[str, Any]) -> list[str]:
    """
    Return the measured figures of an arm's goals, in the order of :data:`GOAL_HEADER`.

    The goal of a seven-joint arm requires at least as many solutions as ssik finds, so the row :data:`AS_MANY`
    counts.

    :param arm: the arm's name.
    :param rows: all rows.
    :param set_up: from :func:`set_up_cost`.
    """
    ours, many = find(rows, arm, OWN), find(rows, arm, AS_MANY)
    theirs, goal = find(rows, arm, REFERENCE), goal_of(arm)
    if ours is None or ours.cpu is None:
        return [arm, *['-'] * (len(GOAL_HEADER) - 1)]
    counted = many if many is not None and many.cpu is not None else ours
    spent = counted.cpu.median if counted.cpu is not None else ours.cpu.median
    to_ssik, to_eaik = ratios(rows, arm, REFERENCE, counted.peer), ratios(rows, arm, 'eaik')
    means = [
        f'{np.mean(row.sets.counts):.1f}' if row is not None and row.sets is not None else '-'
        for row in (ours, many, theirs)
    ]
    return [
        *(arm, f'{ours.cpu.median:.1f}', f'{spent:.1f}' if counted is many else '-'),
        *(f'{goal.here:g}', verdict(spent, goal.here)),
        *(f'{goal.design:g}', verdict(spent, goal.design)),
        *([f'{value:.2f}' for value in to_ssik.values()] if to_ssik else ['-'] * 3),
        f'{to_eaik["median"]:.2f}' if to_eaik else '-',
        *means,
        f'{set_up["set_up"]["wall"] + set_up["first_solution"]["wall"]:.2f}',
        f'{set_up["import"]["wall"]:.2f}',
    ]


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """
    Return all rows with how many times our processor time they are.

    :param rows: all rows.
    """
    return [asdict(row) | {'times_ours': ratios(rows, row.arm, row.peer)} for row in rows]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Compare, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    peers = {name: peer for name, peer in load_peers().items() if CLASS in peer.classes}
    around = conditions.describe(pinning.pin(options.cpu), peers.values())
    print(conditions.as_text(around), flush=True)
    rows: list[Row] = []
    set_up: dict[str, dict[str, Any]] = {}
    for name in options.arms:
        try:
            arm = make_arm(name, options.output / 'urdf')
        except (NotComparable, ModuleNotFoundError) as reason:
            rows.append(Row(name, REFERENCE, str(reason)))
            continue
        rows += compare(arm, peers, options)
        set_up[name] = set_up_cost(arm)
        print(f'{name} ', end='', flush=True)
    around['load_average_after'] = [round(value, 2) for value in os.getloadavg()]
    text = '\n\n'.join(
        [
            f'{conditions.as_text(around)}\nload afterwards {around["load_average_after"]}',
            f'## all branches, {options.samples} poses of each arm',
            report.table(HEADER, [cells(row, rows) for row in rows]),
            '## goals, in microseconds of processor time',
            report.table(GOAL_HEADER, [goal_cells(n, rows, cost) for n, cost in set_up.items()]),
        ]
    )
    print(f'\n\n{text}')
    goals = {name: goal_of(name).design for name in set_up}
    content = {'conditions': around, 'rows': as_json(rows), 'set_up': set_up, 'goals': goals}
    report.write_json(options.output / 'analytic.json', content)
    (options.output / 'analytic.md').write_text(text + '\n', encoding='utf-8')
    print(f'\nWritten to {options.output}/: analytic.json, analytic.md, cases/, urdf/')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
