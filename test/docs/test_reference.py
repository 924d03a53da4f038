"""The reference has all that the code has, and nothing that the code lacks."""

import importlib
from importlib.util import find_spec
import inspect
from pathlib import Path
import re
from types import SimpleNamespace

import pytest

from ssik_ros import errors
from ssik_ros.results import Cause
from ssik_ros.server.requests.refusals import Refusal

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / 'docs' / 'reference'
COMPAT = REFERENCE / 'python' / 'compat.md'
PUBLIC = ('ssik_ros', 'ssik_ros.tasks', 'ssik_ros.mechanisms', 'ssik_ros.reach')
"""Packages whose ``__all__`` is for users."""
NO_SECTION = {
    f'ssik_ros.{name}' for name in ('__version__', 'mechanisms', 'postprocess', 'reach', 'tasks')
}
"""Named in the introductions of their pages."""
FROM_MODULES = {
    'ssik_ros.model.collision.checks': {'CollisionChecker'},
    'ssik_ros.paths.measures': {'PathMeasures', 'measure_path'},
    'ssik_ros.paths.requests': {'PathObjective', 'PathProgress', 'ToolPath', 'ToolPathRequest'},
    'ssik_ros.view.pictures': {'RobotPictures', 'save_animation', 'save_picture'},
}
"""Names for users that they import from modules."""
DIRECTIVE = re.compile(r'^\.\. auto(?:class|function|data):: ([\w.]+)$', re.M)


def sections(page: Path) -> dict[str, str]:
    """Return the texts of the sections of a page by the full names that they describe."""
    parts = re.split(r'^## ', page.read_text(encoding='utf-8'), flags=re.M)[1:]
    return {name: part for part in parts for name in DIRECTIVE.findall(part)}


def described() -> dict[str, str]:
    """Return the section of each name of the Python reference."""
    sections_by_name: dict[str, str] = {}
    for page in sorted(set((REFERENCE / 'python').glob('*.md')) - {COMPAT}):
        sections_by_name |= sections(page)
    return sections_by_name


def public_names() -> set[str]:
    """Return every public name, and the functions of public modules."""
    names = {
        f'{module}.{name}' for module in PUBLIC for name in importlib.import_module(module).__all__
    }
    postprocess = importlib.import_module('ssik_ros.postprocess')
    names |= {
        f'ssik_ros.postprocess.{name}'
        for name, value in vars(postprocess).items()
        if inspect.isfunction(value)
        and value.__module__ == postprocess.__name__
        and not name.startswith('_')
    }
    names |= {
        f'{module}.{name}'
        for module, module_names in FROM_MODULES.items()
        for name in module_names
    }
    return names - NO_SECTION


def table_rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of the page about causes."""
    text = (REFERENCE / 'causes.md').read_text(encoding='utf-8')
    part = re.split(r'^## ', text.partition(f'## {heading}\n')[2], flags=re.M)[0]
    rows = [
        [cell.strip() for cell in line.split('|')[1:-1]]
        for line in part.splitlines()
        if line.startswith('|')
    ]
    return rows[2:]


def test_every_public_name_has_a_section_and_every_section_a_name():
    assert set(described()) == public_names()


@pytest.mark.parametrize(('name', 'section'), described().items())
def test_every_name_has_an_example_that_uses_it(name, section):
    short = name.rpartition('.')[2]
    assert section.startswith(f'{short}\n')
    assert re.search(r'^```python\n.+?^```$', section, re.M | re.S), f'{name} has no example'


def test_every_cause_has_its_row():
    rows = {row[1].strip('`'): row for row in table_rows('Causes')}
    assert {name: int(row[0]) for name, row in rows.items()} == {c.name: int(c) for c in Cause}
    assert all(all(row[2:]) for name, row in rows.items() if name != 'NONE')


def test_every_refusal_has_its_row():
    assert [row[0].strip('`') for row in table_rows('Refusals')] == [r.name for r in Refusal]


def test_every_error_has_its_row_with_its_built_in_classes():
    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.SsikError)
    }
    rows = {row[0].strip('`'): row for row in table_rows('Python errors')}
    assert list(rows) == list(classes)
    for name, value in classes.items():
        built_in = {b.__name__ for b in value.__mro__ if b.__module__ == 'builtins'}
        hidden = {'Exception', 'BaseException', 'object', 'LookupError', 'OSError'}
        hidden |= {'RuntimeError'} if issubclass(value, NotImplementedError) else set()
        assert set(re.findall(r'`(\w+)`', rows[name][1])) == built_in - hidden, name


@pytest.mark.skipif(find_spec('moveit_msgs') is None, reason='moveit_msgs is not installed')
def test_every_error_code_has_its_row():
    from moveit_msgs.msg import MoveItErrorCodes

    rows = {
        row[1].strip('`'): row[0].replace('−', '-')
        for row in table_rows('Error codes of services')
    }
    assert {name: int(code) for name, code in rows.items()} == {
        name: getattr(MoveItErrorCodes, name) for name in rows
    }
    sources = (ROOT / 'ssik_ros' / 'ros').rglob('*.py')
    used = {
        name
        for path in sources
        for name in re.findall(r'MoveItErrorCodes\.([A-Z_]{3,})', path.read_text())
    }
    assert used == set(rows)


def test_every_refusal_has_the_code_that_services_return():
    pytest.importorskip('moveit_msgs')
    pytest.importorskip('rclpy')
    from ssik_ros.ros.services.status_codes import code_of

    shown = {row[0].strip('`'): row[1].replace('−', '-') for row in table_rows('Refusals')}
    for refusal in Refusal:
        code = code_of(SimpleNamespace(refusal=refusal, cause=Cause.NONE))
        assert str(code) in shown[refusal.name].split(' or ')


def test_every_function_of_ported_scripts_is_described_and_called():
    compat = importlib.import_module('ssik_ros.tasks.compat')
    text = COMPAT.read_text(encoding='utf-8')
    functions = {name for name in compat.__all__ if inspect.isfunction(getattr(compat, name))}
    assert {name.rpartition('.')[2] for name in DIRECTIVE.findall(text)} == functions
    assert set(re.findall(r'simIK\.(\w+)\(', text)) == functions
    for name in set(compat.__all__) - functions:
        assert f'`{name}`' in text, name
    for name, value in re.findall(r'^\| `(\w+)` \| (-?\d+) \|$', text, re.M):
        assert getattr(compat, name) == int(value)
