"""The check of named places finds places that are numbers."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    'check_style', Path(__file__).resolve().parents[1] / 'tools' / 'check_style.py'
)
check_style = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_style)


@pytest.mark.parametrize(
    ('source', 'lines'),
    [
        ('vector(work, 6 * n + 24, n)', [1]),
        ('\nmatrix(work, 12, 3, 3)', [2]),
        ('vector(work, at(LOWER, n), n)', []),
        ('vector(work, W_LOOP, 12)', []),
        ('vector(work, 0, 12)', []),
        ('places.vector(work, 12, 3)', []),
    ],
)
def test_places_that_are_numbers_are_found(source, lines):
    assert check_style.literal_places(source) == lines


def test_a_file_may_have_as_many_as_listed_and_no_fewer(tmp_path):
    (tmp_path / 'kernel.py').write_text('vector(work, 12, 3)\n')
    assert check_style.faults(tmp_path, {'kernel.py': 1}) == []
    assert 'kernel.py: lines [1]' in check_style.faults(tmp_path, {})[0]
    assert 'list 1' in check_style.faults(tmp_path, {'kernel.py': 2})[0]
    assert 'does not exist' in check_style.faults(tmp_path, {'kernel.py': 1, 'gone.py': 1})[0]


def test_the_package_keeps_the_rule():
    assert check_style.faults(check_style.PACKAGE, check_style.LITERAL) == []
