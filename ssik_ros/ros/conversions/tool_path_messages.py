"""Convert the messages of the action ``~/plan_tool_path``: goals to requests, progress and results to messages."""

from array import array
import math
from typing import Any

from geometry_msgs.msg import Pose
import numpy as np
from sensor_msgs.msg import JointState
from ssik_msgs.action import PlanToolPath
from ssik_msgs.msg import PathPenalties as PenaltiesMessage, PathTolerance as ToleranceMessage

from ssik_ros.arrays import FloatArray
from ssik_ros.paths.requests import PathObjective, PathPenalties, PathProgress, PathTolerance
from ssik_ros.ros.conversions.joint_commands import make_timed_trajectory
from ssik_ros.ros.conversions.pose_conversions import read_vector
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.server.paths.tool_path_requests import NamedValues, ToolPathGoal, ToolPathResponse
from ssik_ros.server.requests.refusals import Refusal

OBJECTIVES = {getattr(PlanToolPath.Goal, objective.name): objective for objective in PathObjective}
Z_AXIS = (0.0, 0.0, 1.0)
ZONES = ('limit_zone', 'singular_zone', 'obstacle_zone')


def _read_poses(messages: list[Pose]) -> FloatArray:
    """Return the position and quaternion of each pose as flat numbers (7 m,)."""
    rows = [
        (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
        for p, q in ((pose.position, pose.orientation) for pose in messages)
    ]
    return np.array(rows, dtype=np.float64).ravel()


def _read_values(message: JointState) -> NamedValues:
    return NamedValues(tuple(message.name), message.position.tolist())


def _read_settings(message: PlanToolPath.Goal) -> dict[str, Any]:
    """
    Return the settings of a plan from a goal; raise RequestRefused for an unknown objective.

    Four numbers keep their defaults if they are zero: ``largest_turn``, ``largest_slide``, ``tool_speed`` and
    ``largest_deviation``. The tolerance keeps its default if the list is empty. All other settings are always set.
    """
    if message.objective not in OBJECTIVES:
        choices_text = ', '.join(
            f'{number} ({objective.name})' for number, objective in OBJECTIVES.items()
        )
        text = f'There is no objective {message.objective}; known: {choices_text}.'
        raise Refusal.BAD_OPTION.error(text)
    settings: dict[str, Any] = {
        'objective': OBJECTIVES[message.objective],
        'penalties': _read_penalties(message.penalties),
        'corner': message.corner,
        'is_closed': message.closed,
        'passes': message.passes.tolist(),
    }
    for name in ('largest_turn', 'largest_slide', 'tool_speed', 'largest_deviation'):
        value = getattr(message, name)
        if value:
            settings[name] = value
    if message.tolerances:
        settings['tolerance'] = _read_tolerances(message.tolerances)
    return settings


def _read_penalties(message: PenaltiesMessage) -> PathPenalties:
    """Return the penalties of a goal; a zone (field in ``ZONES``) that is zero keeps its default."""
    fields = {name: getattr(message, name) for name in PathPenalties.__dataclass_fields__}
    return PathPenalties(
        **{name: value for name, value in fields.items() if value or name not in ZONES}
    )


def _read_tolerances(messages: list[ToleranceMessage]) -> PathTolerance | list[PathTolerance]:
    """
    Return the only tolerance, which is for all waypoints, or a list with one tolerance for each message.

    Equal tolerances of the list share one instance. A zero axis is replaced by z. Numbers are not checked here.
    """
    shared: dict[bytes, PathTolerance] = {}
    tolerances = []
    for message in messages:
        fields = _tolerance_fields(message)
        key = np.array([part for value in fields.values() for part in np.ravel(value)]).tobytes()
        if key not in shared:
            shared[key] = PathTolerance(**fields)
        tolerances.append(shared[key])
    return tolerances[0] if len(tolerances) == 1 else tolerances


def _tolerance_fields(message: ToleranceMessage) -> dict[str, Any]:
    axis = read_vector(message.axis)
    ranges = {
        name: _read_range(getattr(message, name)) for name in ('spin', 'roll', 'pitch', 'yaw')
    }
    return {
        'axis': axis if any(axis) else Z_AXIS,
        'cone': message.cone,
        'position': (read_vector(message.lower), read_vector(message.upper)),
        **ranges,
    }


def _read_range(values: Any) -> tuple[float, float]:
    low, high = values.tolist()
    return low, high


read_goal = request_reader(
    ToolPathGoal,
    PlanToolPath.Goal,
    waypoints=lambda message: _read_poses(message.waypoints),
    start=lambda message: _read_values(message.start),
    end=lambda message: _read_values(message.end),
    locked=lambda message: tuple(message.locked),
    settings=_read_settings,
)
"""Returns the :class:`ToolPathGoal` in a goal message; raises RequestRefused for an unknown objective."""


def write_feedback(progress: PathProgress, seconds: float) -> PlanToolPath.Feedback:
    """
    Return the progress of a plan as a feedback message.

    :param progress: phase, part done, waypoint and best cost.
    :param seconds: time since the goal was accepted [s].
    """
    return PlanToolPath.Feedback(
        phase=progress.phase,
        done=progress.part,
        waypoint=progress.waypoint,
        best_cost=progress.best_cost,
        seconds=seconds,
    )


def empty_result() -> PlanToolPath.Result:
    """Return the result message of a goal without a path: infinite cost, failed waypoint -1."""
    return PlanToolPath.Result(cost=math.inf, failed_waypoint=-1)


def write_result(
    message: PlanToolPath.Result, response: ToolPathResponse, served: Any, request: Any
) -> None:
    """
    Fill a result message; the caller writes the error code.

    Without a plan, only cause and reason are written. Trajectory points and waypoint times need a timed path.

    :param message: the message to fill.
    :param response: the result of the plan.
    :param served: the robot that is served, whose model frame is the frame of the trajectory.
    :param request: not read.
    """
    message.cause, message.reason = response.cause.name, response.text
    plan = response.plan
    if plan is None:
        return
    message.valid, message.reason = plan.valid, plan.reason
    message.cost, message.penalty, message.lower_bound = plan.cost, plan.penalty, plan.lower_bound
    message.deviation, message.seconds = plan.deviation, plan.seconds
    message.first_waypoint, message.failed_waypoint = plan.first_waypoint, plan.failed_waypoint
    message.notes = list(plan.notes)
    message.trajectory.header.frame_id = served.server.robot.model_frame
    message.trajectory.joint_names = list(plan.joint_names)
    if response.path is not None and response.waypoint_times is not None:
        message.trajectory.points = make_timed_trajectory(plan.joint_names, response.path).points
        message.waypoint_times = array('d', response.waypoint_times.tobytes())
