"""Times and iterations of the last solves, of the chosen solver and of a second one that is compared with it."""

from collections import deque
from typing import Any

import numpy as np

from ssik_ros.view.sessions.posture_session import SolveOutcome

KEPT = 200
"""Solves that are kept."""
MISSING = (np.nan, np.nan)


class SolveTimes:
    """A list of the last KEPT solves with their times and iterations; postures that are set by hand are left out."""

    def __init__(self) -> None:
        """Begin with an empty list."""
        self._rows: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self._count = 0
        self._last: SolveOutcome | None = None

    def add(self, outcome: SolveOutcome, rival: SolveOutcome | None) -> None:
        """
        Append a solve; nothing is appended for the same outcome as in the last call, or for one without a time.

        :param outcome: outcome of the chosen solver.
        :param rival: outcome of the second solver; None without a second solver.
        """
        if outcome is self._last or outcome.seconds == 0.0:
            return
        self._last = outcome
        self._count += 1
        figures, rival_figures = _figures(outcome), MISSING if rival is None else _figures(rival)
        self._rows.append((float(self._count), *figures, *rival_figures))

    def columns(self, place: int) -> tuple[Any, ...]:
        """
        Return three arrays for a plot over the solves: their numbers, values of the solver, and of the second solver.

        Values of a missing second solver are NaN. Before the first solve, each array has one element.

        :param place: 0 for times [ms], 1 for iterations.
        """
        rows = np.array(self._rows or [(0.0, 0.0, 0.0, *MISSING)])
        return rows[:, 0], rows[:, 1 + place], rows[:, 3 + place]


def _figures(outcome: SolveOutcome) -> tuple[float, float]:
    return 1e3 * outcome.seconds, float(outcome.iterations)
