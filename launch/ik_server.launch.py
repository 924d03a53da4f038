"""Start the node ssik_ros, which serves MoveIt's kinematics services for one robot."""

import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from ssik_ros.ros.parameters.launch_arguments import (
    LOG_LEVEL,
    NAMESPACE,
    node_arguments,
    PARAMS_FILE,
    require_known_arguments,
    RESPAWN,
    USE_SIM_TIME,
)

PARAMETERS = (
    USE_SIM_TIME,
    *node_arguments(
        'ik_server',
        (
            'moveit_config_package',
            'robot_name',
            'robot_description_file',
            'xacro_args',
            'semantic_file',
            'kinematics_file',
            'joint_limits_file',
            'task_sets_file',
            'reach_map',
            'groups',
            'group',
            'base_link',
            'tip_link',
            'robot_description_topic',
            'robot_description_semantic_topic',
            'joint_states_topic',
            'report_times',
        ),
    ),
)
ARGUMENTS = (NAMESPACE, *PARAMETERS, PARAMS_FILE, LOG_LEVEL, RESPAWN)


def start_server(context):
    """
    Return the node; a file of parameters is part of it only when it is named.

    :param context: the launch context.
    """
    require_known_arguments(sys.argv, __file__, ARGUMENTS)
    # Each with its type: YAML would read a number or nothing from some texts.
    parameters = [
        {
            argument.name: ParameterValue(
                LaunchConfiguration(argument.name), value_type=argument.type
            )
            for argument in PARAMETERS
        }
    ]
    if LaunchConfiguration('params_file').perform(context):
        # Last, so that its values count and the defaults above do not hide them.
        parameters.append(ParameterFile(LaunchConfiguration('params_file'), allow_substs=True))
    return [
        Node(
            package='ssik_ros',
            executable='ik_server',
            name='ssik_ros',
            namespace=LaunchConfiguration('namespace'),
            parameters=parameters,
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
            emulate_tty=True,
            respawn=LaunchConfiguration('respawn'),
            respawn_delay=1.0,
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start_server)])
