"""Tool paths that no arm can follow: the waypoint and the cause are right."""

import itertools
import sys

from test.paths.made_paths import box, line, robot

import numpy as np
import pytest

from ssik_ros.kernels.geometry.rotations import pose_matrix, rotate_about
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathTolerance, ToolPathRequest
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.results import Cause

COUNT = 41


@pytest.fixture(scope='module')
def arms():
    """Return robots with their groups, by name."""
    models = {name: robot(name) for name in ('panda', 'ur5e')}
    groups = {
        name: next(g for g in model.groups.values() if len(g.joint_names) in (6, 7))
        for name, model in models.items()
    }
    return models, groups


def plan(arms, name, poses, **settings):
    """Return the plan of an arm."""
    models, groups = arms
    return plan_tool_path(models[name], groups[name], poses, **settings)


def across(x=0.45, z=0.4):
    """Return a line from right to left in front of an arm."""
    return line((x, -0.2, z), (x, 0.2, z), COUNT)


@pytest.mark.sampled
@pytest.mark.parametrize('spin', [None, (0, 0, 1)])
@pytest.mark.parametrize('at', [1, 20, 40])
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_waypoints_out_of_reach(arms, name, at, spin):
    poses = across()
    poses[at:, 2, 3] += 4.0
    path = plan(arms, name, poses, spin_axis=spin)
    assert not path.valid
    assert (path.cause, path.failed_waypoint) == (Cause.UNREACHABLE, at)
    assert f'Waypoint {at} ' in path.reason
    assert (path.first_waypoint, len(path.positions)) == (0, at)


@pytest.mark.sampled
@pytest.mark.parametrize(
    'name, spin',
    [
        ('panda', None),
        ('ur5e', None),
        ('ur5e', (0, 0, 1)),
        pytest.param('panda', (0, 0, 1), marks=pytest.mark.slow),
    ],
)
def test_walls_across_the_path(arms, name, spin):
    wall = box((2.0, 0.01, 3.0), (1.1, 0.1, 0.5), 'wall')
    poses = across()
    path = plan(arms, name, poses, obstacles=[wall], spin_axis=spin)
    assert not path.valid
    assert path.cause == Cause.COLLISION
    assert 'wall' in path.reason
    assert poses[path.failed_waypoint, 1, 3] < 0.11


@pytest.mark.parametrize(('at', 'cause'), [(10, Cause.LIMITS), (30, Cause.CONSISTENCY)])
def test_turns_beyond_the_limits_of_the_last_joint(arms, at, cause):
    # The last joint of the Panda turns 332 degrees; the tool turns twice about its own axis.
    poses = np.repeat(across()[:1], COUNT, axis=0)
    for pose, turn in zip(poses[at:], np.linspace(0.0, 4.0 * np.pi, COUNT - at), strict=True):
        pose[:3, :3] = pose[:3, :3] @ rotate_about(np.array([0.0, 0.0, 1.0]), turn)
    path = plan(arms, 'panda', poses, largest_turn=0.6)
    assert not path.valid
    # From waypoint 30 on each step turns the tool by 1.26 rad.
    assert path.cause == cause
    assert path.failed_waypoint > at if at == 10 else path.failed_waypoint == 31
    assert 'panda_joint' in path.reason


@pytest.mark.parametrize('at', [7, 25])
def test_halves_of_the_path_that_are_not_joined(arms, at):
    poses = across()
    poses[at:, :3, :3] = poses[0, :3, :3] @ rotate_about(np.array([1.0, 0.0, 0.0]), 2.0)
    path = plan(arms, 'ur5e', poses)
    assert not path.valid
    assert (path.cause, path.failed_waypoint) == (Cause.CONSISTENCY, at)
    assert f'Waypoints {at - 1} and {at} are not joined' in path.reason


def test_each_posture_is_outside_a_limit(arms):
    poses = across()
    path = plan(arms, 'panda', poses, locked={'panda_joint4': -0.1})
    assert not path.valid
    # The shoulder and the wrist are as far apart as joint 4 has them: the six other joints have no posture.
    assert (path.cause, path.failed_waypoint) == (Cause.NOT_FOUND, 0)


@pytest.mark.parametrize('name', [pytest.param('panda', marks=pytest.mark.slow), 'ur5e'])
def test_a_plan_asks_often_whether_it_is_cancelled(arms, name):
    calls, asked = itertools.count(), []

    def is_cancelled():
        asked.append(next(calls))
        return False

    poses = line((0.45, -0.2, 0.4), (0.45, 0.2, 0.4), 400)
    # Function calls are the measure of work here: a clock would judge the machine.
    sys.setprofile(lambda *_: next(calls))
    try:
        path = plan(
            arms, name, poses, spin_axis=(0, 0, 1), obstacles=[], is_cancelled=is_cancelled
        )
    finally:
        sys.setprofile(None)
    assert path.valid
    between = np.diff(asked)
    assert len(asked) > 100
    assert np.quantile(between, 0.98) < 2_000 and between.max() < 50_000


MIDDLE = np.array([0.1, 0.3, 0.2, -1.8, 0.4, 0.6, 0.5])
"""A posture of the Panda, away from all limits."""
LIFT = np.zeros((4, 4))
LIFT[2, 3] = 4.0
Z_AXIS, X_AXIS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


def turned(poses, axis, angles):
    """Return poses turned about an axis of their own."""
    turns = zip(poses, np.broadcast_to(angles, len(poses)), strict=True)
    return np.array([pose @ pose_matrix(np.zeros(3), rotate_about(axis, a)) for pose, a in turns])


def from_on(poses, at, changed):
    """Return poses, with others from a waypoint on."""
    return np.concatenate([poses[:at], changed[at:]])


OUT_OF_REACH = {
    'the first waypoint': ('ur5e', from_on(across(), 0, across() + LIFT), 0, {}),
    'a free spin': ('panda', from_on(across(), 33, across() + LIFT), 33, {'spin_axis': Z_AXIS}),
    'a box that is too small': (
        *('ur5e', from_on(across(), 20, across() + LIFT), 20),
        {'tolerance': PathTolerance(position=((-0.01,) * 3, (0.01,) * 3))},
    ),
    'five joints': (
        *('ur5e', from_on(across(), 26, across() + LIFT), 26),
        {'locked': {'wrist_3_joint': 0.4}, 'spin_axis': Z_AXIS},
    ),
}


@pytest.mark.parametrize('name', OUT_OF_REACH)
def test_reasons_out_of_reach(arms, name):
    arm, poses, at, settings = OUT_OF_REACH[name]
    path = plan(arms, arm, poses, **settings)
    assert (path.valid, path.cause, path.failed_waypoint) == (False, Cause.UNREACHABLE, at)


def test_a_tool_above_the_shoulder_has_no_posture(arms):
    """The wrist of a UR5e is never nearer to the first axis than 0.1333 m; the tool points down, below its wrist."""
    poses = line((0.6, 0.0, 0.3), (0.0, 0.0, 0.3), 61)
    at = int(np.flatnonzero(poses[:, 0, 3] < 0.1333)[0])
    path = plan(arms, 'ur5e', poses)
    assert (path.valid, path.cause, path.failed_waypoint) == (False, Cause.NOT_FOUND, at)


@pytest.mark.parametrize(('joint', 'end'), [(0, 3.3), (5, -0.6), (6, -3.2)])
def test_reasons_of_limits(arms, joint, end):
    """The tool goes where one joint leads it, beyond its limit; with joint 3 locked there are finitely many postures."""
    chain = ToolChain(arms[0]['panda'], arms[1]['panda'])
    serial, last = chain.chain, MIDDLE.copy()
    last[joint] = end
    q = MIDDLE + np.linspace(0.0, 1.0, COUNT)[:, None] * (last - MIDDLE)
    outside = ((q < serial.lower) | (q > serial.upper)).any(axis=1)
    settings = {'locked': {'panda_joint3': MIDDLE[2]}, 'start': np.delete(MIDDLE, 2)}
    path = plan(arms, 'panda', chain.poses(q), **settings)
    assert (path.valid, path.cause) == (False, Cause.LIMITS)
    assert path.failed_waypoint == np.argmax(outside) > 0


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_reasons_of_turns_from_a_given_winding(arms, sign):
    chain = ToolChain(arms[0]['ur5e'], arms[1]['ur5e'])
    start = np.array([-0.7, -1.6, 1.8, -1.8, -1.6, 0.3])
    angles = sign * np.linspace(0.0, 8.0, COUNT)
    poses = turned(np.repeat(chain.pose(start)[None], COUNT, axis=0), Z_AXIS, angles)
    path = plan(arms, 'ur5e', poses, start=start)
    at = int(np.argmax(np.abs(start[5] + angles) > 2.0 * np.pi))
    assert (path.valid, path.cause, path.failed_waypoint) == (False, Cause.LIMITS, at)
    assert 'wrist_3_joint' in path.reason and ('upper' if sign > 0.0 else 'lower') in path.reason


def postures(chain, poses):
    """Return all postures of an arm of six joints at each waypoint."""
    m = len(poses)
    solutions = chain.find_postures(poses, np.zeros((m, chain.outer)), np.zeros((m, 1)))
    return [solutions.q[solutions.owners == k] for k in range(m)]


def first_not_joined(layers, largest):
    """Return the first waypoint that no steps from the start lead to; limits are ignored."""
    reached = layers[0]
    for at in range(1, len(layers)):
        steps = layers[at][:, None] - reached[None]
        steps = np.abs(np.mod(steps + np.pi, 2.0 * np.pi) - np.pi)
        reached = layers[at][(steps <= largest[at - 1] + 1e-9).all(axis=2).any(axis=1)]
        if not len(reached):
            return at
    return -1


PAST_THE_BASE = line((0.16, -0.6, 0.3), (0.16, 0.6, 0.3), 121)
STEPS = {
    'a turn of the tool': (turned(across(), Z_AXIS, 0.5 * (np.arange(COUNT) >= 13)), {}),
    'a speed of the whole path': (across(), {'tool_speed': 5.0}),
    'a speed near the first axis': (PAST_THE_BASE, {'tool_speed': 0.5}),
    'a small step that is asked for': (PAST_THE_BASE, {'largest_turn': 0.062}),
}


@pytest.mark.parametrize('name', STEPS)
def test_reasons_of_steps(arms, name):
    poses, settings = STEPS[name]
    largest = np.full(len(poses) - 1, settings.get('largest_turn', 0.35))
    if 'tool_speed' in settings:
        lengths = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
        largest = np.minimum(largest, np.pi * lengths / settings['tool_speed'])
    chain = ToolChain(arms[0]['ur5e'], arms[1]['ur5e'])
    at = first_not_joined(postures(chain, poses), largest[:, None, None])
    path = plan(arms, 'ur5e', poses, **settings)
    assert (path.valid, path.cause) == (False, Cause.CONSISTENCY)
    assert path.failed_waypoint == at > 0


def test_halves_on_different_self_motions(arms):
    poses = turned(across(), X_AXIS, 2.0 * (np.arange(COUNT) >= 13))
    path = plan(arms, 'panda', poses)
    assert (path.valid, path.cause, path.failed_waypoint) == (False, Cause.CONSISTENCY, 13)
    assert 'self-motions' in path.reason


def test_a_closed_path_that_cannot_close(arms):
    """The tool ends as it began, after a whole turn: no other joint of the UR5e can take that back."""
    start = across()[:1]
    poses = turned(np.repeat(start, COUNT, axis=0), Z_AXIS, np.linspace(0.0, 2 * np.pi, COUNT))
    path = plan(arms, 'ur5e', poses, is_closed=True)
    assert (path.valid, path.cause) == (False, Cause.CONSISTENCY)
    assert path.failed_waypoint == COUNT - 1 and 'wrist_3_joint' in path.reason


def test_ends_on_different_branches(arms):
    chain = ToolChain(arms[0]['ur5e'], arms[1]['ur5e'])
    whole = plan(arms, 'ur5e', across()).positions
    others = [q for q in postures(chain, across()[-1:])[0] if np.abs(q - whole[-1]).max() > 1.0]
    path = plan(arms, 'ur5e', across(), start=whole[0], end=others[0])
    assert (path.valid, path.cause) == (False, Cause.CONSISTENCY)
    assert path.failed_waypoint == COUNT - 1


COLLISIONS = {
    'a wall': ([box((2.0, 0.01, 3.0), (1.1, 0.1, 0.5), 'thing')], 0.0),
    'a block around a waypoint': ([box((0.1,) * 3, (0.45, 0.05, 0.4), 'thing')], 0.0),
    'a clearance': ([box((0.1,) * 3, (0.45, 0.05, 0.4), 'thing')], 0.03),
    'a block around the start': ([box((0.1,) * 3, (0.45, -0.2, 0.4), 'thing')], 0.0),
    'a slab from a waypoint on': ([box((2.0, 0.6, 0.02), (0.9, 0.35, 0.4), 'thing')], 0.0),
    'the arm itself': ([], 0.0),
}


@pytest.mark.parametrize('name', COLLISIONS)
def test_reasons_of_collisions(arms, name):
    """The first waypoint at which the collision library finds no free posture."""
    obstacles, clearance = COLLISIONS[name]
    poses = across() if obstacles else line((0.35, 0.0, 0.15), (0.14, 0.0, 0.15), 22)
    request = ToolPathRequest(obstacles=obstacles, clearance=clearance)
    exact = ToolPathPlanner(arms[0]['ur5e'], arms[1]['ur5e'], request).obstacles[1]
    chain = ToolChain(arms[0]['ur5e'], arms[1]['ur5e'])
    layers = postures(chain, poses)
    assert all(map(len, layers))
    free = [any(not exact.is_colliding(q) for q in layer) for layer in layers]
    path = plan(arms, 'ur5e', poses, obstacles=obstacles, clearance=clearance)
    assert (path.valid, path.cause) == (False, Cause.COLLISION)
    assert path.failed_waypoint == int(np.argmin(free))
    assert ('thing' if obstacles else 'shoulder_link') in path.reason
