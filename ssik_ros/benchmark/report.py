"""The results of benchmarks as a table, as plain text, as JSON and as Markdown."""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import io
import json
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ssik_ros.benchmark.config import BenchmarkConfig
from ssik_ros.benchmark.harness import markdown_row
from ssik_ros.benchmark.machine import Machine
from ssik_ros.benchmark.published import PUBLISHED_SOURCE, PublishedFigure
from ssik_ros.benchmark.summary import RunSummary, summarise
from ssik_ros.benchmark.trials import RunStatus, SolverRun
from ssik_ros.errors import counted, percent
from ssik_ros.value_class import dataclass

PLOT_FILES = (
    'solve_times.png',
    'success_rates.png',
    'position_error.png',
    'orientation_error.png',
)
"""The plots of one benchmark, named as ik_benchmarking names them."""
GRID_FILE = 'benchmark_grid.png'
"""The plot over several robots."""


def _milliseconds(microseconds: float | None) -> str:
    return '' if microseconds is None else f'{microseconds / 1e3:.3g}'


def _error(value: float | None) -> str:
    return '' if value is None else f'{value:.1e}'


_CELLS: dict[str, tuple[str, Callable[[Any], str]]] = {
    'verified': ('success_rate', percent),
    'mean': ('mean_us', _milliseconds),
    'found': ('mean_found_us', _milliseconds),
    'median': ('median_us', _milliseconds),
    'p95': ('p95_us', _milliseconds),
    'p99': ('p99_us', _milliseconds),
    'pos [m]': ('worst_position_error', _error),
    'ori [rad]': ('worst_orientation_error', _error),
}
"""Figure of a run in each column, and how it is written."""
_SERVER_CELLS: dict[str, tuple[str, Callable[[Any], str]]] = {
    'solver mean': ('server_mean_us', _milliseconds),
    'solver median': ('server_median_us', _milliseconds),
    'solver p99': ('server_p99_us', _milliseconds),
}
"""More columns for solvers that are services; the other times are then round trips."""


@dataclass(frozen=True)
class BenchmarkReport:
    """The results of one benchmark: runs of all solvers, with robot, requests and machine."""

    config: BenchmarkConfig
    robot: str
    """Name of the robot in its description."""
    description: str
    """Path of the robot description, or the topic that brought it."""
    goals_source: str
    """Text about the source of goals and seeds."""
    machine: Machine
    runs: tuple[SolverRun, ...]
    published: tuple[PublishedFigure, ...] = ()
    """Figures that others published for the same robot."""

    @functools.cached_property
    def summaries(self) -> tuple[tuple[SolverRun, RunSummary], ...]:
        """Return each run with its statistics."""
        return tuple((run, summarise(run)) for run in self.runs)

    @property
    def false_claims(self) -> list[str]:
        """Return a sentence for each solver that called results solved which the independent check refuses."""
        return [
            f'{run.name}: called {counted(summary.false_claims, "result")} solved that did not hold.'
            for run, summary in self.summaries
            if summary.false_claims
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the headings of the table."""
        return ('solver', *_CELLS, *(_SERVER_CELLS if self.asks_services else ()))

    @property
    def asks_services(self) -> bool:
        """Return whether at least one solver was called through a ROS service."""
        return any(run.service for run in self.runs)

    @property
    def has_run(self) -> bool:
        """Return whether at least one solver ran."""
        return any(run.status is RunStatus.RAN for run in self.runs)


def make_table(report: BenchmarkReport) -> Table:
    """
    Return the results as a table of the library rich, a row for each solver.

    :param report: the results.
    """
    table = Table(
        title=escape(_title(report)),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in report.columns:
        table.add_column(escape(column), justify='left' if column == 'solver' else 'right')
    for cells in _rows(report):
        table.add_row(*(escape(cell) for cell in cells))
    if report.published:
        table.add_section()
        table.add_row('published:', style='dim')
    for figure, cells in zip(report.published, _published_rows(report)):
        table.add_row(f'  {figure.solver}', *cells[1:], style='dim')
    return table


def make_text(report: BenchmarkReport, width: int = 140) -> str:
    """
    Return the table of results and the notes below it as plain text.

    :param report: the results.
    :param width: characters in a line of the table.
    """
    text = io.StringIO()
    Console(file=text, width=width, no_color=True).print(make_table(report))
    return f'{text.getvalue().rstrip()}\n{describe(report)}'


def make_markdown(reports: Sequence[BenchmarkReport]) -> str:
    """
    Return the results of several benchmarks as a Markdown document.

    :param reports: the results, one for each benchmark.
    """
    return '\n'.join(_markdown_section(report) for report in reports)


def _markdown_section(report: BenchmarkReport) -> str:
    rows = [*_rows(report), *_published_rows(report)]
    lines = [
        f'## {_title(report)}',
        '',
        markdown_row(report.columns),
        markdown_row(['---', *['---:'] * (len(report.columns) - 1)]),
        *(markdown_row(cells) for cells in rows),
        '',
        *(f'{line}  ' for line in describe(report).splitlines()),
        '',
    ]
    return '\n'.join(lines)


def _title(report: BenchmarkReport) -> str:
    config = report.config
    return f'{config.name}: {config.planning_group} of {report.robot}'


def describe(report: BenchmarkReport) -> str:
    """
    Return the notes below the table of results, one line each: requests, machine, meaning of the columns, remarks.

    :param report: the results.
    """
    config, machine = report.config, report.machine
    versions = ', '.join(f'{name} {version}' for name, version in machine.versions.items())
    lines = [
        f'{counted(config.sample_size, "sample")}, {report.goals_source}; ik_timeout {config.ik_timeout:g} s.',
        f'{machine.cpu}, {counted(machine.cores, "core")}; {versions}; {machine.date}.',
        'Verified: FK of the solution is within tolerance and limits, whatever the solver says. '
        'Times of a call in ms: mean over all, mean over verified, median, percentiles. Worst errors.',
        *_notes(report),
    ]
    if report.published:
        lines.append(
            f'Published: {PUBLISHED_SOURCE}; another machine, own verdict of each solver.'
        )
    return '\n'.join(lines)


def _notes(report: BenchmarkReport) -> list[str]:
    """Return one line for each remark: services, solvers that did not run, wrong solutions and exceptions."""
    notes = []
    if report.asks_services:
        notes.append(
            'Called through services: the times of a call are round trips; the solver columns are the '
            'time within the solver, as the server reports it.'
        )
    for run, summary in report.summaries:
        if run.service:
            silent = '' if summary.server_mean_us is not None else ', which reports no solver time'
            notes.append(f'{run.name}: {run.service}{silent}.')
        if run.status is not RunStatus.RAN:
            notes.append(f'{run.name}: {run.status.value}: {run.reason.rstrip(".")}.')
        if summary.exceptions:
            notes.append(f'{run.name}: raised in {counted(summary.exceptions, "trial")}.')
    return [*notes, *report.false_claims]


def _rows(report: BenchmarkReport) -> list[list[str]]:
    rows = [_row(run, summary) for run, summary in report.summaries]
    return [row + [''] * (len(report.columns) - len(row)) for row in rows]


def _row(run: SolverRun, summary: RunSummary) -> list[str]:
    if run.status is not RunStatus.RAN:
        return [run.name, run.status.value]
    columns = {**_CELLS, **_SERVER_CELLS} if run.service else _CELLS
    return [run.title, *(write(getattr(summary, name)) for name, write in columns.values())]


def _published_rows(report: BenchmarkReport) -> list[list[str]]:
    return [
        [
            figure.label,
            f'({percent(figure.success_rate)})',
            f'{figure.mean_ms:.4g}',
            *[''] * (len(report.columns) - 3),
        ]
        for figure in report.published
    ]


def make_json(reports: Sequence[BenchmarkReport]) -> str:
    """
    Return the results of several benchmarks as JSON text: a list with one object for each.

    :param reports: the results.
    """
    return json.dumps([_as_mapping(report) for report in reports], indent=2) + '\n'


def _as_mapping(report: BenchmarkReport) -> dict[str, Any]:
    return {
        'config': dataclasses.asdict(report.config),
        'robot': report.robot,
        'robot_description': report.description,
        'goals': report.goals_source,
        'machine': dataclasses.asdict(report.machine),
        'solvers': [
            {
                'name': run.name,
                'status': run.status.value,
                'reason': run.reason,
                'kinematics_solver': run.requested_solver,
                'service': run.service,
                'parameters': dict(run.parameters),
                'tolerance': run.tolerance,
                **(dataclasses.asdict(summary) if run.status is RunStatus.RAN else {}),
            }
            for run, summary in report.summaries
        ],
        'published': {
            'source': PUBLISHED_SOURCE,
            'figures': [dataclasses.asdict(figure) for figure in report.published],
        },
    }
