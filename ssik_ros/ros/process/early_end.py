"""
Handlers of SIGINT and SIGTERM for the executables of this package, from the first moment on.

Importing ROS and the solvers takes a second or more. This module imports neither, so that its handlers are set before:
until the node runs, a signal ends the process at once. After that, it interrupts the main thread, which ends the node.
:meth:`EarlyEnd.hand_over` only replaces the function that the installed handlers call. Handlers that another library
has installed stay.
"""

from collections.abc import Callable
import os
import signal
import sys
from types import FrameType

LAST_RESORT = 2.0
"""Time after a signal at which a process ends whose node still runs [s]; launch sends SIGTERM after 5 s."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], object]


class EarlyEnd:
    """Handles SIGINT and SIGTERM: ends the process at once, until :meth:`hand_over` sets another function to call."""

    def __init__(self) -> None:
        """Leave all signals unchanged."""
        self._handler: Handler | None = None

    def arm(self, exit_code: int) -> None:
        """
        Install the handlers: from now on, a signal ends the process.

        :param exit_code: exit code of the process.
        """
        self._handler = lambda number, frame: os._exit(exit_code)
        for number in SIGNALS:
            signal.signal(number, self._handle)

    def hand_over(self, handler: Handler) -> None:
        """
        Call another handler on signals from now on; do nothing if :meth:`arm` was not called.

        :param handler: the handler.
        """
        if self._handler is not None:
            self._handler = handler

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._handler is not None:
            self._handler(number, frame)


def ignore_signals() -> None:
    """Ignore further signals: Ctrl-C under a launch file arrives twice, from the terminal and from launch."""
    for number in SIGNALS:
        # Not SIG_IGN: Python reports a signal that is already waiting for its handler then.
        signal.signal(number, lambda number, frame: None)


def interrupt_once(number: int, frame: FrameType | None) -> None:
    """
    Raise KeyboardInterrupt and ignore further signals, so that the program can clean up.

    :param number, frame: arguments of a signal handler; not read.
    :raises KeyboardInterrupt: always.
    """
    del number, frame
    ignore_signals()
    raise KeyboardInterrupt


def end_process(exit_code: int) -> None:
    """
    Flush the output and end the process without the interpreter's shutdown, in which a second signal would kill it.

    :param exit_code: exit code of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Whoever read it is gone.
            continue
    os._exit(exit_code)


EARLY_END = EarlyEnd()
