"""Error rows against the words of the specification, Jacobians against finite differences."""

from test.tasks.made_worlds import expected_error, random_chain, random_pose, walk

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.tasks import Constraint, Environment, JointType

KINDS = ('revolute', 'prismatic', 'spherical', 'screw')
STEP = 1e-5


def twist(value):
    """Return a nonlinear dependency."""
    return 0.4 * np.sin(value) + 0.2 * value


def make_world(seed, constraints):
    """
    Return an environment with one task.

    The seed decides on base, constraint base, target (fixed, on the same chain, on another one), dependent joints.
    """
    rng = np.random.default_rng(seed)
    env = Environment()
    stem = random_chain(env, rng, 2, ('revolute', 'prismatic'), stem='stem')
    fork = random_chain(env, rng, 2, KINDS, stem, 'fork')
    end = random_chain(env, rng, 5, KINDS, stem, 'arm')
    tip = env.add_dummy('tip', end, random_pose(rng))
    carriers = (None, None, stem, fork, env['arm1'])
    target = env.add_dummy('target', carriers[seed % 5], random_pose(rng))
    scalars = [j for j in env.joints if j.kind != JointType.SPHERICAL]
    if seed % 2 and len(scalars) > 3:
        scalars[-1].depend_on(scalars[2], rng.uniform(-1.0, 1.0), 0.1)
        scalars[-2].depend_on(scalars[-1], 0.7, -0.2)
    if seed % 3 == 2 and len(scalars) > 4:
        scalars[1].depend_on(scalars[0], function=twist, derivative=None if seed % 2 else slope)
    task_set = env.add_task_set()
    task = task_set.add_task(tip, target=target, constraints=constraints)
    task.base = (None, None, stem, env['arm0'])[seed % 4]
    task.constraint_base = (None, stem, fork, env['arm2'], target)[(seed // 2) % 5]
    task.closure = seed % 7 == 3
    return env, task_set, task


def slope(value):
    """Return the derivative of :func:`twist`."""
    return 0.4 * np.cos(value) + 0.2


def differences(env, task_set, function):
    """Return the central differences of a function of the joint values, one column per degree of freedom."""
    start, columns = env.q, []
    for joint in task_set.joints:
        at = joint.place_in_values
        for dof in range(joint.columns):
            ends = []
            for sign in (1.0, -1.0):
                values = start.copy()
                if joint.kind == JointType.SPHERICAL:
                    turn = Rotation.from_rotvec(sign * STEP * np.eye(3)[dof])
                    values[at : at + 4] = (
                        Rotation.from_quat(values[at : at + 4]) * turn
                    ).as_quat()
                else:
                    values[at] += sign * STEP
                env.values[:] = values
                env.follow()
                ends.append(function())
            columns.append((ends[0] - ends[1]) / (2.0 * STEP))
    env.values[:] = start
    return np.array(columns).T


@pytest.mark.sampled
@pytest.mark.parametrize('constraints', range(1, 32))
def test_error_rows_are_those_of_the_specification(constraints):
    for seed in range(12):
        _, task_set, task = make_world(100 * constraints + seed, constraints)
        if task_set.joints:
            np.testing.assert_allclose(
                task_set.jacobian()[1], expected_error(task), atol=1e-12, rtol=0.0
            )


@pytest.mark.slow
@pytest.mark.parametrize('constraints', range(1, 32))
def test_jacobian_is_the_derivative_of_the_error(constraints):
    checked = 0
    for seed in range(12):
        env, task_set, task = make_world(100 * constraints + seed, constraints)
        if not task_set.joints:
            continue
        error = task_set.jacobian()[1]
        if np.linalg.norm(error[element_positions(constraints) :]) > 3.0:
            continue
        expected = -differences(env, task_set, lambda e=task: expected_error(e))
        np.testing.assert_allclose(task_set.jacobian()[0], expected, atol=1e-7)
        checked += 1
    assert checked >= 8


@pytest.mark.sampled
@pytest.mark.parametrize('constraints', range(1, 32))
def test_geometric_rows_are_the_velocity_of_the_tip_whatever_the_target(constraints):
    picked = [bool(constraints & bit) for bit in (1, 2, 4, 8, 8, 16)]
    checked = 0
    for seed in range(8):
        env, task_set, task = make_world(100 * constraints + seed, constraints)
        task.constraint_base = task.closure = None
        if not task_set.joints or task.base is not None:
            continue
        start = walk(task.tip)[:3, :3]

        def motion(tip=task.tip, start=start):
            pose = walk(tip)
            turn = Rotation.from_matrix(start.T @ pose[:3, :3]).as_rotvec()
            return np.array([*pose[:3, 3], *turn])[picked]

        jacobian, error = task_set.jacobian(exact=False)
        np.testing.assert_allclose(jacobian, differences(env, task_set, motion), atol=1e-7)
        np.testing.assert_allclose(error, expected_error(task), atol=1e-12)
        checked += 1
    assert checked >= 2


def element_positions(constraints):
    """Return how many position rows some constraints have."""
    return bin(constraints & 7).count('1')


def test_a_fixed_target_gives_the_columns_of_the_original():
    _, task_set, task = make_world(13, Constraint.POSE)
    moving = task_set.jacobian()[0]
    task.target_motion = False
    fixed = task_set.jacobian()[0]
    assert np.abs(fixed - moving).max() > 0.1
    pose = walk(task.tip.target)
    task.tip.target.set_parent(None)
    np.testing.assert_allclose(walk(task.tip.target), pose, atol=1e-12)
    np.testing.assert_allclose(task_set.jacobian()[0], fixed, atol=1e-12)


def test_rows_of_tasks_stand_one_below_the_other_and_columns_in_first_seen_order():
    env, task_set, task = make_world(4, Constraint.POSE)
    other = env.add_dummy('elbow', env['arm1'])
    task_set.add_task(other, constraints=Constraint.X | Constraint.Z)
    task.enabled = False
    elbow, _ = task_set.jacobian()
    assert [joint.name for joint in task_set.joints][:2] == ['stem0', 'stem1']
    task.enabled = True
    both, error = task_set.jacobian()
    assert both.shape[0] == 8 and len(error) == 8
    names = [joint.name for joint in task_set.joints]
    assert names.index('arm0') < names.index('arm4')
    assert not both[6:, elbow.shape[1] :].any()
    np.testing.assert_array_equal(error[6:], 0.0)


def test_chain_jacobian_takes_poses_in_the_world():
    env, task_set, task = make_world(20, Constraint.POSE)
    task.base = task.constraint_base = None
    task.target.set_parent(None)
    jacobian, error = task_set.jacobian()
    tip, target = task.tip.matrix(), task.target.pose()
    before = env.save()
    chain, left = env.jacobian('arm4', tip, target)
    np.testing.assert_allclose(chain, jacobian, atol=1e-12)
    np.testing.assert_allclose(left, error, atol=1e-12)
    assert not env.jacobian('arm4', tip)[1].any()
    assert env.save() == before
    moved, _ = env.jacobian('arm4', tip, target, base='stem1')
    assert moved.shape[1] < chain.shape[1]
    turned, _ = env.jacobian('arm4', tip, target, constraint_base_pose=[0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(turned[1:3], -chain[1:3], atol=1e-12)


def test_weights_are_left_out_of_the_rows_that_users_see():
    _, task_set, task = make_world(4, Constraint.POSE)
    plain = task_set.jacobian()
    task.weights = 0.5, 2.0, 3.0
    for rows, other in zip(plain, task_set.jacobian(), strict=True):
        np.testing.assert_array_equal(rows, other)


def test_opposite_z_axes_turn_about_one_fixed_axis():
    env = Environment()
    joint = env.add_joint('spherical', 'ball')
    tip = env.add_dummy('tip', joint)
    target = env.add_dummy('target', pose=[0, 0, 0, 1, 0, 0, 0])
    task_set = env.add_task_set(max_iterations=50)
    task_set.add_task(tip, target=target, constraints=Constraint.ALPHA_BETA)
    _, error = task_set.jacobian()
    np.testing.assert_allclose(error, [np.pi, 0.0], atol=1e-12)
    assert task_set.solve().success


def test_limit_rows_follow_the_rows_of_the_tasks():
    env, task_set, task = make_world(8, Constraint.POSITION)
    task.base = None
    for joint in task_set.joints:
        if joint.kind != JointType.SPHERICAL:
            joint.limit_margin = 0.0
    slide = env.add_joint('prismatic', 'slide', limits=(0.0, 1.0))
    env['stem0'].set_parent(slide)
    hinge = env['stem1'] if env['stem1'].kind == JointType.REVOLUTE else env['stem0']
    task_set.avoid_limits = True
    slide.limit_margin, slide.position = 0.1, 0.02
    jacobian, error = task_set.jacobian()
    assert len(error) == 4 and error[3] == pytest.approx(0.08)
    column = [joint.name for joint in task_set.joints].index('slide')
    assert jacobian[3, column] == 1.0 and np.count_nonzero(jacobian[3]) == 1
    slide.position = 0.97
    jacobian, error = task_set.jacobian()
    assert error[3] == pytest.approx(0.07) and jacobian[3, column] == -1.0
    # Margins that overlap: the nearer limit for slides.
    slide.limit_margin, slide.position = 0.8, 0.3
    assert task_set.jacobian()[1][3] == pytest.approx(0.5)
    assert hinge.name.startswith('stem')
