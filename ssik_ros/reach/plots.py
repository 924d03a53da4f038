"""Figures of a reach map: slices, the directions of the tool, and a histogram, for the dexterity or another measure."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import rotations_of
from ssik_ros.reach.exports import STATUS_COLOURS
from ssik_ros.reach.reach_map import MEASURES, ReachMap, SHARES
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.storage.files import explained
from ssik_ros.reach.store import STATUS

DPI = 150
COLOURS = 'viridis'
NOTHING = '#d4d4d4'
RASTER = 120
"""Steps of the picture of the sphere from pole to pole."""
LABELS = {
    'dexterity': 'share of orientations that are reachable',
    'unknown': 'share of orientations that are unknown',
    'status': 'most frequent status of the orientations',
}


def write_plots(reach_map: ReachMap, folder: Path, measure: str = 'dexterity') -> None:
    """
    Write three figures of a map: ``slices.png``, ``directions.png``, and a histogram named after the measure.

    :param reach_map: the map.
    :param folder: the folder to write to; created if it is missing.
    :param measure: one of :attr:`ReachMap.measures`; the file of the histogram is for example ``dexterity.png``.
    :raises InvalidOption: for a measure that the map does not have.
    """
    figures = {
        'slices': draw_slices(reach_map, measure),
        'directions': draw_directions(reach_map, measure),
        measure: draw_histogram(reach_map, measure),
    }
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / f'{name}.png', dpi=DPI)


def draw_slices(reach_map: ReachMap, measure: str = 'dexterity') -> Any:
    """
    Return a matplotlib figure of a measure on the three planes x, y and z through the middle of the map.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`.
    """
    figure, planes = _figure(13.0, 4.2), _planes(reach_map, measure)
    colours, scale = _colour_scale(reach_map, measure, [plane for _, plane in planes.values()])
    for number, (axis, across, up) in enumerate((('z', 0, 1), ('y', 0, 2), ('x', 1, 2))):
        value, plane = planes[axis]
        part = figure.add_subplot(1, 3, number + 1)
        picture = part.imshow(
            plane.T,
            origin='lower',
            extent=[*_ends(reach_map, across), *_ends(reach_map, up)],
            norm=scale,
            cmap=colours,
        )
        part.set_title(f'{axis} = {value:.3g} m')
        part.set_xlabel(f'{"xyz"[across]} [m]')
        part.set_ylabel(f'{"xyz"[up]} [m]')
    bar = figure.colorbar(picture, ax=figure.axes, label=_label(measure), shrink=0.85, pad=0.01)
    if measure == STATUS:
        bar.set_ticks([*STATUS_COLOURS], labels=[status.words for status in STATUS_COLOURS])
    nothing = '' if measure == STATUS else 'grey: none of them, '
    figure.suptitle(f'{_title(reach_map)}; {nothing}white: not asked')
    return figure


def _planes(reach_map: ReachMap, measure: str) -> dict[str, tuple[float, FloatArray]]:
    """
    Return, by axis name, the coordinate of the middle plane across that axis [m] and the measure on the plane.

    Values are NaN outside the region. Where no orientation is reachable, a share is 0 and a measure without a value is
    -1.
    """
    grid, planes = reach_map.grid, {}
    for number, axis in enumerate('xyz'):
        value = float(grid.origin[number] + grid.step * (grid.shape[number] // 2))
        plane, share = reach_map.slice(axis, value, measure), reach_map.slice(axis, value)
        is_nothing = np.isnan(plane) & ~np.isnan(share)
        planes[axis] = value, np.where(is_nothing, -1.0, plane)
    return planes


def _colour_scale(reach_map: ReachMap, measure: str, planes: list[FloatArray]) -> tuple[Any, Any]:
    """
    Return (colour map, normalisation) of matplotlib for a measure.

    :param planes: values of the measure; the largest one gets the brightest colour, unless the measure is a share.
    """
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize

    if measure == STATUS:
        listed = ListedColormap([np.divide(colour, 255.0) for colour in STATUS_COLOURS.values()])
        return listed, BoundaryNorm(np.arange(len(STATUS_COLOURS) + 1) + 0.5, len(STATUS_COLOURS))
    # Even one reachable orientation differs from none, so that grey is not a colour of the scale.
    colours = colormaps[COLOURS].with_extremes(under=NOTHING)
    if measure in SHARES:
        return colours, Normalize(0.5 / reach_map.grid.shape[3], 1.0)
    values = np.concatenate([plane.ravel() for plane in planes])
    return colours, Normalize(0.0, values[np.isfinite(values)].max(initial=0.0) or 1.0)


def draw_directions(reach_map: ReachMap, measure: str = 'dexterity') -> Any:
    """
    Return a matplotlib figure of the sphere of directions of the tip's z axis, coloured by a measure.

    A point of the sphere has the colour of the orientation of the map whose z axis is nearest to it. For ``dexterity``
    and ``status`` it is the share of positions at which this orientation is reachable, for ``unknown`` the share at
    which it is unknown. Positions that were not asked do not count. For another measure it is the mean over the
    positions at which the orientation is reachable, 0 without any.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`.
    """
    values, label = _by_orientation(reach_map, measure)
    directions = rotations_of(reach_map.grid.orientations)[:, :, 2]
    figure = _figure(9.0, 5.0)
    part = figure.add_subplot(projection='mollweide')
    longitude, latitude, nearest = _nearest_on_sphere(directions)
    points = part.pcolormesh(longitude, latitude, values[nearest], cmap=COLOURS, vmin=0.0)
    at = (
        np.arctan2(directions[:, 1], directions[:, 0]),
        np.arcsin(np.clip(directions[:, 2], -1.0, 1.0)),
    )
    part.scatter(*at, s=min(12.0, 4000.0 / len(directions)), color='white', edgecolors='none')
    part.grid(alpha=0.4)
    part.set_xlabel(
        'direction of the z axis of the tip in the base: longitude across, latitude up; each as the nearest of the map (dots)'
    )
    figure.colorbar(points, ax=part, label=label, shrink=0.8)
    figure.suptitle(_title(reach_map))
    return figure


def _by_orientation(reach_map: ReachMap, measure: str) -> tuple[FloatArray, str]:
    """
    Return a value (k,) for each orientation of a map over all positions, and the label of the values.

    It is the share of the asked positions at which the orientation is reachable; for ``unknown`` the share at which it
    is unknown. For another measure it is the mean over the positions at which the orientation is reachable. Without
    such positions it is 0.
    """
    status = reach_map.read()
    axes = (0, 1, 2)
    reached = (status == CellStatus.REACHABLE).sum(axis=axes)
    if measure not in (*SHARES, STATUS):
        cells = np.where(status == CellStatus.REACHABLE, reach_map.read(measure), 0.0)
        mean: FloatArray = cells.sum(axis=axes) / np.maximum(reached, 1)
        return mean, f'{measure.replace("_", " ")}{_unit(measure)}, mean of what is reachable'
    wanted = CellStatus.UNKNOWN if measure == 'unknown' else CellStatus.REACHABLE
    asked = (status != CellStatus.NOT_ASKED).sum(axis=axes)
    share: FloatArray = (status == wanted).sum(axis=axes) / np.maximum(asked, 1)
    return share, f'share of positions that are {wanted.words}'


def draw_histogram(reach_map: ReachMap, measure: str = 'dexterity') -> Any:
    """
    Return a matplotlib figure: a histogram of a measure over all positions of the map with a value above zero.

    For ``status`` it has a bar for each status.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`.
    :raises InvalidOption: for a measure that the map does not have.
    """
    values = reach_map.measure(measure)
    values = values[np.isfinite(values) & (values > 0.0)]
    figure = _figure(7.0, 4.4)
    part = figure.add_subplot()
    if measure == STATUS:
        counts = [(values == status).sum() for status in STATUS_COLOURS]
        colours = [np.divide(colour, 255.0) for colour in STATUS_COLOURS.values()]
        part.bar([status.words for status in STATUS_COLOURS], counts, color=colours)
    else:
        bins = min(20, reach_map.grid.shape[3]) if measure in SHARES else 20
        top = 1.0 if measure in SHARES else values.max(initial=0.0) or 1.0
        edges = np.linspace(0.0, top, bins + 1)
        part.hist(values, bins=edges, color='#21918c', edgecolor='white')
        part.set_xlim(0.0, top)
    part.set_xlabel(_label(measure))
    part.set_ylabel('positions')
    litres = len(values) * (10.0 * reach_map.grid.step) ** 3
    what = 'that were asked' if measure == STATUS else 'with any'
    part.set_title(f'{len(values):,} positions {what}: about {litres:,.0f} litres', fontsize=10)
    figure.suptitle(_title(reach_map))
    return figure


def _label(measure: str) -> str:
    """Return the axis label of a measure, with its unit."""
    return LABELS.get(measure, f'largest {measure.replace("_", " ")}{_unit(measure)}')


def _unit(measure: str) -> str:
    """Return the unit of a measure in brackets, after a space; an empty text if it has no unit."""
    return f' [{MEASURES[measure]}]' if MEASURES[measure] else ''


def _nearest_on_sphere(directions: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """
    Return (longitudes (a,), latitudes (b,), index (b, a) of the nearest direction) of a raster on the sphere [rad].

    ``directions`` (n, 3) are the unit directions.
    """
    from scipy.spatial import cKDTree

    longitude = np.radians(np.linspace(-180.0, 180.0, RASTER * 2 + 1))
    latitude = np.radians(np.linspace(-90.0, 90.0, RASTER + 1))
    across, up = np.meshgrid(longitude, latitude)
    flat = np.cos(up)
    _, nearest = cKDTree(directions).query(
        np.stack([flat * np.cos(across), flat * np.sin(across), np.sin(up)], axis=-1)
    )
    return longitude, latitude, np.asarray(nearest, dtype=np.int64)


def _figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure of a size in inches; no display is needed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout='constrained')


def _ends(reach_map: ReachMap, axis: int) -> tuple[float, float]:
    """Return (begin, end): the coordinates at which the cells of a map begin and end along an axis [m]."""
    first = float(reach_map.grid.origin[axis] - 0.5 * reach_map.grid.step)
    return first, first + reach_map.grid.step * reach_map.grid.shape[axis]


def _title(reach_map: ReachMap) -> str:
    """Return the title of a figure: robot, tip and base link, grid step and number of orientations."""
    chain, grid = reach_map.chain, reach_map.grid
    return (
        f'{reach_map.attributes["robot"]["name"]}: {chain.tip_link} in {chain.base_link}, {grid.step:g} m, '
        f'{grid.shape[3]} orientations'
    )
