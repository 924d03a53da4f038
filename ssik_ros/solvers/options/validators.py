"""
The validators of generate_parameter_library, with similar error texts.

A validator is a name with arguments, such as ``bounds<>: [0.0, 1.0]`` in a parameter file. NaN fails every comparison.
"""

from collections.abc import Callable
import operator
from typing import Any

from ssik_ros.errors import ConfigError, counted, quote, shorten
from ssik_ros.value_class import dataclass

Check = Callable[..., str]
Holds = Callable[[Any, Any], bool]
"""A comparison that NaN fails."""
BELOW, ABOVE = 'below upper bound of', 'above lower bound of'


def _scalar(holds: Holds, demand: str) -> Check:
    """
    Return a check that compares a number with a bound; it returns the error text, empty if the number is right.

    :param holds: the comparison, called with number and bound.
    :param demand: words before the bound in the error text.
    """

    def check(name: str, value: Any, bound: Any) -> str:
        if holds(value, bound):
            return ''
        return f'Parameter {quote(name)} with the value {value} must be {demand} {bound}'

    return check


def _length(holds: Holds, demand: str) -> Check:
    """
    Return a check that compares the number of entries with a size; it returns the error text or an empty text.

    :param holds: the comparison, called with number of entries and size.
    :param demand: words before the size in the error text.
    """

    def check(name: str, value: Any, size: int) -> str:
        if holds(len(value), size):
            return ''
        return f"Length of parameter {quote(name)} is '{len(value)}' but must be {demand} {size}"

    return check


def _element(holds: Holds, demand: str) -> Check:
    """
    Return a check that compares each entry with a bound; it returns a text about the first wrong entry, or ''.

    :param holds: the comparison, called with entry and bound.
    :param demand: words before the bound in the error text.
    """

    def check(name: str, value: Any, bound: Any) -> str:
        wrong = (entry for entry in value if not holds(entry, bound))
        texts = (f'Value {x} in parameter {quote(name)} must be {demand} {bound}' for x in wrong)
        return next(texts, '')

    return check


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


def _element_bounds(name: str, value: Any, lower: Any, upper: Any) -> str:
    if all(lower <= entry <= upper for entry in value):
        return ''
    return f'Value {shorten(list(value))} in parameter {quote(name)} must be within bounds [{lower}, {upper}]'


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One kind of validator: its number of arguments, its check function, and a text for listings of parameters.

    ``check`` is called as ``check(name, value, *arguments)`` and returns the error text, or ''. ``text`` has ``{}`` for
    each argument.
    """

    arity: int
    check: Check
    text: str


RULES: dict[str, Rule] = {
    'bounds': Rule(2, _bounds, 'in [{}, {}]'),
    'lt': Rule(1, _scalar(operator.lt, 'less than'), '< {}'),
    'gt': Rule(1, _scalar(operator.gt, 'greater than'), '> {}'),
    'lt_eq': Rule(1, _scalar(operator.le, BELOW), '<= {}'),
    'gt_eq': Rule(1, _scalar(operator.ge, ABOVE), '>= {}'),
    'one_of': Rule(1, _one_of, 'one of {}'),
    'fixed_size': Rule(1, _length(operator.eq, 'equal to'), '{} entries'),
    'size_gt': Rule(1, _length(operator.gt, 'greater than'), 'more than {} entries'),
    'size_lt': Rule(1, _length(operator.lt, 'less than'), 'fewer than {} entries'),
    'not_empty': Rule(0, _not_empty, 'not empty'),
    'unique': Rule(0, _unique, 'unique entries'),
    'subset_of': Rule(1, _subset_of, 'entries out of {}'),
    'element_bounds': Rule(2, _element_bounds, 'entries in [{}, {}]'),
    'lower_element_bounds': Rule(1, _element(operator.ge, ABOVE), 'entries >= {}'),
    'upper_element_bounds': Rule(1, _element(operator.le, BELOW), 'entries <= {}'),
}


@dataclass(frozen=True, slots=True)
class Validator:
    """
    One validator of one parameter: a rule together with its arguments, such as the bounds 0 and 1.

    ``name`` is the name of the rule. ``check`` is called as ``check(name, value, *arguments)``.
    ``text`` describes the allowed values, such as ``in [0, 1]``.
    """

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


def make_validator(key: str, value: Any, where: str) -> Validator:
    """
    Return the validator that one entry of a ``validation`` mapping describes.

    :param key: the entry's key, such as ``gt_eq<>``.
    :param value: list of arguments; a scalar is one argument, null means no arguments.
    :param where: the parameter and its file, for messages.
    :raises ConfigError: when the validator is unknown or has the wrong number of arguments.
    """
    name = key.removesuffix('<>')
    arguments = tuple(value) if isinstance(value, list) else () if value is None else (value,)
    rule = RULES.get(name)
    if rule is None:
        raise ConfigError.unknown(f'{where}: unknown validator {quote(key)}', name, RULES)
    if len(arguments) != rule.arity:
        raise ConfigError(
            f'{where}: validator {quote(key)} takes {counted(rule.arity, "argument")}, not {len(arguments)}.'
        )
    return Validator(name, arguments, rule.check, rule.text.format(*arguments))
