"""The node as a process: where its robot comes from, where it is, how it starts and how it ends."""

import contextlib
from pathlib import Path
import signal
import time

from test.ros.server_client import client_of, ready_server
from test.ros.server_process import ended_server, READY, running_server
from test.ros.server_requests import (
    assert_refused,
    assert_solves,
    FANUC,
    fk_request,
    ik_request,
    move_to,
    PANDA,
    positions_of,
    SLOW,
    SUCCESS,
)

import pytest
from rclpy.qos import qos_profile_sensor_data, QoSProfile

pytestmark = pytest.mark.ros

RELIABLE = QoSProfile(depth=10)
INVALID_GROUP_NAME = -15
INVALID_LINK_NAME = -18


def assert_responds(client, arm):
    """Check that the node solves a pose of an arm."""
    (posture,) = arm.postures(1, seed=3)
    pose = arm.pose(posture)
    assert_solves(arm, client.call('compute_ik', ik_request(arm, pose)), pose)


def assert_ends(server, number=signal.SIGINT):
    """End the node; return the seconds that it took."""
    code, seconds = server.stop(number)
    assert code == 0, server.log
    assert 'Traceback' not in server.log
    return seconds


# Where the robot comes from.


@pytest.mark.slow
def test_description_that_comes_five_seconds_late(tmp_path):
    with running_server(tmp_path) as server, client_of(server) as client:
        server.wait_for_log('Waiting for the robot on the topic /robot_description')
        client.wait_for('ssik_ros/describe')
        time.sleep(5.0)
        assert not client.service_names() & {'/compute_ik', '/solve_ik', '/compute_fk'}
        assert client.describe().message.startswith('The node has no robot yet. Publish its')
        client.publish_latched('robot_description_semantic', PANDA.srdf)
        client.publish_latched('robot_description', PANDA.urdf)
        server.wait_until_ready()
        assert_responds(client, PANDA)
        assert client.describe().urdf_source == 'topic /robot_description'
        assert_ends(server)


@pytest.mark.slow
def test_description_that_is_replaced(tmp_path):
    with running_server(tmp_path) as server, client_of(server) as client:
        client.publish_latched('robot_description', FANUC.urdf)
        client.publish_latched('robot_description_semantic', FANUC.srdf)
        server.wait_for_log(READY)
        assert_responds(client, FANUC)

        client.publish_latched('robot_description', PANDA.urdf)
        client.publish_latched('robot_description_semantic', PANDA.srdf)
        server.wait_for_log("Ready: robot 'panda'")
        assert_responds(client, PANDA)
        gone = client.call('compute_ik', ik_request(FANUC, FANUC.pose({})))
        assert_refused(gone, INVALID_GROUP_NAME, "'manipulator'", 'panda_arm')

        for wrong, reason in (
            (
                '<robot name="panda"><link',
                'The robot stays as it was. The robot description is not',
            ),
            ('no XML', 'is ignored. The robot description is not XML text'),
            ('<robot/>', 'The robot stays as it was. The robot description has no links'),
        ):
            client.publish_latched('robot_description', wrong)
            server.wait_for_log(reason)
            assert_responds(client, PANDA)

        client.publish_latched('robot_description', FANUC.urdf)
        client.publish_latched('robot_description_semantic', FANUC.srdf)
        server.wait_for_log("Ready: robot 'fanuc'", count=2)
        assert_responds(client, FANUC)
        assert_ends(server)


def test_srdf_that_comes_later_than_it_is_waited_for(tmp_path):
    parameters = {'robot_description': FANUC.urdf, 'semantic_timeout': 0.2, 'group': 'arm'}
    with running_server(tmp_path, parameters) as server, client_of(server) as client:
        server.wait_for_log('No SRDF on /robot_description_semantic after 0.2 s')
        server.wait_until_ready()
        assert [group.name for group in client.describe().groups] == ['arm']
        client.publish_latched('robot_description_semantic', FANUC.srdf)
        server.wait_for_log(READY, count=2)
        assert_responds(client, FANUC)
        assert [group.name for group in client.describe().groups] == ['manipulator']


def test_no_srdf_but_base_and_tip(tmp_path):
    parameters = {
        'robot_description_file': str(PANDA.file('panda.urdf')),
        'base_link': 'panda_link0',
        'tip_link': 'panda_link8',
        'group': 'panda_arm',
    }
    with ready_server(tmp_path, parameters) as (server, client):
        assert 'No SRDF' not in server.log
        (group,) = client.describe().groups
        assert (group.base_frame, list(group.tip_frames)) == ('panda_link0', ['panda_link8'])
        pose = PANDA.pose(PANDA.postures(1, seed=4)[0])
        response = client.call('compute_ik', ik_request(PANDA, pose))
        assert response.error_code.val == SUCCESS
        assert response.solution.joint_state.header.frame_id == 'panda_link0'
        assert list(response.solution.multi_dof_joint_state.joint_names) == []


@pytest.mark.slow
def test_no_srdf_and_two_branches_names_their_ends_and_waits_on(tmp_path):
    parameters = {'robot_description': PANDA.urdf, 'semantic_timeout': 0.1}
    with running_server(tmp_path, parameters) as server, client_of(server) as client:
        server.wait_for_log('name base_link and tip_link, or give an SRDF')
        assert 'panda_leftfinger' in server.log
        client.publish_latched('robot_description_semantic', PANDA.srdf)
        server.wait_until_ready()
        assert_responds(client, PANDA)


# Where the robot is.


def test_joint_states_are_the_seed(tmp_path):
    with ready_server(tmp_path, {'moveit_config_package': 'panda'}) as (server, client):
        # Before any joint states arrive, requests begin at the posture ``ready`` of the SRDF.
        values = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
        ready = {f'panda_joint{i + 1}': value for i, value in enumerate(values)}
        assert seed_of(client, ready) == dict.fromkeys(PANDA.joints, 0.0) | ready

        posture = PANDA.postures(1, seed=5)[0]
        move_to(client, PANDA, {**posture, 'panda_finger_joint1': 0.01}, RELIABLE)
        fingers = {'panda_finger_joint1': 0.01, 'panda_finger_joint2': 0.01}
        assert seed_of(client, posture) == {**posture, **fingers}

        # Some of the joints, mixed with joints of another robot, from a publisher whose messages may be lost.
        posture['panda_joint2'] = 0.25
        some = {'panda_joint2': 0.25, 'joint_1': 1.0, 'wheel': 2.0}
        move_to(client, PANDA, some, qos_profile_sensor_data, posture)

        # A message that names only a follower moves its leader.
        posture['panda_joint1'] = 0.5
        follower = {'panda_finger_joint2': 0.03, 'panda_joint1': 0.5}
        move_to(client, PANDA, follower, RELIABLE, posture)
        fingers = {'panda_finger_joint1': 0.03, 'panda_finger_joint2': 0.03}
        assert seed_of(client, posture) == {**posture, **fingers}
        assert_ends(server)


@pytest.mark.parametrize('wrong', [float('nan'), float('inf')])
def test_value_that_is_no_number_leaves_the_joint_where_it_was(panda, wrong):
    move_to(panda, PANDA, {'panda_joint1': 0.1, 'panda_joint2': 0.2}, RELIABLE)
    broken = {'panda_joint1': wrong, 'panda_joint2': 0.4}
    move_to(panda, PANDA, broken, RELIABLE, {'panda_joint1': 0.1, 'panda_joint2': 0.4})


@pytest.mark.slow
def test_joint_states_hold_for_the_next_robot_too(tmp_path):
    both = {'joint_1': 0.5, 'panda_joint1': 0.25}
    with running_server(tmp_path) as server, client_of(server) as client:
        client.publish_latched('robot_description_semantic', FANUC.srdf)
        client.publish_latched('robot_description', FANUC.urdf)
        server.wait_for_log("Ready: robot 'fanuc'")
        move_to(client, FANUC, both, RELIABLE)
        client.publish_latched('robot_description_semantic', PANDA.srdf)
        client.publish_latched('robot_description', PANDA.urdf)
        server.wait_for_log("Ready: robot 'panda'")
        assert seed_of(client, both)['panda_joint1'] == 0.25
        response = client.call('compute_fk', fk_request(['tool0']))
        assert response.error_code.val == INVALID_LINK_NAME


def test_message_without_positions_leaves_the_joints_where_they_were(panda):
    posture = {'panda_joint1': 0.3, 'panda_joint2': 0.1}
    move_to(panda, PANDA, posture, RELIABLE)
    panda.publish_joints(posture, RELIABLE, position=[], velocity=[0.0, 0.0])
    move_to(panda, PANDA, {'panda_joint3': 0.7}, RELIABLE, {**posture, 'panda_joint3': 0.7})


# A namespace.


@pytest.mark.slow
def test_a_namespace_does_not_cut_the_node_off(tmp_path):
    namespace = ['-r', '__ns:=/ssik']
    with (
        running_server(tmp_path, arguments=namespace) as server,
        client_of(server, 'ssik') as client,
    ):
        client.publish_latched('/robot_description_semantic', PANDA.srdf)
        client.publish_latched('/robot_description', PANDA.urdf)
        server.wait_until_ready()
        assert client.describe().urdf_source == 'topic /robot_description'
        posture = PANDA.postures(1, seed=5)[0]
        move_to(client, PANDA, posture, RELIABLE, topic='/joint_states')
        assert client.service_names() >= {'/ssik/compute_ik', '/ssik/ssik_ros/describe'}
        assert 'joint_states now comes from /joint_states' in server.log


def test_two_robots_in_two_namespaces_keep_apart(tmp_path):
    arms = {'left': (FANUC, 0.25), 'right': (PANDA, 0.5)}
    with contextlib.ExitStack() as stack:
        domain, clients = None, {}
        for name in arms:
            folder = tmp_path / name
            folder.mkdir()
            namespace = ['-r', f'__ns:=/{name}']
            server = stack.enter_context(running_server(folder, None, namespace, domain))
            domain = server.domain
            clients[name] = stack.enter_context(client_of(server, name)), server
        for name, (arm, _) in arms.items():
            client, server = clients[name]
            client.publish_latched('robot_description_semantic', arm.srdf)
            client.publish_latched('robot_description', arm.urdf)
        for name, (arm, value) in arms.items():
            client, server = clients[name]
            server.wait_until_ready()
            move_to(client, arm, {arm.joints[0]: value}, RELIABLE)
            assert client.describe().urdf_source == f'topic /{name}/robot_description'


@pytest.mark.slow
def test_a_node_without_joint_states_says_so_once_and_in_every_response(tmp_path):
    with ready_server(tmp_path, {'moveit_config_package': 'panda'}) as (server, client):
        pose = PANDA.pose({})
        note = 'No joint states of this robot came on /joint_states'
        for _ in range(2):
            assert note in client.call('compute_ik', ik_request(PANDA, pose)).error_code.message
        fk = client.call('compute_fk', fk_request([PANDA.tip]))
        assert 'panda_joint1, panda_joint2, panda_joint3' in fk.error_code.message
        named = fk_request([PANDA.tip], positions=dict.fromkeys(PANDA.joints, 0.0))
        assert 'No joint states' not in client.call('compute_fk', named).error_code.message
        server.wait_for_log('No joint states on /joint_states after 5 s')
        move_to(client, PANDA, {'panda_joint1': 0.1}, RELIABLE)
        assert note not in client.call('compute_ik', ik_request(PANDA, pose)).error_code.message
        assert server.log.count('No joint states on') == 1


@pytest.fixture(scope='module')
def panda(tmp_path_factory):
    """Give a client of a node that serves the Panda; where the robot is may be changed."""
    folder = tmp_path_factory.mktemp('panda')
    with ready_server(folder, {'moveit_config_package': 'panda'}) as (_, client):
        yield client


def seed_of(client, posture):
    """Return the positions that solve the pose of a posture; if it is the seed, the positions are the seed."""
    response = client.call('compute_ik', ik_request(PANDA, PANDA.pose(posture)))
    assert response.error_code.val == SUCCESS
    return positions_of(response)


# Start and end.


@pytest.mark.slow
def test_client_that_outlives_the_node(tmp_path, record_figure):
    first, second = tmp_path / 'first', tmp_path / 'second'
    first.mkdir()
    second.mkdir()
    parameters = {'moveit_config_package': 'fanuc'}
    with ready_server(first, parameters) as (server, client):
        assert_responds(client, FANUC)
        assert_ends(server)
        # If news of the end is lost, the client sends to the first node until its lease ends, and these requests are
        # lost.
        client.wait_until_gone('compute_ik')
        with running_server(second, parameters, domain=server.domain) as again:
            record_figure('start of the process to ready, warm', again.wait_until_ready())
            assert_responds(client, FANUC)


@pytest.mark.sampled
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_idle(tmp_path, record_figure, number):
    with running_server(tmp_path, {'moveit_config_package': 'panda'}) as server:
        server.wait_until_ready()
        record_figure(f'{number.name} to exit, idle', assert_ends(server, number))


@pytest.mark.sampled
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_waiting_for_the_robot(tmp_path, record_figure, number):
    with running_server(tmp_path) as server:
        server.wait_for_log('Waiting for the robot')
        record_figure(f'{number.name} to exit, no robot yet', assert_ends(server, number))


@pytest.mark.slow
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_during_searches(tmp_path, record_figure, number):
    parameters = {
        'moveit_config_package': 'panda',
        'groups': 'panda_arm',
        'robot_description_kinematics': {'panda_arm': SLOW},
    }
    with ready_server(tmp_path, parameters) as (server, client):
        request = ik_request(PANDA, PANDA.blocked_pose(), timeout=30.0)
        # More than there are threads: those that wait must not begin to search after the signal.
        futures = [client.send('compute_ik', request) for _ in range(24)]
        time.sleep(1.0)
        assert not any(future.done() for future in futures)
        record_figure(f'{number.name} to exit, during searches', assert_ends(server, number))


@pytest.mark.sampled
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_a_robot_is_being_loaded(tmp_path, record_figure, number):
    program = (str(Path(__file__).with_name('slow_server.py')),)
    with running_server(tmp_path, {'moveit_config_package': 'panda'}, program=program) as server:
        server.wait_for_log('warming up the solvers (step 3 of 4). Left: warming up closed loops')
        # The client comes second: a node that has not heard of it yet loses its request.
        with client_of(server) as client:
            assert client.describe().message.startswith('The node has no robot yet. Publish its')
        record_figure(f'{number.name} to exit, while loading', assert_ends(server, number))
        assert READY not in server.log


@pytest.mark.slow
@pytest.mark.parametrize('moment', ['make', 'start'])
def test_signal_while_the_node_is_being_made(tmp_path, moment):
    program = (str(Path(__file__).with_name('signalled_server.py')), moment)
    with running_server(tmp_path, {'moveit_config_package': 'panda'}, program=program) as server:
        assert server.wait_for_end() == 0, server.log
        assert 'Traceback' not in server.log
        assert READY not in server.log


WRONG_STARTS = {
    'no file': ({'robot_description_file': '/nowhere/arm.urdf'}, ['/nowhere/arm.urdf']),
    'no package': ({'moveit_config_package': 'pandaa'}, ['pandaa', "'panda"]),
    'no SRDF file': (
        {'moveit_config_package': 'panda', 'semantic_file': '/nowhere/arm.srdf'},
        ['/nowhere/arm.srdf'],
    ),
    'no kinematics file': (
        {'moveit_config_package': 'panda', 'kinematics_file': '/nowhere/kinematics.yaml'},
        ['/nowhere/kinematics.yaml'],
    ),
    'misspelt': (
        {'robot_descripton_file': 'arm.urdf'},
        ["'robot_descripton_file'", "'robot_description_file'"],
    ),
    'out of range': (
        {'moveit_config_package': 'panda', 'service_depth': 0},
        ['service_depth', '0'],
    ),
    'wrong type': (
        {'moveit_config_package': 'panda', 'service_depth': 'deep'},
        ['service_depth', 'INTEGER'],
    ),
    'no group': (
        {'moveit_config_package': 'panda', 'groups': 'panda_amr'},
        ['panda_amr', "'panda_arm'"],
    ),
    'no tip': (
        {'robot_description': FANUC.urdf, 'tip_link': 'tool1'},
        ["'tool1'", "'tool0'"],
    ),
    'malformed URDF': (
        {'robot_description': '<robot name="arm"><link name="a"', 'semantic_timeout': 0.1},
        ['robot description', 'line 1'],
    ),
    'no URDF': (
        {'robot_description': 'arm.urdf', 'tip_link': 'tool0'},
        ['arm.urdf'],
    ),
    'malformed arguments': (
        {'moveit_config_package': 'panda', 'xacro_args': 'name=panda'},
        ['xacro_args', 'name=panda', 'name:=value'],
    ),
    'group without keys': (
        {'moveit_config_package': 'panda', 'robot_description_kinematics': {'panda_arm': 3}},
        ["'robot_description_kinematics.panda_arm'", 'panda_arm.<key>'],
    ),
    'no groups': (
        {'moveit_config_package': 'panda', 'robot_description_kinematics': 3},
        ["'robot_description_kinematics'", '<group>.<key>'],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    'arguments', [['--params-file', '/nowhere/node.yaml'], ['-p', 'no value'], ['--nonsense']]
)
def test_arguments_that_ros_cannot_read(tmp_path, arguments):
    server, code = ended_server(tmp_path, arguments=arguments)
    assert code == 1, server.log
    assert 'Traceback' not in server.log
    assert server.log.count('[FATAL]') == 1
    assert arguments[-1] in server.log


@pytest.mark.sampled
@pytest.mark.parametrize('case', WRONG_STARTS)
def test_wrong_start_ends_with_one_line_and_code_one(tmp_path, case):
    parameters, parts = WRONG_STARTS[case]
    server, code = ended_server(tmp_path, parameters)
    assert code == 1, server.log
    assert 'Traceback' not in server.log
    (line,) = [line for line in server.log.splitlines() if '[FATAL]' in line]
    for part in parts:
        assert part in line
