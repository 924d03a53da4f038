"""A map, made or gone on with: its cells decided unit by unit and written to its store."""

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
    """Estimated cost of a map."""

    cells: int
    units: int
    seconds: float
    """Processor time [s]."""
    stored: float
    """Size on the disk [bytes]."""

    def __str__(self) -> str:
        """Return the estimate in words."""
        return (
            f'{self.cells:.3g} cells in {self.units:,} units, about {in_words(self.seconds)} of processor time and '
            f'{self.stored / 1e9:.3g} GB on the disk'
        )


class MapJob:
    """
    Decides the units of a map and writes them.

    It is small because it is sent with each unit: each process reads arm and cells from the map, once.
    """

    def __init__(self, store: MapStore) -> None:
        """
        Store path and checksum of the map for the workers.

        :param store: the map, which every worker sees.
        """
        self._path, self._made_of = store.path, store.made_of()

    def run(self, unit: int) -> NDArray[np.int64]:
        """Decide a unit, write it, and return its number of cells by :class:`CellStatus`."""
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
    """Return the plan of a map and the solver of its arm; a process keeps both for the last two maps."""
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
    Return the settings of the solver that decides the poses of a map.

    :param plan: of the map.
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
    Return the plan of a map.

    :param chain: the chain of the arm.
    :param robot: name of the robot.
    :param cells: the poses to decide.
    :param quantities: some of :data:`QUANTITIES`.
    :param searches: whether a search follows where samples of seven joints have met no posture.
    :param scene: shapes that postures must not touch; None where collisions do not matter.
    :raises InvalidOption: for other quantities, for some that the arm does not have, and for a map that is too large.
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
    Return the number of cells and units of a map, and the processor time and disk space that it takes, about.

    :param plan: of the map.
    :param seconds: processor time of a cell [s]; None where nothing was measured.
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
    Make a map, go on with one, or mend one that has lost files, and return the number of cells by :class:`CellStatus`.

    :param plan: of the map.
    :param path: folder of the map.
    :param workers: the processes that decide cells.
    :param report: called after each unit, with the number of units that this run has to do.
    :raises SsikError: for a map of something else, a full disk, and when another run works on it.
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
    """Return the number of cells of each status in all units but those that are left."""
    counts = np.zeros(len(CellStatus), dtype=np.int64)
    for unit in np.setdiff1d(np.fromiter(cells.units(), dtype=np.int64), left).tolist():
        counts += _count_cells(store.read_unit(STATUS, cells, unit))
    return counts


def _count_cells(status: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of cells by :class:`CellStatus`, with 0 for NOT_ASKED."""
    counts = np.bincount(status, minlength=len(CellStatus))
    counts[CellStatus.NOT_ASKED] = 0
    return counts


def in_words(seconds: float) -> str:
    """
    Return a time in words.

    :param seconds: [s].
    """
    for size, name in ((3.156e7, 'years'), (86400.0, 'days'), (3600.0, 'hours'), (60.0, 'min')):
        if seconds >= 2.0 * size:
            return f'{seconds / size:,.3g} {name}'
    return f'{seconds:.3g} s'
