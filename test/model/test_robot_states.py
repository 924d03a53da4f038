"""States: defaults, followers, sampling, setting by name and by group."""

import pickle
import subprocess
import sys

from test.model.small_robots import joint, robot, TWO_ARMS, TWO_ARMS_SRDF

import numpy as np
import pytest

from ssik_ros.arrays import finite_range, TURN
from ssik_ros.errors import (
    DimensionMismatch,
    FrameNotFound,
    InvalidLimits,
    InvalidOption,
    JointNotFound,
    RequestError,
)
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_state import RobotState


@pytest.fixture(scope='module')
def two_arms():
    """Return the two-armed robot."""
    return load_robot(TWO_ARMS, TWO_ARMS_SRDF)


@pytest.fixture
def state(two_arms):
    """Return a fresh state of the two-armed robot."""
    return RobotState(two_arms)


def single(kind, limit, inside=''):
    """Return a robot with the joint ``j`` and a group of it."""
    model = load_robot(robot(joint('j', kind, 'a', 'b', inside, limit=limit)))
    return model, model.group_from_links('a', 'b')


@pytest.mark.parametrize(
    ('limit', 'default'),
    [
        ('lower="-1" upper="3"', 0.0),
        ('lower="1" upper="3"', 2.0),
        ('lower="1" upper="inf"', 1.0),
        ('lower="-inf" upper="-2"', -2.0),
        ('lower="-inf" upper="inf"', 0.0),
    ],
)
def test_the_default_position_is_zero_or_mid_range(limit, default):
    model, _ = single('prismatic', limit)
    assert model.default_positions().tolist() == [default]


def test_the_default_of_a_floating_joint_is_the_identity():
    model, _ = single('floating', '')
    assert model.default_positions().tolist() == [0, 0, 0, 0, 0, 0, 1]


def test_default_followers_agree_with_their_leaders():
    text = robot(
        joint('j', 'revolute', 'a', 'b'),
        joint('k', 'revolute', 'b', 'c', '<mimic joint="j" offset="0.5"/>'),
    )
    assert load_robot(text).default_positions().tolist() == [0.0, 0.5]


def test_a_state_of_another_size_is_refused(two_arms):
    with pytest.raises(DimensionMismatch):
        two_arms.with_mimic(np.zeros(3))


def test_a_leader_moves_its_follower(state):
    state.set_joint_positions({'grip': 0.03})
    assert state.joint_positions('grip_mirror').tolist() == [0.03]


def test_group_positions_move_followers_too(state):
    state.set_group_positions('hand', [0.02])
    assert state.joint_positions('grip_mirror').tolist() == [0.02]


def test_a_leader_wins_over_a_contradicting_follower_which_is_named(state):
    contradicting = state.set_joint_positions({'grip': 0.03, 'grip_mirror': 0.01})
    assert contradicting == ('grip_mirror',)
    assert state.joint_positions('grip_mirror').tolist() == [0.03]


def test_an_agreeing_follower_is_not_named(state):
    assert state.set_joint_positions({'grip': 0.03, 'grip_mirror': 0.03}) == ()


def test_a_follower_alone_moves_its_leader(state):
    state.set_joint_positions({'grip_mirror': 0.01})
    assert state.joint_positions('grip').tolist() == [0.01]


def test_other_joints_keep_their_values(state):
    state.set_joint_positions({'torso': 0.5})
    state.set_group_positions('left', [0.1, 0.2])
    assert state.joint_positions('torso').tolist() == [0.5]
    assert state.group_positions('left').tolist() == [0.1, 0.2]


def test_an_unknown_joint_changes_nothing(state):
    with pytest.raises(JointNotFound, match="'torso'"):
        state.set_joint_positions({'left_1': 0.5, 'torzo': 0.5})
    assert state.joint_positions('left_1').tolist() == [0.0]


def test_a_fixed_joint_cannot_be_set(state):
    with pytest.raises(JointNotFound, match='fixed'):
        state.set_joint_positions({'left_tool': 0.5})


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_value_that_is_not_finite_changes_nothing(state, value):
    with pytest.raises(RequestError, match='finite'):
        state.set_group_positions('left', [0.5, value])
    with pytest.raises(RequestError, match="'torso'"):
        state.set_joint_positions({'torso': value})
    assert not state.positions.any()


@pytest.mark.parametrize('values', [[0.5], [0.5, 0.5, 0.5], 0.5])
def test_a_group_takes_exactly_its_number_of_values(state, values):
    with pytest.raises(DimensionMismatch, match="'left'"):
        state.set_group_positions('left', values)


def test_a_joint_takes_exactly_its_number_of_values(state):
    with pytest.raises(DimensionMismatch, match="'torso'"):
        state.set_joint_positions({'torso': [0.1, 0.2]})


def test_positions_are_read_only(state):
    with pytest.raises(ValueError, match='read-only'):
        state.positions[0] = 1.0


def test_a_copy_is_independent(state):
    copy = state.copy()
    copy.set_joint_positions({'torso': 0.5})
    assert state.joint_positions('torso').tolist() == [0.0]


def test_a_link_moves_when_its_joints_move(state):
    before = state.link_transform('e')
    state.set_joint_positions({'torso': 0.25})
    np.testing.assert_allclose(state.link_transform('e')[:3, 3] - before[:3, 3], [0, 0, 0.25])


def test_an_unknown_link_is_an_error_with_the_nearest_name(state):
    with pytest.raises(FrameNotFound):
        state.link_transform('nowhere')


def test_links_of_one_body_have_a_rigid_offset(two_arms):
    offset = two_arms.rigid_offset('e', 'd')
    np.testing.assert_allclose(offset[:3, 3], [-0.1, 0, 0], atol=1e-15)


def test_links_of_two_bodies_have_none(two_arms):
    assert two_arms.rigid_offset('c', 'd') is None


def test_angles_without_limits_are_sampled_over_one_turn():
    model, group = single('continuous', '')
    assert model.sampling_bounds(group)[0].tolist() == [-np.pi]
    assert model.sampling_bounds(group)[1].tolist() == [np.pi]


@pytest.mark.parametrize(
    ('limit', 'lower', 'upper'),
    [
        ('lower="1" upper="inf"', 1.0, 1.0 + 2 * np.pi),
        ('lower="-inf" upper="1"', 1 - 2 * np.pi, 1.0),
    ],
)
def test_an_angle_with_one_limit_is_sampled_over_the_turn_beside_it(limit, lower, upper):
    model, group = single('revolute', limit)
    assert [float(bound[0]) for bound in model.sampling_bounds(group)] == [lower, upper]


def test_a_range_to_draw_from_replaces_missing_limits():
    lower, upper = finite_range([-np.inf, 4.0, -np.inf, -1.0], [np.inf, np.inf, -4.0, 2.0])
    assert lower.tolist() == [-np.pi, 4.0, -4.0 - TURN, -1.0]
    assert upper.tolist() == [np.pi, 4.0 + TURN, -4.0, 2.0]


@pytest.mark.parametrize('limit', ['', 'lower="0" upper="inf"'])
def test_a_translation_without_limits_cannot_be_sampled(limit):
    model, group = single('prismatic', limit)
    with pytest.raises(InvalidLimits, match='j '):
        model.sampling_bounds(group)


def test_samples_lie_within_limits_in_group_order(two_arms):
    group = two_arms.group('right_hand')
    rng = np.random.default_rng(7)
    samples = np.array([two_arms.sample(group, rng) for _ in range(300)])
    assert (samples >= group.lower).all()
    assert (samples <= group.upper).all()
    assert (np.ptp(samples, axis=0) > 0.9 * (group.upper - group.lower)).all()


def test_equal_generators_give_equal_samples(two_arms):
    group = two_arms.group('both')
    first, second = (two_arms.sample(group, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_group_may_be_sampled_by_its_name(two_arms):
    by_name = two_arms.sample('left', np.random.default_rng(3))
    group = two_arms.group('left')
    np.testing.assert_array_equal(by_name, two_arms.sample(group, np.random.default_rng(3)))


def test_arguments_of_a_wrong_type_are_refused(two_arms, state):
    for method, values in (
        (two_arms.read_group, ['left']),
        (two_arms.group_from_links, ['base', 'tip']),
        (two_arms.with_mimic, [np.zeros(two_arms.tree.nq)]),
        (two_arms.sampling_bounds, ['left']),
        (two_arms.sample, ['left', np.random.default_rng(3)]),
        (two_arms.require_joint, ['left']),
        (state.group_positions, ['left']),
        (state.set_group_positions, ['left', [0.0]]),
        (state.set_joint_positions, [{}]),
        (state.joint_positions, ['left']),
    ):
        for index in range(len(values)):
            with pytest.raises(InvalidOption):
                method(*values[:index], b'x', *values[index + 1 :])


def test_a_sampled_orientation_is_a_unit_quaternion():
    text = robot(joint('v', 'floating', 'a', 'b', limit=''))
    bounds = {'has_position_limits': True, 'min_position': -1, 'max_position': 1}
    limits = {'joint_limits': {f'v/trans_{axis}': bounds for axis in 'xyz'}}
    model = load_robot(text, joint_limits=limits)
    sample = model.sample(model.group_from_links('a', 'b'), np.random.default_rng(0))
    assert np.linalg.norm(sample[3:]) == pytest.approx(1.0)


def test_a_locked_joint_is_sampled_at_its_only_value():
    model, group = single('prismatic', 'lower="0.5" upper="0.5"')
    assert model.sample(group, np.random.default_rng(0)).tolist() == [0.5]


def test_a_robot_survives_pickling(two_arms):
    again = pickle.loads(pickle.dumps(two_arms))
    assert again.group('both').joint_names == two_arms.group('both').joint_names
    np.testing.assert_array_equal(again.default_positions(), two_arms.default_positions())


def test_robot_models_can_be_named_without_loading_pinocchio_or_coal():
    code = (
        'import sys, ssik_ros.model.robot_model, ssik_ros.model.robot_state\n'
        'sys.exit(any(m in sys.modules for m in ("pinocchio", "coal")))'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
