"""Finds the files that a configuration names: the robot and the kinematics of each solver."""

from pathlib import Path

from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.errors import DescriptionNotFound, UnknownGroup
from ssik_ros.model.description_files import find_moveit_config, find_package, MoveItConfig, SUFFIX
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml


def find_robot_files(config: BenchmarkConfig) -> MoveItConfig:
    """
    Return the robot's files: of the package that the configuration names, or of an installed package of the robot.

    A robot that is shipped with this package is used only if the configuration names its package.

    :param config: the configuration.
    :raises DescriptionNotFound: when neither package exists.
    """
    return _find_files(config).with_arguments(config.xacro_args)


def _find_files(config: BenchmarkConfig) -> MoveItConfig:
    package, robot = config.moveit_config_pkg, config.robot_name
    urdf = config.robot_description_file or None
    installed = find_package(package) is not None or Path(package).is_dir()
    try:
        return find_moveit_config(package, robot, urdf=urdf)
    except DescriptionNotFound:
        if not installed:
            raise
    for name in (f'{robot}{SUFFIX}', robot):
        if find_package(name) is not None:
            return find_moveit_config(name, urdf=urdf)
    # MoveItConfigsBuilder takes the files that the package itself names, whatever the robot is called.
    return find_moveit_config(package, urdf=urdf)


def find_kinematics_folder(config: BenchmarkConfig) -> Path:
    """
    Return the folder of the kinematics files; its package does not need to describe a robot.

    :param config: the configuration.
    :raises DescriptionNotFound: when the package is not found.
    """
    package = config.moveit_config_pkg
    folder = Path(package) if Path(package).is_dir() else find_package(package)
    if folder is not None and (folder / 'config').is_dir():
        return folder / 'config'
    return find_robot_files(config).directory / 'config'


def read_entries(
    config: BenchmarkConfig, folder: Path
) -> tuple[tuple[SolverEntry, GroupKinematics], ...]:
    """
    Return each solver of a configuration with its parameters for the group.

    :param config: the configuration.
    :param folder: the folder of the kinematics files.
    :raises DescriptionNotFound: when one of the files does not exist.
    :raises UnknownGroup: when one of them does not have the group.
    """
    return tuple(
        (entry, _read_kinematics(folder / entry.kinematics_file, config.planning_group))
        for entry in config.ik_solvers
    )


def _read_kinematics(path: Path, group: str) -> GroupKinematics:
    """Return the entry of a group in a kinematics file; raise an SsikError if the file or the entry is missing."""
    if not path.is_file():
        others = sorted(other.name for other in path.parent.glob('*kinematics*.yaml'))
        raise DescriptionNotFound(
            f"There is no kinematics file '{path}'; the folder has {', '.join(others) or 'none'}.",
            path=path,
        )
    groups = read_kinematics_yaml(path, substitute=False)
    if group not in groups:
        raise UnknownGroup(
            f"The kinematics file '{path}' has no group '{group}', only "
            f'{", ".join(sorted(groups)) or "none"}.',
            name=group,
            available=tuple(groups),
        )
    return groups[group]
