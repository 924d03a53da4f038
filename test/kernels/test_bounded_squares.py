"""Least squares within bounds against scipy's: regular problems, lacking ranks, bounds on zero, bounds that are equal."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from ssik_ros.kernels.rows import bounded_squares


def solve(matrix, right, lower, upper):
    m, n = matrix.shape
    x, table = np.full(n, np.nan), np.column_stack([matrix, right])
    before = table.copy()
    scratch = np.full(bounded_squares.scratch_size(m, n), np.nan)
    bounded_squares.solve_within(x, table, lower, upper, scratch)
    np.testing.assert_array_equal(table, before)
    return x


def draw(rng, n, is_tight):
    """Return a problem whose columns have very different sizes, and bounds, some of which are zero or infinite."""
    m = n + int(rng.integers(0, 7))
    matrix = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-3.0, 0.0, n)
    size = 0.3 if is_tight else 1e3
    lower = -size * rng.random(n) * (rng.random(n) < 0.8)
    upper = size * rng.random(n) * (rng.random(n) < 0.8)
    lower[rng.random(n) < 0.1] = -np.inf
    upper[rng.random(n) < 0.1] = np.inf
    return matrix, rng.standard_normal(m), lower, upper


@pytest.mark.parametrize('is_tight', [True, False])
@pytest.mark.parametrize('n', [1, 2, 6, 7, 9])
def test_the_error_is_as_small_as_that_of_scipy(n, is_tight):
    rng = np.random.default_rng([n, is_tight])
    bound = 0
    for _ in range(100):
        matrix, right, lower, upper = draw(rng, n, is_tight)
        x = solve(matrix, right, lower, upper)
        assert (lower <= x).all() and (x <= upper).all()
        free = lower < upper
        best = np.zeros(n)
        if free.any():
            best[free] = lsq_linear(
                matrix[:, free], right, (lower[free], upper[free]), method='bvls', tol=1e-14
            ).x
        bound += int(((x == lower) | (x == upper)).sum())
        error, least = (np.linalg.norm(matrix @ each - right) for each in (x, best))
        assert error <= least + 1e-9
    assert bound > 10


def test_without_bounds_in_the_way_it_is_plain_least_squares():
    rng = np.random.default_rng(3)
    matrix, right = rng.standard_normal((9, 5)), rng.standard_normal(9)
    x = solve(matrix, right, np.full(5, -np.inf), np.full(5, np.inf))
    np.testing.assert_allclose(x, np.linalg.lstsq(matrix, right, rcond=None)[0], atol=1e-13)


def test_a_direction_that_nothing_determines_does_not_move():
    matrix = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    x = solve(matrix, np.array([1.0, 1.0]), np.full(3, -5.0), np.full(3, 5.0))
    np.testing.assert_allclose(x, [0.5, 0.0, 0.5], atol=1e-14)


def test_a_variable_leaves_its_bound_when_another_one_reaches_its_own():
    # The first variable begins on its bound, and is pulled inside once the second one has reached its bound.
    matrix, right = np.array([[1.0, 2.0], [0.1, -1.0]]), np.array([1.0, -2.0])
    x = solve(matrix, right, np.array([0.0, 0.0]), np.array([3.0, 0.2]))
    expected = lsq_linear(matrix, right, ([0.0, 0.0], [3.0, 0.2]), method='bvls').x
    np.testing.assert_allclose(x, expected, atol=1e-12)
    assert 0.0 < x[0] < 3.0 and x[1] == 0.2
