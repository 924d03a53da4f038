"""
From the source of one kernel module to LLVM's intermediate code, using only numba's type inference and lowering.

numba links every kernel with copies of all its callees, optimises the whole, and does so again for each caller. Here
each function is lowered once, by the module that first needs it, and calls the others by their symbols. A module's
record holds the types and symbols that its callers need.
"""

from collections.abc import Iterable
import importlib
import itertools
import pickle
from typing import Any, NamedTuple

from llvmlite import binding as llvm, ir
from numba.core import bytecode, callconv, cgutils, codegen, config, cpu, lowering
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext

from native import signatures

PACKAGE = 'ssik_ros.kernels'
NUMBERS_A_MODULE = 100_000
"""
numba numbers the functions that it compiles. Each module has a range of its own, so that all symbols of the library
differ.
"""


class Compiled(NamedTuple):
    """One kernel, compiled for one list of types."""

    module: str
    name: str
    arguments: tuple[Any, ...]
    signature: Any
    descriptor: Any


class Record(NamedTuple):
    """Types and symbols of a module that its callers need."""

    compiled: tuple[Compiled, ...]
    rows: tuple[tuple[str, str], ...]
    """Each kernel that Python may call, and the codes of its return value."""


OUTSIDE = 'reads or writes outside of an array'
"""Message of the checked flavour for a function whose index or view does not fit."""
_made: list[Any] = []
"""The libraries that numba made in this process, in their order."""


def patch_numba(is_checked: bool) -> None:
    """
    Keep numba from linking, optimising and emitting: each function stays in a library of its own.

    Reference counting is off, because kernels allocate nothing; if one does, the linker misses a symbol. An exception
    becomes a number: kernels raise no exceptions, but numba's own functions do for shapes that do not fit.

    :param is_checked: whether indices are compared with the bounds of arrays, and an exception says where it was raised.
    """

    def finalize(self: Any) -> None:
        if not self._finalized:
            self._finalized = True
            _made.append(self)

    def get_executable(self: Any, library: Any, descriptor: Any, environment: Any) -> Any:
        library._ensure_finalized()
        return _stand_in(descriptor)

    codegen.CPUCodeLibrary.finalize = finalize
    codegen.CPUCodeLibrary._optimize_functions = lambda self, module: None

    def fail(self: Any, builder: Any, *arguments: Any, **keywords: Any) -> None:
        self._return_errcode_raw(builder, callconv.RETCODE_USEREXC)

    cpu.CPUContext.get_executable = get_executable
    callconv.CPUCallConv.return_user_exc = callconv.CPUCallConv.return_dynamic_user_exc = fail
    NRTContext.incref = NRTContext.decref = lambda self, builder, type_, value: None
    if is_checked:
        _compare_indices()
    # numba imports its own operators when it first compiles: once here, not in the process of each module.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def _compare_indices() -> None:
    """Make numba compare indices with bounds, and tell the extension where an exception passes, from the inside out."""
    config.BOUNDSCHECK = 1
    places = ['numba']
    lower_instruction = lowering.Lower.lower_inst

    def lower_and_keep_place(self: Any, instruction: Any) -> None:
        function = self.func_ir.func_id
        module = function.modname.removeprefix(f'{PACKAGE}.')
        places.append(f'{module}.{function.func_qualname} (line {self.loc.line})')
        lower_instruction(self, instruction)
        places.pop()

    def tell(context: Any, builder: Any, text: str) -> None:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer])
        function = cgutils.get_or_insert_function(builder.module, kind, 'ssik_ros_failed_at')
        builder.call(function, [context.insert_const_string(builder.module, text)])

    def fail(self: Any, builder: Any, exception: Any, *arguments: Any, **keywords: Any) -> None:
        what = OUTSIDE if exception is IndexError else f'raises {exception.__name__}'
        tell(self.context, builder, f'{places[-1]} {what}')
        self._return_errcode_raw(builder, callconv.RETCODE_USEREXC)

    def propagate(self: Any, builder: Any, status: Any) -> None:
        tell(self.context, builder, f', called by {places[-1]}')
        self._return_errcode_raw(builder, status.code)

    lowering.Lower.lower_inst = lower_and_keep_place
    callconv.CPUCallConv.return_user_exc = callconv.CPUCallConv.return_dynamic_user_exc = fail
    callconv.CPUCallConv.return_status_propagate = propagate


def _stand_in(descriptor: Any) -> Any:
    """Return a callable of its own kind and identity, which is all that numba wants of a compiled function here."""
    return [descriptor].append


def dispatcher_of(module: str, name: str) -> Any:
    """Return numba's object of a kernel."""
    return getattr(importlib.import_module(f'{PACKAGE}.{module}'), name)


def load(records: Iterable[Record]) -> None:
    """
    Register the functions that other modules have compiled.

    :param records: of those modules.
    """
    for record in records:
        for compiled in record.compiled:
            _make_known(compiled)


def _make_known(compiled: Compiled) -> None:
    """Add a kernel that another process compiled to numba's dispatcher."""
    dispatcher = dispatcher_of(compiled.module, compiled.name)
    if compiled.arguments in dispatcher.overloads:
        return
    context = dispatcher.targetctx
    library = context.codegen().create_library(compiled.name)
    library._finalized = True
    entry = _stand_in(compiled.descriptor)
    context.insert_user_function(entry, compiled.descriptor, [library])
    fields = dict.fromkeys(CompileResult._fields)
    fields |= {
        'typing_context': context.typing_context,
        'target_context': context,
        'entry_point': entry,
        'library': library,
        'signature': compiled.signature,
        'fndesc': compiled.descriptor,
        'objectmode': False,
    }
    dispatcher.overloads[compiled.arguments] = CompileResult(**fields)


def lower(module: str, listed: list[signatures.Listed], number: int) -> tuple[Record, bytes]:
    """
    Return the record and the intermediate code of a module.

    :param module: its name below ``ssik_ros.kernels``.
    :param listed: its lines of the list.
    :param number: of the module.
    :raises SystemExit: for a line that does not fit its kernel.
    """
    bytecode.FunctionIdentity._unique_ids = itertools.count(number * NUMBERS_A_MODULE)
    _made.clear()
    watched = _watch_dispatchers()
    trampolines = ir.Module(name=f'{module}.trampolines')
    rows = []
    for row in listed:
        rows.append((f'{row.module}.{row.name}', _compile_row(row, trampolines)))
    compiled = tuple(
        Compiled(home, name, arguments, result.signature, _bare(result.fndesc))
        for home, name, arguments, result in watched
    )
    whole = llvm.parse_assembly(str(trampolines))
    for library in _made:
        whole.link_in(library._final_module)
    whole.name = module
    whole.verify()
    return Record(compiled, tuple(rows)), whole.as_bitcode()


def _watch_dispatchers() -> list[tuple[str, str, Any, Any]]:
    """Return a list that grows with each compiled function: module, name, types of the arguments, numba's result."""
    from ssik_ros.kernels.native import compiler

    watched: list[tuple[str, str, Any, Any]] = []

    def note(function: Any, result: Any) -> None:
        home = function.__module__.removeprefix(f'{PACKAGE}.')
        watched.append((home, function.__name__, tuple(result.signature.args), result))

    compiler.on_compiled = note
    return watched


def _bare(descriptor: Any) -> Any:
    """Return a descriptor without the parts that only its own compilation needs."""
    descriptor.typemap = descriptor.calltypes = None
    return descriptor


def _compile_row(row: signatures.Listed, trampolines: Any) -> str:
    """Compile one kernel, add its trampoline, and return the codes of its return value."""
    place = f'{signatures.SIGNATURES}:{row.line}: {row.module}.{row.name}'
    try:
        dispatcher = dispatcher_of(row.module, row.name)
        code = dispatcher.py_func.__code__
    except AttributeError:
        raise SystemExit(f'{place}: there is no such kernel') from None
    if code.co_varnames[: code.co_argcount] != row.parameters:
        given = ', '.join(code.co_varnames[: code.co_argcount])
        raise SystemExit(f'{place}: the kernel takes ({given})')
    dispatcher.compile(row.types)
    result = dispatcher.overloads[row.types]
    try:
        returned = signatures.code_of(result.signature.return_type)
    except TypeError as error:
        raise SystemExit(f'{place}: {error}') from None
    _add_trampoline(trampolines, row, result)
    return returned


def trampoline_name(kernel: str) -> str:
    """Return the symbol of a kernel's trampoline."""
    return f'ssik_ros_{kernel.replace(".", "__")}'


def _add_trampoline(module: Any, row: signatures.Listed, result: Any) -> None:
    """Add a function that takes a kernel's arguments as words of 64 bits, whatever their types."""
    context = result.target_context
    kind = context.call_conv.get_function_type(result.signature.return_type, result.signature.args)
    kernel = ir.Function(module, kind, result.fndesc.mangled_name)
    word = ir.IntType(64)
    shape = ir.FunctionType(ir.IntType(32), [ir.IntType(8).as_pointer(), word.as_pointer()])
    function = ir.Function(module, shape, trampoline_name(f'{row.module}.{row.name}'))
    builder = ir.IRBuilder(function.append_basic_block('entry'))
    target, words = function.args
    arguments = [
        builder.bitcast(target, kind.args[0]),
        builder.alloca(kind.args[1].pointee),
    ]
    for place, type_ in enumerate(kind.args[2:]):
        value = builder.load(builder.gep(words, [word(place)]))
        arguments.append(_from_word(builder, value, type_))
    builder.ret(builder.call(kernel, arguments))


def _from_word(builder: Any, value: Any, type_: Any) -> Any:
    """Return a word as an argument of a machine type."""
    if isinstance(type_, ir.DoubleType):
        return builder.bitcast(value, type_)
    if isinstance(type_, ir.PointerType):
        return builder.inttoptr(value, type_)
    return value if type_.width == 64 else builder.trunc(value, type_)


def dumps(record: Record) -> bytes:
    """Return a record as bytes."""
    return pickle.dumps(record)


def loads(data: bytes) -> Record:
    """Return a record from bytes."""
    return pickle.loads(data)
