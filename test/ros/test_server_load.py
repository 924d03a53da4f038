"""Many requests at once, slow ones among them, and requests that no client should send."""

import ctypes
from pathlib import Path
import platform
import re
import subprocess
import sys
import time

from test.ros.client_process import positions_table, requests_of
from test.ros.raising_server import RAISE_GROUP, TEXT
from test.ros.server_client import client_of, LATCHED, ready_server
from test.ros.server_process import running_server, WAIT
from test.ros.server_requests import (
    assert_solves,
    FANUC,
    fk_request,
    ik_request,
    move_to,
    PANDA,
    SLOW,
    SUCCESS,
)

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

pytestmark = pytest.mark.ros

RELIABLE = QoSProfile(depth=10)
HERE = Path(__file__).resolve().parent
SLOW_GROUP = 'panda_arm_hand'
FLOOD = 300
CLIENTS, CALLS, SEED = 8, 500, 40
CALLS_OF_EACH, OFFSET = 150, 60


@pytest.fixture(scope='module')
def panda(tmp_path_factory):
    """Yield (server, client) of a node with a group that responds at once, and one that takes seconds."""
    parameters = {
        'moveit_config_package': 'panda',
        'robot_description_kinematics': {SLOW_GROUP: SLOW},
    }
    with ready_server(tmp_path_factory.mktemp('panda'), parameters) as pair:
        yield pair


def check_all(client, count, seed):
    """Send all requests before the first response is read; check that each response belongs to its own request."""
    poses = [PANDA.pose(posture) for posture in PANDA.postures(count, seed)]
    responses = client.call_all('compute_ik', [ik_request(PANDA, pose) for pose in poses])
    for pose, response in zip(poses, responses, strict=True):
        assert_solves(PANDA, response, pose)


@pytest.fixture(scope='module')
def serial(panda):
    """Return the verified positions (CALLS, n) of a quiet node, which gets one request after the other."""
    _, client = panda
    poses, requests = requests_of(CALLS, SEED)
    responses = [client.call('compute_ik', request) for request in requests]
    for pose, response in zip(poses, responses, strict=True):
        assert_solves(PANDA, response, pose)
    return positions_table(responses)


def test_requests_in_flight_get_the_responses_of_one_by_one(panda, serial):
    _, client = panda
    responses = client.call_all('compute_ik', requests_of(CALLS, SEED)[1])
    assert positions_table(responses).tobytes() == serial.tobytes()


@pytest.mark.slow
def test_clients_in_processes_of_their_own_get_the_responses_of_one_by_one(
    panda, serial, tmp_path
):
    """Of full size, 500 calls of each client, in ``bench/load.py``."""
    server, _ = panda
    program = ('-m', 'test.ros.client_process')
    command = [sys.executable, *program, str(server.domain), str(SEED)]
    paths = [tmp_path / f'{number}.npy' for number in range(CLIENTS)]
    processes = [
        subprocess.Popen(
            [*command, str(CALLS), str(number * OFFSET), str(CALLS_OF_EACH), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=HERE.parents[1],
        )
        for number, path in enumerate(paths)
    ]
    try:
        outputs = [process.communicate(timeout=2 * WAIT)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert outputs == [''] * CLIENTS
    for number, path in enumerate(paths):
        rows = np.arange(number * OFFSET, number * OFFSET + CALLS_OF_EACH) % CALLS
        assert np.load(path).tobytes() == serial[rows].tobytes()


def test_short_requests_beside_searches_that_find_nothing(panda, record_figure):
    """The delay is printed, not judged; ``bench/load.py`` measures it."""
    _, client = panda
    search = ik_request(PANDA, PANDA.blocked_pose(), timeout=1.0)
    searches = [client.send('compute_ik', search) for _ in range(16)]
    _, requests = requests_of(40, seed=53)
    times = []
    for request in requests:
        begin = time.perf_counter()
        assert client.call('compute_ik', request).error_code.val == SUCCESS
        times.append(time.perf_counter() - begin)
    client.spin_until(lambda: all(future.done() for future in searches), 'searches')
    codes = {future.result().error_code.val for future in searches}
    assert codes == {MoveItErrorCodes.NO_IK_SOLUTION}
    record_figure('median response beside 16 searches of a second', float(np.median(times)))


@pytest.mark.slow
def test_slow_requests_do_not_stop_others(panda):
    _, client = panda
    slow = ik_request(PANDA, PANDA.blocked_pose(), timeout=4.0)
    slow.ik_request.group_name = SLOW_GROUP
    searches = [client.send('compute_ik', slow) for _ in range(3)]
    check_all(client, 20, seed=50)
    assert client.describe().success
    assert client.call('compute_fk', fk_request([PANDA.tip])).error_code.val == SUCCESS
    assert not any(future.done() for future in searches)
    client.spin_until(lambda: all(future.done() for future in searches), 'slow requests')
    for future in searches:
        assert future.result().error_code.val == MoveItErrorCodes.NO_IK_SOLUTION


def test_more_slow_requests_than_threads_all_get_responses(panda):
    _, client = panda
    slow = ik_request(PANDA, PANDA.blocked_pose(), timeout=0.3)
    slow.ik_request.group_name = SLOW_GROUP
    searches = [client.send('compute_ik', slow) for _ in range(24)]
    check_all(client, 50, seed=51)
    client.spin_until(lambda: all(future.done() for future in searches), 'slow requests')
    assert {future.result().error_code.val for future in searches} == {-31}


def test_the_time_of_a_request_counts_from_its_arrival(tmp_path):
    """Two threads run searches that only the clock ends; requests that wait for them too long are not searched."""
    parameters = {
        'moveit_config_package': 'panda',
        'executor_threads': 2,
        'report_timeout': True,
        'robot_description_kinematics': {SLOW_GROUP: SLOW},
    }
    with ready_server(tmp_path, parameters) as (_, client):
        # Both threads are busy for ten budgets, so the others arrive in time to wait even on a loaded machine.
        requests = [ik_request(PANDA, PANDA.blocked_pose(), timeout=3.0) for _ in range(2)]
        requests += [ik_request(PANDA, PANDA.blocked_pose(), timeout=0.3) for _ in range(22)]
        for request in requests:
            request.ik_request.group_name = SLOW_GROUP
        responses = client.call_all('compute_ik', requests)
        assert {response.error_code.val for response in responses} == {MoveItErrorCodes.TIMED_OUT}
        waited = [' s behind others' in response.error_code.message for response in responses]
        assert 12 <= sum(waited) < 24, waited
        assert all('deadline was reached' in response.error_code.message for response in responses)
        check_all(client, 5, seed=56)


# Faults.


def test_handler_that_raises_has_a_response_and_the_node_lives(tmp_path):
    program = (str(HERE / 'raising_server.py'),)
    parameters = {'moveit_config_package': 'fanuc'}
    with ready_server(tmp_path, parameters, program=program) as (server, client):
        pose = FANUC.pose(FANUC.postures(1, seed=52)[0])
        good, bad = ik_request(FANUC, pose), ik_request(FANUC, pose)
        bad.ik_request.group_name = RAISE_GROUP
        for service in ('compute_ik', 'solve_ik'):
            responses = client.call_all(service, [bad, good] * 10)
            for response in responses[0::2]:
                assert response.error_code.val == MoveItErrorCodes.FAILURE
                assert response.error_code.message == f'ZeroDivisionError: {TEXT}'
                assert response.error_code.source == 'ssik_ros'
                assert response.solution == GetPositionIK.Response().solution
            for response in responses[1::2]:
                assert_solves(FANUC, response, pose)
        responses = client.call_all(
            'compute_fk', [fk_request([FANUC.tip, RAISE_GROUP]), fk_request([FANUC.tip])]
        )
        assert responses[0].error_code.val == MoveItErrorCodes.FAILURE
        assert responses[0].error_code.message == f'MemoryError: {TEXT}'
        assert list(responses[0].pose_stamped) == []
        assert responses[1].error_code.val == SUCCESS
        fault = 'Internal fault during a request'
        assert fault in server.log
        assert TEXT in server.log
        client.call_all('compute_ik', [bad] * FLOOD)
        assert server.log.count(fault) < FLOOD / 10
        assert server.stop()[0] == 0
        left_out = sum(map(int, re.findall(r'\[(\d+) more like this', server.log)))
        told = server.log.count('Traceback')
        assert told + left_out == FLOOD + 21


def no_text():
    """
    Return a string that is sent as bytes which are not UTF-8.

    rclpy encodes text itself, but sends ASCII strings unchanged, so the bytes within such a string get replaced.
    """
    text = ''.join(('BRO', 'KEN'))
    wrong = b'\xff\xfe\x80\xc3(\xff'
    ctypes.memmove(id(text) + sys.getsizeof('') - 1, wrong, len(wrong))
    return text


@pytest.mark.skipif(
    platform.python_implementation() != 'CPython', reason='reaches into strings of CPython'
)
def test_request_whose_text_is_no_text(panda):
    """Invalid bytes are read as replacement characters, and the name is refused like any wrong name."""
    _, client = panda
    group, link = ik_request(PANDA, PANDA.pose({})), ik_request(PANDA, PANDA.pose({}))
    frame, joint = ik_request(PANDA, PANDA.pose({})), ik_request(PANDA, PANDA.pose({}))
    group.ik_request.group_name = no_text()
    link.ik_request.ik_link_name = no_text()
    frame.ik_request.pose_stamped.header.frame_id = no_text()
    joint.ik_request.robot_state.joint_state.name = [no_text()]
    joint.ik_request.robot_state.joint_state.position = [0.0]
    codes = {-15: group, -31: link, -21: frame, -17: joint}
    for service in ('compute_ik', 'solve_ik'):
        responses = client.call_all(service, codes.values())
        assert [response.error_code.val for response in responses] == list(codes)
        assert all('\ufffd' in response.error_code.message for response in responses)
    response = client.call('compute_fk', fk_request([no_text(), PANDA.tip]))
    assert response.error_code.val == -18
    assert list(response.fk_link_names) == [PANDA.tip]
    assert not client.describe(no_text()).success
    check_all(client, 60, seed=54)


@pytest.mark.slow
@pytest.mark.parametrize('cut', [False, True], ids=['no text', 'cut in half'])
def test_topics_with_bytes_that_are_no_message(tmp_path, cut):
    with running_server(tmp_path) as server:
        server.wait_for_log('Waiting for the robot')
        with client_of(server) as client:
            texts = [('robot_description', PANDA.urdf), ('robot_description_semantic', PANDA.srdf)]
            for topic, _ in texts:
                message = String(data='<robot name="BROKEN"/>')
                client.publisher(String, topic, LATCHED).publish(broken(message, cut))
            for topic, text in texts:
                client.publish_latched(topic, text)
            server.wait_until_ready()
            joints = JointState(name=['panda_joint1', 'BROKEN'], position=[1.0, 2.0])
            publisher = client.publisher(JointState, 'joint_states', RELIABLE)
            for _ in range(5):
                publisher.publish(broken(joints, cut))
                check_all(client, 3, seed=55)
            move_to(client, PANDA, {'panda_joint1': 0.5}, RELIABLE)
            assert server.stop()[0] == 0


def broken(message, cut):
    """Return a message's bytes with the text BROKEN replaced by bytes that are not UTF-8, or cut in half."""
    content = serialize_message(message)
    assert content.count(b'BROKEN') == 1
    if cut:
        return content[: len(content) // 2]
    return content.replace(b'BROKEN', b'\xff\xfe\x80\xc3(\xff')
