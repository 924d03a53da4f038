"""
Publish the state of a node on ``/diagnostics`` at a fixed period.

:class:`Diagnostics` is the base class; :class:`ServiceDiagnostics` publishes the statistics of a node's services.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ssik_ros.errors import counted
from ssik_ros.ros.process.call_records import CallRecords, OVERRUN_GOAL

try:
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
except ImportError:
    DiagnosticArray = DiagnosticStatus = KeyValue = None

BEYOND_GOAL = f'overruns beyond {1e3 * OVERRUN_GOAL:g} ms'
"""Key of the number of overruns since the start that were longer than the goal."""
MISSING = 'The package diagnostic_msgs is not installed: nothing is published on /diagnostics.'


class Status(NamedTuple):
    """The status of one part of a node, as /diagnostics has it."""

    name: str
    """Name of the part."""
    is_well: bool
    """Whether the level is OK, not WARN."""
    text: str
    """The state in words."""
    values: Mapping[str, str]
    """Further values as text, by key."""


class Diagnostics(ABC):
    """
    Base class: publishes the result of :meth:`statuses` on /diagnostics at a fixed period.

    ``hardware`` is the name of the robot in each message; empty without a robot.
    """

    def __init__(self, node: Node, period: float, hardware: str = '') -> None:
        """
        Create the publisher and a timer; without diagnostic_msgs, log a warning instead.

        :param node: the node.
        :param period: time between messages [s]; 0 for none.
        :param hardware: the robot's name; empty without a robot.
        """
        self._node = node
        self.hardware = hardware
        if period <= 0.0:
            return
        if DiagnosticArray is None:
            node.get_logger().warning(MISSING)
            return
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        node.create_timer(period, self.publish, callback_group=MutuallyExclusiveCallbackGroup())

    @abstractmethod
    def statuses(self) -> Iterable[Status]:
        """Return the present statuses."""

    def publish(self) -> None:
        """Publish the present statuses."""
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [
            DiagnosticStatus(
                level=DiagnosticStatus.OK if status.is_well else DiagnosticStatus.WARN,
                name=f'{self._node.get_fully_qualified_name()}: {status.name}',
                message=status.text,
                hardware_id=self.hardware,
                values=[KeyValue(key=key, value=value) for key, value in status.values.items()],
            )
            for status in self.statuses()
        ]
        self._publisher.publish(message)


class ServiceDiagnostics(Diagnostics):
    """Publishes the call statistics of a node's services on /diagnostics."""

    def __init__(self, node: Node, period: float, records: Mapping[str, CallRecords]) -> None:
        """
        Keep the records, and start a timer that publishes the statuses; without diagnostic_msgs, log a warning instead.

        :param node: the node.
        :param period: time between messages [s]; 0 for none.
        :param records: records by service; services that are added later are published too.
        """
        self._records = records
        self._before: dict[str, int] = {}
        super().__init__(node, period)

    def statuses(self) -> Iterator[Status]:
        """
        Yield one status for each service, sorted by name.

        The level is WARN without a robot, and if a deadline was missed since the last call.
        """
        for name, records in sorted(self._records.items()):
            summary = records.summary()
            late = summary.deadline_misses - self._before.get(name, 0)
            self._before[name] = summary.deadline_misses
            text = f'{counted(late, "deadline")} missed since the last message'
            if not (self.hardware and late):
                text = 'serving' if self.hardware else 'no robot yet'
            rate = summary.successes / summary.calls if summary.calls else 1.0
            values = {
                'calls': str(summary.calls),
                'verified rate': f'{rate:.6f}',
                'p50 [ms]': f'{1e3 * summary.quantiles[0]:.3f}',
                'p95 [ms]': f'{1e3 * summary.quantiles[1]:.3f}',
                'p99 [ms]': f'{1e3 * summary.quantiles[2]:.3f}',
                'deadline misses': str(summary.deadline_misses),
                'overrun p50 [ms]': f'{1e3 * summary.overrun[0]:.3f}',
                'overrun p99 [ms]': f'{1e3 * summary.overrun[1]:.3f}',
                BEYOND_GOAL: str(summary.overruns_beyond_goal),
                **{f'reason {i + 1}': reason for i, reason in enumerate(summary.reasons)},
            }
            yield Status(name, bool(self.hardware) and not late, text, values)
