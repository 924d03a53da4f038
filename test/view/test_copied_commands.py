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
from ssik_ros.cli.verb.view import add_arguments, begin
from ssik_ros.cli.viewed_robot import open_session
from ssik_ros.errors import InvalidOption
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.view.copied_commands import (
    write_path_python,
    write_python,
    write_service_call,
    write_solve,
    write_view,
)
from ssik_ros.view.obstacles import make_solid
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.sessions.session import Session

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


def reopen(command):
    """Return the session that a copied ``ssik view`` shows."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ('ssik', 'view')
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return begin(parser.parse_args(words))[0]


def is_reached(session, q):
    (tip,) = session.tips
    reached = session.tip_pose(tip, session.state_with(np.array(q)))
    return np.abs(reached - session.targets[tip]).max() < 2e-3


def test_the_command_runs_and_returns_the_shown_posture(session, capsys):
    program, verb, *words = shlex.split(write_solve(session))
    assert (program, verb) == ('ssik', 'solve')
    assert main([verb, *words, '--json']) == 0
    output = json.loads(capsys.readouterr().out)
    q = np.array(output['solutions'][0]['positions'])
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


def test_the_view_opens_again_with_posture_target_and_options(session):
    (tip,) = session.tips
    session.wants_windings = True
    pose = session.targets[tip].copy()
    pose[:3, 3] += (0.0, 2.0, -0.3)
    for item in (
        make_solid("Bob's {table}", 'box', [0.4, 0.5, 0.05], pose),
        make_solid('1', 'sphere', [0.1], pose @ pose),
        make_solid('post', 'cylinder', [0.8, 0.03], np.linalg.inv(pose)),
    ):
        session.put_obstacle(item)
    again = reopen(write_view(session))
    assert again.group.name == session.group.name and again.outcome.solved
    assert np.abs(again.joints - session.joints).max() < 1e-5
    assert np.abs(again.targets[tip] - session.targets[tip]).max() < 1e-7
    assert again.wants_windings and not again.avoids_collisions
    assert [item.name for item in again.obstacles] == [item.name for item in session.obstacles]
    for one, other in zip(again.obstacles, session.obstacles):
        assert np.abs(one.pose - other.pose).max() < 1e-7
        assert list(one.shapes[0].sizes) == list(other.shapes[0].sizes)
        assert one.shapes[0].kind is other.shapes[0].kind
    session.avoids_collisions = True
    assert reopen(write_view(session)).avoids_collisions


def test_the_view_opens_again_with_its_solver_and_with_a_target_without_orientation():
    words = ('--solver', 'ssik_ros/LevenbergMarquardt', '--param', 'ilimit=55', '--xyz', '0.4')
    session = session_of('panda', *words, '0.1', '0.5')
    assert session.kinematics.position_only
    again = reopen(write_view(session))
    assert again.kinematics == session.kinematics
    assert np.abs(again.joints - session.joints).max() < 1e-5
    assert main(shlex.split(write_solve(session))[1:]) == 0


def record(session, *shifts):
    (tip,) = session.tips
    for shift in ((0.0, 0.0, 0.0), *shifts):
        pose = session.targets[tip].copy()
        pose[:3, 3] += shift
        session.waypoints.append(pose)


@pytest.mark.parametrize('avoids', [False, True])
def test_the_program_of_a_path_runs_and_goes_through_the_waypoints(session, avoids):
    record(session, (0.0, 0.02, 0.0), (0.0, 0.02, -0.03))
    far = np.eye(4)
    far[:3, 3] = 3.0
    session.put_obstacle(make_solid('table', 'box', [0.1, 0.2, 0.3], far))
    session.avoids_collisions = avoids
    text = write_path_python(session)
    assert ('WorldObject(' in text) is avoids
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, 'copied', 'exec'), space)
    path = space['path']
    assert path.valid and len(path.positions) > 5
    (tip,) = session.tips
    for row, pose in ((0, session.waypoints[0]), (-1, session.waypoints[2])):
        reached = session.tip_pose(tip, session.state_with(path.positions[row]))
        assert np.abs(reached - pose).max() < 1e-5


def test_obstacles_that_are_meshes_are_refused():
    session = session_of('panda')
    record(session, (0.0, 0.02, 0.0))
    corners = np.array(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)))
    faces = np.array(((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)))
    shape = ObjectShape(SolidKind.MESH, (), np.eye(4), corners, faces)
    far = np.eye(4)
    far[:3, 3] = 3.0
    session.put_obstacle(WorldObject('part', far, (shape,)))
    session.avoids_collisions = True
    for write in (write_view, write_path_python):
        with pytest.raises(InvalidOption, match="'part' is not a box"):
            write(session)


@pytest.mark.parametrize(
    'write', [write_solve, write_python, write_service_call, write_view, write_path_python]
)
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
