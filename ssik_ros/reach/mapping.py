"""
Make a reach map, or complete an interrupted one: decide its cells unit by unit and store the results.

:func:`make_plan` defines a map, :func:`estimate` tells its cost beforehand, and :func:`make_map` makes it. A cell is
one pose of the tip, and a unit is a block of cells that one process decides.
"""

from collections.abc import Callable
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidOption
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.cells import Decided, ReachArm, ReachSettings
from ssik_ros.reach.checked_cells import make_arm
from ssik_ros.reach.collisions.chain_scene import ChainScene
from ssik_ros.reach.engine import Progress, run_units, Workers
from ssik_ros.reach.grid import Cells, LARGEST_UNIT
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.storage.files import held_by_one_run, StoreError
from ssik_ros.reach.store import ALWAYS, FILLS, MapPlan, MapStore, STATUS

MEASURES = ('manipulability', 'limit_margin')
"""Arrays of the quality of postures."""
QUANTITIES = (*MEASURES, 'clearance', 'self_motions', 'branches')
"""Quantities that users may request; the branches are always there."""
COMPRESSED = 0.4
"""Share of its bytes that a cell takes on the disk, at most, about."""
SECONDS = {True: 5e-6, False: 7e-4}
"""Processor time of a cell, at most, about, where nothing was measured, by whether poses are decided side by side [s]."""


class Estimate(NamedTuple):
    """Estimated cost of making a map: cells, units, processor time, and disk space."""

    cells: int
    """Number of cells in the region, about."""
    units: int
    """Number of units, of which some may have no cell in the region."""
    seconds: float
    """Processor time [s]."""
    stored: float
    """Size on the disk [bytes]."""

    def __str__(self) -> str:
        """Return the estimate as text."""
        return (
            f'{self.cells:.3g} cells in {self.units:,} units, about {in_words(self.seconds)} of processor time and '
            f'{self.stored / 1e9:.3g} GB on the disk'
        )


class MapJob:
    """
    Decides units of a map and writes the results; a job of :mod:`ssik_ros.reach.engine`.

    It is small, because it is sent with each batch: it has only path and checksum. Each process reads arm and cells
    from the map once.
    """

    def __init__(self, store: MapStore) -> None:
        """
        Store path and checksum of a map.

        :param store: the map, whose folder every worker must see.
        :raises StoreError: if the folder is not a map.
        """
        self._path, self._made_of = store.path, store.made_of()

    def run(self, unit: int) -> NDArray[np.int64]:
        """
        Decide the cells of a unit, write the results, and return its number of cells (k,) for each :class:`CellStatus`.

        Raise StoreError if this process does not see the map or cannot write to it, or if the map was replaced
        meanwhile.
        """
        store = MapStore(self._path)
        if not (self._path / 'zarr.json').exists():
            raise StoreError(
                f"A worker does not see the map '{self._path}'; workers need a file system that they share."
            )
        if store.made_of() != self._made_of:
            raise StoreError(
                f"The map '{self._path}' was replaced while it was made; start again."
            )
        plan, arm = _prepare(self._path, self._made_of)
        cells, size = plan.cells, int(np.prod(plan.cells.chunks))
        values = {name: np.full(size, FILLS[name][1], FILLS[name][0]) for name in plan.arrays}
        for piece in cells.pieces(unit):
            decided: Decided = arm.decide(piece.poses)
            for name in plan.arrays:
                values[name][piece.places] = getattr(decided, name)
        store.write_unit(cells, unit, values)
        return _count_cells(values[STATUS])


@functools.lru_cache(maxsize=2)
def _prepare(path: Path, made_of: str) -> tuple[MapPlan, ReachArm]:
    """
    Return (plan of a map, object that decides its poses); results for the last two maps are cached.

    :param path: folder of the map.
    :param made_of: checksum of the map, only a key of the cache.
    """
    del made_of
    store = MapStore(path)
    saved = store.read_attributes()
    plan = MapPlan(
        store.read_chain(),
        saved['robot']['name'],
        store.read_cells(),
        tuple(saved['arrays']),
        saved['settings'],
        store.read_scene(),
    )
    return plan, make_arm(plan.chain, settings_of(plan), plan.scene)


def settings_of(plan: MapPlan) -> ReachSettings:
    """
    Return the settings for the object that decides the poses of a map, from the arrays that the map has.

    :param plan: the definition of the map.
    """
    return ReachSettings(
        measures=any(name in plan.arrays for name in MEASURES),
        searches=bool(plan.settings['searches']),
        clearance='clearance' in plan.arrays,
        self_motions='self_motions' in plan.arrays,
    )


def make_plan(
    chain: SerialChain,
    robot: str,
    cells: Cells,
    quantities: tuple[str, ...] = (),
    searches: bool = True,
    scene: ChainScene | None = None,
) -> MapPlan:
    """
    Return the definition of a map, after a check that the arm has the wanted quantities.

    :param chain: the chain of the arm.
    :param robot: name of the robot.
    :param cells: the poses to decide.
    :param quantities: names of further quantities to store, from :data:`QUANTITIES`.
    :param searches: whether a search follows if samples of a seven-joint arm give no posture.
    :param scene: shapes for collision checks; None for no checks.
    :raises InvalidOption: for unknown quantities or quantities that the arm does not have, and for a map that is too
        large.
    :raises SolverError: for collision checks without coal.
    """
    for name in quantities:
        if name not in (*QUANTITIES, *ALWAYS):
            raise InvalidOption.unknown(f"A map has no quantity '{name}'", name, QUANTITIES)
    arrays = tuple(name for name in FILLS if name in ALWAYS or name in quantities)
    plan = MapPlan(chain, robot, cells, arrays, {'searches': searches}, scene)
    # A quantity that the arm does not have is refused here, not by the first worker.
    make_arm(chain, settings_of(plan), scene)
    if np.prod(cells.chunks, dtype=float) > LARGEST_UNIT:
        raise InvalidOption(
            f'The map is too large: {estimate(plan)}. Take a wider grid, fewer orientations or a smaller region.',
            estimate=estimate(plan),
        )
    return plan


def estimate(plan: MapPlan, seconds: float | None = None) -> Estimate:
    """
    Return the number of cells and units of a map, and about how much processor time and disk space it takes.

    :param plan: the definition of the map.
    :param seconds: measured processor time for one cell [s]; None uses a typical upper value.
    """
    if seconds is None:
        seconds = SECONDS[ReachArm(plan.chain, ReachSettings()).is_fast]
    asked = plan.cells.asked()
    size = sum(np.dtype(FILLS[name][0]).itemsize for name in plan.arrays)
    return Estimate(
        asked, plan.cells.unit_count, seconds * asked, COMPRESSED * size * plan.cells.count
    )


def make_map(
    plan: MapPlan,
    path: Path,
    workers: Workers,
    report: Callable[[Progress, int], None] = lambda progress, units: None,
) -> NDArray[np.int64]:
    """
    Make a map, complete an interrupted one, or make lost units again; return the cells for each :class:`CellStatus`.

    A finished map is not computed again.

    :param plan: the definition of the map.
    :param path: folder of the map.
    :param workers: the processes that decide cells.
    :param report: called after each batch of units, with the progress and the number of units that this run makes.
    :raises SsikError: if the folder holds another map or anything else, if the disk is full, or if another run makes
        this map.
    :returns: (k,) number of cells of the whole map for each status; 0 for NOT_ASKED.
    """
    store = MapStore(path.absolute())
    store.create(plan)
    done = store.read_attributes().get('counts')
    if done is not None and next(store.missing(plan.cells), None) is None:
        return np.array(done)
    with held_by_one_run(store.path, 'map'):
        left = np.fromiter(store.missing(plan.cells), dtype=np.int64)
        counts, count = _count_others(store, plan.cells, left), len(left)
        if count:
            job, units = MapJob(store), map(int, left)
            counts += run_units(job, units, workers, lambda p: report(p, count), count)
        lost = next(store.missing(plan.cells), None)
        if lost is not None:
            raise StoreError(
                f"Unit {lost} of the map '{path}' was made, but is not there; workers need a file system that they "
                'share. Start the same command again: it goes on.'
            )
        store.finish(counts)
    return counts


def _count_others(store: MapStore, cells: Cells, left: NDArray[np.int64]) -> NDArray[np.int64]:
    """
    Return the number of cells (k,) for each status in the units that are already written.

    :param left: numbers of the units that are not yet written.
    """
    counts = np.zeros(len(CellStatus), dtype=np.int64)
    for unit in np.setdiff1d(np.fromiter(cells.units(), dtype=np.int64), left).tolist():
        counts += _count_cells(store.read_unit(STATUS, cells, unit))
    return counts


def _count_cells(status: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of cells for each :class:`CellStatus`, as an array; NOT_ASKED gets 0."""
    counts = np.bincount(status, minlength=len(CellStatus))
    counts[CellStatus.NOT_ASKED] = 0
    return counts


def in_words(seconds: float) -> str:
    """
    Return a time as text with a suitable unit, from seconds to years.

    :param seconds: the time [s].
    """
    for size, name in ((3.156e7, 'years'), (86400.0, 'days'), (3600.0, 'hours'), (60.0, 'min')):
        if seconds >= 2.0 * size:
            return f'{seconds / size:,.3g} {name}'
    return f'{seconds:.3g} s'
