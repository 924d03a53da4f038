"""Names that a node does not have: misspelt ones are errors, foreign ones are named once."""

import logging

from test.ros_units.bare_nodes import node_maker

import pytest

from ssik_ros.errors import InvalidParameter
from ssik_ros.ros.inputs.robot_source import LIMITS_PREFIX
from ssik_ros.ros.parameters.group_parameters import PREFIX
from ssik_ros.ros.parameters.override_check import check_overrides, OF_MOVEIT
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.solvers.options.parameter_file import load_schema

pytestmark = pytest.mark.ros

SERVER = load_schema('ssik_ros.ros:ik_server_parameters.yaml')
OF_MOVE_GROUP = (
    'publish_planning_scene',
    'publish_robot_description',
    'publish_robot_description_semantic',
    'publish_geometry_updates',
    'publish_state_updates',
    'publish_transforms_updates',
    'robot_description_timeout',
    'robot_description_semantic_timeout',
    'planning_pipelines',
    'default_planning_pipeline',
    'ompl.planning_plugin',
    'ompl.panda_arm.planner_configs',
    'moveit_controller_manager',
    'moveit_simple_controller_manager.controller_names',
    'trajectory_execution.allowed_start_tolerance',
    'moveit_manage_controllers',
    'allow_trajectory_execution',
    'capabilities',
    'disable_capabilities',
    'octomap_frame',
    'octomap_resolution',
    'sensors',
    'monitor_dynamics',
)
"""Parameters that MoveIt's launch files pass to every node with the robot's description."""


@pytest.fixture(scope='module')
def make_node():
    with node_maker() as make:
        yield make


@pytest.fixture
def check(make_node, caplog):
    """Give a function that checks a node with overrides, and returns the warnings."""

    def run(**overrides):
        caplog.clear()
        node = make_node({name.replace('__', '.'): value for name, value in overrides.items()})
        ParamListener(node, SERVER)
        with caplog.at_level(logging.WARNING, 'ssik_ros'):
            check_overrides(node, (PREFIX, LIMITS_PREFIX))
        return [record.getMessage() for record in caplog.records]

    return run


def test_own_parameters_are_no_news(check):
    assert check(robot_description='x', base_link='l0', report_times=True) == []


def test_what_others_read_is_no_news(check):
    assert check(use_sim_time=False, qos_overrides____x=1) == []
    assert check(**{f'{PREFIX}arm.anything': 1, f'{LIMITS_PREFIX}joint_limits.j1.x': 1}) == []


@pytest.mark.parametrize(
    ('name', 'meant'),
    [
        ('robot_descripton', 'robot_description'),
        ('robot_description_sematic', 'robot_description_semantic'),
        ('kinematic_file', 'kinematics_file'),
        ('tip_lnik', 'tip_link'),
        ('BaseLink', 'base_link'),
        ('executor_thread', 'executor_threads'),
        ('robot_description_kinematic.arm.kinematics_solver', 'robot_description_kinematics'),
        ('robot_description_planing.joint_limits.j.x', 'robot_description_planning'),
        ('use_sim_tme', 'use_sim_time'),
    ],
)
def test_a_misspelt_name_is_an_error_with_the_right_one(check, name, meant):
    with pytest.raises(InvalidParameter) as caught:
        check(**{name: 'x'})
    assert f"'{name}'" in str(caught.value) and f"Did you mean '{meant}'?" in str(caught.value)
    assert caught.value.key == name


def test_foreign_names_are_told_in_one_line(check):
    (line,) = check(**{'my_gain': 1.0, 'camera.width': 3, 'camera.height': 4})
    assert line.count('camera') == 1 and 'my_gain' in line and 'width' not in line


@pytest.mark.parametrize('name', OF_MOVE_GROUP)
def test_parameters_of_move_group_are_foreign_and_not_misspelt(check, name):
    (line,) = check(**{name: True})
    assert name.partition('.')[0] in line


def test_moveit_s_names_are_none_of_ours(make_node):
    node = make_node()
    ParamListener(node, SERVER)
    assert not [name for name in OF_MOVEIT if node.has_parameter(name)]
