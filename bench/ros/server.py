"""
A server to compare with: ``python bench/ros/server.py empty|watched FILE``.

``empty`` serves ``compute_ik`` with a prepared response and does nothing else. ``watched`` is the product's node with
clocks around its handler and its solver.
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


def serve_empty(prepared: bytes, threads: int) -> int:
    """
    Serve a prepared response until a signal comes.

    :param prepared: the response as the middleware sends it.
    :param threads: how many threads run handlers.
    """
    rclpy.init()
    server = EmptyServer(deserialize_message(prepared, GetPositionIK.Response))
    executor = node_process.make_executor(threads)
    executor.add_node(server)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    rclpy.try_shutdown()
    return 0


def serve_watched(times: Path) -> int:
    """
    Be the product's node with clocks; write the times of all requests at the end.

    :param times: where to.
    """
    clocks = Clocks()
    clocks.watch()
    try:
        return node.main()
    finally:
        clocks.write(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Serve until a signal comes.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument('kind', choices=('empty', 'watched'))
    parser.add_argument('file', type=Path, help='the response, or where the times are written')
    parser.add_argument('--threads', type=int, default=4, help='of the empty server')
    options, _ = parser.parse_known_args(arguments)
    if options.kind == 'empty':
        return serve_empty(options.file.read_bytes(), options.threads)
    return serve_watched(options.file)


if __name__ == '__main__':
    sys.exit(main())
