"""
Measure the node ik_stream: ``python bench/stream.py --help``.

Targets on a circle go to the node 500 times a second. The program counts the node's reports on its cycles. It measures
the time from the arrival of a target to its command, and from sending a target to receiving the command. Sender,
listener and node share all cores. Needs ROS (``. ./activate``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
import os
from pathlib import Path
import sys
import tempfile
import threading
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.msg import StreamStatus

from bench import program, ROOT
from bench.ros.caller import Client
from bench.ros.processes import claim_domain, node_words, ServerProcesses
from bench.ros.requests import pose_message
from bench.tables import table_of
from bench.times import Times
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.tasks import RobotScene

COLUMNS = {
    'commands Hz': '{rate:g}',
    'cycles': '{cycles}',
    'OK': '{ok}',
    'missed': '{missed}',
    'late': '{late}',
    'p50 ms': '{latencies.median:.2f}',
    'p95': '{latencies.p95:.2f}',
    'p99': '{latencies.p99:.2f}',
    'largest': '{latencies.largest:.2f}',
    'heard p50 ms': '{heard.median:.2f}',
    'heard p99': '{heard.p99:.2f}',
}
COUNTS = ('cycles', 'OK', 'missed targets', 'late cycles')
LIFETIME = 600
START_LIMIT = 120.0
START = {f'panda_joint{k}': v for k, v in enumerate((0.1, -0.3, 0.2, -1.9, 0.1, 1.8, 0.6), 1)}
RADIUS, FREQUENCY = 0.05, 0.25
"""Of the circle [m, Hz]."""
DEEP = QoSProfile(depth=20000)


@dataclass(frozen=True)
class Row:
    """One run."""

    rate: float
    cycles: int
    ok: int
    missed: int
    late: int
    latencies: Times
    """From the arrival of a target in the node to its command [ms]."""
    heard: Times
    """From sending a target to hearing the status of its command [ms]."""


class StreamClient(Client):
    """Sends targets on a circle, and listens to the node."""

    def __init__(self, rate: float, targets: float, seconds: float) -> None:
        """Join the domain."""
        super().__init__({})
        self._rate, self._targets, self._seconds = rate, targets, seconds
        self._statuses: list[tuple[int, StreamStatus]] = []
        self._reports: list[dict[str, str]] = []
        node, fresh = self.node, qos_profile_sensor_data
        node.create_subscription(StreamStatus, 'ik_stream/status', self._take, DEEP)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_report, 100)
        self._publisher = node.create_publisher(PoseStamped, 'ik_stream/target/goal', fresh)
        self._states = node.create_publisher(JointState, 'joint_states', 10)
        scene = RobotScene(find_moveit_config('panda').urdf_path, START)
        self._message = PoseStamped(pose=pose_message(scene.pose('panda_link8')))
        self._message.header.frame_id = 'panda_link0'
        self._x, self._y = self._message.pose.position.x, self._message.pose.position.y

    def _take(self, message: StreamStatus) -> None:
        self._statuses.append((time.time_ns(), message))

    def _take_report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/ik_stream: stream':
                self._reports.append({entry.key: entry.value for entry in status.values})

    def _send(self, seconds: float) -> None:
        message, angle = self._message, 2.0 * math.pi * FREQUENCY * seconds
        stamp, place = message.header.stamp, message.pose.position
        stamp.sec, stamp.nanosec = divmod(time.time_ns(), 10**9)
        place.x = self._x + RADIUS * (math.cos(angle) - 1.0)
        place.y = self._y + RADIUS * math.sin(angle)
        self._publisher.publish(message)

    def _spin_until(self, condition: Any, what: str) -> None:
        end = time.monotonic() + START_LIMIT
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f'{what} did not happen.')
            self.spin_once(0.02)

    def measure(self) -> Row:
        """Return the figures of a stream of targets."""

        def is_there() -> bool:
            self._states.publish(JointState(name=list(START), position=list(START.values())))
            self._send(0.0)
            return bool(self._statuses) and self._statuses[-1][1].status == StreamStatus.OK

        self._spin_until(is_there, 'A first OK')
        ended = threading.Event()
        sender = threading.Thread(target=self._send_all, args=(ended,))
        sender.start()
        self._spin_until(lambda: self._reports[1:], 'A report')
        # The first whole period of reports after targets come regularly.
        self._reports.clear()
        self._statuses.clear()
        while not ended.is_set():
            self.spin_once(0.02)
        sender.join()
        return self._row()

    def _send_all(self, ended: threading.Event) -> None:
        begun = time.monotonic()
        for count in range(round((self._seconds + 3.0) * self._targets)):
            time.sleep(max(0.0, begun + count / self._targets - time.monotonic()))
            self._send(count / self._targets)
        ended.set()

    def _row(self) -> Row:
        """Return the figures of the statuses and reports so far."""
        told = [(at, status) for at, status in self._statuses if status.latency > 0.0]
        latencies = [1e3 * status.latency for _, status in told]
        heard = [
            1e-6 * (at - s.target_stamp.sec * 10**9 - s.target_stamp.nanosec) for at, s in told
        ]
        totals = (sum(int(report.get(key, '0')) for report in self._reports) for key in COUNTS)
        return Row(self._rate, *totals, Times.of(latencies), Times.of(heard))


def measure(rate: float, targets: float, seconds: float) -> Row:
    """
    Return the figures of a node.

    :param rate: of its commands [Hz]; targets: sent in a second; seconds: of the run.
    """
    parameters = (
        *('moveit_config_package:=panda', 'task_sets_file:=panda', 'task_sets:=arm'),
        *(f'rate:={rate:g}.0', 'max_state_age:=3600.0', 'max_lag:=0.0', 'report_period:=1.0'),
    )
    command = [sys.executable, *node_words('ssik_ros.ros.streams.stream_node', *parameters)]
    with tempfile.TemporaryDirectory() as folder, ServerProcesses(None, LIFETIME) as processes:
        processes.start(command, Path(folder) / 'node.log')
        with StreamClient(rate, targets, seconds) as client:
            row: Row = client.measure()
            return row


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = program.make_parser(__doc__, is_pinned=False, seconds=20.0, targets=500.0)
    parser.add_argument('--rates', type=float, nargs='+', default=[100.0, 500.0], help='[Hz]')
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    claim_domain()
    run = program.Run('stream', options)
    rows = [measure(rate, options.targets, options.seconds) for rate in options.rates]
    run.show(table_of(COLUMNS, rows))
    run.finish(rows=rows)


if __name__ == '__main__':
    main()
