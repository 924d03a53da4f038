"""Hands what the package logs to a node's logger, so that it appears in the console and in /rosout."""

import logging
from typing import Any

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

    def emit(self, record: logging.LogRecord) -> None:
        """
        Write one record; the node's logger has its own idea of levels.

        :param record: the record.
        """
        try:
            text = self.format(record)
            # rclpy refuses one place in the source that changes its level: a call for each level.
            if record.levelno >= logging.ERROR:
                self._logger.error(text)
            elif record.levelno >= logging.WARNING:
                self._logger.warning(text)
            elif record.levelno >= logging.INFO:
                self._logger.info(text)
            else:
                self._logger.debug(text)
        except Exception:
            self.handleError(record)


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
    if not any(isinstance(handler, LogBridge) for handler in package.handlers):
        package.propagate = True
        package.setLevel(logging.NOTSET)
