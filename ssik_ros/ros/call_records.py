"""What the services have done: calls, times, codes and reasons, for ``/diagnostics``."""

from collections import Counter
from collections import deque
from collections.abc import Callable
import threading
import time
from typing import Any
from typing import NamedTuple

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

KEPT = 1000
"""Calls whose times count for quantiles."""
REASONS = 5
"""Last reasons of failures that are kept."""


class Summary(NamedTuple):
    """What one service has done."""

    calls: int
    successes: int
    """Answers that were SUCCESS, and therefore verified."""
    deadline_misses: int
    """Answers that the clock ended before a solution."""
    quantiles: tuple[float, float, float]
    """p50, p95, p99 of the time from request to answer within the node [s], of the last calls."""
    reasons: tuple[str, ...]
    """Of the last failures, newest first."""


class CallRecords:
    """Records of one service; may be used by several threads at once."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=KEPT)
        self._reasons: deque[str] = deque(maxlen=REASONS)
        self._counts: Counter[str] = Counter()

    def timed(self, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """
        Return a handler that does the same and is recorded.

        :param handler: called with request and response.
        """

        def handle(request: Any, response: Any) -> Any:
            start = time.perf_counter()
            answer = handler(request, response)
            self.take(time.perf_counter() - start, getattr(answer, 'error_code', None))
            return answer

        return handle

    def take(self, seconds: float, code: MoveItErrorCodes | None) -> None:
        """
        Record one call.

        :param seconds: it took.
        :param code: of the answer; None for services that have none.
        """
        with self._lock:
            self._times.append(seconds)
            self._counts['calls'] += 1
            if code is None or code.val == MoveItErrorCodes.SUCCESS:
                self._counts['successes'] += 1
                return
            text = getattr(code, 'message', '')
            self._counts['late'] += 'deadline' in text or 'clock ended' in text
            self._reasons.appendleft(f'{code.val}: {text}')

    def summary(self) -> Summary:
        """Return what was recorded."""
        with self._lock:
            times, reasons = list(self._times), tuple(self._reasons)
            counts = dict(self._counts)
        values = np.quantile(times, (0.5, 0.95, 0.99)).tolist() if times else [0.0] * 3
        return Summary(
            counts.get('calls', 0),
            counts.get('successes', 0),
            counts.get('late', 0),
            (values[0], values[1], values[2]),
            reasons,
        )
