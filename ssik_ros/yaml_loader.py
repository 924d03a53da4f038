"""
The loader of :mod:`ssik_ros.strict_yaml`: PyYAML with strict rules, imported with the first text.

If PyYAML has libyaml, libyaml parses the text. If it refuses the text, PyYAML's own parser reads it again for a better message.
Python builds the objects in both cases, so a text with too many levels is an error and never overflows the stack.
"""

import contextlib
import io
import re
from typing import Any

import yaml

from ssik_ros.errors import ConfigError, LocatedMapping, quote

_INT = re.compile(r'^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$')
_FLOAT = re.compile(
    r'^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?'
    r'|[-+]?[0-9]+[eE][-+]?[0-9]+'
    r'|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)
_REPLACED = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float', 'tag:yaml.org,2002:timestamp')


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader with the rules of strict_yaml."""


_LOADERS: list[Any] = [_StrictLoader]

if yaml.__with_libyaml__:
    # yaml.cyaml has no types, so import the parser from its own module.
    from yaml._yaml import CParser

    class _FastLoader(
        yaml.composer.Composer, CParser, yaml.constructor.SafeConstructor, yaml.resolver.Resolver
    ):
        """The same rules on the events of libyaml."""

        def __init__(self, text: io.StringIO) -> None:
            """Begin to read a text; its ``name`` stands in messages."""
            CParser.__init__(self, text)
            yaml.composer.Composer.__init__(self)
            yaml.constructor.SafeConstructor.__init__(self)
            yaml.resolver.Resolver.__init__(self)

    _LOADERS.insert(0, _FastLoader)


class _Text(io.StringIO):
    """A text that knows the name of its file."""

    def __init__(self, text: str, name: str) -> None:
        """Take the text and the name."""
        super().__init__(text)
        self.name = name


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


for _loader in _LOADERS:
    _loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    _loader.add_implicit_resolver('tag:yaml.org,2002:int', _INT, list('-+0123456789'))
    _loader.add_implicit_resolver('tag:yaml.org,2002:float', _FLOAT, list('-+.0123456789'))
    _loader.add_constructor('tag:yaml.org,2002:int', _construct_int)
    _loader.add_constructor('tag:yaml.org,2002:float', _construct_float)
    _loader.add_constructor('tag:yaml.org,2002:map', _construct_mapping)


def load_text(text: str, source: str) -> Any:
    """
    Return the content of a YAML text.

    :param text: the YAML text.
    :param source: the file's name for messages.
    :raises ConfigError: with source, line and column.
    """
    *fast, plain = _LOADERS
    for loader in fast:
        with contextlib.suppress(yaml.YAMLError):
            return loader(_Text(text, source)).get_single_data()
    try:
        return plain(_Text(text, source)).get_single_data()
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
