"""``ssik dataset``: make a data set of random poses with the postures that reach them, branch labels and causes."""

import argparse
from pathlib import Path

from ssik_ros.cli.options import add_option, add_worker_options, read_pairs
from ssik_ros.cli.robot_choice import add_robot_options, choose_group
from ssik_ros.cli.unit_display import UnitDisplay
from ssik_ros.errors import InvalidOption
from ssik_ros.reach.dataset import CAUSES, DatasetPlan, EQUAL_SHARES, FORMATS, make_dataset
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.strata import STRATA

EXAMPLES = (
    'ssik dataset ur5e -n 100000 -o ur5e_samples',
    'ssik dataset panda -n 1000000 --share border=0.5 --share postures=0.5 --random-seed 7 -o panda_samples',
    'ssik dataset irb120 -n 50000 --format zarr -o irb120.zarr',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    add_option(parser, '-n --samples N', 'number of samples', type=int, default=10_000)
    text = (
        f'share of a stratum ({", ".join(STRATA)}); may be repeated, others are 0 (default: equal)'
    )
    add_option(parser, '--share STRATUM=SHARE', text, action='append')
    add_option(parser, '--random-seed N', 'seed of the random samples', type=int, default=0)
    add_option(parser, '--format FORMAT', ' or '.join(FORMATS), default='parquet')
    add_worker_options(parser)
    add_option(
        parser, '-o --out --output FOLDER', 'folder of the data set', type=Path, dest='output'
    )


def run(arguments: argparse.Namespace) -> int:
    """
    Make or finish a data set, and print the number of new samples for each cause; return 0.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot, an option or the folder is wrong.
    """
    if arguments.output is None:
        raise InvalidOption('Say where the data set goes: -o FOLDER.')
    chosen = choose_group(arguments)
    plan = DatasetPlan(
        chosen.chain(),
        chosen.robot.name,
        arguments.samples,
        arguments.format,
        _shares(arguments.share),
        arguments.random_seed,
    )
    workers = Workers(arguments.workers, arguments.scheduler)
    with UnitDisplay('samples') as display:
        counts = make_dataset(plan, arguments.output, workers, display.report)
    parts = ', '.join(f'{count} {name}' for name, count in zip(CAUSES, counts, strict=True))
    print(
        f"'{arguments.output}': {plan.samples} samples of {plan.robot}; new ones by cause: {parts}."
    )
    return 0


def _shares(words: list[str] | None) -> tuple[float, ...]:
    """
    Return the share of each kind of sample (stratum), in the order of ``STRATA``; equal shares if ``words`` is empty.

    :param words: words ``STRATUM=SHARE``; strata that they do not name get 0.
    :raises InvalidOption: for another form, an unknown stratum, or one that is named twice.
    """
    if not words:
        return EQUAL_SHARES
    given: dict[str, float] = {}
    for name, text in read_pairs(words, '--share STRATUM=SHARE').items():
        if name not in STRATA:
            raise InvalidOption.unknown(f"There is no stratum '{name}'", name, STRATA)
        try:
            given[name] = float(text)
        except ValueError as error:
            raise InvalidOption(f"--share takes STRATUM=SHARE, not '{name}={text}'.") from error
    return tuple(given.get(name, 0.0) for name in STRATA)
