"""The steps of one benchmark: :func:`prepare_benchmark` loads robot and requests, :func:`write_results` writes the files."""

import dataclasses
import json
from pathlib import Path

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.cases import make_cases, read_goals, write_goals
from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.benchmark.entries import find_kinematics_folder, find_robot_files, read_entries
from ssik_ros.benchmark.harness import write_atomically
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.report import (
    BenchmarkReport,
    GRID_FILE,
    make_json,
    make_markdown,
    PLOT_FILES,
)
from ssik_ros.benchmark.runner import BenchmarkSession
from ssik_ros.benchmark.trials import RunStatus, write_csv
from ssik_ros.errors import writing
from ssik_ros.model.description_files import find_shipped_file
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_package
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.value_class import dataclass

GOALS_FILE = 'goals.jsonl'
SUMMARY_FILE = 'summary.json'


@dataclass(frozen=True, slots=True)
class BenchmarkRobot:
    """A robot and its group to run a benchmark on, with its full state and the source of the robot's description."""

    robot: RobotModel
    group: JointGroup
    origin: str
    """Path of the description, or the topic that brought it."""
    state: FloatArray | None = None
    """(nq,) full state, for joints outside the group; None for their default values."""


def prepare_benchmark(
    config: BenchmarkConfig, goals: Path | None = None, about: BenchmarkRobot | None = None
) -> BenchmarkSession:
    """
    Load robot, solver parameters and requests, and return a benchmark that is ready to run.

    :param config: the configuration.
    :param goals: a goals file, of which the first ``sample_size`` requests are used; None for random requests.
    :param about: robot and group to use; None for the ones that the configuration names.
    :raises DescriptionNotFound: if the robot, a kinematics file or the goals file does not exist.
    :raises GroupNotFound: if the robot does not have the group.
    :raises UnknownGroup: if a kinematics file does not have the group.
    :raises UnknownSolver: if a kinematics file has a misspelt solver of this package.
    :raises ConfigError: if a file is malformed.
    :raises InvalidLimits: without a goals file, if a translation of the group lacks a limit.
    :raises ModelError: if a description of the robot is malformed.
    """
    if about is None:
        about = load_configured_robot(config)
        kinematics = read_entries(config, find_kinematics_folder(config))
    else:
        kinematics = read_entries(config, find_kinematics_folder(config))
        # From here on the robot is this one; published figures may be about another one.
        config = dataclasses.replace(
            config, robot_name=about.robot.name, planning_group=about.group.name
        )
    oracle = GroupOracle(about.robot, about.group, about.state)
    if goals is None:
        cases = make_cases(oracle, config.sample_size, config.random_seed)
        source = f'goals and seeds uniform in joint space from seed {config.random_seed}'
    else:
        cases = read_goals(goals, oracle).first(config.sample_size)
        config = config.with_samples(len(cases))
        source = f"goals and seeds of '{goals.name}' (seed {cases.random_seed})"
    return BenchmarkSession(config, about.origin, oracle, kinematics, cases, source)


def load_configured_robot(config: BenchmarkConfig) -> BenchmarkRobot:
    """
    Return the robot and the group that a configuration names.

    :param config: the configuration.
    :raises DescriptionNotFound: if the files of the robot do not exist.
    :raises GroupNotFound: if the robot does not have the group.
    :raises ModelError, ConfigError: if a file of the robot is malformed.
    """
    files = find_robot_files(config)
    robot = load_package(files)
    return BenchmarkRobot(robot, robot.group(config.planning_group), str(files.urdf_path))


def write_results(session: BenchmarkSession, report: BenchmarkReport, folder: Path) -> None:
    """
    Write the files of a benchmark: a CSV file for each solver that ran, the goals, and summaries in JSON and Markdown.

    Data files and plots of an earlier run in the folder are removed, if its summary in JSON can be read.

    :param session: the benchmark.
    :param report: its results.
    :param folder: folder of the files; it is made if needed.
    :raises InvalidOption: if a file cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _remove_earlier_run(folder)
    write_goals(session.cases, session.oracle, folder / GOALS_FILE)
    for run in report.runs:
        if run.status is RunStatus.RAN:
            write_csv(run, folder / run.entry.csv_name)
    write_atomically(folder / SUMMARY_FILE, make_json([report]))
    write_atomically(folder / 'summary.md', make_markdown([report]))


def _remove_earlier_run(folder: Path) -> None:
    """
    Remove data files and plots of the solvers that the summary file in the folder lists; other files stay.

    Nothing is removed without a readable summary.
    """
    try:
        entries = json.loads((folder / SUMMARY_FILE).read_text(encoding='utf-8'))[0]['solvers']
        names = [SolverEntry(entry['name'], '').csv_name for entry in entries]
    except (OSError, ValueError, LookupError, TypeError):
        return
    for name in (*names, *PLOT_FILES, GRID_FILE):
        (folder / name).unlink(missing_ok=True)


def find_benchmark_config(name: str) -> Path:
    """
    Return the path of a benchmark configuration.

    :param name: a path, or the name of a configuration that is shipped with this package, such as ``panda``.
    :raises DescriptionNotFound: if neither exists; the message lists the shipped names.
    """
    return find_shipped_file('benchmark configuration', name, 'benchmark')
