"""Arms with slides through ``Manipulator``: SCARA, Stanford arm, and an arm of six joints on a rail."""

import numpy as np
import pytest

from ssik_ros import create_solver, Manipulator
from ssik_ros.errors import TopologyMismatch
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause

RAIL = """<link name="rail_base"/>
<joint name="rail" type="prismatic"><parent link="rail_base"/><child link="base_link"/>
  <origin xyz="0.2 0 0.5" rpy="0.1 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="9" effort="1" velocity="1"/></joint>
<link name="base_link" />"""
ON_RAIL = np.array([8.3, 0.3, -1.2, 1.4, -0.8, 1.1, 0.5])


@pytest.fixture(scope='module')
def on_rail():
    """Return an arm whose base slides along ten metres."""
    text = make_urdf(arm_data('ur5e')).replace('<link name="base_link" />', RAIL)
    robot = load_robot(text)
    return Manipulator(robot, robot.group_from_links('rail_base', 'tool0'))


@pytest.fixture(scope='module', params=['hsr065', 'stanford'])
def sliding(request):
    """Return an arm of the catalogue with a slide."""
    return Manipulator.from_prebuilt(request.param)


def postures(arm, count, seed=3):
    """Return random postures (count, n) within the limits."""
    lower, upper = np.array(arm.joint_limits).T
    return np.random.default_rng(seed).uniform(lower, upper, (count, arm.dof))


def worst_residual(arm, target, rows):
    return max(np.linalg.norm(arm.fk(row) - target) for row in rows)


def test_every_branch_is_within_limits_and_reaches_the_pose(sliding):
    lower, upper = np.array(sliding.joint_limits).T
    for q in postures(sliding, 20):
        target = sliding.fk(q)
        rows = sliding.solve_q(target, q)
        assert np.abs(rows - q).max(axis=1).min() < 1e-6
        assert ((rows >= lower) & (rows <= upper)).all()
        assert worst_residual(sliding, target, rows) < 1e-9


def test_the_branch_nearest_to_the_seed_is_first(sliding):
    for q in postures(sliding, 10):
        solutions = sliding.solve(sliding.fk(q), q_seed=q + 1e-3)
        assert np.abs(solutions[0].q - q).max() < 1e-6


def test_a_slide_is_held_and_kept_near_a_seed_without_turns(sliding):
    slide = sliding.joint_names.index('joint_3')
    for q in postures(sliding, 5):
        target = sliding.fk(q)
        rows = sliding.solve_q(target, hold={'joint_3': q[slide]})
        assert len(rows) and (rows[:, slide] == q[slide]).all()
        # A whole turn, in metres, is somewhere else.
        with_turn = {'hold': {'joint_3': q[slide] + 2.0 * np.pi}, 'respect_limits': False}
        assert not len(sliding.solve_q(target, **with_turn))
        seed = q.copy()
        seed[slide] += 2.0 * np.pi
        near = {'q_seed': seed, 'seed_tolerance': 0.5, 'respect_limits': False}
        assert not len(sliding.solve_q(target, **near))


def test_the_solver_of_the_registry_solves_slides(sliding, on_rail):
    for arm in (sliding, on_rail):
        solver = create_solver('ssik_ros/Analytic', arm.robot, arm.group)
        lower, upper = np.array(arm.joint_limits).T
        for q in postures(arm, 10):
            target = arm.fk(q)
            result = solver.solve(SolveRequest(targets=target, seed=q))
            assert np.abs(result.solutions[0] - q).max() < 1e-6
            room = np.full(arm.dof, 0.1)
            near = SolveRequest(targets=target, seed=q, consistency_limits=room)
            assert np.abs(solver.solve(near).solutions[0] - q).max() < 1e-6
            slide = arm.joint_names[0] if arm is on_rail else 'joint_3'
            locked = {arm.joint_names[-1]: q[-1], slide: q[arm.joint_names.index(slide)]}
            kept = solver.solve(SolveRequest(targets=target, locked=locked)).solutions
            assert len(kept)
            assert ((kept >= lower) & (kept <= upper)).all()
            for name, value in locked.items():
                assert np.abs(kept[:, arm.joint_names.index(name)] - value).max() < 1e-9
            far = target.copy()
            far[:3, 3] += 50.0
            # A boom as long as one likes would do for the Stanford arm.
            cause = Cause.LIMITS if arm.dof == 6 else Cause.UNREACHABLE
            assert solver.solve(SolveRequest(targets=far)).cause == cause


def test_slides_have_no_windings():
    arm = Manipulator.from_prebuilt('hsr065')
    q = np.array([0.3, 0.8, 0.1, 0.4])
    rows = np.array([s.q for s in arm.solve(arm.fk(q), enumerate_windings=True)])
    plain = arm.solve_q(arm.fk(q))
    # Joint 4 turns twice, the slide stays.
    assert len(rows) == 2 * len(plain)
    assert np.abs(rows[:, 2] - 0.1).max() < 1e-9


def test_limits_of_a_slide_are_the_cause_when_they_are():
    arm = Manipulator.from_prebuilt('hsr065')
    target = arm.fk([0.3, 0.8, 0.1, 0.4])
    target[2, 3] += 1.0
    solutions, diagnostic = arm.solve(target, explain=True)
    assert (solutions, diagnostic.cause) == ([], Cause.LIMITS)
    target[0, 3] += 5.0
    solutions, diagnostic = arm.solve(target, explain=True)
    assert (solutions, diagnostic.cause) == ([], Cause.UNREACHABLE)


def test_a_batch_gives_the_results_of_single_calls(sliding):
    rows = postures(sliding, 20)
    targets = np.array([sliding.fk(q) for q in rows])
    batch = sliding.solve_batch(targets, rows, threads=2)
    for i, target in enumerate(targets):
        assert batch[i].tobytes() == sliding.solve_q(target, rows[i]).tobytes()


def test_an_arm_on_a_rail_says_that_the_rail_is_held(on_rail):
    plan = on_rail.dispatch_plan
    assert (plan.solver_name, plan.tier, plan.held_joint) == ('jointlock.seven_r', 1, 'rail')
    assert 'three_parallel' in plan.reason or 'axes 2, 3 and 4 are parallel' in plan.reason


@pytest.mark.parametrize('name', ['puma560', 'ur10e'])
def test_a_rail_does_not_make_a_class_of_seven_turning_joints(name):
    data = arm_data(name)
    base = f'<link name="{data.base_link}" />'
    rail = RAIL.replace('<link name="base_link" />', base)
    rail = rail.replace('link="base_link"', f'link="{data.base_link}"')
    robot = load_robot(make_urdf(data).replace(base, rail))
    arm = Manipulator(robot, robot.group_from_links('rail_base', data.tip_link))
    plan = arm.dispatch_plan
    assert (plan.solver_name, plan.tier, plan.held_joint) == ('jointlock.seven_r', 1, 'rail')
    for q in postures(arm, 5):
        target = arm.fk(q)
        rows = arm.solve_q(target, q)
        assert np.abs(rows[0] - q).max() < 1e-6
        assert worst_residual(arm, target, rows) < 1e-9


def test_an_arm_on_a_rail_has_the_branches_of_the_arm_at_each_place(on_rail):
    parked = Manipulator.from_prebuilt('ur5e')
    target = on_rail.fk(ON_RAIL)
    rows = on_rail.solve_q(target, np.zeros(7), hold={'rail': 8.3})
    base = on_rail.fk(ON_RAIL) @ np.linalg.inv(parked.fk(ON_RAIL[1:]))
    expected = parked.solve_q(np.linalg.inv(base) @ target, np.zeros(6))
    assert len(rows) == len(expected) > 0
    assert (rows[:, 0] == 8.3).all()
    gaps = np.abs(rows[:, None, 1:] - expected[None]).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-6
    assert worst_residual(on_rail, target, rows) < 1e-9
    assert not len(on_rail.solve_q(target, hold={'rail': 1.0}))
    assert not len(on_rail.solve_q(target, hold={'rail': 9.5}))
    both = on_rail.solve_q(target, hold={'wrist_3_joint': 0.5, 'rail': 8.3})
    assert 0 < len(both) < len(rows)
    assert (both[:, [0, 6]] == (8.3, 0.5)).all()


def test_an_arm_on_a_rail_is_sampled_along_all_of_it(on_rail):
    lower, upper = np.array(on_rail.joint_limits).T
    for q in postures(on_rail, 10):
        target = on_rail.fk(q)
        rows = on_rail.solve_q(target, q)
        assert np.abs(rows[0] - q).max() < 1e-6
        assert ((rows >= lower) & (rows <= upper)).all()
        assert worst_residual(on_rail, target, rows) < 1e-9
    # Far beyond a turn: samples go along the metres of the rail.
    target = on_rail.fk(ON_RAIL)
    places = on_rail.solve_q(target, redundancy_samples=64)[:, 0]
    assert len(set(places.tolist())) > 4
    assert (np.abs(places - 8.3) < 2.0).all()


def test_a_slide_where_no_closed_form_allows_one_is_named(on_rail):
    with pytest.raises(TopologyMismatch, match='rail'):
        on_rail.solve(on_rail.fk(ON_RAIL), hold={'wrist_3_joint': 0.5})


def rail_of(lower, upper):
    """Return an arm on a rail with other limits."""
    rail = RAIL.replace('lower="-1" upper="9"', f'lower="{lower}" upper="{upper}"')
    text = make_urdf(arm_data('ur5e')).replace('<link name="base_link" />', rail)
    robot = load_robot(text)
    return Manipulator(robot, robot.group_from_links('rail_base', 'tool0'))


@pytest.mark.parametrize('limit', [1.0, 100.0, np.inf])
def test_a_rail_of_any_length_is_sampled_where_the_arm_reaches_to_the_pose(limit):
    arm = rail_of(-limit, limit)
    position = min(0.9 * limit, 80.0)
    for q in postures(Manipulator.from_prebuilt('ur5e'), 10):
        target = arm.fk([position, *q])
        rows = arm.solve_q(target)
        assert len(set(rows[:, 0].tolist())) >= 3
        assert np.abs(rows[:, 0] - position).max() < 3.0
        assert np.abs(rows[:, 0]).max() <= limit
        assert worst_residual(arm, target, rows) < 1e-9
        batch = arm.solve_batch(np.array([target]))
        assert batch[0].tobytes() == rows.tobytes()


def test_beyond_the_end_of_a_rail_its_limits_are_the_cause():
    arm, longer = rail_of(-1, 1), rail_of(-9, 9)
    target = longer.fk([8.3, *ON_RAIL[1:]])
    assert arm.solve(target, explain=True)[1].cause == Cause.LIMITS
    target[2, 3] += 5.0
    assert arm.solve(target, explain=True)[1].cause == Cause.UNREACHABLE
