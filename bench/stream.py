"""
Measure the node ik_stream: ``python bench/stream.py --help``.

Targets on a circle go to the node 500 times a second. The program counts the node's reports on its cycles. It measures
the time from the arrival of a target to its command, and from sending a target to receiving the command. Sender,
listener and node share all cores. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.msg import StreamStatus

from bench import conditions, program, report
from bench.ros.processes import REPOSITORY, ServerProcesses
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.tasks import RobotScene

HEADER = (
    *('commands Hz', 'cycles', 'OK', 'missed', 'late', 'p50 ms', 'p95', 'p99', 'largest'),
    *('heard p50 ms', 'p99'),
)
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
    latencies: tuple[float, float, float, float]
    """From the arrival of a target in the node to its command: p50, p95, p99, largest [ms]."""
    heard: tuple[float, float]
    """From sending a target to hearing the status of its command: p50, p99 [ms]."""


class Run:
    """One run of a node."""

    def __init__(self, rate: float, targets: float, seconds: float) -> None:
        """Join the domain."""
        self._rate, self._targets, self._seconds = rate, targets, seconds
        self._node = rclpy.create_node('stream_bench')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._statuses: list[tuple[int, StreamStatus]] = []
        self._reports: list[dict[str, str]] = []
        node = self._node
        node.create_subscription(StreamStatus, 'ik_stream/status', self._take, DEEP)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_report, 100)
        self._publisher = node.create_publisher(
            PoseStamped, 'ik_stream/target/goal', qos_profile_sensor_data
        )
        self._states = node.create_publisher(JointState, 'joint_states', 10)
        scene = RobotScene(find_moveit_config('panda').urdf_path, START)
        self._centre = numbers_of_pose(scene.pose('panda_link8'))

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()

    def _take(self, message: StreamStatus) -> None:
        self._statuses.append((time.time_ns(), message))

    def _take_report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/ik_stream: stream':
                self._reports.append({entry.key: entry.value for entry in status.values})

    def _send(self, seconds: float) -> None:
        message = PoseStamped()
        now = time.time_ns()
        message.header.frame_id = 'panda_link0'
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        angle = 2.0 * math.pi * FREQUENCY * seconds
        place, quaternion = message.pose.position, message.pose.orientation
        place.x, place.y, place.z, quaternion.x, quaternion.y, quaternion.z, quaternion.w = (
            self._centre
        )
        place.x += RADIUS * (math.cos(angle) - 1.0)
        place.y += RADIUS * math.sin(angle)
        self._publisher.publish(message)

    def _spin_until(self, condition: Any, what: str) -> None:
        end = time.monotonic() + START_LIMIT
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f'{what} did not happen.')
            self._executor.spin_once(0.02)

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
            self._executor.spin_once(0.02)
        sender.join()
        return self._row()

    def _send_all(self, ended: threading.Event) -> None:
        begun = time.monotonic()
        for count in range(round((self._seconds + 3.0) * self._targets)):
            time.sleep(max(0.0, begun + count / self._targets - time.monotonic()))
            self._send(count / self._targets)
        ended.set()

    def _row(self) -> Row:
        latencies = [1e3 * s.latency for _, s in self._statuses if s.latency > 0.0]
        heard = [
            1e-6 * (at - s.target_stamp.sec * 10**9 - s.target_stamp.nanosec)
            for at, s in self._statuses
            if s.latency > 0.0
        ]
        p50, p95, p99, largest = np.quantile(latencies, (0.5, 0.95, 0.99, 1.0)).tolist()
        total = {
            key: sum(int(told.get(key, '0')) for told in self._reports)
            for key in ('cycles', 'OK', 'missed targets', 'late cycles')
        }
        first, last = np.quantile(heard, (0.5, 0.99)).tolist()
        return Row(
            self._rate,
            total['cycles'],
            total['OK'],
            total['missed targets'],
            total['late cycles'],
            (p50, p95, p99, largest),
            (first, last),
        )


def cells(row: Row) -> list[str]:
    """Return the texts of one row."""
    numbers = [f'{value:.2f}' for value in (*row.latencies, *row.heard)]
    counts = (row.cycles, row.ok, row.missed, row.late)
    return [f'{row.rate:g}', *map(str, counts), *numbers]


def measure(rate: float, targets: float, seconds: float) -> Row:
    """
    Return the figures of a node.

    :param rate: of its commands [Hz]; targets: sent in a second; seconds: of the run.
    """
    command = [
        *(sys.executable, '-m', 'ssik_ros.ros.streams.stream_node', '--ros-args'),
        *(
            '-p',
            'moveit_config_package:=panda',
            '-p',
            'task_sets_file:=panda',
            '-p',
            'task_sets:=arm',
        ),
        *(
            '-p',
            f'rate:={rate:g}.0',
            '-p',
            'max_state_age:=3600.0',
            '-p',
            'max_lag:=0.0',
            '-p',
            'report_period:=1.0',
        ),
    ]
    with tempfile.TemporaryDirectory() as folder, ServerProcesses(None, LIFETIME) as processes:
        processes.start(command, Path(folder) / 'node.log')
        run = Run(rate, targets, seconds)
        try:
            return run.measure()
        finally:
            run.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='The stream node at its work.')
    parser.add_argument('--seconds', type=float, default=20.0)
    parser.add_argument('--targets', type=float, default=500.0, help='sent in a second')
    parser.add_argument('--rates', type=float, nargs='+', default=[100.0, 500.0])
    program.add_common_options(parser)
    options = parser.parse_args(arguments)
    os.chdir(REPOSITORY)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    around = conditions.describe(None, ())
    print(conditions.as_text(around), flush=True)
    rclpy.init(args=[])
    rows = [measure(rate, options.targets, options.seconds) for rate in options.rates]
    rclpy.try_shutdown()
    print('\n' + report.table(HEADER, [cells(row) for row in rows]))
    content = {'conditions': around, 'rows': [asdict(row) for row in rows]}
    report.write_json(options.output / 'stream.json', content)


if __name__ == '__main__':
    main()
