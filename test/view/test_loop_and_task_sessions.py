"""Mechanisms and task sets in a viewer: targets are reached with all loops closed, and unmet levels are named."""

from types import SimpleNamespace

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.mechanisms.loop_closures import LoopClosures, read_loop_closures
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.loader import load_robot
from ssik_ros.tasks.files.task_set_file import find_task_set_file, read_task_set_file
from ssik_ros.view.sessions.loop_session import LoopSession
from ssik_ros.view.sessions.task_session import TaskSession

CLOSED = 1e-5
"""Largest gap of a closed loop [m]."""


def loop_session(name, goals=None):
    urdf, loops = mechanism_files(name)
    return LoopSession(load_robot(urdf), read_loop_closures(loops), goals)


def task_session(name):
    urdf, loops = mechanism_files(name)
    content = read_task_set_file(find_task_set_file(name))
    return TaskSession(load_robot(urdf), content, read_loop_closures(loops).initial_positions)


def link_place(session, link):
    """Return the pose of a link by plain forward kinematics."""
    tree = session.robot.tree
    poses = compute_joint_poses(tree, session.state.positions)
    return compute_link_pose(tree, poses, tree.link(link))


def gaps(session, name):
    """Return the distance between both ends of each loop."""
    distances = []
    for loop in read_loop_closures(mechanism_files(name)[1]).closures:
        ends = (loop.parent, loop.parent_pose), (loop.child, loop.child_pose)
        a, b = ((link_place(session, link) @ pose)[:3, 3] for link, pose in ends)
        distances.append(np.linalg.norm(a - b))
    return np.array(distances)


def moved(session, name, *by):
    pose = session.targets[name].copy()
    pose[:3, 3] += by
    return pose


@pytest.mark.parametrize('name', ['hexapod', 'dual_arm'])
def test_a_session_begins_with_what_a_user_can_do(name):
    session = loop_session(name)
    assert session.outcome.text.startswith('Drag')
    session.set_joints(session.joints)
    assert session.outcome.text == 'The joints are set by hand.'


@pytest.mark.parametrize('name', ['hexapod', 'delta', 'dual_arm'])
def test_a_dragged_target_is_reached_with_all_loops_closed(name):
    session = loop_session(name)
    (link,) = session.tips
    assert gaps(session, name).max() < CLOSED
    for _ in range(5):
        session.move_target(link, moved(session, link, 0.002, -0.001, 0.002))
        assert session.outcome.solved, session.outcome.text
        assert np.abs(link_place(session, link) - session.targets[link]).max() < CLOSED
        assert gaps(session, name).max() < CLOSED


@pytest.mark.parametrize('name', ['hexapod', 'delta', 'dual_arm'])
def test_active_joints_move_by_hand_and_the_loops_stay_closed(name):
    session = loop_session(name)
    q = session.joints + 0.01
    session.set_joints(q)
    assert np.allclose(session.joints, q, atol=1e-12) and gaps(session, name).max() < CLOSED
    session.go_anywhere()
    assert np.abs(session.joints - q).max() > 1e-3 and gaps(session, name).max() < CLOSED
    assert session.undo() and np.allclose(session.joints, q, atol=1e-12)
    session.go_home()
    assert gaps(session, name).max() < CLOSED


def open_joints(session):
    """Return joints of the two arms that close no loop: the left arm stretched out, where the right one cannot follow."""
    q = session.joints.copy()
    q[2:] = 0.0
    q[:2] = session.upper[:2]
    return q


@pytest.mark.parametrize('change', ['set_joints', 'begin_at', 'go_anywhere'])
def test_joints_that_close_no_loop_are_refused_and_nothing_moves(change, monkeypatch):
    session = loop_session('dual_arm')
    shown, q = session.state, open_joints(session)
    monkeypatch.setattr(session, 'random_joints', lambda: q)
    arguments = {'set_joints': [q], 'begin_at': [session.state_with(q)], 'go_anywhere': []}
    with pytest.raises(InvalidTarget, match='do not close'):
        getattr(session, change)(*arguments[change])
    assert session.state is shown and not session.undo()


@pytest.mark.parametrize('name', ['hexapod', 'delta', 'dual_arm'])
def test_a_session_begins_at_a_state_of_the_real_robot(name):
    session, real = loop_session(name), loop_session(name)
    real.set_joints(real.joints + 0.01)
    session.begin_at(real.state)
    assert np.allclose(session.state.positions, real.state.positions, atol=1e-6)
    assert gaps(session, name).max() < CLOSED


def test_a_target_out_of_reach_shows_the_best_state_and_comes_back():
    session = loop_session('hexapod')
    home = session.targets['platform'].copy()
    session.move_target('platform', moved(session, 'platform', 3.0, 0.0, 0.0))
    assert not session.outcome.solved and 'platform' in session.outcome.text
    session.complete()
    session.move_target('platform', home)
    assert session.outcome.solved and gaps(session, 'hexapod').max() < CLOSED


def test_a_target_whose_orientation_is_free_is_reached_where_the_orientation_is_not():
    session = loop_session('delta')
    turned = session.targets['platform'].copy()
    # The platform of a delta robot cannot turn.
    turned[:3, :3] = turned[:3, :3] @ np.array(((0, -1, 0), (1, 0, 0), (0, 0, 1.0)))
    session.move_target('platform', turned)
    assert not session.outcome.solved
    session.let_turn('platform', False)
    assert session.outcome.solved
    assert np.abs(session.tip_pose('platform')[:3, 3] - turned[:3, 3]).max() < CLOSED


def test_each_goal_of_two_hands_has_a_target():
    session = loop_session('dual_arm', ['left_hand', 'right_hand'])
    assert session.tips == ('left_hand', 'right_hand')
    assert set(session.targets) == {'left_hand', 'right_hand'}


def test_unknown_goals_and_no_goals_are_errors_that_help():
    with pytest.raises(InvalidOption, match='Did you mean'):
        loop_session('hexapod', ['platfrom'])
    with pytest.raises(InvalidOption, match='--goal'):
        LoopSession(load_robot(mechanism_files('hexapod')[0]), LoopClosures())


def test_a_task_of_low_priority_gives_way_and_is_named():
    session = task_session('dual_arm')
    # The grip is the relative pose of both hands at the start.
    hands = [link_place(session, side) for side in ('left_hand', 'right_hand')]
    grip = np.linalg.inv(hands[0]) @ hands[1]
    for _ in range(30):
        session.move_target('goal', moved(session, 'goal', 0.0, 0.0, 0.04))
    hold, carry = session.levels
    assert hold.is_met and not carry.is_met and not session.outcome.solved
    assert "'carry' is not met: 'left_hand' is" in session.outcome.text
    left, right = (link_place(session, side) for side in ('left_hand', 'right_hand'))
    assert np.abs(np.linalg.inv(left) @ right - grip).max() < 1e-3


def test_a_task_set_that_is_switched_off_does_not_count():
    session = task_session('dual_arm')
    session.switch('carry', False)
    session.move_target('goal', moved(session, 'goal', 0.0, 0.0, 2.0))
    assert session.outcome.solved and "'carry' is switched off." in session.outcome.text
    with pytest.raises(InvalidOption, match='switched off'):
        session.switch('hold', False)
    session.move_target('goal', moved(session, 'goal', 0.0, 0.0, -2.0))
    assert session.on == {'hold': True, 'carry': False} and session.outcome.solved


def test_the_targets_of_tasks_follow_joints_that_are_moved_by_hand():
    session = task_session('dual_arm')
    session.set_joints(session.joints + 0.05)
    assert np.abs(session.targets['goal'] - link_place(session, 'left_hand')).max() < 1e-12
    assert session.outcome.solved


@pytest.mark.parametrize(
    ('make', 'name', 'title'),
    [(loop_session, 'hexapod', 'Mechanism'), (task_session, 'dual_arm', 'Tasks')],
)
def test_a_session_has_a_tab_of_its_own_among_those_of_all(make, name, title):
    tabs = pytest.importorskip('ssik_ros.view.browser.tabs')
    extras = SimpleNamespace(playback=None, cloud=None)
    listed = tabs.list_tabs(SimpleNamespace(session=make(name), extras=extras))
    assert list(listed) == ['Target', 'Joints', title, 'Obstacles', 'Measures']
    assert all(listed.values())
