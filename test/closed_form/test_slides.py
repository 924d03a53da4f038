"""Chains with prismatic joints in the common pipeline: poses, Newton, duplicates, limits, turns, held joints."""

from test.closed_form.arms_under_test import ask, catalogue_arm

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify, chain as chains, ranking
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.windings import enumerate_windings

KINDS = ('PRRRRR', 'RRPRRR', 'RRRRRP', 'PPPRRR', 'RPRPRRR', 'RRRRRR')
TURN = 2.0 * np.pi


class Chain:
    """A random chain, and the same one in pinocchio."""

    def __init__(self, kinds, rng):
        """Draw axes, points and a tip."""
        self.n, self.kinds = len(kinds), kinds
        self.slides = chains.pack_slides(kind == 'P' for kind in kinds)
        axes = rng.standard_normal((self.n, 3))
        self.axes = axes / np.linalg.norm(axes, axis=1)[:, None]
        self.points = rng.uniform(-0.5, 0.5, (self.n, 3))
        self.home = pin.SE3(pin.exp3(rng.uniform(-2.0, 2.0, 3)), rng.uniform(-0.5, 0.5, 3))
        self.model = pin.Model()
        for i, kind in enumerate(kinds):
            joint = (
                pin.JointModelPrismaticUnaligned
                if kind == 'P'
                else pin.JointModelRevoluteUnaligned
            )
            before = self.points[i - 1] if i else np.zeros(3)
            placement = pin.SE3(np.eye(3), self.points[i] - before)
            self.model.addJoint(i, joint(self.axes[i]), placement, f'joint{i}')
        self.data = self.model.createData()

    def pose(self, q):
        """Return the pose of the tip (4, 4)."""
        pin.forwardKinematics(self.model, self.data, q)
        back = pin.SE3(np.eye(3), -self.points[-1])
        return (self.data.oMi[self.n] * back * self.home).homogeneous

    def arrays(self):
        """Return the chain as the kernels take it."""
        return (
            self.axes.ravel(),
            self.points.ravel(),
            numbers(self.home.homogeneous),
            self.n,
            self.slides,
        )

    def evaluate(self, q):
        """Return screws (n, 2, 3) and the pose of the tip (12,) by the kernel."""
        screws, pose = np.empty(6 * self.n), np.empty(12)
        certify.evaluate(*self.arrays(), q, screws, pose)
        return screws.reshape(self.n, 2, 3), pose


def numbers(pose):
    """Return a pose (4, 4) as twelve numbers."""
    return np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])


@pytest.mark.parametrize('kinds', KINDS)
def test_poses_are_those_of_pinocchio(kinds):
    rng = np.random.default_rng(1)
    for _ in range(20):
        chain, q = Chain(kinds, rng), rng.uniform(-3.0, 3.0, len(kinds))
        _, pose = chain.evaluate(q)
        assert np.abs(pose - numbers(chain.pose(q))).max() < 1e-13


@pytest.mark.parametrize('kinds', KINDS)
def test_columns_of_newton_are_differences_of_poses(kinds):
    rng = np.random.default_rng(2)
    chain, q = Chain(kinds, rng), rng.uniform(-3.0, 3.0, len(kinds))
    screws, pose = chain.evaluate(q)
    rotation = pose[:9].reshape(3, 3)
    step = 1e-6
    for joint in range(chain.n):
        system, free = np.zeros((6, 7)), np.array([joint])
        flat = screws.ravel()
        certify.write_system(system, flat, chain.slides, free, 1, pose, pose, 1.0)
        ahead, back = (chain.evaluate(q + s * np.eye(chain.n)[joint])[1] for s in (step, -step))
        change = (ahead - back) / (2.0 * step)
        spin = change[:9].reshape(3, 3) @ rotation.T
        wanted = [*change[9:], spin[2, 1], spin[0, 2], spin[1, 0]]
        assert np.abs(system[:, 0] - wanted).max() < 1e-8


@pytest.mark.parametrize('kinds', KINDS)
def test_newton_finds_the_posture_that_a_candidate_is_near_to(kinds):
    rng = np.random.default_rng(3)
    for _ in range(20):
        chain, true = Chain(kinds, rng), rng.uniform(-2.0, 2.0, len(kinds))
        q, free = true + rng.uniform(-1e-4, 1e-4, chain.n), np.arange(chain.n)
        q[0] = true[0] if chain.n == 7 else q[0]
        free = free[1:] if chain.n == 7 else free
        target, left = numbers(chain.pose(true)), np.empty(3)
        residual = certify.certify(
            *chain.arrays(),
            q,
            np.append(free, 0),
            len(free),
            target,
            1.0,
            left,
            np.empty(certify.scratch_size(chain.n)),
        )
        assert residual < 1e-12
        assert np.linalg.norm(numbers(chain.pose(q)) - target) < 1e-12


def test_lengths_that_differ_by_two_pi_are_not_the_same():
    store, other = np.array([[0.2, 0.1, 0.3]]), np.array([0.2, 0.1, 0.3 + TURN])
    assert certify.are_near(store, 0, other, 3, 0, 1e-3)
    assert not certify.are_near(store, 0, other, 3, 0b100, 1e-3)


def test_the_point_half_way_is_in_the_middle_of_a_slide():
    rng = np.random.default_rng(4)
    chain, q = Chain('RRPRRR', rng), rng.uniform(-2.0, 2.0, 6)
    q[2] = 7.0
    apart = 3e-4 * np.ones(6)
    rows, scratch = (q - apart)[None], np.empty(certify.scratch_size(6))
    target = numbers(chain.pose(q))
    assert certify.meet_half_way(*chain.arrays(), rows, 0, q + apart, target, 1e-12, scratch)


@pytest.mark.parametrize('mode', [ranking.KEEP_ALL, ranking.WITHIN_LIMITS, ranking.WRAP_ONLY])
def test_lengths_are_never_wrapped(mode):
    lower, upper = np.array([-10.0, -10.0]), np.array([10.0, 10.0])
    q = np.array([7.0, 7.0])
    assert ranking.place(q, 2, 0b01, lower, upper, np.zeros(2), mode)
    assert q[0] == 7.0
    assert q[1] == pytest.approx(7.0 - TURN)


@pytest.mark.parametrize(
    ('value', 'placed'), [(0.5, 0.5), (1.0 + 5e-10, 1.0), (1.0 + 2e-9, None), (-5e-10, 0.0)]
)
def test_lengths_outside_their_limits_are_dropped_but_for_rounding(value, placed):
    q = np.array([value])
    lower, upper = np.zeros(1), np.ones(1)
    kept = ranking.place(q, 1, 1, lower, upper, np.zeros(1), ranking.WITHIN_LIMITS)
    assert kept == (placed is not None)
    if kept:
        assert q[0] == placed
    else:
        assert ranking.place(q, 1, 1, lower, upper, np.zeros(1), ranking.WRAP_ONLY)
        assert q[0] == value


def test_distances_of_lengths_without_limits_are_plain():
    q, seed, none = np.array([7.0, 7.0]), np.zeros(2), np.full(2, np.inf)
    got = ranking.distance(q, seed, 2, 0b10, -none, none, ranking.SUM_OF_SQUARES)
    assert got == pytest.approx((7.0 - TURN) ** 2 + 49.0)


def test_slides_have_no_windings():
    branches, lower, upper = np.array([[1.0, 1.0]]), np.full(2, -9.0), np.full(2, 9.0)
    turns = enumerate_windings(branches, lower, upper, None, 0, None, 0b01)
    assert turns.total == 3
    assert (turns.q[:, 0] == 1.0).all()
    endless = np.full(2, np.inf)
    far = np.array([[7.0, 7.0], [1.0, 7.0]])
    only = enumerate_windings(far, -endless, endless, np.zeros(2), 0, None, 0b01)
    assert (only.q == far[::-1]).all()


def on_a_rail(plan, axis):
    """Return the plan of an arm on a rail whose position is held."""
    chain, ints = plan.chain, np.zeros_like(plan.ints)
    ints[:] = plan.ints
    ints[search.N], ints[search.HELD], ints[search.SLIDES] = 7, 0, 0b1
    ints[search.BEHIND : search.BEHIND + 2] = 1
    ints[search.JOINT_INDICES : search.JOINT_INDICES + 6] = np.arange(1, 7)
    axes, points = np.vstack([axis, chain.axes]), np.vstack([np.zeros(3), chain.points])
    reals = search.pack_plan(
        axes,
        points,
        numbers(chain.home),
        np.insert(chain.lower, 0, -9.0),
        np.insert(chain.upper, 0, 9.0),
        plan.reals[72:78],
        axes,
        points,
    )
    return ints, reals


@pytest.mark.parametrize('name', ['puma560', 'ur5e'])
def test_an_arm_on_a_rail_has_the_branches_of_the_arm_moved(name):
    rng = np.random.default_rng(5)
    arm, axis = catalogue_arm(name), np.array([0.6, 0.8, 0.0])
    ints, reals = on_a_rail(arm.plan, axis)
    arrays, options = BranchArrays(7, 16), arm.plan.options
    for _ in range(10):
        q, length = rng.uniform(-3.0, 3.0, 6), rng.uniform(5.0, 9.0)
        pose = arm.chain.pose(q)
        wanted = ask(arm, pose).q
        pose[:3, 3] += length * axis
        count = arrays.search(
            Prepared(ints, reals, np.array([length]), np.zeros(7), options), pose
        )
        rows = arrays.rows[:count]
        assert count == len(wanted) > 0
        assert (rows[:, 0] == length).all()
        assert rows[:, -1].max() < 1e-9
        gaps = np.abs(np.mod(rows[:, None, 1:7] - wanted + np.pi, TURN) - np.pi).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-9
