"""Goals by link: rigid links, several tips, bases that move, time budgets; judged by pinocchio."""

from concurrent.futures import ThreadPoolExecutor
import gc
import math
import weakref

from test.server.served_robots import (
    errors_between,
    FOUR_AXES,
    ik_request,
    is_at,
    mobile_robot,
    random_full_state,
    robot_text,
    serve,
    snapshot,
    torso_robot,
    true_pose,
    WatchedName,
)

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.requests.ik_requests import LinkGoal
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

ARM = 'panda_arm'
RIGID = ('', 'panda_link7', 'panda_link8', 'panda_hand')
"""Names under which the tip of the arm can be asked for; the empty one is the tip itself."""


@pytest.fixture(scope='module')
def panda_server(robots):
    return serve(robots['panda'], ARM, 'hand')


@pytest.fixture(scope='module')
def torso_server():
    return serve(torso_robot())


def ask(server, group, goals, state, **more):
    """Return the response for goals in the model frame, from a given current state."""
    return server.solve(ik_request(group, goals, **more), state)


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('link', RIGID)
def test_the_link_that_was_named_reaches_the_pose(panda_server, link, seed):
    rng = np.random.default_rng(seed)
    robot = panda_server.robot
    wanted, current = random_full_state(robot, rng), random_full_state(robot, rng)
    wanted = wanted._replace(root_pose=current.root_pose)
    measured = link or 'panda_link8'
    target = true_pose(robot, wanted, measured)
    response = ask(panda_server, ARM, [(link, target)], current)
    assert response.solved, response.text
    assert is_at(robot, response.state, measured, target)
    outside = np.setdiff1d(np.arange(robot.tree.nq), robot.group(ARM).idx_q)
    assert response.state.positions[outside] == pytest.approx(current.positions[outside], abs=0.0)
    assert response.state.root_pose.tobytes() == current.root_pose.tobytes()


def test_errors_reported_are_those_at_the_link(torso_server):
    robot, rng = torso_robot(), np.random.default_rng(3)
    start = random_full_state(robot, rng)
    target = true_pose(robot, start, 'left_camera').copy()
    target[:3, 3] += 0.01
    response = ask(torso_server, 'upper_body', [('left_camera', target)], start)
    reported = response.result.errors[0, :2]
    actual = errors_between(true_pose(robot, response.state, 'left_camera'), target)
    assert reported == pytest.approx(actual, abs=1e-9)


@pytest.mark.parametrize('link', ['panda_link6', 'panda_link0', 'panda_leftfinger'])
def test_a_link_that_is_not_rigid_with_the_tip_is_refused(panda_server, link):
    response = ask(panda_server, ARM, [(link, np.eye(4))], panda_server.states.default())
    assert (response.refusal, response.cause) == (Refusal.UNKNOWN_LINK, Cause.UNKNOWN_LINK)
    assert (
        f"'{link}' is not rigidly attached" in response.text and "'panda_link8'" in response.text
    )


def test_an_unknown_link_is_refused_with_the_nearest_name(panda_server):
    response = ask(panda_server, ARM, [('panda_hnad', np.eye(4))], panda_server.states.default())
    assert response.refusal is Refusal.UNKNOWN_LINK
    assert "Did you mean 'panda_hand'?" in response.text


# Several tips


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize(
    'links',
    [('left_tool', 'right_tool'), ('right_tool', 'left_tool'), ('right_camera', 'left_l6')],
)
def test_each_of_several_tips_reaches_its_own_pose(torso_server, links, seed):
    robot, rng = torso_robot(), np.random.default_rng(seed)
    wanted = random_full_state(robot, rng)
    # The start is near, because this test is about the order of the poses and tips.
    near = wanted.positions + rng.uniform(-0.1, 0.1, robot.tree.nq)
    current = wanted._replace(positions=np.clip(near, -2.8, 2.8))
    goals = [(link, true_pose(robot, wanted, link)) for link in links]
    response = ask(torso_server, 'upper_body', goals, current)
    assert response.solved, response.text
    assert all(is_at(robot, response.state, *goal) for goal in goals)


@pytest.mark.parametrize('seed', range(6))
def test_a_tip_that_is_not_named_stays_where_it_is(torso_server, seed):
    robot, rng = torso_robot(), np.random.default_rng(seed)
    current = random_full_state(robot, rng)
    stays = true_pose(robot, current, 'right_tool')
    moves = true_pose(robot, current, 'left_camera').copy()
    moves[:3, 3] += rng.uniform(-0.02, 0.02, 3)
    response = ask(torso_server, 'upper_body', [('left_camera', moves)], current)
    assert response.solved, response.text
    assert is_at(robot, response.state, 'left_camera', moves)
    assert is_at(robot, response.state, 'right_tool', stays)


@pytest.mark.parametrize('links', [('left_tool', 'left_tool'), ('left_tool', 'left_camera')])
def test_two_poses_for_one_tip_are_refused(torso_server, links):
    goals = [(link, np.eye(4)) for link in links]
    response = ask(torso_server, 'upper_body', goals, torso_server.states.default())
    assert response.refusal is Refusal.UNKNOWN_LINK
    assert all(f"'{link}'" in response.text for link in links)


def test_an_empty_name_is_no_tip_where_there_are_several(torso_server):
    response = ask(torso_server, 'arms', [('', np.eye(4))], torso_server.states.default())
    assert response.refusal is Refusal.UNKNOWN_LINK
    assert 'left_tool' in response.text and 'right_tool' in response.text


# Bases that move


@pytest.mark.parametrize('seed', range(6))
def test_joints_below_the_base_count_from_the_request_s_state(torso_server, seed):
    robot, rng = torso_robot(), np.random.default_rng(seed)
    current, asked = random_full_state(robot, rng), random_full_state(robot, rng)
    names = ('lift', 'torso')
    values = [asked.positions[robot.tree.idx_q[robot.tree.joint(name)]] for name in names]
    merged = torso_server.states.update(current, names, values)
    group = robot.group('left')
    wanted = torso_server.groups['left'].with_group(merged, asked.positions[group.idx_q])
    target = true_pose(robot, wanted, 'left_tool')
    given = ik_request('left', [('left_tool', target)])
    given.state = given.state._replace(names=names, positions=values)
    response = torso_server.solve(given, current)
    assert response.solved, response.text
    assert is_at(robot, response.state, 'left_tool', target)
    assert torso_server.states.update(response.state, names, values).positions == pytest.approx(
        response.state.positions
    )


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_a_group_moves_its_own_base(kind):
    robot, rng = mobile_robot(kind), np.random.default_rng(2)
    server = serve(robot)
    for _ in range(5):
        target = true_pose(robot, random_full_state(robot, rng), 'tip')
        response = ask(server, 'whole', [('tip', target)], server.states.default())
        assert response.solved, response.text
        assert is_at(robot, response.state, 'tip', target)


# Position only


def test_position_only_leaves_the_orientation_free(robots):
    robot = robots['panda']
    server = serve(robot, ARM, **{ARM: {'position_only': True}})
    rng, turned = np.random.default_rng(6), 0
    for _ in range(10):
        current = random_full_state(robot, rng)
        place = true_pose(
            robot,
            random_full_state(robot, rng)._replace(root_pose=current.root_pose),
            'panda_hand',
        )
        target = current.root_pose.copy()
        target[:3, 3] = place[:3, 3]
        response = ask(server, ARM, [('panda_hand', target)], current)
        assert response.solved, response.text
        distance, angle = errors_between(true_pose(robot, response.state, 'panda_hand'), target)
        assert distance <= 1e-3
        turned += angle > 0.1
    assert turned


# Time budgets, and the requests that reach the solver


class _Recorder:
    """A solver that keeps its requests and finds nothing."""

    name, tier, reason = 'recorder', 'iterative', ''
    joint_names = ()

    def __init__(self, group):
        self.base_frame, self.tip_frames = group.base_link, group.tips
        self.requests = []

    def warm_up(self):
        """Do nothing."""

    def solve(self, request):
        """Keep the request."""
        self.requests.append(request)
        return IkResult(
            IkStatus.UNSOLVED,
            Cause.BUDGET,
            np.empty((0, 1)),
            np.empty((0, 2)),
            None,
            1.0,
            1,
            1,
            False,
        )


@pytest.fixture
def recorded(robots):
    """Give a server of the Panda's arm whose solver only keeps requests, and that solver."""
    server = RobotServer(
        robots['panda'], [robots['panda'].group(ARM)], {ARM: GroupKinematics(ARM, timeout=0.25)}
    )
    recorder = _Recorder(robots['panda'].group(ARM))
    server.groups[ARM].solver = recorder
    return server, recorder


@pytest.mark.parametrize(
    ('timeout', 'used'),
    [(0.0, 0.25), (-1.0, 0.25), (math.nan, 0.25), (-math.inf, 0.25), (0.9, 0.9), (1e-9, 1e-9)],
)
def test_only_a_positive_timeout_replaces_the_group_s_own(recorded, timeout, used):
    server, recorder = recorded
    ask(server, ARM, [('', np.eye(4))], server.states.default(), timeout=timeout)
    assert recorder.requests[0].timeout == used


def test_the_solver_gets_seed_state_and_flag(recorded):
    server, recorder = recorded
    current = random_full_state(server.robot, np.random.default_rng(0))
    ask(server, ARM, [('', np.eye(4))], current)
    request = recorder.requests[0]
    assert request.seed == pytest.approx(current.positions[server.robot.group(ARM).idx_q], abs=0.0)
    assert request.state == pytest.approx(current.positions, abs=0.0)
    assert request.cancel is server.cancel
    assert request.validate is None and request.tool_offsets is None


def test_an_endless_timeout_is_passed_on(recorded):
    server, recorder = recorded
    ask(server, ARM, [('', np.eye(4))], server.states.default(), timeout=math.inf)
    assert recorder.requests[0].timeout == math.inf


def test_a_tip_under_its_own_name_needs_no_tool(recorded):
    server, recorder = recorded
    for link in ('', 'panda_link8', 'panda_hand', 'panda_hand'):
        ask(server, ARM, [(link, np.eye(4))], server.states.default())
    tools = [request.tool_offsets for request in recorder.requests]
    assert tools[0] is None and tools[1] is None
    truth = np.linalg.inv(true_pose(server.robot, server.states.default(), 'panda_link8'))
    truth = truth @ true_pose(server.robot, server.states.default(), 'panda_hand')
    assert tools[2][0] == pytest.approx(truth, abs=1e-12)
    assert tools[2].tobytes() == tools[3].tobytes()
    assert not np.shares_memory(tools[2], tools[3])


def test_unknown_links_are_not_remembered(recorded):
    server, _ = recorded
    kept = weakref.WeakSet()
    for count in range(300):
        name = WatchedName(f'nobody_{count}')
        kept.add(name)
        response = ask(server, ARM, [(name, np.eye(4))], server.states.default())
        assert response.refusal is Refusal.UNKNOWN_LINK
    del name, response
    gc.collect()
    assert not kept


def test_a_set_flag_ends_every_search(robots):
    server = serve(robots['panda'], ARM)
    server.cancel[0] = 1
    far = np.eye(4)
    far[:3, 3] = 0.0, 0.0, 0.02
    response = ask(server, ARM, [('', far)], server.states.default(), timeout=30.0)
    assert not response.solved and response.result.clock_ended


def test_tools_of_links_asked_for_at_once_do_not_mix(panda_server):
    robot, rng = panda_server.robot, np.random.default_rng(9)
    current = panda_server.states.default()
    cases = []
    for count in range(120):
        link = RIGID[count % 4]
        wanted = random_full_state(robot, rng)._replace(root_pose=current.root_pose)
        cases.append((link, true_pose(robot, wanted, link or 'panda_link8')))
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda case: ask(panda_server, ARM, [case], current), cases))
    for (link, target), response in zip(cases, responses, strict=True):
        assert response.solved and is_at(robot, response.state, link or 'panda_link8', target)


# Groups without a solver, and reasons


def test_a_group_without_solver_says_why(robots):
    robot = robots['panda']
    kinematics = GroupKinematics(ARM, requested_solver='a/B', solver='ssik_ros/NoSuch')
    server = RobotServer(robot, [robot.group(ARM)], {ARM: kinematics})
    server.warm_up()
    response = ask(server, ARM, [('', np.eye(4))], server.states.default())
    assert response.refusal is Refusal.NO_SOLVER
    assert ARM in response.text and 'ssik_ros/NoSuch' in response.text
    assert server.groups[ARM].tier == '' and server.groups[ARM].warm_up_seconds == 0.0


@pytest.mark.parametrize(
    ('kinematics', 'words'),
    [
        ({}, 'the default, none is named'),
        ({'requested_solver': 'kdl/KDL', 'is_foreign': True}, "stands in for 'kdl/KDL'"),
        ({'requested_solver': 'ssik_ros/Auto', 'sources': {'solver': 'k.yaml:3'}}, 'k.yaml:3'),
        ({'requested_solver': 'pick_ik/PickIK'}, "as 'pick_ik/PickIK'"),
    ],
)
def test_the_reason_says_where_the_solver_comes_from(robots, kinematics, words):
    robot = robots['panda']
    group = serve(robot, ARM, **{ARM: kinematics}).groups[ARM]
    assert words in group.reason
    assert group.solver.reason in group.reason


def test_a_group_that_moves_nothing_does_not_stop_the_others():
    srdf = (
        '<robot name="made"><group name="arm"><chain base_link="l0" tip_link="tip"/></group>'
        '<group name="plate"><link name="tip"/></group></robot>'
    )
    robot = load_robot(robot_text(*FOUR_AXES), srdf)
    server = serve(robot)
    target = true_pose(robot, random_full_state(robot, np.random.default_rng(0)), 'tip')
    current = server.states.default()
    assert ask(server, 'arm', [('', target)], current).solved
    if 'plate' in server.groups:
        response = ask(server, 'plate', [('', target)], current)
        assert not response.solved and response.text


def test_a_group_server_changes_neither_goals_nor_state(torso_server):
    robot = torso_robot()
    state = random_full_state(robot, np.random.default_rng(1))
    goal = LinkGoal('left_camera', true_pose(robot, state, 'left_camera'))
    before = snapshot(state), goal.pose.tobytes()
    group: GroupServer = torso_server.groups['upper_body']
    result, nanoseconds = group.solve([goal], state, timeout=0.0, accepts=lambda q: True)
    assert result.solved and nanoseconds > 0
    assert before == (snapshot(state), goal.pose.tobytes())


def test_candidates_are_full_states_with_followers(robots):
    robot = robots['panda']
    group = serve(robot, 'hand').groups['hand']
    state = group.with_group(serve(robot, 'hand').states.default(), np.array([0.02]))
    assert state.positions[-2:].tolist() == [0.02, 0.02]


def test_a_refusal_is_an_exception_of_the_group_server(panda_server):
    goal = LinkGoal('nobody', np.eye(4))
    with pytest.raises(RequestRefused) as caught:
        panda_server.groups[ARM].solve(
            [goal],
            panda_server.states.default(),
            timeout=0.0,
            accepts=None,
        )
    assert caught.value.refusal is Refusal.UNKNOWN_LINK
