"""The configuration file of ik_benchmarking, read unchanged and checked."""

from pathlib import Path

import pytest

from ssik_ros.benchmark.config import parse_benchmark_config, read_benchmark_config, SolverEntry
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
