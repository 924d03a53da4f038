"""Plain requests to Auto: the fast path keeps the contract, and agrees with the general path."""

from concurrent.futures import ThreadPoolExecutor
import dataclasses

from test.solvers.arms import tip_errors, tip_poses, within

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator
from ssik_ros.errors import InvalidOption, RequestError
from ssik_ros.problem.contract import is_plain, SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.auto import methods as group_methods
from ssik_ros.solvers.auto.general_requests import GeneralRequests
from ssik_ros.solvers.registry import create_solver

NAMES = ('ur5e', 'jaco2', 'panda')
"""A fast closed form, one by elimination, and seven joints."""


@pytest.fixture(scope='module')
def arms():
    """Return robot, group and solver by name, each made once."""
    made = {}
    for name in NAMES:
        arm = Manipulator.from_prebuilt(name)
        solver = create_solver('ssik_ros/Auto', arm.robot, arm.group)
        made[name] = arm.robot, arm.group, solver
    return made


def draw_poses(robot, group, count, distance=None):
    """Return targets (k, 4, 4) and seeds (k, n), at random or next to a solution."""
    rng = np.random.default_rng(11)
    states = [robot.sample(group, rng) for _ in range(count)]
    targets = np.array([tip_poses(robot, group, q)[0] for q in states])
    if distance is None:
        return targets, np.array([robot.sample(group, rng) for _ in range(count)])
    moved = np.array(states) + rng.uniform(-distance, distance, (count, len(states[0])))
    return targets, np.clip(moved, group.lower, group.upper)


def bytes_of(result):
    """Return everything that a result says, as bytes."""
    numbers = (int(result.status), int(result.cause), result.iterations, result.searches)
    return result.q.tobytes(), result.errors.tobytes(), result.residual, numbers


def test_the_fast_path_takes_exactly_the_plain_requests_of_the_contract(arms, monkeypatch):
    """Its conditions are written out, because a call costs time at every solve."""
    robot, group, _ = arms['ur5e']
    passed_on = []
    monkeypatch.setattr(GeneralRequests, 'solve', lambda self, *given: passed_on.append(given))
    solver = create_solver('ssik_ros/Auto', robot, group)
    (target,), (seed,) = draw_poses(robot, group, 1)
    limits = {'lower': group.lower, 'upper': group.upper, 'consistency_limits': np.full(6, 9.0)}
    special = {
        **limits,
        'max_solutions': 2,
        'validate': lambda q: True,
        'tool_offsets': np.eye(4)[None],
        'max_searches': 3,
        'wants_nearest': True,
        'locked': {group.joint_names[0]: None},
    }
    usual = {
        'state': robot.default_positions(),
        'timeout': 9.0,
        'tolerance': 1e-3,
        'cancel': np.zeros(1, dtype=np.int64),
    }
    names = {field.name for field in dataclasses.fields(SolveRequest)}
    assert names == {'targets', 'seed', *special, *usual}
    for name, value in {**special, **usual}.items():
        request = SolveRequest(target, seed, **{name: value})
        passed_on.clear()
        solver.plain.solve(request)
        assert is_plain(request) == (name in usual) == (passed_on != [(request,)]), name


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('distance', [None, 0.05])
def test_what_is_said_of_a_result_is_true_of_it(arms, name, distance):
    robot, group, solver = arms[name]
    for target, seed in zip(*draw_poses(robot, group, 30, distance), strict=True):
        result = solver.solve(SolveRequest(target, seed))
        assert result.status == IkStatus.SOLVED
        assert within(group, result.q)
        left = tip_errors(robot, group, result.q, target[None])
        assert result.residual == pytest.approx(np.linalg.norm(left), abs=1e-9)
        assert np.hypot(*result.errors[0]) == pytest.approx(result.residual, abs=1e-12)
        assert not result.solutions.flags.writeable
        assert not result.errors.flags.writeable


@pytest.mark.parametrize('name', NAMES)
def test_a_seed_that_solves_comes_back_bit_by_bit(arms, name):
    robot, group, solver = arms[name]
    rng = np.random.default_rng(3)
    for _ in range(20):
        seed = robot.sample(group, rng)
        result = solver.solve(SolveRequest(tip_poses(robot, group, seed), seed))
        assert result.q.tobytes() == seed.tobytes()


@pytest.mark.parametrize('name', NAMES)
def test_threads_get_the_bytes_that_one_caller_gets(arms, name):
    robot, group, solver = arms[name]
    asked = [SolveRequest(t, q) for t, q in zip(*draw_poses(robot, group, 60), strict=True)]
    alone = [bytes_of(solver.solve(request)) for request in asked]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(solver.solve, asked * 3))
    assert [bytes_of(result) for result in together] == alone * 3


@pytest.mark.parametrize('name', NAMES)
def test_the_form_of_the_arrays_does_not_matter(arms, name):
    robot, group, solver = arms[name]
    targets, seeds = draw_poses(robot, group, 1)
    expected = bytes_of(solver.solve(SolveRequest(targets[0], seeds[0])))
    spread = np.zeros((8, 8))
    spread[::2, ::2] = targets[0]
    fixed = targets[0].copy()
    fixed.setflags(write=False)
    state = robot.default_positions()
    for target in (targets[0][None], spread[::2, ::2], np.asfortranarray(targets[0]), fixed):
        assert bytes_of(solver.solve(SolveRequest(target, seeds[0]))) == expected
    for more in ({'timeout': 10.0}, {'cancel': np.zeros(1, dtype=np.int64)}, {'state': state}):
        assert bytes_of(solver.solve(SolveRequest(targets[0], seeds[0], **more))) == expected
    solved = solver.solve(SolveRequest(targets[0].tolist(), seeds[0].astype(np.float32)))
    assert solved.status == IkStatus.SOLVED


@pytest.mark.parametrize('name', NAMES)
def test_a_request_that_is_none_is_refused(arms, name):
    robot, group, solver = arms[name]
    (target,), (seed,) = draw_poses(robot, group, 1)
    bent = target.copy()
    bent[0, 0] += 0.1
    lost = seed.copy()
    lost[2] = np.nan
    for request, cause in (
        (SolveRequest(bent, seed), Cause.BAD_TARGET),
        (SolveRequest(target * np.nan, seed), Cause.BAD_TARGET),
        (SolveRequest(target, lost), Cause.BAD_STATE),
    ):
        result = solver.solve(request)
        assert (result.status, result.cause) == (IkStatus.REFUSED, cause)
    with pytest.raises(InvalidOption):
        solver.solve(SolveRequest(target, seed, cancel=np.zeros(2, dtype=np.int64)))
    with pytest.raises(InvalidOption):
        solver.solve(SolveRequest(target, seed, timeout=float('nan')))


@pytest.mark.parametrize('name', NAMES)
def test_arrays_of_other_shapes_are_an_error(arms, name):
    robot, group, solver = arms[name]
    (target,), (seed,) = draw_poses(robot, group, 1)
    # A kernel that ignored the shapes would read memory after the arrays.
    poses = target[:3], target[:, :3], np.tile(target, 2), target.ravel(), target[None, None]
    asked = [(pose, seed) for pose in (*poses, np.array([target, target]), target[:0])]
    asked += [(target, q) for q in (seed[:-1], np.append(seed, 0.0), seed[None], seed[:0])]
    for pose, q in asked:
        with pytest.raises(RequestError):
            solver.solve(SolveRequest(pose, q))


@pytest.mark.parametrize('name', NAMES[1:])
def test_a_flag_that_is_set_ends_the_search(arms, name):
    robot, group, solver = arms[name]
    (target,), (seed,) = draw_poses(robot, group, 1)
    for value, solved in ((0, True), (1, False), (0, True)):
        # Each request has a flag of its own; the solver keeps the last one.
        flag = np.full(1, value, dtype=np.int64)
        for _ in range(2):
            assert solver.solve(SolveRequest(target, seed, cancel=flag)).solved is solved
        flag[0] = 1 - value
        assert solver.solve(SolveRequest(target, seed, cancel=flag)).solved is not solved


@pytest.mark.parametrize('name', NAMES)
def test_a_pose_beyond_the_links_is_refused_without_a_start(arms, name):
    robot, group, solver = arms[name]
    (target,), (seed,) = draw_poses(robot, group, 1)
    target[:3, 3] *= 10.0 / np.linalg.norm(target[:3, 3])
    result = solver.solve(SolveRequest(target, seed))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
    assert (result.searches, result.clock_ended) == (0, False)
    assert np.isfinite(result.residual)
    assert (result.solutions.shape, result.errors.shape) == ((0, len(seed)), (0, 2))
    assert result.nearest.shape == seed.shape and within(group, result.nearest)
    for array in (result.solutions, result.errors, result.nearest):
        assert not array.flags.writeable


def test_the_clock_ends_a_search_without_a_solution(arms):
    robot, group, solver = arms['panda']
    target = tip_poses(robot, group, np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]))
    # Upside down on the floor, next to the foot.
    target[0] = [[-1, 0, 0, 0.05], [0, 1, 0, 0], [0, 0, -1, -0.3], [0, 0, 0, 1]]
    result = solver.solve(SolveRequest(target, timeout=1e-6))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.DEADLINE)
    assert result.clock_ended


def test_a_tolerance_below_rounding_is_not_claimed():
    arm = Manipulator.from_prebuilt('ur5e')
    solver = create_solver('ssik_ros/Auto', arm.robot, arm.group, {'target_tolerance': 1e-17})
    for target, seed in zip(*draw_poses(arm.robot, arm.group, 5), strict=True):
        result = solver.solve(SolveRequest(target, seed))
        assert not result.solved or result.residual <= 1e-17


def test_a_descent_that_leads_away_from_a_near_seed_is_no_solution(arms):
    robot, group, solver = arms['ur5e']
    closed_form = create_solver('ssik_ros/Analytic', robot, group)
    rng = np.random.default_rng(20)
    for _ in range(200):
        # Next to a straight wrist a small turn of the tool may need a large one of the joints.
        q = robot.sample(group, rng)
        q[4] = rng.uniform(-0.02, 0.02)
        seed = np.clip(q + rng.uniform(-0.05, 0.05, 6), group.lower, group.upper)
        request = SolveRequest(tip_poses(robot, group, q), seed)
        joint_change = np.abs(solver.solve(request).q - seed).max()
        nearest = np.abs(closed_form.solve(request).q - seed).max()
        assert joint_change <= max(0.5, nearest + 1e-6)


def moved_a_little(pose, rng):
    """Return a pose (4, 4) moved by up to 9e-4 [m and rad]."""
    twist = rng.normal(size=6)
    twist *= 9e-4 * rng.uniform() / np.linalg.norm(twist)
    moved = pose.copy()
    moved[:3, :3] = Rotation.from_rotvec(twist[3:]).as_matrix() @ pose[:3, :3]
    moved[:3, 3] += twist[:3]
    return moved


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['ur5e', 'irb6700', 'puma560'])
def test_poses_beyond_an_edge_but_within_tolerance_of_it_are_reached(name):
    """Near stretched elbows, straight wrists and limits the closed form finds nothing, but a state close by fits."""
    arm = Manipulator.from_prebuilt(name)
    robot, group = arm.robot, arm.group
    solver = create_solver('ssik_ros/Auto', robot, group)
    closed_form = create_solver('ssik_ros/Analytic', robot, group)
    rng, reached = np.random.default_rng(21), []
    while len(reached) < 60:
        q, joint = robot.sample(group, rng), rng.integers(3)
        q[2 * joint] = (group.lower[0], 1e-3 * rng.normal(), 1e-3 * rng.normal())[joint]
        target = moved_a_little(tip_poses(robot, group, q)[0], rng)
        if closed_form.solve(SolveRequest(target)).solved:
            continue
        result = solver.solve(SolveRequest(target, robot.sample(group, rng)))
        reached.append(result.solved)
        if result.solved:
            assert within(group, result.q)
            left = tip_errors(robot, group, result.q, target[None])
            assert np.linalg.norm(left) <= 1e-3
    assert np.mean(reached) >= 0.85


@pytest.mark.parametrize('has_seed', [True, False])
def test_what_no_start_finds_the_closed_form_solves(has_seed, monkeypatch):
    monkeypatch.setattr(group_methods, 'FEW_STARTS', 1)
    arm = Manipulator.from_prebuilt('jaco2')
    robot, group = arm.robot, arm.group
    one_start = create_solver('ssik_ros/Auto', robot, group)
    closed_form = create_solver('ssik_ros/Analytic', robot, group)
    search = create_solver('ssik_ros/LevenbergMarquardt', robot, group)
    causes, by_closed_form = set(), 0
    for target, seed in zip(*draw_poses(robot, group, 60), strict=True):
        request = SolveRequest(target, seed if has_seed else None)
        result, expected = one_start.solve(request), closed_form.solve(request)
        searched = search.solve(dataclasses.replace(request, max_searches=1))
        assert result.solved
        if not searched.solved:
            by_closed_form += 1
            assert result.q.tobytes() == expected.q.tobytes()
            assert result.errors.tobytes() == expected.errors[:1].tobytes()
            assert result.searches == 1
        request.targets = target @ np.diag([1.0, -1.0, -1.0, 1.0])
        result, expected = one_start.solve(request), closed_form.solve(request)
        if not expected.solved:
            causes.add(result.cause)
            assert (result.cause, result.searches) == (expected.cause, expected.searches)
            assert np.isfinite(result.residual)
    assert by_closed_form > 5
    assert {Cause.UNREACHABLE} <= causes


@pytest.mark.parametrize('name', NAMES)
def test_the_summary_of_a_plain_solution_tells_its_errors(arms, name):
    robot, group, solver = arms[name]
    for target, seed in zip(*draw_poses(robot, group, 3), strict=True):
        result = solver.solve(SolveRequest(target, seed))
        assert f'{result.position_errors[0, 0]:.3g} m' in result.summary()
        assert result.summary() == result._replace().summary()
