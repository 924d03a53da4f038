"""Load a robot by its name: a shipped robot, an arm of the catalogue, or an installed MoveIt configuration."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ssik_ros.arguments import check_kind
from ssik_ros.errors import DescriptionNotFound, InvalidOption, list_names, quote
from ssik_ros.model.arm_ends import FEWEST_JOINTS
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.description_files import find_moveit_config, list_shipped_robots
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_package
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class NamedRobot:
    """
    A robot that was loaded by its name, with the path of its kinematics.yaml.

    Without this file the path is missing (None). Arms of the catalogue have base and tip link instead.
    """

    robot: RobotModel
    kinematics_path: Path | None = None
    base: str | None = None
    """Base link of an arm of the catalogue; None for other robots."""
    tip: str | None = None
    """Tip link of an arm of the catalogue; None for other robots."""

    def likely_groups(self, *, with_one_tip: bool = False) -> list[JointGroup]:
        """
        Return the SRDF groups that are probably arms.

        If kinematics.yaml names some of several groups, only these are kept. Groups without moving joints, and groups
        that move joints of a hand, are left out if others remain.

        :param with_one_tip: True leaves out groups with several tips.
        :raises ConfigError, UnknownSolver: as :func:`~ssik_ros.solvers.kinematics_yaml.read_kinematics_yaml`.
        """
        groups = [g for g in self.robot.groups.values() if len(g.tips) == 1 or not with_one_tip]
        if len(groups) > 1 and self.kinematics_path is not None:
            # Arms from a URDF never need the parameters of solvers, which take long to import.
            from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml

            named = read_kinematics_yaml(self.kinematics_path)
            groups = [group for group in groups if group.name in named] or groups
        return _arms_of(self.robot, groups) or groups

    def arm(self) -> JointGroup:
        """
        Return the group of the robot's only arm.

        :raises InvalidOption: for a robot without ``base`` and ``tip``, unless exactly one group with one tip is likely
            to be an arm.
        :raises ConfigError, UnknownSolver: as :meth:`likely_groups`.
        :raises ModelError: if ``base`` and ``tip`` are not the ends of a chain of the robot.
        """
        if self.base is not None and self.tip is not None:
            return self.robot.group_from_links(self.base, self.tip)
        robot, groups = quote(self.robot.name), self.likely_groups(with_one_tip=True)
        if len(groups) == 1:
            return groups[0]
        if not groups:
            raise InvalidOption(
                f'Robot {robot} has no group with one tip: give the links at both ends to '
                'Manipulator.from_urdf (base, ee).'
            )
        raise InvalidOption(
            f'Robot {robot} has several groups: choose one with '
            f'Manipulator.from_group ({list_names(self.robot.groups)}).'
        )


def _arms_of(robot: RobotModel, groups: list[JointGroup]) -> list[JointGroup]:
    """
    Return the ``groups`` that move joints and move no joint of a hand.

    A hand is the group of an end effector. A group is also a hand if its first joint comes next after the last joint of
    a chain. The chain must have at least three joints, and more than the group.
    """
    hands = {effector.group for effector in robot.end_effectors}
    lasts = {
        int(arm.joint_indices[-1]): len(arm.joint_indices)
        for arm in robot.groups.values()
        if arm.is_chain and len(arm.joint_indices) >= FEWEST_JOINTS
    }
    for group in robot.groups.values():
        if len(group.joint_indices):
            above = int(robot.tree.parents[group.joint_indices[0]])
            if len(group.joint_indices) < lasts.get(above, 0):
                hands.add(group.name)
    moved = {
        name
        for group in robot.groups.values()
        if group.name in hands
        for name in group.joint_names
    }
    return [g for g in groups if g.joint_names and moved.isdisjoint(g.joint_names)]


class PackageChoice(NamedTuple):
    """
    A user's choices for a MoveIt configuration: which robot of the package, which files, and xacro arguments.

    None leaves a choice to the package.
    """

    robot_name: str | None = None
    """The robot of a package with several."""
    urdf: Path | None = None
    """URDF to use instead of the package's URDF."""
    srdf: Path | None = None
    """SRDF to use instead of the package's SRDF."""
    xacro_args: Mapping[str, str] = MappingProxyType({})
    """Arguments that are added to the package's arguments."""


def load_named(name: str, choice: PackageChoice | None = None) -> NamedRobot:
    """
    Return a shipped robot, an arm of the catalogue, or an installed MoveIt configuration.

    :param name: the name; with or without ``_ik`` at the end for arms of the catalogue.
    :param choice: files and arguments for a MoveIt configuration.
    :raises DescriptionNotFound: for an unknown name, with a similar one, if any; also for a missing file of a
        configuration.
    :raises InvalidOption: when there are files or arguments for an arm of the catalogue.
    :raises ModelError, ConfigError: for malformed files of a configuration.
    """
    check_kind('name', name, str, 'the name of a robot')
    shipped, arms = list_shipped_robots(), list_arms()
    plain = name.removesuffix('_ik')
    arm = plain if plain in (*shipped, *arms) else name
    if arm in arms and arm not in shipped:
        if choice not in (None, PackageChoice()):
            raise InvalidOption(
                f'{quote(arm)} is an arm of the catalogue, which has all its files.'
            )
        data = arm_data(arm)
        return NamedRobot(load_arm(arm), None, data.base_link, data.tip_link)
    try:
        return load_package_by_name(arm, choice)
    except DescriptionNotFound as error:
        if 'available' not in error.evidence:
            raise  # A package of that name exists; the error names its missing files.
        text = f'There is no robot {quote(name)}, neither as a MoveIt configuration nor in the catalogue'
        raise DescriptionNotFound.unknown(text, name, dict.fromkeys([*shipped, *arms])) from error


def load_package_by_name(name: str, choice: PackageChoice | None = None) -> NamedRobot:
    """
    Return the robot of a MoveIt configuration, with the path of its kinematics.yaml.

    :param name: the package, the robot, or the folder of the package.
    :param choice: robot of the package, files and arguments; None leaves all of them to the package.
    :raises DescriptionNotFound: if the configuration or one of its files does not exist.
    :raises SsikError: as :func:`ssik_ros.load_robot`, for malformed files.
    """
    robot_name, urdf, srdf, xacro_args = choice or PackageChoice()
    files = find_moveit_config(name, robot_name, urdf=urdf, srdf=srdf)
    return NamedRobot(load_package(files.with_arguments(xacro_args)), files.kinematics_path)
