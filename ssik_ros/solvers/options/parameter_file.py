"""
Read parameter files in generate_parameter_library syntax, without ROS.

Below the one root key, a mapping with the key ``type`` describes a parameter; any other mapping is a struct that nests
parameters. Maps (``__map_...``) are refused.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import functools
import pkgutil
import re
from typing import Any

from ssik_ros.errors import ConfigError, quote
from ssik_ros.solvers.options.parameters import Parameter, ParameterSchema, ParameterType, REQUIRED
from ssik_ros.solvers.options.validators import make_validator, RULES, Validator
from ssik_ros.strict_yaml import location, parse_yaml

_TYPE = re.compile(r'^(?P<scalar>bool|int|double|string)(?P<array>_array)?(?:_fixed_(?P<n>\d+))?$')
_SIZED = ('string', 'int_array', 'double_array', 'string_array')
"""Types that have variants with a size."""

_LEAF_KEYS = (
    'type',
    'default_value',
    'description',
    'read_only',
    'additional_constraints',
    'validation',
)
_EXCLUSIVE = {
    'bounds': {'lt', 'gt', 'lt_eq', 'gt_eq'},
    'element_bounds': {'lower_element_bounds', 'upper_element_bounds'},
}
"""Two-sided validators, and the one-sided validators that exclude them."""


@functools.cache
def load_schema(resource: str) -> ParameterSchema:
    """
    Return the schema of a parameter file inside an installed package.

    :param resource: ``package:relative/path``.
    :raises ConfigError: if the file does not exist or is malformed.
    """
    return make_schema(parse_yaml(read_resource(resource), resource), resource)


def read_resource(resource: str) -> str:
    """
    Return the text of a file inside an installed package.

    :param resource: ``package:relative/path``.
    :raises ConfigError: if the file does not exist.
    """
    package, _, relative = resource.partition(':')
    try:
        data = pkgutil.get_data(package, relative)
    except (ImportError, OSError) as error:
        raise ConfigError(f'There is no parameter file {quote(resource)}: {error}.') from error
    if data is None:
        raise ConfigError(
            f'There is no parameter file {quote(resource)}: its package has no files.'
        )
    return data.decode()


def make_schema(content: Any, source: str) -> ParameterSchema:
    """
    Return the schema that the content of a parameter file describes.

    :param content: the content, one root key.
    :param source: the file, for messages.
    :raises ConfigError: when it is malformed.
    """
    if not isinstance(content, Mapping) or len(content) != 1:
        raise ConfigError(f'{source}: a parameter file has exactly one root key.')
    root, body = next(iter(content.items()))
    if not isinstance(body, Mapping):
        raise ConfigError(f'{source}: below {quote(root)} stand parameters.')
    return ParameterSchema(str(root), tuple(_leaves(body, '', source)), source)


def _leaves(body: Mapping[str, Any], prefix: str, source: str) -> Iterator[Parameter]:
    for key, value in body.items():
        where = location(body, key, source)
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: '{prefix}{key}' is neither a parameter nor a struct.")
        if key.startswith('__map_'):
            raise ConfigError(f'{where}: maps ({quote(key)}) are not supported.')
        if isinstance(value.get('type'), str):
            yield _make_parameter(prefix + key, value, where)
        else:
            yield from _leaves(value, f'{prefix}{key}.', source)


def _make_parameter(name: str, leaf: Mapping[str, Any], where: str) -> Parameter:
    for key in leaf:
        if key not in _LEAF_KEYS:
            raise ConfigError.unknown(
                f'{where}: parameter {quote(name)} has an unknown key {quote(key)}',
                key,
                _LEAF_KEYS,
            )
    parameter_type, size_limit = _parse_type(leaf['type'], f'{where}: parameter {quote(name)}')
    parameter = Parameter(
        name=name,
        type=parameter_type,
        default=REQUIRED,
        description=str(leaf.get('description', '')),
        read_only=bool(leaf.get('read_only', False)),
        additional_constraints=str(leaf.get('additional_constraints', '')),
        validators=size_limit + _validators(name, leaf.get('validation'), where),
    )
    if leaf.get('default_value') is None and parameter_type.scalar != 'none':
        return parameter
    return dataclasses.replace(parameter, default=_default(parameter, leaf, where))


def _default(parameter: Parameter, leaf: Mapping[str, Any], where: str) -> Any:
    """
    Return the default of a parameter after its checks; raise ConfigError unless it has the declared type exactly.

    A value of a user may be an int for a double, a default may not.

    :param leaf: the mapping that describes the parameter in the file.
    :param where: file and line, for messages.
    """
    value = leaf.get('default_value')
    entries = value if isinstance(value, list) else [value]
    if parameter.type.scalar == 'double' and not all(isinstance(x, float) for x in entries):
        raise ConfigError(
            f'{where}: the default_value of {quote(parameter.name)} must be written as a double, '
            f'such as 1.0, not {value!r}.'
        )
    return parameter.check(value, where)


def _parse_type(text: str, where: str) -> tuple[ParameterType, tuple[Validator, ...]]:
    """
    Return the type with a name, and a tuple with the size limit that a ``_fixed_N`` type implies.

    The tuple is empty for other types. Raise ConfigError for an unknown name; the message begins with ``where``.
    """
    if text == 'none':
        return ParameterType('none', 'none'), ()
    match = _TYPE.match(text)
    if match is None or (match['n'] and match[0].rpartition('_fixed')[0] not in _SIZED):
        scalars = ('bool', 'int', 'double', 'string', 'none')
        arrays = (f'{scalar}_array' for scalar in scalars[:-1])
        raise ConfigError.unknown(
            f'{where} has an unknown type {quote(text)}', text, (*scalars, *arrays)
        )
    limit: tuple[Validator, ...] = ()
    if match['n']:
        rule = RULES['size_lt']
        bound = int(match['n']) + 1
        limit = (Validator('size_lt', (bound,), rule.check, rule.text.format(bound)),)
    return ParameterType(text, match['scalar'], bool(match['array'])), limit


def _validators(name: str, validation: Any, where: str) -> tuple[Validator, ...]:
    """
    Return the validators that a file demands for one parameter.

    Raise ConfigError for an unknown validator, a wrong number of arguments, or a ``validation`` that is not a mapping.
    Raise it also if limits of both sides and of one side are combined.

    :param name: full name of the parameter.
    :param validation: the mapping in the file, or None.
    :param where: file and line, for messages.
    """
    if validation is None:
        return ()
    place = f'{where}: parameter {quote(name)}'
    if not isinstance(validation, Mapping):
        raise ConfigError(f'{place}: validation must be a mapping.')
    made = tuple(make_validator(key, value, place) for key, value in validation.items())
    names = {validator.name for validator in made}
    for both_sides, one_side in _EXCLUSIVE.items():
        if both_sides in names and names & one_side:
            raise ConfigError(
                f'{place}: {both_sides} cannot be combined with {sorted(names & one_side)}.'
            )
    return made
