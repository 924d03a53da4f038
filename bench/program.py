"""The frame of a program that measures only our solver: options, pinned core, table, file."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import conditions, pinning, report
from bench.arms import CHAINS

OUTPUT = Path(__file__).resolve().parents[1] / 'bench_output'
"""Where results go unless told otherwise."""


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """
    Add the options that every program has.

    :param parser: the program's parser.
    """
    parser.add_argument('--cpu', type=int, help='core to run on; the last one by default')
    parser.add_argument('--output', type=Path, default=OUTPUT)


def parse(arguments: Sequence[str] | None, purpose: str, samples: int) -> argparse.Namespace:
    """
    Read the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    :param purpose: of the program, one sentence.
    :param samples: poses per arm unless told otherwise.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument('--arms', nargs='+', choices=CHAINS, default=list(CHAINS))
    parser.add_argument('--samples', type=int, default=samples, help='poses per arm (%(default)s)')
    add_common_options(parser)
    return parser.parse_args(arguments)


def run(
    options: argparse.Namespace,
    measure: Callable[[str], Sequence[Any]],
    header: Sequence[str],
    cells: Callable[[Any], Sequence[str]],
    file: str,
) -> None:
    """
    Pin the process, measure every arm, print the table and write the rows.

    :param options: from :func:`parse`.
    :param measure: returns the rows (dataclasses) of one arm.
    :param header: titles of the table; cells: the texts of one row.
    :param file: name of the JSON file in the output folder.
    """
    around = conditions.describe(pinning.pin(options.cpu), ())
    print(conditions.as_text(around), flush=True)
    rows = [row for name in options.arms for row in measure(name)]
    print('\n' + report.table(header, [cells(row) for row in rows]))
    content = {'conditions': around, 'rows': [asdict(row) for row in rows]}
    report.write_json(options.output / file, content)
