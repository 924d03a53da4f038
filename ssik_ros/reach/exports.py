"""A map for other programs: point clouds, tables, and a page for the browser that needs nothing else."""

import base64
import csv
import html
import importlib.resources
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import explained

MOST_SHOWN = 150_000
"""Positions of a page; of more, every second or third along each axis is shown."""
COLOURS = np.array(
    [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64
)
"""Of no orientation, and evenly on to all."""


class DexterityCloud(NamedTuple):
    """The positions at which something is reachable."""

    positions: FloatArray
    """(n, 3) in the frame of the base link [m]."""
    dexterity: FloatArray
    """(n,) share of the orientations that are reachable."""
    unknown: FloatArray
    """(n,) share of the orientations that are unknown."""
    colours: NDArray[np.uint8]
    """(n, 3) red, green, blue."""


def dexterity_cloud(found: ReachMap, stride: int = 1) -> DexterityCloud:
    """
    Return the positions of a map at which at least one orientation is reachable.

    :param found: the map.
    :param stride: take every so manieth position along each axis.
    """
    step = (slice(None, None, stride),) * 3
    status = found.read()[step]
    share, unknown = ((status == kind).mean(axis=3) for kind in _SHOWN)
    some = share > 0.0
    positions = found.positions()[step][some]
    return DexterityCloud(positions, share[some], unknown[some], colours_of(share[some]))


_SHOWN = (CellStatus.REACHABLE, CellStatus.UNKNOWN)


def colours_of(shares: FloatArray) -> NDArray[np.uint8]:
    """
    Return colours (n, 3) of shares between 0 and 1: dark for none, bright for all.

    :param shares: (n,).
    """
    places = np.linspace(0.0, 1.0, len(COLOURS))
    parts = [np.interp(shares, places, column) for column in COLOURS.T]
    colours: NDArray[np.uint8] = np.rint(np.stack(parts, axis=-1)).astype(np.uint8)
    return colours


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
    stride, cloud = 1, dexterity_cloud(found)
    while len(cloud.positions) > MOST_SHOWN:
        stride += 1
        cloud = dexterity_cloud(found, stride)
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
