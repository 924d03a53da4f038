"""
Look at the prose of README and docs: ``python tools/prose.py [PAGE ...]`` lists sentences of more than 25 words.

Without pages, those of Start, Tutorials and How-to. ``--wide`` lists lines of prose wider than 120 columns of all pages
instead, and ``--wrap`` wraps the paragraphs that have such lines.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
import re
import sys
import textwrap
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GUIDES = ('start', 'tutorials', 'how_to')
MOST_WORDS = 25
WIDTH = 120
GENERATED = {'docs/modules.md', 'docs/benchmarks/results.md'}
"""Pages that a tool writes line by line."""
ITEM = re.compile(r'^( *)((?:[-+*]|\d+[.)]) +|(?:> ?)+|)')
NO_PROSE = re.compile(r'^ *(?:#|\||!\[|<|\[[^\]]*\]:|:::|\.\. |$)')
MARK = re.compile(r' (?=(?:[-+*#>=|]+|\d+[.)]) )')
"""A space before what would start a list, a heading or a table at the start of a line."""


class Paragraph(NamedTuple):
    """Lines of prose that belong together: a paragraph or an item of a list."""

    line: int
    """Number of the first line, from 0."""
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the words without the mark of the item."""
        first = ITEM.sub('', self.lines[0], count=1)
        return ' '.join([first, *self.lines[1:]]).strip()


def paragraphs(text: str) -> Iterator[Paragraph]:
    """
    Yield the paragraphs of a page; code, tables, headings and pictures are none.

    :param text: of the page.
    """
    fence, start, found = '', 0, []
    for number, line in enumerate([*text.split('\n'), '']):
        mark = re.match(r' *(`{3,}|~{3,})', line)
        is_prose = not fence and not mark and not NO_PROSE.match(line)
        if found and (not is_prose or ITEM.match(line)[2]):
            yield Paragraph(start, tuple(found))
            found = []
        if is_prose:
            start = start if found else number
            found.append(line)
        if mark:
            fence = '' if fence and line.strip().startswith(fence) else fence or mark[1]


def wide(text: str) -> list[int]:
    """
    Return the numbers of lines of prose wider than 120 columns, from 0; a single word may be as long as it is.

    :param text: of the page.
    """
    return [
        paragraph.line + place
        for paragraph in paragraphs(text)
        for place, line in enumerate(paragraph.lines)
        if len(line) > WIDTH and ' ' in line.strip()[:WIDTH].lstrip('-*0123456789. ')
    ]


def wrapped(text: str) -> str:
    """
    Return a page with its wide paragraphs wrapped; those with line breaks of their own stay.

    :param text: of the page.
    """
    lines: list[str | None] = list(text.split('\n'))
    for paragraph in paragraphs(text):
        if any(len(line) > WIDTH for line in paragraph.lines) and not any(
            line.endswith(('  ', '\\')) for line in paragraph.lines
        ):
            lines[paragraph.line] = _filled(paragraph)
            for place in range(1, len(paragraph.lines)):
                lines[paragraph.line + place] = None
    return '\n'.join(line for line in lines if line is not None)


def _filled(paragraph: Paragraph) -> str:
    """Return a paragraph in lines of at most 120 columns."""
    match = ITEM.match(paragraph.lines[0])
    assert match
    indent = match[1] + (match[2] if match[2].startswith('>') else ' ' * len(match[2]))
    words = ' '.join(paragraph.text.split())
    filled = textwrap.fill(
        MARK.sub('\0', words),
        WIDTH,
        initial_indent=match[0],
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace('\0', ' ')


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """
    Yield the sentences of more than 25 words, with the number of the paragraph's first line, from 0.

    :param text: of the page.
    """
    for paragraph in paragraphs(text):
        plain = re.sub(r'`[^`]*`', 'code', paragraph.text)
        plain = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', plain)
        for sentence in re.split(r'(?<=[.!?:;])\s+', plain):
            if len(sentence.split()) > MOST_WORDS:
                yield paragraph.line, sentence


def pages() -> list[Path]:
    """Return the pages that people write."""
    every = [*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')]
    return sorted(p for p in every if str(p.relative_to(ROOT)) not in GENERATED)


def main(words: Sequence[str] | None = None) -> int:
    """
    List or wrap.

    :param words: of the command line; None means those of the process.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0])
    parser.add_argument('pages', nargs='*', type=Path, metavar='PAGE')
    parser.add_argument('--wide', action='store_true', help='list lines wider than 120 columns')
    parser.add_argument('--wrap', action='store_true', help='wrap paragraphs with such lines')
    options = parser.parse_args(words)
    guides = [p for folder in GUIDES for p in sorted((ROOT / 'docs' / folder).glob('*.md'))]
    chosen = options.pages or (pages() if options.wide or options.wrap else guides)
    for page in chosen:
        text = page.read_text(encoding='utf-8')
        if options.wrap:
            page.write_text(wrapped(text), encoding='utf-8')
        elif options.wide:
            print(''.join(f'{page}:{number + 1}\n' for number in wide(text)), end='')
        else:
            for number, sentence in long_sentences(text):
                print(f'{page}:{number + 1}: {len(sentence.split())} words: {sentence}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
