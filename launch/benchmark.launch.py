"""
Send the requests of a benchmark to services, and end when all have a response.

For each solver of this package in the configuration, a server is started in a namespace of its own. With
start_server:=false the benchmark calls a server that is running already.
"""

import sys

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.servers import plan_servers, SERVICE
from ssik_ros.benchmark.session import find_benchmark_config
from ssik_ros.model.description_files import parse_xacro_args
from ssik_ros.ros.parameters.launch_arguments import (
    LaunchArgument,
    LOG_LEVEL,
    NAMESPACE,
    node_arguments,
    require_known_arguments,
    YES_OR_NO,
)

PARAMETERS = node_arguments(
    'ik_benchmark',
    (
        'config',
        'robot_description_file',
        'xacro_args',
        'output_dir',
        'samples',
        'goals',
        'robot',
        'seeds',
        'service',
        'solver',
        'robot_description_topic',
        'robot_description_semantic_topic',
        'joint_states_topic',
        'joint_limits_file',
        'base_link',
        'tip_link',
        'service_timeout',
        'response_timeout',
        'plots',
    ),
)
START_SERVER = LaunchArgument(
    'start_server',
    'true',
    'Start a server for each solver of the configuration that is of this package, in a namespace below that of '
    'the arm. Without, the benchmark calls a server that is running already.',
    bool,
    YES_OR_NO,
)
ARGUMENTS = (NAMESPACE, START_SERVER, *PARAMETERS, LOG_LEVEL)
# Further topics that the servers read if the robot is published on topics.
TOPICS = ('robot_description', 'robot_description_semantic', 'joint_states')
OF_A_RUNNING_ROBOT = (
    'joint_limits_file',
    'base_link',
    'tip_link',
    *(f'{topic}_topic' for topic in TOPICS),
)


def text(name):
    """
    Return an argument as a text parameter, even if it looks like a number.

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
    ).with_robot_files(
        LaunchConfiguration('robot_description_file').perform(context),
        parse_xacro_args(LaunchConfiguration('xacro_args').perform(context)),
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
    Return the actions that end the launch, with the exit code of the benchmark.

    :param event: the end of the process.
    :param context: the launch context.
    :raises RuntimeError: if the benchmark failed, so that launch fails too.
    """
    ending = f'The benchmark ended with exit code {event.returncode}.'
    if event.returncode != 0 and not context.is_shutdown:
        # With the exception launch ends with 1; with only a shutdown it would end with 0.
        raise RuntimeError(ending)
    return [LogInfo(msg=ending), Shutdown(reason=ending)]


def start_benchmark(context):
    """
    Return the servers and the benchmark; the configuration decides how many servers start.

    :param context: the launch context.
    """
    require_known_arguments(sys.argv, __file__, ARGUMENTS)
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
                    argument.name: ParameterValue(
                        LaunchConfiguration(argument.name), value_type=argument.type
                    )
                    for argument in PARAMETERS
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
    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start_benchmark)])
