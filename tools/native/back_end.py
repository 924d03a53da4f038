"""
From LLVM's intermediate code of one kernel module to machine code for each target.

A module is optimised once, with the small functions of other modules merged into it. Larger functions are called:
copies of them in each caller would take the compiler minutes and gain nothing. Machine code for each target is made
from the same optimised code. Every operation follows IEEE 754 (nothing is contracted or reordered), so that targets
differ in speed only.
"""

from collections.abc import Iterable
import functools
import os
import re
from typing import Any, NamedTuple

from llvmlite import binding as llvm

LARGEST_MERGED = 150
"""Largest size of a function that is offered to its callers [lines of optimised intermediate code]."""
_EXTERNAL = llvm.Linkage.external
_AVAILABLE = llvm.Linkage.available_externally


class Target(NamedTuple):
    """A processor that machine code is made for."""

    name: str
    triple: str
    processor: str


TARGETS = {
    target.name: target
    for target in (
        Target('x86_64_v2', 'x86_64-unknown-linux-gnu', 'x86-64-v2'),
        Target('x86_64_v3', 'x86_64-unknown-linux-gnu', 'x86-64-v3'),
        Target('aarch64', 'aarch64-unknown-linux-gnu', 'generic'),
    )
}
OPTIMISED_FOR = TARGETS['x86_64_v3']
"""The target whose costs the optimiser weighs."""
CHECKED = 'checked'
"""Name of the flavour that compares indices with bounds, for any processor of this machine's kind."""
_OWN = 'aarch64' if os.uname().machine == 'aarch64' else 'x86_64_v2'
TARGETS[CHECKED] = TARGETS[_OWN]._replace(name=CHECKED)


@functools.cache
def _machine(target: Target) -> Any:
    """Return LLVM's machine for a target: code that may lie anywhere, in a shared library."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.processor,
        features='',
        opt=0 if target.name == CHECKED else 3,
        reloc='pic',
        codemodel='default',
    )


def optimise(lowered: bytes, offered: Iterable[str], is_checked: bool) -> tuple[bytes, str]:
    """
    Return the optimised code of a module, and the part of it that is offered to its callers.

    :param lowered: intermediate code of the module.
    :param offered: texts of the functions that other modules offer to it.
    :param is_checked: whether it belongs to the checked flavour, which is optimised and merged as little as possible.
    """
    module = llvm.parse_bitcode(lowered)
    defined = [function.name for function in module.functions if not function.is_declaration]
    for text in _needed(module, list(offered)):
        others = llvm.parse_assembly(text)
        for function in others.functions:
            if not function.is_declaration:
                function.linkage = _AVAILABLE
        module.link_in(others)
    machine = _machine(OPTIMISED_FOR)
    module.triple = OPTIMISED_FOR.triple
    module.data_layout = str(machine.target_data)
    _run_passes(module, machine, is_cheap=True)
    if not is_checked:
        _run_passes(module, machine, is_cheap=False)
    module.verify()
    return module.as_bitcode(), _offer(module, set(defined), 0 if is_checked else LARGEST_MERGED)


def _needed(module: Any, offered: list[str]) -> list[str]:
    """Return the offered texts whose functions the module or another returned text calls."""
    defined = [
        set(re.findall(r'^define [^@]*@"?([^"(]+)"?\(', text, re.MULTILINE)) for text in offered
    ]
    declared = [
        set(re.findall(r'^declare [^@]*@"?([^"(]+)"?\(', text, re.MULTILINE)) for text in offered
    ]
    wanted = {function.name for function in module.functions if function.is_declaration}
    chosen: list[int] = []
    while True:
        more = [k for k in range(len(offered)) if k not in chosen and defined[k] & wanted]
        if not more:
            return [offered[k] for k in chosen]
        chosen += more
        for k in more:
            wanted |= declared[k]


def _run_passes(module: Any, machine: Any, is_cheap: bool) -> None:
    """Run the passes that numba runs."""
    options = llvm.create_pipeline_tuning_options(speed_level=0 if is_cheap else 3)
    options.loop_vectorization = not is_cheap
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    if is_cheap:
        # Loops in this form are easier to vectorise.
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
    passes.run(module, builder)


def _offer(module: Any, defined: set[str], largest: int) -> str:
    """Return the text of a module with its functions of more lines than ``largest`` as declarations."""
    text = str(module)
    for function in module.functions:
        if function.is_declaration:
            continue
        body = str(function)
        is_large = body.count('\n') > largest
        if (
            is_large and 'alwaysinline' not in body.partition('\n')[0]
        ) or function.name not in defined:
            body = body[body.index('define ') :].rstrip('\n')
            text = text.replace(body, _declaration(body))
    return text


def _declaration(definition: str) -> str:
    """Return the declaration of a function whose definition is given."""
    head = definition[: definition.index('\n')].rstrip('{ ')
    head = re.sub(r'^define (available_externally |internal |private |hidden )*', 'declare ', head)
    return re.sub(r' (local_unnamed_addr|unnamed_addr)', '', head)


def declared(optimised: bytes) -> set[str]:
    """Return the symbols that optimised code wants from elsewhere."""
    module = llvm.parse_bitcode(optimised)
    used = {function.name for function in module.functions if function.is_declaration}
    return {name for name in used if not name.startswith('llvm.')} | {
        function.name for function in module.functions if function.linkage == _AVAILABLE
    }


def emit(optimised: bytes, wanted: set[str], target: Target) -> bytes:
    """
    Return the object file of a module.

    :param optimised: of :func:`optimise`.
    :param wanted: the symbols that other modules, or the table of kernels, want.
    :param target: the processor.
    """
    module = llvm.parse_bitcode(optimised)
    machine = _machine(target)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration and function.linkage == _EXTERNAL:
            if function.name in wanted:
                function.visibility = 'hidden'
            else:
                function.linkage = 'internal'
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    data: bytes = machine.emit_object(module)
    return data
