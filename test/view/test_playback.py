"""Joint paths in a viewer, and the self-motions that a slider follows."""

from test.view.test_session import session_of

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption, SsikError
from ssik_ros.view.playback import JointPath, Playback, read_joint_path
from ssik_ros.view.relaxations import Relaxations

NAMES = tuple(f'panda_joint{i}' for i in range(1, 8))
READY = np.array((0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785))


def path_of(rows=None, times=None):
    rows = READY + 0.1 * np.arange(11)[:, None] * np.eye(7)[0] if rows is None else rows
    return JointPath(NAMES, rows, times)


def test_a_file_of_ssik_path_and_one_with_times_are_read(tmp_path):
    file = tmp_path / 'a.csv'
    file.write_text('waypoint,panda_joint1,panda_joint2\n4,0.1,0.2\n5,0.3,0.4\n')
    path = read_joint_path(file)
    assert path.names == NAMES[:2] and path.times is None
    assert (path.rows == ((0.1, 0.2), (0.3, 0.4))).all()
    file.write_text('time, panda_joint1\n1.5,0\n2.5,1\n')
    assert (read_joint_path(file).times == (1.5, 2.5)).all()


@pytest.mark.parametrize(
    'text',
    [
        '',
        'panda_joint1\n',
        'panda_joint1\nx\n',
        'panda_joint1\nnan\n',
        'panda_joint1,panda_joint2\n1\n',
        'panda_joint1,panda_joint1\n1,2\n',
        'time,panda_joint1\n1,0\n1,1\n',
    ],
)
def test_a_file_that_is_no_path_is_refused(tmp_path, text):
    file = tmp_path / 'a.csv'
    file.write_text(text)
    with pytest.raises(SsikError):
        read_joint_path(file)


def test_joints_of_another_robot_are_named():
    robot = session_of().robot
    with pytest.raises(InvalidOption, match='elbow'):
        Playback(robot, JointPath(('elbow',), np.zeros((2, 1))))


def test_postures_lie_on_the_path_at_their_times():
    session = session_of()
    times = np.linspace(5.0, 7.0, 11)
    played = Playback(session.robot, path_of(times=times))
    assert played.duration == pytest.approx(2.0)
    for seconds, first in (
        (0.0, 0.0),
        (0.1, 0.05),
        (1.0, 0.5),
        (2.0, 1.0),
        (9.0, 1.0),
        (-1.0, 0.0),
    ):
        played.show(session, seconds)
        assert session.joints[0] == pytest.approx(first, abs=1e-12)
        assert np.abs(session.joints[1:] - READY[1:]).max() < 1e-12
        target = session.targets['panda_link8']
        assert (session.tip_pose('panda_link8') == target).all() and session.outcome.solved


def test_a_path_without_times_keeps_the_velocity_limits():
    robot = session_of().robot
    played = Playback(robot, path_of())
    limit = robot.tree.velocity[played.places[0]]
    speeds = np.diff(played.rows[:, 0]) / np.diff(played.times)
    assert 0.0 < speeds.max() <= limit * (1.0 + 1e-9) and played.duration >= 1.0 / limit


def test_the_line_of_the_tip_goes_through_the_tip():
    session = session_of()
    played = Playback(session.robot, path_of())
    (line,) = played.tip_lines(session)
    played.show(session, played.duration)
    assert np.allclose(line[-1], session.tip_pose('panda_link8')[:3, 3], atol=1e-12)
    radii = np.linalg.norm(line[:, :2], axis=1)
    assert np.ptp(radii) < 1e-9, 'the first joint turns the tip about the z axis'


def test_a_slide_along_a_self_motion_keeps_the_target_and_moves_the_elbow():
    session = session_of()
    session.complete()
    target = session.targets['panda_link8'].copy()
    assert session.curves and len(session.curve_postures) == len(session.curves)
    for number, curve in enumerate(session.curves):
        for part in (0.0, 0.3, 0.9, 1.0):
            session.slide(number, part * curve.length)
            assert np.abs(session.tip_pose('panda_link8') - target).max() < 1e-6
            assert (session.lower <= session.joints).all()
            assert (session.joints <= session.upper).all()
    curves = session.curves
    session.complete()
    assert session.curves is curves, 'the target has not moved'
    session.slide(99, 0.0)
    moved = target.copy()
    moved[0, 3] -= 0.05
    session.move_target('panda_link8', moved)
    session.complete()
    assert session.curves is not curves
    before = sum(curve.length for curve in session.curves)
    session.relax(Relaxations(limits=session.variable_names))
    session.complete()
    assert sum(curve.length for curve in session.curves) > before, 'limits end curves'


def test_arms_without_redundancy_have_no_curves():
    session = session_of('ur5e', 'ur_manipulator')
    session.complete()
    assert not session.curves
