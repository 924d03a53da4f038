"""Whether a first call will have to wait for the compiler."""

from pathlib import Path
from typing import Any

from ssik_ros.kernels._jit import JIT_DISABLED


def has_machine_code(function: Any) -> bool:
    """
    Return whether a kernel's machine code is loaded or on disk, so that its next call will not compile.

    :param function: a kernel.
    """
    if JIT_DISABLED or function.signatures:
        return True
    folder = Path(function.stats.cache_path)
    return any(folder.glob(f'*.{function.__name__}-*.nbi'))
