"""Everything that one request to PoseIK can ask for, on shipped robots and on small ones."""

import itertools
import time

from test.solvers.arms import (
    chain,
    closes,
    describe,
    ENDLESS_6R,
    ENDLESS_RAIL,
    full_state,
    HALF_TURN,
    joint,
    load_arm,
    MAIN_GROUP,
    MIMICS,
    moved,
    on_mobile_base,
    PLANAR_3R,
    SCARA,
    SERIAL,
    STUCK,
    SWING,
    tip_errors,
    tip_poses,
    turned,
    TWO_LINK,
    within,
    X,
    Y,
    Z,
)

import numpy as np
import pytest

from ssik_ros.errors import InvalidLimits, InvalidOption, InvalidTarget, JointNotFound
from ssik_ros.kernels.search import restart_search
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Axes, position_rows, RotationKind, Rows
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver
from ssik_ros.solvers.search.solver import Frames

TIGHT = PoseIkOptions(target_tolerance=1e-6)


def main_group(robot):
    """Return the arm of a shipped robot."""
    return robot.group(MAIN_GROUP[robot.name])


def draw_requests(robot, group, count, seed=1):
    """Yield random reachable requests, and for each the posture that its targets come from."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        q = robot.sample(group, rng)
        yield SolveRequest(tip_poses(robot, group, q), seed=robot.sample(group, rng)), q


@pytest.fixture
def ur5e(robots):
    """Return ur5e, its group and a solver."""
    robot = robots['ur5e']
    return robot, main_group(robot), PoseIkSolver(robot, main_group(robot))


@pytest.fixture
def panda(robots):
    """Return panda, its group and a solver."""
    robot = robots['panda']
    return robot, main_group(robot), PoseIkSolver(robot, main_group(robot))


# Locked joints.


def test_a_joint_locked_at_a_value_has_it_to_the_bit(panda):
    robot, group, solver = panda
    for k, (request, q) in enumerate(draw_requests(robot, group, 30)):
        name = group.joint_names[k % 7]
        request.locked = {name: q[k % 7]}
        request.seed[k % 7] = q[k % 7] + 0.5
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert result.q[k % 7] == q[k % 7]


def test_a_joint_locked_without_a_value_stays_at_the_seed(panda):
    robot, group, solver = panda
    for k, (request, q) in enumerate(draw_requests(robot, group, 30)):
        request.seed[k % 7] = q[k % 7]
        request.locked = {group.joint_names[k % 7]: None}
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert result.q[k % 7] == q[k % 7]


def test_locking_every_joint_asks_whether_the_posture_reaches(ur5e):
    robot, group, solver = ur5e
    request, q = next(draw_requests(robot, group, 1))
    request.locked = dict(zip(group.joint_names, q, strict=True))
    assert (solver.solve(request).q == q).all()
    request.locked = dict(zip(group.joint_names, q + 0.1, strict=True))
    request.max_searches = 10
    assert not solver.solve(request).solved


def test_a_lock_more_than_half_a_turn_from_the_seed_loses_no_solution(ur5e):
    robot, group, solver = ur5e
    for k, (request, q) in enumerate(draw_requests(robot, group, 60)):
        request.seed[k % 6] = q[k % 6] - np.copysign(4.0, q[k % 6])
        request.locked = {group.joint_names[k % 6]: q[k % 6]}
        request.max_searches = 1000
        result = solver.solve(request)
        assert result.solved and result.q[k % 6] == q[k % 6]


def test_locking_an_unknown_joint_is_an_error_that_names_the_nearest(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.locked = {'elbow_jiont': 0.0}
    with pytest.raises(JointNotFound, match='elbow_joint') as caught:
        solver.solve(request)
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize('value', [7.0, -7.0, np.nan, np.inf])
def test_locking_a_joint_outside_its_limits_is_an_error_that_names_it(ur5e, value):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.locked = {'elbow_joint': value}
    with pytest.raises(InvalidLimits, match='elbow_joint'):
        solver.solve(request)


# Limits of a request.


def test_limits_of_a_request_bound_every_solution(panda):
    robot, group, solver = panda
    for request, q in draw_requests(robot, group, 30):
        request.lower, request.upper = q - 0.4, q + 0.7
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert (result.q >= request.lower).all() and (result.q <= request.upper).all()
        assert within(group, result.q)


@pytest.mark.parametrize('wide', [100.0, np.inf])
def test_limits_of_a_request_do_not_widen_those_of_the_robot(panda, wide):
    robot, group, solver = panda
    for request, _ in draw_requests(robot, group, 10):
        request.lower, request.upper = np.full(7, -wide), np.full(7, wide)
        assert within(group, solver.solve(request).q)


@pytest.mark.parametrize('side', ['lower', 'upper'])
def test_limits_that_leave_no_room_are_an_error_that_names_the_joint(ur5e, side):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    values = np.full(6, -1.0 if side == 'lower' else 1.0)
    values[3] = 6.5 if side == 'lower' else -6.5
    setattr(request, side, values)
    with pytest.raises(InvalidLimits, match='wrist_1_joint') as caught:
        solver.solve(request)
    assert caught.value.joint == 'wrist_1_joint'


def test_limits_that_hide_every_branch_are_the_cause(ur5e):
    robot, group, solver = ur5e
    request, q = next(draw_requests(robot, group, 1))
    request.lower, request.upper = q + 0.1, q + 0.11
    request.max_searches = 200
    result = solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.LIMITS)


def test_limits_of_equal_ends_hold_a_joint(panda):
    robot, group, solver = panda
    for request, q in draw_requests(robot, group, 10):
        request.lower, request.upper = group.lower.copy(), group.upper.copy()
        request.lower[2] = request.upper[2] = q[2]
        assert solver.solve(request).q[2] == q[2]


def test_limits_of_one_request_do_not_bind_the_next(panda):
    robot, group, solver = panda
    (first, q), (second, _) = draw_requests(robot, group, 2)
    expected = solver.solve(second).q
    first.lower, first.upper = q - 0.01, q + 0.01
    solver.solve(first)
    assert (solver.solve(second).q == expected).all()


# Consistency limits.


def test_with_consistency_limits_every_joint_stays_that_near_to_the_seed(panda):
    robot, group, solver = panda
    width = np.array([0.3, 0.1, 0.5, 0.2, 0.4, 0.3, 0.6])
    rng = np.random.default_rng(5)
    for request, q in draw_requests(robot, group, 30):
        request.seed = np.clip(q + rng.uniform(-0.9, 0.9, 7) * width, group.lower, group.upper)
        request.consistency_limits = width
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert (np.abs(result.q - request.seed) <= width + 1e-15).all()
        assert within(group, result.q)


def test_consistency_limits_hold_for_endless_joints_at_many_turns():
    robot, group = load_arm(ENDLESS_6R)
    solver = PoseIkSolver(robot, group)
    for request, q in draw_requests(robot, group, 10):
        request.seed = q + 0.1 + 2.0 * np.pi * np.arange(6)
        request.consistency_limits = np.full(6, 0.2)
        result = solver.solve(request)
        assert result.solved and (np.abs(result.q - request.seed) <= 0.2 + 1e-12).all()


def test_consistency_limits_that_exclude_every_solution_are_the_cause(ur5e):
    robot, group, solver = ur5e
    for request, q in draw_requests(robot, group, 5):
        request.seed = np.clip(q + 0.5, group.lower, group.upper)
        request.consistency_limits = np.full(6, 1e-3)
        request.max_searches = 100
        result = solver.solve(request)
        assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.CONSISTENCY)


def test_consistency_limits_around_a_seed_outside_the_limits_are_the_cause(panda):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.seed = group.upper + 1.0
    request.consistency_limits = np.full(7, 0.5)
    assert solver.solve(request).cause == Cause.CONSISTENCY


@pytest.mark.parametrize(
    'option', [{'consistency_limits': np.full(6, 0.1)}, {'locked': {'elbow_joint': None}}]
)
def test_a_bad_seed_is_refused_whatever_else_a_request_asks(ur5e, option):
    robot, group, solver = ur5e
    target = tip_poses(robot, group, np.zeros(6))
    result = solver.solve(SolveRequest(target, seed=np.full(6, np.nan), **option))
    assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)


# Seeds.


def test_a_seed_outside_the_limits_is_brought_inside(robot):
    group = main_group(robot)
    solver = PoseIkSolver(robot, group)
    for k, (request, _) in enumerate(draw_requests(robot, group, 20)):
        request.seed = request.seed + (-1) ** k * 20.0
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert within(group, result.q)


def test_a_seed_exactly_on_limits_is_a_start_like_any_other(robot):
    group = main_group(robot)
    solver = PoseIkSolver(robot, group)
    ends = np.where(np.isfinite(group.lower), group.lower, 0.0)
    result = solver.solve(SolveRequest(tip_poses(robot, group, ends), seed=ends))
    assert result.iterations == 0 and (result.q == ends).all()
    for request, _ in draw_requests(robot, group, 10):
        request.seed = ends
        assert closes(robot, group, solver.solve(request).q, request.targets)


def test_a_solution_that_lies_exactly_on_limits_is_found(ur5e):
    robot, group, solver = ur5e
    for k, (request, q) in enumerate(draw_requests(robot, group, 12)):
        q[k % 6] = group.upper[k % 6] if k % 2 else group.lower[k % 6]
        request.targets = tip_poses(robot, group, q)
        request.seed = np.clip(q + 0.1 * (-1) ** k, group.lower, group.upper)
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


def test_a_seed_at_350_degrees_gets_the_solution_nearest_to_it(ur5e):
    robot, group, solver = ur5e
    q = np.array([np.radians(-10.0), -1.2, 1.4, -0.8, 1.1, 0.5])
    seed = q + np.array([2.0 * np.pi, 0.01, 0.01, 0.01, 0.01, 0.01])
    result = solver.solve(SolveRequest(tip_poses(robot, group, q), seed=seed))
    assert result.q == pytest.approx(q + 2.0 * np.pi * np.eye(6)[0], abs=5e-3)


def test_among_all_windings_the_one_nearest_to_the_seed_is_returned(ur5e):
    robot, group, solver = ur5e
    rng = np.random.default_rng(8)
    for request, _ in draw_requests(robot, group, 20):
        request.seed = rng.uniform(-6.2, 6.2, 6)
        solution = solver.solve(request).q
        windings = solution + 2.0 * np.pi * np.arange(-2, 3)[:, None]
        legal = (windings >= group.lower) & (windings <= group.upper)
        distances = np.where(legal, np.abs(windings - request.seed), np.inf).min(axis=0)
        assert np.abs(solution - request.seed) == pytest.approx(distances, abs=1e-9)


@pytest.mark.parametrize('shift', [47.0, -47.0, 1e4])
def test_endless_joints_stay_within_half_a_turn_of_the_seed(robots, shift):
    robot = robots['gen3']
    group = main_group(robot)
    endless = np.isinf(group.lower)
    assert endless.any()
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 20):
        request.seed[endless] += shift
        result = solver.solve(request)
        assert closes(robot, group, result.q, request.targets)
        assert (np.abs(result.q - request.seed)[endless] <= np.pi + 1e-9).all()


def test_dragging_an_endless_joint_across_pi_makes_no_jump():
    robot, group = load_arm(ENDLESS_6R)
    solver = PoseIkSolver(robot, group, TIGHT)
    q = np.array([2.8, 0.5, 0.7, 0.2, 0.9, 0.1])
    for angle in np.linspace(2.8, 4.0, 40):
        wanted = np.append(angle, q[1:])
        result = solver.solve(SolveRequest(tip_poses(robot, group, wanted), seed=q))
        assert np.abs(result.q - q).max() < 0.05
        q = result.q


def test_a_joint_at_its_limit_does_not_stop_the_others(panda):
    robot, group, solver = panda
    for k, (request, q) in enumerate(draw_requests(robot, group, 28)):
        request.seed = np.clip(q + 0.3, group.lower, group.upper)
        request.seed[k % 7] = group.upper[k % 7] if k % 2 else group.lower[k % 7]
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


@pytest.mark.parametrize('axis', [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -2, 3)])
@pytest.mark.parametrize('side', ['tool', 'base'])
def test_a_rotation_of_exactly_pi_from_the_seed_is_solved(robot, axis, side):
    group = main_group(robot)
    solver = PoseIkSolver(robot, group)
    lower, upper = robot.sampling_bounds(group)
    seed = 0.6 * lower + 0.4 * upper
    target, half = tip_poses(robot, group, seed), turned(axis, np.pi)
    turn = target[0, :3, :3] @ half[:3, :3] if side == 'tool' else half[:3, :3] @ target[0, :3, :3]
    target[0, :3, :3] = turn
    result = solver.solve(SolveRequest(target, seed=seed, max_searches=2000))
    assert np.isfinite(result.q).all()
    assert not result.solved or closes(robot, group, result.q, target)
    causes = (Cause.LIMITS, Cause.UNREACHABLE, Cause.NOT_FOUND, Cause.BUDGET)
    assert result.solved or result.cause in causes


def test_a_wrist_turned_by_exactly_pi_is_solved_from_the_seed(ur5e):
    robot, group, solver = ur5e
    seed = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    target = tip_poses(robot, group, seed + np.pi * np.eye(6)[5])
    result = solver.solve(SolveRequest(target, seed=seed))
    assert result.solved and closes(robot, group, result.q, target)


@pytest.mark.parametrize('shape', ['zeros', 'middle'])
def test_singular_seeds_lead_to_solutions(robot, shape):
    group = main_group(robot)
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 30):
        request.seed = np.zeros(group.variable_count) if shape == 'zeros' else None
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


def test_a_stretched_elbow_at_the_edge_of_the_workspace_is_reached(ur5e):
    robot, group, solver = ur5e
    for request, q in draw_requests(robot, group, 20):
        q[2] = 0.0
        request.targets = tip_poses(robot, group, q)
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)


@pytest.mark.parametrize('beyond', [-1e-4, 0.0, 9e-4])
def test_a_target_on_the_boundary_is_reached_within_tolerance(beyond):
    robot, group = load_arm(PLANAR_3R)
    target = tip_poses(robot, group, np.zeros(3)) @ moved(beyond)
    for seed in ([0.5, -0.5, 0.2], [0.0, 0.0, 0.0], [2.0, 1.0, -1.0]):
        result = PoseIkSolver(robot, group).solve(SolveRequest(target, seed=np.array(seed)))
        assert result.solved and closes(robot, group, result.q, target)


def test_a_target_just_beyond_the_boundary_is_unreachable():
    robot, group = load_arm(PLANAR_3R)
    target = tip_poses(robot, group, np.zeros(3)) @ moved(2e-3)
    result = PoseIkSolver(robot, group).solve(SolveRequest(target))
    assert (result.cause, result.iterations) == (Cause.UNREACHABLE, 0)


# Tools and tolerances.


TOOL = moved(0.03, -0.02, 0.15) @ turned((1, 2, 3), 0.7)


def test_a_tool_offset_equals_a_fixed_joint_in_the_description():
    text, tool_joint = (
        SERIAL['rail and 6R'],
        joint('hand', 'fixed', 'tip', 'hand', '0.03 -0.02 0.15'),
    )
    robot, group = load_arm(text)
    with_hand = load_robot(text.replace('</robot>', f'<link name="hand"/>{tool_joint}</robot>'))
    hand_group = with_hand.group_from_links('l0', 'hand')
    offset = moved(0.03, -0.02, 0.15)
    plain, handed = PoseIkSolver(robot, group), PoseIkSolver(with_hand, hand_group)
    for request, _ in draw_requests(with_hand, hand_group, 20):
        expected = handed.solve(request)
        request.tool_offsets = offset
        assert plain.solve(request).q == pytest.approx(expected.q, abs=1e-12)


def test_targets_describe_the_tool_of_the_request(robot):
    group = main_group(robot)
    solver = PoseIkSolver(robot, group)
    for request, q in draw_requests(robot, group, 10):
        request.targets, request.tool_offsets = tip_poses(robot, group, q) @ TOOL, TOOL
        result = solver.solve(request)
        assert result.solved
        reached = tip_poses(robot, group, result.q) @ TOOL
        back = np.linalg.inv(TOOL)
        assert np.abs(reached - request.targets).max() < 2e-3
        assert closes(robot, group, result.q, request.targets @ back, 1.2e-3)


def test_requests_with_different_tools_do_not_mix(panda):
    robot, group, solver = panda
    for request, q in draw_requests(robot, group, 5):
        for tool in (moved(0.1), TOOL, moved(0.1), moved(0.1, 0.2), np.eye(4)):
            request.tool_offsets, request.targets = tool, tip_poses(robot, group, q) @ tool
            reached = tip_poses(robot, group, solver.solve(request).q) @ tool
            assert np.abs(reached - request.targets).max() < 2e-3


def test_tools_of_one_request_do_not_stay_for_the_next(panda):
    robot, group, solver = panda
    (first, _), (second, _) = draw_requests(robot, group, 2)
    expected = solver.solve(second).q
    for shift in np.linspace(0.01, 0.2, 40):
        first.tool_offsets = moved(z=shift)
        solver.solve(first)
    assert (solver.solve(second).q == expected).all()


@pytest.mark.parametrize('tool', [2.0 * np.eye(4), np.full((4, 4), np.nan), np.zeros((4, 4))])
def test_a_tool_that_is_no_rigid_transform_is_an_error(panda, tool):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.tool_offsets = tool
    with pytest.raises(ValueError, match='tool'):
        solver.solve(request)


def test_the_tolerance_of_a_request_wins_over_the_parameter(panda):
    robot, group, solver = panda
    for request, _ in draw_requests(robot, group, 10):
        request.tolerance = 1e-7
        assert closes(robot, group, solver.solve(request).q, request.targets, 1e-7)


@pytest.mark.parametrize('tolerance', [0.0, -1e-3, np.nan, [1e-3, 1e-3], []])
def test_a_tolerance_that_means_nothing_is_an_error(panda, tolerance):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.tolerance = tolerance
    with pytest.raises(InvalidOption, match='tolerance'):
        solver.solve(request)


def test_an_infinite_tolerance_is_an_error(panda):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.tolerance = np.inf
    with pytest.raises(InvalidOption, match='tolerance'):
        solver.solve(request)


# Budgets.


@pytest.mark.parametrize('most', [1, 2, 17])
def test_no_more_starts_are_tried_than_the_request_allows(panda, most):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.max_searches, request.tolerance = most, 1e-300
    result = solver.solve(request)
    assert (result.status, result.searches) == (IkStatus.UNSOLVED, most)
    assert not result.clock_ended


@pytest.mark.parametrize('timeout', [0, 0.0, None, 1e12, np.inf])
def test_a_timeout_of_zero_or_more_than_any_clock_is_none(panda, timeout):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    expected = solver.solve(request)
    request.timeout = timeout
    result = solver.solve(request)
    assert (result.q == expected.q).all() and not result.clock_ended


@pytest.mark.parametrize('timeout', [np.nan, -1.0, -1e-9, -np.inf])
def test_a_timeout_that_is_negative_or_no_number_is_an_error(panda, timeout):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.timeout = timeout
    with pytest.raises(InvalidOption, match=f'timeout must be .* not {timeout}'):
        solver.solve(request)


@pytest.mark.parametrize('timeout', [1e-9, 5e-10, 1e-6, 0.5e-3, 0.02])
def test_the_clock_ends_a_search_that_cannot_succeed(ur5e, timeout):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.tolerance, request.timeout, request.max_searches = 1e-300, timeout, 200_000
    result = solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.DEADLINE)
    assert result.clock_ended and within(group, result.q)
    assert 'clock' in result.summary()


@pytest.mark.parametrize(
    ('timeout', 'nanoseconds'),
    [(1e-9, 1), (5e-10, 1), (0.123456789, 123456789), (1.9, 1900000000), (0, 0)],
)
def test_the_kernel_gets_the_timeout_to_the_nanosecond(monkeypatch, ur5e, timeout, nanoseconds):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.timeout, given, search = timeout, [], restart_search.search

    def record(ints, reals, options, phase, timeout_ns, *rest):
        given.append(timeout_ns)
        return search(ints, reals, options, phase, timeout_ns, *rest)

    monkeypatch.setattr(solver, 'kernel', record)
    solver.solve(request)
    assert given == [nanoseconds]


def test_more_time_gives_more_iterations(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.tolerance, request.max_searches = 1e-300, 200_000
    counts = []
    for timeout in (1e-9, 1e-3, 0.1):
        request.timeout = timeout
        counts.append(solver.solve(request).iterations)
    assert counts[0] == 0 < counts[1] < counts[2]


def test_a_target_beyond_reach_needs_no_budget(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.targets = request.targets.copy()
    request.targets[0, :3, 3] = [0.0, 0.0, 1.8]
    request.timeout = 60.0
    result = solver.solve(request)
    assert (result.cause, result.searches, result.clock_ended) == (Cause.UNREACHABLE, 0, False)
    assert result.residual > 0.5


def test_a_target_out_of_reach_by_its_orientation_is_unreachable():
    robot, group = load_arm(SCARA)
    target = tip_poses(robot, group, np.array([0.3, 0.4, 0.1, 0.2])) @ turned((1, 0, 0), 0.5)
    result = PoseIkSolver(robot, group).solve(SolveRequest(target))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
    assert result.residual > 0.3


@pytest.mark.parametrize('option', ['max_solutions', 'max_searches'])
@pytest.mark.parametrize('count', [0, -1, 2.5, 'two', np.nan])
def test_a_count_that_is_no_positive_whole_number_is_an_error(panda, option, count):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    setattr(request, option, count)
    with pytest.raises(InvalidOption, match=option):
        solver.solve(request)


def test_asking_for_more_solutions_than_there_are_returns_those_there_are():
    robot, group = load_arm(TWO_LINK)
    solver = PoseIkSolver(robot, group, rows=position_rows())
    target = tip_poses(robot, group, np.array([0.3, 0.8]))
    result = solver.solve(SolveRequest(target, max_solutions=10, max_searches=300, tolerance=1e-9))
    assert result.solved and len(result.solutions) == 2
    assert sorted(result.solutions[:, 1]) == pytest.approx([-0.8, 0.8], abs=1e-6)


def test_a_seed_opposite_to_the_solution_gets_it_once():
    robot, group = load_arm(chain(('continuous', '0 0 0', Z), tool='1 0 0'))
    target = tip_poses(robot, group, np.array([np.pi]))
    request = SolveRequest(target, seed=np.zeros(1), max_solutions=4, max_searches=300)
    result = PoseIkSolver(robot, group).solve(request)
    assert len(result.solutions) == 1


# Validation.


def test_validation_sees_verified_candidates_and_accepts_one(panda):
    robot, group, solver = panda
    for request, _ in draw_requests(robot, group, 10):
        seen = []
        request.validate = lambda q, seen=seen: seen.append(q.copy()) or True
        result = solver.solve(request)
        assert len(seen) == 1 and (seen[0] == result.q).all()
        assert closes(robot, group, seen[0], request.targets)


@pytest.mark.parametrize('refusals', [1, 3])
def test_after_refusals_a_later_candidate_is_the_solution(panda, refusals):
    robot, group, solver = panda
    for request, _ in draw_requests(robot, group, 10):
        seen = []
        request.validate = lambda q, seen=seen: seen.append(q.copy()) or len(seen) > refusals
        result = solver.solve(request)
        assert len(seen) == refusals + 1 and (result.q == seen[-1]).all()
        assert closes(robot, group, result.q, request.targets) and within(group, result.q)
        for a, b in itertools.combinations(seen, 2):
            assert np.abs(a - b).max() > 1e-4


def test_a_refused_candidate_does_not_come_again(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    seen = []
    request.validate = lambda q: seen.append(q.copy()) or False
    request.max_searches = 200
    solver.solve(request)
    for a, b in itertools.combinations(seen, 2):
        assert np.abs(a - b).max() > 1e-4


def test_validation_that_refuses_everything_is_the_cause(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    request.validate, request.max_searches = lambda q: False, 100
    result = solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.VALIDATION)
    assert result.searches == 100 and within(group, result.q)


def test_validation_chooses_the_branch(ur5e):
    robot, group, solver = ur5e
    for request, q in draw_requests(robot, group, 10):
        request.validate = lambda c, q=q: np.sign(np.sin(c[4])) == np.sign(np.sin(q[4]))
        result = solver.solve(request)
        assert result.solved and np.sign(np.sin(result.q[4])) == np.sign(np.sin(q[4]))


def test_each_of_several_solutions_is_validated(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    seen = []
    request.max_solutions = 3
    request.validate = lambda q: seen.append(q.tobytes()) or len(seen) % 2 == 0
    result = solver.solve(request)
    assert {q.tobytes() for q in result.solutions} <= set(seen[1::2])


def test_an_error_in_validation_comes_through_and_the_solver_goes_on_working(panda):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    expected = solver.solve(request).q

    def fail(q):
        raise ZeroDivisionError('in the callback')

    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match='in the callback'):
            solver.solve(SolveRequest(request.targets, seed=request.seed, validate=fail))
    assert (solver.solve(request).q == expected).all()


def test_validation_may_solve_with_the_same_solver(panda):
    robot, group, solver = panda
    asked = [request for request, _ in draw_requests(robot, group, 6)]
    expected = [solver.solve(request).q for request in asked]
    inner = []

    def validate(q):
        inner.append(solver.solve(asked[len(inner) % 6]).q)
        return len(inner) % 3 == 0

    for request in asked:
        nested = SolveRequest(request.targets, seed=request.seed, validate=validate)
        assert closes(robot, group, solver.solve(nested).q, request.targets)
    assert all((q == expected[k % 6]).all() for k, q in enumerate(inner))


def test_a_validation_that_writes_into_its_candidate_does_not_change_the_solution(panda):
    robot, group, solver = panda
    request, _ = next(draw_requests(robot, group, 1))
    request.validate = lambda q: True
    expected = solver.solve(request).q

    def scribble(q):
        q[:] = 0.0
        return True

    request.validate = scribble
    assert (solver.solve(request).q == expected).all()


def test_a_slow_validation_is_ended_by_the_clock(ur5e):
    robot, group, solver = ur5e
    request, _ = next(draw_requests(robot, group, 1))
    calls = []

    def slow(q):
        calls.append(1)
        time.sleep(2e-3)
        return False

    request.validate, request.timeout, request.max_searches = slow, 1e-3, 1000
    result = solver.solve(request)
    assert result.clock_ended and len(calls) <= 1


# Parts of a pose.


@pytest.mark.parametrize('source', ['registry', 'keyword', 'rows'])
def test_position_only_leaves_the_orientation_free(robot, source):
    group = main_group(robot)
    made = {
        'registry': lambda: create_solver('ssik_ros/PoseIK', robot, group, position_only=True),
        'keyword': lambda: PoseIkSolver(robot, group, position_only=True),
        'rows': lambda: PoseIkSolver(robot, group, rows=position_rows()),
    }[source]()
    for request, _ in draw_requests(robot, group, 20):
        request.targets = request.targets @ turned((1, 2, 3), 2.0)
        result = made.solve(request)
        errors = tip_errors(robot, group, result.q, request.targets)
        assert result.solved and errors[0, 0] <= 1e-3 and within(group, result.q)


def test_an_axis_alignment_leaves_only_the_spin_free(robot):
    group = main_group(robot)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    rows = Rows(weights, rotation=RotationKind.ALIGN, rotation_axes=Axes.FRAME_B)
    solver = PoseIkSolver(robot, group, rows=rows)
    spins = []
    for request, _ in draw_requests(robot, group, 20):
        request.targets = request.targets @ turned((0, 0, 1), 2.0)
        result = solver.solve(request)
        reached = tip_poses(robot, group, result.q)[0]
        assert result.solved and np.linalg.norm(reached[:3, 3] - request.targets[0, :3, 3]) <= 1e-3
        assert np.linalg.norm(np.cross(reached[:3, 2], request.targets[0, :3, 2])) <= 1e-3
        assert reached[:3, 2] @ request.targets[0, :3, 2] > 0.0
        spins.append(tip_errors(robot, group, result.q, request.targets)[0, 1])
    assert max(spins) > 0.5


def test_an_axis_alignment_solves_a_five_joint_arm():
    moving = (('revolute', '0 0 0.2', Z), ('revolute', '0 0 0.1', Y), ('revolute', '0.4 0 0', Y))
    wrist = (('revolute', '0.3 0 0', Y), ('revolute', '0.1 0 0', X))
    robot, group = load_arm(chain(*((*entry, HALF_TURN) for entry in (*moving, *wrist))))
    rows = Rows(rotation=RotationKind.ALIGN, rotation_axes=Axes.GOAL)
    solver = PoseIkSolver(robot, group, rows=rows)
    for request, _ in draw_requests(robot, group, 20):
        request.targets = request.targets @ turned((0, 0, 1), 1.0)
        request.max_searches = 500
        result = solver.solve(request)
        if result.solved:
            reached = tip_poses(robot, group, result.q)[0]
            assert reached[:3, 2] @ request.targets[0, :3, 2] > 1.0 - 1e-6


def test_a_box_of_deviations_is_used_and_kept(panda):
    robot, group, _ = panda
    box = np.array([0.05, 0.0, 0.02, 0.0, 0.0, 0.0])
    rows = Rows(position_axes=Axes.FRAME_A, lower=-box, upper=box)
    solver = PoseIkSolver(robot, group, TIGHT, rows=rows)
    used = []
    for request, _ in draw_requests(robot, group, 30):
        result = solver.solve(request)
        reached = tip_poses(robot, group, result.q)[0]
        deviation = reached[:3, 3] - request.targets[0, :3, 3]
        assert result.solved and (np.abs(deviation) <= box[:3] + 1.1e-6).all()
        assert tip_errors(robot, group, result.q, request.targets)[0, 1] <= 1.1e-6
        used.append(np.abs(deviation))
    assert np.max(used, axis=0)[0] > 0.01


def test_a_box_in_the_axes_of_the_goal_lies_along_them(panda):
    robot, group, _ = panda
    room = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    rows = Rows(position_axes=Axes.GOAL, lower=np.zeros(6), upper=room)
    solver = PoseIkSolver(robot, group, TIGHT, rows=rows)
    for request, _ in draw_requests(robot, group, 30):
        result = solver.solve(request)
        reached, goal = tip_poses(robot, group, result.q)[0], request.targets[0]
        deviation = goal[:3, :3].T @ (reached[:3, 3] - goal[:3, 3])
        assert result.solved and np.abs(deviation[:2]).max() <= 1.1e-6
        assert -1.1e-6 <= deviation[2] <= 0.05 + 1.1e-6


# Kinds of joints and structures.


@pytest.mark.parametrize('kind', SERIAL)
def test_every_serial_structure_is_solved(kind):
    robot, group = load_arm(SERIAL[kind])
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 40):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert within(group, result.q)


@pytest.mark.parametrize('kind', SERIAL)
def test_every_serial_structure_is_solved_nearest_to_the_seed(kind):
    robot, group = load_arm(SERIAL[kind])
    options = PoseIkOptions(solve_mode='optimize_distance', optimization_timeout=60.0)
    solver, first = PoseIkSolver(robot, group, options), PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 5):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert within(group, result.q)
        gap = np.linalg.norm(first.solve(request).q - request.seed)
        assert np.linalg.norm(result.q - request.seed) <= gap + 2e-2


@pytest.mark.parametrize('kind', MIMICS)
def test_followers_move_as_their_leaders_say(kind):
    robot, group = load_arm(MIMICS[kind])
    assert len(group.mimic_joint_names) > 0
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 40):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets)
        assert within(group, result.q)


def test_an_endless_joint_with_a_geared_follower_can_be_started_anywhere():
    geared = ('continuous', '0.4 0 0', Y, '', 'j1 0.5 0')
    text = chain(('continuous', '0 0 0.2', Z), geared, ('revolute', '0.4 0 0', X, '-2 2'))
    robot, group = load_arm(text)
    target = tip_poses(robot, group, np.array([2.5, -1.0]))
    result = PoseIkSolver(robot, group).solve(SolveRequest(target, seed=np.zeros(2)))
    assert result.solved and closes(robot, group, result.q, target)


def test_the_limits_of_a_follower_bind_its_leader():
    text = chain(
        ('revolute', '0 0 0.2', Z, HALF_TURN),
        ('revolute', '0.4 0 0', Y, '-2 2'),
        ('revolute', '0.4 0 0', Y, '-0.5 0.5', 'j2 -1 0.3'),
    )
    robot, group = load_arm(text)
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 20):
        leader = solver.solve(request).q[1]
        assert -0.2 - 1e-12 <= leader <= 0.8 + 1e-12
    free = load_robot(text.replace('"-0.5"', '"-9"').replace('"0.5"', '"9"'))
    target = tip_poses(free, free.group_from_links('l0', 'tip'), np.array([0.1, 1.5]))
    result = solver.solve(SolveRequest(target, max_searches=300))
    assert (result.solved, result.cause) == (False, Cause.LIMITS)


def test_a_leader_outside_the_group_keeps_its_value_of_the_state():
    text = chain(
        ('revolute', '0 0 0.2', Z, '-1 1'),
        ('revolute', '0.4 0 0', Y, '-2 2'),
        ('revolute', '0.4 0 0', Y, '-2 2'),
        ('revolute', '0.2 0 0', Z, '-1 1', 'j1 -1 0'),
    )
    srdf = (
        '<robot name="made"><group name="g"><chain base_link="l1" tip_link="tip"/></group></robot>'
    )
    robot = load_robot(text, srdf)
    group = robot.group('g')
    assert group.joint_names == ('j2', 'j3')
    solver = PoseIkSolver(robot, group, frames=Frames('l0'))
    state = robot.default_positions()
    state[robot.tree.idx_q[robot.tree.joint('j1')]] = 0.7
    target = tip_poses(robot, group, np.array([0.4, -0.9]), base='l0', state=state)
    result = solver.solve(SolveRequest(target, seed=np.array([0.1, 0.1]), state=state))
    assert result.solved
    assert closes(robot, group, result.q, target, base='l0', state=state)


def test_a_prismatic_joint_moves_along_its_axis():
    robot, group = load_arm(chain(('prismatic', '0 0 0', '0 3 4', '-1 1'), tool='0 0 0'))
    target = moved(0.0, 0.3, 0.4)
    result = PoseIkSolver(robot, group, TIGHT).solve(SolveRequest(target))
    assert result.q == pytest.approx([0.5], abs=1e-6)


@pytest.mark.parametrize('seed', [0.4, 0.0, -2.0, 5.0])
def test_a_joint_without_range_keeps_its_value(seed):
    robot, group = load_arm(STUCK)
    for request, _ in draw_requests(robot, group, 20):
        request.seed[1] = seed
        result = PoseIkSolver(robot, group).solve(request)
        assert result.solved and result.q[1] == 0.4


def test_an_endless_rail_needs_limits_only_for_a_second_start():
    robot, group = load_arm(ENDLESS_RAIL)
    solver = PoseIkSolver(robot, group)
    target = tip_poses(robot, group, np.array([200.0, 0.5, 1.0]))
    assert closes(robot, group, solver.solve(SolveRequest(target)).q, target)
    with pytest.raises(InvalidLimits, match="'j1'") as caught:
        solver.solve(SolveRequest(target @ moved(z=1.0)))
    assert 'j2' not in str(caught.value)


@pytest.mark.parametrize('kind', ['limits', 'locked', 'consistency'])
def test_a_request_can_bound_an_endless_rail(kind):
    robot, group = load_arm(ENDLESS_RAIL)
    target = tip_poses(robot, group, np.array([50.0, 0.5, 1.0])) @ moved(z=1.0)
    bound = {
        'limits': {'lower': np.array([-100.0, -1, -3]), 'upper': np.array([100.0, 1, 3])},
        'locked': {'locked': {'j1': 50.0}},
        'consistency': {'consistency_limits': np.full(3, 60.0)},
    }[kind]
    request = SolveRequest(target, seed=np.zeros(3), max_searches=20, **bound)
    assert PoseIkSolver(robot, group).solve(request).status == IkStatus.UNSOLVED


def test_restarts_are_drawn_for_continuous_joints_with_one_limit():
    robot, group = load_arm(ENDLESS_6R)
    request, _ = next(draw_requests(robot, group, 1))
    request.lower = np.full(6, -1.0)
    request.tolerance = 1e-300
    result = PoseIkSolver(robot, group).solve(request)
    assert result.status == IkStatus.UNSOLVED and result.searches > 1


def test_an_error_names_the_rail_that_has_only_one_limit():
    robot, group = load_arm(ENDLESS_RAIL)
    target = tip_poses(robot, group, np.array([50.0, 0.5, 1.0])) @ moved(z=1.0)
    request = SolveRequest(target, seed=np.zeros(3), lower=np.array([0.0, -1, -3]))
    with pytest.raises(InvalidLimits, match="'j1'"):
        PoseIkSolver(robot, group).solve(request)


def test_joints_of_the_group_that_move_no_tip_are_left_where_they_are(robots):
    robot = robots['panda']
    group = robot.group('panda_arm_hand')
    finger = group.joint_names.index('panda_finger_joint1')
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 30):
        assert solver.solve(request).q[finger] == request.seed[finger]


def test_one_joint_reaches_what_lies_on_its_circle():
    robot, group = load_arm(SWING)
    solver = PoseIkSolver(robot, group, TIGHT)
    for angle in np.linspace(-3.0, 3.0, 25):
        target = tip_poses(robot, group, np.array([angle]))
        assert solver.solve(SolveRequest(target)).q == pytest.approx([angle], abs=1e-6)


# Mobile bases.


BOUNDS = {'planar': 3, 'floating': 7}


def mobile_goal(robot, rng):
    """Return a full state with a random base, and the tip pose in the world there."""
    arm, whole = robot.group('arm'), robot.group('whole')
    state = full_state(robot, arm, robot.sample(arm, rng))
    base = whole.idx_q[: -arm.variable_count]
    values = rng.uniform(-1.0, 1.0, len(base))
    if len(base) == 7:
        values[3:] /= np.linalg.norm(values[3:])
    state[base] = values
    return state, tip_poses(robot, whole, state[whole.idx_q], state=state)


@pytest.mark.parametrize('kind', BOUNDS)
def test_a_mobile_base_moves_to_where_the_arm_reaches(kind):
    robot = on_mobile_base(kind)
    group = robot.group('whole')
    solver = PoseIkSolver(robot, group, TIGHT)
    rng = np.random.default_rng(3)
    for _ in range(20):
        state, target = mobile_goal(robot, rng)
        seed = state[group.idx_q].copy()
        seed[:2] += rng.uniform(-0.3, 0.3, 2)
        seed[-4:] += rng.uniform(-0.2, 0.2, 4)
        result = solver.solve(SolveRequest(target, seed=seed))
        assert result.solved and closes(robot, group, result.q, target, 1e-6)
        assert kind == 'planar' or np.linalg.norm(result.q[3:7]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize('kind', BOUNDS)
def test_a_locked_mobile_base_stays(kind):
    robot = on_mobile_base(kind)
    group, arm = robot.group('whole'), robot.group('arm')
    rng = np.random.default_rng(4)
    for _ in range(20):
        state, target = mobile_goal(robot, rng)
        seed = state[group.idx_q].copy()
        seed[-arm.variable_count :] = robot.sample(arm, rng)
        request = SolveRequest(target, seed=seed, locked={'float': None})
        result = PoseIkSolver(robot, group).solve(request)
        assert result.solved and closes(robot, group, result.q, target)
        assert result.q[: BOUNDS[kind]] == pytest.approx(seed[: BOUNDS[kind]], abs=1e-15)


@pytest.mark.parametrize('kind', BOUNDS)
def test_a_mobile_base_outside_the_group_stands_where_the_state_says(kind):
    robot = on_mobile_base(kind)
    arm = robot.group('arm')
    solver = PoseIkSolver(robot, arm, frames=Frames('world'))
    rng = np.random.default_rng(5)
    for _ in range(20):
        state, target = mobile_goal(robot, rng)
        request = SolveRequest(target, seed=robot.sample(arm, rng), state=state)
        result = solver.solve(request)
        assert result.solved
        assert closes(robot, arm, result.q, target, base='world', state=state)


def test_an_endless_mobile_base_is_named_when_a_second_start_is_needed():
    robot = on_mobile_base('planar')
    group = robot.group('whole')
    target = moved(0.3, 0.2, 5.0)
    with pytest.raises(InvalidLimits, match='float'):
        PoseIkSolver(robot, group).solve(SolveRequest(target))


def test_locking_a_joint_of_several_variables_at_one_value_is_an_error():
    robot = on_mobile_base('planar')
    group = robot.group('whole')
    with pytest.raises(InvalidOption, match='several variables'):
        PoseIkSolver(robot, group).solve(SolveRequest(np.eye(4), locked={'float': 0.0}))


def test_a_seed_with_a_quaternion_of_zero_length_is_refused():
    robot = on_mobile_base('floating')
    group = robot.group('whole')
    seed = np.zeros(group.variable_count)
    result = PoseIkSolver(robot, group).solve(SolveRequest(np.eye(4), seed=seed))
    assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)


# Descriptions that cannot become a problem.


def test_a_tip_that_does_not_exist_is_an_error_that_names_the_nearest(panda):
    robot, group, _ = panda
    with pytest.raises(KeyError, match='panda_link8'):
        PoseIkSolver(robot, group, frames=Frames(tips=('panda_link88',)))


def test_a_base_that_does_not_exist_is_an_error_that_names_the_nearest(panda):
    robot, group, _ = panda
    with pytest.raises(ValueError, match='panda_link0'):
        PoseIkSolver(robot, group, frames=Frames('panda_link00'))


def test_two_joints_in_line_are_told_apart_by_nothing_but_the_seed():
    text = describe(
        joint('a', 'revolute', 'l0', 'm', '0 0 0', Z, HALF_TURN),
        joint('b', 'revolute', 'm', 'n', '0 0 0.1', Z, HALF_TURN),
        joint('t', 'fixed', 'n', 'tip', '0.2 0 0'),
    )
    robot, group = load_arm(text)
    target = tip_poses(robot, group, np.array([0.5, 0.7]))
    result = PoseIkSolver(robot, group, TIGHT).solve(
        SolveRequest(target, seed=np.array([0.1, 0.1]))
    )
    assert result.q.sum() == pytest.approx(1.2, abs=1e-5)


def test_a_target_with_rounding_errors_in_its_rotation_is_accepted(panda):
    robot, group, solver = panda
    for request, _ in draw_requests(robot, group, 5):
        request.targets = request.targets + 1e-8
        request.targets[:, 3] = [0.0, 0.0, 0.0, 1.0]
        assert solver.solve(request).solved


def test_a_target_of_the_wrong_kind_is_a_value_error(panda):
    _, _, solver = panda
    with pytest.raises((InvalidTarget, ValueError, TypeError)):
        solver.solve(SolveRequest([['a'] * 4] * 4))
