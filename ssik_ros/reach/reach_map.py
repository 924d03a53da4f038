"""
Read a reach map from its folder and look up poses in it, also if the map is unfinished.

:class:`ReachMap` looks up poses, finds the nearest reachable cell, and compares maps. It also gives a measure, such as
the dexterity, at each position of the grid. A cell is one pose of the tip: a position with one of the orientations.
"""

from collections import OrderedDict
from collections.abc import Iterable
import functools
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arguments import check_kind, read_flag, read_number, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidOption, InvalidTarget
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.pose_input import read_pose, read_pose_or_poses
from ssik_ros.reach.cells import is_proved, ReachArm, ReachSettings
from ssik_ros.reach.checked_cells import make_arm
from ssik_ros.reach.grid import Cells, Grid
from ssik_ros.reach.orientations import angles_between, covering_angle, quaternions_of
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import MapStore, STATUS

IN_MEMORY = 1 << 28
"""Largest array that is read at once [bytes]. Of larger ones this many bytes of the last units are kept."""
FEW = 512
"""Largest number of orientations for which a product of matrices finds the nearest one faster than a tree."""
POSES_PER_LOOKUP = 65_536
"""Poses that are looked up at once."""
SAME_POSITION, SAME_ANGLE = 1e-9, 1e-7
"""Distances of a pose from the pose of a cell that are rounding [m], [rad]."""
CORNERS = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing='ij'), axis=-1).reshape(8, 3)
LOOKED_UP_DEVIATION = 1e-3
"""Largest deviation of an element of a looked-up matrix from the nearest rotation [1]."""
FIRST_WINDOW = 2
SHARES = ('dexterity', 'unknown')
"""Measures of positions that every map has: the shares of orientations that are reachable, and that are unknown."""
MEASURES = {
    **dict.fromkeys(SHARES, ''),
    'status': '',
    'branches': '',
    'manipulability': '',
    'limit_margin': 'rad',
    'clearance': 'm',
    'self_motions': '',
}
"""Measures that positions may be shown by, with the unit."""


class ReachResult(NamedTuple):
    """Result of :meth:`ReachMap.query` for m poses: one array for each quantity."""

    reachable: NDArray[np.bool_]
    """(m,) whether the nearest cell, or with ``exact`` the pose itself, is reachable."""
    proved: NDArray[np.bool_]
    """
    (m,) whether ``reachable`` is proved for the pose itself.

    This needs a status that is proved, and a pose that is the pose of a cell, up to rounding, or ``exact``.
    """
    branches: NDArray[np.uint8]
    """(m,) number of branches of the nearest cell, or with ``exact`` of the pose, at most 255; 0 outside of the map."""
    status: NDArray[np.uint8]
    """(m,) of :class:`CellStatus`; NOT_ASKED outside of the map, and for cells that are not decided yet."""
    is_border: NDArray[np.bool_]
    """(m,) whether the eight positions around, at the nearest orientation, differ in status; False with ``exact``."""
    distance: FloatArray
    """(m,) distance from the position of the nearest cell [m]; 0 with ``exact``."""
    angle: FloatArray
    """(m,) angle from the orientation of the nearest cell [rad]; 0 with ``exact``."""


class NearestCell(NamedTuple):
    """
    The reachable cell of a map that is nearest to a given pose, with distance and angle from it.

    ``branches`` is the number of branches at the cell that the map stores.
    """

    pose: FloatArray
    """(4, 4) pose of the tip in the base."""
    distance: float
    """Distance from the position of the given pose [m]."""
    angle: float
    """Angle from the orientation of the given pose [rad]."""
    branches: int


class MapComparison(NamedTuple):
    """
    Numbers of cells that both of two maps reach, only one of them, or neither, and of undecided cells.

    Cells that are outside the region or not decided yet in one of the maps do not count.
    """

    both: int
    """Cells that are REACHABLE in both maps."""
    first_only: int
    second_only: int
    neither: int
    """Cells that are OUT_OF_REACH or COLLIDES in each map."""
    undecided: int
    """Cells whose status is UNKNOWN in one of the maps."""


class ReachMap:
    """
    A reach map on the disk: which poses an arm reaches, for the same orientations at each position of a grid.

    Properties and methods that read the disk raise StoreError if the map is damaged.
    """

    def __init__(self, store: MapStore) -> None:
        """
        Read the attributes of the map; cells are read when they are asked for.

        :param store: the store of the map.
        :raises SsikError: if the folder is not a map, or has a map of single poses.
        """
        self.attributes = store.read_attributes()
        """Definition of the map, as in the store."""
        cells = store.read_cells()
        if not isinstance(cells, Grid):
            raise InvalidOption(
                f"'{store.path}' has single poses; read its arrays with zarr. ReachMap reads maps on a grid."
            )
        store.check_arrays(cells)
        self.grid = cells
        self.path = store.path
        self._store = store
        self._readers: dict[str, _CellReader] = {}

    @classmethod
    def open(cls, path: str | Path) -> 'ReachMap':
        """
        Return the map in a folder.

        :param path: path of the folder.
        :raises StoreError: if the folder does not exist, is not a map or is damaged; it is an OSError.
        :raises InvalidOption: for a map of single poses.
        """
        if not isinstance(path, str | os.PathLike):
            refuse('path', path, 'the path of a folder')
        return cls(MapStore(Path(path)))

    @property
    def is_finished(self) -> bool:
        """
        Return whether the map is computed: every cell of its region has a status other than NOT_ASKED.

        Cells of missing units have the status NOT_ASKED.
        """
        return 'counts' in self.attributes

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of cells for each status, by its name; for an unfinished map the whole map is read."""
        counts = self.attributes.get('counts')
        if counts is None:
            # One unit after the other: a map may be larger than the memory.
            status, counts = self._store.array(STATUS), np.zeros(len(CellStatus), dtype=np.int64)
            for unit in self.grid.units():
                cells = status.block(self.grid.key(unit))
                counts += np.bincount(cells.ravel(), minlength=len(CellStatus))
            counts[CellStatus.NOT_ASKED] += self.grid.count - counts.sum()
        return {status.name: int(counts[status]) for status in CellStatus}

    @functools.cached_property
    def chain(self) -> SerialChain:
        """Return the chain that the map was made for."""
        return self._store.read_chain()

    @functools.cached_property
    def covering_angle(self) -> float:
        """Return the largest angle from any orientation to the nearest orientation of the map [rad]."""
        return covering_angle(self.grid.orientations)

    @property
    def arrays(self) -> tuple[str, ...]:
        """Return the names of the arrays that the map stores, such as ``status`` and ``branches``."""
        return tuple(self.attributes['arrays'])

    def read(self, name: str = STATUS, where: Any = ...) -> NDArray[Any]:
        """
        Return a stored array with axes (x, y, z, orientation), or a part of it.

        :param name: one of :attr:`arrays`.
        :param where: slices with positive steps and whole numbers, as for NumPy; all of the array by default.
        :raises StoreError: if the map does not have the array, it is damaged, or the part is too large to be read at
            once.
        :raises InvalidOption: for any other part.
        """
        check_kind('name', name, str, 'the name of an array')
        part: NDArray[Any] = self._store.array(name)[where]
        return part

    def query(self, poses: ArrayLike, exact: bool = False) -> ReachResult:
        """
        Return for each pose the status of its nearest cell, or with ``exact`` the status of the pose itself.

        :param poses: one pose of the tip in the base in any form of :func:`ssik_ros.pose`, a list of such poses, or (m,
            4, 4).
        :param exact: True solves the inverse kinematics of each pose, instead of looking up the nearest cell.
        :raises TypeError, ValueError: for anything that is not a pose or a list of poses.
        """
        targets = read_pose_or_poses(poses)
        targets = targets[None] if targets.ndim == 2 else targets
        if not np.isfinite(targets).all():
            raise DimensionMismatch('Poses must be finite numbers.')
        if read_flag('exact', exact):
            return self._solve(targets)
        _check_rigid(targets)
        parts = [
            self._nearest(targets[start : start + POSES_PER_LOOKUP])
            for start in range(0, max(1, len(targets)), POSES_PER_LOOKUP)
        ]
        if len(parts) == 1:
            return parts[0]
        return ReachResult(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def dexterity(self) -> FloatArray:
        """Return the dexterity (x, y, z): the share of orientations that are reachable at each position."""
        return self.measure()

    def positions(self) -> FloatArray:
        """Return the positions of the grid (x, y, z, 3) in the base frame [m]."""
        indices = np.moveaxis(np.indices(self.grid.shape[:3]), 0, -1)
        return self.grid.positions(indices)

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the names of measures that positions of this map can be shown by, from :data:`MEASURES`."""
        return measures_of(self.arrays)

    def measure(self, name: str = 'dexterity', where: Any = ...) -> FloatArray:
        """
        Return the value of a measure at each position (x, y, z).

        ``dexterity`` and ``unknown`` are shares of all orientations. ``status`` is the most frequent status other than
        NOT_ASKED; of equally frequent ones, the one with the least number. Any other measure is the largest value of
        the reachable orientations, NaN without one.

        :param name: one of :attr:`measures`.
        :param where: slices of the part along (x, y, z, orientation), all of it by default. A whole number removes its
            axis.
        :raises InvalidOption: for a measure that the map does not have.
        """
        check_measure(name, self.arrays)
        cells = None if name in (*SHARES, STATUS) else self.read(name, where)
        return at_positions(name, self.read(where=where), cells)

    def slice(self, axis: str, value: float, measure: str = 'dexterity') -> FloatArray:
        """
        Return a measure (a, b) on the plane of grid positions nearest to a coordinate; NaN at positions not asked.

        Where no orientation is reachable, a measure other than the shares and the status is NaN, too. The axes of the
        array are the two other axes of the grid, in the order x, y, z.

        :param axis: ``x``, ``y`` or ``z``.
        :param value: coordinate of the plane along this axis, in the base frame [m].
        :param measure: one of :attr:`measures`; the share of reachable orientations by default.
        :raises InvalidOption: for another axis, a coordinate outside of the map, and a measure that the map does not
            have.
        """
        if not isinstance(axis, str) or axis not in ('x', 'y', 'z'):
            raise InvalidOption(f"An axis is 'x', 'y' or 'z', not {shown(axis)}.")
        number = 'xyz'.index(axis)
        first, step, size = self.grid.origin[number], self.grid.step, self.grid.shape[number]
        # The index of a coordinate far outside of the map could be beyond all floats.
        near = np.clip(read_number('value', value), first - step, first + size * step)
        index = round((near - first) / step)
        if not 0 <= index < size:
            raise InvalidOption(f'{axis} = {value:g} m is outside of the map.')
        where: list[Any] = [slice(None)] * 4
        where[number] = index
        status = self._store.array(STATUS)[tuple(where)]
        values = self.measure(measure, tuple(where))
        plane: FloatArray = np.where((status == CellStatus.NOT_ASKED).all(axis=-1), np.nan, values)
        return plane

    def compare(self, other: 'ReachMap') -> MapComparison:
        """
        Return how many cells both maps reach, only this, only the other, or neither; and how many are undecided.

        :param other: a map of the same cells.
        :raises InvalidOption: if the other map has other cells.
        """
        check_same_cells(self.grid, check_kind('other', other, ReachMap).grid)
        sums = np.zeros(5, dtype=np.int64)
        first, second = self._store.array(STATUS), other._store.array(STATUS)
        for unit in self.grid.units():
            # The units of the other map may have another size: maps with collisions have smaller ones.
            places = zip(self.grid.key(unit), self.grid.chunks, strict=True)
            where = tuple(slice(key * size, (key + 1) * size) for key, size in places)
            a, b = first[where], second[where]
            asked = (a != CellStatus.NOT_ASKED) & (b != CellStatus.NOT_ASKED)
            is_decided = asked & (a != CellStatus.UNKNOWN) & (b != CellStatus.UNKNOWN)
            has, had = a == CellStatus.REACHABLE, b == CellStatus.REACHABLE
            both, one, two = (
                is_decided & has & had,
                is_decided & has & ~had,
                is_decided & ~has & had,
            )
            none = is_decided & ~has & ~had
            sums += [int(part.sum()) for part in (both, one, two, none, asked & ~is_decided)]
        return MapComparison(*sums.tolist())

    def nearest_reachable(self, pose: ArrayLike, radian: float = 0.1) -> NearestCell | None:
        """
        Return the reachable cell nearest to a pose; None if no cell is reachable.

        Nearest is the least sum of the distance [m] and the angle [rad] times ``radian``.

        :param pose: of the tip in the base, in any form of :func:`ssik_ros.pose`.
        :param radian: distance that counts as much as one radian [m].
        :raises TypeError, ValueError: for anything but a pose and a distance that is not negative.
        """
        target = read_pose(pose)
        radian = read_number('radian', radian)
        if radian < 0.0:
            refuse('radian', radian, 'a distance, which is not negative')
        if not np.isfinite(target).all():
            raise DimensionMismatch('A pose must be finite numbers.')
        _check_rigid(target[None])
        turns = self.grid.orientations
        quaternions = np.repeat(quaternions_of(target[None, :3, :3]), len(turns), axis=0)
        angles, size = angles_between(quaternions, turns), np.array(self.grid.shape[:3])
        centre = np.rint((target[:3, 3] - self.grid.origin) / self.grid.step)
        centre = np.clip(centre, 0, size - 1).astype(np.int64)
        window, best = FIRST_WINDOW, None
        while True:
            low, high = np.maximum(centre - window, 0), np.minimum(centre + window + 1, size)
            best = self._best_in(low, high, target[:3, 3], radian * angles)
            is_all = (low == 0).all() and (high == size).all()
            # Whatever lies outside of the window is farther away than its border.
            if is_all or (best is not None and best[0] <= self._border(low, high, target[:3, 3])):
                break
            window *= 2
        if best is None:
            return None
        _, index, turn = best
        cell_pose = np.eye(4)
        cell_pose[:3, :3], cell_pose[:3, 3] = self.grid.rotations[turn], self.grid.positions(index)
        branches = int(self._reader('branches').gather(np.array([[*index, turn]]))[0])
        distance = float(np.linalg.norm(cell_pose[:3, 3] - target[:3, 3]))
        return NearestCell(cell_pose, distance, float(angles[turn]), branches)

    def _border(self, low: NDArray[np.int64], high: NDArray[np.int64], place: FloatArray) -> float:
        """
        Return a lower bound on the distance of a position from all grid positions outside a window of the grid [m].

        It is infinite if the window is the whole grid.

        :param low, high: (3,) first index of the window along each axis, and the first index after it.
        :param place: (3,) the position, in the base frame [m].
        """
        step, origin = self.grid.step, self.grid.origin
        below = np.where(low > 0, place - (origin + step * (low - 1)), np.inf)
        is_cut = high < np.array(self.grid.shape[:3])
        above = np.where(is_cut, origin + step * high - place, np.inf)
        return float(max(0.0, min(below.min(), above.min())))

    def _best_in(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        place: FloatArray,
        prices: FloatArray,
    ) -> tuple[float, NDArray[np.int64], int] | None:
        """
        Return (price, indices (3,), orientation) of the cheapest reachable cell in a window; None without any.

        The price of a cell is its distance from ``place`` [m] plus the price of its orientation.

        :param low, high: (3,) first index of the window along each axis, and the first index after it.
        :param place: (3,) the position, in the base frame [m].
        :param prices: price of each orientation [m].
        """
        where = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
        status = self._store.array(STATUS)[where]
        cells = np.argwhere(status == CellStatus.REACHABLE)
        if not len(cells):
            return None
        index = low + cells[:, :3]
        totals = np.linalg.norm(self.grid.positions(index) - place, axis=1) + prices[cells[:, 3]]
        best = int(np.argmin(totals))
        return float(totals[best]), index[best], int(cells[best, 3])

    def _solve(self, targets: FloatArray) -> ReachResult:
        """Return the status of poses by the solver instead of the cells; distances and angles from cells are 0."""
        decided = self._arm.decide(targets)
        nothing = np.zeros(len(targets))
        return ReachResult(
            decided.status == CellStatus.REACHABLE,
            is_proved(decided.status),
            decided.branches,
            decided.status,
            np.zeros(len(targets), dtype=np.bool_),
            nothing,
            nothing,
        )

    @functools.cached_property
    def _arm(self) -> ReachArm:
        """Return the object that decides poses with the settings and shapes of this map; it is made once."""
        settings = ReachSettings(searches=bool(self.attributes['settings']['searches']))
        return make_arm(self.chain, settings, self._store.read_scene())

    def _nearest(self, targets: FloatArray) -> ReachResult:
        """
        Return the status of the cell nearest to each pose; NOT_ASKED for poses outside the grid.

        ``proved`` is True only if the pose equals the pose of the cell, up to rounding, and the status is certain.
        """
        grid, count = self.grid, len(targets)
        turns = quaternions_of(targets[:, :3, :3])
        turn = self._nearest_turns(turns)
        scaled = (targets[:, :3, 3] - grid.origin) / grid.step
        # Farther away than any map is as good as outside of this one, and fits into an integer.
        size = np.array(grid.shape[:3])
        index = np.rint(np.clip(scaled, -2.0, size + 1.0)).astype(np.int64)
        inside: NDArray[np.bool_] = np.all((index >= 0) & (index < size), axis=1)
        index = np.clip(index, 0, size - 1)
        cells = np.column_stack([index, turn])
        status = np.where(inside, self._reader(STATUS).gather(cells), CellStatus.NOT_ASKED)
        branches = np.where(inside, self._reader('branches').gather(cells), 0)
        distance = np.linalg.norm(targets[:, :3, 3] - grid.positions(index), axis=1)
        angle = angles_between(turns, grid.orientations[turn])
        is_cell = (distance <= SAME_POSITION) & (angle <= SAME_ANGLE)
        status, branches = status.astype(np.uint8), branches.astype(np.uint8)
        return ReachResult(
            status == CellStatus.REACHABLE,
            is_cell & is_proved(status),
            branches,
            status,
            self._disagree(scaled, turn, status) if count else np.zeros(0, dtype=np.bool_),
            distance,
            angle,
        )

    def _disagree(
        self, scaled: FloatArray, turn: NDArray[np.int64], status: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        """
        Return a mask (m,) of poses near a border: of the eight grid positions around, one has another status.

        The other status is compared with the status of the nearest position, at the nearest orientation. Positions
        outside the grid have the status NOT_ASKED.

        :param scaled: (m, 3) positions in grid steps from the first position.
        :param turn: (m,) index of the nearest orientation.
        :param status: (m,) status of the nearest cell.
        """
        size = np.array(self.grid.shape[:3])
        low = np.floor(np.clip(scaled, -2.0, size + 1.0)).astype(np.int64)
        disagree = np.zeros(len(status), dtype=np.bool_)
        for corner in CORNERS:
            index = low + corner
            inside = ((index >= 0) & (index < size)).all(axis=1)
            cells = np.column_stack([np.where(inside[:, None], index, 0), turn])
            there = self._reader(STATUS).gather(cells)
            disagree |= np.where(inside, there, CellStatus.NOT_ASKED) != status
        return disagree

    def _nearest_turns(self, turns: FloatArray) -> NDArray[np.int64]:
        """Return the index (m,) of the map's orientation that is nearest to each quaternion (m, 4)."""
        orientations = self.grid.orientations
        if len(orientations) <= FEW:
            nearest: NDArray[np.int64] = np.argmax(np.abs(turns @ orientations.T), axis=1)
            return nearest
        _, nodes = self._tree.query(turns)
        return np.asarray(nodes, dtype=np.int64) % len(orientations)

    @functools.cached_property
    def _tree(self) -> Any:
        """Return a k-d tree of the map's quaternions and their negatives, to find the nearest orientation."""
        # Imported late as in `orientations`: maps of few orientations have no tree.
        from scipy.spatial import cKDTree

        orientations = self.grid.orientations
        return cKDTree(np.concatenate([orientations, -orientations]))

    def _reader(self, name: str) -> '_CellReader':
        """Return the object that reads single cells of an array, made once for each array."""
        if name not in self._readers:
            self._readers[name] = _CellReader(self._store.array(name))
        return self._readers[name]


def _check_rigid(poses: FloatArray) -> None:
    """Raise InvalidTarget for a pose (m, 4, 4) that is not a rigid transform."""
    turns = poses[:, :3, :3]
    x, y, z = np.moveaxis(turns, 2, 0)
    gaps = np.abs(np.cross(x, y) - z).max(axis=1, initial=0.0)
    for one, other, product in ((x, x, 1.0), (y, y, 1.0), (x, y, 0.0)):
        gaps = np.maximum(gaps, np.abs(np.einsum('ij,ij->i', one, other) - product))
    if (gaps > LOOKED_UP_DEVIATION).any():
        bad = int(np.argmax(gaps > LOOKED_UP_DEVIATION))
        raise InvalidTarget(f'Pose {bad} is no rigid transform: {poses[bad].tolist()}.', pose=bad)


def measures_of(arrays: Iterable[str]) -> tuple[str, ...]:
    """
    Return the names of :data:`MEASURES` that a map with these arrays has, in their usual order.

    :param arrays: names of the arrays of the map.
    """
    available = {*SHARES, *arrays}
    return tuple(name for name in MEASURES if name in available)


def check_measure(name: str, arrays: Iterable[str]) -> None:
    """
    Raise InvalidOption if a map does not have a measure.

    :param name: name of the measure.
    :param arrays: names of the arrays of the map.
    :raises InvalidOption: naming the measures that the map has.
    """
    available = measures_of(arrays)
    if not isinstance(name, str) or name not in available:
        raise InvalidOption.unknown(
            f'The map has no measure {shown(name)}', shown(name), available
        )


def check_same_cells(first: Cells, second: Cells) -> None:
    """
    Raise InvalidOption unless two maps have the same grid; the size of their units may differ.

    :param first, second: the cells of both maps.
    :raises InvalidOption: if they differ, naming the difference, and for lists of poses.
    """
    first_settings, second_settings = first.as_mapping(), second.as_mapping()
    names = sorted(first_settings.keys() | second_settings.keys())
    different = [
        f'{name} {first_settings.get(name)}, not {second_settings.get(name)}'
        for name in names
        if name != 'unit_cells' and first_settings.get(name) != second_settings.get(name)
    ]
    if not different and isinstance(first, Grid) and isinstance(second, Grid):
        if np.array_equal(first.orientations, second.orientations):
            return
        different = ['other orientations']
    what = '; '.join(different) or 'these are lists of poses'
    raise InvalidOption(f'Maps are compared cell by cell: both need the same grid ({what}).')


def at_positions(
    name: str, status: NDArray[np.uint8], cells: NDArray[Any] | None = None
) -> FloatArray:
    """
    Return the value of a measure at each position, from the values of its orientations.

    For dexterity and ``unknown`` it is a share of all orientations. For ``status`` it is the most frequent status other
    than NOT_ASKED, the least number of equally frequent ones; NOT_ASKED without any. For other measures it is the
    largest value of reachable orientations; NaN if none is reachable.

    :param name: one of :data:`MEASURES`.
    :param status: (..., orientations) status of the cells.
    :param cells: values of the cells, of the same shape; None for shares and the status.
    """
    if cells is not None:
        reachable = status == CellStatus.REACHABLE
        largest = np.where(reachable, cells, -np.inf).max(axis=-1)
        values: FloatArray = np.where(reachable.any(axis=-1), largest, np.nan)
        return values
    if name == STATUS:
        asked = [
            cell_status for cell_status in CellStatus if cell_status is not CellStatus.NOT_ASKED
        ]
        counts = np.stack([(status == cell_status).sum(axis=-1) for cell_status in asked])
        most = np.array(asked, dtype=np.float64)[counts.argmax(axis=0)]
        return np.where(counts.any(axis=0), most, float(CellStatus.NOT_ASKED))
    wanted = CellStatus.REACHABLE if name == 'dexterity' else CellStatus.UNKNOWN
    share: FloatArray = (status == wanted).mean(axis=-1)
    return share


class _CellReader:
    """Reads single cells of a stored array; small arrays stay in memory, of large ones the chunks read last."""

    def __init__(self, array: Any) -> None:
        """Read the whole array if it has at most IN_MEMORY bytes; otherwise read nothing yet."""
        self._array = array
        self._whole = array[...] if array.nbytes <= IN_MEMORY else None
        self._blocks: OrderedDict[tuple[int, ...], NDArray[Any]] = OrderedDict()
        size = int(np.prod(array.chunks)) * array.dtype.itemsize
        self._kept = max(1, IN_MEMORY // size)

    def gather(self, cells: NDArray[np.int64]) -> NDArray[Any]:
        """
        Return the values (m,) of single cells.

        :param cells: (m, d) indices of the cells along the axes.
        """
        if self._whole is not None:
            flat = np.ravel_multi_index(tuple(cells.T), self._whole.shape)
            taken: NDArray[Any] = np.take(self._whole.reshape(-1), flat)
            return taken
        chunks = np.array(self._array.chunks)
        keys, key_numbers = np.unique(cells // chunks, axis=0, return_inverse=True)
        values = np.empty(len(cells), dtype=self._array.dtype)
        for number, key in enumerate(keys):
            rows = np.flatnonzero(key_numbers.ravel() == number)
            block = self._block(tuple(int(k) for k in key))
            values[rows] = block[tuple((cells[rows] - key * chunks).T)]
        return values

    def _block(self, key: tuple[int, ...]) -> NDArray[Any]:
        """
        Return the values of one chunk, from memory if it is one of the chunks read last.

        :param key: index of the chunk along each axis.
        """
        if key in self._blocks:
            self._blocks.move_to_end(key)
        else:
            self._blocks[key] = self._array.block(key)
            if len(self._blocks) > self._kept:
                self._blocks.popitem(last=False)
        return self._blocks[key]
