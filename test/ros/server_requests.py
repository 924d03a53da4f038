"""Requests to the node about two shipped arms, and the judge of its responses, which uses no code of the package."""

from dataclasses import dataclass
import functools
from pathlib import Path

from test.promises.xml_walker import read_chain
from test.ros import server_process  # noqa: F401  (skips without ROS)

from geometry_msgs.msg import Pose
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK, GetPositionIK
import numpy as np
from scipy.spatial.transform import Rotation

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'robots'
SUCCESS = MoveItErrorCodes.SUCCESS
TOLERANCE = 1e-3
ROUNDING = 1e-9
"""How far two correct computations of one error may be apart."""
SLOW = {'gd_step_multiplier': 0.001, 'gd_adaptive_threshold': 0.001, 'gd_max_iters': 1_000_000}
"""Solver parameters with which a search for the blocked pose takes several seconds."""


@dataclass(frozen=True)
class Arm:
    """A robot with one of its groups."""

    name: str
    group: str
    base: str
    tip: str
    model_frame: str
    joints: tuple[str, ...]
    """All joints with one variable, in model order."""
    blocked: tuple[float, ...]
    """Position and quaternion that many starts fail to reach: only postures beyond the limits have it."""

    def file(self, name):
        """Return the path of a file of its MoveIt configuration."""
        return CONFIG / f'{self.name}_moveit_config' / 'config' / name

    @property
    def urdf(self):
        """Return the URDF as text."""
        return self.file(f'{self.name}.urdf').read_text()

    @property
    def srdf(self):
        """Return the SRDF as text."""
        return self.file(f'{self.name}.srdf').read_text()

    def chain(self, link=''):
        """Return the chain from the base to a link, the tip by default."""
        return _chain(self.file(f'{self.name}.urdf'), self.base, link or self.tip)

    def pose(self, values, link=''):
        """Return the pose (4, 4) in the base of a link; joints that are not named are at zero."""
        chain = self.chain(link)
        return chain.pose(np.array([values.get(name, 0.0) for name in chain.names]))

    def postures(self, count, seed):
        """Return postures by name, within 90 % of the limits."""
        chain, generator = self.chain(), np.random.default_rng(seed)
        return [
            dict(zip(chain.names, (0.9 * chain.sample(generator)).tolist(), strict=True))
            for _ in range(count)
        ]

    def blocked_pose(self):
        """Return the pose (4, 4) that cannot be reached."""
        return matrix_of(self.blocked)


@functools.cache
def _chain(path, base, link):
    return read_chain(path, base, link)


PANDA = Arm(
    'panda',
    'panda_arm',
    'panda_link0',
    'panda_link8',
    'world',
    (*(f'panda_joint{i}' for i in range(1, 8)), 'panda_finger_joint1', 'panda_finger_joint2'),
    (-0.10667, 0.054041, 0.28758, -0.004294, 0.873859, 0.359482, -0.327299),
)
FANUC = Arm(
    'fanuc',
    'manipulator',
    'base_link',
    'tool0',
    'base_link',
    tuple(f'joint_{i}' for i in range(1, 7)),
    (0.059236, 0.034244, -0.733881, 0.30066, 0.2124, 0.925681, 0.087198),
)
ARMS = {arm.name: arm for arm in (PANDA, FANUC)}


def matrix_of(numbers):
    """Return the pose (4, 4) of a position and a quaternion x, y, z, w."""
    pose = np.eye(4)
    pose[:3, 3] = numbers[:3]
    pose[:3, :3] = Rotation.from_quat(numbers[3:]).as_matrix()
    return pose


def message_of(pose):
    """Return the message of a pose (4, 4)."""
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z = pose[:3, 3].tolist()
    q.x, q.y, q.z, q.w = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
    return message


def matrix_of_message(message):
    """Return the pose (4, 4) of a message."""
    p, q = message.position, message.orientation
    return matrix_of((p.x, p.y, p.z, q.x, q.y, q.z, q.w))


def set_state(state, positions):
    """Name joints with their positions in a robot state message."""
    state.joint_state.name = list(positions)
    state.joint_state.position = [float(value) for value in positions.values()]


def ik_request(arm, pose, *, frame=None, link='', seed=None, timeout=30.0, collisions=False):
    """
    Return a request of ``compute_ik``.

    :param arm: whose group is asked for.
    :param pose: (4, 4) in the frame.
    :param frame: the base by default.
    :param link: empty for the tip.
    :param seed: positions by joint name.
    :param timeout: time enough for counts to end every search, so that a busy machine gives the same responses [s].
    :param collisions: whether they are to be avoided.
    """
    request = GetPositionIK.Request()
    asked = request.ik_request
    asked.group_name = arm.group
    asked.ik_link_name = link
    asked.avoid_collisions = collisions
    asked.pose_stamped.header.frame_id = arm.base if frame is None else frame
    asked.pose_stamped.pose = message_of(pose)
    asked.timeout.sec, asked.timeout.nanosec = int(timeout), round(timeout % 1 * 1e9)
    set_state(asked.robot_state, seed or {})
    return request


def fk_request(links, *, frame='', positions=None):
    """
    Return a request of ``compute_fk``.

    :param links: names.
    :param frame: of the poses; empty for the model frame.
    :param positions: by joint name.
    """
    request = GetPositionFK.Request(fk_link_names=list(links))
    request.header.frame_id = frame
    set_state(request.robot_state, positions or {})
    return request


def positions_of(response):
    """Return the positions of a response by joint name."""
    state = response.solution.joint_state
    return dict(zip(state.name, state.position, strict=True))


def errors_of(arm, response, pose, link=''):
    """Return distance [m] and angle [rad] between a link at the solution and a pose (4, 4) in the base."""
    chain, positions = arm.chain(link), positions_of(response)
    return chain.errors(np.array([positions[name] for name in chain.names]), pose)


def assert_solves(arm, response, pose, link=''):
    """
    Check a success against the judge: pose, limits, and the whole state around them.

    :param arm: the arm.
    :param response: of ``compute_ik``.
    :param pose: (4, 4) in the base.
    :param link: the link that is there; empty for the tip.
    """
    assert response.error_code.val == SUCCESS, response.error_code.message
    state = response.solution
    assert tuple(state.joint_state.name) == arm.joints
    assert state.joint_state.header.frame_id == arm.model_frame
    assert not state.is_diff
    assert np.hypot(*errors_of(arm, response, pose, link)) <= TOLERANCE + ROUNDING
    chain, positions = arm.chain(), positions_of(response)
    assert chain.is_inside(np.array([positions[name] for name in chain.names]))


def assert_refused(response, code, *parts):
    """
    Check a failure: its code, an empty state, and its message.

    :param response: of ``compute_ik``.
    :param code: of moveit_msgs.
    :param parts: texts within the message.
    """
    assert response.error_code.val == code, response.error_code.message
    assert response.solution == type(response.solution)()
    assert response.error_code.source == 'ssik_ros'
    assert response.error_code.message
    for part in parts:
        assert part in response.error_code.message


def move_to(client, arm, positions, profile, expected=None, topic='joint_states'):
    """
    Publish joint positions until the node believes in them, as ``compute_fk`` shows it.

    :param client: publishes and asks.
    :param arm: the arm.
    :param positions: by joint name.
    :param profile: quality of service; messages may be lost.
    :param expected: where the robot then is, others at zero; by default at the positions.
    :param topic: where they are published.
    """
    target = arm.pose(positions if expected is None else expected)

    def is_there():
        client.publish_joints(positions, profile, topic)
        response = client.call('compute_fk', fk_request([arm.tip], frame=arm.base))
        tip_pose = matrix_of_message(response.pose_stamped[0].pose)
        return np.allclose(tip_pose, target, atol=1e-9)

    client.spin_until(is_there, f'posture {expected or positions}')
