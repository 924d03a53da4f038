"""Log the progress while a robot takes long to load: :class:`LoadingReport`."""

from collections.abc import Callable
import time

STAGES = (
    'reading the robot description',
    'setting up the groups',
    'warming up the solvers',
    'warming up closed loops and task sets',
)
REPORT_EVERY = 5.0
"""Time between two lines [s]."""


class LoadingReport:
    """
    Logs how far the loading of a robot is: seconds since its beginning, the present stage, and the stages left.

    A timer calls :meth:`tell` while the robot is loaded.
    """

    def __init__(
        self, log: Callable[[str], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        Start without a robot that loads.

        :param log: called with each line.
        :param clock: returns monotonic time [s].
        """
        self._log, self._clock = log, clock
        self._begun = 0.0
        self._stage: int | None = None

    def enter(self, stage: int) -> None:
        """
        Set the present stage; the first stage also starts the clock.

        :param stage: index into ``STAGES``.
        """
        if stage == 0:
            self._begun = self._clock()
        self._stage = stage

    def end(self) -> None:
        """Note that no robot is being loaded; nothing is logged after that."""
        self._stage = None

    def tell(self) -> None:
        """Log the present stage, if a robot is being loaded; called every ``REPORT_EVERY`` seconds."""
        stage = self._stage
        if stage is None:
            return
        left = ', '.join(STAGES[stage + 1 :]) or 'nothing'
        self._log(
            f'Loading the robot for {self._clock() - self._begun:.0f} s: {STAGES[stage]} '
            f'(step {stage + 1} of {len(STAGES)}). Left: {left}.'
        )
