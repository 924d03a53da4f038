"""The end of each script that writes a page: write it, or with ``--check`` compare it."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
import re

import prose


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    Return a table in Markdown.

    :param heads: of the columns.
    :param rows: one text for each column.
    """
    lines = ['| ' + ' | '.join(heads) + ' |', '|---' * len(heads) + '|']
    for row in rows:
        lines.append('| ' + ' | '.join(cell.replace('|', '\\|') for cell in row) + ' |')
    return '\n'.join(lines) + '\n'


def escaped(text: str) -> str:
    """
    Return a plain text as Markdown that shows the same; text in backquotes is code already.

    :param text: a help text or a comment.
    """
    parts = re.split(r'(`[^`]*`)', text)
    marked = [re.sub(r'([*_<>\[\]])', r'\\\1', part) for part in parts]
    return ''.join(part if place % 2 else marked[place] for place, part in enumerate(parts))


def main(page: Path, make_page: Callable[[], str], words: Sequence[str] | None = None) -> int:
    """
    Write a page, or compare it; return 1 if ``--check`` finds another text in the file.

    :param page: the file.
    :param make_page: returns its text.
    :param words: of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=f'Write {page.name}.')
    parser.add_argument('--check', action='store_true', help='compare only')
    text = prose.wrapped(make_page())
    if parser.parse_args(words).check:
        return int(not page.is_file() or page.read_text(encoding='utf-8') != text)
    page.write_text(text, encoding='utf-8')
    return 0
