"""The files that ``ssik path`` writes: joint values as CSV, a trajectory with times as YAML, and a plot."""

from pathlib import Path
from typing import TextIO

import numpy as np

from ssik_ros.errors import InvalidOption, writing
from ssik_ros.paths.measures import measure_path
from ssik_ros.paths.path_file import PathProblem
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ToolPath, ToolPathRequest
from ssik_ros.server.paths.path_requests import TimedPath
from ssik_ros.server.paths.path_text import write_table, write_trajectory
from ssik_ros.server.paths.plan_timing import time_plan
from ssik_ros.server.requests.motion_limits import scaled_limits
from ssik_ros.view.pictures.path_plots import draw_path, save_path_plot, SUFFIXES

TABLE = ('.csv',)
TRAJECTORY = ('.yaml', '.yml')


def check_output(file: Path) -> None:
    """
    Check that a path can be written to a file; the command calls this before the plan, which may take long.

    :param file: the file.
    :raises InvalidOption: for an unknown file ending, and for a folder that does not exist.
    """
    _check(file, '--output', (*TABLE, *TRAJECTORY))


def check_plot(file: Path, name: str) -> Path:
    """
    Return the file for the plot; in a folder, it is named after the path.

    :param file: the file, or a folder.
    :param name: name of the path.
    :raises InvalidOption: for an unknown file ending, and for a folder that does not exist.
    """
    if file.is_dir():
        plain = ''.join(letter if letter.isalnum() or letter in '-_' else '_' for letter in name)
        return file / f'{plain or "path"}.png'
    _check(file, '--plot', SUFFIXES)
    return file


def _check(file: Path, option: str, endings: tuple[str, ...]) -> None:
    if file.suffix.lower() not in endings:
        choices_text = ', '.join(endings)
        raise InvalidOption(f"{option} takes a file that ends in {choices_text}, not '{file}'.")
    if not file.absolute().parent.is_dir():
        raise InvalidOption(f"'{file}' cannot be written: there is no folder '{file.parent}'.")


def write_path(file: Path, problem: PathProblem, path: ToolPath) -> None:
    """
    Write the joint values of a plan to a file; if the plan failed, the values on its longest connected piece.

    :param file: a CSV with one row for each waypoint, and rows for corners of the free motion between two passes; or a
        YAML with a trajectory_msgs/JointTrajectory.
    :param problem, path: the problem and its plan.
    :raises InvalidOption: for a file that cannot be written.
    """
    write = _write_table if file.suffix.lower() in TABLE else _write_trajectory
    with writing(file), file.open('w', encoding='utf-8', newline='') as stream:
        write(stream, problem, path)


def _write_table(stream: TextIO, problem: PathProblem, path: ToolPath) -> None:
    """
    Write a CSV row with number and joint values for each waypoint.

    If a free motion to the next pass begins at the waypoint, rows for the corners of this motion follow.
    """
    corners = {
        stretch.first: stretch.positions[1:-1].tolist()
        for stretch in path.stretches
        if stretch.is_travel
    }
    rows = (
        [waypoint, *row]
        for waypoint, q in enumerate(path.positions.tolist(), path.first_waypoint)
        for row in (q, *corners.get(waypoint, ()))
    )
    write_table(stream, 'waypoint', path.joint_names, rows)


def _write_trajectory(stream: TextIO, problem: PathProblem, path: ToolPath) -> None:
    """
    Write a timed trajectory from rest to rest as YAML, which ``ros2 topic pub`` reads.

    Without positions it has no points.
    """
    timed = TimedPath(path.positions, np.zeros(0), path.positions)
    if len(path.positions):
        limits = scaled_limits(problem.robot, problem.group, 1.0, 1.0)
        timed = time_plan(path, problem.group, limits, problem.waypoints, problem.settings).path
    frame = problem.robot.model_frame
    write_trajectory(
        stream, frame, path.joint_names, timed.positions, timed.times, timed.velocities
    )


def plot_path(file: Path, problem: PathProblem, path: ToolPath) -> None:
    """
    Write a plot of a plan to a file: joint values, margins to limits, singular value and clearance at the waypoints.

    :param file: a PNG, SVG or PDF file, as :func:`check_plot` returns it; its ending chooses the format.
    :param problem, path: the problem and its plan.
    :raises InvalidOption: for a file that cannot be written.
    :raises ImportError: if matplotlib is not installed.
    """
    planner = ToolPathPlanner(problem.robot, problem.group, ToolPathRequest(**problem.settings))
    measures = measure_path(planner, path)
    save_path_plot(draw_path(problem.name, len(problem.waypoints), path, measures), file)
