"""Start the node ssik_ros, which answers MoveIt's kinematics services for one robot."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile
from launch_ros.parameter_descriptions import ParameterValue

# Text parameters of the node: name, default, description. An empty one leaves the choice to the node.
TEXTS = (
    (
        'moveit_config_package',
        '',
        'MoveIt configuration package, or the name of a robot that comes along (panda, fanuc, gen3, ur5e): '
        'URDF, SRDF, kinematics.yaml and joint_limits.yaml are taken from it where no file is named.',
    ),
    (
        'robot_description_file',
        '',
        'Path of a URDF or xacro file. Without it and without a package, the robot is taken from the topic '
        'robot_description.',
    ),
    ('xacro_args', '', 'Arguments of the xacro file, as in "name:=ur5e safety_limits:=true".'),
    (
        'semantic_file',
        '',
        'Path of an SRDF or xacro file. Without it and without a package, the SRDF is taken from the topic '
        'robot_description_semantic.',
    ),
    (
        'kinematics_file',
        '',
        'Path of a kinematics.yaml, or the name of a file in the config folder of moveit_config_package.',
    ),
    ('joint_limits_file', '', 'Path of a joint_limits.yaml, which may only tighten limits.'),
    (
        'ik_groups_file',
        '',
        'Path of a group file, or the name of one that comes along (dual_arm, panda, ur5e). Empty: no IK groups.',
    ),
    ('groups', '', 'Groups to serve, separated by commas. Empty: all groups of the SRDF.'),
    (
        'group',
        'manipulator',
        'Name of the group from base_link to tip_link where there is no SRDF.',
    ),
    ('base_link', '', 'Base of that group. Empty: the root link.'),
    ('tip_link', '', 'Tip of that group. Empty: the last link, where the robot has one branch.'),
)


def start_server(context):
    """
    Return the node; a file of parameters is part of it only when it is named.

    :param context: the launch context.
    """
    parameters = [
        {
            'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool),
            'report_times': ParameterValue(LaunchConfiguration('report_times'), value_type=bool),
            # As text whatever it looks like: YAML would read a number or nothing.
            **{
                name: ParameterValue(LaunchConfiguration(name), value_type=str)
                for name, _, _ in TEXTS
            },
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
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'namespace',
                default_value='',
                description='Namespace of the node; it must not be empty beside a move_group, which serves '
                'compute_ik as well.',
            ),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='false',
                choices=['true', 'false'],
                description='Take the time from the topic /clock. Budgets of searches always run on the '
                "machine's own clock.",
            ),
            *(
                DeclareLaunchArgument(name, default_value=default, description=description)
                for name, default, description in TEXTS
            ),
            DeclareLaunchArgument(
                'params_file',
                default_value='',
                description='Parameter file of the node, with substitutions such as $(find-pkg-share ...). '
                'Its values count more than these arguments.',
            ),
            DeclareLaunchArgument(
                'report_times',
                default_value='false',
                choices=['true', 'false'],
                description='End the message of each answer by the time within the solver.',
            ),
            DeclareLaunchArgument(
                'log_level',
                default_value='info',
                choices=['debug', 'info', 'warn', 'error', 'fatal'],
                description='Lowest level that is logged.',
            ),
            DeclareLaunchArgument(
                'respawn',
                default_value='false',
                choices=['true', 'false'],
                description='Start the node again when it ends by itself.',
            ),
            OpaqueFunction(function=start_server),
        ]
    )
