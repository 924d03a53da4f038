"""
The node ``ssik_ros``, executable ``ik_server``: MoveIt's kinematics services for one robot.

Another thread loads the robot, so that parameter services and signals work meanwhile. ``~/describe`` is offered at
once. The services that need a robot are offered after the warm-up of its solvers and closed forms. The server object
is replaced by another one, not changed: a request in progress keeps the robot with which it began.
"""

from collections.abc import Sequence
import functools
import gc
import logging
import sys
import threading
from typing import Any

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from ssik_ros.errors import ConfigError, describe_choices, quote, SsikError
from ssik_ros.mechanisms.loop_closures import LoopClosures
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.scheduling import processors, SEARCH_SLOTS
from ssik_ros.ros.conversions.messages import StateWriter
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.inputs.robot_source import LIMITS_PREFIX, RobotDescription, RobotSource
from ssik_ros.ros.inputs.transform_listener import TransformListener
from ssik_ros.ros.optional_parts import HAS_OWN_MESSAGES, OptionalParts
from ssik_ros.ros.parameters.group_parameters import GroupParameters, PREFIX
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.ros.process.diagnostics import ServiceDiagnostics
from ssik_ros.ros.process.loading_report import LoadingReport, REPORT_EVERY
from ssik_ros.ros.process.node_process import ProcessNode, run_node
from ssik_ros.ros.process.steady_timers import make_steady_timer
from ssik_ros.ros.services.moveit_services import MOVEIT_SERVICES
from ssik_ros.ros.services.scene_topics import SceneTopics
from ssik_ros.ros.services.service_handlers import NO_ROBOT, Served, Service, ServiceHandlers
from ssik_ros.server.groups.group_choice import choose_groups
from ssik_ros.server.loops.loop_files import read_loops_of
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.paths.planned_lines import load_planner
from ssik_ros.server.requests.regions import load_hulls
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import SceneWorld
from ssik_ros.server.start_table import make_start_table
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.view.mailbox import Mailbox

if HAS_OWN_MESSAGES:
    from ssik_ros.ros.services.loop_services import LOOP_SERVICES
    from ssik_ros.ros.services.own_services import DESCRIBE, GROUP_SERVICES

NAME = 'ssik_ros'
_LOGGER = logging.getLogger('ssik_ros.node')
PARAMETERS_FILE = 'ssik_ros.ros:ik_server_parameters.yaml'
MOST_CALLBACKS = 64
"""Callbacks at once where the parameter does not say how many: threads are made only when some take long."""
SILENCE = 5.0
"""After this long without joint states that requests need the log says so [s]."""
LOADER_END = 0.1
"""Longest wait for a robot that is being loaded when the node ends [s]."""
YOUNGEST, OLDEST = 0, 2
"""Generations of the collector of garbage."""


class IkServer(ProcessNode):
    """The node that serves MoveIt's kinematics services and the services of this package."""

    def __init__(self, **options: Any) -> None:
        """
        Declare parameters and look for the robot; :meth:`start` begins to load it.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is misspelt or contradicts another one, or a named file does not exist.
        :raises ParameterException: (of rclpy) when a parameter is missing, has a wrong type or is out of range.
        """
        super().__init__(NAME, **options)
        self._cancel = np.zeros(1, dtype=np.int64)
        self._exchange = threading.Lock()
        self._callbacks = ReentrantCallbackGroup()
        self._listener = ParamListener(self, load_schema(PARAMETERS_FILE))
        self._settings = self._listener.get_params()
        check_overrides(self, (PREFIX, LIMITS_PREFIX))
        self._live = LiveState(self)
        self._world = SceneWorld()
        self._transforms = TransformListener(self)
        self._handlers = ServiceHandlers(self, self._live)
        period = self._settings.diagnostics_period
        self._diagnostics = ServiceDiagnostics(self, period, self._handlers.records)
        self._scene = SceneTopics(self, self._world, self._planning_scene, self._live)
        self._parts = OptionalParts(self, self._settings, self._handlers, self._live)
        self._loading = LoadingReport(_LOGGER.info)
        make_steady_timer(self, REPORT_EVERY, self._loading.tell)
        # Loading cannot be interrupted: its thread waits for descriptions, and for nothing at the end.
        self._loader = Mailbox(lambda: None, lambda: None, _LOGGER.error, name='robot loader')
        self._source = RobotSource(self, self._settings, self._queue)
        self._kinematics = GroupParameters(self, self._source.kinematics_path, self._change_group)
        self._listener.set_user_callback(self._take_parameters)
        self._offer_description()
        self._silence = make_steady_timer(self, SILENCE, self._tell_silence)

    @property
    def threads(self) -> int:
        """Return the number of threads that serve requests."""
        return int(self._settings.executor_threads) or MOST_CALLBACKS

    def start(self) -> None:
        """Start to load the robot as soon as its description is complete."""
        self._source.start()

    def stop(self) -> bool:
        """
        Ask every search to end, and end the thread of the draggable targets.

        Wait at most ``LOADER_END`` [s] for the thread that loads robots; return whether it has ended.
        """
        self._cancel[0] = 1
        self._parts.close()
        return self._loader.close(LOADER_END)

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """
        Set parameters, all or none; for an unknown name, return a failure that names it.

        rclpy refuses unknown names too, but does not say which. The parameter services call this method.

        :param parameter_list: the parameters.
        """
        for parameter in parameter_list:
            if not self.has_parameter(parameter.name):
                choices = describe_choices(parameter.name, self.get_parameters_by_prefix(''))
                reason = f'There is no parameter {quote(parameter.name)}. {choices}'
                return SetParametersResult(successful=False, reason=reason)
        return super().set_parameters_atomically(parameter_list)

    def _queue(self, description: RobotDescription) -> None:
        """Load a robot after the one that is being loaded now; of several waiting ones only the last is loaded."""
        self._loader.put(lambda: self._load(description), 'robot')

    def _load(self, description: RobotDescription) -> None:
        """Load a robot and serve it; log an error, which ends the node if nothing can repair it."""
        before = self._handlers.served
        # As while modules are imported: the results of loading are kept.
        gc.disable()
        try:
            self.load_by(
                lambda: self._serve(description),
                may_mend=lambda: self._source.may_mend(description),
                has_robot=lambda: self._handlers.served is not None,
                fatal=(ConfigError, ParameterException),
            )
        finally:
            gc.enable()
            if before is not None:
                # A robot is a net of references: its memory goes now. A robot that failed is among the youngest objects;
                # a search of all objects would delay the requests for 10 ms and more.
                gc.collect(YOUNGEST if self._handlers.served is before else OLDEST)
            self._loading.end()

    def _serve(self, description: RobotDescription) -> None:
        """Load a robot, warm its solvers up, and serve it instead of the robot before; offer services once."""
        settings = self._settings
        self._loading.enter(0)
        robot = description.load()
        loops = read_loops_of(settings.loop_closures_file, robot)
        groups = choose_groups(
            robot,
            settings.groups.replace(',', ' ').split(),
            base=settings.base_link,
            tip=settings.tip_link,
            name=settings.group,
        )
        self._loading.enter(1)
        server, kinematics = self._make_server(robot, groups, loops)
        loop_server = self._close_loops(server, loops)
        self._loading.enter(2)
        server.warm_up()
        server.warm_up_branches()
        self._loading.enter(3)
        loop_server.warm_up()
        parts = self._parts.load(server)
        with self._exchange:
            is_first = self._handlers.served is None
            # Parameters may have changed while the robot was being loaded.
            for name, before in kinematics.items():
                if self._kinematics.kinematics(name) is not before:
                    server = server.with_kinematics(self._kinematics.kinematics(name))
            srdf = '' if description.srdf is None else description.srdf.origin
            parameters = self._listener.get_params()
            self._handlers.serve(
                Served(
                    server,
                    StateWriter(robot),
                    loop_server,
                    origins=(description.urdf.origin, srdf),
                    report_times=parameters.report_times,
                    report_timeout=parameters.report_timeout,
                    **parts,
                )
            )
            self._diagnostics.hardware = robot.name
        if is_first:
            self._offer_all()
        self._parts.begin()
        self._announce(server, description)
        # Now, because a request with a deadline cannot wait for them, and services can.
        load_hulls()
        load_planner()

    def _make_server(
        self, robot: RobotModel, groups: Sequence[JointGroup], loops: LoopClosures
    ) -> tuple[RobotServer, dict[str, GroupKinematics]]:
        """Return the server of a robot in the node's scene, and the kinematics by group; declare group parameters."""
        names = [group.name for group in groups]
        self._kinematics.declare(names, robot.groups)
        kinematics = {name: self._kinematics.kinematics(name) for name in names}
        scene = PlanningScene(
            robot,
            self._world,
            self._transforms.find,
            padding=self._settings.collision_padding,
            initial=loops.initial_positions,
        )
        server = RobotServer(robot, groups, kinematics, self._cancel, scene)
        server.planning_timeout = self._settings.cartesian_path_timeout
        return server, kinematics

    def _close_loops(self, server: RobotServer, loops: LoopClosures) -> LoopServer:
        """
        Return the server for goals and loops of a robot.

        If a ``<constraint>`` of the URDF is wrong, log an error and ignore all of them. With a loop file, raise the
        error.
        """
        make = functools.partial(
            LoopServer, server.frames, server.states, loops, cancel=self._cancel
        )
        try:
            loop_server = make(use_constraints=self._settings.use_constraints)
        except SsikError as error:
            if self._settings.loop_closures_file:
                raise
            # All other services treat the robot as the tree that the URDF describes without its constraints.
            _LOGGER.error(f'The <constraint> elements of the URDF do not count: {error}')
            loop_server = make(use_constraints=False)
        for warning in loop_server.warnings:
            _LOGGER.warning(warning)
        return loop_server

    def _announce(self, server: RobotServer, description: RobotDescription) -> None:
        """Log the robot that is served, with its origins and a table of groups."""
        srdf = 'no SRDF' if description.srdf is None else f'SRDF: {description.srdf.origin}'
        _LOGGER.info(
            f'Ready: robot {quote(server.robot.name)} (URDF: {description.urdf.origin}; {srdf}), '
            f'model frame {quote(server.robot.model_frame)}\n{make_start_table(server)}'
        )

    def _offer_all(self) -> None:
        """Create the services that need a robot, and the action that plans tool paths."""
        services = [*MOVEIT_SERVICES]
        if HAS_OWN_MESSAGES:
            services += [*GROUP_SERVICES, *LOOP_SERVICES]
        services += self._parts.services
        for service in services:
            self._offer(service)
        self._parts.offer_tool_paths(lambda: bool(self._cancel[0]), self._callbacks)

    def _offer_description(self) -> None:
        """Create the service that needs no robot; without ssik_msgs, log a warning instead."""
        if not HAS_OWN_MESSAGES:
            _LOGGER.warning(
                "The package ssik_msgs is not installed, so this node offers MoveIt's services only, and none below "
                'its own name. Install ssik_msgs for the others.'
            )
        else:
            self._offer(DESCRIBE)

    def _offer(self, service: Service) -> None:
        self.create_service(
            service.kind,
            service.name,
            self._handlers.handler(service),
            qos_profile=QoSProfile(depth=self._settings.service_depth),
            callback_group=self._callbacks,
        )

    def _planning_scene(self) -> PlanningScene:
        """Return the scene of the robot that is served; raise RuntimeError without a robot."""
        if self._handlers.served is None:
            raise RuntimeError(NO_ROBOT)
        return self._handlers.served.server.scene

    def _tell_silence(self) -> None:
        """Log a warning once if no joint states come although a request needed them; called by a timer."""
        if not self._live.is_silent:
            self._silence.cancel()
        elif self._live.is_missed:
            self._silence.cancel()
            _LOGGER.warning(
                f'No joint states on {self._live.topics} after {SILENCE:g} s. Joints that a request '
                'does not name are taken at their default positions. Publish the joint states of '
                'the robot, or give robot_state in each request.'
            )

    def _take_parameters(self, parameters: Any) -> None:
        """Serve the robot with new values of the parameters that may change at run time."""
        with self._exchange:
            if self._handlers.served is not None:
                times, timeout = parameters.report_times, parameters.report_timeout
                served = self._handlers.served
                self._handlers.serve(served._replace(report_times=times, report_timeout=timeout))

    def _change_group(self, kinematics: GroupKinematics) -> None:
        """Serve a group with another solver or parameters from the next request on; do nothing without such a group."""
        with self._exchange:
            served = self._handlers.served
            if served is not None and kinematics.group in served.server.groups:
                server = served.server.with_kinematics(kinematics)
                self._handlers.serve(served._replace(server=server))


def searches_at_once() -> int:
    """Return the number of long searches that may run at once: all processors but one, at least 1."""
    return max(1, processors() - 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the node until SIGINT, SIGTERM or a fatal error; return the exit code.

    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    SEARCH_SLOTS.allow(searches_at_once())
    return run_node(NAME, IkServer, arguments)


if __name__ == '__main__':
    sys.exit(main())
