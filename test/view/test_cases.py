"""A pose is saved as a test case, and the command line replays it."""

import json

from test.view.made_arms import two_arms

import numpy as np
import pytest

from ssik_ros.cli.command import main
from ssik_ros.errors import InvalidOption
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.view.cases import make_case
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.sessions.session import Session


def saved_case(folder, name='panda', group='panda_arm', by=(0.05, 0.02, -0.03), **changes):
    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path)
    session = Session(robot, robot.group(group), origin={'robot': name})
    session.use_solver('ssik_ros/LevenbergMarquardt', {'ilimit': 77})
    pose = session.targets[session.tips[0]].copy()
    pose[:3, 3] += by
    session.move_target(session.tips[0], pose)
    path = folder / 'case.json'
    path.write_text(json.dumps(make_case(session) | changes))
    return session, path


def test_a_case_gives_the_same_joints_again(tmp_path, capsys):
    session, path = saved_case(tmp_path)
    assert main(['solve', '--case', str(path), '--json']) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown['solver'] == 'ssik_ros/LevenbergMarquardt'
    positions = shown['solutions'][0]['positions']
    positions = list(positions.values()) if isinstance(positions, dict) else positions
    assert np.allclose(positions, session.joints, rtol=0, atol=1e-12)


def test_a_case_out_of_reach_fails_again_and_another_solver_may_try(tmp_path, capsys):
    _, path = saved_case(tmp_path, by=(3.0, 0.0, 0.0))
    assert json.loads(path.read_text())['outcome']['cause'] == 'UNREACHABLE'
    assert main(['solve', '--case', str(path)]) == 1
    assert 'out of reach' in capsys.readouterr().out
    assert main(['solve', '--case', str(path), '--solver', 'ssik_ros/Auto']) == 1


def test_what_is_released_is_no_case(tmp_path):
    session, _ = saved_case(tmp_path)
    session.relax(Relaxations().with_limit('panda_joint1'))
    with pytest.raises(InvalidOption, match='take back'):
        make_case(session)


@pytest.mark.parametrize(
    'changes, reason',
    [
        ({'kind': 'other'}, 'no test case'),
        ({'version': 9}, 'version 9'),
        ({'poses': {}}, 'incomplete'),
        ({'poses': {'panda_link8': [1, 2]}}, '--pose takes 7'),
        ({'seed': 'abc'}, 'incomplete'),
        ({'robot': {'open': '/etc/passwd'}}, 'unknown option'),
        ({'robot': 5}, 'incomplete'),
        ({'parameters': {'nothing': 1}}, 'nothing'),
    ],
)
def test_a_wrong_case_is_refused_with_the_reason(tmp_path, capsys, changes, reason):
    _, path = saved_case(tmp_path, **changes)
    assert main(['solve', '--case', str(path)]) == 2
    assert reason in capsys.readouterr().err


def test_a_file_that_is_none_is_refused(tmp_path, capsys):
    (tmp_path / 'broken.json').write_text('{')
    for name, reason in (('broken.json', 'no JSON'), ('missing.json', 'cannot be read')):
        assert main(['solve', '--case', str(tmp_path / name)]) == 2
        assert reason in capsys.readouterr().err
    _, path = saved_case(tmp_path)
    assert main(['solve', '--case', str(path), '--robot', 'fanuc']) == 2
    assert '--robot' in capsys.readouterr().err


def test_a_case_of_two_arms_has_a_pose_for_each():
    robot = two_arms()
    session = Session(robot, robot.group('both'))
    session.go_anywhere()
    assert set(make_case(session)['poses']) == set(session.tips)
