"""Values written into a message come out of the bytes that the middleware sends."""

import struct

from test.interfaces.filled_messages import Filler

import pytest

SERVICES = (
    'moveit_msgs/GetPositionIK',
    'moveit_msgs/GetPositionFK',
    'moveit_msgs/GetCartesianPath',
    'moveit_msgs/GetStateValidity',
    'ssik_msgs/CompleteState',
    'ssik_msgs/Describe',
    'ssik_msgs/ExplainIk',
    'ssik_msgs/FindConfigs',
    'ssik_msgs/FindStep',
    'ssik_msgs/GeneratePath',
    'ssik_msgs/HandleTaskSets',
    'ssik_msgs/SelfMotions',
    'ssik_msgs/SolveAll',
    'ssik_msgs/SolveBatch',
    'ssik_msgs/SolveGoals',
)

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def serialization():
    """Give the functions that turn messages into bytes and back."""
    # First: outside an activated shell there are no messages, and the wheels' rclpy would start
    # the interpreter anew, with which the test runner loses its output.
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
    return pytest.importorskip('rclpy.serialization', reason='no rclpy on this machine')


def imported(module):
    return pytest.importorskip(module, reason=f'{module} is not built; run make setup')


def service(name):
    package, name = name.split('/')
    return getattr(imported(f'{package}.srv'), name)


@pytest.mark.parametrize('half', ['Request', 'Response'])
@pytest.mark.parametrize('name', SERVICES)
def test_filled_message_survives_the_wire(serialization, name, half):
    message_class = getattr(service(name), half)
    sent = Filler().message(message_class)
    received = serialization.deserialize_message(
        serialization.serialize_message(sent), message_class
    )
    assert sent != message_class()
    assert received == sent


def test_error_code_has_the_bytes_that_cdr_prescribes(serialization):
    code = imported('moveit_msgs.msg').MoveItErrorCodes(val=-31, message='no', source='ik')
    little_endian = b'\x00\x01\x00\x00'
    text = struct.pack('<i3sx', 3, b'no\0'), struct.pack('<i3s', 3, b'ik\0')
    expected = little_endian + struct.pack('<i', -31) + b''.join(text)
    # Bytes after the last field are padding.
    assert serialization.serialize_message(code)[: len(expected)] == expected


def test_joints_without_limits_survive_the_wire(serialization):
    response = service('ssik_msgs/Describe').Response
    kinematics = Filler().message(response).groups[0]
    kinematics.lower, kinematics.upper = [float('-inf')], [float('inf')]
    sent = response(groups=[kinematics])
    assert sent == serialization.deserialize_message(
        serialization.serialize_message(sent), response
    )
