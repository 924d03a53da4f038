"""
Every branch and nothing else: the solutions of each arm equal the solutions of the independent complete oracle.

A few poses of each arm in an ordinary run; ``-m slow`` solves five.
"""

from test.closed_form.arms_under_test import (
    arm_of,
    ask,
    catalogue_arm,
    catalogue_chain,
    EXACT_SRS,
    SEVEN,
    SIX,
)
from test.closed_form.synthetic_arms import (
    calibrated,
    CLASSES,
    make_six,
    MANSEUR_DOTY,
    random_lines,
    random_pose,
    SIXTEEN_WAYS,
)
from test.complete_oracle import compare, distinct, find_all, LineChain

import numpy as np
import pytest

from ssik_ros.errors import TopologyMismatch
from ssik_ros.model.catalogue import arm_data
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

PLANS = {
    'three_parallel': 'three_parallel',
    'spherical_wrist_2_parallel_3': 'spherical_two_parallel',
    'general_6r': 'general_6r',
}
"""Rules by the class that the catalogue expects."""
RESIDUAL = 1e-9
HELD = [
    pytest.param(name, joint, id=f'{name}-{joint}')
    for name in SEVEN
    for joint in range(7)
    if not (name in EXACT_SRS and joint == 3)
]


def check(chain, arm, poses, held=None, seed=5):
    """Compare the arm with the oracle at random poses and return the sizes of the sets."""
    rng = np.random.default_rng(seed)
    counts = []
    for index in range(poses):
        q = rng.uniform(-np.pi, np.pi, len(chain.axes))
        pose = chain.poses(q)[0]
        result = ask(arm, pose, q, held)
        six, solutions = chain, result.q
        if held is not None:
            assert (solutions[:, held] == q[held]).all()
            six, solutions = chain.held(held, q[held]), np.delete(solutions, held, 1)
        compared = compare(six, pose, solutions, rng)
        assert len(compared.missing) == 0, f'pose {index}: {compared}'
        assert len(compared.extra) == 0, f'pose {index}: {compared}'
        assert compared.residual < RESIDUAL
        assert compared.count > 0
        counts.append(compared.count)
    return counts


# The oracle itself, where the number of branches is known.


def test_the_oracle_finds_the_known_numbers_of_branches():
    rng = np.random.default_rng(1)
    ur5, puma = catalogue_chain('ur5'), catalogue_chain('puma560')
    reached = np.array([0.4, -1.1, 1.3, -0.7, 0.9, 0.2])
    assert len(find_all(ur5, ur5.poses(reached)[0], rng)) == 8
    for _ in range(5):
        pose = puma.poses(rng.uniform(-np.pi, np.pi, 6))[0]
        assert len(find_all(puma, pose, rng)) == 8
    assert len(find_all(MANSEUR_DOTY, sixteen_pose(), rng)) == 16


def test_the_oracle_reads_poses_as_the_package_does():
    rng = np.random.default_rng(2)
    for name in SIX + SEVEN:
        chain, arm = catalogue_chain(name), catalogue_arm(name)
        q = rng.uniform(-np.pi, np.pi, len(chain.axes))
        assert np.abs(chain.poses(q)[0] - arm.chain.pose(q)).max() < 1e-13


def test_the_oracle_notices_what_is_missing_wrong_or_twice():
    rng = np.random.default_rng(3)
    chain = catalogue_chain('puma560')
    pose = chain.poses(rng.uniform(-np.pi, np.pi, 6))[0]
    complete = find_all(chain, pose, rng)
    assert len(compare(chain, pose, complete[1:], rng).missing) == 1
    assert len(compare(chain, pose, np.vstack([complete, complete[:1]]), rng).extra) == 1
    assert len(compare(chain, pose, np.vstack([complete, complete[:1] + 0.01]), rng).extra) == 1
    exact = compare(chain, pose, complete, rng)
    assert (len(exact.missing), len(exact.extra), exact.count) == (0, 0, 8)


def sixteen_pose():
    """Return the pose of sixteen branches with its rotation made exact."""
    pose = SIXTEEN_WAYS.copy()
    left, _, right = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = left @ right
    return pose


# Arms of the catalogue.


@pytest.mark.sampled
@pytest.mark.parametrize('name', SIX)
def test_arms_of_six_joints_have_every_branch(name, poses):
    # By their own class: a broken rule gives way to a slower one that is complete too.
    assert catalogue_arm(name).plan.name == PLANS[arm_data(name).expected_class]
    check(catalogue_chain(name), catalogue_arm(name), poses)


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'joint'), HELD)
def test_arms_of_seven_joints_have_every_branch_with_each_joint_held(name, joint, poses):
    check(catalogue_chain(name), catalogue_arm(name), max(1, poses // 2), held=joint)


@pytest.mark.parametrize('name', EXACT_SRS)
def test_the_elbow_of_a_symmetric_arm_cannot_be_held(name):
    # With its elbow held the arm moves through a continuum, or reaches nothing.
    arm, q = catalogue_arm(name), np.full(7, 0.3)
    with pytest.raises(TopologyMismatch):
        ask(arm, arm.chain.pose(q), q, held=3)


NEARBY_LACKS = {
    'a pair is born beside the wrist': (
        [2.565728, 2.017273, -1.218621, 2.713911, -0.292906, 0.002357, 0.284857],
        10,
    ),
    'a pair comes within reach': (
        [0.360288, 1.067319, -2.096707, -2.458729, 1.620910, -0.045104, 1.224159],
        2,
    ),
}
"""Postures of an arm with offset axes, and the branches of their poses with joint 2 held."""


@pytest.mark.parametrize('case', NEARBY_LACKS)
def test_branches_that_the_nearby_chain_lacks_are_found(case):
    q, count = np.array(NEARBY_LACKS[case][0]), NEARBY_LACKS[case][1]
    chain, arm = catalogue_chain('baxter_left'), catalogue_arm('baxter_left')
    pose, six = chain.poses(q)[0], chain.held(2, q[2])
    solutions = np.delete(ask(arm, pose, q, 2).q, 2, 1)
    compared = compare(six, pose, solutions, np.random.default_rng(6))
    assert (len(compared.missing), len(compared.extra), compared.count) == (0, 0, count)


# Synthetic arms.


@pytest.mark.slow
@pytest.mark.parametrize('size', [1.0, 0.01, 100.0])
@pytest.mark.parametrize('is_reversed', [False, True], ids=['forward', 'reversed'])
@pytest.mark.parametrize('name', CLASSES)
def test_random_arms_of_each_class_have_every_branch(name, is_reversed, size, poses):
    rng = np.random.default_rng([sorted(CLASSES).index(name), is_reversed, int(100 * size)])
    chain = make_six(name, rng, is_reversed=is_reversed, size=size)
    arm = arm_of(chain)
    assert arm.plan.name == name.split(',')[0]
    assert ('reversed' in arm.plan.reason) == is_reversed
    check(chain, arm, poses)


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(12))
def test_arms_without_structure_have_every_branch(seed, poses):
    rng = np.random.default_rng([77, seed])
    axes, points = random_lines(rng)
    chain = LineChain(axes, points, random_pose(rng))
    arm = arm_of(chain)
    assert arm.plan.name == 'general_6r'
    check(chain, arm, poses)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['ur10e', 'puma560', 'xarm6', 'tm5_900', 'irb6700'])
@pytest.mark.parametrize('error', [1e-3, 1e-5])
def test_calibrated_arms_have_every_branch(name, error, poses):
    chain = calibrated(catalogue_chain(name), np.random.default_rng(9), error)
    check(chain, arm_of(chain), poses)


def test_the_arm_of_manseur_and_doty_reaches_its_pose_in_sixteen_ways():
    result = ask(arm_of(MANSEUR_DOTY), sixteen_pose())
    compared = compare(MANSEUR_DOTY, sixteen_pose(), result.q, np.random.default_rng(4))
    assert len(distinct(result.q)) == 16
    assert (len(compared.missing), len(compared.extra)) == (0, 0)
    assert compared.residual < RESIDUAL


def test_the_arm_of_manseur_and_doty_has_every_branch(poses):
    check(MANSEUR_DOTY, arm_of(MANSEUR_DOTY), 2 * poses)


def test_a_tool_in_general_orientation_changes_nothing(poses):
    rng = np.random.default_rng(8)
    for name in ('ur5e', 'puma560', 'jaco2', 'xarm6'):
        chain = catalogue_chain(name).with_tool(random_pose(rng))
        check(chain, arm_of(chain), poses)


@pytest.mark.parametrize('name', ['puma560', 'irb6700', 'ur5e', 'jaco2'])
def test_a_reversed_arm_has_every_branch(name, poses):
    chain = catalogue_chain(name)
    back = LineChain(-chain.axes[::-1], chain.points[::-1], random_pose(np.random.default_rng(3)))
    check(back, arm_of(back), poses)


@pytest.mark.sampled
@pytest.mark.parametrize('gap', [1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_wrist_axes_that_nearly_meet_lose_no_branch(gap, poses):
    chain = catalogue_chain('ur5e')
    points = chain.points.copy()
    points[5] += gap * np.cross(chain.axes[4], chain.axes[5])
    moved = LineChain(chain.axes, points, chain.home)
    arm = arm_of(moved)
    assert arm.plan.name == 'three_parallel'
    check(moved, arm, 2 * poses)


def test_a_posture_is_found_once_from_the_seed_and_from_a_sample_beside_it():
    # The middle of the limits is both a sample of the held joint and its value in the seed.
    arm = catalogue_arm('j2s7s300')
    chain, rng = catalogue_chain('j2s7s300'), np.random.default_rng(5)
    for _ in range(20):
        q = np.array([1.52, 0.822, -2.175, 2.978, 0.345, np.pi, 1.184])
        q[[0, 1, 2, 3, 4, 6]] += rng.uniform(-1.0, 1.0, 6)
        lower, upper = q - 0.1, q + 0.1
        lower[1] = q[1] - 1.8e-3
        request = BranchRequest(seed=0.5 * (lower + upper), lower=lower, upper=upper)
        solutions = arm.branches_refined(chain.poses(q)[0], request).q
        gaps = np.abs(solutions[:, None] - solutions).max(axis=2)
        assert len(solutions)
        assert gaps[np.triu_indices(len(solutions), 1)].min(initial=1.0) > 1e-9
