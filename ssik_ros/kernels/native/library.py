"""Load the native library of the kernels, compare it with the sources of a source tree, and return its callables."""

from collections.abc import Callable
from importlib import machinery, util
import json
from pathlib import Path
from typing import Any, TypeVar

from ssik_ros.errors import NativeLibraryError
from ssik_ros.kernels.native import sources, targets

Function = TypeVar('Function', bound=Callable[..., Any])

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / 'sources.json'
"""Hashes of the sources. The file exists only in a source tree, so an installed wheel compares nothing."""
_PREFIX = 'ssik_ros.kernels.'
_BUILD = 'run "make setup", or "python tools/build_native.py" where numba is installed'


def file_of(target: str) -> Path:
    """
    Return the path of the library for a target; the file may be missing.

    :param target: x86_64_v2, x86_64_v3, aarch64, or checked for the library that compares indices with bounds.
    """
    return FOLDER / f'_kernels.{target}.abi3.so'


def _refusal(what: str, mend: str) -> NativeLibraryError:
    """
    Return a NativeLibraryError for a cause and its remedy.

    :param what: the cause, a sentence without a full stop.
    :param mend: the remedy, an instruction to the user.
    """
    return NativeLibraryError(f'{what}: {mend}.', what=what, mend=mend)


def _load() -> Any:
    """
    Load the native library for this machine and return it as a Python extension module.

    :raises NativeLibraryError: if this platform has no library, the library is not built, or it was built from other
        sources.
    """
    names = targets.of_this_machine()
    if not names:
        raise _refusal(*targets.refusal())
    file = next((file for file in map(file_of, names) if file.is_file()), None)
    if file is None:
        raise _refusal(
            f'The native library of the kernels is not built ({file_of(names[0])})', _BUILD
        )
    if MANIFEST.is_file():
        changed = sources.changed(json.loads(MANIFEST.read_text(encoding='utf-8')))
        if changed:
            shown = ', '.join(changed[:3]) + (
                f' and {len(changed) - 3} more' if changed[3:] else ''
            )
            raise _refusal(
                f'The native library was built from other kernels ({shown} changed)',
                f'{_BUILD}, or set SSIK_ROS_JIT=1 while you edit kernels',
            )
    name = f'{__package__}._kernels'
    spec = util.spec_from_file_location(
        name, file, loader=machinery.ExtensionFileLoader(name, str(file))
    )
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LIBRARY = _load()
"""Extension module with ``bind``, ``signatures`` and ``TARGET``."""


class Unlisted:
    """
    Replacement of a kernel that Python cannot call, because ``kernels.txt`` does not list its signature.

    A call raises NativeLibraryError. ``python`` is the Python function of the kernel.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """
        Store the Python function of the kernel in :attr:`python`.

        :param function: the kernel as Python.
        """
        self.python = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """
        Raise an error that explains the missing signature.

        :raises NativeLibraryError: always.
        """
        line = f'{name_of(self.python)}({describe(self.python, arguments)})'
        raise _refusal(
            f'The kernel {name_of(self.python)} is not in the native library',
            f'add the line "{line}" to {sources.SIGNATURES.name} and {_BUILD}, or set SSIK_ROS_JIT=1',
        )


def name_of(function: Callable[..., Any]) -> str:
    """
    Return the name of a kernel as ``kernels.txt`` writes it, such as ``rows.rows.evaluate``.

    :param function: the kernel as Python.
    """
    return f'{function.__module__.removeprefix(_PREFIX)}.{function.__name__}'


def describe(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """
    Return the signature of a kernel's call as ``kernels.txt`` writes it: ``name: type`` for each parameter.

    :param function: the kernel as Python.
    :param arguments: the arguments of the call, which give the types.
    """
    names = function.__code__.co_varnames
    return ', '.join(
        f'{name}: {_type_of(value)}' for name, value in zip(names, arguments, strict=False)
    )


def _type_of(value: Any) -> str:
    """Return the type of an argument as ``kernels.txt`` writes it, such as ``int64`` or ``float64[:, ::1]``."""
    if isinstance(value, tuple):
        return f'({", ".join(map(_type_of, value))})'
    if not hasattr(value, 'ndim') or value.ndim == 0:
        kinds = {'b': 'bool', 'i': 'int64', 'u': 'uint64', 'f': 'float64'}
        kind = getattr(getattr(value, 'dtype', None), 'kind', type(value).__name__[0])
        return kinds.get(kind, type(value).__name__)
    layout = '::1' if value.flags.c_contiguous else ':'
    const = '' if value.flags.writeable else 'const '
    return f'{const}{value.dtype}[{", ".join([":"] * (value.ndim - 1) + [layout])}]'


def kernel(function: Function) -> Function:
    """
    Return the compiled kernel of a function as a callable from the native library.

    If ``kernels.txt`` does not list its signature, the result is an :class:`Unlisted`.

    :param function: the kernel as Python.
    """
    bound: Any = LIBRARY.bind(name_of(function), function, function.__doc__)
    return Unlisted(function) if bound is None else bound  # type: ignore[return-value]
