"""
Ask the questions of a benchmark through services, and end when they are answered.

For each solver of this package in the configuration, a server is started in a namespace of its own. With
start_server:=false the benchmark asks a server that is running already.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import LogInfo
from launch.actions import OpaqueFunction
from launch.actions import RegisterEventHandler
from launch.actions import Shutdown
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.servers import plan_servers
from ssik_ros.benchmark.servers import SERVICE
from ssik_ros.benchmark.session import find_benchmark_config

# Parameters of the benchmark: name, type, default, choices, description.
PARAMETERS = (
    (
        'config',
        str,
        'panda',
        None,
        'Configuration in the format of ik_benchmarking: a path, or one that comes along (panda, fanuc, gen3, '
        'ur5e).',
    ),
    (
        'output_dir',
        str,
        'ik_benchmark_results',
        None,
        'Folder for data, goals, summary and plots.',
    ),
    (
        'samples',
        int,
        '0',
        None,
        'Samples instead of sample_size of the configuration; 0 for that.',
    ),
    ('goals', str, '', None, 'Goals file whose questions are asked. Empty: random questions.'),
    (
        'robot',
        str,
        'config',
        ['config', 'topics'],
        'The robot of the configuration, or that on the topics robot_description, robot_description_semantic '
        'and joint_states: an arm that is running.',
    ),
    (
        'seeds',
        str,
        'random',
        ['random', 'live'],
        'Start searches at random seeds, or (with robot:=topics) where the arm is.',
    ),
    ('service', str, 'compute_ik', None, 'Service to ask with start_server:=false.'),
    (
        'solver',
        str,
        '',
        None,
        'Entry of the configuration that this service stands for. Empty: the first one of this package.',
    ),
    ('joint_limits_file', str, '', None, 'Path of a joint_limits.yaml for robot:=topics.'),
    ('base_link', str, '', None, 'Base of the group for robot:=topics without SRDF.'),
    ('tip_link', str, '', None, 'Tip of the group for robot:=topics without SRDF.'),
    ('service_timeout', float, '60.0', None, 'Time to wait for services and for the robot [s].'),
    ('answer_timeout', float, '1.0', None, 'Time to wait for an answer beyond its budget [s].'),
    ('plots', bool, 'true', ['true', 'false'], 'Write PNG files.'),
)
# What the servers read as well when the robot is on topics.
OF_A_RUNNING_ROBOT = ('joint_limits_file', 'base_link', 'tip_link')
TOPICS = ('robot_description', 'robot_description_semantic', 'joint_states')


def text(name):
    """
    Return an argument as a text parameter, whatever it looks like.

    :param name: its name.
    """
    return ParameterValue(LaunchConfiguration(name), value_type=str)


def make_servers(context):
    """
    Return the servers, and the services by label as the benchmark reads them.

    :param context: the launch context.
    """
    if LaunchConfiguration('start_server').perform(context) == 'false':
        return [], ''
    config = read_benchmark_config(
        find_benchmark_config(LaunchConfiguration('config').perform(context))
    )
    is_live = LaunchConfiguration('robot').perform(context) == 'topics'
    plans = plan_servers(config, live_robot=is_live)
    above = f'/{LaunchConfiguration("namespace").perform(context).strip("/")}'.rstrip('/')
    live = {name: text(name) for name in OF_A_RUNNING_ROBOT} if is_live else {}
    servers = [
        Node(
            package='ssik_ros',
            executable='ik_server',
            name='ssik_ros',
            namespace=f'{above}/{plan.namespace}',
            parameters=[
                {
                    name: ParameterValue(value, value_type=str)
                    for name, value in plan.parameters.items()
                },
                {'report_times': True, 'group': config.planning_group, **live},
            ],
            # The robot's topics are in the namespace above.
            remappings=[(topic, f'{above}/{topic}') for topic in TOPICS],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
            emulate_tty=True,
        )
        for plan in plans
    ]
    services = ', '.join(f'{plan.label}={above}/{plan.namespace}/{SERVICE}' for plan in plans)
    return servers, services


def end_launch(event, context):
    """
    Return what follows the end of the benchmark: its exit code is said, and no success pretended.

    :param event: the end of the process.
    :param context: the launch context.
    """
    ending = f'The benchmark ended with exit code {event.returncode}.'
    if event.returncode != 0 and not context.is_shutdown:
        # Launch itself then ends by 1; a shutdown alone would make it end by 0.
        raise RuntimeError(ending)
    return [LogInfo(msg=ending), Shutdown(reason=ending)]


def start_benchmark(context):
    """
    Return the servers and the benchmark; how many servers there are stands in the configuration.

    :param context: the launch context.
    """
    servers, services = make_servers(context)
    benchmark = Node(
        package='ssik_ros',
        executable='ik_benchmark',
        name='ik_benchmark',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            {
                'services': ParameterValue(services, value_type=str),
                **{
                    name: ParameterValue(LaunchConfiguration(name), value_type=kind)
                    for name, kind, _, _, _ in PARAMETERS
                },
            }
        ],
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        output='screen',
        emulate_tty=True,
    )
    end = RegisterEventHandler(OnProcessExit(target_action=benchmark, on_exit=end_launch))
    return [end, *servers, benchmark]


def generate_launch_description():
    """Return the arguments, the servers and the benchmark."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'namespace',
                default_value='',
                description='Namespace of the arm; servers are started in namespaces below it.',
            ),
            DeclareLaunchArgument(
                'start_server',
                default_value='true',
                choices=['true', 'false'],
                description='Start a server for each solver of the configuration that is of this package.',
            ),
            *(
                DeclareLaunchArgument(
                    name, default_value=default, choices=choices, description=description
                )
                for name, _, default, choices, description in PARAMETERS
            ),
            DeclareLaunchArgument(
                'log_level',
                default_value='info',
                choices=['debug', 'info', 'warn', 'error', 'fatal'],
                description='Lowest level that is logged.',
            ),
            OpaqueFunction(function=start_benchmark),
        ]
    )
