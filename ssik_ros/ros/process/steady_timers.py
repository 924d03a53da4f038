"""Timers that run on the clock of the machine, even if ROS time is simulated."""

from collections.abc import Callable

from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer


def make_steady_timer(
    node: Node, period: float, call: Callable[[], object], group: CallbackGroup | None = None
) -> Timer:
    """
    Return a timer of a node that runs on the steady clock.

    :param node: the node.
    :param period: time between two calls [s].
    :param call: the function to call.
    :param group: the callback group; None makes a new, mutually exclusive one.
    """
    timer_group = MutuallyExclusiveCallbackGroup() if group is None else group
    return node.create_timer(
        period, call, callback_group=timer_group, clock=Clock(clock_type=ClockType.STEADY_TIME)
    )
