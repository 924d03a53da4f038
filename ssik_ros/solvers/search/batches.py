"""
Solve many targets of one request: with up to four threads for the first 0.03 s, then with one thread.

After this time, the thread waits up to 0.05 s for a free search slot before each block of 32 targets, so that other
requests get their turn. Fewer than 64 targets are solved by one thread.
"""

from collections.abc import Callable, Iterator
import itertools
import math
import threading
import time
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.scheduling import processors, SEARCH_SLOTS

BLOCK = 32
"""Targets that a thread takes at once."""
TOGETHER = 0.03
"""Time during which several threads may work for one request [s]. After it, the request counts as long."""
MOST_THREADS = 4
FEWEST_ROWS = 2 * BLOCK
"""Fewest targets for which a second thread is started."""


class BatchResult(NamedTuple):
    """The solutions of many targets, one row for each target; rows without a solution are NaN."""

    positions: FloatArray
    """(m, n), NaN for targets without a solution [rad or m]."""
    errors: FloatArray
    """(m, 2) position error [m] and rotation error [rad]; NaN for targets without a solution."""
    solved: NDArray[np.bool_]
    """(m,) True for targets with a solution."""

    @staticmethod
    def empty(count: int, size: int) -> 'BatchResult':
        """
        Return a result without solutions.

        :param count: number of targets.
        :param size: number of joint variables.
        """
        return BatchResult(
            np.full((count, size), np.nan),
            np.full((count, 2), np.nan),
            np.zeros(count, dtype=np.bool_),
        )


@runtime_checkable
class BatchSolver(Protocol):
    """Interface of solvers that can solve many targets in one call, faster than one by one."""

    def solve_many(
        self, request: SolveRequest, targets: FloatArray, timeout: float | None = None
    ) -> BatchResult:
        """
        Return the solutions of a request for each of many targets, with little effort for each target.

        A hard target may stay unsolved; then call ``solve`` for this target.

        :param request: a request without a validation; its own targets are ignored.
        :param targets: (m, 4, 4) poses of the only tip in the base frame.
        :param timeout: time limit for all targets together [s]; None means no limit.
        """
        ...


class BatchWork:
    """
    The share of one thread in a batch: an iterator over the targets that the thread solves, each with the time left.

    :meth:`put` stores the solution of a target in the result that all threads share.
    """

    def __init__(self, result: BatchResult, blocks: Iterator[range], stop: float, last: float):
        """
        Set up the share of one thread.

        :param result: the result to write to; all threads of a batch get the same object.
        :param blocks: iterator over blocks of rows; all threads get the same iterator, and each block goes to one
            thread.
        :param stop: deadline of the request, by ``time.perf_counter`` [s]; infinite for no deadline.
        :param last: time by the same clock after which this thread begins no further block; infinite for the thread
            that waits for the others.
        """
        self._result = result
        self._blocks = blocks
        self._stop = stop
        self._last = last
        self._alone_after = time.perf_counter() + TOGETHER

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """
        Yield (row, nanoseconds until the deadline) of each target that this thread solves; 0 means no deadline.

        From 0.03 s after its creation on, the thread asks for a slot of :data:`SEARCH_SLOTS` before each block of up to
        32 targets. It waits at most 0.05 s for the slot, and then works without it. The iteration ends at the deadline.
        It also ends after a block if the time ``last`` of the constructor has passed.
        """
        for number, block in enumerate(self._blocks):
            now = time.perf_counter()
            has_slot = False
            if now > self._alone_after:
                has_slot = SEARCH_SLOTS.begin(number, max(0.0, self._stop - now))
            try:
                for row in block:
                    left = self._stop - time.perf_counter()
                    if left <= 0.0:
                        return
                    yield row, 0 if left == math.inf else max(1, int(1e9 * left))
            finally:
                if has_slot:
                    SEARCH_SLOTS.end()
            if time.perf_counter() > self._last:
                return

    def put(self, row: int, positions: FloatArray, errors: FloatArray) -> None:
        """
        Store the solution of one target in the result, and mark the target as solved.

        :param row: row of the target.
        :param positions: (n,) joint values [rad or m].
        :param errors: (2,) position [m] and rotation [rad] error.
        """
        self._result.positions[row] = positions
        self._result.errors[row] = errors
        self._result.solved[row] = True


def solve_batch(
    count: int, size: int, work: Callable[[BatchWork], None], timeout: float | None
) -> BatchResult:
    """
    Solve the rows of a batch, and return the result; unsolved rows are NaN.

    With at least 64 rows, up to four threads share the work for the first 0.03 s. After that, the other threads finish
    their blocks of up to 32 rows, and the calling thread goes on. With fewer rows, no other thread works.

    :param count: number of rows.
    :param size: number of joint variables.
    :param work: called once in each thread; iterates over its argument and stores each solution by ``put``.
    :param timeout: time limit for all rows together [s]; None means no limit.
    """
    begun = time.perf_counter()
    stop = math.inf if timeout is None else begun + timeout
    result = BatchResult.empty(count, size)
    blocks = (range(first, min(first + BLOCK, count)) for first in itertools.count(0, BLOCK))
    shared = _Shared(itertools.takewhile(len, blocks))
    helpers = []
    if count >= FEWEST_ROWS:
        for _ in range(min(MOST_THREADS, processors()) - 1):
            part = BatchWork(result, shared, stop, begun + TOGETHER)
            helpers.append(threading.Thread(target=work, args=(part,), daemon=True))
    for helper in helpers:
        helper.start()
    try:
        work(BatchWork(result, shared, stop, math.inf))
    finally:
        for helper in helpers:
            helper.join()
    return result


class _Shared(Iterator[range]):
    """An iterator over blocks of rows that several threads may advance; each block goes to one thread."""

    def __init__(self, blocks: Iterator[range]) -> None:
        self._blocks = blocks
        self._lock = threading.Lock()

    def __next__(self) -> range:
        with self._lock:
            return next(self._blocks)
