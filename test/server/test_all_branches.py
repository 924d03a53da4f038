"""Every branch of a pose: held by pinocchio's judgement, complete against searches, in order, refused alike."""

import copy
import itertools
import math

from test.server.served_robots import (
    errors_between,
    ik_request,
    joint,
    make_server,
    mobile_robot,
    random_full_state,
    robot_text,
    serve,
    snapshot,
    solve_all,
    torso_robot,
    true_pose,
)

import numpy as np
import pytest

from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import BranchSet
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.server.groups import all_branches
from ssik_ros.server.requests.constraints import ConstraintsGiven
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchOptions,
    CarriedGiven,
    FramedPose,
    LARGEST_RESPONSE,
    ObjectGiven,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.closed_form.solver import AnalyticSolver
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

TWO_PI = 2.0 * math.pi
GROUPS = {
    'ur5e': 'ur_manipulator',
    'fanuc': 'manipulator',
    'panda': 'panda_arm',
    'gen3': 'manipulator',
}
SIX = ('ur5e', 'fanuc')
POSE_IK = {'solver': 'ssik_ros/PoseIK'}
ANALYTIC = {'solver': 'ssik_ros/Analytic'}


@pytest.fixture(scope='module')
def servers(robots):
    """Give a server of each arm whose own solver searches."""
    made = {}
    for name, group in GROUPS.items():
        made[name] = serve(robots[name], group, **{group: POSE_IK})
        made[name].warm_up_branches()
    return made


@pytest.fixture(params=GROUPS)
def arm(request, servers):
    """Return (server, group name) of each arm in turn."""
    return servers[request.param], GROUPS[request.param]


@pytest.fixture(params=SIX)
def six(request, servers):
    """Return (server, group name) of each arm with six joints."""
    return servers[request.param], GROUPS[request.param]


def cases(server, group, count, seed=0):
    """Return (wanted state, pose of the tip, current state) for random reachable poses."""
    robot, rng = server.robot, np.random.default_rng(seed)
    tip = robot.group(group).tip
    for _ in range(count):
        there, current = random_full_state(robot, rng), random_full_state(robot, rng)
        posture = there.positions[robot.group(group).idx_q]
        wanted = server.groups[group].with_group(current, posture)
        yield wanted, true_pose(robot, wanted, tip), current


def ask(server, group, pose, current, link='', **wishes):
    """Return the response for one pose in the model frame."""
    return solve_all(server, ik_request(group, [(link, pose)]), BranchOptions(**wishes), current)


def full_state(server, group, current, branch):
    """Return the state with the group at a branch."""
    return server.groups[group].with_group(current, branch.positions)


def wrapped(q):
    """Return angles in (-pi, pi]."""
    return q - TWO_PI * np.ceil(q / TWO_PI - 0.5)


def rows_of(response):
    """Return the positions (k, n) of a response."""
    return np.array([branch.positions for branch in response.branches])


def has_row(rows, q, near=1e-6):
    """Return whether rows contain a posture, up to whole turns."""
    return bool((np.abs(wrapped(rows - q)) < near).all(axis=1).any())


# Returned branches hold.


@pytest.mark.sampled
@pytest.mark.parametrize('windings', [False, True])
def test_every_branch_holds_and_says_the_truth_about_itself(arm, windings):
    server, group = arm
    robot, joint_group = server.robot, server.robot.group(group)
    for _, pose, current in cases(server, group, 6, seed=1):
        response = ask(server, group, pose, current, enumerate_windings=windings)
        assert response.solved, response.text
        assert response.joint_names == joint_group.variable_names
        seed = current.positions[joint_group.idx_q]
        for branch in response.branches:
            q = branch.positions
            assert (joint_group.lower <= q).all() and (q <= joint_group.upper).all()
            state = full_state(server, group, current, branch)
            errors = errors_between(true_pose(robot, state, joint_group.tip), pose)
            assert max(errors) < 1e-8
            said = (branch.position_error, branch.orientation_error)
            assert said == pytest.approx(errors, abs=1e-10)
            difference = q - seed
            endless = np.isinf(joint_group.lower)
            difference[endless] = wrapped(difference[endless])
            assert branch.distance == pytest.approx(np.linalg.norm(difference), rel=1e-12)
            room = np.concatenate([q - joint_group.lower, joint_group.upper - q])
            assert branch.limit_margin == room.min()
            turns = np.round((q - wrapped(q)) / TWO_PI).astype(int).tolist()
            assert list(branch.windings) == (turns if windings else [])
        distances = [branch.distance for branch in response.branches]
        assert distances == sorted(distances)


def test_the_posture_that_made_the_pose_is_among_them(six):
    server, group = six
    idx_q = server.robot.group(group).idx_q
    for wanted, pose, current in cases(server, group, 20, seed=2):
        assert has_row(rows_of(ask(server, group, pose, current)), wanted.positions[idx_q])


def test_a_seed_that_is_a_solution_comes_first(arm):
    server, group = arm
    idx_q = server.robot.group(group).idx_q
    for wanted, pose, _ in cases(server, group, 6, seed=3):
        best = ask(server, group, pose, wanted).branches[0]
        assert best.distance < 1e-7
        assert best.positions == pytest.approx(wanted.positions[idx_q], abs=1e-7)


def serve_by_search(monkeypatch, robot, group):
    """Return a server of a group for which no closed form is found."""
    with monkeypatch.context() as patch:
        patch.setattr(all_branches, 'find_closed_form', lambda make: (None, ''))
        server = serve(robot, group, **{group: POSE_IK})
        server.groups.finders[group].branches.warm_up()
    return server


def test_a_search_finds_nothing_that_the_closed_form_does_not_have(six, monkeypatch):
    """And it finds nearly everything, by another way altogether."""
    server, group = six
    searching = serve_by_search(monkeypatch, server.robot, group)
    count = total = 0
    for _, pose, current in cases(server, group, 10, seed=4):
        every, some = (ask(s, group, pose, current, tolerance=1e-7) for s in (server, searching))
        assert every.report.complete and not some.report.complete
        assert some.report.tier == 'iterative' and 'found by a search' in some.report.reason
        rows = rows_of(every)
        for branch in some.branches:
            assert has_row(rows, branch.positions, near=1e-4)
            assert max(branch.position_error, branch.orientation_error) <= 1e-7
        count += len(some.branches)
        total += len(rows)
    assert 0.95 * total <= count <= total


def test_branches_of_a_pose_are_different_and_named(arm):
    server, group = arm
    for _, pose, current in cases(server, group, 4, seed=5):
        response = ask(server, group, pose, current)
        labels = [branch.label for branch in response.branches]
        assert len(set(labels)) == len(labels)
        assert [branch.branch for branch in response.branches] == list(range(len(labels)))
        assert all('shoulder' in label and 'wrist' in label for label in labels)


def test_the_label_belongs_to_the_posture_and_not_to_the_seed(six):
    server, group = six
    _, pose, current = next(cases(server, group, 1, seed=6))
    other = random_full_state(server.robot, np.random.default_rng(7))
    names = [
        {tuple(np.round(wrapped(b.positions), 6)): b.label for b in response.branches}
        for response in (ask(server, group, pose, c) for c in (current, other))
    ]
    assert names[0] == names[1]


# Windings and how many.


def test_windings_are_all_combinations_of_turns_within_limits(six):
    server, group = six
    joint_group = server.robot.group(group)
    for _, pose, current in cases(server, group, 3, seed=8):
        plain = ask(server, group, pose, current)
        response = ask(server, group, pose, current, enumerate_windings=True)
        expected = set()
        for branch in plain.branches:
            choices = []
            for value, low, high in zip(
                wrapped(branch.positions), joint_group.lower, joint_group.upper
            ):
                turns = [value + TWO_PI * k for k in range(-4, 5)]
                choices.append([v for v in turns if low <= v <= high])
            for posture in itertools.product(*choices):
                expected.add((branch.label, *np.round(posture, 7)))
        got = [(branch.label, *np.round(branch.positions, 7)) for branch in response.branches]
        assert len(got) == len(set(got)) and set(got) == expected
        assert response.report.complete
        by_number = {branch.branch: branch.label for branch in response.branches}
        assert len(by_number) == len(set(by_number.values())) == len(plain.branches)


@pytest.mark.parametrize('windings', [False, True])
def test_a_number_of_solutions_cuts_the_end(six, windings):
    server, group = six
    _, pose, current = next(cases(server, group, 1, seed=9))
    whole = ask(server, group, pose, current, enumerate_windings=windings)
    for wanted in (1, 3, len(whole.branches), len(whole.branches) + 1):
        response = ask(
            server, group, pose, current, enumerate_windings=windings, max_solutions=wanted
        )
        assert rows_of(response).tobytes() == rows_of(whole)[:wanted].tobytes()
        left_out = max(0, len(whole.branches) - wanted)
        assert response.report.dropped_by_max == left_out
        assert response.report.complete is (left_out == 0)


def test_a_number_beyond_the_bound_is_the_bound(six):
    server, group = six
    _, pose, current = next(cases(server, group, 1, seed=9))
    response = ask(server, group, pose, current, max_solutions=LARGEST_RESPONSE * 400_000)
    assert response.report.complete


# Options of a request.


def test_counts_add_up(arm):
    server, group = arm
    for _, pose, current in cases(server, group, 4, seed=10):
        report = ask(server, group, pose, current).report
        response = ask(server, group, pose, current)
        assert report.raw_candidates >= report.certified >= report.different
        assert report.different == report.dropped_by_limits + len(response.branches)
        redundant = report.tier == 'search'
        assert report.redundancy_samples >= 17 if redundant else report.redundancy_samples == 1
        assert report.complete is not redundant
        assert report.solver == 'ssik_ros/Analytic' and 'ssik_ros/PoseIK' in report.reason


def test_a_rigid_link_in_a_moving_frame(servers):
    server, group = servers['panda'], 'panda_arm'
    robot, rng = server.robot, np.random.default_rng(11)
    wanted, current = random_full_state(robot, rng), random_full_state(robot, rng)
    wanted = wanted._replace(root_pose=current.root_pose)
    pose = true_pose(robot, wanted, 'panda_hand')
    inside = np.linalg.inv(true_pose(robot, current, 'panda_link3')) @ pose
    asked = ik_request(group, [('panda_hand', inside, 'panda_link3')])
    response = solve_all(server, asked, BranchOptions(), current)
    assert response.solved, response.text
    for branch in response.branches:
        state = full_state(server, group, current, branch)
        assert max(errors_between(true_pose(robot, state, 'panda_hand'), pose)) < 1e-8


def test_the_state_of_a_request_is_the_seed(six):
    server, group = six
    joint_group = server.robot.group(group)
    wanted, pose, current = next(cases(server, group, 1, seed=12))
    given = StateGiven(joint_group.variable_names, wanted.positions[joint_group.idx_q].tolist())
    asked = ik_request(group, [('', pose)], state=given)
    best = solve_all(server, asked, BranchOptions(), current).branches[0]
    assert best.positions == pytest.approx(wanted.positions[joint_group.idx_q], abs=1e-7)


def test_links_without_collisions(robots):
    server = serve(robots['panda'], 'panda_arm')
    checker = CollisionChecker(server.robot)
    refused = 0
    for _, pose, current in cases(server, 'panda_arm', 6, seed=13):
        asked = ik_request('panda_arm', [('', pose)])
        every = solve_all(server, asked, BranchOptions(), current)
        asked.avoid_collisions = True
        response = solve_all(server, asked, BranchOptions(), current)
        free = [
            branch
            for branch in every.branches
            if not checker.colliding_pair(
                full_state(server, 'panda_arm', current, branch).positions
            )
        ]
        assert rows_of(response).tobytes() == np.array([b.positions for b in free]).tobytes()
        assert response.report.dropped_by_collision == len(every.branches) - len(free)
        refused += response.report.dropped_by_collision
        if not free:
            assert response.cause is Cause.COLLISION and 'collision' in response.text
    assert refused


def test_no_time_for_checks_is_told(servers):
    server, group = servers['panda'], 'panda_arm'
    _, pose, current = next(cases(server, group, 1, seed=14))
    asked = ik_request(group, [('', pose)], timeout=1e-9, avoid_collisions=True)
    response = solve_all(server, asked, BranchOptions(), current)
    assert response.cause is Cause.DEADLINE and 'clock' in response.text
    assert response.report.clock_ended and response.report.dropped_by_clock
    assert response.report.dropped_by_collision == 0


def test_a_node_that_ends_checks_no_more(robots):
    server = serve(robots['panda'], 'panda_arm')
    _, pose, current = next(cases(server, 'panda_arm', 1, seed=14))
    server.cancel[0] = 1
    asked = ik_request('panda_arm', [('', pose)], avoid_collisions=True)
    assert solve_all(server, asked, BranchOptions(), current).report.dropped_by_clock


# Errors of a request are reported as compute_ik reports them.

BOX = WorldObject('box', np.eye(4), (ObjectShape(SolidKind.BOX, (0.1, 0.1, 0.1), np.eye(4)),))
FAULTS = {
    'group': lambda q: setattr(q, 'group', 'nobody'),
    'empty group': lambda q: setattr(q, 'group', ''),
    'state': lambda q: setattr(q, 'state', StateGiven(('ghost',), (1.0,))),
    'not finite state': lambda q: setattr(q, 'state', StateGiven(('panda_joint1',), (math.nan,))),
    'count': lambda q: setattr(q, 'links', ['', '']),
    'frame': lambda q: setattr(q, 'poses', [q.poses[0]._replace(frame='nowhere')]),
    'target': lambda q: setattr(q, 'poses', [FramedPose('', q.poses[0].pose * math.nan)]),
    'constraints': lambda q: setattr(
        q, 'constraints', ConstraintsGiven(others=('visibility_constraints',))
    ),
    'attached': lambda q: (
        setattr(q, 'avoid_collisions', True),
        setattr(
            q, 'state', q.state._replace(carried=CarriedGiven([ObjectGiven(BOX, '', 'ghost')]))
        ),
    ),
    'unknown link': lambda q: setattr(q, 'links', ['ghost']),
    'other link': lambda q: setattr(q, 'links', ['panda_link3']),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_faults_are_told_as_for_one_solution(servers, fault):
    server, group = servers['panda'], 'panda_arm'
    _, pose, current = next(cases(server, group, 1, seed=15))
    asked = ik_request(group, [('', pose)])
    FAULTS[fault](asked)
    one = server.solve(copy.copy(asked), current)
    every = solve_all(server, asked, BranchOptions(), current)
    assert one.refusal is not Refusal.NONE
    assert (every.refusal, every.cause, every.text) == (one.refusal, one.cause, one.text)
    assert not every.branches and not every.solved


@pytest.mark.parametrize('tolerance', [math.nan, math.inf, -math.inf, -1e-6])
def test_a_tolerance_without_sense_is_refused(servers, tolerance):
    server, group = servers['ur5e'], GROUPS['ur5e']
    _, pose, current = next(cases(server, group, 1))
    response = ask(server, group, pose, current, tolerance=tolerance)
    assert response.refusal is Refusal.BAD_TOLERANCE and f'{tolerance:g}' in response.text


@pytest.mark.parametrize('most', [-1, 2.5, math.nan, '2'])
def test_a_number_of_postures_without_sense_is_refused(servers, most):
    server, group = servers['ur5e'], GROUPS['ur5e']
    _, pose, current = next(cases(server, group, 1))
    response = ask(server, group, pose, current, max_solutions=most)
    assert (response.refusal, response.branches) == (Refusal.BAD_OPTION, ())
    assert 'max_solutions' in response.text


def test_a_pose_out_of_reach(arm):
    server, group = arm
    far = np.eye(4)
    far[:3, 3] = 9.0
    response = ask(server, group, far, server.states.default())
    assert (response.refusal, response.cause) == (Refusal.NONE, Cause.UNREACHABLE)
    assert 'out of reach' in response.text and not response.report.complete


def test_a_pose_beyond_the_limits(servers):
    """Random postures of the Fanuc, many outside its limits: if all branches exceed limits, the cause is LIMITS."""
    server, group = servers['fanuc'], GROUPS['fanuc']
    joint_group, causes = server.robot.group(group), set()
    rng = np.random.default_rng(16)
    for _ in range(200):
        state = server.states.default()
        posture = rng.uniform(-math.pi, math.pi, len(joint_group.idx_q))
        posture = server.groups[group].with_group(state, posture)
        response = ask(server, group, true_pose(server.robot, posture, joint_group.tip), state)
        causes.add(response.cause)
        if response.cause is Cause.LIMITS:
            assert response.report.dropped_by_limits == response.report.different > 0
            assert 'limits' in response.text
    assert causes == {Cause.NONE, Cause.LIMITS}


# Choice of the solver.


def test_the_own_closed_form_of_a_group_responds(robots, monkeypatch):
    group = GROUPS['ur5e']
    monkeypatch.setattr(all_branches, 'find_closed_form', lambda make: pytest.fail('a second one'))
    server = serve(robots['ur5e'], group, **{group: ANALYTIC})
    _, pose, current = next(cases(server, group, 1))
    report = ask(server, group, pose, current).report
    assert report.reason == server.groups[group].solver.reason


def test_the_closed_form_is_made_once_and_stays_with_other_parameters(robots, monkeypatch):
    made = []

    def count(self, *arguments, **options):
        made.append(self)
        original(self, *arguments, **options)

    original = AnalyticSolver.__init__
    monkeypatch.setattr(AnalyticSolver, '__init__', count)
    group = GROUPS['ur5e']
    server = serve(robots['ur5e'], group, **{group: POSE_IK})
    _, pose, current = next(cases(server, group, 1))
    assert not made
    responses = [ask(server, group, pose, current) for _ in range(2)]
    other = server.with_kinematics(
        GroupKinematics(group, **POSE_IK, parameters={'target_tolerance': 1e-5})
    )
    responses.append(ask(other, group, pose, current))
    assert len(made) == 1
    assert len({rows_of(response).tobytes() for response in responses}) == 1


def test_a_free_orientation_is_searched(robots):
    group = GROUPS['ur5e']
    server = serve(robots['ur5e'], group, **{group: {'position_only': True}})
    _, pose, current = next(cases(server, group, 1))
    response = ask(server, group, pose, current)
    assert response.solved and 'orientation is left free' in response.report.reason
    assert max(branch.position_error for branch in response.branches) <= 1e-3
    assert max(branch.orientation_error for branch in response.branches) > 0.1


SLIDING = robot_text(
    joint('s1', 'prismatic', 'l0', 'l1', '0 0 0.3', '1 0 0'),
    joint('j2', 'revolute', 'l1', 'l2', '0.4 0 0', '0 1 0'),
    joint('j3', 'revolute', 'l2', 'l3', '0.4 0 0', '0 0 1'),
    joint('j4', 'continuous', 'l3', 'l4', '0.1 0.2 0', '1 0 0'),
    joint('j5', 'revolute', 'l4', 'l5', '0.1 0 0.1', '0 0 1'),
    joint('s6', 'prismatic', 'l5', 'tip', '0.1 0.1 0', '0.6 0.8 0'),
    name='sliding',
)
"""Two slides and four turning joints, no three of which meet: these have no closed form."""


def test_a_chain_without_closed_form_is_searched():
    robot = load_robot(SLIDING)
    group = robot.group_from_links('l0', 'tip', 'arm')
    server = make_server(robot, [group])
    rng = np.random.default_rng(17)
    wanted, current = random_full_state(robot, rng), random_full_state(robot, rng)
    pose = true_pose(robot, wanted, 'tip')
    for windings in (False, True):
        asked = ik_request('arm', [('', pose)])
        wishes = BranchOptions(enumerate_windings=windings, tolerance=1e-8)
        response = solve_all(server, asked, wishes, current)
        assert response.solved and 'no closed form (' in response.report.reason
        assert response.report.searches and not response.report.redundancy_samples
        assert not response.report.complete
        assert {b.label for b in response.branches} == {
            f'branch {i + 1}' for i in range(len(response.branches))
        }
        # Joints that slide have no turns, though their range is longer than two pi.
        assert (np.abs(rows_of(response) - wanted.positions) < 1e-5).all(axis=1).any()
        if windings:
            turns = np.array([branch.windings for branch in response.branches])
            assert (turns[:, [0, 5]] == 0).all()


def test_a_pose_that_the_closed_form_does_not_reach_is_searched():
    """Four joints reach no pose exactly whose numbers were typed."""
    robot = mobile_robot('planar')
    server = serve(robot, 'arm')
    for wanted, pose, current in cases(server, 'arm', 4, seed=20):
        assert ask(server, 'arm', pose, current).report.solver == 'ssik_ros/Analytic'
        typed = pose.copy()
        typed[:3, 3] += [2e-4, -2e-4, 1e-4]
        response = ask(server, 'arm', typed, current)
        assert response.solved and 'does not reach the pose' in response.report.reason
        assert response.report.tier == 'iterative' and not response.report.complete
        idx_q = robot.group('arm').idx_q
        assert has_row(rows_of(response), wanted.positions[idx_q], near=0.05)
        one = server.solve(ik_request('arm', [('', typed)]), current)
        assert one.solved


def test_tips_that_are_not_named_stay_where_they_are():
    robot, rng = torso_robot(), np.random.default_rng(18)
    server = serve(robot, 'upper_body')
    current = random_full_state(robot, rng)
    stays = true_pose(robot, current, 'right_tool')
    moves = true_pose(robot, current, 'left_camera').copy()
    moves[:3, 3] += 0.01
    asked = ik_request('upper_body', [('left_camera', moves)])
    response = solve_all(server, asked, BranchOptions(max_solutions=5), current)
    assert response.solved, response.text
    for branch in response.branches:
        state = full_state(server, 'upper_body', current, branch)
        goals = (('left_camera', moves), ('right_tool', stays))
        errors = [errors_between(true_pose(robot, state, link), pose) for link, pose in goals]
        largest = np.max(errors, axis=0)
        assert (branch.position_error, branch.orientation_error) == pytest.approx(
            largest, abs=1e-9
        )
        assert np.hypot(*errors[0]) <= 1e-3 + 1e-9 and np.hypot(*errors[1]) <= 1e-3 + 1e-9


def test_a_group_without_a_solver_is_refused(robots):
    server = serve(robots['ur5e'], GROUPS['ur5e'], ur_manipulator={'solver': 'nobody/Knows'})
    _, pose, current = next(cases(server, GROUPS['ur5e'], 1))
    assert ask(server, GROUPS['ur5e'], pose, current).refusal is Refusal.NO_SOLVER


# Nothing is believed.


class Liar:
    """A solver that claims to be exact at the postures that it was made with."""

    name = 'test/Liar'

    def __init__(self, group, solutions):
        self.joint_names, self.base_frame = group.joint_names, group.base_link
        self.tip_frames, self._solutions = group.tips, np.array(solutions)

    def solve(self, request):
        errors = np.zeros((len(self._solutions), 2))
        return IkResult(
            IkStatus.SOLVED, Cause.NONE, self._solutions, errors, None, 0.0, 0, 1, False
        )

    def warm_up(self):
        pass


def test_postures_that_do_not_hold_are_left_out(robots, monkeypatch):
    group = GROUPS['ur5e']
    server = serve_by_search(monkeypatch, robots['ur5e'], group)
    wanted, pose, current = next(cases(server, group, 1))
    right = wanted.positions[server.robot.group(group).idx_q]
    server.groups[group].solver = Liar(server.robot.group(group), [right, right + 0.1])
    response = ask(server, group, pose, current)
    assert len(response.branches) == 1 and response.report.dropped_by_verification == 1
    assert has_row(rows_of(response), right)
    server.groups[group].solver = Liar(server.robot.group(group), [right + 0.1])
    response = ask(server, group, pose, current)
    assert response.refusal is Refusal.FAULT and 'test/Liar' in response.text
    assert not response.branches


class Braggart(Liar):
    """A solver that claims to know all branches."""

    is_complete = True

    def solve_all(self, request):
        count = len(self._solutions)
        names = tuple(map(str, range(count)))
        return BranchSet(
            self._solutions, np.zeros((count, 2)), names, Cause.NONE, *[count] * 3, 0, 1, 0, False
        )


def test_postures_outside_the_limits_are_left_out(robots):
    group = GROUPS['ur5e']
    server = serve(robots['ur5e'], group, **{group: POSE_IK})
    wanted, pose, current = next(cases(server, group, 1))
    right = wanted.positions[server.robot.group(group).idx_q]
    outside = right.copy()
    outside[0] += 2.0 * TWO_PI * math.copysign(1.0, right[0])
    # The posture that is left out is the nearest to the seed: numbers begin with the postures that remain.
    current = server.groups[group].with_group(current, outside)
    for postures, left, complete in (([right], 1, True), ([outside, right], 1, False)):
        server.groups[group].solver = Braggart(server.robot.group(group), postures)
        response = ask(server, group, pose, current)
        assert [branch.positions.tolist() for branch in response.branches] == [right.tolist()]
        assert [branch.branch for branch in response.branches] == [0]
        assert response.report.dropped_by_verification == len(postures) - left
        assert response.report.complete is complete


def test_responses_repeat_to_the_byte_and_change_nothing(arm):
    server, group = arm
    _, pose, current = next(cases(server, group, 1, seed=19))
    before = snapshot(current)
    first, second = (ask(server, group, pose, current, enumerate_windings=True) for _ in range(2))
    assert rows_of(first).tobytes() == rows_of(second).tobytes()
    assert [branch._replace(positions=None) for branch in first.branches] == [
        branch._replace(positions=None) for branch in second.branches
    ]
    assert snapshot(current) == before
    assert all(isinstance(branch, Branch) for branch in first.branches)
