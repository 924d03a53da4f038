"""Clock, cancellation and progress of one plan (:class:`PlanControl`), and imports during which a plan can end."""

from collections.abc import Callable
import importlib
import math
import sys
import threading
import time
from typing import Any

from ssik_ros.arguments import check_kind
from ssik_ros.errors import SolverError
from ssik_ros.paths.requests import PathProgress, ToolPathRequest

OFTEN = 0.05
"""Time between two reports of the same phase [s]."""
IMPORT_LOOKS = 0.005
"""Time between two looks at the caller's flag while a library is imported [s]."""


class PlanStopped(Exception):
    """A plan must end at its deadline; its text is the reason."""


class PlanCancelled(Exception):
    """The caller cancelled a plan and wants no result."""


class PlanControl:
    """Clock of one plan: raises an exception at the deadline or when cancelled, and reports progress to the caller."""

    def __init__(self, request: ToolPathRequest) -> None:
        """
        Start the clock now.

        :param request: the settings of the plan: timeout, cancel flag and progress callback are used.
        :raises InvalidOption: for anything else.
        """
        self._request = check_kind('request', request, ToolPathRequest)
        self.start = time.monotonic()
        self._end = math.inf if request.timeout is None else self.start + float(request.timeout)
        self._progress = PathProgress(0.0, 'preparation')
        self._told, self._told_at = self._progress, self.start

    @property
    def seconds(self) -> float:
        """Return the time since the plan was started [s]."""
        return time.monotonic() - self.start

    def pause(self, waypoint: int = -1) -> None:
        """
        Raise if the plan has to end; otherwise report the waypoint to the caller, at most every OFTEN seconds.

        :param waypoint: index of the waypoint that the present phase has reached; -1 keeps the last one.
        :raises PlanStopped: at the deadline.
        :raises PlanCancelled: when the caller has cancelled.
        """
        self.look_up(waypoint)
        if time.monotonic() > self._end:
            raise PlanStopped(f'the budget of {self._request.timeout:g} s is used up')

    def look_up(self, waypoint: int = -1) -> None:
        """
        Raise if the caller has cancelled; otherwise report the waypoint to the caller, at most every OFTEN seconds.

        The deadline is ignored. So a result that exists already is not lost while it is checked.

        :param waypoint: index of the waypoint that the present phase has reached; -1 keeps the last one.
        :raises PlanCancelled: when the caller has cancelled.
        """
        cancelled = self._request.is_cancelled
        if cancelled is not None and cancelled():
            raise PlanCancelled('the plan was cancelled')
        if waypoint >= 0:
            self._progress = self._progress._replace(waypoint=waypoint)
        if self._told is not self._progress and time.monotonic() > self._told_at + OFTEN:
            self._tell()

    def is_over(self, end: float) -> Callable[[], bool]:
        """
        Return a function without arguments that returns True once ``end`` or the deadline of the plan has passed.

        The returned function raises PlanCancelled when the caller has cancelled.

        :param end: time of :func:`time.monotonic` [s].
        """

        def is_over() -> bool:
            try:
                self.pause()
            except PlanStopped:
                return True
            return time.monotonic() > end

        return is_over

    def report(self, part: float, phase: str) -> None:
        """
        Begin a phase of the plan and report it to the caller at once.

        :param part: finished share of the plan, 0 to 1; the reported share never falls.
        :param phase: name of the phase that begins.
        :raises PlanStopped, PlanCancelled: as :meth:`pause`.
        """
        progress = self._progress
        self._progress = progress._replace(part=max(part, progress.part), phase=phase, waypoint=0)
        self.pause()
        if self._told is not self._progress:
            self._tell()

    def store_cost(self, cost: float) -> None:
        """
        Store the cost of the best path so far; the next progress report tells it to the caller.

        :param cost: the cost; infinite without a path.
        """
        self._progress = self._progress._replace(best_cost=cost)

    def _tell(self) -> None:
        self._told, self._told_at = self._progress, time.monotonic()
        if self._request.report_progress is not None:
            self._request.report_progress(self._progress)


def do_nothing() -> None:
    """Do nothing: the default for callbacks that check whether the caller has cancelled."""


def import_library(name: str, look_up: Callable[[], object]) -> Any:
    """
    Import a module in another thread and return it; call ``look_up`` every IMPORT_LOOKS seconds meanwhile.

    A module that is loaded already is returned at once.

    :param name: name of the module.
    :param look_up: raises an exception if the caller no longer waits for the import; it passes through.
    :raises SolverError: if the import fails with an ImportError.
    """
    if name not in sys.modules:
        work = threading.Thread(target=_import, args=(name,), name=f'import {name}', daemon=True)
        work.start()
        while work.is_alive():
            look_up()
            work.join(IMPORT_LOOKS)
    try:
        # If the import failed in the thread, this raises its error.
        return importlib.import_module(name)
    except ImportError as error:
        raise SolverError(f'A tool path needs {name}, which is missing: {error}.') from error


def _import(name: str) -> None:
    """Import a module; ignore an ImportError, since :func:`import_library` raises it again."""
    try:
        importlib.import_module(name)
    except ImportError:
        return
