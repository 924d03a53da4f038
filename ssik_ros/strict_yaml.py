"""
Strict YAML: duplicate keys are errors, and errors name file and line.

Differences from ``yaml.safe_load``: a duplicate key is an error, a tab is explained, ``1e-5`` is a float
and ``010`` is ten (number rules of YAML 1.2), a date stays text, and every mapping knows the line of each
of its keys.
"""

from collections.abc import Iterable, Mapping
import math
from pathlib import Path
from typing import Any, NoReturn

from ssik_ros.errors import (
    ConfigError,
    describe_choices,
    DescriptionNotFound,
    LocatedMapping,
    quote,
)


def parse_yaml(text: str, source: str = 'text') -> Any:
    """
    Return the content of a YAML text.

    :param text: the YAML text.
    :param source: the file's name for messages.
    :raises ConfigError: with source, line and column.
    """
    # Many robots need no YAML: the import of PyYAML waits for the first text (docs/explanation/performance.md).
    from ssik_ros.yaml_loader import load_text

    return load_text(text, source)


def read_yaml(path: str | Path) -> Any:
    """
    Return the content of a YAML file.

    :param path: the file.
    :raises DescriptionNotFound: when there is no such file.
    :raises ConfigError: when it is not UTF-8 text or not YAML; with line and column.
    """
    path = Path(path)
    if not path.is_file():
        raise DescriptionNotFound(f'There is no file {quote(path)}.', path=path)
    try:
        text = path.read_text(encoding='utf-8')
    except UnicodeDecodeError as error:
        raise ConfigError(f'{path}: not UTF-8 text: {error}.', path=path) from error
    except OSError as error:
        raise ConfigError(f'{path}: cannot be read: {error.strerror}.', path=path) from error
    return parse_yaml(text, str(path))


def location(mapping: Mapping[str, Any], key: str, fallback: str) -> str:
    """
    Return where a key was written.

    :param mapping: the mapping that holds the key.
    :param key: the key.
    :param fallback: the place for mappings that do not come from a file.
    """
    places = mapping.places if isinstance(mapping, LocatedMapping) else {}
    return places.get(key, fallback)


def refuse(place: str, message: str, hint: str = '') -> NoReturn:
    """
    Raise the error for a wrong entry of a file.

    :param place: where, as ``file:line``.
    :param message: what is wrong, without the full stop.
    :param hint: a sentence about what would be right.
    :raises ConfigError: always.
    """
    raise ConfigError(f'{place}: {message}. {hint}'.rstrip(), place=place)


def checked_mapping(
    content: Any, place: str, what: str, known: Iterable[str] | None = None
) -> Mapping[str, Any]:
    """
    Return a mapping whose keys are known.

    :param content: the mapping.
    :param place: where it was written.
    :param what: its name in messages.
    :param known: the keys that it may have; None for any.
    :raises ConfigError: when the content is no mapping, or has an unknown key.
    """
    if not isinstance(content, Mapping):
        refuse(place, f'{what} is no mapping but {content!r}')
    for key in content:
        if known is not None and key not in known:
            hint = describe_choices(str(key), known)
            refuse(location(content, key, place), f'unknown key {quote(key)} in {what}', hint)
    return content


def finite_number(value: Any, place: str, what: str) -> float:
    """
    Return a finite number.

    :param value: the number; truth values are none.
    :param place: where it was written.
    :param what: its name in messages.
    :raises ConfigError: for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        refuse(place, f'{what} is no finite number but {value!r}')
    return float(value)
