"""Times of the last solves, of the chosen solver and of a second one for comparison."""

from collections import deque
from typing import Any

import numpy as np

from ssik_ros.view.posture_session import SolveOutcome

KEPT = 200
"""Solves that are kept."""
MISSING = (np.nan, np.nan)


class SolveTimes:
    """The last solves; postures that are set by hand do not count."""

    def __init__(self) -> None:
        """Begin without any."""
        self._rows: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self._count = 0
        self._last: SolveOutcome | None = None

    def add(self, outcome: SolveOutcome, rival: SolveOutcome | None) -> None:
        """
        Keep a solve; the last one again, or a solve without a time, is left out.

        :param outcome: of the solver.
        :param rival: of the second solver; None without one.
        """
        if outcome is self._last or outcome.seconds == 0.0:
            return
        self._last = outcome
        self._count += 1
        own, other = _figures(outcome), MISSING if rival is None else _figures(rival)
        self._rows.append((float(self._count), *own, *other))

    def columns(self, place: int) -> tuple[Any, ...]:
        """
        Return three arrays: numbers of the solves, values of the solver, and values of the second solver.

        :param place: 0 for times [ms], 1 for iterations.
        """
        rows = np.array(self._rows or [(0.0, 0.0, 0.0, *MISSING)])
        return rows[:, 0], rows[:, 1 + place], rows[:, 3 + place]


def _figures(outcome: SolveOutcome) -> tuple[float, float]:
    return 1e3 * outcome.seconds, float(outcome.iterations)
