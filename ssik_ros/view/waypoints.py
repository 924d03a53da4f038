"""Record waypoints in a viewer, and plan the joint path through them: :func:`record_waypoint`, :func:`plan_waypoints`."""

from collections.abc import Callable, Sequence

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget, quote
from ssik_ros.model.collision.objects import place_objects
from ssik_ros.paths.path_file import PathProblem
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.paths.requests import PathProgress
from ssik_ros.paths.waypoints import straight_lines
from ssik_ros.server.paths.plan_timing import time_plan
from ssik_ros.server.requests.motion_limits import scaled_limits
from ssik_ros.view.playback import JointPath, Playback
from ssik_ros.view.sessions.session import Session

MOST_RECORDED = 100
LONGEST_PLANNING = 30.0
"""Budget of a plan [s]."""


def record_waypoint(session: Session) -> None:
    """
    Append the present pose of the target to the waypoints of a session.

    :param session: a session whose group has one tip.
    :raises InvalidOption: if there are MOST_RECORDED waypoints already, or if the group has several tips.
    """
    if len(session.tips) != 1:
        raise InvalidOption(
            f'Group {quote(session.group.name)} has {len(session.tips)} tips; a tool path has one.'
        )
    if len(session.waypoints) >= MOST_RECORDED:
        raise InvalidOption(f'There are {MOST_RECORDED} waypoints; remove one first.')
    session.waypoints.append(session.targets[session.tips[0]].copy())


def waypoints_in_base(session: Session) -> FloatArray:
    """
    Return the recorded waypoints (m, 4, 4) as poses in the base link of the session's group.

    :param session: the session.
    :raises InvalidOption: if there are fewer than two waypoints.
    """
    if len(session.waypoints) < 2:
        raise InvalidOption('A path needs two waypoints: drag the target, and add another one.')
    return session.model_in_base @ np.array(session.waypoints)


def make_problem(session: Session) -> PathProblem:
    """
    Return the planning problem of a tool path on straight lines through the recorded waypoints.

    :param session: the session; its obstacles count if it avoids collisions.
    :raises InvalidOption: for fewer than two waypoints, and if constraints are ignored (``relaxations``).
    :raises InvalidTarget: if the lines need too many waypoints.
    """
    session.refuse_relaxed('A path')
    settings: dict[str, object] = {'state': session.state.positions.copy()}
    if session.avoids_collisions:
        settings['obstacles'] = place_objects(session.obstacles, session.model_in_base)
    lines = straight_lines(waypoints_in_base(session))
    return PathProblem('waypoints', session.robot, session.group, lines, settings)


def plan_waypoints(
    problem: PathProblem,
    corners: Sequence[FloatArray] = (),
    report: Callable[[PathProgress], None] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> Playback:
    """
    Plan a problem within 30 s; return the cheapest joint path that is found, with times.

    The times keep the velocity limits; a joint without one gets 1 rad/s or 1 m/s. They keep the acceleration limits,
    except at sharp corners.

    :param problem: from :func:`make_problem`.
    :param corners: (4, 4) recorded waypoints in the base frame, by whose numbers the error says where a plan fails.
    :param report: called with the progress of the planner; None for no calls.
    :param is_cancelled: called repeatedly; the plan ends as soon as it returns True. None never ends it.
    :raises InvalidTarget: if no joint path passes all waypoints; with the reason.
    :raises SsikError: for a chain without a closed form.
    """
    control = {
        'report_progress': report,
        'is_cancelled': is_cancelled,
        'timeout': LONGEST_PLANNING,
    }
    settings = {**problem.settings, **control}
    path = plan_tool_path(problem.robot, problem.group, problem.waypoints, **settings)
    if not path.valid:
        where = find_leg(problem.waypoints, corners, path.failed_waypoint)
        # The plan counts the poses on the lines, which are not the recorded waypoints.
        reason = path.reason.replace('Waypoint', 'Pose').replace('waypoint', 'pose')
        raise InvalidTarget(
            f'No joint path passes all waypoints. {where}{reason} Poses are 1 cm apart on the lines, or less.'
        )
    limits = scaled_limits(problem.robot, problem.group, 1.0, 1.0)
    timed = time_plan(path, problem.group, limits, problem.waypoints, problem.settings).path
    rows = JointPath(path.joint_names, timed.positions, timed.times, timed.velocities)
    return Playback(problem.robot, rows)


def find_leg(poses: FloatArray, corners: Sequence[FloatArray], failed: int) -> str:
    """
    Return a sentence that says at which recorded waypoint, or between which two, a plan fails.

    The sentence is empty if that is unknown.

    :param poses: (k, 4, 4) the planned poses on straight lines through the recorded waypoints.
    :param corners: (4, 4) recorded waypoints.
    :param failed: index of the pose at which the plan fails; -1 if unknown.
    """
    if failed < 0 or not len(corners):
        return ''
    passed = sum(
        any(np.array_equal(pose, corner) for pose in poses[:failed]) for corner in corners
    )
    if not passed:
        return 'It fails at waypoint 1. '
    last = min(passed + 1, len(corners))
    if np.array_equal(poses[failed], corners[last - 1]):
        return f'It fails at waypoint {last}. '
    return f'It fails between waypoints {last - 1} and {last}. '
