"""Where the robot is, and how long ago each joint said so."""

from collections.abc import Iterable
import math
import threading
import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ssik_ros.ros.live_state import LiveState


class AgedState(LiveState):
    """Listens to ``joint_states``; ages are by this machine's monotonic clock."""

    def __init__(self, node: Node) -> None:
        """
        Subscribe.

        :param node: the node.
        """
        self._times: dict[str, float] = {}
        self._times_lock = threading.Lock()
        super().__init__(node)

    def take(self, message: JointState) -> None:
        """
        Keep a message, and when it came.

        :param message: names and positions of some joints.
        """
        super().take(message)
        now = time.monotonic()
        with self._times_lock:
            for name, position in zip(message.name, message.position):
                if math.isfinite(position):
                    self._times[name] = now

    def forget(self) -> None:
        """Forget all values and their ages."""
        super().forget()
        with self._times_lock:
            self._times.clear()

    def too_old(self, names: Iterable[str], max_age: float) -> list[str]:
        """
        Return the joints that nobody reported lately.

        :param names: of joints.
        :param max_age: what is lately [s].
        """
        oldest = time.monotonic() - max_age
        with self._times_lock:
            return [name for name in names if self._times.get(name, -math.inf) < oldest]
