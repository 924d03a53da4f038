"""
Send joint goals from the page in the browser to the robot: :class:`GoalSender` uses a topic or action of the user.

The type of the receiver decides which message is sent. Only :meth:`GoalSender.send` starts a motion. The caller gives
the current posture, which has to be recent and within all limits. On a topic of joint states, the motion is sent as
many postures. They wait for a robot that lags, and the motion ends if the robot does not follow.
"""

from collections.abc import Sequence
import math
import time
from typing import Any, NamedTuple, Protocol

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import quote, shorten, SolverError
from ssik_ros.ros.conversions.joint_commands import make_joint_state, make_trajectory

try:
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient
except ImportError:
    FollowJointTrajectory = None

TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
STATE = 'sensor_msgs/msg/JointState'
ACTION = 'control_msgs/action/FollowJointTrajectory'
DEPTH = 10
RESPONSE = 5.0
"""An action that has not accepted a goal within this time gets a cancellation [s]."""
LATE_GOAL_TIME = 10.0
"""A goal that is not reached this long after its duration gets a cancellation, too [s]."""
SUCCESSFUL = 0
"""Error code of FollowJointTrajectory."""
STOPPING = 0.2
"""Duration of the trajectory that holds the joints where they are [s]."""
LAG = 0.2
"""A posture is sent only if each joint gets there within this time at its velocity limit, from its present position [s]."""
LONGEST_PLAYED_TIME = 0.1
"""Longest part of the motion between two postures, however long the process waited in between [s]."""
STANDSTILL_TIME = 2.0
"""Time without a posture that can be sent after which the motion ends [s]."""
BETWEEN_GOALS = 0.5
"""Shortest time between two goals [s]."""
BETWEEN_STOPS = 0.1
"""A stop that soon after another one sends nothing: the first one holds [s]."""


class Motion(NamedTuple):
    """A motion along a straight line in joint space, from the present posture to a goal, with its duration."""

    names: Sequence[str]
    """Names of the joints."""
    start: FloatArray
    """(n,) present joint vector [rad or m]."""
    goal: FloatArray
    """(n,) joint vector at the end [rad or m]."""
    seconds: float
    """Duration [s]."""
    velocity: FloatArray
    """(n,) velocity limits, finite [rad/s or m/s]."""

    def at(self, part: float) -> FloatArray:
        """
        Return the posture (n,) at a part of the motion [rad or m].

        :param part: from 0, the start, to 1, the goal.
        """
        return self.start + part * (self.goal - self.start)


class _Channel(Protocol):
    """Interface of the classes that send goals, one class for each type of receiver."""

    problem: str
    """Why no goal can be sent; empty if one can."""
    status: str
    """State of the last goal as text."""

    def send(self, motion: Motion) -> None: ...

    def step(self, here: FloatArray | None, reason: str = '') -> None: ...

    def stop(self, here: FloatArray | None, reason: str = '') -> None: ...

    def close(self) -> None: ...


class GoalSender:
    """Sends goals to one topic or action; two threads may call it."""

    def __init__(self, node: Node, name: str) -> None:
        """
        Look for the receiver; nothing is sent yet.

        :param node: the node.
        :param name: of the topic or the action; empty if the user named none.
        """
        self._node, self.name = node, name and node.resolve_topic_name(name)
        self._kind = ''
        self._channel: _Channel | None = None
        self._problem = ''
        self._sent = self._stopped = -math.inf
        self.look()

    @property
    def problem(self) -> str:
        """Return why no goal can be sent; empty if goals can be sent."""
        return self._problem or (self._channel.problem if self._channel else '')

    @property
    def had_receiver(self) -> bool:
        """Return whether a receiver has ever been there."""
        return self._channel is not None

    @property
    def status(self) -> str:
        """Return the state of the last goal as text; empty before the first goal."""
        return self._channel.status if self._channel else ''

    def look(self) -> None:
        """Look for the receiver, and update ``problem``; called regularly."""
        # Another thread may read it meanwhile, and sends if it is empty.
        self._problem = self._look() if self.name else 'No receiver is named.'

    def _look(self) -> str:
        """
        Look for receivers of the topic or action, and open a channel for their type.

        Return an empty text, or a sentence why nothing can be sent: no receiver, several types, or a topic that this
        node itself subscribes to.
        """
        kinds = self._kinds()
        if any(subscription.topic_name == self.name for subscription in self._node.subscriptions):
            return f'{self.name} tells where the robot is: name a topic that moves it.'
        if len(kinds) > 1:
            return f'{self.name} has receivers of several types.'
        return self._open(*kinds) if kinds else f'Nobody receives {self.name}.'

    def _kinds(self) -> set[str]:
        """Return the message or action types of the present receivers."""
        node, name = self._node, self.name
        kinds = {end.topic_type for end in node.get_subscriptions_info_by_topic(name)}
        services = dict(node.get_service_names_and_types())
        for kind in services.get(f'{name}/_action/send_goal', ()):
            kinds.add(kind.removesuffix('_SendGoal'))
        return kinds

    def _open(self, kind: str) -> str:
        """
        Open a channel that sends goals to receivers of a message or action type.

        Return an empty text, or the reason why this is impossible. An open channel of the same type stays; one of
        another type is closed first.
        """
        if kind == self._kind:
            return ''
        if kind not in _CHANNELS:
            return f'{self.name} takes {shorten(kind)}; goals go out as {", ".join(_CHANNELS)}.'
        if kind == ACTION and FollowJointTrajectory is None:
            return 'An action needs the package control_msgs, which is not installed.'
        if self._channel is not None:
            self._channel.close()
        self._kind, self._channel = '', None
        self._kind, self._channel = kind, _CHANNELS[kind](self._node, self.name)
        return ''

    def send(self, motion: Motion) -> None:
        """
        Send a goal; it replaces an earlier one.

        :param motion: the goal.
        :raises SolverError: without a receiver, and for a goal too soon after another one.
        """
        if self.problem or self._channel is None:
            raise SolverError(f'Nothing is sent. {self.problem}')
        now = time.monotonic()
        if now - self._sent < BETWEEN_GOALS:
            raise SolverError(
                f'Nothing is sent: another goal went out less than {BETWEEN_GOALS:g} s ago.'
            )
        self._sent = now
        self._channel.send(motion)

    def step(self, here: FloatArray | None, reason: str = '') -> None:
        """
        Send the next part of the goal, if it is sent in parts; a timer calls this often.

        :param here: (n,) present joint vector, checked; None if it is unknown.
        :param reason: why it is unknown.
        """
        if self._channel is not None:
            self._channel.step(here, reason)

    def stop(self, here: FloatArray | None, reason: str = '') -> None:
        """
        Cancel the goal, or tell the receiver to hold the present posture.

        Do nothing if no receiver was ever there, or less than ``BETWEEN_STOPS`` [s] after the last stop.

        :param here: (n,) present joint vector, checked; None if it is unknown.
        :param reason: why it is unknown.
        :raises SolverError: if a posture to hold has to be sent, and the present one is unknown.
        """
        now = time.monotonic()
        if self._channel is None or now - self._stopped < BETWEEN_STOPS:
            return
        self._channel.stop(here, reason)
        self._stopped = now


class _Topic:
    """Base of the classes that send goals on a topic; ``kind`` is the class of its messages."""

    kind: Any
    problem = status = ''

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._publisher = node.create_publisher(self.kind, name, QoSProfile(depth=DEPTH))

    def close(self) -> None:
        self._node.destroy_publisher(self._publisher)


class _TrajectoryTopic(_Topic):
    """Sends a goal as a trajectory of one point on a topic."""

    kind = JointTrajectory
    _names: Sequence[str] = ()

    def send(self, motion: Motion) -> None:
        self._names = motion.names
        self._publisher.publish(make_trajectory(motion.names, motion.goal, motion.seconds))
        self.status = f'Sent: {motion.seconds:.1f} s. A topic does not say what becomes of it.'

    def step(self, here: FloatArray | None, reason: str = '') -> None:
        """Do nothing: the receiver moves the joints."""

    def stop(self, here: FloatArray | None, reason: str = '') -> None:
        """
        Send the present posture ``here`` (n,) as a goal; do nothing if no goal was sent before.

        If a goal was sent and the posture is unknown, raise SolverError.
        """
        if not self._names:
            return
        if here is None:
            raise SolverError(
                f'Nothing is sent: nobody knows where to hold. Stop the robot by its own means. {reason}'
            )
        self._publisher.publish(make_trajectory(self._names, here, STOPPING))
        self.status = 'Sent: hold the present posture.'


class _SentMotion:
    """A motion, straight in joint space, that is sent posture by posture; it waits while the robot lags."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self._part = 0.0
        self._time = self._moved = time.monotonic()

    @property
    def is_done(self) -> bool:
        """Return whether the last posture was returned."""
        return self._part == 1.0

    def next(self, here: FloatArray) -> FloatArray | None:
        """
        Return the next posture (n,) to send; None while it is too far from the present posture ``here`` (n,).

        The motion goes on by the time since the last call, at most ``LONGEST_PLAYED_TIME`` [s]; while the result is
        None, it waits. Too far means farther than a joint moves in ``LAG`` [s] at its velocity limit.
        """
        now, motion = time.monotonic(), self.motion
        part = self._part + min(now - self._time, LONGEST_PLAYED_TIME) / motion.seconds
        self._time = now
        posture = motion.goal if part >= 1.0 else motion.at(part)
        if (np.abs(posture - here) > LAG * motion.velocity).any():
            return None
        self._part, self._moved = min(1.0, part), now
        return posture

    def has_waited(self) -> bool:
        """Return whether the motion has waited for the robot longer than ``STANDSTILL_TIME``."""
        return time.monotonic() - self._moved > STANDSTILL_TIME

    def describe_lag(self, here: FloatArray) -> str:
        """
        Return a sentence about the joint that is farthest from its last sent value, relative to its velocity limit.

        ``here`` (n,) is the present posture [rad or m].
        """
        lags = np.abs(self.motion.at(self._part) - here)
        k = int((lags / self.motion.velocity).argmax())
        return f'{quote(self.motion.names[k])} is {lags[k]:.3g} from where it was sent.'


class _StateTopic(_Topic):
    """
    Sends a goal as joint states on a topic: postures on the straight line in joint space from the present posture.

    Each :meth:`step` sends the next posture. The motion waits while the robot lags. It ends if the posture of the robot
    is unknown, or if the robot lags too far for the next posture during STANDSTILL_TIME [s].
    """

    kind = JointState
    _sent: _SentMotion | None = None
    """Motion that is being sent; None if no motion is being sent."""

    def send(self, motion: Motion) -> None:
        self._sent = _SentMotion(motion)
        self.status = f'On the way: {motion.seconds:.1f} s.'

    def step(self, here: FloatArray | None, reason: str = '') -> None:
        sent = self._sent
        if sent is None:
            return
        if here is None:
            self._sent, self.status = None, f'Stopped: nobody knows where the robot is. {reason}'
            return
        posture = sent.next(here)
        if posture is not None:
            self._publish(sent.motion, posture)
        elif sent.has_waited():
            self._sent = None
            self.status = f'Stopped: the robot does not follow. {sent.describe_lag(here)}'
            return
        if sent.is_done and self._sent is sent:
            self._sent, self.status = None, 'All postures are sent.'

    def _publish(self, motion: Motion, posture: FloatArray) -> None:
        stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(make_joint_state(motion.names, posture, stamp))

    def stop(self, here: FloatArray | None, reason: str = '') -> None:
        """
        End the motion that is being sent, and send the present posture if it is known.

        Do nothing if no motion is being sent.
        """
        sent, self._sent = self._sent, None
        if sent is None:
            return
        self.status = f'Stopped. {reason}'.rstrip()
        if here is not None:
            self._publish(sent.motion, here)
            self.status = 'Stopped: hold the present posture.'

    def close(self) -> None:
        self._sent = None
        super().close()


class _SentGoal:
    """A goal sent to an action, with its deadline by ``time.monotonic`` [s]; ``handle`` is set when it is accepted."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.handle: Any = None
        self.is_dropped = False

    def drop(self) -> None:
        """Cancel the goal, or mark it to be cancelled as soon as it is accepted."""
        self.is_dropped = True
        if self.handle is not None:
            self.handle.cancel_goal_async()


class _Action:
    """Sends a goal to an action FollowJointTrajectory."""

    def __init__(self, node: Node, name: str) -> None:
        self.status = ''
        self._name = name
        self._sent: _SentGoal | None = None
        self._client = ActionClient(
            node, FollowJointTrajectory, name, callback_group=MutuallyExclusiveCallbackGroup()
        )

    @property
    def problem(self) -> str:
        """Return a sentence if the action has no server; empty otherwise."""
        return '' if self._client.server_is_ready() else f'The action {self._name} is not there.'

    def send(self, motion: Motion) -> None:
        self.stop(None)
        goal = FollowJointTrajectory.Goal()
        goal.trajectory = make_trajectory(motion.names, motion.goal, motion.seconds)
        sent = self._sent = _SentGoal(time.monotonic() + RESPONSE)
        self.status = 'Sent.'
        future = self._client.send_goal_async(goal)
        future.add_done_callback(lambda f: self._take_response(sent, f, motion.seconds))

    def _take_response(self, sent: _SentGoal, future: Any, seconds: float) -> None:
        sent.handle = handle = future.result()
        if handle is None or not handle.accepted:
            self._end(sent, 'The goal was rejected.')
            return
        if sent.is_dropped:
            sent.drop()
            return
        sent.deadline = time.monotonic() + seconds + LATE_GOAL_TIME
        self.status = f'Accepted: {seconds:.1f} s.'
        handle.get_result_async().add_done_callback(lambda f: self._take_result(sent, f))

    def _take_result(self, sent: _SentGoal, future: Any) -> None:
        status, result = future.result().status, future.result().result
        # The error code of a goal that the receiver has cancelled is often the code of success.
        if status == GoalStatus.STATUS_CANCELED:
            self._end(
                sent, 'The receiver has cancelled the goal: it stopped, or follows another one.'
            )
        elif status == GoalStatus.STATUS_SUCCEEDED and result.error_code == SUCCESSFUL:
            self._end(sent, 'Reached.')
        else:
            text = f'Failed ({result.error_code}): {quote(result.error_string)}.'
            self._end(sent, text)

    def _end(self, sent: _SentGoal, text: str) -> None:
        if sent is self._sent:
            self._sent, self.status = None, text

    def step(self, here: FloatArray | None, reason: str = '') -> None:
        sent = self._sent
        if sent is not None and time.monotonic() > sent.deadline:
            sent.drop()
            self._end(sent, 'No response in time; a cancellation is sent.')

    def stop(self, here: FloatArray | None, reason: str = '') -> None:
        sent = self._sent
        if sent is not None:
            sent.drop()
            self._end(sent, 'A cancellation is sent.')

    def close(self) -> None:
        self.stop(None)
        self._client.destroy()


_CHANNELS: dict[str, Any] = {TRAJECTORY: _TrajectoryTopic, STATE: _StateTopic, ACTION: _Action}
