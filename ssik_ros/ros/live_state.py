"""Where the robot is: the latest joint states, put together when somebody asks."""

from collections.abc import Callable
from collections.abc import Sequence
import math
import threading
from typing import NamedTuple

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ssik_ros.ros.input_topics import InputTopic
from ssik_ros.serving.questions import FullState
from ssik_ros.serving.questions import StateGiven
from ssik_ros.serving.states import StateReader

PUBLISHERS = 64
"""Different lists of names that are kept; a robot has one for each of its drivers."""
TOPIC = 'joint_states'
MOST_NAMED = 3
"""Joints that a note on an answer names; of others it gives the number."""


class _Known(NamedTuple):
    """The state after so many messages, for one robot."""

    reader: StateReader
    messages: int
    state: FullState
    is_heard: bool
    """Whether a message named a joint of the robot."""


class LiveState:
    """Listens to ``joint_states``; joints that nobody reports have their default values."""

    def __init__(self, node: Node) -> None:
        """
        Subscribe.

        :param node: the node.
        """
        self._latest: dict[tuple[str, ...], Sequence[float]] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._known: _Known | None = None
        # Best effort hears reliable publishers too.
        self._input = InputTopic(
            node,
            JointState,
            TOPIC,
            self.take,
            qos_profile_sensor_data,
            callback_group=MutuallyExclusiveCallbackGroup(),
            forget=self.forget,
        )

    @property
    def topics(self) -> str:
        """Return the names of the topics that are heard, in words."""
        return self._input.names

    @property
    def is_silent(self) -> bool:
        """Return whether no message has come."""
        return not self._latest

    def take(self, message: JointState) -> None:
        """
        Keep a message; reading it is left to whoever needs the state.

        :param message: names and positions of some joints.
        """
        names = tuple(message.name)
        if len(names) != len(message.position):
            # Drivers may report velocities or efforts alone; that is no reason to forget positions.
            return
        with self._lock:
            # Behind all others, so that the newest value of a joint is the one that counts.
            before = self._latest.pop(names, ())
            self._latest[names] = _keep_known(message.position, before)
            if len(self._latest) > PUBLISHERS:
                self._latest.pop(next(iter(self._latest)))
            self._count += 1

    def forget(self) -> None:
        """Forget all values: what comes next is about another robot."""
        with self._lock:
            self._latest.clear()
            self._count += 1

    def reported(self) -> set[str]:
        """Return the names of all joints that were reported."""
        with self._lock:
            return {name for names in self._latest for name in names}

    def current(self, reader: StateReader) -> FullState:
        """
        Return where the robot is.

        :param reader: reads states of the robot that is asked about.
        """
        return self._find(reader).state

    def assumption(self, reader: StateReader, given: Callable[[], StateGiven]) -> str:
        """
        Return what an answer assumes about where the robot is; empty where the robot is known.

        :param reader: reads states of the robot that is asked about.
        :param given: returns the part of the state that the question names.
        """
        if self._find(reader).is_heard:
            return ''
        joints = reader.unnamed(given())
        if not joints:
            return ''
        named = ', '.join(joints[:MOST_NAMED])
        if len(joints) > MOST_NAMED:
            named = f'{named} and {len(joints) - MOST_NAMED} more'
        return (
            f'No joint states of this robot came on {self.topics}, and the request does not name '
            f'{named}: default positions were used.'
        )

    def _find(self, reader: StateReader) -> _Known:
        """Return where the robot is, and whether a message said so."""
        # Without the lock: the count is a single number, and one that is old by now is that of a moment ago.
        known = self._known
        if known is not None and known.reader is reader and known.messages == self._count:
            return known
        with self._lock:
            count, messages = self._count, tuple(self._latest.items())
        start = state = reader.default()
        for names, positions in messages:
            state = reader.update(state, names, positions)
        self._known = known = _Known(reader, count, state, state is not start)
        return known


def _keep_known(positions: Sequence[float], before: Sequence[float]) -> Sequence[float]:
    """Return positions, those of before (the same joints, or none) in place of what is not finite."""
    if not before or all(map(math.isfinite, positions)):
        return positions
    return [new if math.isfinite(new) else old for new, old in zip(positions, before, strict=True)]
