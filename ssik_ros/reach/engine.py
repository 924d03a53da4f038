"""
Independent units of work, done by this process, by all cores, or by a Dask cluster.

The engine knows units by their numbers alone. Only a few more of them than workers are under way at a time, so that neither the
scheduler nor this process grows with the map; a worker that is lost costs the units that it had.
"""

from collections.abc import Callable, Generator, Iterator
import contextlib
import itertools
import logging
import os
import resource
import time
from typing import Any, NamedTuple, Protocol
import warnings

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidOption, SolverError, SsikError
from ssik_ros.reach.extras import import_extra
from ssik_ros.value_class import dataclass

AHEAD = 4
"""Units under way for each worker."""
MOST_WORKERS = 4096
LOSSES = 1000
"""Workers that a unit may lose before it counts as what ends them."""
LOGGERS = ('distributed', 'tornado', 'asyncio')
CONNECT = 10.0
"""How long to wait for a scheduler [s]."""


class UnitReport(NamedTuple):
    """What a unit says when it is done."""

    counts: NDArray[np.int64]
    """(k,) cells by their outcome."""
    seconds: float
    """Processor time [s]."""
    memory: int
    """Largest memory of the process so far [bytes]."""


class Job(Protocol):
    """Work in units, small: it is sent with each unit, and what is large is read by the process that does it."""

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
) -> NDArray[np.int64]:
    """
    Do units, and return the sum of their counts.

    :param job: what to do.
    :param units: their numbers; read as they are needed.
    :param workers: who does it.
    :param report: called after each unit.
    :raises SsikError: what a unit raises, and when no scheduler responds.
    """
    total, progress = np.zeros(0, dtype=np.int64), Progress(0, 0, 0.0, 0)
    with contextlib.closing(_reports(job, units, workers)) as reports:
        for done in reports:
            total = done.counts if not total.size else total + done.counts
            progress = Progress(
                progress.units + 1,
                progress.cells + int(done.counts.sum()),
                progress.processor + done.seconds,
                max(progress.memory, done.memory),
            )
            report(progress)
    return total


def run_unit(job: Job, unit: int) -> UnitReport:
    """
    Do one unit in this process.

    :param job: what to do.
    :param unit: its number.
    """
    begun = time.process_time()
    counts = job.run(unit)
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return UnitReport(counts, time.process_time() - begun, memory)


def _reports(
    job: Job, units: Iterator[int], workers: Workers
) -> Generator[UnitReport, None, None]:
    """Yield the reports of units, in the order in which they are done."""
    if workers.scheduler is None and workers.count == 0:
        yield from (run_unit(job, unit) for unit in units)
        return
    first = next(units, None)
    if first is None:
        return
    units = itertools.chain([first], units)
    with _client(workers) as client:
        yield from _distributed(client, job, units)


def _distributed(client: Any, job: Job, units: Iterator[int]) -> Iterator[UnitReport]:
    """Yield the reports of units that the workers of a cluster do."""
    distributed = import_extra('distributed')

    def send(unit: int) -> Any:
        # The job goes with the unit: what lies on workers is lost with them.
        return client.submit(run_unit, job, unit, pure=False)

    window = AHEAD * max(1, sum(client.ncores().values()))
    pending = distributed.as_completed(
        [send(unit) for unit in itertools.islice(units, window)], raise_errors=False
    )
    try:
        for future in pending:
            yield _outcome(future)
            for unit in itertools.islice(units, 1):
                pending.add(send(unit))
    except (OSError, TimeoutError, distributed.client.FutureCancelledError) as error:
        if isinstance(error, SsikError):
            raise
        raise SolverError(
            f'The scheduler is gone ({error}); start the same command again: it goes on.'
        ) from error


def _outcome(future: Any) -> UnitReport:
    """Return the report of a unit, or raise the error that ended it."""
    if future.status == 'cancelled':
        raise SolverError('The scheduler is gone; start the same command again: it goes on.')
    report: UnitReport = future.result()
    return report


@contextlib.contextmanager
def _client(workers: Workers) -> Iterator[Any]:
    """Connect to a cluster, one of this machine where no other is named."""
    dask, distributed = import_extra('dask'), import_extra('distributed')
    settings = {
        'distributed.scheduler.allowed-failures': LOSSES,
        'distributed.comm.timeouts.connect': f'{CONNECT:g}s',
        'distributed.logging.distributed': 'critical',
        # Nobody asks the web servers of a cluster that lives as long as a command.
        'distributed.scheduler.http.routes': [],
        'distributed.worker.http.routes': [],
    }
    with dask.config.set(settings), _silence(), contextlib.ExitStack() as stack:
        address: Any = workers.scheduler
        if address is None:
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings('ignore', 'Port .* is already in use')
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers.count or len(os.sched_getaffinity(0)),
                    threads_per_worker=1,
                    processes=True,
                    host='127.0.0.1',
                    dashboard_address=None,
                    # The size of units bounds the memory; nothing is kept on workers.
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
            )
        try:
            client = stack.enter_context(distributed.Client(address, timeout=CONNECT))
        except (OSError, TimeoutError, ValueError) as error:
            raise SolverError(
                f"No Dask scheduler answers at '{workers.scheduler}'; start one with `dask scheduler`, or leave "
                '--scheduler out.',
                scheduler=workers.scheduler,
            ) from error
        yield client


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
