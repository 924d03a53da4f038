"""Which group of which robot is meant: a description, a robot that comes along or a MoveIt package, and its joints."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssik_ros.errors import describe_choices, DescriptionNotFound, InvalidOption
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.description_files import find_moveit_config, list_shipped_robots
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class ChosenGroup:
    """A robot and some of its joints."""

    robot: RobotModel
    group: JointGroup

    @property
    def is_named(self) -> bool:
        """Return whether the group has its name from a semantic description."""
        return self.robot.groups.get(self.group.name) is self.group


@dataclass(frozen=True, slots=True)
class _Known:
    """A robot, and what its files say about the arm that is meant."""

    robot: RobotModel
    kinematics_path: Path | None = None
    base: str | None = None
    tip: str | None = None


def add_group_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments that choose a robot and a group.

    :param parser: the verb's parser.
    """
    group = parser.add_argument_group('robot and group')
    group.add_argument('path', nargs='?', type=Path, metavar='URDF', help='a URDF or xacro file')
    group.add_argument('--urdf', type=Path, metavar='PATH', help='the same as an option')
    group.add_argument('--srdf', type=Path, metavar='PATH', help='its semantic description')
    group.add_argument(
        '--xacro-arg',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='an argument for xacro; may be repeated',
    )
    group.add_argument(
        '--robot',
        metavar='NAME',
        help='instead of a URDF: a robot or an arm that comes along (`ssik robots --all`)',
    )
    group.add_argument(
        '--moveit-config',
        metavar='PACKAGE',
        help='instead of a URDF: a MoveIt configuration package or its folder',
    )
    group.add_argument(
        '--group', metavar='NAME', help='a group of the SRDF (default: the only one)'
    )
    group.add_argument(
        '--base', metavar='LINK', help='first link of the chain (default: the root link)'
    )
    group.add_argument(
        '--tip',
        '--ee',
        metavar='LINK',
        help='last link of the chain (default: the last moved link of the longest one)',
    )


def choose_group(arguments: argparse.Namespace) -> ChosenGroup:
    """
    Return the robot and the group that are meant.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, or several groups could be meant.
    """
    known = _load(arguments)
    robot, base, tip = known.robot, arguments.base, arguments.tip
    if arguments.group is not None:
        if base is not None or tip is not None:
            raise InvalidOption('Name the joints by --group, or by --base and --tip; not by both.')
        return ChosenGroup(robot, robot.group(arguments.group))
    if base is None and tip is None and robot.groups:
        return ChosenGroup(robot, _only_group(known))
    ends = find_ends(robot, base or known.base, tip or known.tip)
    between = robot.group_from_links(ends.base, ends.ee)
    return ChosenGroup(robot, _namesake(robot, between) or between)


def _only_group(known: _Known) -> JointGroup:
    """Return the only group, or the only one that the kinematics.yaml names."""
    names = list(known.robot.groups)
    if len(names) > 1 and known.kinematics_path is not None:
        names = [name for name in read_kinematics_yaml(known.kinematics_path) if name in names]
    if len(names) == 1:
        return known.robot.group(names[0])
    raise InvalidOption(
        f"Say which joints of robot '{known.robot.name}': --group "
        f'({", ".join(known.robot.groups)}) or --base and --tip.'
    )


def _namesake(robot: RobotModel, between: JointGroup) -> JointGroup | None:
    """Return the group of the semantic description that is the same chain."""
    same = (
        group
        for group in robot.groups.values()
        if group.is_chain
        and (group.base_link, group.tips) == (between.base_link, between.tips)
        and group.joint_names == between.joint_names
    )
    return next(same, None)


def _load(arguments: argparse.Namespace) -> _Known:
    """Return the robot that one of the options names."""
    files = [path for path in (arguments.path, arguments.urdf) if path is not None]
    names = [name for name in (arguments.robot, arguments.moveit_config) if name is not None]
    if len(files) + len(names) != 1:
        raise InvalidOption(
            'Name one robot: a URDF file, --robot NAME or --moveit-config PACKAGE.'
        )
    if files:
        xacro_args = _xacro_arguments(arguments.xacro_arg)
        return _Known(load_robot(files[0], arguments.srdf, xacro_args=xacro_args))
    if arguments.srdf is not None or arguments.xacro_arg:
        raise InvalidOption('--srdf and --xacro-arg go with a URDF; a named robot brings its own.')
    if arguments.moveit_config is not None:
        return _from_package(arguments.moveit_config)
    return _by_name(arguments.robot)


def _by_name(name: str) -> _Known:
    """Return a robot that comes along, an arm of the catalogue, or an installed robot."""
    shipped, arms = list_shipped_robots(), list_arms()
    if name in arms and name not in shipped:
        data = arm_data(name)
        return _Known(load_arm(name), None, data.base_link, data.tip_link)
    try:
        return _from_package(name)
    except DescriptionNotFound as error:
        names = (*shipped, *(arm for arm in arms if arm not in shipped))
        raise DescriptionNotFound(
            f"There is no robot '{name}', neither as a MoveIt configuration nor in the catalogue. "
            + describe_choices(name, names),
            name=name,
            available=names,
        ) from error


def _from_package(name: str) -> _Known:
    """Return the robot of a MoveIt configuration."""
    files = find_moveit_config(name)
    robot = load_robot(
        files.urdf_path, files.srdf_path, files.joint_limits_path, files.xacro_args or None
    )
    return _Known(robot, files.kinematics_path)


def _xacro_arguments(words: Sequence[str]) -> Mapping[str, str] | None:
    """Return NAME:=VALUE words as a mapping, None where there are none."""
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise InvalidOption(f"--xacro-arg takes NAME:=VALUE, not '{word}'.")
        given[name] = value
    return given or None
