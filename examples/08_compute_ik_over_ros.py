"""
Run the node in this process, call /compute_ik as any ROS 2 client does, and read the reason of a refusal.

Shows: ``IkServer`` with parameters, a client with a deep queue, error codes with their reasons. Needs ROS 2: ``.
./activate``.
"""

import threading

from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.executors import MultiThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from ssik_ros.ros.node import IkServer

rclpy.init(args=['--ros-args', '--log-level', 'WARN'])
server = IkServer(
    namespace='example',
    parameter_overrides=[
        Parameter('moveit_config_package', value='ur5e'),
        Parameter('robot_description_kinematics.ur_manipulator.target_tolerance', value=1e-6),
    ],
)
client_node = rclpy.create_node('client', namespace='example')
# The queue of a client bounds how many responses it can wait for at once.
client = client_node.create_client(GetPositionIK, 'compute_ik', qos_profile=QoSProfile(depth=100))

executor = MultiThreadedExecutor(4)
executor.add_node(server)
executor.add_node(client_node)
spinning = threading.Thread(target=executor.spin)
spinning.start()
server.start()
assert client.wait_for_service(timeout_sec=90.0), 'the first start compiles the kernels'

request = GetPositionIK.Request()
ik_request = request.ik_request
ik_request.group_name = 'ur_manipulator'
ik_request.pose_stamped.header.frame_id = 'base_link'
pose = ik_request.pose_stamped.pose
pose.position.x, pose.position.y, pose.position.z = 0.4, 0.2, 0.3
pose.orientation.x, pose.orientation.w = 1.0, 0.0

for frame in ('base_link', 'tool1'):
    ik_request.pose_stamped.header.frame_id = frame
    response = client.call(request, timeout_sec=10.0)
    joints = response.solution.joint_state
    print(frame, response.error_code.val, dict(zip(joints.name, joints.position)))
    print(f'  {response.error_code.message}')

server.stop()
executor.shutdown()
spinning.join()
server.destroy_node()
client_node.destroy_node()
rclpy.shutdown()
