"""Poses and arms on which solvers are known to fail: right angles, straight elbows and wrists, tools, reversed arms."""

from test.closed_form.arms_under_test import (
    arm_of,
    ask,
    catalogue_arm,
    catalogue_chain,
    EXACT_SRS,
    SEVEN,
    SIX,
    six_of,
)
from test.closed_form.synthetic_arms import CLASSES, make_six, random_lines, random_pose
from test.complete_oracle import compare, LineChain, rotations, wrap

import numpy as np
import pytest

from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL, WITHIN_LIMITS

RESIDUAL = 1e-9
REGULAR = 1e-3
"""Smallest singular value of a posture that is not near a singular posture."""
OFFSETS = (0.0, 1e-16, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
QUARTERS = np.array([0.0, 0.5, -0.5, 1.0]) * np.pi


def special_posture(rng, n):
    """Return a posture with some joints at right angles, or off by a little."""
    q = rng.uniform(-np.pi, np.pi, n)
    for joint in rng.choice(n, size=rng.integers(1, n + 1), replace=False):
        q[joint] = rng.choice(QUARTERS) + rng.choice(OFFSETS) * rng.choice([-1, 1])
    return q


def check_solved(chain, arm, q):
    """Check that the pose of a posture is solved exactly, and that a regular posture is found again."""
    pose = chain.poses(q)[0]
    six, held = six_of(chain, arm, q)
    solutions = ask(arm, pose, q, held).q
    assert len(solutions) > 0, f'no solution for {q.tolist()}'
    assert chain.residuals(solutions, pose).max() < RESIDUAL
    posture = q if held is None else np.delete(q, held)
    if six.singular_value(posture, pose) > REGULAR:
        assert np.abs(wrap(solutions - q)).max(axis=1).min() < 1e-6, q.tolist()


@pytest.mark.slow
@pytest.mark.parametrize('name', SIX + SEVEN)
def test_poses_at_right_angles_and_next_to_them_are_solved(name):
    rng = np.random.default_rng(3)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    for _ in range(30):
        check_solved(chain, arm, special_posture(rng, len(chain.axes)))


@pytest.mark.sampled
@pytest.mark.parametrize('name', SIX)
def test_arms_are_solved_with_all_joints_at_multiples_of_a_right_angle(name):
    rng = np.random.default_rng(4)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    check_solved(chain, arm, np.zeros(6))
    for _ in range(10):
        check_solved(chain, arm, rng.choice(QUARTERS, 6))


@pytest.mark.slow
@pytest.mark.parametrize('offset', [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
@pytest.mark.parametrize('name', EXACT_SRS)
def test_symmetric_arms_of_seven_are_solved_at_right_angles_and_next_to_them(name, offset):
    # Stretched and nearly so: Newton stops short of many of these poses, and a few nearly have a continuum of
    # solutions.
    rng = np.random.default_rng(0)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    for _ in range(500):
        q = rng.choice(QUARTERS, 7) + offset * rng.uniform(-1.0, 1.0, 7)
        pose = chain.poses(q)[0]
        solutions = ask(arm, pose, q, arm.plan.held).q
        assert len(solutions) > 0, f'no solution for {q.tolist()}'
        assert chain.residuals(solutions, pose).max() < RESIDUAL


@pytest.mark.parametrize('offset', OFFSETS)
@pytest.mark.parametrize('name', ['puma560', 'irb6700', 'vx300s', 'lite6'])
def test_a_nearly_straight_wrist_is_solved_to_rounding(name, offset):
    rng = np.random.default_rng(5)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    for sign in (-1.0, 1.0):
        q = rng.uniform(-np.pi, np.pi, 6)
        q[4] = sign * offset
        solutions = ask(arm, chain.poses(q)[0]).q
        assert len(solutions) >= 2
        assert chain.residuals(solutions, chain.poses(q)[0]).max() < 2e-11


@pytest.mark.parametrize('name', ['ur5e', 'ur10e', 'z1', 'tm5_900', 'omy', 'aubo_i5'])
def test_four_parallel_axes_leave_a_solution_within_reach(name):
    # The last joint is free there, but the plane does not reach for every value of it.
    rng = np.random.default_rng(6)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    aligned = 0.5 * np.pi if name == 'z1' else 0.0
    for _ in range(50):
        q = rng.uniform(-np.pi, np.pi, 6)
        q[2], q[4] = rng.choice([0.0, 1e-3, 0.1]), aligned
        check_solved(chain, arm, q)


@pytest.mark.parametrize('name', SEVEN)
def test_home_is_solved_with_the_held_joint_at_zero_and_by_samples(name):
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    check_solved(chain, arm, np.zeros(7))
    inside = np.clip(np.zeros(7), arm.chain.lower, arm.chain.upper)
    # The oracle knows no other value of the last joint for this one: it is stretched, and nearly symmetric.
    seed = inside if name == 'gen3' else None
    result = arm.branches(arm.chain.pose(inside), BranchRequest(seed=seed))
    assert len(result.q) > 0
    assert chain.residuals(result.q, chain.poses(inside)[0]).max() < RESIDUAL


@pytest.mark.parametrize('name', EXACT_SRS)
def test_every_joint_but_the_elbow_can_be_held_at_home(name):
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    pose = chain.poses(np.zeros(7))[0]
    for joint in (0, 1, 2, 4, 5, 6):
        solutions = ask(arm, pose, np.zeros(7), joint).q
        assert len(solutions) > 0
        assert chain.residuals(solutions, pose).max() < RESIDUAL


@pytest.mark.parametrize('name', ['puma560', 'ur5e', 'irb6700', 'iiwa14', 'panda', 'xarm7'])
def test_a_straight_elbow_at_a_corner_of_the_limits_is_solved(name):
    # Every joint is at one of its limits, where the elbow is straight.
    rng = np.random.default_rng(7)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    n = len(chain.axes)
    for _ in range(10):
        q = rng.choice(QUARTERS, n)
        q[3 if n == 7 else 2] = 0.0
        is_lower = rng.random(n) < 0.5
        lower, upper = np.where(is_lower, q, q - 0.5), np.where(is_lower, q + 0.5, q)
        request = BranchRequest(mode=WITHIN_LIMITS, seed=q, lower=lower, upper=upper)
        result = arm.branches(chain.poses(q)[0], request)
        assert len(result.q) > 0, q.tolist()
        assert (result.q >= lower).all()
        assert (result.q <= upper).all()
        assert chain.residuals(result.q, chain.poses(q)[0]).max() < RESIDUAL


def fold_posture(chain, rng):
    """Return a random posture at which two solutions have become one, and no continuum begins."""
    while True:
        inside = rng.uniform(-np.pi, np.pi, 6)
        outside = inside + 0.3 * np.eye(6)[rng.integers(1, 5)]
        signs = [np.sign(np.linalg.det(jacobian_of(chain, q))) for q in (inside, outside)]
        if signs[0] == signs[1]:
            continue
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            if np.sign(np.linalg.det(jacobian_of(chain, middle))) == signs[0]:
                inside = middle
            else:
                outside = middle
        _, values, rows = np.linalg.svd(jacobian_of(chain, inside))
        moved = chain.poses(inside + 1e-2 * rows[-1])[0] - chain.poses(inside)[0]
        # Along a continuum the pose does not change. Along a fold it changes quadratically, in the direction that the
        # arm lacks.
        left = np.linalg.svd(jacobian_of(chain, inside))[0][:, -1]
        twist = np.concatenate(
            [moved[:3, 3] / chain.unit, moved_axis(chain.poses(inside)[0], moved)]
        )
        if values[-1] < 1e-12 and values[-2] > 1e-2 and abs(left @ twist) > 1e-6:
            return inside


def jacobian_of(chain, q):
    """Return the Jacobian (6, 6) at a posture, lengths in units of the chain."""
    return chain.linearise(q[None], np.eye(4))[1][0].T


def moved_axis(pose, moved):
    """Return the rotation vector of a small change of a pose."""
    skew = moved[:3, :3] @ pose[:3, :3].T
    return 0.5 * np.array(
        [skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]]
    )


@pytest.mark.slow
@pytest.mark.parametrize('name', ['puma560', 'irb6700', 'ur5e', 'jaco2', 'crx10ial'])
def test_a_fold_at_a_corner_of_the_limits_is_found_within_them_and_counted_once(name):
    # Rounding moves a fold by the square root of its size, most often beyond the limit at which it lies.
    rng = np.random.default_rng(8)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    for _ in range(20):
        q = fold_posture(chain, rng)
        pose = np.ascontiguousarray(chain.poses(q)[0])
        is_lower = rng.random(6) < 0.5
        lower, upper = np.where(is_lower, q, q - 0.5), np.where(is_lower, q + 0.5, q)
        result = arm.branches(pose, BranchRequest(mode=WITHIN_LIMITS, lower=lower, upper=upper))
        assert len(result.q) > 0, q.tolist()
        assert (result.q >= lower).all()
        assert (result.q <= upper).all()
        assert chain.residuals(result.q, pose).max() < RESIDUAL
        every = ask(arm, pose)
        assert (result.branches, result.certified) == (every.branches, every.certified)


@pytest.mark.sampled
@pytest.mark.parametrize('signs', [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize('first', [0, 1, 2, 3])
def test_three_parallel_axes_may_point_either_way_and_stand_anywhere(signs, first):
    rng = np.random.default_rng([first, 10 + signs[0], 10 + signs[1]])
    axes, points = random_lines(rng)
    axes[first + 1], axes[first + 2] = signs[0] * axes[first], signs[1] * axes[first]
    if first == 0:
        points[5] = points[4]
    if first == 3:
        points[1] = points[0]
    chain = LineChain(axes, points, random_pose(rng))
    arm = arm_of(chain)
    assert arm.plan.name.startswith('three_parallel')
    for _ in range(3):
        pose = chain.poses(rng.uniform(-np.pi, np.pi, 6))[0]
        compared = compare(chain, pose, ask(arm, pose).q, rng)
        assert (len(compared.missing), len(compared.extra)) == (0, 0)


def tool_of(roll, pitch, yaw):
    """Return a tool (4, 4) in general orientation."""
    x, y, z = np.eye(3)
    tool = np.eye(4)
    tool[:3, :3] = rotations(z, yaw)[0] @ rotations(y, pitch)[0] @ rotations(x, roll)[0]
    tool[:3, 3] = 0.03, -0.02, 0.11
    return tool


@pytest.mark.parametrize('name', ['jaco2', 'puma560', 'ur5e', 'crx10ial'])
def test_a_tool_turned_by_roll_pitch_and_yaw_does_not_shift_the_solutions(name):
    rng = np.random.default_rng(11)
    chain = catalogue_chain(name).with_tool(tool_of(0.3, -0.4, 0.7))
    arm, plain = arm_of(chain), catalogue_arm(name)
    for _ in range(5):
        q = rng.uniform(-np.pi, np.pi, 6)
        pose = chain.poses(q)[0]
        solutions = ask(arm, pose).q
        assert chain.residuals(solutions, pose).max() < RESIDUAL
        assert np.abs(wrap(solutions - q)).max(axis=1).min() < 1e-7
        # The same tool given with the request, on the arm without it.
        request = BranchRequest(mode=KEEP_ALL, tool=tool_of(0.3, -0.4, 0.7))
        again = plain.branches(np.ascontiguousarray(pose), request).q
        assert len(again) == len(solutions)
        assert np.abs(wrap(again[:, None] - solutions)).max(axis=2).min(axis=0).max() < 1e-7


def test_a_spherical_wrist_on_parallel_base_axes_solves_every_reachable_pose():
    rng = np.random.default_rng(12)
    chain = make_six('spherical_base_parallel', rng)
    arm = arm_of(chain)
    for _ in range(40):
        check_solved(chain, arm, rng.uniform(-np.pi, np.pi, 6))


@pytest.mark.parametrize('name', CLASSES)
def test_folded_and_stretched_postures_of_every_class_are_solved(name):
    rng = np.random.default_rng(13)
    chain = make_six(name, rng)
    arm = arm_of(chain)
    for _ in range(30):
        check_solved(chain, arm, special_posture(rng, 6))
