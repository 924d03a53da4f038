"""
Arrays behind an address: to unpack an array argument costs a caller from Python 30 to 60 ns, a number 10.

Whoever passes an address keeps the memory alive, and its layout right.
"""

import ctypes
from typing import Any

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
    from ssik_ros.kernels.native import compiler

    @inline_kernel
    def integers_at(address: int, start: int, size: int) -> Any:
        """
        Return ``size`` int64 numbers from the one at ``start`` on, as a view that costs nothing.

        :param address: of the first number.
        """
        return compiler.carray(compiler.integer_pointer(address + WORD * start), (size,))

    @inline_kernel
    def floats_at(address: int, start: int, size: int) -> Any:
        """
        Return ``size`` float64 numbers from the one at ``start`` on, as a view that costs nothing.

        :param address: of the first number.
        """
        return compiler.carray(compiler.float_pointer(address + WORD * start), (size,))
