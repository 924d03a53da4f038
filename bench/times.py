"""How the times of many calls are distributed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.arms import FloatArray

PERCENT = (50, 5, 25, 75, 95, 99, 100)

TIME_COLUMNS = {
    'median us': '{cpu.median:.1f}',
    'mean': '{cpu.mean:.1f}',
    'p95': '{cpu.p95:.1f}',
    'p99': '{cpu.p99:.1f}',
    'wall median': '{wall.median:.1f}',
}
"""Of a row with processor and wall time [us]."""


@dataclass(frozen=True, slots=True)
class Times:
    """Figures of a distribution, in the unit of its values."""

    median: float
    mean: float
    p95: float
    p99: float
    p05: float = np.nan
    p25: float = np.nan
    p75: float = np.nan
    largest: float = np.nan

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray) -> 'Times':
        """Return the figures of some values; NaN without values."""
        if not len(values):
            return cls(*[np.nan] * 4)
        p50, p05, p25, p75, p95, p99, p100 = map(float, np.percentile(values, PERCENT))
        return cls(p50, float(np.mean(values)), p95, p99, p05, p25, p75, p100)


def best_pass(passes: FloatArray) -> tuple[Times, tuple[float, ...]]:
    """
    Return the distribution of the pass with the lowest median, and the medians of all.

    :param passes: (r, k).
    """
    medians = np.median(passes, axis=1)
    times = Times.of(passes[int(np.argmin(medians))])
    return times, tuple(float(value) for value in medians)
