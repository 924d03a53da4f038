"""``ssik doctor``: check the installation, or the descriptions of a robot against each other."""

import argparse
from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

from ssik_ros.cli.installation import examine_installation
from ssik_ros.cli.options import add_option, read_pairs
from ssik_ros.cli.printing import print_table, waiting
from ssik_ros.errors import InvalidOption
from ssik_ros.server.findings import Finding, Level

_WIDTH = 150
_FILES = {
    '--srdf': 'SRDF',
    '--kinematics': 'kinematics.yaml',
    '--joint-limits': 'joint_limits.yaml',
}
_WORDS = {Level.FINE: 'fine', Level.NOTE: 'note', Level.FAULT: 'fault'}

EXAMPLES = (
    'ssik doctor',
    'ssik doctor panda',
    'ssik doctor my_robot_moveit_config --json',
    'ssik doctor my_cell_moveit_config --robot-name left_arm --xacro-arg ur_type:=ur5e',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument(
        'robot',
        nargs='?',
        help='a MoveIt configuration package, a shipped robot, or the path of a URDF or xacro file; '
        'without it the installation is checked',
    )
    text = 'the package or robot, instead of the first argument'
    add_option(parser, '--moveit-config --robot NAME', text, dest='named')
    for option, file in _FILES.items():
        add_option(parser, f'{option} PATH', f'{file}, instead of that of the package', type=Path)
    add_option(
        parser, '--urdf PATH', 'a URDF or xacro file, instead of that of the package', type=Path
    )
    add_option(parser, '--robot-name NAME', 'the robot of a package with several')
    text = 'an argument for xacro, of the URDF and the SRDF; may be repeated'
    add_option(parser, '--xacro-arg NAME:=VALUE', text, action='append')
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print the findings of a check; return 1 if one is a fault, else 0.

    :param arguments: the parsed arguments.
    :raises InvalidOption: when files are given without a robot, two robots are given, or options do not fit a URDF.
    :raises DescriptionNotFound: when the package is not found.
    """
    if arguments.named is not None:
        if arguments.robot is not None:
            raise InvalidOption('Name one robot: as the first argument or by --moveit-config.')
        arguments.robot = arguments.named
    names = [option.removeprefix('--').replace('-', '_') for option in _FILES]
    given = {name: path for name in names if (path := getattr(arguments, name)) is not None}
    if arguments.robot is not None:
        with waiting('Comparing the files of the robot'):
            findings = _examine_robot(arguments, given)
    elif given or arguments.urdf or arguments.robot_name or arguments.xacro_arg:
        raise InvalidOption(
            '--urdf, --srdf, --kinematics, --joint-limits, --robot-name and --xacro-arg belong to a robot; '
            'name it.'
        )
    else:
        with waiting('Checking the installation'):
            findings = examine_installation()
    if arguments.json:
        rows = [{**f._asdict(), 'level': _WORDS[f.level]} for f in findings]
        print(json.dumps(rows, indent=2))
    elif arguments.robot is None:
        _print_lines(findings)
    else:
        _print_table(findings)
    return int(any(finding.level == Level.FAULT for finding in findings))


def _examine_robot(arguments: argparse.Namespace, given: Mapping[str, Any]) -> list[Finding]:
    """
    Check the files of a robot, or of a MoveIt package, against each other; return the findings.

    :param given: files of the command line by field name, which replace files of the package.
    :raises SsikError: when the package is not found, or options do not fit a URDF.
    """
    from ssik_ros.model.description_files import find_moveit_config
    from ssik_ros.server.checkup import examine, heard, RobotFiles

    xacro_args = read_pairs(arguments.xacro_arg, '--xacro-arg NAME:=VALUE')
    if Path(arguments.robot).is_file():
        if arguments.urdf or arguments.robot_name:
            raise InvalidOption('--urdf and --robot-name go with a package, not with a URDF.')
        return examine(RobotFiles(Path(arguments.robot), xacro_args=xacro_args)._replace(**given))
    with heard('ssik_ros.model') as lines:
        config = find_moveit_config(
            arguments.robot, arguments.robot_name, urdf=arguments.urdf, srdf=given.get('srdf')
        ).with_arguments(xacro_args)
    files = RobotFiles(
        config.urdf_path,
        config.srdf_path,
        config.kinematics_path,
        config.joint_limits_path,
        config.xacro_args,
    )
    notes = [
        Finding(Level.NOTE, str(config.directory), line, 'see whether this is meant')
        for line in lines
    ]
    return [*notes, *examine(files._replace(**given))]


def _print_lines(findings: list[Finding]) -> None:
    """Print findings as lines, with only the standard library, because rich may be missing."""
    width = max(len(finding.where) for finding in findings)
    for finding in findings:
        print(f'{_WORDS[finding.level]:5}  {finding.where:{width}}  {finding.what}')
        if finding.mend:
            print(f'{"":{width + 7}}  to do: {finding.mend}')
    print(_count(findings))


def _print_table(findings: list[Finding]) -> None:
    """Print findings as a table, and their number by level."""
    rows = [(_WORDS[f.level], f.where, f.what, f.mend) for f in findings]
    print_table(('', 'where', 'what', 'what to do'), rows, _WIDTH)
    print(_count(findings))


def _count(findings: list[Finding]) -> str:
    """Return the number of findings of each level as text."""
    counts = {word: sum(f.level == level for f in findings) for level, word in _WORDS.items()}
    return ', '.join(f'{count} {word}' for word, count in counts.items())
