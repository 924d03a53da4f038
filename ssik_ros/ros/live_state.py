"""Where the robot is: the latest joint states, put together when somebody asks."""

from collections.abc import Sequence
import math
import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ssik_ros.serving.questions import FullState
from ssik_ros.serving.states import StateReader

PUBLISHERS = 64
"""Different lists of names that are kept; a robot has one for each of its drivers."""


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
        self._known: tuple[StateReader, int, FullState] | None = None
        """The state after so many messages, for one robot."""
        # Best effort hears reliable publishers too.
        node.create_subscription(
            JointState,
            'joint_states',
            self.take,
            qos_profile_sensor_data,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )

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

    def current(self, reader: StateReader) -> FullState:
        """
        Return where the robot is.

        :param reader: reads states of the robot that is asked about.
        """
        # Without the lock: the count is a single number, and one that is old by now is that of a moment ago.
        known = self._known
        if known is not None and known[0] is reader and known[1] == self._count:
            return known[2]
        with self._lock:
            count, messages = self._count, tuple(self._latest.items())
        state = reader.default()
        for names, positions in messages:
            state = reader.update(state, names, positions)
        self._known = (reader, count, state)
        return state


def _keep_known(positions: Sequence[float], before: Sequence[float]) -> Sequence[float]:
    """Return positions, those of before (the same joints, or none) in place of what is not finite."""
    if not before or all(map(math.isfinite, positions)):
        return positions
    return [new if math.isfinite(new) else old for new, old in zip(positions, before, strict=True)]
