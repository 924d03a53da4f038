"""
Find and run compiler, archiver and linker of an architecture, to make a static and a shared library.

:func:`find` returns the programs as a :class:`Toolchain`, and :func:`make_libraries` runs them.
"""

from collections.abc import Callable, Sequence
import os
from pathlib import Path
import re
import shlex
import shutil
import subprocess

from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.native import freeze, portable, targets
from ssik_ros.value_class import dataclass

ARCHITECTURES = {'x86-64-v2': 'x86_64_v2', 'x86-64-v3': 'x86_64_v3', 'aarch64': 'aarch64'}
"""Names of the kernels' objects, by the names on the command line."""
FLAGS = ('-std=c99', '-Os', '-fPIC', '-g0', '-ffp-contract=off', '-Wall', '-Wextra', '-Werror')
OWN_LOOPS = '-fno-builtin', '-fno-tree-loop-distribute-patterns'
"""A loop that fills memory stays a loop: it must not become a call of the function that it is."""
Kernels = Callable[[set[str]], bytes]
"""Makes the object of the kernels, given the symbols that are called."""
Report = Callable[[str], None]
"""Is told of each step."""
SYMBOLS = frozenset(map(portable.symbol_of, portable.KERNELS))
OWN_MEMORY = {'memset': 'ssik_ros_clear', 'memcpy': 'ssik_ros_copy', 'memmove': 'ssik_ros_move'}
"""Functions of C that a compiler calls unasked, and the library's own ones: libm is all that a library needs."""


def of_this_machine() -> str:
    """
    Return the architecture, a key of :data:`ARCHITECTURES`, whose machine code this machine runs fastest.

    The environment variable SSIK_ROS_TARGET chooses another one by its target, such as x86_64_v3. The result is
    x86-64-v2 for an unknown target, and on machines without a native library of the kernels.
    """
    supported = targets.of_this_machine()
    named = (name for name, target in ARCHITECTURES.items() if target in supported[:1])
    return next(named, 'x86-64-v2')


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The C compiler and the binutils (archiver, object copier and others) for one architecture."""

    architecture: str
    """A key of :data:`ARCHITECTURES`."""
    compiler: tuple[str, ...]
    """Words of the command that runs the C compiler."""
    prefix: str
    """Prefix of the names of archiver, object copier and other binutils; empty for the processor of this machine."""

    @property
    def target(self) -> str:
        """Return the architecture's name as file names of the kernels' objects have it, such as x86_64_v3."""
        return ARCHITECTURES[self.architecture]

    @property
    def is_cross(self) -> bool:
        """Return whether the architecture is of another kind of processor, so that this machine cannot run its programs."""
        return not self.target.startswith(os.uname().machine)

    def run(self, *words: object, folder: Path) -> str:
        """
        Run a program and return its standard output.

        :param words: the program and its arguments.
        :param folder: working folder.
        :raises InvalidOption: if the program cannot be run or fails, with a line of its error message.
        """
        command = [str(word) for word in words]
        try:
            result = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise InvalidOption(f"'{command[0]}' cannot be run: {error.strerror}.") from error
        if result.returncode:
            lines = result.stderr.splitlines()
            told = [line for line in lines if re.search('error|undefined|cannot', line, re.I)]
            said = (told or lines or ['no message'])[0]
            raise InvalidOption(f'{" ".join(command[:2])} failed: {said}')
        return result.stdout


def find(architecture: str | None) -> Toolchain:
    """
    Return the compiler and binutils for an architecture; the environment variable CC names another compiler.

    :param architecture: a key of :data:`ARCHITECTURES`; None means this machine.
    :raises InvalidOption: if a program is missing.
    :raises KeyError: for another architecture.
    """
    chosen = of_this_machine() if architecture is None else architecture
    is_cross = not ARCHITECTURES[chosen].startswith(os.uname().machine)
    prefix = f'{ARCHITECTURES[chosen].partition("_v")[0]}-linux-gnu-' if is_cross else ''
    compiler = shlex.split(os.environ.get('CC', '')) or [f'{prefix}gcc' if is_cross else 'cc']
    for program in (compiler[0], *(f'{prefix}{name}' for name in ('objcopy', 'nm', 'ar', 'size'))):
        if shutil.which(program) is None:
            raise InvalidOption(
                f"'{program}' is not installed; a C library for {chosen} needs a C compiler and binutils "
                '(the variable CC names another compiler).'
            )
    return Toolchain(chosen, tuple(compiler), prefix)


def make_libraries(
    tools: Toolchain, folder: Path, name: str, kernels: Kernels, product: Path
) -> None:
    """
    Compile the C source in a folder; write ``libNAME.a``, ``libNAME.so.1`` and the link ``libNAME.so``.

    Exceptions of ``kernels`` pass through.

    :param tools: compiler and other programs.
    :param folder: folder with ``NAME.c`` and its included files; object files are written there too.
    :param name: name of the library.
    :param kernels: function that makes the object file of the kernels, given the symbols that are called.
    :param product: absolute path of an existing folder for the libraries.
    :raises InvalidOption: if a program fails.
    :raises FileExistsError: if the link exists already.
    """
    copy, cc = f'{tools.prefix}objcopy', tools.compiler
    loops = _understood(tools, folder)
    tools.run(*cc, *FLAGS, *loops, '-c', f'{name}.c', '-o', 'own.o', folder=folder)
    undefined = tools.run(f'{tools.prefix}nm', '-u', 'own.o', folder=folder).split()
    (folder / 'kernels.o').write_bytes(kernels({word for word in undefined if word in SYMBOLS}))
    renamed = [f'--redefine-sym={name}={symbol}' for name, symbol in OWN_MEMORY.items()]
    for part in ('own.o', 'kernels.o'):
        tools.run(copy, *renamed, part, folder=folder)
    tools.run(*cc, '-r', '-nostdlib', 'kernels.o', 'own.o', '-o', f'{name}.o', folder=folder)
    keep = '--wildcard', f'--keep-global-symbol={name}_*'
    tools.run(copy, *keep, '--strip-unneeded', f'{name}.o', folder=folder)
    archive, shared = product / f'lib{name}.a', product / f'lib{name}.so'
    tools.run(f'{tools.prefix}ar', 'rcsD', archive, f'{name}.o', folder=folder)
    versioned = shared.with_name(f'{shared.name}.1')
    link = '-shared', '-nostdlib', '-s', f'-Wl,-soname,{versioned.name}', '-Wl,--no-undefined'
    secure = '-Wl,-z,relro,-z,now,-z,noexecstack'
    tools.run(*cc, *link, secure, f'{name}.o', '-lm', '-o', versioned, folder=folder)
    shared.symlink_to(versioned.name)


def code_size(tools: Toolchain, archive: Path) -> int:
    """
    Return the number of bytes of machine code in a static library.

    :param tools: compiler and other programs.
    :param archive: the library.
    """
    sections = tools.run(f'{tools.prefix}size', '-A', archive, folder=archive.parent)
    rows = (line.split() for line in sections.splitlines())
    return sum(int(row[1]) for row in rows if row and row[0].startswith('.text'))


def _understood(tools: Toolchain, folder: Path) -> Sequence[str]:
    """
    Return the compiler flags of OWN_LOOPS, which keep loops from becoming calls of memset or memcpy.

    These are both flags, or only the first one if the compiler does not know the second one, as clang. A test file
    ``empty.c`` is written to the folder.
    """
    (folder / 'empty.c').write_text('typedef int nothing;\n', encoding='utf-8')
    try:
        tools.run(*tools.compiler, '-Werror', *OWN_LOOPS, '-c', 'empty.c', folder=folder)
    except InvalidOption:
        return OWN_LOOPS[:1]
    return OWN_LOOPS


def kernels_of_all_arms(tools: Toolchain) -> Kernels:
    """
    Return a function that returns the shipped object file of the kernels, which serves all arms.

    The function ignores its argument, the symbols that are called.

    :param tools: the programs; their architecture chooses the object file.
    :raises NativeLibraryError: if the package was built without this object file.
    """
    data = portable.read(portable.object_name(tools.target))
    return lambda wanted: data


def kernels_of_one_arm(
    tools: Toolchain, constants: list[freeze.Frozen], report: Report
) -> Kernels:
    """
    Return a function that compiles an object file of the kernels with the constants of an arm in them.

    The function takes the set of symbols that the object file must have, and returns the bytes of the file. It raises
    ImportError without llvmlite, and NativeLibraryError if the package was built without the LLVM code of the kernels.

    :param tools: the programs; their architecture is used.
    :param constants: arguments of kernels that are the same at every call.
    :param report: called with a text before each compilation, which takes 5 to 30 s.
    """

    def make(wanted: set[str]) -> bytes:
        """Compile and return the object file of the kernels that has the symbols ``wanted``."""
        report('put the constants of the arm into the kernels; takes 5 to 30 s')
        return freeze.freeze(tools.target, wanted, constants)

    return make
