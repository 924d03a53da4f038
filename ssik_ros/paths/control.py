"""Progress, deadline and cancellation of a plan."""

import time

from ssik_ros.paths.requests import ToolPathRequest


class PlanStopped(Exception):
    """A plan ends before it is done; says why."""


class PlanControl:
    """Ends a plan in time, and tells how far it is."""

    def __init__(self, request: ToolPathRequest) -> None:
        """
        Start the clock.

        :param request: what the caller wants.
        """
        self._request = request
        self.start = time.monotonic()
        self._end = None if request.timeout is None else self.start + request.timeout

    @property
    def seconds(self) -> float:
        """Return the time since the start [s]."""
        return time.monotonic() - self.start

    def pause(self) -> None:
        """
        Return, unless the plan has to end.

        :raises PlanStopped: at the deadline, and when the caller has cancelled.
        """
        cancelled = self._request.is_cancelled
        if cancelled is not None and cancelled():
            raise PlanStopped('the plan was cancelled')
        if self._end is not None and time.monotonic() > self._end:
            raise PlanStopped(f'the budget of {self._request.timeout:g} s is used up')

    def report(self, part: float, text: str) -> None:
        """
        Tell the caller how far the plan is.

        :param part: from 0 to 1.
        :param text: what is done next.
        """
        self.pause()
        if self._request.report_progress is not None:
            self._request.report_progress(part, text)
