"""Every wrong argument is an error of the right built-in class, and its text names the argument."""

import math

import numpy as np
import pytest

from ssik_ros import Manipulator, SsikError, TolerancePolicy
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.loader import load_robot

POSTURE = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
NAN, INF = math.nan, math.inf


@pytest.fixture(scope='module')
def arm():
    """Return an arm of six joints."""
    return Manipulator.from_prebuilt('ur5e')


@pytest.fixture(scope='module')
def sliding():
    """Return an arm with a sliding joint where no closed form allows one."""
    elbow = '<joint name="elbow_joint" type="revolute">'
    text = make_urdf(arm_data('ur5e')).replace(elbow, elbow.replace('revolute', 'prismatic'))
    robot = load_robot(text)
    return Manipulator(robot, robot.group_from_links('base_link', 'tool0'))


def changed(row, column, value):
    """Return the unit matrix with one entry changed."""
    matrix = np.eye(4)
    matrix[row, column] = value
    return matrix


TARGETS = [
    (np.eye(3), ValueError, r'\(4, 4\)'),
    (np.zeros(16), ValueError, r'\(4, 4\)'),
    ([[1.0, 2.0], [3.0]], ValueError, 'T_target'),
    (changed(0, 3, NAN), ValueError, 'not finite'),
    (changed(1, 1, INF), ValueError, 'not finite'),
    (changed(0, 1, 1e-3), ValueError, 'off from a rotation'),
    (np.diag([2.0, 2.0, 2.0, 1.0]), ValueError, 'off from a rotation'),
    (np.diag([1.0, 1.0, -1.0, 1.0]), ValueError, 'determinant'),
    (np.diag([0.0, 0.0, 0.0, 1.0]), ValueError, 'determinant'),
    (changed(3, 0, 1e-3), ValueError, 'last row'),
    (changed(3, 3, 2.0), ValueError, 'last row'),
    (np.eye(4).astype(str), TypeError, 'real numbers'),
    (np.eye(4).astype(bool), TypeError, 'real numbers'),
    (np.eye(4).astype(complex), TypeError, 'real numbers'),
    (None, TypeError, 'real numbers'),
]

OPTIONS = [
    ({'q_seed': np.zeros(5)}, ValueError, '6'),
    ({'q_seed': np.zeros((2, 6))}, ValueError, '6'),
    ({'q_seed': [NAN] * 6}, ValueError, 'finite'),
    ({'q_seed': [INF, -INF, 0, 0, 0, 0]}, ValueError, 'finite'),
    ({'q_seed': [1e300, 0, 0, 0, 0, 0]}, ValueError, 'beyond 1e.150'),
    ({'q_seed': ['a'] * 6}, TypeError, 'real numbers'),
    ({'max_solutions': -1}, ValueError, 'max_solutions'),
    ({'max_solutions': 2.5}, TypeError, 'max_solutions'),
    ({'max_solutions': True}, TypeError, 'max_solutions'),
    ({'max_solutions': '3'}, TypeError, 'max_solutions'),
    ({'refinement_max_iters': -1}, ValueError, 'refinement_max_iters'),
    ({'refinement_max_iters': 1.5}, TypeError, 'refinement_max_iters'),
    ({'allow_refinement': 1}, TypeError, 'allow_refinement'),
    ({'allow_refinement': 'no'}, TypeError, 'allow_refinement'),
    ({'explain': 1}, TypeError, 'explain'),
    ({'respect_limits': 'x'}, ValueError, "'wrap'"),
    ({'respect_limits': 'x'}, TypeError, "'wrap'"),
    ({'respect_limits': None}, ValueError, "'wrap'"),
    ({'respect_limits': 1}, ValueError, "'wrap'"),
    ({'seed_metric': 'wrap_l3'}, ValueError, 'wrap_l2'),
    ({'seed_metric': 'wrap_l3', 'q_seed': POSTURE}, ValueError, 'wrap_l2'),
    ({'seed_metric': None}, ValueError, 'seed_metric'),
    ({'seed_tolerance': 0.1}, ValueError, 'q_seed'),
    ({'seed_tolerance': NAN, 'q_seed': POSTURE}, ValueError, 'seed_tolerance'),
    ({'seed_tolerance': -0.1, 'q_seed': POSTURE}, ValueError, 'seed_tolerance'),
    ({'seed_tolerance': [0.1, 0.2], 'q_seed': POSTURE}, ValueError, 'seed_tolerance'),
    ({'seed_tolerance': 'x', 'q_seed': POSTURE}, TypeError, 'seed_tolerance'),
    ({'enumerate_windings': 'yes'}, TypeError, 'enumerate_windings'),
    ({'enumerate_windings': True, 'respect_limits': False}, ValueError, 'limits'),
    ({'policy': None}, TypeError, 'TolerancePolicy'),
    ({'policy': 1e-6}, TypeError, 'TolerancePolicy'),
    ({'hold': [1]}, TypeError, 'mapping'),
    ({'hold': {9: 0.0}}, ValueError, '0 to 5'),
    ({'hold': {-1: 0.0}}, ValueError, '0 to 5'),
    ({'hold': {'elbow': 0.0}}, KeyError, 'elbow_joint'),
    ({'hold': {2: NAN}}, ValueError, 'finite'),
    ({'hold': {2: 'x'}}, TypeError, 'number'),
    ({'hold': {2: 0.1, 'elbow_joint': 0.2}}, ValueError, 'twice'),
    ({'arm_angle': 0.1}, ValueError, 'seven joints'),
    ({'arm_angle': 'x'}, TypeError, 'arm_angle'),
    ({'redundancy_samples': 0}, ValueError, 'redundancy_samples'),
    ({'redundancy_samples': 1.5}, TypeError, 'redundancy_samples'),
    ({'redundancy_samples': 10**9}, ValueError, 'redundancy_samples must be at most 4096'),
    ({'timeout': 'x'}, TypeError, 'timeout'),
    ({'timeout': NAN}, ValueError, 'timeout'),
    ({'timeout': -1.0}, ValueError, 'timeout must be a number of seconds from 0 on'),
    ({'seed_tolerence': 0.1}, TypeError, 'seed_tolerance'),
    ({'max_solution': 1}, TypeError, 'max_solutions'),
    ({'method': 'ssik_ros/Analytc'}, KeyError, 'ssik_ros/Analytic'),
    ({'method': 'ssik_ros/Analytic', 'swivel': 1}, TypeError, 'swivel'),
    ({'method': 'ssik_ros/PoseIK', 'respect_limits': False}, ValueError, 'respect_limits'),
    ({'method': 'ssik_ros/PoseIK', 'enumerate_windings': True}, ValueError, 'enumerate_windings'),
    ({'method': 'ssik_ros/PoseIK', 'arm_angle': 0.0}, ValueError, 'arm_angle'),
]


@pytest.mark.parametrize(('target', 'error', 'words'), TARGETS)
def test_wrong_targets(arm, target, error, words):
    for ask in (arm.solve, arm.solve_q):
        with pytest.raises(error, match=words) as caught:
            ask(target)
        assert isinstance(caught.value, SsikError)


@pytest.mark.parametrize(('options', 'error', 'words'), OPTIONS)
def test_wrong_options(arm, options, error, words):
    with pytest.raises(error, match=words) as caught:
        arm.solve(arm.fk(POSTURE), **options)
    assert isinstance(caught.value, SsikError)


@pytest.mark.parametrize(
    ('options', 'error', 'words'), [row for row in OPTIONS if 'explain' not in row[0]]
)
def test_wrong_options_are_errors_of_arrays_and_batches_too(arm, options, error, words):
    target = arm.fk(POSTURE)
    with pytest.raises(error, match=words):
        arm.solve_q(target, **options)
    with pytest.raises(error, match=words):
        arm.solve_batch(target[None], **options)


def test_what_was_asked_before_excuses_nothing(arm):
    target = arm.fk(POSTURE)
    arm.solve(target, max_solutions=1, explain=True)
    for value in (True, 1.0):
        with pytest.raises(TypeError, match='max_solutions'):
            arm.solve(target, max_solutions=value)


@pytest.mark.parametrize(
    'target', [np.eye(4).tolist(), np.eye(4, dtype=np.float32), np.eye(4, dtype=int)]
)
def test_lists_and_other_numbers_are_targets(arm, target):
    assert arm.solve(target) == arm.solve(np.eye(4)) == []


def test_a_target_of_six_digits_is_a_target(arm):
    target = np.round(arm.fk(POSTURE), 6)
    assert len(arm.solve(target)) == 8


def test_nothing_wanted_is_nothing_returned(arm):
    assert arm.solve(arm.fk(POSTURE), max_solutions=0) == []
    assert arm.solve_q(arm.fk(POSTURE), max_solutions=0).shape == (0, 6)


def test_a_slide_without_a_closed_form_is_solved_all_the_same(sliding):
    with pytest.raises(ValueError, match='prismatic'):
        sliding.solve(np.eye(4), method='ssik_ros/Analytic')
    limits = np.array(sliding.joint_limits)
    target = sliding.fk(limits.mean(axis=1))
    (solution,) = sliding.solve(target)
    assert np.linalg.norm(sliding.fk(solution.q) - target) < 2e-3


@pytest.mark.parametrize('threads', [0, -1, 1.5, True, '2'])
def test_wrong_numbers_of_threads(arm, threads):
    with pytest.raises(ValueError, match='threads'):
        arm.solve_batch(np.eye(4)[None], threads=threads)


@pytest.mark.parametrize(
    ('poses', 'seeds', 'words'),
    [
        (np.eye(4), None, r'\(m, 4, 4\)'),
        (np.zeros((2, 3, 4)), None, r'\(m, 4, 4\)'),
        (np.tile(np.eye(4), (3, 1, 1)), np.zeros((2, 6)), 'q_seed'),
        (np.tile(np.eye(4), (3, 1, 1)), np.full((3, 6), np.nan), 'q_seed 0'),
    ],
)
def test_wrong_batches(arm, poses, seeds, words):
    with pytest.raises(ValueError, match=words):
        arm.solve_batch(poses, seeds)


@pytest.mark.parametrize(
    'fields', [{'subproblem_numerical': 0.0}, {'axis_parallel': NAN}, {'subproblem_dedup': '1'}]
)
def test_wrong_tolerances(fields):
    with pytest.raises(ValueError, match=next(iter(fields))):
        TolerancePolicy(**fields)


@pytest.mark.parametrize('arguments', [(), (None,), ('arm.urdf',)])
def test_a_manipulator_of_something_else(arguments):
    with pytest.raises(TypeError):
        Manipulator(*arguments)


def test_an_unknown_prebuilt_arm_is_an_error_that_names_the_nearest():
    with pytest.raises(FileNotFoundError, match='ur5e'):
        Manipulator.from_prebuilt('ur5ee')
