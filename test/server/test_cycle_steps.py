"""Steps of control cycles by request: limits kept, poses reached, against pinocchio and the tracker of an arm."""

from dataclasses import replace
import math

from test.server.served_robots import (
    errors_between,
    pose_of,
    random_full_state,
    serve,
    TORSO,
    torso_robot,
    true_pose,
)

import numpy as np
import pytest

from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.mechanisms.closed_chain_solver import ClosedChainSolver
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.server.groups.cycle_steps import StepRequest
from ssik_ros.server.requests.ik_requests import (
    CarriedGiven,
    FramedPose,
    NOTHING_GIVEN,
    ObjectGiven,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.search.newton.tracker import StoppedBy, TrackStatus

ARM, TIP = 'panda_arm', 'panda_link8'
NAMES = tuple(f'panda_joint{i}' for i in range(1, 8))
READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
PERIOD = 0.01
ROUNDING = 1e-9


@pytest.fixture(scope='module')
def server(robots):
    return serve(robots['panda'], ARM)


def state_at(q, names=NAMES):
    return StateGiven(names, tuple(q))


def step_request(pose, link=TIP, *, group=ARM, frame='', **fields):
    fields = {'period': PERIOD, 'state': state_at(READY), **fields}
    return StepRequest(group, [link], [FramedPose(frame, pose)], **fields)


def take(server, request, current=None):
    """Return the step of a request, which has to be in order."""
    response = server.find_step(request, current or server.states.default())
    assert response.refusal is Refusal.NONE, response.text
    return response


def drive(server, pose, q, cycles, **fields):
    """Yield the positions and velocities before each cycle, and the response."""
    velocity = np.zeros(len(q))
    for _ in range(cycles):
        request = step_request(pose, state=state_at(q), velocities=tuple(velocity), **fields)
        response = take(server, request)
        yield q, velocity, response
        q, velocity = response.step.q, response.step.motion.velocity


def pose_at(server, q, link=TIP):
    state = server.states.merge(server.states.default(), state_at(q))
    return true_pose(server.robot, state, link)


def limits_of(server):
    group = server.groups[ARM].group
    return group.lower, group.upper, server.robot.tree.velocity[group.idx_q]


@pytest.mark.parametrize('scale', [0.0, 0.3])
def test_a_loop_arrives_within_all_limits(server, scale):
    goal = np.array(READY) + np.array((0.3, 0.2, -0.3, 0.4, 0.2, -0.3, 0.5))
    target, (low, high, fastest) = pose_at(server, goal), limits_of(server)
    fastest = fastest * (scale or 1.0)
    fields = {'velocity_scale': scale, 'accelerations': (5.0,)}
    for q, velocity, response in drive(server, target, np.array(READY), 600, **fields):
        step = response.step
        moved = step.q - q
        assert (np.abs(moved) <= PERIOD * fastest + ROUNDING).all()
        assert (np.abs(step.motion.velocity - velocity) <= PERIOD * 5.0 + ROUNDING).all()
        assert (step.q >= low).all() and (step.q <= high).all()
        np.testing.assert_allclose(step.motion.velocity, moved / PERIOD, atol=1e-9)
    assert step.status is TrackStatus.OK
    assert max(errors_between(pose_at(server, step.q), target)) <= 1e-6
    assert np.abs(step.motion.velocity).max() < 1e-3


def test_a_step_is_that_of_the_tracker(server):
    arm = Manipulator(server.robot, server.robot.group(ARM))
    fastest = server.robot.tree.velocity[arm.group.idx_q]
    target = pose_at(server, np.array(READY) + 0.1)
    tracker = arm.tracker(READY, dt=PERIOD, velocity_limits=fastest, acceleration_limits=3.0)
    for _, _, response in drive(server, target, np.array(READY), 30, accelerations=(3.0,)):
        status = tracker.track(target)
        assert response.step.status is status
        np.testing.assert_allclose(response.step.q, tracker.q, atol=1e-8)
        assert response.step.motion.condition == pytest.approx(tracker.condition, rel=1e-6)
        assert response.step.motion.scale == pytest.approx(tracker.scale, abs=1e-6)


def test_accelerations_of_the_limits_file_count_where_the_request_names_none(server):
    limits = dict.fromkeys(NAMES, 2.0)
    careful, bold = (
        serve(replace(server.robot, accelerations=each), ARM) for each in (limits, {})
    )
    target = pose_at(server, np.array(READY) + 0.3)
    slow, fast = (take(each, step_request(target)).step for each in (careful, bold))
    assert np.abs(slow.motion.velocity).max() == pytest.approx(2.0 * PERIOD, rel=1e-6)
    assert np.abs(fast.motion.velocity).max() > 0.5
    assert (
        StoppedBy.ACCELERATION in slow.motion.stopped_by
        and StoppedBy.VELOCITY in fast.motion.stopped_by
    )
    requested = take(careful, step_request(target, accelerations=(9.0,) * 7)).step
    assert np.abs(requested.motion.velocity).max() == pytest.approx(9.0 * PERIOD, rel=1e-6)


def test_a_straight_arm_goes_on_moving(server):
    straight = np.array([0.0, 0.5, 0.0, -0.07, 0.0, 0.0, 0.0])
    target = pose_at(server, (0.2, 0.4, 0.0, -0.6, 0.0, 0.2, 0.0))
    condition = []
    for _, _, response in drive(server, target, straight, 300):
        assert response.step.status is not TrackStatus.HELD
        condition.append(response.step.motion.condition)
    assert max(condition) > 50.0
    assert max(errors_between(pose_at(server, response.step.q), target)) < 1e-6


def test_a_moving_pose_is_followed_without_lag(server):
    arm_at, speed = pose_at(server, READY), np.array([0.0, 0.1, 0.0])
    q, velocity, poses = np.array(READY), np.zeros(7), []
    for cycle in range(1, 200):
        before, now = (arm_at.copy() for _ in range(2))
        before[:3, 3] += (cycle - 1) * PERIOD * speed
        now[:3, 3] += cycle * PERIOD * speed
        request = step_request(
            now,
            state=state_at(q),
            velocities=tuple(velocity),
            previous=[FramedPose('', before)],
            accelerations=(10.0,),
        )
        step = take(server, request).step
        q, velocity = step.q, step.motion.velocity
        poses.append(errors_between(pose_at(server, q), now)[0])
    assert max(poses[50:]) < 1e-6


def test_a_posture_is_approached_while_the_tip_stays(server):
    target = pose_at(server, READY)
    wished = np.array(READY)
    wished[0] += 0.4
    step = None
    for _, _, response in drive(
        server, target, np.array(READY), 300, accelerations=(5.0,), posture=tuple(wished)
    ):
        step = response.step
        assert max(step.distance, step.angle) < 1e-5
    assert np.linalg.norm(step.q - wished) < np.linalg.norm(np.array(READY) - wished) - 0.05
    plain = take(server, step_request(target, accelerations=(5.0,))).step
    np.testing.assert_allclose(plain.q, READY, atol=1e-9)


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_start_outside_the_limits_by_rounding_counts_as_the_limit(server, side):
    low, high, _ = limits_of(server)
    limit = low if side < 0.0 else high
    q = np.where(np.arange(7) == 1, limit, READY)
    outside = np.where(np.arange(7) == 1, limit + side * 5e-7, READY)
    pose = pose_at(server, q)
    steps = [
        take(server, step_request(pose, state=state_at(start))).step for start in (q, outside)
    ]
    assert np.array_equal(steps[0].q, steps[1].q)
    assert (low <= steps[1].q).all() and (steps[1].q <= high).all()


@pytest.mark.parametrize('link', ['left_tool', 'left_camera', ''])
@pytest.mark.parametrize('seed', range(3))
def test_links_at_the_tip_and_joints_outside_the_group(link, seed):
    robot = torso_robot()
    server, rng = serve(robot, 'left'), np.random.default_rng(seed)
    current = random_full_state(robot, rng)
    group = server.groups['left'].group
    q = current.positions[group.idx_q]
    goal = current.positions.copy()
    goal[group.idx_q] += rng.uniform(-0.02, 0.02, 6)
    goal = np.clip(goal, robot.tree.lower, robot.tree.upper)
    led = link or 'left_tool'
    target = true_pose(robot, current._replace(positions=goal), led)
    for _ in range(30):
        request = step_request(
            target, link, group='left', state=state_at(q, group.joint_names), period=0.05
        )
        step = take(server, request, current).step
        q = step.q
    positions = current.positions.copy()
    positions[group.idx_q] = q
    reached = true_pose(robot, current._replace(positions=positions), led)
    assert step.status is TrackStatus.OK
    assert max(errors_between(reached, target)) <= 1e-5


def test_a_joint_in_the_chain_that_the_group_does_not_move_stays():
    """The torso turns between the lift and the arm of this group, and only the state knows by how much."""
    joints = ''.join(
        f'<joint name="{n}"/>' for n in ('lift', *(f'left_j{i}' for i in range(1, 7)))
    )
    srdf = f'<robot name="torso_robot"><group name="reach">{joints}</group></robot>'
    server = serve(load_robot(TORSO, srdf), 'reach')
    group, current = server.groups['reach'].group, server.states.default()
    positions = current.positions.copy()
    positions[server.robot.tree.idx_q[server.robot.tree.joint_index['torso']]] = 0.7
    current = current._replace(positions=positions)
    target = true_pose(server.robot, current, 'left_tool') @ pose_of((0.01, 0.01, 0.0))
    request = step_request(target, 'left_tool', group='reach', state=NOTHING_GIVEN, period=1.0)
    step = take(server, request, current).step
    moved = server.groups['reach'].with_group(current, step.q)
    assert max(errors_between(true_pose(server.robot, moved, 'left_tool'), target)) <= 1e-6
    assert len(step.q) == len(group.joint_names) == 7


def test_of_several_tips_the_others_stay(robots):
    server = serve(torso_robot(), 'arms')
    current = server.states.default()
    right = true_pose(server.robot, current, 'right_tool')
    target = true_pose(server.robot, current, 'left_tool') @ pose_of((0.01, 0.0, 0.0))
    names = server.groups['arms'].group.joint_names
    q = current.positions[server.groups['arms'].group.idx_q]
    for _ in range(20):
        request = step_request(target, 'left_tool', group='arms', state=state_at(q, names))
        q = take(server, request, current).step.q
    moved = server.groups['arms'].with_group(current, q)
    assert errors_between(true_pose(server.robot, moved, 'right_tool'), right)[0] < 1e-5
    assert errors_between(true_pose(server.robot, moved, 'left_tool'), target)[0] < 1e-5


def test_a_carried_object_is_led(server):
    shape = ObjectShape(SolidKind.BOX, (0.02, 0.02, 0.1), np.eye(4))
    held = WorldObject('rod', pose_of((0.0, 0.0, 0.2)), (shape,))
    carried = CarriedGiven([ObjectGiven(held, '', 'panda_hand', frozenset())])
    state = state_at(READY)._replace(carried=carried)
    hand = pose_at(server, READY, 'panda_hand')
    target = hand @ pose_of((0.005, 0.0, 0.2))
    step = take(server, step_request(target, 'rod', state=state, period=1.0)).step
    reached = pose_at(server, step.q, 'panda_hand') @ pose_of((0.0, 0.0, 0.2))
    assert errors_between(reached, target)[0] <= 1e-6


@pytest.mark.parametrize('link', [TIP, 'panda_hand'])
def test_a_group_of_positions_leaves_the_orientation_free(robots, link):
    server = serve(robots['panda'], ARM, **{ARM: {'position_only': True}})
    target = pose_at(server, READY, link) @ pose_of((0.01, 0.0, 0.0), (0.0, 0.0, 1.0))
    step = take(server, step_request(target, link, period=1.0)).step
    assert step.status is TrackStatus.OK
    distance, angle = errors_between(pose_at(server, step.q, link), target)
    assert distance <= 1e-6 and angle > 0.5


@pytest.mark.parametrize(
    ('refusal', 'said', 'fields'),
    [
        (Refusal.UNKNOWN_GROUP, 'panda_arm', {'group': 'nobody'}),
        (Refusal.BAD_OPTION, 'period is 0 s', {'period': 0.0}),
        (Refusal.BAD_OPTION, 'period is nan s', {'period': math.nan}),
        (Refusal.BAD_OPTION, 'period is inf s', {'period': math.inf}),
        (Refusal.BAD_STATE, '1 velocity for 7 joints', {'velocities': (0.0,)}),
        (Refusal.BAD_STATE, 'not finite', {'velocities': (math.inf,) * 7}),
        (
            Refusal.BAD_STATE,
            "'panda_joint4' starts at 4",
            {'state': state_at([0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0])},
        ),
        (Refusal.BAD_STATE, 'ghost', {'state': state_at([0.0], ('ghost',))}),
        (Refusal.BAD_OPTION, 'posture', {'posture': (0.0,)}),
        (Refusal.BAD_OPTION, 'posture', {'posture': (math.nan,) * 7}),
        (Refusal.BAD_OPTION, 'acceleration_limits', {'accelerations': (1.0, 2.0)}),
        (Refusal.BAD_OPTION, 'acceleration_limits', {'accelerations': (-1.0,)}),
        (Refusal.BAD_OPTION, 'acceleration_limits', {'accelerations': (math.nan,)}),
        (Refusal.UNKNOWN_LINK, 'thumb', {'link': 'thumb'}),
        (Refusal.UNKNOWN_LINK, 'panda_link2', {'link': 'panda_link2'}),
        (Refusal.UNKNOWN_FRAME, 'nowhere', {'frame': 'nowhere'}),
        (Refusal.GOAL_COUNT, '2 poses', {'previous': [FramedPose('', np.eye(4))] * 2}),
        (Refusal.BAD_TARGET, '', {'previous': [FramedPose('', np.full((4, 4), np.nan))]}),
    ],
)
def test_a_wrong_request_says_what_is_wrong(server, refusal, said, fields):
    response = server.find_step(
        step_request(pose_at(server, READY), **fields), server.states.default()
    )
    assert response.refusal is refusal, response.text
    assert said in response.text
    assert response.step is None


def test_a_pose_that_is_not_finite_is_refused(server):
    pose = pose_at(server, READY)
    pose[0, 3] = math.nan
    response = server.find_step(step_request(pose), server.states.default())
    assert response.refusal is Refusal.BAD_TARGET


def test_a_group_with_loops_takes_no_steps(robots):
    server = serve(robots['panda'], ARM, **{ARM: {'solver': 'ssik_ros/ClosedChain'}})
    assert isinstance(server.groups[ARM].solver, ClosedChainSolver)
    response = server.find_step(step_request(pose_at(server, READY)), server.states.default())
    assert response.refusal is Refusal.NO_SOLVER
    assert 'ssik_ros/ClosedChain' in response.text


def test_a_state_of_one_request_does_not_reach_the_next(server):
    target = pose_at(server, READY) @ pose_of((0.001, 0.0, 0.0))
    request = step_request(target)
    first = take(server, request).step
    other = {'velocities': (0.5,) * 7, 'accelerations': (1.0,), 'posture': (0.1,) * 7}
    take(server, step_request(target, state=state_at(np.array(READY) + 0.1), **other))
    second = take(server, request).step
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.motion.velocity, second.motion.velocity)
    assert first.motion[1:] == second.motion[1:]
