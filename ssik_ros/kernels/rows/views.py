"""
Pack several named arrays into one flat integer and one flat float array, and view them there again.

A :class:`Layout` describes where they are. It is made from a named tuple, so that every shape is written only once. The
annotation of a field has the type of its array, then the length of each side: a number, or an expression of ``ints``,
whose first numbers are the header of the problem. The header has the offset of every field.
"""

from collections.abc import Callable, Sequence
import functools
import math
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels._jit import inline_kernel, IS_PLAIN, JIT_DISABLED, matrix, vector

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fields = TypeVar('Fields', bound=tuple[Any, ...])


class Layout(Generic[Fields]):
    """
    Layout of a named tuple whose fields are arrays packed into a flat integer and a flat float array.

    It knows the shape of each field, and stores where each field begins in the header of the integer array.
    """

    def __init__(self, fields: type[Fields], first: int, names: dict[str, Any]) -> None:
        """
        Read type and shape of each field from its annotation.

        :param fields: a named tuple class.
        :param first: index of the header entry that stores where the first field begins.
        :param names: globals of the module, which the shape expressions use.
        """
        hints = [fields.__annotations__[name] for name in fields._fields]  # type: ignore[attr-defined]
        self._fields, self._first, self._names = fields, first, names
        self._is_integer = [hint.__origin__ is Ints for hint in hints]
        self._sides = [tuple(map(str, hint.__metadata__)) for hint in hints]
        self.end = first + len(hints)
        """The first header entry after the entries of the fields."""

    def entry(self, name: str) -> int:
        """
        Return the index of the header entry that stores where the field ``name`` begins.

        :raises ValueError: if no field has this name.
        """
        return self._first + self._fields._fields.index(name)  # type: ignore[attr-defined]

    @functools.cached_property
    def _shapes(self) -> Callable[[list[int]], list[tuple[int, ...]]]:
        """Return a function that maps a header (a list of integers) to the shapes of all fields, in their order."""
        text = ', '.join(f'({", ".join(sides)},)' for sides in self._sides)
        return eval(f'lambda ints: [{text}]', self._names)

    def place(self, header: Ints) -> int:
        """
        Write into a header where each field begins in one float array; return the size of this array, in numbers.

        :param header: has all counts already.
        """
        place = 0
        for entry, shape in enumerate(self._shapes(header.tolist()), self._first):
            header[entry] = place
            place += math.prod(shape)
        return place

    def pack(self, header: Ints, tables: Sequence[Any]) -> tuple[Ints, Floats]:
        """
        Return (integers, floats): all tables packed into two flat arrays; the integers start with the header.

        :param header: has all counts already; where each table begins is written into it.
        :param tables: the rows of each field, in the order of the fields.
        :raises ValueError: if there are not as many tables as fields.
        """
        ints, reals = [header], [np.zeros(0)]
        for k, (is_integer, table) in enumerate(zip(self._is_integer, tables, strict=True)):
            parts: list[Any] = ints if is_integer else reals
            header[self._first + k] = sum(part.size for part in parts)
            parts.append(np.array(table, dtype=np.int64 if is_integer else np.float64).ravel())
        return np.concatenate(ints), np.concatenate(reals)

    def show(self, ints: Ints, reals: Floats) -> Fields:
        """
        Return the fields as a named tuple of views into packed arrays, for Python code outside of kernels.

        :param ints, reals: the packed arrays; the integers start with the header.
        """
        places = ints[self._first : self.end].tolist()
        parts = zip(self._is_integer, places, self._shapes(ints.tolist()), strict=True)
        return self._fields(
            *(
                (ints if is_integer else reals)[place : place + math.prod(shape)].reshape(shape)
                for is_integer, place, shape in parts
            )
        )

    def kernel(self, name: str) -> Any:
        """
        Return a kernel ``name(ints, reals)`` that returns the fields as a named tuple of views.

        Only other kernels call it, and unused views cost nothing there. With the native library, which contains the
        compiled callers, None is returned.
        """
        if JIT_DISABLED and not IS_PLAIN:
            return None
        parts = []
        for entry, sides in enumerate(self._sides, self._first):
            array = 'ints' if self._is_integer[entry - self._first] else 'reals'
            view = 'vector' if len(sides) == 1 else 'matrix'
            parts.append(f'{view}({array}, ints[{entry}], {", ".join(sides)})')
        text = f'def {name}(ints, reals):\n    return fields({", ".join(parts)})\n'
        scope = {**self._names, 'fields': self._fields, 'vector': vector, 'matrix': matrix}
        exec(compile(text, self._names['__file__'], 'exec'), scope)
        return inline_kernel(scope[name])
