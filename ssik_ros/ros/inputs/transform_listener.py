"""Find frames of other nodes in the topics ``/tf`` and ``/tf_static``, without tf2_ros: :class:`TransformListener`."""

from collections.abc import Collection
import logging
import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from ssik_ros.errors import quote
from ssik_ros.ros.conversions.pose_conversions import read_transform
from ssik_ros.server.scene.transform_tree import TransformTree
from ssik_ros.server.scene.world import PlacedFrame

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

_LOGGER = logging.getLogger('ssik_ros.messages')

DEPTH = 100
MISSING = 'Transforms are not known: the package tf2_msgs is not installed.'


class TransformListener:
    """Keeps the latest published transforms, and finds frames in them; several threads may call it at once."""

    def __init__(self, node: Node) -> None:
        """
        Subscribe to the transforms; do nothing if the package tf2_msgs is missing.

        :param node: the node.
        """
        self._tree = TransformTree()
        self._lock = threading.Lock()
        if TFMessage is None:
            return
        one_by_one = MutuallyExclusiveCallbackGroup()
        latched = QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for topic, profile in (('/tf', QoSProfile(depth=DEPTH)), ('/tf_static', latched)):
            node.create_subscription(
                TFMessage, topic, self.take, profile, callback_group=one_by_one
            )

    def take(self, message: 'TFMessage') -> None:
        """
        Keep the transforms of a message; log and ignore invalid ones.

        :param message: poses of frames in their parents.
        """
        with self._lock:
            for entry in message.transforms:
                parent, child = entry.header.frame_id, entry.child_frame_id
                wrong = self._tree.put(parent, child, read_transform(entry.transform))
                if wrong:
                    _LOGGER.warning(
                        'The transform from %s to %s is left out: %s',
                        quote(parent),
                        quote(child),
                        wrong,
                    )

    def names(self) -> set[str]:
        """Return the names of all frames in the published transforms."""
        with self._lock:
            return self._tree.names()

    def find(self, name: str, bases: Collection[str]) -> PlacedFrame | str:
        """
        Return the pose of a frame relative to one of the known frames; or a sentence why it is unknown.

        The known frame is the one that the fewest transforms lead to.

        :param name: the frame.
        :param bases: names of frames with known poses.
        """
        if TFMessage is None:
            return MISSING
        with self._lock:
            return self._tree.find(name, bases)
