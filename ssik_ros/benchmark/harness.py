"""Helpers of all benchmarks, also of the scripts in ``bench/``: timed calls, statistics, tables and output files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import gc
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.atomic_files import write_whole
from ssik_ros.errors import writing


def timed_call(call: Callable[..., Any], *arguments: Any) -> tuple[Any, int, int]:
    """
    Call a function, and return (result, wall time [ns], processor time of this process [ns]).

    :param call: the function to time.
    :param arguments: its arguments.
    """
    cpu = process_time_ns()
    wall = perf_counter_ns()
    result = call(*arguments)
    wall = perf_counter_ns() - wall
    cpu = process_time_ns() - cpu
    return result, wall, cpu


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect garbage once, and keep the garbage collector off within the ``with`` block."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def mean(values: Sequence[float] | FloatArray) -> float | None:
    """Return the mean of some numbers; None for an empty sequence."""
    return float(np.mean(values)) if len(values) else None


def percentile(values: Sequence[float] | FloatArray, percent: float) -> float | None:
    """
    Return a percentile of some numbers; None for an empty sequence.

    :param values: the numbers.
    :param percent: 0 to 100; 50 is the median.
    """
    return float(np.percentile(values, percent)) if len(values) else None


def markdown_row(cells: Iterable[str]) -> str:
    """Return cells as one row of a Markdown table."""
    return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |'


def write_atomically(path: Path, text: str) -> None:
    """
    Write a text file in one step: other processes see the old or the new content, never a part of it.

    :param path: the file; missing folders are made.
    :param text: its content.
    :raises InvalidOption: if the file cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
