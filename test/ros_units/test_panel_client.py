"""The client of the panel against nodes that respond, are silent, or are not there."""

from collections import deque
import time

from test.ros_units.bare_nodes import node_maker

import pytest

pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

import numpy as np
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.msg import IkBranch
from ssik_msgs.srv import Describe, ExplainIk, SolveAll
from std_msgs.msg import String
from visualization_msgs.msg import InteractiveMarkerPose, InteractiveMarkerUpdate, MarkerArray

from ssik_ros.markers import Marker
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.panel import node_client
from ssik_ros.ros.panel.node_client import NodeClient
from ssik_ros.server.requests.ik_requests import FramedPose
from ssik_ros.view.node_services import PoseQuery, Posture, ServiceFailure

pytestmark = pytest.mark.ros

WAIT = 20.0
NODE = '/cell/made_0'
QUERY = PoseQuery('arm', 'tool', FramedPose('', np.eye(4)))
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Bench:
    """A panel's client, and a node that responds to it."""

    def __init__(self, make):
        self.server, panel = make(namespace='/cell'), make()
        context = self.server.context
        self.responding = SingleThreadedExecutor(context=context)
        self.responding.add_node(self.server)
        self.spinning = SingleThreadedExecutor(context=context)
        self.spinning.add_node(panel)
        self.posted, self.robots, self.moves, self.results = deque(), [], [], []
        self.client = NodeClient(
            panel,
            self.posted.append,
            take_robot=self.robots.append,
            move_marker=lambda: self.moves.append(1),
        )
        self.panel = panel

    def offer(self, kind, name, response=None, respond=None):
        """Offer a service that sends a response."""
        self.server.create_service(
            kind, f'{NODE}/{name}', respond or (lambda request, empty: response)
        )

    def run(self, until):
        """Spin both nodes, and do the posted work, until a condition holds."""
        end = time.monotonic() + WAIT
        while not until():
            assert time.monotonic() < end, 'not done in time'
            self.spinning.spin_once(0.01)
            self.responding.spin_once(0.01)
            self.work()

    def receive(self):
        """Spin both nodes until a response is posted, and leave it there."""
        end = time.monotonic() + WAIT
        while not self.posted:
            assert time.monotonic() < end, 'no response'
            self.responding.spin_once(0.01)
            self.spinning.spin_once(0.01)

    def work(self):
        """Do the posted work."""
        while self.posted:
            self.posted.popleft()()

    def use(self):
        """Ask the node, once its services are discovered."""
        self.client.use(NODE)
        self.run(lambda: any(c.service_is_ready() for c in self.panel.clients))


@pytest.fixture
def bench():
    with node_maker() as make:
        nodes = Bench(make)
        yield nodes
        nodes.client.close()
        nodes.spinning.shutdown()
        nodes.responding.shutdown()


def test_only_nodes_with_our_describe_are_found(bench):
    bench.offer(Describe, 'describe')
    bench.server.create_service(ExplainIk, '/other/describe', lambda request, empty: empty)
    bench.run(lambda: len(bench.client.find_nodes()) > 0)
    time.sleep(0.2)
    assert bench.client.find_nodes() == (NODE,)


def test_a_node_that_has_ended_is_not_found_any_more(bench):
    bench.offer(Describe, 'describe')
    bench.use()
    assert bench.client.find_nodes() == (NODE,)
    bench.responding.shutdown()
    bench.server.destroy_node()
    end = time.monotonic() + WAIT
    while bench.client.find_nodes():
        assert time.monotonic() < end, 'the node is still listed'
        time.sleep(0.05)


def test_a_service_that_is_not_there_is_one_line_with_what_to_do(bench):
    bench.client.use(NODE)
    bench.client.solve_all(QUERY, bench.results.append)
    (result,) = bench.results
    assert isinstance(result, ServiceFailure) and '\n' not in result.text
    assert f'{NODE}/solve_all' in result.text and 'ros2 launch' in result.text


def test_a_response_comes_to_the_thread_of_the_panel(bench):
    bench.offer(Describe, 'describe', Describe.Response(success=True, robot='r'))
    bench.use()
    bench.client.describe(bench.results.append)
    assert bench.results == []
    bench.run(lambda: bool(bench.results))
    assert bench.results[0].robot == 'r'


def test_a_malformed_response_is_one_sentence(bench):
    branch = IkBranch(positions=[float('nan')])
    bench.offer(SolveAll, 'solve_all', SolveAll.Response(joint_names=['a'], branches=[branch]))
    bench.use()
    bench.client.solve_all(QUERY, bench.results.append)
    bench.run(lambda: bool(bench.results))
    assert 'wrong numbers' in bench.results[0].text


@pytest.mark.parametrize('is_late', [False, True])
def test_a_silent_node_ends_the_call_in_time_and_a_late_response_is_dropped(
    bench, monkeypatch, is_late
):
    monkeypatch.setattr(node_client, 'WAIT', 0.5)
    bench.offer(Describe, 'describe', Describe.Response(success=True, robot='r'))
    bench.use()
    bench.client.describe(bench.results.append)
    bench.client.tick()
    assert bench.results == []
    if is_late:
        bench.receive()
    time.sleep(0.6)
    bench.client.tick()
    assert 'no response within 0.5 s' in bench.results[0].text
    bench.work()
    assert len(bench.results) == 1


def test_responses_of_an_earlier_node_are_dropped(bench):
    bench.offer(Describe, 'describe', Describe.Response(success=True, robot='r'))
    bench.use()
    bench.client.describe(bench.results.append)
    bench.receive()
    bench.client.use('')
    bench.work()
    assert bench.results == [] and not list(bench.panel.clients)


def test_a_posture_is_published_as_joint_states_and_markers(bench):
    heard = []
    bench.server.create_subscription(
        JointState, f'{NODE}/goal_joint_states', heard.append, LATCHED
    )
    bench.server.create_subscription(MarkerArray, f'{NODE}/markers', heard.append, LATCHED)
    bench.client.use(NODE)
    lines = Marker('chosen', 0, 'line_list', (1.0, 0.0, 0.0, 1.0), 0.01, np.eye(3)[:2])
    bench.client.show(Posture(('a',), np.array([0.5])), [lines], 'base')
    bench.run(lambda: len(heard) == 2)
    joints, markers = sorted(heard, key=lambda message: isinstance(message, MarkerArray))
    assert joints.name == ['a'] and list(joints.position) == [0.5]
    assert markers.markers[0].ns == 'chosen' and markers.markers[0].header.frame_id == 'base'


def test_many_moves_of_the_marker_wait_as_one(bench):
    topic = f'{NODE}/interactive_target/update'
    publisher = bench.server.create_publisher(InteractiveMarkerUpdate, topic, 100)
    bench.client.use(NODE)
    bench.run(lambda: publisher.get_subscription_count() == 1)
    for _ in range(8):
        publisher.publish(InteractiveMarkerUpdate(poses=[InteractiveMarkerPose(name='tool')]))
        bench.spinning.spin_once(0.1)
    assert len(bench.posted) == 1
    bench.work()
    assert bench.moves == [1]
    # An update without a pose moves nothing.
    publisher.publish(InteractiveMarkerUpdate())
    bench.spinning.spin_once(0.2)
    assert not bench.posted


def test_a_robot_is_loaded_from_the_topic_and_a_malformed_one_is_reported(bench, caplog):
    publisher = bench.server.create_publisher(String, '/cell/robot_description', LATCHED)
    bench.client.use(NODE)
    publisher.publish(String(data='/etc/passwd'))
    bench.run(lambda: 'is not XML text' in caplog.text)
    urdf = load_robot(find_moveit_config('ur5e').urdf_path).urdf_xml
    publisher.publish(String(data=urdf))
    bench.run(lambda: bool(bench.robots))
    assert [robot.name for robot in bench.robots] == ['ur5e']
