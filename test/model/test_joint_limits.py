"""Effective limits: limit, safety_controller, joint_limits.yaml, mimic followers."""

from test.model.small_robots import joint, robot

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from ssik_ros.errors import ConfigError
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.loader import load_robot

INF = float('inf')


def one_joint(kind='revolute', inside='', limit='lower="-1" upper="1"'):
    """Return a robot with the joint ``j``."""
    return robot(joint('j', kind, 'a', 'b', inside, limit=limit))


def limits_of(model, name='j'):
    """Return the effective limits of a scalar joint."""
    start = model.tree.idx_q[model.tree.joint(name)]
    return float(model.tree.lower[start]), float(model.tree.upper[start])


def with_file(entry, **values):
    """Return a robot with a joint_limits.yaml for joint ``j``."""
    return load_robot(one_joint(**values), joint_limits={'joint_limits': {'j': entry}})


def test_soft_limits_and_limits_hold_together():
    safety = '<safety_controller soft_lower_limit="-2" soft_upper_limit="0.5" k_velocity="1"/>'
    assert limits_of(load_robot(one_joint(inside=safety))) == (-1.0, 0.5)


def test_a_soft_limit_that_is_not_written_does_not_bind():
    safety = '<safety_controller soft_lower_limit="-0.5" k_velocity="1"/>'
    assert limits_of(load_robot(one_joint(inside=safety))) == (-0.5, 1.0)


def test_a_missing_end_of_a_limit_is_zero():
    assert limits_of(load_robot(one_joint(limit='upper="2"'))) == (0.0, 2.0)


def test_a_limit_without_ends_is_kept_and_said():
    model = load_robot(one_joint(limit='effort_only="1"'))
    assert limits_of(model) == (0.0, 0.0)
    assert 'cannot move' in model.warnings[0]


def test_lower_may_equal_upper():
    assert limits_of(load_robot(one_joint(limit='lower="0.5" upper="0.5"'))) == (0.5, 0.5)


@pytest.mark.parametrize('limit', ['', 'lower="-1" upper="1"', 'lower="-inf" upper="inf"'])
def test_a_continuous_joint_has_no_limits_whatever_is_written(limit):
    assert limits_of(load_robot(one_joint('continuous', limit=limit))) == (-INF, INF)


def test_a_prismatic_joint_without_limits_is_legal():
    assert limits_of(load_robot(one_joint('prismatic', limit=''))) == (-INF, INF)


@pytest.mark.parametrize('limit', ['lower="-inf" upper="inf"', 'lower="-1e16" upper="1e16"'])
def test_limits_beyond_all_reason_are_none(limit):
    assert limits_of(load_robot(one_joint(limit=limit))) == (-INF, INF)


def test_a_velocity_limit_of_zero_is_none_and_said():
    model = load_robot(one_joint().replace('velocity="1"', 'velocity="0"'))
    assert model.tree.velocity[0] == INF
    assert 'velocity limit 0' in model.warnings[0]


def test_a_file_tightens_limits():
    entry = {'has_position_limits': True, 'min_position': -0.5, 'max_position': 0.25}
    assert limits_of(with_file(entry)) == (-0.5, 0.25)


def test_a_file_may_give_integers_and_only_one_end():
    assert limits_of(with_file({'has_position_limits': True, 'max_position': 0})) == (-1.0, 0.0)


def test_a_file_limits_a_continuous_joint_which_is_revolute_then():
    entry = {'has_position_limits': True, 'min_position': -7, 'max_position': 7}
    model = with_file(entry, kind='continuous')
    assert limits_of(model) == (-7.0, 7.0)
    assert model.tree.kinds[0] == JointKind.REVOLUTE


def test_a_file_tightens_the_velocity():
    assert with_file({'has_velocity_limits': True, 'max_velocity': 0.5}).tree.velocity[0] == 0.5


def test_a_rounded_copy_of_the_limits_is_not_wider():
    entry = {'has_position_limits': True, 'min_position': -1.00005, 'max_position': 1.00005}
    assert limits_of(with_file(entry)) == (-1.0, 1.0)


def test_a_wider_file_wins_with_one_warning_that_has_both_ranges(tmp_path):
    path = tmp_path / 'joint_limits.yaml'
    path.write_text(
        'joint_limits:\n  j:\n    min_position: -2\n    max_position: 1\n'
        '    has_velocity_limits: true\n    max_velocity: 3.0\n'
    )
    model = load_robot(one_joint(), joint_limits=path)
    assert limits_of(model) == (-2.0, 1.0)
    assert model.tree.velocity[0] == 3.0
    (warning,) = model.warnings
    assert warning.startswith(
        f'{path}:2: joint_limits.j: [-2, 1] counts, which is wider than [-1, 1]'
    )
    assert 'max_velocity 3 counts' in warning


FAULTS = {
    'no range': ({'min_position': 0.5, 'max_position': -0.5}, 'no range', (-1.0, 1.0), 1.0),
    'another range': ({'min_position': 2, 'max_position': 3}, 'wider', (2.0, 3.0), 1.0),
    'a negative velocity': (
        {'has_velocity_limits': True, 'max_velocity': -0.5},
        '',
        (-1.0, 1.0),
        0.5,
    ),
    'no velocity': (
        {'has_velocity_limits': True, 'max_velocity': 0},
        'not used',
        (-1.0, 1.0),
        1.0,
    ),
    'a word': ({'min_position': 'low', 'max_position': 0.5}, "'low', not a num", (-1.0, 0.5), 1.0),
    'not a number': ({'min_position': float('nan')}, 'nan', (-1.0, 1.0), 1.0),
    'a whole number beyond all floats': (
        {'min_position': -(10**400)},
        'not a number',
        (-1.0, 1.0),
        1.0,
    ),
    'a truth value': ({'min_position': True}, 'not a number', (-1.0, 1.0), 1.0),
    'a misspelt key': ({'min_postion': -0.5}, "did you mean 'min_position'", (-1.0, 1.0), 1.0),
    'no mapping': ('tight', 'not a mapping', (-1.0, 1.0), 1.0),
    'switched off': ({'has_position_limits': False}, 'as in MoveIt', (-1.0, 1.0), 1.0),
    'off, but written': (
        {'has_position_limits': False, 'max_position': 0.5},
        'although has_position_limits is false',
        (-1.0, 0.5),
        1.0,
    ),
    'no acceleration': (
        {'has_acceleration_limits': True, 'max_acceleration': 0},
        'not above zero',
        (-1.0, 1.0),
        1.0,
    ),
}


@pytest.mark.parametrize('case', FAULTS)
def test_a_fault_of_a_file_that_moveit_accepts_is_one_warning(case):
    entry, message, limits, velocity = FAULTS[case]
    model = with_file(entry)
    assert limits_of(model) == limits
    assert model.tree.velocity[0] == velocity
    assert len(model.warnings) == bool(message)
    assert message in ''.join(model.warnings)


def test_keys_and_joints_of_others_do_not_disturb():
    limits = {
        'default_velocity_scaling_factor': 0.1,
        'joint_limits': {'j': {'has_acceleration_limits': False, 'max_acceleration': 0}},
    }
    assert load_robot(one_joint(), joint_limits=limits).warnings == ()


def test_a_joint_that_the_robot_lacks_is_said_with_the_nearest_one():
    model = load_robot(one_joint(), joint_limits={'joint_limits': {'jj': {}}})
    assert "'jj'" in model.warnings[0]


def test_a_file_may_lie_below_the_parameter_names_of_ros():
    entry = {'j': {'has_position_limits': True, 'max_position': 0.5}}
    nested = {'/**': {'ros__parameters': {'robot_description_planning': {'joint_limits': entry}}}}
    assert limits_of(load_robot(one_joint(), joint_limits=nested)) == (-1.0, 0.5)


@pytest.mark.parametrize(
    'above',
    [['/**/move_group'], ['move_group'], ['arm', 'move_group'], ['robot_description_planning']],
)
def test_a_file_may_lie_below_any_node_as_a_kinematics_yaml_may(above):
    nested = {'joint_limits': {'j': {'max_position': 0.5}}}
    if 'robot_description_planning' not in above:
        nested = {'ros__parameters': {'robot_description_planning': nested}}
    for name in reversed(above):
        nested = {name: nested}
    model = load_robot(one_joint(), joint_limits=nested)
    assert (limits_of(model), model.warnings) == ((-1.0, 0.5), ())


@pytest.mark.parametrize('content', [{'default_velocity_scaling_factor': 0.1}, {'arm': 3}])
def test_a_file_without_joint_limits_is_said(content):
    model = load_robot(one_joint(), joint_limits=content)
    assert limits_of(model) == (-1.0, 1.0)
    assert "no key 'joint_limits'" in model.warnings[0]


def test_of_a_key_that_stands_twice_the_last_value_counts(tmp_path):
    path = tmp_path / 'joint_limits.yaml'
    path.write_text('joint_limits:\n  j: {max_position: 0.2}\n  j: {max_position: !degrees 30}\n')
    model = load_robot(one_joint(), joint_limits=path)
    assert limits_of(model) == (-1.0, np.radians(30.0))
    assert model.warnings == (
        f"{path}:3: key 'j' stands already in line 2; the value of this line counts.",
    )


def test_limits_may_come_from_a_file_on_disk(tmp_path):
    path = tmp_path / 'joint_limits.yaml'
    path.write_text('joint_limits: {j: {has_position_limits: true, max_position: 0.5}}')
    assert limits_of(load_robot(one_joint(), joint_limits=path)) == (-1.0, 0.5)


def test_a_broken_file_on_disk_is_refused(tmp_path):
    path = tmp_path / 'joint_limits.yaml'
    path.write_text('joint_limits:\n\t- x')
    with pytest.raises(ConfigError, match=r'line 2.*YAML'):
        load_robot(one_joint(), joint_limits=path)


def leader_and_follower(multiplier=1.0, offset=0.0, limit='lower="-1" upper="1"', kind='revolute'):
    """Return a robot where k follows j."""
    mimic = f'<mimic joint="j" multiplier="{multiplier}" offset="{offset}"/>'
    return robot(joint('j', kind, 'a', 'b'), joint('k', kind, 'b', 'c', mimic, limit=limit))


def test_a_follower_s_limits_tighten_its_leader():
    model = load_robot(leader_and_follower(-2.0, 0.5, 'lower="-0.5" upper="1"'))
    assert limits_of(model) == (-0.25, 0.5)


def test_a_follower_s_velocity_limit_tightens_its_leader():
    assert load_robot(leader_and_follower(-4.0)).tree.velocity[0] == 0.25


def test_a_chain_of_followers_tightens_the_first_leader():
    text = robot(
        joint('j', 'revolute', 'a', 'b'),
        joint('k', 'revolute', 'b', 'c', '<mimic joint="j" multiplier="2" offset="0.1"/>'),
        joint('l', 'revolute', 'c', 'd', '<mimic joint="k" multiplier="2"/>'),
    )
    model = load_robot(text)
    assert limits_of(model) == pytest.approx((-0.3, 0.2))
    assert model.tree.leaders.tolist() == [-1, 0, 0]
    assert model.tree.multipliers.tolist() == [1.0, 2.0, 4.0]
    assert model.tree.offsets.tolist() == [0.0, 0.1, 0.2]


@pytest.mark.parametrize('limit', ['lower="-1" upper="1"', 'effort_only="1"'])
def test_followers_whose_limits_leave_nothing_do_not_bind_their_leader(limit):
    model = load_robot(leader_and_follower(1.0, 5.0, limit))
    assert limits_of(model) == (-1.0, 1.0)
    assert "'k' leave no range to its leader 'j'" in model.warnings[-1]


def test_a_follower_held_outside_its_limits_is_said():
    model = load_robot(leader_and_follower(0.0, 5.0))
    assert limits_of(model, 'k') == (5.0, 5.0)
    assert "'k' is held at 5" in model.warnings[0]


def test_a_follower_held_by_a_zero_multiplier_stays_at_its_offset():
    model = load_robot(leader_and_follower(0.0, 0.5))
    assert limits_of(model, 'k') == (0.5, 0.5)
    assert limits_of(model) == (-1.0, 1.0)


def test_followers_of_a_continuous_joint_may_have_limits():
    text = robot(
        joint('j', 'continuous', 'a', 'b', limit=''),
        joint('k', 'revolute', 'b', 'c', '<mimic joint="j" multiplier="0.5"/>'),
    )
    assert limits_of(load_robot(text)) == (-2.0, 2.0)


@settings(deadline=None)
@given(
    multiplier=st.floats(-3.0, 3.0).filter(lambda m: abs(m) > 1e-3),
    offset=st.floats(-0.9, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_leader_within_limits_never_puts_its_follower_outside(multiplier, offset, seed):
    model = load_robot(leader_and_follower(multiplier, offset))
    tree = model.tree
    draws = np.random.default_rng(seed).uniform(tree.lower[0], tree.upper[0], 20)
    for value in (*draws, tree.lower[0], tree.upper[0]):
        follower = model.with_mimic(np.array([value, 0.0]))[1]
        assert tree.lower[1] <= follower <= tree.upper[1]
        assert -1.0 - 1e-12 <= follower <= 1.0 + 1e-12
