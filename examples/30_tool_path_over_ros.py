"""
Plan a tool path with the action of a node: progress while it plans, the trajectory, and a goal that is cancelled.

Shows: ``~/plan_tool_path``, tolerances, feedback, cancel, the reason of a failure. Needs ROS 2: ``. ./activate``.
"""

import math
import threading

from geometry_msgs.msg import Point, Pose, Quaternion
import rclpy
from rclpy.action import ActionClient
from ssik_msgs.action import PlanToolPath
from ssik_msgs.msg import PathTolerance

from ssik_ros.ros.node import IkServer
from ssik_ros.ros.process.node_process import make_executor

rclpy.init(args=['--ros-args', '--log-level', 'WARN', '-p', 'moveit_config_package:=panda'])
server = IkServer(namespace='example')
executor = make_executor(4)
executor.add_node(server)
server.start()
threading.Thread(target=executor.spin, daemon=True).start()
node = rclpy.create_node('client', use_global_arguments=False)
client = ActionClient(node, PlanToolPath, '/example/ssik_ros/plan_tool_path')
assert client.wait_for_server(60.0)


def wait_for(future):
    """Return the result of a future."""
    rclpy.spin_until_future_complete(node, future)
    return future.result()


def line(count, length=0.4, **fields):
    """Return a goal along a line in front of the robot, the tool looking down."""
    goal = PlanToolPath.Goal(group='panda_arm', tool_speed=0.1, **fields)
    down = Quaternion(x=1.0, y=0.0, z=0.0, w=0.0)
    places = [Point(x=0.45, y=length * (k / (count - 1) - 0.5), z=0.4) for k in range(count)]
    goal.waypoints = [Pose(position=place, orientation=down) for place in places]
    return goal


phases, spin = [], PathTolerance(spin=[-math.pi, math.pi])
for goal in (line(100), line(100, tolerances=[spin]), line(100, length=3.0)):
    sent = client.send_goal_async(goal, lambda update: phases.append(update.feedback.phase))
    handle = wait_for(sent)
    result = wait_for(handle.get_result_async()).result
    points = result.trajectory.points
    seconds = points[-1].time_from_start.sec if points else 0
    print(f'{len(points)} points in {seconds} s, cost {result.cost:.2f} {result.reason}')
print(f'phases: {", ".join(dict.fromkeys(phases))}')

handle = wait_for(client.send_goal_async(line(5000, tolerances=[PathTolerance(cone=0.2)])))
wait_for(handle.cancel_goal_async())
print(wait_for(handle.get_result_async()).result.reason)
server.stop()
executor.shutdown(1.0)
rclpy.shutdown()
