"""One step that ends inside the limits, against numpy and scipy."""

from test.search.test_null_space import Probe

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import six_rows

NOTHING = np.empty(0)


class Stepper(Probe):
    """A probe whose rows are made up."""

    def __init__(self, name, bounded_step):
        """Take an arm and the kernel that is to be tested."""
        super().__init__(name)
        self.bounded_step = bounded_step

    def take(self, rows, residual, state, damping, limited=True, scales=NOTHING, largest=1e9):
        """Return the step (n,), which joints moved freely (n,), and the residual of the linear model."""
        n = self.problem.nv
        self._write(layout.WORKSPACE.entry('jacobian'), 0, rows.ravel())
        self._write(layout.WORKSPACE.entry('residual'), 0, residual)
        self._write(layout.WORKSPACE.entry('state'), 0, state)
        left = self.bounded_step(*self.fixed, self.work, damping, limited, scales, largest)
        step = self._read(layout.WORKSPACE.entry('step'), 0, n)
        return step, self._read(layout.WORKSPACE.entry('step'), 4 * n, n) == 1.0, left


@pytest.fixture(params=['panda', 'ur5e'])
def arm_name(request):
    return request.param


def optimal_step(*arguments):
    """Call the kernel of the best step with scratch of exactly its size."""
    *rest, largest = arguments
    scratch = np.full(steps.optimal_size(6, Probe('panda').problem.nv), np.nan)
    return steps.optimal_step(*rest, largest, scratch)


@pytest.fixture(
    params=[steps.bounded_step, six_rows.bounded_step, optimal_step],
    ids=['general', 'six rows', 'optimal'],
)
def stepper(request, arm_name):
    return Stepper(arm_name, request.param)


def made_up(stepper, seed, reach=1.0):
    """Return a Jacobian, a residual, a state and the limits."""
    rng = np.random.default_rng(seed)
    lower, upper = stepper.problem.lower, stepper.problem.upper
    n = len(lower)
    return rng.normal(size=(6, n)), reach * rng.normal(size=6), rng.uniform(lower, upper)


@pytest.mark.parametrize('seed', range(10))
def test_weights_make_the_step_the_cheapest_of_its_kind(stepper, seed):
    rows, residual, state = made_up(stepper, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 10.0, len(state))
    step, _, left = stepper.take(rows, residual, state, 1e-3, False, 1.0 / np.sqrt(weights))
    inverse = np.diag(1.0 / weights)
    gram = rows @ inverse @ rows.T + 1e-3 * np.eye(6)
    np.testing.assert_allclose(step, inverse @ rows.T @ np.linalg.solve(gram, residual), atol=1e-9)
    assert left == pytest.approx(np.sum((residual - rows @ step) ** 2), rel=1e-6, abs=1e-15)


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(20))
def test_the_step_ends_inside_and_the_others_solve_for_what_is_left(stepper, seed):
    rows, residual, state = made_up(stepper, seed, reach=5.0)
    lower, upper = stepper.problem.lower, stepper.problem.upper
    step, free, left = stepper.take(rows, residual, state, 1e-2)
    full = np.where(free, 0.0, state + step)
    assert (np.isclose(full, lower) | np.isclose(full, upper))[~free].all()
    rest = residual - rows[:, ~free] @ step[~free]
    free_rows = rows[:, free]
    expected = np.linalg.solve(
        free_rows.T @ free_rows + 1e-2 * np.eye(free.sum()), free_rows.T @ rest
    )
    np.testing.assert_allclose(step[free], expected, atol=1e-8)
    assert left == pytest.approx(np.sum((residual - rows @ step) ** 2), rel=1e-5, abs=1e-12)


def test_where_one_limit_stops_the_step_it_is_the_bounded_optimum():
    stepper, count = Stepper('panda', six_rows.bounded_step), 0
    for seed in range(200):
        rows, residual, state = made_up(stepper, seed)
        lower, upper = stepper.problem.lower, stepper.problem.upper
        step, free, _ = stepper.take(rows, residual, state, 1e-1)
        turned = (state + step < lower - 1e-9) | (state + step > upper + 1e-9)
        if (~free).sum() != 1 or turned.any():
            continue
        count += 1
        stacked = np.vstack([rows, np.sqrt(1e-1) * np.eye(len(state))])
        wish = np.concatenate([residual, np.zeros(len(state))])
        best = lsq_linear(stacked, wish, (lower - state, upper - state), tol=1e-14)
        np.testing.assert_allclose(step, best.x, atol=1e-6)
    assert count >= 10


def test_no_turning_joint_moves_further_than_it_may(stepper):
    for seed in range(10):
        rows, residual, state = made_up(stepper, seed, reach=5.0)
        whole, _, _ = stepper.take(rows, residual, state, 1e-3, False)
        short, _, _ = stepper.take(rows, residual, state, 1e-3, False, largest=0.1)
        assert np.abs(short).max() == pytest.approx(min(0.1, np.abs(whole).max()))
        np.testing.assert_allclose(short / np.abs(short).max(), whole / np.abs(whole).max())


def test_where_a_row_repeats_another_the_step_is_that_of_the_pseudo_inverse(stepper):
    rows, residual, state = made_up(stepper, 3)
    rows[4], residual[4] = 2.0 * rows[1], 2.0 * residual[1]
    step, _, _ = stepper.take(rows, residual, state, 1e-13, False)
    np.testing.assert_allclose(step, np.linalg.pinv(rows) @ residual, atol=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize('scaled', [False, True])
def test_the_optimal_step_is_the_best_of_all_inside_the_limits(arm_name, scaled):
    stepper, stopped = Stepper(arm_name, optimal_step), 0
    lower, upper = stepper.problem.lower, stepper.problem.upper
    for seed in range(100):
        rows, residual, state = made_up(stepper, seed, reach=5.0)
        weights = np.random.default_rng(seed).uniform(0.1, 10.0, len(state))
        scales = 1.0 / np.sqrt(weights) if scaled else np.ones(len(state))
        damped = np.vstack([rows * scales, 0.1 * np.eye(len(state))])
        right = np.concatenate([residual, np.zeros(len(state))])
        room = (lower - state) / scales, (upper - state) / scales
        expected = scales * lsq_linear(damped, right, room, method='bvls', tol=1e-14).x
        step, free, left = stepper.take(
            rows, residual, state, 1e-2, scales=scales if scaled else NOTHING
        )
        np.testing.assert_allclose(step, expected, atol=1e-7)
        assert left == pytest.approx(np.sum((residual - rows @ step) ** 2), rel=1e-6)
        stopped += int((~free).sum())
    assert stopped > 100
