"""The robot and the planning group that the options of a verb choose."""

import argparse
from pathlib import Path

from ssik_ros.cli.options import add_option, read_pairs
from ssik_ros.cli.printing import waiting
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.named_robot import (
    load_named,
    load_package_by_name,
    NamedRobot,
    PackageChoice,
)
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.value_class import dataclass

FILE_SUFFIXES = ('.urdf', '.xacro', '.xml')
"""A name with one of these ends is a file, even if the file does not exist."""


@dataclass(frozen=True, eq=False, slots=True)
class ChosenGroup:
    """A robot and the group that the options choose: a planning group of the SRDF, or the chain between two links."""

    robot: RobotModel
    group: JointGroup

    @property
    def is_named(self) -> bool:
        """Return whether the group is a planning group of the SRDF."""
        return self.robot.groups.get(self.group.name) is self.group

    def chain(self) -> SerialChain:
        """
        Return the chain from the group's base link to its tip.

        :raises UnsupportedJoint: when a joint between them has no place in a serial chain.
        :raises ModelError: when the group has several tips or none, or no joint moves between base link and tip.
        """
        return SerialChain.from_robot(self.robot, self.group.base_link, self.group.tip)


def add_robot_options(parser: argparse.ArgumentParser) -> None:
    """
    Declare the options that choose a robot and a group.

    :param parser: the verb's parser.
    """
    group = parser.add_argument_group('robot and group')
    text = (
        'a robot or arm by name (`ssik robots --all`), a URDF or xacro file, or a MoveIt package'
    )
    group.add_argument('path', nargs='?', type=Path, metavar='ROBOT', help=text)
    add_option(group, '--urdf PATH', 'a URDF or xacro file', type=Path)
    add_option(group, '--srdf PATH', 'the semantic description of the URDF', type=Path)
    text = 'an argument for xacro, of the URDF and the SRDF; may be repeated'
    add_option(group, '--xacro-arg NAME:=VALUE', text, action='append')
    add_option(group, '--robot NAME', 'a robot or arm by name')
    text = 'a MoveIt configuration package or its folder'
    add_option(group, '--moveit-config PACKAGE', text)
    text = 'the robot of a package with several (default: the one that the package tells)'
    add_option(group, '--robot-name NAME', text)
    add_option(group, '--group NAME', 'a planning group of the SRDF (default: the only arm)')
    add_option(group, '--base LINK', 'base link of the chain (default: the root link)')
    text = 'tip link of the chain (default: the last moved link of the longest chain)'
    add_option(group, '--tip --ee LINK', text)


def choose_group(arguments: argparse.Namespace) -> ChosenGroup:
    """
    Return the robot and the group that the options name.

    The group is the one of ``--group``, or the chain of ``--base`` and ``--tip``. Without these options it is the only
    planning group that looks like an arm. If the robot has no planning groups, it is the arm of the catalogue entry, or
    the longest chain.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, the group does not exist, or several groups are possible.
    """
    loaded = _load(arguments)
    if arguments.group is not None:
        return _named_group(loaded.robot, arguments)
    if arguments.base is None and arguments.tip is None and loaded.robot.groups:
        groups = loaded.likely_groups()
        if len(groups) != 1:
            raise InvalidOption(
                f"Say which joints of robot '{loaded.robot.name}': --group "
                f'({", ".join(loaded.robot.groups)}) or --base and --tip.'
            )
        return ChosenGroup(loaded.robot, groups[0])
    base, tip = arguments.base or loaded.base, arguments.tip or loaded.tip
    return _group_between(loaded.robot, base, tip)


def choose_arm(arguments: argparse.Namespace) -> ChosenGroup:
    """
    Return the robot, and the group that ``--group`` names, else the group of a chain with one tip.

    This chain is the robot's only arm, else the arm of its catalogue entry, else its longest chain. ``--base`` and
    ``--tip`` replace its ends.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, or several chains are possible.
    """
    loaded = _load(arguments)
    if arguments.group is not None:
        return _named_group(loaded.robot, arguments)
    base, tip = loaded.base, loaded.tip
    groups = loaded.likely_groups(with_one_tip=True)
    if len(groups) == 1:
        base, tip = groups[0].base_link, groups[0].tip
    return _group_between(loaded.robot, arguments.base or base, arguments.tip or tip)


def load_chosen(arguments: argparse.Namespace) -> RobotModel:
    """
    Return the robot that the options name, whatever its groups.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded.
    """
    return _load(arguments).robot


def read_word(arguments: argparse.Namespace) -> None:
    """
    Store the argument ROBOT as ``--robot`` or ``--moveit-config`` if it is a name or a package, not a file.

    A folder with a subfolder ``config`` is a MoveIt package; a word without a folder and without the ending of a URDF
    is a name.

    :param arguments: the parsed arguments, which are changed.
    """
    path = arguments.path
    if path is None or path.is_file():
        return
    if path.is_dir() and (path / 'config').is_dir():
        arguments.path, arguments.moveit_config = None, str(path)
    elif path.name == str(path) and path.suffix not in FILE_SUFFIXES:
        arguments.path, arguments.robot = None, str(path)


def _named_group(robot: RobotModel, arguments: argparse.Namespace) -> ChosenGroup:
    """
    Return the robot with the planning group of ``--group``.

    :raises InvalidOption: if ``--base`` or ``--tip`` is given, too.
    :raises GroupNotFound: if the robot does not have the group.
    """
    if arguments.base is not None or arguments.tip is not None:
        raise InvalidOption('Name the joints by --group, or by --base and --tip; not by both.')
    return ChosenGroup(robot, robot.group(arguments.group))


def _group_between(robot: RobotModel, base: str | None, tip: str | None) -> ChosenGroup:
    """
    Return the robot with the group between two links: the group of the SRDF if it has this group, else a new one.

    A group of the SRDF is used if it is a chain with the same base link, tip link and joints.

    :param base, tip: names of the links; None to find them, as :func:`find_ends` does.
    :raises ModelError: for an unknown link, a tip that is not below the base, no moving joint between them, and
        several equally long chains if the tip has to be found.
    """
    between = robot.group_from_links(*find_ends(robot, base, tip))
    same = (
        group
        for group in robot.groups.values()
        if group.is_chain
        and (group.base_link, group.tips) == (between.base_link, between.tips)
        and group.joint_names == between.joint_names
    )
    return ChosenGroup(robot, next(same, between))


def _load(arguments: argparse.Namespace) -> NamedRobot:
    """Load and return the robot that the options name, and show that the command waits if it takes long."""
    with waiting('Loading the robot'):
        return _load_named(arguments)


def _load_named(arguments: argparse.Namespace) -> NamedRobot:
    """
    Load and return the robot that the options name, without a display; this may take seconds.

    Raise InvalidOption unless the options name exactly one robot.
    """
    read_word(arguments)
    files = [path for path in (arguments.path, arguments.urdf) if path is not None]
    names = [name for name in (arguments.robot, arguments.moveit_config) if name is not None]
    # A package may lack a URDF, or have another one than the user's.
    is_package = len(names) == 1 and arguments.path is None
    if not is_package and (names or len(files) != 1):
        raise InvalidOption(
            'Name one robot: a name such as panda (`ssik robots` lists them), a URDF file or a MoveIt package.'
        )
    xacro_args = read_pairs(arguments.xacro_arg, '--xacro-arg NAME:=VALUE')
    if not names:
        if arguments.robot_name is not None:
            raise InvalidOption('--robot-name chooses a robot of --moveit-config PACKAGE.')
        return NamedRobot(load_robot(files[0], arguments.srdf, xacro_args=xacro_args or None))
    choice = PackageChoice(
        arguments.robot_name, files[0] if files else None, arguments.srdf, xacro_args
    )
    if arguments.moveit_config is not None:
        return load_package_by_name(arguments.moveit_config, choice)
    return load_named(arguments.robot, choice)
