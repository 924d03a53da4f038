"""The executors of rclpy that a server can be measured on."""

from collections.abc import Callable

from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor

from ssik_ros.ros.process import node_process
from ssik_ros.ros.process.executors import InlineExecutor


def _product(threads: int) -> Executor:
    """Return the executor of the product's node."""
    return node_process.make_executor(threads)


def _report(error: Exception) -> None:
    """Print the exception of a callback."""
    print(f'{type(error).__name__}: {error}', flush=True)


EXECUTORS: dict[str, Callable[[int], Executor]] = {
    'product': _product,
    'single': lambda _: SingleThreadedExecutor(),
    'multi': lambda threads: MultiThreadedExecutor(threads),
    'inline': lambda threads: InlineExecutor(threads, _report),
    'events': lambda _: EventsExecutor(),
}
"""By name, from the number of threads."""
