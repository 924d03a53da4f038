"""
Make data sets of poses with postures, branch labels and causes of failure, for machine learning.

The postures are the branches that the closed form finds; for seven joints, at samples of the held joint.
:func:`make_dataset` makes the data set that a :class:`DatasetPlan` defines. A unit is a block of samples, and the whole
data set is made unit by unit. Its bytes do not depend on the order.

How
    Each unit has its own generator of random numbers, seeded by the seed of the data set and the number of the
    unit. Each file of a unit is written under a temporary name and renamed when complete. If a run was interrupted,
    the next run makes the missing units. A folder with a data set of another plan is refused.
"""

from collections.abc import Callable
import json
import os
from pathlib import Path
import shutil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.atomic_files import drafted, write_whole
from ssik_ros.errors import InvalidOption, TopologyMismatch
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.engine import Progress, run_units, Workers
from ssik_ros.reach.orientations import quaternions_of
from ssik_ros.reach.storage.arrays import (
    chunk_file,
    encode,
    LEVEL,
    read_head,
    reason_of,
)
from ssik_ros.reach.storage.extras import import_extra
from ssik_ros.reach.storage.files import (
    explained,
    held_by_one_run,
    LARGEST_JSON,
    read_file,
    refuse_links,
    StoreError,
    WORK,
)
from ssik_ros.reach.store import hash_of_chain
from ssik_ros.reach.strata import draw, STRATA
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_request import PLAIN
from ssik_ros.solvers.closed_form.counting import count_branches
from ssik_ros.solvers.closed_form.held_proof import AbsenceCauses
from ssik_ros.solvers.closed_form.labels import label_branches
from ssik_ros.value_class import dataclass

FORMAT = 2
"""Of the rows: samples of two formats do not mix in one data set."""
UNIT = 4096
"""Samples of a unit."""
MOST_SAMPLES = 10**10
CAUSES = ('NONE', 'LIMITS', 'UNREACHABLE', 'UNKNOWN')
"""Why a sample has no posture, as :class:`ssik_ros.results.Cause`; UNKNOWN for NOT_FOUND: no posture was met, and none is proved."""
_CODES = np.full(max(Cause) + 1, CAUSES.index('UNKNOWN'), dtype=np.uint8)
_CODES[[Cause.NONE, Cause.LIMITS, Cause.UNREACHABLE]] = range(3)
FORMATS = ('parquet', 'zarr')
PLAN = 'dataset.json'
SIX, SEVEN = 16, 64
"""Rows for the postures of a sample in Zarr, for six joints and for seven; ``count`` says how many there are."""
EQUAL_SHARES = tuple(1.0 / len(STRATA) for _ in STRATA)


@dataclass(frozen=True, eq=False)
class DatasetPlan:
    """
    Definition of a data set: arm, number of samples, file format, shares of strata, and seed.

    It is sent to every process that makes units.
    """

    chain: SerialChain
    robot: str
    """Name of the robot."""
    samples: int
    kind: str = 'parquet'
    """``parquet`` or ``zarr``."""
    shares: tuple[float, ...] = EQUAL_SHARES
    """Share of each of :data:`STRATA`; they sum to one."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidOption for values that make no sense."""
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise InvalidOption(f'A data set has 1 to {MOST_SAMPLES:,} samples.')
        if self.kind not in FORMATS:
            raise InvalidOption.unknown(f"There is no format '{self.kind}'", self.kind, FORMATS)
        if len(self.shares) != len(STRATA) or not (
            min(self.shares) >= 0.0 and abs(sum(self.shares) - 1.0) < 1e-9
        ):
            given = ', '.join(f'{name} {share:g}' for name, share in zip(STRATA, self.shares))
            raise InvalidOption(f'Shares are 0 or more and sum to 1; they are not: {given}.')
        if self.seed < 0:
            raise InvalidOption('A seed is 0 or more.')

    @property
    def units(self) -> int:
        """Return the number of units: blocks of samples that are made and written one at a time."""
        return -(-self.samples // UNIT)

    def size_of(self, unit: int) -> int:
        """
        Return the number of samples of a unit; the last unit may have fewer than the others.

        :param unit: number of the unit, from 0.
        """
        return min(UNIT, self.samples - unit * UNIT)

    def as_mapping(self) -> dict[str, Any]:
        """Return the definition of the data set as a mapping that JSON can store, with a checksum of the arm."""
        chain = self.chain
        return {
            'format': FORMAT,
            'robot': {'name': self.robot, 'sha256': hash_of_chain(chain)},
            'base': chain.base_link,
            'tip': chain.tip_link,
            'joints': list(chain.joint_names),
            'samples': self.samples,
            'unit': UNIT,
            'kind': self.kind,
            'shares': dict(zip(STRATA, self.shares, strict=True)),
            'seed': self.seed,
            'causes': list(CAUSES),
        }


class PoseSamples(NamedTuple):
    """The m samples of one unit: poses with stratum, cause, and the postures within limits that were found."""

    strata: NDArray[np.uint8]
    """(m,) indices into :data:`STRATA`."""
    poses: FloatArray
    """(m, 7) positions [m] and unit quaternions x, y, z, w of the tip in the base link."""
    causes: NDArray[np.uint8]
    """(m,) indices into :data:`CAUSES`."""
    counts: IntArray
    """(m,) number of postures within the limits."""
    q: FloatArray
    """(k, n) postures, ordered by sample."""
    labels: NDArray[np.int8]
    """(k, 3) signs of shoulder, elbow and wrist; 0 where a class has none."""


class SampleMaker:
    """Makes the samples of units of one data set; each worker process makes its own object from the plan."""

    def __init__(self, plan: DatasetPlan) -> None:
        """
        Find the closed form of the arm.

        :param plan: the definition of the data set.
        :raises TopologyMismatch: for an arm without closed form.
        """
        self.plan, self._arm = plan, AnalyticArm(plan.chain)
        self._absence = AbsenceCauses(self._arm)

    def make(self, unit: int) -> PoseSamples:
        """
        Draw the poses of a unit, solve them, and return them as samples; the same at each call.

        :param unit: number of the unit, from 0.
        """
        plan, rng = self.plan, np.random.default_rng([self.plan.seed, unit])
        shares = np.array(plan.shares)
        drawn = draw(plan.chain, shares / shares.sum(), plan.size_of(unit), rng, self._reached)
        poses = np.hstack([drawn.poses[:, :3, 3], quaternions_of(drawn.poses[:, :3, :3])])
        matrices = np.ascontiguousarray(drawn.poses)
        branches = search_batch(self._arm, matrices, None, PLAIN, 1)
        causes = _CODES[self._absence.explain(matrices, branches.counts)]
        counts = np.maximum(branches.counts[:, search.COUNT], 0)
        labels = np.array(label_branches(self._arm.plan, branches.q), dtype=np.int8).reshape(-1, 3)
        return PoseSamples(drawn.strata, poses, causes, counts, branches.q, labels)

    def _reached(self, poses: FloatArray) -> NDArray[np.bool_]:
        """Return a mask (m,) of the poses (m, 4, 4) that have a posture within the limits."""
        is_some: NDArray[np.bool_] = (
            count_branches(self._arm, np.ascontiguousarray(poses)).counts > 0
        )
        return is_some


class DatasetJob:
    """Makes units of a data set and writes them to its folder; a job of :mod:`ssik_ros.reach.engine`."""

    def __init__(self, plan: DatasetPlan, path: Path) -> None:
        """
        Store plan and folder; the solver is made at the first unit.

        :param plan: the definition of the data set.
        :param path: folder of the data set, which every worker must see.
        """
        self._plan, self._path = plan, path
        self._maker: SampleMaker | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling without the solver, which the other process makes by itself."""
        return {**vars(self), '_maker': None}

    def run(self, unit: int) -> NDArray[np.int64]:
        """
        Make a unit, write it, and return its number of samples (4,) for each of CAUSES.

        Raise StoreError if this process does not see the folder of the data set, or cannot write to it.
        """
        if not (self._path / PLAN).exists():
            raise StoreError(
                f"A worker does not see the data set '{self._path}'; workers need a file system that they share."
            )
        if self._maker is None:
            self._maker = SampleMaker(self._plan)
        samples = self._maker.make(unit)
        with explained(self._path):
            if self._plan.kind == 'parquet':
                _write_parquet(self._path, unit, samples)
            else:
                _write_zarr(self._plan, self._path, unit, samples)
        return np.bincount(samples.causes, minlength=len(CAUSES))


def make_dataset(
    plan: DatasetPlan,
    path: Path,
    workers: Workers,
    report: Callable[[Progress, int], None] = lambda progress, units: None,
) -> NDArray[np.int64]:
    """
    Make a data set, or the missing units of an interrupted one; return how many samples of this run have each cause.

    :param plan: the definition of the data set.
    :param path: folder of the data set.
    :param workers: the processes that make units.
    :param report: called after each batch of units, with the progress and the number of units that this run makes.
    :returns: (4,) number of samples for each of CAUSES.
    :raises SsikError: for an arm without closed form, a folder with anything else, a data set that another run is
        making, and a full disk.
    """
    path = path.absolute()
    _check_closed_form(plan)
    with explained(path):
        _create(plan, path)
    with held_by_one_run(path, 'data set'):
        left = [unit for unit in range(plan.units) if not _is_done(plan, path, unit)]
        job, count = DatasetJob(plan, path), len(left)
        counts = run_units(job, iter(left), workers, lambda p: report(p, count), count)
        with explained(path):
            if plan.kind == 'parquet':
                shutil.rmtree(path / WORK)
    return counts if counts.size else np.zeros(len(CAUSES), dtype=np.int64)


def _check_closed_form(plan: DatasetPlan) -> None:
    """Raise TopologyMismatch for an arm without closed form."""
    try:
        AnalyticArm(plan.chain)
    except TopologyMismatch as error:
        raise TopologyMismatch(
            f"A data set has the postures of the closed form, and '{plan.robot}' has no closed form: {error}"
        ) from error


def _create(plan: DatasetPlan, path: Path) -> None:
    """
    Create the folder of an empty data set, or check that an existing data set has the same plan.

    Raise InvalidOption if its plan differs, and StoreError if the folder has anything else or is damaged.
    """
    file, text = path / PLAN, json.dumps(plan.as_mapping(), indent=2)
    if file.exists():
        refuse_links(path, 'data set')
        try:
            is_same = read_file(file, LARGEST_JSON) == text.encode()
        except ValueError as error:
            raise StoreError(f"'{file}' cannot be read: {error}.", path=path) from error
        if not is_same:
            raise InvalidOption(
                f"'{path}' is a data set of another robot or with other settings; write to another place."
            )
        if plan.kind == 'zarr':
            _check_zarr(plan, path)
        return
    if path.exists() and any(path.iterdir()):
        raise StoreError(
            f"'{path}' is there but is no data set; write to another place.", path=path
        )
    path.mkdir(parents=True, exist_ok=True)
    if plan.kind == 'zarr':
        _create_zarr(plan, path)
    # Last, so that a folder with a plan is whole.
    write_whole(file, text)


def _is_done(plan: DatasetPlan, path: Path, unit: int) -> bool:
    """
    Return whether a unit is already written.

    For Parquet its file marks it as done, for Zarr an empty file in the folder WORK.
    """
    mark = _part(path, unit) if plan.kind == 'parquet' else path / WORK / str(unit)
    return mark.exists()


def _part(path: Path, unit: int) -> Path:
    """Return the path of the Parquet file of a unit."""
    return path / f'part-{unit:07d}.parquet'


def _write_parquet(path: Path, unit: int, samples: PoseSamples) -> None:
    """Write the samples of a unit as one Parquet file, whole or not at all."""
    arrow, parquet = import_extra('pyarrow'), import_extra('pyarrow.parquet')
    offsets = np.concatenate([[0], np.cumsum(samples.counts)]).astype(np.int32)

    def rows(values: NDArray[Any], columns: int) -> Any:
        return arrow.FixedSizeListArray.from_arrays(arrow.array(values.ravel()), columns)

    table = arrow.table(
        {
            'stratum': arrow.array([STRATA[k] for k in samples.strata.tolist()]),
            'pose': rows(samples.poses, 7),
            'cause': arrow.array([CAUSES[k] for k in samples.causes.tolist()]),
            'q': arrow.ListArray.from_arrays(offsets, rows(samples.q, samples.q.shape[1])),
            'label': arrow.ListArray.from_arrays(offsets, rows(samples.labels, 3)),
        }
    )
    with drafted(_part(path, unit), path / WORK / f'{unit}-{os.getpid()}') as draft:
        parquet.write_table(table, draft, compression='zstd')


def _zarr_arrays(plan: DatasetPlan) -> dict[str, tuple[str, tuple[int, ...], Any]]:
    """
    Return, for each array of a Zarr data set by name, its data type, the shape of one sample, and its fill value.

    A sample has at most SIX or SEVEN postures (constants of this module), by the number of joints.
    """
    n = len(plan.chain.axes)
    most = SIX if n <= 6 else SEVEN
    return {
        'stratum': ('uint8', (), 0),
        'pose': ('float64', (7,), np.nan),
        'cause': ('uint8', (), 0),
        'count': ('int32', (), 0),
        'q': ('float64', (most, n), np.nan),
        'label': ('int8', (most, 3), 0),
    }


def _create_zarr(plan: DatasetPlan, path: Path) -> None:
    """Create the empty arrays of a Zarr data set."""
    zarr = import_extra('zarr')
    store = zarr.storage.LocalStore(str(path))
    zarr.create_group(store=store, zarr_format=3, overwrite=False)
    for name, (kind, shape, fill) in _zarr_arrays(plan).items():
        zarr.create_array(
            store=store,
            name=name,
            shape=(plan.samples, *shape),
            chunks=(UNIT, *shape),
            dtype=kind,
            fill_value=fill,
            compressors=zarr.codecs.ZstdCodec(level=LEVEL),
        )


def _check_zarr(plan: DatasetPlan, path: Path) -> None:
    """Raise StoreError if an array of an existing Zarr data set is damaged or does not fit the plan."""
    for name, (kind, shape, _) in _zarr_arrays(plan).items():
        try:
            head = read_head(path / name)
            if head[:3] != ((plan.samples, *shape), (UNIT, *shape), np.dtype(kind)):
                raise ValueError('it has another shape')
        except (OSError, ValueError) as error:
            raise StoreError(
                f"The array '{name}' of the data set '{path}' is damaged: {reason_of(error)}. Write to another place.",
                path=path,
            ) from error


def _write_zarr(plan: DatasetPlan, path: Path, unit: int, samples: PoseSamples) -> None:
    """
    Write a unit as one chunk of each Zarr array, then mark the unit as done.

    If a sample has more postures than the array has rows, the surplus is left out.
    """
    count, arrays = len(samples.counts), _zarr_arrays(plan)
    owners = np.repeat(np.arange(count), samples.counts)
    starts = np.cumsum(samples.counts) - samples.counts
    places = np.arange(len(owners)) - starts[owners]
    kept = places < arrays['q'][1][0]
    chunks = {
        name: np.full((UNIT, *shape), fill, dtype=kind)
        for name, (kind, shape, fill) in arrays.items()
    }
    chunks['stratum'][:count], chunks['pose'][:count] = samples.strata, samples.poses
    chunks['cause'][:count], chunks['count'][:count] = samples.causes, samples.counts
    chunks['q'][owners[kept], places[kept]] = samples.q[kept]
    chunks['label'][owners[kept], places[kept]] = samples.labels[kept]
    for name, values in chunks.items():
        file = chunk_file(path / name, (unit, *[0] * (values.ndim - 1)))
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = path / WORK / f'{name}-{unit}-{os.getpid()}'
        write_whole(file, encode(values, values.dtype), draft)
    (path / WORK / str(unit)).touch()
