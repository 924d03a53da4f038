"""
A queue of events that one thread handles in order: :class:`Mailbox`, used for pages and panels.

Of waiting events of one kind only the newest is kept, so that a drag does not fill the queue.
"""

from collections.abc import Callable, Hashable
import contextlib
import logging
import threading

from ssik_ros.errors import SsikError

_LOGGER = logging.getLogger('ssik_ros.view')

Event = Callable[[], object]
MOST_WAITING = 100
"""Events that wait; nobody presses so many buttons, a program that floods the page does."""


class Mailbox:
    """
    A thread that calls waiting events (functions without arguments) in order.

    After each event it calls a function that shows the result, and another one for slow work when no event waits.
    """

    def __init__(
        self,
        show: Event,
        rest: Event,
        report: Callable[[str], None],
        *,
        pause: Callable[[], float] = lambda: 0.0,
        name: str = 'view',
    ) -> None:
        """
        Start the thread.

        :param show: called after each event.
        :param rest: called for slow work when no event waits.
        :param report: called with a text if an event raises.
        :param pause: returns how long no event must come before ``rest`` is called [s]; asked after each event.
        :param name: name of the thread.
        """
        self._show, self._rest, self._report = show, rest, report
        self._pause = pause
        self._waiting: dict[Hashable, Event] = {}
        self.dropped = 0
        """Events that came while too many waited."""
        self._changed = threading.Condition()
        self._is_open = True
        self._is_idle = True
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, event: Event, kind: Hashable = None) -> None:
        """
        Append an event, to be called in the thread; it is dropped and counted if MOST_WAITING events wait already.

        An event that replaces a waiting one takes its place in the queue, and is never dropped.

        :param event: the function to call.
        :param kind: replaces a waiting event of the same kind; None replaces only the same function, if that waits.
        """
        with self._changed:
            if len(self._waiting) >= MOST_WAITING and kind not in self._waiting:
                self.dropped += 1
                return
            self._waiting[event if kind is None else kind] = event
            self._is_idle = False
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        """
        Wait until all events and the slow work after them are done; return False if the time is up before.

        :param timeout: longest wait [s].
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._is_idle, timeout)

    def close(self, wait: float = 5.0) -> bool:
        """
        End the thread after the event that it handles now; waiting events are not called.

        :param wait: longest wait for this event [s].
        :returns: whether the thread has ended.
        """
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        self._thread.join(wait)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            event = self._take()
            if event is None:
                return
            self._call(event)
            self._call(self._show)
            with self._changed:
                is_last = not self._changed.wait_for(self._has_news, self._pause())
            if is_last:
                self._call(self._rest)

    def _has_news(self) -> bool:
        return bool(self._waiting) or not self._is_open

    def _take(self) -> Event | None:
        """Wait for the next event, remove it from the queue and return it; None once the mailbox is closed."""
        with self._changed:
            if not self._waiting:
                self._is_idle = True
                self._changed.notify_all()
            self._changed.wait_for(self._has_news)
            if not self._is_open:
                return None
            return self._waiting.pop(next(iter(self._waiting)))

    def _call(self, event: Event) -> None:
        """Call an event; report any exception as text, so that the thread goes on."""
        try:
            try:
                event()
            except SsikError as error:
                self._report(str(error))
        except Exception as error:
            _LOGGER.exception('An event of the view failed.')
            with contextlib.suppress(Exception):
                self._report(f'Internal error: {error}')
