"""~/solve_goals and ~/complete_state over the real node, judged by the closed forms of the mechanisms."""

import math
from pathlib import Path

from test.mechanisms.mechanisms import BASE_RADIUS, Delta, hexagon, LEG_OFFSET, PLATFORM_RADIUS
from test.ros.server_client import ready_server
from test.ros.server_process import ended_server
from test.ros.server_requests import message_of, SUCCESS

from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from ssik_msgs.msg import ChainReport, LinkGoal
from ssik_msgs.srv import CompleteState, SolveGoals

pytestmark = pytest.mark.ros

MECHANISMS = Path(__file__).resolve().parents[2] / 'config' / 'mechanisms'
SLIDES = [f'leg{k}_slide' for k in range(1, 7)]
HOME = [0.05453874] * 6


def parameters_of(name, tip):
    folder = MECHANISMS / name
    return {
        'robot_description_file': str(folder / f'{name}.urdf'),
        'loop_closures_file': str(folder / 'loop_closures.yaml'),
        'tip_link': tip,
    }


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """Give (server, client) of the hexapod."""
    parameters = parameters_of('hexapod', 'platform')
    solver = {
        'kinematics_solver': 'ssik_ros/ClosedChain',
        'loop_closures_file': parameters['loop_closures_file'],
    }
    parameters['robot_description_kinematics'] = {'manipulator': solver}
    with ready_server(tmp_path_factory.mktemp('hexapod'), parameters) as pair:
        yield pair


@pytest.fixture
def client(server):
    return server[1]


def values_of(state):
    joints = state.joint_state
    return dict(zip(joints.name, joints.position, strict=True))


def platform_goal(position, turn=(0.0, 0.0, 0.0), **fields):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = position
    goal = LinkGoal(link='platform', **fields)
    goal.pose_stamped.pose = message_of(pose)
    return goal, pose


def leg_lengths(pose):
    base = hexagon(BASE_RADIUS, 0.25, 0.0)
    ends = hexagon(PLATFORM_RADIUS, 0.25, math.pi / 3)[[5, 0, 1, 2, 3, 4]]
    return np.linalg.norm(ends @ pose[:3, :3].T + pose[:3, 3] - base, axis=1)


def read_platform(values):
    pose = np.eye(4)
    angles = [values[f'platform_{n}'] for n in ('yaw', 'pitch', 'roll')]
    pose[:3, :3] = Rotation.from_euler('ZYX', angles).as_matrix()
    pose[:3, 3] = [values[f'platform_{n}'] for n in 'xyz']
    return pose


def test_a_goal_gives_the_leg_lengths_of_the_closed_form_and_these_the_goal(client):
    rng = np.random.default_rng(7)
    for _ in range(4):
        position = np.array([0.0, 0.0, 0.0975]) + rng.uniform(-0.006, 0.006, 3)
        goal, pose = platform_goal(position, rng.uniform(-0.06, 0.06, 3), name='tool')
        request = SolveGoals.Request(
            goals=[goal], translation_tolerance=1e-8, rotation_tolerance=1e-8
        )
        response = client.call('ssik_ros/solve_goals', request)
        assert response.error_code.val == SUCCESS, response.error_code.message
        values = values_of(response.state)
        slides = [values[name] for name in SLIDES]
        assert np.abs(np.array(slides) + LEG_OFFSET - leg_lengths(pose)).max() < 1e-6
        assert np.abs(read_platform(values) - pose).max() < 1e-6
        (chain,) = response.chains
        assert chain.status == ChainReport.CONVERGED
        assert list(chain.closures) == [*(f'leg{k}_head' for k in range(1, 7)), 'tool']
        assert max(*chain.translation_errors, *chain.rotation_errors) <= 1e-8
        assert set(SLIDES) < set(chain.joint_names) <= set(values)
        back = client.call('ssik_ros/complete_state', CompleteState.Request(positions=slides))
        assert back.error_code.val == SUCCESS, back.error_code.message
        assert np.abs(read_platform(values_of(back.state)) - pose).max() < 1e-6
        assert [values_of(back.state)[name] for name in SLIDES] == slides


def test_a_part_of_a_pose_leaves_the_rest_free(client):
    goal, pose = platform_goal((0.0, 0.0, 0.1), (0.0, 0.1, 0.0), free_dof=['X', 'Y', 'EZ'])
    response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
    assert response.error_code.val == SUCCESS, response.error_code.message
    reached = read_platform(values_of(response.state))
    assert abs(pose[:3, 2] @ (reached - pose)[:3, 3]) < 2e-6
    assert np.abs(reached[:3, 2] - pose[:3, 2]).max() < 2e-6
    goal.world_axes = True
    goal.free_dof = ['X', 'Y', 'EX', 'EY', 'EZ']
    response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
    assert abs(read_platform(values_of(response.state))[2, 3] - 0.1) < 2e-6


def test_an_offset_and_the_frame_of_another_link_count(client):
    goal, _ = platform_goal((0.0, 0.0, 0.0))
    goal.offset.position.z = 0.05
    goal.pose_stamped.header.frame_id = 'platform'
    goal.pose_stamped.pose.position.z = 0.045
    response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
    assert response.error_code.val == SUCCESS, response.error_code.message
    reached = read_platform(values_of(response.state))
    # The current frame of the platform: no joint states arrive, so its initial position counts.
    assert np.abs(reached[:3, 3] - [0.0, 0.0, 0.0925]).max() < 2e-6


def test_what_is_out_of_reach_is_never_called_solved(client):
    goal, pose = platform_goal((0.5, 0.0, 0.2))
    response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
    assert response.error_code.val == -31
    assert 'platform' in response.error_code.message
    (chain,) = response.chains
    assert chain.status == ChainReport.STALLED and chain.limits_active
    assert max(chain.translation_errors) > 0.1
    values = values_of(response.state)
    assert all(0.034 < values[name] < 0.081 for name in SLIDES)
    # A free root reaches it: the whole robot goes there.
    response = client.call(
        'ssik_ros/solve_goals', SolveGoals.Request(goals=[goal], free_root=True)
    )
    assert response.error_code.val == SUCCESS, response.error_code.message
    p, q = response.root_pose.position, response.root_pose.orientation
    root = np.eye(4)
    root[:3, :3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
    root[:3, 3] = p.x, p.y, p.z
    assert np.abs(root @ read_platform(values_of(response.state)) - pose).max() < 5e-6


def test_restarts_are_counted_and_bounded_by_the_request(client):
    goal, _ = platform_goal((0.5, 0.0, 0.2))
    request = SolveGoals.Request(goals=[goal], max_restarts=3, seed=5)
    responses = [client.call('ssik_ros/solve_goals', request) for _ in range(2)]
    for response in responses:
        assert response.error_code.val == -31
        assert 'from 4 starts' in response.error_code.message
        (chain,) = response.chains
        assert chain.restarts == 3 and chain.status == ChainReport.STALLED
    assert values_of(responses[0].state) == values_of(responses[1].state)


def test_compute_ik_of_a_group_keeps_the_loops_closed(client):
    """Without its legs, the platform could be anywhere: the legs decide."""
    for height, code in ((0.1, SUCCESS), (0.135, -31)):
        request = GetPositionIK.Request()
        ik_request = request.ik_request
        ik_request.group_name = 'manipulator'
        goal, pose = platform_goal((0.0, 0.004, height))
        ik_request.pose_stamped = goal.pose_stamped
        ik_request.timeout.sec = 10
        response = client.call('compute_ik', request)
        assert response.error_code.val == code, response.error_code.message
        if code == SUCCESS:
            assert np.abs(read_platform(values_of(response.solution)) - pose).max() < 1e-3


def test_locked_joints_stay(client):
    goal, _ = platform_goal((0.0, 0.0, 0.1))
    request = SolveGoals.Request(goals=[goal], locked_joints=SLIDES)
    response = client.call('ssik_ros/solve_goals', request)
    assert response.error_code.val == -31
    values = values_of(response.state)
    assert [values[name] for name in SLIDES] == pytest.approx(HOME, abs=1e-12)


def test_a_completed_state_says_when_it_is_none(client):
    outside = client.call(
        'ssik_ros/complete_state', CompleteState.Request(names=['leg1_slide'], positions=[0.2])
    )
    assert outside.error_code.val == -31
    assert list(outside.clamped) == ['leg1_slide']
    one = client.call(
        'ssik_ros/complete_state',
        CompleteState.Request(names=['leg1_slide'], positions=[0.056], steps=3),
    )
    assert one.error_code.val == SUCCESS, one.error_code.message
    assert values_of(one.state)['leg1_slide'] == 0.056


@pytest.mark.parametrize(
    ('code', 'fields'),
    [
        (-18, {'link': 'thumb'}),
        (-16, {'free_dof': ['YAW']}),
        (-16, {'free_dof': ['X', 'Y', 'Z', 'EX', 'EY', 'EZ']}),
        (-21, {'frame': 'nowhere'}),
        (-31, {'quaternion': 0.0}),
    ],
)
def test_a_wrong_goal_has_its_code(client, code, fields):
    goal, _ = platform_goal((0.0, 0.0, 0.1))
    for name, value in fields.items():
        if name == 'frame':
            goal.pose_stamped.header.frame_id = value
        elif name == 'quaternion':
            goal.pose_stamped.pose.orientation.w = value
            goal.pose_stamped.pose.orientation.z = value
        else:
            setattr(goal, name, value)
    response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
    assert response.error_code.val == code, response.error_code
    assert response.error_code.message and not response.chains
    assert not response.state.joint_state.name


def test_a_wrong_request_has_its_code(client):
    goal, _ = platform_goal((0.0, 0.0, 0.1))
    for code, request in (
        (-17, SolveGoals.Request(goals=[goal], locked_joints=['knee'])),
        (-16, SolveGoals.Request(goals=[goal], translation_tolerance=-1.0)),
        (-16, SolveGoals.Request(goals=[goal], rotation_tolerance=math.nan)),
    ):
        response = client.call('ssik_ros/solve_goals', request)
        assert response.error_code.val == code, response.error_code
    for request in (
        CompleteState.Request(names=['knee'], positions=[0.0]),
        CompleteState.Request(names=['leg1_slide'], positions=[math.nan]),
        CompleteState.Request(names=['leg1_slide'], positions=[]),
        CompleteState.Request(positions=[0.05]),
    ):
        response = client.call('ssik_ros/complete_state', request)
        assert response.error_code.val == -17, response.error_code


def test_the_search_starts_where_the_robot_is(client):
    """The state of joint_states counts; the state of the request takes precedence."""
    home = values_of(client.call('ssik_ros/complete_state', CompleteState.Request()).state)
    start, pose = platform_goal((0.004, 0.0, 0.1))
    there = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[start]))
    values = values_of(there.state)

    def is_heard():
        client.publish_joints(values, QoSProfile(depth=1))
        # Without goals the loops are closed from the robot's state, in which they are closed already.
        response = client.call('ssik_ros/solve_goals', SolveGoals.Request())
        assert response.error_code.val == SUCCESS
        return np.abs(read_platform(values_of(response.state)) - pose).max() < 1e-5

    client.spin_until(is_heard, 'the joint state')
    request = SolveGoals.Request()
    request.robot_state.joint_state.name = list(home)
    request.robot_state.joint_state.position = list(home.values())
    response = client.call('ssik_ros/solve_goals', request)
    assert abs(read_platform(values_of(response.state))[0, 3]) < 1e-5


def test_a_delta_robot_goes_where_its_motors_say(tmp_path):
    delta = Delta([], [], None, None)
    with ready_server(tmp_path, parameters_of('delta', 'platform')) as (_, client):
        for position in ((0.05, 0.0, -0.42), (-0.04, 0.06, -0.4)):
            goal, _ = platform_goal(position, free_dof=['EX', 'EY', 'EZ'])
            response = client.call('ssik_ros/solve_goals', SolveGoals.Request(goals=[goal]))
            assert response.error_code.val == SUCCESS, response.error_code.message
            values = values_of(response.state)
            motors = [values[f'motor{k}'] for k in (1, 2, 3)]
            assert np.abs(motors - delta.motor_angles(position)).max() < 1e-4
            exact = delta.motor_angles(position).tolist()
            back = client.call(
                'ssik_ros/complete_state', CompleteState.Request(positions=exact, steps=4)
            )
            assert back.error_code.val == SUCCESS, back.error_code.message
            assert np.abs(read_platform(values_of(back.state))[:3, 3] - position).max() < 1e-7


def test_a_file_of_loops_that_does_not_fit_ends_the_node_with_the_reason(tmp_path):
    path = tmp_path / 'loops.yaml'
    path.write_text('active_joints: [leg1_slid]\n')
    parameters = parameters_of('hexapod', 'platform') | {'loop_closures_file': str(path)}
    server, code = ended_server(tmp_path, parameters)
    assert code == 1
    assert "'leg1_slid'" in server.log and "'leg1_slide'" in server.log


def test_constraints_that_say_too_little_cost_only_their_loops(tmp_path):
    text = (MECHANISMS / 'delta' / 'delta.urdf').read_text()
    constraint = '<constraint name="odd" type="magnetic"><parent link="rod1a"/><child link="platform"/></constraint>'
    parameters = {
        'robot_description': text.replace('</robot>', f'{constraint}</robot>'),
        'tip_link': 'platform',
    }
    with ready_server(tmp_path, parameters) as (server, client):
        response = client.call('ssik_ros/solve_goals', SolveGoals.Request())
        assert response.error_code.val == -18, response.error_code
        assert "'odd'" in server.log and "'magnetic'" in server.log
