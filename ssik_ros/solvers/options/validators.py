"""
The validators of generate_parameter_library: what each one refuses, in its words.

A validator is a name with arguments, as ``bounds<>: [0.0, 1.0]`` in a parameter file. Comparisons are
written so that NaN fails them.
"""

from collections.abc import Callable
from typing import Any

from ssik_ros.errors import ConfigError, counted, quote, shorten
from ssik_ros.value_class import dataclass

Check = Callable[..., str]


def _below(name: str, value: Any, bound: Any) -> str:
    return '' if value < bound else _scalar(name, value, f'less than {bound}')


def _above(name: str, value: Any, bound: Any) -> str:
    return '' if value > bound else _scalar(name, value, f'greater than {bound}')


def _at_most(name: str, value: Any, bound: Any) -> str:
    return '' if value <= bound else _scalar(name, value, f'below upper bound of {bound}')


def _at_least(name: str, value: Any, bound: Any) -> str:
    return '' if value >= bound else _scalar(name, value, f'above lower bound of {bound}')


def _scalar(name: str, value: Any, demand: str) -> str:
    return f'Parameter {quote(name)} with the value {value} must be {demand}'


def _bounds(name: str, value: Any, lower: Any, upper: Any) -> str:
    if lower <= value <= upper:
        return ''
    return f'Value {value} in parameter {quote(name)} must be within bounds [{lower}, {upper}]'


def _one_of(name: str, value: Any, allowed: list[Any]) -> str:
    if value in allowed:
        return ''
    return (
        f'Parameter {quote(name)} with the value {quote(value)} is not in the set {list(allowed)}'
    )


def _not_empty(name: str, value: Any) -> str:
    return '' if len(value) else f'Parameter {quote(name)} cannot be empty'


def _unique(name: str, value: Any) -> str:
    if len(set(value)) == len(value):
        return ''
    return f'Parameter {quote(name)} must only contain unique values'


def _subset_of(name: str, value: Any, allowed: list[Any]) -> str:
    for entry in value:
        if entry not in allowed:
            return f'Entry {quote(entry)} in parameter {quote(name)} is not in the set {list(allowed)}'
    return ''


def _fixed_size(name: str, value: Any, size: int) -> str:
    return '' if len(value) == size else _length(name, value, f'equal to {size}')


def _size_gt(name: str, value: Any, size: int) -> str:
    return '' if len(value) > size else _length(name, value, f'greater than {size}')


def _size_lt(name: str, value: Any, size: int) -> str:
    return '' if len(value) < size else _length(name, value, f'less than {size}')


def _length(name: str, value: Any, demand: str) -> str:
    return f"Length of parameter {quote(name)} is '{len(value)}' but must be {demand}"


def _element_bounds(name: str, value: Any, lower: Any, upper: Any) -> str:
    if all(lower <= entry <= upper for entry in value):
        return ''
    return f'Value {shorten(list(value))} in parameter {quote(name)} must be within bounds [{lower}, {upper}]'


def _lower_element_bounds(name: str, value: Any, lower: Any) -> str:
    low = (entry for entry in value if not entry >= lower)
    return next((_element(name, entry, f'above lower bound of {lower}') for entry in low), '')


def _upper_element_bounds(name: str, value: Any, upper: Any) -> str:
    high = (entry for entry in value if not entry <= upper)
    return next((_element(name, entry, f'below upper bound of {upper}') for entry in high), '')


def _element(name: str, entry: Any, demand: str) -> str:
    return f'Value {entry} in parameter {quote(name)} must be {demand}'


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of validator: how many arguments it takes, its check, and its text for listings."""

    arity: int
    check: Check
    text: str


RULES: dict[str, Rule] = {
    'bounds': Rule(2, _bounds, 'in [{}, {}]'),
    'lt': Rule(1, _below, '< {}'),
    'gt': Rule(1, _above, '> {}'),
    'lt_eq': Rule(1, _at_most, '<= {}'),
    'gt_eq': Rule(1, _at_least, '>= {}'),
    'one_of': Rule(1, _one_of, 'one of {}'),
    'fixed_size': Rule(1, _fixed_size, '{} entries'),
    'size_gt': Rule(1, _size_gt, 'more than {} entries'),
    'size_lt': Rule(1, _size_lt, 'fewer than {} entries'),
    'not_empty': Rule(0, _not_empty, 'not empty'),
    'unique': Rule(0, _unique, 'unique entries'),
    'subset_of': Rule(1, _subset_of, 'entries out of {}'),
    'element_bounds': Rule(2, _element_bounds, 'entries in [{}, {}]'),
    'lower_element_bounds': Rule(1, _lower_element_bounds, 'entries >= {}'),
    'upper_element_bounds': Rule(1, _upper_element_bounds, 'entries <= {}'),
}


@dataclass(frozen=True, slots=True)
class Validator:
    """One validator of one parameter."""

    name: str
    arguments: tuple[Any, ...]
    check: Check
    text: str

    def reason(self, parameter: str, value: Any) -> str:
        """
        Return why a value is refused, or an empty string.

        :param parameter: the parameter's name.
        :param value: the value, already of the parameter's type.
        """
        return self.check(parameter, value, *self.arguments)


def make_validator(key: str, value: Any, custom: dict[str, Check], where: str) -> Validator:
    """
    Return the validator that one entry of a ``validation`` mapping describes.

    :param key: the entry's key, such as ``gt_eq<>`` or ``my_namespace::my_check``.
    :param value: the argument list; a scalar is one argument, null is none.
    :param custom: own checks by name; each is called as ``check(name, value, *arguments)``.
    :param where: the parameter and its file, for messages.
    :raises ConfigError: when the validator is unknown or has the wrong number of arguments.
    """
    name = key.removesuffix('<>')
    arguments = tuple(value) if isinstance(value, list) else () if value is None else (value,)
    if name in custom:
        shown = ', '.join(str(argument) for argument in arguments)
        return Validator(name, arguments, custom[name], f'{name}({shown})')
    rule = RULES.get(name)
    if rule is None:
        raise ConfigError.unknown(
            f'{where}: unknown validator {quote(key)}', name, [*RULES, *custom]
        )
    if len(arguments) != rule.arity:
        raise ConfigError(
            f'{where}: validator {quote(key)} takes {counted(rule.arity, "argument")}, not {len(arguments)}.'
        )
    return Validator(name, arguments, rule.check, rule.text.format(*arguments))
