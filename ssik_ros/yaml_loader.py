"""
The loaders that :mod:`ssik_ros.strict_yaml` uses: PyYAML with strict rules; imported when the first text is read.

If PyYAML has libyaml, libyaml parses the text. If it refuses the text, PyYAML's own parser reads it again for a better
message. Python builds the objects in both cases, so a text with too many levels is an error and never overflows the
stack.
"""

import contextlib
import io
import math
import re
from typing import Any, NamedTuple

import yaml

from ssik_ros.errors import ConfigError, LocatedMapping, MALFORMED, quote

_INT = re.compile(r'^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$')
_FLOAT = re.compile(
    r'^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?'
    r'|[-+]?[0-9]+[eE][-+]?[0-9]+'
    r'|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$'
)
_REPLACED = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float', 'tag:yaml.org,2002:timestamp')


class YamlNote(NamedTuple):
    """A fault in a YAML file that MoveIt accepts: the place, the key, and how the value was read."""

    place: str
    """``file:line``."""
    key: str
    """The key, or the tag, that has the fault."""
    text: str
    """The fault, and how the place was read."""

    def __str__(self) -> str:
        """Return the note as one line."""
        return f'{self.place}: {self.text}'


MOST_VALUES = 2_000_000
"""Values of a document whose aliases are written out; more could exhaust memory."""


class _Located:
    """
    Mixin for YAML loaders: exceptions that malformed content causes become a ConstructorError with the line.

    A RecursionError, for values that nest too deep, is raised as it is.
    """

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return the value of a node; malformed content raises ConstructorError with the line of the node."""
        try:
            return super().construct_object(node, deep)  # type: ignore[misc]
        except RecursionError:
            raise
        except MALFORMED as error:
            shown = f'{quote(node.value)} ' if isinstance(node, yaml.ScalarNode) else 'the value '
            kind = str(node.tag).rpartition(':')[2]
            raise yaml.constructor.ConstructorError(
                None, None, f'{shown}is no {kind}', node.start_mark
            ) from error


class _StrictLoader(_Located, yaml.SafeLoader):
    """PyYAML's SafeLoader, written in Python, with the strict rules of :mod:`ssik_ros.strict_yaml`."""

    notes: list[YamlNote] | None = None
    """Receives faults that do not stop the reader; None: each fault stops it."""


_LOADERS: list[Any] = [_StrictLoader]

if yaml.__with_libyaml__:
    # yaml.cyaml has no types, so import the parser from its own module.
    from yaml._yaml import CParser

    class _FastLoader(
        _Located,
        yaml.composer.Composer,
        CParser,
        yaml.constructor.SafeConstructor,
        yaml.resolver.Resolver,
    ):
        """Loader with the rules of ``_StrictLoader`` that parses with libyaml, which is faster."""

        notes: list[YamlNote] | None = None

        def __init__(self, text: io.StringIO) -> None:
            """Begin to read a text; its ``name`` appears in messages."""
            CParser.__init__(self, text)
            yaml.composer.Composer.__init__(self)
            yaml.constructor.SafeConstructor.__init__(self)
            yaml.resolver.Resolver.__init__(self)

    _LOADERS.insert(0, _FastLoader)


class _Text(io.StringIO):
    """The text of a file as a stream; PyYAML's messages take the name of the file from its attribute ``name``."""

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
    _find_duplicates(loader, node)
    loader.flatten_mapping(node)
    mapping = LocatedMapping()
    for key_node, value_node in node.value:
        key = _key(loader, key_node)
        mapping[key] = loader.construct_object(value_node, deep=True)
        mark = key_node.start_mark
        mapping.places[key] = f'{mark.name}:{mark.line + 1}'
    return mapping


def _key(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    """Return a key as text; raise ConstructorError for a key that is not a scalar."""
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(
            None, None, 'a key must be plain text', node.start_mark
        )
    return str(node.value)


def _find_duplicates(loader: Any, node: yaml.MappingNode) -> None:
    """
    Check a mapping for keys that appear twice: raise ConstructorError, or add a note if the loader takes notes.

    A key may override one that was merged from another mapping (<<).
    """
    seen: dict[str, int] = {}
    for key_node, _ in node.value:
        key, mark = _key(loader, key_node), key_node.start_mark
        text = f'key {quote(key)} stands already in line {seen.get(key)}'
        if key in seen and loader.notes is None:
            raise yaml.constructor.ConstructorError(None, None, text, mark)
        if key in seen:
            place = f'{mark.name}:{mark.line + 1}'
            loader.notes.append(YamlNote(place, key, f'{text}; the value of this line counts'))
        seen[key] = mark.line + 1


def _construct_tagged(loader: Any, suffix: str, node: yaml.Node) -> Any:
    """
    Return a value that has a tag: ``!degrees`` is converted to radians, and ``!radians`` is read as a number.

    Any other tag, and one of these before anything but a number, adds a note. The value is then read without its tag: a
    mapping, a list or a text. If the loader takes no notes, every tag raises ConstructorError.
    """
    mark = node.start_mark
    if loader.notes is None:
        text = f'could not determine a constructor for the tag {quote("!" + suffix)}'
        raise yaml.constructor.ConstructorError(None, None, text, mark)
    if isinstance(node, yaml.ScalarNode):
        text = str(node.value)
        with contextlib.suppress(ValueError):
            if suffix in ('degrees', 'radians'):
                return math.radians(float(text)) if suffix == 'degrees' else float(text)
    place = f'{mark.name}:{mark.line + 1}'
    loader.notes.append(YamlNote(place, suffix, f'the tag {quote("!" + suffix)} is not used'))
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return text


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
    _loader.add_multi_constructor('!', _construct_tagged)


def load_text(text: str, source: str, notes: list[YamlNote] | None = None) -> Any:
    """
    Return the content of a YAML text.

    :param text: the YAML text.
    :param source: name of the file, for messages.
    :param notes: list that is emptied, then filled with the faults that MoveIt's readers accept; None makes them
        errors.
    :raises ConfigError: as :func:`ssik_ros.strict_yaml.parse_yaml`.
    """
    *fast, plain = _LOADERS
    try:
        for kind in fast:
            with contextlib.suppress(yaml.YAMLError, UnicodeError):
                return _load(kind, text, source, notes)
        return _load(plain, text, source, notes)
    except yaml.YAMLError as error:
        raise ConfigError(_explain(error, source), source=source) from error
    except RecursionError as error:
        raise ConfigError(f'{source}: values nest too deep.', source=source) from error


def _load(kind: Any, text: str, source: str, notes: list[YamlNote] | None) -> Any:
    """
    Return the content of a YAML text, parsed by the loader class ``kind``; None for an empty text.

    ``source`` is the file name for messages. ``notes`` is emptied, then receives the faults that do not stop the
    reader.
    """
    loader = kind(_Text(text, source))
    if notes is not None:
        notes.clear()
    loader.notes = notes
    node = loader.get_single_node()
    if node is None:
        return None
    _check_size(node)
    return loader.construct_document(node)


def _check_size(root: yaml.Node) -> None:
    """
    Raise ComposerError for a document that contains itself, or has more than ``MOST_VALUES`` values.

    An alias counts with all values that it stands for.
    """
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, is_left = stack.pop()
        parts = _parts(node)
        if is_left:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
            if sizes[id(node)] > MOST_VALUES:
                text = f'there are more than {MOST_VALUES} values where aliases are written out'
                raise yaml.composer.ComposerError(None, None, text, node.start_mark)
        elif id(node) in open_nodes:
            text = 'an alias stands inside of its own anchor'
            raise yaml.composer.ComposerError(None, None, text, node.start_mark)
        elif id(node) not in sizes:
            open_nodes.add(id(node))
            stack.append((node, True))
            stack += [(part, False) for part in parts]


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """Return the nodes directly below a node."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _explain(error: yaml.YAMLError, source: str) -> str:
    """Return the place and the problem of a YAML error on one line."""
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    where = f'{source}, line {mark.line + 1}, column {mark.column + 1}' if mark else source
    problem = getattr(error, 'problem', None) or str(error).replace('\n', ' ')
    if "'\\t'" in problem:
        problem = 'a tab stands where YAML needs spaces'
    return f'{where}: {problem}.'
