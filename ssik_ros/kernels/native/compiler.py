"""
Compile kernels by numba, for developers who edit them (SSIK_ROS_JIT=1) and for the build of the native library.

Only this module of the package and :mod:`ssik_ros.kernels.native.lane_types` import numba. Machine code is stored in
numba's cache on disk. Each module has a folder named by a hash of the module and of all kernel modules that it imports.
The reason: numba itself checks only the file of the kernel, and would continue to use the old code of a changed callee.
"""

from collections.abc import Callable
import functools
import hashlib
import os
from pathlib import Path
from typing import Any

from llvmlite import ir
import numba
from numba.core import cgutils, config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.types import CPointer, unliteral  # type: ignore[attr-defined]
from numba.extending import intrinsic

from ssik_ros.kernels.native import sources

IS_CACHED = True
"""True stores machine code on disk; the build of the native library stores its own products."""
is_library_checked = False
"""True while the checked flavour of the native library is built; its extension checks addresses against known
arrays."""
on_compiled: Callable[[Any, Any], None] | None = None
"""Callback for each compiled function; gets the Python function and numba's result."""


def compile_kernel(function: Any, forceinline: bool) -> Any:
    """
    Return a kernel as a numba dispatcher, which compiles at the first call with new argument types.

    :param function: a kernel; with NUMBA_DISABLE_JIT it is returned itself.
    :param forceinline: True merges the kernel into each of its callers.
    """
    compiled = numba.njit(
        function,
        nogil=True,
        error_model='numpy',
        fastmath=False,
        forceinline=forceinline,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not IS_CACHED,
    )
    if config.DISABLE_JIT:
        return compiled
    _share_overloads(compiled)
    if IS_CACHED:
        compiled._cache = _Cache.in_folder(function)
    else:
        compiled.add_overload = functools.partial(_note, compiled)
    return compiled


def _note(compiled: Any, result: Any) -> None:
    """
    Store a compiled version of a kernel in its dispatcher, and report it to ``on_compiled`` if that is set.

    :param compiled: numba's dispatcher of the kernel.
    :param result: numba's compilation result for one list of argument types.
    """
    compiled.overloads[tuple(result.signature.args)] = result
    if on_compiled is not None:
        on_compiled(compiled.py_func, result)


def _share_overloads(compiled: Any) -> None:
    """
    Make calls with literal arguments use the ordinary compiled version of a kernel.

    Otherwise numba would compile another version for every literal 0, 2 or True at a call: four times the machine code.

    :param compiled: numba's dispatcher of the kernel, changed in place.
    """
    original = compiled.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        plain = tuple(unliteral(argument) for argument in arguments)
        return original(plain, {name: unliteral(type_) for name, type_ in keywords.items()})

    compiled.get_call_template = get_call_template


@functools.cache
def _closures() -> dict[str, str]:
    """
    Return for each kernel module a hash (16 hex digits) of its file and of all kernel modules that it imports.

    :returns: hash by path of the module's file.
    """
    files = sources.modules()
    digests = {name: sources.digest_of_bytes(path) for name, path in files.items()}
    closures = {}
    for name, imported in sources.imports().items():
        parts = ''.join(digests[part] for part in (*sorted(imported), name))
        closures[str(files[name])] = hashlib.sha256(parts.encode()).hexdigest()[:16]
    return closures


class _Place:
    """
    Cache locator of numba for one kernel: the folder on disk for the machine code of the kernel's module.

    The name of the folder has the name of the module and a hash of its sources.
    """

    def __init__(self, function: Any, file: str) -> None:
        """
        Choose the folder from the hash of the kernel's module; it is not created yet.

        :param function: the kernel, as Python.
        :param file: source file of the kernel.
        """
        self._line, self._py_file = function.__code__.co_firstlineno, file
        root = os.environ.get('SSIK_ROS_CACHE_DIR') or Path.home() / '.cache' / 'ssik_ros'
        closure = _closures().get(file) or sources.digest_of_bytes(Path(file))[:16]
        flavour = '-checked' if config.BOUNDSCHECK else ''
        self._folder = Path(root, f'{Path(file).stem}-{closure}{flavour}')

    @classmethod
    def from_function(cls, function: Any, file: str) -> '_Place':
        """
        Return the object for the cache folder of a kernel; numba calls this.

        :param function: the kernel, as Python.
        :param file: source file of the kernel.
        """
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        """Create the cache folder if it is missing."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the path of the cache folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """
        Return an empty text, because the folder name has a hash of all sources already.

        numba adds the text to its cache key.
        """
        return ''

    def get_disambiguator(self) -> str:
        """Return the first line number of the kernel as a text, which tells kernels of the same name in a file apart."""
        return str(self._line)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    """numba's serialisation of compiled kernels for its cache on disk, with :class:`_Place` as the location."""

    _locator_classes = (_Place,)


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk for one kernel, in the folder of :class:`_Place`."""

    _impl_class = _Implementation

    @classmethod
    def in_folder(cls, function: Any) -> '_Cache':
        """
        Return the cache on disk of a kernel.

        :param function: the kernel, as Python.
        """
        return cls(function)


def _view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """
    Emit LLVM code that returns a view of a part of a flat array; numba calls this for the two intrinsics below.

    :param context, builder, signature: numba's code generator, and the types of the call.
    :param arguments: LLVM values of the array, the first index, and the length of each dimension of the view.
    """
    source = context.make_array(signature.args[0])(context, builder, arguments[0])
    check_part(context, builder, source, arguments[1], arguments[2:])
    data = builder.gep(source.data, [arguments[1]])
    return _array_at(context, builder, signature.return_type, data, arguments[2:])


def check_part(context: Any, builder: Any, source: Any, start: Any, lengths: Any) -> None:
    """
    Emit LLVM code that raises IndexError if a part is not inside its array; nothing unless NUMBA_BOUNDSCHECK is set.

    :param context, builder: numba's code generator.
    :param source: the contiguous array.
    :param start: index of the part's first number.
    :param lengths: length of each dimension of the part.
    """
    if not context.enable_boundscheck:
        return
    room = start.type(1)
    for length in cgutils.unpack_tuple(builder, source.shape):
        room = builder.mul(room, length)
    # Without signs a negative number is a large one.
    fits, size = builder.icmp_unsigned('<=', start, room), start.type(1)
    for length in lengths:
        product = builder.umul_with_overflow(size, length)
        size = builder.extract_value(product, 0)
        fits = builder.and_(fits, builder.not_(builder.extract_value(product, 1)))
    fits = builder.and_(fits, builder.icmp_unsigned('<=', size, builder.sub(room, start)))
    fail_unless(context, builder, fits)


def check_memory(context: Any, builder: Any, address: Any, size: Any) -> None:
    """
    Emit LLVM code that raises IndexError if memory is outside of all arrays registered with the library.

    Nothing is emitted unless the checked flavour of the library is built. Python registers the arrays.

    :param context, builder: numba's code generator.
    :param address: address of the first number.
    :param size: number of numbers of eight bytes.
    """
    if not is_library_checked:
        return
    word = address.type
    kind = ir.FunctionType(ir.IntType(32), [word, word])
    is_inside = cgutils.get_or_insert_function(builder.module, kind, 'ssik_ros_is_inside')
    inside = builder.call(is_inside, [address, size])
    fail_unless(context, builder, builder.icmp_unsigned('!=', inside, inside.type(0)))


def fail_unless(context: Any, builder: Any, fits: Any) -> None:
    """
    Emit LLVM code that raises IndexError unless a condition holds.

    :param context, builder: numba's code generator.
    :param fits: the condition, an LLVM truth value.
    """
    with cgutils.if_unlikely(builder, builder.not_(fits)):
        context.call_conv.return_user_exc(builder, IndexError, ('part is out of bounds',))


def _array_at(context: Any, builder: Any, kind: Any, data: Any, lengths: Any) -> Any:
    """
    Emit LLVM code that makes a numba array over existing memory, with its numbers row by row, and return the array.

    :param kind: numba's type of the array.
    :param data: pointer to the first number.
    :param lengths: length of each dimension.
    """
    from numba.np import arrayobj

    size = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    steps = [size]
    for length in lengths[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    view = context.make_array(kind)(context, builder)
    arrayobj.populate_array(
        view,
        data=data,
        shape=cgutils.pack_array(builder, lengths),
        strides=cgutils.pack_array(builder, steps),
        itemsize=size,
        meminfo=None,
    )
    return view._getvalue()


@intrinsic
def view_vector(typing_context: Any, array: Any, start: Any, size: Any) -> Any:
    """
    Define numba's intrinsic that returns ``size`` numbers of a contiguous array from index ``start`` on as a view.

    The bounds are checked only if NUMBA_BOUNDSCHECK is set. Otherwise a part beyond the array views foreign memory.
    """
    return types.Array(array.dtype, 1, 'C')(array, *[types.intp] * 2), _view


@intrinsic
def view_matrix(typing_context: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
    """
    Define numba's intrinsic that returns a view (rows, columns) of a contiguous array from index ``start`` on.

    The bounds are checked as in :func:`view_vector`, only if NUMBA_BOUNDSCHECK is set.
    """
    return types.Array(array.dtype, 2, 'C')(array, *[types.intp] * 3), _view


def _pointer_to(kind: Any) -> Any:
    """
    Return a numba intrinsic ``pointer(address, size)`` that turns an address into a pointer to ``size`` numbers.

    In the checked flavour of the library, the pointer call raises IndexError for memory outside of registered arrays.

    :param kind: numba's type of the numbers.
    """

    @intrinsic
    def pointer(typing_context: Any, address: Any, size: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            check_memory(context, builder, *arguments)
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return CPointer(kind)(types.int64, types.int64), generate

    return pointer


integer_pointer, float_pointer = _pointer_to(types.int64), _pointer_to(types.float64)
carray = numba.carray


def external_function(name: str, signature: str) -> Any:
    """
    Return a C function of the process as an object that kernels can call.

    :param name: symbol of the C library.
    :param signature: numba's notation, such as ``'int32(int32, uintp)'``.
    """
    from numba.core import sigutils

    arguments, result = sigutils.normalize_signature(signature)
    return types.ExternalFunction(name, result(*arguments))
