"""
Drag the target of a group in RViz.

Started are the node ssik_ros, which offers ssik_ros/interactive_target and ssik_ros/markers, and RViz. Without a real robot,
robot_state_publisher shows the posture that follows the target.
"""

import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ssik_ros.model.description_files import config_directory, find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.parameters.launch_arguments import (
    LaunchArgument,
    LOG_LEVEL,
    require_known_arguments,
    require_packages,
    USE_SIM_TIME,
    YES_OR_NO,
)

PACKAGE = LaunchArgument(
    'moveit_config_package',
    'panda',
    'MoveIt configuration package, or the name of a robot that comes along.',
)
GROUP = LaunchArgument('interactive_group', 'panda_arm', 'Group whose tips have targets.')
NODES = (
    LaunchArgument(
        'state_publisher',
        'true',
        'Start robot_state_publisher, which shows the posture that follows; false beside a real robot.',
        bool,
        YES_OR_NO,
    ),
    LaunchArgument('rviz', 'true', 'Start RViz.', bool, YES_OR_NO),
)
ARGUMENTS = (PACKAGE, GROUP, USE_SIM_TIME, *NODES, LOG_LEVEL)
GOAL = 'ssik_ros/goal_joint_states'


def start_nodes(context):
    """
    Return the nodes; the description and the fixed frame depend on the robot.

    :param context: the launch context.
    """
    require_known_arguments(sys.argv, __file__, ARGUMENTS)
    packages = {'robot_state_publisher': 'state_publisher', 'rviz2': 'rviz'}
    require_packages(
        __file__,
        {
            package: argument
            for package, argument in packages.items()
            if LaunchConfiguration(argument).perform(context) == 'true'
        },
    )
    files = find_moveit_config(LaunchConfiguration('moveit_config_package').perform(context))
    robot = load_robot(files.urdf_path, xacro_args=files.xacro_args or None)
    common = {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}
    logged = ['--ros-args', '--log-level', LaunchConfiguration('log_level')]
    described = {'robot_description': ParameterValue(robot.urdf_xml, value_type=str)}
    named = {
        name: ParameterValue(LaunchConfiguration(name), value_type=str)
        for name in ('moveit_config_package', 'interactive_group')
    }
    view = str(config_directory() / 'rviz/ssik_ros.rviz')
    return [
        Node(
            package='ssik_ros',
            executable='ik_server',
            name='ssik_ros',
            parameters=[{**common, **named}],
            arguments=logged,
            output='screen',
            emulate_tty=True,
        ),
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            name='robot_state_publisher',
            parameters=[{**common, **described}],
            remappings=[('joint_states', GOAL)],
            arguments=logged,
            output='screen',
            emulate_tty=True,
            condition=IfCondition(LaunchConfiguration('state_publisher')),
        ),
        Node(
            package='rviz2',
            executable='rviz2',
            name='rviz2',
            parameters=[common],
            arguments=['-d', view, '-f', robot.tree.root_link, *logged],
            output='screen',
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start_nodes)])
