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

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'
COMPILERS = {
    'x86_64_v2': 'x86_64-linux-gnu-gcc',
    'x86_64_v3': 'x86_64-linux-gnu-gcc',
    'aarch64': 'aarch64-linux-gnu-gcc',
}
"""The compiler that is taken for each target where it is not the machine's own."""
TARGETS = tuple(COMPILERS)
_FLAGS = ('-shared', '-fPIC', '-O2', '-fvisibility=hidden', '-Wall', '-Wextra', '-Werror', '-s')
_LINKER_FLAGS = ('-Wl,--as-needed', '-Wl,-z,relro,-z,now', '-Wl,--no-undefined-version')


def compiler_for(target: str) -> list[str]:
    """
    Return the command of the C compiler for a target.

    :param target: its name.
    :raises SystemExit: when there is none.
    """
    machine = os.uname().machine
    if target.startswith(machine):
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
    Return the library that was linked beside the sources.

    :param target: its name.
    :param objects: files of the kernels.
    :param rows: name and signature of each kernel that Python may call, sorted.
    :raises SystemExit: when the compiler fails.
    """
    library = NATIVE / f'_kernels.{target}.abi3.so'
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'kernel_table.h').write_text(table(rows, target), encoding='utf-8')
        Path(folder, 'exports').write_text(
            '{ global: PyInit__kernels; local: *; };\n', encoding='utf-8'
        )
        made = Path(folder, library.name)
        command = [
            *compiler_for(target),
            *_FLAGS,
            f'-I{folder}',
            f'-I{sysconfig.get_paths()["include"]}',
            str(NATIVE / 'extension.c'),
            *map(str, objects),
            *_LINKER_FLAGS,
            f'-Wl,--version-script={folder}/exports',
            '-o',
            str(made),
            '-lm',
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(
                f'The compiler failed: {shlex.join(command[:8])} ...\n{result.stderr}'
            )
        made.replace(library) if made.stat().st_dev == NATIVE.stat().st_dev else shutil.move(
            made, library
        )
    return library


def write_manifest() -> None:
    """Write the hashes of the sources that the library was built from."""
    from ssik_ros.kernels.native import sources

    text = json.dumps(sources.manifest(), indent=0)
    (NATIVE / 'sources.json').write_text(text, encoding='utf-8')
