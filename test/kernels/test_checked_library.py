"""The checked flavour of the native library: access outside an array raises an error with kernel and line."""

import importlib.util
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / 'ssik_ros' / 'kernels'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec('numba') is None,
        reason='numba, which builds it, is not installed',
    ),
]

SOURCE = """
from ssik_ros.kernels.geometry import lanes
from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import matrix
from ssik_ros.kernels._jit import vector
from ssik_ros.kernels.geometry.addresses import floats_at


@kernel
def fill(out, count):
    for k in range(count):
        out[k] = 1.0


@kernel
def read(array, row, column):
    return array[row, column]


@kernel
def fill_part(work, start, size, count):
    fill(vector(work, start, size), count)


@inline_kernel
def part_of(work, size):
    return vector(work, 2, size)


@kernel
def fill_table(work, size, rows, columns):
    table = matrix(part_of(work, size), 1, rows, columns)
    table[rows - 1, columns - 1] = 5.0


@kernel
def copy_eight(work, source, target):
    lanes.store(work, target, lanes.load(work, source))


@kernel
def copy_four(work, source, target):
    lanes.store(work, target, lanes.load_half(work, source))


@kernel
def fill_at(address, start, size):
    view = floats_at(address, start, size)
    for k in range(size):
        view[k] = 1.0
"""
LIST = """
small.fill(out: float64[::1], count: int64)
small.read(array: const float64[:, :], row: int64, column: int64)
small.fill_part(work: float64[::1], start: int64, size: int64, count: int64)
small.fill_table(work: float64[::1], size: int64, rows: int64, columns: int64)
small.copy_eight(work: float64[::1], source: int64, target: int64)
small.copy_four(work: float64[::1], source: int64, target: int64)
small.fill_at(address: int64, start: int64, size: int64)
"""
CALLS = """
import json
import sys

import numpy as np

from ssik_ros.kernels import small
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.kernels.geometry.addresses import LIBRARY

work, table, kept = np.zeros(10), np.zeros((4, 6))[::2, ::3], np.zeros(10)
named = {'work': work, 'table': table, 'address': address_of(kept), 'unknown': work.ctypes.data}
texts = []
for name, *arguments in json.loads(sys.argv[1]):
    try:
        getattr(small, name)(*(named.get(argument, argument) for argument in arguments))
        texts.append('')
    except RuntimeError as error:
        texts.append(str(error))
assert [text for text in texts if text] == LIBRARY.failures()
print(json.dumps(texts))
"""


@pytest.fixture(scope='module')
def ask(tmp_path_factory):
    """Return a function that calls kernels of a small checked library, and returns the text of each failure or nothing."""
    folder = tmp_path_factory.mktemp('checked')
    ignored = shutil.ignore_patterns('__pycache__', '*.so', 'sources.json')
    shutil.copytree(ROOT / 'tools' / 'native', folder / 'tools' / 'native', ignore=ignored)
    shutil.copy(ROOT / 'tools' / 'build_native.py', folder / 'tools')
    kernels = folder / 'ssik_ros' / 'kernels'
    shutil.copytree(KERNELS / 'native', kernels / 'native', ignore=ignored)
    for name in ('__init__.py', '_jit.py'):
        shutil.copy(KERNELS / name, kernels)
    (kernels / 'geometry').mkdir()
    for name in ('__init__.py', 'addresses.py', 'lanes.py', 'so3.py'):
        shutil.copy(KERNELS / 'geometry' / name, kernels / 'geometry')
    for name in ('__init__.py', 'errors.py', 'other_words.py'):
        shutil.copy(ROOT / 'ssik_ros' / name, folder / 'ssik_ros')
    (kernels / 'small.py').write_text(SOURCE)
    (kernels / 'native' / 'kernels.txt').write_text(LIST)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('NUMBA_', 'SSIK_'))}
    environment['PYTHONPATH'] = str(folder)
    build = [sys.executable, 'tools/build_native.py', '--checked', '--quiet']
    subprocess.run(build, env=environment, cwd=folder, check=True)
    environment['SSIK_ROS_TARGET'] = 'checked'

    def ask(*calls):
        command = [sys.executable, '-c', CALLS, json.dumps(calls)]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def line_of(text):
    """Return the number of the one line of the small kernels that has a text."""
    (number,) = (k for k, line in enumerate(SOURCE.splitlines(), 1) if text in line)
    return number


def test_a_write_behind_the_end_is_named_with_its_kernel_and_line(ask):
    expected = f'kernel small.fill: small.fill (line {line_of("out[k] = 1.0")}) reads or writes outside of an array'
    assert ask(['fill', 'work', 10], ['fill', 'work', 11]) == ['', expected]


def test_a_negative_index_counts_from_the_end_and_no_further(ask):
    place = f'kernel small.read: small.read (line {line_of("array[row, column]")}) '
    good = ['read', 'table', -1, 1], ['read', 'table', 1, -2], ['read', 'table', -2, 0]
    bad = ['read', 'table', -3, 0], ['read', 'table', 0, -3], ['read', 'table', 2, 0]
    texts = ask(*good, *bad)
    assert texts[:3] == [''] * 3
    assert texts[3:] == [f'{place}reads or writes outside of an array'] * 3


def test_callers_are_named_too(ask):
    (text,) = ask(['fill_part', 'work', 5, 5, 6])
    assert text.startswith('kernel small.fill_part: small.fill (line ')
    assert text.endswith(f', called by small.fill_part (line {line_of("fill(vector")})')


def test_a_view_is_compared_with_the_array_that_it_is_taken_from(ask):
    good = ['fill_part', 'work', 0, 10, 10], ['fill_part', 'work', 10, 0, 0]
    bad = [['fill_part', 'work', *part, 0] for part in ((5, 6), (-1, 3), (1, -3), (11, 0))]
    texts = ask(*good, *bad)
    assert texts[:2] == ['', '']
    end = f'called by small.fill_part (line {line_of("fill(vector")})'
    for text in texts[2:]:
        assert text.startswith('kernel small.fill_part: _jit.vector (line ')
        assert text.endswith(end)


def test_a_view_of_a_view_is_compared_with_that_view(ask):
    texts = ask(*(['fill_table', 'work', size, 1, 7] for size in (8, 7, 9)))
    assert texts[0] == ''
    assert texts[1].startswith('kernel small.fill_table: _jit.matrix (line ')
    assert f'called by small.part_of (line {line_of("vector(work, 2")})' in texts[2]


@pytest.mark.parametrize('shape', [(2, 4), (-1, 3), (2**32, 2**32), (2**62, 4)])
def test_a_table_has_as_many_numbers_as_its_array(ask, shape):
    (text,) = ask(['fill_table', 'work', 8, *shape])
    assert 'reads or writes outside of an array' in text


@pytest.mark.parametrize(('name', 'last'), [('copy_eight', 2), ('copy_four', 6)])
def test_numbers_side_by_side_stay_inside(ask, name, last):
    good = [name, 'work', 0, last], [name, 'work', last, 0]
    bad = [name, 'work', 0, last + 1], [name, 'work', last + 1, 0], [name, 'work', -1, 0]
    texts = ask(*good, *bad)
    assert texts[:2] == ['', '']
    for text in texts[2:]:
        assert f'small.{name} (line ' in text and 'reads or writes outside of an array' in text


def test_an_address_is_one_that_python_has_told_of_and_its_array_is_not_left(ask):
    texts = ask(
        ['fill_at', 'address', 0, 10],
        ['fill_at', 'address', 9, 1],
        ['fill_at', 'address', 9, 2],
        ['fill_at', 'address', -1, 2],
        ['fill_at', 'unknown', 0, 1],
    )
    assert texts[:2] == ['', '']
    for text in texts[2:]:
        assert text.startswith('kernel small.fill_at: geometry.addresses.floats_at (line ')
