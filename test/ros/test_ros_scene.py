"""The scene over topics: it reads the published messages, and publishes the applied values."""

from test.ros.server_client import Client, LATCHED
from test.ros.server_process import claimed_domain  # skips without ROS
from test.ros.server_requests import message_of, PANDA

from geometry_msgs.msg import TransformStamped
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.errors import FrameNotFound, JointNotFound
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.streams.ros_scene import RosScene, SceneNotReady
from ssik_ros.tasks import Environment, RobotScene

tf2 = pytest.importorskip('tf2_msgs.msg', reason='tf2_msgs is not built')

pytestmark = pytest.mark.ros

CART = """
<robot name="cart">
  <link name="root"/><link name="cart"/><link name="arm"/><link name="free"/><link name="tip"/>
  <joint name="drive" type="planar"><parent link="root"/><child link="cart"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.2" rpy="0.1 0 0"/></joint>
  <joint name="swing" type="continuous"><parent link="cart"/><child link="arm"/><axis xyz="1 0 -1"/>
    <origin xyz="0 0 0.4" rpy="0 0 1"/></joint>
  <joint name="copy" type="revolute"><parent link="arm"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/><origin xyz="0 0 0.3"/>
    <mimic joint="swing" multiplier="0.5" offset="0.1"/></joint>
  <joint name="loose" type="floating"><parent link="arm"/><child link="free"/>
    <origin xyz="0.2 0 0"/></joint>
</robot>
"""
DEEP = QoSProfile(depth=100)
LONG = 3600.0


@pytest.fixture
def clients():
    """Yield two clients in a domain of their own: one for the robot, one for the scene."""
    with claimed_domain() as domain:
        robot, mine = Client(domain), Client(domain)
        yield robot, mine
        mine.close()
        robot.close()


def until(clients, condition, what):
    """Handle messages of both sides until a condition holds."""
    robot, mine = clients

    def holds():
        robot.spin_once(0.0)
        return condition()

    mine.spin_until(holds, what)


def publish(clients, kind, topic, profile, message, condition, what):
    """Publish until a condition holds, for discovery takes its time."""
    publisher = clients[0].node.create_publisher(kind, topic, profile)

    def holds():
        publisher.publish(message)
        return condition()

    until(clients, holds, what)


def transform(parent, child, pose):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    placed = message_of(pose)
    p = placed.position
    moved = message.transform.translation
    moved.x, moved.y, moved.z = p.x, p.y, p.z
    message.transform.rotation = placed.orientation
    return tf2.TFMessage(transforms=[message])


def random_pose(seed):
    generator = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=generator).as_matrix()
    pose[:3, 3] = generator.uniform(-1.0, 1.0, 3)
    return pose


def test_the_robot_comes_by_topic_and_only_once(clients, tmp_path):
    (tmp_path / 'cart.urdf').write_text(CART)
    _, mine = clients
    scene = RosScene(mine.node, max_age=LONG)
    assert 'robot_description' in scene.missing()
    for ask in (scene.structure, scene.joint_positions, lambda: scene.apply({})):
        with pytest.raises(SceneNotReady, match='robot_description'):
            ask()
    texts = [('<robot', None), (str(tmp_path / 'cart.urdf'), None)]
    for text, name in (*texts, (PANDA.urdf, 'panda_joint1'), (CART, 'panda_joint1')):
        latched = clients[0].node.create_publisher(String, 'robot_description', LATCHED)
        latched.publish(String(data=text))
        if name is not None:
            until(clients, lambda: 'reported' in scene.missing(), 'a robot')
            assert (
                'panda_joint1' in scene.missing() and 'panda_finger_joint2' not in scene.missing()
            )
    with pytest.raises(SceneNotReady, match='panda_joint1'):
        scene.joint_positions()


def test_values_and_poses_are_those_of_the_robot(clients):
    """All kinds of joints, the newest value of each, mimic joints by their leaders; poses as the scene without ROS."""
    robot = load_robot(CART)
    scene = RosScene(clients[1].node, robot, max_age=LONG)
    robot_scene = RobotScene(robot)
    quaternion = Rotation.from_rotvec([0.3, -0.2, 0.9]).as_quat()
    values = {'drive/x': 0.4, 'drive/y': -0.3, 'drive/theta': 1.1, 'swing': 4.0}
    values |= {f'loose/trans_{axis}': 0.1 * k for k, axis in enumerate('xyz', 1)}
    values |= {f'loose/rot_{axis}': v for axis, v in zip('xyzw', quaternion.tolist(), strict=True)}
    message = JointState(name=list(values), position=list(values.values()))
    publish(
        clients, JointState, 'joint_states', DEEP, message, lambda: not scene.missing(), 'values'
    )
    assert {item.name for item in scene.structure()} == {i.name for i in robot_scene.structure()}
    robot_scene.apply(
        {
            'drive/x': 0.4,
            'drive/y': -0.3,
            'drive/theta': 1.1,
            'swing': 4.0,
            'loose/x': 0.1,
            'loose/y': 0.2,
            'loose/z': 0.3,
            'loose/rotation': quaternion,
        }
    )
    positions = scene.joint_positions()
    assert positions.keys() == robot_scene.joint_positions().keys()
    for name, value in robot_scene.joint_positions().items():
        assert np.allclose(positions[name], value, atol=1e-12), name
    for link in robot.tree.link_names:
        assert np.allclose(scene.pose(link), robot_scene.pose(link), atol=1e-12)
        assert np.allclose(scene.pose('tip', link), robot_scene.pose('tip', link), atol=1e-12)
    newer = JointState(name=['swing'], position=[-1.0])
    publish(
        clients,
        JointState,
        'joint_states',
        DEEP,
        newer,
        lambda: scene.joint_positions()['swing'] == -1.0,
        'a newer value',
    )
    assert scene.joint_positions()['copy'] == pytest.approx(-0.4)
    assert scene.joint_positions()['drive/x'] == pytest.approx(0.4)


def test_old_values_are_refused(clients):
    scene = RosScene(clients[1].node, load_robot(CART), max_age=0.2)
    values = ['drive/x', 'drive/y', 'drive/theta', 'swing']
    message = JointState(name=values, position=[0.1] * 4)
    publish(
        clients,
        JointState,
        'joint_states',
        DEEP,
        message,
        lambda: 'swing' not in scene.missing(),
        'values',
    )
    until(clients, lambda: 'swing' in scene.missing(), 'their end')
    with pytest.raises(SceneNotReady, match=r'0\.2 s'):
        scene.pose('tip')
    eager = RosScene(clients[1].node, load_robot(CART))
    assert eager.missing() == '' and eager.joint_positions()['swing'] == 0.0


def test_frames_of_tf_are_frames_of_the_scene(clients):
    scene = RosScene(clients[1].node, load_robot(CART))
    table, cup = random_pose(1), random_pose(2)
    for ask in ('cup', 'nothing'):
        with pytest.raises(FrameNotFound, match=ask):
            scene.pose(ask)
    message = tf2.TFMessage(
        transforms=[
            *transform('arm', 'table', table).transforms,
            *transform('table', 'cup', cup).transforms,
            *transform('moon', 'crater', cup).transforms,
        ]
    )

    def names():
        return {item.name for item in scene.structure()}

    publish(clients, tf2.TFMessage, '/tf', DEEP, message, lambda: 'cup' in names(), 'the cup')
    assert 'crater' not in names(), 'it leads to no link'
    expected = scene.pose('arm') @ table @ cup
    assert np.allclose(scene.pose('cup'), expected, atol=1e-12)
    assert np.allclose(scene.pose('tip', 'cup'), np.linalg.inv(expected) @ scene.pose('tip'))
    env = Environment('with cup')
    task_set = env.add_task_set('arm', method='dls', damping=0.05, max_iterations=100)
    task_set.add_task_from_scene(scene, 'root', 'tip', 'cup', 7)
    env.sync_from(scene)
    assert np.allclose(env['cup'].matrix(), expected, atol=1e-12)
    moved = random_pose(3)
    publish(
        clients,
        tf2.TFMessage,
        '/tf',
        DEEP,
        transform('table', 'cup', moved),
        lambda: np.allclose(scene.pose('cup'), scene.pose('arm') @ table @ moved),
        'the cup elsewhere',
    )
    env.sync_from(scene)
    assert np.allclose(env['cup'].matrix(), scene.pose('cup'), atol=1e-12)


def test_what_is_applied_is_published(clients):
    """States come back by joint_states as they were applied; driven joints go to their controller."""
    world, mine = clients
    robot = load_robot(CART)
    scene = RosScene(mine.node, robot, driven=['swing'], trajectory_topic='swing_controller')
    states, trajectories = [], []
    world.node.create_subscription(JointState, 'joint_states', states.append, DEEP)
    world.node.create_subscription(JointTrajectory, 'swing_controller', trajectories.append, DEEP)
    turn = Rotation.from_rotvec([0.5, 0.1, -0.4]).as_quat()
    given = {'drive/x': 0.7, 'swing': 0.9, 'loose/z': -0.2, 'loose/rotation': turn}

    def is_heard():
        scene.apply(given)
        return states and trajectories and scene.joint_positions()['drive/x'] == 0.7

    until(clients, is_heard, 'both messages')
    sent = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert sent.pop('drive/x') == 0.7 and sent.pop('loose/trans_z') == -0.2
    assert [sent[f'loose/rot_{axis}'] for axis in 'xyzw'] == pytest.approx(turn.tolist())
    assert 'swing' not in sent and states[-1].header.stamp.sec > 0
    (point,) = trajectories[-1].points
    assert trajectories[-1].joint_names == ['swing'] and list(point.positions) == [0.9]
    assert point.time_from_start.nanosec == 100_000_000
    # The robot itself says where driven joints are.
    assert scene.joint_positions()['swing'] == 0.0
    assert np.allclose(scene.joint_positions()['loose/rotation'], turn)
    with pytest.raises(JointNotFound, match="'swign'"):
        scene.apply({'swign': 1.0})
    with pytest.raises(JointNotFound, match="'ghost'"):
        RosScene(mine.node, robot, driven=['ghost'])


def test_frames_of_the_environment_are_broadcast(clients):
    scene = RosScene(clients[1].node, load_robot(CART))
    env = Environment.from_scene(scene)
    place = random_pose(5)
    env.add_dummy('goal', 'arm', place)
    heard = []
    clients[0].node.create_subscription(tf2.TFMessage, '/tf', heard.append, DEEP)

    def is_heard():
        scene.broadcast(env)
        return heard

    until(clients, is_heard, 'the frame')
    (entry,) = heard[-1].transforms
    assert (entry.header.frame_id, entry.child_frame_id) == ('root', 'ik/goal')
    p, q = entry.transform.translation, entry.transform.rotation
    expected = env['goal'].pose()
    assert [p.x, p.y, p.z] == pytest.approx(expected[:3].tolist(), abs=1e-12)
    assert abs(np.dot([q.x, q.y, q.z, q.w], expected[3:])) == pytest.approx(1.0, abs=1e-12)
