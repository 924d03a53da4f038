"""``compute_cartesian_path``: a joint path that leads a link along straight lines."""

from array import array
from collections.abc import Callable, Sequence

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform
from moveit_msgs.msg import RobotState, RobotTrajectory
from moveit_msgs.srv import GetCartesianPath
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from ssik_ros.ros.conversions.messages import read_constraints, read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always, Served
from ssik_ros.ros.services.status_codes import code_of_path, write_code
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse
from ssik_ros.server.requests.ik_requests import FullState


class PathService:
    """Handler of ``compute_cartesian_path``; may be called by several threads at once."""

    def __init__(self, served: Callable[[], Served], live: LiveState) -> None:
        """
        Take the way to what is served.

        :param served: returns it, or raises where there is no robot yet.
        :param live: where the robot is.
        """
        self._served = served
        self._live = live

    def compute_cartesian_path(
        self, request: GetCartesianPath.Request, response: GetCartesianPath.Response
    ) -> GetCartesianPath.Response:
        """
        Answer ``compute_cartesian_path``.

        :param request, response: the messages of the service.
        """
        answered: GetCartesianPath.Response = answer_always(self._follow, request, response)
        return answered

    def _follow(
        self, request: GetCartesianPath.Request, response: GetCartesianPath.Response
    ) -> None:
        served = self._served()
        answer = served.server.follow(
            _read_request(request), self._live.current(served.server.states)
        )
        if answer.start is not None and answer.path is not None:
            served.writer.write(response.start_state, answer.start)
            carried = request.start_state.attached_collision_objects
            response.start_state.attached_collision_objects = carried
            _write_path(response.solution, answer, request.group_name, served)
            response.fraction = answer.fraction
        note_cause(answer.cause)
        write_code(response.error_code, code_of_path(answer), answer.text)


def _read_request(request: GetCartesianPath.Request) -> PathRequest:
    """Return the request of a request."""
    return PathRequest(
        group=request.group_name,
        waypoints=[read_pose(pose) for pose in request.waypoints],
        frame=request.header.frame_id,
        link=request.link_name,
        max_step=request.max_step,
        state=read_state(request.start_state),
        jump_threshold=request.jump_threshold,
        prismatic_jump=request.prismatic_jump_threshold,
        revolute_jump=request.revolute_jump_threshold,
        avoid_collisions=request.avoid_collisions,
        carried=read_carried(request.start_state),
        constraints=read_constraints(request.path_constraints),
        velocity_scale=request.max_velocity_scaling_factor,
        acceleration_scale=request.max_acceleration_scaling_factor,
        speed_link=request.cartesian_speed_limited_link,
        max_speed=request.max_cartesian_speed,
    )


def _write_path(
    message: RobotTrajectory, answer: PathResponse, group_name: str, served: Served
) -> None:
    """Fill a trajectory: joints with one variable with their speeds, and the others apart."""
    assert answer.path is not None and answer.start is not None
    server = served.server
    group = server.groups[group_name]
    names = group.group.variable_names
    columns = [i for i, name in enumerate(names) if name in server.robot.tree.joint_index]
    joints, multi = message.joint_trajectory, message.multi_dof_joint_trajectory
    joints.header.frame_id = multi.header.frame_id = server.robot.model_frame
    joints.joint_names = [names[column] for column in columns]
    positions = answer.path.positions[:, columns]
    velocities = answer.path.velocities[:, columns]
    stamps = [_duration(time) for time in answer.path.times.tolist()]
    if columns:
        joints.points = [
            JointTrajectoryPoint(
                positions=array('d', q.tobytes()),
                velocities=array('d', v.tobytes()),
                time_from_start=stamp,
            )
            for q, v, stamp in zip(positions, velocities, stamps, strict=True)
        ]
    several = [name for name in group.group.joint_names if name not in set(joints.joint_names)]
    if several:
        multi.joint_names = several
        states = [group.with_group(answer.start, q) for q in answer.path.positions]
        multi.points = [
            MultiDOFJointTrajectoryPoint(
                transforms=_transforms(served, state, several), time_from_start=stamp
            )
            for state, stamp in zip(states, stamps, strict=True)
        ]


def _transforms(served: Served, state: FullState, names: Sequence[str]) -> list[Transform]:
    """Return the transforms of joints with several variables."""
    written = RobotState()
    served.writer.write(written, state)
    multi = written.multi_dof_joint_state
    found = dict(zip(multi.joint_names, multi.transforms, strict=True))
    return [found[name] for name in names]


def _duration(seconds: float) -> Duration:
    """Return a time as message."""
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
