"""
The kernels that C programs use, as one module of intermediate code and as one object for each target.

``ssik build --target c`` links the object as it is, or makes a smaller one from the intermediate code with the constants of
one arm. Both call libm, ``ssik_ros_clock`` of the C library, and nothing else.
"""

from collections.abc import Iterable
import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from native import back_end
from ssik_ros.kernels.native import portable, sources

_AVAILABLE = llvm.Linkage.available_externally
CLOCK = 'clock_gettime', 'ssik_ros_clock'
"""The function that reads the clock: of the C library, and of the artifact, whose clock is the caller's."""


def join(optimised: dict[str, bytes]) -> bytes:
    """
    Return one module of intermediate code with all that the wanted kernels call.

    :param optimised: intermediate code of every kernel module by its name.
    """
    wanted = {portable.symbol_of(name) for name in portable.KERNELS}
    modules = {name: llvm.parse_bitcode(code) for name, code in optimised.items()}
    needed = _needed(modules, wanted)
    asked = wanted.union(*(_asked(modules[name]) for name in needed))
    whole = None
    for name in needed:
        module = modules[name]
        for function in module.functions:
            if _is_defined(function) and function.name not in asked:
                function.linkage = 'internal'
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    assert whole is not None
    for function in whole.functions:
        if function.name == CLOCK[0]:
            function.name = CLOCK[1]
    portable.keep_only(whole, wanted)
    whole.verify()
    code: bytes = whole.as_bitcode()
    return code


def _is_defined(function: Any) -> bool:
    """Return whether a module has a function of its own."""
    return not function.is_declaration and function.linkage != _AVAILABLE


def _asked(module: Any) -> set[str]:
    """Return the symbols that a module wants from elsewhere."""
    return {function.name for function in module.functions if not _is_defined(function)}


def _needed(modules: dict[str, Any], wanted: Iterable[str]) -> list[str]:
    """Return the modules that define wanted symbols, and the modules that these call, sorted."""
    homes = {
        function.name: name
        for name, module in modules.items()
        for function in module.functions
        if _is_defined(function)
    }
    needed: set[str] = set()
    waiting = {homes[symbol] for symbol in wanted}
    while waiting:
        name = waiting.pop()
        needed.add(name)
        called = {homes[symbol] for symbol in _asked(modules[name]) if symbol in homes}
        waiting |= called - needed
    return sorted(needed)


def emit(code: bytes, target: back_end.Target) -> bytes:
    """
    Return the object of the joined module.

    :param code: of :func:`join`.
    :param target: the processor.
    """
    return back_end.emit(code, {portable.symbol_of(name) for name in portable.KERNELS}, target)


def digest_of_tools() -> str:
    """Return a hash of the sources of the code that joins and emits modules."""
    files = (__file__, portable.__file__, back_end.__file__)
    return hashlib.sha256(b''.join(Path(path).read_bytes() for path in files)).hexdigest()


def write(code: bytes, objects: dict[str, bytes]) -> None:
    """
    Write the compressed files that ``ssik build`` reads.

    :param code: of :func:`join`.
    :param objects: of :func:`emit` by target.
    """
    folder = portable.FOLDER
    folder.mkdir(exist_ok=True)
    files = {
        portable.CODE: code,
        **{portable.object_name(name): data for name, data in objects.items()},
    }
    for name, data in files.items():
        (folder / name).write_bytes(lzma.compress(data))
    table = {name: hashes[:2] for name, hashes in sources.manifest().items()}
    stamp = {'digest': hashlib.sha256(code).hexdigest(), 'sources': table}
    (folder / portable.STAMP).write_text(json.dumps(stamp), encoding='utf-8')
