"""The configuration file of ik_benchmarking, read unchanged and checked."""

from pathlib import Path

from test.benchmark.planar_arm import SRDF, URDF

import pytest

from ssik_ros.benchmark.config import parse_benchmark_config, read_benchmark_config, SolverEntry
from ssik_ros.benchmark.entries import find_kinematics_folder, find_robot_files
from ssik_ros.benchmark.session import find_benchmark_config, prepare_benchmark
from ssik_ros.errors import ConfigError, DescriptionNotFound, InvalidParameter
from ssik_ros.strict_yaml import parse_yaml

TEXT = """
moveit_config_pkg: moveit_resources_panda_moveit_config  # the MoveIt configuration package
robot_name: moveit_resources_panda
planning_group: panda_arm
sample_size: 10000
random_seed: 12345
ik_timeout: 0.1
ik_iteration_display_step: 1000

ik_solvers:

  - name: KDL
    kinematics_file: kinematics.yaml

  - name: TRAC_IK
    kinematics_file: trac_ik_kinematics.yaml
"""
SHIPPED = sorted((Path(__file__).parents[2] / 'config/benchmark').glob('*.yaml'))


def read(text):
    return parse_benchmark_config(parse_yaml(text, 'bench.yaml'), 'bench', 'bench.yaml')


def below(*keys):
    """Return the configuration below nested keys."""
    heads = [f'{"  " * depth}{key}:' for depth, key in enumerate(keys)]
    body = ['  ' * len(keys) + line for line in TEXT.splitlines()]
    return '\n'.join([*heads, *body])


def test_the_file_of_ik_benchmarking_is_read_unchanged():
    config = read(TEXT)
    assert (config.moveit_config_pkg, config.robot_name, config.planning_group) == (
        'moveit_resources_panda_moveit_config',
        'moveit_resources_panda',
        'panda_arm',
    )
    assert (config.sample_size, config.random_seed) == (10000, 12345)
    assert (config.ik_timeout, config.ik_iteration_display_step) == (0.1, 1000)
    assert config.ik_solvers == (
        SolverEntry('KDL', 'kinematics.yaml'),
        SolverEntry('TRAC_IK', 'trac_ik_kinematics.yaml'),
    )


@pytest.mark.parametrize('keys', [('ik_benchmarking',), ('/**', 'ros__parameters')])
def test_the_keys_may_stand_below_others(keys):
    assert read(below(*keys)) == read(TEXT)


def test_robot_and_package_names_of_moveit_resources_are_understood():
    session = prepare_benchmark(read(TEXT).with_samples(1))
    assert session.oracle.robot.name == 'panda'


@pytest.mark.parametrize(
    'key', [line.split(':')[0] for line in TEXT.splitlines() if line[:1].isalpha()]
)
def test_every_key_is_required(key):
    without = [line for line in TEXT.splitlines() if not line.startswith(f'{key}:')]
    if key == 'ik_solvers':
        without = [line for line in without if not line.startswith(' ')]
    with pytest.raises(InvalidParameter, match=rf'bench\.yaml: .*{key}'):
        read('\n'.join(without))


def test_a_key_without_value_counts_as_missing():
    with pytest.raises(InvalidParameter, match='required but not given: random_seed'):
        read(TEXT.replace('random_seed: 12345', 'random_seed:'))


def test_a_misspelt_key_is_named_with_its_line_and_the_nearest():
    with pytest.raises(InvalidParameter, match=r"bench\.yaml:5: .*Did you mean 'sample_size'"):
        read(TEXT.replace('sample_size', 'samples_size'))


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('sample_size: 10000', 'sample_size: 0'),
        ('sample_size: 10000', 'sample_size: 1.5'),
        ('random_seed: 12345', 'random_seed: -1'),
        ('ik_timeout: 0.1', 'ik_timeout: 0'),
        ('display_step: 1000', 'display_step: 0'),
        ('planning_group: panda_arm', 'planning_group: 3'),
        ('name: TRAC_IK', 'nme: TRAC_IK'),
        ('name: TRAC_IK', 'name: 5'),
    ],
)
def test_a_value_that_makes_no_sense_is_an_error_with_a_line(old, new):
    with pytest.raises(InvalidParameter, match=r'bench\.yaml:\d+'):
        read(TEXT.replace(old, new))


@pytest.mark.parametrize('solvers', ['ik_solvers: []', 'ik_solvers: KDL', 'ik_solvers: [KDL]'])
def test_a_list_of_solvers_of_another_shape_is_an_error(solvers):
    with pytest.raises(ConfigError, match='ik_solvers'):
        read(TEXT.split('ik_solvers')[0] + solvers)


def test_two_solvers_of_one_name_are_an_error():
    with pytest.raises(ConfigError, match="two solvers, 'KDL' and 'KDL'"):
        read(TEXT.replace('TRAC_IK', 'KDL'))


def test_two_solvers_that_would_share_a_file_are_an_error():
    with pytest.raises(ConfigError, match=r'a_b_ik_benchmarking_data\.csv'):
        read(TEXT.replace('TRAC_IK', 'a/b').replace('KDL', 'a_b'))


def test_some_of_the_solvers_can_be_chosen():
    assert [entry.name for entry in read(TEXT).with_solvers(['TRAC_IK']).ik_solvers] == ['TRAC_IK']


def test_choosing_a_solver_that_is_not_listed_is_an_error():
    with pytest.raises(InvalidParameter, match="Did you mean 'TRAC_IK'"):
        read(TEXT).with_solvers(['TRACIK'])


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_configuration_is_ready_to_run(path):
    config = read_benchmark_config(path)
    assert (config.sample_size, config.random_seed, config.ik_timeout) == (10000, 12345, 0.1)
    assert config.ik_solvers[0] == SolverEntry('PoseIK', 'pose_ik_kinematics.yaml')
    assert len(prepare_benchmark(config.with_samples(2)).cases) == 2


def test_a_shipped_configuration_is_found_by_name():
    assert find_benchmark_config('panda').name == 'panda.yaml'


def test_a_configuration_that_does_not_exist_is_an_error_with_the_shipped_names():
    with pytest.raises(DescriptionNotFound, match=r'fanuc, gen3, panda, ur5e'):
        find_benchmark_config('pandda')


def small_package(share, package, name):
    """Write an installed MoveIt configuration of a robot with two joints."""
    config = share / 'share' / package / 'config'
    config.mkdir(parents=True)
    (config / f'{name}.urdf').write_text(URDF, encoding='utf-8')
    (config / f'{name}.srdf').write_text(SRDF, encoding='utf-8')
    (config / 'kinematics.yaml').write_text('arm: {kinematics_solver: ssik_ros/Auto}\n')
    return config


@pytest.mark.parametrize('own_package', [False, True])
def test_a_shipped_robot_of_the_same_name_is_never_measured_instead(
    tmp_path, monkeypatch, own_package
):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    name = 'gen3' if own_package else 'small'
    config = small_package(tmp_path, 'small_gen3_moveit_config', name)
    text = TEXT.replace('moveit_resources_panda_moveit_config', 'small_gen3_moveit_config')
    text = text.replace('robot_name: moveit_resources_panda', 'robot_name: gen3')
    files = find_robot_files(read(text))
    assert files.urdf_path == config / f'{name}.urdf'
    assert find_kinematics_folder(read(text)) == config


def test_a_package_with_kinematics_alone_gets_the_robot_from_its_own_package(
    tmp_path, monkeypatch
):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    config = small_package(tmp_path, 'gen3_moveit_config', 'gen3')
    (tmp_path / 'share/solvers/config').mkdir(parents=True)
    text = TEXT.replace('moveit_resources_panda_moveit_config', 'solvers')
    text = text.replace('robot_name: moveit_resources_panda', 'robot_name: gen3')
    assert find_robot_files(read(text)).urdf_path == config / 'gen3.urdf'
    assert find_kinematics_folder(read(text)) == tmp_path / 'share/solvers/config'


def test_a_package_without_a_robot_is_an_error_although_a_shipped_one_has_the_name(
    tmp_path, monkeypatch
):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    (tmp_path / 'share/solvers/config').mkdir(parents=True)
    text = TEXT.replace('moveit_resources_panda_moveit_config', 'solvers')
    with pytest.raises(DescriptionNotFound, match='lacks a description'):
        find_robot_files(
            read(text.replace('robot_name: moveit_resources_panda', 'robot_name: gen3'))
        )
