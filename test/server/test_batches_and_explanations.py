"""Many poses at once, and why poses have no solution, against single requests and constructed truth."""

import math

from test.server.served_robots import (
    errors_between,
    ik_request,
    joint,
    make_server,
    pose_of,
    random_full_state,
    robot_text,
    serve,
    torso_robot,
    true_pose,
)

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.server.groups.batches import BatchRequest, read_poses
from ssik_ros.server.requests.constraints import ConstraintsGiven, JointConstraintGiven
from ssik_ros.server.requests.ik_requests import IkRequest, StateGiven
from ssik_ros.server.requests.refusals import Refusal, RequestRefused

ARM, TIP = 'panda_arm', 'panda_link8'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
FAR = pose_of((9.0, 0.0, 0.0))


@pytest.fixture
def server(robots):
    return serve(robots['panda'], ARM)


@pytest.fixture
def ready(server):
    return server.groups[ARM].with_group(server.states.default(), READY)


def numbers(poses):
    rows = [[*p[:3, 3], *Rotation.from_matrix(p[:3, :3]).as_quat()] for p in poses]
    return np.array(rows).ravel()


def reachable(server, current, count):
    rng = np.random.default_rng(4)
    states = [
        current._replace(positions=random_full_state(server.robot, rng).positions)
        for _ in range(count)
    ]
    return [true_pose(server.robot, state, TIP) for state in states]


# Batches


def test_quaternions_of_any_length_are_read_as_scipy_reads_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 7))
    for scale in (1.0, 1e-200, 1e200):
        scaled = rows.copy()
        scaled[:, 3:] *= scale
        poses = read_poses(scaled.ravel())
        for row, pose in zip(rows, poses, strict=True):
            assert np.allclose(pose[:3, :3], Rotation.from_quat(row[3:]).as_matrix(), atol=1e-12)
            assert np.array_equal(pose[:3, 3], row[:3])
    spoilt = rows[:3].copy()
    spoilt[0, 3:] = 0.0
    spoilt[1, 4] = math.nan
    spoilt[2, 0] = math.inf
    assert not np.isfinite(read_poses(spoilt.ravel())).all(axis=(1, 2)).any()


@pytest.mark.parametrize('frame', ['', 'panda_link0', 'panda_hand'])
def test_each_pose_is_solved_as_in_a_request_of_its_own(server, ready, frame):
    poses = [*reachable(server, ready, 20), FAR]
    framed = np.eye(4) if frame == '' else true_pose(server.robot, ready, frame)
    local = [np.linalg.inv(framed) @ pose for pose in poses]
    response = server.solve_batch(BatchRequest(ARM, numbers(local), frame), ready)
    assert response.refusal is Refusal.NONE and response.solved_count == 20
    assert response.causes[-1] == Cause.UNREACHABLE and np.isnan(response.positions[-1]).all()
    for pose, q, errors in zip(poses[:-1], response.positions, response.errors):
        state = server.groups[ARM].with_group(ready, q)
        measured = errors_between(true_pose(server.robot, state, TIP), pose)
        assert np.hypot(*measured) <= 1e-3 + 1e-9
        assert np.allclose(errors, measured, atol=1e-6)
    if not frame:
        alone = server.solve(ik_request(ARM, [('', poses[0])]), ready)
        assert np.allclose(alone.state.positions[:7], response.positions[0], atol=1e-9)


def test_a_batch_may_go_on_from_the_last_solution(server, ready):
    here = true_pose(server.robot, ready, TIP)
    poses = [here @ pose_of((0.0, 0.0, -0.02 * k)) for k in range(15)]
    poses.insert(7, FAR)
    asked = BatchRequest(ARM, numbers(poses), seed_from_previous=True)
    response = server.solve_batch(asked, ready)
    q = response.positions[~np.isnan(response.positions[:, 0])]
    assert len(q) == 15 and np.abs(np.diff(q, axis=0)).max() < 0.2


def test_poses_that_are_none_spoil_only_themselves(server, ready):
    flat = numbers(reachable(server, ready, 3))
    flat[7] = math.nan
    response = server.solve_batch(BatchRequest(ARM, flat), ready)
    assert response.causes.tolist() == [Cause.NONE, Cause.BAD_TARGET, Cause.NONE]


def test_the_deadline_is_shared(server, ready):
    flat = numbers(reachable(server, ready, 50))
    response = server.solve_batch(BatchRequest(ARM, flat, timeout=1e-9), ready)
    assert (response.causes == Cause.DEADLINE).all() and response.solved_count == 0
    assert server.solve_batch(BatchRequest(ARM, flat), ready).solved_count == 50


def test_candidates_of_a_batch_are_checked(server, ready):
    here = true_pose(server.robot, ready, TIP)
    ball = ObjectShape(SolidKind.SPHERE, (0.3,), np.eye(4))
    server.scene.world.add(WorldObject('block', here, (ball,)))
    asked = BatchRequest(ARM, numbers([here]), avoid_collisions=True)
    assert server.solve_batch(asked, ready).causes.tolist() == [Cause.COLLISION]
    asked.avoid_collisions = False
    assert server.solve_batch(asked, ready).solved_count == 1


def test_no_poses_give_an_empty_response(server, ready):
    response = server.solve_batch(BatchRequest(ARM, np.empty(0)), ready)
    assert response.refusal is Refusal.NONE and response.positions.shape == (0, 7)


@pytest.mark.parametrize(
    ('fields', 'refusal'),
    [
        ({'group': 'nobody'}, Refusal.UNKNOWN_GROUP),
        ({'state': StateGiven(('ghost',), (1.0,))}, Refusal.BAD_STATE),
        ({'poses': np.zeros(8)}, Refusal.GOAL_COUNT),
        ({'poses': np.zeros(700_007)}, Refusal.GOAL_COUNT),
        ({'frame': 'nowhere'}, Refusal.UNKNOWN_FRAME),
        ({'link': 'thumb'}, Refusal.UNKNOWN_LINK),
    ],
)
def test_what_is_wrong_with_a_batch_is_told(server, ready, fields, refusal):
    asked = BatchRequest(**{'group': ARM, 'poses': numbers([np.eye(4)]), **fields})
    response = server.solve_batch(asked, ready)
    assert response.refusal is refusal and response.text and not len(response.causes)


def test_too_many_numbers_are_refused_before_anything_is_made():
    with pytest.raises(RequestRefused):
        read_poses(np.zeros(7 * 100_001))


def test_a_group_of_several_tips_moves_the_one_that_is_named():
    robot = torso_robot()
    server = serve(robot, 'arms')
    current = server.states.default()
    rng = np.random.default_rng(3)
    there = current._replace(positions=random_full_state(robot, rng).positions)
    moved = server.groups['arms'].with_group(current, there.positions[robot.group('arms').idx_q])
    pose = true_pose(robot, moved, 'left_tool')
    right = true_pose(robot, current, 'right_tool')
    response = server.solve_batch(BatchRequest('arms', numbers([pose]), link='left_tool'), current)
    assert response.solved_count == 1, response.causes
    end = server.groups['arms'].with_group(current, response.positions[0])
    assert np.hypot(*errors_between(true_pose(robot, end, 'left_tool'), pose)) < 2e-3
    assert np.hypot(*errors_between(true_pose(robot, end, 'right_tool'), right)) < 2e-3


# Explanations


def explain(server, current, target, group=ARM, **more):
    return server.explain(
        IkRequest(group, [''], ik_request(group, [('', target)]).poses, **more), current
    )


def pan():
    """Return a pan and a lift with narrow limits, for requests that exceed them by a known amount."""
    text = robot_text(
        joint('pan', 'revolute', 'l0', 'l1', '0 0 0.2'),
        joint('lift', 'prismatic', 'l1', 'l2', '0.4 0 0', '0 0 1'),
        joint('end', 'fixed', 'l2', 'tip', '0.1 0 0'),
        name='pan',
    )
    robot = load_robot(text)
    group = robot.group_from_links('l0', 'tip', 'arm')
    server = make_server(robot, [group])
    return server, server.states.default()


def test_limits_that_bind_are_named_with_how_far_they_would_have_to_give_way():
    server, current = pan()
    # Limits are -2.8 .. 2.8 for both.
    beyond = server.groups['arm'].with_group(current, np.array([0.5, 3.1]))
    explanation = explain(server, current, true_pose(server.robot, beyond, 'tip'), 'arm')
    assert explanation.cause in (Cause.LIMITS, Cause.NOT_FOUND)
    assert explanation.distance == pytest.approx(0.3, abs=2e-3)
    assert explanation.angle == pytest.approx(0.0, abs=5e-3)
    (limit,) = explanation.limits
    assert (limit.joint, limit.limit, limit.is_angle) == ('lift', 2.8, False)
    assert limit.excess == pytest.approx(0.3, abs=1e-3)
    assert any("'lift'" in line and '0.3 m' in line for line in explanation.advice)


def test_angles_beyond_their_limit_are_given_in_radians():
    server, current = pan()
    beyond = server.groups['arm'].with_group(current, np.array([2.8 + np.radians(4.0), 0.3]))
    explanation = explain(server, current, true_pose(server.robot, beyond, 'tip'), 'arm')
    assert not explanation.solved
    (limit,) = explanation.limits
    assert (limit.joint, limit.limit, limit.is_angle) == ('pan', 2.8, True)
    assert limit.excess == pytest.approx(np.radians(4.0), abs=1e-4)
    assert any(
        "'pan'" in line and f'{math.radians(4.0):.4g} rad' in line for line in explanation.advice
    )
    # The error is shared between place and orientation.
    assert 0.0 < explanation.distance < 0.05 and 0.0 < explanation.angle <= np.radians(4.1)


def test_a_closed_form_explains_by_the_nearest_posture_and_not_by_the_seed(robots, blocked):
    kinematics = {ARM: {'solver': 'ssik_ros/Analytic'}}
    server = serve(robots['panda'], ARM, **kinematics)
    current = server.groups[ARM].with_group(server.states.default(), READY)
    explanation = explain(server, current, blocked)
    assert not explanation.solved
    assert 0.0 < explanation.distance < 0.02 and explanation.angle < 0.02
    assert np.abs(explanation.nearest - READY).max() > 0.1
    far = explain(server, current, FAR)
    assert far.cause is Cause.UNREACHABLE
    assert far.distance == pytest.approx(
        explain(serve(robots['panda'], ARM), current, FAR).distance, abs=1e-3
    )


def test_out_of_reach_has_its_distance_and_blames_no_limit(server, ready):
    explanation = explain(server, ready, FAR)
    assert explanation.cause is Cause.UNREACHABLE
    assert explanation.distance > 7.0
    assert explanation.limits == ()
    assert any('Move the pose by' in line for line in explanation.advice)


def test_a_solution_is_described_too(server, ready):
    target = true_pose(server.robot, ready, TIP)
    explanation = explain(server, ready, target)
    assert explanation.solved and explanation.advice == () and explanation.limits == ()
    assert explanation.joint_names == server.robot.group(ARM).variable_names
    assert explanation.distance <= 1e-3 and np.allclose(explanation.nearest, READY, atol=1e-3)


def test_a_collision_names_both_bodies(server, ready):
    target = true_pose(server.robot, ready, TIP)
    ball = ObjectShape(SolidKind.SPHERE, (0.3,), np.eye(4))
    server.scene.world.add(WorldObject('block', target, (ball,)))
    explanation = explain(server, ready, target, avoid_collisions=True)
    assert explanation.cause is Cause.COLLISION
    assert 'block' in explanation.colliding and len(explanation.colliding) == 2
    assert any("'block'" in line for line in explanation.advice)
    assert explanation.distance <= 1e-3


def test_constraints_that_keep_a_pose_away_are_told(server, ready):
    target = true_pose(server.robot, ready, TIP)
    wishes = ConstraintsGiven(joints=[JointConstraintGiven('panda_joint4', -0.1, 0.02, 0.02)])
    explanation = explain(server, ready, target, constraints=wishes)
    assert explanation.cause is Cause.CONSTRAINTS
    assert 'Without the constraints the pose is reached.' in explanation.advice


def test_an_arm_of_few_joints_is_told_so():
    """A05."""
    server, current = pan()
    explanation = explain(server, current, pose_of((0.4, 0.0, 0.3), (0.5, 0.0, 0.0)), 'arm')
    assert any('2 joints' in line for line in explanation.advice)


def test_a_request_that_is_refused_is_not_searched(server, ready):
    explanation = explain(server, ready, np.eye(4) * math.nan)
    assert explanation.refusal is Refusal.BAD_TARGET and explanation.nearest is None
    assert math.isnan(explanation.distance)
