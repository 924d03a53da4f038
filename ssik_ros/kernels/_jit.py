"""
Decorators of all kernels; they choose the source of the machine code.

Usually kernels come from the native library that was built with the package. Developers who edit kernels set
SSIK_ROS_JIT=1, and numba compiles the called kernels. With NUMBA_DISABLE_JIT=1 kernels run as plain Python. The results
are bitwise equal in all three cases. The functions :func:`vector` and :func:`matrix` return views of a flat array.
"""

from collections.abc import Callable
import os
from typing import Any, TypeVar

Function = TypeVar('Function', bound=Callable[..., Any])


def _is_set(variable: str) -> bool:
    """Return True if an environment variable is set and is neither empty nor ``0``."""
    return os.environ.get(variable, '') not in ('', '0')


IS_PLAIN = _is_set('NUMBA_DISABLE_JIT')
"""True if kernels run as plain Python, as in tests that compare."""
JIT_DISABLED = IS_PLAIN or not _is_set('SSIK_ROS_JIT')
"""True if numba compiles nothing in this process. Then the functions below are replaced by plain Python twins."""

if JIT_DISABLED:

    def vector(array: Any, start: int, size: int) -> Any:
        """
        Return ``size`` numbers of a flat array from index ``start`` on, as a numpy view without a copy.

        This is the version for plain Python; numba uses the version at the end of the module.
        """
        return array[start : start + size]

    def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
        """
        Return ``rows * columns`` numbers of a flat array from index ``start`` on, as a numpy view (rows, columns).

        This is the version for plain Python; numba uses the version at the end of the module.
        """
        return array[start : start + rows * columns].reshape((rows, columns))


if IS_PLAIN:

    def _compile(function: Function, is_merged: bool) -> Function:
        """
        Return the function unchanged, because kernels run as plain Python here (NUMBA_DISABLE_JIT=1).

        :param is_merged: not read.
        """
        return function

elif JIT_DISABLED:
    from ssik_ros.kernels.native import library

    def _compile(function: Function, is_merged: bool) -> Function:
        """
        Return the machine code of a function from the native library, as a callable.

        :param is_merged: not read; the build of the library has merged small kernels already.
        """
        return library.kernel(function)

else:
    from ssik_ros.kernels.native import compiler

    def _compile(function: Function, is_merged: bool) -> Function:
        """
        Return a kernel that numba compiles at its first call.

        :param is_merged: True merges the kernel into each of its callers.
        """
        return compiler.compile_kernel(function, is_merged)  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """
    Return the compiled form of a function, with the settings that every kernel shares.

    Division follows IEEE (no exception), the GIL is released, and no operations are reordered (the results are the same
    bytes everywhere). With NUMBA_DISABLE_JIT=1 the function is returned unchanged.

    :param function: a function of arrays and scalars; scratch and results are arguments.
    """
    return _compile(function, is_merged=False)


def inline_kernel(function: Function) -> Function:
    """
    Return the compiled form of a small function, which the compiler always merges into its callers.

    It suits functions that are called once per joint or that return views: passing an array to them would cost more
    than their work. With NUMBA_DISABLE_JIT=1 the function is returned unchanged.

    :param function: a function of arrays and scalars; scratch and results are arguments.
    """
    return _compile(function, is_merged=True)


if not JIT_DISABLED:

    @inline_kernel
    def vector(array: Any, start: int, size: int) -> Any:
        """
        Return ``size`` numbers of a flat array from ``start`` on, as a view.

        A slice checks its bounds and counts references. This view does neither: the caller keeps the array alive and the
        layout right.
        """
        return compiler.view_vector(array, start, size)

    @inline_kernel
    def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
        """
        Return ``rows * columns`` numbers of a flat array from index ``start`` on, as an unchecked view (rows, columns).

        The caller keeps the array alive and the layout right, as for :func:`vector`.
        """
        return compiler.view_matrix(array, start, rows, columns)
