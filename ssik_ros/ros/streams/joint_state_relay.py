"""
The node ``joint_state_relay``: adds the passive joints of a robot with loops, so that RViz shows the whole robot.

It subscribes to the active joints on ``active_joint_states`` and closes the loops. It publishes all joints of one
variable on ``joint_states``, and the markers of the mechanism on ``~/markers``. It is a separate node because it runs
at the rate of the drivers and keeps one assembly mode. Requests to the server do not change this mode.
"""

from collections.abc import Sequence
import logging
import sys
import time
from typing import Any

from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from ssik_ros.errors import counted, InvalidParameter, quote
from ssik_ros.mechanisms.markers import markers
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.ros.conversions.marker_messages import write_markers
from ssik_ros.ros.inputs.robot_source import RobotDescription, RobotSource, source_parameters
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.ros.process.node_process import ProcessNode, run_node
from ssik_ros.server.loops.loop_files import read_loops_of
from ssik_ros.server.loops.passive_joints import PassiveJoints
from ssik_ros.solvers.options.parameter_file import load_schema

NAME = 'joint_state_relay'
PARAMETERS_FILE = 'ssik_ros.ros:joint_state_relay_parameters.yaml'
ACTIVE_TOPIC = 'active_joint_states'
STATE_TOPIC = 'joint_states'
_LOGGER = logging.getLogger('ssik_ros.relay')


class JointStateRelay(ProcessNode):
    """
    Publishes those joints of a robot with loops that have one variable, whenever its active joints are reported.

    If their positions cannot be computed, as for loops that stay open, nothing is published and the log says why.
    """

    def __init__(self, **options: Any) -> None:
        """
        Declare parameters and look for the files of the robot; :meth:`start` loads it.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is misspelt or contradicts another one, or a named file does not exist.
        :raises ParameterException: (of rclpy) when a parameter is missing, has a wrong type or is out of range.
        """
        super().__init__(NAME, **options)
        self._settings = ParamListener(self, load_schema(PARAMETERS_FILE)).get_params()
        check_overrides(self, ())
        if self.resolve_topic_name(ACTIVE_TOPIC) == self.resolve_topic_name(STATE_TOPIC):
            raise InvalidParameter(
                f'{ACTIVE_TOPIC} and {STATE_TOPIC} are the same topic: the relay would receive its own messages.'
            )
        self._passive: PassiveJoints | None = None
        self._frame = ''
        self._single: tuple[str, ...] = ()
        self._last_markers = -float('inf')
        self._states = self.create_publisher(JointState, STATE_TOPIC, QoSProfile(depth=10))
        self._markers = self.create_publisher(MarkerArray, '~/markers', QoSProfile(depth=1))
        self.create_subscription(JointState, ACTIVE_TOPIC, self._take, qos_profile_sensor_data)
        # Without planning groups, no SRDF is needed.
        parameters = source_parameters(self._settings, tip_link='none is needed')
        self._source = RobotSource(self, parameters, self._load)

    def start(self) -> None:
        """Load the robot, or wait for its description."""
        self._source.start()

    def _load(self, description: RobotDescription) -> None:
        """Load a robot and follow its joints; log an error, which is fatal if no topic can deliver another robot."""
        self.load_by(
            lambda: self._follow(description),
            may_mend=lambda: self._source.may_mend(description),
            has_robot=lambda: self._passive is not None,
        )

    def _follow(self, description: RobotDescription) -> None:
        model = description.load()
        loops = read_loops_of(self._settings.loop_closures_file, model)
        robot = from_urdf(
            model, loops=loops, use_constraints=self._settings.use_constraints, free_root=False
        )
        for warning in robot.warnings:
            if warning not in model.warnings:
                _LOGGER.warning(warning)
        passive = PassiveJoints(robot, self._settings.limit_tolerance)
        passive.warm_up()
        self._single = tuple(n for n in robot.variable_names if n in model.tree.joint_index)
        self._frame = model.tree.root_link
        self._passive = passive
        _LOGGER.info(
            f'Ready: robot {quote(model.name)} (URDF: {description.urdf.origin}), '
            f'{counted(len(robot.closures), "loop")}, {counted(len(robot.active_joints), "active joint")}.'
        )

    def _take(self, message: JointState) -> None:
        """
        Complete reported joints and publish all joints with one variable; do nothing before a robot is loaded.

        A problem is logged. If it leaves no positions, as for loops that cannot be closed, nothing is published.
        """
        if self._passive is None:
            return
        followed = self._passive.follow(message.name, message.position)
        if followed.problem and followed.positions:
            _LOGGER.warning('%s', followed.problem)
        elif followed.problem:
            _LOGGER.warning('Nothing is published. %s', followed.problem)
            return
        values = dict(zip(followed.names, followed.positions, strict=True))
        state = JointState(header=message.header, name=list(self._single))
        state.position = [values[name] for name in self._single]
        self._states.publish(state)
        self._draw(message)

    def _draw(self, message: JointState) -> None:
        """
        Publish the markers of the mechanism for subscribers, at most once per ``marker_period`` [s].

        Never if this is 0.
        """
        period, now = self._settings.marker_period, time.monotonic()
        if not period or now - self._last_markers < period or self._passive is None:
            return
        if self._markers.get_subscription_count():
            self._last_markers = now
            drawn = markers(self._passive.robot.root, scale=self._settings.marker_scale)
            self._markers.publish(write_markers(drawn, self._frame, message.header.stamp))


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the node until SIGINT, SIGTERM or a fatal error; return the exit code.

    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    return run_node(NAME, JointStateRelay, arguments)


if __name__ == '__main__':
    sys.exit(main())
