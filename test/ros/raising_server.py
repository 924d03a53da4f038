"""The node with handlers that raise when a request says so: run as a program by a test."""

import sys

from ssik_ros.ros import node
from ssik_ros.server.robot_server import RobotServer

RAISE_GROUP = 'raise'
"""Group of a request, and link of a question for poses, that make the handler raise."""
TEXT = 'out of luck: ä'


class RaisingServer(RobotServer):
    """Answers as its base does, except for one group and one link."""

    def answer(self, question, current):
        """Raise for the group ``raise``."""
        if question.group == RAISE_GROUP:
            raise ZeroDivisionError(TEXT)
        return super().answer(question, current)

    def forward(self, links, *question):
        """Raise for the link ``raise``."""
        if RAISE_GROUP in links:
            raise MemoryError(TEXT)
        return super().forward(links, *question)


if __name__ == '__main__':
    node.RobotServer = RaisingServer
    sys.exit(node.main())
