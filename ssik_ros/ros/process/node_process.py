"""
Start, run and end the process of a node: :func:`run_node` runs a :class:`ProcessNode`.

After a signal, the process ends within a bounded time, even if a thread still works.
"""

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

from ssik_ros.errors import shorten, SsikError
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
    """A node that has a process of its own, until a signal or a fatal error."""

    def __init__(self, name: str, **options: Any) -> None:
        """
        Create the node, and write the log of the package to its logger.

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
        """Return the number of callbacks that may run at once."""
        return 2

    def start(self) -> None:
        """Do nothing; subclasses start their work here, before the process spins the node."""

    def stop(self) -> bool:
        """Return true; subclasses end their work here, and return whether no thread of theirs runs any longer."""
        return True

    def fail(self, reason: object) -> None:
        """
        Log a fatal error, and shut ROS down; the process ends with exit code 1.

        :param reason: the error.
        """
        _LOGGER.fatal('%s', reason)
        self.exit_code = 1
        self.context.try_shutdown()

    def load_by(
        self,
        load: Callable[[], None],
        *,
        may_mend: Callable[[], bool],
        has_robot: Callable[[], bool] = lambda: False,
        fatal: tuple[type[Exception], ...] = (),
    ) -> None:
        """
        Load a robot by a function; if the function raises, log why, and end the node if nothing is left to do.

        The node goes on with the robot that it has, or if a later message may repair the description.

        :param load: loads a robot and begins to use it.
        :param may_mend: returns whether a later message may repair the description.
        :param has_robot: returns whether the node uses a robot already.
        :param fatal: errors that no message repairs.
        """
        try:
            load()
            return
        except fatal as error:
            text, can_mend = str(error), False
        except SsikError as error:
            text, can_mend = str(error), may_mend()
        except Exception as error:
            if not self.context.ok():
                return  # Ended by a signal: nothing can be declared or offered any more.
            _LOGGER.error('Internal fault while loading the robot: %s', shorten(repr(error)))
            text, can_mend = f'{type(error).__name__}: {shorten(error)}', may_mend()
        if has_robot():
            _MESSAGES.error('The robot stays as it was. %s', text)
        elif can_mend:
            _MESSAGES.error('No robot yet: %s', text)
        else:
            self.fail(text)

    def destroy_node(self) -> None:
        """Restore the logging of the package, and destroy the node."""
        unbridge_logging(self._bridge)
        super().destroy_node()


MadeNode = TypeVar('MadeNode', bound=ProcessNode)


def run_node(name: str, make: Callable[[], ProcessNode], arguments: Sequence[str] | None) -> int:
    """
    Run a node until SIGINT, SIGTERM or a fatal error; return the exit code of the process.

    The code is 1 if ROS cannot start, if the node cannot be made, or after :meth:`ProcessNode.fail`; else 0. If a
    thread still works at the end, the process ends in this function.

    :param name: of the logger that reports an error in ``make``.
    :param make: makes the node after ``rclpy.init``; it may raise an error for wrong parameters.
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
    Return an executor that logs exceptions of callbacks and messages that cannot be read, and goes on.

    :param threads: how many callbacks may run at once.
    """
    return InlineExecutor(threads, _report_dropped)


def _report_dropped(error: Exception) -> None:
    """Log an exception of a callback, or of reading a message, such as text that is not UTF-8."""
    _MESSAGES.error('A message was dropped: %s: %s', type(error).__name__, error)


def _begin(
    name: str, make: Callable[[], MadeNode], arguments: Sequence[str] | None
) -> MadeNode | None:
    """
    Initialize ROS and make the node; log an error, shut ROS down and return None if that fails.

    Exceptions of ``make`` other than SsikError and ParameterException pass through.

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
    """Start a timer that ends the process with an exit code after ``LAST_RESORT`` [s]."""
    timer = threading.Timer(LAST_RESORT, os._exit, (exit_code,))
    timer.daemon = True
    timer.start()
