"""Memory and processor time of a process, as the system counts them; nothing else is imported."""

from pathlib import Path
import time

KIB_IN_MIB = 1024.0
PEAK, RESIDENT = 'VmHWM', 'VmRSS'
"""The most memory that a process held at once, and its memory now."""


def memory_mib(process: int | None = None, what: str = PEAK) -> float | None:
    """
    Return the memory of a process [MiB], None where the system does not tell.

    :param process: its number; None means this one.
    :param what: :data:`PEAK` or :data:`RESIDENT`.
    """
    # getrusage does not fit: its figure includes the memory of the parent at the start of this process.
    try:
        lines = Path(f'/proc/{process or "self"}/status').read_text(encoding='ascii').splitlines()
    except OSError:
        return None
    sizes = (float(line.split()[1]) / KIB_IN_MIB for line in lines if line.startswith(what))
    return next(sizes, None)


def processor_seconds(process: int) -> float:
    """
    Return the processor time that all threads of a process have taken [s].

    :param process: its number.
    """
    # clock_getcpuclockid of the C library computes the same number on Linux.
    return time.clock_gettime((~process << 3) | 2)
