"""A handler that writes the log of the package to a node's logger, so that it appears in the console and in /rosout."""

from collections.abc import Callable
import contextlib
import logging

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.impl.rcutils_logger import RcutilsLogger

from ssik_ros.ros.process.log_throttle import LogThrottle

_PACKAGE = 'ssik_ros'
Write = Callable[[int, str, str, str, int], object]
"""Takes severity, text, and the function, file and line that log it."""


def writer_of(logger: RcutilsLogger) -> Write:
    """
    Return a function that writes a line to a node's logger, with the function, file and line number of its origin.

    The methods of the logger would name this bridge as the origin, and would read the paths of all modules to find it.

    :param logger: the logger.
    """
    name = logger.name

    def write(severity: int, text: str, function: str, file: str, line: int) -> None:
        if rclpy_implementation.rclpy_logging_logger_is_enabled_for(name, severity):
            rclpy_implementation.rclpy_logging_rcutils_log(
                severity, name, text, function, file, line
            )

    return write


class LogBridge(logging.Handler):
    """A handler of Python's logging that writes to a node's logger, as often as a :class:`LogThrottle` allows."""

    def __init__(self, write: Write) -> None:
        """
        Keep the function that writes.

        :param write: result of :func:`writer_of`.
        """
        super().__init__()
        self._write = write
        self._throttle = LogThrottle()

    def emit(self, record: logging.LogRecord) -> None:
        """
        Write one record, unless it repeats too soon; the node's logger decides which levels it shows.

        :param record: the record.
        """
        try:
            text = self._throttle.admit(record, self.format(record))
            if text:
                place = record.funcName or '', record.pathname, record.lineno
                self._write(_severity_of(record.levelno), text, *place)
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """For each cause whose lines were suppressed in a period that is over, write one line with their number."""
        self._write_overdue(all_of_them=False)

    def close(self) -> None:
        """Write the numbers of all lines left out, and close the handler."""
        self._write_overdue(all_of_them=True)
        super().close()

    def _write_overdue(self, all_of_them: bool) -> None:
        with self.lock or contextlib.nullcontext():
            lines = self._throttle.overdue(all_of_them)
        for level, text in lines:
            # The context may be gone, and the log with it.
            with contextlib.suppress(Exception):
                self._write(_severity_of(level), text, '', __file__, 0)


def _severity_of(level: int) -> int:
    """Return the severity of ROS, 10 to 50, for a level of Python's logging, which is rounded down to tens."""
    return max(logging.DEBUG, min(level // 10 * 10, logging.CRITICAL))


def bridge_logging(write: Write) -> LogBridge:
    """
    Send the log of the package to a node's logger, and no longer to the root logger; return the handler.

    Other handlers of the package's logger stay, so after two calls each line is written twice.

    :param write: result of :func:`writer_of`.
    """
    package = logging.getLogger(_PACKAGE)
    bridge = LogBridge(write)
    package.addHandler(bridge)
    # The node's logger decides which levels are shown, and its level may change.
    package.setLevel(logging.DEBUG)
    package.propagate = False
    return bridge


def unbridge_logging(bridge: LogBridge) -> None:
    """
    Close a handler and remove it; after the last one, the package logs to the root logger again, at its level.

    :param bridge: the handler that :func:`bridge_logging` returned.
    """
    package = logging.getLogger(_PACKAGE)
    package.removeHandler(bridge)
    bridge.close()
    if not any(isinstance(handler, LogBridge) for handler in package.handlers):
        package.propagate = True
        package.setLevel(logging.NOTSET)
