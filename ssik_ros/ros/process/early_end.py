"""
How SIGINT and SIGTERM end an executable of this package, from its first moment on.

Importing ROS and the solvers takes a second or more. This module imports neither, so its handlers are there before:
until the node runs, a signal ends the process at once. Then it interrupts the main thread, which ends the node. No
handlers are set after ``rclpy.init``: that would remove the handlers of a benchmark, in which rclpy has its own.
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
    """Ends a process on a signal: at once until the node runs, and after a while if the node does not end."""

    def __init__(self) -> None:
        """Leave all signals as they are."""
        self._handler: Handler | None = None

    def arm(self, exit_code: int) -> None:
        """
        End the process on signals from now on.

        :param exit_code: its exit code.
        """
        self._handler = lambda number, frame: os._exit(exit_code)
        for number in SIGNALS:
            signal.signal(number, self._handle)

    def hand_over(self, handler: Handler) -> None:
        """
        Call another handler from now on, where the process was armed.

        :param handler: the handler.
        """
        if self._handler is not None:
            self._handler = handler

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._handler is not None:
            self._handler(number, frame)


def ignore_signals() -> None:
    """Ignore further signals: Ctrl-C below a launch file arrives twice, from the terminal and from launch."""
    for number in SIGNALS:
        # Not SIG_IGN: Python reports a signal that is already waiting for its handler then.
        signal.signal(number, lambda number, frame: None)


def interrupt_once(number: int, frame: FrameType | None) -> None:
    """
    Raise the exception that Ctrl-C raises, and ignore further signals while the program puts things in order.

    :param number, frame: as handlers get them.
    :raises KeyboardInterrupt: always.
    """
    del number, frame
    ignore_signals()
    raise KeyboardInterrupt


def end_process(exit_code: int) -> None:
    """
    End the process without the end of the interpreter, in which a second signal would kill it.

    :param exit_code: its exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Whoever read it is gone.
            continue
    os._exit(exit_code)


EARLY_END = EarlyEnd()
