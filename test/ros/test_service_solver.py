"""The solver that calls a service: its requests, and its results for any response."""

import dataclasses
import re

from test.ros import service_double

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest

from ssik_ros.benchmark.cases import make_cases
from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.runner import BenchmarkSession
from ssik_ros.benchmark.summary import summarise
from ssik_ros.benchmark.trials import RunStatus, TrialVerdict
from ssik_ros.errors import InvalidOption, SolverError
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, CAUSE_TEXT, CLOCK_ENDED, IkStatus
from ssik_ros.ros.services import service_solver
from ssik_ros.ros.services.service_responses import read_response
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

pytestmark = pytest.mark.ros

SEED = np.linspace(-0.3, -0.2, 7)


@pytest.fixture(scope='module')
def client():
    with service_double.served_client() as made:
        yield made


@pytest.fixture
def double(client):
    """Return the double of the server, without requests and with its first function."""
    client[2].behaviour, client[2].requests = service_double.find_nothing, []
    return client[2]


@pytest.fixture
def panda(robots):
    return robots['panda']


@pytest.fixture
def arm(panda):
    return panda.group('panda_arm')


def reachable(oracle, seed=SEED):
    """Return a request that the seed solves."""
    return SolveRequest(targets=oracle.tip_poses(seed), seed=seed, timeout=0.25)


def failure(code, message='', source=''):
    response = GetPositionIK.Response()
    response.error_code.val = code
    response.error_code.message = message
    response.error_code.source = source
    return response


def test_request_says_group_link_frame_pose_seed_and_time(client, double, panda, arm):
    target = GroupOracle(panda, arm).tip_poses(SEED)
    service_double.make_solver(client, arm).solve(
        SolveRequest(targets=target, seed=SEED, timeout=1.25)
    )
    (ik_request,) = (request.ik_request for request in double.requests)
    assert (ik_request.group_name, ik_request.ik_link_name) == ('panda_arm', 'panda_link8')
    assert ik_request.pose_stamped.header.frame_id == 'panda_link0'
    position = ik_request.pose_stamped.pose.position
    assert [position.x, position.y, position.z] == target[0, :3, 3].tolist()
    assert ik_request.robot_state.is_diff
    assert ik_request.robot_state.joint_state.name == list(arm.joint_names)
    assert list(ik_request.robot_state.joint_state.position) == SEED.tolist()
    assert (ik_request.timeout.sec, ik_request.timeout.nanosec) == (1, 250_000_000)
    assert not ik_request.avoid_collisions


def test_without_seed_the_server_starts_where_the_robot_is(client, double, panda, arm):
    solver = service_double.make_solver(client, arm, sends_seed=False)
    solver.solve(reachable(GroupOracle(panda, arm)))
    state = double.requests[0].ik_request.robot_state
    assert (list(state.joint_state.name), state.is_diff) == ([], True)


def test_several_tips_are_asked_for_by_name(client, double, panda):
    hand = panda.group('hand')
    targets = GroupOracle(panda, hand).tip_poses(np.array([0.02]))
    service_double.make_solver(client, hand).solve(SolveRequest(targets=targets))
    ik_request = double.requests[0].ik_request
    assert ik_request.ik_link_names == ['panda_leftfinger', 'panda_rightfinger']
    assert [p.pose.position.y for p in ik_request.pose_stamped_vector] == targets[:, 1, 3].tolist()


def test_solution_is_picked_by_name_whatever_its_order(client, double, panda, arm):
    named = dict(zip(arm.joint_names, SEED.tolist(), strict=True))
    mixed = {'panda_finger_joint1': 0.03, **dict(reversed(named.items()))}
    double.behaviour = service_double.solve_by(mixed)
    result = service_double.make_solver(client, arm).solve(reachable(GroupOracle(panda, arm)))
    assert result.status == IkStatus.SOLVED
    assert result.q.tolist() == SEED.tolist()


def test_joint_that_a_response_leaves_out_is_not_made_up(client, double, panda, arm):
    double.behaviour = service_double.solve_by({'panda_joint1': 0.1})
    result = service_double.make_solver(client, arm).solve(reachable(GroupOracle(panda, arm)))
    assert np.isnan(result.q).tolist() == [False] + [True] * 6


@pytest.mark.parametrize('cause', [c for c in Cause if c is not Cause.NONE])
def test_cause_is_read_from_the_text_of_our_server(cause, arm):
    text = f'No solution: {CAUSE_TEXT[cause]} (12 searches, 345 iterations). {CLOCK_ENDED}'
    outcome = read_response(
        failure(MoveItErrorCodes.NO_IK_SOLUTION, text, 'ssik_ros'), arm.joint_names, 1
    )
    assert (outcome.result.status, outcome.result.cause) == (IkStatus.UNSOLVED, cause)
    assert (outcome.result.searches, outcome.result.iterations) == (12, 345)
    assert outcome.result.clock_ended
    assert outcome.note == f'error code -31: {text}'


def test_text_of_another_server_is_not_interpreted(arm):
    text = f'No solution: {CAUSE_TEXT[Cause.LIMITS]} (12 searches)'
    outcome = read_response(failure(MoveItErrorCodes.NO_IK_SOLUTION, text), arm.joint_names, 1)
    assert (outcome.result.cause, outcome.result.searches) == (Cause.BUDGET, 0)


@pytest.mark.parametrize(
    ('code', 'cause'),
    [
        (MoveItErrorCodes.INVALID_GROUP_NAME, Cause.UNKNOWN_GROUP),
        (MoveItErrorCodes.FRAME_TRANSFORM_FAILURE, Cause.FRAME),
        (MoveItErrorCodes.TIMED_OUT, Cause.DEADLINE),
        (MoveItErrorCodes.FAILURE, Cause.BUDGET),
    ],
)
def test_code_says_what_it_can(code, cause, arm):
    outcome = read_response(failure(code), arm.joint_names, 1)
    assert (outcome.result.cause, outcome.note) == (cause, f'error code {code}')


@pytest.mark.parametrize(
    ('message', 'nanoseconds'),
    [
        ('1 solution(s). [solver 12.3 us]', 12_300),
        ('[solver 1000 us]', 1_000_000),
        ('[solver 12.3 us] and more', None),
        ('', None),
    ],
)
def test_solver_time_is_read_where_the_message_ends_in_it(message, nanoseconds, arm):
    response = service_double.solve_by({}, message)(None, GetPositionIK.Response())
    assert read_response(response, arm.joint_names, 1).server_time_ns == nanoseconds


def test_missing_response_is_a_failure_with_a_text(client, double, panda, arm):
    solver = service_double.make_solver(client, arm, response_timeout=0.01)
    double.behaviour = service_double.respond_late
    request = solver.prepare(SolveRequest(targets=np.eye(4), timeout=0.0))
    outcome = solver.read(solver.call(request))
    assert (outcome.result.status, outcome.result.cause) == (IkStatus.UNSOLVED, Cause.DEADLINE)
    assert 'no response from /compute_ik' in outcome.note


def test_server_that_keeps_silent_is_not_asked_for_ever(client, double, arm, monkeypatch):
    monkeypatch.setattr(service_solver, 'MISSING_LIMIT', 2)
    solver = service_double.make_solver(client, arm, response_timeout=0.01)
    double.behaviour = service_double.respond_late
    request = solver.prepare(SolveRequest(targets=np.eye(4), timeout=0.0))
    notes = [solver.read(solver.call(request)).note for _ in range(20)]
    assert [note.startswith('not called') for note in notes] == [False] * 2 + [True] * 18


def test_late_response_is_not_taken_for_that_of_the_next_request(client, double, panda, arm):
    solver = service_double.make_solver(client, arm, response_timeout=0.01)
    double.behaviour = service_double.respond_late
    solver.solve(SolveRequest(targets=np.eye(4), timeout=0.0))
    double.behaviour = service_double.return_the_seed
    patient = solver.prepare(reachable(GroupOracle(panda, arm)))
    patient.ik_request.timeout.sec = 10
    assert solver.read(solver.call(patient)).result.q.tolist() == SEED.tolist()


def test_service_that_does_not_come_is_an_error(client, double, arm):
    solver = service_double.make_solver(client, arm, service='nowhere', service_timeout=0.3)
    with pytest.raises(SolverError, match='no service /nowhere'):
        solver.warm_up()


@pytest.fixture
def loading(client):
    """Offer the service that a node has before it has a robot."""
    srv = pytest.importorskip('ssik_msgs.srv', reason='ssik_msgs is not built; run make setup')
    service = client[0].create_service(
        srv.Describe, '~/describe', lambda request, response: response
    )
    yield
    client[0].destroy_service(service)


def test_a_server_that_loads_its_robot_is_waited_for_longer(
    client, loading, arm, monkeypatch, caplog
):
    monkeypatch.setattr(service_solver, 'REPORT_EVERY', 0.1)
    monkeypatch.setattr(service_solver, 'LOADING_PATIENCE', 4)
    solver = service_double.make_solver(client, arm, service='nowhere', service_timeout=0.3)
    with caplog.at_level('INFO'), pytest.raises(SolverError) as raised:
        solver.warm_up()
    waited = float(re.search(r'after ([\d.]+) s', str(raised.value))[1])
    assert waited > 1.2
    assert 'its node is loading the robot' in caplog.text and 'at most 1 s' in caplog.text


def test_server_without_the_group_is_an_error(client, double, arm, monkeypatch):
    monkeypatch.setattr(service_double, 'find_nothing', service_double.know_no_group)
    with pytest.raises(SolverError, match="no group 'panda_arm'"):
        service_double.make_solver(client, arm).warm_up()


CARRIED = {'targets', 'seed', 'timeout'}
OF_A_REQUEST = {
    'state': np.zeros(9),
    'locked': {'panda_joint1': None},
    'tool_offsets': np.eye(4),
    'lower': np.zeros(7),
    'upper': np.zeros(7),
    'consistency_limits': np.zeros(7),
    'max_solutions': 2,
    'max_searches': 3,
    'tolerance': 1e-3,
    'validate': bool,
    'cancel': np.zeros(1, dtype=np.int64),
    'wants_nearest': True,
}


def test_every_field_of_a_request_is_carried_or_refused():
    fields = {field.name for field in dataclasses.fields(SolveRequest)}
    assert fields == CARRIED | OF_A_REQUEST.keys()


@pytest.mark.parametrize(
    'field',
    [{name: value} for name, value in OF_A_REQUEST.items()],
    ids=lambda field: next(iter(field)),
)
def test_request_that_the_message_cannot_carry_is_refused(client, arm, field):
    solver = service_double.make_solver(client, arm)
    with pytest.raises(InvalidOption, match=next(iter(field))):
        solver.prepare(SolveRequest(targets=np.eye(4), **field))


def run(client, robot, group, count=10):
    """Return the run of the double as the one solver of a benchmark."""
    oracle = GroupOracle(robot, group)
    config = BenchmarkConfig('b', 'p', 'panda', group.name, count, 1, 0.1, 5, ())
    entry = SolverEntry('remote', 'remote.yaml')
    kinematics = GroupKinematics(group.name, 'kdl/KDL', '', is_foreign=True)
    cases = make_cases(oracle, count, 1)
    session = BenchmarkSession(config, '', oracle, ((entry, kinematics),), cases, '')
    makers = {'remote': lambda kinematics, oracle: service_double.make_solver(client, group)}
    return session.run(makers=makers).runs[0]


def test_server_that_lies_is_verified_in_no_trial(client, double, panda, arm):
    double.behaviour = service_double.return_the_seed
    lies = run(client, panda, arm)
    summary = summarise(lies)
    assert (summary.found, summary.claimed, summary.false_claims) == (0, 10, 10)
    assert {trial.verdict for trial in lies.trials} == {TrialVerdict.OUTSIDE_TOLERANCE}


def test_solver_of_another_package_is_asked_when_a_service_stands_for_it(
    client, double, panda, arm
):
    asked = run(client, panda, arm)
    assert (asked.status, asked.service, asked.tolerance) == (RunStatus.RAN, '/compute_ik', 0.001)
    assert asked.trials[0].note == 'error code -31'
    assert len(double.requests) == 10
