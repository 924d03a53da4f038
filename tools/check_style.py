"""
Check four rules of style that ruff does not know: ``python tools/check_style.py``, part of ``make lint``.

Memory has names. A kernel that takes a part of a flat array by ``vector`` or ``matrix`` names the place where it begins;
so does one that loads or stores lanes, apart from the first rows. An index or a slice names each part of packed memory
that it passes: :func:`is_packed_index` has the rule and the exceptions. Modules of :data:`LAYOUTS` define the names.

A threshold has a name of its own: a decimal number that is a public constant of a module has the same value in every
module that gives a constant this name. A name in :data:`VAGUE` has one value whatever its values are. Other names, such
as SCRATCH, ROWS or NAME, are roles that each module fills by itself.

No argument, variable, field, function or class has a name of :data:`EMPTY`.

Tests touch no private attribute of another object, and no private name of another module; :func:`private_names` has the
rule. Only :data:`HELPERS` may, for private parts of other packages.
"""

import ast
from collections.abc import Iterable, Iterator
import functools
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'ssik_ros/'
SOURCES = 'ssik_ros', 'test', 'tools', 'bench', 'campaigns', 'examples', 'fuzz', 'launch'
"""Folders whose names are judged."""
VIEWS = 'vector', 'matrix'
LANE_CALLS = 'load', 'load_half', 'store'
LAYOUTS = (
    'ssik_ros/kernels/mechanisms/layout.py',
    'ssik_ros/kernels/rows/layout.py',
    'ssik_ros/kernels/rows/views.py',
)
"""Modules that say where the parts of packed memory are."""
SIZES = frozenset(['n', 'm', 'nq', 'nv', 'dof', 'joints', 'free'])
"""Names of lengths: a multiple of one of them leads past several parts, while 3 i + k is a number of row i."""
FEW, WIDEST_ROW, POSE = 3, 4, 12
"""Largest offset in a row that needs no name; widest row, as of a quaternion or of 4x4; width of a pose."""
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
TESTS = 'test/'
HELPERS = ('test/view/made_pages.py',)
"""Files of tests that reach into another package for all others: viser hides its controls and clients."""
NAMED_TUPLE = frozenset(['_asdict', '_field_defaults', '_fields', '_make', '_replace'])
BY_NAME = frozenset(['setattr', 'getattr', 'hasattr', 'delattr'])
"""Functions that take the name of an attribute as a text, and methods of pytest's monkeypatch."""
SYSTEM = frozenset(['_exit', '_getframe'])
"""Functions of os and sys that are public in spite of their names."""
FILE_KEYS = frozenset([('ssik_ros/benchmark/summary.py', 'found')])
"""Fields whose name is a key in files for users."""

Constant = tuple[str, float | str]
"""Name of a constant, and its value: a number, or the source of any other value."""


@functools.lru_cache(maxsize=1)
def _nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module's syntax tree, which the rules for a file share."""
    return tuple(ast.walk(ast.parse(source)))


def literal_places(source: str) -> list[int]:
    """
    Return the lines that say by numbers where a part of packed memory is.

    :param source: of a module.
    """
    lines = []
    for node in _nodes_of(source):
        if isinstance(node, ast.Subscript):
            is_literal = is_packed_index(node.slice)
        else:
            is_literal = isinstance(node, ast.Call) and _is_literal_call(node)
        if is_literal:
            lines.append(node.lineno)
    return sorted(set(lines))


def _is_literal_call(call: ast.Call) -> bool:
    """Return whether a call makes a view, or loads or stores lanes, at a place that has a number in it."""
    match call.func:
        case ast.Name(id=name):
            owner = ''
        case ast.Attribute(attr=name, value=ast.Name(id=owner)):
            pass
        case _:
            return False
    places = [*call.args[1:2], *(key.value for key in call.keywords if key.arg == 'start')]
    if name in VIEWS:
        return any(number != 0 for place in places for number in _numbers(ast.walk(place)))
    if owner == 'lanes' and name in LANE_CALLS:
        return any(number > FEW for place in places for number in _numbers(_outside_calls(place)))
    return False


def _numbers(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Return the whole numbers among nodes."""
    for node in nodes:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node.value


def _outside_calls(node: ast.AST) -> Iterator[ast.AST]:
    """Return a node and its parts except the arguments of calls, which are not yet places."""
    yield node
    if not isinstance(node, ast.Call):
        for part in ast.iter_child_nodes(node):
            yield from _outside_calls(part)


def is_packed_index(index: ast.expr) -> bool:
    """
    Return whether an index or a slice passes parts of packed memory by numbers.

    An index does if it adds to a multiple of a length (2 n + k), to a multiple and two more terms (a + 4 i + k), or to a
    wide one (7 i + k); so does a number from 13 on, also as one term. A slice does if it begins or ends so, or at any
    multiple (x[n : 2 * n]), and if its length is a number above 4. Harmless are an element of a small matrix (3 i + k,
    4 i + k), an offset in a row (a + 2), a part of a pose ([9:12]), the first part ([:16]), one row (3 i : 3 i + 3), a
    quaternion (a : a + 4) and a pose (a : a + 12).

    :param index: the expression between the brackets.
    """
    match index:
        case ast.Tuple(elts=indices):
            # A plain number selects a row or a column here.
            return any(is_packed_index(i) for i in indices if not isinstance(i, ast.Constant))
        case ast.Slice(lower=lower, upper=upper):
            return lower is not None and _is_packed_slice(lower, upper)
    terms = _terms(index)
    if any(number > POSE for number in _numbers(terms)):
        return True
    scaled = [factors for factors in map(_factors, terms) if factors[0] > 1]
    if not scaled or len(terms) == 1:
        return False
    is_wide = len(terms) > 2 or any(factor > WIDEST_ROW for factor, _ in scaled)
    is_far = any(number > FEW for number in _numbers(terms))
    return is_wide or is_far or any(name in SIZES for _, name in scaled)


def _is_packed_slice(lower: ast.expr, upper: ast.expr | None) -> bool:
    """Return whether a slice that begins at ``lower`` passes parts of packed memory by numbers."""
    first, size = _terms(lower), []
    row = max(factor for factor, _ in map(_factors, first))
    if upper is not None:
        size = _terms(upper)
        if [ast.dump(term) for term in size[: len(first)]] == [ast.dump(term) for term in first]:
            size = size[len(first) :]
            widths = list(_numbers(size))
            if any(width > WIDEST_ROW and width not in (row, POSE) for width in widths):
                return True
            if len(first) == 1 and row > 1:
                return not widths or widths[0] > row
        else:
            first = [*first, *size]
    return any(factor > 1 for factor, _ in map(_factors, first)) or any(
        number > POSE for number in _numbers(first)
    )


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return the terms of a sum or difference, in their order; a list of one if it is something else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _factors(term: ast.expr) -> tuple[int, str]:
    """Return (number, name) of a product such as 3 * n or 3 * work.n; 1 without a number."""
    match term:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.Constant(value=int(number)), right=rest)
            | ast.BinOp(op=ast.Mult(), left=rest, right=ast.Constant(value=int(number)))
        ):
            return number, ast.unparse(rest).rpartition('.')[2]
    return 1, ''


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
    for node in _nodes_of(source):
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


def private_names(source: str) -> list[tuple[str, int]]:
    """
    Return the private names of other objects and modules that a module uses, each with the number of its line.

    A name is private if it begins with one underscore, except for the methods of named tuples, :data:`SYSTEM` and names
    that end with an underscore too: other programs call these. Attributes of ``self`` and ``cls`` may be private.

    :param source: of a module.
    """
    names = []
    for node in _nodes_of(source):
        match node:
            case ast.Attribute(value=ast.Name(id='self' | 'cls')):
                pass
            case ast.Attribute(attr=name, end_lineno=int(line)):
                names.append((name, line))
            case ast.ImportFrom(names=imported, lineno=line):
                names += [(alias.name, line) for alias in imported]
            case ast.Call(
                func=ast.Attribute(attr=called) | ast.Name(id=called), args=arguments, lineno=line
            ) if called in BY_NAME:
                names += [
                    (text.rpartition('.')[2], line)
                    for argument in arguments[:2]
                    if isinstance(text := getattr(argument, 'value', None), str)
                ]
    return [(name, line) for name, line in names if _is_private(name)]


def _is_private(name: str) -> bool:
    """Return whether a name is private; see :func:`private_names`."""
    is_public = name in NAMED_TUPLE or name in SYSTEM or name.endswith('_')
    return name.startswith('_') and not is_public


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
    Return a sentence for each file with literal places, and each ambiguous, empty or private name.

    :param sources: source of each module by its file. Places and thresholds are judged in the package only, private names
        in tests only.
    """
    package = {file: text for file, text in sources.items() if file.startswith(PACKAGE)}
    sentences = shared_names(package)
    for file, source in sources.items():
        if file in package and file not in LAYOUTS and (lines := literal_places(source)):
            sentences.append(
                f'{file}: lines {lines} find memory by a number; give the place a name'
            )
        sentences += [
            f'{file}:{line}: the name {name} does not say what its value is; use a noun such as branches, offset or response.'
            for name, line in empty_names(source)
            if (file, name) not in FILE_KEYS
        ]
        if file.startswith(TESTS) and file not in HELPERS:
            sentences += [
                f'{file}:{line}: the name {name} is private; test what users of the object see.'
                for name, line in private_names(source)
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
