"""
Numerical kernels: functions of arrays and numbers that are compiled when the package is built.

They allocate no arrays: results are returned as numbers and views, or written into arrays that the caller gives.
"""

from typing import Any


def python_of(function: Any) -> Any:
    """
    Return the plain Python function of a compiled kernel.

    Callers use the plain function where a call with few numbers happens only once.

    :param function: a kernel; a function that is not compiled is returned unchanged.
    """
    owner = getattr(function, '__self__', function)
    return getattr(owner, 'python', None) or getattr(function, 'py_func', function)
