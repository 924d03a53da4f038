"""Statistics of the calls of a node's services, for ``/diagnostics``: :class:`CallRecords` makes a :class:`CallSummary`."""

from collections import deque
import math
import threading
from typing import NamedTuple

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from ssik_ros.results import Cause

OVERRUN_GOAL = 0.010
"""Overrun that at most one deadline miss in a hundred may exceed [s]."""
KEPT = 1000
"""Calls whose times count for quantiles."""
SUCCESS = int(MoveItErrorCodes.SUCCESS)
NO_CAUSE = Cause.NONE
REASONS = 5
"""Last reasons of failures that are kept."""
LONGEST_REASON = 300
"""Characters of a reason that are kept: requests may carry names of any length."""


class CallSummary(NamedTuple):
    """Statistics of the calls of one service since the node started; quantiles are of the last ``KEPT`` calls."""

    calls: int
    """Number of calls."""
    successes: int
    """Responses with SUCCESS, and all responses of services without codes."""
    deadline_misses: int
    """Failures whose search the clock ended; also batches in which the clock left a pose without a solution."""
    quantiles: tuple[float, float, float]
    """
    p50, p95 and p99 of the time in the node from the arrival of a request to its response [s].

    The last ``KEPT`` calls count; all three are 0 without calls.
    """
    overrun: tuple[float, float]
    """
    p50 and p99 of the time in the node from the deadline to the response [s], for the last deadline misses.

    Negative if searches ended before the deadline, to leave time for other responses. Both are 0 without such misses.
    """
    overruns_beyond_goal: int
    """Deadline misses, since the start, whose response came more than :data:`OVERRUN_GOAL` after the deadline."""
    reasons: tuple[str, ...]
    """Code, cause and text of the last ``REASONS`` failures, newest first."""


Call = tuple[float, MoveItErrorCodes | None, Cause, float | None]
"""Time [s], code (None for services without codes), cause, and the time after the deadline if the clock ended the search
[s]: NaN where the request has no deadline, None if the search ended by itself."""


class CallRecords:
    """Collects the calls of one service, and makes their statistics; several threads may use it at once."""

    def __init__(self) -> None:
        """Start without calls."""
        self._lock = threading.Lock()
        self.calls: deque[Call] = deque()
        """Calls to be counted later: a response does not wait for the statistics."""
        self._times: deque[float] = deque(maxlen=KEPT)
        self._overruns: deque[float] = deque(maxlen=KEPT)
        self._reasons: deque[str] = deque(maxlen=REASONS)
        self._calls = self._successes = self._late = self._beyond_goal = 0

    def count(self) -> None:
        """Add the calls collected in the list ``calls`` to the statistics, and empty the list."""
        with self._lock:
            self._count()

    def _count(self) -> None:
        for _ in range(len(self.calls)):
            seconds, code, cause, overrun = self.calls.popleft()
            self._times.append(seconds)
            self._calls += 1
            if overrun is not None:
                self._late += 1
                if not math.isnan(overrun):
                    self._overruns.append(overrun)
                    self._beyond_goal += overrun > OVERRUN_GOAL
            if code is None or code.val == SUCCESS:
                self._successes += 1
                continue
            name = '' if cause == NO_CAUSE else f' {cause.name}'
            text = f'{code.val}{name}: {getattr(code, "message", "")}'
            self._reasons.appendleft(text[:LONGEST_REASON])

    def summary(self) -> CallSummary:
        """
        Return the statistics of all calls until now.

        Quantiles are of the last :data:`KEPT` calls, the reasons of the last :data:`REASONS` failures.
        """
        with self._lock:
            self._count()
            times, overruns = list(self._times), list(self._overruns)
            reasons = tuple(self._reasons)
            counts = self._calls, self._successes, self._late
            beyond_goal = self._beyond_goal
        values = np.quantile(times, (0.5, 0.95, 0.99)).tolist() if times else [0.0] * 3
        late = np.quantile(overruns, (0.5, 0.99)).tolist() if overruns else [0.0] * 2
        return CallSummary(
            *counts,
            (values[0], values[1], values[2]),
            (late[0], late[1]),
            beyond_goal,
            reasons,
        )
