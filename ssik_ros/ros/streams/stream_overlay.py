"""The overlay of a stream, on ``~/debug_overlay``."""

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ssik_ros.server.tasks.group_stream import GroupStream
from ssik_ros.tasks.joints import Joint

try:
    from visualization_msgs.msg import MarkerArray

    from ssik_ros.ros.conversions.marker_messages import write_overlays
except ImportError:
    MarkerArray = None


class StreamOverlay:
    """Publishes what the elements of a stream look like, while somebody listens."""

    def __init__(
        self,
        node: Node,
        stream: GroupStream,
        rate: float,
        world_frame: str,
        callbacks: MutuallyExclusiveCallbackGroup,
    ) -> None:
        """
        Begin to publish, where there are messages for it.

        :param node: the node.
        :param stream: the stream.
        :param rate: messages in a second [Hz]; 0: none.
        :param world_frame: name of the frame that the environment calls world.
        :param callbacks: in which the stream is stepped: its environment serves one thread.
        """
        if rate <= 0.0 or MarkerArray is None:
            return
        self._node, self._world_frame = node, world_frame
        elements = [element for group in stream.groups for element in group.elements]
        self._overlays = [
            stream.world.debug_overlay(
                # A joint's frame has no name that RViz could know.
                element.tip,
                None if isinstance(element.base, Joint) else element.base,
                text=True,
                limits=True,
            )
            for element in elements
        ]
        self._publisher = node.create_publisher(MarkerArray, '~/debug_overlay', 1)
        node.create_timer(1.0 / rate, self.publish, callback_group=callbacks)

    def publish(self) -> None:
        """Publish the markers as they are now."""
        if self._publisher.get_subscription_count():
            stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(write_overlays(self._overlays, self._world_frame, stamp))
