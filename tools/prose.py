"""
Look at the prose of README and docs: ``python tools/prose.py [PAGE ...]`` lists sentences of more than 25 words.

Without pages it reads the folders Start, Tutorials and How-to. ``--wide`` lists lines of prose wider than 120 columns of all pages
instead, and ``--wrap`` wraps the paragraphs that have such lines. ``--dialect`` lists the phrases of :data:`DIALECT` in
docstrings and comments of Python and C files or folders, and ends with 1 if there are any. Without files it reads all sources.
"""

import argparse
import ast
from collections.abc import Iterable, Iterator, Sequence
import io
from pathlib import Path
import re
import sys
import textwrap
import tokenize
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GUIDES = ('start', 'tutorials', 'how_to')
MOST_WORDS = 25
WIDTH = 120
GENERATED = {'docs/modules.md', 'docs/benchmarks/results.md'}
"""Pages that a tool writes line by line."""
SOURCES = (
    *('ssik_ros', 'bench', 'campaigns', 'tools', 'test', 'examples', 'fuzz', 'launch', 'docs'),
    'control_plugin',
)
C_SUFFIXES = ('.c', '.h', '.cpp', '.hpp')
C_COMMENT = re.compile(r'(?<!:)//[^\n]*(?:\n *//[^\n]*)*|/\*.*?\*/', re.S)
"""A comment; neighbouring lines are one comment. Slashes after a colon belong to an address."""
DIALECT = {
    'a noun instead of "what"': r'\bwhat\b(?! to\b)',
    'the noun instead of "that of"': r'\b(?:that|those) of\b',
    '"is not a" or a verb instead of "is no"': r'\bis no(?:ne)?\b(?! longer| more)',
    'a condition instead of "for none" or "where there is one"': r'\bnone for none\b|\bwhere there (?:is|are) (?:one|none)\b',
    '"above", "below" or "from" instead of "from which on", "up to which"': r'\b(?:from|up to) (?:which|where|there)(?: on)?\b',
    '"after" or "beyond" instead of "behind"': r'\bbehind\b',
    '"is" instead of "stands"': r'\bstands?\b(?! for\b)',
    '"only" instead of "alone"': r'\balone\b',
    '"with", "next to" or "apart from" instead of "beside"': r'\bbesides?\b',
}
"""Phrases that hide a noun, by the words to write instead."""
PHRASES = {remedy: re.compile(pattern, re.I) for remedy, pattern in DIALECT.items()}
ITEM = re.compile(r'^( *)((?:[-+*]|\d+[.)]) +|(?:> ?)+|)')
NO_PROSE = re.compile(r'^ *(?:#|\||!\[|<|\[[^\]]*\]:|:::|\.\. |$)')
MARK = re.compile(r' (?=(?:[-+*#>=|]+|\d+[.)]) )')
"""A space before a mark that would begin a list, a heading or a table at the start of a line."""


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
    Yield the paragraphs of a page, without code, tables, headings and pictures.

    :param text: of the page.
    """
    fence, start, lines = '', 0, []
    for number, line in enumerate([*text.split('\n'), '']):
        mark = re.match(r' *(`{3,}|~{3,})', line)
        is_prose = not fence and not mark and not NO_PROSE.match(line)
        if lines and (not is_prose or ITEM.match(line)[2]):
            yield Paragraph(start, tuple(lines))
            lines = []
        if is_prose:
            start = start if lines else number
            lines.append(line)
        if mark:
            fence = '' if fence and line.strip().startswith(fence) else fence or mark[1]


def wide(text: str) -> list[int]:
    """
    Return the numbers of lines of prose wider than 120 columns, from 0; a line of one long word is allowed.

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


def unlinked(text: str) -> str:
    """
    Return a text with the words of its links instead of the links.

    :param text: in Markdown.
    """
    return re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', text)


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """
    Yield the sentences of more than 25 words, with the number of the paragraph's first line, from 0.

    :param text: of the page.
    """
    for paragraph in paragraphs(text):
        plain = re.sub(r'`[^`]*`', 'code', paragraph.text)
        plain = unlinked(plain)
        for sentence in re.split(r'(?<=[.!?:;])\s+', plain):
            if len(sentence.split()) > MOST_WORDS:
                yield paragraph.line, sentence


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """
    Yield docstrings and comments of a Python module, with the numbers of their first lines.

    :param source: of the module.
    """
    for node in ast.walk(ast.parse(source)):
        for child in ast.iter_child_nodes(node):
            value = child.value if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield child.lineno, value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def spoken_in_c(source: str) -> Iterator[tuple[int, str]]:
    """
    Yield comments of a C or C++ file, with the numbers of their first lines.

    :param source: of the file.
    """
    for match in C_COMMENT.finditer(source):
        yield 1 + source.count('\n', 0, match.start()), match[0]


def dialect(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """
    Yield the phrases of the dialect: number of the line, the words around, and the remedy.

    :param texts: from :func:`spoken` or :func:`spoken_in_c`.
    """
    for first, text in texts:
        plain = re.sub(r'``[^`]*``|:param [^:]*:', lambda code: '_' * len(code[0]), text)
        for remedy, phrase in PHRASES.items():
            for match in phrase.finditer(plain):
                line = first + text.count('\n', 0, match.start())
                around = text[max(0, match.start() - 30) : match.end() + 30]
                yield line, ' '.join(around.split()), remedy


def modules(chosen: Sequence[Path]) -> list[Path]:
    """
    Return files whose texts shall be free of the dialect.

    :param chosen: files and folders; without any all sources.
    """
    roots = chosen or [ROOT / name for name in SOURCES]
    files = (p for root in roots for p in ([root] if root.is_file() else root.rglob('*')))
    return sorted({p.resolve() for p in files if p.suffix in ('.py', *C_SUFFIXES)})


def list_dialect(chosen: Sequence[Path]) -> int:
    """
    Print the phrases of the dialect; return 1 if there are any.

    :param chosen: as for :func:`modules`.
    """
    count = 0
    for module in modules(chosen):
        speech = spoken_in_c if module.suffix in C_SUFFIXES else spoken
        for line, words, remedy in dialect(speech(module.read_text(encoding='utf-8'))):
            print(f'{module.relative_to(ROOT)}:{line}: {words}: {remedy}')
            count += 1
    return int(count > 0)


def pages() -> list[Path]:
    """Return the pages that people write."""
    every = [*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')]
    return sorted(p for p in every if str(p.relative_to(ROOT)) not in GENERATED)


def main(words: Sequence[str] | None = None) -> int:
    """
    List or wrap.

    :param words: arguments of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0])
    parser.add_argument('pages', nargs='*', type=Path, metavar='PAGE')
    parser.add_argument('--wide', action='store_true', help='list lines wider than 120 columns')
    parser.add_argument('--wrap', action='store_true', help='wrap paragraphs with such lines')
    parser.add_argument('--dialect', action='store_true', help='list phrases that hide a noun')
    options = parser.parse_args(words)
    if options.dialect:
        return list_dialect(options.pages)
    guides = [p for folder in GUIDES for p in sorted((ROOT / 'docs' / folder).glob('*.md'))]
    chosen = options.pages or (pages() if options.wide or options.wrap else guides)
    if options.wrap and any(page.suffix == '.py' for page in chosen):
        parser.error('--wrap takes pages: in a source it would join lines of code')
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
