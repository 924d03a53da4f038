"""
Call the services of one running node for the rqt panel: :class:`NodeClient`.

No call waits. Each ends with a result or with a :class:`ServiceFailure`, which the panel gets in its own thread. When
the panel chooses another node, the calls in progress are dropped without a result.
"""

from collections.abc import Callable, Sequence
import logging
import time
from typing import Any, NamedTuple

from moveit_msgs.srv import GetPositionFK
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.srv import Describe, ExplainIk, SolveAll, SolveGoals
from std_msgs.msg import String
from visualization_msgs.msg import InteractiveMarkerUpdate, MarkerArray
from visualization_msgs.srv import GetInteractiveMarkers

from ssik_ros.errors import SolverError, SsikError
from ssik_ros.markers import Marker
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.source import require_xml_text
from ssik_ros.ros.conversions.joint_commands import make_joint_state
from ssik_ros.ros.conversions.marker_messages import write_markers
from ssik_ros.ros.inputs.robot_source import LATCHED, MOST_JOINTS, URDF_TOPIC
from ssik_ros.ros.panel.panel_messages import (
    read_branches,
    read_explanation,
    read_forward,
    read_marker,
    read_reached,
    read_summary,
    write_explain,
    write_forward,
    write_position_goal,
    write_solve_all,
)
from ssik_ros.ros.process.service_call import HOW_TO_START
from ssik_ros.view.mailbox import Mailbox
from ssik_ros.view.node_services import Done, PoseQuery, Posture, ServiceFailure

_LOGGER = logging.getLogger('ssik_ros.panel')

WAIT = 10.0
"""Longest wait for a response [s]."""
DESCRIBE = '/describe'
KIND = 'ssik_msgs/srv/Describe'
MARKERS = 'interactive_target'


class _Call(NamedTuple):
    """
    A request whose response has not come yet.

    ``client`` sent it, and ``future`` gets the response. After ``deadline``, by the monotonic clock [s], it counts as
    failed. ``read`` converts the response, and ``done`` takes the result.
    """

    client: Any
    future: Any
    deadline: float
    done: Done
    read: Callable[[Any], Any]


class NodeClient:
    """
    Calls the services of one node, which :meth:`use` chooses, and publishes postures for RViz under its name.

    It also loads the robot on the topic ``robot_description``. One thread uses it, and gets all results.
    """

    how_to_start = HOW_TO_START

    def __init__(
        self,
        node: Node,
        post: Callable[[Callable[[], None]], None],
        *,
        take_robot: Callable[[RobotModel], None],
        move_marker: Callable[[], None],
    ) -> None:
        """
        Begin without a node to ask.

        :param node: the node of the panel, which another thread spins.
        :param post: runs a function in the thread of the panel; called in any thread.
        :param take_robot: takes the robot of the topic robot_description; called in the thread of the panel.
        :param move_marker: called in the thread of the panel when the interactive marker has moved.
        """
        self._node, self._post = node, post
        self._take_robot, self._move_marker = take_robot, move_marker
        self._calls: list[_Call] = []
        self._clients: dict[Any, Any] = {}
        self._subscriptions: list[Any] = []
        self._publishers: list[Any] = []
        self._callbacks = MutuallyExclusiveCallbackGroup()
        self._number = 0
        """Of the node that is asked: results of earlier ones are dropped."""
        self._has_moved = False
        """Whether the panel has yet to be told that the marker has moved."""
        self._loader = Mailbox(
            lambda: None, lambda: None, _LOGGER.warning, name='robot of the panel'
        )

    def find_nodes(self) -> tuple[str, ...]:
        """Return the full names of the nodes that offer ``~/describe``, sorted."""
        services = self._node.get_service_names_and_types()
        names = (name for name, kinds in services if name.endswith(DESCRIBE) and KIND in kinds)
        # The clients of a panel keep the names of services whose node has ended.
        running = {
            f'{above.rstrip("/")}/{name}'
            for name, above in self._node.get_node_names_and_namespaces()
        }
        return tuple(sorted({name.removesuffix(DESCRIBE) for name in names} & running))

    def use(self, node: str) -> None:
        """
        Ask another node from now on; responses of the earlier node are dropped.

        :param node: its full name; empty for none.
        """
        self._forget()
        if not node:
            return
        above, make = node.rpartition('/')[0], self._node.create_client
        services = {
            Describe: f'{node}{DESCRIBE}',
            SolveAll: f'{node}/solve_all',
            ExplainIk: f'{node}/explain_ik',
            SolveGoals: f'{node}/solve_goals',
            GetInteractiveMarkers: f'{node}/{MARKERS}/get_interactive_markers',
            GetPositionFK: f'{above}/compute_fk',
        }
        self._clients = {
            kind: make(kind, name, callback_group=self._callbacks)
            for kind, name in services.items()
        }
        self._publishers = [
            self._node.create_publisher(JointState, f'{node}/goal_joint_states', LATCHED),
            self._node.create_publisher(MarkerArray, f'{node}/markers', LATCHED),
        ]
        self._listen(node, above)

    def _listen(self, node: str, above: str) -> None:
        """Subscribe to the markers of a node, and to ``robot_description`` in the namespace ``above`` of this node."""
        number = self._number

        def hear(update: InteractiveMarkerUpdate) -> None:
            if update.poses and not self._has_moved:
                self._has_moved = True
                self._post(self._if_current(number, self._tell_of_marker))

        def load(message: String) -> None:
            self._loader.put(lambda: self._load(number, message.data), URDF_TOPIC)

        rows = (
            (InteractiveMarkerUpdate, f'{node}/{MARKERS}/update', hear, QoSProfile(depth=10)),
            (String, f'{above}/{URDF_TOPIC}', load, LATCHED),
        )
        for row in rows:
            heard = self._node.create_subscription(*row, callback_group=self._callbacks)
            self._subscriptions.append(heard)

    def _tell_of_marker(self) -> None:
        self._has_moved = False
        self._move_marker()

    def _load(self, number: int, text: str) -> None:
        """
        Load the robot of a URDF ``text`` in the thread of the loader; raise SsikError if it is malformed.

        ``take_robot`` gets the robot, unless the node was changed after ``number``, see :meth:`_if_current`.
        """
        text = require_xml_text(text, 'robot description')
        robot = load_robot(text, max_joints=MOST_JOINTS)
        self._post(self._if_current(number, lambda: self._take_robot(robot)))

    def _if_current(self, number: int, act: Callable[[], None]) -> Callable[[], None]:
        """
        Return a function that calls ``act``, or does nothing if the node was changed since.

        :meth:`use` and :meth:`close` change ``self._number``; ``number`` is its value at the time of the request.
        """
        return lambda: act() if number == self._number else None

    def tick(self) -> None:
        """End the calls whose deadline has passed with a ServiceFailure; called several times a second."""
        now = time.monotonic()
        for call in [call for call in self._calls if call.deadline <= now]:
            self._calls.remove(call)
            call.client.remove_pending_request(call.future)
            text = f'{call.client.srv_name} sent no response within {WAIT:g} s.'
            call.done(ServiceFailure(f'{text} Does the node still run?'))

    def close(self) -> None:
        """Forget the node, and end the thread that loads robots."""
        self._forget()
        self._loader.close()

    def _forget(self) -> None:
        """Drop all calls, which get no result, and destroy the clients, subscriptions and publishers."""
        self._number += 1
        self._has_moved = False
        self._calls.clear()
        for client in self._clients.values():
            self._node.destroy_client(client)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._clients, self._subscriptions, self._publishers = {}, [], []

    def describe(self, done: Done) -> None:
        """
        Ask for the robot and its groups.

        :param done: called with a RobotSummary, or with a ServiceFailure.
        """
        self._call(Describe, Describe.Request(), read_summary, done)

    def solve_all(self, query: PoseQuery, done: Done) -> None:
        """
        Ask for all branches of a pose.

        :param query: the target.
        :param done: called with FoundBranches, or with a ServiceFailure.
        """
        self._call(SolveAll, write_solve_all(query), read_branches, done)

    def explain(self, query: PoseQuery, done: Done) -> None:
        """
        Ask why a pose is not reached.

        :param query: the target.
        :param done: called with an Explanation, or with a ServiceFailure.
        """
        self._call(ExplainIk, write_explain(query), read_explanation, done)

    def find_marker(self, link: str, done: Done) -> None:
        """
        Ask for the pose of the interactive marker of a link.

        :param link: the link.
        :param done: called with a FramedPose, or with a ServiceFailure.
        """
        request = GetInteractiveMarkers.Request()
        self._call(
            GetInteractiveMarkers, request, lambda response: read_marker(response, link), done
        )

    def find_link(self, link: str, posture: Posture, done: Done) -> None:
        """
        Ask for the pose of a link in a posture, in the model frame.

        :param link: the link.
        :param posture: joints that are not in it are where they are now.
        :param done: called with a FramedPose, or with a ServiceFailure.
        """
        self._call(GetPositionFK, write_forward(link, posture), read_forward, done)

    def reach_position(
        self, query: PoseQuery, joint_names: Sequence[str], locked: Sequence[str], done: Done
    ) -> None:
        """
        Ask for a posture in which the link is at the position of the target, with any orientation.

        :param query: the target.
        :param joint_names: the joints of the posture.
        :param locked: joints that stay where they are.
        :param done: called with a Posture, or with a ServiceFailure.
        """
        request = write_position_goal(query, locked)
        self._call(SolveGoals, request, lambda response: read_reached(response, joint_names), done)

    def show(self, posture: Posture | None, markers: Sequence[Marker], frame: str) -> None:
        """
        Publish a posture for robot_state_publisher, and as markers; do nothing while no node is asked.

        :param posture: the posture; None publishes markers only.
        :param markers: the same posture as lines.
        :param frame: of the markers.
        """
        if not self._publishers:
            return
        joints, drawn = self._publishers
        stamp = self._node.get_clock().now().to_msg()
        if posture is not None:
            joints.publish(make_joint_state(*posture, stamp))
        if markers:
            drawn.publish(write_markers(markers, frame, stamp))

    def _call(self, kind: Any, request: Any, read: Callable[[Any], Any], done: Done) -> None:
        """
        Send a request of the service type ``kind``; ``done`` gets its response, converted by ``read``.

        It gets a ServiceFailure instead if the call fails, if ``read`` raises SsikError, or after ``WAIT`` [s]. If no
        node offers the service, it gets one at once.
        """
        client = self._clients.get(kind)
        if client is None or not client.service_is_ready():
            missing = 'a node' if client is None else client.srv_name
            done(ServiceFailure(f'No node offers {missing}. {self.how_to_start}'))
            return
        future = client.call_async(request)
        call = _Call(client, future, time.monotonic() + WAIT, done, read)
        self._calls.append(call)
        future.add_done_callback(lambda _: self._post(lambda: self._finish(call)))

    def _finish(self, call: _Call) -> None:
        """Hand over a response, unless the call has ended meanwhile."""
        if call not in self._calls:
            return
        self._calls.remove(call)
        try:
            response = call.read(_result_of(call.future))
        except SsikError as error:
            response = ServiceFailure(str(error))
        call.done(response)


def _result_of(future: Any) -> Any:
    """Return the message of a future; raise SolverError if the call failed."""
    try:
        return future.result()
    except Exception as error:
        raise SolverError(f'The call failed. {error}') from error
