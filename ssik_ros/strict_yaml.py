"""
YAML as users expect it to be read: no silent surprises, and errors that name file and line.

Differences from ``yaml.safe_load``: a duplicate key is an error, a tab is explained, ``1e-5`` is a float
and ``010`` is ten (number rules of YAML 1.2), a date stays text, and every mapping knows the line of each
of its keys.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import math
from pathlib import Path
import re
from typing import Any
from typing import NoReturn

import yaml

from ssik_ros.errors import ConfigError
from ssik_ros.errors import describe_choices
from ssik_ros.errors import DescriptionNotFound
from ssik_ros.errors import quote

_INT = re.compile(r'^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$')
_FLOAT = re.compile(
    r'^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?'
    r'|[-+]?[0-9]+[eE][-+]?[0-9]+'
    r'|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)
_REPLACED = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float', 'tag:yaml.org,2002:timestamp')


class LocatedMapping(dict[str, Any]):
    """A mapping that knows where each of its keys was written, as ``file:line``."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.places: dict[str, str] = {}


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader with the rules of the module docstring."""


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Return an integer: decimal (leading zeros allowed), 0x or 0o."""
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ('0x', '0o') else int(text)


def _construct_float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    """Return a float; YAML writes infinity and NaN with a leading dot."""
    text = str(loader.construct_scalar(node)).lower()
    return float(text.replace('.inf', 'inf').replace('.nan', 'nan'))


def _construct_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> LocatedMapping:
    """Return the mapping with the lines of its keys, merged keys (<<) first."""
    _refuse_duplicates(loader, node)
    loader.flatten_mapping(node)
    mapping = LocatedMapping()
    for key_node, value_node in node.value:
        key = _key(loader, key_node)
        mapping[key] = loader.construct_object(value_node, deep=True)
        mark = key_node.start_mark
        mapping.places[key] = f'{mark.name}:{mark.line + 1}'
    return mapping


def _key(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    """Return a key as text; a key that is no scalar is an error."""
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(
            None, None, 'a key must be plain text', node.start_mark
        )
    return str(node.value)


def _refuse_duplicates(loader: yaml.SafeLoader, node: yaml.MappingNode) -> None:
    """Raise when a key stands twice in one mapping; merged keys (<<) may be overridden."""
    seen: dict[str, int] = {}
    for key_node, _ in node.value:
        key, line = _key(loader, key_node), key_node.start_mark.line + 1
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f'key {quote(key)} stands already in line {seen[key]}',
                key_node.start_mark,
            )
        seen[key] = line


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver('tag:yaml.org,2002:int', _INT, list('-+0123456789'))
_StrictLoader.add_implicit_resolver('tag:yaml.org,2002:float', _FLOAT, list('-+.0123456789'))
_StrictLoader.add_constructor('tag:yaml.org,2002:int', _construct_int)
_StrictLoader.add_constructor('tag:yaml.org,2002:float', _construct_float)
_StrictLoader.add_constructor('tag:yaml.org,2002:map', _construct_mapping)


def parse_yaml(text: str, source: str = 'text') -> Any:
    """
    Return the content of a YAML text.

    :param text: the YAML text.
    :param source: the file's name for messages.
    :raises ConfigError: with source, line and column.
    """
    try:
        loader = _StrictLoader(text)
        loader.name = source
        return loader.get_single_data()
    except yaml.YAMLError as error:
        raise ConfigError(_explain(error, source), source=source) from error


def _explain(error: yaml.YAMLError, source: str) -> str:
    """Return one line that says where and what."""
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    where = f'{source}, line {mark.line + 1}, column {mark.column + 1}' if mark else source
    problem = getattr(error, 'problem', None) or str(error).replace('\n', ' ')
    if "'\\t'" in problem:
        problem = 'a tab stands where YAML needs spaces'
    return f'{where}: {problem}.'


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
    :param fallback: the answer for mappings that do not come from a file.
    """
    places = mapping.places if isinstance(mapping, LocatedMapping) else {}
    return places.get(key, fallback)


def refuse(place: str, message: str, hint: str = '') -> NoReturn:
    """
    Refuse what stands in a file.

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
    :raises ConfigError: when it is none, or has another key.
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
