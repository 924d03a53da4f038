"""
The services with MoveIt's interfaces: inverse and forward kinematics, validity of states, and Cartesian paths.

``MOVEIT_SERVICES`` describes each service for the handler.
"""

from collections.abc import Sequence
import logging
from typing import Any

from geometry_msgs.msg import Point, PoseStamped, Transform, Vector3
from moveit_msgs.msg import (
    ConstraintEvalResult,
    ContactInformation,
    MoveItErrorCodes,
    RobotState,
    RobotTrajectory,
)
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from ssik_ros.model.collision.scene import Contact
from ssik_ros.ros.conversions.joint_commands import make_duration, make_timed_trajectory
from ssik_ros.ros.conversions.messages import read_ik_request, write_ik_response
from ssik_ros.ros.conversions.pose_conversions import read_pose, write_pose
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.ros.services.service_handlers import read_budget, Served, Service
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse, TimedPath
from ssik_ros.server.requests.ik_requests import (
    FkRequest,
    FkResponse,
    FullState,
    StateRequest,
)
from ssik_ros.server.state_responses import StateResponse

_LOGGER = logging.getLogger('ssik_ros.services')


def _write_fk(
    message: GetPositionFK.Response, response: FkResponse, served: Served, request: Any
) -> None:
    stamp = served.now() if served.now else PoseStamped().header.stamp
    for link, pose in zip(response.links, response.poses, strict=True):
        stamped = PoseStamped()
        stamped.header.stamp = stamp
        stamped.header.frame_id = response.frame
        write_pose(stamped.pose, pose)
        message.pose_stamped.append(stamped)
        message.fk_link_names.append(link)


def _write_validity(
    message: GetStateValidity.Response, response: StateResponse, served: Served, request: Any
) -> None:
    """
    Fill the response of ``check_state_validity``: valid or not, contacts, and one result for each constraint.

    The message has no field for a text. So the reason why a state cannot be checked is logged.
    """
    if response.text:
        _LOGGER.warning(
            'check_state_validity: reported invalid, the state could not be checked: %s',
            response.text,
        )
    message.valid = response.is_valid
    message.constraint_result = [
        ConstraintEvalResult(result=verdict.holds, distance=verdict.distance)
        for verdict in response.verdicts
    ]
    message.contacts = [_write_contact(contact, served) for contact in response.contacts]


def _write_contact(contact: Contact, served: Served) -> ContactInformation:
    """Return the message of a contact, with its position and normal in the model frame."""
    message = ContactInformation(
        contact_body_1=contact.first,
        contact_body_2=contact.second,
        body_type_1=int(contact.kinds[0]),
        body_type_2=int(contact.kinds[1]),
        depth=contact.depth,
    )
    message.header.frame_id = served.server.robot.model_frame
    if served.now:
        message.header.stamp = served.now()
    message.position = Point(**dict(zip('xyz', contact.position.tolist(), strict=True)))
    message.normal = Vector3(**dict(zip('xyz', contact.normal.tolist(), strict=True)))
    return message


def _write_path(
    message: GetCartesianPath.Response, response: PathResponse, served: Served, request: Any
) -> None:
    if response.start is not None and response.path is not None:
        served.writer.write(message.start_state, response.start)
        attached = request.start_state.attached_collision_objects
        message.start_state.attached_collision_objects = attached
        _write_trajectory(message.solution, response, request.group_name, served)
        message.fraction = response.fraction


def _write_trajectory(
    message: RobotTrajectory, response: PathResponse, group_name: str, served: Served
) -> None:
    """Fill a trajectory: joints with one variable, with velocities, and joints with several as transforms."""
    assert response.path is not None and response.start is not None
    server = served.server
    group = server.groups[group_name]
    names = group.group.variable_names
    columns = [i for i, name in enumerate(names) if name in server.robot.tree.joint_index]
    joints, multi = message.joint_trajectory, message.multi_dof_joint_trajectory
    joints.header.frame_id = multi.header.frame_id = server.robot.model_frame
    joints.joint_names = [names[column] for column in columns]
    path = response.path
    joint_path = TimedPath(path.positions[:, columns], path.times, path.velocities[:, columns])
    if columns:
        joints.points = make_timed_trajectory(joints.joint_names, joint_path).points
    several = [name for name in group.group.joint_names if name not in set(joints.joint_names)]
    if several:
        multi.joint_names = several
        states = [group.with_group(response.start, q) for q in response.path.positions]
        stamps = [make_duration(time) for time in path.times.tolist()]
        multi.points = [
            MultiDOFJointTrajectoryPoint(
                transforms=_transforms(served, state, several), time_from_start=stamp
            )
            for state, stamp in zip(states, stamps, strict=True)
        ]


def _transforms(served: Served, state: FullState, names: Sequence[str]) -> list[Transform]:
    """Return the transform messages of joints with several variables in a state, in the order of ``names``."""
    written = RobotState()
    served.writer.write(written, state)
    multi = written.multi_dof_joint_state
    transforms = dict(zip(multi.joint_names, multi.transforms, strict=True))
    return [transforms[name] for name in names]


_read_fk = request_reader(
    FkRequest, GetPositionFK.Request, links=lambda message: list(message.fk_link_names)
)
_read_validity = request_reader(StateRequest, GetStateValidity.Request)
_read_path = request_reader(
    PathRequest,
    GetCartesianPath.Request,
    waypoints=lambda message: [read_pose(pose) for pose in message.waypoints],
)
COMPUTE_IK = Service(
    GetPositionIK,
    'compute_ik',
    'solve',
    read_ik_request,
    write_ik_response,
    is_timed=True,
    budget=lambda message: read_budget(message.ik_request.timeout),
)
MOVEIT_SERVICES = (
    COMPUTE_IK,
    # Callers of solve_ik check collisions themselves.
    COMPUTE_IK._replace(name='solve_ik', method='solve_unchecked'),
    Service(
        GetPositionFK,
        'compute_fk',
        'compute_fk',
        _read_fk,
        _write_fk,
        unknown_link=MoveItErrorCodes.INVALID_LINK_NAME,
    ),
    Service(
        GetStateValidity, 'check_state_validity', 'check_state', _read_validity, _write_validity
    ),
    Service(GetCartesianPath, 'compute_cartesian_path', 'follow_path', _read_path, _write_path),
)
"""A row for each service of MoveIt."""
