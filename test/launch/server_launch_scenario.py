"""
A run of launch_testing: ik_server.launch.py is started, called and ended.

Not collected by pytest, because its versions treat launch's plugins differently; test_launch_files.py runs it.
"""

from pathlib import Path
import tempfile
import time
import unittest

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
import launch_testing
import launch_testing.actions
import launch_testing.asserts
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
from rcl_interfaces.srv import GetParameters
import rclpy

LAUNCH_FILE = Path(__file__).resolve().parents[2] / 'launch/ik_server.launch.py'
WAIT = 60.0
PARAMETERS = """
/**:
  ros__parameters:
    report_times: true
    kinematics_file: $(var kinematics)
"""


def generate_test_description():
    """Start the server in a namespace, with a file that overrules arguments."""
    path = Path(tempfile.mkdtemp()) / 'parameters.yaml'
    path.write_text(PARAMETERS, encoding='utf-8')
    arguments = {
        'namespace': 'cell',
        'moveit_config_package': 'panda',
        'params_file': str(path),
        # A text that YAML would take for a number.
        'base_link': '007',
        # For the substitution in the file.
        'kinematics': 'pose_ik_kinematics.yaml',
    }
    server = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(LAUNCH_FILE)), launch_arguments=arguments.items()
    )
    return LaunchDescription([server, launch_testing.actions.ReadyToTest()])


class WhileItRuns(unittest.TestCase):
    """Services and responses, as a client sees them."""

    @classmethod
    def setUpClass(cls):
        rclpy.init()
        cls.node = rclpy.create_node('launch_test_client', namespace='cell')

    @classmethod
    def tearDownClass(cls):
        cls.node.destroy_node()
        rclpy.shutdown()

    def call(self, kind, name, request):
        """Return the response of a service."""
        client = self.node.create_client(kind, name)
        end = time.monotonic() + WAIT
        self.assertTrue(client.wait_for_service(WAIT), f'no service {name}')
        future = client.call_async(request)
        rclpy.spin_until_future_complete(
            self.node, future, timeout_sec=max(end - time.monotonic(), 1.0)
        )
        self.assertTrue(future.done(), f'no response from {name}')
        return future.result()

    def test_compute_ik_responds_in_the_namespace(self):
        request = GetPositionIK.Request()
        request.ik_request.group_name = 'panda_arm'
        pose = request.ik_request.pose_stamped.pose
        pose.position.x, pose.position.z, pose.orientation.x = 0.4, 0.5, 1.0
        pose.orientation.w = 0.0
        response = self.call(GetPositionIK, 'compute_ik', request)
        self.assertEqual(response.error_code.val, MoveItErrorCodes.SUCCESS, response.error_code)
        self.assertIn('[solver ', response.error_code.message)

    def test_text_stays_text_and_the_file_counts_more_than_defaults(self):
        names = ['base_link', 'report_times', 'kinematics_file', 'use_sim_time']
        request = GetParameters.Request(names=names)
        text, times, kinematics, clock = self.call(
            GetParameters, 'ssik_ros/get_parameters', request
        ).values
        self.assertEqual(text.string_value, '007')
        self.assertTrue(times.bool_value)
        self.assertEqual(kinematics.string_value, 'pose_ik_kinematics.yaml')
        self.assertFalse(clock.bool_value)


@launch_testing.post_shutdown_test()
class AfterTheEnd(unittest.TestCase):
    """How the processes ended."""

    def test_exit_codes(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
