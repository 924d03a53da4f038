"""
A server to compare with: ``python bench/ros/server.py empty|own --help``.

``empty`` serves ``compute_ik`` with a prepared response and does nothing else. ``own`` is the product's node, on an
executor of choice and with clocks around its handler and its solver.
"""

import argparse
from collections.abc import Callable, Sequence
import contextlib
from pathlib import Path
import sys
from time import perf_counter_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from moveit_msgs.srv import GetPositionIK
import numpy as np
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from bench.ros.executors import EXECUTORS
from ssik_ros.ros import node
from ssik_ros.ros.process import node_process
from ssik_ros.ros.services.service_handlers import Service, ServiceHandlers
from ssik_ros.server.robot_server import RobotServer

SERVICE_DEPTH = 1000
"""As many requests in flight as the product's service keeps by default."""


class EmptyServer(Node):
    """Gives every request the same response."""

    def __init__(self, prepared: GetPositionIK.Response) -> None:
        """
        Offer the service.

        :param prepared: the response to every request.
        """
        super().__init__('empty_server')
        self._prepared = prepared
        self.create_service(
            GetPositionIK,
            'compute_ik',
            self.respond,
            qos_profile=QoSProfile(depth=SERVICE_DEPTH),
            callback_group=ReentrantCallbackGroup(),
        )

    def respond(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """Return the prepared response."""
        return self._prepared


class Clocks:
    """Times of the product's handler and, within it, of the solver [ns]."""

    def __init__(self) -> None:
        """Start without times."""
        self._handler: list[int] = []
        self._solver: list[int] = []

    def watch(self) -> None:
        """Put clocks around handler and solver of every server that is made from now on."""
        make_handler = ServiceHandlers.handler

        def make_timed(handlers: ServiceHandlers, service: Service) -> Callable[..., Any]:
            handler = make_handler(handlers, service)
            is_timed = service.name == 'compute_ik'
            return self._timed(handler, self._handler) if is_timed else handler

        setattr(ServiceHandlers, 'handler', make_timed)  # noqa: B010
        setattr(RobotServer, 'solve', self._noted(RobotServer.solve))  # noqa: B010

    @staticmethod
    def _timed(function: Callable[..., Any], times: list[int]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            begin = perf_counter_ns()
            try:
                return function(*arguments, **options)
            finally:
                times.append(perf_counter_ns() - begin)

        return timed

    def _noted(self, solve: Callable[..., Any]) -> Callable[..., Any]:
        def solve_noted(*arguments: Any) -> Any:
            response = solve(*arguments)
            self._solver.append(response.solve_ns)
            return response

        return solve_noted

    def write(self, path: Path) -> None:
        """
        Write the times of all requests.

        :param path: an ``.npz`` file with ``handler`` and ``solver``.
        """
        np.savez(path, handler=np.array(self._handler), solver=np.array(self._solver))


def serve_empty(prepared: bytes, executor_name: str, threads: int) -> int:
    """
    Serve a prepared response until a signal comes.

    :param prepared: the response as the middleware sends it.
    :param executor_name: a key of ``EXECUTORS``.
    :param threads: how many threads run handlers.
    """
    rclpy.init()
    server = EmptyServer(deserialize_message(prepared, GetPositionIK.Response))
    executor = EXECUTORS[executor_name](threads)
    executor.add_node(server)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    rclpy.try_shutdown()
    return 0


def serve_own(times: Path | None, executor_name: str, threads: int, searches: int) -> int:
    """
    Be the product on another executor; write the times of all requests at the end.

    :param searches: how many long searches may run at once; 0 for the product's own choice.
    :param times: where to; None for no clocks.
    :param executor_name: a key of ``EXECUTORS``.
    :param threads: how many threads run handlers.
    """
    clocks = Clocks()
    if times is not None:
        clocks.watch()
    if searches:
        node.searches_at_once = lambda: searches
    if executor_name != 'product':
        node_process.make_executor = lambda _: EXECUTORS[executor_name](threads)
    try:
        return node.main()
    finally:
        if times is not None:
            clocks.write(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Serve until a signal comes.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument('kind', choices=('empty', 'own'))
    parser.add_argument('--executor', choices=EXECUTORS, default='product')
    parser.add_argument('--threads', type=int, default=4)
    parser.add_argument('--searches', type=int, default=0, help='long ones at once')
    parser.add_argument('--prepared', type=Path, help='the response of the empty server')
    parser.add_argument('--times', type=Path, help='where the own server leaves its times')
    options, _ = parser.parse_known_args(arguments)
    if options.kind == 'empty':
        return serve_empty(options.prepared.read_bytes(), options.executor, options.threads)
    return serve_own(options.times, options.executor, options.threads, options.searches)


if __name__ == '__main__':
    sys.exit(main())
