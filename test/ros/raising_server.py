"""The node with handlers that raise if a request demands it: run as a program by a test."""

import sys

from ssik_ros.ros import node
from ssik_ros.server.robot_server import RobotServer

RAISE_GROUP = 'raise'
"""Group of a request, and link of a request for poses, that make the handler raise."""
TEXT = 'out of luck: ä'


class RaisingServer(RobotServer):
    """Responds as its base class does, except for one group and one link."""

    def solve(self, request, current):
        """Raise for the group ``raise``."""
        if request.group == RAISE_GROUP:
            raise ZeroDivisionError(TEXT)
        return super().solve(request, current)

    def compute_fk(self, request, current):
        """Raise for the link ``raise``."""
        if RAISE_GROUP in request.links:
            raise MemoryError(TEXT)
        return super().compute_fk(request, current)


if __name__ == '__main__':
    node.RobotServer = RaisingServer
    sys.exit(node.main())
