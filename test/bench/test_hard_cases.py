"""Goals at limits, at singularities and out of reach are of their kind, judged without the code that drew them."""

import numpy as np
import pytest

from bench import hard_cases, hidden_cases
from bench.arms import CHAINS, read_arm
from bench.cases import draw_cases
from bench.peers import load_peers, NotComparable
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.registry import create_solver

COUNT = 60


@pytest.fixture(scope='module', params=CHAINS)
def arm(request):
    return read_arm(request.param)


def test_one_joint_at_least_is_at_its_limit_or_near(arm):
    cases = hard_cases.draw_near_limits(arm, COUNT)
    gaps = np.minimum(cases.q - arm.lower, arm.upper - cases.q)
    assert (gaps >= 0.0).all()
    nearest = gaps.min(axis=1)
    assert (nearest <= 0.01).all() and (nearest == 0.0).any() and (nearest > 0.0).any()
    np.testing.assert_array_equal(cases.targets, arm.fk(cases.q))


def test_jacobians_lose_a_direction_at_singular_goals(arm):
    cases = hard_cases.draw_near_singular(arm, COUNT)
    assert (cases.q >= arm.sampling_bounds()[0]).all() and (cases.q <= arm.upper).all()
    _, jacobian = arm.fk_and_jacobian(cases.q)
    # The weakest direction of motion by the other route: the eigenvalues of J J^T.
    weakest = np.sqrt(np.abs(np.linalg.eigvalsh(jacobian @ np.swapaxes(jacobian, 1, 2))[:, 0]))
    assert (weakest <= 1.01 * hard_cases.SINGULAR).all()
    _, usual = arm.fk_and_jacobian(draw_cases(arm, COUNT).q)
    assert np.median(weakest) < 0.01 * np.median(np.linalg.svd(usual, compute_uv=False)[:, -1])
    np.testing.assert_array_equal(cases.targets, arm.fk(cases.q))


@pytest.mark.sampled
def test_nothing_reaches_further_than_the_reach(arm):
    point = hard_cases.wrist_point(arm)
    q = np.random.default_rng(3).uniform(-np.pi, np.pi, (20_000, len(arm.joints)))
    pose = arm.fk(q)
    centre = arm.joints[0].placement[:3, 3]
    for offset in (np.zeros(3), point):
        far = np.linalg.norm(pose[:, :3, :3] @ offset + pose[:, :3, 3] - centre, axis=1).max()
        assert far <= hard_cases.reach(arm, offset) <= 1.02 * far


def test_the_last_joint_does_not_move_the_wrist(arm):
    q = np.repeat(draw_cases(arm, 5).q, 2, axis=0)
    q[1::2, -1] += 1.0
    pose = arm.fk(q)
    wrist = pose[:, :3, :3] @ hard_cases.wrist_point(arm) + pose[:, :3, 3]
    np.testing.assert_allclose(wrist[::2], wrist[1::2], atol=1e-12)


@pytest.mark.slow
def test_goals_without_a_solution_are_of_both_kinds_and_no_solver_reaches_them(arm):
    cases = hard_cases.draw_unreachable(arm, 20)
    rotation = cases.targets[:, :3, :3]
    np.testing.assert_allclose(
        rotation @ np.swapaxes(rotation, 1, 2), np.tile(np.eye(3), (20, 1, 1)), atol=1e-12
    )
    assert (np.linalg.det(rotation) > 0.0).all() and np.isnan(cases.q).all()
    centre = arm.joints[0].placement[:3, 3]
    distances = np.linalg.norm(cases.targets[:, :3, 3] - centre, axis=1)
    within = distances < hard_cases.reach(arm, np.zeros(3))
    assert within[1::2].all() and not within[::2].any()
    solve = load_peers(['ik_LM'])['ik_LM'].prepare(arm).solve
    assert [solve(T, q) for T, q in zip(cases.targets, cases.seeds, strict=True)] == [None] * 20


@pytest.mark.slow
def test_goals_without_a_solution_are_inside_of_what_tip_and_wrist_reach(arm):
    if arm.name in ('gen3', 'fanuc'):
        with pytest.raises(NotComparable, match='the hull tells nearly all'):
            hidden_cases.draw_unreachable_inside(arm, 10)
        return
    cases = hidden_cases.draw_unreachable_inside(arm, 10)
    assert np.isnan(cases.q).all() and cases.seeds.shape == (10, len(arm.joints))
    distances = np.linalg.norm(cases.targets[:, :3, 3] - arm.joints[0].placement[:3, 3], axis=1)
    assert (distances <= hard_cases.reach(arm, np.zeros(3))).all()
    prepared = load_peers(['ik_LM'])['ik_LM'].prepare(arm)
    assert [prepared.solve(T, q) for T, q in zip(cases.targets, cases.seeds, strict=True)] == [
        None
    ] * 10
    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    # Without their orientation the goals are reached, or no bound on positions refuses them.
    places = create_solver('ssik_ros/LevenbergMarquardt', robot, group, position_only=True)
    wrist = hard_cases.wrist_point(arm)
    farthest = hard_cases.reach(arm, wrist)
    for target in cases.targets:
        assert places.solve(SolveRequest(target, max_searches=1)).searches == 1
        wrist_offset = target[:3, :3] @ wrist + target[:3, 3] - arm.joints[0].placement[:3, 3]
        assert np.linalg.norm(wrist_offset) <= farthest
