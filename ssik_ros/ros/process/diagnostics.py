"""``/diagnostics``: one status for each service, published regularly."""

from collections.abc import Mapping

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ssik_ros.errors import counted
from ssik_ros.ros.process.call_records import CallRecords, CallSummary

try:
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
except ImportError:
    DiagnosticArray = DiagnosticStatus = KeyValue = None

MISSING = 'The package diagnostic_msgs is not installed: nothing is published on /diagnostics.'


class Diagnostics:
    """Publishes what the services have done."""

    def __init__(self, node: Node, records: Mapping[str, CallRecords], period: float) -> None:
        """
        Begin to publish, where there are messages for it.

        :param node: the node.
        :param records: by service, growing as services are offered.
        :param period: between messages [s]; 0: never.
        """
        self._node, self._records = node, records
        self.hardware = ''
        """The robot's name; empty while there is none."""
        if period <= 0.0:
            return
        if DiagnosticArray is None:
            node.get_logger().warning(MISSING)
            return
        self._before: dict[str, int] = {}
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._timer = node.create_timer(
            period, self.publish, callback_group=MutuallyExclusiveCallbackGroup()
        )

    def publish(self) -> None:
        """Publish the present state."""
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [
            self._status(name, records.summary())
            for name, records in sorted(self._records.items())
        ]
        self._publisher.publish(message)

    def _status(self, name: str, summary: CallSummary) -> 'DiagnosticStatus':
        late = summary.deadline_misses - self._before.get(name, 0)
        self._before[name] = summary.deadline_misses
        if not self.hardware:
            level, text = DiagnosticStatus.WARN, 'no robot yet'
        elif late:
            level, text = (
                DiagnosticStatus.WARN,
                f'{counted(late, "deadline")} missed since the last message',
            )
        else:
            level, text = DiagnosticStatus.OK, 'serving'
        rate = summary.successes / summary.calls if summary.calls else 1.0
        values = {
            'calls': str(summary.calls),
            'verified rate': f'{rate:.6f}',
            'p50 [ms]': f'{1e3 * summary.quantiles[0]:.3f}',
            'p95 [ms]': f'{1e3 * summary.quantiles[1]:.3f}',
            'p99 [ms]': f'{1e3 * summary.quantiles[2]:.3f}',
            'deadline misses': str(summary.deadline_misses),
            **{f'reason {i + 1}': reason for i, reason in enumerate(summary.reasons)},
        }
        return DiagnosticStatus(
            level=level,
            name=f'{self._node.get_fully_qualified_name()}: {name}',
            message=text,
            hardware_id=self.hardware,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
