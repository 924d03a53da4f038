"""One benchmark from configuration to files: robot, questions, solvers, report."""

from dataclasses import dataclass
import json
from pathlib import Path

from ssik_ros.benchmark.cases import BenchmarkCases
from ssik_ros.benchmark.cases import make_cases
from ssik_ros.benchmark.cases import read_goals
from ssik_ros.benchmark.cases import write_goals
from ssik_ros.benchmark.config import BenchmarkConfig
from ssik_ros.benchmark.config import SolverEntry
from ssik_ros.benchmark.machine import describe_machine
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.report import BenchmarkReport
from ssik_ros.benchmark.report import GRID_FILE
from ssik_ros.benchmark.report import make_json
from ssik_ros.benchmark.report import make_markdown
from ssik_ros.benchmark.report import PLOT_FILES
from ssik_ros.benchmark.runner import Progress
from ssik_ros.benchmark.runner import run_solver
from ssik_ros.benchmark.trials import RunStatus
from ssik_ros.benchmark.trials import write_atomically
from ssik_ros.benchmark.trials import write_csv
from ssik_ros.errors import DescriptionNotFound
from ssik_ros.errors import UnknownGroup
from ssik_ros.model.description_files import config_directory
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.description_files import MoveItConfig
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml

GOALS_FILE = 'goals.jsonl'
SUMMARY_FILE = 'summary.json'


@dataclass(frozen=True, slots=True)
class BenchmarkSession:
    """A benchmark that is ready to run: every name in its configuration has been found."""

    config: BenchmarkConfig
    files: MoveItConfig
    oracle: GroupOracle
    kinematics: tuple[tuple[SolverEntry, GroupKinematics], ...]
    cases: BenchmarkCases
    goals_source: str

    def run(self, progress: Progress | None = None) -> BenchmarkReport:
        """
        Return the outcome of running every solver.

        :param progress: told the solver's label, the trials done and the trials to do.
        """
        runs = tuple(
            run_solver(entry, kinematics, self.oracle, self.cases, self.config, progress)
            for entry, kinematics in self.kinematics
        )
        return BenchmarkReport(
            config=self.config,
            robot=self.oracle.robot.name,
            description=str(self.files.urdf_path),
            goals_source=self.goals_source,
            machine=describe_machine(),
            runs=runs,
        )


def prepare_benchmark(config: BenchmarkConfig, goals: Path | None = None) -> BenchmarkSession:
    """
    Return a benchmark that is ready to run.

    :param config: its configuration.
    :param goals: a goals file to ask instead of random questions.
    :raises DescriptionNotFound: when the robot, a kinematics file or the goals file does not exist.
    :raises GroupNotFound: when the robot does not have the group.
    :raises UnknownGroup: when a kinematics file does not have the group.
    :raises ConfigError: when a file is malformed.
    """
    files = _find_robot(config)
    robot = load_robot(
        files.urdf_path, files.srdf_path, files.joint_limits_path, files.xacro_args or None
    )
    oracle = GroupOracle(robot, robot.group(config.planning_group))
    folder = _kinematics_folder(config, files)
    kinematics = tuple(
        (entry, _read_kinematics(folder / entry.kinematics_file, config.planning_group))
        for entry in config.ik_solvers
    )
    if goals is None:
        cases = make_cases(oracle, config.sample_size, config.random_seed)
        source = f'goals and seeds uniform in joint space from seed {config.random_seed}'
    else:
        cases = read_goals(goals, oracle).first(config.sample_size)
        config = config.with_samples(len(cases))
        source = f"goals and seeds of '{goals.name}' (seed {cases.random_seed})"
    return BenchmarkSession(config, files, oracle, kinematics, cases, source)


def _find_robot(config: BenchmarkConfig) -> MoveItConfig:
    """Return the robot's files, by its name as MoveItConfigsBuilder, else by the package."""
    try:
        return find_moveit_config(config.robot_name)
    except DescriptionNotFound:
        return find_moveit_config(config.moveit_config_pkg, config.robot_name)


def _kinematics_folder(config: BenchmarkConfig, files: MoveItConfig) -> Path:
    """Return the folder of the kinematics files."""
    try:
        return find_moveit_config(config.moveit_config_pkg).directory / 'config'
    except DescriptionNotFound:
        return find_moveit_config(config.moveit_config_pkg, files.robot_name).directory / 'config'


def _read_kinematics(path: Path, group: str) -> GroupKinematics:
    """Return what a kinematics file says about a group."""
    if not path.is_file():
        others = sorted(other.name for other in path.parent.glob('*kinematics*.yaml'))
        raise DescriptionNotFound(
            f"There is no kinematics file '{path}'; the folder has {', '.join(others) or 'none'}.",
            path=path,
        )
    groups = read_kinematics_yaml(path, substitute=False)
    if group not in groups:
        raise UnknownGroup(
            f"The kinematics file '{path}' has no group '{group}', only "
            f'{", ".join(sorted(groups)) or "none"}.',
            name=group,
            available=tuple(groups),
        )
    return groups[group]


def write_results(session: BenchmarkSession, report: BenchmarkReport, folder: Path) -> None:
    """
    Write the data files, the goals and the summary of a benchmark in place of an earlier run's.

    :param session: the benchmark.
    :param report: its outcome.
    :param folder: where to write; made if needed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_earlier_run(folder)
    write_goals(session.cases, session.oracle, folder / GOALS_FILE)
    for run in report.runs:
        if run.status is RunStatus.RAN:
            write_csv(run, folder / run.entry.csv_name)
    write_atomically(folder / SUMMARY_FILE, make_json([report]))
    write_atomically(folder / 'summary.md', make_markdown([report]))


def _remove_earlier_run(folder: Path) -> None:
    """Remove data and plots of the run that a summary in the folder is about, and no others."""
    try:
        entries = json.loads((folder / SUMMARY_FILE).read_text(encoding='utf-8'))[0]['solvers']
        names = [SolverEntry(entry['name'], '').csv_name for entry in entries]
    except (OSError, ValueError, LookupError, TypeError):
        return
    for name in (*names, *PLOT_FILES, GRID_FILE):
        (folder / name).unlink(missing_ok=True)


def find_benchmark_config(name: str) -> Path:
    """
    Return the path of a configuration given by path or by the name of a shipped one.

    :param name: a path, or a name such as ``panda``.
    :raises DescriptionNotFound: when there is neither; with the shipped names.
    """
    path = Path(name)
    if path.is_file():
        return path
    folder = config_directory() / 'benchmark'
    shipped = folder / f'{name.removesuffix(".yaml")}.yaml'
    if shipped.is_file() and '/' not in name:
        return shipped
    names = ', '.join(sorted(file.stem for file in folder.glob('*.yaml')))
    raise DescriptionNotFound(
        f"There is no benchmark configuration '{name}', neither as a file nor among the shipped "
        f'ones: {names}.',
        name=name,
    )
