"""The frame of every program: its options, its core, the conditions, and the files that it writes."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
import json
import math
import os
from pathlib import Path
from typing import Any

from bench import conditions, pinning, ROOT
from bench.peers import Peer
from ssik_ros.benchmark.harness import write_atomically

OUTPUT = ROOT / 'bench_output'
"""Where results go unless told otherwise."""


def make_parser(
    purpose: str | None,
    arms: Sequence[str] = (),
    default: Sequence[str] | None = None,
    *,
    is_pinned: bool = True,
    **numbers: float,
) -> argparse.ArgumentParser:
    """
    Return a parser of the command line with the options that all programs share.

    :param purpose: docstring of the program, whose first line is shown.
    :param arms: choices of ``--arms``; empty for a program without this option.
    :param default: of ``--arms``; None means all choices.
    :param is_pinned: whether the program stays on one core, chosen by ``--cpu``.
    :param numbers: further options with their defaults.
    """
    parser = argparse.ArgumentParser(description=(purpose or '').strip().partition('\n')[0])
    if arms:
        names = list(arms if default is None else default)
        parser.add_argument('--arms', nargs='+', choices=arms, default=names)
    for name, value in numbers.items():
        option = f'--{name.replace("_", "-")}'
        parser.add_argument(option, type=type(value), default=value, help='(%(default)s)')
    if is_pinned:
        parser.add_argument('--cpu', type=int, help='core to run on; the last one by default')
    parser.add_argument('--output', type=Path, default=OUTPUT, help='folder of the results')
    return parser


class Run:
    """One run of a program. It prints paragraphs, and writes them and the figures to files."""

    def __init__(self, name: str, options: argparse.Namespace, peers: Iterable[Peer] = ()) -> None:
        """
        Take a core if the program is pinned, and print the conditions.

        :param name: of the files, without ending.
        :param options: from :func:`make_parser`.
        :param peers: whose versions are quoted.
        """
        self.name, self._parts = name, list[str]()
        self._file: Path = options.output / name
        self.core = pinning.pin(options.cpu) if 'cpu' in options else None
        self.conditions = conditions.describe(self.core, peers)
        self.show(conditions.as_text(self.conditions))

    def show(self, *parts: str) -> None:
        """Print paragraphs, and keep them for the file."""
        for part in parts:
            self._parts.append(part)
            print(f'{part}\n', flush=True)

    def finish(self, **content: Any) -> None:
        """
        Write ``NAME.md`` with all that was shown, and ``NAME.json``.

        :param content: of the second file, in addition to the conditions.
        """
        load = [round(value, 2) for value in os.getloadavg()]
        self.conditions['load_average_after'] = load
        self.show(f'Load after: {load}')
        write_json(self._file.with_suffix('.json'), {'conditions': self.conditions, **content})
        write_atomically(self._file.with_suffix('.md'), '\n\n'.join(self._parts) + '\n')
        print(f'Written: {self._file}.json and .md')


def write_json(path: Path, content: Any) -> None:
    """
    Write a result file.

    :param path: the file; its folder is made.
    :param content: values of JSON, and data classes; NaN and infinity become null.
    """
    write_atomically(path, json.dumps(plain(content), indent=2) + '\n')


def plain(value: Any) -> Any:
    """
    Return a value as JSON can hold it: dictionaries for data classes, null for NaN and infinity.

    :param value: the value.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
