"""
View tables inside flat arrays in artifacts, generated Python modules, in place of the kernels' function ``matrix``.

A ``memoryview`` returns Python's own numbers, with which plain Python calculates twice as fast as with numpy's.
"""

from typing import Any


def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
    """
    Return a view of a part of a flat array as a table.

    :param array: a numpy array or a memoryview.
    :param start: index of the first number.
    :param rows, columns: shape of the table.
    """
    part = array[start : start + rows * columns]
    if isinstance(part, memoryview):
        return part.cast('B').cast('d', (rows, columns))
    return part.reshape((rows, columns))
