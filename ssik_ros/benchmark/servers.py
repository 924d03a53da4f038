"""Plan the servers to start for a benchmark through ROS services, one for each solver of this package; nothing is started."""

from collections.abc import Mapping
from pathlib import Path
import re

from ssik_ros.benchmark.config import BenchmarkConfig
from ssik_ros.benchmark.entries import find_kinematics_folder, find_robot_files, read_entries
from ssik_ros.errors import InvalidOption
from ssik_ros.value_class import dataclass

SERVICE = 'compute_ik'


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """A server to be started for one solver of a benchmark: its namespace and its parameters."""

    label: str
    """Label of the solver in the configuration."""
    namespace: str
    """Namespace of the server below the benchmark's namespace: a valid name without slashes."""
    parameters: Mapping[str, str]
    """Values of parameters of ``ik_server`` by name."""


def plan_servers(config: BenchmarkConfig, *, live_robot: bool = False) -> tuple[ServerPlan, ...]:
    """
    Return the namespace and parameters of a server for each solver of this package in a configuration.

    No server is started.

    :param config: the configuration.
    :param live_robot: whether servers take the robot from ROS topics instead of the configuration's files.
    :raises DescriptionNotFound: if a file does not exist.
    :raises UnknownGroup: if a kinematics file does not have the group.
    :raises InvalidOption: if the configuration has no solver of this package.
    :raises ConfigError, UnknownSolver: as :func:`~ssik_ros.solvers.kinematics_yaml.read_kinematics_yaml`.
    """
    folder = find_kinematics_folder(config)
    robot = {} if live_robot else {**_robot_parameters(config), 'groups': config.planning_group}
    plans = tuple(
        ServerPlan(
            entry.name,
            namespace_of(entry.name),
            {
                **robot,
                'kinematics_file': str((folder / entry.kinematics_file).absolute()),
            },
        )
        for entry, kinematics in read_entries(config, folder)
        if not kinematics.is_foreign
    )
    if not plans:
        raise InvalidOption(f"Benchmark '{config.name}' lists no solver of this package.")
    return plans


def _robot_parameters(config: BenchmarkConfig) -> dict[str, str]:
    """Return the parameters of ``ik_server`` that name the robot's files: URDF, SRDF, joint limits and xacro arguments."""
    files = find_robot_files(config)
    return {
        'robot_description_file': _text(files.urdf_path),
        'semantic_file': _text(files.srdf_path),
        'joint_limits_file': _text(files.joint_limits_path),
        'xacro_args': ' '.join(f'{name}:={value}' for name, value in files.xacro_args.items()),
    }


def _text(path: Path | None) -> str:
    return '' if path is None else str(path.absolute())


def namespace_of(label: str) -> str:
    """
    Return a label as a valid ROS name of letters, digits and underscores.

    Each run of characters other than letters A to Z and digits becomes one underscore, and is removed at both ends. A
    name that would be empty or begin with a digit gets the prefix ``solver_``.

    :param label: label of a solver.
    """
    name = re.sub(r'[^A-Za-z0-9]+', '_', label).strip('_')
    return f'solver_{name}' if not name or name[0].isdigit() else name
