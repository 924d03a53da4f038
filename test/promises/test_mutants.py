"""The mutants of ``make mutants``: each changes code that is there, and names a test that is there. No mutant runs."""

import ast
import builtins
import importlib.util
from pathlib import Path
import symtable

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location('mutants', ROOT / 'tools' / 'mutants.py')
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)
ROWS = [pair for effects in mutants.MUTANTS.values() for pair in effects.items()]


def read(file):
    """Return the text of a file of the repository."""
    return (ROOT / file).read_text(encoding='utf-8')


def unknown_names(source):
    """Return the names that a module reads but nothing in it defines."""
    top = symtable.symtable(source, 'module', 'exec')
    tables, names = [top], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        names |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    defined = {
        s.get_name()
        for s in top.get_symbols()
        if s.is_assigned() or s.is_imported() or s.is_namespace()
    }
    return names - defined - set(dir(builtins))


def attributes(source):
    """Return the names of the attributes that a module reads or sets."""
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize('mutant', [pytest.param(mutant, id=what) for what, mutant in ROWS])
def test_each_mutant_changes_its_function(mutant):
    source = read(mutant.file)
    broken = mutant.break_source(source)
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))
    assert unknown_names(broken) <= unknown_names(source)
    assert attributes(broken) - attributes(source) == set(mutant.new_attributes)


def test_effects_are_different():
    assert len({what for what, _ in ROWS}) == len(ROWS)
    assert len({(m.file, m.break_source(read(m.file))) for _, m in ROWS}) == len(ROWS)


def test_each_test_is_there():
    missing = []
    for test in ' '.join(mutants.MUTANTS).split():
        file, _, name = test.partition('::')
        if name and f'def {name.partition("[")[0]}(' not in read(file):
            missing.append(test)
    assert missing == []


SOURCE = """\
class Arm:
    def move(self, a, b):
        while a < b and not self.held:  # é
            a = a + b * 2
        self.call(a, limit=b)
        return a


def move(a):
    a -= 1
"""


@pytest.mark.parametrize(
    ('function', 'operator', 'before', 'after'),
    [
        ('Arm.move', mutants.drop('call'), 'self.call(a, limit=b)', 'pass'),
        ('Arm.move', mutants.drop('return', 1, 'raise'), 'return a', 'raise'),
        ('Arm.move', mutants.fix(False, 'held'), 'self.held:  # é', '(False):  # é'),
        ('Arm.move', mutants.keep('+', 'right'), 'a + b * 2', '(b * 2)'),
        ('Arm.move', mutants.swap('<', '<='), 'a < b', '(a <= b)'),
        ('', mutants.swap('-=', '+='), 'a -= 1', 'a += 1'),
        ('Arm.move', mutants.assign('limit', '{old} + 1'), 'limit=b', 'limit=((b) + 1)'),
        ('Arm.move', mutants.assign('return', '0'), 'return a', 'return (0)'),
        ('Arm.move', mutants.use('b', '-{old}', 2), 'b * 2', '(-b) * 2'),
    ],
)
def test_operators_change_nothing_but_their_place(function, operator, before, after):
    assert SOURCE.count(before) == 1
    broken = mutants.Mutant(1, 'arm.py', function, operator).break_source(SOURCE)
    assert broken == SOURCE.replace(before, after)


@pytest.mark.parametrize(
    ('function', 'operator', 'name'),
    [
        ('Arm.move', mutants.drop('renamed'), 'renamed'),
        ('Arm.renamed', mutants.drop('call'), 'renamed'),
        ('Arm.move', mutants.keep('-', 'left'), '-'),
        ('Arm.move', mutants.assign('renamed', '0'), 'renamed'),
        ('Arm.move', mutants.use('b', '0'), "'b'"),
        ('Arm.move', mutants.use('b', '0', 4), "'b'"),
    ],
)
def test_a_place_that_is_not_there_once_is_an_error(function, operator, name):
    with pytest.raises(mutants.PlaceError, match=rf'arm\.py, Arm.*{name}'):
        mutants.Mutant(1, 'arm.py', function, operator).break_source(SOURCE)
