"""How the process of a node begins: ROS, then the node, and one line with the reason where that fails."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.logging import get_logger
from rclpy.node import Node

from ssik_ros.errors import SsikError

MadeNode = TypeVar('MadeNode', bound=Node)


def begin(
    name: str, make: Callable[[], MadeNode], arguments: Sequence[str] | None
) -> MadeNode | int:
    """
    Return the node of a process, or its exit code where there is nothing to run.

    :param name: of the logger that says why.
    :param make: makes the node once ROS is there; it may refuse its parameters.
    :param arguments: arguments of ROS; None means those of the process.
    """
    try:
        rclpy.init(args=None if arguments is None else list(arguments))
    except RuntimeError as error:
        # Arguments that ROS cannot read, a parameter file that does not exist.
        get_logger(name).fatal(str(error))
        return 1
    try:
        return make()
    except (SsikError, ParameterException) as error:
        get_logger(name).fatal(str(error))
        rclpy.try_shutdown()
        return 1
    except Exception:
        if rclpy.ok():
            raise
        # A signal ended the context while the node was being made.
        return 0
