"""Start the node ssik_ros, which serves MoveIt's kinematics services for one robot."""

from launch.substitutions import LaunchConfiguration

from ssik_ros.ros.launch_nodes import describe_launch, make_node, parameter_file, parameters_of
from ssik_ros.ros.parameters.launch_arguments import (
    LOG_LEVEL,
    NAMESPACE,
    node_arguments,
    PARAMS_FILE,
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
    return [
        make_node(
            'ik_server',
            parameters_of(PARAMETERS),
            *parameter_file(context),
            name='ssik_ros',
            namespace=LaunchConfiguration('namespace'),
            respawn=LaunchConfiguration('respawn'),
            respawn_delay=1.0,
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    return describe_launch(__file__, ARGUMENTS, start_server)
