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
from numba.core.codegen import CodeLibrary
from numba.core.codegen import CPUCodeLibrary
from numba.core.codegen import JitEngine
from numba.core.compiler import CompileResult
from numba.core.entrypoints import init_all

from ssik_ros.kernels._entrances import for_a_caller
from ssik_ros.kernels._entrances import has_entrance
from ssik_ros.kernels._entrances import note_entrance
from ssik_ros.kernels._symbols import called_by
from ssik_ros.kernels._symbols import define_provided
from ssik_ros.kernels._symbols import missing

LARGEST_MERGED = 150
"""Lines of optimised intermediate code up to which a kernel may be merged: twice what the compiler merges of itself."""

_IS_POSSIBLE = (
    all(
        hasattr(owner, name)
        for owner, name in (
            (CPUCodeLibrary, '_get_module_for_linking'),
            (JitEngine, '_load_defined_symbols'),
            (JitEngine, 'is_symbol_defined'),
            (CompileResult, '_reduce'),
        )
    )
    # Libraries of older ones do not know what is to be done before they are loaded.
    and '_reload_init' in CodeLibrary.__init__.__code__.co_names
)
"""Whether this numba keeps its libraries in the way that this module relies on; else all is merged, which takes longer."""


_OF_KERNELS = '_ZN'
"""How the symbols begin that numba gives to compiled functions."""
_RELOAD_INIT = 7
"""Where numba's record of a compiled function keeps what is to be done before it is loaded."""
_brought: set[str] = set()
"""Symbols of the callees that are there already."""


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
        if self.symbol in _brought:
            return
        # The caller's module imports that of the callee, so it is there.
        dispatcher = getattr(sys.modules.get(self.module), self.name, None)
        if dispatcher is None:
            raise _OtherSymbolError(self.symbol)
        with for_a_caller():
            if not _load(dispatcher, self.arguments):
                dispatcher.compile(self.arguments)
        if dispatcher.overloads[self.arguments].fndesc.llvm_func_name != self.symbol:
            raise _OtherSymbolError(self.symbol)
        _brought.add(self.symbol)


def _load(dispatcher: Any, arguments: tuple[Any, ...]) -> bool:
    """
    Load a kernel as numba does, but without its stop-watches, and return whether it is there.

    Two more of them run at each level of callees, and all are told of each call into LLVM.
    """
    if arguments in dispatcher.overloads:
        return True
    # The cache may have been waiting to be asked.
    load = dispatcher._cache.load_at_once
    context = dispatcher.targetctx
    result = load(arguments, context)
    if result is None:
        return False
    dispatcher._cache_hits[arguments] += 1
    context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    dispatcher.add_overload(result)
    return True


class _Saved(NamedTuple):
    """A kernel on disk."""

    symbols: tuple[str, ...]
    has_entrance: bool
    payload: Any


def is_possible() -> bool:
    """Return whether large kernels are called, not copied."""
    return _IS_POSSIBLE


def put_off_extensions(compiled: Any) -> None:
    """
    Let numba look for its extensions, through all that is installed, when a kernel is compiled, not before it is loaded.

    :param compiled: a dispatcher.
    """
    if _IS_POSSIBLE:
        compiled._compilation_chain_init_hook = _do_nothing


def _do_nothing() -> None:
    """Do nothing."""


def keep_apart(compiled: Any, is_merged: bool) -> None:
    """
    Let the callers of a kernel hold its symbol instead of a copy, if it is large.

    :param compiled: a dispatcher.
    :param is_merged: True for a kernel that is to be merged into its callers whatever its size; its own callees are
        loaded before it all the same.
    """
    if not _IS_POSSIBLE:
        define_provided()
        return
    compiler, cache = compiled._compiler, compiled._cache
    compile_anew, load = compiler.compile, cache.load_overload
    reduce, rebuild = cache._impl.reduce, cache._impl.rebuild

    def compile_and_part(arguments: Any, return_type: Any) -> Any:
        init_all()
        define_provided()
        result = compile_anew(arguments, return_type)
        note_entrance(result, _has_wrapper(result))
        if not is_merged and _is_large(result) and _is_reachable(compiled):
            _part(compiled.py_func, result)
        return result

    def load_with_callees(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except _OtherSymbolError:
            return None

    def reduce_with_symbols(result: Any) -> Any:
        symbols = called_by(result.library._final_module)
        # The source with the types of all variables takes long to write, and nobody reads it.
        payload = reduce(result._replace(type_annotation=''))
        return _Saved(symbols, has_entrance(result), payload)

    def rebuild_and_part(context: Any, saved: Any) -> Any:
        engine = context.codegen()._engine
        payload = _checked(saved, engine, context)
        # The list of symbols is read from code for merging, of which a large kernel has none.
        description = payload[1]
        names = {description.llvm_func_name}
        if saved.has_entrance:
            names.add(description.llvm_cpython_wrapper_name)
        engine._defined_symbols |= names
        result = rebuild(context, payload)
        note_entrance(result, saved.has_entrance)
        if any(True for _ in result.library._shared_module.functions):
            result.library._reload_init.update(result.reload_init)
        else:
            _part(compiled.py_func, result)
        return result

    compiler.compile = compile_and_part
    cache.load_overload = cache.load_at_once = load_with_callees
    cache._impl.reduce, cache._impl.rebuild = reduce_with_symbols, rebuild_and_part
    cache.needs_compiler = False


def _checked(saved: Any, engine: Any, context: Any) -> Any:
    """
    Return what numba saved of a kernel, once all that it needs is there: the linker ends the process otherwise.

    :raises _OtherSymbolError: when something is missing.
    """
    if not isinstance(saved, _Saved):
        raise _OtherSymbolError('saved by another version')
    for bring in saved.payload[_RELOAD_INIT]:
        bring()
    gone = missing(saved.symbols, engine)
    if gone and not gone.startswith(_OF_KERNELS):
        context.refresh()  # numba makes known whatever kernels may call
        gone = missing(saved.symbols, engine)
    if gone:
        raise _OtherSymbolError(gone)
    return saved.payload


def _has_wrapper(result: Any) -> bool:
    """Return whether Python can call what numba has compiled."""
    try:
        result.library._final_module.get_function(result.fndesc.llvm_cpython_wrapper_name)
    except NameError:
        return False
    return True


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
    library._reload_init.clear()  # the callee brings its own
    arguments, symbol = tuple(result.signature.args), result.fndesc.llvm_func_name
    library._reload_init.add(_Callee(function.__module__, function.__name__, arguments, symbol))
