"""Start the node ik_stream, which lets task sets follow target poses from topics."""

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
)

PARAMETERS = node_arguments(
    'ik_stream',
    (
        'task_sets_file',
        'task_sets',
        'moveit_config_package',
        'robot_name',
        'robot_description_file',
        'xacro_args',
        'joint_limits_file',
        'robot_description_topic',
        'joint_states_topic',
        'output',
        'rate',
        'max_age',
        'max_state_age',
        'max_lag',
        'speed_scale',
    ),
)
ARGUMENTS = (NAMESPACE, *PARAMETERS, PARAMS_FILE, LOG_LEVEL)


def start_stream(context):
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
            executable='ik_stream',
            name='ik_stream',
            namespace=LaunchConfiguration('namespace'),
            parameters=parameters,
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
            emulate_tty=True,
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start_stream)])
