"""Free travel between passes: free by the collision library, within limits and speeds, or the pass that is not joined."""

import itertools

from test.paths.made_paths import box, line, robot

import numpy as np
import pytest

from ssik_ros.kernels.paths import layers as kernels
from ssik_ros.paths import steps, travel
from ssik_ros.paths.control import PlanStopped
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathObjective, ToolPathRequest
from ssik_ros.paths.search.waypoint_search import WaypointSearch
from ssik_ros.paths.travel import TravelResult
from ssik_ros.results import Cause

FIRST = line((0.4, -0.45, 0.3), (0.4, -0.2, 0.3), 12)
SECOND = line((0.4, 0.2, 0.3), (0.4, 0.45, 0.3), 12)
POSES = np.concatenate([FIRST, SECOND])


def walls(gap, height):
    """Return a wall at x = 0.9 + gap and a wall at x = -0.9 - gap."""
    places = {'front wall': 0.9 + gap, 'back wall': -0.9 - gap}
    return [box((1.8, 0.02, height), (x, 0.0, 0.5 * height), name) for name, x in places.items()]


LOW_WALLS = walls(0.3, 0.5)


@pytest.fixture(scope='module')
def ur5e():
    """Return the UR5e."""
    return robot('ur5e')


def group_of(model):
    """Return the group of an arm."""
    return next(group for group in model.groups.values() if len(group.joint_names) in (6, 7))


def collides_somewhere(planner, path, parts=200):
    """Return whether a joint path collides by the collision library, looked at densely."""
    exact = planner.obstacles[1]
    for a, b in itertools.pairwise(path):
        if any(exact.is_colliding(a + t * (b - a)) for t in np.linspace(0.0, 1.0, parts)):
            return True
    return False


def test_walls_between_two_passes_are_led_around(ur5e):
    group = group_of(ur5e)
    straight = plan_tool_path(ur5e, group, POSES, passes=[12])
    request = ToolPathRequest(passes=[12], obstacles=LOW_WALLS)
    path = plan_tool_path(ur5e, group, POSES, request)
    planner = ToolPathPlanner(ur5e, group, request)
    first, between, second = path.stretches
    assert path.valid and between.is_travel and not (first.is_travel or second.is_travel)
    assert (between.first, between.last, second.first, second.last) == (11, 12, 12, 23)
    assert collides_somewhere(planner, path.positions[[11, 12]]), 'the walls are in no way'
    assert not collides_somewhere(planner, between.positions)
    serial = planner.chain.chain
    assert ((between.positions >= serial.lower) & (between.positions <= serial.upper)).all()
    assert np.array_equal(between.positions[[0, -1]], path.positions[[11, 12]])
    parts = [np.abs(np.diff(each.positions, axis=0)).sum() for each in path.stretches]
    assert path.cost == pytest.approx(sum(parts)) and path.cost > straight.cost
    assert path.lower_bound <= path.cost


def test_travel_is_no_faster_than_the_joints_and_its_time_counts(ur5e):
    request = ToolPathRequest(
        passes=[12], obstacles=LOW_WALLS, objective=PathObjective.TIME, tool_speed=0.05
    )
    path = plan_tool_path(ur5e, group_of(ur5e), POSES, request)
    planner = ToolPathPlanner(ur5e, group_of(ur5e), request)
    velocity = ur5e.tree.velocity[planner.chain.chain.idx_q]
    times = np.concatenate([each.times for each in path.stretches])
    assert path.valid and (np.diff(times) >= 0.0).all()
    for each in path.stretches:
        speeds = np.abs(np.diff(each.positions, axis=0)) / np.diff(each.times)[:, None]
        assert (speeds <= velocity * (1.0 + 1e-9)).all()
    assert path.stretches[1].times[-1] == pytest.approx(path.times[12])


def test_the_same_way_is_found_again(ur5e):
    paths = [
        plan_tool_path(ur5e, group_of(ur5e), POSES, passes=[12], obstacles=LOW_WALLS)
        for _ in range(2)
    ]
    first, again = (path.stretches[1].positions.tobytes() for path in paths)
    assert first == again


def test_a_caller_refuses_corners(ur5e):
    group = group_of(ur5e)
    settings = {'passes': [12], 'obstacles': LOW_WALLS}
    free = plan_tool_path(ur5e, group, POSES, **settings)
    both = np.hstack([free.positions, -free.positions])
    detour = np.hstack([free.stretches[1].positions, -free.stretches[1].positions])
    excess = detour.max(axis=0) - both.max(axis=0)
    side = int(np.argmax(excess))
    most = both.max(axis=0)[side] + 0.5 * excess[side]

    def accepts(q):
        return bool(np.append(q, -q)[side] <= most)

    assert not all(map(accepts, free.stretches[1].positions))
    path = plan_tool_path(ur5e, group, POSES, accepts=accepts, **settings)
    assert path.valid and np.array_equal(path.positions, free.positions)
    assert all(map(accepts, path.stretches[1].positions))


def test_passes_that_walls_part_are_named(ur5e, monkeypatch):
    monkeypatch.setattr(travel, 'MOST_TRIES', 100)
    path = plan_tool_path(ur5e, group_of(ur5e), POSES, passes=[12], obstacles=walls(0.12, 3.0))
    assert not path.valid
    assert (path.cause, path.failed_waypoint) == (Cause.COLLISION, 12)
    assert 'Passes 1 and 2 are not joined' in path.reason and 'wall' in path.reason
    assert (path.first_waypoint, len(path.positions)) == (0, 12)
    assert path.stretches == ()


def test_a_deadline_before_the_passes_are_joined_leaves_a_pass(ur5e, monkeypatch):
    def find(*_):
        raise PlanStopped('the budget of 1 s is used up')

    monkeypatch.setattr(travel.TravelSearch, 'find', find)
    path = plan_tool_path(ur5e, group_of(ur5e), POSES, passes=[12], obstacles=LOW_WALLS)
    assert (path.valid, path.cause) == (False, Cause.DEADLINE)
    assert path.reason == 'The passes are not joined yet: the budget of 1 s is used up.'
    assert (path.first_waypoint, len(path.positions), path.stretches) == (0, 12, ())


def test_a_piece_ends_where_its_travel_is_blocked(ur5e):
    """The longest piece of a path that cannot go on does not lead through walls between passes."""
    far = np.concatenate([FIRST, SECOND])
    far[-1, 0, 3] = 3.0
    free = plan_tool_path(ur5e, group_of(ur5e), far, passes=[12])
    assert (free.first_waypoint, len(free.positions)) == (0, 23)
    path = plan_tool_path(ur5e, group_of(ur5e), far, passes=[12], obstacles=LOW_WALLS)
    assert (path.cause, path.failed_waypoint) == (Cause.UNREACHABLE, 23)
    assert (path.first_waypoint, len(path.positions)) == (0, 12)


def test_other_postures_are_taken_where_one_is_shut_in(ur5e):
    planner = ToolPathPlanner(ur5e, group_of(ur5e), ToolPathRequest(passes=[12]))
    task = planner.task(POSES)
    best = WaypointSearch(task, (None, None)).run().q

    class ShutIn:
        """Finds no way to the elbow of the best path."""

        def find(self, start, end):
            same = np.abs(end - best[12]).max() < 0.5
            return (
                TravelResult(None, 1, -1, False)
                if same
                else TravelResult(np.array([start, end]), 1, -1, False)
            )

    outcome = WaypointSearch(task._replace(travel=ShutIn()), (None, None)).run()
    assert outcome.failure is None and np.abs(outcome.q[12] - best[12]).max() > 0.5
    assert outcome.cost >= np.abs(np.diff(best, axis=0)).sum() - 1e-9


def test_a_path_of_one_pass_is_one_stretch(ur5e):
    path = plan_tool_path(ur5e, group_of(ur5e), FIRST)
    (only,) = path.stretches
    assert not only.is_travel and np.array_equal(only.positions, path.positions)
    assert (only.first, only.last) == (0, 11)


def test_the_largest_speed_is_that_of_passes(ur5e):
    largest = PathObjective.LARGEST_SPEED
    group = group_of(ur5e)
    apart = [plan_tool_path(ur5e, group, each, objective=largest).cost for each in (FIRST, SECOND)]
    path = plan_tool_path(ur5e, group, POSES, objective=largest, passes=[12])
    assert path.cost == pytest.approx(max(apart), rel=1e-2)


@pytest.mark.parametrize(
    ('objective', 'cost'),
    [
        (kernels.SUM_OF_STEPS, 4.0),
        (kernels.SUM_OF_SQUARES, (np.sqrt(5.0) + 1.0) ** 2),
        (kernels.LARGEST_STEP, 0.0),
        (kernels.SUM_OF_LARGEST, 3.0),
    ],
)
def test_travel_costs_what_the_weights_of_the_objective_say(objective, cost):
    path = np.array([[0.0, 0.0], [1.0, -2.0], [1.0, 0.0]])
    assert steps.travel_cost(path, np.array([2.0, 0.5]), objective) == pytest.approx(cost)
