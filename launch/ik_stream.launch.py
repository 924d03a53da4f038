"""Start the node ik_stream, which lets IK groups follow target poses from topics."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile
from launch_ros.parameter_descriptions import ParameterValue

# Text parameters of the node: name, default, description.
TEXTS = (
    (
        'ik_groups_file',
        '',
        'Path of a group file, or the name of one that comes along (dual_arm, panda, ur5e).',
    ),
    (
        'groups',
        '',
        'Groups that follow their targets, separated by commas. Empty: all of the file.',
    ),
    (
        'moveit_config_package',
        '',
        'MoveIt configuration package, or the name of a robot that comes along (panda, fanuc, gen3, ur5e).',
    ),
    (
        'robot_description_file',
        '',
        'Path of a URDF or xacro file. Without it and without a package, the robot is taken from the topic '
        'robot_description.',
    ),
    ('xacro_args', '', 'Arguments of the xacro file, as in "name:=ur5e safety_limits:=true".'),
    ('joint_limits_file', '', 'Path of a joint_limits.yaml, which may only tighten limits.'),
    ('output', 'joint_state', 'joint_state or trajectory: what commands are sent as.'),
)
# Numbers of the node: name, default, description.
NUMBERS = (
    ('rate', '100.0', 'Commands in a second [Hz].'),
    ('max_age', '0.2', 'A target that came longer ago is stale, and the joints are held [s].'),
    (
        'max_state_age',
        '1.0',
        'A motion begins only where its joints were reported within this time [s]. 0: at the default of the robot.',
    ),
    ('speed_scale', '1.0', 'Part of the velocity limits that joints may use.'),
)


def start_stream(context):
    """
    Return the node; a file of parameters is part of it only when it is named.

    :param context: the launch context.
    """
    parameters = [
        {
            # As text whatever it looks like: YAML would read a number or nothing.
            **{
                name: ParameterValue(LaunchConfiguration(name), value_type=str)
                for name, _, _ in TEXTS
            },
            **{
                name: ParameterValue(LaunchConfiguration(name), value_type=float)
                for name, _, _ in NUMBERS
            },
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
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'namespace', default_value='', description='Namespace of the node.'
            ),
            *(
                DeclareLaunchArgument(name, default_value=default, description=description)
                for name, default, description in (*TEXTS, *NUMBERS)
            ),
            DeclareLaunchArgument(
                'params_file',
                default_value='',
                description='Parameter file of the node, with substitutions such as $(find-pkg-share ...). '
                'Its values count more than these arguments.',
            ),
            DeclareLaunchArgument(
                'log_level',
                default_value='info',
                choices=['debug', 'info', 'warn', 'error', 'fatal'],
                description='Lowest level that is logged.',
            ),
            OpaqueFunction(function=start_stream),
        ]
    )
