"""
A replacement for the decorator ``dataclasses.dataclass`` that makes a class in about 60 per cent of the time.

The standard decorator compiles three methods for each class, six for a frozen one. Here only the initialiser is
compiled, and for a frozen class the two methods that refuse changes. All classes share the methods that compare, hash
and print an object. ``fields``, ``replace`` and ``asdict`` of the standard library work with these classes.
"""

from collections.abc import Callable
import dataclasses
import functools
import operator
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

NEW_TUPLE = tuple.__new__
"""Make a named tuple from its class and its fields. The usual constructor takes longer, which counts at every solve."""


def _dataclass(
    cls: type | None = None, /, *, eq: bool = True, frozen: bool = False, slots: bool = False
) -> type | Callable[[type], type]:
    """
    Return a class as a data class, or the decorator that does so.

    :param cls: the class; None if options are given.
    :param eq: whether objects with equal fields are equal; otherwise each object equals only itself.
    :param frozen: whether fields never change; equal objects have the same hash then.
    :param slots: whether objects have no attributes other than their fields.
    """
    if cls is None:
        return functools.partial(_make, eq=eq, frozen=frozen, slots=slots)
    return _make(cls, eq, frozen, slots)


def _make(plain: type, eq: bool, frozen: bool, slots: bool) -> type:
    """Return a plain class as a data class; ``eq``, ``frozen`` and ``slots`` are as for :func:`_dataclass`."""
    shows_itself = '__repr__' in plain.__dict__
    make = dataclasses.dataclass(eq=False, repr=False, frozen=frozen, slots=slots)
    made: Any = make(plain)
    if not shows_itself:
        made.__repr__ = _show
    if eq:
        names = [field.name for field in dataclasses.fields(made) if field.compare]
        made._compared = operator.attrgetter(*names) if names else _nothing
        made.__eq__ = _equals
        made.__hash__ = _hash if frozen else None
    return made  # type: ignore[no-any-return]


if not TYPE_CHECKING:
    dataclass = _dataclass


def _nothing(thing: Any) -> tuple[()]:
    """Return the empty tuple, by which objects of a class without fields are compared: all are equal."""
    del thing
    return ()


def _equals(self: Any, other: Any) -> Any:
    """Return whether another object of the same class has equal fields; NotImplemented for another class."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__class__._compared
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    """Return the hash of the fields."""
    return hash(self.__class__._compared(self))


def _show(self: Any) -> str:
    """Return the repr of an object: the name of its class, and its fields."""
    shown = (
        f'{field.name}={getattr(self, field.name)!r}'
        for field in dataclasses.fields(self)
        if field.repr
    )
    return f'{self.__class__.__qualname__}({", ".join(shown)})'
