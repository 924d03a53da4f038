"""The package around the plugin: names, versions, sources; robots and parameters on their way to the solver."""

import os
from pathlib import Path
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from test.moveit_plugin.transport_programs import (
    needs_tools,
    PATIENCE,
    ROOT,
    write_command,
)

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.solvers.kinematics_yaml import parse_kinematics
from ssik_ros.solvers.registry import list_solvers
from ssik_ros.strict_yaml import parse_yaml

PACKAGE = ROOT / 'moveit_plugin'
EXPORTED = PACKAGE / 'src/exported_solvers.cpp'


def own_solvers():
    return {name for name in list_solvers() if name.startswith('ssik_ros/')}


def test_every_solver_has_its_name_among_moveits_plugins():
    library = ElementTree.parse(PACKAGE / 'ssik_moveit_plugins.xml').getroot()
    classes = library.findall('class')
    assert {element.get('name') for element in classes} == own_solvers()
    exported = re.findall(r'^EXPORT_SOLVER\((\w+)\)', EXPORTED.read_text(), re.M)
    assert {f'ssik_ros/{name}' for name in exported} == own_solvers()
    for element in classes:
        assert element.get('type') == element.get('name').replace('ssik_ros/', 'ssik_moveit::')
    assert {e.get('base_class_type') for e in classes} == {'kinematics::KinematicsBase'}
    targets = re.findall(r'add_library\((\w+) SHARED', (PACKAGE / 'CMakeLists.txt').read_text())
    assert library.get('path') in targets


def test_both_packages_have_one_version():
    versions = {
        ElementTree.parse(folder / 'package.xml').findtext('version') for folder in (ROOT, PACKAGE)
    }
    assert len(versions) == 1


def test_every_source_is_built():
    listed = set(re.findall(r'src/(\w+\.cpp)', (PACKAGE / 'CMakeLists.txt').read_text()))
    assert listed == {path.name for path in (PACKAGE / 'src').glob('*.cpp')}


def test_the_nodes_reader_knows_the_plugins_keys(caplog):
    """One kinematics.yaml serves both."""
    keys = {'kinematics_solver_transport': 'service', 'kinematics_solver_blocks': 'arm.blocks'}
    parse_kinematics({'arm': keys})
    assert all(key in caplog.text for key in keys)
    assert 'not used by' in caplog.text


def test_the_files_of_the_page_are_read_without_a_warning(caplog):
    page = (ROOT / 'docs/reference/moveit.md').read_text(encoding='utf-8')
    blocks = re.findall(r'^```yaml\n(.*?)^```', page, re.M | re.S)
    keys = 'kinematics_solver_service', 'kinematics_solver_blocks'
    blocks = [block for block in blocks if not any(key in block for key in keys)]
    read = [parse_kinematics(parse_yaml(block)) for block in blocks]
    assert not caplog.records
    assert {k.solver for file in read for k in file.values()} == {
        'ssik_ros/Auto',
        'ssik_ros/Analytic',
    }


def is_moveit_here():
    """Return whether CMake could find MoveIt."""
    named = filter(None, os.environ.get('CMAKE_PREFIX_PATH', '').split(os.pathsep))
    prefixes = [*map(Path, named), *Path('/opt/ros').glob('*')]
    return any(Path(prefix, 'share/moveit_core').is_dir() for prefix in prefixes)


needs_no_moveit = pytest.mark.skipif(is_moveit_here(), reason='MoveIt is installed')


def configure(folder, *options):
    """Configure the package as colcon does; return how that ended."""
    ssik = f'-DSSIK_COMMAND={write_command(folder / "ssik")}'
    command = ['cmake', '-S', str(PACKAGE), '-B', str(folder), ssik, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


@needs_tools
@needs_no_moveit
def test_without_moveit_a_warning_names_the_missing_packages(tmp_path):
    """A workspace with all packages of a release builds where MoveIt is not installed."""
    done = configure(tmp_path)
    assert done.returncode == 0, done.stderr
    warning = ' '.join(done.stderr.split())
    assert 'no plugin, for these packages of MoveIt were not found' in warning
    assert 'moveit_core' in warning


@needs_tools
@needs_no_moveit
def test_the_transport_alone_is_configured_without_moveit(tmp_path):
    done = configure(tmp_path, '-DSSIK_MOVEIT_CORE_ONLY=ON')
    assert done.returncode == 0, done.stderr


def placed(rotation, translation):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, translation
    return pose


@pytest.mark.slow
def test_a_robot_is_written_as_it_is(programs, tmp_path):
    lines = '\n'.join(programs.run('robot_text', tmp_path / 'none', group='arm'))
    urdf, end, srdf = lines.partition('</robot>\n')
    # Add a group of arm and hand to the group that the caller requested.
    both = '<group name="all"><group name="arm"/><group name="fingers"/></group></robot>'
    robot = load_robot(urdf + end, srdf.strip().replace('</robot>', both))
    assert robot.name == 'odd <"&"> robot'
    assert robot.model_frame == 'hall'
    group = robot.group('arm')
    assert group.joint_names == ('turn', 'lift & reach', 'roll')
    assert group.lower[:2].tolist() == [-1.25, -1.25]
    assert group.upper[:2].tolist() == [0.1, 0.1]
    positions, q = robot.default_positions(), np.array([-0.7, 0.05, 2.0])
    positions[group.idx_q] = q
    place = [0.1, -0.2, 0.3]
    pitch = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    other = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]
    axis = np.array([0.6, 0.0, 0.8])
    expected = (
        placed(np.eye(3), place)
        @ placed(Rotation.from_rotvec([0.0, 0.0, q[0]]).as_matrix(), np.zeros(3))
        @ placed(pitch, place)
        @ placed(np.eye(3), q[1] * axis)
        @ placed(other, place)
        @ placed(Rotation.from_rotvec(q[2] * axis).as_matrix(), np.zeros(3))
    )
    judge = ReferenceKinematics(robot)
    assert np.allclose(judge.link_pose(positions, 'tip'), expected, atol=1e-12)
    # The group branches below its end effector's mount, which is its tip.
    assert robot.group('fingers').link_names == ('left', 'right')
    assert robot.group('all').tips == ('tip',)


def test_the_plugins_keys_are_taken_out(programs, tmp_path):
    first, *left, values = programs.run(
        'host_parameters',
        tmp_path / 'none',
        kinematics_solver_transport='"service"',
        kinematics_solver_service_name='/other/solve_ik',
        kinematics_solver_service_wait='0.25',
        kinematics_solver_blocks='package://my_robot/arm.blocks',
        kinematics_solver='ssik_ros/Auto',
        epsilon='1e-4',
    )
    assert first == '1 /other/solve_ik 0.25 package://my_robot/arm.blocks'
    assert left == ['epsilon: 1e-4', 'kinematics_solver: ssik_ros/Auto']
    assert parse_yaml(values) == ['a "b" \\ # c: \n', 1.0, 0.1, True, -np.inf]
    assert isinstance(parse_yaml(values)[1], float)


@pytest.mark.parametrize('name', ['ssik_ros/PoseIK', 'ssik_ros/Auto'])
def test_a_loaded_class_decides_the_solver_without_a_kinematics_yaml(programs, tmp_path, name):
    lines = programs.run('plugin_class', tmp_path / 'none', **{'class': name})
    assert lines == ['warning ', f'solver {name}']


def test_a_solver_that_moveit_declares_as_empty_needs_no_warning(programs, tmp_path):
    asked = {'class': 'ssik_ros/PoseIK', 'kinematics_solver': '""'}
    lines = programs.run('plugin_class', tmp_path / 'none', **asked)
    assert lines == ['warning ', 'solver ssik_ros/PoseIK']


def test_a_yaml_that_names_another_solver_than_the_class_gets_a_warning(programs, tmp_path):
    asked = {'class': 'ssik_ros/PoseIK', 'kinematics_solver': 'ssik_ros/Analytic'}
    warning, solver = programs.run('plugin_class', tmp_path / 'none', **asked)
    assert "here.kinematics_solver is 'ssik_ros/Analytic'" in warning
    assert "plugin class 'ssik_ros/PoseIK'" in warning
    assert solver == 'solver ssik_ros/PoseIK'


@pytest.mark.parametrize(
    ('key', 'value', 'part'),
    [
        ('kinematics_solver_transprot', 'service', "'kinematics_solver_transport'"),
        ('kinematics_solver_timeot', '1.0', "'kinematics_solver_timeout'"),
        ('kinematics_solver_transport', 'pigeon', 'Known: in_process, service'),
        ('kinematics_solver_service_wait', '-1', 'above zero'),
        ('kinematics_solver_service_wait', 'long', 'above zero'),
    ],
)
def test_wrong_keys_of_the_plugin_are_refused(programs, tmp_path, key, value, part):
    (line,) = programs.run('host_parameters', tmp_path / 'none', status=3, **{key: value})
    assert part in line


def test_calls_of_a_server_have_bounded_waits_and_checked_results(programs, tmp_path):
    lines = programs.run('service', tmp_path / 'none')
    told = dict(line.split(' ', 1) for line in lines)
    # A server that is not there: one wait, the code of a timeout; afterwards it may come back.
    assert told['silence'] == '-6 1 1|The server did not respond in time.'
    assert told['restarted'] == '1 1 2'
    assert told['refused'] == '-31 1|out of reach'
    # A callback gets each branch once, a cost function gets all branches; limits hold for any response of the server.
    assert told['third'] == '1 0.1 3'
    assert told['cheapest'] == '1 0.2'
    assert told['several'] == '1 0.1 0.3'
    assert told['nearest'] == '1 0.1'
    assert told['sampled'] == '2'
    # Without branches other seeds follow, within limits, until the time is over.
    assert told['fifth'] == '1 5 1'
    assert told['never'] == '-6'
    assert told['locked'] == '1 1 0'
    assert told['unlocked'] == '-6'
    assert told['wrong'] == '-31 0'
