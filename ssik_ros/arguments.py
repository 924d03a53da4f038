"""
Check and convert the arguments of functions that Python programs call.

A wrong argument raises InvalidOption, and an array of a wrong shape DimensionMismatch; the message names the argument.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import functools
import inspect
import math
import os
from pathlib import Path
import reprlib
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, DimensionMismatch, InvalidOption, quote, shorten

_Kind = TypeVar('_Kind')
_Result = TypeVar('_Result')
_Parameters = ParamSpec('_Parameters')
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 200
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = 16
_FLOAT64 = np.dtype(np.float64)
_LISTS = list, tuple
_REAL_KINDS = 'fiu'
"""Kinds of the dtypes of real numbers."""


def names_keywords(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """
    Decorate a function: an unknown keyword raises InvalidOption, which names a similar known keyword, if any.

    :param function: a function whose signature names all its keywords.
    """
    keyword_names = dict.fromkeys(inspect.signature(function).parameters)
    keyword_names.pop('self', None)
    keyword_names.pop('cls', None)

    @functools.wraps(function)
    def call(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        """Call the function; raise InvalidOption for a keyword that its signature does not name."""
        for name in keywords:
            if name not in keyword_names:
                is_constructor = function.__name__ == '__init__'
                called = type(args[0]).__name__ if is_constructor else function.__name__
                raise InvalidOption.unknown(
                    f'{called} has no keyword {quote(name)}', name, keyword_names
                )
        return function(*args, **keywords)

    return call


def shown(value: object) -> str:
    """
    Return the repr of a value on one line, cut after about 200 characters; if the repr fails, a text with its type.

    Of lists, tuples, sets and dictionaries, at most 16 elements are shown.

    :param value: any object, however deep or large.
    """
    try:
        return shorten(repr(value) if isinstance(value, np.ndarray) else _REPR.repr(value))
    except (RecursionError, ValueError):
        return f'an object of type {type(value).__name__}'


def refuse(name: str, value: object, wanted: str) -> NoReturn:
    """
    Raise the error for a wrong argument.

    :param name: the argument.
    :param value: its value.
    :param wanted: description of an allowed value; it ends the sentence of the error.
    :raises InvalidOption: always.
    """
    raise InvalidOption(f'{name} must be {wanted}, not {shown(value)}.', name=name, value=value)


def check_mapping(name: str, value: object, wanted: str) -> Mapping[Any, Any]:
    """
    Return an argument that is a mapping, unchanged.

    :param name: the argument, for messages.
    :param value: the argument.
    :param wanted: description of an allowed value; it ends the sentence of the error.
    :raises InvalidOption: for anything else.
    """
    if not isinstance(value, Mapping):
        refuse(name, value, wanted)
    return value


def check_kind(name: str, value: object, kind: type[_Kind], wanted: str = '') -> _Kind:
    """
    Return an argument that is an instance of a class, unchanged.

    :param name: the argument, for messages.
    :param value: the argument.
    :param kind: the class.
    :param wanted: the class in words; empty for its name.
    :raises InvalidOption: for an object of another class.
    """
    if not isinstance(value, kind):
        refuse(name, value, wanted or f'a {kind.__name__}')
    return value


def check_listed(name: str, value: Any) -> Iterable[Any]:
    """
    Return an argument that is a list or another iterable, unchanged.

    :param name: the argument, for messages.
    :param value: the argument; text and bytes are refused.
    :raises InvalidOption: for anything else.
    """
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        refuse(name, value, 'a list')
    return value


def check_callable(name: str, value: Any, wanted: str = 'a function') -> Any:
    """
    Return an argument that can be called, unchanged.

    :param name: the argument, for messages.
    :param value: the argument.
    :param wanted: description of an allowed value; it ends the sentence of the error.
    :raises InvalidOption: for anything that cannot be called.
    """
    if not callable(value):
        refuse(name, value, wanted)
    return value


def read_path(name: str, value: Any) -> Path:
    """
    Return an argument as a Path; the file need not exist.

    :param name: the argument, for messages.
    :param value: a path or a text that a file system may hold; bytes are refused.
    :raises InvalidOption: for anything else.
    """
    try:
        path = Path(value)
        encoded = os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        refuse(name, value, 'the path of a file')
    if b'\0' in encoded:
        refuse(name, value, 'a path without a zero byte')
    return path


def read_flag(name: str, value: Any) -> bool:
    """
    Return the truth value of an argument.

    :param name: the argument, for messages.
    :param value: any object with a truth value; text and an array of several values have none.
    :raises InvalidOption: for such an object.
    """
    if isinstance(value, str | bytes | bytearray):
        # 'no' and 'false' would be true.
        refuse(name, value, 'True or False')
    try:
        return bool(value)
    except (TypeError, ValueError):
        refuse(name, value, 'True or False')


def read_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """
    Return an argument that is one of the allowed words, unchanged.

    :param name: the argument, for messages.
    :param value: the argument.
    :param choices: the allowed words.
    :raises InvalidOption: for any other value; the message suggests a similar allowed word, if any.
    """
    if not isinstance(value, str) or value not in choices:
        text = describe_choices(shown(value), choices)
        raise InvalidOption(f'{name} is {shown(value)}. {text}', name=name, value=value)
    return value


def read_float(name: str, value: Any) -> float:
    """
    Return an argument as a float, which may be infinite or NaN.

    :param name: the argument, for messages.
    :param value: a real number; truth values and text are refused.
    :raises InvalidOption: for anything else.
    """
    if type(value) is float:
        return value
    if type(value) is int:
        is_number = True
    elif isinstance(value, np.ndarray | np.generic):
        # numpy 1 takes an array of one element for a number.
        is_number = value.ndim == 0 and value.dtype.kind in _REAL_KINDS
    else:
        # Python converts text and buffers, too.
        is_number = hasattr(value, '__float__') and not isinstance(value, bool)
    if not is_number:
        refuse(name, value, 'a number')
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        refuse(name, value, 'a number')


def read_number(name: str, value: Any) -> float:
    """
    Return an argument as a finite float.

    :param name: the argument, for messages.
    :param value: a real number.
    :raises InvalidOption: for anything else.
    """
    number = read_float(name, value)
    if not math.isfinite(number):
        refuse(name, value, 'finite')
    return number


def read_count(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """
    Return an argument as an int from ``least`` to ``most``.

    :param name: the argument, for messages.
    :param value: an integer of Python or numpy; True and 1.0 are refused.
    :param least: smallest allowed value.
    :param most: largest allowed value; None for no limit.
    :raises InvalidOption: for anything else.
    """
    number = as_integer(value)
    if number is None:
        refuse(name, value, 'a whole number')
    if number < least:
        refuse(name, value, f'at least {least}')
    if most is not None and number > most:
        refuse(name, value, f'at most {most}')
    return number


def as_integer(value: Any) -> int | None:
    """
    Return an integer of Python or numpy as an int; None for any other value, such as True and 1.0.

    :param value: any object.
    """
    if isinstance(value, int):
        return None if isinstance(value, bool) else int(value)
    # A duration is an integer of numpy, too.
    is_integer = isinstance(value, np.integer) and not isinstance(value, np.timedelta64)
    return int(value) if is_integer else None


def read_numbers(name: str, value: Any, shape: Sequence[int | None] | None = None) -> FloatArray:
    """
    Return an argument as a new array of floats, which may be infinite or NaN.

    :param name: the argument, for messages.
    :param value: a number, an array, or lists of numbers; True and False among numbers of a list are 1 and 0.
    :param shape: required shape, with None for a size that may be any; without ``shape``, every shape is allowed.
    :raises InvalidOption: for text, truth values, complex numbers and other objects.
    :raises DimensionMismatch: for rows of different length, and for another shape.
    """
    if type(value) is float and shape is None:
        return np.array(value)
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError) as error:
        reason = shorten(error)
        raise DimensionMismatch(f'{name} is no array of numbers: {reason}.') from error
    is_ready = array.dtype == _FLOAT64
    if not is_ready and array.size:
        is_text = isinstance(value, bytearray)
        if is_text or array.dtype.kind not in _REAL_KINDS:
            refuse(name, value, f'an array of real numbers (it is one of {array.dtype})')
    if shape is not None and not (
        len(shape) == array.ndim
        and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    ):
        wanted = ', '.join('n' if size is None else str(size) for size in shape)
        comma = ',' if len(shape) == 1 else ''
        raise DimensionMismatch(
            f'{name} must have the shape ({wanted}{comma}), not {array.shape}.',
            expected=tuple(shape),
            actual=array.shape,
        )
    # An array that is made from a list is new already.
    return array if is_ready and type(value) in _LISTS else array.astype(np.float64)


def as_floats(name: str, value: Any) -> FloatArray:
    """
    Return an argument as an array of floats of any shape, which may be infinite or NaN.

    An array of float64 is returned itself, not as a copy. Other values become a new array.

    :param name: the argument, for messages.
    :param value: a number, an array, or lists of numbers.
    :raises InvalidOption: for text, truth values, complex numbers and other objects.
    :raises DimensionMismatch: for rows of different length.
    """
    is_ready = type(value) is np.ndarray and value.dtype is _FLOAT64
    return value if is_ready else read_numbers(name, value)


def read_one_each(name: str, value: Any, count: int) -> FloatArray:
    """
    Return an argument as a new array (count,) of floats, which may be infinite or NaN; a single number is repeated.

    :param name: the argument, for messages.
    :param value: a number, or ``count`` of them.
    :param count: how many numbers to return.
    :raises InvalidOption: for text, truth values, complex numbers and other objects.
    :raises DimensionMismatch: for another shape.
    """
    array = read_numbers(name, value)
    if array.shape not in ((), (count,)):
        raise DimensionMismatch(
            f'{name} must be one number or {count}, not the shape {array.shape}.',
            expected=(count,),
            actual=array.shape,
        )
    return np.broadcast_to(array, (count,)).astype(np.float64)
