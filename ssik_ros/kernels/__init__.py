"""Numerical kernels: plain arrays in, plain arrays out; compiled when the package is built."""

from typing import Any


def python_of(function: Any) -> Any:
    """
    Return the plain Python function of a kernel, for a single call with few numbers.

    :param function: a kernel; a function that is not compiled is returned as it is.
    """
    owner = getattr(function, '__self__', function)
    return getattr(owner, 'python', None) or getattr(function, 'py_func', function)
