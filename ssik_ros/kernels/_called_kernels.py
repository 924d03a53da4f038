"""
Large kernels are compiled once and called.

numba copies a kernel, all that it calls included, into each kernel that calls it, and optimises the copy again: what lies
ten calls deep is compiled ten times. That pays for a kernel that is small enough to be merged into its caller. A larger one
stays where it is, and its callers hold no more than its symbol. A caller that comes from disk brings its callees with it.
"""

import sys
from typing import Any
from typing import NamedTuple

from llvmlite import binding as llvm
from numba.core.codegen import CPUCodeLibrary
from numba.core.codegen import JitEngine
from numba.core.compiler import CompileResult

LARGEST_MERGED = 150
"""Lines of optimised intermediate code up to which a kernel may be merged: twice what the compiler merges of itself."""

_IS_POSSIBLE = all(
    hasattr(owner, name)
    for owner, name in (
        (CPUCodeLibrary, '_get_module_for_linking'),
        (JitEngine, '_load_defined_symbols'),
        (JitEngine, 'is_symbol_defined'),
        (CompileResult, '_reduce'),
    )
)
"""Whether this numba keeps its libraries in the way that this module relies on; else all is merged, which takes longer."""


_OF_KERNELS = '_ZN'
"""How the symbols begin that numba gives to compiled functions."""
_RELOAD_INIT = 7
"""Where numba's record of a compiled function keeps what is to be done before it is loaded."""


class _OtherSymbolError(Exception):
    """A callee on disk is not the one that its caller was compiled with."""


class _Callee(NamedTuple):
    """What a kernel on disk needs before it is loaded."""

    module: str
    name: str
    arguments: tuple[Any, ...]
    symbol: str

    def __call__(self) -> None:
        """
        Load the callee.

        :raises _OtherSymbolError: when its symbol is not the one that the caller holds.
        """
        # The caller's module imports that of the callee, so it is there.
        dispatcher = getattr(sys.modules.get(self.module), self.name, None)
        if dispatcher is None:
            raise _OtherSymbolError(self.symbol)
        dispatcher.compile(self.arguments)
        if dispatcher.overloads[self.arguments].fndesc.llvm_func_name != self.symbol:
            raise _OtherSymbolError(self.symbol)


class _Saved(NamedTuple):
    """A kernel on disk."""

    symbols: tuple[str, ...]
    payload: Any


def keep_apart(compiled: Any, is_merged: bool) -> None:
    """
    Let the callers of a kernel hold its symbol instead of a copy, if it is large.

    :param compiled: a dispatcher.
    :param is_merged: True for a kernel that is to be merged into its callers whatever its size; its own callees are
        loaded before it all the same.
    """
    if not _IS_POSSIBLE:
        return
    compiler, cache = compiled._compiler, compiled._cache
    compile_anew, load = compiler.compile, cache.load_overload
    reduce, rebuild = cache._impl.reduce, cache._impl.rebuild

    def compile_and_part(arguments: Any, return_type: Any) -> Any:
        result = compile_anew(arguments, return_type)
        if not is_merged and _is_large(result) and _is_reachable(compiled):
            _part(compiled.py_func, result)
        return result

    def load_with_callees(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except _OtherSymbolError:
            return None

    def reduce_with_symbols(result: Any) -> Any:
        return _Saved(_symbols_from_elsewhere(result), reduce(result))

    def rebuild_and_part(context: Any, saved: Any) -> Any:
        engine = context.codegen()._engine
        payload = _checked(saved, engine)
        # The list of symbols is read from code for merging, of which a large kernel has none.
        description = payload[1]
        names = {description.llvm_func_name, description.llvm_cpython_wrapper_name}
        engine._defined_symbols |= names
        result = rebuild(context, payload)
        if any(True for _ in result.library._shared_module.functions):
            result.library._reload_init.update(result.reload_init)
        else:
            _part(compiled.py_func, result)
        return result

    compiler.compile = compile_and_part
    cache.load_overload = load_with_callees
    cache._impl.reduce, cache._impl.rebuild = reduce_with_symbols, rebuild_and_part


def _symbols_from_elsewhere(result: Any) -> tuple[str, ...]:
    """Return the symbols of kernels that a kernel holds without having their code."""
    functions = result.library._final_module.functions
    names = [function.name for function in functions if function.is_declaration]
    return tuple(name for name in names if name.startswith(_OF_KERNELS))


def _checked(saved: Any, engine: Any) -> Any:
    """
    Return what numba saved of a kernel, once all that it needs is there: the linker ends the process otherwise.

    :raises _OtherSymbolError: when something is missing.
    """
    if not isinstance(saved, _Saved):
        raise _OtherSymbolError('saved by another version')
    for bring in saved.payload[_RELOAD_INIT]:
        bring()
    for symbol in saved.symbols:
        if not engine.is_symbol_defined(symbol):
            raise _OtherSymbolError(symbol)
    return saved.payload


def _is_large(result: Any) -> bool:
    """Return whether the compiler would not merge a kernel into a caller anyway."""
    function = result.library._final_module.get_function(result.fndesc.llvm_func_name)
    return str(function).count('\n') > LARGEST_MERGED


def _is_reachable(compiled: Any) -> bool:
    """Return whether another process finds a kernel by its name."""
    function = compiled.py_func
    module = sys.modules.get(function.__module__)
    # A kernel that is being compiled by the first call has been bound to its name long before.
    return getattr(module, function.__name__, None) is compiled


def _part(function: Any, result: Any) -> None:
    """Give callers nothing to merge, and tell them what to load before they are loaded."""
    library = result.library
    library._shared_module = llvm.parse_assembly('')
    library._reload_init.update(result.reload_init)
    arguments, symbol = tuple(result.signature.args), result.fndesc.llvm_func_name
    library._reload_init.add(_Callee(function.__module__, function.__name__, arguments, symbol))
