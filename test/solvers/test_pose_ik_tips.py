"""PoseIK with several tips at once: two arms on one torso."""

from test.solvers.arms import (
    closes,
    load_arm,
    moved,
    RAIL_6R,
    tip_errors,
    tip_poses,
    TWO_ARMED,
    TWO_ARMED_SRDF,
    within,
)

import numpy as np
import pytest

from ssik_ros.errors import DimensionMismatch, InvalidOption
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver
from ssik_ros.solvers.search.solver import Frames

TIPS = ('left_tool', 'right_tool')


@pytest.fixture(scope='module')
def robot():
    """Return the robot with two arms."""
    return load_robot(TWO_ARMED, TWO_ARMED_SRDF)


@pytest.fixture(scope='module')
def body(robot):
    """Return a solver for both arms and the torso."""
    return PoseIkSolver(robot, robot.group('upper_body'))


def draw_requests(robot, group, count, seed=1, **frames):
    """Yield random reachable requests, and for each the posture that its targets come from."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        q = robot.sample(group, rng)
        yield SolveRequest(tip_poses(robot, group, q, **frames), seed=robot.sample(group, rng)), q


def test_a_group_of_two_arms_has_two_tips(body):
    assert (body.base_frame, body.tip_frames) == ('pelvis', TIPS)
    assert len(body.joint_names) == 13


def test_both_tips_reach_their_targets(robot, body):
    for request, _ in draw_requests(robot, body.group, 40):
        result = body.solve(request)
        assert result.solved and within(body.group, result.q)
        assert closes(robot, body.group, result.q, request.targets)


def test_errors_are_reported_tip_by_tip(robot, body):
    for request, _ in draw_requests(robot, body.group, 10):
        result = body.solve(request)
        measured = tip_errors(robot, body.group, result.q, request.targets)
        assert result.position_errors[0] == pytest.approx(measured[:, 0], abs=1e-9)
        assert result.orientation_errors[0] == pytest.approx(measured[:, 1], abs=1e-9)


@pytest.mark.parametrize('tip', [0, 1])
def test_one_unreachable_tip_is_no_success(robot, body, tip):
    for request, _ in draw_requests(robot, body.group, 5):
        request.targets[tip, :3, 3] += [0.0, 0.0, 5.0]
        result = body.solve(request)
        assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
        assert len(result.solutions) == 0 and within(body.group, result.q)


def test_two_reachable_targets_that_exclude_each_other_are_no_success(robot, body):
    stretched = [0.0, np.pi / 2, -np.pi / 2, 0.0, 0.0, 0.0]
    across = np.array([[torso, *stretched, *stretched] for torso in (-1.5, 1.5)])
    poses = [tip_poses(robot, body.group, q) for q in across]
    both = np.array([poses[0][0], poses[1][1]])
    for tip, q in enumerate(across):
        alone = PoseIkSolver(robot, body.group, frames=Frames(tips=(TIPS[tip],)))
        assert alone.solve(SolveRequest(both[tip], seed=q)).solved
    result = body.solve(SolveRequest(both, max_searches=500))
    assert result.status == IkStatus.UNSOLVED and len(result.solutions) == 0


def test_targets_belong_to_the_tips_in_their_order(robot, body):
    turned_round = PoseIkSolver(robot, body.group, frames=Frames(tips=TIPS[::-1]))
    for request, _ in draw_requests(robot, body.group, 5):
        swapped = SolveRequest(request.targets[::-1], seed=request.seed)
        result = turned_round.solve(swapped)
        assert result.solved and closes(robot, body.group, result.q, request.targets)


@pytest.mark.parametrize('shape', [(4, 4), (1, 4, 4), (3, 4, 4), (2, 3, 4)])
def test_one_target_for_two_tips_is_an_error_that_names_them(body, shape):
    with pytest.raises(DimensionMismatch, match='left_tool'):
        body.solve(SolveRequest(np.zeros(shape)))


@pytest.mark.parametrize('tip', [0, 1])
def test_a_bad_target_of_either_tip_is_refused(robot, body, tip):
    request, _ = next(draw_requests(robot, body.group, 1))
    request.targets[tip, 0, 0] = np.nan
    assert body.solve(request).cause == Cause.BAD_TARGET


def test_every_tip_has_its_own_tolerance(robot, body):
    loose = []
    for request, _ in draw_requests(robot, body.group, 20):
        request.tolerance = np.array([1e-2, 1e-6])
        result = body.solve(request)
        left, right = np.linalg.norm(
            tip_errors(robot, body.group, result.q, request.targets), axis=1
        )
        assert result.solved and left <= 1e-2 and right <= 1.001e-6
        loose.append(left)
    assert max(loose) > 1e-8


@pytest.mark.parametrize('tolerance', [[1e-3], [1e-3, 1e-3, 1e-3], [1e-3, 0.0]])
def test_tolerances_that_do_not_fit_the_tips_are_an_error(robot, body, tolerance):
    request, _ = next(draw_requests(robot, body.group, 1))
    request.tolerance = np.array(tolerance)
    with pytest.raises(InvalidOption, match='2 tips'):
        body.solve(request)


def test_every_tip_has_its_own_tool(robot, body):
    tools = np.array([moved(0.1), moved(0.0, 0.0, -0.2)])
    for request, q in draw_requests(robot, body.group, 10):
        request.targets, request.tool_offsets = tip_poses(robot, body.group, q) @ tools, tools
        result = body.solve(request)
        reached = tip_poses(robot, body.group, result.q) @ tools
        assert result.solved and np.abs(reached - request.targets).max() < 2e-3


def test_the_nearest_pair_of_postures_is_found(robot, body):
    options = PoseIkOptions(solve_mode='optimize_distance', optimization_timeout=60.0)
    best = PoseIkSolver(robot, body.group, options)
    for request, _ in draw_requests(robot, body.group, 10):
        result = best.solve(request)
        assert result.solved and closes(robot, body.group, result.q, request.targets)
        first = np.linalg.norm(body.solve(request).q - request.seed)
        assert np.linalg.norm(result.q - request.seed) <= first + 2e-2


def state_with_torso(robot, angle):
    """Return the default state with the torso turned."""
    state = robot.default_positions()
    state[robot.tree.idx_q[robot.tree.joint('torso')]] = angle
    return state


@pytest.mark.parametrize('angle', [0.0, 0.8, -1.5])
def test_a_torso_outside_the_group_stands_where_the_state_says(robot, angle):
    group, state = robot.group('arms'), state_with_torso(robot, angle)
    solver = PoseIkSolver(robot, group, frames=Frames('pelvis'))
    frames = {'base': 'pelvis', 'state': state}
    for request, _ in draw_requests(robot, group, 10, **frames):
        request.state = state
        result = solver.solve(request)
        assert result.solved and result.q.shape == (12,)
        assert closes(robot, group, result.q, request.targets, **frames)


def test_the_same_targets_need_other_postures_when_the_state_moves_the_base(robot):
    group = robot.group('left')
    solver = PoseIkSolver(robot, group, frames=Frames('pelvis'))
    solutions = []
    for angle in (0.0, 0.4):
        state = state_with_torso(robot, angle)
        target = tip_poses(robot, group, np.full(6, 0.3), base='pelvis')
        result = solver.solve(SolveRequest(target, seed=np.full(6, 0.3), state=state))
        assert closes(robot, group, result.q, target, base='pelvis', state=state)
        solutions.append(result.q)
    assert np.abs(solutions[0] - solutions[1]).max() > 0.1


def test_without_a_state_joints_outside_the_group_have_default_values(robot):
    group = robot.group('left')
    solver = PoseIkSolver(robot, group, frames=Frames('pelvis'))
    for request, _ in draw_requests(robot, group, 5, base='pelvis'):
        expected = solver.solve(request).q
        request.state = robot.default_positions()
        assert (solver.solve(request).q == expected).all()


def test_restarts_leave_joints_outside_the_group_alone(robot):
    group, state = robot.group('left'), state_with_torso(robot, 0.7)
    solver = PoseIkSolver(robot, group, frames=Frames('pelvis'))
    frames = {'base': 'pelvis', 'state': state}
    several = 0
    for request, _ in draw_requests(robot, group, 40, **frames):
        request.state = state
        result = solver.solve(request)
        several += result.searches > 1
        assert closes(robot, group, result.q, request.targets, **frames)
    assert several > 0


def test_a_base_between_the_root_and_the_group_needs_no_state(robot):
    group = robot.group('arms')
    assert group.base_link == 'chest'
    solver = PoseIkSolver(robot, group)
    for request, _ in draw_requests(robot, group, 5):
        expected = solver.solve(request).q
        request.state = state_with_torso(robot, 1.2)
        assert (solver.solve(request).q == expected).all()


@pytest.mark.parametrize('size', [0, 12, 14])
def test_a_state_of_a_wrong_size_is_an_error(robot, size):
    solver = PoseIkSolver(robot, robot.group('arms'), frames=Frames('pelvis'))
    request, _ = next(draw_requests(robot, robot.group('arms'), 1))
    request.state = np.zeros(size)
    with pytest.raises(DimensionMismatch, match='13'):
        solver.solve(request)


def test_a_state_of_a_wrong_size_is_an_error_even_where_it_is_not_needed(robot, body):
    request, _ = next(draw_requests(robot, body.group, 1))
    request.state = np.zeros(5)
    with pytest.raises(DimensionMismatch, match='13'):
        body.solve(request)


def test_a_state_that_is_not_finite_is_refused(robot):
    solver = PoseIkSolver(robot, robot.group('arms'), frames=Frames('pelvis'))
    request, _ = next(draw_requests(robot, robot.group('arms'), 1))
    request.state = state_with_torso(robot, np.nan)
    result = solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)


def test_a_pose_of_one_hand_in_the_other_is_a_target_too(robot):
    group = robot.group('arms')
    solver = PoseIkSolver(robot, group, frames=Frames('left_tool', ('right_tool',)))
    frames = {'base': 'left_tool', 'tips': ('right_tool',)}
    for request, _ in draw_requests(robot, group, 20, **frames):
        result = solver.solve(request)
        assert result.solved and within(group, result.q)
        assert closes(robot, group, result.q, request.targets, **frames)


def test_two_frames_of_one_chain_are_targets_too():
    robot, group = load_arm(RAIL_6R)
    tips = ('l4', 'tip')
    solver = PoseIkSolver(robot, group, frames=Frames(tips=tips))
    for request, _ in draw_requests(robot, group, 20, tips=tips):
        result = solver.solve(request)
        assert result.solved and closes(robot, group, result.q, request.targets, tips=tips)


def test_locking_the_torso_leaves_two_arms(robot, body):
    for request, q in draw_requests(robot, body.group, 10):
        request.locked = {'torso': q[0]}
        result = body.solve(request)
        assert result.solved and result.q[0] == q[0]
        assert closes(robot, body.group, result.q, request.targets)
