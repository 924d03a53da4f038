"""The groups that are served, and the table that lists them."""

import logging

from test.server.served_robots import FOUR_AXES, joint, robot_text, serve, torso_robot

import pytest

from ssik_ros.errors import FrameNotFound, GroupNotFound, ModelError
from ssik_ros.model.loader import load_robot
from ssik_ros.server.groups.group_choice import choose_groups, find_only_tip
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.start_table import HEAD, make_start_table
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

CHAIN = load_robot(robot_text(*FOUR_AXES, joint('lens', 'fixed', 'tip', 'camera')))
TORSO_ALONE = load_robot(torso_robot().urdf_xml)


def names(groups):
    return [group.name for group in groups]


def test_without_names_every_group_of_the_srdf_is_served():
    assert names(choose_groups(torso_robot(), [])) == list(torso_robot().groups)


def test_named_groups_are_served_in_their_order():
    assert names(choose_groups(torso_robot(), ['right', 'left'])) == ['right', 'left']


def test_an_unknown_group_is_named_with_the_nearest():
    with pytest.raises(GroupNotFound, match=r"'lfet'.*Did you mean 'left'\?"):
        choose_groups(torso_robot(), ['lfet'])


def test_base_and_tip_are_not_used_beside_an_srdf_and_that_is_said(caplog):
    groups = choose_groups(torso_robot(), ['left'], base='pelvis', tip='right_tool')
    assert names(groups) == ['left'] and groups[0].base_link == 'chest'
    assert 'not used' in caplog.text


def test_without_srdf_there_is_one_group_from_base_to_tip(caplog):
    with caplog.at_level(logging.WARNING):
        (group,) = choose_groups(
            TORSO_ALONE, [], base='chest', tip='left_camera', name='manipulator'
        )
    assert (group.name, group.base_link, group.tips) == ('manipulator', 'chest', ('left_camera',))
    assert len(group.joint_names) == 6 and not caplog.records


def test_without_srdf_a_named_group_that_cannot_be_is_told(caplog):
    (group,) = choose_groups(CHAIN, ['arm', 'manipulator'], name='manipulator')
    assert group.name == 'manipulator'
    assert "'arm'" in caplog.text and "'manipulator'" not in caplog.text


def test_without_base_the_root_link_is_it():
    (group,) = choose_groups(TORSO_ALONE, [], tip='left_tool', name='m')
    assert group.base_link == 'pelvis'
    assert group.joint_names[:2] == ('lift', 'torso')


def test_the_only_last_link_is_found_where_there_is_one_branch():
    (group,) = choose_groups(CHAIN, [], name='m')
    assert group.tips == (find_only_tip(CHAIN),) == ('camera',)


def test_of_rigid_ends_any_one_is_taken_that_the_last_joint_carries():
    urdf = robot_text(
        *FOUR_AXES,
        joint('sign', 'fixed', 'l0', 'sign'),
        joint('lens', 'fixed', 'l4', 'camera'),
    )
    assert find_only_tip(load_robot(urdf)) in ('tip', 'camera')


def test_several_branches_are_told_with_their_ends():
    with pytest.raises(ModelError, match=r'left_camera.*right_camera') as caught:
        choose_groups(TORSO_ALONE, [], name='m')
    assert 'tip_link' in str(caught.value)


def test_what_sits_on_a_link_in_between_is_no_branch():
    urdf = robot_text(*FOUR_AXES, joint('mount', 'fixed', 'l2', 'sensor'))
    assert find_only_tip(load_robot(urdf)) == 'tip'


def test_a_robot_that_does_not_move_has_no_tip():
    still = load_robot(robot_text(joint('weld', 'fixed', 'l0', 'tip')))
    with pytest.raises(ModelError, match='none that a joint moves'):
        choose_groups(still, [], name='m')
    with pytest.raises(ModelError):
        choose_groups(still, [], base='l0', tip='tip', name='m')


@pytest.mark.parametrize('links', [{'base': 'l00', 'tip': 'tip'}, {'base': 'l0', 'tip': 'tpi'}])
def test_unknown_links_are_told(links):
    with pytest.raises(FrameNotFound, match='Did you mean'):
        choose_groups(CHAIN, [], name='m', **links)


# The table


def test_the_table_has_a_line_for_each_group():
    server = serve(torso_robot(), left={'timeout': 0.25})
    lines = make_start_table(server).splitlines()
    assert lines[0].split('  ')[0].strip() == HEAD[0]
    assert [line.split()[0] for line in lines[1:]] == list(server.groups)
    assert 'chest -> left_tool' in lines[1] and '0.25' in lines[1]
    assert 'left_tool, right_tool' in make_start_table(server)
    assert all(line == line.rstrip() for line in lines)
    # Columns are aligned with their heads.
    for title in HEAD[:-1]:
        column = lines[0].index(title)
        assert all(line[column - 1 : column] in ('', ' ') for line in lines)


def test_the_table_says_where_there_is_no_solver():
    robot = torso_robot()
    broken = {'left': GroupKinematics('left', solver='ssik_ros/NoSuch')}
    table = make_start_table(RobotServer(robot, [robot.group('left')], broken))
    assert ' none ' in table and 'ssik_ros/NoSuch' in table
