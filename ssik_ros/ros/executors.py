"""
An executor for short callbacks among which some take long.

rclpy's executor with several threads hands every callback from the thread that waits to another one, and both then
compete for the interpreter: for an answer of a tenth of a millisecond that is most of the cost.
"""

from collections.abc import Callable
import threading
import time
from typing import Any

from rclpy.context import Context
from rclpy.executors import ConditionReachedException
from rclpy.executors import ExternalShutdownException
from rclpy.executors import ShutdownException
from rclpy.executors import SingleThreadedExecutor

PATIENCE = 0.004
"""Between two looks at the leading thread [s]; a callback that both of them find counts as long."""
HASTE = 0.001
"""The same for a while after a long callback, because they seldom come alone [s]."""
HASTY_LOOKS = 50
"""How many such looks."""


class InlineExecutor(SingleThreadedExecutor):
    """
    Runs callbacks in the thread that waits for them, and lets another thread wait while one takes long.

    One thread leads: it waits and runs what is ready itself. A watch looks at it every few milliseconds while
    there is something to do; when it finds the same callback again, it gives the lead to another thread. Callback groups are
    honoured. :meth:`spin` itself runs no callbacks, so that signals do not have to wait for one.
    """

    def __init__(
        self,
        threads: int,
        report: Callable[[Exception], None],
        *,
        context: Context | None = None,
    ) -> None:
        """
        Start no thread yet.

        :param threads: how many callbacks may run at once; threads are made when they are needed.
        :param report: told what a callback, or reading a message, raised; the executor goes on.
        :param context: as for any executor.
        """
        super().__init__(context=context)
        self._limit = threads
        self._report = report
        self._lead = threading.Lock()
        """Held for the thread that waits, or runs a callback that is not known to be long."""
        self._change = threading.Lock()
        self._turn = 0
        """Number of the latest callback."""
        self._running = 0
        """Number of the callback that the leading thread runs; 0 when it waits."""
        self._threads: list[threading.Thread] = []
        self._active = threading.Event()
        self._ended = threading.Event()
        self.context.on_shutdown(self._end)

    def spin(self) -> None:
        """Run callbacks until the context or the executor is shut down."""
        if not self._threads:
            self._add_thread(self._watch)
            self._add_thread(self._serve)
        self._ended.wait()

    def shutdown(self, timeout_sec: float | None = None, **options: Any) -> bool:
        """
        Begin no further callback; return whether those in progress have ended.

        :param timeout_sec: how long to wait for them [s]; None for as long as it takes.
        :param options: as for any executor.
        """
        self._end()
        self.wake()
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        for thread in tuple(self._threads):
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        have_ended = not any(thread.is_alive() for thread in self._threads)
        return super().shutdown(0.0, **options) and have_ended

    def _end(self) -> None:
        """Let every thread end as soon as it has no callback to run."""
        self._ended.set()
        self._active.set()

    def _add_thread(self, work: Callable[[], None]) -> None:
        # A callback that never ends must not keep the process alive.
        thread = threading.Thread(target=work, name=f'executor {work.__name__}', daemon=True)
        thread.start()
        self._threads.append(thread)

    def _serve(self) -> None:
        """Lead whenever nobody else does."""
        while not self._ended.is_set():
            self._lead.acquire()
            while self._lead_once():
                pass

    def _lead_once(self) -> bool:
        """Wait, run one callback, and return whether this thread still leads."""
        try:
            task = self.wait_for_ready_callbacks(None, None, self._is_over)[0]
        except (ShutdownException, ExternalShutdownException, ConditionReachedException):
            return self._give_up()
        except Exception as error:
            if self._is_over():
                return self._give_up()
            self._report(error)
            return True
        return self._run(task)

    def _is_over(self) -> bool:
        """Return whether no further callback is to begin."""
        return self._ended.is_set() or not self.context.ok()

    def _give_up(self) -> bool:
        """End everything; return that this thread leads no more."""
        self._end()
        self._lead.release()
        return False

    def _run(self, task: Any) -> bool:
        """Run a callback; return whether this thread still leads afterwards."""
        with self._change:
            self._turn += 1
            turn = self._running = self._turn
        if not self._active.is_set():
            self._active.set()
        try:
            task()
            error = task.exception()
        except Exception as raised:
            error = raised
        if error is not None:
            self._report(error)
        with self._change:
            still_leads = self._running == turn
            if still_leads:
                self._running = 0
        return still_leads

    def _watch(self) -> None:
        """Give the lead to another thread whenever a callback takes long."""
        hasty = 0
        while not self._is_over():
            self._active.wait()
            seen = self._turn
            time.sleep(HASTE if hasty else PATIENCE)
            hasty = max(0, hasty - 1)
            if self._relieve(seen):
                hasty = HASTY_LOOKS
                if len(self._threads) <= self._limit:
                    self._add_thread(self._serve)
                self._lead.release()
        # A signal ends the context without a word to anybody, even if all threads are busy.
        self._end()

    def _relieve(self, seen: int) -> bool:
        """
        Return whether the leading thread is still at a callback, which it then goes on with alone.

        :param seen: number of the callback.
        """
        with self._change:
            if self._running and self._running == seen:
                self._running = 0
                return True
            # While nobody waits, only the watch can notice that the context has ended.
            if self._turn == seen and self._lead.locked() and not self._ended.is_set():
                self._active.clear()
            return False
