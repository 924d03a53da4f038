"""
The one decorator of all kernels, and where their machine code is kept.

numba's own cache looks at the file of the decorated function alone: after a change of a callee in another
file it goes on running the old machine code. Here every module gets a cache folder named by a hash
over its *import closure* within ``kernels`` (its own source and that of every kernel module it imports,
directly or not), so stale code is never found, and a change recompiles only what depends on it.
"""

from collections.abc import Callable
import functools
import hashlib
import inspect
import os
from pathlib import Path
import re
from typing import Any
from typing import TypeVar

import numba
from numba.core import cgutils
from numba.core import sigutils
from numba.core import types
from numba.core.compiler import Flags
from numba.core.types import unliteral  # type: ignore[attr-defined]
from numba.extending import intrinsic

from ssik_ros.kernels._called_kernels import is_possible
from ssik_ros.kernels._called_kernels import keep_apart
from ssik_ros.kernels._called_kernels import put_off_extensions
from ssik_ros.kernels._disk_cache import cache_root
from ssik_ros.kernels._disk_cache import compile_once
from ssik_ros.kernels._disk_cache import use
from ssik_ros.kernels._entrances import for_a_caller
from ssik_ros.kernels._entrances import is_for_kernel
from ssik_ros.kernels._entrances import open_on_demand
from ssik_ros.kernels._kernel_cache import KernelCache

Function = TypeVar('Function', bound=Callable[..., Any])

_IMPORT = re.compile(
    r'^[ \t]*(?:from\s+ssik_ros\.kernels([\w.]*)\s+import\s+(\w+)|import\s+ssik_ros\.kernels([\w.]+))',
    re.MULTILINE,
)
_KERNELS = Path(__file__).parent
_closures: dict[Path, str] = {}

JIT_DISABLED = bool(numba.config.DISABLE_JIT)
"""True when kernels run as plain Python (NUMBA_DISABLE_JIT=1), as tests do to compare both."""


def _direct_imports(source: str) -> list[Path]:
    """Return the kernel files that a source text imports."""
    # What stands behind "import" may be a module of the package before it, or a name of the module.
    names: dict[str, None] = {}
    for package, name, module in _IMPORT.findall(source):
        names |= dict.fromkeys([module] if module else [package, f'{package}.{name}'])
    root = str(_KERNELS)
    files = (os.path.join(root, *name.strip('.').split('.')) + '.py' for name in names if name)
    return [Path(file) for file in files if os.path.isfile(file)]


@functools.cache
def _digest_and_imports(file: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a hash of the source of a kernel file, and the kernel files that it imports; read once."""
    source = Path(file).read_bytes()
    return hashlib.sha256(source).digest(), tuple(map(str, _direct_imports(source.decode())))


def closure_hash(file: Path) -> str:
    """
    Return the hash of a kernel file's source and of all kernel sources it depends on.

    :param file: a Python file within ``kernels``.
    """
    if file not in _closures:
        seen: dict[str, bytes] = {}
        pending = [str(file), __file__]
        while pending:
            current = pending.pop()
            if current not in seen:
                seen[current], imported = _digest_and_imports(current)
                pending += imported
        # Where the kernels lie makes no difference: two checkouts of the same sources share their machine code.
        root = str(_KERNELS)
        digest = hashlib.sha256(str(file).removeprefix(root).encode())
        for path in sorted(seen):
            digest.update(b'\0' + path.removeprefix(root).encode() + b'\0' + seen[path])
        _closures[file] = digest.hexdigest()[:16]
    return _closures[file]


@functools.cache
def _folder_of(file: str) -> Path:
    """Return the folder of a kernel file's import closure in the cache, as it is when the file is imported."""
    path = Path(file)
    return cache_root() / f'{path.stem}-{closure_hash(path)}'


def _compile(function: Function, forceinline: bool) -> Function:
    """Return the compiled function, its cache in the folder of its import closure."""
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # numba asks twice
    compiled = numba.njit(
        function,
        nogil=True,
        error_model='numpy',
        fastmath=False,
        forceinline=forceinline,
        no_cfunc_wrapper=True,
    )
    if not JIT_DISABLED:
        _share_overloads(compiled)
        _share_flags(compiled)
        put_off_extensions(compiled)
        if not function.__defaults__:
            open_on_demand(compiled, functools.partial(_compile, forceinline=False))
        compiled._cache = _CacheOnDemand(
            compiled, _folder_of(function.__code__.co_filename), forceinline
        )
    return compiled  # type: ignore[no-any-return]


class _CacheOnDemand:
    """
    Stands in place of a kernel's cache until that is asked: most kernels of a process never run on their own.

    Each of 500 caches would look for its folder, try to write there, and take half a millisecond of the import.
    """

    def __init__(self, compiled: Any, folder: Path, is_merged: bool) -> None:
        """
        Take the place.

        :param compiled: a dispatcher.
        :param folder: of its module in the cache.
        :param is_merged: whether the kernel is always merged into its callers.
        """
        self._compiled, self._folder, self._is_merged = compiled, folder, is_merged

    def __getattr__(self, name: str) -> Any:
        """Return what the cache itself has under a name, and leave the place to it."""
        return getattr(self._open(), name)

    def _open(self) -> Any:
        """Return the cache itself; numba's lock of the compiler is held by who compiles or loads."""
        compiled = self._compiled
        if compiled._cache is self:
            compiled._cache = KernelCache.in_folder(compiled.py_func, self._folder)
            keep_apart(compiled, is_merged=self._is_merged)
            compile_once(compiled, self._folder)
            use(self._folder)
        return compiled._cache


def _share_overloads(compiled: Any) -> None:
    """
    Make calls with literal arguments use the ordinary version of a kernel.

    numba would compile a version of its own for every literal 0, 2 or True at a call: four times the
    machine code, and as much longer to wait for it, with nothing gained.

    Such a call is one of another kernel, so nobody needs to call what is compiled for it from Python.

    :param compiled: a dispatcher.
    """
    original = compiled.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        plain = tuple(unliteral(argument) for argument in arguments)
        with for_a_caller(is_possible()):
            return original(plain, {name: unliteral(type_) for name, type_ in keywords.items()})

    compiled.get_call_template = get_call_template


class _KernelFlags(Flags):  # type: ignore[misc]
    """Settings of the compiler, compared once: numba asks for their hash at each operator of each kernel."""

    __slots__ = ('_hash',)

    def __init__(self, flags: Flags) -> None:
        """
        Take settings that will not change.

        :param flags: the settings.
        """
        super().__init__(flags)
        self._hash = hash(flags)

    def __hash__(self) -> int:
        """Return the hash of the settings."""
        return self._hash

    def copy(self) -> Flags:
        """Return a copy that may change."""
        return Flags(self)


_shared_flags: dict[Flags, _KernelFlags] = {}


def _share_flags(compiled: Any) -> None:
    """Give the compiler the same settings for each kernel as one object."""

    def customize(flags: Flags) -> Flags:
        flags.no_cpython_wrapper = is_for_kernel() and not compiled.py_func.__defaults__
        return _shared_flags.setdefault(flags, _KernelFlags(flags))

    compiled._compiler._customize_flags = customize


def kernel(function: Function) -> Function:
    """
    Compile a function with the settings every kernel shares.

    Division follows IEEE (no exception), the GIL is released, no fast-math reordering (answers are the
    same bytes everywhere), machine code is kept on disk.

    :param function: a function of arrays and scalars; scratch and results are arguments.
    """
    return _compile(function, forceinline=False)


def inline_kernel(function: Function) -> Function:
    """
    Compile a small function that is always merged into its callers.

    For functions called once per joint or returning views: an array argument is seven machine words, so
    that a call would cost more than the work.

    :param function: as for :func:`kernel`.
    """
    return _compile(function, forceinline=True)


def external_function(name: str, signature: str) -> Any:
    """
    Return a C function of the process as something that kernels can call.

    :param name: symbol of the C library.
    :param signature: numba's notation, such as ``'int32(int32, uintp)'``.
    """
    arguments, result = sigutils.normalize_signature(signature)
    return types.ExternalFunction(name, result(*arguments))


if JIT_DISABLED:

    def vector(array: Any, start: int, size: int) -> Any:
        """Return ``size`` numbers of a flat array from ``start`` on; see the compiled twin below."""
        return array[start : start + size]

    def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
        """Return a table inside a flat array; see the compiled twin below."""
        return array[start : start + rows * columns].reshape((rows, columns))

else:

    def _view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Return an array over a part of a flat one: its first element and its lengths are given."""
        from numba.np import arrayobj  # brings a third of the compiler, which few processes need

        array, start, *lengths = arguments
        source = context.make_array(signature.args[0])(context, builder, array)
        kind = signature.return_type
        size = context.get_constant(
            types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
        )
        steps = [size]
        for length in lengths[:0:-1]:
            steps.insert(0, builder.mul(steps[0], length))
        view = context.make_array(kind)(context, builder)
        arrayobj.populate_array(
            view,
            data=builder.gep(source.data, [start]),
            shape=cgutils.pack_array(builder, lengths),
            strides=cgutils.pack_array(builder, steps),
            itemsize=size,
            meminfo=None,
        )
        return view._getvalue()

    @intrinsic
    def _view_1(typing_context: Any, array: Any, start: Any, size: Any) -> Any:
        """Return a part of a flat array."""
        return types.Array(array.dtype, 1, 'C')(array, *[types.intp] * 2), _view

    @intrinsic
    def _view_2(typing_context: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
        """Return a part of a flat array as a table."""
        return types.Array(array.dtype, 2, 'C')(array, *[types.intp] * 3), _view

    @inline_kernel
    def vector(array: Any, start: int, size: int) -> Any:
        """
        Return ``size`` numbers of a flat array from ``start`` on, as a view that costs nothing.

        A slice checks its bounds and counts references, about 20 ns each time, in loops of 500 ns. This view does
        neither: the caller keeps the array alive and the layout right.
        """
        return _view_1(array, start, size)

    @inline_kernel
    def matrix(array: Any, start: int, rows: int, columns: int) -> Any:
        """Return ``rows`` by ``columns`` numbers of a flat array from ``start`` on; see :func:`vector`."""
        return _view_2(array, start, rows, columns)
