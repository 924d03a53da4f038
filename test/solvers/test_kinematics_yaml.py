"""kinematics.yaml: both layouts, own keys, keys of others, and nothing dropped in silence."""

import logging

import pytest

from ssik_ros.errors import ConfigError, InvalidParameter, UnknownSolver
from ssik_ros.solvers.kinematics_layout import KEYS_OF_OTHER_SOLVERS
from ssik_ros.solvers.kinematics_yaml import parse_kinematics, read_kinematics_yaml
from ssik_ros.strict_yaml import parse_yaml

BARE = """
arm:
  kinematics_solver: ssik_ros/PoseIK
  kinematics_solver_timeout: 0.2
  kinematics_solver_search_resolution: 0.005
  target_tolerance: 1e-4
"""
NODE = """
{node}:
  ros__parameters:
    other_parameter: 3
    robot_description_kinematics:
      arm:
        kinematics_solver: ssik_ros/PoseIK
        kinematics_solver_timeout: 0.2
        kinematics_solver_search_resolution: 0.005
        target_tolerance: 1e-4
"""


def read(text, **kwargs):
    """Return the groups in a YAML text."""
    return parse_kinematics(parse_yaml(text, 'k.yaml'), source='k.yaml', **kwargs)


def arm(*lines):
    """Return the group ``arm`` with the given lines below it."""
    return read('arm:\n' + ''.join(f'  {line}\n' for line in lines))['arm']


def warnings(caplog):
    """Return the text of every warning."""
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


@pytest.mark.parametrize(
    'text',
    [
        BARE,
        NODE.format(node='/**'),
        NODE.format(node='move_group'),
        NODE.format(node='/**/move_group'),
        'arm_1:' + NODE.format(node='move_group').replace('\n', '\n  '),
        'robot_description_kinematics:' + BARE.replace('\n', '\n  '),
    ],
    ids=['bare', 'wildcard', 'node', 'any namespace', 'namespace', 'no node'],
)
def test_every_layout_says_the_same(text):
    group = read(text)['arm']
    assert (group.solver, group.timeout, group.search_resolution, dict(group.parameters)) == (
        'ssik_ros/PoseIK',
        0.2,
        0.005,
        {'target_tolerance': 1e-4},
    )


def test_a_section_of_one_node_replaces_the_wildcard_and_says_so(caplog):
    text = NODE.format(node='ik_server').replace('0.2', '0.3') + NODE.format(node='/**')
    assert read(text)['arm'].timeout == 0.3
    assert 'replaces' in warnings(caplog)[0]


def test_what_is_not_given_has_the_defaults_of_moveit():
    group = arm('kinematics_solver: ssik_ros/PoseIK')
    assert (group.timeout, group.search_resolution, group.position_only) == (0.05, 0.1, False)
    assert group.sources['timeout'] == 'default'


def test_a_group_without_keys_gets_the_default_solver():
    assert read('arm:\n')['arm'].solver == 'ssik_ros/Auto'


def test_an_empty_file_has_no_groups(tmp_path):
    path = tmp_path / 'kinematics.yaml'
    path.write_text('# nothing\n', encoding='utf-8')
    assert read_kinematics_yaml(path) == {}


def test_every_value_knows_where_it_came_from():
    group = arm('kinematics_solver: ssik_ros/PoseIK', 'epsilon: 1e-4')
    assert group.sources['solver'] == 'k.yaml:2 (kinematics_solver)'
    assert group.sources['target_tolerance'] == 'k.yaml:3 (epsilon)'
    assert group.sources['gd_max_iters'] == 'default'


def test_position_only_ik_is_honoured():
    assert arm('position_only_ik: true').position_only


def test_epsilon_is_the_tolerance():
    assert arm('epsilon: 0.01').parameters == {'target_tolerance': 0.01}


def test_epsilon_contradicting_the_tolerance_is_an_error():
    with pytest.raises(InvalidParameter, match=r'k\.yaml:3: .*same parameter'):
        arm('target_tolerance: 0.001', 'epsilon: 0.01')


@pytest.mark.parametrize('name', ['', '""', "'  '"])
def test_an_empty_solver_name_means_the_default_with_one_line(name, caplog):
    caplog.set_level(logging.INFO)
    group = arm(f'kinematics_solver: {name or chr(34) * 2}')
    assert (group.solver, group.is_foreign) == ('ssik_ros/Auto', False)
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    'name',
    [
        'kdl_kinematics_plugin/KDLKinematicsPlugin',
        'trac_ik_kinematics_plugin/TRAC_IKKinematicsPlugin',
        'pick_ik/PickIkPlugin',
        'bio_ik/BioIKKinematicsPlugin',
        'cached_ik_kinematics_plugin/CachedKDLKinematicsPlugin',
        'srv_kinematics_plugin/SrvKinematicsPlugin',
        'panda_arm_kinematics/IKFastKinematicsPlugin',
    ],
)
def test_a_foreign_solver_means_the_default_with_one_line_and_is_remembered(name, caplog):
    group = arm(f'kinematics_solver: {name}')
    assert (group.requested_solver, group.solver) == (name, 'ssik_ros/Auto')
    assert group.is_foreign
    assert len(warnings(caplog)) == 1


def test_the_moveit_name_of_pose_ik_is_not_foreign():
    group = arm('kinematics_solver: pose_ik_plugin/PoseIKPlugin')
    assert (group.solver, group.is_foreign) == ('ssik_ros/PoseIK', False)


@pytest.mark.parametrize('name', ['ssik_ros/Nothing', 'ssik_ros/PosIK', 'ssikros/PoseIK'])
def test_a_misspelt_solver_of_ours_is_an_error_and_not_a_foreign_one(name):
    with pytest.raises(UnknownSolver, match=r'k\.yaml'):
        arm(f'kinematics_solver: {name}')


@pytest.mark.parametrize(
    ('key', 'meant'),
    [
        ('target_tolerence', 'target_tolerance'),
        ('targetTolerance', 'target_tolerance'),
        ('gd_max_iter', 'gd_max_iters'),
        ('kinematic_solver_timeout', 'kinematics_solver_timeout'),
        ('kinematics_solver_timout', 'kinematics_solver_timeout'),
        ('position_only', 'position_only_ik'),
        ('epsilom', 'epsilon'),
        ('kinematics_sovler', 'kinematics_solver'),
    ],
)
def test_a_key_close_to_one_of_ours_is_an_error_that_names_it(key, meant):
    with pytest.raises(InvalidParameter, match=rf"k\.yaml:2: .*'{key}'.*Did you mean '{meant}'"):
        arm(f'{key}: 0.5')


@pytest.mark.sampled
@pytest.mark.parametrize('key', sorted(KEYS_OF_OTHER_SOLVERS))
def test_no_key_of_another_solver_is_an_error_by_its_name(key):
    values = {'solve_mode': 'first_found', 'gd_max_iters': '3'}
    assert arm(f'{key}: {values.get(key, "0.5")}').group == 'arm'


def test_keys_of_other_solvers_are_named_once_in_one_line(caplog):
    group = arm(
        'kinematics_solver: ssik_ros/PoseIK',
        'kinematics_solver_attempts: 3.0',
        'solve_type: Speed',
        'joints: {j1: {weight: 1.0}, j2: {weight: 2.0}}',
        'something_else: [1, 2]',
    )
    assert group.unused == (
        'kinematics_solver_attempts',
        'solve_type',
        'joints',
        'something_else',
    )
    (line,) = warnings(caplog)
    assert all(name in line for name in group.unused)


def test_keys_that_are_used_cause_no_warning(caplog):
    assert read(BARE)['arm'].unused == ()
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    'line',
    [
        'kinematics_solver_timeout: 0.0',
        'kinematics_solver_timeout: soon',
        'kinematics_solver_search_resolution: -1.0',
        'position_only_ik: 1',
        'kinematics_solver: 3',
        'gd_max_iters: 1.5',
        'gd_step_multiplier: 2.0',
        'solve_mode: fastest',
    ],
)
def test_a_value_out_of_range_is_an_error_with_file_and_line(line):
    with pytest.raises(InvalidParameter, match=r'k\.yaml:2: '):
        arm(line)


def test_a_group_that_the_robot_does_not_have_is_skipped_with_a_line(caplog):
    assert list(read('arm: {}\nleg: {target_tolerence: 1}\n', groups=['arm'])) == ['arm']
    assert "'leg'" in warnings(caplog)[0]


@pytest.mark.parametrize('text', ['- arm\n', 'node: {ros__parameters: 3}\n'])
def test_a_file_of_another_shape_is_an_error_with_its_name(text):
    with pytest.raises(ConfigError, match=r'k\.yaml'):
        read(text)


def test_a_key_beside_the_groups_is_skipped_with_a_line(caplog):
    assert list(read('arm: {}\nkinematics_solver_timeout: 0.1\n')) == ['arm']
    assert warnings(caplog)[0].startswith("k.yaml:2: 'kinematics_solver_timeout' is not a group")


def test_of_a_key_that_stands_twice_the_last_value_counts(tmp_path, caplog):
    path = tmp_path / 'k.yaml'
    path.write_text('arm:\n  kinematics_solver_timeout: 0.1\n  kinematics_solver_timeout: 0.2\n')
    assert read_kinematics_yaml(path)['arm'].timeout == 0.2
    assert warnings(caplog)[0].startswith(
        f"{path}:3: key 'kinematics_solver_timeout' stands already"
    )


def test_a_parameter_of_ours_must_not_stand_twice(tmp_path):
    path = tmp_path / 'k.yaml'
    path.write_text('arm:\n  gd_max_iters: 3\n  gd_max_iters: 4\n')
    with pytest.raises(
        ConfigError, match=r"k\.yaml:3: key 'gd_max_iters' stands already in line 2"
    ):
        read_kinematics_yaml(path)


def test_nested_parameters_of_a_node_are_read_as_well():
    groups = parse_kinematics({'arm': {'epsilon': 0.01}}, source='/ik_server')
    assert groups['arm'].sources['target_tolerance'] == '/ik_server (epsilon)'


def test_a_foreign_solver_is_only_reported_when_nothing_shall_stand_in_for_it(caplog):
    text = 'arm:\n  kinematics_solver: pick_ik/PickIkPlugin\n  gd_max_iters: 0\n  foo: 1\n'
    group = read(text, substitute=False)['arm']
    assert (group.requested_solver, group.solver) == ('pick_ik/PickIkPlugin', '')
    assert group.is_foreign
    assert warnings(caplog) == []
