"""
Cases that need the real node (docs/reference/cases.md): one process for all, its clock paused, and one more to be ended.

Simulated time is on, but no clock is published: all deadlines have to be kept nevertheless.
"""

import signal
import threading
import time

from test.ros.server_client import ready_server
from test.ros.server_process import SHUTDOWN_WAIT
from test.ros.server_requests import assert_solves, ik_request, PANDA, SLOW

import pytest
from rcl_interfaces.srv import ListParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

NO_SOLUTION = -31
PARAMETERS = {'moveit_config_package': 'panda', 'groups': 'panda_arm'}
GROUP = 'robot_description_kinematics.panda_arm.'
POSE_IK = {'kinematics_solver': 'ssik_ros/PoseIK'}


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """Yield (server, client) of a node whose clock does not advance."""
    kinematics = {'robot_description_kinematics': {'panda_arm': POSE_IK}}
    parameters = {**PARAMETERS, **kinematics, 'use_sim_time': True}
    with ready_server(tmp_path_factory.mktemp('paused'), parameters) as pair:
        yield pair


@pytest.fixture
def client(server):
    return server[1]


def good(seed):
    posture = PANDA.postures(1, seed=seed)[0]
    return PANDA.pose(posture), ik_request(PANDA, PANDA.pose(posture), seed=posture)


def test_e05_a_clock_that_stands_still_holds_up_no_deadline(client):
    pose, request = good(5)
    assert_solves(PANDA, client.call('compute_ik', request), pose)
    begin = time.monotonic()
    late = ik_request(PANDA, PANDA.blocked_pose(), timeout=0.3)
    response = client.call('compute_ik', late)
    assert response.error_code.val == NO_SOLUTION
    assert time.monotonic() - begin < 5.0


def test_e14_fast_topics_do_not_starve_services(client):
    """Joint states and transforms at 1 kHz for as long as 200 requests take."""
    tf2 = pytest.importorskip('tf2_msgs.msg', reason='tf2_msgs is not built; run make setup')
    states = client.publisher(JointState, 'joint_states', QoSProfile(depth=10))
    frames = client.publisher(tf2.TFMessage, '/tf', QoSProfile(depth=10))
    stop, sent = threading.Event(), []

    def publish():
        state = JointState(name=['panda_joint1'], position=[0.1])
        message = tf2.TFMessage()
        while not stop.wait(0.001):
            states.publish(state)
            frames.publish(message)
            sent.append(None)

    publisher = threading.Thread(target=publish)
    pose, request = good(14)
    publisher.start()
    try:
        responses = [client.call('compute_ik', request, wait=20.0) for _ in range(200)]
    finally:
        stop.set()
        publisher.join()
    for response in responses:
        assert_solves(PANDA, response, pose)
    assert len(sent) > 50


def dumped(client):
    """Return the values of all parameters that may be given at the start."""
    listed = client.call('ssik_ros/list_parameters', ListParameters.Request()).result.names
    values = client.get_parameters(listed)
    return {name: value for name, value in values.items() if value is not None}


def test_g06_parameters_that_were_dumped_make_an_equal_node(client, tmp_path):
    (result,) = client.set_parameters({GROUP + 'gd_max_iters': 77})
    assert result.successful
    first = dumped(client)
    assert first[GROUP + 'gd_max_iters'] == 77
    given = {name: value for name, value in first.items() if name != 'use_sim_time'}
    _, request = good(6)
    expected = client.call('compute_ik', request)
    with ready_server(tmp_path, given) as (_, other):
        second = dumped(other)
        assert {k: v for k, v in second.items() if k != 'use_sim_time'} == given
        response = other.call('compute_ik', request)
        assert (response.solution, response.error_code.val) == (
            expected.solution,
            expected.error_code.val,
        )
        # The new node has heard no joint states yet and may add that it took default positions.
        assert response.error_code.message.startswith(expected.error_code.message)


def test_e12_a_signal_in_the_middle_of_a_search_ends_the_node_quietly(tmp_path):
    parameters = {**PARAMETERS, 'robot_description_kinematics': {'panda_arm': {**POSE_IK, **SLOW}}}
    with ready_server(tmp_path, parameters) as (server, client):
        client.send('compute_ik', ik_request(PANDA, PANDA.blocked_pose(), timeout=60.0))
        time.sleep(0.3)
        code, seconds = server.stop(signal.SIGINT)
        assert code == 0
        # One second, and the time that the interpreter needs to end on a busy machine.
        assert seconds < 0.5 * SHUTDOWN_WAIT
        assert 'Traceback' not in server.log
