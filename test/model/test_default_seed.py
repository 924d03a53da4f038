"""The state that a request without a seed starts from."""

import math

import numpy as np
import pytest

from ssik_ros import load_robot, Manipulator
from ssik_ros.arrays import wrap_angle, wrap_angles
from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.model.default_seed import default_seed, default_state

URDF = """<robot name="r">{links}{joints}</robot>"""


def robot_with(limits, srdf_states=''):
    links = ''.join(f'<link name="l{k}"/>' for k in range(len(limits) + 1))
    joints = ''.join(
        f'<joint name="j{k}" type="{"continuous" if limit is None else "revolute"}">'
        f'<parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>'
        + (
            ''
            if limit is None
            else f'<limit lower="{limit[0]}" upper="{limit[1]}" effort="1" velocity="1"/>'
        )
        + '</joint>'
        for k, limit in enumerate(limits)
    )
    srdf = (
        f'<robot name="r"><group name="arm"><chain base_link="l0" tip_link="l{len(limits)}"/></group>'
        f'{srdf_states}</robot>'
    )
    return load_robot(URDF.format(links=links, joints=joints), srdf)


def state(name, **values):
    inner = ''.join(f'<joint name="{joint}" value="{value}"/>' for joint, value in values.items())
    return f'<group_state name="{name}" group="arm">{inner}</group_state>'


def test_without_a_named_posture_joints_are_in_the_middle_of_their_limits():
    robot = robot_with([(-3.0, -1.0), (-0.5, 3.5), None])
    assert default_seed(robot, robot.group('arm')) == pytest.approx([-2.0, 1.5, 0.0])


def test_a_middle_beyond_half_a_turn_is_turned_next_to_zero_where_the_limits_allow_it():
    robot = robot_with([(0.0, 4.0 * math.pi), (5.0, 7.0), (5.0, 6.0)])
    assert default_seed(robot, robot.group('arm')) == pytest.approx([0.0, 6.0, 5.5])


@pytest.mark.parametrize('names', [('home', 'Ready'), ('ready', 'home')])
def test_ready_wins_over_home_in_any_order_and_spelling(names):
    values = {'home': 0.25, 'ready': 0.5}
    states = ''.join(state(name, j0=values[name.lower()]) for name in names)
    robot = robot_with([(-3.0, 1.0), (-1.0, 3.0)], states)
    assert default_seed(robot, robot.group('arm')) == pytest.approx([0.5, 1.0])


def test_a_posture_outside_the_limits_is_brought_inside():
    robot = robot_with([(-1.0, 1.0)], state('home', j0=2.0))
    assert default_seed(robot, robot.group('arm')) == pytest.approx([1.0])


def test_other_postures_are_no_seeds():
    robot = robot_with([(-1.0, 1.0)], state('stowed', j0=0.9))
    assert default_seed(robot, robot.group('arm')) == pytest.approx([0.0])


def test_followers_are_where_their_leaders_put_them():
    robot = load_named('panda').robot
    left, right = (
        default_state(robot)[robot.tree.idx_q[robot.tree.joint(f'panda_finger_joint{k}')]]
        for k in (1, 2)
    )
    assert left == right == pytest.approx(0.02)


def test_neutral_of_an_arm_is_the_seed_and_belongs_to_the_caller():
    arm = Manipulator.from_prebuilt('panda')
    expected = arm.robot.named_state(arm.group, 'ready')
    assert (arm.neutral == expected).all()
    arm.neutral[:] = 9.0
    assert (arm.neutral == expected).all()
    assert np.isfinite(arm.solve(arm.fk(expected))[0].q).all()


@pytest.mark.parametrize(
    ('angle', 'wrapped'),
    [
        (math.pi, math.pi),
        (-math.pi, -math.pi),
        (1e-300, 1e-300),
        (math.nextafter(math.pi, 4.0), -math.pi),
        (6.0, 6.0 - 2.0 * math.pi),
    ],
)
def test_an_angle_is_wrapped_between_both_half_turns(angle, wrapped):
    assert wrap_angle(angle) == pytest.approx(wrapped, rel=1e-15)
    assert math.copysign(1.0, wrap_angle(angle)) == math.copysign(1.0, wrapped)
    assert wrap_angles(np.array([angle]))[0] == pytest.approx(wrapped, rel=1e-15)
