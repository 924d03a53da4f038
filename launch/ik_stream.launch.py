"""Start the node ik_stream, which lets task sets follow target poses from topics."""

from launch.substitutions import LaunchConfiguration

from ssik_ros.ros.launch_nodes import describe_launch, make_node, parameter_file, parameters_of
from ssik_ros.ros.parameters.launch_arguments import (
    LOG_LEVEL,
    NAMESPACE,
    node_arguments,
    PARAMS_FILE,
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
    return [
        make_node(
            'ik_stream',
            parameters_of(PARAMETERS),
            *parameter_file(context),
            namespace=LaunchConfiguration('namespace'),
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    return describe_launch(__file__, ARGUMENTS, start_stream)
