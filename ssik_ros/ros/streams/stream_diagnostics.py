"""Publish the statistics of the stream that ``ik_stream`` runs on ``/diagnostics``: :class:`StreamDiagnostics`."""

import math

from rclpy.node import Node

from ssik_ros.ros.process.diagnostics import Diagnostics, Status
from ssik_ros.server.tasks.stream_report import StreamRecords

NAMES = ('p50', 'p95', 'p99', 'max')


class StreamDiagnostics(Diagnostics):
    """Publishes the statistics of a stream on /diagnostics, each time of the cycles since the last message."""

    def __init__(self, node: Node, period: float, hardware: str, records: StreamRecords) -> None:
        """
        Keep the records, and start a timer that publishes the statuses; without diagnostic_msgs, log a warning instead.

        :param node: the node.
        :param period: time between reports [s]; 0 for none.
        :param hardware: the robot's name.
        :param records: records of the stream; each report resets them.
        """
        self._records = records
        super().__init__(node, period, hardware)

    def statuses(self) -> list[Status]:
        """Return the statistics since the last report as one status, and reset them."""
        report = self._records.report()
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
        text = 'following' if is_well else 'not all cycles followed a new target'
        return [Status('stream', is_well, text, values)]
