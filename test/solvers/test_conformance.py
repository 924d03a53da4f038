"""Requirements on every solver in the registry, on every shipped robot."""

from concurrent.futures import ThreadPoolExecutor
import dataclasses

from test.solvers.arms import closes, MAIN_GROUP, moved, tip_errors, tip_poses, within

import numpy as np
import pytest

from ssik_ros.errors import (
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
)
from ssik_ros.model.default_seed import default_seed
from ssik_ros.problem.contract import BranchSolver, SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.registry import create_solver

CLOSED_FORM = 'ssik_ros/Analytic'
NEWTON = ('ssik_ros/NewtonRaphson', 'ssik_ros/GaussNewton', 'ssik_ros/LevenbergMarquardt')
SOLVERS = ('ssik_ros/PoseIK', 'ssik_ros/Auto', *NEWTON, CLOSED_FORM, 'ssik_ros/ClosedChain')
NAN = np.nan


class Case:
    """A solver on a robot, and random requests for it."""

    def __init__(self, name, robot, group):
        """Make the solver."""
        self.robot, self.group = robot, group
        self.solver = create_solver(name, robot, group)
        self.rng = np.random.default_rng(20240501)

    def sample(self):
        """Return a random posture."""
        return self.robot.sample(self.group, self.rng)

    def target(self, q=None):
        """Return the tip poses at a posture, by default a random one."""
        return tip_poses(self.robot, self.group, self.sample() if q is None else q)

    def request(self, **options):
        """Return a random reachable request."""
        return SolveRequest(self.target(), seed=self.sample(), **options)


@pytest.fixture(params=SOLVERS)
def case(request, robots, robot):
    """Return each solver on each shipped robot."""
    return Case(request.param, robot, robot.group(MAIN_GROUP[robot.name]))


def same(a, b):
    """Return whether two results are equal to the last bit."""
    pairs = zip(a, b, strict=True)
    return all(
        x.tobytes() == y.tobytes() if isinstance(x, np.ndarray) else x == y for x, y in pairs
    )


@pytest.mark.slow
def test_every_success_closes_by_independent_kinematics_and_lies_in_the_limits(case):
    for _ in range(100):
        request = case.request()
        result = case.solver.solve(request)
        assert result.solved
        assert closes(case.robot, case.group, result.q, request.targets)
        assert within(case.group, result.q)


@pytest.mark.sampled
def test_success_reports_the_errors_that_independent_kinematics_measures(case):
    for _ in range(20):
        request = case.request()
        result = case.solver.solve(request)
        measured = tip_errors(case.robot, case.group, result.q, request.targets)
        assert result.errors[0] == pytest.approx(measured.ravel(), abs=1e-9)
        assert result.residual == pytest.approx(np.linalg.norm(measured), abs=1e-9)


def test_a_seed_that_solves_is_returned_to_the_bit_without_an_iteration(case):
    if case.solver.name == CLOSED_FORM:
        pytest.skip(
            'a closed form computes its branches anew; the test below asks for the nearest'
        )
    for _ in range(20):
        q = case.sample()
        result = case.solver.solve(SolveRequest(case.target(q), seed=q))
        assert (result.status, result.iterations) == (IkStatus.SOLVED, 0)
        assert result.q.tobytes() == q.tobytes()


def test_a_closed_form_returns_for_a_seed_that_solves_the_branch_it_lies_on(robots):
    for name, group in MAIN_GROUP.items():
        case = Case(CLOSED_FORM, robots[name], robots[name].group(group))
        for _ in range(20):
            q = case.sample()
            result = case.solver.solve(SolveRequest(case.target(q), seed=q))
            assert (result.status, result.iterations) == (IkStatus.SOLVED, 0)
            assert result.q == pytest.approx(q, abs=1e-6)


@pytest.mark.sampled
def test_equal_requests_get_equal_bytes_whatever_was_asked_before(case):
    requests = [case.request(max_solutions=1 + k % 3) for k in range(20)]
    first = [case.solver.solve(request) for request in requests]
    again = [case.solver.solve(request) for request in reversed(requests)][::-1]
    assert all(same(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.sampled
def test_a_fresh_solver_gives_the_same_bytes(case):
    requests = [case.request() for _ in range(20)]
    other = create_solver(case.solver.name, case.robot, case.group)
    assert all(same(case.solver.solve(r), other.solve(r)) for r in requests)


def test_a_pose_beyond_the_arm_is_unreachable_with_a_finite_nearest_posture(case):
    target = case.target()
    target[0, :3, 3] += [10.0, 0.0, 0.0]
    result = case.solver.solve(SolveRequest(target, seed=case.sample()))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
    assert result.q.shape == (case.group.variable_count,)
    assert within(case.group, result.q)
    assert result.solutions.shape == (0, case.group.variable_count)


@pytest.mark.sampled
@pytest.mark.parametrize('metres', [2.5, 10.0])
def test_the_nearest_posture_is_searched_where_it_is_wanted(case, metres):
    """It is nearer than the seed by independent kinematics, and a closed form has one as near as a search's."""
    target, seed = case.target(), case.sample()
    target[0, :3, 3] *= metres / np.linalg.norm(target[0, :3, 3])
    request = SolveRequest(target, seed=seed, wants_nearest=True)
    result = case.solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
    assert within(case.group, result.q) and not result.nearest.flags.writeable
    error, of_seed = (
        np.linalg.norm(tip_errors(case.robot, case.group, q, target)) for q in (result.q, seed)
    )
    assert result.residual == pytest.approx(error, abs=1e-6)
    assert error < of_seed
    if case.solver.name == CLOSED_FORM:
        search = create_solver('ssik_ros/LevenbergMarquardt', case.robot, case.group)
        assert error <= 1.05 * search.solve(request).residual


def broken_target(kind, target):
    """Return a target that is not a rigid transform."""
    target = target.copy()
    if kind == 'scaled':
        target[0, :3, :3] *= 1.01
    elif kind == 'reflected':
        target[0, :3, 0] *= -1.0
    elif kind == 'sheared':
        target[0, 0, 1] += 0.01
    elif kind == 'wrong last row':
        target[0, 3, 0] = 0.1
    elif kind == 'zero':
        target[0] = 0.0
    else:
        target[0][{'nan rotation': (1, 2), 'nan position': (2, 3), 'infinite': (0, 3)}[kind]] = (
            np.inf if kind == 'infinite' else NAN
        )
    return target


@pytest.mark.sampled
@pytest.mark.parametrize(
    'kind',
    [
        'scaled',
        'reflected',
        'sheared',
        'wrong last row',
        'zero',
        'nan rotation',
        'nan position',
        'infinite',
    ],
)
def test_a_target_that_is_no_rigid_transform_is_refused(case, kind):
    request = SolveRequest(broken_target(kind, case.target()), seed=case.sample())
    result = case.solver.solve(request)
    assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_TARGET)


@pytest.mark.sampled
@pytest.mark.parametrize('value', [NAN, np.inf, -np.inf])
def test_a_seed_that_is_not_finite_is_refused(case, value):
    seed = case.sample()
    seed[-1] = value
    result = case.solver.solve(SolveRequest(case.target(), seed=seed))
    assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)


@pytest.mark.sampled
@pytest.mark.parametrize('value', [NAN, -np.inf, 1e200])
def test_a_state_that_is_not_usable_is_refused_even_where_it_is_not_read(case, value):
    state = case.robot.default_positions()
    state[-1] = value
    for more in ({}, {'tolerance': 1e-3}, {'max_solutions': 2}):
        request = case.request(state=state, **more)
        result = case.solver.solve(request)
        assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)
        if isinstance(case.solver, BranchSolver):
            assert case.solver.solve_all(request).cause == Cause.BAD_STATE


def test_a_refusal_does_not_depend_on_what_was_asked_before(case):
    bad = SolveRequest(case.target(), seed=np.full(case.group.variable_count, NAN))
    fresh = case.solver.solve(bad)
    case.solver.solve(case.request())
    assert same(case.solver.solve(bad), fresh)


def test_a_refused_request_does_no_harm_to_the_next_one(case):
    good = case.request()
    expected = case.solver.solve(good)
    case.solver.solve(SolveRequest(case.target() * NAN, seed=good.seed))
    case.solver.solve(SolveRequest(good.targets, seed=good.seed * NAN))
    assert same(case.solver.solve(good), expected)


@pytest.mark.sampled
@pytest.mark.parametrize(
    'change',
    [
        {'targets': np.eye(3)},
        {'targets': np.zeros((2, 4, 4))},
        {'targets': np.zeros(7)},
        {'seed': np.zeros(3)},
        {'seed': np.zeros((1, 6))},
        {'seed': np.zeros(0)},
        {'state': np.zeros(3)},
        {'state': np.zeros((1, 6))},
        {'lower': np.zeros(2)},
        {'upper': np.zeros(20)},
        {'consistency_limits': np.zeros((6, 1))},
        {'tool_offsets': np.eye(3)},
    ],
    ids=lambda change: f'{next(iter(change))} {next(iter(change.values())).shape}',
)
def test_an_array_of_a_wrong_shape_is_an_error(case, change):
    request = SolveRequest(**{'targets': case.target(), 'seed': case.sample(), **change})
    with pytest.raises(DimensionMismatch) as caught:
        case.solver.solve(request)
    assert isinstance(caught.value, ValueError)


TOOLS = {
    'scaled': np.diag([2.0, 2.0, 2.0, 1.0]),
    'all scaled': 2.0 * np.eye(4),
    'mirrored': np.diag([-1.0, 1.0, 1.0, 1.0]),
    'NaN': np.eye(4) * NAN,
}
OPTIONS = {
    'tool_offsets': ('tool', [['a'] * 4] * 4, np.eye(4) * 1j),
    'targets': ('target', None, np.eye(4).astype(str)),
    'max_solutions': (0, -1, 2.5, 1.0, True, '2', None, NAN),
    'max_searches': (0, -1, 1.5, '2'),
    'tolerance': (0.0, -1.0, NAN, np.inf, '1', [NAN], np.ones(2), True),
    'timeout': (-1.0, NAN, '1', np.ones(2)),
    'cancel': ([0], True, np.zeros(1), np.zeros(2, dtype=np.int64)),
}


def malformed_requests(case):
    """Yield fields that no solver may take, each with the error for it; see :data:`OPTIONS` for most of them."""
    n, joint = case.group.variable_count, case.group.joint_names[0]
    for tool in TOOLS.values():
        yield {'tool_offsets': tool}, InvalidTarget
    for name, values in OPTIONS.items():
        for value in values:
            yield {name: value}, InvalidOption
    for name in ('seed', 'lower', 'upper', 'consistency_limits'):
        yield {name: ['0'] * n}, InvalidOption
        yield {name: [[0.0], [0.0, 1.0]]}, DimensionMismatch
    size = len(case.robot.variable_names)
    yield {'state': ['0'] * size}, InvalidOption
    for state in (np.zeros(size - 1), np.zeros(size + 1), np.zeros((size, 1)), 0.0):
        yield {'state': state}, DimensionMismatch
    for value in ('a', '0', np.zeros(2), True):
        yield {'locked': {joint: value}}, InvalidOption
    for value in (NAN, np.inf, -np.inf):
        yield {'locked': {joint: value}}, InvalidLimits
    yield {'locked': [joint]}, InvalidOption
    yield {'locked': {f'{joint}_': 0.0}}, JointNotFound
    if np.isfinite(case.group.upper[0]):
        yield {'locked': {joint: case.group.upper[0] + 1.0}}, InvalidLimits


def error_of(solve, request):
    """Return the class of the error that a request raises, or the status or cause of its result."""
    try:
        result = solve(request)
    except Exception as error:
        return type(error)
    return getattr(result, 'status', result.cause)


def test_every_solver_refuses_a_malformed_field_with_the_same_error(case):
    """A field that a method does not use is read, too: no proof and no solution comes from a mistake of the caller."""
    good = {'targets': case.target(), 'seed': case.sample()}
    for change, expected in malformed_requests(case):
        request = SolveRequest(**{**good, **change})
        assert error_of(case.solver.solve, request) is expected, change
        # All branches are returned, so their number is not read.
        if isinstance(case.solver, BranchSolver) and 'max_solutions' not in change:
            assert error_of(case.solver.solve_all, request) is expected, change


def test_any_number_of_solutions_may_be_asked_for(case):
    """Memory for them need not exist."""
    request = case.request(max_solutions=10**30, max_searches=20)
    several = case.solver.solve(request)
    assert several.solved
    assert same(several, case.solver.solve(dataclasses.replace(request, max_solutions=1000)))


def test_several_solutions_are_distinct_valid_and_sorted_by_distance_to_the_seed(case):
    request = case.request(max_solutions=6)
    result = case.solver.solve(request)
    assert 1 < len(result.solutions) <= 6
    assert all(within(case.group, q) for q in result.solutions)
    assert all(closes(case.robot, case.group, q, request.targets) for q in result.solutions)
    apart = np.abs(result.solutions[:, None] - result.solutions[None]).max(axis=2)
    assert (apart[np.triu_indices(len(apart), 1)] > 1e-4).all()
    difference = result.solutions - request.seed
    endless = np.isinf(case.group.lower)
    difference[:, endless] = np.arctan2(
        np.sin(difference[:, endless]), np.cos(difference[:, endless])
    )
    distances = np.linalg.norm(difference, axis=1)
    assert (np.diff(distances) >= -1e-12).all()


@pytest.mark.parametrize('name', SOLVERS)
def test_joints_without_limits_may_get_one_limit(robots, name):
    robot = robots['gen3']
    case = Case(name, robot, robot.group(MAIN_GROUP['gen3']))
    endless = np.flatnonzero(np.isinf(case.group.lower))
    assert len(endless) == 4
    for _ in range(10):
        q, room = case.sample(), case.rng.uniform(0.5, 2.0, len(endless))
        lower, upper = case.group.lower.copy(), case.group.upper.copy()
        lower[endless[:2]] = q[endless[:2]] - room[:2]
        upper[endless[2:]] = q[endless[2:]] + room[2:]
        request = SolveRequest(case.target(q), seed=case.sample(), lower=lower, upper=upper)
        result = case.solver.solve(request)
        assert result.status == IkStatus.SOLVED
        assert (lower <= result.q).all() and (result.q <= upper).all()
        assert closes(robot, case.group, result.q, request.targets)


@pytest.mark.parametrize('name', ['lower', 'upper'])
def test_limits_that_are_no_numbers_or_leave_no_room_are_refused(case, name):
    """They are mistakes of the caller: no solver may call the pose out of limits for them."""
    n = case.group.variable_count
    with pytest.raises(DimensionMismatch, match='without NaN'):
        case.solver.solve(case.request(**{name: np.full(n, np.nan)}))
    room = {'lower': np.full(n, 0.5), 'upper': np.full(n, -0.5)}
    with pytest.raises(InvalidLimits, match='no room'):
        case.solver.solve(case.request(**room))


def test_every_array_of_a_result_is_read_only(case):
    far = case.target()
    far[0, 0, 3] += 10.0
    solved = case.solver.solve(case.request(max_solutions=2))
    failed = case.solver.solve(SolveRequest(far))
    arrays = [a for r in (solved, failed) for a in (r.solutions, r.errors, r.q)]
    assert all(not a.flags.writeable for a in (*arrays, failed.nearest))


def test_a_later_request_does_not_change_an_earlier_result(case):
    results = [case.solver.solve(case.request()) for _ in range(5)]
    kept = [result.q.copy() for result in results]
    far = SolveRequest(case.target() @ moved(10.0))
    failed = case.solver.solve(far)
    nearest = failed.q.copy()
    for _ in range(5):
        case.solver.solve(case.request())
    assert all((a.q == b).all() for a, b in zip(results, kept, strict=True))
    assert (failed.q == nearest).all()


def test_the_arrays_of_a_request_are_left_as_they_were(case):
    request = case.request()
    targets, seed = request.targets.copy(), request.seed.copy()
    case.solver.solve(request)
    assert (request.targets == targets).all() and (request.seed == seed).all()


def test_plain_lists_and_integers_are_accepted_as_arrays(case):
    request = case.request()
    listed = SolveRequest(request.targets.tolist(), seed=request.seed.tolist())
    assert same(case.solver.solve(request), case.solver.solve(listed))
    whole = SolveRequest(request.targets, seed=np.zeros(case.group.variable_count, dtype=int))
    assert case.solver.solve(whole).solved


def test_a_single_pose_stands_for_a_stack_of_one(case):
    request = case.request()
    single = SolveRequest(request.targets[0], seed=request.seed)
    assert same(case.solver.solve(request), case.solver.solve(single))


def test_a_request_without_a_seed_starts_at_the_default_seed(case):
    target, seed = case.target(), default_seed(case.robot, case.group)
    assert same(
        case.solver.solve(SolveRequest(target)), case.solver.solve(SolveRequest(target, seed))
    )


def test_warming_up_leaves_the_results_as_they_are(case):
    request = case.request()
    expected = case.solver.solve(request)
    case.solver.warm_up()
    assert same(case.solver.solve(request), expected)


def test_the_solver_says_which_joints_and_frames_it_solves_for(case):
    assert case.solver.joint_names == case.group.joint_names
    assert case.solver.base_frame == case.group.base_link
    assert case.solver.tip_frames == case.group.tips


@pytest.mark.parametrize('name', SOLVERS)
def test_a_solver_carries_the_name_it_was_made_under(robots, name):
    robot = robots['fanuc']
    assert create_solver(name, robot, robot.group('manipulator')).name == name


@pytest.mark.sampled
def test_eight_threads_get_the_results_of_one(case):
    requests = [case.request(max_solutions=1 + k % 2) for k in range(200)]
    serial = [case.solver.solve(request) for request in requests]

    def run(shift):
        return [case.solver.solve(requests[(k + shift) % 200]) for k in range(200)]

    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(run, range(0, 200, 25)))
    for shift, results in zip(range(0, 200, 25), parallel, strict=True):
        assert all(same(a, serial[(k + shift) % 200]) for k, a in enumerate(results))
