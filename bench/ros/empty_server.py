"""
A server whose handler does nothing: ``python bench/ros/empty_server.py FILE``.

It serves ``compute_ik`` with the response of a file.
"""

import argparse
from collections.abc import Sequence
import contextlib
from pathlib import Path

from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from ssik_ros.ros.process import node_process

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


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Serve until a signal comes.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument('file', type=Path, help='the response as the middleware sends it')
    parser.add_argument('--threads', type=int, default=4, help='threads that run handlers')
    options, _ = parser.parse_known_args(arguments)
    rclpy.init()
    response = deserialize_message(options.file.read_bytes(), GetPositionIK.Response)
    executor = node_process.make_executor(options.threads)
    executor.add_node(EmptyServer(response))
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
