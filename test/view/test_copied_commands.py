"""Texts of the shown request that run elsewhere: they are run here."""

import argparse
import contextlib
import io
import json
import shlex

import numpy as np
import pytest
import yaml

from ssik_ros.cli.command import main
from ssik_ros.cli.verb.view import add_arguments
from ssik_ros.cli.viewed_robot import open_session
from ssik_ros.errors import InvalidOption
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.view.copied_commands import write_python, write_service_call, write_solve
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.session import Session

FILES = find_moveit_config('ur5e')
URDF = [str(FILES.urdf_path), '--base', 'base_link', '--tip', 'tool0']
CHOICES = {
    'name': ['panda'],
    'files': ['--urdf', str(FILES.urdf_path), '--srdf', str(FILES.srdf_path)],
    'links': URDF,
    'catalogue': ['kr6_r900'],
}


def session_of(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    session, _ = open_session(parser.parse_args(words))
    rng = np.random.default_rng(3)
    session.set_joints(session.joints + rng.uniform(-0.1, 0.1, len(session.joints)))
    return session


@pytest.fixture(params=CHOICES)
def session(request):
    return session_of(*CHOICES[request.param])


def run(text):
    """Return the output of a Python program."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, 'copied', 'exec'), {})
    return out.getvalue()


def is_reached(session, q):
    (tip,) = session.tips
    reached = session.tip_pose(tip, session.state_with(np.array(q)))
    return np.abs(reached - session.targets[tip]).max() < 2e-3


def test_the_command_runs_and_returns_the_shown_posture(session, capsys):
    program, verb, *words = shlex.split(write_solve(session))
    assert (program, verb) == ('ssik', 'solve')
    assert main([verb, *words, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    q = np.array(found['solutions'][0]['positions'])
    assert is_reached(session, q) and np.abs(q - session.joints).max() < 1e-2


def test_the_program_runs_and_prints_postures_that_reach_the_target(session):
    first = run(write_python(session)).replace('\n ', ' ').splitlines()[0]
    q = np.array([float(word) for word in first.strip('[]').split()])
    assert is_reached(session, q)
    if len(q) == 6:
        assert np.abs(q - session.joints).max() < 1e-6


def test_the_call_holds_pose_and_seed():
    session = session_of('panda')
    text = write_service_call(session)
    *start, request = shlex.split(text)
    assert start[:3] == ['ros2', 'service', 'call']
    asked = yaml.safe_load(request)['ik_request']
    assert asked['group_name'] == 'panda_arm' and asked['avoid_collisions'] is False
    state = asked['robot_state']['joint_state']
    assert state['name'] == list(session.variable_names)
    assert np.allclose(state['position'], session.joints, atol=1e-8)
    assert all(type(x) is float for x in state['position'])
    place = asked['pose_stamped']['pose']['position']
    base = session.tip_pose(asked['pose_stamped']['header']['frame_id'])
    target = np.linalg.inv(base) @ session.targets[asked['ik_link_name']]
    assert np.allclose([place[k] for k in 'xyz'], target[:3, 3], atol=1e-8)


def test_names_with_signs_of_a_shell_or_of_yaml_stay_names():
    session = session_of('panda')
    session.variable_names = ('a$(reboot)', "b'; reboot", 'c: {', 'no', '1', 'x"y', 'ok')
    *_, request = shlex.split(write_service_call(session))
    state = yaml.safe_load(request)['ik_request']['robot_state']['joint_state']
    assert tuple(state['name']) == session.variable_names


def test_a_solver_and_its_parameters_come_along():
    session = session_of('panda')
    session.use_solver('ssik_ros/LevenbergMarquardt', {'ilimit': 55})
    words = shlex.split(write_solve(session))
    assert words[words.index('--solver') + 1] == 'ssik_ros/LevenbergMarquardt'
    assert words[words.index('--param') + 1] == 'ilimit=55'
    assert main(words[1:]) == 0


def test_xacro_arguments_come_along():
    session = session_of('panda')
    session.origin = {'path': '/a b/arm.xacro', 'xacro_arg': ['hand:=true', 'x:=1']}
    words = shlex.split(write_solve(session))
    assert words[2:7] == ['/a b/arm.xacro', '--xacro-arg', 'hand:=true', '--xacro-arg', 'x:=1']
    line = "robot = load_robot('/a b/arm.xacro', xacro_args={'hand': 'true', 'x': '1'})"
    assert line in write_python(session).splitlines()


@pytest.mark.parametrize('write', [write_solve, write_python, write_service_call])
def test_a_request_with_something_released_is_refused(write):
    session = session_of('panda')
    session.relax(Relaxations(orientation=True))
    with pytest.raises(InvalidOption, match='take back'):
        write(session)


@pytest.mark.parametrize('write', [write_solve, write_python])
def test_a_robot_without_an_origin_is_refused(write):
    session = session_of('panda')
    plain = Session(session.robot, session.group)
    with pytest.raises(InvalidOption, match='command line'):
        write(plain)
    assert write_service_call(plain).startswith('ros2 service call /compute_ik ')
