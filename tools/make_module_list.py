#!/usr/bin/env python3
"""
Write docs/modules.md: every folder of the package by its rank, and every module with the first sentence of its docstring.

``--check`` writes nothing and ends with 1 when the page is not up to date.
"""

import ast
from pathlib import Path
import sys

import generated_page
import layers

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'ssik_ros'
PAGE = ROOT / 'docs' / 'modules.md'
HEAD = """\
# Modules

Written by `tools/make_module_list.py` from the table in `tools/layers.py` and from the docstrings. A module imports strictly lower
ranks, or its own folder; `test/test_layers.py` holds every source to that.
"""


def first_sentence(path: Path) -> str:
    """
    Return the first line of a module's docstring, without its full stop and the marks of reST.

    :param path: of the module.
    """
    text = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))) or ''
    line = text.partition('\n')[0].removesuffix('.')
    return line.replace(':mod:', '').replace(':class:', '').replace('``', '`').replace('|', '\\|')


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for row in sorted(layers.TABLE):
        folder = PACKAGE.joinpath(*row.folder.split('.')) if row.folder else PACKAGE
        names = row.modules or sorted(
            path.stem for path in folder.glob('*.py') if path.stem != '__init__'
        )
        if not names:
            continue
        rank, step = row.rank
        title = f'`{row.folder.replace(".", "/")}/`' if row.folder else 'the package itself'
        parts.append(f'## {rank}.{step} {title}\n\n{row.holds[0].upper()}{row.holds[1:]}.\n')
        lines = [f'| `{name}.py` | {first_sentence(folder / f"{name}.py")} |' for name in names]
        parts.append('\n'.join(['| module | |', '|---|---|', *lines]) + '\n')
    return '\n'.join(parts)


def main(words: list[str] | None = None) -> int:
    """
    Write the page, or compare it.

    :param words: of the command line; None means ``sys.argv``.
    """
    return generated_page.main(PAGE, page, words)


if __name__ == '__main__':
    sys.exit(main())
