"""Turns of joints against the product of all of them."""

import itertools
import math

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.errors import InvalidOption
from ssik_ros.solvers.closed_form.windings import enumerate_windings

TURN = 2.0 * math.pi
L2, LINF = 0, 1


def values(q, lower, upper):
    """Return every turn of one angle within limits, where its range is more than a turn."""
    if not (math.isfinite(lower) and math.isfinite(upper) and upper - lower > TURN + 1e-9):
        return [q]
    return [q + k * TURN for k in range(-40, 41) if lower <= q + k * TURN <= upper]


def product(branches, lower, upper):
    """Return every posture by brute force."""
    rows = [
        row
        for q in branches
        for row in itertools.product(*map(values, q.tolist(), lower.tolist(), upper.tolist()))
    ]
    return np.array(rows)


def distances(rows, seed, lower, upper, metric):
    """Return the keys of rows."""
    differences = np.abs(rows - seed)
    endless = np.isinf(lower) & np.isinf(upper)
    turned = np.abs(np.mod(rows - seed + math.pi, TURN) - math.pi)
    differences = np.where(endless, turned, differences)
    return (differences**2).sum(axis=1) if metric == L2 else differences.max(axis=1)


def cases(count):
    """Yield random branches, limits and seeds."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        n = int(rng.integers(1, 7))
        kinds = rng.integers(0, 4, n)
        half = np.choose(kinds, [rng.uniform(3.2, 9.0, n), np.full(n, math.pi), np.inf, 2.0])
        lower, upper = -half + rng.uniform(-0.1, 0.1, n), half
        low, high = np.maximum(lower, -6.0), np.minimum(upper, 6.0)
        branches = rng.uniform(low, high, (int(rng.integers(1, 9)), n))
        yield branches, lower, upper, rng.uniform(-8.0, 8.0, n)


@pytest.mark.parametrize('metric', [L2, LINF])
def test_all_turns_in_the_order_of_brute_force(metric):
    for branches, lower, upper, seed in cases(60):
        everything = product(branches, lower, upper)
        windings = enumerate_windings(branches, lower, upper, seed, metric, None)
        assert windings.total == len(windings.q) == len(everything)
        assert {tuple(np.round(q, 7)) for q in windings.q} == {
            tuple(np.round(q, 7)) for q in everything
        }
        keys = distances(windings.q, seed, lower, upper, metric)
        assert keys == pytest.approx(
            np.sort(distances(everything, seed, lower, upper, metric)), abs=1e-9
        )
        assert (np.diff(keys) >= -1e-12).all()
        turned = np.mod(windings.q - branches[windings.of_branch] + math.pi, TURN) - math.pi
        assert np.abs(turned).max() < 1e-9


@pytest.mark.parametrize('metric', [L2, LINF])
@pytest.mark.parametrize('most', [0, 1, 2, 7])
def test_a_cap_gives_the_beginning(metric, most):
    for branches, lower, upper, seed in cases(20):
        everything = enumerate_windings(branches, lower, upper, seed, metric, None)
        first = enumerate_windings(branches, lower, upper, seed, metric, most)
        assert first.q.tobytes() == everything.q[:most].tobytes()
        assert first.total == everything.total


def test_without_a_seed_branches_keep_their_order_and_small_angles_come_first():
    for branches, lower, upper, _ in cases(20):
        windings = enumerate_windings(branches, lower, upper, None, L2, None)
        assert (np.diff(windings.of_branch) >= 0).all()
        first = windings.q[np.unique(windings.of_branch, return_index=True)[1]]
        for row, q in zip(first, branches, strict=True):
            for value, angle, lo, hi in zip(row, q, lower, upper, strict=True):
                assert abs(value) <= min(map(abs, values(float(angle), lo, hi))) + 1e-9


def test_hundreds_of_thousands_are_not_built_for_a_few():
    lower, upper = np.full(7, -20.0), np.full(7, 20.0)
    branches = np.random.default_rng(2).uniform(-3.0, 3.0, (50, 7))
    seed = np.full(7, 5.0)
    windings = enumerate_windings(branches, lower, upper, seed, L2, 3)
    assert windings.total > 10_000_000 and len(windings.q) == 3
    nearest = branches + TURN * np.round((seed - branches) / TURN)
    assert windings.q[0] == pytest.approx(
        nearest[np.argmin(((nearest - seed) ** 2).sum(axis=1))], abs=1e-9
    )
    with pytest.raises(InvalidOption, match='max_solutions'):
        enumerate_windings(branches, lower, upper, seed, L2, None)


def test_a_pose_of_an_arm_with_two_turns_has_256_postures():
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    limits = np.array(arm.joint_limits)
    solutions, diagnostic = arm.solve(arm.fk(q), enumerate_windings=True, explain=True)
    assert (diagnostic.geometric_branches, diagnostic.winding_representatives) == (8, 256)
    assert len(solutions) == diagnostic.final_count == 256
    branches = arm.solve_q(arm.fk(q))
    everything = product(branches, limits[:, 0], limits[:, 1])
    assert {tuple(np.round(s.q, 7)) for s in solutions} == {
        tuple(np.round(row, 7)) for row in everything
    }
    for solution in solutions:
        assert solution.fk_residual < 1e-9
        assert (solution.q >= limits[:, 0]).all() and (solution.q <= limits[:, 1]).all()


def test_the_nearest_turn_is_the_first_one():
    arm = Manipulator.from_prebuilt('ur5e')
    rng = np.random.default_rng(8)
    limits = np.array(arm.joint_limits)
    for q in rng.uniform(limits[:, 0], limits[:, 1], (20, 6)):
        (first, *_) = arm.solve(arm.fk(q), q_seed=q, enumerate_windings=True, max_solutions=5)
        assert first.q == pytest.approx(q, abs=1e-6)


def test_a_tolerance_bounds_turns_too():
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    for room in (0.2, 4.0, 6.5):
        rows = arm.solve_q(arm.fk(q), q, enumerate_windings=True, seed_tolerance=room)
        everything = arm.solve_q(arm.fk(q), q, enumerate_windings=True)
        near = everything[(np.abs(everything - q) <= room).all(axis=1)]
        assert len(rows) == len(near)
        assert {tuple(np.round(row, 7)) for row in rows} == {
            tuple(np.round(row, 7)) for row in near
        }


def test_a_held_joint_does_not_turn():
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    rows = arm.solve_q(arm.fk(q), q, enumerate_windings=True, hold={0: 0.3, 2: 1.4})
    assert len(rows) and (rows[:, 0] == 0.3).all() and (rows[:, 2] == 1.4).all()
    assert len(rows) % 16 == 0


@pytest.mark.parametrize('outside', [0.0, 3e-10, 0.9e-9])
def test_a_winding_moved_onto_its_limit_is_as_exact_as_a_branch(outside):
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.4, -1.1, 0.9, -0.7, 0.8, 0.0])
    q[[0, 5]] = arm.upper[[0, 5]] - TURN + outside
    solutions = arm.solve(arm.fk(q), enumerate_windings=True)
    assert max(solution.fk_residual for solution in solutions) <= 1e-9
    onto = [s for s in solutions if s.q[0] == arm.upper[0] and s.q[5] == arm.upper[5]]
    assert bool(onto) == (outside < 5e-10)
