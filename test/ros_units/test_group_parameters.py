"""Parameters of groups: the node's values before the file's before the defaults, and changes at run time."""

import logging

from test.ros_units.bare_nodes import node_maker, Parameter

import pytest

from ssik_ros.errors import ConfigError, InvalidParameter, UnknownSolver
from ssik_ros.ros.parameters import group_parameters
from ssik_ros.ros.parameters.group_parameters import GroupParameters, PREFIX, RUN_TIME

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def make_node():
    with node_maker() as make:
        yield make


class Declared:
    """Group parameters on a node of their own, and their changes."""

    def __init__(self, make_node, path=None, groups=('arm',), overrides=None):
        self.node = make_node({PREFIX + key: value for key, value in (overrides or {}).items()})
        self.changes = []
        self.parameters = GroupParameters(self.node, path, self.changes.append)
        self.parameters.declare(groups)

    @property
    def arm(self):
        """Return the current kinematics of the arm."""
        return self.parameters.kinematics('arm')

    def set(self, **values):
        """Set parameters of the arm one by one and return whether each was taken."""
        given = [Parameter(f'{PREFIX}arm.{key}', value=value) for key, value in values.items()]
        return [result.successful for result in self.node.set_parameters(given)]

    def set_at_once(self, **values):
        """Set parameters of the arm in one step and return the result."""
        given = [Parameter(f'{PREFIX}arm.{key}', value=value) for key, value in values.items()]
        return self.node.set_parameters_atomically(given)


@pytest.fixture
def declare(make_node):
    return lambda *arguments, **more: Declared(make_node, *arguments, **more)


@pytest.fixture
def file(tmp_path):
    """Give a function that writes a kinematics.yaml and returns its path."""

    def write(text):
        path = tmp_path / 'kinematics.yaml'
        path.write_text(text)
        return path

    return write


POSE_IK = 'arm:\n  kinematics_solver: ssik_ros/PoseIK\n'


# Precedence of values


def test_without_anything_the_defaults_count(declare):
    arm = declare().arm
    assert (arm.solver, arm.requested_solver, arm.timeout) == ('ssik_ros/Auto', '', 0.05)
    assert set(arm.sources.values()) <= {'default'}


def test_a_file_comes_before_the_defaults(declare, file):
    path = file(POSE_IK + '  gd_max_iters: 50\n  kinematics_solver_timeout: 0.2\n')
    arm = declare(path).arm
    assert (arm.solver, arm.timeout, arm.parameters['gd_max_iters']) == (
        'ssik_ros/PoseIK',
        0.2,
        50,
    )
    assert arm.sources['gd_max_iters'] == f'{path}:3 (gd_max_iters)'
    assert arm.sources['timeout'] == f'{path}:4 (kinematics_solver_timeout)'
    assert arm.sources['solve_mode'] == 'default'


def test_the_node_comes_before_the_file(declare, file):
    path = file(POSE_IK + '  gd_max_iters: 50\n  position_only_ik: true\n')
    arm = declare(path, overrides={'arm.gd_max_iters': 70, 'arm.target_tolerance': 0.002}).arm
    assert dict(arm.parameters) == {'gd_max_iters': 70, 'target_tolerance': 0.002}
    assert arm.position_only is True
    assert arm.sources['gd_max_iters'] == f'parameter {PREFIX}arm.gd_max_iters (gd_max_iters)'
    assert arm.sources['position_only'].startswith(str(path))


def test_the_node_may_choose_another_solver(declare, file):
    path = file('arm:\n  kinematics_solver: ssik_ros/Auto\n')
    arm = declare(path, overrides={'arm.kinematics_solver': 'ssik_ros/PoseIK'}).arm
    assert arm.solver == 'ssik_ros/PoseIK'
    assert arm.sources['solver'].startswith(f'parameter {PREFIX}arm.kinematics_solver')


@pytest.mark.parametrize(
    ('in_file', 'on_node'),
    [
        ('epsilon', 'target_tolerance'),
        ('target_tolerance', 'epsilon'),
        ('epsilon', 'epsilon'),
        ('damping', 'gd_jacobian_damping'),
        ('gd_jacobian_damping', 'damping'),
    ],
)
def test_the_node_comes_before_the_file_under_any_name(declare, file, in_file, on_node):
    name = 'target_tolerance' if 'damping' not in in_file else 'gd_jacobian_damping'
    path = file(POSE_IK + f'  {in_file}: 0.01\n  gd_max_iters: 60\n')
    arm = declare(path, overrides={f'arm.{on_node}': 0.002}).arm
    assert dict(arm.parameters) == {name: 0.002, 'gd_max_iters': 60}
    assert arm.sources[name] == f'parameter {PREFIX}arm.{on_node} ({on_node})'


def test_two_names_of_one_parameter_in_one_place_contradict(declare, file):
    with pytest.raises(InvalidParameter, match='same parameter'):
        declare(file(POSE_IK + '  epsilon: 0.01\n  target_tolerance: 0.02\n'))
    with pytest.raises(InvalidParameter, match='same parameter'):
        declare(overrides={'arm.epsilon': 0.01, 'arm.target_tolerance': 0.02})


def test_both_layouts_of_the_file_are_read(declare, file):
    nested = (
        '/**:\n  ros__parameters:\n    robot_description_kinematics:\n      arm:\n'
        '        kinematics_solver: ssik_ros/PoseIK\n        gd_max_iters: 33\n'
    )
    assert declare(file(nested)).arm.parameters == {'gd_max_iters': 33}


def test_resolved_values_are_the_node_s_parameters(declare, file):
    made = declare(
        file(POSE_IK + '  epsilon: 0.01\n'), overrides={'arm.kinematics_solver_timeout': 1}
    )
    value = {
        key: made.node.get_parameter(f'{PREFIX}arm.{key}').value
        for key in ('target_tolerance', 'kinematics_solver', 'kinematics_solver_timeout')
    }
    assert value == {
        'target_tolerance': 0.01,
        'kinematics_solver': 'ssik_ros/PoseIK',
        'kinematics_solver_timeout': 1.0,
    }


# Errors


def test_a_group_that_is_not_served_is_told(declare, file, caplog):
    with caplog.at_level(logging.WARNING, 'ssik_ros'):
        declare(file(POSE_IK.replace('arm', 'amr')), overrides={'hand.kinematics_solver': 'x'})
    text = caplog.text
    assert "group 'amr'" in text and "Did you mean 'arm'?" in text and "group 'hand'" in text


@pytest.mark.parametrize('where', ['file', 'node'])
def test_a_misspelt_key_is_an_error_that_names_the_right_one(declare, file, where):
    with pytest.raises(InvalidParameter, match=r"'gd_max_iter'.*Did you mean 'gd_max_iters'\?"):
        if where == 'file':
            declare(file(POSE_IK + '  gd_max_iter: 5\n'))
        else:
            declare(overrides={'arm.gd_max_iter': 5})


def test_a_misspelt_solver_is_an_error_that_names_the_right_one(declare):
    with pytest.raises(UnknownSolver, match=r"Did you mean 'ssik_ros/PoseIK'\?"):
        declare(overrides={'arm.kinematics_solver': 'ssik_ros/PoseKI'})


@pytest.mark.parametrize(
    'values',
    [
        {'gd_max_iters': 0},
        {'gd_max_iters': 2.5},
        {'solve_mode': 'best'},
        {'kinematics_solver_timeout': 0.0},
        {'position_only_ik': 'yes'},
    ],
)
def test_a_wrong_value_is_an_error_with_its_place(declare, values):
    ((key, value),) = values.items()
    with pytest.raises(ConfigError) as caught:
        declare(overrides={f'arm.{key}': value})
    assert f'{PREFIX}arm.{key}' in str(caught.value)


def test_foreign_keys_are_told_once_for_each_group(declare, file, caplog):
    path = file(
        'arm:\n  kinematics_solver: kdl_kinematics_plugin/KDLKinematicsPlugin\n  max_solver_iterations: 500\n'
    )
    with caplog.at_level(logging.WARNING, 'ssik_ros'):
        arm = declare(path, overrides={'arm.gain.x': 1.0, 'arm.gain.y': 2.0}).arm
    lines = [r.getMessage() for r in caplog.records if 'not used' in r.getMessage()]
    assert len(lines) == 1
    assert lines[0].count('gain') == 1 and 'max_solver_iterations' in lines[0]
    assert arm.is_foreign and set(arm.unused) == {'max_solver_iterations', 'gain'}


def test_a_group_is_declared_once(declare, file):
    made = declare(file(POSE_IK + 'hand:\n  kinematics_solver_timeout: 0.3\n'))
    before = made.arm
    made.parameters.declare(['arm', 'hand'])
    assert made.arm is before
    assert made.parameters.kinematics('hand').timeout == 0.3


# At run time


def test_a_change_is_handed_on_with_its_source(declare, file):
    path = file(POSE_IK + '  gd_max_iters: 50\n  epsilon: 0.01\n')
    made = declare(path)
    assert made.set(gd_max_iters=60) == [True]
    (changed,) = made.changes
    assert changed is made.arm and changed.parameters['gd_max_iters'] == 60
    assert changed.parameters['target_tolerance'] == 0.01
    assert changed.sources['gd_max_iters'] == RUN_TIME
    assert changed.sources['target_tolerance'] == f'{path}:4 (epsilon)'
    assert changed.sources['solve_mode'] == 'default'


def test_keys_of_every_solver_change_too(declare):
    made = declare()
    assert made.set(kinematics_solver_timeout=2, position_only_ik=True) == [True, True]
    assert (made.arm.timeout, made.arm.position_only) == (2.0, True)
    assert made.arm.sources['timeout'] == made.arm.sources['position_only'] == RUN_TIME
    assert [change.position_only for change in made.changes] == [False, True]


def test_a_change_in_one_step_is_handed_on_whole(declare):
    made = declare()
    assert made.set_at_once(kinematics_solver_timeout=0.5, gd_max_iters=9).successful
    assert made.changes
    for change in made.changes:
        assert (change.timeout, change.parameters['gd_max_iters']) == (0.5, 9)


@pytest.mark.parametrize(
    'values',
    [
        {'gd_max_iters': 0},
        {'gd_max_iters': 'x'},
        {'solve_mode': 'best'},
        {'kinematics_solver_timeout': -1.0},
        {'kinematics_solver': 'ssik_ros/Auto'},
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(declare, values):
    made = declare()
    before = made.arm
    result = made.set_at_once(**{'gd_step_multiplier': 0.25, **values})
    assert not result.successful and result.reason
    assert made.arm is before and made.changes == []
    assert made.node.get_parameter(f'{PREFIX}arm.gd_step_multiplier').value == 0.5


def test_a_value_that_stays_is_no_change(declare, file):
    made = declare(file(POSE_IK + '  gd_max_iters: 50\n'))
    assert made.set(gd_max_iters=50) == [True]
    assert made.changes == [] and made.arm.sources['gd_max_iters'] != RUN_TIME


def test_groups_change_by_themselves(declare):
    made = declare(groups=('arm', 'hand'))
    before = made.parameters.kinematics('hand')
    made.set(gd_max_iters=11)
    assert made.parameters.kinematics('hand') is before
    assert [change.group for change in made.changes] == ['arm']


def test_a_change_while_a_group_is_being_declared_is_not_lost(make_node, monkeypatch):
    """Groups are declared by the thread that loads the robot, while services set parameters."""
    node, changes, results = make_node(), [], []
    load = group_parameters.load_schema

    def load_and_be_interrupted(resource):
        if node.has_parameter(f'{PREFIX}arm.position_only_ik') and not results:
            given = Parameter(f'{PREFIX}arm.position_only_ik', value=True)
            results.extend(node.set_parameters([given]))
        return load(resource)

    monkeypatch.setattr(group_parameters, 'load_schema', load_and_be_interrupted)
    parameters = GroupParameters(node, None, changes.append)
    parameters.declare(['arm'])
    assert [result.successful for result in results] == [True]
    assert parameters.kinematics('arm').position_only is True
    assert parameters.kinematics('arm').sources['position_only'] == RUN_TIME
