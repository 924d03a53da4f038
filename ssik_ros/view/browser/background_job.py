"""Jobs of a page that take seconds: each runs in a new thread and reports its progress as text."""

from collections.abc import Callable
import logging
import threading
from typing import Any

from ssik_ros.errors import SsikError
from ssik_ros.view.browser.page_panels import BasePage

_LOGGER = logging.getLogger('ssik_ros.view')

Work = Callable[['JobRun'], Callable[[], None]]
"""Does the work, and returns the event that hands the result to the thread of the session."""


class JobRun:
    """One run of a job: the function of the job reports its progress here, and asks whether to end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """
        Begin a run that is not cancelled.

        :param say: shows a text about the progress.
        """
        self.say, self.is_cancelled = say, False


class BackgroundJob:
    """
    Runs a job in a new thread, and posts the result to the thread of the session.

    The result of a cancelled job is dropped. A job that is started before the last one has ended cancels it.
    """

    def __init__(self, page: BasePage[Any], say: Callable[[str], None]) -> None:
        """
        Begin without a job.

        :param page: gets the results and errors of jobs as events.
        :param say: shows a text about the progress.
        """
        self._page, self.say = page, say
        self._run: JobRun | None = None

    @property
    def is_running(self) -> bool:
        """Return whether a job was started and has not finished."""
        return self._run is not None

    def stop(self) -> None:
        """Ask the job to end by setting ``is_cancelled`` of its run; its result is dropped."""
        if self._run is not None:
            self._run.is_cancelled = True

    def start(self, work: Work) -> None:
        """
        Start a job in a new thread, and cancel an earlier one.

        :param work: the function of the job. It gets its run, checks ``is_cancelled`` repeatedly, and returns a function
            that uses the result; this function is called in the thread of the session.
        """
        self.stop()
        run = self._run = JobRun(self.say)
        threading.Thread(target=self._do, args=(run, work), name='job', daemon=True).start()

    def _do(self, run: JobRun, work: Work) -> None:
        """
        Run the function of a job, and post its result to the page; an exception is posted to be raised there.

        :param run: the run that the function gets.
        """
        try:
            done = work(run)
        except SsikError as error:
            done = _failure(error)
        except Exception as error:
            _LOGGER.exception('A job of the view failed.')
            done = _failure(error)
        self._page.post(lambda: self._finish(run, done))

    def _finish(self, run: JobRun, done: Callable[[], None]) -> None:
        """Call ``done``, which uses the result of a run, unless the run was cancelled or a later one was started."""
        if run is not self._run:
            return
        self._run = None
        self.say('')
        if not run.is_cancelled:
            done()


def _failure(error: Exception) -> Callable[[], Any]:
    """Return a function that raises the error of a job, for the page to report."""

    def fail() -> None:
        raise error

    return fail
