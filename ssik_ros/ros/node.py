"""
The node ``ssik_ros``, executable ``ik_server``: MoveIt's kinematics services for one robot.

A thread of its own loads the robot, so that the node answers parameter services and
signals meanwhile; ``compute_ik``, ``solve_ik`` and ``compute_fk`` appear when everything is warm, ``~/solve_all`` when
the closed forms are too. What is served is exchanged as a whole: a request in progress keeps the robot that it began
with.
"""

from collections.abc import Callable, Sequence
import functools
import gc
import logging
import queue
import sys
import threading
from typing import Any, TYPE_CHECKING

from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from ssik_ros.errors import ConfigError, describe_choices, quote, shorten, SsikError
from ssik_ros.mechanisms.loop_closures import LoopClosures
from ssik_ros.problem.scheduling import processors, SEARCH_SLOTS
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.inputs.robot_source import LIMITS_PREFIX, RobotDescription, RobotSource
from ssik_ros.ros.inputs.transform_listener import TransformListener
from ssik_ros.ros.parameters.group_parameters import GroupParameters, PREFIX
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_library import load_parameters
from ssik_ros.ros.process.call_records import CallRecords
from ssik_ros.ros.process.diagnostics import Diagnostics
from ssik_ros.ros.process.loading_report import LoadingReport, REPORT_EVERY
from ssik_ros.ros.process.log_throttle import PERIOD
from ssik_ros.ros.process.node_process import ProcessNode, run_node
from ssik_ros.ros.services.node_services import KinematicsServices, Served, tell_assumptions
from ssik_ros.ros.services.path_service import PathService
from ssik_ros.ros.services.scene_topics import SceneTopics
from ssik_ros.ros.services.validity_service import ValidityService
from ssik_ros.server.groups.group_choice import choose_groups
from ssik_ros.server.loops.loop_files import read_loops_of
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.requests.regions import load_hulls
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.world import SceneWorld
from ssik_ros.server.start_table import make_start_table
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

try:
    from ssik_msgs.srv import (
        Describe,
        ExplainIk,
        FindConfigs,
        GeneratePath,
        HandleTaskSets,
        SolveAll,
        SolveBatch,
    )

    from ssik_ros.ros.services.batch_service import BatchService
    from ssik_ros.ros.services.describe_service import Described, DescribeService
    from ssik_ros.ros.services.explain_service import ExplainService
    from ssik_ros.ros.services.loop_services import LoopServices, offers
    from ssik_ros.ros.services.solve_all_service import SolveAllService
except ImportError:
    Describe = ExplainIk = SolveAll = SolveBatch = HandleTaskSets = None

if TYPE_CHECKING:
    from ssik_ros.ros.services.task_set_services import TaskSetServices

NAME = 'ssik_ros'
_LOGGER = logging.getLogger('ssik_ros.node')
_MESSAGES = logging.getLogger('ssik_ros.messages')
PARAMETERS_FILE = 'ssik_ros.ros:ik_server_parameters.yaml'
MOST_CALLBACKS = 64
"""Callbacks at once where the parameter does not say how many: threads are made only when some take long."""
DESCRIBE = '~/describe'
"""The service that answers without a state of the robot."""
SILENCE = 5.0
"""After this long without joint states the log says so [s]."""


class IkServer(ProcessNode):
    """Answers MoveIt's kinematics services."""

    def __init__(self, **options: Any) -> None:
        """
        Declare parameters and look for the robot; :meth:`start` begins to load it.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is wrong or a named file does not exist.
        """
        super().__init__(NAME, **options)
        self._cancel = np.zeros(1, dtype=np.int64)
        self._exchange = threading.Lock()
        self._description: RobotDescription | None = None
        self._callbacks = ReentrantCallbackGroup()
        self.create_timer(
            PERIOD, self._bridge.flush, callback_group=MutuallyExclusiveCallbackGroup()
        )
        self._listener = load_parameters(PARAMETERS_FILE).ParamListener(self)
        self._settings = self._listener.get_params()
        check_overrides(self, (PREFIX, LIMITS_PREFIX))
        self._live = LiveState(self)
        self._world = SceneWorld()
        self._transforms = TransformListener(self)
        self._records: dict[str, CallRecords] = {}
        self._diagnostics = Diagnostics(self, self._records, self._settings.diagnostics_period)
        self._answers = KinematicsServices(self, self._live)
        self._task_sets = self._read_task_sets()
        self._loops = None if SolveAll is None else LoopServices(self._live)
        self._scene = SceneTopics(self, self._world, self._answers.require_served, self._live)
        self._loading = LoadingReport(_LOGGER.info)
        self.create_timer(
            REPORT_EVERY,
            self._loading.tell,
            callback_group=MutuallyExclusiveCallbackGroup(),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self._loader = _Loader(self._load)
        self._source = RobotSource(self, self._settings, self._loader.put)
        self._kinematics = GroupParameters(self, self._source.kinematics_path, self._change_group)
        self._listener.set_user_callback(self._take_parameters)
        self._advertise_describe()
        self._silence = self.create_timer(
            SILENCE,
            self._tell_silence,
            callback_group=MutuallyExclusiveCallbackGroup(),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )

    @property
    def threads(self) -> int:
        """Return how many threads are to answer requests."""
        return int(self._settings.executor_threads) or MOST_CALLBACKS

    def start(self) -> None:
        """Begin to load the robot, or to wait for it."""
        self._loader.start()
        self._source.start()

    def stop(self) -> bool:
        """End every search; return whether the loading thread is idle too."""
        self._cancel[0] = 1
        return self._loader.stop()

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """
        Set parameters, all or none; the parameter services come here. Names that do not exist are refused.

        rclpy refuses them too, but does not say which.

        :param parameter_list: the parameters.
        """
        for parameter in parameter_list:
            if not self.has_parameter(parameter.name):
                choices = describe_choices(parameter.name, self.get_parameters_by_prefix(''))
                reason = f'There is no parameter {quote(parameter.name)}. {choices}'
                return SetParametersResult(successful=False, reason=reason)
        return super().set_parameters_atomically(parameter_list)

    def _load(self, description: RobotDescription) -> None:
        """Load a robot and serve it; what is wrong is logged, and fatal when nothing can mend it."""
        is_change = self._answers.served is not None
        # As while modules are imported: what loading makes is kept.
        gc.disable()
        try:
            self._serve(description)
            # Now, because a request with a deadline cannot wait for it, and services can.
            load_hulls()
        except (ConfigError, ParameterException) as error:
            self._report(str(error), can_mend=False)
        except SsikError as error:
            self._report(str(error), can_mend=self._source.may_mend(description))
        except Exception as error:
            if not self.context.ok():
                return  # Ended by a signal: nothing can be declared or offered any more.
            _LOGGER.error(f'Internal fault while loading the robot: {shorten(repr(error))}')
            can_mend = self._source.may_mend(description)
            self._report(f'{type(error).__name__}: {shorten(error)}', can_mend)
        finally:
            gc.enable()
            if is_change:
                # The robot that was replaced, or that failed, is a net of references: its memory goes now.
                gc.collect()
            self._loading.end()

    def _report(self, text: str, can_mend: bool) -> None:
        """Say what went wrong; end the node when it has nothing to serve and nothing to wait for."""
        if self._answers.served is not None:
            _MESSAGES.error('The robot stays as it was. %s', text)
        elif can_mend:
            _MESSAGES.error('No robot yet: %s', text)
        else:
            _LOGGER.fatal(text)
            self.exit_code = 1
            self.context.try_shutdown()

    def _serve(self, description: RobotDescription) -> None:
        """Load a robot, warm its solvers up and serve it from now on."""
        settings = self._settings
        self._loading.enter(0)
        robot = description.load()
        loops = read_loops_of(settings.loop_closures_file, robot)
        for warning in robot.warnings:
            _LOGGER.warning(warning)
        groups = choose_groups(
            robot,
            settings.groups.replace(',', ' ').split(),
            base=settings.base_link,
            tip=settings.tip_link,
            name=settings.group,
        )
        self._loading.enter(1)
        names = [group.name for group in groups]
        self._kinematics.declare(names, robot.groups)
        kinematics = {name: self._kinematics.kinematics(name) for name in names}
        server = RobotServer(
            robot,
            groups,
            kinematics,
            self._cancel,
            world=self._world,
            transforms=self._transforms.find,
            padding=settings.collision_padding,
            initial=loops.initial_positions,
        )
        loop_server = self._close_loops(server, loops)
        self._loading.enter(2)
        server.warm_up()
        server.warm_up_branches()
        self._loading.enter(3)
        loop_server.warm_up()
        if self._task_sets is not None:
            self._task_sets.prepare(robot)
            self._task_sets.warm_up()
        with self._exchange:
            is_first = self._answers.served is None
            # Parameters may have changed while the robot was being loaded.
            for name in names:
                if self._kinematics.kinematics(name) is not kinematics[name]:
                    server = server.with_kinematics(self._kinematics.kinematics(name))
            self._description = description
            parameters = self._listener.get_params()
            self._answers.serve(server, parameters.report_times, parameters.report_timeout)
            self._diagnostics.hardware = robot.name
        if self._loops is not None:
            self._loops.serve(loop_server)
        if is_first:
            self._advertise()
        self._announce(server, description)

    def _close_loops(self, server: RobotServer, loops: LoopClosures) -> LoopServer:
        """Return what answers for the robot with its loops closed."""
        make = functools.partial(
            LoopServer, server.frames, server.states, loops, cancel=self._cancel
        )
        try:
            loop_server = make(use_constraints=self._settings.use_constraints)
        except SsikError as error:
            if self._settings.loop_closures_file:
                raise
            # All other services answer for the tree that the URDF is without its constraints.
            _LOGGER.error(f'The <constraint> elements of the URDF do not count: {error}')
            loop_server = make(use_constraints=False)
        for warning in loop_server.warnings:
            _LOGGER.warning(warning)
        return loop_server

    def _announce(self, server: RobotServer, description: RobotDescription) -> None:
        """Log what is served."""
        srdf = 'no SRDF' if description.srdf is None else f'SRDF: {description.srdf.origin}'
        _LOGGER.info(
            f'Ready: robot {quote(server.robot.name)} (URDF: {description.urdf.origin}; {srdf}), '
            f'model frame {quote(server.robot.model_frame)}\n{make_start_table(server)}'
        )

    def _advertise(self) -> None:
        """Offer the services that need a robot."""
        answers = self._answers
        served = answers.require_served
        self._offer(GetPositionIK, 'compute_ik', answers.compute_ik)
        self._offer(GetPositionIK, 'solve_ik', answers.solve_ik)
        self._offer(GetPositionFK, 'compute_fk', answers.compute_fk)
        validity = ValidityService(self, served, self._live)
        self._offer(GetStateValidity, 'check_state_validity', validity.check_state_validity)
        paths = PathService(served, self._live)
        self._offer(GetCartesianPath, 'compute_cartesian_path', paths.compute_cartesian_path)
        if SolveBatch is not None:
            self._offer(SolveBatch, '~/solve_batch', BatchService(served, self._live).solve_batch)
            self._offer(SolveAll, '~/solve_all', SolveAllService(served, self._live).solve_all)
            explanations = ExplainService(served, self._live)
            self._offer(ExplainIk, '~/explain_ik', explanations.explain_ik)
        if self._task_sets is not None:
            self._offer(HandleTaskSets, '~/handle_task_sets', self._task_sets.handle_task_sets)
            self._offer(FindConfigs, '~/find_configs', self._task_sets.find_configs)
            self._offer(GeneratePath, '~/generate_path', self._task_sets.generate_path)
        for kind, name, handler in () if self._loops is None else offers(self._loops):
            self._offer(kind, name, handler)

    def _advertise_describe(self) -> None:
        """Offer the service of this package's own messages, if they are installed."""
        if Describe is None:
            _LOGGER.warning(
                "The package ssik_msgs is not installed: MoveIt's services only, and none of those "
                'below the name of the node.'
            )
        else:
            self._offer(Describe, DESCRIBE, DescribeService(self._describe).describe)

    def _read_task_sets(self) -> 'TaskSetServices | None':
        """Return the services of the task set file; None without one."""
        file = self._settings.task_sets_file
        if not file:
            return None
        if HandleTaskSets is None:
            raise ConfigError('task_sets_file needs the package ssik_msgs.')
        # Tens of modules that a node without such a file does not wait for.
        from ssik_ros.ros.services.task_set_services import TaskSetServices

        return TaskSetServices(self._answers.require_served, self._live, file)

    def _offer(self, kind: Any, name: str, handler: Callable[..., Any]) -> None:
        depth = QoSProfile(depth=self._settings.service_depth)
        records = self._records[name] = CallRecords()
        if name != DESCRIBE:
            handler = tell_assumptions(handler, self._live, lambda: self._answers.served)
        self.create_service(
            kind, name, records.timed(handler), qos_profile=depth, callback_group=self._callbacks
        )

    def _tell_silence(self) -> None:
        """Log once that no joint states come, if so."""
        self._silence.cancel()
        if self._live.is_silent:
            _LOGGER.warning(
                f'No joint states on {self._live.topics} after {SILENCE:g} s. Joints that a request '
                'does not name are taken at their default positions. Publish the joint states of '
                'the robot, or give robot_state in each request.'
            )

    def _describe(self) -> 'Described | None':
        """Return what is served and where it came from."""
        with self._exchange:
            served, description = self._answers.served, self._description
        if served is None or description is None:
            return None
        srdf = '' if description.srdf is None else description.srdf.origin
        return Described(served.server, description.urdf.origin, srdf)

    def _take_parameters(self, parameters: Any) -> None:
        """Follow the parameters that may change at run time."""
        with self._exchange:
            if self._answers.served is not None:
                self._answers.serve(
                    self._answers.served.server, parameters.report_times, parameters.report_timeout
                )

    def _change_group(self, kinematics: GroupKinematics) -> None:
        """Serve a group with other parameters from the next request on."""
        with self._exchange:
            served: Served | None = self._answers.served
            if served is None or kinematics.group not in served.server.groups:
                return
            server = served.server.with_kinematics(kinematics)
            self._answers.serve(server, served.report_times, served.report_timeout)


class _Loader:
    """The thread that loads robots; of several that wait, the last one."""

    def __init__(self, load: Callable[[RobotDescription], None]) -> None:
        self._load = load
        self._waiting: queue.SimpleQueue[RobotDescription | None] = queue.SimpleQueue()
        self._stopped = False
        # Loading cannot be interrupted; a signal is not to wait for it.
        self._thread = threading.Thread(target=self._run, name='robot loader', daemon=True)

    def start(self) -> None:
        """Begin to load what is put."""
        self._thread.start()

    def put(self, description: RobotDescription) -> None:
        """Load a robot as soon as the one in progress is done."""
        self._waiting.put(description)

    def stop(self) -> bool:
        """Load nothing more; return whether the thread has ended."""
        self._stopped = True
        self._waiting.put(None)
        if self._thread.ident is not None:
            self._thread.join(0.1)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped:
            description = self._waiting.get()
            while not self._waiting.empty():
                description = self._waiting.get()
            if description is not None and not self._stopped:
                self._load(description)


def searches_at_once() -> int:
    """Return how many long searches may run at once: a processor is left for everybody else."""
    return max(1, processors() - 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the node until SIGINT, SIGTERM or a fatal error; return the exit code.

    :param arguments: arguments of ROS; None means those of the process.
    """
    SEARCH_SLOTS.allow(searches_at_once())
    return run_node(NAME, IkServer, arguments)


if __name__ == '__main__':
    sys.exit(main())
