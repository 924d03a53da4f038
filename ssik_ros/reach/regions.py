"""Regions and pose lists as users write them."""

from collections.abc import Iterable, Iterator
import csv
import math
from pathlib import Path

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption, quote, SsikError
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.grid import BOX, FARTHEST, GridRegion

FORMS = 'auto, sphere:RADIUS, sphere:X,Y,Z,RADIUS or box:X,Y,Z,X,Y,Z'
COLUMNS = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
MOST_POSES = 10_000_000
UNIT = 1e-3
"""Most that the norm of a quaternion of a file may differ from 1."""


def read_region(text: str, chain: SerialChain) -> GridRegion:
    """
    Return the region that a word means, in the frame of the chain's base link.

    :param text: ``auto``, ``sphere:RADIUS``, ``sphere:X,Y,Z,RADIUS`` or ``box:X,Y,Z,X,Y,Z`` with two corners [m].
    :param chain: of the arm; a ball without centre is around its first joint.
    :raises InvalidOption: for other words, and for a region without cells.
    """
    kind, _, rest = text.partition(':')
    if text == 'auto':
        return ball_of(chain)
    try:
        numbers = [float(word) for word in rest.split(',')]
    except ValueError:
        numbers = []
    if kind == 'sphere' and len(numbers) in (1, 4):
        x, y, z = numbers[:-1] or chain.points[0].tolist()
        if not 0.0 < numbers[-1] <= FARTHEST:
            raise InvalidOption(
                f'The radius of a region is a positive number, not {numbers[-1]:g}.'
            )
        return GridRegion.sphere((x, y, z), numbers[-1])
    if kind == BOX and len(numbers) == 6:
        a, b, c, d, e, f = numbers
        return GridRegion(BOX, (a, b, c), (d, e, f))
    raise InvalidOption(f'A region is {FORMS}, not {quote(text)}.')


def ball_of(chain: SerialChain) -> GridRegion:
    """
    Return a ball that the tip never leaves: around the first joint, as long as all links in a row.

    :param chain: of the arm.
    :raises InvalidOption: when a joint slides without limits.
    """
    places = np.vstack([chain.points, chain.home[:3, 3]])
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    slides = chain.kinds == JointKind.PRISMATIC
    ways = np.maximum(np.abs(chain.lower), np.abs(chain.upper))[slides]
    radius = float(lengths.sum() + ways.sum())
    if not math.isfinite(radius):
        raise InvalidOption('A joint slides without limits: the arm has no end. Name a region.')
    x, y, z = chain.points[0].tolist()
    return GridRegion.sphere((x, y, z), max(radius, 1e-6))


def read_pose_list(file: Path) -> FloatArray:
    """
    Return the poses of a CSV file (n, 7): positions [m] and unit quaternions x, y, z, w.

    :param file: a header with x, y, z, qx, qy, qz, qw in any order, other columns left out, then a row for each pose.
    :raises SsikError: when it cannot be read, or a row is no pose.
    """
    try:
        with file.open(encoding='utf-8', newline='') as stream:
            rows = csv.DictReader(stream)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise InvalidOption(
                    f"'{file}' has no column {', '.join(missing)}; the first line names {', '.join(COLUMNS)}."
                )
            poses = [_read_row(file, rows.line_num, row) for row in _at_most(file, rows)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InvalidOption(f"'{file}' cannot be read: {reason}.") from error
    if not poses:
        raise InvalidOption(f"'{file}' has no poses.")
    return np.array(poses)


def _at_most(file: Path, rows: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Return the rows, and raise when there are too many."""
    for number, row in enumerate(rows):
        if number >= MOST_POSES:
            raise InvalidOption(f"'{file}' has more than {counted(MOST_POSES, 'pose')}.")
        yield row


def _read_row(file: Path, line: int, row: dict[str, str]) -> list[float]:
    """Return the numbers of a pose."""
    try:
        numbers = [float(row[name]) for name in COLUMNS]
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"'{file}', line {line}: {error}.") from error
    norm = math.sqrt(sum(x * x for x in numbers[3:]))
    if not (all(abs(x) <= FARTHEST for x in numbers) and abs(norm - 1.0) <= UNIT):
        raise SsikError(f"'{file}', line {line}: no pose with a unit quaternion: {numbers}.")
    return [*numbers[:3], *(x / norm for x in numbers[3:])]
