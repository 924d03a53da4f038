"""Find the files that a benchmark configuration names: the robot description and the kinematics file of each solver."""

from pathlib import Path

from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.errors import DescriptionNotFound, UnknownGroup
from ssik_ros.model.description_files import find_moveit_config, find_package, MoveItConfig, SUFFIX
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml


def find_robot_files(config: BenchmarkConfig) -> MoveItConfig:
    """
    Return the files of the robot, such as URDF and SRDF, with the configuration's xacro arguments.

    They come from the MoveIt package that the configuration names. If this package exists but does not have the robot,
    an installed package that is named after the robot is used, or else the package as it is.

    :param config: the configuration.
    :raises DescriptionNotFound: if the named package or its files are not found.
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
    Return the folder ``config`` that holds the kinematics files of the solvers.

    It is in the package that the configuration names. If this package has no such folder, it is in the package that
    :func:`find_robot_files` uses for the robot, whether the folder exists or not.

    :param config: the configuration.
    :raises DescriptionNotFound: if the package is not found, or lacks both the folder and the files of the robot.
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
    Return (solver, settings of the group in its kinematics file) for each solver of a configuration.

    :param config: the configuration.
    :param folder: folder of the kinematics files.
    :raises DescriptionNotFound: if a kinematics file does not exist.
    :raises UnknownGroup: if a kinematics file does not have the group.
    :raises ConfigError, UnknownSolver: as :func:`~ssik_ros.solvers.kinematics_yaml.read_kinematics_yaml`.
    """
    return tuple(
        (entry, _read_kinematics(folder / entry.kinematics_file, config.planning_group))
        for entry in config.ik_solvers
    )


def _read_kinematics(path: Path, group: str) -> GroupKinematics:
    """
    Return the solver and parameters of a group from a kinematics file.

    :raises DescriptionNotFound: if the file does not exist.
    :raises UnknownGroup: if the file does not have the group.
    """
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
