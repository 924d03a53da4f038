"""Hands what the package logs to a node's logger, so that it appears in the console and in /rosout."""

import contextlib
import logging
from typing import Any

from ssik_ros.ros.process.log_throttle import LogThrottle

_PACKAGE = 'ssik_ros'


class LogBridge(logging.Handler):
    """A handler of Python's logging that writes to a node's logger."""

    def __init__(self, logger: Any) -> None:
        """
        Take the node's logger.

        :param logger: a logger of rclpy.
        """
        super().__init__()
        self._logger = logger
        self._throttle = LogThrottle()

    def emit(self, record: logging.LogRecord) -> None:
        """
        Write one record; the node's logger has its own idea of levels.

        :param record: the record.
        """
        try:
            text = self._throttle.admit(record, self.format(record))
            if text:
                self._write(record.levelno, text)
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Write how many lines were left out, of causes that have been silent since."""
        self._write_overdue(all_of_them=False)

    def close(self) -> None:
        """Write how many lines were left out: nothing else follows."""
        self._write_overdue(all_of_them=True)
        super().close()

    def _write_overdue(self, all_of_them: bool) -> None:
        with self.lock or contextlib.nullcontext():
            lines = self._throttle.overdue(all_of_them)
        for level, text in lines:
            # The context may be gone, and the log with it.
            with contextlib.suppress(Exception):
                self._write(level, text)

    def _write(self, level: int, text: str) -> None:
        # rclpy refuses one place in the source that changes its level: a call for each level.
        if level >= logging.ERROR:
            self._logger.error(text)
        elif level >= logging.WARNING:
            self._logger.warning(text)
        elif level >= logging.INFO:
            self._logger.info(text)
        else:
            self._logger.debug(text)


def bridge_logging(logger: Any) -> LogBridge:
    """
    Let a node's logger have everything that the package logs, and return what does it.

    :param logger: a logger of rclpy.
    """
    package = logging.getLogger(_PACKAGE)
    bridge = LogBridge(logger)
    package.addHandler(bridge)
    # Which levels are shown is for the node's logger to say, which may change its mind.
    package.setLevel(logging.DEBUG)
    package.propagate = False
    return bridge


def unbridge_logging(bridge: LogBridge) -> None:
    """
    Undo :func:`bridge_logging`.

    :param bridge: what it returned.
    """
    package = logging.getLogger(_PACKAGE)
    package.removeHandler(bridge)
    bridge.close()
    if not any(isinstance(handler, LogBridge) for handler in package.handlers):
        package.propagate = True
        package.setLevel(logging.NOTSET)
