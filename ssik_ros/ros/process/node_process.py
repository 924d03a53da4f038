"""How the process of a node begins, runs and ends; every end is quiet and has a bounded duration."""

from collections.abc import Callable, Sequence
import contextlib
import logging
import os
import sys
import threading
from typing import Any, TypeVar

import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ssik_ros.errors import SsikError
from ssik_ros.ros.process.early_end import (
    EARLY_END,
    end_process,
    ignore_signals,
    interrupt_once,
    LAST_RESORT,
)
from ssik_ros.ros.process.executors import InlineExecutor
from ssik_ros.ros.process.log_bridge import bridge_logging, unbridge_logging, writer_of
from ssik_ros.ros.process.log_throttle import LOG_INTERVAL
from ssik_ros.ros.process.memory_bounds import bound_memory

_LOGGER = logging.getLogger('ssik_ros.node')
_MESSAGES = logging.getLogger('ssik_ros.messages')
SHUTDOWN_WAIT = 0.5
"""Time that callbacks in progress have to end after a signal [s]; they are told to."""
SWITCH_INTERVAL = 0.0005
"""Time after which a thread gives the interpreter to another one that waits [s]; Python's 5 ms would delay responses."""


class ProcessNode(Node):
    """A node that a process runs until a signal or a fatal error."""

    def __init__(self, name: str, **options: Any) -> None:
        """
        Bridge the log of the package to the log of the node.

        :param name: of the node.
        :param options: arguments of ``rclpy.node.Node``.
        """
        super().__init__(name, **options)
        self.exit_code = 0
        self._bridge = bridge_logging(writer_of(self.get_logger()))
        self.create_timer(
            LOG_INTERVAL, self._bridge.flush, callback_group=MutuallyExclusiveCallbackGroup()
        )

    @property
    def threads(self) -> int:
        """Return how many callbacks may run at once."""
        return 2

    def start(self) -> None:
        """Begin to work; the process spins the node afterwards."""

    def stop(self) -> bool:
        """Begin nothing more; return whether no thread of the node works any longer."""
        return True

    def fail(self, reason: object) -> None:
        """
        Log a fatal error, and end the process with exit code 1.

        :param reason: the error.
        """
        _LOGGER.fatal('%s', reason)
        self.exit_code = 1
        self.context.try_shutdown()

    def destroy_node(self) -> None:
        """Give the log back, and destroy everything that the node made."""
        unbridge_logging(self._bridge)
        super().destroy_node()


MadeNode = TypeVar('MadeNode', bound=ProcessNode)


def run_node(name: str, make: Callable[[], ProcessNode], arguments: Sequence[str] | None) -> int:
    """
    Run a node until SIGINT, SIGTERM or a fatal error; return the exit code of the process.

    :param name: of the logger that reports a refusal.
    :param make: makes the node after ROS has begun; it may refuse its parameters.
    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    # Also where a program of a user calls the main function of a node.
    EARLY_END.arm(0)
    bound_memory()
    node = _begin(name, make, arguments)
    if node is None:
        return 1
    executor = make_executor(node.threads)
    executor.add_node(node)
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
            node.start()
            EARLY_END.hand_over(interrupt_once)
            executor.spin()
    finally:
        # Ctrl-C below a launch file arrives twice: from the terminal, and from launch.
        ignore_signals()
        _end_soon(node.exit_code)
        has_ended = node.stop()
        has_ended = executor.shutdown(SHUTDOWN_WAIT) and has_ended
    if not has_ended:
        # A thread still works: it may log, which needs the context, and would hold up the interpreter's end.
        end_process(node.exit_code)
    node.destroy_node()
    rclpy.try_shutdown()
    return node.exit_code


def make_executor(threads: int) -> Executor:
    """
    Return an executor that goes on after messages that cannot be read; it logs them.

    :param threads: how many callbacks may run at once.
    """
    return InlineExecutor(threads, _report_dropped)


def _report_dropped(error: Exception) -> None:
    """Log an exception outside of our handlers: text that is not UTF-8, for instance."""
    _MESSAGES.error('A message was dropped: %s: %s', type(error).__name__, error)


def _begin(
    name: str, make: Callable[[], MadeNode], arguments: Sequence[str] | None
) -> MadeNode | None:
    """
    Begin ROS, then make the node; return None after a refusal, which is logged.

    The signal handlers of rclpy would end the context in the middle of a log line or of a call; a signal is to end
    the executor only.
    """
    try:
        rclpy.init(
            args=None if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except RuntimeError as error:
        # Arguments that ROS cannot read, a parameter file that does not exist.
        get_logger(name).fatal(str(error))
        return None
    try:
        return make()
    except (SsikError, ParameterException) as error:
        get_logger(name).fatal(str(error))
        rclpy.try_shutdown()
        return None


def _end_soon(exit_code: int) -> None:
    """End the process a while from now, whatever still holds it up."""
    timer = threading.Timer(LAST_RESORT, os._exit, (exit_code,))
    timer.daemon = True
    timer.start()
