"""``~/solve_all`` over the real service: every posture against the judge, every refusal as ``compute_ik`` has it."""

import contextlib

from test.ros.server_client import client_of, ready_server
from test.ros.server_process import running_server
from test.ros.server_requests import (
    Arm,
    FANUC,
    ik_request,
    matrix_of,
    message_of,
    PANDA,
    set_state,
    SUCCESS,
)

from moveit_msgs.msg import AttachedCollisionObject
import numpy as np
import pytest
from ssik_msgs.srv import SolveAll

pytestmark = pytest.mark.ros

SERVICE = 'ssik_ros/solve_all'
TWO_PI = 2.0 * np.pi
UR5E = Arm(
    'ur5e',
    'ur_manipulator',
    'base_link',
    'tool0',
    'world',
    (
        'shoulder_pan_joint',
        'shoulder_lift_joint',
        'elbow_joint',
        'wrist_1_joint',
        'wrist_2_joint',
        'wrist_3_joint',
    ),
    (),
)
ARMS = {arm.name: arm for arm in (PANDA, FANUC, UR5E)}
FAR = matrix_of((9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))


@pytest.fixture(scope='module')
def clients(tmp_path_factory):
    """Give a client of each arm's node."""
    with contextlib.ExitStack() as stack:
        by_arm = {}
        for name in ARMS:
            folder = tmp_path_factory.mktemp(name)
            node = ready_server(folder, {'moveit_config_package': name})
            by_arm[name] = stack.enter_context(node)[1]
        yield by_arm


@pytest.fixture
def client(clients, arm):
    """Return the client of the arm's node."""
    return clients[arm.name]


def all_request(arm, pose, **options):
    """
    Return a request for every posture.

    :param arm: whose group is asked for.
    :param pose: (4, 4) in the frame.
    :param options: ``frame`` (the base by default), ``link``, ``seed`` by joint name, ``collisions``, and fields of
        the request.
    """
    request = SolveAll.Request(group=arm.group, link=options.pop('link', ''))
    request.pose_stamped.header.frame_id = options.pop('frame', arm.base)
    request.pose_stamped.pose = message_of(pose)
    set_state(request.robot_state, options.pop('seed', {}))
    request.avoid_collisions = options.pop('collisions', False)
    for name, value in options.items():
        setattr(request, name, value)
    return request


def assert_branches_hold(arm, response, pose, link=''):
    """Check every posture of a response against the judge."""
    assert response.error_code.val == SUCCESS, response.error_code.message
    assert response.error_code.source == 'ssik_ros' and response.error_code.message
    tip, chain = arm.chain(link), arm.chain()
    assert len(response.branches)
    distances = []
    for branch in response.branches:
        values = dict(zip(response.joint_names, branch.positions, strict=True))
        q = np.array([values[name] for name in chain.names])
        errors = tip.errors(np.array([values[name] for name in tip.names]), pose)
        assert max(errors) < 1e-8
        said = (branch.position_error, branch.orientation_error)
        assert said == pytest.approx(errors, abs=1e-7)
        assert chain.is_inside(q)
        room = np.concatenate([q - chain.lower, chain.upper - q])
        assert branch.limit_margin == pytest.approx(room.min(), abs=1e-12)
        distances.append(branch.distance)
    assert distances == sorted(distances)


def postures_of(response):
    """Return (k, n) positions."""
    return np.array([branch.positions for branch in response.branches])


def test_all_branches_hold_and_are_named(client, arm):
    poses = [arm.pose(posture) for posture in arm.postures(20, seed=31)]
    responses = client.call_all(SERVICE, [all_request(arm, pose) for pose in poses])
    for pose, response in zip(poses, responses, strict=True):
        assert_branches_hold(arm, response, pose)
        labels = [branch.label for branch in response.branches]
        assert len(set(labels)) == len(labels)
        assert all('shoulder' in label and 'elbow' in label for label in labels)
        assert [branch.branch for branch in response.branches] == list(range(len(labels)))
        assert all(not branch.windings for branch in response.branches)


def test_diagnostic_says_how(client, arm):
    (posture,) = arm.postures(1, seed=32)
    response = client.call(SERVICE, all_request(arm, arm.pose(posture)))
    diagnostic = response.diagnostic
    redundant = arm is PANDA
    assert diagnostic.solver == 'ssik_ros/Analytic'
    assert diagnostic.tier == ('search' if redundant else 'closed_form')
    assert diagnostic.complete is not redundant
    assert diagnostic.redundancy_samples >= 17 if redundant else diagnostic.redundancy_samples == 1
    assert diagnostic.raw_candidates >= diagnostic.certified >= diagnostic.different
    assert diagnostic.different == diagnostic.dropped_by_limits + len(response.branches)
    assert (
        diagnostic.searches == diagnostic.dropped_by_max == diagnostic.dropped_by_verification == 0
    )
    assert (
        'axes' in diagnostic.reason and diagnostic.solver_time > 0.0 and not diagnostic.clock_ended
    )


def test_seed_decides_the_order(client, arm):
    (posture,) = arm.postures(1, seed=33)
    pose = arm.pose(posture)
    response = client.call(SERVICE, all_request(arm, pose, seed=posture))
    assert_branches_hold(arm, response, pose)
    best = response.branches[0]
    positions = dict(zip(response.joint_names, best.positions, strict=True))
    assert best.distance < 1e-6
    assert positions == pytest.approx(posture, abs=1e-6)


def test_link_that_is_rigid_with_the_tip(clients):
    for arm, link in ((PANDA, 'panda_hand'), (FANUC, 'link_6'), (UR5E, 'flange')):
        (posture,) = arm.postures(1, seed=34)
        pose = arm.pose(posture, link)
        response = clients[arm.name].call(SERVICE, all_request(arm, pose, link=link))
        assert_branches_hold(arm, response, pose, link)


def test_windings_are_counted(clients):
    """Every joint of a UR turns twice about itself but the elbow, so that 32 postures have one branch."""
    client = clients['ur5e']
    (posture,) = UR5E.postures(1, seed=35)
    pose = UR5E.pose(posture)
    plain = client.call(SERVICE, all_request(UR5E, pose))
    response = client.call(SERVICE, all_request(UR5E, pose, enumerate_windings=True))
    assert_branches_hold(UR5E, response, pose)
    assert len(response.branches) == 32 * len(plain.branches)
    seen = {}
    for branch in response.branches:
        angles = np.array(branch.positions) - TWO_PI * np.array(branch.windings)
        assert (np.abs(angles) <= np.pi + 1e-9).all()
        seen.setdefault(branch.branch, (branch.label, angles))
        label, first = seen[branch.branch]
        assert branch.label == label
        assert angles == pytest.approx(first, abs=1e-9)
    assert sorted(seen) == list(range(len(plain.branches)))
    cut = client.call(SERVICE, all_request(UR5E, pose, enumerate_windings=True, max_solutions=7))
    assert (postures_of(cut) == postures_of(response)[:7]).all()
    assert cut.diagnostic.dropped_by_max == len(response.branches) - 7
    assert response.diagnostic.complete and not cut.diagnostic.complete


def test_collisions_are_left_out(clients):
    client, refused = clients['panda'], 0
    for posture in PANDA.postures(25, seed=36):
        pose = PANDA.pose(posture)
        every = client.call(SERVICE, all_request(PANDA, pose))
        request = all_request(PANDA, pose, collisions=True)
        request.timeout.sec = 10
        free = client.call(SERVICE, request)
        dropped = free.diagnostic.dropped_by_collision
        assert len(every.branches) == len(free.branches) + dropped
        rows = postures_of(every).tolist()
        assert all(row in rows for row in postures_of(free).tolist())
        refused += dropped
    assert refused


def test_a_request_whose_time_is_over_before_its_turn(clients):
    (posture,) = PANDA.postures(1, seed=37)
    request = all_request(PANDA, PANDA.pose(posture), collisions=True)
    request.timeout.nanosec = 1
    response = clients['panda'].call(SERVICE, request)
    assert response.error_code.val == -31 and 'had 1e-09 s' in response.error_code.message
    assert not response.branches and not response.diagnostic.raw_candidates


# Refusals: the code and the words of compute_ik.


def _unknown_joint(asked):
    asked.robot_state.joint_state.name, asked.robot_state.joint_state.position = ['ghost'], [1.0]


def _not_finite(asked):
    asked.pose_stamped.pose.position.x = float('nan')


def _zero_quaternion(asked):
    q = asked.pose_stamped.pose.orientation
    q.x = q.y = q.z = q.w = 0.0


def _attached(asked):
    asked.avoid_collisions = True
    asked.robot_state.attached_collision_objects = [AttachedCollisionObject(link_name='x')]


def _group(name):
    def change(asked):
        setattr(asked, 'group' if hasattr(asked, 'group') else 'group_name', name)

    return change


def _link(name):
    def change(asked):
        setattr(asked, 'link' if hasattr(asked, 'link') else 'ik_link_name', name)

    return change


def _frame(asked):
    asked.pose_stamped.header.frame_id = 'nowhere'


FAULTS = {
    'unknown group': (_group('nobody'), -15),
    'empty group': (_group(''), -15),
    'unknown joint': (_unknown_joint, -17),
    'unknown frame': (_frame, -21),
    'unknown link': (_link('ghost'), -31),
    'base as link': (_link('base_link'), -31),
    'not finite': (_not_finite, -31),
    'zero quaternion': (_zero_quaternion, -31),
    'attached': (_attached, -17),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_what_is_wrong_is_told_as_by_compute_ik(client, arm, fault):
    change, code = FAULTS[fault]
    (posture,) = arm.postures(1, seed=38)
    pose = arm.pose(posture)
    one, every = ik_request(arm, pose), all_request(arm, pose)
    change(one.ik_request)
    change(every)
    first, second = client.call('compute_ik', one), client.call(SERVICE, every)
    assert first.error_code.val == second.error_code.val == code
    assert second.error_code == first.error_code
    assert not second.branches and not second.diagnostic.solver


def test_pose_out_of_reach(client, arm):
    response = client.call(SERVICE, all_request(arm, FAR))
    assert response.error_code.val == -31 and 'out of reach' in response.error_code.message
    assert not response.branches


@pytest.mark.parametrize('tolerance', [float('nan'), float('inf'), -1.0])
def test_tolerance_without_sense(clients, tolerance):
    (posture,) = FANUC.postures(1, seed=39)
    request = all_request(FANUC, FANUC.pose(posture), tolerance=tolerance)
    response = clients['fanuc'].call(SERVICE, request)
    assert response.error_code.val == -16 and 'tolerance' in response.error_code.message


def test_many_at_once_have_the_responses_of_one_by_one(clients):
    client = clients['panda']
    requests = [all_request(PANDA, PANDA.pose(p)) for p in PANDA.postures(40, seed=40)]
    together = client.call_all(SERVICE, requests)
    for request, response in zip(requests, together, strict=True):
        alone = client.call(SERVICE, request)
        alone.diagnostic.solver_time = response.diagnostic.solver_time
        assert repr(alone) == repr(response)


@pytest.mark.slow
def test_other_parameters_and_another_robot(tmp_path):
    """A group may change while the node runs, and so may the robot."""
    with running_server(tmp_path) as server, client_of(server) as client:
        client.publish_latched('robot_description', FANUC.urdf)
        client.publish_latched('robot_description_semantic', FANUC.srdf)
        server.wait_until_ready()
        poses = {a.name: a.pose(a.postures(1, seed=41)[0]) for a in (FANUC, PANDA)}
        request = all_request(FANUC, poses['fanuc'])
        before = client.call(SERVICE, request)
        assert_branches_hold(FANUC, before, poses['fanuc'])
        name = f'robot_description_kinematics.{FANUC.group}.target_tolerance'
        (result,) = client.set_parameters({name: 1e-5})
        assert result.successful, result.reason
        after = client.call(SERVICE, request)
        assert (postures_of(after) == postures_of(before)).all()
        client.publish_latched('robot_description', PANDA.urdf)
        client.publish_latched('robot_description_semantic', PANDA.srdf)
        server.wait_for_log("Ready: robot 'panda'")
        response = client.call(SERVICE, all_request(PANDA, poses['panda']))
        assert_branches_hold(PANDA, response, poses['panda'])
        gone = client.call(SERVICE, request)
        assert gone.error_code.val == -15


def test_chain_without_semantic_description(tmp_path):
    parameters = {
        'robot_description_file': str(FANUC.file('fanuc.urdf')),
        'semantic_timeout': 0.1,
        'tip_link': 'tool0',
    }
    with ready_server(tmp_path, parameters) as (_, client):
        (posture,) = FANUC.postures(1, seed=42)
        response = client.call(SERVICE, all_request(FANUC, FANUC.pose(posture)))
        assert_branches_hold(FANUC, response, FANUC.pose(posture))
