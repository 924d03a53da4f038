"""
Long searches take turns: at most as many run at once as there are processors for them.

A search that only the clock can end would share a processor with everything else for its whole time, and sixteen of
them would leave the others a ninth of it on two processors. So a search that has not ended soon goes on in slices, each
when it is its turn; who has had the fewest slices is next, so that those who need a few do not wait for the hopeless.
"""

import heapq
import itertools
import math
import os
import threading
import time

import numpy as np
from numpy.typing import NDArray

SLICE = 0.005
"""About the time between two turns of a search that nobody waits for [s]."""
PATIENCE = 0.05
"""A search that waits comes back after this, for its caller may have cancelled it [s]."""


class SearchTurns:
    """Who may search; may be used by any number of threads."""

    def __init__(self, at_once: int) -> None:
        """
        Let some searches run.

        :param at_once: how many.
        """
        self._lock = threading.Lock()
        self._at_once = at_once
        self._running = 0
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, threading.Event]] = []

    @property
    def at_once(self) -> int:
        """Return how many searches may run."""
        return self._at_once

    def allow(self, at_once: int) -> None:
        """
        Let another number of searches run from now on.

        :param at_once: how many.
        """
        with self._lock:
            self._at_once = at_once
            self._call_next()

    def begin(self, slices: int, left: float) -> bool:
        """
        Wait for a turn; return whether it has come, and :meth:`end` is to be called.

        :param slices: how many turns this search has had.
        :param left: time until its deadline [s]; it is over then, and comes back without a turn.
        """
        with self._lock:
            if self._running < self._at_once and not self._waiting:
                self._running += 1
                return True
            place = (slices, next(self._numbers), threading.Event())
            heapq.heappush(self._waiting, place)
        if place[2].wait(min(left, PATIENCE)):
            return True
        with self._lock:
            if place[2].is_set():
                return True
            self._waiting.remove(place)
            heapq.heapify(self._waiting)
        return False

    def end(self) -> None:
        """Let the next one search."""
        with self._lock:
            self._running -= 1
            self._call_next()

    def _call_next(self) -> None:
        while self._waiting and self._running < self._at_once:
            self._running += 1
            heapq.heappop(self._waiting)[2].set()


class Slices:
    """The slices of one search."""

    def __init__(self, turns: SearchTurns, most: int, begun: float, timeout_ns: int) -> None:
        """
        Go on with a search that has begun without waiting for anybody.

        :param turns: shared by all searches.
        :param most: starts of the whole search.
        :param begun: when it began, by ``time.perf_counter``.
        :param timeout_ns: its wall-clock budget [ns]; 0 for none.
        """
        self._turns = turns
        self._most = most
        self._stop = begun + 1e-9 * timeout_ns if timeout_ns > 0 else math.inf
        self._count = 0
        self._has_turn = False
        self._spent = 0.0
        self._mark = begun
        self.limit = 0
        """Starts after which the present slice ends."""

    def pass_on(self, starts: int, cancel: NDArray[np.int64]) -> bool:
        """
        Let others search; return whether this search is to go on, with a new :attr:`limit`.

        :param starts: starts so far.
        :param cancel: (1) flag that ends the search.
        """
        if starts >= self._most:
            return False
        self._spent += time.perf_counter() - self._mark
        self.close()
        self._count += 1
        left = self._stop - time.perf_counter()
        while left > 0.0 and not cancel[0]:
            if self._turns.begin(self._count, left):
                self._has_turn = True
                break
            left = self._stop - time.perf_counter()
        self._mark = time.perf_counter()
        # Without a turn the next start finds at its first step that it is over.
        stretch = int(starts * SLICE / max(self._spent, 1e-9)) if self._has_turn else 1
        self.limit = min(self._most, starts + max(1, stretch))
        return True

    def close(self) -> None:
        """Give up the turn."""
        if self._has_turn:
            self._has_turn = False
            self._turns.end()


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


TURNS = SearchTurns(processors())
"""Of this process: it is the processors that are scarce, whoever asks."""
