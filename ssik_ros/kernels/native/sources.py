"""
Which sources the native library was built from, by hashes that comments and docstrings do not change.

Without a compiler and without numba: the package compares a source tree with its library when it is imported, and the
build decides with the same hashes what to compile again.
"""

import hashlib
import io
import itertools
from pathlib import Path
import re
import tokenize

KERNELS = Path(__file__).parents[1]
"""Folder of the kernels."""
SIGNATURES = Path(__file__).parent / 'kernels.txt'
"""The list of the kernels that Python may call."""

_IMPORT = re.compile(
    r'^[ \t]*(?:from\s+ssik_ros\.kernels([\w.]*)\s+import\s+(\w+)|import\s+ssik_ros\.kernels([\w.]+))',
    re.MULTILINE,
)
_IGNORED = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
_BEFORE_A_STATEMENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def modules() -> dict[str, Path]:
    """Return the files of the kernels by the name of their module below ``ssik_ros.kernels``."""
    native = Path(__file__).parent
    return {
        '.'.join(path.relative_to(KERNELS).with_suffix('').parts): path
        for path in sorted(KERNELS.rglob('*.py'))
        if native not in path.parents and path.name != '__init__.py'
    }


def direct_imports(path: Path, known: dict[str, Path]) -> list[str]:
    """
    Return the kernel modules that a file imports.

    :param path: of the file.
    :param known: of :func:`modules`.
    """
    # What stands behind "import" may be a module of the package before it, or a name of the module.
    names: dict[str, None] = {}
    for package, name, module in _IMPORT.findall(path.read_text(encoding='utf-8')):
        names |= dict.fromkeys([module] if module else [package, f'{package}.{name}'])
    return [name for name in (name.lstrip('.') for name in names) if name in known]


def imports() -> dict[str, list[str]]:
    """Return the kernel modules that each kernel module imports, directly or not, each after those it imports."""
    known = modules()
    direct = {name: direct_imports(path, known) for name, path in known.items()}
    found: dict[str, list[str]] = {}

    def visit(name: str) -> list[str]:
        if name not in found:
            behind: dict[str, None] = {}
            for imported in direct[name]:
                behind |= dict.fromkeys([*visit(imported), imported])
            found[name] = list(behind)
        return found[name]

    for name in known:
        visit(name)
    return found


def digest_of_code(text: str) -> str:
    """
    Return a hash of a Python source without its comments, docstrings and blank lines.

    :param text: the source.
    """
    digest = hashlib.sha256()
    read = tokenize.generate_tokens(io.StringIO(text).readline)
    tokens = [token for token in read if token.type not in _IGNORED]
    before, is_text = tokenize.NEWLINE, False
    for token, behind in itertools.pairwise([*tokens, tokens[-1]]):
        # A docstring, or a text that documents a constant, and the end of its line.
        was_text = is_text
        is_text = (
            token.type == tokenize.STRING
            and before in _BEFORE_A_STATEMENT
            and behind.type == tokenize.NEWLINE
        )
        if not is_text and not was_text:
            # The text of an indentation is its depth, which the token's type tells as well.
            shown = '' if token.type in _BEFORE_A_STATEMENT else token.string
            digest.update(f'{token.type} {shown}\0'.encode())
        before = before if is_text else token.type
    return digest.hexdigest()


def digest_of_bytes(path: Path) -> str:
    """Return a hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest() -> dict[str, list[str]]:
    """Return two hashes of each source of the native library by its path: one of its bytes, one of its code."""
    files = {f'{name.replace(".", "/")}.py': path for name, path in modules().items()}
    table = {
        name: [digest_of_bytes(path), digest_of_code(path.read_text(encoding='utf-8'))]
        for name, path in files.items()
    }
    for path in (SIGNATURES, SIGNATURES.with_name('extension.c')):
        table[f'native/{path.name}'] = [digest_of_bytes(path)] * 2
    return table


def changed(table: dict[str, list[str]]) -> list[str]:
    """
    Return the paths whose code is not the one of a manifest, new and missing files included.

    :param table: of :func:`manifest`, as it was when the library was built.
    """
    now = [f'{name.replace(".", "/")}.py' for name in modules()]
    names = dict.fromkeys([*table, *now])
    return [name for name in names if not _is_same(KERNELS / name, table.get(name))]


def _is_same(path: Path, hashes: list[str] | None) -> bool:
    """Return whether a file has the code that two hashes stand for."""
    if hashes is None or not path.is_file():
        return False
    if digest_of_bytes(path) == hashes[0]:
        return True
    return path.suffix == '.py' and digest_of_code(path.read_text(encoding='utf-8')) == hashes[1]
