"""Read tables of numbers from CSV files, such as waypoints, tasks, poses and joint paths."""

from array import array
from collections.abc import Collection, Sequence
import csv
from pathlib import Path

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    ConfigError,
    counted,
    DescriptionNotFound,
    InvalidTarget,
    quote,
    reads_file,
)

BYTES = 500
"""Most bytes of a row, on average."""


@reads_file(ConfigError)
def read_table(
    path: Path,
    most: int,
    needed: Sequence[str] = (),
    optional: Collection[str] = (),
    *,
    skips_others: bool = False,
) -> dict[str, FloatArray]:
    """
    Return the columns (m,) of a CSV by their names.

    The first line has the names, every further line finite numbers.

    :param path: the file; spaces around names and blank lines do not count.
    :param most: largest number of rows.
    :param needed: columns that must be there; without any, all columns are read.
    :param optional: columns that are read if the file has them.
    :param skips_others: whether further columns are passed over, instead of refused.
    :raises SsikError: for a file that cannot be read, wrong columns, no rows or too many, and cells that are no
        numbers.
    """
    try:
        if path.stat().st_size > BYTES * most:
            raise InvalidTarget(f"'{path}' is too large: it may have {counted(most, 'row')}.")
        # Spreadsheets begin a file with a mark of its encoding.
        with path.open(encoding='utf-8-sig', newline='') as stream:
            lines = csv.reader(stream)
            header = [name.strip() for name in next(lines, [])]
            names = _check_header(path, header, needed, optional, skips_others)
            places = [header.index(name) for name in names]
            columns = [array('d') for _ in names]
            for row in filter(None, lines):
                if len(row) != len(header):
                    text = f'has {counted(len(row), "cell")}, not {len(header)}'
                    raise InvalidTarget(f"'{path}' line {lines.line_num} {text}.", path=str(path))
                if columns and len(columns[0]) == most:
                    text = f"'{path}' has more than {counted(most, 'row')}."
                    raise InvalidTarget(text, path=str(path))
                for name, column, place in zip(names, columns, places, strict=True):
                    column.append(_number(row[place], name, path, lines.line_num))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise DescriptionNotFound(f"'{path}' cannot be read: {reason}.", path=str(path)) from error
    if not columns or not columns[0]:
        raise InvalidTarget(f"'{path}' has no rows of numbers.", path=str(path))
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def _check_header(
    path: Path,
    header: list[str],
    needed: Sequence[str],
    optional: Collection[str],
    skips_others: bool,
) -> list[str]:
    """Return the names of the columns to read, in the order of the file; raise ConfigError for wrong columns."""
    columns = [name for name in header if not needed or name in needed or name in optional]
    missing = [name for name in needed if name not in header]
    strange = [name for name in header if name not in columns]
    if not missing and not (strange and not skips_others) and len(set(columns)) == len(columns):
        return columns
    wrong = 'the same column twice'
    if missing or strange:
        wrong = f'no column {", ".join(missing)}' if missing else f'a column {quote(strange[0])}'
    names = ', '.join(needed) or 'different columns'
    text = f"'{path}' has {wrong}; the first line names {names}"
    text += f', and where wanted {", ".join(optional)}.' if optional else '.'
    raise ConfigError(text, path=str(path))


def _number(text: str, name: str, path: Path, line: int) -> float:
    """Return the number in a cell; raise InvalidTarget if it is not a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = float('nan')
    if not np.isfinite(number):
        raise InvalidTarget(
            f"'{path}' line {line}: {name} is {quote(text)}, no finite number.",
            path=str(path),
            line=line,
        )
    return number
