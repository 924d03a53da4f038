"""What the services have done: calls, times, codes and reasons, for ``/diagnostics``."""

from collections import deque
from collections.abc import Callable
import threading
import time
from typing import Any, NamedTuple

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from ssik_ros.results import Cause

KEPT = 1000
"""Calls whose times count for quantiles."""
SUCCESS = int(MoveItErrorCodes.SUCCESS)
NO_CAUSE = Cause.NONE
REASONS = 5
"""Last reasons of failures that are kept."""
LONGEST_REASON = 300
"""Characters of a reason that are kept: requests may carry names of any length."""


class CallSummary(NamedTuple):
    """What one service has done."""

    calls: int
    successes: int
    """Answers that were SUCCESS, and therefore verified."""
    deadline_misses: int
    """Answers that the clock ended before a solution, or before all of them."""
    quantiles: tuple[float, float, float]
    """p50, p95, p99 of the time from request to answer within the node [s], of the last calls."""
    reasons: tuple[str, ...]
    """Of the last failures, newest first."""


class _Present(threading.local):
    """What a handler has said about the request that its thread is answering."""

    cause = Cause.NONE
    is_late = False


_PRESENT = _Present()


def note_cause(cause: Cause, clock_ended: bool = False) -> None:
    """
    Say why the request that this thread is answering, or a part of it, has no answer.

    :param cause: why; NONE where it has one.
    :param clock_ended: whether it was the clock that ended the search, whatever it had found until then.
    """
    present = _PRESENT
    present.cause = cause
    present.is_late = cause != NO_CAUSE and (clock_ended or cause == Cause.DEADLINE)


class CallRecords:
    """Records of one service; may be used by several threads at once."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._fresh: deque[tuple[float, MoveItErrorCodes | None, Cause, bool]] = deque()
        """Calls that nobody has counted yet: that takes longer than to note them, and the answer waits for it."""
        self._times: deque[float] = deque(maxlen=KEPT)
        self._reasons: deque[str] = deque(maxlen=REASONS)
        self._calls = self._successes = self._late = 0

    def timed(self, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """
        Return a handler that does the same and is recorded.

        :param handler: called with request and response.
        """

        def handle(request: Any, response: Any) -> Any:
            present = _PRESENT
            present.cause, present.is_late = NO_CAUSE, False
            start = time.perf_counter()
            answer = handler(request, response)
            seconds = time.perf_counter() - start
            code = getattr(answer, 'error_code', None)
            self.take(seconds, code, present.cause, present.is_late)
            return answer

        return handle

    def take(
        self,
        seconds: float,
        code: MoveItErrorCodes | None,
        cause: Cause = Cause.NONE,
        is_late: bool = False,
    ) -> None:
        """
        Record one call.

        :param seconds: it took.
        :param code: of the answer; None for services that have none.
        :param cause: why there is no answer.
        :param is_late: whether the clock ended the search.
        """
        self._fresh.append((seconds, code, cause, is_late))
        # A failure is counted at once, for its message may be long.
        if len(self._fresh) >= KEPT or (code is not None and code.val != SUCCESS):
            with self._lock:
                self._count()

    def _count(self) -> None:
        """Count the calls that are noted; one thread at a time."""
        for _ in range(len(self._fresh)):
            seconds, code, cause, is_late = self._fresh.popleft()
            self._times.append(seconds)
            self._calls += 1
            self._late += is_late
            if code is None or code.val == SUCCESS:
                self._successes += 1
                continue
            name = '' if cause == NO_CAUSE else f' {cause.name}'
            text = f'{code.val}{name}: {getattr(code, "message", "")}'
            self._reasons.appendleft(text[:LONGEST_REASON])

    def summary(self) -> CallSummary:
        """Return what was recorded."""
        with self._lock:
            self._count()
            times, reasons = list(self._times), tuple(self._reasons)
            counts = self._calls, self._successes, self._late
        values = np.quantile(times, (0.5, 0.95, 0.99)).tolist() if times else [0.0] * 3
        return CallSummary(
            *counts,
            (values[0], values[1], values[2]),
            reasons,
        )
