"""Gram matrices and Cholesky against numpy: well, badly and hardly conditioned, and rank-deficient."""

import numpy as np
import pytest

from ssik_ros.kernels.rows import linalg

SIZES = (1, 2, 3, 6, 12)
CONDITIONS = (1.0, 1e3, 1e6, 1e10)


def solve(matrix, right):
    """Return the solution of a symmetric system, by factor and substitution."""
    factor, solution = np.tril(matrix), np.array(right)
    # Entries above the diagonal must not matter.
    factor[np.triu_indices(len(matrix), 1)] = np.nan
    linalg.factorise(factor, len(matrix))
    linalg.solve_factored(factor, solution, len(matrix))
    return solution


def symmetric(rng, size, condition):
    """Return a positive definite matrix of a given condition."""
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return basis @ np.diag(np.geomspace(1.0, 1.0 / condition, size)) @ basis.T


@pytest.mark.parametrize('shape', [(1, 1), (3, 7), (6, 6), (6, 7), (7, 3), (12, 2)])
def test_gram_matrices_are_products_with_the_damping_on_the_diagonal(shape):
    jacobian = np.random.default_rng(1).normal(size=shape)
    m, n = shape
    outer, inner = np.zeros((m, m)), np.zeros((n, n))
    linalg.outer_gram(outer, jacobian, 0.25, m)
    linalg.inner_gram(inner, jacobian, 0.25)
    expected = np.tril(jacobian @ jacobian.T + 0.25 * np.eye(m))
    np.testing.assert_allclose(np.tril(outer), expected, rtol=0, atol=1e-14)
    expected = np.tril(jacobian.T @ jacobian + 0.25 * np.eye(n))
    np.testing.assert_allclose(np.tril(inner), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('condition', CONDITIONS)
def test_a_solution_is_as_good_as_numpy_allows(size, condition):
    rng = np.random.default_rng(size)
    matrix, expected = symmetric(rng, size, condition), rng.normal(size=size)
    actual = solve(matrix, matrix @ expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-14 * condition * size)


@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('condition', CONDITIONS)
def test_a_solution_satisfies_the_system_whatever_its_condition(size, condition):
    rng = np.random.default_rng(size)
    matrix, right = symmetric(rng, size, condition), rng.normal(size=size)
    solution = solve(matrix, right)
    scale = np.linalg.norm(matrix) * np.linalg.norm(solution) + np.linalg.norm(right)
    assert np.linalg.norm(matrix @ solution - right) <= 1e-15 * (size + 1) * scale


def test_the_factors_multiply_to_the_matrix():
    matrix = symmetric(np.random.default_rng(2), 6, 100.0)
    factors = np.tril(matrix)
    linalg.factorise(factors, 6)
    upper = np.triu(factors, 1) + np.eye(6)
    product = upper.T @ np.diag(1.0 / np.diag(factors)) @ upper
    np.testing.assert_allclose(product, matrix, rtol=0, atol=1e-15)


@pytest.mark.parametrize('lost', range(4))
def test_an_unknown_without_an_equation_is_zero(lost):
    matrix = symmetric(np.random.default_rng(3), 4, 10.0)
    matrix[lost], matrix[:, lost] = 0.0, 0.0
    right = np.arange(1.0, 5.0)
    kept = np.arange(4) != lost
    solution = solve(matrix, right)
    assert solution[lost] == 0.0
    expected = np.linalg.solve(matrix[np.ix_(kept, kept)], right[kept])
    np.testing.assert_allclose(solution[kept], expected, rtol=1e-12)


def test_two_equal_equations_are_solved_together():
    matrix = np.array([[2.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(matrix @ solve(matrix, [3.0, 3.0]), [3.0, 3.0])


def test_the_zero_matrix_gives_zero():
    np.testing.assert_array_equal(solve(np.zeros((3, 3)), [1.0, 2.0, 3.0]), 0.0)


def test_a_number_that_is_not_one_does_not_pass_for_zero():
    matrix = np.eye(3)
    matrix[2, 0] = np.nan
    assert not np.isfinite(solve(matrix, [1.0, 1.0, 1.0])).all()
