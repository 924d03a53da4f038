"""Priorities: strict ones never disturb, nested ones follow the formula, and the optimum is the lexicographic one."""

from test.tasks.made_worlds import expected_error, put_goal, random_chain, random_pose, serial_arm

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.optimize import minimize

from ssik_ros.tasks import Constraint, Environment, Method
from ssik_ros.tasks.handling import evaluate, take_step
from ssik_ros.tasks.plan import plan_of

METHODS = ('pinv', 'dls', 'transpose', 'undamped')


def three_levels(seed, method='pinv', kinds=('revolute',)):
    """Return an environment with three task sets that cannot all be satisfied: hand, elbow, another point."""
    rng = np.random.default_rng(seed)
    env = Environment()
    last = random_chain(env, rng, 7, kinds)
    points = (('hand', last, 7), ('elbow', env['j3'], 1), ('middle', env['j5'], 2))
    task_sets = []
    for name, parent, bits in points:
        tip = env.add_dummy(name, parent, random_pose(rng))
        goal = env.add_dummy(f'{name}_goal', None, tip.pose())
        task_set = env.add_task_set(name, method, damping=0.05, max_iterations=1)
        task_set.add_task(tip, target=goal, constraints=bits)
        goal.position = tip.position + rng.uniform(-0.02, 0.02, 3)
        task_sets.append(task_set)
    for joint in env.joints:
        joint.limits = (-30.0, 30.0)
        joint.max_step = 10.0
    return env, task_sets


def inverse(jacobian, method, error, damping=0.05):
    """Return the inverse of some rows, in plain numpy."""
    if method == 'undamped':
        return np.linalg.pinv(jacobian)
    if method == 'transpose':
        ahead = jacobian @ jacobian.T @ error
        return jacobian.T * (error @ ahead) / (ahead @ ahead)
    square = 1e-12 if method == 'pinv' else damping**2
    return jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + square * np.eye(len(jacobian)))


def wide_rows(env, task_sets):
    """Return Jacobian over all joints of the environment and error of each task set."""
    rows = []
    for task_set in task_sets:
        jacobian, error = task_set.jacobian()
        wide = np.zeros((len(error), len(env.values)))
        wide[:, [joint.place_in_values for joint in task_set.joints]] = jacobian
        rows.append((wide, error))
    return rows


def linear_step(env, task_sets):
    """Return the motion of one step of some task sets as their rows have it, before it is corrected; the joints stay."""
    plan, values = plan_of(env, tuple(task_sets)), env.q
    evaluate(plan, env, values)
    take_step(plan, env, values)
    return values - env.q


@pytest.mark.parametrize('method', METHODS)
def test_nested_priorities_are_the_documented_formula(method):
    for seed in range(5):
        env, task_sets = three_levels(seed, method)
        weights = np.random.default_rng(seed).uniform(0.2, 3.0, 7) if seed % 2 else np.ones(7)
        for joint, weight in zip(env.joints, weights, strict=True):
            joint.weight = weight
        start, total, scale = env.q, 0.0, np.sqrt(weights)
        for jacobian, error in reversed(wide_rows(env, task_sets)):
            pinv = scale[:, None] * inverse(jacobian * scale, method, error)
            total = pinv @ error + (np.eye(7) - pinv @ jacobian) @ (np.zeros(7) + total)
        env.solve(task_sets, priority='nested')
        np.testing.assert_allclose(
            env.q - start, total, atol=1e-12 * max(1.0, np.abs(total).max())
        )


@pytest.mark.parametrize('method', METHODS)
def test_the_rows_of_higher_task_sets_are_the_same_with_task_sets_below(method):
    for seed in range(8):
        env, task_sets = three_levels(seed, method, ('revolute', 'prismatic', 'screw'))
        for joint, weight in zip(env.joints, np.linspace(0.3, 2.0, 7), strict=True):
            joint.weight = weight
        rows = wide_rows(env, task_sets)
        steps = [linear_step(env, task_sets[:count]) for count in (1, 2, 3)]
        for level in (0, 1):
            for step in steps[level + 1 :]:
                change = rows[level][0] @ (step - steps[level])
                assert np.abs(change).max() < 1e-9
        assert np.abs(steps[1] - steps[0]).max() > 1e-4


def test_limits_that_lower_task_sets_reach_leave_the_upper_ones_alone():
    hits = 0
    for seed in range(20):
        env, task_sets = three_levels(seed)
        start, (jacobian, _) = env.q, wide_rows(env, task_sets)[0]
        env.solve(task_sets[:1])
        first = env.q - start
        env.q = start
        room = np.abs(first) + 0.003
        for joint, here, free in zip(env.joints, start, room, strict=True):
            joint.limits = (here - free, here + free)
        step = linear_step(env, task_sets)
        assert np.abs(jacobian @ (step - first)).max() < 1e-9
        assert (np.abs(step) <= room + 1e-12).all()
        result = env.solve(task_sets)
        hits += bool(result.limit_hits)
        assert (np.abs(env.q - start) <= room + 1e-12).all()
    assert hits > 10


def test_a_joint_at_its_limit_leaves_the_rest_to_the_others():
    checked = 0
    for seed in range(12):
        env, task_sets = three_levels(seed)
        start, (jacobian, error) = env.q, wide_rows(env, task_sets)[0]
        env.solve(task_sets[:1])
        worst = int(np.argmax(np.abs(env.q - start)))
        env.q = start
        motion = 0.3 * (np.linalg.pinv(jacobian) @ error)[worst]
        joint = env.joints[worst]
        joint.limits = tuple(sorted((start[worst] + motion, start[worst] - 20.0 * motion)))
        result = env.solve(task_sets[:1])
        assert list(result.limit_hits) == [joint]
        others = np.delete(np.arange(7), worst)
        expected = np.linalg.pinv(jacobian[:, others]) @ (error - jacobian[:, worst] * motion)
        step = env.q - start
        assert step[worst] == pytest.approx(motion, abs=1e-12)
        np.testing.assert_allclose(step[others], expected, atol=1e-6)
        checked += 1
    assert checked == 12


def test_rows_that_are_nearly_the_same_are_both_kept():
    for seed in range(4):
        env, task_sets = three_levels(seed, 'dls')
        near = env.add_dummy('near', env['hand'], [1e-3, 2e-3, 0, 0, 0, 0, 1])
        goal = env.add_dummy('near_goal', None, near.pose())
        task_sets[0].add_task(near, target=goal, constraints=Constraint.X | Constraint.Y)
        jacobian, _ = wide_rows(env, task_sets)[0]
        first, both = linear_step(env, task_sets[:1]), linear_step(env, task_sets[:2])
        assert np.abs(jacobian @ (both - first)).max() < 1e-9


def sizes(env, task_sets, values):
    """Return the squared residual of each task set at some joint values."""
    env.values[:] = values
    return [float(np.sum(task_set.jacobian()[1] ** 2)) for task_set in task_sets]


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_conflicting_tasks_reach_the_lexicographic_optimum(seed):
    env, task_sets = three_levels(seed, 'dls')
    # A second point of the hand, asked further away from the first than it is; then a point that has two degrees
    # of freedom left for three coordinates.
    hand, pointer = env['hand'], task_sets[1].tasks[0]
    pointer.tip.set_parent(hand.parent)
    pointer.tip.set_pose(hand.pose())
    pointer.tip.position = hand.position + np.array([0.2, 0.0, 0.0])
    pointer.target.position = task_sets[0].tasks[0].target.position + np.array([0.25, 0.05, 0.0])
    for task_set in task_sets:
        task_set.tasks[0].constraints = Constraint.POSITION
    env.solve(task_sets, max_iterations=2000)
    q, levels = env.q, sizes(env, task_sets, env.q)
    assert levels[0] < 1e-9 and levels[1] > 1e-3 and levels[2] > 1e-5
    fixed = {}
    for level in range(3):
        bounds = [
            {'type': 'eq', 'fun': lambda x, k=k: task_sets_error(env, task_sets, k, x) - fixed[k]}
            for k in range(level)
        ]
        optimum = minimize(
            lambda x, k=level: sizes(env, task_sets, x)[k],
            q + 1e-3,
            method='SLSQP',
            constraints=bounds[:1] if level < 2 else [bounds[0], along(env, task_sets, fixed)],
            options={'maxiter': 300, 'ftol': 1e-14},
        )
        fixed[level] = task_sets_error(env, task_sets, level, optimum.x)
        assert levels[level] == pytest.approx(float(np.sum(fixed[level] ** 2)), abs=1e-6)


def along(env, task_sets, fixed):
    """Return the constraint that the pointer keeps its direction: its distance to the hand cannot change anyway."""
    direction = fixed[1] / np.linalg.norm(fixed[1])
    first = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
    axes = np.array([first, np.cross(direction, first)])
    return {
        'type': 'eq',
        'fun': lambda x: axes @ (task_sets_error(env, task_sets, 1, x) - fixed[1]),
    }


def task_sets_error(env, task_sets, level, values):
    """Return the error of a task set at some joint values."""
    env.values[:] = values
    return task_sets[level].jacobian()[1]


def test_a_posture_below_a_pose_does_not_move_the_hand():
    env = serial_arm()
    env['goal'].set_pose(env['tip'].pose())
    elbow = env.add_dummy('elbow', env['j3'])
    env.add_dummy('elbow_goal', None, elbow.pose())
    env['elbow_goal'].position = elbow.position + np.array([0.1, 0.0, 0.0])
    posture = env.add_task_set('posture', 'dls', damping=0.1, max_iterations=1)
    posture.add_task(elbow, target='elbow_goal', constraints=Constraint.POSITION)
    before = elbow.position
    result = env.solve(['arm', 'posture'], max_iterations=40)
    (_, linear, angular), *_ = result.per_task
    assert linear < 1e-4 and angular < 1e-4
    goal = env['elbow_goal'].position
    assert np.linalg.norm(elbow.position - goal) < np.linalg.norm(before - goal)


def arm_below(seed, method='pinv', damping=0.05, joints=7, constraints=Constraint.POSITION):
    """Return an arm at its goal, and a task set below it that asks an elbow to be far out of reach."""
    rng = np.random.default_rng(seed)
    env = serial_arm(joints, seed)
    env.q = rng.uniform(-1.2, 1.2, joints)
    put_goal(env, env.q)
    env.task_set('arm').tasks[0].constraints = constraints
    elbow = env.add_dummy('elbow', env[f'j{joints - 3}'], [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    env.add_dummy('elbow_goal')
    env['elbow_goal'].position = elbow.position + 3.0 * rng.normal(size=3)
    low = env.add_task_set('low', method, damping=damping)
    low.add_task(elbow, target='elbow_goal', constraints=Constraint.POSITION)
    return env


def missed(env, task_set='arm'):
    """Return the norm of the errors of a task set, by plain numpy."""
    return float(np.linalg.norm([expected_error(e) for e in env.task_set(task_set).tasks]))


@pytest.mark.sampled
@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('constraints', [Constraint.POSITION, Constraint.POSE])
def test_one_step_below_a_met_task_set_leaves_it_met(method, constraints):
    for seed in range(10):
        env = arm_below(seed, method, constraints=constraints, joints=8)
        before = env.q
        env.solve(['arm', 'low'], max_iterations=1)
        assert missed(env) < 1e-7
        assert np.abs(env.q - before).max() > 1e-3


@pytest.mark.sampled
@pytest.mark.parametrize('damping', [0.0, 0.1, 1.0])
def test_a_met_task_set_holds_while_one_below_cannot_be_met(damping):
    for seed in range(20):
        env = arm_below(seed, 'dls', damping)
        for _ in range(100):
            env.solve(['arm', 'low'], max_iterations=1)
            assert missed(env) < 1e-7


@given(seed=st.integers(0, 10**6), method=st.sampled_from(METHODS), step=st.floats(0.01, 1.5))
@settings(max_examples=60, deadline=None)
def test_a_step_costs_a_task_set_above_no_more_than_half_of_what_it_gains_alone(
    seed, method, step
):
    env = arm_below(seed, method, 0.3)
    rng = np.random.default_rng(seed)
    put_goal(env, env.q + step * rng.uniform(-1.0, 1.0, 7))
    before, start = missed(env), env.q
    env.solve(['arm'], max_iterations=1)
    alone = missed(env)
    env.q = start
    env.solve(['arm', 'low'], max_iterations=1)
    bound = alone + 0.5 * max(0.0, before - alone)
    assert missed(env) <= max(bound * (1.0 + 1e-7), 2e-8)


@pytest.mark.heavy
def test_a_task_set_that_cannot_be_met_keeps_its_best_too():
    for seed in range(10):
        env = arm_below(seed)
        direction = env['tip'].position / np.linalg.norm(env['tip'].position)
        env['goal'].position = 4.0 * direction
        env.task_set('arm').method, env.task_set('arm').damping = 'dls', 2.0
        env.solve(['arm'], max_iterations=3000)
        best = missed(env)
        env.solve(['arm', 'low'], max_iterations=50)
        assert missed(env) < best + 1e-6


def test_three_task_sets_protect_each_other_in_their_order():
    for seed in range(10):
        env = arm_below(seed, joints=9)
        middle = env.task_set('low').tasks[0]
        middle.target.position = middle.tip.position
        middle.constraints = Constraint.X | Constraint.Y
        rest = env.add_dummy('rest', env['j3'])
        env.add_dummy('rest_goal').position = rest.position + np.array([3.0, 2.0, 1.0])
        env.add_task_set('last').add_task(
            rest, target='rest_goal', constraints=Constraint.POSITION
        )
        before = env.q
        env.solve(['arm', 'low', 'last'], max_iterations=20)
        assert missed(env, 'arm') < 1e-7 and missed(env, 'low') < 1e-7
        assert np.abs(env.q - before).max() > 1e-3


def three_in_conflict(seed):
    """Return an arm whose hand nears its goal, with an elbow below that nears its own, and a point far out of reach."""
    rng = np.random.default_rng(seed)
    env = arm_below(seed, joints=8, constraints=Constraint.POSITION)
    put_goal(env, env.q + rng.uniform(-0.15, 0.15, 8))
    low = env.task_set('low').tasks[0]
    low.target.position = low.tip.position + 0.03 * rng.normal(size=3)
    rest = env.add_dummy('rest', env['j6'], [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    env.add_dummy('rest_goal').position = rest.position + 3.0 * rng.normal(size=3)
    env.add_task_set('last').add_task(rest, target='rest_goal', constraints=Constraint.POSITION)
    for joint in env.joints:
        joint.max_step = 0.1
    env.task_set('arm').ignore_max_steps = False
    return env


@pytest.mark.parametrize('seed', [107, 114, 126, 153, 161, 163, 172, 262, 296])
def test_a_third_task_set_does_not_change_the_bound_of_the_second(seed):
    env = three_in_conflict(seed)
    before, start = missed(env, 'low'), env.q
    env.solve(['arm', 'low'], max_iterations=1)
    alone = missed(env, 'low')
    env.q = start
    env.solve(['arm', 'low', 'last'], max_iterations=1)
    bound = alone + 0.5 * max(0.0, before - alone)
    assert missed(env, 'low') <= bound * (1.0 + 1e-6)
    assert np.abs(env.q - start).max() > 1e-3


def test_limits_and_largest_steps_hold_in_protected_steps():
    for seed in range(10):
        env = arm_below(seed)
        env.task_set('arm').ignore_max_steps = False
        for joint in env.joints:
            joint.limits = (joint.position - 0.3, joint.position + 0.2)
            joint.max_step = 0.15
        start = env.q
        for _ in range(10):
            before = env.q
            env.solve(['arm', 'low'], max_iterations=1)
            assert np.abs(env.q - before).max() <= 0.15 + 1e-9
            assert missed(env) < 1e-7
        assert (env.q >= start - 0.3 - 1e-12).all() and (env.q <= start + 0.2 + 1e-12).all()


def test_margins_of_a_task_set_above_stay_free():
    for seed in range(10):
        env = arm_below(seed)
        env.task_set('arm').avoid_limits = True
        for joint in env.joints:
            joint.limits = (joint.position - 0.6, joint.position + 0.6)
            joint.limit_margin = 0.2
        middle = env.q
        env.solve(['arm', 'low'], max_iterations=30)
        assert missed(env) < 1e-7
        assert np.abs(env.q - middle).max() < 0.4 + 1e-7


def test_joints_that_follow_functions_and_callbacks_are_protected_too():
    for seed in range(5):
        env = arm_below(seed, joints=8)
        env['j7'].depend_on('j1', function=lambda value: np.sin(value), derivative=np.cos)
        put_goal(env, env.q)
        env.solve(['arm', 'low'], max_iterations=5)
        assert missed(env) < 1e-7
        env['j7'].depend_on(None)
        env.solve(['arm', 'low'], max_iterations=5, callback=lambda data: None)
        assert missed(env) < 1e-7


def test_methods_have_names_and_numbers():
    env = Environment()
    task_set = env.add_task_set(method='dls')
    assert task_set.method == Method.DAMPED_LEAST_SQUARES == 1
    task_set.method = 3
    assert task_set.method is Method.UNDAMPED_PSEUDO_INVERSE
