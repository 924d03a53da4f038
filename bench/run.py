"""
Compare with the peers: ``python bench/run.py --help``.

Results go to ``bench_output/``: ``peers.json``, ``peers.md`` and the goals. Times are processor time on one core.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import goals, pinning, program, report
from bench.arms import CHAINS
from bench.catalogue_arms import find_arm, MEASURED
from bench.classes import BenchClass, CLASSES
from bench.measure import measure
from bench.peers import load_peers, NotComparable, Peer, prepare_all

ARMS = (*CHAINS, 'jaco2', 'xarm6')
"""The shipped robots, and arms of the catalogue without structure."""
CHOICES = tuple(dict.fromkeys((*ARMS, *MEASURED)))
SLOW_SHARE = 8
"""Slow peers solve only one pose of this many."""
LEAST_POSES = 20
"""Slow peers solve at least this many poses, or all if there are fewer."""


def choose_peers(names: Sequence[str] | None) -> dict[str, Peer]:
    """
    Return the peers to compare.

    :param names: as given; None means all.
    :raises SystemExit: when a named one does not exist or is not installed.
    """
    everyone = load_peers()
    if names is None:
        return everyone
    for name in names:
        if name not in everyone:
            sys.exit(f"bench: there is no peer '{name}'; there are {', '.join(everyone)}")
        if not everyone[name].available():
            sys.exit(
                f"bench: peer '{name}' is not installed: cannot import {everyone[name].module}"
            )
    return {name: everyone[name] for name in names}


def compare(
    bench_class: BenchClass, arm_name: str, peers: dict[str, Peer], options: argparse.Namespace
) -> list[report.Row]:
    """
    Return the rows of one class on one arm.

    :param bench_class: what to compare.
    :param arm_name: on which arm.
    :param peers: to compare.
    :param options: samples, repeats and output.
    """
    arm = find_arm(arm_name, options.output)
    count = min(options.samples, bench_class.most or options.samples)
    taking_part = {n: peer for n, peer in peers.items() if bench_class.name in peer.classes}
    try:
        cases = bench_class.draw(arm, count)
    except NotComparable as reason:
        note = f'no goals: {reason}'
        return [
            report.Row(bench_class.name, arm_name, name, note, peer.is_own, has_goals=False)
            for name, peer in taking_part.items()
        ]
    prepared, refusals = prepare_all(taking_part, arm)
    repeats = options.repeats if bench_class.most is None else 1
    part = cases.every(min(SLOW_SHARE, max(1, count // LEAST_POSES)))
    rows = []
    for slow, asked, passes in ((False, cases, repeats), (True, part, 1)):
        group = {n: who for n, who in prepared.items() if peers[n].slow == slow}
        for name, seen in measure(group, asked, passes).items():
            note = prepared[name].note
            rows.append(report.make_row(bench_class, arm, peers[name], asked, seen, note))
    return rows + [
        report.Row(bench_class.name, arm_name, name, reason, peers[name].is_own)
        for name, reason in refusals.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Compare, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = program.make_parser(__doc__, CHOICES, ARMS, samples=2000, repeats=3)
    parser.add_argument('--classes', nargs='+', choices=CLASSES, default=list(CLASSES))
    parser.add_argument('--peers', nargs='+', help='all by default; a named one must be there')
    options = parser.parse_args(arguments)
    peers = choose_peers(options.peers)
    run = program.Run('peers', options, peers.values())
    rows: list[dict[str, Any]] = []
    for name in options.classes:
        bench_class = CLASSES[name]
        measured = [
            row for arm in options.arms for row in compare(bench_class, arm, peers, options)
        ]
        new = report.as_json(measured, bench_class.reference)
        run.show(
            f'## {name}: {bench_class.title}', f'x: times faster than {bench_class.reference}'
        )
        run.show(report.class_table(new))
        rows += new
    goals.finish(run, rows=rows)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
