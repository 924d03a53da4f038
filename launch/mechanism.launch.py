"""
Show a shipped mechanism with closed loops, and serve requests for it.

Started are the relay that publishes its passive joints, robot_state_publisher, and the node ssik_ros for goals on its
links. Joints with motors are heard on active_joint_states: from a driver, or from joint_state_publisher_gui.
"""

from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration

from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
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


def start_nodes(context):
    """
    Return the nodes; which files they read depends on the mechanism.

    :param context: the launch context.
    """
    if value_of('state_publisher', context) == 'true':
        require_packages(__file__, {'robot_state_publisher': 'state_publisher'})
    name = value_of('mechanism', context)
    urdf, loops = (str(path) for path in mechanism_files(name))
    with open(urdf, encoding='utf-8') as file:
        description = file.read()
    common = parameters_of([USE_SIM_TIME])
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
    return [
        make_node(
            'ik_server',
            {**robot, 'tip_link': text(TIPS[name]), **group},
            name='ssik_ros',
            namespace=namespace,
            condition=IfCondition(LaunchConfiguration('server')),
        ),
        make_node(
            'joint_state_relay',
            robot,
            namespace=namespace,
            condition=IfCondition(LaunchConfiguration('relay')),
        ),
        make_node(
            'robot_state_publisher',
            {**common, 'robot_description': text(description)},
            package='robot_state_publisher',
            namespace=namespace,
            condition=IfCondition(LaunchConfiguration('state_publisher')),
        ),
    ]


def generate_launch_description():
    """Return the arguments and the nodes."""
    return describe_launch(__file__, ARGUMENTS, start_nodes)
