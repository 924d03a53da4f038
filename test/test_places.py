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


def test_a_fault_names_file_and_lines(tmp_path):
    (tmp_path / 'kernel.py').write_text('vector(work, 12, 3)\n')
    (tmp_path / 'named.py').write_text('vector(work, AT_TURN, 3)\n')
    assert check_style.faults(tmp_path) == [
        'kernel.py: lines [1] begin at a number; give the place a name'
    ]


def test_the_package_keeps_the_rule():
    assert check_style.faults(check_style.PACKAGE) == []
