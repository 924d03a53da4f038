"""
Find the sources that have changed since the native library was built; comments and docstrings do not count.

:func:`manifest` computes the hashes that the build stores, and :func:`changed` compares the sources with them.

No compiler and no numba is needed. At import, the package compares a source tree with its library. The build uses the
same hashes to decide which modules to compile again. Files with the same time and size as at the build are not read.
The module that computes hashes is imported only if a file differs.
"""

from collections.abc import Iterator
import itertools
import os
from pathlib import Path
import re
from typing import Any

KERNELS = Path(__file__).parents[1]
"""Folder of the kernels."""
SIGNATURES = Path(__file__).parent / 'kernels.txt'
"""List of the kernels that Python may call."""

_IMPORT = r'^[ \t]*(?:from\s+ssik_ros\.kernels([\w.]*)\s+import\s+(\([^)]*\)|.+)|import\s+ssik_ros\.kernels([\w.]+))'


def modules() -> dict[str, Path]:
    """Return the file of each kernel module, by the module's name below ``ssik_ros.kernels``; ``native`` is left out."""
    paths = sorted(Path(KERNELS, name) for name in _kernel_files(''))
    return {'.'.join(path.relative_to(KERNELS).with_suffix('').parts): path for path in paths}


def _kernel_files(folder: str) -> Iterator[str]:
    """Yield the kernel modules below a folder, without ``native``, as paths relative to the folder of all kernels."""
    with os.scandir(KERNELS / folder) as entries:
        for entry in entries:
            name = f'{folder}/{entry.name}'.removeprefix('/')
            if name.endswith('.py'):
                if entry.name != '__init__.py':
                    yield name
            elif name not in ('native', '__pycache__') and entry.is_dir():
                yield from _kernel_files(name)


def direct_imports(path: Path, paths: dict[str, Path]) -> list[str]:
    """
    Return the names of the kernel modules that a file imports itself.

    :param path: the file.
    :param paths: result of :func:`modules`; other imports are left out.
    """
    # The word after "import" may be a module of the package before it, or a name in the module.
    names: dict[str, None] = {}
    for package, listed, module in re.findall(
        _IMPORT, path.read_text(encoding='utf-8'), re.MULTILINE
    ):
        members = [f'{package}.{name}' for name in re.findall(r'\w+', listed)]
        names |= dict.fromkeys([module] if module else [package, *members])
    return [name for name in (name.lstrip('.') for name in names) if name in paths]


def imports() -> dict[str, list[str]]:
    """Return for each kernel module the kernel modules that it imports, directly or through others, imported ones first."""
    paths = modules()
    direct = {name: direct_imports(path, paths) for name, path in paths.items()}
    all_imports: dict[str, list[str]] = {}

    def visit(name: str) -> list[str]:
        if name not in all_imports:
            names: dict[str, None] = {}
            for imported in direct[name]:
                names |= dict.fromkeys([*visit(imported), imported])
            all_imports[name] = list(names)
        return all_imports[name]

    for name in paths:
        visit(name)
    return all_imports


def digest_of_code(text: str) -> str:
    """
    Return a SHA-256 hash of a Python source that comments, docstrings and blank lines do not change.

    :param text: the source.
    """
    import hashlib
    import io
    import tokenize

    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
    before_a_statement = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    digest = hashlib.sha256()
    read = tokenize.generate_tokens(io.StringIO(text).readline)
    tokens = [token for token in read if token.type not in ignored]
    before, is_text = tokenize.NEWLINE, False
    for token, next_token in itertools.pairwise([*tokens, tokens[-1]]):
        # A docstring, or a text that documents a constant, and the end of its line.
        was_text = is_text
        is_text = (
            token.type == tokenize.STRING
            and before in before_a_statement
            and next_token.type == tokenize.NEWLINE
        )
        if not is_text and not was_text:
            # The text of an indentation is its depth, which the token's type tells as well.
            shown = '' if token.type in before_a_statement else token.string
            digest.update(f'{token.type} {shown}\0'.encode())
        before = before if is_text else token.type
    return digest.hexdigest()


def digest_of_bytes(path: Path) -> str:
    """Return the SHA-256 hash of the bytes of a file, as a hexadecimal text."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest() -> dict[str, list[Any]]:
    """
    Compute the manifest of the native library from the files as they are now: an entry for each source file.

    :returns: [hash of the bytes, hash of the code, time of the last change [ns], size [bytes]] of each file. The key is
        the path below the folder of the kernels. Files are all kernel modules, the list of signatures
        ``native/kernels.txt`` and ``native/extension.c``; for the last two, both hashes are of the bytes.
    """
    files = {f'{name.replace(".", "/")}.py': path for name, path in modules().items()}
    table = {
        name: [
            digest_of_bytes(path),
            digest_of_code(path.read_text(encoding='utf-8')),
            *_time_and_size(path),
        ]
        for name, path in files.items()
    }
    for path in (SIGNATURES, SIGNATURES.with_name('extension.c')):
        table[f'native/{path.name}'] = [*[digest_of_bytes(path)] * 2, *_time_and_size(path)]
    return table


def _time_and_size(path: str | Path) -> list[int]:
    """Return the time of the last change [ns] and the size [bytes] of a file; an empty list if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_mtime_ns, status.st_size]


def changed(table: dict[str, list[Any]]) -> list[str]:
    """
    Return the paths of the source files that differ from a manifest in their code, are new, or are missing.

    :param table: result of :func:`manifest` when the library was built.
    """
    names = dict.fromkeys([*table, *sorted(_kernel_files(''))])
    return [name for name in names if not _is_same(name, table.get(name))]


def _is_same(name: str, hashes: list[Any] | None) -> bool:
    """
    Return whether a source file has the code of its manifest entry; False if the file or the entry is missing.

    If time and size are as in the entry, the file is not read.

    :param name: path below the folder of the kernels.
    :param hashes: the entry: [hash of the bytes, hash of the code, time of the last change [ns], size [bytes]].
    """
    time_and_size = _time_and_size(f'{KERNELS}/{name}')
    if hashes is None or not time_and_size:
        return False
    if time_and_size == hashes[2:]:
        return True
    path = KERNELS / name
    if digest_of_bytes(path) == hashes[0]:
        return True
    return path.suffix == '.py' and digest_of_code(path.read_text(encoding='utf-8')) == hashes[1]
