"""The node ik_view: the page of a running robot, which shows where the robot is and sends goals when a user asks for it."""

import re
import time

from test.ros.page_client import PageClient
from test.ros.server_client import client_of
from test.ros.server_process import running_server, WAIT

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_state import RobotState
from ssik_ros.ros.view.goal_sender import BETWEEN_GOALS

pytestmark = pytest.mark.ros

VIEW = ('-m', 'ssik_ros.ros.executables', 'ik_view')
TOPIC = '/arm_controller/joint_trajectory'
FILES = find_moveit_config('panda')
HOME = dict(
    zip([f'panda_joint{k}' for k in range(1, 8)], (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785))
)
FINGERS = {'panda_finger_joint1': 0.01}
FOLDED = (0, 1.7, 0, -3.05, 0, 0, 0.785)
"""The wrist reaches into the base."""
MAX_AGE = 2.0
DEPTH = QoSProfile(depth=10)


@pytest.fixture(scope='module')
def panda():
    return load_robot(FILES.urdf_path, FILES.srdf_path)


class RunningView:
    """The node, a client of its page, and the robot."""

    def __init__(self, process, client, panda):
        self.process, self.client, self.panda = process, client, panda
        self.positions, self.trajectories = {**HOME, **FINGERS}, []
        self.is_reporting = True
        client.node.create_subscription(JointTrajectory, TOPIC, self.trajectories.append, DEPTH)

    def open(self):
        """Connect to the page."""
        (url,) = set(re.findall(r'http://\S+', self.process.log))
        self.page = PageClient(url)

    def wait_for(self, condition, what):
        """Report joint states and read the page until a condition holds."""
        end = time.monotonic() + WAIT
        while not condition():
            if time.monotonic() > end:
                self.process.fail(f'{what}: not within {WAIT:g} s. The page: {self.page.texts()}')
            self.go_on()

    def go_on(self):
        if self.is_reporting:
            self.client.publish_joints(self.positions, DEPTH)
        self.client.spin_once(0.01)
        if hasattr(self, 'page'):
            self.page.read()

    def place_of(self, name):
        """Return where the page shows something."""
        return np.array(self.page.values.get(name, {}).get('position', np.full(3, np.nan)))

    def expected(self, link, **changes):
        """Return where a link is."""
        state = RobotState(self.panda)
        state.set_joint_positions({**self.positions, **changes})
        return state.link_transform(link)[:3, 3]

    def can_send(self):
        uuid = self.page.find('Send the goal')
        return uuid is not None and not self.page.values[uuid].get('disabled')


@pytest.fixture(scope='module')
def view(tmp_path_factory, panda):
    """Yield a view with a robot from the topic, after malformed descriptions, and with a solver from a node."""
    parameters = {
        'port': 0,
        'node': '/ssik_ros',
        'send_to': TOPIC,
        'max_state_age': MAX_AGE,
        'semantic_timeout': 0.5,
    }
    served = {
        'moveit_config_package': 'panda',
        'robot_description_kinematics': {
            'panda_arm': {'kinematics_solver': 'ssik_ros/PoseIK', 'target_tolerance': 1e-4}
        },
    }
    with (
        running_server(tmp_path_factory.mktemp('server'), served) as server,
        running_server(
            tmp_path_factory.mktemp('view'), parameters, domain=server.domain, program=VIEW
        ) as process,
        client_of(process) as client,
    ):
        robot = RunningView(process, client, panda)
        for text in ('', '<robot', '/etc/passwd', '<robot name="r"><link name="l"/></robot>'):
            client.publish_latched('robot_description', text)
        process.wait_for_log('No robot yet')
        client.publish_latched('robot_description_semantic', FILES.srdf_path.read_text())
        client.publish_latched('robot_description', panda.urdf_xml)
        client.spin_until(lambda: '/#' in process.log or robot.go_on(), 'the page')
        robot.open()
        yield robot
        robot.page.close()
        assert process.stop()[0] == 0


def test_the_solver_is_that_of_the_running_node(view):
    line = next(line for line in view.process.log.splitlines() if 'Ready: robot' in line)
    assert 'ssik_ros/PoseIK as in node /ssik_ros' in line
    view.wait_for(lambda: view.page.find('target_tolerance'), 'the parameters')
    # The field comes before its value.
    field = view.page.find('target_tolerance')
    view.wait_for(lambda: view.page.values[field]['value'] == '0.0001', 'the value')


def test_the_real_robot_is_beside_the_goal_and_moves_by_itself(view):
    link = 'panda_link6'
    view.wait_for(lambda: view.page.values.get('/real', {}).get('visible'), 'the real robot')
    view.positions['panda_joint1'] = 0.7
    view.wait_for(
        lambda: np.allclose(view.place_of(f'/real/{link}'), view.expected(link), atol=1e-6),
        'the real robot',
    )
    # The goal stays where it was.
    home = view.expected(link, panda_joint1=0.0)
    assert np.allclose(view.place_of(f'/robot/{link}'), home, atol=1e-6)
    view.page.press('Begin where the robot is')
    view.wait_for(
        lambda: np.allclose(view.place_of(f'/robot/{link}'), view.expected(link), atol=1e-6),
        'the goal',
    )


def test_a_goal_goes_out_when_the_button_is_pressed_and_never_before(view):
    view.wait_for(view.can_send, 'the button')
    assert (
        view.page.values[view.page.find('Send the goal')]['label'] == f'Send the goal to {TOPIC}'
    )
    view.page.set('panda_joint2', -0.5)
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/robot/panda_link7'),
            view.expected('panda_link7', panda_joint2=-0.5),
            atol=2e-3,
        ),
        'the slider',
    )
    assert view.trajectories == []
    view.page.press('Send the goal')
    view.wait_for(lambda: view.trajectories, 'the goal')
    (sent,) = view.trajectories
    assert sent.joint_names == list(HOME)
    (point,) = sent.points
    wanted = {**view.positions, 'panda_joint2': -0.5}
    assert np.allclose(point.positions, [wanted[n] for n in HOME], atol=3e-3)
    assert point.time_from_start.sec == 5
    # Two radians from the real posture, at half of the largest speed.
    view.page.set('duration', 1.0)
    view.positions['panda_joint1'] = -1.3
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/real/panda_link6'), view.expected('panda_link6'), atol=1e-6
        ),
        'the real robot',
    )
    # Goals are limited in rate.
    time.sleep(BETWEEN_GOALS)
    view.page.press('Send the goal')
    view.wait_for(lambda: len(view.trajectories) == 2, 'the second goal')
    limit = view.panda.tree.velocity[0]
    taken = view.trajectories[1].points[0].time_from_start
    assert taken.sec + 1e-9 * taken.nanosec == pytest.approx(2.0 / (0.5 * limit), rel=2e-3)
    view.wait_for(lambda: 'not to be faster' in view.page.texts(), 'the reason')
    view.page.press('Stop')
    view.wait_for(lambda: len(view.trajectories) == 3, 'the stop')
    held = view.trajectories[2].points[0]
    assert np.allclose(held.positions, [view.positions[n] for n in HOME], atol=1e-9)


def test_stale_joint_states_are_shown_as_stale_and_nothing_is_sent(view):
    view.trajectories.clear()
    view.wait_for(view.can_send, 'the button')
    view.is_reporting = False
    view.wait_for(lambda: 'STALE: nobody has reported panda' in plain(view), 'the note')
    view.wait_for(lambda: not view.can_send(), 'the button')
    # A client may press a button that its page shows as disabled.
    view.page.press('Send the goal')
    view.wait_for(lambda: 'Nothing is sent' in view.page.texts(), 'the refusal')
    assert view.trajectories == []
    view.is_reporting = True
    view.wait_for(
        lambda: 'robot is the real one' in view.page.texts() and view.can_send(), 'the way back'
    )


def plain(view):
    return view.page.texts().replace('\\', '')


def test_states_outside_of_the_limits_move_nothing(view):
    view.trajectories.clear()
    view.is_reporting = True
    good, view.positions = view.positions, {**view.positions, 'panda_joint1': 100.0}
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/real/panda_link6'), view.expected('panda_link6'), atol=1e-6
        ),
        'the real robot',
    )
    view.page.press('Send the goal')
    view.wait_for(lambda: 'outside of its limits' in view.page.texts(), 'the reason')
    view.page.press('Stop')
    view.wait_for(lambda: 'nobody knows where to hold' in view.page.texts(), 'the reason')
    assert view.trajectories == []
    view.positions = good


def test_a_goal_that_collides_is_not_sent(view):
    """Joint values may be set so that the arm collides; the button is there all the same."""
    view.trajectories.clear()
    view.page.set('paste', ' '.join(map(str, FOLDED)))
    view.page.set('paste to', 'joints')
    view.page.press('Go to pasted')
    folded = dict(zip(HOME, FOLDED))
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/robot/panda_link6'), view.expected('panda_link6', **folded), atol=1e-4
        ),
        'the posture',
    )
    view.page.press('Send the goal')
    view.wait_for(lambda: 'collide.' in view.page.texts(), 'the refusal')
    assert 'Nothing is sent' in view.page.texts() and view.trajectories == []


@pytest.mark.parametrize(
    'positions',
    [
        {'panda_joint1': float('nan')},
        {'panda_joint1': 1e300, 'nobody': 1.0},
        {f'joint{k}': 0.0 for k in range(5000)},
    ],
)
def test_joint_states_that_mean_nothing_change_nothing(view, positions):
    view.client.publish_joints(positions, DEPTH)
    view.positions['panda_joint1'] += 0.05
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/real/panda_link6'), view.expected('panda_link6'), atol=1e-6
        ),
        'the real robot',
    )


def test_another_robot_leaves_the_page_as_it_is(view):
    other = view.panda.urdf_xml.replace('name="panda"', 'name="other"')
    view.client.publish_latched('robot_description', other)
    view.process.wait_for_log('Another robot came', wait=WAIT)
    view.positions['panda_joint1'] += 0.05
    view.wait_for(
        lambda: np.allclose(
            view.place_of('/real/panda_link6'), view.expected('panda_link6'), atol=1e-6
        ),
        'the real robot',
    )
    # The robot that moves may differ from the robot that is shown.
    view.trajectories.clear()
    view.wait_for(lambda: 'Another robot description' in view.page.texts(), 'the reason')
    view.wait_for(lambda: not view.can_send(), 'the button')
    view.page.press('Send the goal')
    view.wait_for(lambda: 'Nothing is sent' in view.page.texts(), 'the refusal')
    assert view.trajectories == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'moveit_config_package': 'panda', 'group': 'nothing'}, 'nothing'),
        ({'node': '/nobody', 'moveit_config_package': 'panda'}, "no node '/nobody'"),
    ],
)
def test_what_no_topic_can_mend_ends_it_with_one_line(tmp_path, parameters, text):
    with running_server(tmp_path, {'port': 0, **parameters}, program=VIEW) as process:
        assert process.wait_for_end() == 1
        assert text in process.log and 'Traceback' not in process.log
