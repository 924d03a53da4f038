"""
Declare which named arrays lie in flat arrays, and view them there.

Each layout is made from a named tuple, so that every shape is written only once. The annotation of a field has the type
of its array, then the length of each side: a number, or an expression.

* :class:`Layout` packs arrays into one flat integer and one flat float array. Its expressions are of ``ints``, whose
  first numbers are the header of the problem. The header has the offset of every field.
* :class:`Memory` is for one flat float array without a header, such as the scratch of a kernel. Its fields lie one after
  the other, and its expressions are of a few counts, such as the number of joints.
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


class _Arrays(Generic[Fields]):
    """Names, types and shapes of the arrays of a layout, from the annotations of a named tuple."""

    def __init__(self, fields: type[Fields], given: Sequence[str], names: dict[str, Any]) -> None:
        """
        Read type and shape of each field from its annotation.

        :param fields: a named tuple class.
        :param given: names that the shape expressions use in addition to the globals.
        :param names: globals of the module, which the shape expressions use.
        """
        hints = [fields.__annotations__[name] for name in fields._fields]  # type: ignore[attr-defined]
        self._fields, self._given, self._names = fields, given, names
        self._is_integer = [getattr(hint, '__origin__', None) is Ints for hint in hints]
        self._sides = [tuple(map(str, getattr(hint, '__metadata__', ()))) for hint in hints]
        self.sources: dict[str, str] = {}
        """Sources of the functions and constants that were made from the layout, by name; they use ``vector``, ``matrix`` and
        names of the module."""

    @functools.cached_property
    def _shapes(self) -> Callable[..., list[tuple[int, ...]]]:
        """Return a function that maps the names that the expressions use to the shapes of all fields, in their order."""
        text = ', '.join(f'({", ".join(sides)},)' if sides else '()' for sides in self._sides)
        return eval(f'lambda {", ".join(self._given)}: [{text}]', self._names)

    def _store(self, name: str, parameters: Sequence[str], body: str) -> None:
        """Store the source of a function with this name, these parameters and this body."""
        self.sources[name] = f'def {name}({", ".join(parameters)}):\n{body}\n'

    def _function(self, name: str) -> Any:
        """Return the function of a stored source."""
        scope = {**self._names, 'vector': vector, 'matrix': matrix}
        exec(compile(self.sources[name], self._names['__file__'], 'exec'), scope)
        return scope[name]

    def _kernel(self, name: str, parameters: Sequence[str], body: str) -> Any:
        """
        Return a function with this name, these parameters and this body as a kernel that only other kernels call.

        Unused views cost nothing there. With the native library, which contains the compiled callers, only the source
        is stored, and None is returned.
        """
        self._store(name, parameters, body)
        if JIT_DISABLED and not IS_PLAIN:
            return None
        return inline_kernel(self._function(name))


class Layout(_Arrays[Fields]):
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
        super().__init__(fields, ['ints'], names)
        self._first = first
        self.end = first + len(self._sides)
        """The first header entry after the entries of the fields."""

    def entry(self, name: str) -> int:
        """
        Return the index of the header entry that stores where the field ``name`` begins.

        :raises ValueError: if no field has this name.
        """
        return self._first + self._fields._fields.index(name)  # type: ignore[attr-defined]

    def place(self, header: Ints) -> int:
        """
        Write into a header where each field begins in one float array; return the size of this array in numbers.

        It is for layouts whose fields are all floats.

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
        """Return a kernel ``name(ints, reals)`` that returns the fields as a named tuple of views."""
        parts = []
        for entry, sides in enumerate(self._sides, self._first):
            array = 'ints' if self._is_integer[entry - self._first] else 'reals'
            view = 'vector' if len(sides) == 1 else 'matrix'
            parts.append(f'{view}({array}, ints[{entry}], {", ".join(sides)})')
        return self._kernel(
            name, ('ints', 'reals'), f'    return {self._fields.__name__}({", ".join(parts)})'
        )


class Memory(_Arrays[Fields]):
    """
    Layout of a named tuple whose arrays lie one after the other in one flat float array.

    A field whose annotation gives no sides is not in that array: it is an argument of the view.
    """

    def __init__(self, fields: type[Fields], counts: str, names: dict[str, Any]) -> None:
        """
        Read the shape of each array from its annotation.

        :param fields: a named tuple class.
        :param counts: names that the shape expressions use for the counts, such as ``'m, n'``; may be empty.
        :param names: globals of the module, which the shape expressions use.
        """
        super().__init__(fields, counts.replace(',', ' ').split(), names)

    def size(self, name: str) -> Any:
        """
        Return a function ``name(counts)`` that returns the size of the flat array, in numbers.

        Each count is an argument of its own. Kernels call the function, and Python code does.
        """
        total = ' + '.join(_product(sides) for sides in self._sides if sides)
        self._store(name, self._given, f'    return {total}')
        function = self._function(name)
        return function if JIT_DISABLED else inline_kernel(function)

    def length(self, name: str) -> int:
        """
        Return the size of the flat array of a layout without counts, in numbers.

        The source of this number, as the constant ``name`` of a module, is stored in ``sources``.
        """
        length = sum(math.prod(shape) for shape in self._shapes() if shape)
        self.sources[name] = f'{name} = {length}\n'
        return length

    def start(self, name: str, *counts: int) -> int:
        """
        Return the index in the flat array at which the field ``name`` begins.

        :param counts: value of each count, in the order of the layout.
        :raises ValueError: if no field has this name.
        """
        before = self._fields._fields.index(name)  # type: ignore[attr-defined]
        return sum(math.prod(shape) for shape in self._shapes(*counts)[:before] if shape)

    def show(self, array: Floats, *counts: int) -> Fields:
        """
        Return the fields as a named tuple of views into the flat array, for Python code outside of kernels.

        All fields must be in this array.

        :param array: the flat array.
        :param counts: value of each count, in the order of the layout.
        """
        views, start = [], 0
        for shape in self._shapes(*counts):
            views.append(array[start : start + math.prod(shape)].reshape(shape))
            start += math.prod(shape)
        return self._fields(*views)

    def kernel(self, name: str) -> Any:
        """
        Return a kernel ``name(array, counts, others)`` that returns the fields as a named tuple of views.

        The others are the fields that are not in the flat array.
        """
        shown, others, lines = [], [], ['    at = 0']
        for field, sides in zip(self._fields._fields, self._sides, strict=True):  # type: ignore[attr-defined]
            shown.append(f'view_{field}' if sides else field)
            if not sides:
                others.append(field)
                continue
            view = 'vector' if len(sides) == 1 else 'matrix'
            lines.append(f'    view_{field} = {view}(array, at, {", ".join(sides)})')
            lines.append(f'    at += {_product(sides)}')
        lines.append(f'    return {self._fields.__name__}({", ".join(shown)})')
        return self._kernel(name, ['array', *self._given, *others], '\n'.join(lines))


def _product(sides: tuple[str, ...]) -> str:
    """Return the expression of an array's number of elements from the expressions of its sides."""
    return ' * '.join(f'({side})' for side in sides)
