"""
Malformed requests: each gets a response from the node's own handlers, and none causes an internal error.

Messages are made by their declared types and then spoilt at random: not finite, huge, negative, other names, other
lengths, empty. They go through the handlers without the middleware, so that many fit into a run.
"""

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from ssik_msgs.srv import ExplainIk, FindStep, SelfMotions, SolveAll, SolveBatch

from ssik_ros.model.loader import load_robot
from ssik_ros.ros.conversions.messages import StateWriter
from ssik_ros.ros.services.moveit_services import MOVEIT_SERVICES
from ssik_ros.ros.services.own_services import GROUP_SERVICES
from ssik_ros.ros.services.service_handlers import Served, ServiceHandlers
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

pytestmark = pytest.mark.ros

CONFIG = (
    Path(__file__).resolve().parents[2] / 'config' / 'robots' / 'panda_moveit_config' / 'config'
)
GROUP = 'panda_arm'
FAILURE = 99999
COUNTS = {
    'compute_ik': 8000,
    'solve_ik': 3000,
    'compute_fk': 4000,
    'check_state_validity': 2000,
    'solve_batch': 2000,
    'compute_cartesian_path': 600,
    'solve_all': 300,
    'self_motions': 300,
    'explain_ik': 300,
    'find_step': 2000,
}
"""Requests of each service, twenty-two thousand in all; make test-long sends a tenth of them."""
KINDS = {
    'compute_ik': GetPositionIK,
    'solve_ik': GetPositionIK,
    'compute_fk': GetPositionFK,
    'check_state_validity': GetStateValidity,
    'solve_batch': SolveBatch,
    'compute_cartesian_path': GetCartesianPath,
    'solve_all': SolveAll,
    'self_motions': SelfMotions,
    'explain_ik': ExplainIk,
    'find_step': FindStep,
}
NUMBERS = (0.0, 1.0, -1.0, 0.3, 1e-300, 1e300, np.nan, np.inf, -np.inf, 1e-9)
NAMES = (
    '',
    'panda_arm',
    'panda_joint1',
    'panda_link8',
    'panda_hand',
    'world',
    'läuft',
    'x' * 5000,
    '/',
    'a/b',
)


class _Clock:
    def now(self):
        return self

    def to_msg(self):
        return import_module('builtin_interfaces.msg').Time()


class _Node:
    """The methods of a node that handlers use."""

    def get_clock(self):
        return _Clock()


class _Live:
    """Where the robot is: at its default posture."""

    def __init__(self, server):
        self._state = server.states.default()

    def find(self, reader):
        del reader
        return SimpleNamespace(state=self._state, has_defaults=False)


@pytest.fixture(scope='module')
def handlers():
    """Return the handlers of the node by service."""
    robot = load_robot(CONFIG / 'panda.urdf', CONFIG / 'panda.srdf')
    quick = GroupKinematics(GROUP, 'ssik_ros/PoseIK', timeout=0.002)
    server = RobotServer(robot, [robot.group(GROUP)], {GROUP: quick})
    server.warm_up()
    live = _Live(server)
    main = ServiceHandlers(_Node(), live)
    main.serve(Served(server, StateWriter(robot)))
    rows = (*MOVEIT_SERVICES, *GROUP_SERVICES)
    return {row.name.removeprefix('~/'): main.handler(row) for row in rows}


class Spoiler:
    """Fills messages by their declared types with values that are mostly wrong."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def spoil(self, message, likely=0.3):
        """Change each field with some probability, and return the message."""
        types = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES))
        for name, kind in types.items():
            if self.rng.random() < likely:
                setattr(message, name, self._value(kind))
            elif hasattr(getattr(message, name), 'SLOT_TYPES'):
                self.spoil(getattr(message, name), likely)
        return message

    def _value(self, kind, depth=0):
        if hasattr(kind, 'value_type'):
            count = getattr(kind, 'size', None)
            if count is None:
                count = int(self.rng.choice((0, 1, 2, 7, 14)))
            return [self._value(kind.value_type, depth + 1) for _ in range(count)]
        if hasattr(kind, 'namespaces'):
            made = getattr(import_module('.'.join(kind.namespaces)), kind.name)()
            return self.spoil(made, 0.5) if depth < 3 else made
        typename = getattr(kind, 'typename', 'string')
        if typename == 'string':
            return str(self.rng.choice(NAMES))
        if typename in ('double', 'float'):
            return float(self.rng.choice(NUMBERS))
        if typename == 'boolean':
            return bool(self.rng.random() < 0.5)
        if typename == 'octet':
            return bytes([int(self.rng.integers(256))])
        if typename.startswith('u'):
            return int(self.rng.integers(0, 200))
        return int(self.rng.integers(-100, 100))


def good_request(service):
    """Return a request whose response is SUCCESS."""
    request = KINDS[service].Request()
    if service in ('compute_ik', 'solve_ik'):
        asked = request.ik_request
        asked.group_name = GROUP
        place = asked.pose_stamped.pose
    elif service == 'compute_fk':
        request.fk_link_names = ['panda_link8']
        return request
    elif service == 'check_state_validity':
        request.group_name = GROUP
        return request
    elif service == 'solve_batch':
        request.group, request.poses = GROUP, [0.4, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
        return request
    elif service == 'compute_cartesian_path':
        request.group_name, request.max_step = GROUP, 0.05
        request.waypoints = [import_module('geometry_msgs.msg').Pose()]
        place = request.waypoints[0]
    else:
        request.group = GROUP
        place = request.pose_stamped.pose
    place.position.x, place.position.z = 0.4, 0.5
    place.orientation.x, place.orientation.w = 1.0, 0.0
    return request


def _content(response):
    """Return a response's content without times and without a path's fraction, which depends on a clock of 2 ms."""
    if hasattr(response, 'fraction'):
        return response.error_code.val
    if hasattr(response, 'diagnostic'):
        response.diagnostic.solver_time = 0.0
    return repr(response)


# Infinite, NaN or absurdly large numbers are refused before any computation.
@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize(
    'share',
    [
        pytest.param(0.1, marks=pytest.mark.slow),
        pytest.param(1.0, marks=(pytest.mark.slow, pytest.mark.heavy)),
    ],
)
@pytest.mark.parametrize('service', COUNTS)
def test_every_request_gets_its_own_response(handlers, service, share):
    handler, kind = handlers[service], KINDS[service]
    spoiler = Spoiler(11)
    expected = _content(handler(good_request(service), kind.Response()))
    codes = set()
    for number in range(int(share * COUNTS[service])):
        request = spoiler.spoil(good_request(service), float(spoiler.rng.choice((0.02, 0.1, 0.4))))
        response = handler(request, kind.Response())
        assert serialize_message(response)
        if hasattr(response, 'error_code'):
            codes.add(response.error_code.val)
            is_step = 'max_step' in response.error_code.message
            assert response.error_code.val != FAILURE or is_step, (
                number,
                response.error_code,
                request,
            )
            assert response.error_code.source == 'ssik_ros'
        if number % 500 == 0:
            assert _content(handler(good_request(service), kind.Response())) == expected
    assert _content(handler(good_request(service), kind.Response())) == expected
    assert len(codes) != 1


LONG = 'x' * 1_000_000
LONGEST_RESPONSE = 10_000
"""Two lists of twenty names, each cut at 200 characters, and the sentences around them."""


def with_long_name(message, depth=0):
    """Yield the message once for each text in it, which is a million characters long meanwhile."""
    types = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES))
    for name, kind in types.items():
        before, item = getattr(message, name), getattr(kind, 'value_type', kind)
        if hasattr(item, 'namespaces') and depth < 4:
            if hasattr(kind, 'value_type'):
                held = before or [getattr(import_module('.'.join(item.namespaces)), item.name)()]
                setattr(message, name, held)
                yield from with_long_name(held[0], depth + 1)
            else:
                yield from with_long_name(before, depth + 1)
        elif getattr(item, 'typename', 'string') == 'string' and not hasattr(item, 'namespaces'):
            setattr(message, name, [LONG] if hasattr(kind, 'value_type') else LONG)
            yield name
        setattr(message, name, before)


def texts_of(message):
    """Yield every text in a message, but not of the state that MoveIt's paths give back as it was asked."""
    for name in message.get_fields_and_field_types().keys() - {'start_state'}:
        value = getattr(message, name)
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str):
                yield item
            elif hasattr(item, 'SLOT_TYPES'):
                yield from texts_of(item)


@pytest.mark.sampled
@pytest.mark.parametrize('service', COUNTS)
def test_no_name_of_a_request_makes_a_response_long(handlers, service):
    request = good_request(service)
    for _field in with_long_name(request):
        response = handlers[service](request, KINDS[service].Response())
        assert max(map(len, texts_of(response)), default=0) <= LONGEST_RESPONSE, _field


def test_a_name_is_quoted_with_its_first_200_characters(handlers):
    request = good_request('compute_ik')
    request.ik_request.group_name = LONG
    text = handlers['compute_ik'](request, GetPositionIK.Response()).error_code.message
    assert f"'{'x' * 200}... (1000000 characters)'" in text and 'x' * 201 not in text


def test_many_unknown_names_are_told_by_the_first_twenty(handlers):
    names = [f'link_{i}' for i in range(100_000)]
    request = GetPositionFK.Request(fk_link_names=names)
    text = handlers['compute_fk'](request, GetPositionFK.Response()).error_code.message
    assert 'link_19,' in text and 'link_20' not in text and '(100000 in all)' in text


def test_forward_kinematics_places_what_is_carried_once_for_all_names(handlers, monkeypatch):
    carried = []
    place = PlanningScene.carry
    monkeypatch.setattr(PlanningScene, 'carry', lambda *given: carried.append(1) or place(*given))
    request = GetPositionFK.Request(fk_link_names=[f'link_{i}' for i in range(100)])
    held = import_module('moveit_msgs.msg').AttachedCollisionObject(link_name='panda_hand')
    held.object.id = 'cup'
    shapes = import_module('shape_msgs.msg')
    held.object.primitives = [shapes.SolidPrimitive(type=2, dimensions=[0.1])]
    request.robot_state.attached_collision_objects = [held]
    request.fk_link_names[7] = 'cup'
    response = handlers['compute_fk'](request, GetPositionFK.Response())
    assert list(response.fk_link_names) == ['cup']
    assert len(carried) == 1
