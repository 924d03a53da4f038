"""
The cache of one kernel: found by its folder alone, and loaded without a compiler.

numba gets its compiler ready before it looks on disk, for each kernel again: it imports what all that it can compile would need,
scipy.linalg among it, 0.25 s of processor time and 30 MB for a process that will compile nothing. Machine code needs
the symbols that it calls, and :mod:`ssik_ros.kernels._called_kernels` looks after those.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

import llvmlite
from numba.core import config
from numba.core.caching import CompileResultCacheImpl
from numba.core.caching import FunctionCache
import numpy as np

_LIBRARIES = (llvmlite.__version__, np.__version__)
"""Machine code of other versions is not loaded; numba looks after its own."""
_machines: dict[int, tuple[Any, ...]] = {}


class _Place:
    """Where the machine code of a kernel lies: its name within the folder of its module's import closure."""

    def __init__(self, line: int, file: str, folder: str) -> None:
        """
        Take the place; nothing is made yet.

        :param line: of the kernel in its file.
        :param file: that the kernel is defined in.
        :param folder: of the kernel's module in the cache.
        """
        self._line, self._py_file, self._folder = line, file, folder

    @classmethod
    def from_function(cls, function: Any, file: str) -> '_Place':
        """
        Return the place of a kernel.

        :param function: the kernel, as Python.
        :param file: that it is defined in.
        """
        return cls(function.__code__.co_firstlineno, file, str(config.CACHE_DIR))

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        os.makedirs(self._folder, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return self._folder

    def get_source_stamp(self) -> tuple[str, ...]:
        """Return what machine code depends on beside sources, which the folder is named by, and numba."""
        return _LIBRARIES

    def get_disambiguator(self) -> str:
        """Return what tells kernels of one name apart."""
        return str(self._line)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    """How a kernel is written and read."""

    _locator_classes = (_Place,)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of a kernel, without what loading does not need."""

    _impl_class = _Implementation

    needs_compiler = True
    """Whether loading has to make numba's symbols known first; not where they are looked for one by one."""

    @classmethod
    def in_folder(cls, function: Any, folder: Path) -> 'KernelCache':
        """
        Return the cache of a kernel.

        :param function: the kernel, as Python.
        :param folder: of its module in the cache.
        """
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            return cls(function)
        finally:
            config.CACHE_DIR = before

    def load_overload(self, signature: Any, context: Any) -> Any:
        """
        Return a kernel from disk, None where it is not there or may not be read.

        :param signature: types of the arguments.
        :param context: numba's target.
        """
        with contextlib.suppress(OSError):
            if self.needs_compiler:
                return super().load_overload(signature, context)
            return self._load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """
        Write a kernel, if the folder may be written.

        :param signature: types of the arguments.
        :param result: numba's record of the compiled function.
        """
        with contextlib.suppress(OSError):
            super().save_overload(signature, result)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        """Return what tells machine code of one kernel apart; the machine is described once, which takes a millisecond."""
        return super()._index_key(signature, _Machine(codegen))


class _Machine:
    """The description of the processor that numba compiles for, read once."""

    def __init__(self, codegen: Any) -> None:
        """
        Take numba's generator of machine code.

        :param codegen: lives as long as the process.
        """
        self._codegen = codegen

    def magic_tuple(self) -> tuple[Any, ...]:
        """Return the description."""
        key = id(self._codegen)
        if key not in _machines:
            _machines[key] = self._codegen.magic_tuple()
        return _machines[key]
