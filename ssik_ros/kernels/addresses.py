"""
Arrays behind an address: to unpack an array argument costs a caller from Python 30 to 60 ns, a number 10.

Whoever passes an address keeps the memory alive, and its layout right.
"""

import ctypes
from typing import Any

import numba
from numba.core import types
from numba.core.types import CPointer  # type: ignore[attr-defined]
from numba.extending import intrinsic
import numpy as np

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import JIT_DISABLED

WORD = 8
"""Bytes of a number."""

if JIT_DISABLED:

    def integers_at(address: int, start: int, size: int) -> Any:
        """Return ``size`` int64 numbers from the one at ``start`` on; see the compiled twin below."""
        return np.ctypeslib.as_array(
            (ctypes.c_int64 * int(size)).from_address(int(address + WORD * start))
        )

    def floats_at(address: int, start: int, size: int) -> Any:
        """Return ``size`` float64 numbers from the one at ``start`` on; see the compiled twin below."""
        return np.ctypeslib.as_array(
            (ctypes.c_double * int(size)).from_address(int(address + WORD * start))
        )

else:

    @intrinsic
    def _integers(typing_context: Any, address: Any) -> Any:
        """Return an address as that of integers."""
        signature = CPointer(types.int64)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    @intrinsic
    def _floats(typing_context: Any, address: Any) -> Any:
        """Return an address as that of floats."""
        signature = CPointer(types.float64)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    @inline_kernel
    def integers_at(address: int, start: int, size: int) -> Any:
        """
        Return ``size`` int64 numbers from the one at ``start`` on, as a view that costs nothing.

        :param address: of the first number.
        """
        return numba.carray(_integers(address + WORD * start), (size,))

    @inline_kernel
    def floats_at(address: int, start: int, size: int) -> Any:
        """
        Return ``size`` float64 numbers from the one at ``start`` on, as a view that costs nothing.

        :param address: of the first number.
        """
        return numba.carray(_floats(address + WORD * start), (size,))


def direct_call(function: Any, *argument_types: Any) -> Any:
    """
    Return a kernel as something that is called without a look at the types of its arguments.

    numba's own call compares them with those that it has code for, 30 ns each. Here nobody does: a caller that passes
    anything else reads and writes memory that is not its own.

    :param function: a kernel, compiled here unless it is already.
    :param argument_types: numba's types.
    """
    return function if JIT_DISABLED else function.compile(tuple(argument_types))
