"""
Let a running robot's flange follow a frame of tf, with the scene of an IK environment over ROS 2 topics.

Shows: ``RosScene`` on robot_description, joint_states and /tf; ``sync_from``, ``sync_to``. Needs ROS 2: ``. ./activate``.
"""

from geometry_msgs.msg import TransformStamped
import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.ros.inputs.robot_source import LATCHED
from ssik_ros.ros.streams.ros_scene import RosScene
from ssik_ros.tasks import Environment

rclpy.init(args=['--ros-args', '--log-level', 'WARN'])
node = rclpy.create_node('example', namespace='example')
scene = RosScene(node, joint_topic='commands')
print(f'at first: {scene.missing()}')

# A robot that publishes its state, sees a cup, and follows its commands.
urdf = find_moveit_config('panda').urdf_path.read_text()
node.create_publisher(String, 'robot_description', LATCHED).publish(String(data=urdf))
robot = {f'panda_joint{k}': v for k, v in enumerate((0.0, 0.2, 0.0, -1.6, 0.0, 1.8, 0.8), 1)}
states = node.create_publisher(JointState, 'joint_states', 10)
frames = node.create_publisher(TFMessage, '/tf', 10)
obey = lambda told: robot.update(zip(told.name, told.position))  # noqa: E731
node.create_subscription(JointState, 'commands', obey, 10)
cup = TransformStamped(child_frame_id='cup')
cup.header.frame_id, cup.transform.rotation.x, cup.transform.rotation.w = 'panda_link0', 1.0, 0.0
place = cup.transform.translation
place.x, place.z = 0.5, 0.4


def is_soon(condition):
    """Let messages flow until a condition holds; return True then."""
    for _ in range(1500):
        states.publish(JointState(name=list(robot), position=list(robot.values())))
        frames.publish(TFMessage(transforms=[cup]))
        rclpy.spin_once(node, timeout_sec=0.02)
        if not scene.missing() and condition():
            return True


env = Environment('tracking')
arm = env.add_task_set('arm', method='dls', damping=0.02, max_iterations=50)
assert is_soon(lambda: scene.joint_positions()['panda_joint4'] < -1.0)
assert is_soon(lambda: 'cup' in {item.name for item in scene.structure()})
arm.add_task_from_scene(scene, 'panda_link0', 'panda_link8', 'cup')
for place.y in (0.1, 0.15, 0.2, 0.25, 0.3):
    assert is_soon(lambda: scene.pose('cup')[1, 3] == place.y)
    env.sync_from(scene)
    result = arm.solve()
    env.sync_to(scene)
    reached = is_soon(lambda: np.abs(scene.pose('panda_link8') - scene.pose('cup')).max() < 2e-3)
    print(f'cup at y = {place.y:.2f}: {result.describe()}; reached: {reached}')
rclpy.shutdown()
