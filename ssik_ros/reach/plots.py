"""Pictures of a map: slices, the directions of the tool, and how many orientations are reachable at a position."""

from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.reach.orientations import rotations_of
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import explained

DPI = 150
COLOURS = 'viridis'
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
    figure = _figure(13.0, 4.4)
    grid = found.grid
    for number, (axis, across, up) in enumerate((('z', 0, 1), ('y', 0, 2), ('x', 1, 2))):
        own = 'xyz'.index(axis)
        value = float(grid.origin[own] + grid.step * (grid.shape[own] // 2))
        part = figure.add_subplot(1, 3, number + 1)
        picture = part.imshow(
            found.slice(axis, value).T,
            origin='lower',
            extent=[*_ends(found, across), *_ends(found, up)],
            vmin=0.0,
            vmax=1.0,
            cmap=COLOURS,
        )
        part.set_title(f'{axis} = {value:.3g} m')
        part.set_xlabel(f'{"xyz"[across]} [m]')
        part.set_ylabel(f'{"xyz"[up]} [m]')
    figure.colorbar(picture, ax=figure.axes, label=SHARE, shrink=0.85)
    figure.suptitle(_title(found))
    return figure


def draw_directions(found: ReachMap) -> Any:
    """
    Return a figure of the sphere of directions of the tip's z axis, and at how many positions each is reachable.

    :param found: the map.
    """
    status = found.read()
    asked = (status != CellStatus.NOT_ASKED).sum(axis=(0, 1, 2))
    share = (status == CellStatus.REACHABLE).sum(axis=(0, 1, 2)) / np.maximum(asked, 1)
    x, y, z = rotations_of(found.grid.orientations)[:, :, 2].T
    figure = _figure(9.0, 5.0)
    part = figure.add_subplot(projection='mollweide')
    order = np.argsort(share)
    points = part.scatter(
        np.arctan2(y, x)[order],
        np.arcsin(np.clip(z, -1.0, 1.0))[order],
        c=share[order],
        s=max(6.0, 4000.0 / len(x)),
        cmap=COLOURS,
        vmin=0.0,
    )
    part.grid(alpha=0.4)
    part.set_xlabel('direction of the z axis of the tip: longitude, upwards latitude')
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
