"""The group that counts as the arm of a robot with an SRDF, if nobody names one."""

from test.model.small_robots import joint, robot

import pytest

from ssik_ros import load_robot
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.named_robot import NamedRobot

ARM_AND_JAWS = robot(
    joint('lift', 'prismatic', 'a', 'b', axis='0 0 1'),
    joint('shoulder', 'revolute', 'b', 'c', axis='0 1 0'),
    joint('elbow', 'revolute', 'c', 'd', '<origin xyz="0 0 0.3"/>', axis='0 1 0'),
    joint('wrist', 'revolute', 'd', 'e', '<origin xyz="0 0 0.3"/>', axis='1 0 0'),
    joint('flange', 'fixed', 'e', 'f', limit=''),
    joint('left_jaw', 'prismatic', 'e', 'g', axis='0 1 0', limit='lower="0" upper="0.04"'),
    joint('right_jaw', 'prismatic', 'e', 'h', axis='0 -1 0', limit='lower="0" upper="0.04"'),
)
"""a -lift- b -shoulder- c -elbow- d -wrist- e = f; e -left_jaw- g; e -right_jaw- h."""
ARM = '<group name="arm"><chain base_link="b" tip_link="f"/></group>'
RAIL = '<group name="rail"><joint name="lift"/></group>'
JAWS = '<group name="jaws"><joint name="left_jaw"/><joint name="right_jaw"/></group>'
LEFT_JAW = '<group name="left"><joint name="left_jaw"/></group>'
TOOL = '<group name="tool"><link name="f"/></group>'
ARM_WITH_JAWS = '<group name="both"><group name="arm"/><group name="jaws"/></group>'
WRIST = '<group name="wrist_only"><joint name="wrist"/></group>'
EFFECTOR = '<end_effector name="{0}" parent_link="d" group="{0}"/>'


def named(*elements, kinematics=None):
    """Return the robot with an SRDF of these elements."""
    srdf = f'<robot name="r">{"".join(elements)}</robot>'
    return NamedRobot(load_robot(ARM_AND_JAWS, srdf), kinematics)


@pytest.mark.parametrize(
    'elements',
    [
        (ARM, JAWS),
        (JAWS, ARM),
        (ARM, LEFT_JAW),
        (ARM, JAWS, LEFT_JAW, ARM_WITH_JAWS),
        (ARM, TOOL),
    ],
)
def test_no_hand_is_taken_for_the_arm(elements):
    assert [group.name for group in named(*elements).likely_groups()] == ['arm']


def test_if_all_groups_move_a_hand_all_are_possible():
    robot_of_two = named(ARM, WRIST, EFFECTOR.format('wrist_only'))
    assert len(robot_of_two.likely_groups()) == 2


def test_the_group_of_an_end_effector_is_no_arm():
    forearm = '<group name="upper"><joint name="shoulder"/><joint name="elbow"/></group>'
    robot_of_two = named(forearm, WRIST)
    assert len(robot_of_two.likely_groups()) == 2
    robot_of_two = named(forearm, WRIST, EFFECTOR.format('wrist_only'))
    assert [group.name for group in robot_of_two.likely_groups()] == ['upper']


def test_an_arm_on_a_rail_is_no_hand():
    assert {group.name for group in named(RAIL, ARM).likely_groups()} == {'rail', 'arm'}


def test_a_hand_alone_is_what_the_robot_has():
    assert [group.name for group in named(JAWS, EFFECTOR.format('jaws')).likely_groups()] == [
        'jaws'
    ]


@pytest.mark.parametrize('names', [(), ('arm', 'jaws'), ('arm', 'jaws', 'left')])
def test_a_kinematics_file_may_name_the_hand_too(tmp_path, names):
    path = tmp_path / 'kinematics.yaml'
    solver = 'kinematics_solver: kdl_kinematics_plugin/KDLKinematicsPlugin'
    path.write_text('\n'.join(f'{name}: {{{solver}}}' for name in names) or '{}')
    assert [g.name for g in named(ARM, JAWS, LEFT_JAW, kinematics=path).likely_groups()] == ['arm']


def test_a_kinematics_file_chooses_between_arms(tmp_path):
    path = tmp_path / 'kinematics.yaml'
    path.write_text('rail: {kinematics_solver: kdl_kinematics_plugin/KDLKinematicsPlugin}')
    assert [g.name for g in named(RAIL, ARM, kinematics=path).likely_groups()] == ['rail']


def test_a_robot_without_groups_asks_for_both_ends_of_its_arm():
    with pytest.raises(InvalidOption, match=r'has no group.*from_urdf'):
        NamedRobot(load_robot(ARM_AND_JAWS), None).arm()


def test_a_robot_whose_only_group_has_two_tips_asks_for_both_ends_of_its_arm():
    with pytest.raises(InvalidOption, match=r'has no group with one tip.*from_urdf'):
        named(JAWS).arm()
