"""
Allowed imports: the rank table of ``tools/layers.py``, checked on every source.

A module imports modules of strictly lower rank, or of its own row. Imports inside functions count like all others;
imports of the own package are forbidden there.
"""

import ast
from dataclasses import dataclass
import functools
import graphlib
import importlib
import inspect
from pathlib import Path
import sys

import pytest

PACKAGE = 'ssik_ros'
ROOT = Path(__file__).resolve().parents[1] / PACKAGE

sys.path.append(str(ROOT.parent / 'tools'))
from layers import place_of  # noqa: E402

# Only these folders import these packages.
OUTSIDE = {
    'numba': 'kernels',
    'llvmlite': 'kernels',
    'pinocchio': 'model',
    'coal': 'model',
    'rclpy': 'ros',
    'python_qt_binding': 'ros.panel',
    'rqt_gui_py': 'ros.panel',
}

# Module and imported module: the reason why the import is inside a function.
_DOCTOR = 'the installation is checked where the kernels do not load'
LATE_IMPORTS = {
    ('', 'errors'): 'the package imports nothing before a name is used',
    (
        'manipulator.named_robot',
        'solvers.kinematics_yaml',
    ): 'an arm from a URDF needs no parameters of solvers',
    ('cli.verb.doctor', 'model.description_files'): _DOCTOR,
    ('cli.verb.doctor', 'server.checkup'): _DOCTOR,
    ('cli.verb.call', 'ros.process.service_call'): 'rclpy may be missing',
    ('cli.verb.call', 'cli.targets'): 'few calls have a pose, which loads numpy',
    ('cli.verb.call', 'kernels.geometry.rotations'): 'few calls have a pose, which loads numpy',
    ('cli.verb.solve', 'cli.case_file'): 'few solves replay a test case, which loads the view',
    ('manipulator.manipulator', 'manipulator.self_motion_arms'): 'few users ask for curves',
    ('manipulator.arm_geometry', 'manipulator.arm_scene'): 'few arms check collisions',
    ('manipulator.arm_tasks', 'paths.planner'): 'few arms plan paths',
    ('manipulator.arm_tasks', 'manipulator.arm_path'): 'few arms plan paths',
    ('manipulator.arm_tasks', 'manipulator.arm_display'): 'few arms are shown',
    ('manipulator.arm_path', 'manipulator.arm_display'): 'few paths are shown',
    ('manipulator.arm_tasks', 'view.sessions.session'): 'few arms are shown',
    ('ros.optional_parts', 'ros.interactive_targets'): 'few nodes have targets to drag',
    ('ros.optional_parts', 'ros.services.task_set_services'): 'few nodes have a file of task sets',
    ('ros.optional_parts', 'ros.services.reach_services'): 'few nodes have a reach map',
    (
        'ros.optional_parts',
        'ros.services.tool_path_action',
    ): 'services do not wait for what the action needs',
    ('server.paths.planned_lines', 'paths.planner'): 'most requests are not planned',
    ('server.paths.tool_path_finder', 'paths.planner'): 'most nodes get no such goals',
    ('strict_yaml', 'yaml_loader'): 'PyYAML is imported with the first text',
}


@dataclass(frozen=True)
class Import:
    """One import statement, or call of ``import_module`` with a literal name."""

    line: int
    target: str
    """The module; for an import by ``from``, followed by the imported name."""
    late: bool
    """Whether it is inside a function."""
    for_types: bool
    """Whether it is below ``if TYPE_CHECKING``."""


def list_modules(root):
    """Return the files of a package by module name, relative to the package; a folder has its own."""
    names = {}
    for path in sorted(root.rglob('*.py')):
        parts = path.relative_to(root).with_suffix('').parts
        names['.'.join(parts).removesuffix('__init__').removesuffix('.')] = path
    return names


class _Reader(ast.NodeVisitor):
    """Collects the imports of one source."""

    def __init__(self):
        self.imports = []
        self.depth = 0
        self.for_types = False

    def add(self, node, target):
        self.imports.append(Import(node.lineno, target, self.depth > 0, self.for_types))

    def visit_Import(self, node):
        for alias in node.names:
            self.add(node, alias.name)

    def visit_ImportFrom(self, node):
        prefix = '.' * node.level + (node.module or '')
        for alias in node.names:
            self.add(node, f'{prefix}.{alias.name}')

    def visit_Call(self, node):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
        called = called.id if isinstance(called, ast.Name) else called
        literal = node.args and isinstance(node.args[0], ast.Constant)
        if called in ('import_module', '__import__') and literal:
            self.add(node, str(node.args[0].value))
        self.generic_visit(node)

    def visit_If(self, node):
        before = self.for_types
        self.for_types = before or 'TYPE_CHECKING' in ast.dump(node.test)
        self.generic_visit(node)
        self.for_types = before

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    def visit_AsyncFunctionDef(self, node):
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node):
        self.visit_FunctionDef(node)


def read_imports(path):
    """Return the imports of a file."""
    return imports_of(path.read_text(encoding='utf-8'))


@functools.cache
def imports_of(text):
    """Return the imports of a module's text; four tests read all modules."""
    reader = _Reader()
    reader.visit(ast.parse(text))
    return tuple(reader.imports)


def own_module(target, modules):
    """Return the module of this package that an import refers to, or None for a foreign one."""
    if target != PACKAGE and not target.startswith(f'{PACKAGE}.'):
        return None
    inner = target[len(PACKAGE) + 1 :]
    above = inner.rpartition('.')[0]
    return above if inner not in modules and above in modules else inner


def folder_of(module, modules):
    """Return the folder that a module lies in."""
    return module if modules[module].stem == '__init__' else module.rpartition('.')[0]


def rank_faults(module, target, modules):
    """Yield the faults of one module importing another."""
    ends = (module, target)
    source, aim = (place_of(end, modules[end].stem == '__init__') for end in ends)
    if source is not None and aim is not None and aim.rank >= source.rank and aim != source:
        rank, other = ('.'.join(map(str, row.rank)) for row in (source, aim))
        yield f'rank {rank} imports {target} of rank {other}'


def private_faults(module, target, modules):
    """Yield private names and modules that are imported from another folder."""
    parts = target.split('.')[1:]
    folder = folder_of(module, modules)
    for end, part in enumerate(parts):
        home = '.'.join(parts[:end])
        if part.startswith('_') and not part.startswith('__') and home in modules:
            home = folder_of(home, modules)
            if folder != home and not folder.startswith(f'{home}.'):
                yield f'private {target}'


def import_faults(module, item, modules):
    """Yield the faults of one import."""
    top = item.target.split('.')[0]
    if top == '':
        yield f'relative import {item.target}'
    if top in OUTSIDE and not module.startswith(f'{OUTSIDE[top]}.'):
        yield f'{top} belongs into {OUTSIDE[top]}'
    target = own_module(item.target, modules)
    if target is None:
        return
    if target not in modules:
        yield f'{target} does not exist'
        return
    yield from private_faults(module, item.target, modules)
    yield from rank_faults(module, target, modules)
    if item.late and (module, target) not in LATE_IMPORTS:
        yield f'imports {target} inside a function'


def find_faults(root):
    """Return everything that breaks the rules in a package, one line each."""
    modules = list_modules(root)
    faults = [
        f'{module}: has no rank'
        for module, path in modules.items()
        if place_of(module, path.stem == '__init__') is None
    ]
    for module, path in modules.items():
        for item in read_imports(path):
            what = import_faults(module, item, modules)
            faults += [f'{module}:{item.line}: {fault}' for fault in what]
    return faults


def find_cycle(root):
    """Return modules that import each other while they are loaded, or None."""
    modules = list_modules(root)
    graph = {}
    for module, path in modules.items():
        early = (i for i in read_imports(path) if not i.late and not i.for_types)
        targets = {own_module(item.target, modules) for item in early}
        graph[module] = targets - {None, module}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def public_names(path):
    """Return whether a file declares ``__all__``."""
    body = ast.parse(path.read_text(encoding='utf-8')).body
    targets = (t for node in body if isinstance(node, ast.Assign) for t in node.targets)
    return any(isinstance(t, ast.Name) and t.id == '__all__' for t in targets)


def test_every_module_imports_lower_ranks_or_its_own_row():
    assert find_faults(ROOT) == []


def test_no_modules_import_each_other():
    assert find_cycle(ROOT) is None


@pytest.mark.parametrize(
    ('folder', 'above'), [(PACKAGE, {'bench', 'campaigns'}), ('bench', {'campaigns'})]
)
def test_campaigns_use_measurements_and_neither_is_used_below(folder, above):
    files = (ROOT.parent / folder).rglob('*.py')
    imported = {item.target.split('.')[0] for file in files for item in read_imports(file)}
    assert imported & above == set()


def test_every_late_import_of_the_list_still_exists():
    modules = list_modules(ROOT)
    late = {
        (module, own_module(item.target, modules))
        for module, path in modules.items()
        for item in read_imports(path)
        if item.late
    }
    assert set(LATE_IMPORTS) <= late


@pytest.mark.parametrize(
    'module',
    [name for name, path in list_modules(ROOT).items() if public_names(path)],
)
def test_every_public_name_exists(module):
    loaded = importlib.import_module(f'{PACKAGE}.{module}'.removesuffix('.'))
    missing = [name for name in loaded.__all__ if not hasattr(loaded, name)]
    assert missing == []


def test_the_front_page_tells_type_checkers_the_names_it_imports_late():
    front = importlib.import_module(PACKAGE)
    told = {i.target for i in read_imports(ROOT / '__init__.py') if i.for_types}
    late = {name for name in front.__all__ if not inspect.ismodule(getattr(front, name))}
    assert {target.rpartition('.')[2] for target in told} == late - {'__version__'}
    for target in told:
        home, _, name = target.rpartition('.')
        assert getattr(importlib.import_module(home), name) is getattr(front, name)


ALWAYS = {'errors': '', 'postprocess': '', '__init__': '', 'manipulator/solution': ''}


@pytest.fixture
def package(tmp_path):
    """Return a function that writes a small package and finds its faults."""
    root = tmp_path / PACKAGE

    def check(sources):
        for name, text in {**ALWAYS, **sources}.items():
            path = root / f'{name}.py'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return find_faults(root)

    return check


def test_the_checker_accepts_lower_ranks_and_the_own_row(package):
    sources = {
        'model/a': 'from ssik_ros.errors import ModelError\nfrom ssik_ros.model import b\n',
        'model/b': 'import numpy\nimport pinocchio\n',
        'model/__init__': '',
        'cli/verb/c': 'import ssik_ros.cli.d\nfrom ssik_ros import postprocess\n',
        'cli/d': '',
    }
    assert package(sources) == []


@pytest.mark.parametrize(
    ('where', 'source', 'fault'),
    [
        (
            'model/a',
            'from ssik_ros.postprocess import x',
            'rank 2.1 imports postprocess of rank 5.1',
        ),
        ('model/a', 'from ssik_ros import postprocess', 'imports postprocess of rank 5.1'),
        (
            'model/a',
            'import ssik_ros.manipulator.solution',
            'imports manipulator.solution of rank 5.0',
        ),
        ('errors', 'import ssik_ros.postprocess as a', 'rank 0.0 imports postprocess'),
        ('model/a', 'def f():\n    import ssik_ros.postprocess', 'rank 2.1 imports postprocess'),
        (
            'postprocess',
            'def f():\n    from ssik_ros import errors',
            'imports errors inside a function',
        ),
        ('postprocess', 'f = lambda: import_module("ssik_ros.errors")', 'inside a function'),
        (
            'artifact/a',
            'from ssik_ros.view.pictures import b',
            'imports view.pictures.b of rank 8.0',
        ),
        ('solvers/auto/a', 'import ssik_ros.solvers.registry', 'solvers.registry of rank 4.4'),
        ('solvers/search/newton/a', 'import ssik_ros.solvers.search.pose_ik.b', 'of rank 4.2'),
        ('model/a', 'import numba', 'numba belongs into kernels'),
        ('model/a', 'from numba.core import types', 'numba belongs into kernels'),
        ('problem/a', 'import pinocchio as pin', 'pinocchio belongs into model'),
        (
            'postprocess',
            'import importlib\nimportlib.import_module("coal")',
            'coal belongs into model',
        ),
        ('cli/a', 'def f():\n    import rclpy.node', 'rclpy belongs into ros'),
        ('cli/a', 'from ..errors import x', 'relative import ..errors.x'),
        ('cli/a', 'from . import b', 'relative import'),
        (
            'postprocess',
            'from ssik_ros.model.b import _hidden',
            'private ssik_ros.model.b._hidden',
        ),
        (
            'postprocess',
            'from ssik_ros.kernels._jit import kernel',
            'private ssik_ros.kernels._jit',
        ),
        ('postprocess', 'from ssik_ros.nowhere import x', 'nowhere.x does not exist'),
        ('newcomer', '', 'newcomer: has no rank'),
        ('solvers/newfolder/a', '', 'solvers.newfolder.a: has no rank'),
        ('newfolder/a', '', 'newfolder.a: has no rank'),
        (
            'model/a',
            'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ssik_ros import postprocess',
            'rank 2.1 imports postprocess',
        ),
    ],
)
def test_the_checker_finds(package, where, source, fault):
    others = {
        'view/pictures/b': '',
        'solvers/registry': '',
        'solvers/search/pose_ik/b': '',
        'model/b': '',
        'kernels/_jit': '',
        'kernels/__init__': '',
    }
    faults = package({**others, where: source})
    assert any(fault in line for line in faults), faults


def test_the_checker_lets_a_folder_use_its_own_private_module(package):
    sources = {
        'kernels/__init__': '',
        'kernels/_jit': '',
        'kernels/a': 'from ssik_ros.kernels._jit import kernel',
    }
    assert package(sources) == []


def test_the_checker_finds_cycles(package, tmp_path):
    sources = {'model/a': 'import ssik_ros.model.b', 'model/b': 'import ssik_ros.model.a'}
    package(sources)
    assert set(find_cycle(tmp_path / PACKAGE)) == {'model.a', 'model.b'}
