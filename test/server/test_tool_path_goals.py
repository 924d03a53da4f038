"""Goals for tool paths by name: frames, links, states and objects of the scene, and goals that are wrong."""

import itertools

from test.server.served_robots import (
    errors_between,
    make_server,
    pose_of,
    random_full_state,
    torso_robot,
    true_pose,
    without_velocity_limit,
)

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import CarriedObject, ObjectShape, SolidKind, WorldObject
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ANY_ANGLE, PathTolerance, ToolPathRequest
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_requests import TimedPath
from ssik_ros.server.paths.path_timing import row_times, time_path
from ssik_ros.server.paths.tool_path_requests import NamedValues, PlanWatch, ToolPathGoal
from ssik_ros.server.requests.refusals import Refusal

DOWN = np.diag([1.0, -1.0, -1.0])
LINE = np.array([pose_matrix(np.array([0.45, y, 0.4]), DOWN) for y in np.linspace(-0.1, 0.1, 12)])
ARM = 'panda_arm'


def numbers(poses):
    """Return positions and quaternions (7 m) of poses (m, 4, 4)."""
    turns = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
    return np.hstack([poses[:, :3, 3], turns]).ravel()


@pytest.fixture(scope='module')
def server(robots):
    """Return a server of the Panda."""
    return make_server(robots['panda'], [robots['panda'].group(ARM)])


@pytest.fixture(scope='module')
def torso():
    """Return a server of an arm on a torso that moves, on a base at any pose."""
    robot = torso_robot()
    return make_server(robot, [robot.group('left'), robot.group('arms')])


def ask(server, poses=LINE, group=ARM, current=None, **fields):
    """Return the response to a goal."""
    goal = ToolPathGoal(group, numbers(poses), **fields)
    return server.plan_tool_path(goal, current or server.states.default())


def pose_errors(server, response, current, link, poses):
    """Return the largest errors of a link at the rows of a path, by pinocchio."""
    group = server.groups[ARM if ARM in server.groups else 'left']
    worst = (0.0, 0.0)
    for q, pose in zip(response.plan.positions, poses, strict=True):
        reached = true_pose(server.robot, group.with_group(current, q), link)
        worst = tuple(map(max, worst, errors_between(reached, pose)))
    return worst


@pytest.mark.parametrize('link', ['left_tool', 'left_camera'])
def test_frames_and_links_count_where_the_robot_is(torso, link):
    rng = np.random.default_rng(5)
    current = random_full_state(torso.robot, rng)
    q = np.array([0.2, 0.4, 0.5, 0.1, 0.6, 0.3])
    here = torso.groups['left'].with_group(current, q)
    start = true_pose(torso.robot, here, link)
    poses = np.array([start @ pose_of((0.0, 0.01 * k, 0.005 * k)) for k in range(10)])
    head = true_pose(torso.robot, current, 'head')
    for frame, given in (('map', poses), ('head', np.linalg.inv(head) @ poses)):
        response = ask(torso, given, 'left', current, link=link, frame=frame)
        assert response.solved, response.text
        assert max(pose_errors(torso, response, current, link, poses)) < 1e-6


def test_a_carried_object_follows_the_path(server):
    current = server.states.default()
    box = ObjectShape(SolidKind.BOX, (0.02, 0.02, 0.1), np.eye(4))
    item = WorldObject('torch', pose_matrix(np.array([0.0, 0.02, 0.15]), np.eye(3)), (box,))
    touch = frozenset(('panda_leftfinger', 'panda_rightfinger', 'panda_link7'))
    server.scene.world.attach(CarriedObject(item, 'panda_hand', touch))
    try:
        response = ask(server, link='torch', avoid_collisions=True)
        assert response.solved, response.text
        for q, pose in zip(response.plan.positions, LINE, strict=True):
            hand = true_pose(server.robot, server.groups[ARM].with_group(current, q), 'panda_hand')
            assert max(errors_between(hand @ item.pose, pose)) < 1e-6
        # The torch is checked too: the tip without the torch would pass, but the torch would be in the floor.
        floor = ObjectShape(SolidKind.BOX, (1.0, 2.0, 0.1), np.eye(4))
        low = LINE[0, 2, 3] - 0.2
        place = pose_matrix(np.array([0.9, 0.0, low - 0.05]), np.eye(3))
        server.scene.world.add(WorldObject('floor', place, (floor,)))
        blocked = ask(server, link='panda_link8', avoid_collisions=True)
        assert not blocked.solved and blocked.cause == Cause.COLLISION
        assert 'torch' in blocked.text and 'floor' in blocked.text
    finally:
        server.scene.world.detach('torch', '', lambda carried: carried.object.pose)
        server.scene.world.remove('')


def test_times_go_from_rest_to_rest_at_the_tool_speed(server):
    fast, slow = (ask(server, settings=response) for response in ({}, {'tool_speed': 0.05}))
    length = np.linalg.norm(np.diff(LINE[:, :3, 3], axis=0), axis=1).sum()
    assert slow.path.times[-1] >= length / 0.05 > fast.path.times[-1]
    for response in (fast, slow):
        assert not response.path.velocities[0].any() and not response.path.velocities[-1].any()
        assert np.array_equal(response.waypoint_times, response.path.times)
    half = ask(server, velocity_scale=0.1).path.times[-1]
    assert half > fast.path.times[-1]


def test_a_plan_names_joints_that_a_velocity_scale_does_not_slow_down(robots):
    robot = without_velocity_limit(robots['panda'], 'panda_joint2')
    free = make_server(robot, [robot.group(ARM)])
    assert ask(free).plan.notes == ()
    (note,) = ask(free, velocity_scale=0.1).plan.notes
    assert 'Without a velocity limit: panda_joint2.' in note


def test_repeated_waypoints_have_one_point_and_the_same_time(server):
    poses = np.concatenate([LINE[:4], LINE[3:4], LINE[4:]])
    start = ask(server, poses)
    assert start.solved
    assert len(start.waypoint_times) == len(poses)
    assert (np.diff(start.waypoint_times) >= 0.0).all()


@pytest.mark.parametrize('count', [1, 2, 3, 7])
def test_row_times_are_those_of_the_points(count):
    rng = np.random.default_rng(count)
    points = np.cumsum(rng.normal(size=(count, 2)), axis=0)
    rows = np.repeat(points, rng.integers(1, 4, size=count), axis=0)
    path: TimedPath = time_path(rows, np.ones(2), np.ones(2))
    times = row_times(rows, path)
    for row, time in zip(rows, times, strict=True):
        at = int(np.flatnonzero(path.times == time)[0])
        assert np.array_equal(path.positions[at], row)


def test_locked_joints_stay_where_the_state_has_them(server):
    current = server.groups[ARM].with_group(
        server.states.default(), np.array([0.0, 0.3, 0.2, -1.8, 0.0, 2.0, 0.8])
    )
    response = ask(server, current=current, locked=('panda_joint3',))
    assert response.solved, response.text
    assert 'panda_joint3' not in response.plan.joint_names and len(response.plan.joint_names) == 6
    assert max(pose_errors_locked(server, response, current)) < 1e-6


def pose_errors_locked(server, response, current):
    """Return the largest errors where joint 3 stays."""
    worst = (0.0, 0.0)
    for q, pose in zip(response.plan.positions, LINE, strict=True):
        whole = np.insert(q, 2, 0.2)
        reached = true_pose(
            server.robot, server.groups[ARM].with_group(current, whole), 'panda_link8'
        )
        worst = tuple(map(max, worst, errors_between(reached, pose)))
    return worst


WRONG = (
    ({'group': 'panda_amr'}, Refusal.UNKNOWN_GROUP, 'panda_arm'),
    ({'frame': 'tabel'}, Refusal.UNKNOWN_FRAME, 'tabel'),
    ({'link': 'panda_link3'}, Refusal.UNKNOWN_LINK, 'rigidly'),
    ({'link': 'panda_lnik8'}, Refusal.UNKNOWN_LINK, 'panda_link8'),
    ({'workpiece': 'panda_link0'}, Refusal.UNKNOWN_LINK, 'no tip'),
    ({'locked': ('panda_jiont3',)}, Refusal.BAD_OPTION, 'panda_joint3'),
    ({'start': NamedValues(('panda_joint1',), (0.0, 1.0))}, Refusal.BAD_STATE, '1 name'),
    ({'start': NamedValues(('panda_joint1',), (np.nan,))}, Refusal.BAD_STATE, 'panda_joint1'),
    ({'end': NamedValues(('panda_joint1',), (0.0,))}, Refusal.BAD_OPTION, 'panda_joint2'),
    ({'clearance': 0.01}, Refusal.BAD_OPTION, 'avoid_collisions'),
    ({'clearance': np.nan, 'avoid_collisions': True}, Refusal.BAD_OPTION, 'clearance'),
    ({'settings': {'tool_speed': -1.0}}, Refusal.BAD_OPTION, 'tool_speed'),
    ({'settings': {'corner': np.inf}}, Refusal.BAD_OPTION, 'corner'),
    ({'settings': {'passes': [99]}}, Refusal.BAD_OPTION, 'passes'),
    ({'settings': {'tool_speed': 1e-12}}, Refusal.BAD_OPTION, 'takes'),
    ({'settings': {'tolerance': PathTolerance(cone=9.0)}}, Refusal.BAD_OPTION, 'cone'),
)


@pytest.mark.parametrize(('fields', 'refusal', 'wanted'), WRONG)
def test_wrong_goals_are_refused_with_the_reason(server, fields, refusal, wanted):
    response = ask(server, **fields)
    assert (response.solved, response.refusal) == (False, refusal), response.text
    assert wanted in response.text


@pytest.mark.parametrize(
    ('poses', 'wanted'),
    [
        (LINE[:1], '2 to'),
        (LINE[:0], '2 to'),
        (np.broadcast_to(LINE[0], (100_001, 4, 4)), '100000'),
    ],
)
def test_too_few_and_too_many_waypoints_are_refused(server, poses, wanted):
    flat = np.tile(numbers(LINE[:1]), len(poses))
    response = server.plan_tool_path(ToolPathGoal(ARM, flat), server.states.default())
    assert not response.solved and response.refusal is not Refusal.NONE
    assert wanted in response.text


@pytest.mark.parametrize(('place', 'value'), [(1, np.nan), (0, np.inf), (2, 1e300)])
def test_waypoints_that_are_no_poses_are_named(server, place, value):
    flat = numbers(LINE)
    flat[7 * 5 + place] = value
    response = server.plan_tool_path(ToolPathGoal(ARM, flat), server.states.default())
    assert response.refusal is Refusal.BAD_TARGET and 'Waypoint 5' in response.text
    flat = numbers(LINE)
    flat[7 * 3 + 3 : 7 * 4] = 0.0
    response = server.plan_tool_path(ToolPathGoal(ARM, flat), server.states.default())
    assert response.refusal is Refusal.BAD_TARGET and 'Waypoint 3' in response.text


def test_a_robot_without_collision_geometry_is_not_called_free(torso):
    state = torso.states.default()
    here = true_pose(torso.robot, state, 'left_tool')
    poses = np.array([here, here @ pose_of((0.0, 0.01, 0.0))])
    response = ask(torso, poses, 'left', avoid_collisions=True)
    assert response.refusal is Refusal.NO_COLLISION_CHECK
    both = ask(torso, poses, 'arms')
    assert both.refusal is Refusal.NO_SOLVER and '2 tips' in both.text


def test_a_watch_cancels_and_hears_of_progress(server):
    told = []
    watch = PlanWatch(lambda: len(told) > 2, told.append)
    spin = {'tolerance': PathTolerance(spin=ANY_ANGLE)}
    response = ask(server, settings=spin, watch=watch)
    assert not response.solved and response.cause == Cause.DEADLINE
    assert 'cancelled' in response.text and len(told) == 3
    late = ask(server, timeout=1e-6)
    assert not late.solved and late.cause == Cause.DEADLINE and 'budget' in late.text


def test_objects_stay_in_the_model_frame_where_the_base_stands_elsewhere(server):
    """The same cell, moved as a whole: the same outcome."""
    wall = ObjectShape(SolidKind.BOX, (1.0, 0.02, 2.0), np.eye(4))
    place = pose_matrix(np.array([0.8, 0.05, 0.5]), np.eye(3))
    for moved in (np.eye(4), pose_of((3.0, -4.0, 0.2), (0.2, -0.5, 1.1))):
        current = server.states.default()._replace(root_pose=moved)
        server.scene.world.add(WorldObject('wall', moved @ place, (wall,)))
        try:
            blocked = ask(server, moved @ LINE, current=current, avoid_collisions=True)
        finally:
            server.scene.world.remove('wall')
        free = ask(server, moved @ LINE, current=current, avoid_collisions=True)
        assert free.solved, free.text
        assert not blocked.solved and blocked.cause == Cause.COLLISION and 'wall' in blocked.text
        assert max(pose_errors(server, free, current, 'panda_link8', moved @ LINE)) < 1e-6


def between_points(path, begin=0.0, end=np.inf, parts=12):
    """Return postures on the cubics with the given speeds that controllers put through the points of a path."""
    spline = CubicHermiteSpline(path.times, path.positions, path.velocities)
    spans = np.diff(path.times)[:, None] * np.linspace(0.0, 1.0, parts)
    times = (path.times[:-1, None] + spans).ravel()
    return spline(times[(times >= begin) & (times <= end)])


def away_from_lines(q, corners):
    """Return the distances of postures from the nearest of the lines between corners."""
    distances = []
    for start, end in itertools.pairwise(corners):
        line = end - start
        part = np.clip((q - start) @ line / (line @ line), 0.0, 1.0)
        distances.append(np.linalg.norm(start + part[:, None] * line - q, axis=1))
    return np.min(distances, axis=0)


@pytest.mark.sampled
@pytest.mark.parametrize('speed', [{}, {'tool_speed': 0.05}])
def test_the_trajectory_leads_around_what_stands_between_passes(server, speed):
    aside = np.eye(4)
    aside[1, 3] = 0.35
    poses = np.concatenate([np.linalg.inv(aside) @ LINE, aside @ LINE])
    wall = ObjectShape(SolidKind.BOX, (1.2, 0.02, 0.6), np.eye(4))
    item = WorldObject('wall', pose_matrix(np.array([0.9, 0.0, 0.3]), np.eye(3)), (wall,))
    server.scene.world.add(item)
    try:
        settings = {'passes': [12], **speed}
        response = ask(server, poses, settings=settings, avoid_collisions=True)
    finally:
        server.scene.world.remove('wall')
    assert response.solved, response.text
    request = ToolPathRequest(passes=[12], obstacles=[item])
    exact = ToolPathPlanner(server.robot, server.robot.group(ARM), request).obstacles[1]
    straight = np.linspace(*response.plan.positions[[11, 12]], 100)
    assert any(exact.is_colliding(q) for q in straight), 'the wall is in no way'
    path, times = response.path, response.waypoint_times
    assert not any(exact.is_colliding(q) for q in between_points(path))
    corners = response.plan.stretches[1].positions
    assert len(corners) > 2
    travel = between_points(path, *times[[11, 12]])
    assert len(travel) > 100 and away_from_lines(travel, corners).max() < 2e-4
    assert len(times) == len(poses) and (np.diff(times) > 0.0).all()
    rows = np.searchsorted(path.times, times)
    assert np.array_equal(path.positions[rows], response.plan.positions)
    lines = np.diff(path.positions, axis=0) / np.diff(path.times)[:, None]
    velocity = server.robot.tree.velocity[server.robot.group(ARM).idx_q]
    assert (np.abs(lines) <= velocity + 1e-9).all()
    if speed:
        steps = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
        slow = np.delete(np.diff(times) * 0.05 >= steps - 1e-9, 11)
        assert slow.all()
