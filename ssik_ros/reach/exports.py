"""A map for other programs: point clouds, tables, and a page for the browser that needs nothing else."""

import base64
import csv
import html
import importlib.resources
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import explained

MOST_SHOWN = 150_000
"""Positions of a page; of more, every second or third along each axis is shown."""
COLOURS = np.array(
    [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64
)
"""Of no orientation, and evenly on to all."""


MEASURES = {
    'dexterity': '',
    'unknown': '',
    'branches': 'branches',
    'manipulability': '',
    'limit_margin': 'rad',
    'clearance': 'm',
    'self_motions': '',
}
"""What points may be coloured by, with the unit: shares of the orientations, and the largest value of all orientations."""
MOST_READ = 2_000_000_000
"""Cells of the largest map whose points are gathered: they are all read."""


class DexterityCloud(NamedTuple):
    """The positions at which something is reachable."""

    positions: FloatArray
    """(n, 3) in the frame of the base link [m]."""
    dexterity: FloatArray
    """(n,) share of the orientations that are reachable."""
    unknown: FloatArray
    """(n,) share of the orientations that are unknown."""
    colours: NDArray[np.uint8]
    """(n, 3) red, green, blue, by the measure."""
    measure: str = 'dexterity'
    """One of :data:`MEASURES`."""
    values: FloatArray | None = None
    """(n,) of the measure; None for the dexterity."""


def dexterity_cloud(
    found: ReachMap, stride: int = 1, measure: str = 'dexterity'
) -> DexterityCloud:
    """
    Return the positions of a map at which at least one orientation is reachable.

    :param found: the map.
    :param stride: take every so manieth position along each axis.
    :param measure: one of :data:`MEASURES` that the map has; colours go from 0, dark, to its largest value.
    :raises InvalidOption: for a measure that the map does not have, and for a map that is too large to be read.
    """
    _check_measure(found, measure)
    grid, slab = found.grid, stride * max(1, -(-found.grid.chunks[0] // stride))
    parts = []
    for first in range(0, grid.shape[0], slab):
        where = (slice(first, first + slab, stride), *[slice(None, None, stride)] * 2)
        parts.append(_read_slab(found, where, measure))
    indices, share, unknown, values = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    top = 1.0 if measure in ('dexterity', 'unknown') else float(values.max(initial=0.0))
    colours = colours_of(values / (top or 1.0))
    own = None if measure == 'dexterity' else values
    return DexterityCloud(grid.positions(indices), share, unknown, colours, measure, own)


def _check_measure(found: ReachMap, measure: str) -> None:
    """Raise for what a map cannot show."""
    known = [name for name in MEASURES if name in ('dexterity', 'unknown', *found.arrays)]
    if measure not in known:
        raise InvalidOption.unknown(f"The map has no measure '{measure}'", measure, known)
    if found.grid.count > MOST_READ:
        raise InvalidOption(
            f"The map '{found.path}' has {found.grid.count:.3g} cells; points are made of up to {MOST_READ:.0e}. "
            'Make a map with a wider grid for that.'
        )


def _read_slab(found: ReachMap, where: tuple[slice, ...], measure: str) -> tuple[Any, ...]:
    """Return indices, share, unknown share and value of the positions of a part of a map at which something is reachable."""
    status = found.read(where=where)
    reachable = status == CellStatus.REACHABLE
    share, unknown = reachable.mean(axis=3), (status == CellStatus.UNKNOWN).mean(axis=3)
    some = share > 0.0
    if measure in ('dexterity', 'unknown'):
        values = (share if measure == 'dexterity' else unknown)[some]
    else:
        cells = np.where(reachable, found.read(measure, where), 0)[some]
        values = cells.max(axis=1).astype(np.float64)
    first, stride = where[0].start, where[0].step
    indices = stride * np.argwhere(some) + (first, 0, 0)
    return indices, share[some], unknown[some], values


def colours_of(shares: FloatArray) -> NDArray[np.uint8]:
    """
    Return colours (n, 3) of shares between 0 and 1: dark for none, bright for all.

    :param shares: (n,).
    """
    places = np.linspace(0.0, 1.0, len(COLOURS))
    parts = [np.interp(shares, places, column) for column in COLOURS.T]
    colours: NDArray[np.uint8] = np.rint(np.stack(parts, axis=-1)).astype(np.uint8)
    return colours


def cloud_to_show(found: ReachMap, measure: str = 'dexterity') -> tuple[DexterityCloud, int]:
    """
    Return the positions of a map, few enough to be shown, and of how many along each axis one was taken.

    :param found, measure: as for :func:`dexterity_cloud`.
    """
    stride, cloud = 1, dexterity_cloud(found, 1, measure)
    while len(cloud.positions) > MOST_SHOWN:
        stride += 1
        cloud = dexterity_cloud(found, stride, measure)
    return cloud, stride


def write_ply(found: ReachMap, file: Path) -> None:
    """
    Write a binary PLY point cloud with colours and the property ``dexterity``.

    :param found: the map.
    :param file: where to.
    """
    cloud = dexterity_cloud(found)
    kinds = [(axis, '<f4') for axis in ('x', 'y', 'z', 'dexterity')]
    kinds += [(colour, 'u1') for colour in ('red', 'green', 'blue')]
    rows = np.empty(len(cloud.positions), dtype=kinds)
    for column, axis in enumerate('xyz'):
        rows[axis] = cloud.positions[:, column]
    rows['dexterity'] = cloud.dexterity
    for column, colour in enumerate(('red', 'green', 'blue')):
        rows[colour] = cloud.colours[:, column]
    properties = [
        f'property {"float" if kind == "<f4" else "uchar"} {name}' for name, kind in kinds
    ]
    lines = ['ply', 'format binary_little_endian 1.0', f'element vertex {len(rows)}', *properties]
    header = '\n'.join([*lines, 'end_header', ''])
    with explained(file):
        file.write_bytes(header.encode() + rows.tobytes())


def write_csv(found: ReachMap, file: Path) -> None:
    """
    Write a row for each position at which something is reachable: x, y, z, shares of reachable and unknown orientations.

    :param found: the map.
    :param file: where to.
    """
    cloud = dexterity_cloud(found)
    rows = np.column_stack([cloud.positions, cloud.dexterity, cloud.unknown])
    with explained(file), file.open('w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(['x', 'y', 'z', 'dexterity', 'unknown'])
        writer.writerows([f'{number:.6g}' for number in row] for row in rows.tolist())


def write_page(found: ReachMap, file: Path) -> None:
    """
    Write a page that shows the positions in space, to be rotated and cut; it loads nothing from anywhere.

    :param found: the map.
    :param file: where to.
    """
    cloud, stride = cloud_to_show(found)
    chain, counts = found.chain, found.counts
    title = f'Reach of {found.attributes["robot"]["name"]}, {chain.base_link} to {chain.tip_link}'
    facts = {
        'step': found.grid.step * stride,
        'orientations': found.grid.shape[3],
        'covering': round(float(np.degrees(found.covering_angle)), 1),
        'shown': f'every {stride}. position along each axis' if stride > 1 else 'all positions',
        'counts': {name: count for name, count in counts.items() if count},
    }
    page = importlib.resources.files('ssik_ros.reach').joinpath('page.html').read_text('utf-8')
    # A name from a URDF must not end the script that it stands in.
    data = json.dumps(facts).replace('<', '\\u003c')
    for mark, text in (
        ('@TITLE@', html.escape(title)),
        ('"@FACTS@"', data),
        ('@POSITIONS@', _packed(cloud.positions.astype('<f4'))),
        ('@SHARES@', _packed(cloud.dexterity.astype('<f4'))),
        ('"@COLOURS@"', json.dumps(COLOURS.tolist())),
    ):
        page = page.replace(mark, text)
    with explained(file):
        file.write_text(page, encoding='utf-8')


def _packed(array: NDArray[np.float32]) -> str:
    """Return an array for a page."""
    return base64.b64encode(array.tobytes()).decode()
