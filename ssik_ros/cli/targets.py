"""Read target poses, joint positions and parameters of solvers from the options of a verb."""

import argparse
from collections.abc import Sequence
import sys
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.cli.options import read_pairs
from ssik_ros.cli.target_options import has_rotation
from ssik_ros.cli.tip_poses import TipPoses
from ssik_ros.errors import counted, InvalidOption, InvalidTarget
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.pose_input import pose, read_pose
from ssik_ros.strict_yaml import parse_yaml


def _refuse_lone_rotation(arguments: argparse.Namespace) -> None:
    """Raise InvalidOption if ``--quat`` or ``--rpy`` is given without ``--xyz``."""
    if arguments.xyz is None and has_rotation(arguments):
        raise InvalidOption('--quat and --rpy go with --xyz.')


def read_targets(arguments: argparse.Namespace, oracle: TipPoses) -> FloatArray:
    """
    Return the target poses (t, 4, 4) of the tips in the base frame.

    With ``--xyz`` and no orientation, the rotations are the identity.

    :param arguments: the parsed arguments; one of pose, xyz, xyz_rpy and joints is given.
    :param oracle: the group and its forward kinematics.
    :raises InvalidTarget: when the numbers are not poses of the group's tips.
    :raises InvalidOption: for joint positions that are not finite or of another number, or an orientation without
        ``--xyz``.
    """
    if arguments.joints is None:
        return read_poses(arguments, len(oracle.group.tips))
    _refuse_lone_rotation(arguments)
    positions = read_positions(arguments.joints, oracle.group, '--joints')
    return oracle.tip_poses(positions)


def read_poses(arguments: argparse.Namespace, tips: int) -> FloatArray:
    """
    Return the target poses (t, 4, 4) from options that need no robot.

    With ``--xyz`` and no orientation, the rotations are the identity.

    :param arguments: the parsed arguments; one of pose, xyz_rpy and xyz is given.
    :param tips: number of poses.
    :raises InvalidTarget: when the numbers are not poses.
    :raises InvalidOption: for an orientation without ``--xyz``.
    """
    _refuse_lone_rotation(arguments)
    if arguments.pose is not None:
        rows = _reshape(arguments.pose, tips, 7, '--pose', 'x y z qx qy qz qw')
        return np.array([read_pose(row, '--pose') for row in rows])
    if arguments.xyz is not None:
        rows = _reshape(arguments.xyz, tips, 3, '--xyz', 'x y z')
        if arguments.quat is not None:
            turns = _reshape(arguments.quat, tips, 4, '--quat', 'qx qy qz qw')
            return np.array([read_pose(row, '--quat') for row in np.hstack([rows, turns])])
        if arguments.rpy is None:
            return np.array([pose(row) for row in rows])
        angles = _reshape(arguments.rpy, tips, 3, '--rpy', 'roll pitch yaw')
        return _poses_of_angles(np.hstack([rows, angles]), '--rpy')
    rows = _reshape(arguments.xyz_rpy, tips, 6, '--xyz-rpy', 'x y z roll pitch yaw')
    return _poses_of_angles(rows, '--xyz-rpy')


def _poses_of_angles(rows: FloatArray, option: str) -> FloatArray:
    """
    Return the poses (t, 4, 4) of rows (t, 6): x y z [m] and roll pitch yaw [rad].

    If an angle is beyond a full turn, a line on stderr asks whether the angles are degrees.

    :param option: name of the option that has the rows, for messages.
    """
    largest = float(np.abs(rows[:, 3:]).max())
    if largest > 2.0 * np.pi:
        print(
            f'{option} has an angle of {largest:g} rad, more than a full turn: are these degrees?',
            file=sys.stderr,
        )
    return np.array([read_pose(row, option) for row in rows])


def _reshape(numbers: Sequence[float], tips: int, size: int, option: str, what: str) -> FloatArray:
    if len(numbers) != tips * size or not np.isfinite(numbers).all():
        raise InvalidTarget(
            f'{option} takes {tips * size} finite numbers ({what} for each of {counted(tips, "tip")}), not '
            f'{len(numbers)}: {" ".join(f"{number:g}" for number in numbers)}.'
        )
    return np.array(numbers, dtype=np.float64).reshape(tips, size)


def read_positions(numbers: Sequence[float] | None, group: JointGroup, option: str) -> Any:
    """
    Return joint positions (n,) of the group; None if the option is not given.

    :param numbers: the values of the option; None without the option.
    :param group: the group.
    :param option: the option's name, for the message.
    :raises InvalidOption: for another number of values, or values that are not finite.
    """
    if numbers is None:
        return None
    if len(numbers) != group.variable_count or not np.isfinite(numbers).all():
        raise InvalidOption(
            f"{option} takes {group.variable_count} finite numbers for group '{group.name}' "
            f'({", ".join(group.variable_names)}), not {len(numbers)}.'
        )
    return np.array(numbers, dtype=np.float64)


def read_parameters(words: Sequence[str]) -> dict[str, Any]:
    """
    Return the values of ``--param`` by key.

    :param words: the values of the option, such as ``epsilon=1e-6``.
    :raises InvalidOption: for another form, and for a key that is given twice.
    :raises ConfigError: for a value that is not YAML.
    """
    given = read_pairs(words, '--param KEY=VALUE')
    return {key: parse_yaml(text, f'--param {key}') for key, text in given.items()}
