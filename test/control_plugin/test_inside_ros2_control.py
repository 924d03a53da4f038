"""The plugins of ssik_control inside real ros2_control; everything here is skipped where ros2_control is not sourced."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from test.control_plugin.chain_programs import (
    COMMAND,
    COMPILING,
    missing_tool,
    PATIENCE,
    ROOT,
    urdf_of,
)

import numpy as np
import pytest
import yaml

index = pytest.importorskip('ament_index_python.packages', reason='ROS 2 is not sourced')
NEEDED = ('kinematics_interface', 'controller_manager', 'joint_state_broadcaster', 'ssik_msgs')
KDL = 'kinematics_interface_kdl/KinematicsInterfaceKDL'
DOMAIN = '91'
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
RATE = 500
VELOCITY, ACCELERATION = 1.5, 6.0


def prefix_of(package):
    """Return the prefix of a package, or None."""
    try:
        return Path(index.get_package_prefix(package))
    except index.PackageNotFoundError:
        return None


def missing_package():
    """Return the reason why the plugins cannot be built; empty if they can."""
    for name in NEEDED:
        if prefix_of(name) is None:
            return f'{name} is not sourced'
    return missing_tool()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_package()), reason=missing_package() or 'all there'),
]


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """Return the folder of the build, and an environment in which the plugins are found."""
    folder = tmp_path_factory.mktemp('inside')
    command = folder / 'ssik'
    command.write_text(COMMAND.format(python=sys.executable))
    command.chmod(0o755)
    configure = [
        *('cmake', '-S', str(ROOT / 'control_plugin'), '-B', str(folder / 'build')),
        *(f'-DCMAKE_INSTALL_PREFIX={folder / "install"}', '-DSSIK_CONTROL_PROGRAMS=ON'),
        *(f'-DSSIK_COMMAND={command}', f'-DPython3_EXECUTABLE={sys.executable}'),
    ]
    for words in (configure, ['cmake', '--build', str(folder / 'build'), '--target', 'install']):
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMPILING)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    environment = {**os.environ, 'ROS_DOMAIN_ID': DOMAIN, 'XDG_CACHE_HOME': str(folder / 'cache')}
    more = {
        'AMENT_PREFIX_PATH': folder / 'install',
        'LD_LIBRARY_PATH': folder / 'install/lib',
        'PATH': folder,
    }
    for name, path in more.items():
        environment[name] = f'{path}:{environment.get(name, "")}'
    return folder, environment


def test_the_interfaces_own_suite_passes(place):
    folder, environment = place
    program = folder / 'build/interface_suite'
    if not program.is_file():
        pytest.skip('kinematics_interface was built without its tests')
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert 'PASSED' in done.stdout


def test_links_and_jacobians_are_those_of_the_kdl_plugin(place):
    """Random chains of a Panda, also upwards, within 1e-9; our plugin allocates nothing after initialize."""
    folder, environment = place
    peers = [KDL] if prefix_of('kinematics_interface_kdl') else []
    command = [str(folder / 'build/plugin_program'), str(urdf_of('panda')), '300', *peers]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert 'allocations after initialize: 0' in done.stdout


def controlled_urdf():
    """Return the URDF of a Panda whose joints are simulated by ros2_control."""
    joints = ''.join(
        f'<joint name="panda_joint{k + 1}"><command_interface name="position"/>'
        f'<state_interface name="position"><param name="initial_value">{value}</param></state_interface>'
        '<state_interface name="velocity"/></joint>'
        for k, value in enumerate(READY)
    )
    system = (
        '<ros2_control name="mock" type="system"><hardware><plugin>mock_components/GenericSystem</plugin>'
        f'</hardware>{joints}</ros2_control></robot>'
    )
    return urdf_of('panda').read_text().replace('</robot>', system)


def parameters(reference):
    """Return the parameters of a controller manager with a controller of poses or twists."""
    controller = {
        'base': 'panda_link0',
        'tip': 'panda_link8',
        'reference': reference,
        'acceleration': [ACCELERATION],
        'velocity_scale': VELOCITY / 2.175,
        'posture': READY,
    }
    types = {
        'update_rate': RATE,
        'joint_state_broadcaster': {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
        'cartesian': {'type': 'ssik_control/CartesianController'},
    }
    return {
        '/**': {'ros__parameters': types},
        '/**/cartesian': {'ros__parameters': controller},
    }


class Robot:
    """A controller manager with a simulated Panda, and a node that talks to it."""

    def __init__(self, folder, environment, reference):
        """Start the processes, and load and activate the controllers."""
        import rclpy
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        path = folder / f'{reference}.yaml'
        path.write_text(yaml.safe_dump(parameters(reference)))
        program = prefix_of('controller_manager') / 'lib/controller_manager/ros2_control_node'
        self.log = (folder / f'{reference}.log').open('w+')
        self.process = subprocess.Popen(
            [str(program), '--ros-args', '--params-file', str(path)],
            env=environment,
            stdout=self.log,
            stderr=self.log,
        )
        os.environ['ROS_DOMAIN_ID'] = DOMAIN
        rclpy.init()
        self.rclpy, self.node = rclpy, rclpy.create_node(f'driver_of_{reference}s')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.descriptions = self.node.create_publisher(String, '/robot_description', latched)
        self.descriptions.publish(String(data=controlled_urdf()))
        self.states, self.statuses = [], []
        self._activate()

    def _call(self, kind, service, **fields):
        client = self.node.create_client(kind, f'/controller_manager/{service}')
        assert client.wait_for_service(PATIENCE), service
        future = client.call_async(kind.Request(**fields))
        self.rclpy.spin_until_future_complete(self.node, future, timeout_sec=PATIENCE)
        assert future.result() is not None and future.result().ok, service

    def _activate(self):
        from controller_manager_msgs.srv import (
            ConfigureController,
            LoadController,
            SwitchController,
        )
        from sensor_msgs.msg import JointState
        from ssik_msgs.msg import StreamStatus

        names = ['joint_state_broadcaster', 'cartesian']
        for name in names:
            self._call(LoadController, 'load_controller', name=name)
            self._call(ConfigureController, 'configure_controller', name=name)
        self._call(SwitchController, 'switch_controller', activate_controllers=names, strictness=2)
        self.node.create_subscription(JointState, '/joint_states', self.states.append, 1000)
        self.node.create_subscription(StreamStatus, '/cartesian/status', self.statuses.append, 100)

    def drive(self, publisher, message, seconds):
        """Send a message at about 137 Hz for some time, or none; return the newest status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if message is not None:
                publisher.publish(message)
            until = time.monotonic() + 1.0 / 137.0
            while time.monotonic() < until:
                self.rclpy.spin_once(self.node, timeout_sec=0.001)
        return self.statuses[-1]

    def joints(self):
        """Return the newest joint values."""
        state = dict(zip(self.states[-1].name, self.states[-1].position, strict=True))
        return np.array([state[f'panda_joint{k}'] for k in range(1, 8)])

    def check_limits(self):
        """Check that no joint moved faster than it may between two states, by their stamps."""
        for a, b in zip(self.states, self.states[1:], strict=False):
            stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in (a, b)]
            before, after = (dict(zip(m.name, m.position, strict=True)) for m in (a, b))
            motion = max(abs(after[name] - before[name]) for name in before)
            # A cycle late, stamps are closer than commands.
            assert motion <= VELOCITY * (stamps[1] - stamps[0] + 5.0 / RATE)

    def end(self):
        """End the processes; return the exit code of the controller manager."""
        self.node.destroy_node()
        self.rclpy.shutdown()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        self.log.close()
        return code


@pytest.fixture(params=['pose', 'twist'])
def robot(place, request):
    """Return a robot whose controller follows poses, or twists."""
    made = Robot(*place, request.param)
    made.reference = request.param
    yield made
    assert made.end() == 0


def test_a_controller_follows_its_targets_and_holds_when_they_end(robot):
    from geometry_msgs.msg import PoseStamped, TwistStamped
    from ssik_msgs.msg import StreamStatus

    from ssik_ros import Manipulator

    arm = Manipulator.from_urdf(urdf_of('panda'), base='panda_link0', ee='panda_link8')
    status = robot.drive(None, None, 0.5)
    assert (status.status, status.cause) == (StreamStatus.HELD, 'NO_TARGET')
    np.testing.assert_allclose(robot.joints(), READY, atol=1e-3)
    begin = arm.fk(READY)
    if robot.reference == 'twist':
        publisher = robot.node.create_publisher(TwistStamped, '/cartesian/target_twist', 1)
        message = TwistStamped()
        message.header.frame_id = 'panda_link0'
        message.twist.linear.y = 0.05
    else:
        publisher = robot.node.create_publisher(PoseStamped, '/cartesian/target_pose', 1)
        message = PoseStamped()
        goal = np.array(begin)
        goal[1, 3] += 0.1
        message.pose.position.x, message.pose.position.y, message.pose.position.z = goal[
            :3, 3
        ].tolist()
        from scipy.spatial.transform import Rotation

        x, y, z, w = Rotation.from_matrix(goal[:3, :3]).as_quat().tolist()
        turn = message.pose.orientation
        turn.x, turn.y, turn.z, turn.w = x, y, z, w
    status = robot.drive(publisher, message, 2.0)
    assert (status.status, status.cause) == (StreamStatus.OK, 'NONE')
    assert status.condition > 1.0 and status.scale > 0.99
    moved = arm.fk(robot.joints())
    assert 0.05 < moved[1, 3] - begin[1, 3] < 0.105
    np.testing.assert_allclose(moved[[0, 2], 3], begin[[0, 2], 3], atol=1e-5)
    np.testing.assert_allclose(moved[:3, :3], begin[:3, :3], atol=1e-5)
    status = robot.drive(None, None, 1.0)
    assert (status.status, status.cause) == (StreamStatus.HELD, 'STALE')
    before = robot.joints()
    robot.drive(None, None, 0.2)
    np.testing.assert_array_equal(robot.joints(), before)
    message.header.frame_id = 'nowhere'
    status = robot.drive(publisher, message, 0.5)
    assert status.cause in ('STALE', 'NO_TARGET')
    robot.check_limits()
