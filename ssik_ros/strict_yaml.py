"""
Read YAML strictly: a duplicate key is an error, and nearly all errors name file and line.

Differences from ``yaml.safe_load``: a duplicate key is an error, and a tab is explained. ``1e-5`` is a float and
``010`` is ten (number rules of YAML 1.2). A date stays text, and every key is a text. Every mapping knows the line of
each of its keys. If the caller collects notes, faults that MoveIt accepts are notes instead of errors.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
import sys
from typing import Any, NoReturn, TYPE_CHECKING

from ssik_ros.errors import (
    ConfigError,
    counted,
    describe_choices,
    DescriptionNotFound,
    LocatedMapping,
    quote,
    shorten,
)

if TYPE_CHECKING:
    from ssik_ros.yaml_loader import YamlNote


def parse_yaml(text: str, source: str = 'text', notes: 'list[YamlNote] | None' = None) -> Any:
    """
    Return the content of a YAML text: mappings as LocatedMapping, lists and plain values; None if it is empty.

    :param text: the YAML text.
    :param source: name of the file, for messages.
    :param notes: list that is emptied, then filled with the faults that MoveIt's readers accept; None makes them
        errors.
    :raises ConfigError: if the text is not YAML, with source, line and column. Values that nest too deep and forbidden
        characters are reported without line and column.
    """
    # Many robots need no YAML: the import of PyYAML waits for the first text (docs/explanation/performance.md).
    from ssik_ros.yaml_loader import load_text

    return load_text(text, source, notes)


def read_yaml(path: str | Path) -> Any:
    """
    Return the content of a YAML file.

    :param path: the file.
    :raises DescriptionNotFound: if the path is not a file.
    :raises ConfigError: if it cannot be read, is not UTF-8 text or not YAML; see :func:`parse_yaml`.
    """
    return parse_yaml(read_text(path), str(path))


def read_text(path: str | Path) -> str:
    """
    Return the text of a file.

    :param path: the file.
    :raises DescriptionNotFound: if the path is not a file.
    :raises ConfigError: if it cannot be read or is not UTF-8 text.
    """
    path = Path(path)
    if not path.is_file():
        raise DescriptionNotFound(f'There is no file {quote(path)}.', path=path)
    try:
        return path.read_text(encoding='utf-8')
    except UnicodeDecodeError as error:
        raise ConfigError(f'{path}: not UTF-8 text: {error}.', path=path) from error
    except OSError as error:
        raise ConfigError(f'{path}: cannot be read: {error.strerror}.', path=path) from error


def location(mapping: Mapping[str, Any], key: str, fallback: str) -> str:
    """
    Return the place of a key in its file, as ``file:line``.

    :param mapping: the mapping that holds the key.
    :param key: the key.
    :param fallback: place to return if no place is known for the key.
    """
    places = mapping.places if isinstance(mapping, LocatedMapping) else {}
    return places.get(key, fallback)


def refuse(place: str, message: str, hint: str = '') -> NoReturn:
    """
    Raise the error for a wrong entry of a file.

    :param place: place of the entry, as ``file:line``.
    :param message: the fault, without the full stop.
    :param hint: a sentence about valid values.
    :raises ConfigError: always.
    """
    raise ConfigError(f'{place}: {message}. {hint}'.rstrip(), place=place)


def checked_mapping(
    content: Any, place: str, noun: str, allowed: Iterable[str] | None = None
) -> Mapping[str, Any]:
    """
    Return the content of a file if it is a mapping without unknown keys.

    :param content: the mapping, returned unchanged.
    :param place: place of the mapping, as ``file:line``.
    :param noun: its name in messages.
    :param allowed: allowed keys; None allows any key.
    :raises ConfigError: if the content is not a mapping, or has an unknown key.
    """
    if not isinstance(content, Mapping):
        refuse(place, f'{noun} is no mapping but {shorten(repr(content))}')
    for key in content:
        if allowed is not None and key not in allowed:
            hint = describe_choices(str(key), allowed)
            refuse(location(content, key, place), f'unknown key {quote(key)} in {noun}', hint)
    return content


def is_finite_number(value: Any) -> bool:
    """
    Return whether a value of a file is a finite number; False for a truth value, and for a whole number beyond all floats.

    :param value: any value.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def finite_number(value: Any, place: str, noun: str) -> float:
    """
    Return a number of a file as a finite float.

    :param value: the number; a truth value is refused.
    :param place: place of the number, as ``file:line``.
    :param noun: its name in messages.
    :raises ConfigError: for anything else.
    """
    if not is_finite_number(value):
        refuse(place, f'{noun} is no finite number but {shorten(repr(value))}')
    return float(value)


class EntryReader:
    """
    Reads the values of one mapping of a file by key, with a check of each value.

    The methods that read a value raise ConfigError for a wrong one, with its place. They raise KeyError for a key that
    the mapping lacks; only :meth:`mapping` returns an empty mapping then.
    """

    def __init__(self, content: Any, place: str, noun: str, keys: Iterable[str]) -> None:
        """
        Keep the mapping, after a check of its keys.

        :param content: the mapping.
        :param place: place of the mapping, as ``file:line``.
        :param noun: its name in messages.
        :param keys: allowed keys.
        :raises ConfigError: if the content is not a mapping, or has unknown keys.
        """
        self.entry = checked_mapping(content, place, noun, tuple(keys))
        self.place, self.noun = place, noun

    def mapping(self, key: str) -> Mapping[str, Any]:
        """
        Return the mapping below a key, which may have any keys; an empty mapping if the key is missing.

        :raises ConfigError: if the value is not a mapping.
        """
        return checked_mapping(self.entry.get(key, {}), self.where(key), quote(key))

    def choice(self, key: str, choices: Iterable[str]) -> str:
        """Return the value of a key as text; raise ConfigError unless it is one of ``choices``."""
        value = self.entry[key]
        if not isinstance(value, str) or value not in choices:
            self.refuse(key, f'is {shorten(repr(value))}', describe_choices(str(value), choices))
        return str(value)

    def where(self, key: str) -> str:
        """Return the place of the value of a key, as ``file:line``; if it is unknown, the place of the mapping."""
        return location(self.entry, key, self.place)

    def refuse(self, key: str, problem: str, hint: str = '') -> NoReturn:
        """Raise ConfigError about the value of a key, with its place."""
        refuse(self.where(key), f'{quote(key)} of {self.noun} {problem}', hint)

    def text(self, key: str) -> str:
        """Return the value of a key; raise ConfigError unless it is a text that is not empty."""
        value = self.entry[key]
        if not isinstance(value, str) or not value:
            self.refuse(key, f'is no name but {shorten(repr(value))}')
        return value

    def switch(self, key: str) -> bool:
        """Return the value of a key; raise ConfigError unless it is True or False."""
        value = self.entry[key]
        if not isinstance(value, bool):
            self.refuse(key, f'is not true or false but {shorten(repr(value))}')
        return value

    def number(self, key: str) -> float:
        """Return the value of a key as a float; raise ConfigError if it is not a finite number."""
        return finite_number(self.entry[key], self.where(key), quote(key))

    def positive(self, key: str) -> float:
        """Return the value of a key as a float; raise ConfigError if it is negative or not finite."""
        number = self.number(key)
        if number < 0.0:
            self.refuse(key, f'is negative: {number:g}')
        return number

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """Return the value of a key as a tuple of floats; raise ConfigError unless it lists ``count`` finite ones."""
        values = self.entry[key]
        if not isinstance(values, list | tuple) or len(values) != count:
            self.refuse(key, f'is no list of {counted(count, "number")} but {values!r}')
        place, noun = self.where(key), quote(key)
        return tuple(finite_number(value, place, noun) for value in values)
