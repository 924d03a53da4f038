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


from bench import pinning, program, report
from bench.arms import Arm
from bench.branch_sets import judge
from bench.cases import Cases, draw_cases
from bench.catalogue_arms import ARMS, goal_of, make_arm
from bench.measure import measure, Measurement
from bench.peers import load_peers, NotComparable, Peer, prepare_all, Prepared, ssik_ros_solve_q
from bench.report import find, Row, speedups
from bench.start_up import ask, OWN_MODULE
from bench.tables import extended, reached, table_of

CLASS = 'all_branches'
OWN = ssik_ros_solve_q.PEER.name
FREE = ssik_ros_solve_q.FREE.name
AS_MANY = f'{OWN} as many'
"""Our solver with as many samples of the redundancy as it takes to return at least ssik's number of solutions."""
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
    'known %': '{sets.known:.1f}',
    'wrong': '{sets.wrong}',
    'outside': '{sets.outside}',
    'worst residual': '{sets.worst_residual:.0e}',
    'times ours': '{times_ours.median:.2f}',
    'remark': '{note}',
}
GOAL_COLUMNS = {
    'arm': '{arm}',
    'ours us': '{ours.cpu.median:.1f}',
    'as many us': '{many.cpu.median:.1f}',
    'goal here': '{here}',
    'design': '{design}',
    'ssik / ours': '{ssik.median:.2f}',
    'mean': '{ssik.mean:.2f}',
    'p99': '{ssik.p99:.2f}',
    'eaik / ours': '{eaik.median:.2f}',
    'solutions: ours': '{ours.sets.mean:.1f}',
    'as many': '{many.sets.mean:.1f}',
    'ssik': '{theirs.sets.mean:.1f}',
    'set-up s': '{set_up:.2f}',
    'import s': '{import:.2f}',
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


def set_up_cost(arm: Arm) -> dict[str, Any]:
    """
    Return the cost of a fresh process that loads an arm from its URDF, with compiled kernels in the cache.

    :param arm: the arm.
    """
    # The first process may have kernels to compile that no call so far has needed.
    costs = [ask(arm, OWN_MODULE, OWN, seconds=300.0) for _ in range(2)]
    return costs[-1]


def goal_row(arm: str, rows: Sequence[Row], set_up: dict[str, Any]) -> dict[str, Any]:
    """
    Return the goals of an arm with its figures, for :data:`GOAL_COLUMNS`.

    The goal of a seven-joint arm requires at least as many solutions as ssik finds, so the row :data:`AS_MANY`
    counts.

    :param arm: the arm's name.
    :param rows: all rows.
    :param set_up: from :func:`set_up_cost`.
    """
    ours, many, theirs, eaik = (
        find(rows, CLASS, arm, name) for name in (OWN, AS_MANY, REFERENCE, 'eaik')
    )
    counted = many or ours
    if counted is None or counted.cpu is None:
        return {'arm': arm}
    spent, goal = counted.cpu.median, goal_of(arm)
    return {
        **{'arm': arm, 'ours': ours, 'many': many, 'theirs': theirs},
        'here': f'{goal.here:g} {reached(spent <= goal.here)}',
        'design': f'{goal.design:g} {reached(spent <= goal.design)}',
        'ssik': speedups(counted, theirs),
        'eaik': speedups(ours, eaik),
        'set_up': set_up['set_up']['wall'] + set_up['first_solution']['wall'],
        'import': set_up['import']['wall'],
    }


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
    set_up: dict[str, dict[str, Any]] = {}
    for name in options.arms:
        try:
            arm = make_arm(name, options.output / 'urdf')
        except (NotComparable, ModuleNotFoundError) as reason:
            rows.append(Row(CLASS, name, REFERENCE, str(reason)))
            continue
        rows += compare(arm, peers, options)
        set_up[name] = set_up_cost(arm)
        print(name, 'is measured', file=sys.stderr, flush=True)
    listed = as_json(rows)
    run.show(f'## all branches, {options.samples} poses of each arm', table_of(COLUMNS, listed))
    goals = [goal_row(name, rows, cost) for name, cost in set_up.items()]
    run.show('## goals, in microseconds of processor time', table_of(GOAL_COLUMNS, goals))
    designs = {name: goal_of(name).design for name in set_up}
    run.finish(rows=listed, set_up=set_up, goals=designs)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
