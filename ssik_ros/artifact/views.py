"""
View tables inside flat arrays in artifacts, generated Python modules.

:func:`matrix` and :func:`work_of` replace the kernels' functions of these names. A ``memoryview`` returns Python's own
numbers, with which plain Python calculates faster than with numpy's.
"""

from typing import Any

from ssik_ros.kernels.closed_form.branches.search import N, view_work

_LAST: list[tuple[Any, Any]] = [(None, None)]
"""The scratch of the last search, and its views."""


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


def work_of(run: Any) -> Any:
    """
    Return the views of a search's scratch. The last views are kept, because plain Python makes views slowly.

    :param run: the arrays of the search.
    """
    work, views = _LAST[0]
    if work is not run.work:
        views = view_work(run.work, run.ints[N], run.capacity)
        _LAST[0] = run.work, views
    return views
