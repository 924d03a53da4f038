"""Recorded waypoints of a session, and the path that is planned through them."""

from test.view.made_arms import two_arms
from test.view.test_session import session_of

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.paths.waypoints import MOST_WAYPOINTS, straight_lines
from ssik_ros.view.obstacles import make_solid
from ssik_ros.view.playback import Playback, read_joint_path, write_csv
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.waypoints import (
    find_leg,
    make_problem,
    MOST_RECORDED,
    plan_waypoints,
    record_waypoint,
    waypoints_in_base,
)


def ur5e(*shifts):
    """Return a session that has recorded its target, and the target shifted by each vector."""
    session = session_of('ur5e', 'ur_manipulator')
    for shift in ((0.0, 0.0, 0.0), *shifts):
        pose = session.targets['tool0'].copy()
        pose[:3, 3] += shift
        session.move_target('tool0', pose)
        record_waypoint(session)
    return session


def test_waypoints_lie_on_straight_lines_in_small_steps():
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[1, :3, :3] = Rotation.from_rotvec((0.0, 0.3, 0.4)).as_matrix()
    poses[1, :3, 3] = 0.3, 0.0, 0.4
    poses[2, :3, 3] = poses[1, :3, 3]
    lines = straight_lines(poses, 0.02, 0.1)
    assert len(lines) == 1 + 25 + 5
    assert np.array_equal(lines[0], poses[0]) and np.array_equal(lines[-1], poses[2])
    assert np.array_equal(lines[25], poses[1])
    assert np.linalg.norm(np.diff(lines[:, :3, 3], axis=0), axis=1).max() < 0.02 + 1e-12
    turns = Rotation.from_matrix(lines[:, :3, :3])
    steps = (turns[:-1].inv() * turns[1:]).magnitude()
    assert np.allclose(steps[:25], 0.5 / 25) and np.allclose(steps[25:], 0.1)
    axes = turns[1:25].as_rotvec()
    assert np.allclose(axes / np.linalg.norm(axes, axis=1)[:, None], (0.0, 0.6, 0.8))


def test_lines_of_no_length_and_lines_that_are_too_long():
    assert np.array_equal(straight_lines([np.eye(4), np.eye(4)]), np.tile(np.eye(4), (2, 1, 1)))
    far = np.eye(4)
    far[0, 3] = 0.01 * MOST_WAYPOINTS
    with pytest.raises(InvalidTarget, match='longer steps'):
        straight_lines([np.eye(4), far])
    with pytest.raises(InvalidOption, match='step is a positive number'):
        straight_lines([np.eye(4), far], 0.0)


def test_the_path_goes_straight_from_waypoint_to_waypoint_within_the_limits(tmp_path):
    session = ur5e((0.0, 0.2, 0.0), (-0.1, 0.0, -0.1))
    playback = plan_waypoints(make_problem(session))
    tips = np.array(
        [
            session.tip_pose('tool0', playback.state_at(time, session.state))[:3, 3]
            for time in playback.times
        ]
    )
    a, b, c = (pose[:3, 3] for pose in session.waypoints)
    assert np.abs(tips[0] - a).max() < 1e-6 and np.abs(tips[-1] - c).max() < 1e-6
    corner = int(np.linalg.norm(tips - b, axis=1).argmin())
    assert np.abs(tips[corner] - b).max() < 1e-6
    for some, start, end in ((tips[: corner + 1], a, b), (tips[corner:], b, c)):
        along = (end - start) / np.linalg.norm(end - start)
        assert np.linalg.norm(np.cross(some - start, along), axis=1).max() < 1e-6
    velocity = session.robot.tree.velocity[playback.places]
    assert (np.abs(playback.velocities) <= velocity + 1e-9).all()
    assert np.abs(playback.velocities[[0, -1]]).max() == 0.0
    file = tmp_path / 'a.csv'
    file.write_text(write_csv(playback), newline='')
    again = Playback(session.robot, read_joint_path(file))
    assert np.array_equal(again.rows, playback.rows) and np.array_equal(
        again.times, playback.times
    )


def test_obstacles_count_if_the_session_avoids_them():
    session = ur5e((0.0, 0.4, 0.0))
    wall = session.waypoints[0].copy()
    wall[:3, :3] = np.eye(3)
    wall[1, 3] += 0.2
    session.put_obstacle(make_solid('wall', 'box', [0.5, 0.02, 0.5], wall))
    assert 'obstacles' not in make_problem(session).settings
    session.avoids_collisions = True
    problem = make_problem(session)
    with pytest.raises(InvalidTarget, match='wall'):
        plan_waypoints(problem, list(waypoints_in_base(session)))


def test_waypoints_and_obstacles_are_given_in_the_base_link_of_the_group():
    robot = session_of('ur5e', 'ur_manipulator').robot
    session = Session(robot, robot.group_from_links('shoulder_link', 'tool0'))
    ball = session.targets['tool0'].copy()
    ball[2, 3] += 0.5
    session.put_obstacle(make_solid('ball', 'sphere', [0.1], ball))
    session.avoids_collisions = True
    for _ in range(2):
        record_waypoint(session)
    base = session.tip_pose('shoulder_link')
    assert np.abs(base - np.eye(4)).max() > 0.1
    assert np.allclose(base @ waypoints_in_base(session)[0], session.targets['tool0'])
    problem = make_problem(session)
    (item,) = problem.settings['obstacles']
    assert np.allclose(base @ problem.waypoints[0], session.targets['tool0'])
    assert np.allclose(base @ item.pose, ball)


def test_a_failed_plan_names_the_waypoints_before_and_after():
    session = ur5e((0.0, 0.1, 0.0))
    far = session.targets['tool0'].copy()
    far[0, 3] += 2.0
    session.waypoints.append(far)
    with pytest.raises(InvalidTarget, match='between waypoints 2 and 3'):
        plan_waypoints(make_problem(session), list(waypoints_in_base(session)))
    session.waypoints[:] = [far, session.waypoints[0]]
    with pytest.raises(InvalidTarget, match='It fails at waypoint 1'):
        plan_waypoints(make_problem(session), list(waypoints_in_base(session)))


def test_the_leg_of_a_failed_pose():
    corners = np.tile(np.eye(4), (3, 1, 1))
    corners[:, 0, 3] = 0.0, 0.1, 0.2
    lines = straight_lines(corners, 0.05)
    assert [find_leg(lines, corners, k) for k in (-1, 0, 1, 2, 3, 4)] == [
        '',
        'It fails at waypoint 1. ',
        'It fails between waypoints 1 and 2. ',
        'It fails at waypoint 2. ',
        'It fails between waypoints 2 and 3. ',
        'It fails at waypoint 3. ',
    ]


def test_what_makes_no_path_is_refused():
    session = ur5e()
    with pytest.raises(InvalidOption, match='two waypoints'):
        make_problem(session)
    session.waypoints *= MOST_RECORDED
    with pytest.raises(InvalidOption, match='remove one first'):
        record_waypoint(session)
    session.relax(Relaxations(orientation=True))
    with pytest.raises(InvalidOption, match='take back'):
        make_problem(session)
    robot = two_arms()
    with pytest.raises(InvalidOption, match='2 tips'):
        record_waypoint(Session(robot, robot.group('both')))
