"""drag_target.launch.py run with doubles of launch, and the RViz configuration that it names."""

from pathlib import Path

from test.launch.launch_stand_ins import load_launch_file

import pytest

from ssik_ros.model.description_files import config_directory, find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.strict_yaml import read_yaml


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_nodes_get_parameters_that_they_have_and_files_that_exist(monkeypatch, name):
    launch_file = load_launch_file('drag_target.launch.py', monkeypatch)
    nodes = launch_file['start_nodes'](
        {'moveit_config_package': name, 'state_publisher': 'false', 'rviz': 'false'}
    )
    by_executable = {node.keywords['executable']: node.keywords for node in nodes}
    assert by_executable.keys() == {'ik_server', 'robot_state_publisher', 'rviz2'}
    (given,) = by_executable['ik_server']['parameters']
    declared = {p.name for p in load_schema('ssik_ros.ros:ik_server_parameters.yaml').parameters}
    assert given.keys() - {'use_sim_time'} <= declared and 'interactive_group' in given
    (text,) = by_executable['robot_state_publisher']['parameters'][0][
        'robot_description'
    ].arguments
    robot = load_robot(text)
    assert robot.name == load_robot(find_moveit_config(name).urdf_path).name
    words = by_executable['rviz2']['arguments']
    assert Path(words[words.index('-d') + 1]).is_file()
    assert words[words.index('-f') + 1] == robot.tree.root_link
    conditions = {
        k: v['condition'].arguments[0].arguments[0]
        for k, v in by_executable.items()
        if 'condition' in v
    }
    assert conditions == {'robot_state_publisher': 'state_publisher', 'rviz2': 'rviz'}


@pytest.mark.parametrize(
    ('rviz', 'packages', 'hint'),
    [
        ('true', 'robot_state_publisher, rviz2', 'state_publisher:=false rviz:=false'),
        ('false', 'robot_state_publisher', 'state_publisher:=false.'),
    ],
)
def test_nothing_is_started_where_a_package_is_missing(
    monkeypatch, tmp_path, rviz, packages, hint
):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    launch_file = load_launch_file('drag_target.launch.py', monkeypatch)
    context = {'moveit_config_package': 'panda', 'state_publisher': 'true', 'rviz': rviz}
    with pytest.raises(ValueError, match=f'starts nothing.*installed: {packages}') as told:
        launch_file['start_nodes'](context)
    assert hint in str(told.value)


def test_rviz_listens_to_the_topics_of_the_node():
    content = read_yaml(config_directory() / 'rviz/ssik_ros.rviz')
    displays = {d['Name']: d for d in content['Visualization Manager']['Displays']}
    assert displays['Target']['Interactive Markers Namespace'] == '/ssik_ros/interactive_target'
    topic = displays['Posture, branches and cause']['Topic']
    assert (
        topic['Value'] == '/ssik_ros/markers' and topic['Durability Policy'] == 'Transient Local'
    )
    assert displays['Robot']['Description Topic']['Value'] == '/robot_description'
