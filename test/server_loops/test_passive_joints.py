"""Passive joints from a stream of active ones: closed forms, one assembly mode, and never a wrong state."""

import math

from test.mechanisms.mechanisms import Delta, make_four_bar
from test.mechanisms.test_urdf_robot import GRIPPER, OPEN

import numpy as np
import pytest

from ssik_ros.mechanisms import from_urdf, load_mechanism
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.server.loops.passive_joints import PassiveJoints

MOTORS = ('motor1', 'motor2', 'motor3')


@pytest.fixture
def passive():
    followed = PassiveJoints(load_mechanism('delta'), 1e-3)
    followed.warm_up()
    return followed


def platform_of(followed):
    values = dict(zip(followed.names, followed.positions, strict=True))
    return np.array([values[f'platform_{n}'] for n in 'xyz'])


def test_nothing_is_known_before_every_motor_has_been_heard(passive):
    followed = passive.follow(['motor1', 'gripper', 'elbow1a_pitch'], [0.5, 1.0, 2.0])
    assert not followed.positions and 'motor2, motor3' in followed.problem
    followed = passive.follow(['motor2', 'motor3'], [0.5, 0.5])
    assert not followed.problem
    delta = Delta([], [], None, None)
    assert np.abs(platform_of(followed) - delta.position([0.5] * 3)).max() < 1e-7
    # One driver reports one motor; the last values of the other motors still count.
    followed = passive.follow(['motor1'], [0.6])
    assert np.abs(platform_of(followed) - delta.position([0.6, 0.5, 0.5])).max() < 1e-7
    assert not passive.follow(['motor1'], [float('nan')]).problem


def test_a_long_way_of_a_crank_stays_in_the_assembly_mode():
    """Four bars, from a crank at 0.3 to one at 3.3 in a single report: the closed form of the open branch."""
    robot, curve = from_urdf(GRIPPER, free_root=False), make_four_bar()
    robot.from_joint_state(OPEN.keys(), OPEN.values())
    passive = PassiveJoints(robot)
    passive.warm_up()
    for angle in (0.3, 3.3, 0.4):
        followed = passive.follow(['left_drive'], [angle])
        assert not followed.problem
        values = dict(zip(followed.names, followed.positions, strict=True))
        for side in ('left', 'right'):
            miss = values[f'{side}_swing'] - curve.rocker_angle(angle)
            assert abs(math.remainder(miss, 2 * math.pi)) < 1e-7, (angle, side)


def test_leaps_stay_in_the_assembly_mode(passive):
    delta, rng = Delta([], [], None, None), np.random.default_rng(3)
    for _ in range(25):
        position = rng.uniform([-0.08, -0.08, -0.5], [0.08, 0.08, -0.35])
        angles = delta.motor_angles(position)
        followed = passive.follow(MOTORS, angles)
        assert not followed.problem
        assert np.abs(platform_of(followed) - position).max() < 1e-7


def test_a_state_with_open_loops_is_none_and_leaves_no_trace():
    robot = load_mechanism('hexapod')
    passive = PassiveJoints(robot)
    passive.warm_up()
    legs = robot.active_joints
    home = [robot.initial_state[name] for name in legs]
    before = passive.follow(legs, home)
    # Short and long legs by turns: no pose of the platform has them all.
    refused = passive.follow(legs, [0.035, 0.08] * 3)
    assert not refused.positions and not refused.names
    assert 'cannot be closed' in refused.problem
    after = passive.follow(legs, home)
    assert not after.problem
    assert np.allclose(after.positions, before.positions, atol=1e-7)


def test_a_joint_a_little_outside_its_limits_is_shown_at_them():
    robot = load_mechanism('hexapod')
    passive = PassiveJoints(robot, 1e-3)
    passive.warm_up()
    slides = [robot.initial_state[name] for name in robot.active_joints]
    upper = 0.08
    low = passive.follow(robot.active_joints, [upper + 5e-4, *slides[1:]])
    assert low.positions and 'leg1_slide' in low.problem
    assert dict(zip(low.names, low.positions, strict=True))['leg1_slide'] == upper
    far = passive.follow(['leg1_slide'], [upper + 5e-3])
    assert not far.positions and 'leg1_slide' in far.problem


def test_without_active_joints_everything_that_is_reported_is_held():
    urdf, loops = mechanism_files('delta')
    start = load_mechanism('delta').initial_state
    robot = from_urdf(urdf, loops=loops, free_root=False)
    robot.active_joints = ()
    passive = PassiveJoints(robot)
    assert 'No joint' in passive.follow(['else'], [0.0]).problem
    followed = passive.follow(['motor1', 'motor2'], [start['motor1'], start['motor2']])
    assert not followed.problem and len(followed.names) == 21
