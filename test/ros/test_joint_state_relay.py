"""The node joint_state_relay with real messages: all joints, markers, and silence where loops are open."""

import math

from test.mechanisms.mechanisms import BASE_RADIUS, hexagon, LEG_OFFSET, PLATFORM_RADIUS
from test.ros.server_client import client_of
from test.ros.server_process import PACKAGE_ROOT, running_server

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

pytestmark = pytest.mark.ros

RELAY = ('-m', 'ssik_ros.ros.streams.joint_state_relay')
HEXAPOD = PACKAGE_ROOT / 'config' / 'mechanisms' / 'hexapod'
SLIDES = [f'leg{k}_slide' for k in range(1, 7)]
LOOPS = {'loop_closures_file': str(HEXAPOD / 'loop_closures.yaml')}


class Listener:
    """The messages of the relay, and a publisher of its input."""

    def __init__(self, client):
        self.client = client
        self.states, self.arrays = [], []
        node = client.node
        depth = QoSProfile(depth=100)
        node.create_subscription(JointState, 'joint_states', self.states.append, depth)
        node.create_subscription(
            MarkerArray, 'joint_state_relay/markers', self.arrays.append, depth
        )

    def report(self, positions, stamp):
        message = JointState(name=SLIDES, position=list(positions))
        message.header.stamp.sec = stamp
        publisher = self.client.publisher(JointState, 'active_joint_states', QoSProfile(depth=10))
        publisher.publish(message)

    def state_after(self, positions, stamp):
        """Return the state published for a report, which is sent again until it has come through."""

        def has_come():
            self.report(positions, stamp)
            return any(state.header.stamp.sec == stamp for state in self.states)

        self.client.spin_until(has_come, f'state {stamp}')
        return next(state for state in self.states if state.header.stamp.sec == stamp)


@pytest.fixture(scope='module')
def relay(tmp_path_factory):
    """Give (process, listener) of a relay for the hexapod."""
    folder = tmp_path_factory.mktemp('relay')
    parameters = LOOPS | {
        'robot_description_file': str(HEXAPOD / 'hexapod.urdf'),
        'marker_period': 0.001,
    }
    with running_server(folder, parameters, program=RELAY) as server:
        server.wait_until_ready()
        with client_of(server) as client:
            yield server, Listener(client)


def lengths_of(state):
    """Return the leg lengths that the platform's pose in a state asks for: the closed form."""
    values = dict(zip(state.name, state.position, strict=True))
    angles = [values[f'platform_{n}'] for n in ('yaw', 'pitch', 'roll')]
    turn = Rotation.from_euler('ZYX', angles).as_matrix()
    position = [values[f'platform_{n}'] for n in 'xyz']
    base = hexagon(BASE_RADIUS, 0.25, 0.0)
    ends = hexagon(PLATFORM_RADIUS, 0.25, math.pi / 3)[[5, 0, 1, 2, 3, 4]]
    return np.linalg.norm(ends @ turn.T + position - base, axis=1)


def test_every_joint_is_published_with_the_stamp_of_the_report(relay):
    listener, rng = relay[1], np.random.default_rng(4)
    for stamp in range(1, 6):
        slides = 0.0555 + rng.uniform(-0.003, 0.003, 6)
        state = listener.state_after(slides, stamp)
        assert len(state.name) == len(state.position) == 30
        values = dict(zip(state.name, state.position, strict=True))
        assert [values[name] for name in SLIDES] == slides.tolist()
        assert np.abs(lengths_of(state) - LEG_OFFSET - slides).max() < 1e-7
        # The platform is above the base: the mirrored assembly mode has the same lengths.
        assert values['platform_z'] > 0.05


def test_open_loops_are_silence_and_a_reason(relay):
    server, listener = relay
    listener.state_after([0.0555] * 6, 100)
    heard = len(listener.states)
    for stamp in range(101, 111):
        listener.report([0.2] * 6, stamp)
    server.wait_for_log('Reported outside the limits: leg1_slide')
    listener.state_after([0.056] * 6, 120)
    later = {state.header.stamp.sec for state in listener.states[heard:]}
    assert 120 in later
    assert not later & set(range(101, 111))
    assert server.log.count('Reported outside the limits') < 10


def test_markers_are_messages_that_rviz_draws(relay):
    listener = relay[1]

    def has_come():
        listener.report([0.0555] * 6, 200)
        return bool(listener.arrays)

    listener.client.spin_until(has_come, 'markers')
    drawn = listener.arrays[-1].markers
    assert {m.header.frame_id for m in drawn} == {'base'}
    keys = [(m.ns, m.id) for m in drawn]
    assert len(set(keys)) == len(keys)
    kinds = {m.type for m in drawn}
    assert {Marker.LINE_LIST, Marker.CYLINDER} <= kinds
    for marker in drawn:
        if marker.action == Marker.ADD:
            is_line = marker.type == Marker.LINE_LIST
            assert marker.color.a > 0.0 and marker.scale.x > 0.0
            assert (marker.scale.z == 0.0) == is_line, 'RViz warns about what it does not read'
            if is_line:
                assert len(marker.points) % 2 == 0 and marker.points
            q = marker.pose.orientation
            assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1.0)


@pytest.mark.slow
def test_a_robot_may_come_late_and_a_loop_with_itself_is_refused(tmp_path):
    arguments = ('-r', 'active_joint_states:=joint_states')
    with running_server(tmp_path, LOOPS, arguments, program=RELAY) as server:
        assert server.wait_for_end() == 1
        assert 'the same topic' in server.log
    with running_server(tmp_path, LOOPS, program=RELAY) as server, client_of(server) as client:
        server.wait_for_log('Waiting for the robot')
        client.publish_latched('robot_description', (HEXAPOD / 'hexapod.urdf').read_text())
        server.wait_until_ready()
        assert server.stop()[0] == 0
