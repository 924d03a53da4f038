"""
Run independent, numbered units of work: in this process, on all cores, or on a Dask cluster.

:func:`run_units` runs the units of a :class:`Job` in the processes that :class:`Workers` chooses. An example of a unit
is a block of poses of a reach map.

Short units are sent in batches, because a scheduler takes milliseconds for each task. At most four batches for each
worker of a cluster are under way at a time, and one for each process of this machine. So the memory of scheduler and
this process does not grow with the number of units. If a worker is lost, only its batches are repeated. The output of a
unit depends neither on workers nor on batches.

The worker processes of this machine open no network port. Each has one end of a socket pair without a name, so that no
other program can send it work. A Dask scheduler runs the code of everybody who reaches its port; it is used only if the
caller names one.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
import contextlib
import itertools
import logging
from multiprocessing.connection import Connection, Pipe, wait
import os
from pathlib import Path
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidOption, SolverError, SsikError
from ssik_ros.reach.storage.extras import import_extra
from ssik_ros.value_class import dataclass

AHEAD = 4
"""Batches under way for each worker."""
BATCH = 1.0
"""Shortest time that a batch shall take, about [s]."""
SCHEDULED = 0.016
"""
Shortest time of a batch for each worker [s].

It is four times the time that a scheduler takes for a task, so that the scheduler is busy for a quarter of the time.
"""
MOST_BATCHED = 4096
"""Units of the largest batches."""
MOST_WORKERS = 4096
LOSSES = 1000
"""Workers that may be lost with a unit before the unit counts as the cause."""
LOGGERS = ('distributed', 'tornado', 'asyncio')
CONNECT = 10.0
"""Longest wait for a scheduler [s]."""
SETTINGS = {
    'distributed.scheduler.allowed-failures': LOSSES,
    'distributed.comm.timeouts.connect': f'{CONNECT:g}s',
    'distributed.logging.distributed': 'critical',
}
"""Of Dask: no worker is given up."""
WORKER = 'import sys; sys.path[:] = sys.argv[2:]; from ssik_ros.reach.engine import serve; serve(int(sys.argv[1]))'
"""Program of a worker process; it imports nothing from the current folder that this process would not import."""
SURROUNDINGS = {
    'MALLOC_TRIM_THRESHOLD_': str(2**26),
    'MALLOC_MMAP_THRESHOLD_': str(2**25),
    'OMP_NUM_THREADS': '1',
    'OPENBLAS_NUM_THREADS': '1',
    'MKL_NUM_THREADS': '1',
}
"""Environment of a worker: one core each, and memory that stays between the pieces of a unit; asking again costs a third of its time."""


class BatchReport(NamedTuple):
    """Report of a finished batch of units: counts of outcomes, times, and memory."""

    units: int
    """Number of units."""
    counts: NDArray[np.int64]
    """(k,) number of cells with each outcome of the job."""
    seconds: float
    """Processor time [s]."""
    elapsed: float
    """Wall time [s]."""
    memory: int
    """Largest memory of the process so far [bytes]."""


class Job(Protocol):
    """
    Interface of work that consists of numbered, independent pieces, called units.

    A job is pickled and sent with each batch, so it must be small. Large data is read by the process that does the
    work.
    """

    def run(self, unit: int) -> NDArray[np.int64]:
        """
        Do one unit; return how many of its cells have each outcome (k,).

        :param unit: number of the unit.
        """
        ...


class Progress(NamedTuple):
    """Progress of a run so far: units and cells done, processor time, and memory."""

    units: int
    """Units done in this run."""
    cells: int
    """Cells done in this run."""
    processor: float
    """Processor time of all units [s]."""
    memory: int
    """Largest memory of a worker [bytes]."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Choice of the processes that compute the units: this process, processes of this machine, or a Dask cluster."""

    count: int | None = None
    """Processes on this machine; 0 to work in this process, None for one process per core."""
    scheduler: str | None = None
    """Address of a Dask scheduler, whose workers do the units instead; ``count`` is not used then."""

    def __post_init__(self) -> None:
        """Raise InvalidOption if the number of processes is negative or above MOST_WORKERS."""
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
    Do units of a job, and return the sum of their counts (k,); an empty array without units.

    An exception of a unit ends the run and passes through.

    :param job: the work.
    :param units: the numbers of the units, read as they are needed.
    :param workers: the processes that do the units.
    :param report: called with the progress after each batch.
    :param left: number of units, if known: the last batches are smaller, so that all workers end together.
    :raises SsikError: if a unit raises one, if a worker process ends by itself, or if the scheduler does not respond.
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
    Do some units one after the other in this process; return their counts, times and memory.

    :param job: the work.
    :param units: numbers of the units.
    """
    begun, clock = time.process_time(), time.monotonic()
    counts = np.sum([job.run(unit) for unit in units], axis=0)
    seconds, elapsed = time.process_time() - begun, time.monotonic() - clock
    return BatchReport(len(units), counts, seconds, elapsed, _largest_memory())


def _largest_memory() -> int:
    """Return the peak resident memory of this process [bytes]."""
    # Not getrusage: its figure begins with the memory of the parent when it started this process.
    lines = Path('/proc/self/status').read_text(encoding='ascii', errors='replace').splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith('VmHWM'))


class _Batches:
    """
    Divides the units of a run into batches that take about the same time, by the times of earlier units.

    Without such times, a batch has one unit; near the end of the run, batches become smaller.
    """

    def __init__(self, units: Iterator[int], left: int | None) -> None:
        """Store the units and their number ``left``; None if the number is unknown."""
        self._units, self._left = units, left
        self._done, self._seconds = 0.0, 0.0

    def learn(self, report: BatchReport) -> None:
        """Update the estimated time of a unit from the report of a finished batch; recent batches count more."""
        # Each report counts half as much as the one after it: units differ from place to place.
        self._done, self._seconds = (
            0.5 * self._done + report.units,
            0.5 * self._seconds + report.elapsed,
        )

    def take(self, workers: int) -> tuple[int, ...]:
        """
        Return the numbers of the units of the next batch; an empty tuple if no unit is left.

        :param workers: number of workers that share the units.
        """
        size, wanted = 1, max(BATCH, SCHEDULED * workers)
        if self._done:
            size = min(MOST_BATCHED, int(wanted * self._done / max(self._seconds, 1e-6)))
        if self._left is not None:
            size = min(size, self._left // (2 * AHEAD * max(1, workers)))
        units = tuple(itertools.islice(self._units, max(1, size)))
        self._left = None if self._left is None else self._left - len(units)
        return units


def _reports(job: Job, batches: _Batches, workers: Workers) -> Generator[BatchReport, None, None]:
    """Do all batches with the chosen workers; yield the report of each batch when it is finished."""
    first = batches.take(1)
    if not first:
        return
    if workers.scheduler is None and workers.count == 0:
        while first:
            yield run_batch(job, first)
            first = batches.take(1)
        return
    if workers.scheduler is None:
        yield from _own_reports(job, first, batches, workers.count or len(os.sched_getaffinity(0)))
        return
    with _client(workers.scheduler) as client:
        yield from _distributed(client, job, first, batches)


def serve(descriptor: int) -> None:
    """
    Do the batches that arrive on a pipe, and send back reports or errors: the main loop of a worker process.

    The process exits when the other end of the pipe is closed.

    :param descriptor: file descriptor of the worker's end of the pipe.
    """
    pipe, waiting = Connection(descriptor), queue.SimpleQueue[Any]()

    def receive() -> None:
        try:
            while True:
                waiting.put(pipe.recv())
        except (EOFError, OSError):
            # The first process has ended, for whatever reason, so that the results of this one are not needed.
            os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    while True:
        with contextlib.suppress(OSError):
            pipe.send(_try_batch(*waiting.get()))


def _try_batch(job: Job, units: Sequence[int]) -> BatchReport | Exception:
    """
    Do a batch and return its report, or the exception that it raised.

    An exception that cannot be pickled is replaced by a SolverError with its text.
    """
    try:
        return run_batch(job, units)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return SolverError(f'A unit ended with {type(error).__name__}: {error}')
        return error


class _Worker:
    """A worker process of this machine, with the pipe to it and the units that it works on."""

    def __init__(self) -> None:
        """Start a worker process, connected to this one by a pipe."""
        self.pipe, other = Pipe()
        program = [sys.executable, '-c', WORKER, str(other.fileno())]
        path = [folder or os.getcwd() for folder in sys.path]
        # Ctrl+C goes to all processes of a terminal; the first one ends the others.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                [*program, *path],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env=os.environ | SURROUNDINGS,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            other.close()
        self.units: Sequence[int] = ()
        """Units of the batch that the process has."""

    def send(self, job: Job, units: Sequence[int]) -> None:
        """Send a batch to the process; if the process has ended, do nothing."""
        self.units = units
        # A process that has ended is noticed where its report is read.
        with contextlib.suppress(OSError):
            self.pipe.send((job, units))

    def close(self) -> None:
        """Kill the process and wait for its end."""
        self.pipe.close()
        self._process.kill()
        self._process.wait()

    def exit_code(self) -> int:
        """Wait until the process has ended, and return its exit code; -n if signal n ended it."""
        self.pipe.close()
        return self._process.wait()


def _own_reports(
    job: Job, first: Sequence[int], batches: _Batches, count: int
) -> Generator[BatchReport, None, None]:
    """
    Do all batches with ``count`` new processes of this machine; yield the report of each batch when it is finished.

    A process that is lost is replaced and its batch is repeated. The first exception of a unit is raised.

    :param first: the first batch, taken already.
    """
    workers: dict[Any, _Worker] = {}
    losses: dict[int, int] = {}

    def give(worker: _Worker, units: Sequence[int]) -> None:
        workers[worker.pipe] = worker
        worker.send(job, units)

    try:
        units = first
        while units and len(workers) < count:
            give(_Worker(), units)
            units = batches.take(count)
        more = [units] if units else []
        while workers:
            for pipe in wait(list(workers)):
                worker = workers[pipe]
                try:
                    report = worker.pipe.recv()
                except (EOFError, OSError):
                    del workers[pipe]
                    _count_loss(worker, losses)
                    give(_Worker(), worker.units)
                    continue
                if isinstance(report, Exception):
                    raise report
                batches.learn(report)
                yield report
                units = more.pop() if more else batches.take(count)
                if units:
                    worker.send(job, units)
                else:
                    workers.pop(pipe).close()
    finally:
        for worker in workers.values():
            worker.close()


def _count_loss(worker: _Worker, losses: dict[int, int]) -> None:
    """
    Count in ``losses`` that a worker process was lost at its first unit.

    Raise SolverError if the process was not ended by a signal, or after LOSSES losses at the same unit: a new process
    would not help.
    """
    code, unit = worker.exit_code(), worker.units[0]
    losses[unit] = losses.get(unit, 0) + 1
    if code >= 0 or losses[unit] > LOSSES:
        raise SolverError(
            f'A worker process ended with code {code} at unit {unit}. Start the same command again: it goes on; '
            '`--workers 0` (Workers(0) in Python) works in one process and shows the error.',
            code=code,
            unit=unit,
        )


def _distributed(
    client: Any, job: Job, first: Sequence[int], batches: _Batches
) -> Iterator[BatchReport]:
    """
    Do all batches with the workers of a Dask cluster; yield the report of each batch when it is finished.

    Raise SolverError if the scheduler is gone.

    :param first: the first batch, taken already.
    """
    distributed, count = import_extra('distributed'), max(1, sum(client.ncores().values()))

    def send(units: Sequence[int]) -> Any:
        # The job is sent with the units, because data kept on a worker is lost with the worker.
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
    """
    Return the report of a batch that a cluster has finished, or raise the error that ended it.

    Raise SolverError if the scheduler is gone.
    """
    if future.status == 'cancelled':
        raise SolverError('The scheduler is gone; start the same command again: it goes on.')
    report: BatchReport = future.result()
    return report


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    """
    Connect to a Dask scheduler for the ``with`` block, and yield the client.

    Raise SolverError if no scheduler responds at this address.
    """
    dask, distributed = import_extra('dask'), import_extra('distributed')
    with dask.config.set(SETTINGS), _silence(), contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(distributed.Client(scheduler, timeout=CONNECT))
        except (OSError, TimeoutError, ValueError) as error:
            raise SolverError(
                f"No Dask scheduler responds at '{scheduler}'; start one with `dask scheduler`, or leave "
                '--scheduler out.',
                scheduler=scheduler,
            ) from error
        yield client


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence the loggers of Dask in the ``with`` block: lost workers are expected, and real failures are raised."""
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
