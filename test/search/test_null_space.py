"""Jacobians, secondary objectives and joint weights against pinocchio and finite differences."""

from test.search.newton_arms import draw, load, manipulability, SIX_ARMS, within

import numpy as np
import pytest

from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import descent, null_space
from ssik_ros.problem.problem import Rows
from ssik_ros.solvers.search.settings import make_settings
from ssik_ros.solvers.search.solver import SearchSolver

REDUNDANT = ('panda', 'gen3')
STEP = 1e-6


class Probe:
    """The kernels of one solver, asked about single configurations."""

    def __init__(self, name, rows=None, **settings):
        """Make the arrays."""
        self.arm, self.oracle = load(name)
        self.solver = SearchSolver(
            self.arm.robot, self.arm.group, make_settings(settings), rows=rows
        )
        self.problem = self.solver.problem
        self.work = self.solver.borrow().work
        self._write(layout.WORKSPACE.entry('step'), 2 * self.problem.nv, self.problem.lower)
        self._write(layout.WORKSPACE.entry('step'), 3 * self.problem.nv, self.problem.upper)
        self.fixed = (self.problem.ints, self.problem.reals)

    def _write(self, entry, skip, values):
        start = int(self.problem.ints[entry]) + skip
        self.work[start : start + len(values)] = values

    def _read(self, entry, skip, count):
        start = int(self.problem.ints[entry]) + skip
        return self.work[start : start + count].copy()

    def set_target(self, pose):
        """Write the target."""
        self._write(
            layout.WORKSPACE.entry('targets'),
            0,
            np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]]),
        )

    def measure(self, q):
        """Return |W^1/2 e|^2, residual (m,) and Jacobian (m, n)."""
        m, n = self.problem.rows, self.problem.nv
        square, _ = descent.measure(*self.fixed, self.solver.packed, self.work, q)
        rows = self._read(layout.WORKSPACE.entry('jacobian'), 0, m * n).reshape(m, n)
        return square, self._read(layout.WORKSPACE.entry('residual'), 0, m), rows

    def objective(self, q):
        """Return F."""
        return null_space.objective(*self.fixed, self.solver.packed, self.work, q.copy())

    def gradient(self, q):
        """Return grad F (n,)."""
        n = self.problem.nv
        null_space.gradient(*self.fixed, self.solver.packed, self.work, q.copy())
        return self._read(layout.WORKSPACE.entry('step'), n, n)


@pytest.mark.parametrize('name', SIX_ARMS)
def test_the_weighted_jacobian_is_that_of_pinocchio_and_of_the_residual(name):
    mask = np.array([1.0, 4.0, 0.0, 0.25, 1.0, 9.0])
    probe = Probe(name, Rows(weights=np.sqrt(mask)))
    counted = mask > 0.0
    for q in draw(probe.arm, 10, 21):
        probe.set_target(probe.oracle.pose(q))
        _, residual, rows = probe.measure(q)
        wanted = (np.sqrt(mask)[:, None] * probe.oracle.jacobian(q))[counted]
        assert residual == pytest.approx(np.zeros(5), abs=1e-12)
        np.testing.assert_allclose(rows, wanted, atol=1e-9)
        for v, direction in enumerate(np.eye(len(q))):
            forward = probe.measure(q + STEP * direction)[1]
            backward = probe.measure(q - STEP * direction)[1]
            np.testing.assert_allclose(rows[:, v], (backward - forward) / (2.0 * STEP), atol=1e-7)


@pytest.mark.parametrize('name', SIX_ARMS)
def test_manipulability_is_that_of_pinocchio_and_so_is_its_gradient(name):
    probe = Probe(name, km=1.0)
    for q in draw(probe.arm, 10, 22):
        objective = probe.objective(q)
        assert objective == pytest.approx(
            manipulability(probe.oracle.jacobian(q)), rel=1e-9, abs=1e-12
        )
        steps = 1e-5 * np.eye(len(q))
        expected = [
            (
                manipulability(probe.oracle.jacobian(q + step))
                - manipulability(probe.oracle.jacobian(q - step))
            )
            / 2e-5
            for step in steps
        ]
        np.testing.assert_allclose(probe.gradient(q), expected, atol=1e-6)


@pytest.mark.parametrize('name', SIX_ARMS)
def test_the_pull_away_from_limits_is_the_gradient_of_its_objective_and_the_formula(name):
    probe = Probe(name, kq=2.0, ps=0.05, pi=0.8)
    lower, upper = probe.arm.group.lower, probe.arm.group.upper
    for q in draw(probe.arm, 20, 23):
        expected = np.zeros(len(q))
        for v, (low, high) in enumerate(zip(lower, upper, strict=True)):
            if q[v] - low < 0.8:
                expected[v] += 2.0 * (q[v] - low - 0.8) ** 2 / 0.75**2
            if high - q[v] < 0.8:
                expected[v] -= 2.0 * (high - q[v] - 0.8) ** 2 / 0.75**2
        gradient = probe.gradient(q)
        np.testing.assert_allclose(gradient, expected, atol=1e-12)
        for v, direction in enumerate(np.eye(len(q))):
            forward = probe.objective(q + STEP * direction)
            backward = probe.objective(q - STEP * direction)
            assert gradient[v] == pytest.approx((forward - backward) / (2.0 * STEP), abs=1e-6)


def test_the_pull_towards_a_posture_is_the_way_there():
    posture = draw(load('panda')[0], 1, 24)[0]
    probe = Probe('panda', kp=3.0, posture=posture)
    for q in draw(probe.arm, 10, 25):
        np.testing.assert_allclose(probe.gradient(q), 3.0 * (posture - q), atol=1e-12)


def margin(arm, q):
    """Return the distance to the nearest limit."""
    return min((q - arm.group.lower).min(), (arm.group.upper - q).min())


def paired(name, count, **terms):
    """Yield pairs of results, without and with secondary objectives, and their targets."""
    arm, oracle = load(name)
    exact = {'pos_tol': 1e-10, 'rot_tol': 1e-10}
    for q, q0 in zip(draw(arm, count, 26), draw(arm, count, 27), strict=True):
        target = oracle.pose(q)
        plain = arm.ik_LM(target, q0, **exact)
        other = arm.ik_LM(target, q0, **exact, **terms)
        assert plain.success == other.success == 1
        assert within(arm, other.q)
        yield plain.q, other.q, target


@pytest.mark.parametrize(('name', 'influence'), [('panda', 0.3), ('panda', 0.6), ('gen3', 1.5)])
def test_kq_raises_the_distance_to_the_limits_and_leaves_the_pose(name, influence):
    arm, oracle = load(name)
    gains = []
    for plain, other, _ in paired(name, 100, kq=1.0, pi=influence):
        change = np.abs(oracle.pose(plain) - oracle.pose(other)).max()
        assert change < 1e-9
        gains.append(margin(arm, other) / max(margin(arm, plain), 1e-12))
    assert np.median(gains) >= 1.1


@pytest.mark.parametrize('name', REDUNDANT)
def test_km_raises_manipulability_and_leaves_the_pose(name):
    _, oracle = load(name)
    gains = []
    for plain, other, _ in paired(name, 100, km=1.0):
        assert np.abs(oracle.pose(plain) - oracle.pose(other)).max() < 1e-9
        before, after = (manipulability(oracle.jacobian(q)) for q in (plain, other))
        assert after >= before - 1e-9
        gains.append(after / before)
    assert np.median(gains) >= 1.1


def test_kp_brings_the_arm_nearer_to_a_posture_and_leaves_the_pose():
    arm, oracle = load('panda')
    posture = 0.5 * (arm.group.lower + arm.group.upper)
    ratios = []
    for plain, other, _ in paired('panda', 50, kp=1.0, posture=posture):
        assert np.abs(oracle.pose(plain) - oracle.pose(other)).max() < 1e-9
        ratios.append(np.linalg.norm(other - posture) / np.linalg.norm(plain - posture))
        free = np.linalg.svd(oracle.jacobian(other))[2][-1]
        # Away from limits nothing of the way to the posture is left along the self-motion.
        assert margin(arm, other) < 0.01 or abs(free @ (posture - other)) < 0.02
    assert max(ratios) <= 1.0 + 1e-9
    assert np.median(ratios) <= 0.95


def test_a_partial_target_leaves_a_larger_null_space():
    arm, oracle = load('ur5e')
    gains = []
    for q in draw(arm, 50, 28):
        target = oracle.pose(q)
        options = {'mask': [1, 1, 1, 0, 0, 0], 'pos_tol': 1e-10}
        plain, other = arm.ik_LM(target, q, **options), arm.ik_LM(target, q, km=1.0, **options)
        assert plain.success == other.success == 1
        moved = np.linalg.norm(oracle.pose(plain.q)[:3, 3] - oracle.pose(other.q)[:3, 3])
        assert moved < 1e-9
        before, after = (manipulability(oracle.jacobian(a.q)[:3]) for a in (plain, other))
        gains.append(after / before)
    assert np.median(gains) >= 1.1


def test_secondary_objectives_change_nothing_where_nothing_is_free():
    arm, oracle = load('ur5e')
    for q in draw(arm, 10, 29):
        plain, other = arm.ik_LM(oracle.pose(q)), arm.ik_LM(oracle.pose(q), kq=1.0, km=1.0)
        assert plain.q.tobytes() == other.q.tobytes()


def test_a_joint_with_a_high_weight_moves_less():
    arm, oracle = load('panda')
    moved = {1.0: [], 1e4: []}
    for q in draw(arm, 100, 30):
        q0 = np.clip(q + 0.1, arm.group.lower, arm.group.upper)
        for weight, distances in moved.items():
            weights = [1.0, 1.0, weight, 1.0, 1.0, 1.0, 1.0]
            result = arm.ik_LM(oracle.pose(q), q0, joint_weights=weights)
            assert result.success == 1
            distances.append(abs(result.q[2] - q0[2]))
    assert np.median(moved[1e4]) < 0.1 * np.median(moved[1.0])
