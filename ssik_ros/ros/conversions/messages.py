"""
Convert moveit_msgs to requests of this package and states to messages: inverse kinematics, states and constraints.

Functions named ``read_`` take a message; names and numbers are checked later. :class:`StateWriter` and functions named
``write_`` fill a message.
"""

from array import array
from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, Transform
from moveit_msgs.msg import (
    Constraints,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    RobotState,
)
from moveit_msgs.srv import GetPositionIK
import numpy as np
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import Header

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.pose_matrix import pose_matrix
from ssik_ros.model.forward_kinematics import joint_motion
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.ros.conversions.object_conversions import (
    padded,
    read_attached,
    read_vertices,
)
from ssik_ros.ros.conversions.pose_conversions import (
    read_pose,
    read_transform,
    write_pose,
    write_transform,
)
from ssik_ros.server.requests.constraints import (
    ConstraintsGiven,
    JointConstraintGiven,
    NO_CONSTRAINTS,
    OrientationConstraintGiven,
    PositionConstraintGiven,
)
from ssik_ros.server.requests.ik_requests import (
    AT_MODEL_FRAME,
    CarriedGiven,
    FramedPose,
    FullState,
    IkRequest,
    IkResponse,
    NOTHING_CARRIED,
    StateGiven,
)
from ssik_ros.server.requests.index_ranges import index_range
from ssik_ros.server.requests.poses import pose_of_numbers
from ssik_ros.server.requests.regions import RegionPart, Solid
from ssik_ros.value_class import NEW_TUPLE

NOTHING_ELSE_CARRIED, POSE = CarriedGiven(forgets=True), (4, 4)


def read_state(message: RobotState) -> StateGiven:
    """
    Return the joint values, joint poses and carried objects in a robot state message; sizes and names are not checked.

    :param message: the state. If is_diff is false and joints are given, the robot carries only the objects of the
        message. Otherwise they change the objects that it carries already.
    """
    joints, multi = message.joint_state, message.multi_dof_joint_state
    names, attached = joints.name, message.attached_collision_objects
    transforms: Sequence[FloatArray] = ()
    multi_names, multi_frame = multi.joint_names, ''
    if multi_names or multi.transforms:
        transforms = [read_transform(transform) for transform in multi.transforms]
        multi_frame = multi.header.frame_id
    carried = NOTHING_CARRIED
    if not message.is_diff and (names or multi_names):
        carried = NOTHING_ELSE_CARRIED
    if attached:
        carried = CarriedGiven([read_attached(entry) for entry in attached], carried.forgets)
    return NEW_TUPLE(
        StateGiven, (names, joints.position, multi_names, transforms, multi_frame, carried)
    )


def read_seconds(message: Duration) -> float:
    """
    Return the duration in a message, in seconds [s].

    :param message: the duration.
    """
    return float(message.sec + 1e-9 * message.nanosec)


def read_framed_pose(message: PoseStamped) -> FramedPose:
    """
    Return a pose with its frame.

    :param message: the pose; any message with a header and a pose will do, such as an InteractiveMarker.
    """
    return FramedPose(message.header.frame_id, read_pose(message.pose))


def write_framed_pose(message: Any, frame: str, pose: FloatArray) -> None:
    """
    Write the frame into the header, and the pose, of a message that has both, such as a PoseStamped.

    :param message: the message to fill.
    :param frame: name of the frame.
    :param pose: (4, 4).
    """
    message.header.frame_id = frame
    write_pose(message.pose, pose)


def read_ik_request(message: GetPositionIK.Request) -> IkRequest:
    """
    Return a request of ``compute_ik``; names and numbers are not checked.

    As in MoveIt, ``pose_stamped_vector`` has the poses, and ``ik_link_names`` their links. With one pose, its link is
    the first of ``ik_link_names``, if any. Without poses in the vector, the single fields ``pose_stamped`` and
    ``ik_link_name`` count.

    :param message: the request message.
    """
    given = message.ik_request
    stamped: Sequence[PoseStamped] = given.pose_stamped_vector
    links: Sequence[str]
    if not stamped:
        single = given.pose_stamped
        p, q, pose = single.pose.position, single.pose.orientation, np.empty(POSE)
        pose_matrix(pose, p.x, p.y, p.z, q.x, q.y, q.z, q.w)
        poses = [NEW_TUPLE(FramedPose, (single.header.frame_id, pose))]
        links = (given.ik_link_name,)
    else:
        poses = [read_framed_pose(entry) for entry in stamped]
        links = given.ik_link_names
        if len(stamped) == 1:
            links = (links[0],) if links else ('',)
    timeout, constraints = given.timeout, given.constraints
    wanted = NO_CONSTRAINTS
    if (
        constraints.joint_constraints
        or constraints.position_constraints
        or constraints.orientation_constraints
        or constraints.visibility_constraints
    ):
        wanted = read_constraints(constraints)
    return IkRequest(
        given.group_name,
        links,
        poses,
        read_state(given.robot_state),
        timeout.sec + 1e-9 * timeout.nanosec,
        given.avoid_collisions,
        wanted,
    )


def write_ik_response(
    message: GetPositionIK.Response, response: IkResponse, served: Any, request: Any
) -> None:
    """
    Fill the solution of a ``compute_ik`` response, if there is one; the caller writes the error code.

    :param message: the message to fill.
    :param response: the response.
    :param served: the robot that is served, whose ``writer`` is a :class:`StateWriter`.
    :param request: not read.
    """
    if response.state is not None:
        served.writer.write(message.solution, response.state)


def read_constraints(message: Constraints) -> ConstraintsGiven:
    """
    Return the constraints of a message; names and numbers are not checked here.

    Visibility constraints are not read: only their presence is noted. Shapes without a pose get the identity.

    :param message: the constraints.
    """
    given = ConstraintsGiven(
        [_read_joint_constraint(entry) for entry in message.joint_constraints],
        [_read_position_constraint(entry) for entry in message.position_constraints],
        [_read_orientation_constraint(entry) for entry in message.orientation_constraints],
        ('visibility_constraints',) if message.visibility_constraints else (),
    )
    return NO_CONSTRAINTS if given.are_none else given


def _read_joint_constraint(message: JointConstraint) -> JointConstraintGiven:
    return JointConstraintGiven(
        message.joint_name,
        message.position,
        message.tolerance_above,
        message.tolerance_below,
        message.weight,
    )


def _read_position_constraint(message: PositionConstraint) -> PositionConstraintGiven:
    region, point = message.constraint_region, message.target_point_offset
    parts = [
        RegionPart(primitive.type, primitive.dimensions, read_pose(pose))
        for primitive, pose in zip(region.primitives, padded(region.primitive_poses))
    ]
    parts += [
        RegionPart(Solid.HULL, (), read_pose(pose), read_vertices(mesh))
        for mesh, pose in zip(region.meshes, padded(region.mesh_poses))
    ]
    return PositionConstraintGiven(
        message.link_name,
        message.header.frame_id,
        np.array([point.x, point.y, point.z]),
        parts,
        message.weight,
    )


def _read_orientation_constraint(message: OrientationConstraint) -> OrientationConstraintGiven:
    q = message.orientation
    return OrientationConstraintGiven(
        message.link_name,
        message.header.frame_id,
        pose_of_numbers(0.0, 0.0, 0.0, q.x, q.y, q.z, q.w),
        (
            message.absolute_x_axis_tolerance,
            message.absolute_y_axis_tolerance,
            message.absolute_z_axis_tolerance,
        ),
        message.parameterization == OrientationConstraint.ROTATION_VECTOR,
        message.weight,
        message.parameterization,
    )


class StateWriter:
    """Writes full states of one robot into RobotState messages, as MoveIt does."""

    def __init__(self, robot: RobotModel) -> None:
        """
        Prepare the joint names, the header and the transforms that messages share.

        :param robot: the robot.
        """
        tree = robot.tree
        kinds = [JointKind(kind) for kind in tree.kinds]
        single = [j for j, kind in enumerate(kinds) if POSITION_SIZE[kind] == 1]
        self._tree = tree
        self._frame = robot.model_frame
        self._names = [tree.joint_names[joint] for joint in single]
        self._variables = index_range(tree.idx_q[single])
        self._multi = [(j, kind) for j, kind in enumerate(kinds) if POSITION_SIZE[kind] > 1]
        # A virtual joint that is a joint of the tree is in the list already.
        self._virtual = [
            joint.name
            for joint in robot.virtual_joints
            if joint.type != 'fixed' and joint.name not in tree.joint_index
        ]
        self._multi_names = [*self._virtual, *(tree.joint_names[j] for j, _ in self._multi)]
        # Shared by all messages that say so: a message never changes once it is filled.
        self._home = [Transform() for _ in self._virtual]
        self._header = Header(frame_id=self._frame)
        self._at_home = MultiDOFJointState(
            header=self._header, joint_names=self._multi_names, transforms=self._home
        )

    def write(self, message: RobotState, state: FullState) -> None:
        """
        Write a full state into a robot state message.

        ``joint_state`` gets the joints with one variable, in model order. ``multi_dof_joint_state`` gets the virtual
        joint with the pose of the root, then the joints with several variables in model order. Messages may share
        headers and ``multi_dof_joint_state``, so a receiver must not change these.

        :param message: the message to fill.
        :param state: the state.
        """
        joints = message.joint_state
        joints.header = self._header
        # A copy: the message belongs to its receiver.
        joints.name = self._names.copy()
        joints.position = array('d', state.positions[self._variables].tobytes())
        if state.root_pose is AT_MODEL_FRAME and not self._multi:
            message.multi_dof_joint_state = self._at_home
            return
        multi = message.multi_dof_joint_state
        multi.header.frame_id = self._frame
        multi.joint_names = self._multi_names.copy()
        transforms = self._home
        if state.root_pose is not AT_MODEL_FRAME:
            transforms = [write_transform(state.root_pose) for _ in self._virtual]
        if self._multi:
            transforms = transforms + [
                self._transform(joint, kind, state) for joint, kind in self._multi
            ]
        multi.transforms = transforms

    def _transform(self, joint: int, kind: JointKind, state: FullState) -> Any:
        """
        Return the Transform message of the motion of a joint with several variables, such as a floating joint.

        ``joint`` is its index in the model; its values are read from ``state``.
        """
        start = int(self._tree.idx_q[joint])
        values = state.positions[start : start + POSITION_SIZE[kind]]
        return write_transform(joint_motion(kind, self._tree.axes[joint], values))
