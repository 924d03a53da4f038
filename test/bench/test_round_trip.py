"""The comparison of round trips: the response of the empty handler, and the figures."""

import numpy as np
import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
rclpy = pytest.importorskip('rclpy', reason='no rclpy on this machine')
serialization = pytest.importorskip('rclpy.serialization')
services = pytest.importorskip('moveit_msgs.srv')
task = pytest.importorskip('rclpy.task')
caller = pytest.importorskip('bench.ros.caller')
processes = pytest.importorskip('bench.ros.processes')
requests = pytest.importorskip('bench.ros.requests')
round_trip = pytest.importorskip('bench.round_trip')
arms = pytest.importorskip('bench.arms')

pytestmark = pytest.mark.ros


def prepared_response():
    response = services.GetPositionIK.Response()
    response.error_code.val = 1
    response.error_code.message = 'a sentence of some length'
    state = response.solution
    state.joint_state.name = [f'joint{number}' for number in range(7)]
    state.joint_state.position = [0.1 * number for number in range(7)]
    state.multi_dof_joint_state.joint_names = ['virtual_joint']
    return response


def test_empty_server_responds_with_the_same_types_and_size(tmp_path, monkeypatch, domain):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    expected = prepared_response()
    content = serialization.serialize_message(expected)
    (tmp_path / 'prepared').write_bytes(content)
    arm = arms.read_arm('panda')
    request = requests.make_request(arm, np.eye(4), np.zeros(7))
    with (
        caller.Caller(['/empty'], domain) as client,
        processes.ServerProcesses(None, 60) as servers,
    ):
        servers.start(processes.empty_server('/empty', 2, tmp_path / 'prepared'), tmp_path / 'log')
        client.wait_for('/empty', 60.0)
        response = client.call('/empty', request, 10.0)
    assert response == expected
    assert len(serialization.serialize_message(response)) == len(content)


def test_servers_have_ended_on_leaving(tmp_path):
    with processes.ServerProcesses(None, 60) as servers:
        process = servers.start(['sleep', '50'], tmp_path / 'log')
        assert process.poll() is None
    assert process.poll() is not None


def test_a_missing_server_is_an_error_and_no_endless_wait(domain):
    with caller.Caller(['/nobody'], domain) as client, pytest.raises(caller.NoResponse):
        client.wait_for('/nobody', 0.1)


class HalfDiscovered:
    """A client whose first solutions are lost, as long as the server does not know its reader."""

    def __init__(self, lost):
        self.left, self.pending = lost, []

    def wait_for_service(self, limit):
        return True

    def call_async(self, request):
        future = task.Future()
        self.pending.append(future)
        self.left -= 1
        if self.left < 0:
            future.set_result(services.GetPositionIK.Response())
        return future

    def remove_pending_request(self, future):
        self.pending.remove(future)


@pytest.mark.parametrize('lost', range(3))
def test_a_server_is_there_when_it_has_responded(domain, monkeypatch, lost):
    monkeypatch.setattr(caller, 'FIRST_TRY', 0.05)
    with caller.Caller(['/half'], domain) as client:
        half = HalfDiscovered(lost)
        monkeypatch.setitem(client.clients, '/half', half)
        client.wait_for('/half', 10.0)
    assert len(half.pending) == 1 and half.pending[0].done()


def test_a_server_that_never_responds_is_not_there(domain, monkeypatch):
    with caller.Caller(['/half'], domain) as client:
        monkeypatch.setitem(client.clients, '/half', HalfDiscovered(1000))
        with pytest.raises(caller.NoResponse, match='did not respond'):
            client.wait_for('/half', 0.1)


def test_a_server_without_its_last_services_is_not_there_yet(tmp_path, monkeypatch, domain):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    (tmp_path / 'prepared').write_bytes(serialization.serialize_message(prepared_response()))
    with (
        caller.Caller(['/part'], domain) as client,
        processes.ServerProcesses(None, 60) as servers,
    ):
        servers.start(processes.empty_server('/part', 2, tmp_path / 'prepared'), tmp_path / 'log')
        client.wait_for('/part', 30.0)
        with pytest.raises(caller.NoResponse, match='compute_cartesian_path'):
            client.wait_for_all('/part', 0.3)
        monkeypatch.setattr(caller, 'LAST_SERVICE', 'compute_ik')
        client.wait_for_all('/part', 10.0)


def test_requests_carry_pose_seed_and_timeout():
    arm = arms.read_arm('panda')
    q = np.linspace(-0.5, 0.5, 7)
    target = arm.fk(q[None])[0]
    ik_request = requests.make_request(arm, target, q, 1.25).ik_request
    assert list(ik_request.robot_state.joint_state.position) == q.tolist()
    assert (ik_request.timeout.sec, ik_request.timeout.nanosec) == (1, 250_000_000)
    assert ik_request.pose_stamped.header.frame_id == arm.base
    assert ik_request.pose_stamped.pose.position.x == target[0, 3]


@pytest.mark.parametrize('axis', range(3))
def test_quaternion_turns_as_its_matrix(axis):
    angles = np.linspace(-np.pi, np.pi, 9)
    for angle in angles:
        unit = np.eye(3)[axis]
        cross = np.cross(np.eye(3), unit)
        matrix = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        x, y, z, w = requests.quaternion_of(matrix)
        expected = np.append(np.sin(angle / 2) * unit, np.cos(angle / 2))
        assert abs(np.dot([x, y, z, w], expected)) == pytest.approx(1.0, abs=1e-12)


def test_ratio_is_that_of_the_medians():
    reference = np.array([100.0, 200.0, 900.0])
    row = round_trip.make_row('panda', '/own', 2.0 * reference, 100.0, reference)
    assert row.ratio == pytest.approx(2.0)
    assert row.times.median == 400.0


def test_client_has_a_core_of_its_own_where_there_is_one():
    assert round_trip.core_of_client(1, {0, 1}) == 0
    assert round_trip.core_of_client(0, {0}) == 0
