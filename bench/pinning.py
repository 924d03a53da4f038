"""One process on one core, with one thread in every numerical library."""

import os
import sys

ONE_THREAD = (
    'OMP_NUM_THREADS',
    'OPENBLAS_NUM_THREADS',
    'MKL_NUM_THREADS',
    'NUMBA_NUM_THREADS',
    'VECLIB_MAXIMUM_THREADS',
)


def limit_threads() -> None:
    """
    Make sure that the numerical libraries have one thread; starts the program again if they do not.

    They read this once, when they are loaded, which has happened by now.
    """
    limits = dict.fromkeys(ONE_THREAD, '1')
    if not limits.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **limits})


def pin(cpu: int | None = None) -> int | None:
    """
    Keep this process on one core.

    :param cpu: its number; None means the last one allowed, which serves the fewest interrupts.
    :returns: the core, or None where the system has no such call.
    :raises ValueError: for a core that this process may not use.
    """
    if not hasattr(os, 'sched_setaffinity'):
        return None
    allowed = os.sched_getaffinity(0)
    chosen = max(allowed) if cpu is None else cpu
    if chosen not in allowed:
        raise ValueError(f'core {chosen} is not among the usable ones, {sorted(allowed)}')
    os.sched_setaffinity(0, {chosen})
    return chosen
