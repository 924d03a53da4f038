"""
Drag the target of a group in RViz.

Started are the node ssik_ros, which offers ssik_ros/interactive_target and ssik_ros/markers, and RViz. Without a real robot,
robot_state_publisher shows the posture that follows the target.
"""

from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration

from ssik_ros.model.description_files import config_directory, find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.launch_nodes import (
    describe_launch,
    LOGGED,
    make_node,
    parameters_of,
    text,
    value_of,
)
from ssik_ros.ros.parameters.launch_arguments import (
    LaunchArgument,
    LOG_LEVEL,
    require_packages,
    USE_SIM_TIME,
    YES_OR_NO,
)

PACKAGE = LaunchArgument(
    'moveit_config_package',
    'panda',
    'MoveIt configuration package, or the name of a robot that comes along.',
)
GROUP = LaunchArgument('interactive_group', 'panda_arm', 'Group whose tips have targets.')
NODES = (
    LaunchArgument(
        'state_publisher',
        'true',
        'Start robot_state_publisher, which shows the posture that follows; false beside a real robot.',
        bool,
        YES_OR_NO,
    ),
    LaunchArgument('rviz', 'true', 'Start RViz.', bool, YES_OR_NO),
)
ARGUMENTS = (PACKAGE, GROUP, USE_SIM_TIME, *NODES, LOG_LEVEL)
GOAL = 'ssik_ros/goal_joint_states'


def start_nodes(context):
    """
    Return the nodes; the description and the fixed frame depend on the robot.

    :param context: the launch context.
    """
    packages = {'robot_state_publisher': 'state_publisher', 'rviz2': 'rviz'}
    require_packages(
        __file__,
        {
            package: argument
            for package, argument in packages.items()
            if value_of(argument, context) == 'true'
        },
    )
    files = find_moveit_config(value_of('moveit_config_package', context))
    robot = load_robot(files.urdf_path, xacro_args=files.xacro_args or None)
    common = parameters_of([USE_SIM_TIME])
    view = str(config_directory() / 'rviz/ssik_ros.rviz')
    return [
        make_node('ik_server', {**common, **parameters_of([PACKAGE, GROUP])}, name='ssik_ros'),
        make_node(
            'robot_state_publisher',
            {**common, 'robot_description': text(robot.urdf_xml)},
            package='robot_state_publisher',
            remappings=[('joint_states', GOAL)],
            condition=IfCondition(LaunchConfiguration('state_publisher')),
        ),
        make_node(
            'rviz2',
            common,
            package='rviz2',
            arguments=['-d', view, '-f', robot.tree.root_link, *LOGGED],
            emulate_tty=False,
            condition=IfCondition(LaunchConfiguration('rviz')),
        ),
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    return describe_launch(__file__, ARGUMENTS, start_nodes)
