"""
View arrays by their address: a call from Python passes one number instead of many arrays.

The caller of a kernel keeps the memory alive and its layout right. The checked flavour of the native library refuses
addresses that do not come from :func:`address_of`, and views that leave the array.
"""

import ctypes
from typing import Any
import weakref

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, IS_PLAIN, JIT_DISABLED

if JIT_DISABLED and not IS_PLAIN:
    from ssik_ros.kernels.native.library import LIBRARY
else:
    LIBRARY = None

WORD = 8
"""Size of a number [bytes]."""
_IS_CHECKED = hasattr(LIBRARY, 'remember')
_remembered: set[int] = set()


def address_of(array: np.ndarray) -> int:
    """
    Return the memory address of an array's first number, so that a kernel can view the array there.

    The checked library also records the array, and forgets it when the array is deleted.

    :param array: contiguous; the caller keeps it alive.
    """
    address = int(array.ctypes.data)
    if _IS_CHECKED and id(array) not in _remembered:
        _remembered.add(id(array))
        LIBRARY.remember(address, array.nbytes)
        weakref.finalize(array, _forget, id(array), address).atexit = False
    return address


def _forget(identity: int, address: int) -> None:
    """
    Remove a deleted array from the list of arrays that the checked library accepts.

    :param identity: ``id`` of the array.
    :param address: its address, as :func:`address_of` returned it.
    """
    _remembered.discard(identity)
    LIBRARY.forget(address)


if JIT_DISABLED:

    def integers_at(address: int, start: int, size: int) -> Any:
        """
        Return a numpy view of ``size`` int64 numbers that begins ``start`` numbers after an address.

        :param address: memory address [bytes]; a number has eight bytes.
        """
        return np.ctypeslib.as_array(
            (ctypes.c_int64 * int(size)).from_address(int(address + WORD * start))
        )

    def floats_at(address: int, start: int, size: int) -> Any:
        """
        Return a numpy view of ``size`` float64 numbers that begins ``start`` numbers after an address.

        :param address: memory address [bytes]; a number has eight bytes.
        """
        return np.ctypeslib.as_array(
            (ctypes.c_double * int(size)).from_address(int(address + WORD * start))
        )

else:
    from ssik_ros.kernels.native import compiler

    @inline_kernel
    def integers_at(address: int, start: int, size: int) -> Any:
        """
        Return a view of ``size`` int64 numbers that begins ``start`` numbers after an address, inside kernels.

        :param address: memory address [bytes]; a number has eight bytes.
        """
        return compiler.carray(compiler.integer_pointer(address + WORD * start, size), (size,))

    @inline_kernel
    def floats_at(address: int, start: int, size: int) -> Any:
        """
        Return a view of ``size`` float64 numbers that begins ``start`` numbers after an address, inside kernels.

        :param address: memory address [bytes]; a number has eight bytes.
        """
        return compiler.carray(compiler.float_pointer(address + WORD * start, size), (size,))
