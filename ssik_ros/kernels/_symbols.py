"""
The functions of C that machine code calls, made known when the first kernel comes that calls them.

LLVM ends the process when it does not find a symbol, so each one is looked for before a kernel from disk is linked. Python's own
and numba's helpers are known from the start. numba makes those of its memory management known together with its
compiler, which takes a quarter of a second; here they are taken one by one.
"""

from collections.abc import Callable
from collections.abc import Iterable
import functools
from typing import Any

from llvmlite import binding

_OF_THE_COMPILER = ('llvm.', '.numba.unresolved$')
"""How names begin that are no symbols of a finished kernel."""
_OF_MEMORY = 'NRT_'
_providers: dict[str, Callable[[], None]] = {}
_known: set[str] = set()


def provide(symbol: str, provider: Callable[[], None]) -> None:
    """
    Say how a symbol is made known, which is done when it is needed.

    :param symbol: its name.
    :param provider: makes it known.
    """
    _providers[symbol] = provider


def define_provided() -> None:
    """Make known all that kernels which are compiled in this process may call."""
    while _providers:
        _, provider = _providers.popitem()
        provider()


def missing(symbols: Iterable[str], engine: Any) -> str | None:
    """
    Return a symbol that is not known and cannot be made known, if there is one.

    :param symbols: what a kernel calls.
    :param engine: numba's, which knows the symbols of kernels.
    """
    unknown = (symbol for symbol in symbols if symbol not in _known)
    return next((symbol for symbol in unknown if not _is_defined(symbol, engine)), None)


def _is_defined(symbol: str, engine: Any) -> bool:
    """Return whether a symbol is known, now at the latest."""
    found = engine.is_symbol_defined(symbol) or _is_in_process(symbol)
    if not found and symbol in _providers:
        _providers.pop(symbol)()
        found = _is_in_process(symbol)
    if not found and symbol.startswith(_OF_MEMORY) and symbol in _memory_functions():
        binding.add_symbol(symbol, _memory_functions()[symbol])
        found = True
    if found:
        _known.add(symbol)
    return found


def _is_in_process(symbol: str) -> bool:
    """Return whether the linker would find a symbol outside of kernels."""
    return bool(binding.address_of_symbol(symbol))


@functools.cache
def _memory_functions() -> dict[str, int]:
    """Return the addresses of numba's memory management by symbol; none where this numba keeps them elsewhere."""
    try:
        from numba.core.runtime import _nrt_python
    except ImportError:
        return {}
    helpers: dict[str, int] = getattr(_nrt_python, 'c_helpers', {})
    return {f'{_OF_MEMORY}{name}': address for name, address in helpers.items()}


def called_by(module: Any) -> tuple[str, ...]:
    """
    Return the symbols that a compiled module holds without defining them.

    :param module: of LLVM.
    """
    parts = (module.functions, module.global_variables)
    names = (part.name for group in parts for part in group if part.is_declaration)
    return tuple(name for name in names if not name.startswith(_OF_THE_COMPILER))
