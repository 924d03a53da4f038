"""
Every code that the services promise, in one table over the real node, on two arms.

Rows are named by the test cases of users, if such a case exists (A07: a value that is not finite, D01: frames, ...).
Each has the request, the code and words of the message; the truth is constructed, and after each round the node still
responds.
"""

import re

from test.ros import cartesian_rows, response_rows, service_rows
from test.ros.server_client import ready_server
from test.ros.server_requests import (
    ARMS,
    assert_solves,
    fk_request,
    ik_request,
    matrix_of,
    message_of,
    set_state,
    SUCCESS,
)

from geometry_msgs.msg import Pose, Transform
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath
import numpy as np
import pytest

pytestmark = pytest.mark.ros

NO_SOLUTION, TIMED_OUT, FAILURE = -31, -6, 99999
GROUP, CONSTRAINTS, STATE, LINK, FRAME, UNCHECKED = -15, -16, -17, -18, -21, -22
FAR = matrix_of((9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
COLLIDING = {
    'panda': (-2.563, 1.478, 0.181, -2.427, -0.099, 0.782, -1.791),
    'fanuc': (-0.135, 2.161, -1.342, 2.48, 0.317, -4.955),
}
"""Postures with the last link within the base, so that each way to get there collides."""
AWAY = {'panda': 'panda_link4', 'fanuc': 'link_3'}
RIGID = {'panda': 'panda_hand', 'fanuc': 'link_6'}


@pytest.fixture(scope='module')
def clients(tmp_path_factory):
    """Give a client of a node for each arm."""
    panda = ready_server(tmp_path_factory.mktemp('panda'), {'moveit_config_package': 'panda'})
    fanuc = ready_server(tmp_path_factory.mktemp('fanuc'), {'moveit_config_package': 'fanuc'})
    with panda as (_, panda_client), fanuc as (_, fanuc_client):
        yield {'panda': panda_client, 'fanuc': fanuc_client}


class Rows:
    """Requests about one arm, each made anew."""

    def __init__(self, arm):
        self.arm = arm
        self.posture = arm.postures(1, seed=11)[0]
        self.pose = arm.pose(self.posture)
        self.joint = next(iter(self.posture))

    def ik(self, **fields):
        """Return a good request with some fields of the inner message replaced."""
        request = ik_request(self.arm, self.pose, seed=self.posture)
        for name, value in fields.items():
            setattr(request.ik_request, name, value)
        return request

    def state(self, **positions):
        request = self.ik()
        set_state(request.ik_request.robot_state, {**self.posture, **positions})
        return request

    def number(self, part, field, value):
        request = self.ik()
        setattr(getattr(request.ik_request.pose_stamped.pose, part), field, value)
        return request

    def frame(self, name):
        request = self.ik()
        request.ik_request.pose_stamped.header.frame_id = name
        return request

    def vector(self, links, count):
        request = self.ik(ik_link_names=list(links))
        asked = request.ik_request
        asked.pose_stamped_vector = [asked.pose_stamped] * count
        return request

    def constraint(self, kind, message):
        request = self.ik()
        setattr(request.ik_request.constraints, kind, [message])
        return request

    def colliding(self, **fields):
        values = dict(zip(self.posture, COLLIDING[self.arm.name], strict=True))
        request = ik_request(self.arm, self.arm.pose(values), timeout=30.0)
        for name, value in fields.items():
            setattr(request.ik_request, name, value)
        return request


def ik_rows(arm):
    """Yield name, request, code, parts of the message for compute_ik."""
    rows, joint = Rows(arm), next(iter(arm.postures(1, seed=11)[0]))
    yield 'A01 a pose that is reached', rows.ik(), SUCCESS, []
    yield 'D06 -q is the same', _negated(rows), SUCCESS, []
    yield 'D06 squared norm 0.99993', _scaled(rows, 0.99993**0.5), SUCCESS, []
    yield 'D06 norm 2', _scaled(rows, 2.0), SUCCESS, []
    yield 'D01 base', rows.frame(arm.base), SUCCESS, []
    yield 'D02 no frame', rows.frame(''), SUCCESS, []
    yield 'D03 link rigid with the tip', rows.ik(ik_link_name=RIGID[arm.name]), None, []
    yield 'B01 seed outside the limits', rows.state(**{joint: 40.0}), SUCCESS, []
    yield 'F02 collisions, and free', _free(rows), SUCCESS, []
    yield 'F04 empty state', ik_request(arm, rows.pose), SUCCESS, []
    yield 'F12 unknown group', rows.ik(group_name='nobody'), GROUP, ["'nobody'", arm.group]
    yield 'F12 empty group', rows.ik(group_name=''), GROUP, ['empty']
    yield 'F12 two poses, one name', rows.vector([arm.tip], 2), LINK, ['2 poses']
    yield 'D01 unknown frame', rows.frame('nowhere'), FRAME, ["'nowhere'"]
    yield 'F12 unknown joint', rows.state(ghost=1.0), STATE, ["'ghost'"]
    yield 'A07 state NaN', rows.state(**{joint: np.nan}), STATE, [joint]
    yield 'A07 state inf', rows.state(**{joint: np.inf}), STATE, [joint]
    short = rows.ik()
    short.ik_request.robot_state.joint_state.position = [0.0]
    yield 'F12 names and positions of different length', short, STATE, ['position']
    multi = rows.ik()
    multi.ik_request.robot_state.multi_dof_joint_state.joint_names = ['planar_x']
    multi.ik_request.robot_state.multi_dof_joint_state.transforms = [Transform()]
    yield 'C07 unknown joint with several variables', multi, STATE, ["'planar_x'"]
    held = rows.ik(avoid_collisions=True)
    held.ik_request.robot_state.attached_collision_objects = [
        AttachedCollisionObject(link_name='thumb')
    ]
    yield 'F12 object on an unknown link', held, STATE, ["'thumb'"]
    for value in (np.nan, np.inf, -np.inf):
        yield f'A07 position {value}', rows.number('position', 'y', value), NO_SOLUTION, ['finite']
        yield f'A07 turn {value}', rows.number('orientation', 'w', value), NO_SOLUTION, ['finite']
    zero = rows.ik()
    zero.ik_request.pose_stamped.pose.orientation = type(Pose().orientation)(w=0.0)
    yield 'D06 zero quaternion', zero, NO_SOLUTION, ['quaternion has a length below']
    yield 'D03 unknown link', rows.ik(ik_link_name='thumb'), NO_SOLUTION, ["'thumb'"]
    request = rows.ik(ik_link_name=AWAY[arm.name])
    yield 'D03 link that is not rigid', request, NO_SOLUTION, ['not rigidly attached']
    yield (
        'C10 two poses for one tip',
        rows.vector([arm.tip] * 2, 2),
        NO_SOLUTION,
        ['one pose only'],
    )
    yield 'E02 out of reach', ik_request(arm, FAR), NO_SOLUTION, ['out of reach', 'proved']
    late = ik_request(arm, arm.blocked_pose(), timeout=1e-9)
    yield 'E01 one nanosecond', late, NO_SOLUTION, ['deadline']
    hit = rows.colliding(avoid_collisions=True)
    yield 'F12 every candidate collides', hit, NO_SOLUTION, ['is in collision', "' with '"]
    near = JointConstraint(joint_name=joint, position=rows.posture[joint], tolerance_above=1.0)
    yield 'constraint that holds', rows.constraint('joint_constraints', near), SUCCESS, []
    beyond = JointConstraint(joint_name=joint, position=99.0)
    request = rows.constraint('joint_constraints', beyond)
    yield 'constraint beyond the limits', request, NO_SOLUTION, ['constraints']
    for kind, message, part in (
        ('joint_constraints', JointConstraint(joint_name='ghost'), "'ghost'"),
        ('position_constraints', PositionConstraint(link_name='ghost'), "'ghost'"),
        ('orientation_constraints', OrientationConstraint(link_name='ghost'), "'ghost'"),
        ('visibility_constraints', VisibilityConstraint(), 'visibility_constraints'),
    ):
        yield f'constraint {kind}', rows.constraint(kind, message), CONSTRAINTS, [part]


def _negated(rows):
    request = rows.ik()
    q = request.ik_request.pose_stamped.pose.orientation
    q.x, q.y, q.z, q.w = -q.x, -q.y, -q.z, -q.w
    return request


def _scaled(rows, factor):
    request = rows.ik()
    q = request.ik_request.pose_stamped.pose.orientation
    q.x, q.y, q.z, q.w = factor * q.x, factor * q.y, factor * q.z, factor * q.w
    return request


def _free(rows):
    """Return a request for a pose at which the arm is free, from next to it."""
    ready = {
        'panda': (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
        'fanuc': (0.1, 0.2, -0.3, 0.1, 0.4, 0.0),
    }[rows.arm.name]
    values = dict(zip(rows.posture, ready, strict=True))
    return ik_request(rows.arm, rows.arm.pose(values), seed=values, collisions=True, timeout=5.0)


def path_rows(arm):
    """Yield name, request, code, parts of the message for compute_cartesian_path."""
    rows = Rows(arm)

    def path(**fields):
        request = GetCartesianPath.Request(group_name=arm.group, max_step=0.01)
        request.header.frame_id = arm.base
        request.waypoints = [message_of(rows.pose)]
        set_state(request.start_state, rows.posture)
        for name, value in fields.items():
            setattr(request, name, value)
        return request

    yield 'a path of no length', path(), SUCCESS, []
    yield 'no waypoints', path(waypoints=[]), SUCCESS, []
    yield 'out of reach', path(waypoints=[message_of(FAR)]), SUCCESS, ['Followed']
    yield 'unknown group', path(group_name='nobody'), GROUP, ["'nobody'"]
    lost = path()
    lost.header.frame_id = 'nowhere'
    yield 'unknown frame', lost, FRAME, ["'nowhere'"]
    yield 'step of zero', path(max_step=0.0), FAILURE, ['max_step']
    yield 'unknown link', path(link_name='thumb'), NO_SOLUTION, ["'thumb'"]
    wrong = path()
    set_state(wrong.start_state, {'ghost': 1.0})
    yield 'unknown joint', wrong, STATE, ["'ghost'"]


def fk_rows(arm):
    """Yield name, request, code, parts of the message for compute_fk."""
    yield 'a link', fk_request([arm.tip]), SUCCESS, []
    yield 'no link', fk_request([]), LINK, ['empty']
    yield 'unknown link', fk_request([arm.tip, 'thumb']), LINK, ['thumb']
    yield 'unknown frame', fk_request([arm.tip], frame='nowhere'), FRAME, ["'nowhere'"]
    yield 'unknown joint', fk_request([arm.tip], positions={'ghost': 1.0}), STATE, ["'ghost'"]


TABLES = {
    'compute_ik': ik_rows,
    'solve_ik': ik_rows,
    'compute_cartesian_path': path_rows,
    'compute_fk': fk_rows,
}
NOT_CHECKED = ('F12 every candidate collides', 'F12 object on an unknown link')
"""Rows that are another request to solve_ik, which leaves collisions to its caller."""


@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('service', TABLES)
def test_every_code_and_what_its_message_says(clients, service, name):
    client, arm = clients[name], ARMS[name]
    rows = list(TABLES[service](arm))
    if service == 'solve_ik':
        rows = [row for row in rows if row[0] not in NOT_CHECKED]
    # Closed forms for paths may have to be compiled first.
    client.wait_for(service, 300.0)
    responses = client.call_all(service, [row[1] for row in rows], wait=120.0)
    wrong = []
    for (label, _, code, parts), response in zip(rows, responses, strict=True):
        error = response.error_code
        expected = (SUCCESS, NO_SOLUTION) if code is None else (code,)
        says = all(part in error.message for part in parts)
        if error.val not in expected or not says or error.source != 'ssik_ros':
            wrong.append((label, error.val, error.message))
        if service == 'compute_ik' and error.val != SUCCESS:
            assert response.solution == type(response.solution)(), label
    assert wrong == []
    good = Rows(arm)
    assert_solves(arm, client.call('compute_ik', good.ik()), good.pose)


ROWS = {
    name.removeprefix('row_'): row
    for module in (service_rows, response_rows, cartesian_rows)
    for name, row in vars(module).items()
    if name.startswith('row_')
}


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
@pytest.mark.parametrize('row', ROWS)
def test_a_row_of_moveit_over_the_real_services(clients, row, name):
    client, arm = clients[name], service_rows.Arm(ARMS[name])
    for ask in ROWS[row](arm):
        # Closed forms for paths may have to be compiled first.
        client.wait_for(ask.service, 300.0)
        response = client.call(ask.service, ask.request, wait=120.0)
        error = response.error_code
        assert error.val == ask.code, error
        assert error.source == 'ssik_ros'
        assert all(part in error.message for part in ask.parts), error.message
        if ask.check is not None:
            ask.check(response)


@pytest.mark.parametrize('name', ARMS)
def test_solve_ik_says_that_it_does_not_check(clients, name):
    """F02: stock's plugin always asks for it."""
    hit = Rows(ARMS[name]).colliding(avoid_collisions=True)
    response = clients[name].call('solve_ik', hit, wait=120.0)
    assert response.error_code.val == SUCCESS
    assert 'Not checked for collisions' in response.error_code.message


def test_a_robot_without_geometry_cannot_be_checked(tmp_path):
    """-22."""
    arm = ARMS['fanuc']
    path = tmp_path / 'bare.urdf'
    path.write_text(re.sub(r'<collision.*?</collision>', '', arm.urdf, flags=re.S))
    parameters = {'robot_description_file': str(path), 'tip_link': arm.tip, 'group': arm.group}
    with ready_server(tmp_path, parameters) as (_, client):
        rows = Rows(arm)
        response = client.call('compute_ik', rows.ik(avoid_collisions=True))
        assert response.error_code.val == UNCHECKED
        assert 'no collision geometry' in response.error_code.message
        assert client.call('compute_ik', rows.ik()).error_code.val == SUCCESS


def test_a_deadline_is_timed_out_on_demand(clients):
    """F12: -6 where the parameter asks for it, -31 as in MoveIt otherwise."""
    client, arm = clients['panda'], ARMS['panda']
    late = ik_request(arm, arm.blocked_pose(), timeout=1e-9)
    for value, code in ((True, TIMED_OUT), (False, NO_SOLUTION)):
        (result,) = client.set_parameters({'report_timeout': value})
        assert result.successful
        response = client.call('compute_ik', late)
        assert response.error_code.val == code and 'deadline' in response.error_code.message
