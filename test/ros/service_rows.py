"""
Behaviour of MoveIt's services, row by row, as requests with known responses, in MoveIt's order of checks.

Each function yields requests of one row and is named by its id (docs/reference/cases.md); the truth is constructed:
postures come first, poses are computed from them, and faults were introduced on purpose.
"""

from collections.abc import Callable
import copy
from typing import Any, NamedTuple

from test.ros.server_requests import (
    assert_solves,
    ik_request,
    matrix_of,
    message_of,
    positions_of,
    set_state,
    SUCCESS,
)

from geometry_msgs.msg import Pose, Transform
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    JointConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from scipy.spatial.transform import Rotation
from shape_msgs.msg import SolidPrimitive

NO_SOLUTION, FAILURE = -31, 99999
GROUP, CONSTRAINTS, STATE, LINK, FRAME = -15, -16, -17, -18, -21
FAR = matrix_of((9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
READY = {
    'panda': (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    'fanuc': (0.1, 0.2, -0.3, 0.1, 0.4, 0.0),
}
"""Postures with room around them, free of collisions."""
RIGID = {'panda': 'panda_hand', 'fanuc': 'link_6'}
AWAY = {'panda': 'panda_link4', 'fanuc': 'link_3'}
MOVING = {'panda': 'panda_link3', 'fanuc': 'link_2'}
"""A link that the first joint moves."""


class Ask(NamedTuple):
    """One request and the known properties of its response."""

    service: str
    request: Any
    code: int = SUCCESS
    parts: tuple[str, ...] = ()
    """Texts within the message."""
    check: Callable[[Any], None] | None = None


class Arm:
    """Requests about one arm, each made anew."""

    def __init__(self, arm):
        self.arm = arm
        self.posture = dict(zip(arm.chain().names, READY[arm.name], strict=True))
        self.pose = arm.pose(self.posture)
        self.joint = next(iter(self.posture))

    def ik(self, pose=None, **fields):
        """Return a good request with some fields of the inner message replaced."""
        request = ik_request(
            self.arm, self.pose if pose is None else pose, seed=self.posture, timeout=2.0
        )
        for name, value in fields.items():
            setattr(request.ik_request, name, value)
        return request

    def ask(self, code=SUCCESS, *parts, check=None, pose=None, **fields):
        """Return a request for ``compute_ik``; success is judged at the pose."""
        if code == SUCCESS and check is None:
            wanted = self.pose if pose is None else pose
            link = fields.get('ik_link_name', '')
            check = lambda response: assert_solves(self.arm, response, wanted, link)  # noqa: E731
        return Ask('compute_ik', self.ik(pose, **fields), code, parts, check)

    def in_frame(self, frame, pose=None):
        """Return a request with the pose in another frame."""
        request = self.ik(pose)
        request.ik_request.pose_stamped.header.frame_id = frame
        return request

    def stated(self, positions):
        """Return a request with another state."""
        request = self.ik()
        set_state(request.ik_request.robot_state, positions)
        return request

    def path(self, *waypoints, **fields):
        """Return a request of ``compute_cartesian_path`` from the ready posture."""
        request = GetCartesianPath.Request(group_name=self.arm.group, max_step=0.01)
        request.header.frame_id = self.arm.base
        request.waypoints = [message_of(pose) for pose in waypoints]
        set_state(request.start_state, self.posture)
        for name, value in fields.items():
            setattr(request, name, value)
        return request

    def follow(self, *waypoints, code=SUCCESS, parts=(), check=None, **fields):
        """Return a request for ``compute_cartesian_path``."""
        return Ask('compute_cartesian_path', self.path(*waypoints, **fields), code, parts, check)

    def moved(self, *xyz, turn=None):
        """Return the ready pose moved along the axes of the base."""
        pose = self.pose.copy()
        pose[:3, 3] += xyz
        if turn is not None:
            pose[:3, :3] = pose[:3, :3] @ Rotation.from_rotvec(turn).as_matrix()
        return pose


def in_vector(rows, names, count, **fields):
    """Return a request with poses in the vector."""
    request = rows.ik(ik_link_names=list(names), **fields)
    asked = request.ik_request
    asked.pose_stamped_vector = [asked.pose_stamped] * count
    return request


def rod(link, length=0.2, frame=''):
    """Return a message: a link carries a thin rod along z, with a tip named as a subframe."""
    message = AttachedCollisionObject(link_name=link)
    item = message.object
    item.id, item.operation = 'rod', CollisionObject.ADD
    item.header.frame_id = frame or link
    item.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01])]
    item.primitive_poses = [Pose()]
    item.pose.position.z = length
    item.subframe_names, tip = ['tip'], Pose()
    tip.position.x = 0.1
    item.subframe_poses = [tip]
    return message


def shifted(z, x=0.0):
    pose = np.eye(4)
    pose[0, 3], pose[2, 3] = x, z
    return pose


# compute_ik


def row_ik01_unknown_or_empty_group(rows):
    yield rows.ask(GROUP, "'nobody'", rows.arm.group, group_name='nobody')
    yield rows.ask(GROUP, 'empty', group_name='')


def row_ik03_unknown_frame(rows):
    ask = Ask('compute_ik', rows.in_frame('nowhere'), FRAME, ("'nowhere'", rows.arm.model_frame))
    yield ask


def row_ik04_link_unknown_or_not_rigid_with_the_tip(rows):
    yield rows.ask(NO_SOLUTION, "no link 'thumb'", ik_link_name='thumb')
    yield rows.ask(NO_SOLUTION, 'not rigidly attached', ik_link_name=AWAY[rows.arm.name])
    pose = rows.arm.pose(rows.posture, RIGID[rows.arm.name])
    yield rows.ask(pose=pose, ik_link_name=RIGID[rows.arm.name])


def row_ik05_several_poses_with_another_number_of_names(rows):
    for names in ([], [rows.arm.tip], [rows.arm.tip] * 3):
        yield Ask('compute_ik', in_vector(rows, names, 2), LINK, ('2 poses',))


def row_ik06_two_poses_for_one_tip(rows):
    request = in_vector(rows, [rows.arm.tip, RIGID[rows.arm.name]], 2)
    yield Ask('compute_ik', request, NO_SOLUTION, ('one pose only',))


def row_ik07_an_empty_state_is_the_current_one(rows):
    yield Ask(
        'compute_ik',
        ik_request(rows.arm, rows.pose, timeout=2.0),
        check=lambda response: assert_solves(rows.arm, response, rows.pose),
    )


def row_ik08_names_and_positions_of_different_length(rows):
    request = rows.ik()
    request.ik_request.robot_state.joint_state.position = [0.0]
    yield Ask('compute_ik', request, STATE, ('gives 1 position.',))


def row_ik09_an_unknown_joint_name(rows):
    yield Ask('compute_ik', rows.stated({**rows.posture, 'ghost': 1.0}), STATE, ("'ghost'",))
    request = rows.ik()
    multi = request.ik_request.robot_state.multi_dof_joint_state
    multi.joint_names, multi.transforms = ['ghost'], [Transform()]
    yield Ask('compute_ik', request, STATE, ("'ghost'",))


def row_ik10_numbers_that_are_none(rows):
    for value in (np.nan, np.inf, -np.inf, 1e300):
        request = rows.ik()
        request.ik_request.pose_stamped.pose.position.y = value
        part = 'beyond' if value == 1e300 else 'no finite'
        yield Ask('compute_ik', request, NO_SOLUTION, (part,))
        yield Ask('compute_ik', rows.stated({rows.joint: value}), STATE, (rows.joint,))
    request = rows.ik()
    request.ik_request.pose_stamped.pose.orientation.x = np.nan
    yield Ask('compute_ik', request, NO_SOLUTION, ('no finite',))


def row_ik11_a_zero_quaternion(rows):
    request = rows.ik()
    request.ik_request.pose_stamped.pose.orientation.w = 0.0
    q = request.ik_request.pose_stamped.pose.orientation
    q.x = q.y = q.z = 0.0
    yield Ask('compute_ik', request, NO_SOLUTION, ('quaternion has a length below',))


def row_ik12_a_quaternion_of_another_length(rows):
    for factor in (2.0, 1e-3, -1.0, 0.99993**0.5):
        request = rows.ik()
        q = request.ik_request.pose_stamped.pose.orientation
        q.x, q.y, q.z, q.w = factor * q.x, factor * q.y, factor * q.z, factor * q.w
        yield Ask(
            'compute_ik',
            request,
            check=lambda response: assert_solves(rows.arm, response, rows.pose),
        )


def row_ik14_constraints_are_kept_or_refused_by_name(rows):
    near = JointConstraint(joint_name=rows.joint, position=rows.posture[rows.joint])
    near.tolerance_above = near.tolerance_below = 0.2

    def keeps(response):
        assert_solves(rows.arm, response, rows.pose)
        assert abs(positions_of(response)[rows.joint] - near.position) <= 0.2 + 1e-9

    def constrained(kind, message):
        request = rows.ik()
        setattr(request.ik_request.constraints, kind, [message])
        return request

    yield Ask('compute_ik', constrained('joint_constraints', near), check=keeps)
    beyond = JointConstraint(joint_name=rows.joint, position=99.0)
    yield Ask(
        'compute_ik',
        constrained('joint_constraints', beyond),
        NO_SOLUTION,
        ('constraints leave no room', rows.joint),
    )
    ghost = JointConstraint(joint_name='ghost')
    yield Ask('compute_ik', constrained('joint_constraints', ghost), CONSTRAINTS, ("'ghost'",))
    ghost = PositionConstraint(link_name='ghost')
    yield Ask('compute_ik', constrained('position_constraints', ghost), CONSTRAINTS, ("'ghost'",))
    seen = VisibilityConstraint()
    yield Ask(
        'compute_ik',
        constrained('visibility_constraints', seen),
        CONSTRAINTS,
        ('visibility_constraints',),
    )


def row_ik16_unreachable_is_said_with_its_proof(rows):
    yield rows.ask(NO_SOLUTION, 'out of reach', 'proved', pose=FAR)


def row_ik17_whose_pose_one_pose_is(rows):
    """One entry in the vector: the first of the names counts; none: ``ik_link_name`` does."""
    pose = rows.arm.pose(rows.posture, RIGID[rows.arm.name])
    wrong = {'ik_link_name': 'thumb'}
    request = in_vector(rows, [RIGID[rows.arm.name], 'thumb'], 1, **wrong)
    request.ik_request.pose_stamped_vector[0].pose = message_of(pose)
    yield Ask(
        'compute_ik',
        request,
        check=lambda response: assert_solves(rows.arm, response, pose, RIGID[rows.arm.name]),
    )
    yield Ask(
        'compute_ik',
        in_vector(rows, [], 1, **wrong),
        check=lambda response: assert_solves(rows.arm, response, rows.pose),
    )
    yield rows.ask(ik_link_names=['thumb'])


def row_ik19_a_state_is_read_by_name(rows):
    """Any order, the last of a repeated name, others keep their current values."""
    backwards = dict(reversed(rows.posture.items()))
    yield Ask(
        'compute_ik',
        rows.stated(backwards),
        check=lambda response: _is_near(rows, response, rows.posture),
    )
    request = rows.ik()
    state = request.ik_request.robot_state.joint_state
    state.name = [rows.joint, *state.name]
    state.position = [2.5, *state.position]
    yield Ask('compute_ik', request, check=lambda response: _is_near(rows, response, rows.posture))


def _is_near(rows, response, posture):
    """Check that the seed was this one: it reaches the pose already."""
    assert_solves(rows.arm, response, rows.pose)
    positions = positions_of(response)
    assert max(abs(positions[name] - value) for name, value in posture.items()) < 1e-2


def row_ik20_what_a_link_carries_can_be_asked_for(rows):
    """Attached objects and their subframes count as links that are rigid with the tip."""
    for name, offset in (('rod', shifted(0.2)), ('rod/tip', shifted(0.2, 0.1))):
        request = rows.ik(rows.pose @ offset, ik_link_name=name)
        request.ik_request.robot_state.attached_collision_objects = [rod(rows.arm.tip)]
        yield Ask(
            'compute_ik', request, check=lambda response: _is_near(rows, response, rows.posture)
        )
    request = rows.ik(ik_link_name='rod')
    request.ik_request.robot_state.attached_collision_objects = [rod(MOVING[rows.arm.name])]
    yield Ask('compute_ik', request, NO_SOLUTION, ('not rigidly attached',))


def row_ik21_frames_are_those_of_the_present_robot(rows):
    # A frame that moves is where the robot is, not where the state of the request would put it.
    turned = {**rows.posture, rows.joint: rows.posture[rows.joint] + 0.5}
    frame = MOVING[rows.arm.name]
    now = rows.arm.pose(_defaults(rows), frame)
    request = rows.in_frame(frame, np.linalg.inv(now) @ rows.pose)
    set_state(request.ik_request.robot_state, turned)
    yield Ask(
        'compute_ik', request, check=lambda response: assert_solves(rows.arm, response, rows.pose)
    )


def _defaults(rows):
    """Return MoveIt's default posture: zero, or the middle of limits that leave it out."""
    chain = rows.arm.chain()
    return {
        name: 0.0 if low <= 0.0 <= high else 0.5 * (low + high)
        for name, low, high in zip(chain.names, chain.lower, chain.upper, strict=True)
    }


def row_ik22_the_order_of_checks(rows):
    """Group, state, number of names, frames, links: of several faults the first one is told."""
    request = in_vector(rows, ['thumb'], 2, group_name='nobody')
    asked = request.ik_request
    set_state(asked.robot_state, {'ghost': 0.0})
    asked.pose_stamped_vector[1].header.frame_id = 'nowhere'
    yield Ask('compute_ik', _copy(request), GROUP)
    asked.group_name = rows.arm.group
    yield Ask('compute_ik', _copy(request), STATE)
    set_state(asked.robot_state, rows.posture)
    yield Ask('compute_ik', _copy(request), LINK)
    asked.ik_link_names = ['thumb', 'thumb']
    yield Ask('compute_ik', _copy(request), FRAME)
    asked.pose_stamped_vector[1].header.frame_id = rows.arm.base
    yield Ask('compute_ik', _copy(request), NO_SOLUTION, ("'thumb'",))


def _copy(request):
    """Return a copy of a request, so that later changes do not affect the copy."""
    return copy.deepcopy(request)
