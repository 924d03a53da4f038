"""``ssik robots``: list the shipped robots with their groups, and on request the arms of the catalogue."""

import argparse
import json
from typing import Any

from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import print_table
from ssik_ros.model.catalogue import arm_data, list_arms
from ssik_ros.model.description_files import find_moveit_config, list_shipped_robots
from ssik_ros.model.loader import load_robot

_WIDTH = 150

EXAMPLES = ('ssik robots', 'ssik robots --all', 'ssik robots --json')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_option(parser, '--all', 'the arms of the catalogue as well')
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print every shipped robot with its groups, and with ``--all`` the arms of the catalogue; return 0.

    :param arguments: the parsed arguments.
    """
    robots = [_describe(name) for name in list_shipped_robots()]
    if arguments.all:
        robots += [_describe_arm(name) for name in list_arms()]
    if arguments.json:
        print(json.dumps(robots, indent=2))
        return 0
    rows = []
    for robot in robots:
        for group in robot['groups']:
            joints, tips = str(len(group['joints'])), ', '.join(group['tips'])
            rows.append((robot['name'], group['name'], joints, group['base'], tips))
    print_table(('robot', 'group or class', 'joints', 'base', 'tips'), rows, _WIDTH)
    return 0


def _describe(name: str) -> dict[str, Any]:
    """Return the name, URDF path and groups of a shipped robot as a mapping for JSON."""
    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)
    groups = [
        {
            'name': group.name,
            'joints': list(group.joint_names),
            'base': group.base_link,
            'tips': list(group.tips),
        }
        for group in robot.groups.values()
    ]
    return {'name': name, 'robot_description': str(files.urdf_path), 'groups': groups}


def _describe_arm(name: str) -> dict[str, Any]:
    """
    Return an arm of the catalogue as a mapping for JSON, with the keys of :func:`_describe`.

    The only group has the class of the arm as its name; the path of the URDF is ``None``.
    """
    arm = arm_data(name)
    group = {
        'name': arm.expected_class,
        'joints': [joint.name for joint in arm.joints],
        'base': arm.base_link,
        'tips': [arm.tip_link],
    }
    return {'name': name, 'robot_description': None, 'groups': [group]}
