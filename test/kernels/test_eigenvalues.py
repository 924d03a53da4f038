"""Eigenvalues of matrices and pencils against singular values, which know nothing of them, and against matrices with known ones."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

from ssik_ros.kernels.rows import eigenvalues, eigenvectors, pencil_eigenvalues

ROUNDING = 2.0**-52
SEEDS = 25
LARGEST = 24
GUARD = 7.25
"""A number that no kernel computes, after the end of each array."""
FROM_MATH = {'sqrt', 'copysign', 'inf'}
"""Functions of the library that the kernels may use: none of them depends on the processor."""


def _sparse(rng, n):
    return np.round(rng.normal(size=(n, n))) * (rng.random((n, n)) < 0.3)


def _skew(rng, n):
    a = rng.normal(size=(n, n))
    return a - a.T


KINDS = {
    'dense': lambda rng, n: rng.normal(size=(n, n)),
    'integers': lambda rng, n: np.round(rng.normal(size=(n, n))),
    'sparse': _sparse,
    'skew': _skew,
    'orthogonal': lambda rng, n: np.linalg.qr(rng.normal(size=(n, n)))[0],
    'lower rank': lambda rng, n: rng.normal(size=(n, n // 2)) @ rng.normal(size=(n // 2, n)),
    'cyclic': lambda rng, n: np.roll(np.eye(n), 1, axis=0),
    'nilpotent': lambda rng, n: np.triu(rng.normal(size=(n, n)), 1),
    'unit': lambda rng, n: np.eye(n),
}
"""Matrices without structure, and those for which QR steps are known to need help."""


def guarded(size, values=0.0):
    """Return an array of a size, followed by a guard, and the array with the guard."""
    whole = np.full(size + 3, GUARD)
    whole[:size] = values
    return whole[:size], whole


def of_matrix(a):
    """Return the eigenvalues of a matrix."""
    n = len(a)
    flat, whole = guarded(n * n, a.ravel())
    scratch, all_scratch = guarded(eigenvalues.SCRATCH_ROWS * n)
    (real, reals), (imaginary, imaginaries) = guarded(n), guarded(n)
    assert eigenvalues.eigenvalues(real, imaginary, flat, n, scratch) == 0
    for array in (whole, all_scratch, reals, imaginaries):
        assert (array[-3:] == GUARD).all()
    return real + 1j * imaginary


def of_pencil(a, b):
    """Return the eigenvalues of a pencil as numerators and denominators."""
    n = len(a)
    (first, whole), (second, other) = guarded(n * n, a.ravel()), guarded(n * n, b.ravel())
    (real, reals), (imaginary, imaginaries), (beta, betas) = guarded(n), guarded(n), guarded(n)
    code = pencil_eigenvalues.generalised_eigenvalues(real, imaginary, beta, first, second, n)
    assert code == 0
    for array in (whole, other, reals, imaginaries, betas):
        assert (array[-3:] == GUARD).all()
    return real + 1j * imaginary, beta


def smallest(table):
    """Return the smallest singular value of a table."""
    return np.linalg.svd(table, compute_uv=False)[-1]


def farthest(computed, expected):
    """Return how far the farthest of two equally long lists of numbers is from the other list."""
    gaps = np.abs(np.asarray(computed)[:, None] - np.asarray(expected, dtype=complex)[None])
    return max(gaps.min(axis=0).max(), gaps.min(axis=1).max())


@pytest.mark.parametrize('kind', KINDS)
def test_each_eigenvalue_makes_the_matrix_singular_to_rounding(kind):
    for seed in range(SEEDS):
        rng = np.random.default_rng([3, seed])
        n = int(rng.integers(1, LARGEST + 1))
        a = KINDS[kind](rng, n)
        for x in of_matrix(a):
            assert smallest(a - x * np.eye(n)) <= 8 * n * ROUNDING * np.linalg.norm(a), (seed, n)


@pytest.mark.parametrize('kind', KINDS)
def test_the_eigenvalues_are_complete(kind):
    for seed in range(SEEDS):
        rng = np.random.default_rng([4, seed])
        n = int(rng.integers(1, LARGEST + 1))
        a = KINDS[kind](rng, n)
        computed, size = of_matrix(a), np.linalg.norm(a)
        assert abs(computed.sum() - np.trace(a)) <= 8 * n * ROUNDING * size
        squares = np.trace(a @ a)
        assert abs((computed**2).sum() - squares) <= 16 * n * ROUNDING * size**2


def test_complex_eigenvalues_stand_in_pairs_with_the_positive_part_first():
    computed = of_matrix(np.random.default_rng(1).normal(size=(16, 16)))
    first = np.flatnonzero(computed.imag > 0.0)
    assert len(first) > 2
    assert (computed[first + 1] == computed[first].conj()).all()
    assert (computed.imag < 0.0).sum() == len(first)


@pytest.mark.parametrize(
    ('a', 'expected'),
    [
        (np.roll(np.eye(16), 1, axis=0), np.exp(2j * np.pi * np.arange(16) / 16)),
        (np.array([[2.0, 1.0], [0.0, 3.0]]), [2, 3]),
        (np.array([[0.0, 1.0], [-4.0, 0.0]]), [2j, -2j]),
        (np.array([[1e9, 1.0], [1.0, 1.0]]), [1e9 + 1e-9, 1.0 - 1e-9]),
        (np.ones((7, 7)), [7, 0, 0, 0, 0, 0, 0]),
        (np.zeros((5, 5)), np.zeros(5)),
        (np.array([[-3.5]]), [-3.5]),
    ],
)
def test_known_eigenvalues_are_found(a, expected):
    assert farthest(of_matrix(a), expected) <= 8 * ROUNDING * max(1.0, np.linalg.norm(a))


def test_a_small_eigenvalue_beside_a_large_one_keeps_its_digits():
    computed = of_matrix(np.array([[1e9, 1.0], [1.0, 1.0]]))
    assert computed.real.min() == pytest.approx(1.0 - 1e-9, abs=1e-15)


def test_exchanges_find_the_eigenvalues_of_a_hidden_triangle_exactly():
    rng = np.random.default_rng(2)
    order, a = rng.permutation(12), np.triu(rng.normal(size=(12, 12)))
    assert sorted(of_matrix(a[order][:, order]).real) == sorted(np.diag(a))


def test_powers_of_two_in_the_scale_of_rows_cost_no_digits():
    rng = np.random.default_rng(5)
    a = rng.normal(size=(16, 16))
    scale = 2.0 ** rng.integers(-30, 31, 16)
    computed = of_matrix(a * scale[:, None] / scale[None])
    assert farthest(computed, np.linalg.eigvals(a)) < 1e-12


def test_a_double_eigenvalue_moves_by_the_root_of_rounding_at_most():
    rng = np.random.default_rng(6)
    for _ in range(SEEDS):
        basis = np.linalg.qr(rng.normal(size=(16, 16)))[0]
        a = np.triu(rng.normal(size=(16, 16)), 1) * 0.2 + np.diag(np.arange(16.0) // 2)
        assert farthest(of_matrix(basis @ a @ basis.T), np.arange(8)) < 1e-5


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1e200])
def test_a_matrix_that_is_not_finite_or_too_large_is_refused(bad):
    a = np.random.default_rng(7).normal(size=36)
    a[9] = bad
    real, imaginary, vectors, beta = np.zeros(6), np.zeros(6), np.zeros(36), np.zeros(6)
    scratch = np.zeros(eigenvectors.scratch_size(6))
    assert eigenvalues.eigenvalues(real, imaginary, a.copy(), 6, scratch) == 1
    assert eigenvectors.eigensystem(real, imaginary, vectors, a.copy(), 6, scratch) == 1
    for pair in ((a.copy(), np.eye(6).ravel()), (np.eye(6).ravel(), a.copy())):
        code = pencil_eigenvalues.generalised_eigenvalues(real, imaginary, beta, *pair, 6)
        assert code == 1


@pytest.mark.parametrize('kind', KINDS)
def test_each_eigenvector_is_turned_into_a_multiple_of_itself(kind):
    for seed in range(SEEDS):
        rng = np.random.default_rng([8, seed])
        n = int(rng.integers(1, 17))
        a = KINDS[kind](rng, n)
        flat, vectors = a.ravel().copy(), np.full(n * n, np.nan)
        (real, imaginary), size = np.zeros((2, n)), eigenvectors.scratch_size(n)
        scratch, whole = guarded(size)
        assert eigenvectors.eigensystem(real, imaginary, vectors, flat, n, scratch) == 0
        assert (whole[-3:] == GUARD).all()
        table = vectors.reshape(n, n)
        for i in np.flatnonzero(imaginary >= 0.0):
            v = table[i] + (1j * table[i + 1] if imaginary[i] > 0.0 else 0.0)
            assert np.abs(v - 1.0).min() < 1e-12
            assert np.abs(v).max() < 1.5
            miss = np.abs(a @ v - (real[i] + 1j * imaginary[i]) * v).max()
            assert miss <= 1e-11 * max(1.0, np.linalg.norm(a)), (seed, i)


def test_equal_eigenvalues_have_independent_eigenvectors():
    a, n = 2.0 * np.eye(3), 3
    a[2] = 1.0
    real, imaginary, vectors = np.zeros(n), np.zeros(n), np.zeros(n * n)
    scratch = np.zeros(eigenvectors.scratch_size(n))
    assert eigenvectors.eigensystem(real, imaginary, vectors, a.ravel().copy(), n, scratch) == 0
    assert smallest(vectors.reshape(n, n)) > 0.01


@pytest.mark.parametrize('second', KINDS)
@pytest.mark.parametrize('first', KINDS)
def test_each_eigenvalue_makes_the_pencil_singular_to_rounding(first, second):
    for seed in range(SEEDS // 5):
        rng = np.random.default_rng([9, seed])
        n = int(rng.integers(1, LARGEST + 1))
        a, b = KINDS[first](rng, n), KINDS[second](rng, n)
        above, below = of_pencil(a, b)
        assert (below >= 0.0).all()
        for x, y in zip(above, below, strict=True):
            size = y * np.linalg.norm(a) + abs(x) * np.linalg.norm(b)
            assert smallest(y * a - x * b) <= 8 * n * ROUNDING * size, (seed, n)


@pytest.mark.parametrize('infinite', [0, 1, 5, 12])
def test_a_pencil_has_as_many_infinite_eigenvalues_as_its_second_matrix_lacks_ranks(infinite):
    rng, n = np.random.default_rng(10), 12
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    finite = 1.0 + np.arange(n - infinite)
    a = np.diag(np.concatenate([finite, np.ones(infinite)]))
    b = np.diag(np.concatenate([np.ones(n - infinite), np.zeros(infinite)]))
    above, below = of_pencil(left @ a @ right, left @ b @ right)
    assert (below == 0.0).sum() == infinite
    regular = below > 0.0
    assert sorted((above[regular] / below[regular]).real) == pytest.approx(finite, rel=1e-12)


def test_a_pencil_with_the_unit_matrix_has_the_eigenvalues_of_the_matrix():
    a = np.random.default_rng(11).normal(size=(16, 16))
    above, below = of_pencil(a, np.eye(16))
    assert farthest(above / below, of_matrix(a)) < 1e-12


@pytest.mark.parametrize('seed', range(8))
def test_eigenvalues_symmetric_about_zero_are_found(seed):
    # Shifts x and -x at once make no progress there: they serve both halves alike.
    rng = np.random.default_rng([12, seed])
    x = 0.97 + 0.04j * (1 + seed)
    block = np.array([[x.real, x.imag], [-x.imag, x.real]])
    a = np.zeros((8, 8))
    for i, part in enumerate((block, -block, 1.2 * block, -1.2 * block)):
        a[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = part
    left, right = rng.normal(size=(2, 8, 8))
    above, below = of_pencil(left @ a @ right, left @ right)
    expected = [s * f * z for s in (1, -1) for f in (1, 1.2) for z in (x, x.conjugate())]
    assert farthest(above / below, expected) < 1e-9


@pytest.mark.parametrize('module', [eigenvalues, eigenvectors, pencil_eigenvalues])
def test_the_library_gives_nothing_whose_last_bit_depends_on_the_processor(module):
    nodes = list(ast.walk(ast.parse(Path(module.__file__).read_text())))
    taken = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ('math', 'np')
    }
    assert taken <= FROM_MATH
    assert all(hasattr(math, name) for name in FROM_MATH)
    powers = [
        node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    ]
    assert all(isinstance(node.left, ast.Constant) for node in powers)
