"""Statistics of a stream on ``/diagnostics``."""

import math

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ssik_ros.server.tasks.stream_report import StreamRecords, StreamReport

try:
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
except ImportError:
    DiagnosticArray = None

NAMES = ('p50', 'p95', 'p99', 'max')


class StreamDiagnostics:
    """Publishes reports."""

    def __init__(self, node: Node, records: StreamRecords, period: float, hardware: str) -> None:
        """
        Begin to publish, where there are messages for it.

        :param node: the node.
        :param records: of the stream.
        :param period: between reports [s]; 0: never.
        :param hardware: the robot's name.
        """
        self._node, self._records, self._hardware = node, records, hardware
        if period <= 0.0 or DiagnosticArray is None:
            return
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        node.create_timer(period, self.publish, callback_group=MutuallyExclusiveCallbackGroup())

    def publish(self) -> None:
        """Publish the statistics since the last report."""
        report = self._records.report()
        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.status = [self._status(report)]
        self._publisher.publish(message)

    def _status(self, report: StreamReport) -> 'DiagnosticStatus':
        is_well = not report.missed and set(report.statuses) <= {'OK'}
        values = {
            'cycles': str(report.cycles),
            'missed targets': str(report.missed),
            'late cycles': str(report.late),
            **{name: str(count) for name, count in sorted(report.statuses.items())},
        }
        for name, latency in zip(NAMES, report.latencies, strict=True):
            if math.isfinite(latency):
                values[f'latency {name} [ms]'] = f'{1e3 * latency:.3f}'
        return DiagnosticStatus(
            level=DiagnosticStatus.OK if is_well else DiagnosticStatus.WARN,
            name=f'{self._node.get_fully_qualified_name()}: stream',
            message='following' if is_well else 'not all cycles followed a new target',
            hardware_id=self._hardware,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
