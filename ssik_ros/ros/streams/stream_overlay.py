"""Draw the tasks of the stream that ``ik_stream`` runs in RViz: markers on ``~/debug_overlay``."""

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from ssik_ros.server.tasks.task_set_stream import TaskSetStream
from ssik_ros.tasks.joints import IkJoint

try:
    from visualization_msgs.msg import MarkerArray

    from ssik_ros.ros.conversions.marker_messages import write_overlays
except ImportError:
    MarkerArray = None


class StreamOverlay:
    """Publishes markers of the tasks of a stream while the topic has a subscriber."""

    def __init__(
        self,
        node: Node,
        stream: TaskSetStream,
        rate: float,
        world_frame: str,
        callbacks: MutuallyExclusiveCallbackGroup,
    ) -> None:
        """
        Create the publisher and a timer; do nothing if visualization_msgs is missing.

        :param node: the node.
        :param stream: the stream.
        :param rate: messages in a second [Hz]; 0 for none.
        :param world_frame: name of the frame that the environment calls world.
        :param callbacks: callback group in which the stream is stepped, because its environment serves one thread.
        """
        if rate <= 0.0 or MarkerArray is None:
            return
        self._node, self._world_frame = node, world_frame
        tasks = [task for task_set in stream.task_sets for task in task_set.tasks]
        self._overlays = [
            stream.world.debug_overlay(
                # RViz does not know the frame of a joint.
                task.tip,
                None if isinstance(task.base, IkJoint) else task.base,
                text=True,
                limits=True,
            )
            for task in tasks
        ]
        self._publisher = node.create_publisher(MarkerArray, '~/debug_overlay', 1)
        node.create_timer(1.0 / rate, self.publish, callback_group=callbacks)

    def publish(self) -> None:
        """Publish the markers of the present state, if there is a subscriber."""
        if self._publisher.get_subscription_count():
            stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(write_overlays(self._overlays, self._world_frame, stamp))
