"""``ssik path``: plan a joint path of low cost along a tool path, print it, and write files and plots."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.cli.options import add_option
from ssik_ros.cli.path_output import check_output, check_plot, plot_path, write_path
from ssik_ros.cli.printing import print_table, progress_bar, waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_group
from ssik_ros.errors import counted, InvalidOption, short
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.path_file import PathProblem, read_problem, read_waypoints
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.paths.requests import Stretch, ToolPath
from ssik_ros.value_class import dataclass

_WIDTH = 120

EXAMPLES = (
    'ssik path weld.yaml',
    'ssik path ur5e waypoints.csv            # x, y, z, qw, qx, qy, qz of the tip',
    'ssik path weld.yaml --json --timeout 5',
    'ssik path weld.yaml -o trajectory.csv',
    'ssik path weld.yaml -o trajectory.yaml --plot weld.png',
    'ssik path weld.yaml --bound-seconds 20',
    'ssik path weld.yaml --bound-rounds 12',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    text = 'YAML that names robot, waypoints and obstacles; or waypoints of a ROBOT, as CSV or nav_msgs/Path'
    parser.add_argument('file', nargs='?', type=Path, metavar='FILE', help=text)
    text = 'write the joint values of each waypoint as CSV, or a trajectory with times as YAML'
    add_option(parser, '-o --out --output FILE', text, type=Path, dest='output')
    text = 'write a plot of joints, margins, singular values and clearance: a file, or a folder'
    add_option(parser, '--plot FILE', text, type=Path)
    add_option(parser, '--timeout S', 'wall-clock budget [s]', type=float)
    text = 'time for a proved lower bound close to the cost [s]'
    add_option(parser, '--bound-seconds S', text, type=float, default=0.0)
    text = 'rounds for this bound at most; the same bound on every machine'
    add_option(parser, '--bound-rounds N', text, type=int, default=0)
    add_option(parser, '--json', 'print JSON')


@dataclass(frozen=True, eq=False, slots=True)
class _PlannedPath:
    """A path problem and its plan."""

    problem: PathProblem
    path: ToolPath


def run(arguments: argparse.Namespace) -> int:
    """
    Plan a joint path, print it and write its files; return 0 for a path through all waypoints, else 1.

    If the plan fails, the output file has its longest connected piece.

    :param arguments: the parsed arguments.
    :raises SsikError: when the file, the robot or a setting is wrong.
    """
    if arguments.timeout is not None and not arguments.timeout > 0.0:
        raise InvalidOption(f'--timeout takes a positive number, not {arguments.timeout:g}.')
    if arguments.output is not None:
        check_output(arguments.output)
    problem = _read_problem(arguments)
    plot = None if arguments.plot is None else check_plot(arguments.plot, problem.name)
    planned = _PlannedPath(problem, _plan(problem, arguments))
    if arguments.output is not None:
        write_path(arguments.output, problem, planned.path)
    if plot is not None:
        with waiting('Drawing the plot'):
            plot_path(plot, problem, planned.path)
    if arguments.json:
        print(json.dumps(as_mapping(planned.path), indent=2))
    else:
        _print(planned)
    return 0 if planned.path.valid else 1


def _read_problem(arguments: argparse.Namespace) -> PathProblem:
    """
    Return the problem of the command line: read from a YAML file, or made of a robot and a file of waypoints.

    If only one file is given, it is moved from ``arguments.path`` to ``arguments.file``.

    :raises InvalidOption: without a file; for waypoints (.csv) without a robot; for options of a robot with a YAML
        file.
    """
    if arguments.file is None:
        arguments.path, arguments.file = None, arguments.path
    if arguments.file is None:
        raise InvalidOption('Name a file: ssik path FILE, or ssik path ROBOT FILE.')
    options = ('path', 'urdf', 'robot', 'moveit_config')
    if any(getattr(arguments, name) is not None for name in options):
        chosen = choose_group(arguments)
        waypoints = read_waypoints(arguments.file)
        return PathProblem(arguments.file.stem, chosen.robot, chosen.group, waypoints, {})
    if arguments.file.suffix.lower() == '.csv':
        raise InvalidOption(f"Waypoints need a robot: ssik path ROBOT '{arguments.file}'.")
    others = ('srdf', 'group', 'base', 'tip', 'robot_name', 'xacro_arg')
    if any(getattr(arguments, name) for name in others):
        raise InvalidOption(
            'Options of the robot go with ssik path ROBOT FILE; a YAML names its robot and group itself.'
        )
    return read_problem(arguments.file)


def _plan(problem: PathProblem, arguments: argparse.Namespace) -> ToolPath:
    """
    Plan the path of a problem and return the plan, which may have failed: then its ``valid`` is False.

    A terminal shows a progress bar, unless ``--json`` is given.

    :param arguments: the parsed arguments, with the limits of the search: ``--timeout``, ``--bound-seconds`` and
        ``--bound-rounds``.
    """
    settings = {
        **problem.settings,
        'timeout': arguments.timeout,
        'bound_seconds': arguments.bound_seconds,
        'bound_rounds': arguments.bound_rounds,
    }
    with progress_bar(_WIDTH, quiet=arguments.json) as show:
        settings['report_progress'] = lambda progress: show(progress.part, progress.phase)
        return plan_tool_path(problem.robot, problem.group, problem.waypoints, **settings)


def as_mapping(path: ToolPath) -> dict[str, Any]:
    """
    Return a plan as a mapping for JSON; an infinite cost is null.

    :param path: the plan.
    """
    return {
        'valid': path.valid,
        'joint_names': list(path.joint_names),
        'positions': path.positions.tolist(),
        'cost': path.cost if np.isfinite(path.cost) else None,
        'penalty': path.penalty,
        'lower_bound': path.lower_bound,
        'deviation': path.deviation,
        'times': None if path.times is None else path.times.tolist(),
        'reason': path.reason,
        'cause': path.cause.name,
        'failed_waypoint': path.failed_waypoint,
        'first_waypoint': path.first_waypoint,
        'seconds': path.seconds,
        'notes': list(path.notes),
        'stretches': [_stretch(stretch) for stretch in path.stretches],
    }


def _stretch(stretch: Stretch) -> dict[str, Any]:
    """Return one part of a plan as a mapping for JSON: a pass along waypoints, or the free motion to the next pass."""
    return {
        'travel': stretch.is_travel,
        'first': stretch.first,
        'last': stretch.last,
        'positions': stretch.positions.tolist(),
        'times': None if stretch.times is None else stretch.times.tolist(),
    }


def _print(planned: _PlannedPath) -> None:
    """Print the result in sentences, and a table of the joints."""
    problem, path = planned.problem, planned.path
    count = len(problem.waypoints)
    if path.valid:
        print(
            f"'{problem.name}': a joint path through all {count} waypoints, {short(path.seconds)} s."
        )
        gap = f'{100.0 * path.gap:.0f} % below'
        print(f'Cost {short(path.cost)}; proved lower bound {short(path.lower_bound)} ({gap}).')
        for stretch in path.stretches:
            corners = counted(len(stretch.positions) - 2, 'corner')
            if stretch.is_travel:
                print(f'Free travel from waypoint {stretch.first} to {stretch.last}: {corners}.')
    else:
        print(f"'{problem.name}': no joint path through all {count} waypoints. {path.reason}")
        last = path.first_waypoint + len(path.positions) - 1
        if len(path.positions):
            print(f'The longest piece leads from waypoint {path.first_waypoint} to {last}.')
    for note in path.notes:
        print(note)
    if len(path.positions):
        columns = ('joint', 'from', 'to', 'least', 'most', 'sum of |dq|', 'margin to limits')
        print_table(columns, _rows(planned), _WIDTH)


def _rows(planned: _PlannedPath) -> list[tuple[str, ...]]:
    """Return the texts of the table: one row for each joint."""
    problem, q = planned.problem, planned.path.positions
    chain = SerialChain.from_group(problem.robot, problem.group)
    rows = []
    for column, name in enumerate(planned.path.joint_names):
        joint, values = chain.joint_names.index(name), q[:, column]
        margin = min(values.min() - chain.lower[joint], chain.upper[joint] - values.max())
        unit = 'm' if chain.kinds[joint] == JointKind.PRISMATIC else 'rad'
        numbers = (
            values[0],
            values[-1],
            values.min(),
            values.max(),
            np.abs(np.diff(values)).sum(),
            margin,
        )
        rows.append((f'{name} [{unit}]', *map(short, numbers)))
    return rows
