"""The node, with SIGTERM in the middle of its start: run as a program by a test."""

import os
import signal
import sys
import time

import rclpy

from ssik_ros.ros import node


def main(moment):
    """
    Run the node; return the exit code.

    :param moment: whether the signal comes while the node is being made, or when it starts.
    """

    def interrupt(function):
        def interrupted(*arguments):
            os.kill(os.getpid(), signal.SIGTERM)
            while rclpy.ok():
                time.sleep(0.01)
            return function(*arguments)

        return interrupted

    if moment == 'make':
        node.check_overrides = interrupt(node.check_overrides)
    else:
        node.IkServer.start = interrupt(node.IkServer.start)
    return node.main()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
