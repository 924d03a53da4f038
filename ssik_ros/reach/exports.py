"""Export a reach map for other programs: point clouds, tables, and a self-contained HTML page."""

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
from ssik_ros.reach.reach_map import at_positions, check_measure, MEASURES, ReachMap, SHARES
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.storage.files import explained
from ssik_ros.reach.store import STATUS

MOST_SHOWN = 150_000
"""Positions of a page; of more, every second or third along each axis is shown."""
COLOURS = np.array(
    [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64
)
"""Of nothing, and evenly on to the largest value."""
STATUS_COLOURS = {
    CellStatus.REACHABLE: (94, 201, 98),
    CellStatus.OUT_OF_REACH: (160, 160, 160),
    CellStatus.UNKNOWN: (253, 200, 37),
    CellStatus.COLLIDES: (200, 60, 50),
}
MOST_READ = 2_000_000_000
"""Cells of the largest map whose points are gathered: they are all read."""


class DexterityCloud(NamedTuple):
    """
    The positions of a reach map that are shown as n coloured points, with a measure at each.

    These are positions with at least one reachable orientation. If the measure is the status, they are positions with
    at least one orientation that is not out of reach.
    """

    positions: FloatArray
    """(n, 3) in the frame of the base link [m]."""
    dexterity: FloatArray
    """(n,) share of the orientations that are reachable."""
    unknown: FloatArray
    """(n,) share of the orientations that are unknown."""
    colours: NDArray[np.uint8]
    """(n, 3) red, green, blue, by the measure."""
    measure: str = 'dexterity'
    """One of :data:`ssik_ros.reach.reach_map.MEASURES`."""
    values: FloatArray | None = None
    """(n,) values of the measure; None for the dexterity."""

    @property
    def shown(self) -> FloatArray:
        """Return the value (n,) of the measure at each point: ``values``, or the dexterity."""
        return self.dexterity if self.values is None else self.values

    @property
    def top(self) -> float:
        """
        Return the value of the measure that gets the brightest colour.

        It is 1 for shares. For other measures it is the largest finite value, or 1 if that is not above zero.
        """
        if self.measure in SHARES:
            return 1.0
        finite = self.shown[np.isfinite(self.shown)]
        return float(finite.max(initial=0.0)) or 1.0

    @property
    def table(self) -> dict[str, FloatArray]:
        """Return columns (n,) of the points by name: x, y, z [m], dexterity, and the measure if it is another one."""
        columns = dict(zip('xyz', self.positions.T, strict=True), dexterity=self.dexterity)
        return columns if self.values is None else {**columns, self.measure: self.values}


def dexterity_cloud(
    reach_map: ReachMap, stride: int = 1, measure: str = 'dexterity'
) -> DexterityCloud:
    """
    Return the points of a map: positions with at least one reachable orientation, coloured by a measure.

    For the measure ``status`` they are positions with an orientation whose status is neither NOT_ASKED nor
    OUT_OF_REACH.

    :param reach_map: the map.
    :param stride: take only every n-th position along each axis.
    :param measure: one of :attr:`ReachMap.measures`. Colours go from dark at 0 to bright at :attr:`DexterityCloud.top`;
        each status has a colour of its own.
    :raises InvalidOption: for a measure that the map does not have, and for a map that is too large to be read.
    """
    check_measure(measure, reach_map.arrays)
    _check_size(reach_map)
    grid, slab = reach_map.grid, stride * max(1, -(-reach_map.grid.chunks[0] // stride))
    parts = []
    for first in range(0, grid.shape[0], slab):
        where = (slice(first, first + slab, stride), *[slice(None, None, stride)] * 2)
        parts.append(_read_slab(reach_map, where, measure))
    indices, share, unknown, values = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    measured = None if measure == 'dexterity' else values
    nothing = np.empty((0, 3), dtype=np.uint8)
    cloud = DexterityCloud(grid.positions(indices), share, unknown, nothing, measure, measured)
    return cloud._replace(colours=_colours(cloud))


def _colours(cloud: DexterityCloud) -> NDArray[np.uint8]:
    """Return the colours (n, 3) of the points of a cloud: by status, otherwise by the value relative to ``top``."""
    if cloud.measure != STATUS:
        return colours_of(cloud.shown / cloud.top)
    table = np.zeros((len(CellStatus), 3), dtype=np.uint8)
    for status, colour in STATUS_COLOURS.items():
        table[status] = colour
    colours: NDArray[np.uint8] = table[cloud.shown.astype(np.int64)]
    return colours


def _check_size(reach_map: ReachMap) -> None:
    """Raise InvalidOption if a map has more than MOST_READ cells, which are too many to be read."""
    if reach_map.grid.count > MOST_READ:
        raise InvalidOption(
            f"The map '{reach_map.path}' has {reach_map.grid.count:.3g} cells; points are made of up to {MOST_READ:.0e}. "
            'Make a map with a wider grid for that.'
        )


def _read_slab(reach_map: ReachMap, where: tuple[slice, ...], measure: str) -> tuple[Any, ...]:
    """
    Return the points in one part of a map: grid indices (n, 3), reachable share, unknown share and value (n,) of each.

    A position is a point if at least one orientation is reachable. For the status it is one if some orientation is
    neither NOT_ASKED nor OUT_OF_REACH.

    :param where: slices along x, y and z; the first gives start and stride.
    :param measure: name of the measure that gives the values.
    """
    status = reach_map.read(where=where)
    share, unknown = (at_positions(name, status) for name in SHARES)
    some = share > 0.0
    if measure == STATUS:
        some = (status != CellStatus.NOT_ASKED) & (status != CellStatus.OUT_OF_REACH)
        some = some.any(axis=3)
    cells = None if measure in (*SHARES, STATUS) else reach_map.read(measure, where)
    values = at_positions(measure, status, cells)
    first, stride = where[0].start, where[0].step
    indices = stride * np.argwhere(some) + (first, 0, 0)
    return indices, share[some], unknown[some], values[some]


def colours_of(shares: FloatArray) -> NDArray[np.uint8]:
    """
    Return colours (n, 3) of shares between 0 and 1: dark for 0, bright for 1.

    :param shares: (n,).
    """
    places = np.linspace(0.0, 1.0, len(COLOURS))
    parts = [np.interp(shares, places, column) for column in COLOURS.T]
    colours: NDArray[np.uint8] = np.rint(np.stack(parts, axis=-1)).astype(np.uint8)
    return colours


def cloud_to_show(reach_map: ReachMap, measure: str = 'dexterity') -> tuple[DexterityCloud, int]:
    """
    Return (points, stride): at most MOST_SHOWN points of a map, and the stride along each axis that this needs.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`; it gives the colours.
    :raises InvalidOption: as :func:`dexterity_cloud`.
    """
    stride, cloud = 1, dexterity_cloud(reach_map, 1, measure)
    while len(cloud.positions) > MOST_SHOWN:
        stride += 1
        cloud = dexterity_cloud(reach_map, stride, measure)
    return cloud, stride


def write_ply(reach_map: ReachMap, file: Path, measure: str = 'dexterity') -> None:
    """
    Write the points of a map as a binary PLY file with x, y, z [m], ``dexterity``, the measure, and colours.

    The points are positions with at least one reachable orientation; for ``status``, with one not out of reach.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`; it gives the colours.
    :param file: the file to write.
    :raises InvalidOption: as :func:`dexterity_cloud`.
    """
    cloud = dexterity_cloud(reach_map, 1, measure)
    kinds = [(name, '<f4') for name in cloud.table]
    kinds += [(colour, 'u1') for colour in ('red', 'green', 'blue')]
    rows = np.empty(len(cloud.positions), dtype=kinds)
    for name, values in cloud.table.items():
        rows[name] = values
    for column, colour in enumerate(('red', 'green', 'blue')):
        rows[colour] = cloud.colours[:, column]
    properties = [
        f'property {"float" if kind == "<f4" else "uchar"} {name}' for name, kind in kinds
    ]
    lines = ['ply', 'format binary_little_endian 1.0', f'element vertex {len(rows)}', *properties]
    header = '\n'.join([*lines, 'end_header', ''])
    with explained(file):
        file.write_bytes(header.encode() + rows.tobytes())


def write_csv(reach_map: ReachMap, file: Path, measure: str = 'dexterity') -> None:
    """
    Write the points of a map as a CSV file: x, y, z [m], dexterity, the measure, and the share of unknown cells.

    The points are positions with at least one reachable orientation; for ``status``, with one not out of reach.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`.
    :param file: the file to write.
    :raises InvalidOption: as :func:`dexterity_cloud`.
    """
    cloud = dexterity_cloud(reach_map, 1, measure)
    columns = {**cloud.table, 'unknown': cloud.unknown}
    rows = np.column_stack(list(columns.values()))
    with explained(file), file.open('w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows([f'{number:.6g}' for number in row] for row in rows.tolist())


def write_page(reach_map: ReachMap, file: Path, measure: str = 'dexterity') -> None:
    """
    Write an HTML page that shows the points of a map in 3D, to be rotated and cut; it needs no other file or network.

    If there are more than MOST_SHOWN points, only every n-th position along each axis is shown.

    :param reach_map: the map.
    :param measure: one of :attr:`ReachMap.measures`; it gives the colours.
    :param file: the file to write.
    :raises InvalidOption: as :func:`dexterity_cloud`.
    """
    cloud, stride = cloud_to_show(reach_map, measure)
    chain, counts = reach_map.chain, reach_map.counts
    title = (
        f'Reach of {reach_map.attributes["robot"]["name"]}, {chain.base_link} to {chain.tip_link}'
    )
    facts = {
        'step': reach_map.grid.step * stride,
        'orientations': reach_map.grid.shape[3],
        'covering': round(float(np.degrees(reach_map.covering_angle)), 1),
        'shown': f'every {stride}. position along each axis' if stride > 1 else 'all positions',
        'counts': {name: count for name, count in counts.items() if count},
        'measure': measure,
        'unit': MEASURES[measure],
        'top': cloud.top,
    }
    shares, colours = np.minimum(cloud.shown / cloud.top, 1.0), COLOURS.tolist()
    if measure == STATUS:
        facts['legend'] = [status.words for status in STATUS_COLOURS]
        shares, colours = (
            (cloud.shown - 1.0) / (len(STATUS_COLOURS) - 1),
            [*STATUS_COLOURS.values()],
        )
    page = importlib.resources.files('ssik_ros.reach').joinpath('page.html').read_text('utf-8')
    # A name from a URDF must not end the script that contains it.
    data = json.dumps(facts).replace('<', '\\u003c')
    for mark, text in (
        ('@TITLE@', html.escape(title)),
        ('"@FACTS@"', data),
        ('@POSITIONS@', _packed(cloud.positions.astype('<f4'))),
        ('@SHARES@', _packed(shares.astype('<f4'))),
        ('"@COLOURS@"', json.dumps(colours)),
    ):
        page = page.replace(mark, text)
    with explained(file):
        file.write_text(page, encoding='utf-8')


def _packed(array: NDArray[np.float32]) -> str:
    """Return the bytes of an array as Base64 text."""
    return base64.b64encode(array.tobytes()).decode()
