"""The names of numba that the build needs are there, and docs/explanation/when_numba_changes.md lists all of them."""

import ast
import importlib
from pathlib import Path
import re

import pytest

numba = pytest.importorskip('numba')
registry = pytest.importorskip('numba.core.registry')

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'explanation' / 'when_numba_changes.md'
NAMES = re.findall(r'^\| `(numba\.[\w.]+)`', PAGE.read_text(encoding='utf-8'), re.M)
FRONT_END = ROOT / 'tools' / 'native' / 'front_end.py'
SOURCES = sorted(
    path
    for folder in ('tools/native', 'ssik_ros/kernels/native')
    for path in (ROOT / folder).glob('*.py')
    if re.search(r'^\s*(from|import) numba\b', path.read_text(encoding='utf-8'), re.M)
)
"""All sources that import numba."""
PUBLIC = ('numba', 'numba.extending')
PLAIN = {'numba.core.types', 'numba.core.config', 'numba.core.cgutils'}
"""Modules of which single names are listed."""
OF_NAMED_TUPLES = {'_fields', '_replace', '_asdict'}
"""Public attributes of Python's named tuples."""


def plus_one(number):
    return number + 1


INSTANCES = {
    'numba.core.codegen.CPUCodeLibrary': (
        lambda: registry.cpu_target.target_context.codegen().create_library('empty')
    ),
    'numba.core.dispatcher.Dispatcher': lambda: numba.njit(plus_one),
}
"""Returns an object of each class whose listed attributes are set when an object is made."""


def named_object(name):
    """Return the object of a dotted name, which begins with a module."""
    parts = name.split('.')
    for count in range(len(parts), 0, -1):
        try:
            owner = importlib.import_module('.'.join(parts[:count]))
        except ImportError:
            continue
        for place in range(count, len(parts)):
            make = INSTANCES.get('.'.join(parts[:place]))
            if make is not None and not hasattr(owner, parts[place]):
                owner = make()
            owner = getattr(owner, parts[place])
        return owner
    raise ImportError(name)


@pytest.mark.parametrize('name', NAMES)
def test_a_name_of_numba_is_there(name):
    named_object(name)


@pytest.mark.parametrize(
    'name',
    [
        'numba.core.codegen.CPUCodeLibrary._last_module',
        'numba.core.dispatcher.Dispatcher._shelf',
        'numba.core.codegen.TPUCodeLibrary.finalize',
        'number.core',
    ],
)
def test_a_name_that_is_gone_is_told(name):
    with pytest.raises(
        (AttributeError, ImportError), match=name.rpartition('.')[2] + '|TPU|number'
    ):
        named_object(name)


def imports(path):
    """Yield the dotted names that a file imports from numba."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith('numba'):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: path.name)
def test_every_import_from_numba_is_listed(path):
    private = [n for n in imports(path) if n.rpartition('.')[0] not in PUBLIC and n not in PLAIN]
    missing = [n for n in private if not any(f'{listed}.'.startswith(f'{n}.') for listed in NAMES)]
    assert missing == []


def private_names(source):
    """Return the names with a leading ``_`` that a source reads or sets in objects of others."""
    tree = ast.parse(source)
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not ast.unparse(node).startswith('self.'):
            names.add(node.attr)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            # Numba reads names that a class of its family sets in the body.
            targets = [t for n in statement.body if isinstance(n, ast.Assign) for t in n.targets]
            if any(
                base.id != 'NamedTuple' for base in statement.bases if isinstance(base, ast.Name)
            ):
                names |= {target.id for target in targets}
        else:
            # A function with an argument ``self`` becomes a method of numba.
            names |= {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    is_private = re.compile('_[a-z]').match
    return {name for name in names if is_private(name)} - OF_NAMED_TUPLES


def test_private_names_are_seen():
    source = (
        'class Own:\n    def __init__(self): self._mine = self._also\n'
        'class Cache(FunctionCache):\n    _impl_class = Own\n'
        'def finalize(self): self._finalized = True\n'
        'def run(library): return library._module, library.__class__, library._fields\n'
    )
    assert private_names(source) == {'_impl_class', '_finalized', '_module'}


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: path.name)
def test_every_private_name_is_listed(path):
    listed = {name.rpartition('.')[2] for name in NAMES}
    assert private_names(path.read_text(encoding='utf-8')) - listed == set()


def test_the_sources_use_private_names():
    used = set().union(*(private_names(path.read_text(encoding='utf-8')) for path in SOURCES))
    assert {'_finalized', '_final_module', '_cache', '_getvalue', '_impl_class'} <= used


def test_every_replaced_name_is_listed():
    tree = ast.parse(FRONT_END.read_text(encoding='utf-8'))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    targets = [
        target
        for function in functions
        if function.name in ('patch_numba', '_compare_indices', 'lower')
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute)
    ]
    replaced = {target.attr for target in targets}
    assert len(replaced) > 6
    assert replaced - {name.rpartition('.')[2] for name in NAMES} == set()
