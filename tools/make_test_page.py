#!/usr/bin/env python3
"""
Write docs/explanation/how_this_is_tested.md: tests by folder, mutants, fuzzing, and long runs with their dates.

Long runs are lines of campaigns/long_runs.json; ``--record NAME FIGURE`` adds one with the date of today.
"""

import ast
from collections import Counter
from collections.abc import Sequence
import datetime
import json
from pathlib import Path
import sys

import generated_page

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'explanation' / 'how_this_is_tested.md'
RUNS = ROOT / 'campaigns' / 'long_runs.json'
HEAD = """\
# How this is tested

`tools/make_test_page.py` wrote this page from the tests and from the results of long runs. A function of a test runs for many
values: the number of tests is several times as large.

| what | how | command |
|---|---|---|
| every change | style, types, tests | `make lint test` |
| every promise | oracles that share no code with the package: pinocchio, finite differences, multi-start search | `make test-all` |
| the tests themselves | promises are broken on purpose, one by one; `make test` checks that each fault still fits the code | `make mutants` |
| every message | 100,000 messages that nobody should send; the robot and its state are judged between them | `make hostile` |
| half an hour of everything | all services at once, their responses checked; memory is bounded | `make soak` |
| files and blocks of the C library | fuzzing guided by coverage | `make fuzz FUZZ_MINUTES=n` |
| memory of kernels | a library that checks all bounds | `make test-all` |
"""


def test_functions() -> Counter[str]:
    """Return the number of test functions in each folder of ``test``."""
    counts: Counter[str] = Counter()
    for path in sorted((ROOT / 'test').rglob('test_*.py')):
        nodes = ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        number = sum(isinstance(n, kinds) and n.name.startswith('test_') for n in nodes)
        counts[path.relative_to(ROOT / 'test').parts[0]] += number
    return counts


def mutants() -> int:
    """Return the number of rows of the table of mutants."""
    tree = ast.parse((ROOT / 'tools' / 'mutants.py').read_text(encoding='utf-8'))
    return sum(
        isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'Mutant'
        for node in ast.walk(tree)
    )


def make_page() -> str:
    """Return the text of the page."""
    counts = test_functions()
    runs = json.loads(RUNS.read_text(encoding='utf-8'))
    rows = [
        (name.removesuffix('.py').removeprefix('test_'), str(number))
        for name, number in sorted(counts.items(), key=lambda item: -item[1])
    ]
    parts = [
        HEAD,
        f'## Tests\n\n{sum(counts.values()):,} functions of tests and {mutants()} mutants.\n',
        generated_page.table(('folder of `test/`', 'functions'), rows),
        '## Long runs\n',
        generated_page.table(
            ('run', 'figure', 'date'), [(r['name'], r['figure'], r['date']) for r in runs]
        ),
    ]
    return '\n'.join(parts)


def main(words: Sequence[str] | None = None) -> int:
    """
    Write the page, after a new result if there is one.

    :param words: of the command line; None means ``sys.argv``.
    """
    words = list(sys.argv[1:] if words is None else words)
    if words[:1] == ['--record']:
        _, name, figure = words
        runs = [r for r in json.loads(RUNS.read_text(encoding='utf-8')) if r['name'] != name]
        today = datetime.date.today().isoformat()
        runs.append({'name': name, 'figure': figure, 'date': today})
        RUNS.write_text(json.dumps(runs, indent=1) + '\n', encoding='utf-8')
        words = []
    return generated_page.main(PAGE, make_page, words)


if __name__ == '__main__':
    sys.exit(main())
