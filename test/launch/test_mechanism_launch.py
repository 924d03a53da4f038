"""mechanism.launch.py run with doubles of launch, which most machines of developers do not have."""

from pathlib import Path

from test.launch.launch_stand_ins import declared_arguments, load_launch_file

import pytest

from ssik_ros.mechanisms import mechanism_names
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.registry import solver_schema, solver_spec

GROUP = 'robot_description_kinematics.manipulator.'
EXECUTABLES = {'ik_server': 'ik_server', 'joint_state_relay': 'joint_state_relay'}


@pytest.fixture
def launch_file(monkeypatch):
    """Give the names that the file defines."""
    return load_launch_file('mechanism.launch.py', monkeypatch)


def test_every_mechanism_that_comes_along_can_be_chosen(launch_file):
    declared = declared_arguments(launch_file)
    assert sorted(declared['mechanism']['choices']) == list(mechanism_names())


def test_nothing_is_started_where_a_package_is_missing(launch_file, monkeypatch, tmp_path):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    with pytest.raises(
        ValueError, match=r'starts nothing.*robot_state_publisher.*publisher:=false'
    ):
        launch_file['start_nodes']({'mechanism': 'hexapod', 'state_publisher': 'true'})


@pytest.mark.parametrize('name', mechanism_names())
def test_nodes_get_parameters_that_they_have_and_files_that_exist(launch_file, name):
    nodes = launch_file['start_nodes']({'mechanism': name, 'state_publisher': 'false'})
    by_executable = {node.keywords['executable']: node.keywords for node in nodes}
    assert by_executable.keys() == {*EXECUTABLES, 'robot_state_publisher'}
    robot = load_robot(mechanism_files(name)[0])
    for executable, schema in EXECUTABLES.items():
        (given,) = by_executable[executable]['parameters']
        declared = {
            p.name for p in load_schema(f'ssik_ros.ros:{schema}_parameters.yaml').parameters
        }
        of_node = {key for key in given if not key.startswith(GROUP)}
        assert of_node - {'use_sim_time'} <= declared
        for key in ('robot_description_file', 'loop_closures_file'):
            (path,) = given[key].arguments
            assert Path(path).is_file() and Path(path).parent.name == name
    spec = solver_spec('ssik_ros/ClosedChain')
    of_solver = {'kinematics_solver', *(p.name for p in solver_schema(spec).parameters)}
    given = by_executable['ik_server']['parameters'][0]
    named = {key.removeprefix(GROUP): v for key, v in given.items() if key.startswith(GROUP)}
    assert named.keys() <= of_solver
    assert named['kinematics_solver'].arguments == (spec.name,)
    (tip,) = by_executable['ik_server']['parameters'][0]['tip_link'].arguments
    assert tip in robot.tree.link_index
    (text,) = by_executable['robot_state_publisher']['parameters'][0][
        'robot_description'
    ].arguments
    assert load_robot(text).name == robot.name
    conditions = {k: v['condition'].arguments[0].arguments[0] for k, v in by_executable.items()}
    assert conditions == {
        'ik_server': 'server',
        'joint_state_relay': 'relay',
        'robot_state_publisher': 'state_publisher',
    }
