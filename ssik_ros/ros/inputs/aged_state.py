"""The latest joint states of a robot with the age of each value: :class:`AgedState`."""

from collections.abc import Iterable, Sequence
import math
import threading
import time

from rclpy.node import Node

from ssik_ros.ros.inputs.live_state import LiveState, MOST_OLDER


class AgedState(LiveState):
    """A :class:`LiveState` that keeps when each joint last had a usable position, by this machine's monotonic clock."""

    def __init__(self, node: Node) -> None:
        """
        Subscribe to ``joint_states``.

        :param node: the node that listens.
        """
        self._times: dict[str, float] = {}
        self._times_lock = threading.Lock()
        super().__init__(node)

    def _note(self, names: tuple[str, ...], positions: Sequence[float]) -> None:
        """
        Keep the present time for each joint with a finite value.

        If more than ``MOST_OLDER`` joints then have a time, the joints that were reported longest ago are dropped.
        """
        now = time.monotonic()
        with self._times_lock:
            for name, position in zip(names, positions, strict=True):
                if math.isfinite(position):
                    # At the end of all others: if there are too many, the oldest go first.
                    self._times.pop(name, None)
                    self._times[name] = now
            while len(self._times) > MOST_OLDER:
                self._times.pop(next(iter(self._times)))

    def forget(self) -> None:
        """Forget all values and their ages."""
        super().forget()
        with self._times_lock:
            self._times.clear()

    def too_old(self, names: Iterable[str], max_age: float) -> list[str]:
        """
        Return the joints without a value, or with one older than an age.

        :param names: names of joints.
        :param max_age: largest age [s].
        """
        oldest = time.monotonic() - max_age
        with self._times_lock:
            return [name for name in names if self._times.get(name, -math.inf) < oldest]
