"""
The node ``ik_benchmark``: send the requests of ``ssik bench`` to services, and write the same files.

The program ends by itself: it offers no service, and spins only while it waits. Exit code 0: at least one solver ran;
1: nothing could run, or a signal ended the program; 2: a parameter, configuration, robot, group or file is wrong.
"""

from collections.abc import Mapping, Sequence
import functools
from pathlib import Path
import sys
import time
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node

from ssik_ros.benchmark.config import BenchmarkConfig, read_benchmark_config
from ssik_ros.benchmark.entries import find_kinematics_folder, read_entries
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.plots import plot_report
from ssik_ros.benchmark.report import BenchmarkReport, make_text
from ssik_ros.benchmark.runner import BenchmarkSession
from ssik_ros.benchmark.session import (
    BenchmarkRobot,
    find_benchmark_config,
    prepare_benchmark,
    write_results,
)
from ssik_ros.errors import counted, InvalidOption, SsikError
from ssik_ros.model.description_files import parse_xacro_args
from ssik_ros.problem.contract import IkSolver
from ssik_ros.ros.inputs.running_robot import RobotNotRunning, RunningRobot
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.ros.process.early_end import EARLY_END, interrupt_once
from ssik_ros.ros.process.log_bridge import bridge_logging, unbridge_logging, writer_of
from ssik_ros.ros.services.service_solver import ServiceSolver
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.options.parameter_file import load_schema

NAME = 'ik_benchmark'
PARAMETERS_FILE = 'ssik_ros.ros:ik_benchmark_parameters.yaml'
RAN, NOTHING_RAN, WRONG_OPTION = 0, 1, 2


class BenchmarkNode(Node):
    """The node that sends the requests of a benchmark to services; :meth:`run` does this once and writes the results."""

    def __init__(self, **options: Any) -> None:
        """
        Declare the parameters.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is misspelt.
        :raises ParameterException: (of rclpy) when a parameter is missing, has a wrong type or is out of range.
        """
        # Services of its own would make every round trip longer, and nothing would serve them.
        super().__init__(NAME, start_parameter_services=False, **options)
        # First, for a node that a wrong parameter ends is destroyed as well.
        self._bridge = bridge_logging(writer_of(self.get_logger()))
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self)
        self._settings = ParamListener(self, load_schema(PARAMETERS_FILE)).get_params()
        check_overrides(self, ())
        self._begun: dict[str, tuple[float, int]] = {}
        """Time [s] and number of requests of the first progress of each service."""

    def destroy_node(self) -> None:
        """Restore the logging of the process, and destroy the executor and the node."""
        unbridge_logging(self._bridge)
        self._executor.shutdown()
        super().destroy_node()

    def run(self) -> int:
        """
        Run the benchmark, and write its files; return ``RAN`` if at least one solver ran, else ``NOTHING_RAN``.

        :raises RobotNotRunning: when the robot is to be read from topics and does not come in time.
        :raises SsikError: when the configuration, the robot, the group or a file is wrong.
        :raises KeyboardInterrupt: when ROS shuts down meanwhile; nothing is written then.
        """
        config = self._configure()
        services = self._choose_services(config)
        config = config.with_solvers(services)
        session = self._prepare(config)
        makers = {
            label: functools.partial(self._make_solver, service)
            for label, service in services.items()
        }
        report = session.run(self._show_progress, makers)
        self._write(session, report)
        return RAN if report.has_run else NOTHING_RAN

    def _configure(self) -> BenchmarkConfig:
        config = read_benchmark_config(find_benchmark_config(self._settings.config))
        words = parse_xacro_args(self._settings.xacro_args)
        config = config.with_robot_files(self._settings.robot_description_file, words)
        samples = int(self._settings.samples)
        return config.with_samples(samples) if samples else config

    def _choose_services(self, config: BenchmarkConfig) -> Mapping[str, str]:
        """
        Return the services to benchmark: a mapping from the label in the report to the name of the service.

        Without the parameter ``services``, the only service is the parameter ``service``. Its label is the parameter
        ``solver``, else the first solver of this package in the configuration. Raise InvalidOption for a text that
        :func:`parse_services` refuses; for the last case see :func:`first_own_solver`.
        """
        if self._settings.services:
            return parse_services(self._settings.services)
        return {self._settings.solver or first_own_solver(config): self._settings.service}

    def _prepare(self, config: BenchmarkConfig) -> BenchmarkSession:
        """
        Return the benchmark session, for the robot of the configuration or for the running robot on the topics.

        With the parameter ``seeds`` set to ``live``, each search starts at the reported state of the running robot.
        Raise InvalidOption if no running robot is used then.
        """
        settings = self._settings
        if settings.seeds == 'live' and settings.robot != 'topics':
            raise InvalidOption(
                'seeds live needs robot topics: a configuration has no live state.'
            )
        about = self._read_robot(config) if settings.robot == 'topics' else None
        goals = Path(settings.goals) if settings.goals else None
        count = counted(config.sample_size, 'request')
        self.get_logger().info(f'Preparing {count} of the benchmark {config.name}.')
        session = prepare_benchmark(config, goals, about)
        if about is not None and about.state is not None and settings.seeds == 'live':
            return session.from_live_state(about.state)
        return session

    def _read_robot(self, config: BenchmarkConfig) -> BenchmarkRobot:
        settings = self._settings
        running = RunningRobot(self, self._executor, settings)
        return running.read(config.planning_group, needs_state=settings.seeds == 'live')

    def _make_solver(self, service: str, _: GroupKinematics, oracle: GroupOracle) -> IkSolver:
        """Return a solver that sends requests for the oracle's group to a service; the kinematics are ignored."""
        settings = self._settings
        return ServiceSolver(
            self,
            self._executor,
            service,
            oracle.group,
            service_timeout=settings.service_timeout,
            response_timeout=settings.response_timeout,
            sends_seed=settings.seeds == 'random',
        )

    def _show_progress(self, label: str, done: int, total: int) -> None:
        clock = time.monotonic()
        begun, before = self._begun.setdefault(label, (clock, done))
        rate = (done - before) / (clock - begun) if clock > begun else 0.0
        left = f', about {(total - done) / rate:.0f} s left' if rate > 0.0 and done < total else ''
        self.get_logger().info(f'{label}: {done} of {total}{left}')

    def _write(self, session: BenchmarkSession, report: BenchmarkReport) -> None:
        """
        Write the result files and plots, and log the table; log an error for each solver with false claims.

        A false claim is a result that a solver calls solved, but that forward kinematics refutes.
        """
        folder = Path(self._settings.output_dir)
        write_results(session, report, folder)
        if self._settings.plots:
            plot_report(report, folder)
        for claim in report.false_claims:
            self.get_logger().error(claim)
        self.get_logger().info(f'{make_text(report)}\nResults are in {folder.absolute()}.')


def parse_services(text: str) -> dict[str, str]:
    """
    Return the name of the service for each label.

    :param text: ``LABEL=SERVICE, LABEL=SERVICE``.
    :raises InvalidOption: for anything else, and for a label that comes twice.
    """
    services: dict[str, str] = {}
    for part in text.split(','):
        label, equals, service = (piece.strip() for piece in part.partition('='))
        if not (label and equals and service) or label in services:
            raise InvalidOption(
                f"services holds '{part.strip()}'; its entries are LABEL=SERVICE, each label once."
            )
        services[label] = service
    return services


def first_own_solver(config: BenchmarkConfig) -> str:
    """
    Return the label of the first solver of a configuration that belongs to this package.

    :param config: the configuration.
    :raises InvalidOption: if the configuration lists no such solver.
    :raises DescriptionNotFound: if the package or a kinematics file does not exist.
    :raises UnknownGroup, ConfigError, UnknownSolver: as :func:`~ssik_ros.benchmark.entries.read_entries`.
    """
    for entry, kinematics in read_entries(config, find_kinematics_folder(config)):
        if not kinematics.is_foreign:
            return entry.name
    raise InvalidOption(
        f"Benchmark '{config.name}' lists no solver of this package: name the entry that the server "
        'stands for by the parameter solver.'
    )


def _run(arguments: Sequence[str] | None) -> int:
    """
    Initialize ROS, run the benchmark, and return the exit code. The caller shuts ROS down.

    Wrong parameters and errors of this package are logged and give ``WRONG_OPTION``, a robot that does not come in time
    ``NOTHING_RAN``. Other errors pass through.
    """
    rclpy.init(args=None if arguments is None else list(arguments))
    try:
        node = BenchmarkNode()
    except (SsikError, ParameterException) as error:
        get_logger(NAME).fatal(str(error))
        return WRONG_OPTION
    try:
        return node.run()
    except RobotNotRunning as error:
        node.get_logger().fatal(str(error))
        return NOTHING_RAN
    except SsikError as error:
        node.get_logger().fatal(str(error))
        return WRONG_OPTION
    finally:
        node.destroy_node()


def _say_interrupted() -> int:
    """Print that a signal ended the benchmark; return the exit code ``NOTHING_RAN``."""
    print(f'{NAME}: interrupted; nothing was written.', file=sys.stderr)
    return NOTHING_RAN


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the benchmark to its end or to a signal; return the exit code, which is ``NOTHING_RAN`` after a signal.

    Errors that are not of this package pass through.

    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    try:
        # Wherever it is: a benchmark has no state to put in order.
        EARLY_END.hand_over(interrupt_once)
        return _run(arguments)
    except (KeyboardInterrupt, ExternalShutdownException):
        return _say_interrupted()
    except Exception:
        # rclpy raises errors of its own where a signal ends the context in the middle of a call.
        if rclpy.ok():
            raise
        return _say_interrupted()
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
