"""
Attack the proofs and solutions of the package: ``python -m campaigns.postures --help``, or ``make campaign``.

Postures are planted, and every part of the package solves for their poses. The command prints trials and faults of each
claim, and writes every fault as a file that ``--replay`` runs again. It ends with 1 if a response was wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
import logging
from pathlib import Path
import sys
from time import monotonic, perf_counter

import numpy as np

from bench import program
from campaigns.postures import failures
from campaigns.postures.judges import judge, JUDGES
from campaigns.postures.judging import Tally
from campaigns.postures.planter import CLASSES, Planter
from campaigns.postures.robots import all_shipped, FAMILIES, in_folder, random_robot, Robot


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Read the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    numbers = {'seed': 1, 'chains': 500, 'group': 24, 'most_files': 2000}
    parser = program.make_parser(__doc__, is_pinned=False, minutes=10.0, **numbers)
    parser.set_defaults(output=program.OUTPUT / 'campaign')
    parser.add_argument('--poses', type=int, help='end after so many planted postures')
    parser.add_argument('--robots', type=Path, help='folder of further robots')
    parser.add_argument('--families', nargs='+', choices=FAMILIES, default=FAMILIES)
    parser.add_argument('--only', nargs='+', help='names of robots, such as ur5e')
    parser.add_argument('--dof', nargs='+', type=int, help='only robots with so many joints')
    parser.add_argument('--kinds', nargs='+', choices=CLASSES, default=CLASSES)
    parser.add_argument('--judges', nargs='+', choices=JUDGES, default=tuple(JUDGES))
    parser.add_argument('--replay', type=Path, nargs='+', help='files of faults to run again')
    return parser.parse_args(arguments)


def robots(options: argparse.Namespace) -> Iterator[Robot]:
    """Return the robots of a campaign."""
    if 'shipped' in options.families:
        yield from all_shipped()
    if 'field' in options.families and options.robots is not None:
        yield from in_folder(options.robots)
    if 'random' in options.families:
        for seed in range(options.chains):
            yield random_robot(seed)


def run(options: argparse.Namespace) -> Tally:
    """Attack until the time or the number of poses is over."""
    tally, store = Tally(), failures.Store(options.output / 'failures', options.most_files)
    chosen = [
        robot
        for robot in robots(options)
        if (not options.only or robot.name in options.only)
        and (not options.dof or robot.dof in options.dof)
    ]
    planters: dict[str, Planter] = {}
    end, turn = monotonic() + 60.0 * options.minutes, 0
    while True:
        for index, robot in enumerate(chosen):
            rng = np.random.default_rng([options.seed, turn, index])
            if robot.name not in planters:
                planters[robot.name] = Planter(robot, rng)
            planter = planters[robot.name]
            planter.reseed(rng)
            group = planter.draw(options.group, tuple(options.kinds))
            for fault in judge(group, tally, tuple(options.judges)):
                store.add(fault)
            is_over = options.poses is not None and tally.planted >= options.poses
            if is_over or monotonic() > end:
                return tally
        turn += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Attack, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    if options.replay:
        return failures.replay(options.replay)
    report, started = program.Run('campaign', options), perf_counter()
    # A loader warns once for each pair of limits.
    logger = logging.getLogger('ssik_ros')
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        tally = run(options)
    finally:
        logger.setLevel(level)
    content = failures.summary(tally, perf_counter() - started)
    report.show(failures.as_text(tally, content))
    report.finish(**content)
    return int(any(key[0] in failures.WRONG for key in tally.faults))


if __name__ == '__main__':
    sys.exit(main())
