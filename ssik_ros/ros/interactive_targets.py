"""
Targets that RViz users drag, and the solved posture in RViz: :class:`InteractiveTargets`.

It speaks the protocol of interactive markers without the package ``interactive_markers``. A client calls
``get_interactive_markers`` once for all markers and the number of the last update. It then follows the updates, each
with the next number, and calls again when a number is missing. Drags of the user come back as feedback.
"""

from collections.abc import Callable
import logging
import time

from geometry_msgs.msg import Quaternion
from moveit_msgs.msg import RobotState
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
    MarkerArray,
)
from visualization_msgs.srv import GetInteractiveMarkers

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import quote
from ssik_ros.ros.conversions.marker_messages import write_markers
from ssik_ros.ros.conversions.messages import StateWriter, write_framed_pose
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.inputs.robot_source import LATCHED
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.view.mailbox import Mailbox
from ssik_ros.view.pictures.bars import bar_lines, length_of_bars
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.sessions.session_markers import make_markers

_LOGGER = logging.getLogger('ssik_ros.interactive_targets')

NAMESPACE = '~/interactive_target'
DEPTH = 100
"""Updates that wait for a slow client, as in the package interactive_markers."""
HOLD = 1.0
"""Time after its last feedback in which a client keeps other clients from a marker [s], as in that package."""
SIZE = 0.25
"""Size of a handle, as a part of the robot's length."""
AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 0.0, 1.0), 'z': (0.0, 1.0, 0.0)}
"""The part of the quaternion that turns x onto an axis; w is 1. RViz's names: its y and z are exchanged."""
MODES = {
    'move': InteractiveMarkerControl.MOVE_AXIS,
    'rotate': InteractiveMarkerControl.ROTATE_AXIS,
}


class InteractiveTargets:
    """Shows draggable targets of one group in RViz; publishes the solved posture as markers and as joint states."""

    def __init__(
        self,
        node: Node,
        group: str,
        served: Callable[[], RobotServer | None],
        live: LiveState,
    ) -> None:
        """
        Create publishers, service, subscription and thread; there are no markers before :meth:`begin`.

        :param node: the node.
        :param group: the group's name.
        :param served: returns the current server; None without a robot.
        :param live: the current state of the robot.
        """
        self._node, self._group, self._served, self._live = node, group, served, live
        self._session: Session | None = None
        self._number = 0
        """Number of the last update."""
        self._holder: dict[str, tuple[str, float]] = {}
        """The client that moved each marker last, and the time [s]."""
        one_by_one = MutuallyExclusiveCallbackGroup()
        self._updates = node.create_publisher(
            InteractiveMarkerUpdate, f'{NAMESPACE}/update', QoSProfile(depth=DEPTH)
        )
        self._markers = node.create_publisher(MarkerArray, '~/markers', LATCHED)
        self._joints = node.create_publisher(JointState, '~/goal_joint_states', LATCHED)
        node.create_service(
            GetInteractiveMarkers,
            f'{NAMESPACE}/get_interactive_markers',
            self._tell_all,
            callback_group=one_by_one,
        )
        node.create_subscription(
            InteractiveMarkerFeedback,
            f'{NAMESPACE}/feedback',
            self._take_feedback,
            QoSProfile(depth=DEPTH),
            callback_group=one_by_one,
        )
        self._mailbox = Mailbox(
            self._show, self._rest, _LOGGER.warning, name='interactive targets'
        )

    def begin(self) -> None:
        """
        Let the worker thread start a session with the robot that is served now, at its current state.

        The call returns at once. If no robot is served when the thread comes to it, nothing happens.
        """
        self._mailbox.put(self._begin, 'begin')

    def close(self) -> None:
        """End the thread."""
        self._mailbox.close()

    def _begin(self) -> None:
        server = self._served()
        if server is None:
            return
        group = server.groups.find(self._group)
        session = Session(server.robot, group.group, group.kinematics, server=server)
        session.begin_at(self._live.current(server.states))
        self._session = session
        update = self._next_update()
        update.markers = self._make_handles(session)
        self._updates.publish(update)

    def _current(self) -> Session | None:
        """
        Return the session; if the robot or its parameters have changed, start a new session with the old targets.

        If the tips differ, the targets of the new session are used. Return None before the first session has begun.
        """
        session = self._session
        if session is not None and session.server is not self._served():
            targets = session.targets
            self._begin()
            if self._session is not None and set(self._session.targets) == set(targets):
                self._session.targets = targets
        return self._session

    def _tell_all(
        self, request: GetInteractiveMarkers.Request, response: GetInteractiveMarkers.Response
    ) -> GetInteractiveMarkers.Response:
        response.sequence_number = self._number
        if self._session is not None:
            response.markers = self._make_handles(self._session)
        return response

    def _take_feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        """
        Queue the motion of a marker that a user drags; ignore markers that do not belong to the session.

        One client holds a marker at a time. Other clients are ignored until the first one has paused for ``HOLD`` [s].
        """
        name, session = feedback.marker_name, self._session
        if session is None or name not in session.targets:
            return
        holder, when = self._holder.get(name, (feedback.client_id, 0.0))
        now = time.monotonic()
        if holder != feedback.client_id and now - when < HOLD:
            return
        self._holder[name] = feedback.client_id, now
        if feedback.event_type != InteractiveMarkerFeedback.POSE_UPDATE:
            return
        pose, frame = read_pose(feedback.pose), feedback.header.frame_id
        self._mailbox.put(lambda: self._move(name, frame, pose), name)

    def _move(self, name: str, frame: str, pose: FloatArray) -> None:
        """
        Move a target to a pose (4, 4) in a frame, and solve; without a session do nothing.

        Raise RequestRefused for an unknown frame, and InvalidTarget for an unknown name or a pose that is not finite;
        the target then stays.
        """
        session = self._current()
        if session is None:
            return
        place = session.server.frames.in_model_frame(frame, session.state)
        session.move_target(name, pose if place is None else place @ pose)

    def _show(self) -> None:
        """Publish the target poses for the handles, and the posture as joint states if it is solved."""
        session = self._session
        if session is None:
            return
        update = self._next_update()
        frame, stamp = _frame_of(session), self._node.get_clock().now().to_msg()
        for name, pose in session.targets.items():
            moved = InteractiveMarkerPose(name=name)
            write_framed_pose(moved, frame, pose)
            update.poses.append(moved)
        self._updates.publish(update)
        if session.outcome.solved:
            # Each one anew: the writer shares the header among its messages.
            written = RobotState()
            StateWriter(session.robot).write(written, session.state)
            joints = written.joint_state
            joints.header = Header(frame_id=frame, stamp=stamp)
            self._joints.publish(joints)

    def _rest(self) -> None:
        """
        Compute other branches, or the cause of the failure, for the present targets, and publish them as markers.

        The thread does this when no drag is waiting.
        """
        session = self._session
        if session is not None:
            session.complete()
            stamp = self._node.get_clock().now().to_msg()
            drawn = write_markers(make_markers(session), _frame_of(session), stamp)
            self._markers.publish(drawn)

    def _next_update(self) -> InteractiveMarkerUpdate:
        self._number += 1
        return InteractiveMarkerUpdate(
            server_id=self._node.get_fully_qualified_name(),
            seq_num=self._number,
            type=InteractiveMarkerUpdate.UPDATE,
        )

    def _make_handles(self, session: Session) -> list[InteractiveMarker]:
        """Return one interactive marker for each target, with handles to move and rotate it."""
        lines = bar_lines(session.robot, session.state)
        size = length_of_bars(lines)
        markers = []
        for name, pose in session.targets.items():
            marker = InteractiveMarker(name=name, scale=SIZE * size)
            write_framed_pose(marker, _frame_of(session), pose)
            marker.description = f'Target of {quote(name)}'
            marker.controls = [_make_control(word, axis) for word in MODES for axis in AXES]
            markers.append(marker)
        return markers


def _frame_of(session: Session) -> str:
    """
    Return the frame of all messages: the root link if it is at the model frame, else the model frame.

    A robot_state_publisher publishes the frame of the root link; the model frame is often not published.
    """
    is_there = np.array_equal(session.state.root_pose, np.eye(4))
    return session.robot.tree.root_link if is_there else session.robot.model_frame


def _make_control(mode: str, axis: str) -> InteractiveMarkerControl:
    """Return a handle of a marker: ``mode`` is ``move`` or ``rotate``, ``axis`` is ``x``, ``y`` or ``z``."""
    control = InteractiveMarkerControl(name=f'{mode}_{axis}', interaction_mode=MODES[mode])
    half = float(np.sqrt(0.5))
    x, y, z = (half * part for part in AXES[axis])
    control.orientation = Quaternion(x=x, y=y, z=z, w=half)
    return control
