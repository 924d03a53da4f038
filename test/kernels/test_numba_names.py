"""The names of numba that the build needs are there, and docs/explanation/when_numba_changes.md lists all of them."""

import ast
import importlib
from pathlib import Path
import re

import pytest

pytest.importorskip('numba')

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'explanation' / 'when_numba_changes.md'
NAMES = re.findall(r'^\| `(numba\.[\w.]+)`', PAGE.read_text(encoding='utf-8'), re.M)
SOURCES = (
    ROOT / 'tools' / 'native' / 'front_end.py',
    ROOT / 'ssik_ros' / 'kernels' / 'native' / 'compiler.py',
    ROOT / 'ssik_ros' / 'kernels' / 'native' / 'lane_types.py',
)
PUBLIC = ('numba', 'numba.extending')
PLAIN = {'numba.core.types', 'numba.core.config', 'numba.core.cgutils'}
"""Modules of which single names are listed."""


def named_object(name):
    """Return the object of a dotted name, which begins with a module."""
    parts = name.split('.')
    for count in range(len(parts), 0, -1):
        try:
            owner = importlib.import_module('.'.join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            owner = getattr(owner, part)
        return owner
    raise ImportError(name)


@pytest.mark.parametrize('name', NAMES)
def test_a_name_of_numba_is_there(name):
    assert named_object(name) is not None


def imports(path):
    """Yield the dotted names that a file imports from numba."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith('numba'):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: path.name)
def test_every_import_from_numba_is_listed(path):
    private = [n for n in imports(path) if n.rpartition('.')[0] not in PUBLIC and n not in PLAIN]
    assert private
    missing = [n for n in private if not any(f'{listed}.'.startswith(f'{n}.') for listed in NAMES)]
    assert missing == []


def test_every_replaced_name_is_listed():
    tree = ast.parse(SOURCES[0].read_text(encoding='utf-8'))
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
