"""
Parameters of solvers: a schema that checks values and makes a solver's options of them.

Values may be nested or have dotted names. Errors are a wrong type, a value out of range, an unknown name, a missing
value without a default, and an alias that contradicts the name. An error names file and line if they are given.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import math
import numbers
from typing import Any, TypeVar

import numpy as np

from ssik_ros.arguments import shown
from ssik_ros.errors import describe_choices, InvalidParameter, quote, shorten
from ssik_ros.solvers.options.validators import Validator
from ssik_ros.strict_yaml import location
from ssik_ros.value_class import dataclass

Options = TypeVar('Options')

_INT64 = 2**63


class _Required:
    """Placeholder in the field ``default`` of a parameter that has no default and must be given."""

    def __repr__(self) -> str:
        return 'required'


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class ParameterType:
    """A type of generate_parameter_library, such as ``double``, ``string_array`` or ``none``."""

    name: str
    scalar: str
    """bool, int, double, string or none."""
    is_array: bool = False

    def convert(self, value: Any) -> Any:
        """
        Return the value in this type: a list or array as a tuple, a whole number for a double as a float.

        Numbers and flags of numpy become Python's; nothing else is converted.

        :param value: the value as it was written.
        :raises TypeError: when the value has another type, is NaN, or is a whole number outside the range of the type.
        """
        if not self.is_array:
            return _convert_scalar(self.scalar, value)
        if isinstance(value, list | tuple | np.ndarray):
            return tuple(_convert_scalar(self.scalar, entry) for entry in value)
        raise TypeError(type(value).__name__)


def _convert_scalar(scalar: str, value: Any) -> Any:
    is_bool = isinstance(value, bool | np.bool_)
    if scalar == 'bool' and is_bool:
        return bool(value)
    if scalar == 'string' and isinstance(value, str):
        return str(value)
    is_integer = isinstance(value, numbers.Integral) and not is_bool
    if scalar == 'int' and is_integer and -_INT64 <= value < _INT64:
        return int(value)
    # A larger whole number does not fit into a float.
    is_real = (
        isinstance(value, numbers.Real)
        and not is_bool
        and not (isinstance(value, int) and abs(value) > 2**1023)
    )
    if scalar == 'double' and is_real and not math.isnan(value):
        return float(value)
    if scalar == 'none' and value is None:
        return None
    raise TypeError(type(value).__name__)


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of a parameter file: name, type, default, description and validators.

    ``read_only`` and ``additional_constraints`` are copied from the file; checks do not use them.
    """

    name: str
    """Full name; dots separate nested structs."""
    type: ParameterType
    default: Any
    """The default in the parameter's type, or :data:`REQUIRED`."""
    description: str = ''
    read_only: bool = False
    additional_constraints: str = ''
    validators: tuple[Validator, ...] = ()

    @property
    def allowed(self) -> str:
        """Return a text with the type and the allowed values, such as ``double in [0.0, 1.0]``."""
        parts = [self.type.name, *(validator.text for validator in self.validators)]
        return parts[0] + (' ' + ' and '.join(parts[1:]) if parts[1:] else '')

    def check(self, value: Any, where: str = '') -> Any:
        """
        Convert a value to the parameter's type, check it with all validators, and return it.

        :param value: the value as it was written.
        :param where: file and line, for the message.
        :raises InvalidParameter: for a wrong type or a refused value; has ``key``, ``value`` and ``allowed``.
        """
        try:
            converted = self.type.convert(value)
        except TypeError:
            given = f'{shown(value)} ({type(value).__name__})'
            self._refuse(value, f'Parameter {quote(self.name)} has the value {given}', where)
        for validator in self.validators:
            reason = validator.reason(self.name, converted)
            if reason:
                self._refuse(value, reason, where)
        return converted

    def _refuse(self, value: Any, reason: str, where: str) -> None:
        default = '' if self.default is REQUIRED else f', default: {self.default!r}'
        raise InvalidParameter(
            _at(where) + f'{reason}. Allowed: {self.allowed}{default}.',
            key=self.name,
            value=value,
            allowed=self.allowed,
        )


@dataclass(frozen=True, slots=True)
class ParameterSchema:
    """All parameters of one parameter file, in the order of the file."""

    name: str
    """The root key."""
    parameters: tuple[Parameter, ...]
    source: str
    """The file, for messages."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the full names of all parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def parameter(self, name: str) -> Parameter:
        """
        Return a parameter by its full name.

        :param name: the full name.
        :raises InvalidParameter: if the schema has no such parameter; the text has a similar name, if any.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise self._unknown(name, name, '', self.names)

    def check(
        self,
        values: Mapping[str, Any],
        aliases: Mapping[str, str] | None = None,
        where: str = '',
    ) -> dict[str, Any]:
        """
        Convert the given values to their types, check them, and return them by full name; missing ones are left out.

        :param values: nested, or with dotted names.
        :param aliases: full name of a parameter by each of its other names; None means no other names.
        :param where: the file, for messages about mappings that do not know their lines.
        :raises InvalidParameter: for an unknown name, a wrong type, a value out of range, or two different values for
            one parameter.
        """
        aliases = aliases or {}
        checked: dict[str, Any] = {}
        written: dict[str, str] = {}
        for key, value, place in flatten(values, where):
            name = aliases.get(key, key)
            if name not in self.names:
                raise self._unknown(key, value, place, (*self.names, *aliases))
            converted = self.parameter(name).check(value, place)
            if name in checked and checked[name] != converted:
                raise _contradiction(name, written[name], key, (checked[name], converted), place)
            checked[name], written[name] = converted, key
        return checked

    def complete(self, checked: Mapping[str, Any], where: str = '') -> dict[str, Any]:
        """
        Return a value for every parameter by its name: the checked value, else the default.

        :param checked: the result of :meth:`check`.
        :param where: the file, for messages.
        :raises InvalidParameter: when a parameter without default is missing.
        """
        missing = [p for p in self.parameters if p.default is REQUIRED and p.name not in checked]
        if missing:
            names = ', '.join(quote(parameter.name) for parameter in missing)
            raise InvalidParameter(
                _at(where) + f'required but not given: {names}.',
                key=missing[0].name,
                value=None,
                allowed=missing[0].allowed,
            )
        return {p.name: checked.get(p.name, p.default) for p in self.parameters}

    def resolve(
        self,
        values: Mapping[str, Any],
        options_type: type[Options],
        aliases: Mapping[str, str] | None = None,
        where: str = '',
    ) -> Options:
        """
        Return the options dataclass for the given values; missing values get their defaults.

        :param values: nested, or with dotted names.
        :param options_type: a dataclass with one field per parameter; a struct is a nested dataclass.
        :param aliases: full name of a parameter by each of its other names; None means no other names.
        :param where: the file, for messages.
        :raises InvalidParameter: for an unknown name, a wrong type, a value out of range, two different values for one
            parameter, or a missing value without a default.
        """
        return _build(options_type, self.complete(self.check(values, aliases, where), where), '')

    def _unknown(
        self, key: str, value: Any, place: str, names: tuple[str, ...]
    ) -> InvalidParameter:
        return InvalidParameter(
            _at(place)
            + f'{quote(self.name)} has no parameter {quote(key)}. {describe_choices(key, names)}',
            key=key,
            value=value,
            allowed=names,
        )


def _at(place: str) -> str:
    """Return the beginning of a message, ``file:line: ``, for a place in a file; empty for an empty place."""
    return f'{place}: ' if place else ''


def _contradiction(
    name: str, first: str, second: str, values: tuple[Any, Any], place: str
) -> InvalidParameter:
    return InvalidParameter(
        _at(place)
        + f'{quote(first)} ({shorten(repr(values[0]))}) and {quote(second)} ({shorten(repr(values[1]))}) are the same parameter '
        f'{quote(name)} with different values.',
        key=name,
        value=values[1],
        allowed='one value',
    )


def _build(options_type: type[Options], values: Mapping[str, Any], prefix: str) -> Options:
    """
    Return an instance of a dataclass with the values below a prefix as its fields; structs become nested instances.

    :param values: values by full, dotted name.
    :param prefix: beginning of the names, with a dot at the end; empty for the outermost dataclass.
    """
    arguments: dict[str, Any] = {}
    for field in dataclasses.fields(options_type):  # type: ignore[arg-type]
        name = prefix + field.name
        if name in values:
            arguments[field.name] = values[name]
        elif field.default_factory is not dataclasses.MISSING:
            struct = type(field.default_factory())
            arguments[field.name] = _build(struct, values, f'{name}.')
    return options_type(**arguments)


def flatten(values: Mapping[str, Any], where: str = '') -> Iterator[tuple[str, Any, str]]:
    """
    Yield (dotted name, value, file and line) of every leaf of nested mappings.

    :param values: the mapping.
    :param where: the place for mappings that do not know their lines.
    """
    for key, value in values.items():
        place = location(values, key, where)
        if isinstance(value, Mapping):
            for name, leaf, leaf_place in flatten(value, place):
                yield f'{key}.{name}', leaf, leaf_place
        else:
            yield str(key), value, place
