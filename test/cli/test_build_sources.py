"""Self-contained sources: names, known values, tables, and functions that cannot be copied."""

import importlib
import itertools
import sys

import numpy as np
import pytest

from ssik_ros.artifact import sources
from ssik_ros.artifact.eigen import eigensystem, eigenvalues, generalised_eigenvalues
from ssik_ros.artifact.sources import PortableSources, SourceNotPortable
from ssik_ros.artifact.views import matrix
from ssik_ros.kernels import python_of
from ssik_ros.kernels.geometry.vectors import copy_table
from ssik_ros.kernels.native.sources import KERNELS

numbers = itertools.count()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a function that makes modules of a package of their own, and gives their names."""
    package = f'toy{next(numbers)}'
    (tmp_path / package).mkdir()
    (tmp_path / package / '__init__.py').touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, 'PACKAGE', f'{package}.')

    def write(**texts):
        for name, text in texts.items():
            text = text.replace('PACKAGE', package)
            (tmp_path / package / f'{name}.py').write_text(text, encoding='utf-8')
        importlib.invalidate_caches()
        return [f'{package}.{name}' for name in texts]

    yield write
    for name in [name for name in sys.modules if name.startswith(package)]:
        del sys.modules[name]


def collect(module, name, **options):
    """Return text and value of a function with all that it needs."""
    portable = PortableSources(**options)
    written = portable.add(module, name)
    text = '\n'.join(portable.import_lines()) + '\n' + portable.text()
    space = {}
    exec(text, space)
    return text, space[written]


def test_callees_and_constants_come_along_under_names_that_cannot_meet(toy):
    _, second = toy(
        first='import math\nSIZE, REST = 3.0, 4.0\n\n\ndef solve(x):\n    """Return it.\n\n    More.\n    """\n'
        '    return math.sqrt(x) * SIZE\n\n\ndef unused(x):\n    return x\n',
        second='from PACKAGE import first\nfrom PACKAGE.first import REST as OTHER\n\n\ndef solve(SIZE):\n'
        '    first_value = first.solve(SIZE)  # a comment\n    return first_value + OTHER\n',
    )
    text, function = collect(second, 'solve')
    assert function(4.0) == 10.0
    assert 'unused' not in text and 'toy' not in text and 'More.' not in text
    assert '"""Return it."""' in text and '# a comment' in text
    assert 'FIRST_SIZE, FIRST_REST = 3.0, 4.0' in text and 'def second_solve(SIZE):' in text


def test_a_local_name_hides_one_of_the_module(toy):
    (name,) = toy(
        one='def rest(x):\n    return x\n\n\ndef solve(x):\n    rest = 2.0\n    return rest * x\n'
    )
    text, function = collect(name, 'solve')
    assert function(3.0) == 6.0 and 'one_rest' not in text


def test_decorators_of_kernels_vanish_and_others_are_refused(toy):
    first, second = toy(
        first='def kernel(f):\n    raise RuntimeError\n\n\n@kernel\ndef solve(x):\n    return x\n',
        second='@property\ndef solve(x):\n    return x\n',
    )
    text, function = collect(first, 'solve')
    assert function(2) == 2 and 'kernel' not in text.replace('kernels', '')
    with pytest.raises(SourceNotPortable, match='@property'):
        collect(second, 'solve')


BRANCHES = """
A, B, C = 0, 1, 2


def a(x):
    return x


def b(x):
    if x:
        # inside
        return 10 * x
    return 0


def c(x):
    return 100 * x


def choose(kind, x, numbers):
    if kind == A and x > 0:
        y = a(x)
    elif kind == B:
        y = b(x)
        y += 1
    elif numbers[2] != 7:
        y = -1
    else:
        y = c(x)
    return y
"""


@pytest.mark.parametrize(
    ('kind', 'numbers', 'x', 'value', 'absent'),
    [
        (0, (0, 0, 7), 3, 3, 'one_b'),
        (1, (0, 0, 7), 3, 31, 'one_a'),
        (2, (0, 0, 7), 3, 300, 'one_b'),
        (2, (0, 0, 8), 3, -1, 'one_c'),
    ],
)
def test_branches_that_known_values_rule_out_are_left_out(toy, kind, numbers, x, value, absent):
    (name,) = toy(one=BRANCHES)
    constants = {(name, 'choose'): {'kind': kind, 'numbers': numbers}}
    text, function = collect(name, 'choose', constants=constants)
    assert function(kind, x, numbers) == value and f'{absent}(' not in text


def test_without_known_values_nothing_is_left_out(toy):
    (name,) = toy(one=BRANCHES)
    text, function = collect(name, 'choose')
    assert [function(k, 3, [0, 0, n]) for k, n in ((0, 7), (1, 7), (2, 7), (2, 8))] == [
        3,
        31,
        300,
        -1,
    ]
    assert all(f'one_{letter}' in text for letter in 'abc')


def test_a_known_value_has_to_be_a_parameter_that_stays_as_it_is(toy):
    (name,) = toy(one='def solve(x):\n    x = 2\n    return x\n')
    for parameter in ('x', 'y'):
        with pytest.raises(SourceNotPortable, match='no constant parameters'):
            collect(name, 'solve', constants={(name, 'solve'): {parameter: 1}})


def test_plain_twins_are_taken_and_definitions_can_be_replaced(toy):
    one, two = toy(
        one='JIT_DISABLED = False\nif JIT_DISABLED:\n\n    def view(x):\n        return [\n            x\n        ]\n\nelse:\n    view = None\n',
        two='from PACKAGE.one import view\n\n\ndef other(x):\n    return x\n\n\ndef solve(x):\n    return view(x)\n',
    )
    assert collect(two, 'solve')[1](1) == [1]
    assert collect(two, 'solve', replaced={(one, 'view'): (two, 'other')})[1](1) == 1


def test_tables_are_copied_by_a_function():
    flat = np.zeros(6)
    copy = collect('ssik_ros.kernels.geometry.vectors', 'copy_table')[1]
    copy(matrix(memoryview(flat), 0, 2, 3), np.arange(6.0).reshape(2, 3))
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    # A memoryview of several dimensions refuses an assignment to a slice.
    for path in KERNELS.rglob('*.py'):
        assert '[:, :] = ' not in path.read_text(encoding='utf-8'), path


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('import os\n\n\ndef solve():\n    return os.getcwd()\n', 'needs os'),
        ('from scipy import linalg\n\n\ndef solve():\n    return linalg\n', 'needs scipy'),
    ],
)
def test_what_cannot_stand_alone_is_refused(toy, text, message):
    (name,) = toy(one=text)
    with pytest.raises(SourceNotPortable, match=message):
        collect(name, 'solve')


def test_two_definitions_cannot_get_one_name(toy):
    (name,) = toy(one='def _x():\n    return 1\n\n\ndef x():\n    return _x()\n')
    with pytest.raises(SourceNotPortable, match='would mean'):
        collect(name, 'x')


# --- Substitutes of kernels -----------------------------------------------------------------------


@pytest.mark.parametrize('make', [lambda array: array, memoryview])
def test_tables_are_views(make):
    flat = np.arange(12.0)
    table, other = matrix(make(flat), 2, 2, 3), matrix(make(np.zeros(6)), 0, 2, 3)
    assert (table[1, 2], table.shape) == (7.0, (2, 3))
    table[0, 0] = -1.0
    python_of(copy_table)(other, table)
    assert flat[2] == -1.0 and other[1, 1] == 6.0


def on_sphere(above, below):
    """Return the points of the sphere that quotients stand for, infinity among them."""
    product, size = above * np.conj(below), np.abs(above) ** 2 + np.abs(below) ** 2
    height = np.abs(above) ** 2 - np.abs(below) ** 2
    return np.array([2.0 * product.real, 2.0 * product.imag, height]).T / size[:, None]


@pytest.mark.parametrize('n', [3, 12, 24])
def test_eigenvalues_of_a_pencil_make_it_singular(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n, n))
    b[-1] = 0.0
    real, imaginary, beta = np.zeros((3, n))
    flat = a.T.ravel(), b.T.ravel()
    assert generalised_eigenvalues(real, imaginary, beta, *flat, n) == 0
    assert (beta >= 0.0).all() and beta.min() < 1e-12
    for above, below in zip(real + 1j * imaginary, beta, strict=True):
        assert np.linalg.svd(below * a - above * b)[1][-1] < 1e-10 * n
    points = on_sphere(real + 1j * imaginary, beta.astype(complex))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 9.0 * np.eye(n)
    assert apart.min() > 1e-6


def test_eigenvectors_of_a_pair_are_stored_as_two_parts():
    n = 6
    a = np.random.default_rng(1).normal(size=(n, n))
    real, imaginary, vectors = np.zeros(n), np.zeros(n), np.zeros(n * n)
    assert eigensystem(real, imaginary, vectors, a.ravel(), n, None) == 0
    columns, i = vectors.reshape(n, n), 0
    assert (imaginary != 0.0).any()
    while i < n:
        vector = columns[i] + (1j * columns[i + 1] if imaginary[i] else 0.0)
        assert np.abs(a @ vector - (real[i] + 1j * imaginary[i]) * vector).max() < 1e-12
        i += 2 if imaginary[i] else 1
    again = np.zeros((2, n))
    assert eigenvalues(*again, a.T.ravel(), n, None) == 0
    assert np.sort(again[0]) == pytest.approx(np.sort(real), abs=1e-12)


def test_numbers_without_sense_are_reported():
    bad = np.full(4, np.nan)
    assert eigenvalues(np.zeros(2), np.zeros(2), bad, 2, None) == 1
    assert eigensystem(np.zeros(2), np.zeros(2), np.zeros(4), bad, 2, None) == 1
    assert generalised_eigenvalues(*np.zeros((3, 2)), bad, np.eye(2).ravel(), 2) == 1
