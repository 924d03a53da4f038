"""Read the monotonic clock, also inside compiled kernels, so that searches end at most one step after a deadline."""

import sys
import time

import numpy as np

from ssik_ros.kernels._jit import JIT_DISABLED, kernel

CLOCK_MONOTONIC = 6 if sys.platform == 'darwin' else 1
"""The clock of ``time.monotonic_ns``, by its number in the C library."""

if JIT_DISABLED:

    def monotonic_ns(scratch: np.ndarray) -> int:
        """
        Return the time of the monotonic clock [ns].

        :param scratch: not read; the version for compiled kernels at the end of the module needs it.
        """
        return time.monotonic_ns()

else:
    from ssik_ros.kernels.native import compiler

    clock_gettime = compiler.external_function('clock_gettime', 'int32(int32, uintp)')

    @kernel
    def monotonic_ns(scratch: np.ndarray) -> int:
        """
        Return the time of the monotonic clock [ns], inside compiled kernels.

        :param scratch: (2,) int64, overwritten with seconds and nanoseconds.
        """
        clock_gettime(CLOCK_MONOTONIC, scratch.ctypes.data)
        return scratch[0] * 1_000_000_000 + scratch[1]
