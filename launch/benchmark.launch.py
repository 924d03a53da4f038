"""
Send the requests of a benchmark to services, and end when all have a response.

For each solver of this package in the configuration, a server is started in a namespace of its own. With
start_server:=false the benchmark calls a server that is running already.
"""

from launch.actions import LogInfo, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.servers import plan_servers, SERVICE
from ssik_ros.benchmark.session import find_benchmark_config
from ssik_ros.model.description_files import parse_xacro_args
from ssik_ros.ros.launch_nodes import (
    describe_launch,
    make_node,
    parameters_of,
    text,
    value_of,
)
from ssik_ros.ros.parameters.launch_arguments import (
    LaunchArgument,
    LOG_LEVEL,
    NAMESPACE,
    node_arguments,
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


def make_servers(context):
    """
    Return the servers, and the services by label as the benchmark reads them.

    :param context: the launch context.
    """
    if value_of('start_server', context) == 'false':
        return [], ''
    config = read_benchmark_config(
        find_benchmark_config(value_of('config', context))
    ).with_robot_files(
        value_of('robot_description_file', context),
        parse_xacro_args(value_of('xacro_args', context)),
    )
    is_live = value_of('robot', context) == 'topics'
    plans = plan_servers(config, live_robot=is_live)
    above = f'/{value_of("namespace", context).strip("/")}'.rstrip('/')
    live = [argument for argument in PARAMETERS if is_live and argument.name in OF_A_RUNNING_ROBOT]
    servers = [
        make_node(
            'ik_server',
            {name: text(value) for name, value in plan.parameters.items()},
            {'report_times': True, 'group': config.planning_group, **parameters_of(live)},
            name='ssik_ros',
            namespace=f'{above}/{plan.namespace}',
            # The robot's topics are in the namespace above.
            remappings=[(topic, f'{above}/{topic}') for topic in TOPICS],
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
    servers, services = make_servers(context)
    benchmark = make_node(
        'ik_benchmark',
        {'services': text(services), **parameters_of(PARAMETERS)},
        namespace=LaunchConfiguration('namespace'),
    )
    end = RegisterEventHandler(OnProcessExit(target_action=benchmark, on_exit=end_launch))
    return [end, *servers, benchmark]


def generate_launch_description():
    """Return the arguments, the servers and the benchmark."""
    return describe_launch(__file__, ARGUMENTS, start_benchmark)
