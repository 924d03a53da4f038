"""Cells decided: against a judge that shares nothing with the closed forms."""

from test import complete_oracle
from test.reach.reach_maps import chain_of, random_poses

import numpy as np
import pytest

from ssik_ros.errors import DimensionMismatch, InvalidTarget
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.reach.cells import is_proved, ReachArm, ReachSettings
from ssik_ros.reach.measures import limit_margin, manipulability
from ssik_ros.reach.statuses import CellStatus


def judge(chain, pose, q):
    """Return the postures (k, n) of a pose within limits that Newton finds from starts q (s, n)."""
    lines = complete_oracle.LineChain(chain.axes, chain.points, chain.home)
    lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
    for step in range(40):
        error, columns = lines.linearise(q, pose)
        damping = 1e-3 if step < 25 else 1e-12
        square = columns @ np.swapaxes(columns, 1, 2)
        size = square.shape[1]
        right = (columns @ error[:, :, None])[:, :, 0]
        move = np.linalg.solve(square + damping * np.eye(size), right[:, :, None])[:, :, 0]
        longest = np.abs(move).max(axis=1, keepdims=True)
        q = q + move * np.minimum(1.0, 0.6 / np.maximum(longest, 1e-12))
        if step < 30:
            q = np.clip(q, lower - 0.3, upper + 0.3)
    turned = q + 2.0 * np.pi * np.ceil((lower - q) / (2.0 * np.pi) - 1e-12)
    inside = ((turned >= lower - 1e-9) & (turned <= upper + 1e-9)).all(axis=1)
    return turned[inside & (lines.residuals(q, pose) < 1e-7)]


def starts_of(chain, count, seed):
    """Return random postures (count, n) within limits."""
    lower = np.where(np.isfinite(chain.lower), chain.lower, -np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


@pytest.mark.parametrize('name', ['ur5e', 'irb6700', 'panda', 'iiwa7'])
def test_the_judge_agrees_on_random_poses(name):
    compare_with_the_judge(name, 16)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_the_judge_agrees_on_more_poses(name):
    compare_with_the_judge(name, 200)


def compare_with_the_judge(name, count):
    """Decide random poses, and compare each with the results of Newton."""
    chain = chain_of(name)
    reach = 2.5 if name == 'irb6700' else 0.9
    poses = random_poses(count, seed=3, reach=reach)
    decided = ReachArm(chain, ReachSettings()).decide(poses)
    assert {CellStatus.REACHABLE, CellStatus.OUT_OF_REACH} <= set(decided.status.tolist())
    for pose, status in zip(poses, decided.status, strict=True):
        postures = judge(chain, pose, starts_of(chain, 60, 5))
        if status == CellStatus.OUT_OF_REACH:
            assert not len(postures)
        elif not len(postures) and status == CellStatus.REACHABLE:
            # A judge that starts sixty times may miss; one that starts more often must not.
            assert len(judge(chain, pose, starts_of(chain, 4000, 6)))


@pytest.mark.parametrize('name', ['ur5e', 'irb6700', 'panda', 'iiwa7', 'gen3'])
def test_no_pose_of_a_posture_is_called_out_of_reach(name):
    chain = chain_of(name)
    lines = complete_oracle.LineChain(chain.axes, chain.points, chain.home)
    poses = lines.poses(starts_of(chain, 1500, 1))
    decided = ReachArm(chain, ReachSettings()).decide(poses)
    assert (decided.status != CellStatus.OUT_OF_REACH).all()
    assert (decided.status == CellStatus.UNKNOWN).mean() <= 1e-3


def test_an_arm_without_a_closed_form_never_guesses():
    from dataclasses import replace

    chain = chain_of('ur5e')
    rng = np.random.default_rng(0)
    eight = replace(
        chain,
        joint_names=(*chain.joint_names, 'a', 'b'),
        kinds=np.append(chain.kinds, [JointKind.REVOLUTE] * 2),
        axes=np.vstack([chain.axes, np.eye(3)[:2]]),
        points=np.vstack([chain.points, rng.uniform(-0.3, 0.3, (2, 3))]),
        lower=np.append(chain.lower, [-1.0, -1.0]),
        upper=np.append(chain.upper, [1.0, 1.0]),
        joint_indices=np.arange(8),
        idx_q=np.arange(8),
    )
    arm = ReachArm(eight, ReachSettings())
    assert 'search' in arm.method
    lines = complete_oracle.LineChain(eight.axes, eight.points, eight.home)
    decided = arm.decide(lines.poses(starts_of(eight, 30, 2)))
    assert (decided.status == CellStatus.REACHABLE).all()
    far = random_poses(5)
    far[:, :3, 3] += 30.0
    assert (arm.decide(far).status == CellStatus.OUT_OF_REACH).all()
    far[1, 0, 0] += 0.5
    with pytest.raises(InvalidTarget, match='Pose 1 is no rigid transform'):
        arm.decide(far)


def test_poses_as_quaternions_are_the_same_poses():
    from ssik_ros.reach.orientations import quaternions_of

    arm, poses = ReachArm(chain_of('ur5e'), ReachSettings()), random_poses(50)
    rows = np.hstack([poses[:, :3, 3], quaternions_of(poses[:, :3, :3])])
    assert (arm.decide(rows).status == arm.decide(poses).status).all()
    with pytest.raises(DimensionMismatch):
        arm.decide(np.zeros((3, 5)))
    poses[7, 0, 0] += 0.5
    with pytest.raises(InvalidTarget, match='Pose 7 is no rigid transform'):
        arm.decide(poses)


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_measures_are_those_of_finite_differences(name):
    chain = chain_of(name)
    lines = complete_oracle.LineChain(chain.axes, chain.points, chain.home)
    q, step = starts_of(chain, 20, 4), 1e-6
    jacobian = np.empty((20, 6, q.shape[1]))
    here = lines.poses(q)
    for joint in range(q.shape[1]):
        moved = q.copy()
        moved[:, joint] += step
        change = (lines.poses(moved) - here) / step
        turn = change[:, :3, :3] @ np.swapaxes(here[:, :3, :3], 1, 2)
        jacobian[:, :3, joint] = change[:, :3, 3]
        jacobian[:, 3:, joint] = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    volume = np.prod(np.linalg.svd(jacobian, compute_uv=False), axis=1)
    assert np.allclose(manipulability(chain, q), volume, rtol=1e-3, atol=1e-6)
    margin = np.minimum(q - chain.lower, chain.upper - q).min(axis=1)
    assert np.array_equal(limit_margin(chain, q), margin)


def test_the_best_of_all_branches_is_kept():
    chain, poses = chain_of('ur5e'), random_poses(200)
    decided = ReachArm(chain, ReachSettings(measures=True)).decide(poses)
    reachable = decided.status == CellStatus.REACHABLE
    assert np.isfinite(decided.manipulability[reachable]).all()
    assert np.isnan(decided.limit_margin[~reachable]).all()
    from ssik_ros.solvers.closed_form.arm import AnalyticArm

    arm = AnalyticArm(chain)
    for pose in np.flatnonzero(reachable)[:20]:
        q = arm.branches(poses[pose]).q
        assert decided.branches[pose] == len(q)
        assert decided.manipulability[pose] == pytest.approx(
            manipulability(chain, q).max(), rel=1e-6
        )
        assert decided.limit_margin[pose] == pytest.approx(limit_margin(chain, q).max(), rel=1e-6)


def test_what_is_a_fact():
    kinds = np.arange(len(CellStatus), dtype=np.uint8)
    assert is_proved(kinds).tolist() == [False, True, True, False, True]
