"""Targets for RViz over the real node: the protocol of interactive markers, poses, causes and markers."""

import time

from test.ros.server_client import client_of, ready_server, WAIT
from test.ros.server_process import running_server
from test.ros.server_requests import message_of

from geometry_msgs.msg import Pose
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import (
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerUpdate,
    Marker,
    MarkerArray,
)
from visualization_msgs.srv import GetInteractiveMarkers

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_state import RobotState
from ssik_ros.ros.conversions.pose_conversions import read_pose

pytestmark = pytest.mark.ros

PLACE = 'ssik_ros/interactive_target'
LINK = 'panda_link8'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ASK_EVERY = 5.0
"""Time after which a client asks for the initial state again [s]."""


class MarkerClient:
    """
    A client as RViz's: the initial state by the service, then updates without a gap, else the initial state again.

    :param client: node and executor.
    """

    def __init__(self, client, name='rviz'):
        self.client, self.name = client, name
        node = client.node
        self.poses, self.markers, self.number, self.queue = {}, {}, None, []
        self.causes, self.shown, self.joints, self.resets = [], {}, [], 0
        self.loses = 0
        self.service = node.create_client(
            GetInteractiveMarkers, f'{PLACE}/get_interactive_markers'
        )
        self._feedback = node.create_publisher(InteractiveMarkerFeedback, f'{PLACE}/feedback', 100)
        self._subscriptions = [
            node.create_subscription(InteractiveMarkerUpdate, f'{PLACE}/update', self.take, 100),
            node.create_subscription(MarkerArray, 'ssik_ros/markers', self.draw, LATCHED),
            node.create_subscription(
                JointState, 'ssik_ros/goal_joint_states', self.joints.append, LATCHED
            ),
        ]

    def connect(self):
        """Ask for the initial state, again while no response comes."""
        assert self.service.wait_for_service(WAIT)
        response = self._initial_state()
        self.number = response.sequence_number
        self.markers = {marker.name: marker for marker in response.markers}
        self.poses = {name: marker.pose for name, marker in self.markers.items()}
        # An update may overtake the response.
        early, self.queue = self.queue, []
        for update in early:
            self.take(update)
        self.client.spin_until(self._feedback.get_subscription_count, 'feedback')

    def _initial_state(self):
        # The middleware may drop a response to a client that the server has not discovered yet.
        futures, start = [], time.monotonic()

        def has_response():
            if time.monotonic() >= start + ASK_EVERY * len(futures):
                futures.append(self.service.call_async(GetInteractiveMarkers.Request()))
            return any(future.done() for future in futures)

        self.client.spin_until(has_response, 'the initial state')
        for future in futures:
            self.service.remove_pending_request(future)
        return next(future.result() for future in futures if future.done())

    def take(self, update):
        """Follow an update, or find that one is missing."""
        assert update.type == InteractiveMarkerUpdate.UPDATE
        if self.loses:
            self.loses -= 1
            return
        if self.number is None:
            self.queue.append(update)
            return
        if update.seq_num <= self.number:
            return
        if update.seq_num != self.number + 1:
            self.number, self.resets = None, self.resets + 1
            return
        self.number = update.seq_num
        self.markers |= {marker.name: marker for marker in update.markers}
        self.poses |= {marker.name: marker.pose for marker in update.markers}
        self.poses |= {moved.name: moved.pose for moved in update.poses}

    def draw(self, message):
        for marker in message.markers:
            self.shown[marker.ns, marker.id] = marker

    def drag(self, pose, frame='', kind=InteractiveMarkerFeedback.POSE_UPDATE, marker=LINK):
        """Send feedback."""
        feedback = InteractiveMarkerFeedback(
            client_id=self.name, marker_name=marker, event_type=kind, pose=pose
        )
        feedback.header.frame_id = frame
        self._feedback.publish(feedback)

    @property
    def cause(self):
        marker = self.shown.get(('cause', 0))
        return '' if marker is None or marker.action == Marker.DELETE else marker.text


@pytest.fixture(scope='module')
def pair(tmp_path_factory):
    parameters = {'moveit_config_package': 'panda', 'interactive_group': 'panda_arm'}
    with ready_server(tmp_path_factory.mktemp('targets'), parameters) as (server, client):
        yield server, client


@pytest.fixture
def marker_client(pair):
    made = MarkerClient(pair[1])
    pair[1].spin_until(made.service.service_is_ready, 'the service')
    connect_until_there(made)
    return made


def connect_until_there(made):
    made.connect()
    while not made.markers:
        made.connect()


def moved(pose, x=0.0, y=0.0, z=0.0):
    matrix = read_pose(pose)
    matrix[:3, 3] += (x, y, z)
    return message_of(matrix)


def same(a, b):
    return np.allclose(read_pose(a), read_pose(b), atol=1e-9)


def tip_of(joints):
    """Return the pose of the tip by the package's own forward kinematics."""
    files = find_moveit_config('panda')
    state = RobotState(load_robot(files.urdf_path, files.srdf_path))
    state.set_joint_positions(dict(zip(joints.name, joints.position)))
    return state.link_transform(LINK)


def test_the_initial_state_has_a_handle_at_the_tip_with_six_controls(marker_client):
    marker = marker_client.markers[LINK]
    assert marker.header.frame_id == 'panda_link0' and marker.scale > 0.05
    modes = [control.interaction_mode for control in marker.controls]
    assert modes == 3 * [InteractiveMarkerControl.MOVE_AXIS] + 3 * [
        InteractiveMarkerControl.ROTATE_AXIS
    ]
    assert all(abs(read_pose(Pose(orientation=c.orientation))).max() < 2 for c in marker.controls)


def test_feedback_moves_handle_posture_and_markers(marker_client):
    pose = moved(marker_client.poses[LINK], x=0.04, z=-0.03)
    marker_client.drag(pose)
    wait = marker_client.client.spin_until
    wait(lambda: same(marker_client.poses[LINK], pose), 'the update')
    wait(
        lambda: (
            marker_client.joints
            and np.allclose(tip_of(marker_client.joints[-1]), read_pose(pose), atol=2e-3)
        ),
        'joints',
    )
    wait(lambda: ('posture', 0) in marker_client.shown, 'markers')
    assert not marker_client.cause
    assert len(marker_client.shown['posture', 0].points) >= 14


def test_a_drag_out_of_reach_has_a_cause_and_a_way_back(marker_client):
    home, wait = marker_client.poses[LINK], marker_client.client.spin_until
    marker_client.drag(moved(home, x=3.0))
    wait(lambda: 'out of reach' in marker_client.cause, 'the cause')
    assert len(marker_client.shown['gap', 0].points) == 2
    marker_client.drag(home)
    wait(lambda: not marker_client.cause and same(marker_client.poses[LINK], home), 'the way back')
    wait(lambda: marker_client.shown['branches', 0].action == Marker.ADD, 'branches')


def test_feedback_in_another_frame_is_converted(marker_client):
    pose = Pose()
    pose.position.z = 0.01
    pose.orientation.w = 1.0
    before = read_pose(marker_client.poses[LINK])
    marker_client.client.spin_until(lambda: marker_client.joints, 'joints')
    tip = tip_of(marker_client.joints[-1])
    marker_client.drag(pose, frame=LINK)
    wait = marker_client.client.spin_until
    wait(
        lambda: not np.allclose(read_pose(marker_client.poses[LINK]), before, atol=1e-6),
        'the update',
    )
    assert np.allclose(
        read_pose(marker_client.poses[LINK])[:3, 3], tip[:3, 3] + 0.01 * tip[:3, 2], atol=5e-3
    )


def test_a_client_that_lost_an_update_resumes_from_the_initial_state(marker_client):
    pose, wait = marker_client.poses[LINK], marker_client.client.spin_until
    marker_client.loses = 1
    for step in range(1, 4):
        marker_client.drag(moved(pose, y=0.01 * step))
        wait(lambda: marker_client.loses == 0 or marker_client.resets, 'the loss')
        if marker_client.resets:
            break
        marker_client.client.spin_once(0.3)
    wait(lambda: marker_client.resets, 'the gap')
    marker_client.connect()
    end = moved(pose, y=0.05)
    marker_client.drag(end)
    wait(lambda: same(marker_client.poses[LINK], end), 'updates after the loss')
    assert marker_client.resets == 1


def test_of_two_clients_the_first_one_holds_the_handle(pair, marker_client):
    other, wait = MarkerClient(pair[1], name='other'), pair[1].spin_until
    other.connect()
    first = moved(marker_client.poses[LINK], x=0.01)
    marker_client.drag(first)
    wait(lambda: same(marker_client.poses[LINK], first), 'the first client')
    other.drag(moved(first, x=-0.2))
    last = moved(first, z=0.01)
    marker_client.drag(last)
    wait(lambda: same(marker_client.poses[LINK], last), 'the first client again')
    wait(lambda: same(other.poses[LINK], last), 'the second client sees it')


@pytest.mark.parametrize(
    'changes',
    [
        {'marker': 'nothing'},
        {'frame': 'nowhere'},
        {'kind': InteractiveMarkerFeedback.MENU_SELECT},
        {'kind': 250},
    ],
)
def test_feedback_that_means_nothing_changes_nothing(marker_client, changes):
    before = marker_client.poses[LINK]
    marker_client.drag(moved(before, x=0.1), **changes)
    broken = Pose()
    broken.position.x = float('nan')
    marker_client.drag(broken)
    after = moved(before, x=0.002)
    marker_client.drag(after)
    marker_client.client.spin_until(lambda: same(marker_client.poses[LINK], after), 'the next one')


def test_a_burst_of_feedback_leaves_no_gap_between_updates(marker_client):
    """Sequence numbers rise by one without keep-alive messages between them, as in the package for ROS 2."""
    pose, resets = marker_client.poses[LINK], marker_client.resets
    for step in range(60):
        marker_client.drag(moved(pose, z=-2e-4 * step))
    marker_client.client.spin_until(
        lambda: same(marker_client.poses[LINK], moved(pose, z=-2e-4 * 59)), 'the last pose'
    )
    assert marker_client.resets == resets


@pytest.mark.slow
def test_a_client_whose_server_has_gone_begins_anew_with_the_next_one(tmp_path, domain):
    parameters = {'moveit_config_package': 'panda', 'interactive_group': 'panda_arm'}
    folders = [tmp_path / name for name in ('first', 'second')]
    with running_server(make(folders[0]), parameters, domain=domain) as first:
        first.wait_until_ready()
        with client_of(first) as client:
            made = MarkerClient(client)
            connect_until_there(made)
            home = made.poses[LINK]
            made.drag(moved(home, x=0.05))
            client.spin_until(lambda: same(made.poses[LINK], moved(home, x=0.05)), 'the update')
            first.stop()
            # RViz's client looks whether the service is there, and resets if not.
            client.spin_until(lambda: not made.service.service_is_ready(), 'the end')
            made.number, made.poses, made.markers = None, {}, {}
            with running_server(make(folders[1]), parameters, domain=domain) as second:
                second.wait_until_ready()
                connect_until_there(made)
                assert same(made.poses[LINK], home)
                made.drag(moved(home, y=0.05))
                client.spin_until(lambda: same(made.poses[LINK], moved(home, y=0.05)), 'the next')


def make(folder):
    folder.mkdir()
    return folder
