"""~/handle_task_sets, ~/find_configs and ~/generate_path over the real node, judged by kinematics of their own."""

import math

from test.ros.server_client import ready_server
from test.ros.server_process import ended_server
from test.ros.server_requests import (
    assert_refused,
    matrix_of,
    message_of,
    PANDA,
    positions_of,
    set_state,
    SUCCESS,
)

from geometry_msgs.msg import PoseStamped, TransformStamped
from moveit_msgs.msg import CollisionObject
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from shape_msgs.msg import SolidPrimitive
from ssik_msgs.msg import TargetPose
from ssik_msgs.srv import FindConfigs, GeneratePath, HandleTaskSets

pytestmark = pytest.mark.ros

HANDLE, CONFIGS, PATH = (
    f'ssik_ros/{name}' for name in ('handle_task_sets', 'find_configs', 'generate_path')
)
GROUPS = """
frames:
  goal: {at: panda_link8}
  elbow_goal: {at: panda_link4}
  cup: {follow: cup_seen}
  rack: {parent: panda_link0, xyz: [0.4, 0.1, 0.5]}
task_sets:
  arm:
    max_iterations: 50
    tasks:
      - {tip: panda_link8, base: panda_link0, target: goal, precision: [1.0e-4, 1.0e-4]}
  elbow:
    tasks:
      - {tip: panda_link4, target: elbow_goal, constraints: position, precision: [1.0e-4, 1.0]}
  watch:
    max_iterations: 50
    tasks:
      - {tip: panda_hand, target: cup, constraints: position, precision: [1.0e-4, 1.0]}
  store:
    max_iterations: 50
    tasks:
      - {tip: panda_link7, target: rack, constraints: position, precision: [1.0e-4, 1.0]}
"""
START = dict(zip(PANDA.joints, (0.1, -0.3, 0.2, -1.9, 0.1, 1.8, 0.6, 0.01, 0.01), strict=True))
FAR = matrix_of((3.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0))


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """Give (server, client)."""
    folder = tmp_path_factory.mktemp('task_sets')
    (folder / 'arms.yaml').write_text(GROUPS)
    parameters = {'moveit_config_package': 'panda', 'task_sets_file': str(folder / 'arms.yaml')}
    with ready_server(folder, parameters) as pair:
        yield pair


@pytest.fixture
def client(server):
    return server[1]


def near(distance=0.05, link=''):
    """Return a pose (4, 4) of a link at a distance from its pose at the start."""
    pose = PANDA.pose(START, link)
    pose[:3, 3] += (-distance, distance / 2, distance)
    return pose


def stamped(pose, frame=PANDA.base):
    message = PoseStamped(pose=message_of(pose))
    message.header.frame_id = frame
    return message


def target(name, pose, frame=PANDA.base):
    return TargetPose(target=name, pose_stamped=stamped(pose, frame))


def handle_request(*targets, task_sets=('arm',), start=None, **fields):
    request = HandleTaskSets.Request(task_sets=list(task_sets), targets=list(targets), **fields)
    set_state(request.robot_state, START if start is None else start)
    return request


def configs_request(*targets, task_set='arm', **fields):
    request = FindConfigs.Request(task_set=task_set, targets=list(targets), **fields)
    set_state(request.robot_state, START)
    return request


def path_request(*targets, task_set='arm', **fields):
    request = GeneratePath.Request(task_set=task_set, targets=list(targets), **fields)
    set_state(request.robot_state, START)
    return request


def rows_of(response):
    """Return the configurations (k, n) of a response, each as positions by name."""
    rows = np.array(response.positions).reshape(-1, len(response.joint_names)).tolist()
    return [dict(zip(response.joint_names, row, strict=True)) for row in rows]


def error_at(positions, pose, link=''):
    """Return the largest error in any number of the pose of a link."""
    return float(np.abs(PANDA.pose(positions, link) - pose).max())


def test_a_target_is_met(client):
    pose = near()
    response = client.call(HANDLE, handle_request(target('goal', pose)))
    assert response.error_code.val == SUCCESS, response.error_code.message
    positions = positions_of(response)
    assert error_at(positions, pose) < 2e-4
    assert positions['panda_finger_joint1'] == START['panda_finger_joint1'], 'nobody asked for it'
    (task,) = response.tasks
    assert (task.task_set, task.tip, task.target) == ('arm', 'panda_link8', 'goal')
    assert task.within and task.linear == response.linear <= 1e-4 and response.iterations > 0
    assert not response.reason & HandleTaskSets.Response.NOT_WITHIN_TOLERANCE


def test_a_frame_of_the_request_is_where_the_robot_is(client):
    """The same pose in the model frame, in the base and in the flange's own frame."""
    pose = near(0.03)
    responses = [
        client.call(HANDLE, handle_request(target('goal', pose, frame), start=START))
        for frame in ('', 'panda_link0')
    ]
    here = PANDA.pose({})
    relative = np.linalg.inv(here) @ pose
    responses.append(client.call(HANDLE, handle_request(target('goal', relative, 'panda_link8'))))
    for response in responses:
        assert response.error_code.val == SUCCESS, response.error_code.message
        assert error_at(positions_of(response), pose) < 2e-4


def test_targets_that_are_not_named_stay_where_the_tips_are(client):
    response = client.call(HANDLE, handle_request(task_sets=('arm', 'elbow')))
    assert response.error_code.val == SUCCESS and response.iterations == 0
    assert positions_of(response) == pytest.approx(START, abs=1e-15)


def test_the_first_task_set_counts_more(client):
    """Both orders of two task sets that contradict each other: the first one is met, the second one is not."""
    aside = PANDA.pose({**START, 'panda_joint1': 0.9, 'panda_joint2': 0.1}, 'panda_link4')
    goal, high = target('goal', near()), target('elbow_goal', aside)
    for order in (('arm', 'elbow'), ('elbow', 'arm')):
        request = handle_request(goal, high, task_sets=order, max_iterations=200)
        response = client.call(HANDLE, request)
        left = {task.task_set: task for task in response.tasks}
        assert left[order[0]].within and not left[order[1]].within
        assert response.error_code.val == -31
        assert response.reason & HandleTaskSets.Response.NOT_WITHIN_TOLERANCE
        assert response.solution.joint_state.name, 'where the joints came is told all the same'
    arm = client.call(HANDLE, handle_request(goal, high, task_sets=('arm', 'elbow')))
    assert error_at(positions_of(arm), near()) < 2e-4


def test_out_of_reach_is_told_with_numbers(client):
    response = client.call(HANDLE, handle_request(target('goal', FAR)))
    assert response.error_code.val == -31 and 'precision' in response.error_code.message
    reached = PANDA.pose(positions_of(response))
    distance = np.linalg.norm(reached[:3, 3] - FAR[:3, 3])
    assert response.linear == pytest.approx(distance, abs=1e-9) and distance > 1.0


def test_requests_are_independent(client):
    """Many requests at once have the same responses as one by one: no request changes the environment."""
    requests = [handle_request(target('goal', near(0.002 * k))) for k in range(40)]
    together = client.call_all(HANDLE, requests)
    for request, response in list(zip(requests, together, strict=True))[::8]:
        assert client.call(HANDLE, request) == response


def test_a_fixed_target_is_where_the_file_has_it(client):
    """Also after a request that placed it elsewhere."""
    places = []
    for targets in ((), (target('rack', near(0.05, 'panda_link7')),), ()):
        response = client.call(HANDLE, handle_request(*targets, task_sets=('store',)))
        assert response.error_code.val == SUCCESS, response.error_code.message
        places.append(PANDA.pose(positions_of(response), 'panda_link7')[:3, 3])
    assert np.abs(places[0] - (0.4, 0.1, 0.5)).max() < 2e-4
    assert np.array_equal(places[2], places[0]) and np.abs(places[1] - places[0]).max() > 0.01


def test_a_target_that_follows_a_frame_of_tf(client):
    """Unknown at first, which names the frame; then where /tf has it; a request may say otherwise."""
    response = client.call(HANDLE, handle_request(task_sets=('watch',)))
    assert_refused(response, -21, 'cup_seen')
    elsewhere = near(0.04, 'panda_hand')
    response = client.call(HANDLE, handle_request(target('cup', elsewhere), task_sets=('watch',)))
    assert response.error_code.val == SUCCESS, 'the frame is not needed then'
    place = near(0.02, 'panda_hand')
    tf2 = pytest.importorskip('tf2_msgs.msg', reason='tf2_msgs is not built')
    transform = TransformStamped(child_frame_id='cup_seen')
    transform.header.frame_id = PANDA.base
    moved = transform.transform.translation
    moved.x, moved.y, moved.z = place[:3, 3].tolist()
    publisher = client.publisher(tf2.TFMessage, '/tf', QoSProfile(depth=10))
    responses = []

    def is_known():
        publisher.publish(tf2.TFMessage(transforms=[transform]))
        responses.append(client.call(HANDLE, handle_request(task_sets=('watch',))))
        return responses[-1].error_code.val == SUCCESS

    client.spin_until(is_known, 'cup_seen is known')
    reached = PANDA.pose(positions_of(responses[-1]), 'panda_hand')
    assert np.abs(reached[:3, 3] - place[:3, 3]).max() < 2e-4


def nan_pose():
    pose = np.eye(4)
    pose[0, 3] = math.nan
    return pose


def zero_quaternion():
    message = target('goal', np.eye(4))
    message.pose_stamped.pose.orientation.w = 0.0
    return message


def with_nan(message):
    message.pose_stamped.pose.position.y = math.nan
    return message


COMMON_FAULTS = {
    'unknown target': ([target('gaol', np.eye(4))], {}, -18, "'gaol'"),
    'two poses': ([target('goal', np.eye(4))] * 2, {}, -18, 'two poses'),
    'unknown frame': ([target('goal', np.eye(4), 'nowhere')], {}, -21, 'nowhere'),
    'not finite': ([with_nan(target('goal', np.eye(4)))], {}, -31, 'not finite'),
    'zero quaternion': ([zero_quaternion()], {}, -31, 'quaternion'),
    'too far': ([target('goal', matrix_of((1e10, 0, 0, 0, 0, 0, 1)))], {}, -31, 'beyond'),
}


@pytest.mark.parametrize('fault', COMMON_FAULTS)
def test_wrong_targets_are_refused_by_all(client, fault):
    targets, _, code, words = COMMON_FAULTS[fault]
    response = client.call(HANDLE, handle_request(*targets))
    assert_refused(response, code, words)
    for service, request in (
        (CONFIGS, configs_request(*targets)),
        (PATH, path_request(*targets, points=5)),
    ):
        other = client.call(service, request)
        assert other.error_code == response.error_code
        assert not other.positions and not other.joint_names


def test_wrong_requests_for_task_sets(client):
    unknown = client.call(HANDLE, handle_request(task_sets=('am',)))
    assert_refused(unknown, -15, "'am'", 'arm')
    twice = client.call(HANDLE, handle_request(task_sets=('arm', 'arm')))
    assert_refused(twice, -16, 'twice')
    loose = client.call(HANDLE, handle_request(priority='loose'))
    assert_refused(loose, -16, 'loose')
    endless = client.call(HANDLE, handle_request(max_iterations=2**32 - 1))
    assert_refused(endless, -16, 'max_iterations')
    ghost = client.call(HANDLE, handle_request(start={'ghost': 1.0}))
    assert_refused(ghost, -17, 'ghost')


def test_configurations_are_verified_and_sorted(client):
    pose = near(0.1)
    request = configs_request(
        target('goal', pose), find_multiple=True, max_samples=60, seed=3, max_configs=20
    )
    response = client.call(CONFIGS, request)
    assert response.error_code.val == SUCCESS, response.error_code.message
    rows = rows_of(response)
    assert len(rows) > 3 and tuple(response.joint_names) == PANDA.joints[:7]
    for row, distance in zip(rows, response.distances, strict=True):
        assert error_at(row, pose) < 2e-4
        changes = [row[name] - START[name] for name in response.joint_names]
        assert distance == pytest.approx(np.linalg.norm(changes), abs=1e-12)
    assert list(response.distances) == sorted(response.distances) and response.distances[0] > 0.0
    assert client.call(CONFIGS, request) == response
    one = client.call(CONFIGS, configs_request(target('goal', pose), joints=['panda_joint4']))
    assert list(one.joint_names) == ['panda_joint4'] and len(one.positions) == 1


def test_configurations_within_a_distance_and_none_at_all(client):
    none = client.call(CONFIGS, configs_request(target('goal', FAR), max_samples=10))
    assert none.error_code.val == -31 and not none.positions and not none.clock_ended
    request = configs_request(target('goal', FAR))
    request.timeout.nanosec = 20_000_000
    late = client.call(CONFIGS, request)
    assert late.error_code.val == -31 and late.clock_ended and 'time' in late.error_code.message


def test_configurations_avoid_objects(client):
    """A wall that the nearest configurations cross: those that are left cross it nowhere, as the server itself says."""
    pose = near(0.2)
    free = configs_request(
        target('goal', pose), find_multiple=True, max_samples=100, max_configs=40
    )
    every = client.call(CONFIGS, free)
    free.avoid_collisions = True
    allowed = client.call(CONFIGS, free)
    assert allowed.error_code.val == SUCCESS, allowed.error_code.message
    assert 0 < len(allowed.positions) < len(every.positions), 'some collide with the robot itself'
    wall = CollisionObject(id='wall', operation=CollisionObject.ADD)
    wall.header.frame_id = PANDA.base
    shape = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.06])
    wall.primitives, wall.primitive_poses = [shape], [message_of(pose)]
    publisher = client.publisher(
        CollisionObject, 'ssik_ros/collision_object', QoSProfile(depth=10)
    )
    publisher.publish(wall)
    responses = []

    def is_blocked():
        responses.append(client.call(CONFIGS, free))
        return responses[-1].error_code.val == -31

    client.spin_until(is_blocked, 'the sphere is known')
    assert 'in collision' in responses[-1].error_code.message and not responses[-1].positions
    blocked = client.call(
        PATH, path_request(target('goal', pose), points=20, avoid_collisions=True, partial=True)
    )
    assert blocked.error_code.val == -31 and "'wall'" in blocked.error_code.message
    assert 0.0 < blocked.fraction < 1.0 and blocked.failed_index == len(rows_of(blocked))
    wall.operation = CollisionObject.REMOVE
    publisher.publish(wall)
    client.spin_until(
        lambda: client.call(CONFIGS, free).error_code.val == SUCCESS, 'the sphere is gone'
    )


def test_wrong_requests_for_configurations(client):
    for fields, code, words in (
        ({'task_set': 'am'}, -15, "'am'"),
        ({'task_set': ''}, -15, 'several'),
        ({'joints': ['ghost']}, -16, "'ghost'"),
        ({'joints': ['panda_joint1'] * 2}, -16, 'twice'),
        ({'joints': ['panda_joint1'], 'avoid_collisions': True}, -16, 'panda_joint2'),
        ({'p_metric': [1.0]}, -16, 'p_metric'),
        ({'c_metric': [1.0]}, -16, 'c_metric'),
        ({'c_metric': [-1.0] * 7}, -16, 'c_metric'),
        ({'max_dist': math.nan}, -16, 'max_dist'),
    ):
        response = client.call(CONFIGS, configs_request(**{'task_set': 'arm', **fields}))
        assert response.error_code.val == code, response.error_code
        assert words in response.error_code.message and not response.positions


def test_a_path_is_straight(client):
    pose = near(0.1)
    response = client.call(PATH, path_request(target('goal', pose), points=21))
    assert response.error_code.val == SUCCESS, response.error_code.message
    rows = rows_of(response)
    assert len(rows) == 21 and (response.fraction, response.failed_index) == (1.0, -1)
    assert rows[0] == {name: START[name] for name in response.joint_names}
    start = PANDA.pose(START)
    for k, row in enumerate(rows):
        expected = start.copy()
        expected[:3, 3] += k / 20 * (pose[:3, 3] - start[:3, 3])
        assert error_at(row, expected) < 1e-6


def test_a_path_through_poses_and_one_that_fails(client):
    poses = [near(0.01 * k) for k in range(1, 6)]
    request = path_request(waypoints=[stamped(pose) for pose in poses])
    for row, pose in zip(rows_of(client.call(PATH, request)), poses, strict=True):
        assert error_at(row, pose) < 1e-6
    failed = client.call(PATH, path_request(target('goal', FAR), points=50, partial=True))
    assert failed.error_code.val == -31 and 0.0 < failed.fraction < 1.0
    assert failed.failed_index == len(rows_of(failed)) == round(failed.fraction * 50)
    assert str(failed.failed_index) in failed.error_code.message
    nothing = client.call(PATH, path_request(target('goal', FAR), points=50))
    assert not nothing.positions and nothing.failed_index == failed.failed_index


def test_wrong_requests_for_paths(client):
    for fields, code, words in (
        ({'points': 1}, -16, 'two points'),
        ({}, -16, 'two points'),
        ({'points': 5, 'waypoints': [PoseStamped()]}, -16, 'either'),
        ({'points': 200_000}, -16, '100000'),
        ({'points': 5, 'max_joint_step': math.nan}, -16, 'max_joint_step'),
        ({'points': 5, 'tolerance': -2.0}, -16, 'tolerance'),
        ({'points': 5, 'tip': 'thumb'}, -18, "'thumb'"),
        ({'points': 5, 'task_set': 'am'}, -15, "'am'"),
    ):
        response = client.call(PATH, path_request(**{'task_set': 'arm', **fields}))
        assert response.error_code.val == code, response.error_code
        assert words in response.error_code.message and not response.positions


def test_a_file_that_does_not_fit_ends_the_node(tmp_path):
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text(GROUPS.replace('tip: panda_hand', 'tip: panda_hnad'))
    parameters = {'moveit_config_package': 'panda', 'task_sets_file': str(wrong)}
    server, code = ended_server(tmp_path, parameters)
    assert code == 1 and "wrong.yaml:18: the tip 'panda_hnad'" in server.log


ALL_SERVICES = (
    *('compute_ik', 'solve_ik', 'compute_fk', 'compute_cartesian_path', 'check_state_validity'),
    *(
        '~/describe',
        '~/solve_all',
        '~/self_motions',
        '~/solve_batch',
        '~/explain_ik',
        '~/solve_goals',
    ),
    *('~/complete_state', '~/handle_task_sets', '~/find_configs', '~/generate_path'),
)


def test_a_ready_node_offers_all_services(tmp_path):
    parameters = {'moveit_config_package': 'panda', 'task_sets_file': 'panda'}
    with ready_server(tmp_path, parameters) as (server, client):
        for name in ALL_SERVICES:
            client.wait_for(name.replace('~', 'ssik_ros'))
        assert 'Not offered yet' not in server.log
