"""
Lengths of functions and files, docstrings and blank lines not counted.

The style wants a median of 8 lines, and at most 40 lines in a function and 300 in a file. This is an aim: the run
prints the current figures (``pytest -rP``), and only the wide limits below fail.
"""

import ast
from pathlib import Path
import statistics

import pytest

ROOT = Path(__file__).resolve().parents[1] / 'ssik_ros'
FILES = sorted(ROOT.rglob('*.py'))
LONGEST_FUNCTION = 60
LONGEST_FILE = 600
AIM_FUNCTION = 40
AIM_FILE = 300
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_lines(tree):
    """Return the numbers of all lines of strings that are statements, as docstrings are."""
    lines = set()
    for node in ast.walk(tree):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):
            lines.update(range(node.lineno, node.end_lineno + 1))
    return lines


def count(text, first, last, left_out):
    """Return how many lines from first to last hold something."""
    numbered = enumerate(text.splitlines(), start=1)
    return sum(
        bool(line.strip()) for n, line in numbered if first <= n <= last and n not in left_out
    )


def measure(text):
    """Return the length of a source, and of each function's body by its name."""
    tree = ast.parse(text)
    left_out = docstring_lines(tree)
    lengths = {
        f'{node.name}:{node.lineno}': count(
            text, node.body[0].lineno, node.body[-1].end_lineno, left_out
        )
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
    }
    return count(text, 1, len(text.splitlines()), left_out), lengths


def measure_file(path):
    """Return the length of a file, and of each function's body."""
    return measure(path.read_text(encoding='utf-8'))


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_within_wide_limits(path):
    length, functions = measure_file(path)
    assert length <= LONGEST_FILE
    assert {name: n for name, n in functions.items() if n > LONGEST_FUNCTION} == {}


@pytest.mark.slow
def test_half_of_all_functions_are_short():
    lengths = sorted(n for path in FILES for n in measure_file(path)[1].values())
    long_ones = [n for n in lengths if n > AIM_FUNCTION]
    long_files = {p.name: measure_file(p)[0] for p in FILES if measure_file(p)[0] > AIM_FILE}
    median, p90 = statistics.median(lengths), lengths[9 * len(lengths) // 10]
    print(f'{len(lengths)} functions: median {median} lines, p90 {p90}, longest {lengths[-1]};')
    print(f'{len(long_ones)} above {AIM_FUNCTION}; files above {AIM_FILE}: {long_files}')
    assert median <= 12


def test_docstrings_and_blank_lines_are_not_counted():
    text = '"""Module."""\n\ndef f():\n    """\n    Long.\n    """\n\n    a = 1\n\n    return a\n'
    assert measure(text) == (3, {'f:3': 2})


def test_methods_and_functions_inside_functions_are_measured():
    text = 'class C:\n    def m(self):\n        def n():\n            return 1\n        return n\n'
    assert measure(text)[1] == {'m:2': 3, 'n:3': 1}
