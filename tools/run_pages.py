"""
Run the code of documentation pages and compare its output: ``python tools/run_pages.py [--write] PAGE ...``.

The blocks of a page run in order, in one interpreter and one new folder, as a reader would paste them:

- a ``python`` block runs; a ``text`` block that follows at once shows its output;
- a ``console`` block holds commands after ``$`` and their output; ``ssik``, ``python``, ``cat`` and ``ls`` run;
- a block after a line that ends with the name of a file and a colon, as in ``Save this as `arm.urdf`:``, becomes that
  file.

``...`` in an output matches any text. If the first line of a block ends with ``numbers-vary``, every number matches any
number and every width of a column any width: for times, which no machine repeats. ``--write`` puts the real outputs
into the pages where they differ.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import doctest
import io
import os
from pathlib import Path
import re
import shlex
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r'^```(\w*)([^\n]*)\n(.*?)^```$', re.M | re.S)
FILE = re.compile(r'`([\w.-]+\.\w+)`[^`\n]*:\s*\Z')
NUMBER = re.compile(r'\d+(?:\.\d+)?(?:e[+-]?\d+)?')
RULER = re.compile('[─━]+')
PROGRAMS = {'cat', 'ls', 'python', 'ssik'}
SSIK = 'import sys; from ssik_ros.cli.command import main; sys.exit(main(sys.argv[1:]))'
MATCHES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    mark: str
    """The word after the language."""
    text: str
    before: str
    """The text between the block before and this one."""
    start: int
    end: int
    """Where ``text`` begins and ends in the page."""


class Difference(NamedTuple):
    """An output that is not the one of the page."""

    start: int
    end: int
    shown: str
    printed: str


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a page in order."""
    blocks, last = [], 0
    for match in BLOCK.finditer(text):
        before = text[last : match.start()]
        mark = match[2].strip()
        blocks.append(Block(match[1], mark, match[3], before, match.start(3), match.end(3)))
        last = match.end()
    return blocks


def is_output(blocks: Sequence[Block], index: int) -> bool:
    """Return whether a block shows the output of the Python block before it."""
    if index == len(blocks) or blocks[index].language != 'text':
        return False
    return blocks[index - 1].language == 'python' and not blocks[index].before.strip()


def run_page(page: Path) -> list[Difference]:
    """
    Run a page in the current folder; return the outputs that differ.

    :param page: the page.
    """
    text = page.read_text(encoding='utf-8')
    blocks, names = read_blocks(text), {'__name__': '__main__'}
    differences: list[Difference] = []
    for index, block in enumerate(blocks):
        named = FILE.search(block.before)
        if named:
            Path(named[1]).write_text(block.text, encoding='utf-8')
        elif block.language == 'python':
            line = text.count('\n', 0, block.start)
            printed = run_python(block.text, names, f'{page.name}, block at line {line}')
            if is_output(blocks, index + 1):
                shown = blocks[index + 1]
                differences += compare(shown, shown.start, shown.text, printed)
        elif block.language == 'console':
            differences += run_console(block)
    return differences


def run_in_new_folder(page: Path) -> list[Difference]:
    """Run a page in a new folder, which is also the first folder for imports; return the outputs that differ."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            return run_page(page)
        finally:
            sys.path.remove(folder)
            os.chdir(before)


def run_python(code: str, names: dict[str, Any], where: str) -> str:
    """Return the output of a block."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, where, 'exec'), names)
    return printed.getvalue()


def run_console(block: Block) -> Iterator[Difference]:
    """Run the commands of a block that are known here; yield the outputs that differ."""
    for match in re.finditer(r'^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)', block.text, re.M):
        words = shlex.split(match[1].replace('\\\n', ' '), comments=True)
        if words[0] in PROGRAMS:
            start = block.start + match.start(2)
            yield from compare(block, start, match[2], run_command(words))


def run_command(words: Sequence[str]) -> str:
    """Return the output of a command."""
    programs = {'ssik': [sys.executable, '-c', SSIK], 'python': [sys.executable]}
    command = [*programs.get(words[0], words[:1]), *words[1:]]
    paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
    settings = {'COLUMNS': '100', 'NO_COLOR': '1', 'PYTHONPATH': os.pathsep.join(paths)}
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return '\n'.join(line.rstrip() for line in done.stdout.splitlines()) + '\n'


def compare(block: Block, start: int, shown: str, printed: str) -> list[Difference]:
    """Return the difference of an output, if there is one."""
    said = [shown, printed]
    if block.mark == 'numbers-vary':
        said = [NUMBER.sub('0', RULER.sub('-', text)) for text in said]
    if doctest.OutputChecker().check_output(*said, MATCHES):
        return []
    return [Difference(start, start + len(shown), shown, printed)]


def write(page: Path, differences: Sequence[Difference]) -> None:
    """Put real outputs into a page."""
    text = page.read_text(encoding='utf-8')
    for difference in reversed(differences):
        text = text[: difference.start] + difference.printed + text[difference.end :]
    page.write_text(text, encoding='utf-8')


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run pages; return the number of pages that differ.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--write', action='store_true', help='put the real outputs into the pages')
    parser.add_argument('pages', nargs='+', type=Path, metavar='PAGE', help='Markdown file')
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    wrong = 0
    for page in map(Path.resolve, chosen.pages):
        differences = run_in_new_folder(page)
        wrong += bool(differences)
        for difference in differences:
            print(
                f'{page.name} shows:\n{difference.shown}but this is printed:\n{difference.printed}'
            )
        if chosen.write:
            write(page, differences)
    return wrong


if __name__ == '__main__':
    sys.exit(main())
