"""``ssik fk``: print the pose of each tip at joint positions."""

import argparse
from collections.abc import Iterable
import json

from ssik_ros.cli.options import add_option
from ssik_ros.cli.robot_choice import add_robot_options, choose_group
from ssik_ros.cli.targets import read_positions
from ssik_ros.errors import short
from ssik_ros.kernels.geometry.rotations import quaternion_of_matrix, rpy_of_matrix
from ssik_ros.model.default_seed import default_seed
from ssik_ros.problem.chain_kinematics import ChainKinematics

EXAMPLES = (
    'ssik fk panda                           # at the posture ready',
    'ssik fk panda --joints 0 -0.785 0 -2.356 0 1.571 0.785',
    'ssik fk arm.urdf --tip tool0 --joints 0.1 0.2 0.3 0.4 0.5 0.6 --json',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    parser.add_argument('values', nargs='*', type=float, metavar='Q', help='joint positions')
    text = 'joint positions [rad or m] (default: ready or home of the SRDF, else the middle of the limits)'
    add_option(parser, '--joints --q Q...', text, type=float)
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print the pose of each tip in the base frame; return 0.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, or the positions do not fit it.
    """
    chosen = choose_group(arguments)
    given = arguments.joints or arguments.values or None
    q = read_positions(given, chosen.group, '--joints')
    q = default_seed(chosen.robot, chosen.group) if q is None else q
    base = chosen.group.base_link
    poses = {
        tip: ChainKinematics(chosen.robot, chosen.group, base, tip).pose(q)
        for tip in chosen.group.tips
    }
    rows = {
        tip: {
            'position': pose[:3, 3].tolist(),
            'quaternion': quaternion_of_matrix(pose[:3, :3]).tolist(),
            'rpy': list(rpy_of_matrix(pose[:3, :3])),
        }
        for tip, pose in poses.items()
    }
    if arguments.json:
        names = list(chosen.group.variable_names)
        content = {'robot': chosen.robot.name, 'base': base, 'variables': names}
        print(json.dumps({**content, 'joints': q.tolist(), 'tips': rows}, indent=2))
        return 0
    print(f'joints: {_text(q)}')
    for tip, row in rows.items():
        print(f'{base} -> {tip}')
        print(f'  x y z [m]           {_text(row["position"])}')
        print(f'  qx qy qz qw         {_text(row["quaternion"])}')
        print(f'  roll pitch yaw [rad] {_text(row["rpy"])}')
    return 0


def _text(values: Iterable[float]) -> str:
    """
    Return numbers as text, separated by spaces, as options of `ssik solve` take them.

    Each number is rounded to four significant digits and to 1e-9.
    """
    return ' '.join(map(short, values))
