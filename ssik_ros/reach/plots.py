"""Pictures of a map: slices, the directions of the tool, and how many orientations are reachable at a position."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.reach.orientations import rotations_of
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import explained

DPI = 150
COLOURS = 'viridis'
NOTHING = '#d4d4d4'
RASTER = 120
"""Steps of the picture of the sphere from pole to pole."""
SHARE = 'share of orientations that are reachable'


def write_plots(found: ReachMap, folder: Path) -> None:
    """
    Write ``slices.png``, ``directions.png`` and ``dexterity.png``.

    :param found: the map.
    :param folder: where to; made where it is missing.
    """
    figures = {
        'slices': draw_slices(found),
        'directions': draw_directions(found),
        'dexterity': draw_dexterity(found),
    }
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / f'{name}.png', dpi=DPI)


def draw_slices(found: ReachMap) -> Any:
    """
    Return a figure of the three planes through the middle of the map.

    :param found: the map.
    """
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    figure, grid = _figure(13.0, 4.2), found.grid
    # One orientation is no small share of none: grey is no colour of the scale.
    colours = colormaps[COLOURS].with_extremes(under=NOTHING)
    scale = Normalize(0.5 / grid.shape[3], 1.0)
    for number, (axis, across, up) in enumerate((('z', 0, 1), ('y', 0, 2), ('x', 1, 2))):
        own = 'xyz'.index(axis)
        value = float(grid.origin[own] + grid.step * (grid.shape[own] // 2))
        part = figure.add_subplot(1, 3, number + 1)
        picture = part.imshow(
            found.slice(axis, value).T,
            origin='lower',
            extent=[*_ends(found, across), *_ends(found, up)],
            norm=scale,
            cmap=colours,
        )
        part.set_title(f'{axis} = {value:.3g} m')
        part.set_xlabel(f'{"xyz"[across]} [m]')
        part.set_ylabel(f'{"xyz"[up]} [m]')
    figure.colorbar(picture, ax=figure.axes, label=SHARE, shrink=0.85, pad=0.01)
    figure.suptitle(f'{_title(found)}; grey: none of them, white: not asked')
    return figure


def draw_directions(found: ReachMap) -> Any:
    """
    Return a figure of the sphere of directions of the tip's z axis, and at how many positions each is reachable.

    :param found: the map.
    """
    status = found.read()
    asked = (status != CellStatus.NOT_ASKED).sum(axis=(0, 1, 2))
    share = (status == CellStatus.REACHABLE).sum(axis=(0, 1, 2)) / np.maximum(asked, 1)
    ways = rotations_of(found.grid.orientations)[:, :, 2]
    figure = _figure(9.0, 5.0)
    part = figure.add_subplot(projection='mollweide')
    longitude, latitude, nearest = _nearest_on_sphere(ways)
    points = part.pcolormesh(longitude, latitude, share[nearest], cmap=COLOURS, vmin=0.0)
    at = np.arctan2(ways[:, 1], ways[:, 0]), np.arcsin(np.clip(ways[:, 2], -1.0, 1.0))
    part.scatter(*at, s=min(12.0, 4000.0 / len(ways)), color='white', edgecolors='none')
    part.grid(alpha=0.4)
    part.set_xlabel(
        'direction of the z axis of the tip in the base: longitude across, latitude up; each as the nearest of the map (dots)'
    )
    figure.colorbar(points, ax=part, label='share of positions that are reachable', shrink=0.8)
    figure.suptitle(_title(found))
    return figure


def draw_dexterity(found: ReachMap) -> Any:
    """
    Return a figure with a histogram of the share of reachable orientations over the positions.

    :param found: the map.
    """
    share = found.dexterity()
    share = share[share > 0.0]
    figure = _figure(7.0, 4.4)
    part = figure.add_subplot()
    edges = np.linspace(0.0, 1.0, min(20, found.grid.shape[3]) + 1)
    part.hist(share, bins=edges, color='#21918c', edgecolor='white')
    part.set_xlabel(SHARE)
    part.set_ylabel('positions')
    part.set_xlim(0.0, 1.0)
    litres = len(share) * (10.0 * found.grid.step) ** 3
    part.set_title(f'{len(share):,} positions with any: about {litres:,.0f} litres', fontsize=10)
    figure.suptitle(_title(found))
    return figure


def _nearest_on_sphere(ways: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return longitudes, latitudes and the number of the nearest of some directions (n, 3) on a raster over the sphere."""
    from scipy.spatial import cKDTree

    longitude = np.radians(np.linspace(-180.0, 180.0, RASTER * 2 + 1))
    latitude = np.radians(np.linspace(-90.0, 90.0, RASTER + 1))
    across, up = np.meshgrid(longitude, latitude)
    flat = np.cos(up)
    _, nearest = cKDTree(ways).query(
        np.stack([flat * np.cos(across), flat * np.sin(across), np.sin(up)], axis=-1)
    )
    return longitude, latitude, np.asarray(nearest, dtype=np.int64)


def _figure(width: float, height: float) -> Any:
    """Return an empty figure that needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout='constrained')


def _ends(found: ReachMap, axis: int) -> tuple[float, float]:
    """Return where the cells of a map begin and end along an axis [m]."""
    first = float(found.grid.origin[axis] - 0.5 * found.grid.step)
    return first, first + found.grid.step * found.grid.shape[axis]


def _title(found: ReachMap) -> str:
    """Return the title: robot, chain and grid of the map."""
    chain, grid = found.chain, found.grid
    return (
        f'{found.attributes["robot"]["name"]}: {chain.tip_link} in {chain.base_link}, {grid.step:g} m, '
        f'{grid.shape[3]} orientations'
    )
