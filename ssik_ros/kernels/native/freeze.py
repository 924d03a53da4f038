"""
Insert the constants of one arm into the kernels: smaller and faster machine code for a C library.

The LLVM code of the kernels is edited as text. In functions that take the packed arm as arguments, each use of these
arguments, or of their entries that never change, becomes a constant. The optimiser then removes code that only other
arms need. No operation is contracted or reordered, so the results stay bitwise equal. This needs llvmlite from the
extra ``build``; numba is never imported.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels.native import portable

PROCESSORS = {
    'x86_64_v2': ('x86_64-unknown-linux-gnu', 'x86-64-v2'),
    'x86_64_v3': ('x86_64-unknown-linux-gnu', 'x86-64-v3'),
    'aarch64': ('aarch64-unknown-linux-gnu', 'generic'),
}
"""LLVM triple and processor of each target."""
_SYMBOL = re.compile(r'@"?([\w.$-]+)"?\(')


EXTRA = 'ssik_ros[build]'
LEAST_LLVM = (22, 0, 0)
"""Least version of LLVM in llvmlite: the version that builds the package; older ones cannot read its code."""


class Frozen(NamedTuple):
    """
    An array argument of some kernels that has the same values at every call, to be replaced by a constant.

    ``functions`` is a regular expression for the symbols of these kernels, ``argument`` the name of the argument in
    their Python source, and ``values`` the flat array of its values. If only some values never change, ``entries`` has
    their indices; None means all values and the length.
    """

    functions: str
    """Regular expression for the symbols of the functions."""
    argument: str
    """Name of the argument in the Python source of the kernels."""
    values: NDArray[Any]
    """Flat array of numbers of eight bytes: the values of the argument."""
    entries: frozenset[int] | None = None
    """Indices of the array that never change; None means all entries and the length."""


def is_possible() -> bool:
    """
    Return whether llvmlite is installed with an LLVM that is new enough to read the code of the kernels.

    Whether this code was built with the package is not checked.
    """
    try:
        from llvmlite import binding as llvm
    except ImportError:
        return False
    return bool(llvm.llvm_version_info >= LEAST_LLVM)


def freeze(target: str, wanted: set[str], constants: list[Frozen]) -> bytes:
    """
    Return the object file (ELF) with the kernels that the C library of one arm calls, with the arm's constants in them.

    :param target: key of PROCESSORS, such as x86_64_v3.
    :param wanted: symbols of the kernels that the C library calls.
    :param constants: arguments that are the same at every call for this arm.
    :raises ImportError: if llvmlite is not installed.
    :raises NativeLibraryError: if the package was built without the LLVM code of the kernels.
    """
    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, processor = PROCESSORS[target]
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, opt=3, reloc='pic', codemodel='default'
    )
    module = llvm.parse_bitcode(portable.read(portable.CODE))
    module.triple, module.data_layout = triple, str(machine.target_data)
    portable.keep_only(module, wanted)
    _run(module, machine, level=0)
    frozen = llvm.parse_assembly(_insert(str(module), constants))
    frozen.verify()
    _run(frozen, machine, level=3)
    data: bytes = machine.emit_object(frozen)
    return data


def _run(module: Any, machine: Any, level: int) -> None:
    """
    Optimise an LLVM module in place; then remove its unused functions.

    :param machine: LLVM's target machine.
    :param level: speed level; 0 only removes unused functions.
    """
    from llvmlite import binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=level)
    # Loops were already unrolled and vectorized when the kernels were built.
    options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    if level > 0:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def _insert(text: str, constants: list[Frozen]) -> str:
    """
    Return LLVM code in which arguments are replaced by constants, whose definitions are added.

    :param text: LLVM code of a whole module.
    :param constants: the arguments and their values.
    """
    names, lines = [], []
    for number, each in enumerate(constants):
        names.append(f'@frozen.{number}')
        lines.append(_constant(names[-1], each.values))
    head, *functions = re.split(r'(?m)^(?=define )', text)
    changed = [_replace(function, constants, names) for function in functions]
    return '\n'.join([head, *lines, ''.join(changed)])


def _constant(name: str, values: NDArray[Any]) -> str:
    """
    Return the line of LLVM code that defines a constant array of 64-bit words.

    :param name: LLVM name of the constant.
    :param values: numbers of eight bytes.
    """
    words = np.ascontiguousarray(values).view(np.int64).tolist()
    kind = f'[{len(words)} x i64]'
    body = ', '.join(f'i64 {word}' for word in words)
    return f'{name} = internal unnamed_addr constant {kind} [{body}], align 8'


def _replace(function: str, constants: list[Frozen], names: list[str]) -> str:
    """
    Return the LLVM code of a function with constants in place of some of its arguments.

    A function without these arguments is returned unchanged.

    :param function: LLVM code of one function.
    :param constants: the arguments and their values.
    :param names: LLVM names of the constant arrays, one for each argument.
    """
    head, line, body = function.partition('\n')
    symbol = _SYMBOL.search(head)
    assert symbol is not None
    for each, name in zip(constants, names, strict=True):
        if not re.search(each.functions, symbol[1]) or f'%arg.{each.argument}.4' not in head:
            continue
        if each.entries is not None:
            body = _replace_entries(body, each, name)
            continue
        # Words of an array: address, number of entries, length of its only dimension, stride.
        size = str(len(each.values))
        for word, value in (('4', name), ('2', size), ('5.0', size), ('6.0', '8')):
            body = re.sub(rf'%arg\.{each.argument}\.{re.escape(word)}(?![\w.])', value, body)
    return head + line + body


def _replace_entries(body: str, each: Frozen, name: str) -> str:
    """
    Return the LLVM code of a function that reads the constant entries of an argument from a constant array.

    Other entries are read from the argument as before.

    :param body: LLVM code of the function without its head.
    :param each: the argument, with the indices of its constant entries.
    :param name: LLVM name of the constant array.
    """
    entries = each.entries or frozenset()

    def place(match: re.Match[str]) -> str:
        offset = int(match[2])
        is_constant = offset % 8 == 0 and offset // 8 in entries
        return f'{match[1]}{name}, i64 {offset}' if is_constant else match[0]

    first = rf'(load \w+, ptr )%arg\.{each.argument}\.4(?=, align)'
    body = re.sub(first, rf'\1{name}', body) if 0 in entries else body
    pattern = (
        rf'(getelementptr (?:inbounds )?(?:nuw )?i8, ptr )%arg\.{each.argument}\.4, i64 (\d+)'
    )
    return re.sub(pattern, place, body)
