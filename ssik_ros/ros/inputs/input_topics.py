"""
Topics for descriptions and joint states of the robot; a node in a namespace also listens outside of it.

A node in a namespace often runs with a robot that publishes without one. Each input is taken from its relative
name if that has a publisher, else from the absolute name.
"""

from collections import deque
from collections.abc import Callable
import logging
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ssik_ros.ros.process.steady_timers import make_steady_timer

_LOGGER = logging.getLogger('ssik_ros.input_topics')

DISCOVERY_TIME = 1.0
"""Time in which publishers of the relative name are discovered; messages on the absolute name wait for it [s]."""
MOST_HELD = 64
"""Messages that wait meanwhile; the newest ones count."""


class InputTopic:
    """
    One input of a node, such as joint states, from its relative topic name or from the absolute name.

    The absolute name counts only while the relative one has no publisher. It is given up at the first message on the
    relative name. When messages begin to come from the other name, ``forget`` is called, so that the caller can drop
    values of another robot. A parameter ``<topic>_topic`` or a remapping sets the only name.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        topic: str,
        take: Callable[[Any], None],
        qos: QoSProfile,
        *,
        callback_group: CallbackGroup,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Subscribe to the relative name, and to the absolute name if it differs.

        If a parameter or a remapping chooses the name, only this name is subscribed to.

        :param node: the node.
        :param kind: type of the messages.
        :param topic: the relative name.
        :param take: called with each message that is not ignored.
        :param qos: quality of service.
        :param callback_group: a mutually exclusive group, so that messages are taken one at a time.
        :param forget: called when messages begin to come from the other name, before ``take``.
        """
        self._node, self._topic = node, topic
        self._take, self._forget = take, forget
        given = _given_name(node, topic)
        self.relative = node.resolve_topic_name(given or topic)
        """The relative name, expanded."""
        self.absolute = f'/{topic}'
        """The absolute name; the same as the relative one if only that is subscribed to."""
        is_chosen = bool(given) or self.relative != node.resolve_topic_name(
            topic, only_expand=True
        )
        if is_chosen:
            self.absolute = self.relative
        self.name = self.relative
        """The name whose messages are taken at present."""
        self._held: deque[Any] = deque(maxlen=MOST_HELD)
        self._second: Any = None
        """The subscription to the absolute name; None without it."""
        self._grace: Any = None
        # The absolute name comes second: the relative one is discovered no later.
        node.create_subscription(
            kind, given or topic, self._hear_relative, qos, callback_group=callback_group
        )
        if self.absolute != self.relative:
            self._second = node.create_subscription(
                kind, self.absolute, self._hear_absolute, qos, callback_group=callback_group
            )
            self._grace = make_steady_timer(node, DISCOVERY_TIME, self._end_grace, callback_group)

    @property
    def names(self) -> str:
        """Return the subscribed topic names, joined by "or"."""
        return self.relative if self._second is None else f'{self.relative} or {self.absolute}'

    def _hear_relative(self, message: Any) -> None:
        """Take a message on the relative name; the first one ends the subscription to the absolute name."""
        if self._second is not None:
            self._stop_grace()
            self._held.clear()
            self._node.destroy_subscription(self._second)
            self._second = None
        self._come_from(self.relative, '')
        self._take(message)

    def _hear_absolute(self, message: Any) -> None:
        """
        Take a message of the absolute name; ignore the message if the relative name has a publisher.

        During the first ``DISCOVERY_TIME``, publishers may not be known yet. The message is then kept for
        :meth:`_end_grace`.
        """
        if self._second is None or self._is_published():
            return
        if self._grace is not None:
            self._held.append(message)
            return
        self._come_from(self.absolute, f' No node publishes {self.relative}.')
        self._take(message)

    def _come_from(self, name: str, reason: str) -> None:
        if self.name != name:
            self.name = name
            self._forget()
            _LOGGER.info('The input %s now comes from %s.%s', self._topic, name, reason)

    def _end_grace(self) -> None:
        """Take the messages held back during ``DISCOVERY_TIME``, unless the relative name is published."""
        self._stop_grace()
        held = list(self._held)
        self._held.clear()
        for message in held:
            self._hear_absolute(message)

    def _stop_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._node.destroy_timer(self._grace)
            self._grace = None

    def _is_published(self) -> bool:
        """Return whether a publisher of another node exists on the relative name."""
        mine = sum(publisher.topic_name == self.relative for publisher in self._node.publishers)
        return bool(self._node.count_publishers(self.relative) > mine)


def _given_name(node: Node, topic: str) -> str:
    """Return the value of the node's parameter ``<topic>_topic`` as text; empty if it is not declared."""
    parameter = f'{topic}_topic'
    return str(node.get_parameter(parameter).value) if node.has_parameter(parameter) else ''
