"""
Copy functions of this package, with everything that they call, into one text that needs only Python and numpy.

:class:`PortableSources` collects the functions and returns the text. Everything that the functions call and every
constant that they read is collected from the syntax trees of their modules, under unique names: ``dot`` of ``vectors``
becomes ``vectors_dot``. Decorators are dropped, so that compiled kernels become plain Python. Docstrings are cut to
their first paragraph, and branches that can never run are left out. The other text is copied, not generated from the
tree: the same sources give the same bytes under every Python.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
import importlib
import importlib.util
import itertools
from pathlib import Path

from ssik_ros.errors import SolverError
from ssik_ros.kernels.rows.views import Memory
from ssik_ros.value_class import dataclass

PACKAGE = 'ssik_ros.'
FOREIGN = ('math', 'numpy', 'typing')
"""Modules that a text may import."""
PLAIN_TWINS = 'JIT_DISABLED'
"""Name of a condition: below ``if JIT_DISABLED`` a module has plain Python in place of definitions for the compiler."""
DECORATORS = f'{PACKAGE}kernels._jit'
"""Module of the decorators of kernels, and of the functions that make their views."""
DROPPED_DECORATORS = ('kernel', 'inline_kernel')

Origin = tuple[str, str]
"""A module and a name that it defines."""
ParameterValue = int | tuple[int, ...]
"""Known value of a parameter: a number, or all of its numbers."""
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
_UNKNOWN = object()
_BLOCKS = ('def ', 'class ')


class SourceNotPortable(SolverError, NotImplementedError):
    """
    Raised if a function cannot be copied into an artifact.

    It needs more than Python and numpy, or lacks a source, or a name or a parameter with a known value does not fit.
    """


@dataclass(frozen=True, eq=False, slots=True)
class _Module:
    """
    A parsed module of the package: its source, and its top-level definitions and imports by name.

    Sources of the functions that the module makes from its layouts of memory are appended to its source.
    """

    name: str
    content: bytes
    definitions: Mapping[str, Definition]
    imports: Mapping[str, tuple[str, str]]
    """Local name: module and name in it; an empty name for a module itself."""

    lines: tuple[int, ...]
    """Index in the source of the first byte of each line."""

    @property
    def stem(self) -> str:
        """Return the last part of the module's name."""
        return self.name.rpartition('.')[2]

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Return the index of the first byte of a syntax tree in the source, and the one after its last byte."""
        # Trees that are parsed from a source have an end, though its type is optional.
        last, column = node.end_lineno or 0, node.end_col_offset or 0
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[last - 1] + column


@dataclass(frozen=True, eq=False, slots=True)
class _Scope:
    """Names that are valid where a piece of source is edited: its module, local names, and known values of parameters."""

    module: _Module
    locals: frozenset[str] = frozenset()
    constants: Mapping[str, ParameterValue] = field(default_factory=dict)


Edit = tuple[int, int, str]
"""Index of the first byte that is replaced, index after the last one, text."""


class PortableSources:
    """
    Collection of functions, classes and constants of this package, which can be returned as one text.

    :meth:`add` collects a definition with everything that it needs.
    """

    def __init__(
        self,
        constants: Mapping[Origin, Mapping[str, ParameterValue]] | None = None,
        replaced: Mapping[Origin, Origin] | None = None,
        plain: Iterable[str] = (),
    ) -> None:
        """
        Start an empty collection.

        :param constants: known values of parameters, by function; branches that they exclude are left out of the text.
        :param replaced: for some definitions, the definition to use instead.
        :param plain: modules whose names stay unchanged in the text.
        """
        self._constants = dict(constants or {})
        self._replaced = dict(replaced or {})
        self._plain = frozenset(plain)
        self._modules: dict[str, _Module] = {}
        self._order: list[str] = []
        self._texts: dict[str, dict[int, str]] = {}
        self._names: dict[str, Origin] = {}
        self._imports: set[str] = set()

    def add(self, module: str, name: str) -> str:
        """
        Collect a definition and everything that it needs; return the name that it has in the text.

        :param module, name: full name of the module that defines it, and its name there.
        :raises SourceNotPortable: if a needed definition does not have a portable source.
        """
        return self._need(self._load(module), name)

    def import_lines(self) -> tuple[str, ...]:
        """Return the import statements that the collected text needs, sorted by module."""
        return tuple(sorted(self._imports, key=lambda line: (line.split()[1], line)))

    def text(self) -> str:
        """
        Return all collected definitions as one text.

        A module comes after the modules that it imports; within a module, definitions are in the order of the source.
        """
        parts = []
        for name in self._order:
            texts = self._texts.get(name)
            if texts:
                body = _join(texts[line] for line in sorted(texts))
                gap = '\n\n\n' if body.startswith(_BLOCKS) else '\n'
                parts.append(f'# {name.removeprefix(PACKAGE)}{gap}{body}')
        return '\n\n\n'.join(parts) + '\n'

    def _load(self, name: str) -> _Module:
        """
        Return a parsed module of the package.

        The first call for a module reads the module and its imports, and appends them to the order of the text.

        :param name: full name of the module.
        :raises SourceNotPortable: if one of these modules has no source.
        """
        if name not in self._modules:
            module = _read_module(name)
            self._modules[name] = module
            for target, attribute in module.imports.values():
                inner = _as_module(target, attribute)
                if inner is not None:
                    self._load(inner)
                elif target.startswith(PACKAGE):
                    self._load(target)
            self._order.append(name)
        return self._modules[name]

    def _need(self, module: _Module, name: str) -> str:
        """
        Return the name that a definition has in the collected text; at the first call, also collect its source.

        If the collection has a replacement for the definition, the replacement is used. An imported name is followed to
        the module that defines it. All definitions that the source needs are collected, too.

        :param module: the module that uses the name.
        :param name: the name in this module.
        :raises SourceNotPortable: if no definition of the name is found, a needed definition cannot be copied, or two
            definitions would get the same name.
        """
        origin = module.name, name
        if origin in self._replaced:
            target, name = self._replaced[origin]
            return self._need(self._load(target), name)
        if name not in module.definitions and name in module.imports:
            target, attribute = module.imports[name]
            return self._need(self._load(target), attribute)
        if name not in module.definitions:
            raise SourceNotPortable(f"'{name}' of {module.name} has no source that stands alone.")
        written = self._written(module, name)
        if self._names.setdefault(written, origin) != origin:
            raise SourceNotPortable(f"'{written}' would mean {origin} and {self._names[written]}.")
        node = module.definitions[name]
        texts = self._texts.setdefault(module.name, {})
        if node.lineno not in texts:
            texts[node.lineno] = ''
            texts[node.lineno] = self._render_definition(module, node)
        return written

    def _written(self, module: _Module, name: str) -> str:
        """
        Return the name that a definition has in the text: ``stem_name``, or ``name`` for plain modules.

        Leading underscores of both parts are dropped; before a name in upper case, the stem is in upper case, too.

        :param module: the module that defines it; ``stem`` is the last part of the module's name.
        """
        if module.name in self._plain:
            return name
        bare = name.lstrip('_')
        stem = module.stem.lstrip('_')
        return f'{stem.upper() if bare.isupper() else stem}_{bare}'

    def _render_definition(self, module: _Module, node: Definition) -> str:
        """
        Return the text of one definition with all edits, without its decorators.

        :param node: syntax tree of the definition.
        """
        scope = _Scope(module)
        if isinstance(node, ast.FunctionDef):
            _check_decorators(module, node)
            scope = self._function_scope(module, node)
        text = self._render(scope, [node])
        return _move(text, -node.col_offset)

    def _function_scope(self, module: _Module, node: ast.FunctionDef) -> _Scope:
        """
        Return the :class:`_Scope` inside a function, with known values of its parameters.

        :raises SourceNotPortable: if a parameter with a known value does not exist or is assigned to.
        """
        arguments = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        stored = {
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        constants = self._constants.get((module.name, node.name), {})
        wrong = [name for name in constants if name not in arguments or name in stored]
        if wrong:
            raise SourceNotPortable(f'{wrong} are no constant parameters of {node.name}.')
        return _Scope(module, frozenset(arguments | stored), constants)

    def _render(self, scope: _Scope, nodes: Sequence[ast.stmt]) -> str:
        """
        Return the source text of neighbouring syntax trees, with the edits of all of them.

        :param nodes: the trees, in their order; their edits must not overlap.
        """
        at, end = scope.module.span(nodes[0])[0], scope.module.span(nodes[-1])[1]
        parts = []
        for begin, after, text in sorted(e for node in nodes for e in self._edits(scope, node)):
            parts += [scope.module.content[at:begin].decode(), text]
            at = after
        return ''.join([*parts, scope.module.content[at:end].decode()])

    def _edits(self, scope: _Scope, node: ast.AST) -> Iterator[Edit]:
        """
        Yield the edits within a syntax tree: new names, removed branches, shortened docstrings.

        An edit is (index of the first byte to replace, index after the last one, new text). Definitions that the tree
        needs are collected on the way. Formatted strings are not edited.

        :param scope: the names that are valid at the tree.
        :raises SourceNotPortable: if the tree needs something that cannot be copied.
        """
        if isinstance(node, ast.If):
            yield from self._edit_branch(scope, node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from self._edit_attribute(scope, node, node.value)
        elif isinstance(node, ast.Name):
            yield from self._edit_name(scope, node)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from self._edit_body(scope, node)
        elif not isinstance(node, ast.JoinedStr):
            # Positions inside formatted strings are wrong before Python 3.12; no name of ours needs an edit there.
            for child in ast.iter_child_nodes(node):
                yield from self._edits(scope, child)

    def _edit_body(self, scope: _Scope, node: ast.FunctionDef | ast.ClassDef) -> Iterator[Edit]:
        """
        Yield the edits of a function or class: its new name, its shortened docstring, and the edits of its body.

        Functions inside another definition keep their names. A shortened docstring is the first paragraph. A body that
        is only a docstring keeps it whole.
        """
        if scope.module.definitions.get(node.name) is node:
            keyword = 'def ' if isinstance(node, ast.FunctionDef) else 'class '
            begin = scope.module.span(node)[0] + len(keyword)
            yield begin, begin + len(node.name), self._written(scope.module, node.name)
        elif isinstance(node, ast.FunctionDef):
            scope = self._function_scope(scope.module, node)
        first = node.body[0]
        if ast.get_docstring(node) is not None and len(node.body) > 1:
            summary = ' '.join((ast.get_docstring(node) or '').partition('\n\n')[0].split())
            yield *scope.module.span(first), f'"""{summary}"""'
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        skipped = [*decorators, first] if ast.get_docstring(node) is not None else decorators
        for child in ast.iter_child_nodes(node):
            if child in skipped:
                continue
            if isinstance(node, ast.ClassDef) and isinstance(child, ast.AnnAssign):
                # A field keeps its name, also if the module gives this name to something else.
                yield from self._edits(scope, child.annotation)
                yield from () if child.value is None else self._edits(scope, child.value)
            else:
                yield from self._edits(scope, child)

    def _edit_attribute(
        self, scope: _Scope, node: ast.Attribute, owner: ast.Name
    ) -> Iterator[Edit]:
        """
        Yield the edits of an expression ``owner.attr``.

        If the owner is a module of the package, the whole expression becomes the name of the definition in the text.
        Otherwise only ``owner`` is edited.
        """
        target = None if owner.id in scope.locals else scope.module.imports.get(owner.id)
        inner = None if target is None else _as_module(*target)
        if inner is None:
            yield from self._edit_name(scope, owner)
            return
        yield *scope.module.span(node), self._need(self._load(inner), node.attr)

    def _edit_name(self, scope: _Scope, node: ast.Name) -> Iterator[Edit]:
        """
        Yield the edit of a name: a definition of the package gets its name in the text.

        For a name of another package, its import is noted. Local names of a function and built-in names are skipped.

        :raises SourceNotPortable: for another package than math, numpy and typing, or as :meth:`_need`.
        """
        module = scope.module
        if node.id in scope.locals:
            return
        target = module.imports.get(node.id)
        if target is not None and not target[0].startswith(PACKAGE):
            if target[0].partition('.')[0] not in FOREIGN:
                raise SourceNotPortable(f'{module.name} needs {target[0]}.')
            self._imports.add(_import_line(node.id, *target))
        elif target is not None or node.id in module.definitions:
            written = self._need(module, node.id)
            if written != node.id:
                yield *module.span(node), written

    def _edit_branch(self, scope: _Scope, node: ast.If) -> Iterator[Edit]:
        """
        Yield the edits of an ``if`` statement.

        If the value of its condition is known before the function runs, only the branch that runs is kept. The same
        counts for a condition of an ``elif``.
        """
        verdict = self._evaluate(scope, node.test)
        if verdict is not _UNKNOWN:
            yield (
                *scope.module.span(node),
                self._chosen(scope, node, bool(verdict), node.col_offset),
            )
            return
        for child in (node.test, *node.body):
            yield from self._edits(scope, child)
        other = node.orelse[0] if len(node.orelse) == 1 else None
        if isinstance(other, ast.If) and self._is_elif(scope, other):
            verdict = self._evaluate(scope, other.test)
            if verdict is not _UNKNOWN:
                inner = other.col_offset + 4
                text = self._chosen(scope, other, bool(verdict), inner)
                yield *scope.module.span(other), f'else:\n{" " * inner}{text}'
                return
        for child in node.orelse:
            yield from self._edits(scope, child)

    def _chosen(self, scope: _Scope, node: ast.If, verdict: bool, column: int) -> str:
        """
        Return the edited text of the branch of an ``if`` that runs, its lines moved to a column.

        If this branch is missing, the text is ``pass``.

        :param verdict: value of the condition.
        :param column: column at which the branch begins in the text.
        """
        branch = node.body if verdict else node.orelse
        if not branch:
            return 'pass'
        first = branch[0]
        text = self._render(scope, branch)
        if isinstance(first, ast.If) and self._is_elif(scope, first):
            text = text.removeprefix('el')
        return _move(text, column - first.col_offset)

    def _is_elif(self, scope: _Scope, node: ast.If) -> bool:
        """Return whether an ``if`` of the syntax tree is written as ``elif`` in the source."""
        return scope.module.content.startswith(b'elif', scope.module.span(node)[0])

    def _evaluate(self, scope: _Scope, node: ast.expr) -> object:
        """
        Return the value of an expression, or _UNKNOWN if it is not known before the function runs.

        Constants, parameters with known values, numbers that the module names, and indices of tuples are evaluated.
        From ``and``, ``or``, ``==`` and ``!=``, the result is a truth value.
        """
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in scope.locals:
            return scope.constants.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Name | ast.Attribute):
            return _constant(scope.module, node)
        if isinstance(node, ast.Subscript):
            numbers = self._evaluate(scope, node.value)
            index = self._evaluate(scope, node.slice)
            if isinstance(numbers, tuple) and isinstance(index, int):
                return numbers[index]
        if isinstance(node, ast.BoolOp):
            values = [self._evaluate(scope, value) for value in node.values]
            decides = isinstance(node.op, ast.Or)
            if any(value is not _UNKNOWN and bool(value) == decides for value in values):
                return decides
            return _UNKNOWN if _UNKNOWN in values else not decides
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = (self._evaluate(scope, n) for n in (node.left, node.comparators[0]))
            if _UNKNOWN not in (left, right) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                return (left == right) == isinstance(node.ops[0], ast.Eq)
        return _UNKNOWN


def _read_module(name: str) -> _Module:
    """
    Read and parse a module of the package.

    :param name: full name of the module.
    :raises SourceNotPortable: if it has no source.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SourceNotPortable(f'{name} has no source.')
    content = Path(spec.origin).read_bytes()
    if b' = Memory(' in content:
        content += _made_sources(name).encode()
    definitions: dict[str, Definition] = {}
    imports = {name: (DECORATORS, name) for name in ('vector', 'matrix')}
    for node in _top_level(ast.parse(content).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            definitions.update(dict.fromkeys(_targets(node), node))
        elif isinstance(node, ast.Import):
            imports.update({alias.asname or alias.name: (alias.name, '') for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                imports[alias.asname or alias.name] = node.module, alias.name
    lines = itertools.accumulate((len(line) + 1 for line in content.split(b'\n')), initial=0)
    return _Module(name, content, definitions, imports, tuple(lines))


def _made_sources(name: str) -> str:
    """
    Return the sources of the functions and constants that a module makes from its layouts of memory, as one text.

    The module is imported. The text is empty if it has no layouts.

    :param name: full name of the module.
    """
    made = vars(importlib.import_module(name)).values()
    texts = [
        text for layout in made if isinstance(layout, Memory) for text in layout.sources.values()
    ]
    return ''.join(f'\n\n{text}' for text in texts)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """
    Yield the top-level statements of a module.

    An ``if JIT_DISABLED`` statement is replaced by the statements of its first branch, the plain Python version.
    """
    for node in body:
        is_choice = isinstance(node, ast.If) and isinstance(node.test, ast.Name)
        if isinstance(node, ast.If) and is_choice and ast.unparse(node.test) == PLAIN_TWINS:
            yield from node.body
        else:
            yield node


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """Return the names to which an assignment assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _as_module(target: str, attribute: str) -> str | None:
    """
    Return the full name of the module of this package that an import statement names; None if it names anything else.

    :param target: module after ``from`` or ``import``.
    :param attribute: name after ``from ... import``; empty without one.
    """
    name = f'{target}.{attribute}' if attribute else target
    if not name.startswith(PACKAGE):
        return None
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:
        return None


def _constant(module: _Module, node: ast.Name | ast.Attribute) -> object:
    """Import a module and return the number that a name has there; _UNKNOWN if the value is not an int or a float."""
    value: object = importlib.import_module(module.name)
    for part in ast.unparse(node).split('.'):
        value = getattr(value, part, _UNKNOWN)
    return value if isinstance(value, int | float) else _UNKNOWN


def _check_decorators(module: _Module, node: ast.FunctionDef) -> None:
    """
    Check that a function has only decorators that may be dropped: ``kernel`` and ``inline_kernel``.

    :raises SourceNotPortable: for another decorator.
    """
    for decorator in node.decorator_list:
        if ast.unparse(decorator) not in DROPPED_DECORATORS:
            raise SourceNotPortable(f'{module.name}.{node.name}: @{ast.unparse(decorator)}.')


def _import_line(local: str, target: str, attribute: str) -> str:
    """
    Return the import statement that gives something a local name.

    :param local: the local name.
    :param target: module to import from.
    :param attribute: name in the module; empty to import the module itself.
    """
    alias = '' if local == (attribute or target) else f' as {local}'
    return f'from {target} import {attribute}{alias}' if attribute else f'import {target}{alias}'


def _move(text: str, by: int) -> str:
    """
    Return a text in which all lines but the first one are indented by ``by`` more columns, or fewer if it is negative.

    Blanks at the ends of these lines are removed.
    """
    first, *others = text.split('\n')
    moved = [line[-by:] if by < 0 else ' ' * by + line for line in others]
    return '\n'.join([first, *(line.rstrip() for line in moved)])


def _join(texts: Iterable[str]) -> str:
    """
    Return the texts of definitions, one below the other.

    Two blank lines surround functions and classes; constants follow each other without a blank line.
    """
    joined = ''
    was_block = False
    for text in texts:
        is_block = text.startswith(_BLOCKS)
        if joined:
            joined += '\n\n\n' if is_block or was_block else '\n'
        joined += text
        was_block = is_block
    return joined
