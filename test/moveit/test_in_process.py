"""The Python side of a C++ host: the groups that it opens, the arrays that it shares, and its calls."""

import logging
from pathlib import Path

import numpy as np
import pytest

from ssik_ros.errors import InvalidParameter, SolverError
from ssik_ros.model.loader import load_robot
from ssik_ros.moveit.in_process import APPROXIMATE, LOCK_REDUNDANT, open_group, send_log
from ssik_ros.moveit.kinematics_base import NO_IK_SOLUTION, SUCCESS

CONFIG = (
    Path(__file__).resolve().parents[2] / 'config' / 'robots' / 'panda_moveit_config' / 'config'
)
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
OTHER = np.array([1.2, 0.4, -0.9, -1.3, 0.6, 2.1, -0.5])
REFUSED = -1
FORK = """
<robot name="fork"><link name="base"/><link name="trunk"/><link name="left"/><link name="right"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="trunk"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="up" type="prismatic"><parent link="trunk"/><child link="left"/><origin xyz="0.3 0.2 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="down" type="prismatic"><parent link="trunk"/><child link="right"/><origin xyz="0.3 -0.2 0"/>
<axis xyz="0 0 -1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>
"""
ARM = """
<robot name="arm"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<joint name="one" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="two" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="three" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>
"""
ARM_SRDF = """
<robot name="arm"><group name="ends"><joint name="one"/><joint name="three"/></group></robot>
"""
FORK_SRDF = """
<robot name="fork"><group name="both"><joint name="turn"/><joint name="up"/><joint name="down"/></group>
</robot>
"""


def turn(angle):
    """Return the rotation (2, 2) in the plane."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def open_panda(**parameters):
    return open_group(
        (CONFIG / 'panda.urdf').read_text(),
        (CONFIG / 'panda.srdf').read_text(),
        'panda_arm',
        'panda_link0',
        ['panda_link8'],
        0.1,
        parameters,
        'robot_description_kinematics.panda_arm',
    )


@pytest.fixture(scope='module')
def panda():
    return open_panda(kinematics_solver='ssik_ros/PoseIK')


@pytest.fixture
def channel(panda):
    made = panda.open_channel()
    made.poses[:] = panda.forward(['panda_link8'], OTHER)
    made.seed[:] = READY
    return made


def reaches(panda, channel):
    return np.allclose(panda.forward(['panda_link8'], channel.solution), channel.poses, atol=2e-3)


def search_by(channel, options=0, is_limited=False, redundancy=None, accepts=None, cost=None):
    return channel.search_by(1.0, options, is_limited, False, redundancy, accepts, cost)


def test_values_are_read_as_in_a_file():
    assert open_panda(kinematics_solver_timeout='0.2').timeout == 0.2
    with pytest.raises(InvalidParameter, match=r'robot_description_kinematics.panda_arm.epsilom'):
        open_panda(epsilom='1.0e-4')
    with pytest.raises(InvalidParameter, match='epsilon'):
        open_panda(epsilon='much')


def test_a_solver_that_does_not_serve_the_group_is_refused():
    with pytest.raises(SolverError, match='position_only_ik'):
        open_panda(kinematics_solver='ssik_ros/Analytic', position_only_ik='true')


FIXED_SRDF = (
    '<robot name="panda"><group name="flange"><joint name="panda_joint8"/></group></robot>'
)


@pytest.mark.parametrize('solver', ['ssik_ros/Auto', 'ssik_ros/PoseIK', 'ssik_ros/Analytic'])
def test_a_group_without_a_moving_joint_is_refused_by_name(solver):
    urdf = (CONFIG / 'panda.urdf').read_text()
    with pytest.raises(SolverError, match=r"Group 'flange' has no moving joint \(panda_joint8\)"):
        open_group(urdf, FIXED_SRDF, 'flange', '', [], 0.1, {'kinematics_solver': solver}, 'here')


def test_an_arm_with_a_hand_takes_poses_of_the_hands_mount():
    """MoveIt names the last link of every group, here a finger; the node's rule holds for both."""
    urdf, srdf = (CONFIG / 'panda.urdf').read_text(), (CONFIG / 'panda.srdf').read_text()
    node_tips = load_robot(urdf, srdf).group('panda_arm_hand').tips
    named = ['panda_rightfinger']
    opened = open_group(urdf, srdf, 'panda_arm_hand', 'panda_link0', named, 0.1, {}, 'here')
    assert opened.tip_frames == node_tips == ('panda_link8',)


def test_a_link_that_is_rigid_with_the_mount_is_taken_as_the_tip():
    urdf, srdf = (CONFIG / 'panda.urdf').read_text(), (CONFIG / 'panda.srdf').read_text()
    named = ['panda_hand']
    opened = open_group(urdf, srdf, 'panda_arm_hand', 'panda_link0', named, 0.1, {}, 'here')
    assert opened.tip_frames == ('panda_hand',)


def test_a_plain_request_is_solved_in_the_shared_arrays(panda, channel):
    assert channel.search(30.0) == SUCCESS
    assert reaches(panda, channel)


def test_a_refused_candidate_is_not_offered_again(panda, channel):
    seen = []

    def accept(q):
        seen.append(q.copy())
        return SUCCESS if len(seen) == 2 else REFUSED

    assert search_by(channel, accepts=accept) == SUCCESS
    assert len(seen) == 2
    assert np.abs(seen[0] - seen[1]).max() > 1e-3
    assert np.array_equal(seen[1], channel.solution)
    assert reaches(panda, channel)


def test_an_error_of_a_callback_reaches_the_host(channel):
    def fail(q):
        raise KeyError('of the host')

    with pytest.raises(KeyError):
        search_by(channel, accepts=fail)
    with pytest.raises(KeyError):
        search_by(channel, cost=fail)
    assert channel.search(30.0) == SUCCESS


def test_consistency_limits_hold(panda, channel):
    channel.seed[:] = OTHER + 0.05
    channel.limits[:] = 0.2
    assert search_by(channel, is_limited=True) == SUCCESS
    assert (np.abs(channel.solution - channel.seed) <= 0.2).all()
    channel.limits[:] = 1e-4
    assert search_by(channel, is_limited=True) != SUCCESS


def test_redundant_joints_are_held(panda, channel):
    redundancy = ((2,), (0.1,))
    assert search_by(channel, LOCK_REDUNDANT, redundancy=redundancy) == SUCCESS
    assert channel.solution[2] == pytest.approx(READY[2], abs=1e-12)
    assert reaches(panda, channel)
    assert channel.search(30.0) == SUCCESS
    with pytest.raises(SolverError):
        search_by(channel, LOCK_REDUNDANT, redundancy=((9,), (0.1,)))


def test_an_approximate_solution_says_that_it_is_one(channel):
    channel.poses[0, 0, 3] = 5.0
    assert channel.search(30.0) == NO_IK_SOLUTION
    assert channel.reason()
    assert not channel.is_approximate()
    assert search_by(channel, APPROXIMATE) == SUCCESS
    assert channel.is_approximate()


def open_fork(group, tips):
    return open_group(FORK, FORK_SRDF, group, '', tips, 0.1, {}, 'here')


def test_a_group_of_several_tips_keeps_them_where_one_is_named():
    fork = open_fork('both', ['right'])
    assert sorted(fork.tip_frames) == ['left', 'right']
    channel = fork.open_channel()
    values = np.array([0.4, 0.3, -0.2])
    channel.poses[:] = fork.forward(fork.tip_frames, values)
    assert channel.search(30.0) == SUCCESS
    assert np.allclose(channel.solution, values, atol=2e-3)


def test_the_state_counts_where_other_joints_move_the_tips():
    """The middle joint of three is not in the group."""
    assert not open_fork('both', []).needs_state
    arm = open_group(ARM, ARM_SRDF, 'ends', '', [], 0.1, {'position_only_ik': 'true'}, 'here')
    assert arm.needs_state
    assert arm.state_names == ('one', 'two', 'three')
    channel, bend = arm.open_channel(), 0.8
    channel.state[1] = bend
    # The tip with the first joint at a and the second at b, when all links lie in one plane.
    first, reach = 0.5, np.array([0.3, 0.0])
    channel.poses[0, :2, 3] = turn(first) @ (reach + turn(bend) @ reach)
    channel.poses[0, :3, :3] = np.eye(3)
    channel.poses[0, 3, 3] = 1.0
    assert channel.search_by(1.0, 0, False, True, None, None, None) == SUCCESS
    assert channel.solution[0] == pytest.approx(first, abs=5e-3)


def test_what_is_logged_reaches_the_host():
    heard = []
    logger = logging.getLogger('ssik_ros')
    before = (logger.handlers[:], logger.level, logger.propagate)
    try:
        send_log(lambda level, text: heard.append((level, text)), logging.WARNING)
        send_log(lambda level, text: heard.append((level, text)), logging.WARNING)
        open_panda(solve_type='Speed')
    finally:
        logger.handlers[:], logger.level, logger.propagate = before
    assert [level for level, _ in heard] == [logging.WARNING]
    assert 'solve_type' in heard[0][1]


def test_unknown_links_are_named(panda):
    with pytest.raises(SolverError, match=r"no link 'panda_link9'.*Did you mean 'panda_link"):
        panda.forward(['panda_link9'], READY)
    with pytest.raises(SolverError, match='7 finite values'):
        panda.forward(['panda_link8'], np.full(7, np.nan))
