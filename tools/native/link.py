"""From objects to the native library: table, extension, linker. Needs a C compiler and no numba."""

import json
import os
from pathlib import Path
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'
COMPILERS = {
    'x86_64_v2': 'x86_64-linux-gnu-gcc',
    'x86_64_v3': 'x86_64-linux-gnu-gcc',
    'aarch64': 'aarch64-linux-gnu-gcc',
}
"""Compiler for each target that is not the machine's own."""
TARGETS = tuple(COMPILERS)
CHECKED = 'checked'
"""The flavour for this machine whose kernels compare indices with bounds."""
ROWS = 'kernels.json'
"""Name and signature of each kernel that Python may call, in a folder of objects."""
MANIFEST = 'sources.json'
"""File with the hashes of the sources of a library, in the library's folder."""
EXTENSION = 'extension.o'
"""The kernels' way into Python as an object, in a folder of objects."""
_COMPILER_FLAGS = (
    '-c',
    '-fPIC',
    '-O2',
    '-g0',
    '-fvisibility=hidden',
    '-Wall',
    '-Wextra',
    '-Werror',
)
_LINKER_FLAGS = ('-shared', '-s', '-Wl,--as-needed', '-Wl,-z,relro,-z,now')


def compiler_for(target: str) -> list[str]:
    """
    Return the command of the C compiler for a target.

    :param target: its name.
    :raises SystemExit: if the compiler is not installed.
    """
    machine = os.uname().machine
    if target == CHECKED or target.startswith(machine):
        command = shlex.split(os.environ.get('CC', 'cc'))
    else:
        command = [COMPILERS[target]]
    if shutil.which(command[0]) is None:
        raise SystemExit(
            f'The library for {target} needs a C compiler, and {command[0]} is not installed.'
        )
    return command


def words_of(signature: str) -> int:
    """
    Return how many machine words the arguments of a kernel take.

    :param signature: in the extension's codes.
    """
    arguments = signature.partition(':')[2]
    arrays = re.findall(r'A..(\d).', arguments)
    rest = re.sub(r'A....|[()]', '', arguments)
    return len(rest) + sum(5 + 2 * int(dimensions) for dimensions in arrays)


def table(rows: list[tuple[str, str]], target: str) -> str:
    """
    Return the C header that lists the kernels.

    :param rows: name and signature of each, sorted.
    :param target: name of the target.
    """
    symbols = [f'ssik_ros_{name.replace(".", "__")}' for name, _ in rows]
    declarations = [f'int32_t {symbol}(void *, const int64_t *);' for symbol in symbols]
    entries = [
        f'  {{"{name}", "{signature}", {symbol}}},'
        for (name, signature), symbol in zip(rows, symbols, strict=True)
    ]
    results = [len(signature.partition(':')[0]) for _, signature in rows]
    return '\n'.join(
        [
            f'#define TARGET "{target}"',
            *(['#define CHECKED'] if target == CHECKED else []),
            f'enum {{ ROW_COUNT = {len(rows)}, MOST_WORDS = {max(map(words_of, dict(rows).values()))},'
            f' RESULT_WORDS = {max(results)} }};',
            *declarations,
            'static const struct row ROWS[ROW_COUNT] = {',
            *entries,
            '};',
            '',
        ]
    )


def link(target: str, objects: list[Path], rows: list[tuple[str, str]]) -> Path:
    """
    Link the library of a target into ``kernels/native`` and return its path.

    :param target: its name.
    :param objects: files of the kernels.
    :param rows: name and signature of each kernel that Python may call, sorted.
    :raises SystemExit: when the compiler fails.
    """
    compiler = compiler_for(target)
    with tempfile.TemporaryDirectory() as folder:
        extension = Path(folder, EXTENSION)
        compile_extension(compiler, target, rows, extension)
        return join(compiler, [*objects, extension], NATIVE / library_name(target))


def library_name(target: str) -> str:
    """Return the file name of the library for a target."""
    return f'_kernels.{target}.abi3.so'


def compile_extension(
    compiler: list[str], target: str, rows: list[tuple[str, str]], product: Path
) -> None:
    """
    Compile the kernels' way into Python, which takes Python's headers.

    :param compiler: its command.
    :param target: name of the target.
    :param rows: name and signature of each kernel that Python may call, sorted.
    :param product: the object file to write.
    :raises SystemExit: when the compiler fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'kernel_table.h').write_text(table(rows, target), encoding='utf-8')
        headers = sysconfig.get_paths()
        places = dict.fromkeys([folder, headers['include'], headers['platinclude']])
        source = str(NATIVE / 'extension.c')
        _run(
            [
                *compiler,
                *_COMPILER_FLAGS,
                *(f'-I{place}' for place in places),
                source,
                '-o',
                str(product),
            ]
        )


def join(compiler: list[str], objects: list[Path], library: Path) -> Path:
    """
    Link objects into a library and return it; needs only a linker.

    :param compiler: its command, which calls the linker.
    :param objects: files of the kernels and of the extension.
    :param library: the file to write, as a whole or not at all.
    :raises SystemExit: when the linker fails.
    """
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        exports, made = Path(folder, 'exports'), Path(folder, library.name)
        exports.write_text('{ global: PyInit__kernels; local: *; };\n', encoding='utf-8')
        script = f'-Wl,--version-script={exports}'
        files = map(str, objects)
        _run([*compiler, *_LINKER_FLAGS, script, *files, '-o', str(made), '-lm'])
        made.replace(library)
    return library


def _run(command: list[str]) -> None:
    """Run the compiler."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f'The compiler failed: {shlex.join(command[:8])} ...\n{result.stderr}')


def read_rows(folder: Path) -> list[tuple[str, str]]:
    """
    Return name and signature of each kernel that Python may call, sorted.

    :param folder: of objects.
    """
    rows = json.loads((folder / ROWS).read_text(encoding='utf-8'))
    return [(name, signature) for name, signature in rows]


def remove_stale(targets: list[str], sources: Any) -> None:
    """
    Remove libraries that were built from other sources, because the manifest describes all libraries.

    :param targets: names of the targets that were built just now.
    :param sources: the package's module of this name.
    """
    manifest, built = NATIVE / MANIFEST, [library_name(target) for target in targets]
    if not manifest.is_file() or sources.changed(json.loads(manifest.read_text(encoding='utf-8'))):
        for library in NATIVE.glob(library_name('*')):
            if library.name not in built:
                library.unlink()


def write_manifest(folder: Path, table: dict[str, list[Any]]) -> None:
    """
    Write the hashes of the sources of objects or of a library.

    :param folder: where it goes.
    :param table: of ``sources.manifest``.
    """
    (folder / MANIFEST).write_text(json.dumps(table, indent=0), encoding='utf-8')
