"""``ssik fk`` and ``ssik call``."""

import json

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.cli import command
from ssik_ros.cli.verb import call
from ssik_ros.errors import InvalidOption


def shown(capsys, *words):
    code = command.main(list(words))
    return code, capsys.readouterr().out


READY = ['0', '-0.785', '0', '-2.356', '0', '1.571', '0.785']


@pytest.mark.parametrize(
    'words', [('panda',), ('panda', *READY), ('panda', '--joints', *READY), ('--robot', 'panda')]
)
def test_fk_prints_the_pose_of_the_tip(capsys, words):
    code, text = shown(capsys, 'fk', *words, '--json')
    tip = json.loads(text)['tips']['panda_link8']
    pose = Manipulator.from_prebuilt('panda').fk([float(q) for q in READY])
    assert code == 0
    assert tip['position'] == pytest.approx(pose[:3, 3], abs=1e-9)
    assert np.linalg.norm(tip['quaternion']) == pytest.approx(1.0)


def test_what_fk_prints_solve_takes(capsys):
    _, text = shown(capsys, 'fk', 'ur5e', '0.3', '-1.2', '1.4', '-0.8', '1.1', '0.5')
    rows = {line.split(']')[0].strip(): line for line in text.splitlines()}
    position = rows['x y z [m'].split()[-3:]
    angles = rows['roll pitch yaw [rad'].split()[-3:]
    code, text = shown(capsys, 'solve', 'ur5e', '--xyz-rpy', *position, *angles, '--json')
    assert code == 0
    positions = json.loads(text)['solutions'][0]['positions']
    assert positions == pytest.approx([0.3, -1.2, 1.4, -0.8, 1.1, 0.5], abs=1e-3)


def parsed(*words):
    arguments = command.make_parser('call').parse_args(['call', *words])
    return call._request_of(arguments)


def test_call_reads_a_request_as_yaml_or_makes_one_of_a_pose():
    assert parsed('compute_fk', '{fk_link_names: [tool0]}') == {'fk_link_names': ['tool0']}
    made = parsed('compute_ik', '--group', 'arm', '--pose', '1', '2', '3', '0', '0', '0', '1')
    stamped = made['ik_request']['pose_stamped']
    assert made['ik_request']['group_name'] == 'arm'
    assert stamped['pose']['position'] == {'x': 1.0, 'y': 2.0, 'z': 3.0}
    assert stamped['pose']['orientation']['w'] == 1.0


def test_call_takes_poses_as_solve_does():
    words = ('compute_ik', '--group', 'arm', '--xyz', '1', '2', '3')
    made = parsed(*words, '--rpy', '3.141592653589793', '0', '0')
    orientation = made['ik_request']['pose_stamped']['pose']['orientation']
    assert [orientation[axis] for axis in 'xyzw'] == pytest.approx([1, 0, 0, 0], abs=1e-12)
    with pytest.raises(InvalidOption, match='add --quat or --rpy'):
        parsed(*words)


@pytest.mark.parametrize(
    'words', [('compute_ik', '--group', 'arm'), ('compute_ik', '[1]'), ('compute_ik', '{a: b', '')]
)
def test_a_malformed_request_ends_with_two(words):
    with pytest.raises((ValueError, TypeError, SystemExit)):
        parsed(*words)


def test_plain_values_become_messages_and_back():
    pytest.importorskip('rclpy')
    srv = pytest.importorskip('moveit_msgs.srv')
    from ssik_ros.ros.process.service_call import _fill, _plain

    request = srv.GetPositionFK.Request()
    state = {'joint_state': {'name': ['a'], 'position': [1]}}
    _fill(request, {'fk_link_names': ['tool0'], 'robot_state': state}, 'the request')
    assert _plain(request)['robot_state']['joint_state']['position'] == [1.0]
    with pytest.raises(ValueError, match="Did you mean 'fk_link_names'"):
        _fill(request, {'fk_links_names': ['tool0']}, 'the request')
    with pytest.raises(ValueError, match='takes a list'):
        _fill(request, {'fk_link_names': 'tool0'}, 'the request')


@pytest.mark.ros
def test_call_reaches_a_service_without_its_namespace(domain):
    pytest.importorskip('rclpy')
    import threading

    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import SetBool

    from ssik_ros.ros.process.service_call import call_service

    context = Context()
    rclpy.init(context=context, args=[])
    node = rclpy.create_node('echo', namespace='/ssik', context=context)

    def respond(request, response):
        response.success, response.message = request.data, 'heard'
        return response

    node.create_service(SetBool, 'listen', respond)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        assert call_service('listen', {'data': True}, 20.0) == {
            'success': True,
            'message': 'heard',
        }
    finally:
        executor.shutdown(timeout_sec=10.0)
        thread.join(10.0)
        rclpy.shutdown(context=context)
