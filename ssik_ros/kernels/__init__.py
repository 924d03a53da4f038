"""Numerical kernels: plain arrays in, plain arrays out; compiled when the package is built."""

from typing import Any


def python_of(function: Any) -> Any:
    """
    Return a kernel as plain Python, for a single call with few numbers.

    :param function: a kernel.
    """
    owner = getattr(function, '__self__', function)
    return getattr(owner, 'python', None) or getattr(function, 'py_func', function)
