"""
Let a running robot's hand follow a frame of tf, with the scene of an IK environment over ROS 2 topics.

Shows: ``RosScene`` on robot_description, joint_states and /tf; ``sync_from``, ``sync_to``. Needs ROS 2: ``. ./activate``.
"""

import threading
import time

from geometry_msgs.msg import TransformStamped
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from ssik_ros.groups import Environment
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.ros.ros_scene import RosScene

rclpy.init(args=['--ros-args', '--log-level', 'WARN'])
robot = rclpy.create_node('robot', namespace='example')
mine = rclpy.create_node('mine', namespace='example')
executor = SingleThreadedExecutor()
for node in (robot, mine):
    executor.add_node(node)
spinning = threading.Thread(target=executor.spin)
spinning.start()

# Somewhere else: a robot that says what it is and where it is, and does what it is told.
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
urdf = find_moveit_config('panda').urdf_path.read_text()
robot.create_publisher(String, 'robot_description', latched).publish(String(data=urdf))
values = {f'panda_joint{k}': v for k, v in enumerate((0.0, 0.2, 0.0, -1.6, 0.0, 1.8, 0.8), 1)}
values['panda_finger_joint1'] = 0.02
states = robot.create_publisher(JointState, 'joint_states', 10)
frames = robot.create_publisher(TFMessage, '/tf', 10)
robot.create_subscription(
    JointState, 'commands', lambda m: values.update(zip(m.name, m.position)), 10
)
cup = TransformStamped(child_frame_id='cup')
cup.header.frame_id = 'panda_link0'
place = cup.transform.translation
place.x, place.y, place.z = 0.5, 0.1, 0.4
cup.transform.rotation.x, cup.transform.rotation.w = 1.0, 0.0


def report():
    """Publish where the robot and the cup are."""
    states.publish(JointState(name=list(values), position=list(values.values())))
    frames.publish(TFMessage(transforms=[cup]))


robot.create_timer(0.02, report)


def wait_until(condition):
    """Wait for messages, but not for ever."""
    end = time.monotonic() + 30.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


# Here: the environment.
scene = RosScene(mine, max_age=2.0, joint_topic='commands')
print(f'at first: {scene.missing()}')
wait_until(lambda: not scene.missing())
wait_until(lambda: any(item.name == 'cup' for item in scene.structure()))
env = Environment('tracking')
arm = env.add_group('arm', method='dls', damping=0.02, max_iterations=50)
arm.add_element_from_scene(scene, 'panda_link0', 'panda_link8', 'cup')

for step in range(5):
    place.y = 0.1 + 0.05 * step
    wait_until(lambda: abs(scene.pose('cup')[1, 3] - place.y) < 1e-9)
    env.sync_from(scene)
    result = arm.solve()
    assert result.success, result.describe()
    env.sync_to(scene)
    wait_until(lambda: np.abs(scene.pose('panda_link8') - scene.pose('cup')).max() < 2e-3)
    away = np.abs(scene.pose('panda_link8') - scene.pose('cup')).max()
    print(f'cup at y = {place.y:.2f}: {result.describe()}; reached: {away < 2e-3}')

executor.shutdown()
spinning.join()
for node in (robot, mine):
    node.destroy_node()
rclpy.shutdown()
