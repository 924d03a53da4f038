"""``ssik bench``: run the solvers of ik_benchmarking configurations in this process, check and write the results."""

import argparse
from collections.abc import Iterator
import contextlib
from pathlib import Path
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as ProgressBar,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ssik_ros.benchmark.config import BenchmarkConfig, read_benchmark_config
from ssik_ros.benchmark.harness import write_atomically
from ssik_ros.benchmark.plots import plot_grid, plot_report
from ssik_ros.benchmark.report import (
    BenchmarkReport,
    describe,
    GRID_FILE,
    make_json,
    make_markdown,
    make_table,
)
from ssik_ros.benchmark.runner import BenchmarkSession, Progress
from ssik_ros.benchmark.session import (
    find_benchmark_config,
    prepare_benchmark,
    write_results,
)
from ssik_ros.cli.options import add_option, read_pairs
from ssik_ros.cli.printing import open_console, waiting
from ssik_ros.errors import ConfigError, InvalidOption

EXAMPLES = (
    'ssik bench panda                       # a shipped configuration',
    'ssik bench ik_benchmarking.yaml        # the file of ik_benchmarking, unchanged',
    'ssik bench panda fanuc gen3 -o results # three robots, one folder each, and a grid of plots',
    'ssik bench panda --samples 1000 --solver PoseIK --no-plots',
    'ssik bench panda --goals results/panda/goals.jsonl  # the very same requests again',
)
DEFAULT_OUTPUT = 'ik_benchmark_results'
LOG_WIDTH = 110


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument(
        'configs',
        nargs='+',
        metavar='CONFIG',
        help='a file in the format of ik_benchmarking, or the name of a shipped one (panda, fanuc, '
        'gen3, ur5e)',
    )
    text = 'folder for the results; files of an earlier run are replaced (default: %(default)s)'
    add_option(
        parser,
        '-o --out --output DIR',
        text,
        type=Path,
        default=Path(DEFAULT_OUTPUT),
        dest='output',
    )
    add_option(parser, '--samples N', 'number of samples instead of sample_size', type=int)
    text = 'run only this solver of the configuration; may be repeated'
    add_option(parser, '--solver NAME', text, action='append')
    add_option(parser, '--goals FILE', 'send the requests of this goals file', type=Path)
    add_option(
        parser, '--urdf PATH', 'a URDF or xacro file, instead of that of the package', type=Path
    )
    text = 'an argument for xacro, of the URDF and the SRDF; may be repeated'
    add_option(parser, '--xacro-arg NAME:=VALUE', text, action='append')
    add_option(parser, '--no-plots', 'write no PNG files')
    add_option(parser, '--json', 'print the summary as JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Run the benchmarks and write their results; return 0, or 1 if no solver could run.

    :param arguments: the parsed arguments.
    :raises SsikError: when a configuration, robot, group or file is wrong.
    """
    sessions = _prepare(arguments)
    reports = []
    for session in sessions:
        with _progress(session.config.name) as progress:
            report = session.run(progress)
        _write(session, report, _folder(arguments, sessions, report), not arguments.no_plots)
        reports.append(report)
        if not arguments.json:
            _print(report)
    _write_together(reports, arguments)
    if arguments.json:
        print(make_json(reports), end='')
    else:
        print(f'Results are in {arguments.output}.')
    return 0 if any(report.has_run for report in reports) else 1


def _print(report: BenchmarkReport) -> None:
    """Print the table and the text of a report; a log file gets the full width."""
    console = open_console(LOG_WIDTH)
    console.print(make_table(report))
    console.print(describe(report), markup=False, highlight=False, soft_wrap=True)


def _prepare(arguments: argparse.Namespace) -> list[BenchmarkSession]:
    """
    Return the prepared benchmark of each configuration; all are prepared before the first one runs.

    :raises ConfigError: for two configurations of the same name.
    :raises InvalidOption: for ``--goals`` with several configurations.
    """
    configs = [_configure(name, arguments) for name in arguments.configs]
    names = [config.name for config in configs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f'Two configurations are called {", ".join(twice)}; rename one.')
    if arguments.goals is not None and len(configs) > 1:
        raise InvalidOption('--goals needs exactly one CONFIG: a goals file is for one robot.')
    return [prepare_benchmark(config, arguments.goals) for config in configs]


def _configure(name: str, arguments: argparse.Namespace) -> BenchmarkConfig:
    """Return a configuration by name or file, with the changes of the command line."""
    config = read_benchmark_config(find_benchmark_config(name))
    xacro_args = read_pairs(arguments.xacro_arg, '--xacro-arg NAME:=VALUE')
    if arguments.urdf or xacro_args:
        config = config.with_robot_files(str(arguments.urdf or ''), xacro_args)
    if arguments.samples is not None:
        config = config.with_samples(arguments.samples)
    return config.with_solvers(arguments.solver) if arguments.solver else config


@contextlib.contextmanager
def _progress(label: str) -> Iterator[Progress | None]:
    """Yield a function that shows one progress bar for each solver; None if stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn())
    times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn('left')
    with ProgressBar(*columns, *times, console=console) as bar:
        tasks: dict[str, TaskID] = {}

        def show(solver: str, done: int, total: int) -> None:
            if solver not in tasks:
                tasks[solver] = bar.add_task(f'{label}: {solver}', total=total)
            bar.update(tasks[solver], completed=done)

        yield show


def _folder(
    arguments: argparse.Namespace, sessions: list[BenchmarkSession], report: BenchmarkReport
) -> Path:
    """
    Return the folder for the results of one benchmark.

    It is the folder of ``--output``, or its subfolder with the name of the benchmark if there are several sessions.
    """
    output: Path = arguments.output
    return output if len(sessions) == 1 else output / report.config.name


def _write(session: BenchmarkSession, report: BenchmarkReport, folder: Path, plots: bool) -> None:
    write_results(session, report, folder)
    if plots:
        with waiting('Drawing the plots'):
            plot_report(report, folder)
    for claim in report.false_claims:
        print(f'ssik bench: {claim}', file=sys.stderr)


def _write_together(reports: list[BenchmarkReport], arguments: argparse.Namespace) -> None:
    """
    Write the grid of plots, unless ``--no-plots`` is given.

    With several robots, also write the summaries of all into one file of JSON and one of Markdown.
    """
    if len(reports) > 1:
        write_atomically(arguments.output / 'summary.json', make_json(reports))
        write_atomically(arguments.output / 'summary.md', make_markdown(reports))
    if not arguments.no_plots:
        with waiting('Drawing the plots'):
            plot_grid(reports, arguments.output / GRID_FILE)
