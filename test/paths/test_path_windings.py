"""Windings of joints with more than one turn of range: chosen where they are needed, kept from waypoint to waypoint."""

from test.paths.made_paths import line, robot

import numpy as np
import pytest

from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import ToolPathRequest
from ssik_ros.paths.search.waypoint_search import WaypointSearch
from ssik_ros.results import Cause

TURN = 2.0 * np.pi
LAST = 5
"""The last wrist joint of the UR5e: two turns of range."""
PLACE = line((0.3, 0.2, 0.4), (0.3, 0.2, 0.4), 2)[0]


@pytest.fixture(scope='module')
def ur5e():
    """Return the UR5e."""
    return robot('ur5e')


def group_of(model):
    """Return the group of the arm."""
    return next(group for group in model.groups.values() if len(group.joint_names) == 6)


def turned(turns):
    """Return poses in one place, the tool turned about its axis."""
    poses = np.repeat(PLACE[None], len(turns), axis=0)
    for pose, turn in zip(poses, turns, strict=True):
        pose[:3, :3] = pose[:3, :3] @ rotate_about(np.array([0.0, 0.0, 1.0]), turn)
    return poses


def assert_continuous(path, model):
    """Check limits and steps."""
    planner = ToolPathPlanner(model, group_of(model), ToolPathRequest())
    serial = planner.chain.chain
    assert path.valid, path.reason
    assert ((path.positions >= serial.lower) & (path.positions <= serial.upper)).all()
    for each in path.stretches:
        if not each.is_travel:
            assert np.abs(np.diff(each.positions, axis=0)).max() <= 0.35


def posture_at(model, last):
    """Return a posture at the place with the last joint in a given winding."""
    q = plan_tool_path(model, group_of(model), turned(np.zeros(2))).positions[0].copy()
    q[LAST] += TURN * np.round((last - q[LAST]) / TURN)
    return q


def direction(model):
    """Return by how much the last joint turns per turn of the tool, 1 or -1."""
    q = plan_tool_path(model, group_of(model), turned([0.0, 0.1])).positions[:, LAST]
    return np.sign(q[1] - q[0])


@pytest.mark.parametrize('begin', [0.0, 1.5, 3.0])
def test_a_path_keeps_the_winding_of_its_end(ur5e, begin):
    """All branches cost the same, so the path may end near the middle of the range, where no other winding fits."""
    poses = turned(begin + np.linspace(0.0, 1.0, 12))
    free = plan_tool_path(ur5e, group_of(ur5e), poses)
    ends = [free.positions[-1].copy() for _ in range(2)]
    for end, winding in zip(ends, (-TURN, TURN), strict=True):
        end[LAST] += winding
        if abs(end[LAST]) + 1.0 > TURN:
            continue
        path = plan_tool_path(ur5e, group_of(ur5e), poses, end=end)
        assert_continuous(path, ur5e)
        assert np.abs(path.positions[-1] - end).max() < 1e-9
        assert path.cost == pytest.approx(free.cost, rel=1e-9)
        return
    assert begin == 0.0, 'no second winding within the limits'


def test_a_joint_at_its_limit_cannot_go_on_within_a_pass(ur5e):
    sign = direction(ur5e)
    start = posture_at(ur5e, sign * (TURN - 0.5))
    poses = turned(np.linspace(0.0, 4.0, 40))
    path = plan_tool_path(ur5e, group_of(ur5e), poses, start=start)
    assert not path.valid
    assert path.cause is Cause.LIMITS and 'wrist_3_joint' in path.reason
    free = plan_tool_path(ur5e, group_of(ur5e), poses)
    assert_continuous(free, ur5e)


def test_a_joint_turns_back_between_passes_where_it_must(ur5e):
    sign = direction(ur5e)
    start = posture_at(ur5e, sign * (TURN - 0.5))
    poses = np.concatenate([turned(np.zeros(3)), turned(np.linspace(0.0, 4.0, 40))])
    path = plan_tool_path(ur5e, group_of(ur5e), poses, start=start, passes=[3])
    assert_continuous(path, ur5e)
    assert np.abs(path.positions[0] - start).max() < 1e-9
    assert sign * (path.positions[2, LAST] - path.positions[3, LAST]) > 0.0
    room = plan_tool_path(ur5e, group_of(ur5e), poses[3:])
    assert path.cost < room.cost + 2.0 * TURN


def test_a_plan_leaves_no_windings_behind(ur5e):
    planner = ToolPathPlanner(ur5e, group_of(ur5e), ToolPathRequest())
    poses = turned(np.linspace(0.0, 3.0, 20))
    first = planner.plan(poses)
    assert not planner.plan(turned(np.linspace(0.0, 2.2 * TURN, 90))).valid
    assert planner.plan(poses).positions.tobytes() == first.positions.tobytes()


def test_a_search_tells_windings_apart_in_limits_of_its_own(ur5e):
    planner = ToolPathPlanner(ur5e, group_of(ur5e), ToolPathRequest())
    task = planner.task(turned(np.linspace(0.0, 2.2 * TURN, 90)))
    before = task.limits.turning.copy()
    outcome = WaypointSearch(task, (None, None)).run()
    assert outcome.failure is not None
    assert before[LAST] == 1 and outcome.limits.turning[LAST] == 0
    assert np.array_equal(task.limits.turning, before)
