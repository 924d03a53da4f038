"""
Statistics of a stream that follows targets in cycles: counts of cycles, and quantiles of latencies.

:class:`StreamRecords` collects the result of each cycle and returns a :class:`StreamReport` for a period.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from ssik_ros.server.tasks.task_set_stream import StreamCause, StreamStep
from ssik_ros.solvers.search.newton.tracker import TrackStatus

LATE = 1.5
"""A cycle that begins after so many periods counts as late."""
_PASSIVE = (StreamCause.NO_TARGET, StreamCause.NO_STATE)


class StreamReport(NamedTuple):
    """Statistics of the cycles of a stream since the last report."""

    cycles: int
    """Number of cycles."""
    statuses: dict[str, int]
    """Number of cycles by name of the status, such as ``HELD``, and by name of the cause, such as ``STALE``."""
    missed: int
    """Cycles after the first target that had no new target; cycles with an unknown robot state are not counted."""
    late: int
    """Cycles that began more than ``LATE`` periods after the one before."""
    latencies: tuple[float, float, float, float]
    """p50, p95, p99 and largest time from the arrival of a target to its command [s]; NaN without commands."""


class StreamRecords:
    """Collects the results of the cycles of a stream, and returns reports about them; serves one thread."""

    def __init__(self, period: float) -> None:
        """
        Start without cycles.

        :param period: length of a cycle [s].
        """
        self._period = period
        self._before: float | None = None
        self._clear()

    def _clear(self) -> None:
        self._counts: Counter[str] = Counter()
        self._cycles = self._missed = self._late = 0
        self._latencies: list[float] = []

    def take(self, step: StreamStep, begun: float, ended: float) -> float:
        """
        Record a cycle; return its latency [s]: the time from the arrival of its newest target to ``ended``.

        The latency is 0 if no new target has come since the last cycle, or if the cycle sends no command.

        :param step: result of the cycle.
        :param begun, ended: times at which the cycle began and ended [s].
        """
        self._cycles += 1
        self._counts[step.status.name] += 1
        if step.cause != StreamCause.NONE:
            self._counts[step.cause.name] += 1
        if self._before is not None and begun - self._before > LATE * self._period:
            self._late += 1
        self._before = begun
        if step.newest is None or step.cause in _PASSIVE:
            return 0.0
        if not step.is_new:
            self._missed += 1
            return 0.0
        if step.status is TrackStatus.HELD:
            return 0.0
        latency = ended - step.newest.at
        self._latencies.append(latency)
        return latency

    def report(self) -> StreamReport:
        """Return the statistics since the last report, and reset them."""
        quantiles = [np.nan] * 4
        if self._latencies:
            quantiles = np.quantile(self._latencies, (0.5, 0.95, 0.99, 1.0)).tolist()
        report = StreamReport(
            self._cycles,
            dict(self._counts),
            self._missed,
            self._late,
            (quantiles[0], quantiles[1], quantiles[2], quantiles[3]),
        )
        self._clear()
        return report
