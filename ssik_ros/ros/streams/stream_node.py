"""
The node ``ik_stream``: task sets that follow target poses from topics, by a joint command in every cycle.

While the robot is held, at most the first cycle publishes one. It is a separate process, so that no search of
another client delays its cycles. The cycles run by the machine's monotonic clock, independent of ROS time.
"""

from collections.abc import Sequence
import functools
import logging
import math
import sys
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from ssik_msgs.msg import StreamStatus
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.errors import quote
from ssik_ros.ros.conversions.joint_commands import make_joint_state, make_trajectory
from ssik_ros.ros.conversions.messages import read_framed_pose
from ssik_ros.ros.inputs.aged_state import AgedState
from ssik_ros.ros.inputs.robot_source import (
    LIMITS_PREFIX,
    RobotDescription,
    RobotSource,
    source_parameters,
)
from ssik_ros.ros.inputs.transform_listener import TransformListener
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.ros.process.node_process import ProcessNode, run_node
from ssik_ros.ros.process.steady_timers import make_steady_timer
from ssik_ros.ros.streams.stream_diagnostics import StreamDiagnostics
from ssik_ros.ros.streams.stream_overlay import StreamOverlay
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.tasks.stream_report import StreamRecords
from ssik_ros.server.tasks.task_set_stream import (
    StreamCause,
    StreamSettings,
    StreamStep,
    TaskSetStream,
)
from ssik_ros.server.tasks.task_sets import TaskSets
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.newton.tracker import TrackStatus
from ssik_ros.tasks.files.task_set_file import find_task_set_file, read_task_set_file

NAME = 'ik_stream'
PARAMETERS_FILE = 'ssik_ros.ros:ik_stream_parameters.yaml'
_LOGGER = logging.getLogger('ssik_ros.stream')
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Only the newest target counts; a best-effort subscription receives from reliable publishers too."""
COMMANDS = 10
"""Commands that wait for a slow listener."""


class StreamNode(ProcessNode):
    """Follows targets of task sets: publishes a status in each cycle, and a joint command unless the robot is held."""

    def __init__(self, **options: Any) -> None:
        """
        Declare parameters, read the task set file and look for the files of the robot; :meth:`start` loads it.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is misspelt, the file is wrong, or a named file does not exist.
        :raises ParameterException: (of rclpy) when a parameter is missing, has a wrong type or is out of range.
        """
        super().__init__(NAME, **options)
        self._callbacks = MutuallyExclusiveCallbackGroup()
        self._settings = ParamListener(self, load_schema(PARAMETERS_FILE)).get_params()
        check_overrides(self, (LIMITS_PREFIX,))
        self._content = read_task_set_file(find_task_set_file(self._settings.task_sets_file))
        self._live = AgedState(self)
        self._transforms = TransformListener(self)
        # Without planning groups, no SRDF is needed.
        parameters = source_parameters(self._settings, tip_link=NAME)
        self._source = RobotSource(self, parameters, self._load)
        self._stream: TaskSetStream | None = None
        self._cycle = 0
        self._logged: tuple[TrackStatus, str] | None = None

    def start(self) -> None:
        """Load the robot, or wait for its description."""
        self._source.start()

    def _load(self, description: RobotDescription) -> None:
        """Load the first robot and start the stream; an error ends the node unless a topic can bring another robot."""
        if self._stream is not None:
            _LOGGER.warning('Another robot came; the stream stays with the one it began with.')
            return
        self.load_by(
            lambda: self._begin(description), may_mend=lambda: self._source.may_mend(description)
        )

    def _begin(self, description: RobotDescription) -> None:
        robot = description.load()
        settings = self._settings
        scene = PlanningScene(robot, transforms=self._transforms.find)
        task_sets = TaskSets(scene, self._content)
        task_sets.warm_up()
        stream = TaskSetStream(
            scene,
            task_sets,
            settings.task_sets.replace(',', ' ').split(),
            StreamSettings(
                1.0 / settings.rate,
                settings.max_age,
                settings.speed_scale,
                (settings.max_state_age and settings.max_lag) or math.inf,
            ),
        )
        self._planning_scene, self._robot = scene, robot
        self._names = task_sets.worlds.variable_names(stream.joints)
        self._records = StreamRecords(stream.settings.period)
        self._make_publishers(stream)
        for name in stream.targets:
            self.create_subscription(
                PoseStamped,
                f'~/target/{name}',
                functools.partial(self._take, name),
                NEWEST,
                callback_group=self._callbacks,
            )
        self._stream = stream
        make_steady_timer(self, stream.settings.period, self._step, self._callbacks)
        _LOGGER.info(
            f'Ready: robot {quote(robot.name)} (URDF: {description.urdf.origin}), task sets '
            f'{", ".join(task_set.name for task_set in stream.task_sets)}, {settings.rate:g} Hz, targets '
            f'{", ".join(self.resolve_topic_name(f"~/target/{name}") for name in stream.targets)}'
        )

    def _make_publishers(self, stream: TaskSetStream) -> None:
        settings = self._settings
        self._statuses = self.create_publisher(StreamStatus, '~/status', COMMANDS)
        if settings.output == 'trajectory':
            self._commands = self.create_publisher(JointTrajectory, '~/joint_trajectory', COMMANDS)
        else:
            self._commands = self.create_publisher(JointState, '~/joint_command', COMMANDS)
        self._diagnostics = StreamDiagnostics(
            self, settings.report_period, self._robot.name, self._records
        )
        self._overlay = StreamOverlay(
            self, stream, settings.overlay_rate, self._robot.tree.root_link, self._callbacks
        )

    def _take(self, name: str, message: PoseStamped) -> None:
        """Give the pose in a message to the stream, as the newest target of this name."""
        now = time.monotonic()
        assert self._stream is not None
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self._stream.take(name, read_framed_pose(message), stamp, now)

    def _state(self) -> FullState | None:
        """
        Return the full state of the robot; None if a commanded joint was not reported within ``max_state_age`` [s].

        If this parameter is 0, values of any age count. All joints without a report have default positions.
        """
        limit = self._settings.max_state_age
        if limit > 0.0 and self._live.too_old(self._names, limit):
            return None
        return self._live.current(self._planning_scene.states)

    def _step(self) -> None:
        """
        Compute one cycle, and publish its status and its joint command.

        Of consecutive cycles in which the robot is held, at most the first publishes a command, so that other nodes may
        move the joints later.
        """
        assert self._stream is not None
        begun = time.monotonic()
        step = self._stream.step(begun, self._state())
        self._cycle += 1
        stamp = self.get_clock().now().to_msg()
        # The hold command is sent once; after it others may move the joints.
        is_first = self._logged is None or self._logged[0] is not TrackStatus.HELD
        if step.positions is not None and (step.status is not TrackStatus.HELD or is_first):
            values = step.positions[self._stream.places]
            self._commands.publish(
                make_trajectory(self._names, values, self._stream.settings.period)
                if self._settings.output == 'trajectory'
                else make_joint_state(self._names, values, stamp)
            )
        latency = self._records.take(step, begun, time.monotonic())
        self._statuses.publish(_write_status(step, stamp, self._cycle, latency))
        self._log_change(step)

    def _log_change(self, step: StreamStep) -> None:
        """Log a cycle if its status or cause differs from the cycle before."""
        status = step.status, step.cause.name
        if status != self._logged:
            self._logged = status
            level = logging.INFO if step.status is TrackStatus.OK else logging.WARNING
            _LOGGER.log(level, '%s', describe_step(step))


def describe_step(step: StreamStep) -> str:
    """
    Return the log line of a cycle: its status, then its cause and the reason if it has them.

    :param step: result of the cycle.
    """
    words = [step.status.name]
    if step.cause is not StreamCause.NONE:
        words.append(step.cause.name)
    return ' '.join(words) + (f': {step.text}' if step.text else '')


def _write_status(step: StreamStep, stamp: Any, cycle: int, latency: float) -> StreamStatus:
    """Return the status message of one cycle; ``latency`` is in seconds."""
    message = StreamStatus(
        stamp=stamp,
        status=int(step.status),
        cause=step.cause.name,
        message=step.text,
        cycle=cycle,
        latency=latency,
        linear=step.linear,
        angular=step.angular,
        scale=math.nan,
        condition=math.nan,
    )
    if step.newest is not None:
        message.target_stamp = Time(nanoseconds=step.newest.stamp).to_msg()
    return message


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the node until SIGINT, SIGTERM or a fatal error; return the exit code.

    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    return run_node(NAME, StreamNode, arguments)


if __name__ == '__main__':
    sys.exit(main())
