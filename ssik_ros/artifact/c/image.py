"""
Write and check images: the data of an arm for the C library, as 64-bit words.

:func:`join` makes an image from its sections after :func:`check`, and :func:`split` returns the sections of an image.

An image begins with a head: magic, format, digest of the kernels, number of words, SHA-256 of all other words. A table
with begin and size of each section follows, then the sections. :mod:`ssik_ros.artifact.c.image_rules` has their rules.
"""

import hashlib
import math
from typing import Any

import numpy as np

from ssik_ros.arrays import IntArray
from ssik_ros.artifact.c.image_rules import Cell, LISTS, NUMBERS, PARTS, SECTIONS, Table
from ssik_ros.errors import ModelError

MAGIC = 0x314B4C424B495353
"""The letters SSIKBLK1."""
FORMAT = 3
DIGEST_WORDS = 4
HEAD = 4 + DIGEST_WORDS
"""Words before the table of sections."""


def _value(text: object, names: dict[str, Any]) -> Any:
    """
    Return the value of an expression of the rules, evaluated as Python.

    :param text: the expression, which may also use the lists of ``image_rules.LISTS``.
    :param names: values of the names in the expression.
    """
    lists = {name: np.array(values) for name, values in LISTS.items()}
    return eval(str(text), {**lists, 'HUGE_VAL': math.inf, 'INT64_MAX': 2**63 - 1, **names})


def complete(given: dict[str, int]) -> dict[str, int]:
    """
    Return all numbers of section NUMBERS by name: the given ones, and those that follow from them.

    :param given: numbers that do not follow from others; missing ones are 0.
    """
    values: dict[str, int] = {}
    for name, cell in NUMBERS.items():
        is_given = name in given or cell.low != cell.high
        value = given.get(name, 0) if is_given else _value(cell.low, _lower(values))
        values[name] = int(value)
    return values


def _lower(numbers: dict[str, int]) -> dict[str, int]:
    """Return numbers by their names in lower case, as expressions of the rules use them."""
    return {name.lower(): value for name, value in numbers.items()}


def room_of(numbers: dict[str, int]) -> tuple[int, int, int]:
    """
    Return the size of a solver's memory [words] as (always, for each winding, once if there are windings).

    A winding is here a joint vector that a call for several solutions may write.

    :param numbers: result of :func:`complete`.
    """
    names = _lower(numbers)
    always, each, once = (
        sum(int(_value(room[k], names)) for room in PARTS.values()) for k in range(3)
    )
    return always, each, once


def join(numbers: dict[str, int], parts: dict[str, IntArray], kernels: int) -> IntArray:
    """
    Return the image of an arm, assembled from its sections after a check of all rules.

    :param numbers: result of :func:`complete`.
    :param parts: the words of each section except NUMBERS.
    :param kernels: digest of the kernels that will read the image.
    :raises ModelError: for a section that breaks a rule. The message names the section and the index of the word. For
        section NUMBERS it has the name of the number instead, for a condition only the section.
    """
    sections = {'NUMBERS': np.array(list(numbers.values()), dtype=np.int64), **parts}
    check(sections)
    sizes = np.array([len(sections[name]) for name in SECTIONS])
    begins = HEAD + 2 * len(SECTIONS) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    body = [np.column_stack([begins, sizes]).ravel(), *(sections[name] for name in SECTIONS)]
    words = np.concatenate([np.zeros(HEAD, dtype=np.int64), *body]).astype(np.int64)
    words[: HEAD - DIGEST_WORDS] = MAGIC, FORMAT, kernels, len(words)
    words[HEAD - DIGEST_WORDS : HEAD] = digest_of(words)
    return words


def split(words: IntArray) -> dict[str, IntArray]:
    """Return the sections of an image, as views of its words, by name; the image is not checked."""
    table = words[HEAD : HEAD + 2 * len(SECTIONS)].reshape(-1, 2).tolist()
    rows = zip(SECTIONS, table, strict=True)
    return {name: words[begin : begin + size] for name, (begin, size) in rows}


def check(sections: dict[str, IntArray]) -> None:
    """
    Check that all sections of an image keep their rules; return without a result if they do.

    :param sections: words of each section by name.
    :raises ModelError: for a section that breaks a rule. The message names the section and the index of the word. For
        section NUMBERS it has the name of the number instead, for a condition only the section.
    """
    numbers: dict[str, int] = {}
    for name, rules in SECTIONS.items():
        _check(name, rules, sections[name], numbers)
        if name == 'NUMBERS':
            numbers = _lower(dict(zip(NUMBERS, sections[name].tolist(), strict=True)))


def digest_of(words: IntArray) -> IntArray:
    """Return the SHA-256 hash, as 4 words, of all words of an image except the words of the hash itself."""
    data = words[: HEAD - DIGEST_WORDS].tobytes() + words[HEAD:].tobytes()
    return np.frombuffer(hashlib.sha256(data).digest(), dtype=np.int64)


def _check(name: str, rules: list[Table], words: IntArray, numbers: dict[str, int]) -> None:
    """
    Check that the words of one section keep its rules.

    :param name: name of the section, for messages.
    :param rules: tables of the section.
    :param words: its words.
    :param numbers: the numbers of section NUMBERS by lower-case name, which rules use.
    :raises ModelError: for a broken rule.
    """
    at = 0
    for table in rules:
        rows = int(_value(table.rows, numbers))
        if rows == 0:
            continue
        names: dict[str, Any] = {**numbers, 'i': np.arange(rows)[:, None]}
        sizes = [int(_value(cell.repeats, numbers)) for cell in table.cells]
        end = at + rows * sum(sizes)
        if end > len(words):
            raise ModelError(f'{name} has {len(words)} words; its rules need at least {end}')
        area, column = words[at:end].reshape(rows, sum(sizes)), 0
        for cell, size in zip(table.cells, sizes, strict=True):
            part = area[:, column : column + size]
            wrong = np.argwhere(~_keeps(cell, part, names))
            if len(wrong):
                if cell.kind == 'must':
                    raise ModelError(f'{name} breaks the rule {cell.low}')
                word = at + int(wrong[0, 0]) * sum(sizes) + column + int(wrong[0, 1])
                label = cell.name.upper() if name == 'NUMBERS' else f'{name}[{word}]'
                shown, bounds = _shown(cell, words[word]), f'{cell.low} .. {cell.high}'
                raise ModelError(f'{label} is {shown}, outside {bounds}')
            if cell.name:
                values = _number(cell, part)
                names[cell.name] = (
                    int(values.item()) if table.rows == '1' else values.astype(np.int64)
                )
            column += size
        at = end
    if at != len(words):
        raise ModelError(f'{name} has {len(words)} words; its rules allow {at}')


def _number(cell: Cell, part: IntArray) -> Any:
    """
    Return the contents of 64-bit words: integers for the kinds ``whole`` and ``bits``, else real numbers.

    :param cell: the rule of the words.
    """
    return part if cell.kind in ('whole', 'bits') else np.ascontiguousarray(part).view(np.float64)


def _shown(cell: Cell, word: Any) -> Any:
    """
    Return the integer or real number in one word, for a message.

    :param cell: the rule of the word.
    """
    return _number(cell, np.array([word])).item()


def _keeps(cell: Cell, part: IntArray, names: dict[str, Any]) -> Any:
    """
    Return an array of truth values: which of some words keep the rule of a cell.

    It has the shape of ``part``. For the kind ``must``, a condition without words, it has one column, and one row if
    the condition is the same for all rows.

    :param part: (rows, repeats) words.
    :param names: values of the names that the rule uses.
    """
    values, low = _number(cell, part), _value(cell.low, names)
    if cell.kind == 'must':
        return np.broadcast_to(np.asarray(low, dtype=bool), (1, 1)) if np.ndim(low) == 0 else low
    if cell.kind == 'bits':
        return (values >= 0) & (values < 63) & (low >> np.clip(values, 0, 62) & 1 != 0)
    with np.errstate(invalid='ignore'):
        is_inside = (low <= values) & (values <= _value(cell.high, names))
        if cell.kind == 'counted':
            is_inside &= values == np.rint(values)
    return is_inside | np.isnan(values) if cell.kind == 'maybe' else is_inside
