"""``compute_cartesian_path`` of a redundant arm: where stepping along the line ends at a limit, a planned path goes on."""

from test.server.served_robots import errors_between, make_server, true_pose

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_requests import PathRequest
from ssik_ros.server.requests.constraints import ConstraintsGiven, JointConstraintGiven
from ssik_ros.server.requests.refusals import Refusal

GROUP, TIP = 'panda_arm', 'panda_link8'
CASES = {
    'turn': (
        (-1.4484, -0.992, -2.2615, -0.6568, 2.2652, 1.0727, -1.0843),
        (0.0, 0.0, 0.0),
        (0.0, 0.0, -2.2),
    ),
    'late': (
        (2.31, -1.02, -0.75, -2.02, -0.19, 1.38, 1.8),
        (0.1, -0.21, 0.03),
        (-0.63, 0.81, -0.58),
    ),
    'early': (
        (-0.16, 0.88, 2.11, -1.33, -0.2, 0.36, 2.08),
        (0.03, -0.17, -0.11),
        (-1.52, -0.84, 0.38),
    ),
    'middle': (
        (-1.77, 0.56, -1.01, -2.3, -0.56, 2.92, 1.47),
        (0.09, -0.23, 0.12),
        (0.56, 1.64, -1.14),
    ),
}
"""Postures, and motions of the tip in its own frame [m], [rad], which the search from sample to sample does not finish."""


@pytest.fixture(scope='module')
def servers(robots):
    """Return a server that asks the planner, and one that does not."""
    made = [make_server(robots['panda'], [robots['panda'].group(GROUP)]) for _ in range(2)]
    made[1].planning_timeout = 0.0
    return made


def case_of(server, q, shift, turn=(0.0, 0.0, 0.0), **fields):
    """Return a request along one line, and where the robot is."""
    moved = pose_matrix(np.array(shift), Rotation.from_rotvec(turn).as_matrix())
    current = server.groups[GROUP].with_group(server.states.default(), np.array(q))
    target = true_pose(server.robot, current, TIP) @ moved
    return PathRequest(GROUP, [target], **{'max_step': 0.01, **fields}), current


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.mark.sampled
def test_a_planned_path_goes_on_where_stepping_ends(servers, case):
    planned, plain = servers
    request, current = case_of(plain, *case)
    ended = plain.follow_path(request, current)
    assert 0.0 < ended.fraction < 1.0
    response = planned.follow_path(request, current)
    assert (response.fraction, response.refusal, response.cause) == (1.0, Refusal.NONE, Cause.NONE)
    assert 'A planned path' in response.text
    group, q = planned.groups[GROUP].group, response.path.positions
    assert np.array_equal(q[0], current.positions[group.idx_q])
    assert (q >= group.lower - 1e-9).all() and (q <= group.upper + 1e-9).all()
    assert np.abs(np.diff(q, axis=0)).max() <= 0.35
    last = true_pose(planned.robot, planned.groups[GROUP].with_group(current, q[-1]), TIP)
    assert max(errors_between(last, request.waypoints[0])) < 1e-6
    assert (np.diff(response.path.times) > 0.0).all()
    again = planned.follow_path(request, current)
    assert again.path.positions.tobytes() == q.tobytes()


def test_the_link_is_on_the_line_between_the_samples_too(servers, case):
    planned, _ = servers
    request, current = case_of(planned, *case)
    q = planned.follow_path(request, current).path.positions
    ends = [true_pose(planned.robot, current, TIP), request.waypoints[0]]
    axis = ends[1][:3, 3] - ends[0][:3, 3]
    length = float(np.linalg.norm(axis))
    for row in np.concatenate([q, 0.5 * (q[1:] + q[:-1])]):
        state = planned.groups[GROUP].with_group(current, row)
        offset = true_pose(planned.robot, state, TIP)[:3, 3] - ends[0][:3, 3]
        along = 0.0 if length < 1e-9 else min(max(offset @ axis / length**2, 0.0), 1.0)
        assert np.linalg.norm(offset - along * axis) < 1.1e-3


@pytest.mark.parametrize('seed', range(4))
def test_what_stepping_finishes_keeps_its_bytes_and_the_fraction_never_falls(servers, seed):
    planned, plain = servers
    group, rng = planned.groups[GROUP].group, np.random.default_rng(seed)
    for _ in range(4):
        q = group.lower + (group.upper - group.lower) * rng.uniform(0.1, 0.9, 7)
        request, current = case_of(plain, q, rng.normal(size=3) * 0.1, max_step=0.02)
        before, after = (server.follow_path(request, current) for server in (plain, planned))
        assert after.fraction >= before.fraction
        if before.fraction == 1.0:
            assert before.path.positions.tobytes() == after.path.positions.tobytes()
            assert before.text == after.text


def test_jump_thresholds_hold_for_planned_paths(servers):
    planned, _ = servers
    request, current = case_of(planned, *CASES['middle'], revolute_jump=0.03)
    response = planned.follow_path(request, current)
    assert response.fraction == 1.0 and 'A planned path' in response.text
    assert np.abs(np.diff(response.path.positions, axis=0)).max() <= 0.03 + 1e-9
    mean, current = case_of(planned, *CASES['middle'], jump_threshold=1.5)
    steps = np.abs(np.diff(planned.follow_path(mean, current).path.positions, axis=0)).sum(axis=1)
    assert (steps <= 1.5 * (steps.sum() - steps) / max(1, len(steps) - 1) + 1e-9).all()


@pytest.mark.slow
def test_constraints_hold_for_planned_paths(servers):
    planned, _ = servers
    request, current = case_of(planned, *CASES['middle'])
    free = planned.follow_path(request, current).path.positions
    joint = int(np.argmax(np.ptp(free, axis=0)))
    name = planned.groups[GROUP].group.variable_names[joint]
    middle, width = free[0, joint], 0.6 * np.abs(free[:, joint] - free[0, joint]).max()
    kept = ConstraintsGiven(joints=(JointConstraintGiven(name, middle, width, width),))
    bound, current = case_of(planned, *CASES['middle'], constraints=kept)
    response = planned.follow_path(bound, current)
    assert (np.abs(response.path.positions[:, joint] - middle) <= width + 1e-6).all()
    assert response.fraction < 1.0 or np.abs(free[:, joint] - middle).max() > width


def test_collisions_hold_for_planned_paths(servers):
    planned, _ = servers
    request, current = case_of(planned, *CASES['middle'])
    free = planned.follow_path(request, current).path.positions
    half = free[len(free) // 2]
    elbow = true_pose(
        planned.robot, planned.groups[GROUP].with_group(current, half), 'panda_link4'
    )
    ball = ObjectShape(SolidKind.SPHERE, (0.03,), np.eye(4))
    planned.scene.world.add(WorldObject('ball', pose_matrix(elbow[:3, 3], np.eye(3)), (ball,)))
    try:
        aware, current = case_of(planned, *CASES['middle'], avoid_collisions=True)
        response = planned.follow_path(aware, current)
        finder = planned.scene.collisions.finder(planned.scene.world.now())
        server = planned.groups[GROUP]
        assert not any(finder(server.with_group(current, q)) for q in response.path.positions[1:])
        assert any(finder(server.with_group(current, q)) for q in free), 'the ball is in no way'
    finally:
        planned.scene.world.remove('ball')


def test_the_planner_is_not_asked_without_a_budget_nor_for_six_joints(servers, robots):
    _, plain = servers
    request, current = case_of(plain, *CASES['turn'])
    assert 'planne' not in plain.follow_path(request, current).text
    fanuc = make_server(robots['fanuc'], [robots['fanuc'].group('manipulator')])
    here = fanuc.states.default()
    target = true_pose(fanuc.robot, here, 'tool0') @ pose_matrix(np.array([9.0, 0, 0]), np.eye(3))
    text = fanuc.follow_path(PathRequest('manipulator', [target], max_step=0.01), here).text
    assert 'planne' not in text


def test_a_cancelled_server_ends_the_planner(servers):
    planned, _ = servers
    request, current = case_of(planned, *CASES['turn'])
    planned.cancel[0] = 1
    try:
        assert planned.follow_path(request, current).cause == Cause.DEADLINE
    finally:
        planned.cancel[0] = 0
