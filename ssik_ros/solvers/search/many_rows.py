"""Many questions of one kind: a few threads for a while, then one that waits for free slots among other searches."""

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
"""Rows that a thread takes at once."""
TOGETHER = 0.03
"""How long several threads may work for one request [s]; then it counts as a long one."""
MOST_THREADS = 4
FEWEST_ROWS = 2 * BLOCK
"""Below this many a second thread is not worth its making."""


class ManyAnswers(NamedTuple):
    """What was found for each of many targets."""

    positions: FloatArray
    """(m, n), NaN where nothing was found [rad or m]."""
    errors: FloatArray
    """(m, 2) what is left [m], [rad]; NaN where nothing was found."""
    solved: NDArray[np.bool_]
    """(m)."""

    @staticmethod
    def of_nobody(count: int, size: int) -> 'ManyAnswers':
        """
        Return answers in which nothing has been found yet.

        :param count: of targets.
        :param size: of an answer.
        """
        return ManyAnswers(
            np.full((count, size), np.nan),
            np.full((count, 2), np.nan),
            np.zeros(count, dtype=np.bool_),
        )


@runtime_checkable
class ManySolver(Protocol):
    """What a solver offers beside ``Solver`` when it answers many targets faster than one by one."""

    def solve_many(
        self, request: SolveRequest, targets: FloatArray, timeout: float | None = None
    ) -> ManyAnswers:
        """
        Answer a request for each of many targets as far as that is easy; the rest is for ``solve``.

        :param request: the question, without a validation; its own targets do not count.
        :param targets: (m, 4, 4) poses of the only tip in the base frame.
        :param timeout: for all of them together [s]; None for no end.
        """
        ...


class RowWork:
    """The rows that one thread is to solve, with the time that is left for each."""

    def __init__(self, answers: ManyAnswers, blocks: Iterator[range], stop: float, last: float):
        """
        Share blocks with other threads.

        :param answers: where answers go.
        :param blocks: of rows; each is taken by one thread.
        :param stop: when the request's time is over, by ``time.perf_counter``.
        :param last: when this thread is to begin no further block; infinite for the one that waits for the others.
        """
        self._answers = answers
        self._blocks = blocks
        self._stop = stop
        self._last = last
        self._alone_after = time.perf_counter() + TOGETHER

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Give rows, and the time that is left [ns], 0 for no end."""
        for turn, block in enumerate(self._blocks):
            now = time.perf_counter()
            has_slot = False
            if now > self._alone_after:
                has_slot = SEARCH_SLOTS.begin(turn, max(0.0, self._stop - now))
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
        Keep an answer.

        :param row: of the target.
        :param positions: (n).
        :param errors: (2).
        """
        self._answers.positions[row] = positions
        self._answers.errors[row] = errors
        self._answers.solved[row] = True


def solve_rows(
    count: int, size: int, work: Callable[[RowWork], None], timeout: float | None
) -> ManyAnswers:
    """
    Let threads solve rows; return what they found.

    :param count: of rows.
    :param size: of an answer.
    :param work: solves what it is handed out, called in each thread.
    :param timeout: for all rows together [s]; None for no end.
    """
    begun = time.perf_counter()
    stop = math.inf if timeout is None else begun + timeout
    answers = ManyAnswers.of_nobody(count, size)
    blocks = (range(first, min(first + BLOCK, count)) for first in itertools.count(0, BLOCK))
    shared = _Shared(itertools.takewhile(len, blocks))
    helpers = []
    if count >= FEWEST_ROWS:
        for _ in range(min(MOST_THREADS, processors()) - 1):
            part = RowWork(answers, shared, stop, begun + TOGETHER)
            helpers.append(threading.Thread(target=work, args=(part,), daemon=True))
    for helper in helpers:
        helper.start()
    try:
        work(RowWork(answers, shared, stop, math.inf))
    finally:
        for helper in helpers:
            helper.join()
    return answers


class _Shared(Iterator[range]):
    """Blocks that several threads take from one iterator."""

    def __init__(self, blocks: Iterator[range]) -> None:
        self._blocks = blocks
        self._lock = threading.Lock()

    def __next__(self) -> range:
        with self._lock:
            return next(self._blocks)
