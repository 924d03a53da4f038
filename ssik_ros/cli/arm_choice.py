"""Which arm is meant: a URDF, a robot or an arm that comes along, and two of its links."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssik_ros.errors import describe_choices, DescriptionNotFound, InvalidOption
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.description_files import find_moveit_config, list_shipped_robots
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class ChosenArm:
    """A robot and the links between which the arm lies."""

    robot: RobotModel
    base: str
    ee: str

    def chain(self) -> SerialChain:
        """
        Return the chain of the arm.

        :raises ModelError: when there is none from base to ee.
        :raises UnsupportedJoint: when a joint between them has no place in a serial chain.
        """
        return SerialChain.from_robot(self.robot, self.base, self.ee)


def add_arm_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments that choose an arm.

    :param parser: the verb's parser.
    """
    group = parser.add_argument_group('arm')
    group.add_argument('urdf', nargs='?', type=Path, metavar='URDF', help='a URDF or xacro file')
    group.add_argument(
        '--robot',
        metavar='NAME',
        help='instead of a URDF: a robot or an arm that comes along (`ssik robots --all`)',
    )
    group.add_argument(
        '--base', metavar='LINK', help='link that poses are given in (default: the root link)'
    )
    group.add_argument(
        '--ee',
        metavar='LINK',
        help='link that is to reach them (default: the last moved link of the longest chain)',
    )
    group.add_argument(
        '--xacro-arg',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='an argument for xacro; may be repeated',
    )


def choose_arm(arguments: argparse.Namespace) -> ChosenArm:
    """
    Return the arm that is meant.

    :param arguments: the parsed arguments.
    :raises SsikError: when it cannot be loaded, or several chains could be meant.
    """
    if (arguments.urdf is None) == (arguments.robot is None):
        raise InvalidOption('Name one arm: a URDF file, or --robot NAME.')
    if arguments.urdf is not None:
        robot = load_robot(arguments.urdf, xacro_args=_xacro_arguments(arguments.xacro_arg))
        ends = find_ends(robot, arguments.base, arguments.ee)
        return ChosenArm(robot, *ends)
    if arguments.xacro_arg:
        raise InvalidOption('--xacro-arg goes with a xacro file, not with --robot.')
    known = _known_robot(arguments.robot)
    return ChosenArm(known.robot, arguments.base or known.base, arguments.ee or known.ee)


def _known_robot(name: str) -> ChosenArm:
    """Return a robot or an arm that comes along, with the links of its group."""
    shipped, arms = list_shipped_robots(), list_arms()
    if name in arms and name not in shipped:
        data = arm_data(name)
        return ChosenArm(load_arm(name), data.base_link, data.tip_link)
    try:
        files = find_moveit_config(name)
    except DescriptionNotFound as error:
        names = (*shipped, *(arm for arm in arms if arm not in shipped))
        raise DescriptionNotFound(
            f"There is no robot '{name}', neither as a MoveIt configuration nor in the catalogue. "
            + describe_choices(name, names),
            name=name,
            available=names,
        ) from error
    robot = load_robot(
        files.urdf_path, files.srdf_path, files.joint_limits_path, files.xacro_args or None
    )
    return _with_ends(robot, files.kinematics_path)


def _with_ends(robot: RobotModel, kinematics_path: Path | None) -> ChosenArm:
    """Return the robot with the ends of the only group that can be meant."""
    groups = [group for group in robot.groups.values() if len(group.tips) == 1]
    if len(groups) > 1 and kinematics_path is not None:
        named = read_kinematics_yaml(kinematics_path)
        groups = [group for group in groups if group.name in named]
    if len(groups) == 1:
        return ChosenArm(robot, groups[0].base_link, groups[0].tip)
    return ChosenArm(robot, *find_ends(robot))


def _xacro_arguments(words: Sequence[str]) -> Mapping[str, str] | None:
    """Return NAME:=VALUE words as a mapping, None where there are none."""
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise InvalidOption(f"--xacro-arg takes NAME:=VALUE, not '{word}'.")
        if name in given:
            raise InvalidOption(f"--xacro-arg names '{name}' twice.")
        given[name] = value
    return given or None
