"""Parameters of the running node: declared, refused, changed, and where each value came from."""

import math
import sys

from test.ros.server_client import client_of, ready_server
from test.ros.server_process import ended_server, running_server
from test.ros.server_requests import assert_solves, errors_of, ik_request, PANDA, positions_of

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters
import yaml

pytestmark = pytest.mark.ros

PREFIX = 'robot_description_kinematics.panda_arm.'
DOUBLE = ParameterType.PARAMETER_DOUBLE
INTEGER = ParameterType.PARAMETER_INTEGER
STRING = ParameterType.PARAMETER_STRING
BOOL = ParameterType.PARAMETER_BOOL
ABOVE_ZERO = sys.float_info.epsilon

# Type, default, ends of the range (None: not a number), values that are refused, one that is taken.
TABLE = {
    'solve_mode': (STRING, 'first_found', None, ['fastest'], 'optimize_distance'),
    'target_tolerance': (DOUBLE, 0.001, (ABOVE_ZERO, 1e12), [0.0, -1.0, math.inf], 0.01),
    'gd_max_iters': (INTEGER, 100, (1, 2**31 - 1), [0, -5], 50),
    'gd_jacobian_damping': (DOUBLE, 1e-5, (0.0, 1.0), [-1e-9, 1.1], 1e-4),
    'gd_step_multiplier': (DOUBLE, 0.5, (0.001, 1.0), [0.0, 1.5], 0.25),
    'gd_adaptive_threshold': (DOUBLE, 0.6, (0.001, 1.0), [0.0, 1.5], 0.3),
    'optimization_timeout': (DOUBLE, 0.01, (ABOVE_ZERO, math.inf), [0.0, -1.0], 0.02),
    'optimization_distance_gain': (DOUBLE, 0.1, (0.0, math.inf), [-0.1], 0.2),
    'kinematics_solver_timeout': (DOUBLE, 0.05, (ABOVE_ZERO, math.inf), [0.0, -1.0], 0.1),
    'kinematics_solver_search_resolution': (DOUBLE, 0.1, (0.0, math.inf), [-0.1], 0.01),
    'position_only_ik': (BOOL, False, None, [], True),
}


def panda_with(**values):
    """Return node parameters for the Panda without a kinematics.yaml, its arm's own in place."""
    return {
        'robot_description_file': str(PANDA.file('panda.urdf')),
        'semantic_file': str(PANDA.file('panda.srdf')),
        'groups': 'panda_arm',
        **({'robot_description_kinematics': {'panda_arm': values}} if values else {}),
    }


def kinematics_file(folder, keys, layout='bare'):
    """Write a kinematics.yaml in one of its layouts; return its path as text."""
    content = {'panda_arm': keys}
    if layout != 'bare':
        nested = {'robot_description_kinematics': content}
        content = {layout: {'ros__parameters': nested}}
    path = folder / 'kinematics.yaml'
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return str(path)


def described(client):
    """Return (value, source) of each parameter of the arm by name, as ``~/describe`` shows it."""
    (group,) = client.describe('panda_arm').groups
    return {p.name: (yaml.safe_load(p.value), p.source) for p in group.parameters}


@pytest.fixture(scope='module')
def plain(tmp_path_factory):
    """Give a client of a node whose parameters are the defaults; tests leave them so."""
    with ready_server(tmp_path_factory.mktemp('plain'), panda_with()) as (_, client):
        yield client


@pytest.fixture
def defaults(plain):
    """Return the same client, and put the defaults back afterwards."""
    yield plain
    results = plain.set_parameters({PREFIX + name: row[1] for name, row in TABLE.items()})
    assert all(result.successful for result in results)


# Declarations.


def test_every_parameter_is_declared_with_type_default_description_and_range(plain):
    request = DescribeParameters.Request(names=[PREFIX + name for name in TABLE])
    descriptors = plain.call('ssik_ros/describe_parameters', request).descriptors
    values = plain.get_parameters(request.names)
    for (name, row), descriptor in zip(TABLE.items(), descriptors, strict=True):
        kind, default, ends, _, _ = row
        assert descriptor.name == PREFIX + name
        assert descriptor.type == kind
        assert len(descriptor.description) > 20
        assert not descriptor.read_only
        assert values[PREFIX + name] == default
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        bounds = [(limits.from_value, limits.to_value) for limits in ranges]
        assert bounds == ([] if ends is None else [ends])


def test_description_shows_the_defaults(plain):
    shown = described(plain)
    assert set(shown) == {'kinematics_solver', *TABLE}
    for name, (_, default, *_) in TABLE.items():
        assert shown[name] == (default, 'default')


def test_own_parameters_of_the_node_are_described(plain):
    names = ['moveit_config_package', 'service_depth', 'semantic_timeout', 'report_times']
    request = DescribeParameters.Request(names=names)
    descriptors = plain.call('ssik_ros/describe_parameters', request).descriptors
    assert [descriptor.read_only for descriptor in descriptors] == [True, True, True, False]
    assert all(len(descriptor.description) > 20 for descriptor in descriptors)
    (depth,) = descriptors[1].integer_range
    assert (depth.from_value, depth.to_value) == (1, 100000)


# Refused at the start.


@pytest.mark.slow
@pytest.mark.parametrize('name', [name for name, row in TABLE.items() if row[3]])
def test_value_out_of_range_ends_the_start(tmp_path, name):
    wrong = TABLE[name][3][0]
    server, code = ended_server(tmp_path, panda_with(**{name: wrong}))
    assert code == 1
    (line,) = [line for line in server.log.splitlines() if '[FATAL]' in line]
    assert PREFIX + name in line
    assert str(wrong) in line
    assert 'Traceback' not in server.log


@pytest.mark.slow
@pytest.mark.parametrize(
    ('place', 'name', 'meant'),
    [
        ('file', 'target_tolerence', 'target_tolerance'),
        ('file', 'kinematic_solver_timeout', 'kinematics_solver_timeout'),
        ('argument', 'gd_max_iter', 'gd_max_iters'),
        ('argument', 'solver_mode', 'solve_mode'),
    ],
)
def test_misspelt_key_ends_the_start(tmp_path, place, name, meant):
    parameters, arguments = panda_with(), []
    if place == 'file':
        parameters['kinematics_file'] = kinematics_file(tmp_path, {name: 1})
    else:
        arguments = ['-p', f'{PREFIX}{name}:=1']
    server, code = ended_server(tmp_path, parameters, arguments)
    assert code == 1
    (line,) = [line for line in server.log.splitlines() if '[FATAL]' in line]
    assert name in line
    assert f"Did you mean '{meant}'?" in line
    if place == 'file':
        assert 'kinematics.yaml:2' in line


def test_misspelt_solver_ends_the_start(tmp_path):
    server, code = ended_server(tmp_path, panda_with(kinematics_solver='ssik_ros/PoseIk2'))
    assert code == 1
    assert "Did you mean 'ssik_ros/PoseIK'?" in server.log
    assert server.log.count('[FATAL]') == 1


def test_wrong_type_ends_the_start(tmp_path):
    server, code = ended_server(tmp_path, panda_with(gd_max_iters='many'))
    assert code == 1
    (line,) = [line for line in server.log.splitlines() if '[FATAL]' in line]
    assert PREFIX + 'gd_max_iters' in line
    assert "'many'" in line


# Files.


FOREIGN = {
    'kinematics_solver_attempts': 3,
    'max_solver_iterations': 500,
    'orientation_vs_position': 1.0,
    'solve_type': 'Speed',
    'position_threshold': 0.001,
    'memetic_num_threads': 2,
    'approximate_solution_cost_threshold': 0.0,
    'dpos': 0.001,
    'threads': 0,
    'max_cache_size': 5000,
    'joints': {'panda_joint1': {'weight': 2.0}},
}


@pytest.mark.slow
@pytest.mark.parametrize('layout', ['bare', '/**', 'ssik_ros'])
def test_file_in_every_layout(tmp_path, layout):
    keys = {
        'kinematics_solver': 'kdl_kinematics_plugin/KDLKinematicsPlugin',
        'kinematics_solver_timeout': 1,
        'epsilon': 0.002,
        **FOREIGN,
    }
    path = kinematics_file(tmp_path, keys, layout)
    parameters = {**panda_with(gd_max_iters=60), 'kinematics_file': path}
    with ready_server(tmp_path, parameters, ['-p', f'{PREFIX}damping:=0.001']) as (server, client):
        (line,) = [line for line in server.log.splitlines() if 'not used by' in line]
        assert '[WARN]' in line
        assert all(name in line for name in FOREIGN)
        (line,) = [line for line in server.log.splitlines() if 'KDLKinematicsPlugin' in line][:1]
        assert 'not one of ours' in line

        first = 2 if layout == 'bare' else 5
        shown = described(client)
        assert shown['kinematics_solver'][1] == f'{path}:{first} (kinematics_solver)'
        assert shown['kinematics_solver_timeout'] == (
            1.0,
            f'{path}:{first + 1} (kinematics_solver_timeout)',
        )
        assert shown['target_tolerance'] == (0.002, f'{path}:{first + 2} (epsilon)')
        value, source = shown['gd_max_iters']
        assert (value, source.split()[:2]) == (60, ['parameter', PREFIX + 'gd_max_iters'])
        value, source = shown['gd_jacobian_damping']
        assert (value, source.split()[:2]) == (0.001, ['parameter', PREFIX + 'damping'])
        assert shown['solve_mode'] == ('first_found', 'default')

        (result,) = client.set_parameters({PREFIX + 'target_tolerance': 0.003})
        assert result.successful
        assert described(client)['target_tolerance'] == (0.003, 'set at run time')


@pytest.mark.slow
def test_parameters_of_the_node_replace_those_of_the_file(tmp_path):
    keys = {'target_tolerance': 0.01, 'epsilon_of_nobody': 1.0, 'solve_mode': 'optimize_distance'}
    parameters = {
        **panda_with(target_tolerance=0.005),
        'kinematics_file': kinematics_file(tmp_path, keys),
    }
    with ready_server(tmp_path, parameters) as (server, client):
        shown = described(client)
        assert shown['target_tolerance'][0] == 0.005
        assert shown['target_tolerance'][1].startswith(f'parameter {PREFIX}target_tolerance')
        assert shown['solve_mode'][0] == 'optimize_distance'
        assert server.log.count('epsilon_of_nobody') == 1
        values = client.get_parameters([PREFIX + 'target_tolerance', PREFIX + 'solve_mode'])
        assert list(values.values()) == [0.005, 'optimize_distance']


def test_parameter_of_the_node_replaces_another_name_of_it_in_the_file(tmp_path):
    path = kinematics_file(tmp_path, {'epsilon': 0.01, 'damping': 1e-4})
    parameters = {**panda_with(target_tolerance=0.005), 'kinematics_file': path}
    arguments = ['-p', f'{PREFIX}gd_jacobian_damping:=0.002']
    with ready_server(tmp_path, parameters, arguments) as (_, client):
        shown = described(client)
        assert shown['target_tolerance'][0] == 0.005
        assert shown['gd_jacobian_damping'][0] == 0.002


def test_group_that_the_robot_lacks_is_named_with_the_nearest(tmp_path):
    arguments = ['-p', 'robot_description_kinematics.panda_amr.target_tolerance:=0.1']
    with running_server(tmp_path, panda_with(), arguments) as server:
        server.wait_until_ready()
        (line,) = [line for line in server.log.splitlines() if 'panda_amr' in line]
        assert "Did you mean 'panda_arm'?" in line


# Integers for doubles.


def test_integer_stands_for_a_double_at_the_start(tmp_path):
    parameters = panda_with(target_tolerance=1, kinematics_solver_timeout=2)
    parameters['semantic_timeout'] = 1
    arguments = ['-p', f'{PREFIX}optimization_timeout:=3']
    with ready_server(tmp_path, parameters, arguments) as (_, client):
        names = ['target_tolerance', 'kinematics_solver_timeout', 'optimization_timeout']
        values = client.get_parameters(PREFIX + name for name in names)
        assert list(values.values()) == [1.0, 2.0, 3.0]
        assert all(isinstance(value, float) for value in values.values())
        assert described(client)['target_tolerance'][0] == 1.0


@pytest.mark.parametrize('atomically', [False, True])
def test_integer_stands_for_a_double_at_run_time(defaults, atomically):
    values = {PREFIX + 'target_tolerance': 1, PREFIX + 'kinematics_solver_timeout': 2}
    results = defaults.set_parameters(values, atomically)
    assert all(r.successful for r in ([results] if atomically else results))
    assert defaults.get_parameters(values) == {name: float(v) for name, v in values.items()}
    assert described(defaults)['target_tolerance'] == (1.0, 'set at run time')


# Changes at run time.


@pytest.mark.parametrize('name', [name for name, row in TABLE.items() if row[3]])
def test_value_out_of_range_is_refused_with_the_reason(plain, name):
    before = plain.get_parameters([PREFIX + name])
    for wrong in TABLE[name][3]:
        for result in (
            plain.set_parameters({PREFIX + name: wrong})[0],
            plain.set_parameters({PREFIX + name: wrong}, atomically=True),
        ):
            assert not result.successful
            assert name in result.reason
            assert str(wrong) in result.reason
    assert plain.get_parameters([PREFIX + name]) == before
    assert described(plain)[name][0] == TABLE[name][1]


@pytest.mark.parametrize('name', TABLE)
def test_value_in_range_is_taken(defaults, name):
    new = TABLE[name][4]
    (result,) = defaults.set_parameters({PREFIX + name: new})
    assert result.successful, result.reason
    assert described(defaults)[name] == (new, 'set at run time')
    assert defaults.get_parameters([PREFIX + name]) == {PREFIX + name: new}


@pytest.mark.parametrize('wrong', ['0.001', True, [0.001]])
def test_wrong_type_is_refused_at_run_time(plain, wrong):
    (result,) = plain.set_parameters({PREFIX + 'target_tolerance': wrong})
    assert not result.successful
    assert result.reason
    assert described(plain)['target_tolerance'][0] == 0.001


def test_tolerance_that_is_no_number_is_refused(plain):
    (result,) = plain.set_parameters({PREFIX + 'target_tolerance': math.nan})
    assert not result.successful
    assert described(plain)['target_tolerance'][0] == 0.001


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('moveit_config_package', 'fanuc'),
        ('service_depth', 5),
        (PREFIX + 'kinematics_solver', 'ssik_ros/PoseIK'),
    ],
)
def test_read_only_parameter_is_refused(plain, name, value):
    before = plain.get_parameters([name])
    (result,) = plain.set_parameters({name: value})
    assert not result.successful
    assert 'read-only' in result.reason
    assert plain.get_parameters([name]) == before


@pytest.mark.parametrize('atomically', [False, True])
def test_misspelt_parameter_is_refused_at_run_time(plain, atomically):
    misspelt = {PREFIX + 'target_tolerence': 0.1}
    if atomically:
        values = {PREFIX + 'target_tolerance': 0.1, **misspelt}
        result = plain.set_parameters(values, atomically=True)
    else:
        (result,) = plain.set_parameters(misspelt)
    assert not result.successful
    assert f"'{PREFIX}target_tolerence'" in result.reason
    assert f"Did you mean '{PREFIX}target_tolerance'?" in result.reason
    assert described(plain)['target_tolerance'][0] == 0.001


def test_parameter_cannot_be_deleted(plain):
    (result,) = plain.set_parameters({PREFIX + 'target_tolerance': None})
    assert not result.successful
    assert described(plain)['target_tolerance'][0] == 0.001


def test_one_bad_value_changes_nothing_of_an_atomic_change(plain):
    values = {
        PREFIX + 'target_tolerance': 0.5,
        PREFIX + 'kinematics_solver_timeout': 0.5,
        PREFIX + 'gd_step_multiplier': 7.0,
    }
    before = plain.get_parameters(values)
    result = plain.set_parameters(values, atomically=True)
    assert not result.successful
    assert 'gd_step_multiplier' in result.reason
    assert plain.get_parameters(values) == before
    assert {name: value for name, (value, _) in described(plain).items() if name in TABLE} == {
        name: row[1] for name, row in TABLE.items()
    }


def test_tolerance_is_that_of_the_next_request(defaults):
    poses = [PANDA.pose(posture) for posture in PANDA.postures(20, seed=31)]

    def worst():
        responses = defaults.call_all('compute_ik', [ik_request(PANDA, pose) for pose in poses])
        for pose, response in zip(poses, responses, strict=True):
            assert_solves(PANDA, response, pose)
        return max(
            np.hypot(*errors_of(PANDA, a, p)) for a, p in zip(responses, poses, strict=True)
        )

    assert worst() > 1e-7
    (result,) = defaults.set_parameters({PREFIX + 'target_tolerance': 1e-9})
    assert result.successful
    assert worst() < 1e-9 + 1e-12


def test_mode_is_that_of_the_next_request(defaults):
    postures, seeds = PANDA.postures(10, seed=32), PANDA.postures(10, seed=33)

    def distance():
        total = 0.0
        for posture, seed in zip(postures, seeds, strict=True):
            pose = PANDA.pose(posture)
            response = defaults.call('compute_ik', ik_request(PANDA, pose, seed=seed))
            assert_solves(PANDA, response, pose)
            positions = positions_of(response)
            total += sum((positions[name] - value) ** 2 for name, value in seed.items())
        return total

    first = distance()
    change = {
        PREFIX + 'solve_mode': 'optimize_distance',
        PREFIX + 'optimization_timeout': 0.05,
        PREFIX + 'kinematics_solver_timeout': 0.2,
    }
    assert defaults.set_parameters(change, atomically=True).successful
    assert distance() < 0.9 * first


def test_position_only_is_that_of_the_next_request(defaults):
    pose = PANDA.blocked_pose()
    pose[:3, 3] = [0.4, 0.2, 0.4]
    pose[:3, :3] = np.eye(3)
    free = ik_request(PANDA, pose)
    (result,) = defaults.set_parameters({PREFIX + 'position_only_ik': True})
    assert result.successful
    response = defaults.call('compute_ik', free)
    assert response.error_code.val == 1
    distance, angle = errors_of(PANDA, response, pose)
    assert distance <= 1e-3 + 1e-9
    assert angle > 1e-2


def test_times_are_reported_from_the_next_request_on(defaults):
    request = ik_request(PANDA, PANDA.pose(PANDA.postures(1, seed=34)[0]))
    assert '[solver' not in defaults.call('compute_ik', request).error_code.message
    assert defaults.set_parameters({'report_times': True})[0].successful
    assert '[solver' in defaults.call('compute_ik', request).error_code.message
    assert defaults.set_parameters({'report_times': False})[0].successful


def test_change_before_there_is_a_robot_counts(tmp_path):
    with running_server(tmp_path) as server:
        server.wait_for_log('Waiting for the robot')
        with client_of(server) as client:
            assert client.set_parameters({'report_times': True})[0].successful
            client.publish_latched('robot_description_semantic', PANDA.srdf)
            client.publish_latched('robot_description', PANDA.urdf)
            server.wait_until_ready()
            response = client.call('compute_ik', ik_request(PANDA, PANDA.pose({})))
            assert '[solver' in response.error_code.message
