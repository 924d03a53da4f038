"""
The options that give a target pose; :mod:`ssik_ros.cli.targets` reads them.

This module imports no numpy: `ssik call` needs only the options.
"""

import argparse

from ssik_ros.cli.options import add_option

TARGETS = ('pose', 'xyz_rpy', 'xyz', 'joints')
"""Names of the options of which one gives the target."""
ROTATIONS = ('quat', 'rpy')
"""Names of the options that add an orientation to ``xyz``."""


def add_target_options(
    targets: argparse._ArgumentGroup, *, is_needed: bool
) -> argparse._MutuallyExclusiveGroup:
    """
    Add the options that give a target, and return the group of options of which one may be given.

    :param targets: group of options.
    :param is_needed: whether one must be given.
    """
    free = '; any orientation unless --quat or --rpy follows'
    target = add_pose_options(
        targets, 'the base frame, for each tip', is_needed=is_needed, after_xyz=free
    )
    add_option(target, '--joints --q Q...', 'the pose of these joint positions', type=float)
    return target


def add_pose_options(
    targets: argparse._ArgumentGroup, frame: str, *, is_needed: bool, after_xyz: str
) -> argparse._MutuallyExclusiveGroup:
    """
    Add --pose, --xyz and the like, which need no robot; return the group of options of which one may be given.

    :param targets: group of options that gets them.
    :param frame: frame of the target, for the help.
    :param is_needed: whether one must be given.
    :param after_xyz: end of the help of ``--xyz``: the meaning of a position without an orientation.
    """
    target = targets.add_mutually_exclusive_group(required=is_needed)
    text = f'x y z qx qy qz qw of the tip in {frame} [m]'
    add_option(target, '--pose X...', text, type=float)
    text = f'x y z roll pitch yaw of the tip in {frame} [m, rad]'
    add_option(target, '--xyz-rpy X...', text, type=float)
    text = f'x y z of the tip in {frame} [m]{after_xyz}'
    add_option(target, '--xyz X...', text, type=float)
    turn = targets.add_mutually_exclusive_group()
    add_option(turn, '--quat X...', 'qx qy qz qw, with --xyz', type=float)
    add_option(turn, '--rpy X...', 'roll pitch yaw, with --xyz [rad]', type=float)
    return target


def has_target(arguments: argparse.Namespace) -> bool:
    """
    Return whether any option of a target is given.

    :param arguments: the parsed arguments.
    """
    return any(getattr(arguments, name, None) is not None for name in (*TARGETS, *ROTATIONS))


def is_position_only(arguments: argparse.Namespace) -> bool:
    """
    Return whether ``--xyz`` is given without an orientation.

    :param arguments: the parsed arguments.
    """
    return arguments.xyz is not None and not has_rotation(arguments)


def has_rotation(arguments: argparse.Namespace) -> bool:
    """
    Return whether ``--quat`` or ``--rpy`` is given.

    :param arguments: the parsed arguments.
    """
    return any(getattr(arguments, name) is not None for name in ROTATIONS)
