"""
Views of flat arrays for artifacts, in place of the kernels' views.

A ``memoryview`` hands out Python's own numbers, with which plain Python calculates twice as fast as with numpy's.
"""

from typing import Any


def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
    """
    Return a table inside a flat array.

    :param array: a numpy array or a memoryview.
    :param start: place of its first number.
    :param rows, columns: its shape.
    """
    part = array[start : start + rows * columns]
    if isinstance(part, memoryview):
        return part.cast('B').cast('d', (rows, columns))
    return part.reshape((rows, columns))
