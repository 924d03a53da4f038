"""``ssik call``: call a service of ROS 2; the program ``ros2`` is not needed."""

import argparse
from importlib.util import find_spec
import json
from typing import Any

from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import waiting
from ssik_ros.cli.target_options import add_pose_options, has_target, is_position_only
from ssik_ros.errors import InvalidOption, short, SolverError
from ssik_ros.strict_yaml import parse_yaml

EXAMPLES = (
    'ssik call compute_ik --group panda_arm --pose 0.4 0.1 0.5 1 0 0 0',
    "ssik call compute_fk '{fk_link_names: [panda_link8]}' --json",
    "ssik call /ssik/compute_ik '{ik_request: {group_name: panda_arm}}'",
)
SUCCESS = 1
"""Value of MoveItErrorCodes for success."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument(
        'service', metavar='SERVICE', help='such as compute_ik; its type is looked up'
    )
    text = 'the request as YAML, such as {ik_request: {group_name: arm}}'
    parser.add_argument('request', nargs='?', default='{}', metavar='YAML', help=text)
    ik = parser.add_argument_group('in place of a request, for compute_ik')
    add_option(ik, '--group NAME', 'the planning group')
    also = ', with --quat or --rpy'
    add_pose_options(ik, 'the frame of --frame', is_needed=False, after_xyz=also)
    add_option(ik, '--frame LINK', 'frame of the pose (default: the model frame)', default='')
    add_option(ik, '--link LINK', "the link (default: the tip of the group's solver)", default='')
    text = 'time for the service to appear, and for its response [s]'
    add_option(parser, '--timeout S', text, type=float, default=5.0)
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Call the service and print the response; return 1 if its error code is another one than success, else 0.

    A response without an error code counts as a success.

    :param arguments: the parsed arguments.
    :raises SsikError: when ROS or the service is missing, or the request is wrong.
    """
    values = _request_of(arguments)
    if find_spec('rclpy') is None:
        raise SolverError(
            'No ROS here: ssik call needs rclpy. Source the setup file of ROS 2, or run `make setup`.'
        )
    from ssik_ros.ros.process.service_call import call_service

    with waiting(f'Waiting for {arguments.service}'):
        response = call_service(arguments.service, values, arguments.timeout)
    if arguments.json:
        print(json.dumps(response, indent=2))
    else:
        print('\n'.join(_lines(response, '')))
    code = response.get('error_code')
    return int(isinstance(code, dict) and code.get('val', SUCCESS) != SUCCESS)


def _request_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """
    Return the fields of the request, from the YAML or from the options of a pose.

    :raises InvalidOption: for a YAML that is not a mapping, and for both kinds of a request. Also for a group without a
        pose, a pose without a group, or a position without an orientation.
    """
    values = parse_yaml(arguments.request, 'the request') or {}
    if not isinstance(values, dict):
        raise InvalidOption(f'The request takes fields by name, not {values!r}.')
    if arguments.group is None and not has_target(arguments):
        return values
    if values or arguments.group is None or not has_target(arguments):
        raise InvalidOption('Give --group and a pose together, or a request as YAML.')
    if is_position_only(arguments):
        raise InvalidOption('A request for compute_ik has an orientation: add --quat or --rpy.')
    from ssik_ros.cli.targets import read_poses
    from ssik_ros.kernels.geometry.rotations import quaternion_of_matrix

    matrix = read_poses(arguments, 1)[0]
    position = matrix[:3, 3].tolist()
    orientation = quaternion_of_matrix(matrix[:3, :3]).tolist()
    pose = {
        'position': dict(zip('xyz', position, strict=True)),
        'orientation': dict(zip('xyzw', orientation, strict=True)),
    }
    stamped = {'header': {'frame_id': arguments.frame}, 'pose': pose}
    ik = {'group_name': arguments.group, 'ik_link_name': arguments.link, 'pose_stamped': stamped}
    return {'ik_request': ik}


def _lines(value: Any, indent: str) -> list[str]:
    """Return a response as lines of YAML, with short numbers and without empty fields."""
    lines = []
    for name, item in value.items():
        if isinstance(item, dict):
            below = _lines(item, f'{indent}  ')
            lines += [f'{indent}{name}:', *below] if below else []
        elif item not in ('', []):
            lines.append(f'{indent}{name}: {json.dumps(_shortened(item))}')
    return lines


def _shortened(value: Any) -> Any:
    """Return a value in which floats have at most four significant digits."""
    if isinstance(value, float):
        return float(short(value))
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    return value
