"""
Compare with the peers: ``python bench/run.py --help``.

Results go to ``bench_output/``: ``peers.json``, ``peers.md`` and the goals. Times are processor time on one core.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import conditions, pinning, program, report
from bench.arms import Arm, CHAINS, read_arm
from bench.catalogue_arms import make_arm
from bench.classes import BenchClass, CLASSES
from bench.measure import measure
from bench.peers import load_peers, NotComparable, Peer, Prepared

ARMS = (*CHAINS, 'jaco2', 'xarm6')
"""The shipped robots, and arms of the catalogue without structure."""
SLOW_SHARE = 8
"""Slow peers solve only one pose of this many."""
LEAST_POSES = 20
"""Slow peers solve at least this many poses, or all if there are fewer."""


def find_arm(name: str, output: Path) -> Arm:
    """
    Return an arm by its name.

    :param name: one of :data:`ARMS`.
    :param output: where the URDF of an arm of the catalogue is written.
    """
    return read_arm(name) if name in CHAINS else make_arm(name, output / 'urdf')


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--classes', nargs='+', choices=CLASSES, default=list(CLASSES))
    parser.add_argument('--arms', nargs='+', choices=ARMS, default=list(ARMS))
    parser.add_argument('--peers', nargs='+', help='all by default; a named one must be there')
    parser.add_argument('--samples', type=int, default=2000, help='goals per arm (%(default)s)')
    parser.add_argument('--repeats', type=int, default=3, help='passes (%(default)s)')
    program.add_common_options(parser)
    return parser.parse_args(arguments)


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


def prepare_all(peers: Mapping[str, Peer], arm: Arm) -> tuple[dict[str, Prepared], dict[str, str]]:
    """
    Return the peers that can be asked about an arm, and why the others cannot.

    :param peers: by name.
    :param arm: the arm.
    """
    prepared, refusals = {}, {}
    for name, peer in peers.items():
        try:
            if not peer.available():
                raise NotComparable('not installed')
            prepared[name] = peer.prepare(arm)
        except NotComparable as reason:
            refusals[name] = str(reason)
    return prepared, refusals


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
            report.Row(bench_class.name, arm_name, name, note=note, own=peer.own, has_goals=False)
            for name, peer in taking_part.items()
        ]
    prepared, refusals = prepare_all(taking_part, arm)
    repeats = options.repeats if bench_class.most is None else 1
    part = cases.every(min(SLOW_SHARE, max(1, count // LEAST_POSES)))
    rows = {}
    for slow, asked, passes in ((False, cases, repeats), (True, part, 1)):
        group = {n: who for n, who in prepared.items() if peers[n].slow == slow}
        for name, seen in measure(group, asked, passes).items():
            note = prepared[name].note
            rows[name] = report.make_row(bench_class, arm, peers[name], asked, seen, note)
    absent = (
        report.Row(bench_class.name, arm_name, name, note=reason, own=peers[name].own)
        for name, reason in refusals.items()
    )
    return [*rows.values(), *absent]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Compare, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    peers = choose_peers(options.peers)
    core = pinning.pin(options.cpu)
    around = conditions.describe(core, peers.values())
    text = [conditions.as_text(around)]
    print(text[0], flush=True)
    rows: list[report.Row] = []
    for name in options.classes:
        bench_class = CLASSES[name]
        for arm_name in options.arms:
            rows += compare(bench_class, arm_name, peers, options)
        heading = f'## {name}: {bench_class.title}\n\nx: times faster than {bench_class.reference}'
        text.append(f'{heading}\n\n{report.class_table(bench_class, rows)}')
        print(f'\n{text[-1]}', flush=True)
    classes = [CLASSES[name] for name in options.classes]
    content = {'conditions': around, 'rows': report.as_json(rows, classes)}
    report.write_json(options.output / 'peers.json', content)
    markdown = '\n\n'.join(text) + '\n'
    (options.output / 'peers.md').write_text(markdown, encoding='utf-8')
    print(f'\nWritten to {options.output}/: peers.json, peers.md')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
