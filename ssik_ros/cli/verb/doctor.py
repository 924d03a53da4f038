"""``ssik doctor``: check URDF, SRDF, kinematics.yaml and joint_limits.yaml against each other."""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.serving.checkup import examine
from ssik_ros.serving.checkup import Finding
from ssik_ros.serving.checkup import Level
from ssik_ros.serving.checkup import Papers

_WIDTH = 150
_WORDS = {Level.FINE: 'fine', Level.NOTE: 'note', Level.FAULT: 'fault'}

EXAMPLES = ('ssik doctor panda', 'ssik doctor my_robot_moveit_config --json')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument(
        'robot',
        help='a MoveIt configuration package, a robot that comes along, or the path of a URDF or xacro file',
    )
    parser.add_argument('--srdf', type=Path, help='SRDF, instead of that of the package')
    parser.add_argument('--kinematics', type=Path, help='kinematics.yaml, likewise')
    parser.add_argument('--joint-limits', type=Path, help='joint_limits.yaml, likewise')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print what there is to say; 1 when something does not work.

    :param arguments: the parsed arguments.
    """
    findings = examine(_find_papers(arguments))
    if arguments.json:
        rows = [{**f._asdict(), 'level': _WORDS[f.level]} for f in findings]
        print(json.dumps(rows, indent=2))
    else:
        _print_table(findings)
    return int(any(finding.level == Level.FAULT for finding in findings))


def _find_papers(arguments: argparse.Namespace) -> Papers:
    """Return the files that are meant."""
    path = Path(arguments.robot)
    if path.is_file():
        papers = Papers(path)
    else:
        found = find_moveit_config(arguments.robot)
        papers = Papers(
            found.urdf_path,
            found.srdf_path,
            found.kinematics_path,
            found.joint_limits_path,
            found.xacro_args,
        )
    given = {
        'srdf': arguments.srdf,
        'kinematics': arguments.kinematics,
        'joint_limits': arguments.joint_limits,
    }
    return papers._replace(**{name: value for name, value in given.items() if value is not None})


def _print_table(findings: list[Finding]) -> None:
    table = Table()
    for column in ('', 'where', 'what', 'what to do'):
        table.add_column(column, overflow='fold')
    for finding in findings:
        table.add_row(_WORDS[finding.level], finding.where, finding.what, finding.mend)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(table)
    counts = {word: sum(f.level == level for f in findings) for level, word in _WORDS.items()}
    console.print(', '.join(f'{count} {word}' for word, count in counts.items()))
