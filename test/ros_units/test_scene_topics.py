"""Objects that messages attach and detach: whatever is detached stays in the world at its present pose."""

from types import SimpleNamespace

from test.ros_units.bare_nodes import NodeDouble
from test.server.served_robots import pose_of, true_pose

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
import pytest
from shape_msgs.msg import SolidPrimitive

from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.ros.services.scene_topics import SceneTopics
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import SceneWorld


def change(name, link, operation):
    """Return a message about a ball 0.1 m before a link."""
    message = AttachedCollisionObject(link_name=link)
    message.object.id, message.object.operation = name, operation
    message.object.header.frame_id = link
    if operation == CollisionObject.ADD:
        message.object.pose.position.z = 0.1
        ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.05])
        message.object.primitives = [ball]
    return message


@pytest.mark.parametrize(
    ('name', 'link', 'put_down'),
    [
        ('cup', 'panda_hand', ['cup']),
        ('', 'panda_hand', ['cup', 'rod']),
        ('', '', ['cup', 'rod', 'jug']),
        ('cap', '', []),
    ],
)
def test_detached_objects_stay_in_the_world(name, link, put_down):
    robot, world = load_named('panda').robot, SceneWorld()
    scene = PlanningScene(robot, world)
    state = scene.states.default()
    live = SimpleNamespace(current=lambda states: state)
    topics = SceneTopics(NodeDouble(), world, lambda: scene, live)
    holders = {'cup': 'panda_hand', 'rod': 'panda_hand', 'jug': 'panda_link4'}
    for item, holder in holders.items():
        topics.take_attached(change(item, holder, CollisionObject.ADD))
    topics.take_attached(change(name, link, CollisionObject.REMOVE))
    now = world.now()
    assert [item.name for item in now.standing] == put_down
    assert {entry.object.name for entry in now.carried} == holders.keys() - put_down
    for item in now.standing:
        where = true_pose(robot, state, holders[item.name]) @ pose_of((0.0, 0.0, 0.1))
        assert np.allclose(item.pose, where, atol=1e-9)
