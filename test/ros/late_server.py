"""The node whose later services take so long that the log says which are missing: run as a program by a test."""

import sys
import threading

from ssik_ros.ros import node


def main():
    """Run the node; return the exit code."""
    is_said = threading.Event()
    announce, warm_up = node.IkServer._announce_later, node.GroupServices.warm_up

    def announce_and_tell(server):
        announce(server)
        is_said.set()

    def warm_up_late(groups):
        is_said.wait(60.0)
        warm_up(groups)

    node.LATE = 0.0
    node.IkServer._announce_later = announce_and_tell
    node.GroupServices.warm_up = warm_up_late
    return node.main()


if __name__ == '__main__':
    sys.exit(main())
