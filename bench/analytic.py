"""
Compare all branches of a pose with the analytic peers: ``python bench/analytic.py --help``.

Results go to ``bench_output/``: ``analytic.json``, ``analytic.md``, the poses and the arms' URDFs. Times are processor
time of one call from Python, on one core.
"""

import argparse
import bisect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


from bench import goals, pinning, program, report
from bench.arms import Arm
from bench.branch_sets import judge
from bench.cases import Cases, draw_cases
from bench.catalogue_arms import ARMS, make_arm
from bench.measure import measure, Measurement
from bench.peers import load_peers, NotComparable, Peer, prepare_all, Prepared, ssik_ros_solve_q
from bench.report import find, Row, speedups
from bench.tables import extended, table_of

CLASS = 'all_branches'
OWN, FREE, AS_MANY = goals.OWN_ALL, goals.OWN_FREE, goals.OWN_AS_MANY
REFERENCE = 'ssik'
LEAST_SAMPLES, MOST_SAMPLES = 16, 256
COLUMNS = {
    'arm': '{arm}',
    'peer': '{peer}',
    'median us': '{cpu.median:.1f}',
    'mean': '{cpu.mean:.1f}',
    'p99': '{cpu.p99:.1f}',
    'wall median': '{wall.median:.1f}',
    'solutions': '{sets.span}',
    'their mean': '{sets.mean:.1f}',
    'empty %': '{sets.empty:.1f}',
    'known %': '{sets.recovered_share:.1f}',
    'wrong': '{sets.wrong}',
    'outside': '{sets.outside}',
    'worst residual': '{sets.worst_residual:.0e}',
    'times ours': '{times_ours.median:.2f}',
    'remark': '{note}',
}


def solution_count(arm: Arm, cases: Cases, prepared: Prepared) -> int:
    """
    Return how many different solutions a peer has for all poses together.

    :param arm: the arm.
    :param cases: poses and seeds.
    :param prepared: the peer.
    """
    solutions = [
        prepared.read(prepared.solve(prepared.convert(target), seed))
        for target, seed in cases.pairs()
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


def compare(arm: Arm, peers: dict[str, Peer], options: argparse.Namespace) -> list[Row]:
    """
    Return the rows of one arm.

    :param arm: the arm.
    :param peers: everyone by name.
    :param options: samples, repeats and output.
    """
    cases = draw_cases(arm, options.samples)
    prepared, refusals = prepare_all(peers, arm)
    if len(arm.joints) == 7 and REFERENCE in prepared:
        prepared[AS_MANY] = as_many(arm, cases, prepared[REFERENCE])
        peers = {**peers, AS_MANY: replace(ssik_ros_solve_q.PEER, name=AS_MANY)}
    measured, rows = measure_apart(prepared, cases, options.repeats), []
    for name, who in prepared.items():
        row = report.timed_row(CLASS, arm, peers[name], cases, measured[name], who.note)
        solutions = [who.read(solution) for solution in measured[name].solutions[0]]
        rows.append(replace(row, sets=judge(arm, solutions, cases)))
    return rows + [Row(CLASS, arm.name, name, reason) for name, reason in refusals.items()]


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
            measured[name] = measured[name].joined(more) if name in measured else more
    return measured


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """
    Return all rows with how many times our processor time they are.

    :param rows: all rows.
    """
    return [
        extended(row, times_ours=speedups(find(rows, CLASS, row.arm, OWN), row)) for row in rows
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Compare, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = program.make_parser(__doc__, ARMS, samples=400, repeats=3).parse_args(arguments)
    peers = {name: peer for name, peer in load_peers().items() if CLASS in peer.classes}
    run = program.Run('analytic', options, peers.values())
    rows: list[Row] = []
    for name in options.arms:
        try:
            arm = make_arm(name, options.output / 'urdf')
        except (NotComparable, ModuleNotFoundError) as reason:
            rows.append(Row(CLASS, name, REFERENCE, str(reason)))
            continue
        rows += compare(arm, peers, options)
        print(name, 'is measured', file=sys.stderr, flush=True)
    listed = as_json(rows)
    run.show(f'## all branches, {options.samples} poses of each arm', table_of(COLUMNS, listed))
    goals.finish(run, rows=listed)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
