"""
Read YAML files of robot makers as MoveIt reads them.

If a key appears twice, its last value counts, and a note says so. Parameters may be at the root of a file or below the
names of nodes. Files of this package are read by :mod:`ssik_ros.strict_yaml` instead.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

from ssik_ros.errors import ConfigError, LocatedMapping, quote
from ssik_ros.strict_yaml import location, parse_yaml, read_text

if TYPE_CHECKING:
    from ssik_ros.yaml_loader import YamlNote


class MakersYaml(NamedTuple):
    """The content of a YAML file of a robot's maker, and notes on faults in it."""

    content: Any
    """Mappings as LocatedMapping, lists and plain values; None if the file is empty."""
    notes: 'tuple[YamlNote, ...]'
    """Faults that MoveIt accepts, such as a key that appears twice."""


def read_makers_yaml(path: str | Path) -> MakersYaml:
    """
    Return the content of a YAML file of a robot's maker, and notes on the faults in it.

    :param path: the file.
    :raises DescriptionNotFound: if the path is not a file.
    :raises ConfigError: if it cannot be read, is not UTF-8 text or not YAML.
    """
    notes: list[YamlNote] = []
    content = parse_yaml(read_text(path), str(path), notes)
    return MakersYaml(content, tuple(notes))


def find_sections(content: Any, prefix: str, source: str) -> list[Mapping[str, Any]]:
    """
    Return all mappings of parameters below a prefix in a file, such as ``robot_description_kinematics``.

    The prefix may be at the root, or below ``ros__parameters`` of any node. Keys at the root that are neither the
    prefix nor a node are returned as one more mapping. Parameters for all nodes (``/**``) come first.

    :param content: the content of a file; None gives an empty list.
    :param prefix: name of the key above the wanted parameters.
    :param source: the file, for messages.
    :raises ConfigError: when the content is not a mapping.
    """
    if content is None:
        return []
    if not isinstance(content, Mapping):
        raise ConfigError(f'{source}: the file is not a mapping but {type(content).__name__}.')
    sections: list[Mapping[str, Any]] = []
    bare = LocatedMapping()
    for key in sorted(content, key=lambda name: name != '/**'):
        value = content[key]
        if key in ('ros__parameters', prefix):
            sections += find_sections(value, prefix, location(content, key, source))
        elif _holds_parameters(value):
            sections += _below_node(value, prefix, location(content, key, source))
        else:
            bare[key] = value
            bare.places[key] = location(content, key, source)
    return [*sections, bare] if bare else sections


def _holds_parameters(value: Any) -> bool:
    """Return whether a mapping has ``ros__parameters``, directly or in a mapping below it."""
    return isinstance(value, Mapping) and (
        'ros__parameters' in value or any(_holds_parameters(inner) for inner in value.values())
    )


def _below_node(node: Mapping[str, Any], prefix: str, source: str) -> list[Mapping[str, Any]]:
    """
    Return the mappings below a prefix among the parameters of a node, or of all nodes in a namespace.

    Raise ConfigError, with file and line, for a ``ros__parameters`` that is not a mapping.
    """
    sections: list[Mapping[str, Any]] = []
    for key, value in node.items():
        place = location(node, key, source)
        if key != 'ros__parameters':
            sections += _below_node(value, prefix, place) if _holds_parameters(value) else []
        elif not isinstance(value, Mapping):
            raise ConfigError(f'{place}: {quote(key)} is not a mapping of parameters.')
        elif prefix in value:
            sections += find_sections(value[prefix], prefix, location(value, prefix, place))
    return sections
