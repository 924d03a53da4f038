"""Every parameter of PoseIK has the effect that its description promises."""

from test.solvers.arms import (
    closes,
    load_arm,
    MAIN_GROUP,
    PLANAR_3R,
    tip_errors,
    tip_poses,
    turned,
)

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq

from ssik_ros.errors import InvalidParameter
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

ENDED_BY_STARTS = {'solve_mode': 'optimize_distance', 'optimization_timeout': 60.0}
"""An optimisation that its starts end, not the clock."""


def make(robot, **parameters):
    """Return PoseIK for the main group of a shipped robot."""
    return create_solver('ssik_ros/PoseIK', robot, robot.group(MAIN_GROUP[robot.name]), parameters)


def draw_requests(robot, count, seed=1):
    """Yield random reachable requests."""
    rng = np.random.default_rng(seed)
    group = robot.group(MAIN_GROUP[robot.name])
    for _ in range(count):
        target = tip_poses(robot, group, robot.sample(group, rng))
        yield SolveRequest(target, seed=robot.sample(group, rng))


def first_step(robot, target, seed, **parameters):
    """Return the joint motion of the only step of the only start."""
    solver = make(robot, gd_max_iters=1, target_tolerance=1e-12, **parameters)
    result = solver.solve(SolveRequest(target, seed=seed, max_searches=1))
    assert (result.status, result.iterations) == (IkStatus.UNSOLVED, 1)
    return result.q - seed


def posture(robot):
    """Return a well-conditioned posture in the midst of the limits of a shipped robot."""
    return {
        'ur5e': np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5]),
        'panda': np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4]),
    }[robot.name]


def turned_target(robot, seed, error):
    """Return a target whose error at a posture is a turn about z of a given size."""
    target = tip_poses(robot, robot.group(MAIN_GROUP[robot.name]), seed)
    target[0, :3, :3] = turned((0, 0, 1), error)[:3, :3] @ target[0, :3, :3]
    return target


def newton_step(robot, target, seed, damping=0.0):
    """Return the damped least-squares step, from pinocchio's Jacobian in the axes of the base."""
    group = robot.group(MAIN_GROUP[robot.name])
    model = ReferenceKinematics(robot).model
    data = model.createData()
    q = pin.neutral(model)
    columns = [model.joints[model.getJointId(name)].idx_v for name in group.joint_names]
    for name, value in zip(group.joint_names, seed, strict=True):
        q[model.joints[model.getJointId(name)].idx_q] = value
    frame = model.getFrameId(group.tip)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobian = pin.computeFrameJacobian(model, data, q, frame, axes)[:, columns]
    pose = pin.updateFramePlacement(model, data, frame)
    base = pin.updateFramePlacement(model, data, model.getFrameId(group.base_link))
    goal = base * pin.SE3(target[0])
    error = np.append(
        goal.translation - pose.translation, pin.log3(goal.rotation @ pose.rotation.T)
    )
    return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping * np.eye(6), error)


def added_to_diagonal(robot, target, seed, length):
    """Return the damping with which a least-squares step has a length."""

    def excess(logarithm):
        damping = np.exp(logarithm)
        return np.linalg.norm(newton_step(robot, target, seed, damping)) - length

    return np.exp(brentq(excess, -25.0, 5.0, xtol=1e-10))


@pytest.mark.sampled
@pytest.mark.parametrize('tolerance', [1e-1, 1e-2, 1e-4, 1e-6])
def test_the_norm_of_position_and_rotation_error_is_within_target_tolerance(robot, tolerance):
    group = robot.group(MAIN_GROUP[robot.name])
    solver = make(robot, target_tolerance=tolerance)
    for request in draw_requests(robot, 30):
        result = solver.solve(request)
        assert result.solved
        assert closes(robot, group, result.q, request.targets, tolerance)


def test_a_target_tolerance_of_a_nanometre_is_met(robot):
    group = robot.group(MAIN_GROUP[robot.name])
    solver = make(robot, target_tolerance=1e-9)
    for request in draw_requests(robot, 30):
        result = solver.solve(request)
        assert result.solved
        assert closes(robot, group, result.q, request.targets, 1e-9)


def test_a_looser_target_tolerance_is_made_use_of(robot):
    counts = []
    for tolerance in (1e-1, 1e-3, 1e-9):
        solver = make(robot, target_tolerance=tolerance)
        counts.append(sum(solver.solve(r).iterations for r in draw_requests(robot, 30)))
    assert counts[0] < counts[1] < counts[2]


def test_position_and_rotation_error_count_together_for_target_tolerance(robots):
    robot = robots['ur5e']
    group, seed = robot.group('ur_manipulator'), posture(robot)
    target = tip_poses(robot, group, seed)
    target[0, :3, 3] += [0.0, 0.008, 0.0]
    target[0, :3, :3] = target[0, :3, :3] @ turned((1, 0, 0), 0.008)[:3, :3]
    solver = make(robot, target_tolerance=0.01)
    result = solver.solve(SolveRequest(target, seed=seed))
    assert result.iterations > 0
    assert np.linalg.norm(tip_errors(robot, group, result.q, target)) <= 0.01


@pytest.mark.parametrize('most', [1, 2, 5])
def test_no_search_takes_more_steps_than_gd_max_iters(robot, most):
    solver = make(robot, gd_max_iters=most, target_tolerance=1e-12)
    for request in draw_requests(robot, 10):
        request.max_searches = 20
        result = solver.solve(request)
        assert 0 < result.iterations <= most * result.searches
        assert result.solved or result.searches == 20


def test_gd_max_iters_of_one_takes_one_step_from_each_start(robots):
    solver = make(robots['panda'], gd_max_iters=1, target_tolerance=1e-12)
    request = next(draw_requests(robots['panda'], 1))
    request.max_searches = 50
    result = solver.solve(request)
    assert (result.iterations, result.searches, result.cause) == (50, 50, Cause.BUDGET)


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
@pytest.mark.parametrize('multiplier', [0.001, 0.25, 1.0])
def test_far_from_the_target_gd_step_multiplier_scales_the_newton_step(robots, name, multiplier):
    robot = robots[name]
    seed = posture(robot)
    target = turned_target(robot, seed, 0.1)
    parameters = {'gd_adaptive_threshold': 0.05, 'gd_jacobian_damping': 0.0}
    step = first_step(robot, target, seed, gd_step_multiplier=multiplier, **parameters)
    assert step == pytest.approx(multiplier * newton_step(robot, target, seed), abs=1e-9)


@pytest.mark.parametrize(('threshold', 'share'), [(0.4, 0.75), (0.2, 0.5), (0.125, 0.2)])
def test_below_gd_adaptive_threshold_the_step_grows_towards_the_full_one(robots, threshold, share):
    robot = robots['ur5e']
    seed = posture(robot)
    target = turned_target(robot, seed, 0.1)
    parameters = {'gd_step_multiplier': 0.2, 'gd_jacobian_damping': 0.0}
    step = first_step(robot, target, seed, gd_adaptive_threshold=threshold, **parameters)
    expected = (0.2 + 0.8 * share) * newton_step(robot, target, seed)
    assert step == pytest.approx(expected, abs=1e-9)


def test_larger_gd_jacobian_damping_makes_shorter_steps(robots):
    robot = robots['ur5e']
    seed = posture(robot)
    target = turned_target(robot, seed, 0.1)
    lengths = [
        np.linalg.norm(first_step(robot, target, seed, gd_jacobian_damping=damping))
        for damping in (0.0, 1e-5, 1e-3, 1e-2, 1e-1, 1.0)
    ]
    assert (np.diff(lengths) < 0.0).all()


@pytest.mark.parametrize('error', [1e-3, 0.03, 0.1])
def test_gd_jacobian_damping_scales_what_is_added_to_the_diagonal(robots, error):
    robot = robots['ur5e']
    seed = posture(robot)
    target = turned_target(robot, seed, error)
    factors = []
    for damping in (1e-3, 1e-2):
        parameters = {'gd_step_multiplier': 1.0, 'gd_jacobian_damping': damping}
        step = first_step(robot, target, seed, **parameters)
        added = added_to_diagonal(robot, target, seed, np.linalg.norm(step))
        assert step == pytest.approx(newton_step(robot, target, seed, added), abs=1e-9)
        factors.append(added / damping)
    assert factors[0] == pytest.approx(factors[1], rel=1e-3)


def test_without_damping_poses_are_still_solved(robot):
    group = robot.group(MAIN_GROUP[robot.name])
    solver = make(robot, gd_jacobian_damping=0.0)
    for request in draw_requests(robot, 30):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


def test_without_damping_a_singular_seed_does_no_harm(robot):
    group = robot.group(MAIN_GROUP[robot.name])
    solver = make(robot, gd_jacobian_damping=0.0)
    for request in draw_requests(robot, 10):
        request.seed = np.zeros(group.variable_count)
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        request.max_searches = 1
        assert np.isfinite(solver.solve(request).q).all()


def test_optimize_distance_finds_nearer_solutions_than_first_found(robots):
    robot = robots['panda']
    first, best = make(robot), make(robot, **ENDED_BY_STARTS)
    asked = list(draw_requests(robot, 20))
    near = [np.linalg.norm(best.solve(r).q - r.seed) for r in asked]
    any_ = [np.linalg.norm(first.solve(r).q - r.seed) for r in asked]
    assert np.mean(np.square(near)) < 0.7 * np.mean(np.square(any_))
    assert all(a <= b for a, b in zip(near, any_, strict=True))


def test_optimization_timeout_ends_the_search_for_nearer_solutions(robots):
    robot = robots['ur5e']
    solver = make(robot, solve_mode='optimize_distance', optimization_timeout=1e-3)
    request = next(draw_requests(robot, 1))
    request.max_searches = 50_000
    result = solver.solve(request)
    assert result.solved and result.clock_ended
    assert result.searches < 50_000


def test_the_timeout_of_a_request_ends_a_longer_optimization_timeout(robots):
    robot = robots['ur5e']
    solver = make(robot, solve_mode='optimize_distance', optimization_timeout=1e6)
    # The first start solves it, long before the clock ends the search for nearer solutions.
    request = near_request(robot)
    request.max_searches, request.timeout = 10**9, 0.3
    result = solver.solve(request)
    assert result.solved and result.clock_ended
    assert result.searches < 10**9


def test_optimization_timeout_does_not_end_the_search_for_a_first_solution(robots):
    robot = robots['ur5e']
    group = robot.group('ur_manipulator')
    solver = make(robot, solve_mode='optimize_distance', optimization_timeout=1e-9)
    for request in draw_requests(robot, 20):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


def test_optimization_timeout_does_not_matter_in_first_found(robots):
    solver = make(robots['ur5e'], optimization_timeout=1e-9)
    assert all(solver.solve(r).clock_ended is False for r in draw_requests(robots['ur5e'], 20))


def near_request(robot):
    """Return a request that the first start solves."""
    seed = posture(robot)
    target = tip_poses(robot, robot.group(MAIN_GROUP[robot.name]), seed + 0.2)
    return SolveRequest(target, seed=seed, max_searches=1)


def test_without_optimization_distance_gain_nothing_pulls_a_solution(robots):
    robot = robots['panda']
    request = near_request(robot)
    plain = make(robot).solve(request)
    unpulled = make(robot, **ENDED_BY_STARTS, optimization_distance_gain=0.0).solve(request)
    assert np.abs(unpulled.q - plain.q).max() < 1e-3
    assert np.linalg.norm(unpulled.q - request.seed) > 0.3


def test_a_larger_optimization_distance_gain_pulls_further_in_as_many_steps(robots):
    robot = robots['panda']
    distances = []
    for gain in (0.0, 0.03, 0.1):
        parameters = {'optimization_distance_gain': gain, 'gd_max_iters': 12}
        solver = make(robot, **ENDED_BY_STARTS, **parameters)
        total = 0.0
        for request in draw_requests(robot, 20):
            request.max_searches = 10
            result = solver.solve(request)
            total += np.linalg.norm(result.q - request.seed) if result.solved else 10.0
        distances.append(total)
    assert distances[0] > distances[1] > distances[2]


@pytest.mark.parametrize('gain', [0.01, 0.1, 1.0, 10.0, 1e6])
def test_whatever_the_optimization_distance_gain_solutions_stay_verified(robots, gain):
    robot = robots['gen3']
    group = robot.group('manipulator')
    solver = make(robot, **ENDED_BY_STARTS, optimization_distance_gain=gain)
    for request in draw_requests(robot, 5):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


def test_epsilon_and_damping_are_other_names(robots):
    solver = make(robots['fanuc'], epsilon=1e-6, damping=0.25)
    assert solver.options == PoseIkOptions(target_tolerance=1e-6, gd_jacobian_damping=0.25)


def test_a_name_and_its_alias_with_different_values_are_an_error(robots):
    with pytest.raises(InvalidParameter, match='same parameter'):
        make(robots['fanuc'], epsilon=1e-6, target_tolerance=1e-3)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('solve_mode', 'fastest'),
        ('solve_mode', 1),
        ('target_tolerance', 0.0),
        ('target_tolerance', float('nan')),
        ('gd_max_iters', 0),
        ('gd_max_iters', 1.5),
        ('gd_jacobian_damping', -1e-9),
        ('gd_jacobian_damping', 1.01),
        ('gd_step_multiplier', 0.0009),
        ('gd_step_multiplier', 1.1),
        ('gd_adaptive_threshold', 0.0),
        ('gd_adaptive_threshold', 1.5),
        ('optimization_timeout', 0.0),
        ('optimization_distance_gain', -0.1),
        ('optimization_distance_gain', True),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_parameter(robots, name, value):
    with pytest.raises(InvalidParameter, match=name) as caught:
        make(robots['fanuc'], **{name: value})
    assert caught.value.key == name


@pytest.mark.parametrize(
    'parameters',
    [
        {'gd_jacobian_damping': 1.0},
        {'gd_step_multiplier': 0.001, 'gd_adaptive_threshold': 0.001},
        {'gd_step_multiplier': 1.0},
        {'gd_adaptive_threshold': 1.0},
        {'gd_max_iters': 10**9},
        {'target_tolerance': 1e9},
    ],
    ids=str,
)
def test_the_ends_of_every_range_are_legal(parameters):
    robot, group = load_arm(PLANAR_3R)
    solver = PoseIkSolver(robot, group, PoseIkOptions(**parameters))
    target = tip_poses(robot, group, np.array([0.3, 0.4, 0.5]))
    result = solver.solve(SolveRequest(target, seed=np.array([0.1, 0.6, 0.4]), max_searches=20))
    assert result.status in (IkStatus.SOLVED, IkStatus.UNSOLVED)
    assert not result.solved or closes(
        robot, group, result.q, target, solver.options.target_tolerance
    )


def test_the_defaults_are_those_of_pose_ik():
    assert PoseIkOptions() == PoseIkOptions(
        solve_mode='first_found',
        target_tolerance=0.001,
        gd_max_iters=100,
        gd_jacobian_damping=0.00001,
        gd_step_multiplier=0.5,
        gd_adaptive_threshold=0.6,
        optimization_timeout=0.01,
        optimization_distance_gain=0.1,
    )


@pytest.mark.parametrize(
    'parameters',
    [{'solve_mode': 'fastest'}, {'target_tolerance': -1.0}, {'gd_max_iters': 0}],
    ids=str,
)
def test_options_made_by_hand_are_checked_too(parameters):
    robot, group = load_arm(PLANAR_3R)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PoseIkSolver(robot, group, PoseIkOptions(**parameters))
