"""Start a move_group in which a solver of this package computes the kinematics of every group."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from moveit_configs_utils import MoveItConfigsBuilder

KINEMATICS = 'robot_description_kinematics'


def read_configuration(robot, package, kinematics_file, solver):
    """
    Return the parameters of a MoveIt configuration package with another solver.

    :param robot: the robot's name, as MoveItConfigsBuilder takes it.
    :param package: the configuration package; empty for the one that is named after the robot.
    :param kinematics_file: a kinematics.yaml instead of the package's own; empty for that.
    :param solver: solver of every group of the file; empty keeps those of the file.
    """
    builder = MoveItConfigsBuilder(robot, package_name=package or None)
    if kinematics_file:
        builder = builder.robot_description_kinematics(file_path=kinematics_file)
    parameters = builder.to_moveit_configs().to_dict()
    groups = parameters.get(KINEMATICS, {})
    for entries in groups.values() if solver else ():
        entries['kinematics_solver'] = solver
    return parameters


def start_move_group(context):
    """
    Return the node.

    :param context: the launch context.
    """
    names = ('robot', 'moveit_config_package', 'kinematics_file', 'solver')
    parameters = read_configuration(
        *(LaunchConfiguration(name).perform(context).strip() for name in names)
    )
    return [
        Node(
            package='moveit_ros_move_group',
            executable='move_group',
            namespace=LaunchConfiguration('namespace'),
            parameters=[parameters, {'publish_robot_description_semantic': True}],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'robot',
                default_value='moveit_resources_panda',
                description="Name of the robot, that of its configuration package without '_moveit_config'.",
            ),
            DeclareLaunchArgument(
                'moveit_config_package',
                default_value='',
                description='MoveIt configuration package, where it is not named after the robot.',
            ),
            DeclareLaunchArgument(
                'kinematics_file',
                default_value='',
                description="A kinematics.yaml instead of the package's own.",
            ),
            DeclareLaunchArgument(
                'solver',
                default_value='ssik_ros/Auto',
                description='Solver of every group of the kinematics.yaml. Empty: those of the file.',
            ),
            DeclareLaunchArgument(
                'namespace', default_value='', description='Namespace of the node.'
            ),
            DeclareLaunchArgument(
                'log_level',
                default_value='info',
                choices=['debug', 'info', 'warn', 'error', 'fatal'],
                description='Lowest level that is logged.',
            ),
            OpaqueFunction(function=start_move_group),
        ]
    )
