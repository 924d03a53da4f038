"""
Plots of benchmarks: the four plots of ik_benchmarking, and a grid over robots.

Results that others published appear only in the grid, hatched and labelled as published.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.published import PUBLISHED_MACHINE, PublishedFigure
from ssik_ros.benchmark.report import BenchmarkReport, PLOT_FILES
from ssik_ros.benchmark.trials import RunStatus, SolverRun
from ssik_ros.errors import counted

_SIZE = (15.0, 10.0)
_FONT_SIZE = 18
_COLOURS = ('#4c78a8', '#f58518', '#54a24b', '#b279a2', '#e45756', '#72b7b2', '#9d755d', '#eeca3b')
_GREY = '#8a8a8a'
_PALE = '#f2f2f2'
_BOX_WIDTH = 0.55
_WHISKERS = (1, 99)


def plot_report(report: BenchmarkReport, folder: Path) -> list[Path]:
    """
    Write the four plots of one benchmark, as ik_benchmarking draws them, and return the paths of the files.

    They show solve times, success rates, position errors and orientation errors. The list is empty if no solver ran.

    :param report: the results; solvers that did not run are left out.
    :param folder: existing folder for the plots; plots in it are replaced.
    :raises OSError: if a plot cannot be written.
    """
    runs = _ran(report)
    if not runs:
        return []
    times, rates, positions, orientations = (folder / name for name in PLOT_FILES)
    return [
        _plot_boxes(report, runs, 'solve_time', times),
        _plot_success(report, runs, rates),
        _plot_boxes(report, runs, 'position_error', positions),
        _plot_boxes(report, runs, 'orientation_error', orientations),
    ]


_BOX_PLOTS = {
    'solve_time': ('Solve Times for Successful Trials', 'Microseconds'),
    'position_error': ('Position Error for Successful Trials', 'Position Error (Meters)'),
    'orientation_error': (
        'Orientation Error for Successful Trials',
        'Orientation Error (Radians)',
    ),
}


def found_values(run: SolverRun, quantity: str) -> FloatArray:
    """
    Return a quantity (k,) of the trials of a run whose solution was verified.

    :param run: the run.
    :param quantity: ``solve_time`` [us], ``position_error`` [m] or ``orientation_error`` [rad].
    """
    verified = [trial for trial in run.trials if trial.found_ik]
    if quantity == 'solve_time':
        return np.array([trial.solve_time_ns for trial in verified]) / 1e3
    return np.array([getattr(trial, quantity) for trial in verified], dtype=np.float64)


def _ran(report: BenchmarkReport) -> list[SolverRun]:
    """Return the runs of a report without the solvers that did not run."""
    return [run for run in report.runs if run.status is RunStatus.RAN]


def _tick(run: SolverRun) -> str:
    """Return the label of a solver on an axis: its title, with a line break before an opening bracket."""
    return run.title.replace(' (', '\n(')


def _new_figure(size: tuple[float, float]) -> Figure:
    """Return a matplotlib figure that needs no display and no global state."""
    figure = Figure(figsize=size, layout='constrained')
    FigureCanvasAgg(figure)
    return figure


def _plot_boxes(
    report: BenchmarkReport, runs: Sequence[SolverRun], quantity: str, path: Path
) -> Path:
    """Write a box plot of a quantity over solvers, of verified solutions only; return its path."""
    title, unit = _BOX_PLOTS[quantity]
    figure = _new_figure(_SIZE)
    axes = figure.add_subplot()
    _draw_boxes(axes, [found_values(run, quantity) for run in runs], range(len(runs)), _COLOURS)
    _finish_axes(axes, [_tick(run) for run in runs], unit)
    axes.set_ylim(bottom=0.0)
    return _save_titled(figure, title, report, path)


def _plot_success(report: BenchmarkReport, runs: Sequence[SolverRun], path: Path) -> Path:
    """Write a bar plot of the rates of verified solutions, with percentages; return its path."""
    figure = _new_figure(_SIZE)
    axes = figure.add_subplot()
    rates = [len(found_values(run, 'solve_time')) / len(run.trials) for run in runs]
    _draw_bars(axes, rates, range(len(runs)), _COLOURS)
    labels = [f'{_tick(run)}\n{100.0 * rate:.2f}%' for run, rate in zip(runs, rates)]
    _finish_axes(axes, labels, 'Rate')
    axes.set_ylim(0.0, 1.0)
    return _save_titled(figure, 'Success Rate (verified)', report, path)


def _save_titled(figure: Figure, title: str, report: BenchmarkReport, path: Path) -> Path:
    """Set title and subtitle (robot, group, number of samples) of a plot, and write the plot to a file; return its path."""
    config = report.config
    samples = counted(config.sample_size, 'sample')
    subtitle = f'{report.robot}, {config.planning_group}, {samples}'
    axes = figure.axes[0]
    axes.set_title(f'{title}\n{subtitle}', fontsize=_FONT_SIZE)
    axes.set_xlabel('IK Solvers', fontsize=_FONT_SIZE)
    figure.savefig(path)
    return path


def _draw_boxes(
    axes: Axes, data: Sequence[FloatArray], positions: Sequence[int], colours: Sequence[str]
) -> None:
    """
    Draw a box for each solver from the first to the third quartile, with whiskers at the 1st and 99th percentile.

    :param data: values of each solver; without values no box is drawn.
    :param positions: place of each solver on the x axis.
    :param colours: colours of the boxes, which repeat if there are more solvers.
    """
    drawn = [i for i, values in enumerate(data) if len(values)]
    if not drawn:
        return
    parts: dict[str, Any] = axes.boxplot(
        [data[i] for i in drawn],
        positions=[positions[i] for i in drawn],
        widths=_BOX_WIDTH,
        whis=_WHISKERS,
        showfliers=False,
        patch_artist=True,
        medianprops={'color': 'black', 'linewidth': 1.6},
        manage_ticks=False,
    )
    for box, i in zip(parts['boxes'], drawn):
        box.set_facecolor(colours[i % len(colours)])
        box.set_edgecolor('black')


def _draw_bars(
    axes: Axes,
    heights: Sequence[float],
    positions: Sequence[int],
    colours: Sequence[str],
    hatch: str = '',
) -> None:
    shown = [colours[i % len(colours)] for i in range(len(heights))]
    edge = _GREY if hatch else 'black'
    axes.bar(positions, heights, width=_BOX_WIDTH, color=shown, edgecolor=edge, hatch=hatch)


def _finish_axes(axes: Axes, labels: Sequence[str], unit: str) -> None:
    """Write the labels of the solvers and the unit of the values at the axes, and draw horizontal lines."""
    axes.set_xticks(range(len(labels)), labels, fontsize=_FONT_SIZE)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylabel(unit, fontsize=_FONT_SIZE)
    axes.tick_params(axis='y', labelsize=_FONT_SIZE - 2)
    _draw_lines(axes)


def _draw_lines(axes: Axes) -> None:
    """Draw pale horizontal grid lines, and hide the frame at the top and at the right."""
    axes.grid(axis='y', alpha=0.35)
    axes.set_axisbelow(True)
    axes.spines[['top', 'right']].set_visible(False)


def plot_grid(reports: Sequence[BenchmarkReport], path: Path) -> Path | None:
    """
    Write a plot with a column for each robot and rows for solve time, position error and success rate.

    :param reports: one report for each column; a report in which no solver ran is left out.
    :param path: the file, in an existing folder; an existing file is replaced.
    :returns: the path, or None if no solver ran.
    :raises OSError: if the file cannot be written.
    """
    shown = [report for report in reports if report.has_run]
    if not shown:
        return None
    figure = _new_figure((max(6.0, 4.6 * len(shown)) + 0.6, 11.0))
    grid: Any = figure.subplots(3, len(shown), squeeze=False, sharey='row')
    slots = max(len(_ran(report)) + len(report.published) for report in shown)
    for column, report in enumerate(shown):
        _draw_column(grid[:, column], report, slots)
    for row, label in enumerate(('Solve time [ms]', 'Position error [m]', 'Success rate [%]')):
        grid[row, 0].set_ylabel(label, fontsize=13)
    if any(report.published for report in shown):
        figure.supxlabel(
            f'Hatched: published for an {PUBLISHED_MACHINE}, not measured here; mean over all '
            'trials and the own verdict of each solver.\nBoxes: quartiles of verified solutions, '
            'whiskers from 1 to 99 %, diamond: mean over all trials.',
            fontsize=10,
            color='#404040',
        )
    figure.savefig(path, dpi=110)
    return path


def _draw_column(column: Sequence[Axes], report: BenchmarkReport, slots: int) -> None:
    """
    Draw the three plots of one robot: published results at the left of each, measured results at the right.

    :param slots: number of solvers for which each plot has room.
    """
    runs = _ran(report)
    published = report.published
    places = list(range(len(published), len(published) + len(runs)))
    labels = [f'{figure.solver}\npublished' for figure in published] + [_tick(run) for run in runs]
    time_axes, error_axes, success_axes = column
    time_axes.set_title(f'{report.robot}: {report.config.planning_group}', fontsize=14)
    _draw_times(time_axes, runs, places, published)
    _draw_boxes(
        error_axes, [found_values(run, 'position_error') for run in runs], places, _COLOURS
    )
    _mark_tolerance(error_axes, runs)
    _mark_unpublished(error_axes, len(published))
    _draw_success(success_axes, runs, places, published)
    for axes in column:
        _finish_cell(axes, labels, len(published), slots)


def _draw_times(
    axes: Axes,
    runs: Sequence[SolverRun],
    places: Sequence[int],
    published: Sequence[PublishedFigure],
) -> None:
    """
    Draw solve times [ms] on a logarithmic scale: published means as bars, times of verified solutions as boxes.

    A diamond and a number show the mean over all trials of a run, with and without a solution.

    :param places: places of the runs on the x axis.
    """
    means = [figure.mean_ms for figure in published]
    _draw_bars(axes, means, list(range(len(published))), (_PALE,), hatch='///')
    _draw_boxes(axes, [found_values(run, 'solve_time') / 1e3 for run in runs], places, _COLOURS)
    measured = [
        float(np.mean([trial.solve_time_ns for trial in run.trials])) / 1e6 for run in runs
    ]
    axes.plot(
        places, measured, 'D', color='white', markeredgecolor='black', markersize=7, zorder=4
    )
    axes.set_yscale('log')
    tops = [max(mean, _whisker_end(run)) for run, mean in zip(runs, measured)]
    for place, top, value in zip(
        [*range(len(published)), *places], [*means, *tops], [*means, *measured]
    ):
        axes.annotate(
            f'{value:.3g}', (place, top), xytext=(0, 4), textcoords='offset points', ha='center'
        )
    axes.margins(y=0.12)


def _whisker_end(run: SolverRun) -> float:
    """Return the 99th percentile of the times of verified solutions [ms], where the whisker of a box ends; 0 without any."""
    times = found_values(run, 'solve_time') / 1e3
    return float(np.percentile(times, _WHISKERS[1])) if len(times) else 0.0


def _mark_tolerance(axes: Axes, runs: Sequence[SolverRun]) -> None:
    """Draw a horizontal line at each tolerance of the runs, on a logarithmic scale."""
    axes.set_yscale('log')
    tolerances = sorted({run.tolerance for run in runs})
    if not any(len(found_values(run, 'position_error')) for run in runs):
        axes.set_ylim(tolerances[0] / 1e3, tolerances[-1] * 10.0)
    for tolerance in tolerances:
        axes.axhline(tolerance, color=_GREY, linestyle='--', linewidth=1.2)
        axes.annotate(
            f'tolerance {tolerance:g}',
            (0.01, tolerance),
            xycoords=('axes fraction', 'data'),
            xytext=(0, 3),
            textcoords='offset points',
            color='#505050',
            fontsize=9,
        )


def _draw_success(
    axes: Axes,
    runs: Sequence[SolverRun],
    places: Sequence[int],
    published: Sequence[PublishedFigure],
) -> None:
    """
    Draw success rates as bars with percentages: published ones as claimed, measured ones as verified.

    :param places: places of the runs on the x axis.
    """
    claimed = [100.0 * figure.success_rate for figure in published]
    _draw_bars(axes, claimed, list(range(len(published))), (_PALE,), hatch='///')
    rates = [100.0 * len(found_values(run, 'solve_time')) / len(run.trials) for run in runs]
    _draw_bars(axes, rates, places, _COLOURS)
    for place, value in zip([*range(len(published)), *places], [*claimed, *rates]):
        axes.annotate(
            f'{value:.4g}', (place, value), xytext=(0, 3), textcoords='offset points', ha='center'
        )
    axes.set_ylim(0.0, 112.0)


def _mark_unpublished(axes: Axes, published: int) -> None:
    """Write "no number published" at the first ``published`` places of the x axis, where published solvers would be."""
    for place in range(published):
        axes.annotate(
            'no number\npublished',
            (place, 0.5),
            xycoords=('data', 'axes fraction'),
            ha='center',
            va='center',
            color=_GREY,
            fontsize=9,
        )


def _finish_cell(axes: Axes, labels: Sequence[str], published: int, slots: int) -> None:
    """
    Write the labels of the solvers at one plot of the grid, and separate published from measured results.

    :param published: number of published solvers, which come first.
    :param slots: number of solvers for which all plots have room.
    """
    axes.set_xticks(range(len(labels)), labels, fontsize=10)
    spare = (slots - len(labels)) / 2.0
    axes.set_xlim(-0.6 - spare, len(labels) - 0.4 + spare)
    if published:
        axes.axvline(published - 0.5, color='#c0c0c0', linewidth=1.0)
    _draw_lines(axes)
