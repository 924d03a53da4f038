"""compute_cartesian_path, check_state_validity and the objects around, over the real services and topics."""

import time

from test.ros.server_requests import (
    assert_refused,
    assert_solves,
    ik_request,
    message_of,
    PANDA,
    set_state,
    SUCCESS,
)

from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    JointConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath, GetStateValidity
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from shape_msgs.msg import SolidPrimitive

from ssik_ros.ros.process.log_throttle import LOG_INTERVAL

pytestmark = pytest.mark.ros

FAILURE = 99999
POSTURES = {
    'panda': (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    'fanuc': (0.1, 0.2, -0.3, 0.1, 0.4, 0.0),
}
DEEP = QoSProfile(depth=100)


@pytest.fixture
def posture(arm):
    return dict(zip(arm.chain().names, POSTURES[arm.name], strict=True))


def path_request(arm, posture, *waypoints, **fields):
    """Return a request from a posture through poses (4, 4) in the base."""
    request = GetCartesianPath.Request(group_name=arm.group, max_step=0.01)
    request.header.frame_id = arm.base
    set_state(request.start_state, posture)
    request.waypoints = [message_of(pose) for pose in waypoints]
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def moved(pose, *xyz):
    there = pose.copy()
    there[:3, 3] += xyz
    return there


def ask_path(client, request):
    return client.call('compute_cartesian_path', request, wait=300.0)


def points_of(response):
    return np.array([p.positions for p in response.solution.joint_trajectory.points])


# Paths


def test_a_path_stays_on_its_line_and_comes_with_times(client, arm, posture):
    start = arm.pose(posture)
    end = moved(start, 0.0, 0.2, -0.1)
    response = ask_path(client, path_request(arm, posture, end))
    assert (response.error_code.val, response.fraction) == (SUCCESS, 1.0), (
        response.error_code.message
    )
    assert response.error_code.source == 'ssik_ros'
    trajectory = response.solution.joint_trajectory
    assert tuple(trajectory.joint_names) == tuple(posture)
    assert trajectory.header.frame_id == arm.model_frame
    poses = [arm.pose(dict(zip(posture, q, strict=True))) for q in points_of(response)]
    along = (end - start)[:3, 3] / np.linalg.norm((end - start)[:3, 3])
    for pose in poses:
        off = pose[:3, 3] - start[:3, 3]
        assert np.linalg.norm(off - (off @ along) * along) < 1e-4
        assert np.allclose(pose[:3, :3], start[:3, :3], atol=1e-4)
    assert np.allclose(poses[0], start, atol=1e-9) and np.allclose(poses[-1], end, atol=1e-4)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points]
    assert times[0] == 0.0 and (np.diff(times) > 0.0).all()
    state = response.start_state.joint_state
    assert tuple(state.name) == arm.joints
    positions = dict(zip(state.name, state.position, strict=True))
    assert {name: positions[name] for name in posture} == posture


def test_a_waypoint_in_the_frame_of_the_link_is_relative(client, arm, posture):
    step = Pose()
    step.position.z = -0.05
    request = path_request(arm, posture, link_name=arm.tip, waypoints=[step, step])
    request.header.frame_id = arm.tip
    response = ask_path(client, request)
    assert response.fraction == 1.0, response.error_code.message
    local = np.eye(4)
    local[2, 3] = -0.1
    end = arm.pose(dict(zip(posture, points_of(response)[-1], strict=True)))
    assert np.allclose(end, arm.pose(posture) @ local, atol=1e-4)


def test_a_path_that_ends_early_is_a_success_with_its_fraction_and_reason(client, arm, posture):
    start = arm.pose(posture)
    response = ask_path(
        client, path_request(arm, posture, moved(start, 0, 0, -0.05), moved(start, 5.0, 0.0, 0.0))
    )
    assert response.error_code.val == SUCCESS
    assert 0.5 < response.fraction < 1.0
    assert 'waypoint 1' in response.error_code.message
    assert len(points_of(response)) > 2


def test_no_waypoint_is_success_with_nothing(client, arm, posture):
    response = ask_path(client, path_request(arm, posture))
    assert (response.error_code.val, response.fraction) == (SUCCESS, 0.0)
    assert response.solution == type(response.solution)()


def wrong_paths(arm, posture):
    """Yield name, request, code, part of the message."""
    end = moved(arm.pose(posture), 0.0, 0.1, 0.0)

    def change(**fields):
        return path_request(arm, posture, end, **fields)

    yield 'group', change(group_name='nobody'), -15, "'nobody'"
    request = change()
    set_state(request.start_state, {**posture, 'ghost': 0.0})
    yield 'state', request, -17, "'ghost'"
    request = change()
    request.header.frame_id = 'nowhere'
    yield 'frame', request, -21, "'nowhere'"
    for step in (0.0, -0.1, np.nan, 1e-12):
        yield f'max_step {step}', change(max_step=step), FAILURE, 'max_step'
    bad = message_of(end)
    bad.position.x = np.inf
    yield 'not finite', change(waypoints=[bad]), -31, 'no finite rigid transform'
    yield 'link', change(link_name='thumb'), -31, "'thumb'"
    yield 'jump', change(jump_threshold=-1.0), -31, 'jump_threshold'
    request = change()
    request.path_constraints.visibility_constraints = [VisibilityConstraint()]
    yield 'constraint', request, -16, 'visibility_constraints'


def test_a_wrong_path_has_its_code_and_says_why(client, arm, posture):
    for name, request, code, part in wrong_paths(arm, posture):
        response = ask_path(client, request)
        assert response.error_code.val == code, (name, response.error_code)
        assert part in response.error_code.message, (name, response.error_code)
        assert response.fraction == 0.0
        assert response.solution == type(response.solution)()


def test_a_relative_threshold_up_to_one_ends_nothing_but_the_path(client, arm, posture):
    """MoveIt's node dies of it (moveit.md 2.4)."""
    end = moved(arm.pose(posture), 0.0, 0.2, 0.0)
    response = ask_path(client, path_request(arm, posture, end, jump_threshold=0.5))
    assert response.error_code.val == SUCCESS
    assert response.fraction < 1.0


# Objects


def ball(name, pose, radius, frame=''):
    message = CollisionObject(id=name, operation=CollisionObject.ADD)
    message.header.frame_id = frame
    message.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    message.primitive_poses = [Pose()]
    message.pose = message_of(pose)
    return message


def publish(client, topic, message):
    client.publisher(type(message), f'ssik_ros/{topic}', DEEP).publish(message)


def judge(client, arm, posture, **fields):
    request = GetStateValidity.Request(group_name=arm.group, **fields)
    set_state(request.robot_state, posture)
    return client.call('check_state_validity', request)


def wait_until_valid(client, arm, posture, valid):
    """Wait until the node has added an object; return the last response."""
    responses = []

    def is_so():
        responses.append(judge(client, arm, posture))
        return responses[-1].valid is valid

    client.spin_until(is_so, f'validity {valid}')
    return responses[-1]


def test_objects_of_the_world_are_avoided_and_named(servers):
    client, arm = servers['panda'][1], PANDA
    posture = dict(zip(arm.chain().names, POSTURES['panda'], strict=True))
    target = arm.pose(posture)
    elbow = arm.pose(posture, 'panda_link4')
    ask = ik_request(arm, target, seed=posture, collisions=True, timeout=5.0)
    try:
        assert judge(client, arm, posture).valid
        publish(client, 'collision_object', ball('post', elbow, 0.03, arm.base))
        response = wait_until_valid(client, arm, posture, False)
        (contact,) = [
            c for c in response.contacts if 'panda_link4' in (c.contact_body_1, c.contact_body_2)
        ]
        assert {contact.contact_body_1, contact.contact_body_2} == {'post', 'panda_link4'}
        assert contact.depth > 0.0 and contact.header.frame_id == 'world'
        other = client.call('compute_ik', ask)
        assert_solves(arm, other, target)
        state = other.solution.joint_state
        positions = dict(zip(state.name, state.position, strict=True))
        assert judge(client, arm, positions).valid
        assert not np.allclose(
            [positions[name] for name in posture], list(posture.values()), atol=1e-2
        )
        # All collide: the code, and the pair.
        publish(client, 'collision_object', ball('block', target, 0.3, arm.base))
        time.sleep(0.2)
        refused = client.call('compute_ik', ik_request(arm, target, collisions=True, timeout=30.0))
        assert_refused(refused, -31, 'is in collision', "' with '")
    finally:
        publish(client, 'collision_object', CollisionObject(operation=CollisionObject.REMOVE))
    wait_until_valid(client, arm, posture, True)


def test_objects_move_with_the_link_that_carries_them(servers):
    client, arm = servers['panda'][1], PANDA
    posture = dict(zip(arm.chain().names, POSTURES['panda'], strict=True))
    rod = np.eye(4)
    rod[2, 3] = 0.4
    carried = AttachedCollisionObject(link_name='panda_hand')
    carried.object = ball('rod', rod, 0.05, 'panda_hand')
    where = arm.pose(posture, 'panda_hand') @ rod
    try:
        publish(client, 'collision_object', ball('wall', where, 0.05, arm.base))
        time.sleep(0.2)
        assert judge(client, arm, posture).valid
        request = GetStateValidity.Request(group_name=arm.group)
        set_state(request.robot_state, posture)
        request.robot_state.attached_collision_objects = [carried]
        response = client.call('check_state_validity', request)
        assert not response.valid
        (contact,) = response.contacts
        assert {contact.contact_body_1, contact.contact_body_2} == {'rod', 'wall'}
        assert {contact.body_type_1, contact.body_type_2} == {1, 2}
        # The same by topic, for states that are differences.
        request.robot_state.attached_collision_objects = []
        request.robot_state.is_diff = True
        assert client.call('check_state_validity', request).valid
        publish(client, 'attached_collision_object', carried)
        client.spin_until(
            lambda: not client.call('check_state_validity', request).valid, 'the rod is carried'
        )
    finally:
        carried.object.operation = CollisionObject.REMOVE
        publish(client, 'attached_collision_object', carried)
        time.sleep(0.2)
        publish(client, 'collision_object', CollisionObject(operation=CollisionObject.REMOVE))
    wait_until_valid(client, arm, posture, True)


@pytest.mark.slow
def test_an_object_that_is_none_changes_nothing_and_is_logged(servers):
    server, client = servers['panda']
    objects = (
        ball('bad', np.eye(4), -1.0),
        ball('lost', np.eye(4), 0.1, 'nowhere'),
        CollisionObject(id='ghost', operation=CollisionObject.REMOVE),
    )
    for number, bad in enumerate(objects):
        # Of a flood of them only one a while is named.
        time.sleep(1.1 * LOG_INTERVAL if number else 0.0)
        publish(client, 'collision_object', bad)
        server.wait_for_log(f"The collision object '{bad.id}' is left out", wait=30.0)
    posture = dict(zip(PANDA.chain().names, POSTURES['panda'], strict=True))
    assert judge(client, PANDA, posture).valid


def test_a_state_is_judged_by_constraints(client, arm, posture):
    first = next(iter(posture))
    constraints = judge(client, arm, posture).constraint_result
    assert list(constraints) == []
    request = GetStateValidity.Request(group_name=arm.group)
    set_state(request.robot_state, posture)
    for off, valid in ((0.05, True), (0.5, False)):
        near = JointConstraint(joint_name=first, tolerance_above=0.1, tolerance_below=0.1)
        near.position = posture[first] + off
        request.constraints.joint_constraints = [near]
        response = client.call('check_state_validity', request)
        assert response.valid is valid
        (verdict,) = response.constraint_result
        assert verdict.result is valid
        assert verdict.distance == pytest.approx(off)


def test_a_state_that_cannot_be_judged_is_not_valid(client, arm, posture):
    assert not judge(client, arm, {**posture, 'ghost': 1.0}).valid
    request = GetStateValidity.Request(group_name='nobody')
    assert not client.call('check_state_validity', request).valid
