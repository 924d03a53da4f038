"""Change the objects around the robot by messages on ``~/collision_object`` and ``~/attached_collision_object``."""

from collections.abc import Callable
import dataclasses
import logging

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import quote, SsikError
from ssik_ros.model.collision.objects import CarriedObject
from ssik_ros.ros.conversions.object_conversions import read_attached, read_object
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import SceneWorld

_LOGGER = logging.getLogger('ssik_ros.services')

DEPTH = 1000
"""Messages that wait: a scene comes as one burst of objects."""


class SceneTopics:
    """Changes the objects of a world by messages; an invalid message is logged and changes nothing."""

    def __init__(
        self, node: Node, world: SceneWorld, scene: Callable[[], PlanningScene], live: LiveState
    ) -> None:
        """
        Subscribe to the topics of objects and attached objects.

        :param node: the node.
        :param world: the world to change.
        :param scene: returns the robot among objects; raises RuntimeError before a robot is served.
        :param live: the state of the robot when a message arrives.
        """
        self._world, self._scene, self._live = world, scene, live
        # One after the other, in the order in which they were sent.
        one_by_one = MutuallyExclusiveCallbackGroup()
        for kind, topic, take in (
            (CollisionObject, '~/collision_object', self.take_object),
            (AttachedCollisionObject, '~/attached_collision_object', self.take_attached),
        ):
            node.create_subscription(
                kind, topic, take, QoSProfile(depth=DEPTH), callback_group=one_by_one
            )

    def take_object(self, message: CollisionObject) -> None:
        """
        Add, extend, move or remove an object of the world; log an error.

        :param message: the object and the operation.
        """
        try:
            self._change(message)
        except (SsikError, RuntimeError) as error:
            _LOGGER.error('The collision object %s is left out: %s', quote(message.id), error)

    def take_attached(self, message: AttachedCollisionObject) -> None:
        """
        Attach an object to a link, or detach it: a detached object stays in the world at its present pose.

        Without an id, all objects of the link are detached; without a link as well, all objects. Log an error.

        :param message: the object and the link.
        """
        try:
            self._change_carried(message)
        except (SsikError, RuntimeError) as error:
            _LOGGER.error(
                'The attached object %s is left out: %s', quote(message.object.id), error
            )

    def _change(self, message: CollisionObject) -> None:
        if message.operation == CollisionObject.REMOVE:
            self._world.remove(message.id)
            return
        scene, current = self._now()
        item = read_object(message)
        frame = scene.frames.in_model_frame(message.header.frame_id, current)
        if frame is not None:
            item = dataclasses.replace(item, pose=frame @ item.pose)
        if message.operation == CollisionObject.MOVE:
            self._world.move(item.name, item.pose)
        elif message.operation == CollisionObject.APPEND:
            self._world.append(item)
        else:
            self._world.add(item)

    def _change_carried(self, message: AttachedCollisionObject) -> None:
        given = read_attached(message)
        scene, current = self._now()
        if not given.is_gone:
            self._world.attach(scene.carry(given, self._world.now(), current, current))
            return

        def place(carried: CarriedObject) -> FloatArray:
            pose, frame = carried.object.pose, scene.frames.in_model_frame(carried.link, current)
            return pose if frame is None else frame @ pose

        self._world.detach(given.object.name, given.link, place)

    def _now(self) -> tuple[PlanningScene, FullState]:
        scene = self._scene()
        return scene, self._live.current(scene.states)
