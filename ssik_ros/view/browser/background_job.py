"""Jobs of a page that take seconds: each runs in a new thread and reports its progress as text."""

from collections.abc import Callable
import logging
import threading
from typing import Any

from ssik_ros.errors import SsikError
from ssik_ros.view.browser.page_panels import BasePage

_LOGGER = logging.getLogger('ssik_ros.view')

Work = Callable[['BackgroundJob'], Callable[[], None]]
"""Does the work, and returns the event that hands the result to the thread of the session."""


class BackgroundJob:
    """
    Runs a job in a new thread, and posts the result to the thread of the session.

    The result of a cancelled job is dropped. A job that is started before the last one has ended does not stop it, but
    drops its result.
    """

    def __init__(self, page: BasePage[Any], say: Callable[[str], None]) -> None:
        """
        Begin without a job.

        :param page: gets the results and errors of jobs as events.
        :param say: shows a text about the progress.
        """
        self._page, self.say = page, say
        self._run: object = None
        self.is_cancelled = False

    @property
    def is_running(self) -> bool:
        """Return whether a job was started and has not finished."""
        return self._run is not None

    def stop(self) -> None:
        """Ask the job to end by setting ``is_cancelled``; its result is dropped."""
        self.is_cancelled = True

    def start(self, work: Work) -> None:
        """
        Start a job in a new thread; the result of an earlier job is dropped.

        :param work: the function of the job. It gets this object, checks ``is_cancelled`` repeatedly, and returns a
            function that uses the result; this function is called in the thread of the session.
        """
        self.is_cancelled = False
        run = self._run = object()
        threading.Thread(target=self._do, args=(run, work), name='job', daemon=True).start()

    def _do(self, run: object, work: Work) -> None:
        """
        Run the function of a job, and post its result to the page; an exception is posted to be raised there.

        :param run: identity of this job, by which :meth:`_finish` recognises a replaced one.
        """
        try:
            done = work(self)
        except SsikError as error:
            done = _failure(error)
        except Exception as error:
            _LOGGER.exception('A job of the view failed.')
            done = _failure(error)
        self._page.post(lambda: self._finish(run, done))

    def _finish(self, run: object, done: Callable[[], None]) -> None:
        """
        Call ``done``, which uses the result of a job, unless the job was cancelled or replaced by a later one.

        :param run: identity of the job.
        """
        if run is not self._run:
            return
        self._run = None
        self.say('')
        if not self.is_cancelled:
            done()


def _failure(error: Exception) -> Callable[[], Any]:
    """Return a function that raises the error of a job, for the page to report."""

    def fail() -> None:
        raise error

    return fail
