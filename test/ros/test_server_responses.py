"""Responses over the real services: every code against constructed truth, every success against the judge."""

import copy
import re
import time

from test.ros.server_client import client_of, ready_server
from test.ros.server_requests import (
    assert_refused,
    assert_solves,
    FANUC,
    fk_request,
    ik_request,
    matrix_of,
    matrix_of_message,
    message_of,
    move_to,
    PANDA,
    positions_of,
    set_state,
    SLOW,
    SUCCESS,
)

from geometry_msgs.msg import Transform
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from shape_msgs.msg import SolidPrimitive

pytestmark = pytest.mark.ros

INVALID_GROUP_NAME = -15
INVALID_GOAL_CONSTRAINTS = -16
INVALID_ROBOT_STATE = -17
INVALID_LINK_NAME = -18
FRAME_TRANSFORM_FAILURE = -21
COLLISION_CHECKING_UNAVAILABLE = -22
NO_IK_SOLUTION = -31
FAR = matrix_of((9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
RIGID = {'panda': ('panda_link8', 'panda_hand', 'panda_link7'), 'fanuc': ('tool0', 'link_6')}
COLLIDING = {
    'panda': (-2.563, 1.478, 0.181, -2.427, -0.099, 0.782, -1.791),
    'fanuc': (-0.135, 2.161, -1.342, 2.48, 0.317, -4.955),
}
"""Postures with the last link within the base, so that each way to get there collides."""


@pytest.fixture
def good(arm):
    """Return the pose (4, 4) in the base of a posture within the limits, and the posture."""
    posture = arm.postures(1, seed=11)[0]
    return arm.pose(posture), posture


def content_of(response):
    """Return everything in a message, floats exactly; serialised, its padding would hold anything."""
    return repr(response)


def ask(client, request, service='compute_ik'):
    return client.call(service, request)


# Successes.


@pytest.mark.parametrize('service', ['compute_ik', 'solve_ik'])
def test_random_poses_are_solved_and_hold(client, arm, service):
    poses = [arm.pose(posture) for posture in arm.postures(50, seed=1)]
    responses = client.call_all(service, [ik_request(arm, pose) for pose in poses])
    for pose, response in zip(poses, responses, strict=True):
        assert_solves(arm, response, pose)
        assert response.error_code.source == 'ssik_ros'
        assert 'not checked' not in response.error_code.message.lower()


def test_whole_state_comes_back(client, arm, good):
    pose, _ = good
    request = ik_request(arm, pose, seed={'panda_finger_joint1': 0.02} if arm is PANDA else {})
    response = ask(client, request)
    assert_solves(arm, response, pose)
    state = response.solution
    assert state.joint_state.header.stamp.sec == 0
    assert len(state.joint_state.velocity) == 0
    multi = state.multi_dof_joint_state
    assert multi.header.frame_id == arm.model_frame
    if arm is PANDA:
        positions = positions_of(response)
        assert positions['panda_finger_joint1'] == positions['panda_finger_joint2'] == 0.02
        assert list(multi.joint_names) == ['virtual_joint']
        assert list(multi.transforms) == [Transform()]
    else:
        assert list(multi.joint_names) == []


def test_seed_that_is_a_solution_comes_back(client, arm, good):
    pose, posture = good
    response = ask(client, ik_request(arm, pose, seed=posture))
    assert_solves(arm, response, pose)
    positions = positions_of(response)
    assert {name: positions[name] for name in posture} == posture


def test_order_of_the_seed_does_not_matter(client, arm, good):
    seed = arm.postures(1, seed=12)[0]
    turned = dict(reversed(seed.items()))
    responses = [ask(client, ik_request(arm, good[0], seed=order)) for order in (seed, turned)]
    assert content_of(responses[0]) == content_of(responses[1])
    # The state really is a seed: without it the solution differs.
    assert positions_of(responses[0]) != positions_of(ask(client, ik_request(arm, good[0])))


def test_last_of_a_repeated_name_counts(client, arm, good):
    pose, posture = good
    request = ik_request(arm, pose, seed=posture)
    joints = request.ik_request.robot_state.joint_state
    joints.name = [arm.joints[0], *joints.name]
    joints.position = [-0.123, *joints.position]
    positions = positions_of(ask(client, request))
    assert {name: positions[name] for name in posture} == posture


def test_link_that_is_rigid_with_the_tip(client, arm):
    for link in RIGID[arm.name]:
        for posture in arm.postures(5, seed=13):
            pose = arm.pose(posture, link)
            assert_solves(arm, ask(client, ik_request(arm, pose, link=link)), pose, link)


def test_frames_that_are_the_base(client, arm, good):
    for frame in {'', arm.base, arm.model_frame}:
        assert_solves(arm, ask(client, ik_request(arm, good[0], frame=frame)), good[0])


@pytest.mark.slow
def test_moving_link_as_the_frame(tmp_path):
    """joint_states define the pose of the frame; the state of the request does not count."""
    with ready_server(tmp_path, {'moveit_config_package': 'panda'}) as (_, client):
        present, other, wanted = PANDA.postures(3, seed=14)
        move_to(client, PANDA, present, QoSProfile(depth=10))
        pose = PANDA.pose(wanted)
        for link in ('panda_link4', 'panda_hand'):
            inside = np.linalg.inv(PANDA.pose(present, link)) @ pose
            for seed in ({}, other):
                response = ask(client, ik_request(PANDA, inside, frame=link, seed=seed))
                assert_solves(PANDA, response, pose)
            poses = client.call('compute_fk', fk_request(['panda_link8'], frame=link))
            expected = np.linalg.inv(PANDA.pose(present, link)) @ PANDA.pose(present)
            assert poses.pose_stamped[0].header.frame_id == link
            tip_pose = matrix_of_message(poses.pose_stamped[0].pose)
            np.testing.assert_allclose(tip_pose, expected, atol=1e-9)


def test_base_that_the_virtual_joint_moves(servers):
    _, client = servers['panda']
    pose = PANDA.pose(PANDA.postures(1, seed=15)[0])
    base = matrix_of((1.0, -2.0, 0.5, 0.0, 0.0, np.sin(0.3), np.cos(0.3)))
    request = ik_request(PANDA, base @ pose, frame='world')
    moved = message_of(base)
    transform = Transform(rotation=moved.orientation)
    transform.translation.x, transform.translation.y, transform.translation.z = 1.0, -2.0, 0.5
    multi = request.ik_request.robot_state.multi_dof_joint_state
    multi.joint_names, multi.transforms = ['virtual_joint'], [transform]
    response = ask(client, request)
    assert_solves(PANDA, response, pose)
    (back,) = response.solution.multi_dof_joint_state.transforms
    assert [back.translation.x, back.translation.y, back.translation.z] == [1.0, -2.0, 0.5]
    assert back.rotation.z == pytest.approx(np.sin(0.3), abs=1e-12)


def test_quaternion_of_another_length(client, arm, good):
    plain = ask(client, ik_request(arm, good[0]))
    request = ik_request(arm, good[0])
    q = request.ik_request.pose_stamped.pose.orientation
    q.x, q.y, q.z, q.w = 2 * q.x, 2 * q.y, 2 * q.z, 2 * q.w
    response = ask(client, request)
    assert_solves(arm, response, good[0])
    np.testing.assert_allclose(
        response.solution.joint_state.position, plain.solution.joint_state.position, atol=1e-6
    )


def test_vector_of_one_pose(client, arm, good):
    """Its link is the first of ik_link_names, and the single fields are not read."""
    link = RIGID[arm.name][1]
    request = ik_request(arm, FAR, frame='nowhere', link='nothing')
    stamped = copy.deepcopy(request.ik_request.pose_stamped)
    stamped.header.frame_id = arm.base
    stamped.pose = message_of(arm.pose(good[1], link))
    request.ik_request.pose_stamped_vector = [stamped]
    request.ik_request.ik_link_names = [link]
    assert_solves(arm, ask(client, request), arm.pose(good[1], link), link)
    stamped.pose = message_of(good[0])
    request.ik_request.ik_link_names = []
    assert_solves(arm, ask(client, request), good[0])


def test_names_without_a_vector_are_not_read(client, arm, good):
    request = ik_request(arm, good[0])
    request.ik_request.ik_link_names = ['nothing', 'at_all']
    assert_solves(arm, ask(client, request), good[0])


@pytest.mark.slow
def test_equal_requests_have_equal_responses_bit_by_bit(servers, client, arm):
    requests = [ik_request(arm, arm.pose(p)) for p in arm.postures(20, seed=16)]
    requests.append(ik_request(arm, FAR))
    alone = [content_of(ask(client, request)) for request in requests]
    with client_of(servers[arm.name][0]) as other:
        for asker in (client, other):
            asker.wait_for('compute_ik')
        futures = [
            asker.send('compute_ik', request) for request in requests for asker in (client, other)
        ]
        client.spin_until(lambda: all(f.done() for f in futures[0::2]), 'first client')
        other.spin_until(lambda: all(f.done() for f in futures[1::2]), 'second client')
        assert [content_of(f.result()) for f in futures[0::2]] == alone
        assert [content_of(f.result()) for f in futures[1::2]] == alone


# Refusals.


def wrong_requests(arm, pose, posture):
    """Yield name, request, code and parts of the message of requests that cannot be served."""

    def change(**fields):
        request = ik_request(arm, pose, seed=posture)
        for name, value in fields.items():
            setattr(request.ik_request, name, value)
        return request.ik_request, request

    def numbers(place, **values):
        asked, request = change()
        for name, value in values.items():
            setattr(getattr(asked.pose_stamped.pose, place), name, value)
        return request

    yield (
        'unknown group',
        change(group_name='nobody')[1],
        INVALID_GROUP_NAME,
        ["'nobody'", arm.group],
    )
    yield 'empty group', change(group_name='')[1], INVALID_GROUP_NAME, ['empty', arm.group]

    joint = arm.joints[0]
    for name in ('joint_x', joint + '_', ''):
        asked, request = change()
        set_state(asked.robot_state, {**posture, name: 0.0})
        yield f'unknown joint {name}', request, INVALID_ROBOT_STATE, [f"'{name}'"]
    asked, request = change()
    asked.robot_state.joint_state.position = asked.robot_state.joint_state.position[:-1]
    yield 'fewer positions', request, INVALID_ROBOT_STATE, ['names', 'positions']
    asked, request = change()
    asked.robot_state.joint_state.name = []
    yield 'positions alone', request, INVALID_ROBOT_STATE, ['0 joints']
    for value in (np.nan, np.inf, -np.inf):
        asked, request = change()
        set_state(asked.robot_state, {**posture, joint: value})
        yield f'state {value}', request, INVALID_ROBOT_STATE, ['not finite', joint]
    asked, request = change()
    asked.robot_state.multi_dof_joint_state.joint_names = ['virtual_joint']
    yield 'joint without transform', request, INVALID_ROBOT_STATE, ['transforms']
    asked, request = change()
    asked.robot_state.multi_dof_joint_state.joint_names = ['planar_x']
    asked.robot_state.multi_dof_joint_state.transforms = [Transform()]
    yield 'unknown multi-DOF joint', request, INVALID_ROBOT_STATE, ["'planar_x'"]

    for name in ('nowhere', '/nowhere', arm.base + ' '):
        asked, request = change()
        asked.pose_stamped.header.frame_id = name
        yield f'frame {name}', request, FRAME_TRANSFORM_FAILURE, [f"'{name.removeprefix('/')}'"]

    yield 'unknown link', change(ik_link_name='thumb')[1], NO_IK_SOLUTION, ["'thumb'"]
    moving_link = {'panda': 'panda_link4', 'fanuc': 'link_3'}[arm.name]
    parts = [f"'{moving_link}'", 'not rigidly attached']
    yield 'link that is not rigid', change(ik_link_name=moving_link)[1], NO_IK_SOLUTION, parts

    bad = ['no finite rigid transform']
    for value in (np.nan, np.inf, -np.inf):
        for place, field in (('position', 'x'), ('position', 'z'), ('orientation', 'w')):
            request = numbers(place, **{field: value})
            yield f'{place}.{field} {value}', request, NO_IK_SOLUTION, bad
    zero = numbers('orientation', x=0.0, y=0.0, z=0.0, w=0.0)
    yield 'zero quaternion', zero, NO_IK_SOLUTION, bad

    asked, request = change(ik_link_names=[arm.tip])
    asked.pose_stamped_vector = [asked.pose_stamped, asked.pose_stamped]
    yield 'two poses, one name', request, INVALID_LINK_NAME, ['2 poses', '1 link']
    asked, request = change(ik_link_names=[arm.tip, arm.tip])
    asked.pose_stamped_vector = [asked.pose_stamped, asked.pose_stamped]
    yield 'two poses for a tip', request, NO_IK_SOLUTION, ['one pose only']
    asked, request = change(ik_link_names=[arm.tip, 'thumb'])
    asked.pose_stamped_vector = [asked.pose_stamped, asked.pose_stamped]
    yield 'two poses, one unknown link', request, NO_IK_SOLUTION, ["'thumb'"]

    for kind, message, part in (
        ('joint_constraints', JointConstraint(joint_name='wing'), "'wing'"),
        ('position_constraints', PositionConstraint(link_name=arm.tip), 'no region'),
        ('orientation_constraints', OrientationConstraint(link_name='wing'), "'wing'"),
        ('visibility_constraints', VisibilityConstraint(), 'visibility_constraints'),
    ):
        asked, request = change()
        setattr(asked.constraints, kind, [message])
        yield kind, request, INVALID_GOAL_CONSTRAINTS, [part]
    asked, request = change()
    level = OrientationConstraint(link_name=arm.tip)
    level.header.frame_id = 'nowhere'
    asked.constraints.orientation_constraints = [level]
    yield 'frame of a constraint', request, FRAME_TRANSFORM_FAILURE, ["'nowhere'"]
    asked, request = change()
    asked.constraints.joint_constraints = [JointConstraint(joint_name=joint, position=99.0)]
    yield 'constraint beyond the limits', request, NO_IK_SOLUTION, ['joint constraints']

    asked, request = change(avoid_collisions=True)
    held = AttachedCollisionObject(link_name=arm.tip)
    held.object.id = 'box'
    asked.robot_state.attached_collision_objects = [held]
    yield 'attached object without shape', request, INVALID_ROBOT_STATE, ["'box'", 'no shape']


@pytest.mark.parametrize('service', ['compute_ik', 'solve_ik'])
def test_wrong_request_has_its_code_and_says_what_is_wrong(client, arm, good, service):
    cases = list(wrong_requests(arm, *good))
    if service == 'solve_ik':
        cases = [case for case in cases if case[0] != 'attached object without shape']
    responses = client.call_all(service, [request for _, request, _, _ in cases])
    for (name, _, code, parts), response in zip(cases, responses, strict=True):
        assert response.error_code.val == code, (name, response.error_code)
        assert_refused(response, code, *parts)
    assert_solves(arm, ask(client, ik_request(arm, good[0])), good[0])


def test_pose_beyond_the_links_is_refused_with_a_proof(client, arm):
    response = ask(client, ik_request(arm, FAR))
    assert_refused(response, NO_IK_SOLUTION, 'out of reach', 'proved by the geometry of its links')


def test_pose_that_no_search_reaches(client, arm):
    response = ask(client, ik_request(arm, arm.blocked_pose(), timeout=60.0))
    assert_refused(response, NO_IK_SOLUTION, 'joint limits', 'nearest state seen')


@pytest.mark.parametrize('value', [1e300, -1e300, 1e-300])
def test_numbers_at_the_ends_of_the_range(client, arm, good, value):
    request = ik_request(arm, good[0])
    request.ik_request.pose_stamped.pose.position.x = value
    assert ask(client, request).error_code.val in (SUCCESS, NO_IK_SOLUTION)
    request = ik_request(arm, good[0], seed={arm.joints[0]: value})
    response = ask(client, request)
    if abs(value) > 1.0:
        # No joint can have this value, so the state of the request is wrong.
        assert response.error_code.val == INVALID_ROBOT_STATE
        assert arm.joints[0] in response.error_code.message
    else:
        assert_solves(arm, response, good[0])
    request = ik_request(arm, good[0])
    orientation = request.ik_request.pose_stamped.pose.orientation
    orientation.x = orientation.y = orientation.z = orientation.w = value
    response = ask(client, request)
    assert response.error_code.val in (SUCCESS, NO_IK_SOLUTION)


def test_constraints_decide_which_solution_comes(client, arm, good):
    """A joint, a volume for another link and an orientation, all at once; without them the solution differs."""
    pose, posture = good
    elbow = {'panda': 'panda_link4', 'fanuc': 'link_4'}[arm.name]
    request = ik_request(arm, pose, timeout=5.0)
    constraints = request.ik_request.constraints
    first = arm.joints[0]
    constraints.joint_constraints = [
        JointConstraint(
            joint_name=first, position=posture[first], tolerance_above=0.05, tolerance_below=0.05
        )
    ]
    place = PositionConstraint(link_name=elbow)
    place.header.frame_id = arm.base
    place.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE)]
    place.constraint_region.primitives[0].dimensions = [0.15]
    place.constraint_region.primitive_poses = [message_of(arm.pose(posture, elbow))]
    constraints.position_constraints = [place]
    level = OrientationConstraint(link_name=elbow, parameterization=1)
    level.header.frame_id = arm.base
    level.orientation = place.constraint_region.primitive_poses[0].orientation
    level.absolute_x_axis_tolerance = level.absolute_y_axis_tolerance = 0.5
    level.absolute_z_axis_tolerance = 0.5
    constraints.orientation_constraints = [level]
    response = ask(client, request)
    assert_solves(arm, response, pose)
    positions = positions_of(response)
    assert abs(positions[first] - posture[first]) <= 0.05 + 1e-9
    off = np.linalg.inv(arm.pose(posture, elbow)) @ arm.pose(positions, elbow)
    assert np.linalg.norm(off[:3, 3]) <= 0.15 + 1e-9
    assert np.abs(Rotation.from_matrix(off[:3, :3]).as_rotvec()).max() <= 0.5 + 1e-9


# Time.


@pytest.fixture(scope='module')
def slow(tmp_path_factory):
    """Give (server, client) of a node that searches for seconds before it calls a pose out of reach."""
    parameters = {
        'moveit_config_package': 'panda',
        'groups': 'panda_arm',
        'robot_description_kinematics': {
            'panda_arm': {**SLOW, 'kinematics_solver_timeout': 3600.0}
        },
    }
    with ready_server(tmp_path_factory.mktemp('slow'), parameters) as pair:
        yield pair


@pytest.mark.parametrize('timeout', [1e-9, 0.0005, 0.2])
def test_timeout_below_a_second_ends_the_search(slow, timeout):
    """A node that read whole seconds would search for as long as its own budget of an hour allows."""
    start = time.monotonic()
    response = ask(slow[1], ik_request(PANDA, PANDA.blocked_pose(), timeout=timeout))
    assert_refused(response, NO_IK_SOLUTION, 'deadline')
    assert time.monotonic() - start > timeout


def test_fraction_of_a_timeout_counts(slow):
    start = time.monotonic()
    response = ask(slow[1], ik_request(PANDA, PANDA.blocked_pose(), timeout=1.3))
    assert_refused(response, NO_IK_SOLUTION, 'deadline')
    assert time.monotonic() - start > 1.3


@pytest.mark.parametrize('seconds', [0, -1])
def test_no_timeout_is_that_of_the_group(slow, seconds):
    _, client = slow
    name = 'robot_description_kinematics.panda_arm.kinematics_solver_timeout'
    request = ik_request(PANDA, PANDA.blocked_pose())
    request.ik_request.timeout.sec = seconds
    (result,) = client.set_parameters({name: 0.3})
    assert result.successful
    start = time.monotonic()
    assert_refused(ask(client, request), NO_IK_SOLUTION, 'deadline')
    assert time.monotonic() - start > 0.3


# Collisions.


def colliding_pose(arm):
    """Return a pose (4, 4) with the last link within the base."""
    return arm.pose(dict(zip(arm.chain().names, COLLIDING[arm.name], strict=True)))


def test_pose_that_collides_however_it_is_reached(client, arm):
    pose = colliding_pose(arm)
    assert_solves(arm, ask(client, ik_request(arm, pose)), pose)
    response = ask(client, ik_request(arm, pose, collisions=True, timeout=30.0))
    assert_refused(response, NO_IK_SOLUTION, 'every candidate is in collision')
    pair = re.findall(r"'([^']+)' with '([^']+)'", response.error_code.message)
    assert pair
    assert set(pair[0]) <= set(re.findall(r'<link name="([^"]+)"', arm.urdf))


def test_solve_ik_leaves_collisions_to_its_caller_and_says_so(client, arm):
    pose = colliding_pose(arm)
    response = ask(client, ik_request(arm, pose, collisions=True), 'solve_ik')
    assert_solves(arm, response, pose)
    assert 'Not checked for collisions' in response.error_code.message


def test_free_pose_is_solved_with_collisions_avoided(client, arm):
    home = {'panda': {'panda_joint4': -2.0, 'panda_joint6': 2.0}, 'fanuc': {'joint_5': 0.5}}
    posture = dict.fromkeys(arm.chain().names, 0.0) | home[arm.name]
    pose = arm.pose(posture)
    request = ik_request(arm, pose, seed=posture, collisions=True, timeout=30.0)
    assert_solves(arm, ask(client, request), pose)


def test_robot_without_geometry_cannot_avoid_collisions(tmp_path):
    bare = re.sub(r'<collision>.*?</collision>', '', FANUC.urdf, flags=re.DOTALL)
    parameters = {'robot_description': bare, 'robot_description_semantic': FANUC.srdf}
    with ready_server(tmp_path, parameters) as (_, client):
        pose = FANUC.pose(FANUC.postures(1, seed=17)[0])
        response = ask(client, ik_request(FANUC, pose, collisions=True))
        assert_refused(response, COLLISION_CHECKING_UNAVAILABLE, 'no collision geometry')
        assert_solves(FANUC, ask(client, ik_request(FANUC, pose)), pose)
        response = ask(client, ik_request(FANUC, pose, collisions=True), 'solve_ik')
        assert_solves(FANUC, response, pose)


# Forward kinematics.


def links_of(arm):
    """Return every link of an arm that hangs on its base."""
    return re.findall(r'<link name="([^"]+)"', arm.urdf)


def test_poses_of_every_link(client, arm):
    posture = arm.postures(1, seed=18)[0]
    if arm is PANDA:
        posture |= {'panda_finger_joint1': 0.015, 'panda_finger_joint2': 0.015}
    links = [link for link in links_of(arm) if link != arm.base]
    response = client.call('compute_fk', fk_request(links, positions=posture))
    assert response.error_code.val == SUCCESS
    assert list(response.fk_link_names) == links
    for link, stamped in zip(links, response.pose_stamped, strict=True):
        assert stamped.header.frame_id == arm.model_frame
        assert stamped.header.stamp.sec > 0
        expected = arm.pose(posture, link)
        np.testing.assert_allclose(matrix_of_message(stamped.pose), expected, atol=1e-9)


def test_poses_of_known_links_come_with_the_code_for_unknown_ones(client, arm):
    response = client.call('compute_fk', fk_request(['thumb', arm.tip, 'world2']))
    assert response.error_code.val == INVALID_LINK_NAME
    assert list(response.fk_link_names) == [arm.tip]
    tip_pose = matrix_of_message(response.pose_stamped[0].pose)
    np.testing.assert_allclose(tip_pose, arm.pose({}), atol=1e-9)
    assert 'thumb' in response.error_code.message
    assert 'world2' in response.error_code.message
    assert response.error_code.source == 'ssik_ros'


def test_unknown_frame_outranks_an_unknown_link(client, arm):
    response = client.call('compute_fk', fk_request([arm.tip, 'thumb'], frame='nowhere'))
    assert response.error_code.val == FRAME_TRANSFORM_FAILURE
    assert "'nowhere'" in response.error_code.message
    assert list(response.fk_link_names) == [arm.tip]
    assert response.pose_stamped[0].header.frame_id == arm.model_frame
    tip_pose = matrix_of_message(response.pose_stamped[0].pose)
    np.testing.assert_allclose(tip_pose, arm.pose({}), atol=1e-9)


@pytest.mark.parametrize(
    ('links', 'positions', 'code'),
    [
        ([], {}, INVALID_LINK_NAME),
        ([''], {}, INVALID_LINK_NAME),
        (['tip'], {'nobody': 1.0}, INVALID_ROBOT_STATE),
        (['tip'], {'first': float('nan')}, INVALID_ROBOT_STATE),
        ([], {'nobody': 1.0}, INVALID_LINK_NAME),
    ],
)
def test_refused_requests_about_poses(client, arm, links, positions, code):
    names = {'tip': arm.tip, 'first': arm.joints[0]}
    request = fk_request(
        [names.get(link, link) for link in links],
        positions={names.get(joint, joint): value for joint, value in positions.items()},
    )
    response = client.call('compute_fk', request)
    assert response.error_code.val == code
    assert list(response.pose_stamped) == []
    assert list(response.fk_link_names) == []
    assert response.error_code.message
    assert isinstance(response, GetPositionFK.Response)


# Description.


def test_description_of_all_groups_and_of_one(client, arm):
    whole = client.describe()
    assert whole.success
    assert (whole.robot, whole.model_frame) == (arm.name, arm.model_frame)
    assert whole.urdf_source.endswith(f'{arm.name}.urdf')
    assert whole.srdf_source.endswith(f'{arm.name}.srdf')
    names = {'panda': ['panda_arm', 'hand', 'panda_arm_hand'], 'fanuc': ['manipulator']}
    assert [group.name for group in whole.groups] == names[arm.name]
    one = client.describe(arm.group)
    assert list(one.groups) == [group for group in whole.groups if group.name == arm.group]
    (group,) = one.groups
    assert (group.base_frame, list(group.tip_frames)) == (arm.base, [arm.tip])
    chain = arm.chain()
    assert tuple(group.joint_names) == chain.names
    np.testing.assert_allclose(group.lower, chain.lower, atol=1e-12)
    np.testing.assert_allclose(group.upper, chain.upper, atol=1e-12)


@pytest.mark.sampled
def test_description_of_an_unknown_group(client, arm):
    response = client.describe(arm.group + 's')
    assert not response.success
    assert f"'{arm.group}'" in response.message
    assert list(response.groups) == []
