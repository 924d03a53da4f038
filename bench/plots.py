"""Pictures of a run: how the times of each class are distributed, and how many solutions hold."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
import numpy as np

Row = Mapping[str, Any]
"""One row of ``peers.json`` or ``analytic.json``."""

OWN_COLOUR, PEER_COLOUR = '#1f77b4', '#c8780a'
COLUMNS = 3
PANEL = (4.6, 0.24)
"""Width of a panel, and height of a line in it [inches]."""
DPI = 80


def measured(rows: Sequence[Row]) -> list[Row]:
    """
    Return the rows that have figures.

    :param rows: rows.
    """
    return [row for row in rows if row.get('cpu')]


def box(row: Row) -> dict[str, Any]:
    """
    Return the figures of a box plot: whiskers from 5 to 95 %, and the 99th percentile as a point.

    :param row: a row with figures.
    """
    cpu = row['cpu']
    return {
        'whislo': cpu['p05'],
        'q1': cpu['p25'],
        'med': cpu['median'],
        'q3': cpu['p75'],
        'whishi': cpu['p95'],
        'fliers': [cpu['p99']],
        'label': row['peer'],
    }


def draw_boxes(axes: Axes, rows: Sequence[Row]) -> None:
    """
    Draw the solvers of one arm, the fastest on top.

    :param axes: where.
    :param rows: rows of the arm that have figures.
    """
    ordered = sorted(rows, key=lambda row: -float(row['cpu']['median']))
    drawn = axes.bxp(
        [box(row) for row in ordered],
        orientation='horizontal',
        patch_artist=True,
        widths=0.6,
        flierprops={'marker': '.', 'markersize': 4, 'markeredgecolor': '0.3'},
        medianprops={'color': 'black'},
    )
    for patch, row in zip(drawn['boxes'], ordered, strict=True):
        patch.set_facecolor(colour_of(row))
    axes.set_xscale('log')
    axes.grid(axis='x', which='both', linewidth=0.3)


def boxes(rows: Sequence[Row], title: str, path: Path) -> None:
    """
    Write the box plots of one class, a panel for each arm.

    :param rows: rows of the class.
    :param title: of the figure.
    :param path: the PNG; its folder is made.
    """
    groups: dict[str, list[Row]] = {}
    for row in measured(rows):
        groups.setdefault(row['arm'], []).append(row)
    save(draw_panels(groups, draw_boxes, f'{title}\nprocessor time of a call [us]'), path)


def success(rows: Sequence[Row], titles: Mapping[str, str], path: Path) -> None:
    """
    Write bars of how many solutions hold, a panel for each class, the mean of all arms that a solver takes.

    :param rows: rows of ``peers.json``.
    :param titles: of the classes, by their names.
    :param path: the PNG; its folder is made.
    """
    of_class = {n: [row for row in measured(rows) if row['bench_class'] == n] for n in titles}
    groups = {name: class_rows for name, class_rows in of_class.items() if class_rows}
    title = 'verified solutions, or refusals where there is none [%]'
    save(draw_panels(groups, draw_bars, title), path)


def draw_panels(
    groups: Mapping[str, Sequence[Row]],
    draw: Callable[[Axes, Sequence[Row]], None],
    title: str,
) -> Figure:
    """
    Return a figure with a panel for each group of rows.

    :param groups: rows by the title of their panel.
    :param draw: draws one panel.
    :param title: of the figure.
    """
    lines = max((len({row['peer'] for row in rows}) for rows in groups.values()), default=1)
    columns = min(COLUMNS, max(1, len(groups)))
    height = max(1, -(-len(groups) // columns))
    size = (columns * PANEL[0], height * (lines * PANEL[1] + 0.8) + 0.6)
    figure = Figure(figsize=size, layout='constrained')
    for index, (name, rows) in enumerate(groups.items()):
        axes = figure.add_subplot(height, columns, index + 1)
        draw(axes, rows)
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=10)
    return figure


def draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    """
    Draw a bar for each solver, with its figure.

    :param axes: where.
    :param rows: rows of one class that have figures.
    """
    of_peer: dict[str, list[Row]] = {}
    for row in rows:
        of_peer.setdefault(row['peer'], []).append(row)
    names = list(of_peer)[::-1]
    shares = [float(np.mean([row['success'] for row in of_peer[name]])) for name in names]
    axes.barh(names, shares, color=[colour_of(of_peer[name][0]) for name in names])
    for line, share in enumerate(shares):
        axes.text(1.0, line, f'{share:.2f}', va='center', fontsize=7, color='white')
    axes.set_xlim(0.0, 100.0)


def colour_of(row: Row) -> str:
    """Return the colour of a solver."""
    return OWN_COLOUR if row['is_own'] else PEER_COLOUR


def save(figure: Figure, path: Path) -> None:
    """
    Write a figure as PNG.

    :param figure: the figure.
    :param path: the file; its folder is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)
    # No version and no date: the same run gives the same file.
    figure.savefig(path, dpi=DPI, metadata={'Software': None})
