"""Tool paths that no arm can follow: the waypoint and the cause are right."""

import time

from made_paths import box, line, robot
import numpy as np
import pytest

from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.paths.planner import plan_tool_path
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


@pytest.mark.parametrize('at', [10, 30])
def test_turns_beyond_the_limits_of_the_last_joint(arms, at):
    # The last joint of the Panda turns 332 degrees; the tool turns twice about its own axis.
    poses = np.repeat(across()[:1], COUNT, axis=0)
    for pose, turn in zip(poses[at:], np.linspace(0.0, 4.0 * np.pi, COUNT - at), strict=True):
        pose[:3, :3] = pose[:3, :3] @ rotate_about(np.array([0.0, 0.0, 1.0]), turn)
    path = plan(arms, 'panda', poses, largest_turn=0.6)
    assert not path.valid
    assert path.cause in (Cause.LIMITS, Cause.CONSISTENCY)
    assert path.failed_waypoint > at
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
    assert path.cause in (Cause.LIMITS, Cause.UNREACHABLE, Cause.NOT_FOUND)
    assert path.failed_waypoint == 0


@pytest.mark.parametrize('name', [pytest.param('panda', marks=pytest.mark.slow), 'ur5e'])
def test_a_plan_asks_often_whether_it_is_cancelled(arms, name):
    asked = []

    def is_cancelled():
        asked.append(time.process_time())
        return False

    poses = line((0.45, -0.2, 0.4), (0.45, 0.2, 0.4), 400)
    path = plan(arms, name, poses, spin_axis=(0, 0, 1), obstacles=[], is_cancelled=is_cancelled)
    assert path.valid
    assert len(asked) > 100 and np.quantile(np.diff(asked), 0.98) < 0.05
