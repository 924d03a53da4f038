"""
Layouts of several named arrays in one flat array; every shape is written only once, with its name.

A layout is a named tuple. The annotation of a field has the type of its array, then the length of each side: a number,
or an expression of ``ints``, whose first numbers are the header of the problem. The header has the offset of every
field.
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
    """Offsets and shapes of the fields of a named tuple."""

    def __init__(self, fields: type[Fields], first: int, names: dict[str, Any]) -> None:
        """
        Read the annotations.

        :param fields: a named tuple.
        :param first: header entry with the offset of the first field.
        :param names: globals of the module; the expressions use them.
        """
        hints = [fields.__annotations__[name] for name in fields._fields]  # type: ignore[attr-defined]
        self._fields, self._first, self._names = fields, first, names
        self._is_integer = [hint.__origin__ is Ints for hint in hints]
        self._sides = [tuple(map(str, hint.__metadata__)) for hint in hints]
        self.end = first + len(hints)
        """The first header entry after the entries of the fields."""

    def entry(self, name: str) -> int:
        """Return the index of the header entry with the offset of a field."""
        return self._first + self._fields._fields.index(name)  # type: ignore[attr-defined]

    @functools.cached_property
    def _shapes(self) -> Callable[[list[int]], list[tuple[int, ...]]]:
        """Return the function from a header to the shape of each field."""
        text = ', '.join(f'({", ".join(sides)},)' for sides in self._sides)
        return eval(f'lambda ints: [{text}]', self._names)

    def place(self, header: Ints) -> int:
        """Write the offsets of float fields into a header that has all counts; return their total size, in numbers."""
        place = 0
        for entry, shape in enumerate(self._shapes(header.tolist()), self._first):
            header[entry] = place
            place += math.prod(shape)
        return place

    def pack(self, header: Ints, tables: Sequence[Any]) -> tuple[Ints, Floats]:
        """
        Return all tables as one array of integers, which starts with the header, and one of floats.

        :param header: complete but for the places of these tables.
        :param tables: the rows of each field, in the order of the fields.
        """
        ints, reals = [header], [np.zeros(0)]
        for k, (is_integer, table) in enumerate(zip(self._is_integer, tables, strict=True)):
            parts: list[Any] = ints if is_integer else reals
            header[self._first + k] = sum(part.size for part in parts)
            parts.append(np.array(table, dtype=np.int64 if is_integer else np.float64).ravel())
        return np.concatenate(ints), np.concatenate(reals)

    def show(self, ints: Ints, reals: Floats) -> Fields:
        """Return the views that :meth:`kernel` returns, without a kernel."""
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
        Return the kernel ``name(ints, reals)`` that returns the views; unused views cost nothing.

        Only kernels call it. With the native library it does not exist, and this returns None.
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
