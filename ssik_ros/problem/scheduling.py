"""
Scheduling of long searches: at most as many run at once as this process has processors.

A search that only its deadline can end would share a processor with everything else for its whole time. Therefore a
search that has not ended soon continues in slices, and waits for a free slot before each slice. The waiting search with
the fewest slices so far gets the next free slot, so short searches do not wait for hopeless ones.

Requests that wait to be handled have a queue of their own, :class:`RequestQueue`.
"""

import heapq
import itertools
import math
import os
import threading
import time
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

SLICE = 0.005
"""Approximate duration of one slice [s]."""
LONGEST_SLOT_WAIT = 0.05
"""Longest wait for a slot before the search checks its cancel flag again [s]."""


class SearchSlots:
    """Slots that limit how many searches run at once; any number of threads may use them."""

    def __init__(self, at_once: int) -> None:
        """
        Open a number of free slots.

        :param at_once: number of searches that may run at once.
        """
        self._lock = threading.Lock()
        self._running = 0
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self.at_once = at_once
        """Number of searches that may run at the same time; :meth:`allow` changes it."""

    def allow(self, at_once: int) -> None:
        """
        Change the number of slots; waiting searches take additional slots at once.

        :param at_once: number of slots.
        """
        with self._lock:
            self.at_once = at_once
            self._fill()

    def begin(self, slices: int, left: float) -> bool:
        """
        Wait for a free slot, at most LONGEST_SLOT_WAIT (0.05 s); return whether this search has got one.

        :meth:`end` gives the slot back. Of the waiting searches, those with the fewest slices go first.

        :param slices: number of slices that this search has had.
        :param left: time until the deadline of the search [s]; the wait is not longer.
        """
        with self._lock:
            if self._running < self.at_once and not self._waiting:
                self._running += 1
                return True
            place = (slices, next(self._numbers), threading.Event())
            heapq.heappush(self._waiting, place)
        if place[2].wait(min(left, LONGEST_SLOT_WAIT)):
            return True
        with self._lock:
            if place[2].is_set():
                return True
            self._waiting.remove(place)
            heapq.heapify(self._waiting)
        return False

    def end(self) -> None:
        """Give the slot back and wake the next waiting search."""
        with self._lock:
            self._running -= 1
            self._fill()

    def _fill(self) -> None:
        while self._waiting and self._running < self.at_once:
            self._running += 1
            heapq.heappop(self._waiting)[2].set()


class Slices:
    """
    The schedule of one long search, which runs in slices of about 5 ms and waits for a slot before each slice.

    A slice is a number of starts. The search begins without a slot. A wait ends with a slot, at the deadline of the
    search, or when the search is cancelled.
    """

    def __init__(self, slots: SearchSlots, most: int, begun: float, timeout_ns: int) -> None:
        """
        Take over a search that has begun without a slot.

        :param slots: shared by all searches.
        :param most: largest number of starts of the whole search.
        :param begun: when the search began, by ``time.perf_counter`` [s].
        :param timeout_ns: wall-clock budget of the search [ns]; 0 for no limit.
        """
        self._slots = slots
        self._most = most
        self._stop = begun + 1e-9 * timeout_ns if timeout_ns > 0 else math.inf
        self._count = 0
        self._has_slot = False
        self._spent = 0.0
        self._mark = begun
        self.limit = 0
        """Starts after which the present slice ends."""

    def pass_on(self, starts: int, cancel: NDArray[np.int64]) -> bool:
        """
        End a slice: give up the slot, wait for another, and set :attr:`limit` for the next slice.

        The limit is the number of starts of the whole search after which this slice ends. If the deadline passes or the
        search is cancelled during the wait, the limit permits one more start, which ends at once.

        :param starts: number of starts so far.
        :param cancel: (1,) flag that another thread sets to end the search.
        :returns: False if all starts are used up; else True.
        """
        if starts >= self._most:
            return False
        self._spent += time.perf_counter() - self._mark
        self.close()
        self._count += 1
        left = self._stop - time.perf_counter()
        while left > 0.0 and not cancel[0]:
            if self._slots.begin(self._count, left):
                self._has_slot = True
                break
            left = self._stop - time.perf_counter()
        self._mark = time.perf_counter()
        # Without a slot, the kernel ends the next start at its first step: the deadline has passed.
        stretch = int(starts * SLICE / max(self._spent, 1e-9)) if self._has_slot else 1
        self.limit = min(self._most, starts + max(1, stretch))
        return True

    def close(self) -> None:
        """Give the slot back, if this search has one."""
        if self._has_slot:
            self._has_slot = False
            self._slots.end()


RESPONSE_TIME = 0.0006
"""Least time of a response in addition to its search [s]; with many requests in flight, earlier ones take as long each."""
LONGEST_RESPONSE = 0.005
"""A response that took longer counts as this long [s]: one pause of the machine says nothing about the next response."""
LATEST_WEIGHT = 1.0 / 32.0
"""Weight of the latest response in the mean time of responses."""
LARGEST_RESERVE = 0.2
"""Largest part of a budget that a request leaves to the responses of other requests."""


Request = TypeVar('Request')


class RequestQueue(Generic[Request]):
    """
    Queue of requests that wait to be handled, in the order of arrival; any number of threads may use it.

    A request is late if its deadline has passed, or would pass while the other requests get their responses. Callers
    take late requests first, with :meth:`take_late`, because their response needs no search. They report the time of
    such responses to :meth:`note_response`: it depends on the machine and its load.
    """

    def __init__(self, most: int) -> None:
        """
        Make an empty queue.

        :param most: largest number of waiting requests.
        """
        self._most = most
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._requests: dict[int, Request] = {}
        self._deadlines: list[tuple[float, int, float]] = []
        """Deadline [s], number and budget [s] of each request that has a deadline, as a heap."""
        self._response_time = RESPONSE_TIME

    def note_response(self, seconds: float) -> None:
        """
        Update the mean time of responses without a search by the time of one response.

        Later responses have more weight. The time counts as at least RESPONSE_TIME and at most LONGEST_RESPONSE.

        :param seconds: from taking the request out of the queue to the sent response [s].
        """
        latest = min(max(seconds, RESPONSE_TIME), LONGEST_RESPONSE)
        self._response_time += LATEST_WEIGHT * (latest - self._response_time)

    def reserve(self, budget: float, others: int) -> float:
        """
        Return how long before its deadline a request has to end, to leave time for all other responses [s].

        It is at most a fifth of the budget, even if the other responses take longer.

        :param budget: from the arrival of the request to its deadline [s].
        :param others: number of other requests that wait or are being handled.
        """
        return min(others * self._response_time, LARGEST_RESERVE * budget)

    def __len__(self) -> int:
        """Return the number of waiting requests."""
        return len(self._requests)

    @property
    def room(self) -> int:
        """Return the number of further requests that may wait."""
        return max(0, self._most - len(self._requests))

    def put(self, request: Request, arrived: float, budget: float) -> None:
        """
        Append a request to the queue; the number of waiting requests is not checked, see :attr:`room`.

        :param request: the request.
        :param arrived: when it arrived, by ``time.monotonic`` [s].
        :param budget: time from then to its deadline [s]; ``math.inf`` without a deadline.
        """
        with self._lock:
            number = next(self._numbers)
            self._requests[number] = request
            if budget < math.inf:
                heapq.heappush(self._deadlines, (arrived + budget, number, budget))
            if len(self._deadlines) > 2 * self._most:
                # Drop the entries of requests that were handled long before their deadline.
                self._deadlines = [
                    entry for entry in self._deadlines if entry[1] in self._requests
                ]
                heapq.heapify(self._deadlines)

    def take(self) -> Request | None:
        """Remove and return the request that arrived first; None if no request waits."""
        with self._lock:
            if not self._requests:
                return None
            return self._requests.pop(next(iter(self._requests)))

    def take_late(self, now: float) -> Request | None:
        """
        Remove and return the waiting request with the earliest deadline if it is late; None otherwise.

        A request is late if its deadline comes before the other waiting requests can get their responses, see
        :meth:`reserve`. Requests with a later deadline are not looked at.

        :param now: reading of ``time.monotonic`` [s].
        """
        with self._lock:
            while self._deadlines:
                deadline, number, budget = self._deadlines[0]
                if number in self._requests:
                    others = len(self._requests) - 1
                    if now < deadline - self.reserve(budget, others):
                        return None
                    heapq.heappop(self._deadlines)
                    return self._requests.pop(number)
                heapq.heappop(self._deadlines)
            return None

    def clear(self) -> None:
        """Drop all waiting requests."""
        with self._lock:
            self._requests.clear()
            self._deadlines.clear()


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


SEARCH_SLOTS = SearchSlots(processors())
"""The slots of this process, shared by all searches of all solvers."""
