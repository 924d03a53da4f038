"""A warm request enters few functions: the way from a pose on ``/compute_ik`` to the kernel and back is short."""

from pathlib import Path
import sys
from types import SimpleNamespace

from test.ros_units.bare_nodes import (  # skips the module if ROS is not installed
    config_of,
    NodeDouble,
)

from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
from sensor_msgs.msg import JointState

import ssik_ros
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.conversions.messages import StateWriter
from ssik_ros.ros.conversions.pose_conversions import write_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.services.moveit_services import COMPUTE_IK
from ssik_ros.ros.services.service_handlers import Served, ServiceHandlers
from ssik_ros.server.robot_server import RobotServer

OWN = f'{Path(ssik_ros.__file__).parent}/'
MOST_CALLS = 12
"""Calls of own functions in one warm request."""
MOST_MODULES = 8
MOST_FORMS = 3
"""Objects that hold the pose one after the other: the message, a pose with the name of its frame, the solver's request."""
GROUPS = {'ur5e': 'ur_manipulator', 'panda': 'panda_arm'}
POSES = ('Pose', 'FramedPose', 'SolveRequest')


class Desk:
    """The handler of ``compute_ik`` for one shipped robot, and messages for it."""

    def __init__(self, name):
        folder = config_of(name)
        self.robot = load_robot(folder / f'{name}.urdf', folder / f'{name}.srdf')
        self.group = self.robot.group(GROUPS[name])
        self.server = RobotServer(self.robot, [self.group])
        self.server.warm_up()
        live = LiveState(NodeDouble())
        here = self.posture(0.0).positions.tolist()
        live.take(JointState(name=self.robot.variable_names, position=here))
        handlers = ServiceHandlers(SimpleNamespace(get_clock=None), live)
        handlers.serve(Served(self.server, StateWriter(self.robot)))
        self.handle = handlers.handler(COMPUTE_IK)

    def posture(self, offset):
        """Return the default state with the arm within its limits, and moved by an offset [rad]."""
        state = self.server.states.default()
        lower, upper = self.group.lower + 0.5, self.group.upper - 0.5
        q = np.clip(state.positions[self.group.idx_q], lower, upper) + offset
        return self.server.groups[self.group.name].with_group(state, q)

    def request(self, is_seeded, frame, timeout):
        """Return the message of a request for a pose that the arm reaches."""
        tip = self.group.tips[0]
        message = GetPositionIK.Request()
        asked = message.ik_request
        asked.group_name, asked.ik_link_name = self.group.name, tip
        asked.pose_stamped.header.frame_id = self.robot.model_frame if frame else ''
        pose = self.server.frames.link_in_root(tip, self.posture(0.3))
        write_pose(asked.pose_stamped.pose, pose)
        asked.timeout.nanosec = timeout
        asked.robot_state.is_diff = True
        if is_seeded:
            joints, seed = asked.robot_state.joint_state, self.posture(0.1)
            joints.name = list(self.group.variable_names)
            joints.position = seed.positions[self.group.idx_q].tolist()
        return message


@pytest.fixture(scope='module', params=GROUPS)
def desk(request):
    return Desk(request.param)


@pytest.fixture(params=[True, False], ids=['seed', 'no-seed'])
def is_seeded(request):
    return request.param


def profiled(desk, message):
    """Return the frames of own functions that a warm request enters, each with its name."""
    frames = []

    def note(frame, event, argument):
        if event == 'call' and frame.f_code.co_filename.startswith(OWN):
            frames.append(frame)

    for _ in range(3):
        desk.handle(message, GetPositionIK.Response())
    response = GetPositionIK.Response()
    sys.setprofile(note)
    try:
        desk.handle(message, response)
    finally:
        sys.setprofile(None)
    assert response.error_code.val == 1, response.error_code.message
    return frames


@pytest.mark.parametrize('frame', [True, False], ids=['frame', 'no-frame'])
@pytest.mark.parametrize('timeout', [0, 50_000_000], ids=['own-budget', 'budget'])
def test_a_warm_request_enters_twelve_functions_in_eight_modules(desk, is_seeded, frame, timeout):
    frames = profiled(desk, desk.request(is_seeded, frame, timeout))
    names = [frame.f_code.co_qualname for frame in frames]
    modules = {frame.f_code.co_filename for frame in frames}
    assert 'PlainRequests.solve' in names, names
    assert len(names) <= MOST_CALLS, names
    assert len(modules) <= MOST_MODULES, modules


def test_the_pose_has_three_forms(desk, is_seeded):
    """Three objects hold the pose of a request: a field of the message, then one for each of the next two steps."""
    message = desk.request(is_seeded, frame=True, timeout=0)
    held = {type(message.ik_request.pose_stamped.pose).__name__}
    for frame in profiled(desk, message):
        held |= {kind for value in frame.f_locals.values() for kind in holders(value)}
    assert held == set(POSES)
    assert len(held) <= MOST_FORMS


def holders(value, depth=2):
    """Return the names of own types among a value and its fields that hold a pose (4, 4) themselves."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return {kind for part in value for kind in holders(part, depth)} if depth else set()
    names = getattr(value, '_fields', None) or getattr(type(value), '__slots__', ())
    if not type(value).__module__.startswith('ssik_ros.') or isinstance(names, str):
        return set()
    parts = [getattr(value, name, None) for name in names]
    kinds = {type(value).__name__} if any(map(is_target, parts)) else set()
    return (
        kinds | {kind for part in parts for kind in holders(part, depth - 1)} if depth else kinds
    )


def is_target(value):
    """Return whether a value is a pose (4, 4) of a request, not the actual pose of a link."""
    return (
        isinstance(value, np.ndarray)
        and value.shape == (4, 4)
        and bool((value != np.eye(4)).any())
    )
