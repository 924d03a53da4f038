"""The node whose robot takes a minute to load: run as a program by a test."""

import sys
import time

from ssik_ros.ros import node


def main():
    """Run the node; return the exit code."""
    node.REPORT_EVERY = 0.2
    node.RobotServer.warm_up = lambda server: time.sleep(60.0)
    return node.main()


if __name__ == '__main__':
    sys.exit(main())
