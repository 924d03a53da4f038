"""Steps, limits, flags and callbacks of a handling."""

from test.tasks.made_worlds import put_goal, serial_arm

import numpy as np
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.tasks import Constraint, Environment, Reason


@pytest.fixture
def arm():
    env = serial_arm()
    env.q = np.linspace(0.3, 0.9, 7)
    put_goal(env, env.q + 0.05)
    return env


def slide_world(target=0.3):
    """Return an environment with one slide from -0.5 to 0.5 whose tip has a target along it."""
    env = Environment()
    slide = env.add_joint('prismatic', 'slide')
    env.add_dummy('tip', slide)
    env.add_dummy('goal', pose=[0, 0, target, 0, 0, 0, 1])
    task_set = env.add_task_set('line')
    task_set.add_task('tip', target='goal', constraints=Constraint.POSITION)
    return env, task_set, slide


@pytest.mark.parametrize('method', ['pinv', 'dls', 'undamped', 'transpose'])
def test_every_method_reaches_a_near_target(arm, method):
    task_set = arm.task_set('arm')
    task_set.method, task_set.damping, task_set.max_iterations = method, 0.02, 4000
    result = task_set.solve()
    assert result.success and result.reason == Reason.NONE
    tip, goal = arm['tip'].matrix(), arm['goal'].matrix()
    assert np.linalg.norm(tip[:3, 3] - goal[:3, 3]) == pytest.approx(result.linear, abs=1e-12)
    assert result.linear <= 5e-4


def test_nothing_moves_when_the_tip_is_already_there(arm):
    put_goal(arm, arm.q)
    before = arm.q
    result = arm.solve()
    assert result.success and result.iterations == 0
    np.testing.assert_array_equal(arm.q, before)


def test_numbers_belong_to_the_values_that_are_left(arm):
    task_set = arm.task_set('arm')
    task_set.max_iterations = 1
    put_goal(arm, arm.q + 0.5)
    before = arm.q
    result = task_set.solve()
    assert not result.success and result.iterations == 1
    error = task_set.jacobian()[1]
    assert np.linalg.norm(error[:3]) == pytest.approx(result.linear, abs=1e-12)
    task_set.restore_on_bad_linear = True
    arm.q = before
    start = np.linalg.norm(task_set.jacobian()[1][:3])
    result = task_set.solve()
    np.testing.assert_array_equal(arm.q, before)
    assert result.linear == pytest.approx(start, abs=1e-12)


def test_a_failed_orientation_restores_only_when_asked_for(arm):
    task_set = arm.task_set('arm')
    task_set.max_iterations, task_set.restore_on_bad_linear = 1, True
    task_set.tasks[0].precision = (10.0, 1e-9)
    put_goal(arm, arm.q + 0.3)
    before = arm.q
    task_set.solve()
    assert np.abs(arm.q - before).max() > 1e-3
    arm.q = before
    task_set.restore_on_bad_angular = True
    task_set.solve()
    np.testing.assert_array_equal(arm.q, before)


def test_steps_keep_their_direction_when_they_are_too_long(arm):
    task_set = arm.task_set('arm')
    task_set.max_iterations = 1
    put_goal(arm, arm.q + 0.5)
    before = arm.q
    assert task_set.solve().reason & Reason.STEPS_TOO_BIG
    whole = arm.q - before
    arm.q = before
    task_set.ignore_max_steps = False
    assert task_set.solve().reason & Reason.STEPS_TOO_BIG
    step = arm.q - before
    assert np.abs(step).max() == pytest.approx(np.radians(10.0))
    np.testing.assert_allclose(step / np.abs(step).max(), whole / np.abs(whole).max(), atol=1e-9)


def test_joints_stop_at_limits_and_the_others_make_up_for_it(arm):
    task_set = arm.task_set('arm')
    joint = arm['j1']
    put_goal(arm, arm.q + 0.08)
    lower, here = -2.8, joint.position
    joint.limits = (lower, here + 0.02)
    result = task_set.solve()
    assert result.success and result.reason & Reason.LIMIT_HIT
    assert joint.position <= here + 0.02
    assert result.limit_hits[joint] > 0.0 and task_set.limit_hits == result.limit_hits


def test_a_limit_hit_can_end_the_solve():
    env, task_set, slide = slide_world(target=0.8)
    task_set.max_iterations = 20
    assert task_set.solve().iterations == 20
    slide.position = 0.0
    task_set.stop_on_limit_hit = True
    result = task_set.solve()
    assert result.iterations == 1 and slide.position == 0.5
    assert result.limit_hits == {slide: pytest.approx(0.3, abs=1e-9)}
    env.close()
    with pytest.raises(SsikError, match='is closed'):
        env.solve()


def test_joints_near_their_limits_are_pushed_back():
    env, task_set, slide = slide_world(target=0.495)
    task_set.avoid_limits = True
    task_set.max_iterations = 200
    slide.position = 0.495
    task_set.solve()
    assert slide.position == 0.495
    env['goal'].set_pose([0, 0, 0.4, 0, 0, 0, 1])
    task_set.tasks[0].precision = (1e-9, 1.0)
    task_set.solve()
    assert slide.position == pytest.approx(0.4)
    # Target and margin pull in opposite ways with equal weight.
    env['goal'].set_pose([0, 0, 0.499, 0, 0, 0, 1])
    slide.position = 0.495
    task_set.solve()
    assert slide.position == pytest.approx(0.5 * (0.499 + 0.49))


def test_heavier_joints_move_more(arm):
    task_set = arm.task_set('arm')
    task_set.max_iterations = 1
    before = arm.q
    task_set.solve()
    plain = np.abs(arm.q - before)
    arm.q = before
    arm['j2'].weight = 100.0
    task_set.solve()
    assert np.abs(arm.q - before)[2] > plain[2]


def test_task_weights_trade_off_or_slow_down():
    env, task_set, _ = slide_world()
    env.add_dummy('other', 'slide')
    env.add_dummy('other_goal', pose=[0, 0, -0.1, 0, 0, 0, 1])
    first = task_set.tasks[0]
    second = task_set.add_task('other', target='other_goal', constraints=Constraint.POSITION)
    task_set.max_iterations = 100
    task_set.solve()
    assert env['slide'].position == pytest.approx(0.1, abs=1e-6)
    first.weights = (2.0, 1.0, 1.0)
    task_set.solve()
    assert env['slide'].position == pytest.approx((4 * 0.3 - 0.1) / 5, abs=1e-6)
    second.enabled = False
    first.weights, task_set.weights_mode, task_set.max_iterations = (0.5, 1.0, 1.0), 'gain', 1
    env['slide'].position = 0.0
    task_set.solve()
    assert env['slide'].position == pytest.approx(0.15, abs=1e-6)


def test_disabled_or_empty_task_sets_are_not_performed(arm):
    task_set = arm.task_set('arm')
    task_set.tasks[0].enabled = False
    result = arm.solve()
    assert not result.success
    assert result.reason == Reason.NOT_PERFORMED | Reason.NOT_WITHIN_TOLERANCE
    task_set.tasks[0].enabled = True
    for joint in arm.joints:
        joint.passive = True
    assert arm.solve().reason & Reason.NOT_PERFORMED
    arm['j3'].passive = False
    assert task_set.joints == (arm['j3'],)


def test_cyclic_joints_wrap_and_geared_ones_do_not():
    env = Environment()
    joint = env.add_joint('revolute', 'wheel')
    env.add_dummy('tip', joint, [0.2, 0, 0, 0, 0, 0, 1])
    env.add_dummy('goal', pose=[0.2 * np.cos(3.3), 0.2 * np.sin(3.3), 0, 0, 0, 0, 1])
    task_set = env.add_task_set(max_iterations=50)
    task_set.add_task('tip', target='goal', constraints=Constraint.POSITION)
    joint.position = 3.0
    assert task_set.solve().success
    assert joint.position == pytest.approx(3.3 - 2 * np.pi, abs=2e-3)
    slave = env.add_joint('prismatic', 'rack')
    slave.depend_on(joint, 0.01)
    joint.position = 3.0
    assert task_set.solve().success
    assert joint.position == pytest.approx(3.3, abs=3e-3)
    assert slave.position == pytest.approx(0.01 * joint.position)


def test_loops_close_with_both_sides_moving():
    env = Environment()
    left = env.add_joint('revolute', 'left', limits=(-3, 3), position=0.4)
    rod = env.add_joint(
        'revolute', 'rod', left, [0.5, 0, 0, 0, 0, 0, 1], limits=(-3, 3), position=0.9
    )
    env.add_dummy('end', rod, [0.8, 0, 0, 0, 0, 0, 1])
    right = env.add_joint(
        'revolute', 'right', None, [1, 0, 0, 0, 0, 0, 1], limits=(-3, 3), position=1.2
    )
    env.add_dummy('pin', right, [0.5, 0, 0, 0, 0, 0, 1])
    task_set = env.add_task_set('loop', max_iterations=100)
    task_set.add_task('end', target='pin', constraints=3, closure=True, precision=(1e-9, 1.0))
    assert [joint.name for joint in task_set.joints] == ['left', 'rod', 'right']
    assert task_set.solve().success
    assert np.abs(env['end'].matrix() - env['pin'].matrix())[:2, 3].max() < 1e-9


def test_the_callback_sees_rows_and_columns_and_may_replace_them(arm):
    task_set = arm.task_set('arm')
    task_set.max_iterations = 1
    before, seen = arm.q, []
    task_set.solve(callback=lambda data: seen.append(data))
    plain = arm.q - before
    (data,) = seen
    assert data.jacobian.shape == (6, 7) and [row['constraint'] for row in data.rows] == [
        *range(6)
    ]
    assert [column['joint'] for column in data.cols] == [joint.handle for joint in task_set.joints]
    arm.q = before
    task_set.solve()
    np.testing.assert_allclose(arm.q - before, plain, atol=1e-10)
    replacements = [
        ({'dq': plain / 2}, plain / 2),
        ({'e': data.e / 2}, plain / 2),
        ({'jacobianPinv': np.linalg.pinv(data.jacobian)}, plain),
        ({'jacobian': 2.0 * data.jacobian}, plain / 2),
    ]
    for replacement, expected in replacements:
        arm.q = before
        task_set.solve(callback=lambda _, replacement=replacement: replacement)
        np.testing.assert_allclose(arm.q - before, expected, atol=1e-8)


def test_callbacks_that_fail_leave_the_joints_alone(arm):
    task_set = arm.task_set('arm')
    before = arm.q
    calls = []

    def fail_later(data):
        calls.append(data.iteration)
        if data.iteration == 1:
            raise RuntimeError('no more')

    put_goal(arm, arm.q + 0.5)
    task_set.tasks[0].precision = (1e-12, 1e-12)
    with pytest.raises(RuntimeError, match='no more'):
        task_set.solve(callback=fail_later)
    assert calls == [0, 1]
    np.testing.assert_array_equal(arm.q, before)
    result = task_set.solve(callback=lambda data: {'e': np.full(6, np.nan)})
    assert result.reason & Reason.INVALID_CALLBACK_DATA and not result.success
    with pytest.raises(SsikError, match='shape'):
        task_set.solve(callback=lambda data: {'e': np.zeros(5)})
    with pytest.raises(SsikError, match='jacobian'):
        task_set.solve(callback=lambda data: {'jacobain': data.jacobian})


@pytest.mark.parametrize('priority', ['strict', 'nested'])
@pytest.mark.parametrize('is_limited', [False, True])
def test_a_callback_that_changes_nothing_changes_no_bit(arm, priority, is_limited):
    """Also not where joints stop at limits: the other joints do the rest of the step in both cases."""
    arm.add_dummy('elbow', 'j3')
    arm.add_dummy('elbow_goal', pose=[0.1, 0.2, 0.3, 0, 0, 0, 1])
    posture = arm.add_task_set('posture', 'dls', damping=0.3)
    posture.add_task('elbow', target='elbow_goal', constraints=Constraint.POSITION)
    if is_limited:
        for name in ('j1', 'j4'):
            arm[name].limits = arm[name].position - 0.01, arm[name].position + 0.01
    before = arm.q
    plain = arm.solve(max_iterations=2, priority=priority)
    arm.q = before
    seen = arm.solve(max_iterations=2, priority=priority, callback=lambda data: None)
    np.testing.assert_array_equal(seen.q, plain.q)
    assert seen.limit_hits == plain.limit_hits and bool(plain.limit_hits) == is_limited
    with pytest.raises(SsikError, match='jacobianPinv'):
        arm.solve(max_iterations=1, callback=lambda data: {'dq': np.zeros(7)})


def test_a_given_motion_is_forgotten_by_the_next_solve(arm):
    before = arm.q
    plain = arm.solve(max_iterations=1).q
    arm.q = before
    arm.solve(max_iterations=1, callback=lambda data: {'dq': np.full(7, 0.01)})
    np.testing.assert_allclose(arm.q - before, 0.01, atol=1e-12)
    arm.q = before
    np.testing.assert_array_equal(arm.solve(max_iterations=1).q, plain)


def test_functions_of_dependent_joints_are_followed_in_every_step():
    env = Environment()
    crank = env.add_joint('revolute', 'crank', limits=(-3.0, 3.0), position=0.2)
    slide = env.add_joint('prismatic', 'slide')
    slide.depend_on(crank, function=lambda value: 0.3 * np.sin(value))
    env.add_dummy('tip', slide)
    env.add_dummy('goal', pose=[0, 0, 0.25, 0, 0, 0, 1])
    task_set = env.add_task_set(max_iterations=30)
    task_set.add_task('tip', target='goal', constraints=Constraint.Z, precision=(1e-9, 1.0))
    assert task_set.solve().success
    assert slide.position == pytest.approx(0.3 * np.sin(crank.position), abs=1e-12)
    assert slide.position == pytest.approx(0.25, abs=1e-9)
    assert len(task_set.find_configs(max_samples=3)) == 1
    before = env.q
    slide.depend_on(crank, function=lambda value: None if value != crank.position else 0.0)
    with pytest.raises(SsikError, match='slide'):
        task_set.solve()
    np.testing.assert_allclose(env.q[0], before[0])
