"""Plots of a planned tool path over its waypoints: joint positions, margins to limits, singular value and clearance."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
import textwrap
from typing import Any

import numpy as np

from ssik_ros.errors import writing
from ssik_ros.paths.measures import PathMeasures
from ssik_ros.paths.requests import ToolPath

SUFFIXES = ('.png', '.svg', '.pdf')
_WIDTH, _HEIGHT = 9.0, 2.1
_JOINT, _OTHER = 0.5, 0.8
"""Height of the axis of a joint, and of another quantity, as a part of :data:`_HEIGHT`."""
_ROOM = 0.08
"""Room beyond the limits in the axis of a joint, as a part of their distance."""
_TITLE = 100
_NAME = 24
"""Longest name of a joint on its axis [characters]."""
_FAILED, _BOUND = '#c02020', '#808080'


def draw_path(name: str, count: int, path: ToolPath, measures: PathMeasures) -> Any:
    """
    Return a matplotlib figure of a planned path, with a row for each joint and for each measure.

    :param name: name of the path, for the title.
    :param count: number of waypoints.
    :param path: the planned path.
    :param measures: positions, margins, singular values and clearance of its postures.
    """
    # Matplotlib takes long to import and only plots need it.
    from matplotlib.figure import Figure

    joints = [partial(_draw_joint, column=column) for column in range(len(path.joint_names))]
    others = [_draw_margins, _draw_singular]
    if measures.clearance is not None:
        others.append(_draw_clearance)
    draw: list[Callable[..., None]] = [*joints, *others]
    heights = [_JOINT] * len(joints) + [_OTHER] * len(others)
    figure = Figure(figsize=(_WIDTH, _HEIGHT * sum(heights)), layout='constrained')
    axes = figure.subplots(len(draw), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for draw_row, part in zip(draw, axes, strict=True):
        draw_row(part, path, measures)
        _mark_failure(part, count, path)
        part.grid(alpha=0.3)
    axes[-1].set_xlim(-0.01 * count, 1.01 * count - 1)
    axes[-1].set_xlabel('waypoint')
    figure.suptitle(_title(name, count, path), color='black' if path.valid else _FAILED)
    return figure


def save_path_plot(figure: Any, file: Path) -> None:
    """
    Write a figure of :func:`draw_path` to a file.

    :param figure: the figure.
    :param file: a PNG, SVG or PDF.
    :raises InvalidOption: if the file cannot be written.
    """
    with writing(file):
        figure.savefig(file, dpi=110)


def _mark_failure(part: Any, count: int, path: ToolPath) -> None:
    """For a failed plan, draw a line at the failed waypoint, and shade the waypoints that the returned part does not cover."""
    if path.valid:
        return
    last = path.first_waypoint + len(path.positions) - 1
    for begin, end in ((0, path.first_waypoint), (max(last, 0), count - 1)):
        if end > begin:
            part.axvspan(begin, end, color=_FAILED, alpha=0.08, linewidth=0)
    if path.failed_waypoint >= 0:
        part.axvline(path.failed_waypoint, color=_FAILED, linestyle='--', linewidth=1.2)


def _title(name: str, count: int, path: ToolPath) -> str:
    """
    Return the title of the figure: ``name: 12 waypoints, cost 3.1``, or the name and the reason of the failure.

    A reason is broken into lines. ``count`` is the number of waypoints.
    """
    if path.valid:
        return f'{name}: {count} waypoints, cost {path.cost:.4g}'
    return '\n'.join(textwrap.wrap(f'{name}: {path.reason}', _TITLE))


def _draw_joint(part: Any, path: ToolPath, measures: PathMeasures, column: int) -> None:
    """Draw the positions of one joint and its limits."""
    part.plot(measures.waypoints, measures.positions[:, column], color='#4c78a8')
    limits = np.array((measures.lower[column], measures.upper[column]))
    for limit in limits[np.isfinite(limits)]:
        part.axhline(limit, color=_BOUND, linewidth=1.5)
    if np.isfinite(limits).all():
        room = _ROOM * max(float(limits[1] - limits[0]), 1e-6)
        part.set_ylim(limits[0] - room, limits[1] + room)
    name = path.joint_names[column]
    name = name if len(name) <= _NAME else f'{name[: _NAME - 3]}...'
    # Matplotlib sets text between two dollar signs as a formula.
    name = name.replace('$', r'\$')
    part.set_ylabel(
        f'{name}\n[{measures.units[column]}]', rotation=0, ha='right', va='center', fontsize=8
    )
    part.tick_params(axis='y', labelsize=7)


def _draw_margins(part: Any, path: ToolPath, measures: PathMeasures) -> None:
    """Draw, over the waypoints, the smallest margin of any joint to its limits, and name the joint at the worst waypoint."""
    if not len(measures.margins) or not np.isfinite(measures.margins).any():
        part.set_ylabel('margin to limits:\nthere are none')
        return
    least = measures.margins.min(axis=1)
    row = int(np.argmin(least))
    name = path.joint_names[int(np.argmin(measures.margins[row]))]
    part.plot(measures.waypoints, least, color='#4c78a8')
    part.plot(measures.waypoints[row], least[row], 'o', color='#4c78a8')
    part.annotate(f' {name}', (measures.waypoints[row], least[row]), fontsize=8, va='bottom')
    part.set_ylim(0.0, 1.25 * max(float(least.max()), 1e-3))
    part.set_ylabel('margin to limits\n[part of range]')


def _draw_singular(part: Any, path: ToolPath, measures: PathMeasures) -> None:
    """Draw the least singular value of the Jacobian over the waypoints."""
    part.plot(measures.waypoints, measures.singular, color='#54a24b')
    part.set_ylim(0.0, 1.1 * measures.singular.max(initial=1e-3))
    part.set_ylabel('least singular\nvalue')


def _draw_clearance(part: Any, path: ToolPath, measures: PathMeasures) -> None:
    """Draw the clearance over the waypoints: the least distance of bodies that are checked for collisions [mm]."""
    assert measures.clearance is not None
    part.plot(measures.waypoints, 1e3 * measures.clearance, color='#f58518')
    part.set_ylim(0.0, 1.1e3 * measures.clearance.max(initial=1e-3))
    part.set_ylabel('clearance\n[mm]')
