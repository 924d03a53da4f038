"""Work of a page that takes seconds: a thread of its own, one job at a time, with a text about its progress."""

from collections.abc import Callable
import logging
import threading
from typing import Any

from ssik_ros.errors import SsikError
from ssik_ros.view.browser.panels import Host

_LOGGER = logging.getLogger('ssik_ros.view')

Work = Callable[['BackgroundJob'], Callable[[], None]]
"""Does the work, and returns the event that hands the result to the thread of the session."""


class BackgroundJob:
    """Runs work in a thread of its own, so that the session goes on."""

    def __init__(self, page: Host, say: Callable[[str], None]) -> None:
        """
        Begin without work.

        :param page: takes results and errors.
        :param say: shows a text about the progress.
        """
        self._page, self.say = page, say
        self._run: object = None
        self.is_cancelled = False

    @property
    def is_running(self) -> bool:
        """Return whether work is under way."""
        return self._run is not None

    def stop(self) -> None:
        """Ask the work to end; its result is not used."""
        self.is_cancelled = True

    def start(self, work: Work) -> None:
        """
        Start work in a new thread; a result of earlier work is dropped.

        :param work: called with this job; looks at :attr:`is_cancelled` again and again, and returns a function that
            uses the result in the thread of the session.
        """
        self.is_cancelled = False
        run = self._run = object()
        threading.Thread(target=self._do, args=(run, work), name='job', daemon=True).start()

    def _do(self, run: object, work: Work) -> None:
        """Work, and post a call of :meth:`_finish` with the result, or with a function that raises the error again."""
        try:
            done = work(self)
        except SsikError as error:
            done = _failure(error)
        except Exception as error:
            _LOGGER.exception('A job of the view failed.')
            done = _failure(error)
        self._page.post(lambda: self._finish(run, done))

    def _finish(self, run: object, done: Callable[[], None]) -> None:
        """Use the result, in the thread of the session, unless the work was cancelled or replaced meanwhile."""
        if run is not self._run:
            return
        self._run = None
        self.say('')
        if not self.is_cancelled:
            done()


def _failure(error: Exception) -> Callable[[], Any]:
    """Return an event that fails as the work did, so that the page shows why."""

    def fail() -> None:
        raise error

    return fail
