"""
Kernels that only kernels call have no entrance from Python.

numba gives each kernel one, which reads arrays and numbers out of Python's objects, a sixth of all the time that compiling
takes; most kernels are never called from Python. A kernel that is compiled for a caller goes without. When Python calls it
after all, a small kernel that does nothing but call it is its entrance.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
from typing import Any

_SUFFIX = '__from_python'
_thread = threading.local()
_closed: dict[int, tuple[Any, ...]] = {}
"""Types of the arguments of kernels without entrance, by the function that numba keeps for Python, which lives on."""


@contextlib.contextmanager
def for_a_caller(is_kernel: bool = True) -> Iterator[None]:
    """
    Compile for another kernel, for a while.

    :param is_kernel: False for a call from Python.
    """
    before = is_for_kernel()
    _thread.is_for_kernel = is_kernel
    try:
        yield
    finally:
        _thread.is_for_kernel = before


def is_for_kernel() -> bool:
    """Return whether this thread compiles for another kernel."""
    return getattr(_thread, 'is_for_kernel', False)


def has_entrance(result: Any) -> bool:
    """
    Return whether Python may call a kernel.

    :param result: numba's record of the compiled function.
    """
    return id(result.entry_point) not in _closed


def note_entrance(result: Any, is_open: bool) -> None:
    """
    Keep in mind that Python must not call a kernel, if so.

    :param result: numba's record of the compiled function.
    :param is_open: whether it has an entrance.
    """
    if not is_open:
        _closed[id(result.entry_point)] = tuple(result.signature.args)


def open_on_demand(compiled: Any, compile_function: Callable[[Any], Any]) -> None:
    """
    Give a kernel an entrance when Python calls it.

    :param compiled: a dispatcher.
    :param compile_function: makes a dispatcher of a Python function.
    """
    add, compile_for_python = compiled.add_overload, compiled._compile_for_args

    def add_if_open(result: Any) -> None:
        if has_entrance(result):
            add(result)
        else:
            compiled.overloads[tuple(result.signature.args)] = result

    def compile_and_open(*arguments: Any, **keywords: Any) -> Any:
        with for_a_caller(is_kernel=False):
            called = compile_for_python(*arguments, **keywords)
            types = _closed.get(id(called))
            if types is None:
                return called
            entrance = _entrance(compiled, compile_function)
            called = entrance.compile(types)
        compiled._insert([kind._code for kind in types], called, False)
        return called

    compiled.add_overload, compiled._compile_for_args = add_if_open, compile_and_open


def _entrance(compiled: Any, compile_function: Callable[[Any], Any]) -> Any:
    """Return the kernel that calls a kernel, made once."""
    if not hasattr(compiled, '_entrance'):
        code = compiled.py_func.__code__
        names = ', '.join(code.co_varnames[: code.co_argcount])
        name = compiled.py_func.__name__ + _SUFFIX
        text = f'def {name}({names}):\n    return kernel({names})\n'
        scope = {'kernel': compiled, '__name__': compiled.py_func.__module__}
        exec(compile(text, code.co_filename, 'exec'), scope)
        compiled._entrance = compile_function(scope[name])
    return compiled._entrance
