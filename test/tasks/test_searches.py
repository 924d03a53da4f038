"""Configurations, alternates and paths: verified, in order, reproducible, and without a trace in the environment."""

import itertools
import threading

from test.tasks.made_worlds import put_goal, serial_arm

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from ssik_ros.errors import InvalidOption, SsikError
from ssik_ros.tasks import Constraint, Environment

TURN = 2.0 * np.pi


@pytest.fixture
def arm():
    env = serial_arm(6, seed=3)
    env.q = np.linspace(0.3, 0.9, 6)
    put_goal(env, np.linspace(0.9, -0.4, 6))
    return env


def state(env):
    """Return everything that a search must not change."""
    return env.save(), env.poses.tobytes(), env.values.tobytes(), env.version


def reached(env, row, joints=None):
    """Return position and rotation error of ``tip`` at a configuration, by plain numpy."""
    twin = env.copy()
    for joint, value in zip(joints or twin.joints, row, strict=True):
        twin.values[twin[joint.name].place_in_values] = value
    tip, goal = twin['tip'].matrix(), twin['goal'].matrix()
    turn = Rotation.from_matrix(tip[:3, :3].T @ goal[:3, :3]).magnitude()
    return np.linalg.norm(tip[:3, 3] - goal[:3, 3]), turn


def test_configurations_are_verified_sorted_and_different(arm):
    before = state(arm)
    configs = arm.task_set('arm').find_configs(find_multiple=True, max_samples=200, find_alt=False)
    assert len(configs) >= 4
    for row in configs:
        position, turn = reached(arm, row)
        assert position < 1e-9 and turn < 1e-9
        assert (np.abs(row) <= 2.8).all()
    distances = np.linalg.norm(configs - arm.q, axis=1)
    assert (np.diff(distances) >= 0.0).all()
    for a, b in itertools.combinations(configs, 2):
        assert np.abs(a - b).max() > 1e-4
    assert state(arm) == before


def test_results_depend_on_the_seed_and_on_nothing_else(arm):
    options = {'find_multiple': True, 'max_samples': 60}
    first = arm.task_set('arm').find_configs(**options)
    assert first.tobytes() == arm.task_set('arm').find_configs(**options).tobytes()
    assert first.tobytes() == arm.copy().task_set('arm').find_configs(**options).tobytes()
    assert first.tobytes() == arm.task_set('arm').find_configs(workers=2, **options).tobytes()
    one = arm.task_set('arm').find_configs(max_samples=60, workers=2)
    assert one.tobytes() == arm.task_set('arm').find_configs(max_samples=60).tobytes()
    seeded = arm.task_set('arm').find_configs(seed=4, **options)
    assert seeded.tobytes() == arm.task_set('arm').find_configs(seed=4, **options).tobytes()
    few = {'find_multiple': True, 'max_samples': 5}
    assert (
        len({arm.task_set('arm').find_configs(seed=s, **few).round(6).tobytes() for s in range(6)})
        > 1
    )


def test_joints_that_a_function_moves_are_searched_by_one_thread(arm):
    """The function moves the world that it belongs to; two threads would move the same one."""
    threads = set()

    def half(value):
        threads.add(threading.get_ident())
        return 0.5 * value

    arm.joints[5].depend_on(arm.joints[1], function=half)
    options = {'find_multiple': True, 'max_samples': 60}
    first = arm.task_set('arm').find_configs(**options)
    threads.clear()
    assert arm.task_set('arm').find_configs(workers=3, **options).tobytes() == first.tobytes()
    assert threads == {threading.get_ident()}


def test_the_current_configuration_is_the_first_start(arm):
    put_goal(arm, arm.q)
    configs = arm.task_set('arm').find_configs(max_samples=1)
    np.testing.assert_allclose(configs, [arm.q], atol=1e-9)


def test_validation_metrics_known_configurations_and_bounds(arm):
    assert len(arm.task_set('arm').find_configs(max_samples=50, validate=lambda row: False)) == 0
    every = arm.task_set('arm').find_configs(find_multiple=True, max_samples=200, find_alt=False)
    kept = arm.task_set('arm').find_configs(
        find_multiple=True, max_samples=200, validate=lambda row: row[0] > 0
    )
    assert len(kept) == (every[:, 0] > 0).sum()
    merged = arm.task_set('arm').find_configs(
        max_samples=0, configs=[every[1], every[0], every[1]]
    )
    np.testing.assert_array_equal(merged, every[:2])
    weights = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    last = arm.task_set('arm').find_configs(find_multiple=True, max_samples=200, c_metric=weights)
    assert (np.diff(np.abs(last[:, 5] - arm.q[5])) >= 0.0).all()
    assert (
        len(arm.task_set('arm').find_configs(find_multiple=True, max_samples=200, max_configs=2))
        == 2
    )
    assert len(arm.task_set('arm').find_configs(max_samples=40, max_dist=1e-6)) == 0
    with pytest.raises(SsikError, match='max_dist'):
        arm.task_set('arm').find_configs(max_dst=1.0)


@pytest.mark.parametrize('name', ['find_multiple', 'find_alt'])
def test_switches_of_a_search_have_a_truth_value(arm, name):
    with pytest.raises(InvalidOption, match=name):
        arm.task_set('arm').find_configs(**{name: np.zeros(2)})


@pytest.mark.parametrize(
    ('name', 'value'),
    [('tolerance', -1.0), ('tolerance', 'small'), ('validate', 3), ('partial', np.zeros(2))],
)
def test_wrong_options_of_a_path_are_refused(arm, name, value):
    with pytest.raises(InvalidOption, match=name):
        arm.task_set('arm').generate_path(None, 'tip', 3, **{name: value})


def test_only_the_selected_rows_count_for_the_distance(arm):
    arm.q = np.linspace(0.9, -0.4, 6)
    goal = arm['goal'].matrix()
    goal[:3, :3] = Rotation.from_euler('x', 3.0).as_matrix() @ goal[:3, :3]
    arm['goal'].set_pose(goal)
    task = arm.task_set('arm').tasks[0]
    task.constraints = Constraint.POSITION
    assert len(arm.task_set('arm').find_configs(max_samples=1, max_dist=0.05)) == 1
    task.constraints = Constraint.POSE
    assert len(arm.task_set('arm').find_configs(max_samples=1, max_dist=0.05)) == 0
    goal = arm['tip'].matrix()
    # Not there yet: a start that is within precision is not left out, however far it is.
    goal[:2, 3] += (0.01, 0.1)
    arm['goal'].set_pose(goal)
    task.constraints = Constraint.X
    assert len(arm.task_set('arm').find_configs(max_samples=1, max_dist=0.05)) == 1
    task.constraints = Constraint.X | Constraint.Y
    assert len(arm.task_set('arm').find_configs(max_samples=1, max_dist=0.05)) == 0


def test_only_some_joints_may_be_asked_for(arm):
    configs = arm.task_set('arm').find_configs(['j4', 'j1'], max_samples=100)
    whole = arm.task_set('arm').find_configs(max_samples=100)
    np.testing.assert_array_equal(configs[0], whole[0][[4, 1]])


@pytest.mark.parametrize('error', [RuntimeError, KeyboardInterrupt])
def test_an_error_in_a_callback_leaves_no_trace(arm, error):
    before = state(arm)

    def fail(row):
        raise error('no')

    with pytest.raises(error):
        arm.task_set('arm').find_configs(max_samples=100, validate=fail)
    put_goal_back = arm['goal'].pose()
    with pytest.raises(error):
        arm.task_set('arm').generate_path(None, 'tip', 5, validate=fail)
    assert state(arm) == before
    np.testing.assert_array_equal(arm['goal'].pose(), put_goal_back)


def turns_of(*intervals):
    """Return an environment with revolute joints of given limits."""
    env = Environment()
    for index, limits in enumerate(intervals):
        env.add_joint('revolute', f'j{index}', limits=limits, position=0.5)
    return env


def test_alternates_are_all_whole_turns_in_order():
    env = turns_of((-TURN, 2 * TURN), (-1.0, 1.0), (-4.0, 7.0))
    configs = env.alternate_configs(env.joints)
    first, last = [0.5 - TURN, 0.5, 0.5 + TURN], [0.5, 0.5 + TURN]
    expected = [(a, 0.5, b) for a in first for b in last]
    np.testing.assert_allclose(configs, expected, atol=1e-12)
    assert any(np.array_equal(row, env.q) for row in configs)
    assert len(env.alternate_configs(env.joints, max_configs=4)) == 4


@pytest.mark.parametrize(
    ('low', 'width', 'expected'),
    [
        (0.0, 0.0, [0.5 - TURN, 0.5, 0.5 + TURN]),
        (0.0, 1.0, [0.5]),
        (-6.0, 7.0, [0.5 - TURN, 0.5]),
        (1.0, 1.0, []),
        (5.0, 100.0, [0.5 + TURN]),
        (0.0, -1.0, [0.5]),
        (0.0, -2.0 * TURN - 1e-6, [0.5 - TURN, 0.5, 0.5 + TURN]),
        (0.0, -2.0 * TURN + 1e-6, [0.5]),
    ],
)
def test_intervals_restrict_alternates(low, width, expected):
    env = turns_of((-6.0, 7.0))
    configs = env.alternate_configs(['j0'], [low], [width])
    np.testing.assert_allclose(configs.ravel(), expected, atol=1e-12)


def test_joints_whose_turns_move_something_have_no_alternates():
    env = turns_of((-10.0, 10.0), (-10.0, 10.0), (-10.0, 10.0))
    env['j0'].screw_lead = 0.1
    env['j1'].cyclic = True
    rack = env.add_joint('prismatic', 'rack')
    rack.depend_on('j2', 0.01)
    assert len(env.alternate_configs(env.joints)) == 1
    rack.depend_on(None)
    assert len(env.alternate_configs(env.joints)) == 3


def test_searches_add_alternates_that_are_valid():
    env = serial_arm(6, seed=3, limits=(-7.0, 6.5))
    env.q = np.linspace(0.3, 0.9, 6)
    put_goal(env, env.q)
    configs = env.task_set('arm').find_configs(max_samples=1)
    assert len(configs) == 64
    assert (
        len(env.task_set('arm').find_configs(max_samples=1, validate=lambda row: row[0] > 0)) == 32
    )


def straight(env, path, start, end):
    """Return how far the tip is from the straight way at every point."""
    turn = Slerp([0.0, 1.0], Rotation.from_matrix([start[:3, :3], end[:3, :3]]))
    twin, worst = env.copy(), 0.0
    for index, row in enumerate(path):
        share = index / (len(path) - 1)
        twin.values[:] = row
        tip = twin['tip'].matrix()
        place = (1.0 - share) * start[:3, 3] + share * end[:3, 3]
        angle = (Rotation.from_matrix(tip[:3, :3]).inv() * turn(share)).magnitude()
        worst = max(worst, np.linalg.norm(tip[:3, 3] - place), angle)
    return worst


def test_paths_are_straight_at_every_point_and_seen_by_the_callback(arm):
    arm.task_set('arm').max_iterations = 1
    put_goal(arm, arm.q + 0.3)
    before, seen = state(arm), []
    path = arm.task_set('arm').generate_path(
        None, 'tip', 12, validate=lambda row: seen.append(row) or True
    )
    assert path.ok and path and path.fraction == 1.0 and path.failed_index is None
    assert straight(arm, path.configs, arm['tip'].matrix(), arm['goal'].matrix()) < 1e-6
    np.testing.assert_array_equal(path.configs[0], arm.q)
    np.testing.assert_array_equal(seen, path.configs)
    assert np.abs(np.diff(path.configs, axis=0)).max() < 0.2
    assert state(arm) == before
    with pytest.raises(SsikError, match='points must be at least 2'):
        arm.task_set('arm').generate_path(None, 'tip', 1)


def test_failures_of_paths_name_the_point_and_the_reason(arm):
    put_goal(arm, arm.q + 0.3)
    goal = arm['goal'].matrix()
    goal[:3, 3] += 5.0
    arm['goal'].set_pose(goal)
    path = arm.task_set('arm').generate_path(None, 'tip', 10)
    assert not path and path.failed_index >= 1 and 'reach' in path.reason
    assert path.configs.shape == (0, 6)
    part = arm.task_set('arm').generate_path(None, 'tip', 10, partial=True)
    assert len(part.configs) == path.failed_index
    assert part.fraction == pytest.approx(path.failed_index / 10)
    put_goal(arm, arm.q + 0.3)
    refused = arm.task_set('arm').generate_path(
        None, 'tip', 10, validate=lambda row: row[0] < arm.q[0]
    )
    assert refused.failed_index == 0 and 'validation' in refused.reason


def test_points_that_limits_keep_off_the_line_are_failures(arm):
    put_goal(arm, arm.q + 0.3)
    whole = arm.task_set('arm').generate_path(None, 'tip', 10)
    joint, half = arm['j2'], whole.configs[5, 2]
    joint.limits = (-2.8, half + 1e-4) if half > joint.position else (half - 1e-4, 2.8)
    exact = arm.task_set('arm').generate_path(None, 'tip', 10, partial=True)
    assert not exact.ok and not exact.success and len(exact.configs) >= 5
    coarse = arm.task_set('arm').generate_path(None, 'tip', 10, partial=True, tolerance=None)
    assert len(coarse.configs) >= len(exact.configs)


def test_paths_follow_functions_of_dependent_joints():
    env = serial_arm(6, seed=3)
    env.q = np.linspace(0.3, 0.9, 6)
    env['j0'].depend_on('j1', function=lambda value: 0.5 * np.sin(value))
    env.task_set('arm').tasks[0].constraints = Constraint.POSITION
    env['goal'].set_pose(env['tip'].pose())
    env['goal'].position = env['tip'].position + np.array([0.03, -0.02, 0.04])
    path = env.task_set('arm').generate_path(env.joints, 'tip', 4)
    assert path.ok and path.success, path.reason
    np.testing.assert_allclose(path.configs[:, 0], 0.5 * np.sin(path.configs[:, 1]), atol=1e-12)


def test_jumps_are_found_and_steps_can_be_bounded(arm):
    put_goal(arm, arm.q + 0.3)
    free = arm.task_set('arm').generate_path(None, 'tip', 3)
    largest = np.abs(np.diff(free.configs, axis=0)).max()
    bounded = arm.task_set('arm').generate_path(None, 'tip', 3, max_joint_step=0.6 * largest)
    assert bounded.ok
    np.testing.assert_allclose(bounded.configs, free.configs, atol=1e-6)
    jump = arm.task_set('arm').generate_path(None, 'tip', 3, max_joint_step=1e-3)
    assert not jump.ok and 'jumps' in jump.reason and jump.failed_index == 1


def test_paths_through_poses_carry_time_stamps(arm):
    poses, q = [], arm.q
    for share in (0.05, 0.1, 0.15):
        put_goal(arm, q + share)
        poses.append(arm['goal'].pose())
    path = arm.task_set('arm').follow_path(None, 'tip', poses, times=[0.0, 0.5, 1.0])
    assert path.ok and len(path.configs) == 3
    np.testing.assert_allclose(path.configs, [q + share for share in (0.05, 0.1, 0.15)], atol=1e-6)
    np.testing.assert_array_equal(path.times, [0.0, 0.5, 1.0])
    with pytest.raises(SsikError, match='increasing'):
        arm.task_set('arm').follow_path(None, 'tip', poses, times=[0.0, 0.5, 0.5])
