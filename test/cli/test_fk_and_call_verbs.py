"""``ssik fk`` and ``ssik call``."""

import json
import sys
from types import SimpleNamespace

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


@pytest.fixture
def parsed(monkeypatch):
    """Return a function that returns the request of a command line, in place of a call of the service."""
    sent = []

    def keep(name, values, timeout):
        sent.append(values)
        return {}

    monkeypatch.setattr(call, 'find_spec', lambda name: True)
    module = SimpleNamespace(call_service=keep)
    monkeypatch.setitem(sys.modules, 'ssik_ros.ros.process.service_call', module)

    def parsed(*words):
        arguments = command.make_parser('call').parse_args(['call', *words])
        arguments.run(arguments)
        return sent.pop()

    return parsed


def test_call_reads_a_request_as_yaml_or_makes_one_of_a_pose(parsed):
    assert parsed('compute_fk', '{fk_link_names: [tool0]}') == {'fk_link_names': ['tool0']}
    made = parsed('compute_ik', '--group', 'arm', '--pose', '1', '2', '3', '0', '0', '0', '1')
    stamped = made['ik_request']['pose_stamped']
    assert made['ik_request']['group_name'] == 'arm'
    assert stamped['pose']['position'] == {'x': 1.0, 'y': 2.0, 'z': 3.0}
    assert stamped['pose']['orientation']['w'] == 1.0


def test_call_takes_poses_as_solve_does(parsed):
    words = ('compute_ik', '--group', 'arm', '--xyz', '1', '2', '3')
    made = parsed(*words, '--rpy', '3.141592653589793', '0', '0')
    orientation = made['ik_request']['pose_stamped']['pose']['orientation']
    assert [orientation[axis] for axis in 'xyzw'] == pytest.approx([1, 0, 0, 0], abs=1e-12)
    with pytest.raises(InvalidOption, match='add --quat or --rpy'):
        parsed(*words)


@pytest.mark.parametrize(
    'words', [('compute_ik', '--group', 'arm'), ('compute_ik', '[1]'), ('compute_ik', '{a: b', '')]
)
def test_a_malformed_request_ends_with_two(words, parsed):
    with pytest.raises((ValueError, TypeError, SystemExit)):
        parsed(*words)


class EchoNode:
    """A node whose only service responds with its request."""

    def get_service_names_and_types(self):
        return [('/compute_fk', ['moveit_msgs/srv/GetPositionFK'])]

    def create_client(self, kind, name):
        def respond(request):
            return SimpleNamespace(done=lambda: True, result=lambda: request)

        return SimpleNamespace(wait_for_service=lambda timeout: True, call_async=respond)

    def destroy_node(self):
        pass


def test_plain_values_become_messages_and_back(monkeypatch):
    pytest.importorskip('rclpy')
    pytest.importorskip('moveit_msgs.srv')
    from ssik_ros.ros.process import service_call

    for name in ('init', 'spin_until_future_complete', 'try_shutdown'):
        monkeypatch.setattr(service_call.rclpy, name, lambda *given, **named: None)
    monkeypatch.setattr(service_call.rclpy, 'create_node', lambda *given, **named: EchoNode())

    def echo(**values):
        return service_call.call_service('compute_fk', values, 1.0)

    state = {'joint_state': {'name': ['a'], 'position': [1]}}
    response = echo(fk_link_names=['tool0'], robot_state=state)
    assert response['fk_link_names'] == ['tool0']
    assert response['robot_state']['joint_state']['position'] == [1.0]
    with pytest.raises(ValueError, match="Did you mean 'fk_link_names'"):
        echo(fk_links_names=['tool0'])
    with pytest.raises(ValueError, match='takes a list'):
        echo(fk_link_names='tool0')


GOOD_VALUES = {
    ('string<10>', 'ab'): 'ab',
    ('string', 5): '5',
    ('int8', -128): -128,
    ('uint64', 2**64 - 1): 2**64 - 1,
    ('octet', 3): b'\3',
    ('float', 1): 1.0,
    ('boolean', False): False,
    ('sequence<string<10>, 2>', ('a', 'b')): ['a', 'b'],
    ('sequence<double, 3>', (1, 2)): [1.0, 2.0],
    ('sequence<octet>', ()): [],
    ('double[2]', (1, 2)): [1.0, 2.0],
}
BAD_VALUES = (
    ('boolean', 'false'),
    ('boolean', 0),
    ('int32', 2.7),
    ('int32', True),
    ('int8', -129),
    ('uint8', 256),
    ('octet', -1),
    ('float', True),
    ('double', '1'),
    ('string', [1]),
    ('string', True),
    ('sequence<double>', 1.0),
    ('sequence<double, 1>', [1, 2]),
    ('sequence<boolean>', [1]),
    ('double[2]', [1]),
)


def test_fields_of_each_type_take_values_of_that_type_alone():
    pytest.importorskip('rclpy')
    from ssik_ros.errors import InvalidOption
    from ssik_ros.ros.process.service_call import field_value

    for (kind, value), wanted in GOOD_VALUES.items():
        written = field_value(kind, value, 'the request')
        assert (written, type(written)) == (wanted, type(wanted))
    for kind, value in BAD_VALUES:
        with pytest.raises(InvalidOption, match='the request'):
            field_value(kind, value, 'the request')


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
