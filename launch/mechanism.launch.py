"""
Show a shipped mechanism with closed loops, and serve requests for it.

Started are the relay that publishes its passive joints, robot_state_publisher, and the node ssik_ros for goals on its
links. Joints with motors are heard on active_joint_states: from a driver, or from joint_state_publisher_gui.
"""

import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.ros.parameters.launch_arguments import (
    LaunchArgument,
    LOG_LEVEL,
    NAMESPACE,
    require_known_arguments,
    require_packages,
    USE_SIM_TIME,
    YES_OR_NO,
)

# The link of each mechanism that goals are for.
TIPS = {'hexapod': 'platform', 'delta': 'platform', 'dual_arm': 'object'}
MECHANISM = LaunchArgument(
    'mechanism',
    'hexapod',
    'Which mechanism: a hexapod, a delta robot, or two arms that hold one object.',
    choices=tuple(TIPS),
)
NODES = (
    LaunchArgument(
        'server',
        'true',
        'Start ik_server, which offers ssik_ros/solve_goals and ssik_ros/complete_state beside its other services.',
        bool,
        YES_OR_NO,
    ),
    LaunchArgument(
        'relay',
        'true',
        'Start joint_state_relay, which publishes passive joints and markers.',
        bool,
        YES_OR_NO,
    ),
    LaunchArgument(
        'state_publisher',
        'true',
        'Start robot_state_publisher, which RViz needs.',
        bool,
        YES_OR_NO,
    ),
)
ARGUMENTS = (MECHANISM, NAMESPACE, USE_SIM_TIME, *NODES, LOG_LEVEL)


def text(value):
    """
    Return a text parameter, even if the text looks like a number.

    :param value: the text, or a substitution.
    """
    return ParameterValue(value, value_type=str)


def start_nodes(context):
    """
    Return the nodes; which files they read depends on the mechanism.

    :param context: the launch context.
    """
    require_known_arguments(sys.argv, __file__, ARGUMENTS)
    if LaunchConfiguration('state_publisher').perform(context) == 'true':
        require_packages(__file__, {'robot_state_publisher': 'state_publisher'})
    name = LaunchConfiguration('mechanism').perform(context)
    urdf, loops = (str(path) for path in mechanism_files(name))
    with open(urdf, encoding='utf-8') as file:
        description = file.read()
    common = {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}
    robot = {
        **common,
        'robot_description_file': text(urdf),
        'loop_closures_file': text(loops),
    }
    # compute_ik keeps the loops closed as well.
    above = 'robot_description_kinematics.manipulator'
    group = {
        f'{above}.kinematics_solver': text('ssik_ros/ClosedChain'),
        f'{above}.loop_closures_file': text(loops),
    }
    namespace = LaunchConfiguration('namespace')
    logged = ['--ros-args', '--log-level', LaunchConfiguration('log_level')]
    publisher = 'robot_state_publisher'
    described = {**common, 'robot_description': text(description)}
    server = {**robot, 'tip_link': text(TIPS[name]), **group}
    nodes = {
        'server': ('ssik_ros', 'ik_server', 'ssik_ros', server),
        'relay': ('ssik_ros', 'joint_state_relay', 'joint_state_relay', robot),
        'state_publisher': (publisher, publisher, publisher, described),
    }
    return [
        Node(
            package=package,
            executable=executable,
            name=node_name,
            namespace=namespace,
            parameters=[parameters],
            arguments=logged,
            output='screen',
            emulate_tty=True,
            condition=IfCondition(LaunchConfiguration(switch)),
        )
        for switch, (package, executable, node_name, parameters) in nodes.items()
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=start_nodes)])
