"""
Check three rules of style that ruff does not know: ``python tools/check_style.py``, part of ``make lint``.

Memory has names: where kernels take a part of a flat array by ``vector`` or ``matrix``, no number except zero says
where the part begins.

A threshold has a name of its own: a decimal number that is a public constant of a module has the same value in every
module that gives a constant this name. A name in :data:`VAGUE` has one value whatever its values are. Other names, such
as SCRATCH, ROWS or NAME, are roles that each module fills by itself.

No argument, variable, field, function or class has a name of :data:`EMPTY`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'ssik_ros/'
SOURCES = 'ssik_ros', 'test', 'tools', 'bench', 'examples', 'fuzz', 'launch'
"""Folders whose names are judged."""
VIEWS = 'vector', 'matrix'
VAGUE = frozenset(
    [
        'ROUNDING',
        'SAME',
        'NEAR',
        'BESIDE',
        'FARTHEST',
        'EXACT',
        'FREE',
        'FAR',
        'CLOSE',
        'TOLERANCE',
        'SETTLED',
        'RIGID',
        'LONGEST',
        'LARGEST',
        'MOST',
        'ROOM',
        'AT_ONCE',
    ]
)
"""Names without a noun: they do not say which quantity a number bounds."""

EMPTY = frozenset(
    [
        'own',
        'found',
        'known',
        'away',
        'way',
        'ways',
        'beside',
        'behind',
        'answer',
        'answers',
        'question',
        'questions',
    ]
)
"""
Names without a noun for their value, or with one that does not say whether it is a request, a response or a solution.
Constants may have them, as codes and places in arrays do.
"""
FILE_KEYS = frozenset([('ssik_ros/benchmark/summary.py', 'found')])
"""Fields whose name is a key in files for users."""

Constant = tuple[str, float | str]
"""Name of a constant, and its value: a number, or the source of any other value."""


def literal_places(source: str) -> list[int]:
    """
    Return the lines of views whose place contains a number other than zero.

    :param source: of a module.
    """
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in VIEWS and len(node.args) > 1:
            parts = ast.walk(node.args[1])
            if any(isinstance(part, ast.Constant) and part.value != 0 for part in parts):
                lines.append(node.lineno)
    return lines


def list_constants(source: str) -> list[Constant]:
    """
    Return the public constants that a module defines.

    :param source: of a module.
    """
    constants = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        for target in targets:
            for node, text in _pairs(target, value):
                if isinstance(node, ast.Name) and node.id.isupper() and node.id[0] != '_':
                    constants.append((node.id, _value_of(text)))
    return constants


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Return the targets of an assignment, each with the source of its value."""
    if not isinstance(target, ast.Tuple):
        yield target, ast.unparse(value)
    elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        yield from ((a, ast.unparse(b)) for a, b in zip(target.elts, value.elts, strict=True))
    else:
        yield from ((a, f'{ast.unparse(value)}[{i}]') for i, a in enumerate(target.elts))


def _value_of(text: str) -> float | str:
    """Return the value of an expression without names, such as 2.0**-53; the expression itself if it has names."""
    nodes = (ast.Expression, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    tree = ast.parse(text, mode='eval')
    if not all(isinstance(node, nodes) for node in ast.walk(tree)):
        return text
    value = eval(compile(tree, '', 'eval'), {'__builtins__': {}})
    return value if isinstance(value, int | float) else text


def shared_names(sources: dict[str, str]) -> list[str]:
    """
    Return a sentence for each name that means different thresholds in different modules.

    :param sources: source of each module by its file.
    """
    values: dict[str, dict[str, float | str]] = {}
    for file, source in sources.items():
        for name, value in list_constants(source):
            values.setdefault(name, {})[file] = value
    sentences = []
    for name, by_file in sorted(values.items()):
        judged = {f: v for f, v in by_file.items() if name in VAGUE or isinstance(v, float)}
        if len(set(judged.values())) > 1:
            where = ', '.join(f'{file} ({value})' for file, value in judged.items())
            sentences.append(f'{name} means different things in {where}; say what each one bounds')
    return sentences


def empty_names(source: str) -> list[tuple[str, int]]:
    """
    Return the names of :data:`EMPTY` that a module gives, each with the number of its line.

    :param source: of a module.
    """
    names = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.append((name, node.lineno))
    return [
        (name, line)
        for name, line in names
        if name.lstrip('_').lower() in EMPTY and not name.isupper()
    ]


def read_sources(root: Path) -> dict[str, str]:
    """
    Return the source of each module by its file.

    :param root: folder of the repository.
    """
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding='utf-8')
        for folder in SOURCES
        for path in sorted((root / folder).rglob('*.py'))
    }


def faults(sources: dict[str, str]) -> list[str]:
    """
    Return a sentence for each file with literal places, each name with different meanings, and each empty name.

    :param sources: source of each module by its file. Places and thresholds are judged in the package only.
    """
    sentences = []
    package = {file: text for file, text in sources.items() if file.startswith(PACKAGE)}
    for file, source in package.items():
        if lines := literal_places(source):
            sentences.append(f'{file}: lines {lines} begin at a number; give the place a name')
    sentences += shared_names(package)
    for file, source in sources.items():
        sentences += [
            f'{file}:{line}: the name {name} does not say what its value is; use a noun such as branches, offset or response.'
            for name, line in empty_names(source)
            if (file, name) not in FILE_KEYS
        ]
    return sentences


def main() -> int:
    """Print the faults; return 1 if there are any."""
    sentences = faults(read_sources(ROOT))
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return int(bool(sentences))


if __name__ == '__main__':
    sys.exit(main())
