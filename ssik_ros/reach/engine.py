"""
Independent units of work, done by this process, by all cores, or by a Dask cluster.

The engine knows units by their numbers alone. Short units are sent in batches: a scheduler takes milliseconds for a task, whatever
it holds. Only a few more batches than workers are under way at a time, so that neither the scheduler nor this process grows with the
map; a worker that is lost costs the batches that it had. What a unit writes depends neither on workers nor on batches.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
import contextlib
import itertools
import logging
import os
from pathlib import Path
import time
from typing import Any, NamedTuple, Protocol
import warnings

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidOption, SolverError, SsikError
from ssik_ros.reach.extras import import_extra
from ssik_ros.value_class import dataclass

AHEAD = 4
"""Batches under way for each worker."""
BATCH = 1.0
"""Shortest time that a batch shall take, about [s]."""
SCHEDULED = 0.016
"""The same for each worker [s]: four times what a scheduler takes for a task, so that it is busy for a quarter of the time."""
MOST_BATCHED = 4096
"""Units of the largest batches."""
MOST_WORKERS = 4096
LOSSES = 1000
"""Workers that a unit may lose before it counts as what ends them."""
LOGGERS = ('distributed', 'tornado', 'asyncio')
CONNECT = 10.0
"""How long to wait for a scheduler [s]."""
SETTINGS = {
    'distributed.scheduler.allowed-failures': LOSSES,
    'distributed.comm.timeouts.connect': f'{CONNECT:g}s',
    # A worker that was lost starts again, however long that takes on a busy machine; after the time of Dask it is given up.
    'distributed.deploy.lost-worker-timeout': '1 day',
    'distributed.logging.distributed': 'critical',
    # Nobody asks the web servers of a cluster that lives as long as a command.
    'distributed.scheduler.http.routes': [],
    'distributed.worker.http.routes': [],
    # Nor what it records about itself many times a second, on processors that units could use.
    'distributed.worker.profile.enabled': False,
    'distributed.admin.tick.interval': '1s',
    'distributed.admin.system-monitor.interval': '5s',
    'distributed.admin.system-monitor.gil.enabled': False,
    # No result stays on a worker, so that there are no copies to remove.
    'distributed.scheduler.active-memory-manager.start': False,
    # Dask's own threshold gives arrays back to the system after each piece of a unit, and asking again costs a third of its time.
    'distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_': 2**26,
    'distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_': 2**25,
}
"""Of Dask: no worker is given up, and the processors are left to the units."""


class BatchReport(NamedTuple):
    """What a batch of units says when it is done."""

    units: int
    """How many there were."""
    counts: NDArray[np.int64]
    """(k,) cells by their outcome."""
    seconds: float
    """Processor time [s]."""
    elapsed: float
    """Wall time [s]."""
    memory: int
    """Largest memory of the process so far [bytes]."""


class Job(Protocol):
    """Work in units, small: it is sent with each batch, and what is large is read by the process that does it."""

    def run(self, unit: int) -> NDArray[np.int64]:
        """
        Do a unit, and return the number of its cells by their outcome (k,).

        :param unit: its number.
        """
        ...


class Progress(NamedTuple):
    """How far a run is."""

    units: int
    """Done in this run."""
    cells: int
    """Done in this run."""
    processor: float
    """Processor time of all units [s]."""
    memory: int
    """Largest memory of a worker [bytes]."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work."""

    count: int | None = None
    """Processes on this machine; 0 for this process alone, None for one for each core."""
    scheduler: str | None = None
    """Address of a Dask scheduler, whose workers are asked instead."""

    def __post_init__(self) -> None:
        """Check the number."""
        if self.count is not None and not 0 <= self.count <= MOST_WORKERS:
            raise InvalidOption(f'There may be 0 to {MOST_WORKERS} workers, not {self.count}.')


def run_units(
    job: Job,
    units: Iterator[int],
    workers: Workers,
    report: Callable[[Progress], None] = lambda progress: None,
    left: int | None = None,
) -> NDArray[np.int64]:
    """
    Do units, and return the sum of their counts.

    :param job: what to do.
    :param units: their numbers; read as they are needed.
    :param workers: who does it.
    :param report: called after each batch.
    :param left: number of units, if known: the last batches are smaller, so that all workers end together.
    :raises SsikError: what a unit raises, and when no scheduler responds.
    """
    total, progress = np.zeros(0, dtype=np.int64), Progress(0, 0, 0.0, 0)
    with contextlib.closing(_reports(job, _Batches(units, left), workers)) as reports:
        for done in reports:
            total = done.counts if not total.size else total + done.counts
            progress = Progress(
                progress.units + done.units,
                progress.cells + int(done.counts.sum()),
                progress.processor + done.seconds,
                max(progress.memory, done.memory),
            )
            report(progress)
    return total


def run_batch(job: Job, units: Sequence[int]) -> BatchReport:
    """
    Do some units in this process.

    :param job: what to do.
    :param units: their numbers.
    """
    begun, clock = time.process_time(), time.monotonic()
    counts = np.sum([job.run(unit) for unit in units], axis=0)
    seconds, elapsed = time.process_time() - begun, time.monotonic() - clock
    return BatchReport(len(units), counts, seconds, elapsed, _largest_memory())


def _largest_memory() -> int:
    """Return the largest memory of this process so far [bytes]."""
    # Not getrusage: its figure begins with what the parent held when it started this process.
    lines = Path('/proc/self/status').read_text(encoding='ascii', errors='replace').splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith('VmHWM'))


class _Batches:
    """The units of a run, taken in batches whose size follows from what units have taken so far."""

    def __init__(self, units: Iterator[int], left: int | None) -> None:
        """Take the units, and how many there are."""
        self._units, self._left = units, left
        self._done, self._seconds = 0.0, 0.0

    def learn(self, report: BatchReport) -> None:
        """Remember how long units take."""
        # Each report counts half as much as the one after it: units differ from place to place.
        self._done, self._seconds = (
            0.5 * self._done + report.units,
            0.5 * self._seconds + report.elapsed,
        )

    def take(self, workers: int) -> tuple[int, ...]:
        """Return the next units, none at the end."""
        size, wanted = 1, max(BATCH, SCHEDULED * workers)
        if self._done:
            size = min(MOST_BATCHED, int(wanted * self._done / max(self._seconds, 1e-6)))
        if self._left is not None:
            size = min(size, self._left // (2 * AHEAD * max(1, workers)))
        units = tuple(itertools.islice(self._units, max(1, size)))
        self._left = None if self._left is None else self._left - len(units)
        return units


def _reports(job: Job, batches: _Batches, workers: Workers) -> Generator[BatchReport, None, None]:
    """Yield the reports of batches, in the order in which they are done."""
    first = batches.take(1)
    if not first:
        return
    if workers.scheduler is None and workers.count == 0:
        while first:
            yield run_batch(job, first)
            first = batches.take(1)
        return
    with _client(workers) as client:
        yield from _distributed(client, job, first, batches)


def _distributed(
    client: Any, job: Job, first: Sequence[int], batches: _Batches
) -> Iterator[BatchReport]:
    """Yield the reports of batches that the workers of a cluster do."""
    distributed, count = import_extra('distributed'), max(1, sum(client.ncores().values()))

    def send(units: Sequence[int]) -> Any:
        # The job goes with the units: what lies on workers is lost with them.
        return client.submit(run_batch, job, units, pure=False)

    more = (batches.take(count) for _ in range(AHEAD * count - 1))
    pending = distributed.as_completed(
        [send(units) for units in (first, *more) if units], raise_errors=False
    )
    try:
        for future in pending:
            report = _outcome(future)
            batches.learn(report)
            yield report
            units = batches.take(count)
            if units:
                pending.add(send(units))
    except (OSError, TimeoutError, distributed.client.FutureCancelledError) as error:
        if isinstance(error, SsikError):
            raise
        raise SolverError(
            f'The scheduler is gone ({error}); start the same command again: it goes on.'
        ) from error


def _outcome(future: Any) -> BatchReport:
    """Return the report of a batch, or raise the error that ended it."""
    if future.status == 'cancelled':
        raise SolverError('The scheduler is gone; start the same command again: it goes on.')
    report: BatchReport = future.result()
    return report


@contextlib.contextmanager
def _client(workers: Workers) -> Iterator[Any]:
    """Connect to a cluster, one of this machine where no other is named."""
    dask, distributed = import_extra('dask'), import_extra('distributed')
    with dask.config.set(SETTINGS), _silence(), contextlib.ExitStack() as stack:
        address: Any = workers.scheduler
        if address is None:
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings('ignore', 'Port .* is already in use')
            address = stack.enter_context(_local_cluster(distributed, workers.count))
        try:
            client = stack.enter_context(distributed.Client(address, timeout=CONNECT))
        except (OSError, TimeoutError, ValueError) as error:
            raise SolverError(
                f"No Dask scheduler answers at '{workers.scheduler}'; start one with `dask scheduler`, or leave "
                '--scheduler out.',
                scheduler=workers.scheduler,
            ) from error
        yield client


def _local_cluster(distributed: Any, count: int | None) -> Any:
    """Return a cluster of this machine."""
    try:
        return distributed.LocalCluster(
            n_workers=count or len(os.sched_getaffinity(0)),
            threads_per_worker=1,
            processes=True,
            host='127.0.0.1',
            dashboard_address=None,
            # The size of units bounds the memory; nothing is kept on workers.
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError as error:
        raise SolverError(
            'The worker processes did not start. In a script of yours, call this below `if __name__ == "__main__":`, '
            'or take Workers(0) to work without them.'
        ) from error


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep the log free of lost workers and closed connections: they are expected, and what matters is raised."""
    names = [*logging.root.manager.loggerDict, *LOGGERS]
    loggers = [logging.getLogger(name) for name in names if name.partition('.')[0] in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
