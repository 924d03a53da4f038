"""Stacks of poses: paths without undetected jumps, bounded steps, and batches that no thread count changes."""

from test.search.newton_arms import draw, load, within

import numpy as np
import pytest

from ssik_ros.errors import DimensionMismatch, InvalidOption, RequestError
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.results import Cause

EXACT = {'pos_tol': 1e-6, 'rot_tol': 1e-6}


def steps_of(arm, q):
    """Return the longest motion of a joint between neighbours (N - 1,), endless joints modulo a turn."""
    change = np.diff(q, axis=0)
    turns = 2.0 * np.pi * np.round(change / (2.0 * np.pi))
    return np.abs(change - np.where(np.isinf(arm.group.lower), turns, 0.0)).max(axis=1)


def line(oracle, start, shift, count):
    """Return poses along a straight line from the pose at a configuration, orientation kept."""
    poses = np.repeat(oracle.pose(start)[None], count, axis=0)
    poses[:, :3, 3] += np.linspace(0.0, 1.0, count)[:, None] * shift
    return poses


def joint_path(oracle, start, end, count):
    """Return the poses of a straight line between two configurations."""
    return np.array([oracle.pose(start + t * (end - start)) for t in np.linspace(0.0, 1.0, count)])


def test_a_path_unpacks_to_arrays_of_one_row_for_each_pose():
    arm, oracle = load('panda')
    q = draw(arm, 2, 40)
    poses = joint_path(oracle, q[0], q[0] + 0.1 * (q[1] - q[0]), 20)
    path = arm.ik_LM(poses, q[0], **EXACT)
    joints, success, iterations, searches, residual = path
    assert joints.shape == (20, 7)
    assert success.shape == iterations.shape == searches.shape == residual.shape == (20,)
    assert success.all()
    assert path.causes == (Cause.NONE,) * 20
    for row, pose in zip(joints, poses, strict=True):
        assert max(oracle.errors(row, pose)) < 1.001e-6
        assert within(arm, row)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'fanuc', 'jaco2'])
def test_a_path_within_reach_is_followed_in_small_steps(name):
    arm, oracle = load(name)
    for a, b in zip(draw(arm, 5, 41), draw(arm, 5, 42), strict=True):
        end = a + 0.3 * (b - a)
        path = arm.ik_LM(joint_path(oracle, a, end, 60), a, **EXACT)
        steps = steps_of(arm, path.q)
        np.testing.assert_allclose(path.steps[1:], steps, atol=1e-12)
        assert path.success.all()
        # Every jump is reported in the result.
        assert set(path.jumps) == set(np.flatnonzero(steps > 0.5) + 1)


def through_the_wrist(arm, oracle):
    """Return a start on the UR5e and a line that takes its wrist through the singularity at joint 5 = 0."""
    q = np.array([0.3, -1.2, 1.4, -0.6, -0.35, 0.2])
    end = q.copy()
    end[4] = 0.35
    first, last = oracle.pose(q), oracle.pose(end)
    poses = np.repeat(first[None], 121, axis=0)
    for i, t in enumerate(np.linspace(0.0, 1.0, 121)):
        # The pose whose wrist angle passes zero: translation along a line, rotation along the joint's.
        poses[i] = oracle.pose(q + t * (end - q))
        poses[i, :3, 3] = (1.0 - t) * first[:3, 3] + t * last[:3, 3]
    return q, poses


def test_a_line_through_a_wrist_singularity_has_bounded_steps_and_reports_what_it_misses():
    arm, oracle = load('ur5e')
    q0, poses = through_the_wrist(arm, oracle)
    path = arm.ik_LM(poses, q0, max_joint_step=0.1, **EXACT)
    assert (steps_of(arm, path.q) <= 0.1 + 1e-9).all()
    assert len(path.jumps) == 0
    for row, pose, success, position, rotation in zip(
        path.q, poses, path.success, path.position_errors, path.rotation_errors, strict=True
    ):
        measured = oracle.errors(row, pose)
        assert (position, rotation) == pytest.approx(measured, abs=1e-9)
        assert bool(success) == (max(measured) <= 1e-6 + 1e-9)
        assert within(arm, row)


def test_the_same_line_without_a_bound_reaches_every_pose_and_names_every_jump():
    arm, oracle = load('ur5e')
    q0, poses = through_the_wrist(arm, oracle)
    path = arm.ik_LM(poses, q0, **EXACT)
    assert path.success.all()
    assert set(path.jumps) == set(np.flatnonzero(steps_of(arm, path.q) > 0.5) + 1)


@pytest.mark.parametrize('call', ['ik_NR', 'ik_GN', 'ik_LM'])
def test_an_endless_joint_goes_on_over_pi_without_a_jump(call):
    arm, oracle = load('gen3')
    start = np.array([3.0, 0.4, 0.2, 1.2, -0.3, 0.9, 3.0])
    end = start.copy()
    end[0] += 0.6
    end[6] += 0.6
    path = getattr(arm, call)(joint_path(oracle, start, end, 100), start, **EXACT)
    assert path.success.all()
    assert len(path.jumps) == 0
    # Without a wrap anywhere: the plain differences are small.
    assert np.abs(np.diff(path.q, axis=0)).max() < 0.1
    assert path.q[-1, 0] > np.pi or path.q[-1, 6] > np.pi


def test_a_bound_that_the_path_exceeds_is_kept_and_the_lag_reported():
    arm, oracle = load('panda')
    q = draw(arm, 2, 43)
    poses = joint_path(oracle, q[0], q[0] + 0.4 * (q[1] - q[0]), 10)
    path = arm.ik_LM(poses, q[0], max_joint_step=0.02, **EXACT)
    assert (steps_of(arm, path.q) <= 0.02 + 1e-9).all()
    assert not path.success[1:].all()
    # The arm goes on as far as it may: the whole bound in every step.
    assert (steps_of(arm, path.q) > 0.0199).all()
    measured = np.array([oracle.errors(*pair) for pair in zip(path.q, poses, strict=True)])
    np.testing.assert_allclose(path.position_errors, measured[:, 0], atol=1e-9)
    np.testing.assert_allclose(path.rotation_errors, measured[:, 1], atol=1e-9)


def test_a_jump_of_the_poses_is_a_jump_that_is_named():
    arm, oracle = load('fanuc')
    a, b = draw(arm, 2, 44)
    poses = np.array([oracle.pose(a)] * 3 + [oracle.pose(b)] * 3)
    path = arm.ik_LM(poses, a, **EXACT)
    assert path.success.all()
    assert list(path.jumps) == [3]


def test_a_pose_that_is_none_does_not_end_a_path():
    arm, oracle = load('panda')
    q = draw(arm, 1, 45)[0]
    poses = np.array([oracle.pose(q)] * 5)
    poses[2, 0, 0] = np.nan
    for options in ({}, {'independent': True}, {'max_joint_step': 0.1}):
        path = arm.ik_LM(poses, q, **options)
        assert list(path.success) == [1, 1, 0, 1, 1]
        assert path.causes[2] == Cause.BAD_TARGET
        assert np.isnan(path.q[2]).all()
        assert 2 in path.jumps


@pytest.mark.parametrize('call', ['ik_NR', 'ik_GN', 'ik_LM'])
def test_a_batch_has_the_bytes_of_single_calls_whatever_the_number_of_threads(call):
    arm, oracle = load('panda')
    targets = np.array([oracle.pose(q) for q in draw(arm, 400, 46)])
    targets[7, :3, 3] += 10.0
    seeds = draw(arm, 400, 47)
    solve = getattr(arm, call)
    for q0 in (None, seeds[0], seeds):
        one, two, five = (
            solve(targets, q0, independent=True, threads=k, seed=3) for k in (1, 2, 5)
        )
        for other in (two, five):
            assert all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))
        assert one.success.sum() == 399
        for i in (0, 7, 100, 399):
            start = q0 if q0 is None or q0.ndim == 1 else q0[i]
            alone = solve(targets[i], start, seed=3)
            assert alone.q.tobytes() == one.q[i].tobytes()
            assert tuple(alone[1:]) == tuple(column[i] for column in one[1:])


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_starts():
    arm, oracle = load('xarm6')
    targets = [oracle.pose(q) for q in draw(arm, 50, 48)]
    first = [arm.ik_LM(target, seed=1).q.tobytes() for target in targets]
    fresh = Manipulator.from_prebuilt('xarm6')
    assert [fresh.ik_LM(target, seed=1).q.tobytes() for target in targets] == first
    assert [arm.ik_LM(target, seed=2).q.tobytes() for target in targets] != first


def test_wrong_stacks_are_errors():
    arm, oracle = load('panda')
    poses = np.array([oracle.pose(q) for q in draw(arm, 3, 49)])
    with pytest.raises(DimensionMismatch):
        arm.ik_LM(poses, np.zeros((2, 7)), independent=True)
    with pytest.raises(RequestError):
        arm.ik_LM(poses, np.full(7, np.nan))
    for options in (
        {'independent': True, 'max_joint_step': 0.1},
        {'independent': True, 'threads': 0},
        {'max_joint_step': 0.0},
        {'timeout': 1.0},
    ):
        with pytest.raises(InvalidOption):
            arm.ik_LM(poses, **options)
    with pytest.raises(InvalidOption):
        arm.ik_LM(poses, draw(arm, 3, 50))
    assert arm.ik_LM(np.empty((0, 4, 4))).q.shape == (0, 7)
