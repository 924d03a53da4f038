"""Tables that read as text and as Markdown, filled from the attributes of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
import math
import string
from typing import Any

from ssik_ros.benchmark.harness import markdown_row

MISSING = '-'
Columns = Mapping[str, str]
"""Title of each column, and the format of its cells: ``'{cpu.median:.1f}'`` reads an attribute of an attribute."""


def look_up(row: Any, name: str) -> Any:
    """
    Return an attribute of a row, or an item of a row that was read from a file; None where it is missing.

    :param row: the row.
    :param name: names joined by dots.
    """
    for part in name.split('.'):
        row = row.get(part) if isinstance(row, Mapping) else getattr(row, part, None)
    return row


class _Cells(string.Formatter):
    """Formats the cells of one row."""

    def get_field(self, name: str, arguments: Sequence[Any], named: Any) -> Any:
        return look_up(arguments[0], name), name

    def format_field(self, value: Any, form: str) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return MISSING
        return format(value, form)


def extended(row: Any, **more: Any) -> dict[str, Any]:
    """
    Return the fields of a data class, and more of them, by their names.

    :param row: the data class.
    :param more: values that it does not store.
    """
    return {field.name: getattr(row, field.name) for field in fields(row)} | more


def cells(columns: Columns, row: Any) -> list[str]:
    """
    Return a row as texts; a missing value and NaN are :data:`MISSING`.

    :param columns: what to show.
    :param row: an object, or a mapping.
    """
    return [_Cells().vformat(form, (row,), {}) for form in columns.values()]


def table_of(columns: Columns, rows: Sequence[Any]) -> str:
    """
    Return rows as a table.

    :param columns: what to show.
    :param rows: objects or mappings.
    """
    return table(list(columns), [cells(columns, row) for row in rows])


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """
    Return a table.

    :param header: the columns' names.
    :param lines: as many cells each.
    """
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]

    def line(values: Sequence[str]) -> str:
        return markdown_row(v.rjust(width) for v, width in zip(values, widths, strict=True))

    rule = '|' + '|'.join('-' * (width + 1) + ':' for width in widths) + '|'
    return '\n'.join([line(header), rule, *map(line, lines)])
