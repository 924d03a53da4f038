"""
The cells of a reach map, which are poses of the tip in the base, and their division into units.

A :class:`Grid` has the same orientations at each position of a :class:`GridRegion`; a :class:`PoseList` has any poses.

A unit is a block of cells that one worker decides. Units depend only on the cells and on the wanted number of cells in
a unit. So a map has the same bytes, however many workers made it. Apart from the poses of a list, no array here is as
long as the map. Indices and positions of cells are computed from numbers of units.
"""

from collections.abc import Iterator, Mapping
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption
from ssik_ros.kernels.geometry.rotations import rotations_of
from ssik_ros.value_class import dataclass

UNIT_CELLS = 8192
"""Cells of a unit, about, as long as there are not too many units; a caller whose cells take little time has more."""
PIECE = 8192
"""Poses of a unit that are decided at once, about."""
UNITS_PER_BLOCK = 4096
"""Units that are looked at together."""
MOST_UNITS = 1_000_000
"""Units of the largest maps; theirs have more cells each."""
LARGEST_UNIT = 4_194_304
"""Cells of the largest units: the files of one unit stay below 50 MiB."""
LARGEST_COORDINATE = 1e4
"""Largest coordinate of a region [m]."""
SPHERE, BOX = 'sphere', 'box'


class UnitPoses(NamedTuple):
    """Poses of a unit that are inside the region, with their indices in it; ``pieces`` of the cells yields them."""

    poses: FloatArray
    """(n, 4, 4) poses of the tip in the base; the next poses that ``pieces`` yields overwrite them."""
    places: NDArray[np.int64]
    """(n,) index of each pose in the unit, whose cells are counted from 0; cells that no piece has are outside of the
    region."""


@dataclass(frozen=True, slots=True)
class GridRegion:
    """The region of positions that a map covers, in the base frame: a box, or a ball given by the box around it."""

    kind: str
    """The shape: ``box`` or ``sphere``."""
    low: tuple[float, float, float]
    """Lowest corner of the box, or of the box around the ball [m]."""
    high: tuple[float, float, float]
    """Highest corner of this box [m]."""

    @classmethod
    def sphere(cls, centre: tuple[float, float, float], radius: float) -> 'GridRegion':
        """
        Return a region that is a ball.

        :param centre: (3,) in the base frame [m].
        :param radius: radius of the ball [m].
        """
        x, y, z = centre
        return cls(
            SPHERE,
            (x - radius, y - radius, z - radius),
            (x + radius, y + radius, z + radius),
        )

    def __post_init__(self) -> None:
        """Raise InvalidOption for coordinates that are too large and for a region without volume."""
        numbers = (*self.low, *self.high)
        if not all(abs(number) <= LARGEST_COORDINATE for number in numbers):
            raise InvalidOption(
                f'Coordinates of a region are finite and at most {LARGEST_COORDINATE:g} m, not {numbers}.'
            )
        if not all(low < high for low, high in zip(self.low, self.high, strict=True)):
            raise InvalidOption(
                f'The region from {self.low} to {self.high} has no cells: each side must be longer than 0 m.'
            )

    def contains(self, positions: FloatArray) -> NDArray[np.bool_]:
        """
        Return a mask (n,) of the positions in the region; for a box, all are True without a check.

        :param positions: (n, 3) positions of grid cells [m], which are always within the box.
        """
        low, high = np.array(self.low), np.array(self.high)
        if self.kind == SPHERE:
            radius = 0.5 * (high - low)[0]
            distances = np.linalg.norm(positions - 0.5 * (low + high), axis=1)
            inside: NDArray[np.bool_] = distances <= radius * (1.0 + 1e-12)
            return inside
        return np.ones(len(positions), dtype=np.bool_)


class Grid:
    """
    Cells of a map: positions on a regular grid, with the same orientations at each position.

    ``shape`` has the numbers of cells along x, y, z and of orientations, ``chunks`` these numbers for one unit.
    """

    def __init__(
        self,
        region: GridRegion,
        step: float,
        orientations: FloatArray,
        unit_cells: int = UNIT_CELLS,
    ) -> None:
        """
        Lay a grid of positions into a region, centred in it; a position is the middle of its grid cube.

        :param region: the positions that the grid covers.
        :param step: distance of neighbouring positions along each axis [m].
        :param orientations: (k, 4) unit quaternions x, y, z, w.
        :param unit_cells: approximate number of cells of a unit.
        :raises InvalidOption: for a step that is not above 0 and at most LARGEST_COORDINATE.
        """
        if not 0.0 < step <= LARGEST_COORDINATE:
            raise InvalidOption(
                f'The grid needs a positive distance of positions, not {step!r} m.'
            )
        self.region, self.step, self.orientations = region, step, orientations
        self.unit_cells = unit_cells
        self.rotations = rotations_of(orientations)
        low, high = np.array(region.low), np.array(region.high)
        sizes = np.maximum(1, np.ceil((high - low) / step - 1e-9))
        x, y, z = (int(size) for size in sizes)
        self.shape = (x, y, z, len(orientations))
        # The cells that do not fit are shared out between both sides.
        self.origin: FloatArray = 0.5 * (low + high) - 0.5 * step * (sizes - 1.0)
        """Position of the first cell (3,) [m]."""
        self.chunks = _block(self.shape, unit_cells)

    @property
    def count(self) -> int:
        """Return the number of cells of the box, including cells outside of a ball."""
        return math.prod(self.shape)

    @property
    def unit_count(self) -> int:
        """
        Return the number of units: blocks of cells that one worker decides.

        Units without cells in the region are counted too.
        """
        return math.prod(self._blocks)

    @property
    def _blocks(self) -> tuple[int, ...]:
        """Return how many units (blocks of cells) there are along each axis: x, y, z, orientation."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.chunks, strict=True))

    def units(self) -> Iterator[int]:
        """Yield the numbers of the units (blocks of cells) that have at least one cell in the region."""
        for start in range(0, self.unit_count, UNITS_PER_BLOCK):
            numbers = np.arange(start, min(start + UNITS_PER_BLOCK, self.unit_count))
            yield from numbers[self._touch(numbers)].tolist()

    def key(self, unit: int) -> tuple[int, ...]:
        """
        Return the chunk index along each axis (x, y, z, orientation) at which arrays of the map store a unit.

        :param unit: number of the unit.
        """
        return tuple(int(i) for i in np.unravel_index(unit, self._blocks))

    def positions(self, indices: NDArray[Any]) -> FloatArray:
        """
        Return the positions (n, 3) of grid points in the base frame [m].

        :param indices: (n, 3) indices along x, y and z.
        """
        positions: FloatArray = self.origin + self.step * indices
        return positions

    def pieces(self, unit: int) -> Iterator[UnitPoses]:
        """
        Yield the poses of a unit that are in the region, about PIECE at a time.

        Each piece overwrites the pose array of the piece before: use it before taking the next.

        :param unit: number of the unit.
        """
        sizes, turns = self.chunks[:3], len(self.rotations)
        offsets = np.indices(sizes).reshape(3, -1).T
        indices = offsets + np.array(self.key(unit)[:3]) * sizes
        inside = (indices < self.shape[:3]).all(axis=1)
        inside &= self.region.contains(self.positions(indices))
        rows, at_once = np.flatnonzero(inside), max(1, PIECE // turns)
        # All pieces have the same orientations, which are laid out once: it takes as long as a third of deciding.
        poses = np.tile(np.eye(4), (min(at_once, len(rows)), turns, 1, 1))
        poses[:, :, :3, :3] = self.rotations
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            piece = poses[: len(part)]
            piece[:, :, :3, 3] = self.positions(indices[part])[:, None]
            places = (part[:, None] * turns + np.arange(turns)).ravel()
            yield UnitPoses(piece.reshape(-1, 4, 4), places)

    def asked(self) -> int:
        """Return about how many cells are in the region, by the volume of the ball or box."""
        share = math.pi / 6.0 if self.region.kind == SPHERE and min(self.shape[:3]) > 2 else 1.0
        return max(1, round(share * self.count))

    def as_mapping(self) -> dict[str, Any]:
        """Return region, step and sizes of the grid as a mapping that JSON can store, without the orientations."""
        region = self.region
        return {
            'kind': 'grid',
            'region': region.kind,
            'low': list(region.low),
            'high': list(region.high),
            'step': self.step,
            'orientations': len(self.orientations),
            'unit_cells': self.unit_cells,
        }

    def _touch(self, units: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the given unit numbers whose units have at least one cell in the region."""
        if self.region.kind == BOX:
            return np.ones(len(units), dtype=np.bool_)
        low, high = np.array(self.region.low), np.array(self.region.high)
        keys = np.stack(np.unravel_index(units, self._blocks)[:3], axis=1)
        first = keys * self.chunks[:3]
        last = np.minimum(first + self.chunks[:3], self.shape[:3]) - 1
        centre = (0.5 * (low + high) - self.origin) / self.step
        nearest = np.clip(np.rint(centre), first, last).astype(np.int64)
        return self.region.contains(self.positions(nearest))


class PoseList:
    """Cells of a map given as a list of any poses, ``rows``, instead of a grid."""

    def __init__(self, rows: FloatArray, unit_cells: int = UNIT_CELLS) -> None:
        """
        Store the poses.

        :param rows: (n, 7) positions [m] and unit quaternions x, y, z, w.
        :param unit_cells: number of poses in a unit.
        :raises InvalidOption: for an empty list.
        """
        if not len(rows):
            raise InvalidOption('There are no poses to decide.')
        self.rows, self.unit_cells = rows, unit_cells
        self.shape = (len(rows),)
        self.chunks = (min(len(rows), unit_cells),)

    @property
    def count(self) -> int:
        """Return the number of poses."""
        return len(self.rows)

    @property
    def unit_count(self) -> int:
        """Return the number of units: blocks of poses that one worker decides."""
        return -(-len(self.rows) // self.chunks[0])

    def units(self) -> Iterator[int]:
        """Yield the numbers of all units (blocks of poses), from 0."""
        return iter(range(self.unit_count))

    def key(self, unit: int) -> tuple[int, ...]:
        """Return the chunk index of a unit in the arrays of the map, as :meth:`Grid.key`: a tuple of one number."""
        return (unit,)

    def pieces(self, unit: int) -> Iterator[UnitPoses]:
        """Yield the poses of a unit, at most PIECE at a time."""
        size = self.chunks[0]
        rows = self.rows[unit * size : (unit + 1) * size]
        for start in range(0, len(rows), PIECE):
            part = rows[start : start + PIECE]
            yield UnitPoses(poses_of(part), start + np.arange(len(part)))

    def asked(self) -> int:
        """Return the number of poses; all of them are decided."""
        return self.count

    def as_mapping(self) -> dict[str, Any]:
        """Return the number of poses and the size of units as a mapping that JSON can store, without the poses."""
        return {'kind': 'poses', 'count': len(self.rows), 'unit_cells': self.unit_cells}


Cells = Grid | PoseList


def cells_from_mapping(saved: Mapping[str, Any], rows: FloatArray) -> Cells:
    """
    Return the grid or the list of poses that a mapping of :meth:`as_mapping` describes.

    :param saved: the mapping.
    :param rows: (k, 4) orientations of a grid, or (n, 7) poses.
    :raises InvalidOption, LookupError, TypeError: for a mapping of another form.
    """
    if saved['kind'] == 'poses':
        return PoseList(rows, saved['unit_cells'])
    low, high = tuple(saved['low']), tuple(saved['high'])
    region = GridRegion(saved['region'], low, high)
    return Grid(region, saved['step'], rows, saved['unit_cells'])


def poses_of(rows: FloatArray) -> FloatArray:
    """
    Return poses given by position and quaternion as matrices (n, 4, 4).

    :param rows: (n, 7) positions [m] and unit quaternions x, y, z, w.
    """
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = rotations_of(rows[:, 3:]), rows[:, :3]
    return poses


def _block(shape: tuple[int, ...], unit_cells: int) -> tuple[int, ...]:
    """
    Return the number of cells along each axis (x, y, z, orientation) of one unit, a block of cells.

    A unit is a cube of positions with all orientations. It has about ``unit_cells`` cells, or more if the map would
    have more than MOST_UNITS units otherwise.
    """
    x, y, z, turns = shape
    cells = max(unit_cells, -(-math.prod(shape) // MOST_UNITS))
    edge = max(1, round((cells / turns) ** (1.0 / 3.0)))
    # Rounding the edge, and cubes cut off at the borders, must not make more units than allowed: the first edge that does not.
    least, most = edge - 1, max(edge, x, y, z)
    while most - least > 1:
        edge = (least + most) // 2
        fits = math.prod(-(-n // min(edge, n)) for n in (x, y, z)) <= MOST_UNITS
        least, most = (least, edge) if fits else (edge, most)
    edge = most
    block = (min(edge, x), min(edge, y), min(edge, z), turns)
    return block


def describe(cells: Cells) -> str:
    """
    Return the size of a map as text, such as '40 x 40 x 40 positions, 64 orientations: 2.14e+06 cells'.

    :param cells: the cells of the map.
    """
    if isinstance(cells, PoseList):
        return counted(cells.count, 'pose')
    x, y, z, turns = cells.shape
    return f'{x} x {y} x {z} positions, {counted(turns, "orientation")}: {cells.asked():.3g} cells'
