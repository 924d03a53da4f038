"""Write the request messages of the rqt panel, and read and check the responses, because a panel trusts no node."""

from collections.abc import Iterable, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from moveit_msgs.srv import GetPositionFK
import numpy as np
from ssik_msgs.msg import GroupKinematics, IkBranch, LinkGoal
from ssik_msgs.srv import Describe, ExplainIk, SolveAll, SolveGoals
from visualization_msgs.srv import GetInteractiveMarkers

from ssik_ros.arrays import FloatArray, is_within_reason
from ssik_ros.errors import quote, SolverError
from ssik_ros.results import Cause
from ssik_ros.ros.conversions.joint_commands import make_joint_state
from ssik_ros.ros.conversions.messages import read_framed_pose, write_framed_pose
from ssik_ros.ros.services.service_responses import cause_of, pick_positions
from ssik_ros.ros.services.status_codes import read_text
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import Branch, FramedPose
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.view.node_services import (
    FoundBranches,
    GroupOption,
    PoseQuery,
    Posture,
    RobotSummary,
    ServiceFailure,
)
from ssik_ros.view.sessions.posture_session import SolveOutcome

MOST_BRANCHES = 128
"""Branches of a request; a table with more rows helps nobody."""
MOST_GROUPS = 200
MOST_TEXT = 2000
"""Characters of a text that are shown."""
RESTARTS = 20
"""Searches for a posture with any orientation."""
SUCCESS, NO_SOLUTION = MoveItErrorCodes.SUCCESS, MoveItErrorCodes.NO_IK_SOLUTION


def _fill_query(message: Any, query: PoseQuery) -> Any:
    """Write group, link, target and collisions into a request, and return the request."""
    message.group, message.link = query.group, query.link
    message.avoid_collisions = query.avoids_collisions
    write_framed_pose(message.pose_stamped, *query.target)
    return message


def write_solve_all(query: PoseQuery) -> SolveAll.Request:
    """
    Return the request for all branches of a pose.

    :param query: the target.
    """
    options = {'max_solutions': MOST_BRANCHES, 'enumerate_windings': query.wants_windings}
    return _fill_query(SolveAll.Request(**options), query)


def write_explain(query: PoseQuery) -> ExplainIk.Request:
    """
    Return the request for the cause of a failure.

    :param query: the target.
    """
    return _fill_query(ExplainIk.Request(), query)


def write_position_goal(query: PoseQuery, locked: Sequence[str]) -> SolveGoals.Request:
    """
    Return the request for a posture at the position of a target, with any orientation.

    :param query: the target.
    :param locked: joints that stay where they are.
    """
    goal = LinkGoal(link=query.link, free_dof=['EX', 'EY', 'EZ'])
    write_framed_pose(goal.pose_stamped, *query.target)
    return SolveGoals.Request(goals=[goal], locked_joints=list(locked), max_restarts=RESTARTS)


def write_forward(link: str, posture: Posture) -> GetPositionFK.Request:
    """
    Return the request for the pose of a link in a posture, in the model frame.

    :param link: the link.
    :param posture: other joints are where they are now.
    """
    state = RobotState(joint_state=make_joint_state(*posture, Time()), is_diff=True)
    return GetPositionFK.Request(fk_link_names=[link], robot_state=state)


def read_summary(message: Describe.Response) -> RobotSummary | ServiceFailure:
    """
    Return the robot of a node with its groups, at most ``MOST_GROUPS``; or why the node has no robot.

    :param message: the response.
    """
    if not message.success:
        return ServiceFailure(_text(message.message))
    return RobotSummary(message.robot, tuple(map(_read_group, message.groups[:MOST_GROUPS])))


def _read_group(message: GroupKinematics) -> GroupOption:
    problem = '' if message.solver else _text(message.reason) or 'The group has no solver.'
    return GroupOption(
        message.name,
        message.base_frame,
        tuple(message.tip_frames[:MOST_GROUPS]),
        tuple(message.joint_names),
        message.position_only,
        problem,
    )


def read_branches(message: SolveAll.Response) -> FoundBranches:
    """
    Return the branches of a pose, at most ``MOST_BRANCHES``; none unless the error code is SUCCESS.

    The outcome has the node's text. Without a branch it has the cause too, if the text says "No solution: "; for a
    refused request the cause stays NONE.

    :param message: the response.
    :raises SolverError: if the positions of a branch are not finite or too large, or not one for each joint.
    """
    names = tuple(message.joint_names)
    kept = message.branches[:MOST_BRANCHES]
    branches = tuple(_read_branch(branch, len(names)) for branch in kept)
    is_solved = message.error_code.val == SUCCESS and bool(branches)
    text = _message_of(message.error_code)
    cause = Cause.NONE
    if not is_solved and 'No solution: ' in text:
        cause = cause_of(message.error_code.val, text)
    outcome = SolveOutcome(is_solved, cause, text)
    return FoundBranches(outcome, names, branches if is_solved else ())


def _read_branch(message: IkBranch, count: int) -> Branch:
    fields = {name: getattr(message, name) for name in Branch._fields}
    return Branch(**fields)._replace(
        positions=_numbers(message.positions, count),
        label=_text(message.label),
        windings=tuple(message.windings),
    )


def read_explanation(message: ExplainIk.Response) -> Explanation:
    """
    Return why a pose is not reached.

    :param message: the response.
    :raises SolverError: if the positions of the nearest posture are not finite or too large, or not one for each joint.
    """
    names = tuple(message.joint_names)
    text = _message_of(message.error_code)
    cause = Cause.__members__.get(message.cause)
    if cause is None:
        cause = cause_of(message.error_code.val, text)
    nearest = _numbers(message.nearest, len(names)) if len(message.nearest) else None
    return Explanation(
        Refusal.NONE,
        cause,
        text,
        solved=message.error_code.val == SUCCESS,
        joint_names=names,
        nearest=nearest,
        distance=message.distance,
        angle=message.angle,
        advice=tuple(map(_text, message.advice[:MOST_GROUPS])),
    )


def read_reached(
    message: SolveGoals.Response, joint_names: Sequence[str]
) -> Posture | ServiceFailure:
    """
    Return the posture of some joints in which a goal is reached, or a failure, whose text is the same for all reasons.

    :param message: the response.
    :param joint_names: the joints.
    :raises SolverError: when a joint has no finite position.
    """
    if message.error_code.val != SUCCESS:
        return ServiceFailure(
            'Not at the target: the node has found no posture, with any orientation.'
        )
    values = pick_positions(message.state.joint_state, joint_names)
    return Posture(tuple(joint_names), _numbers(values, len(values)))


def read_forward(message: GetPositionFK.Response) -> FramedPose | ServiceFailure:
    """
    Return the pose of a link, or why the node does not know the pose.

    :param message: the response.
    :raises SolverError: for a pose that is not finite.
    """
    if message.error_code.val != SUCCESS or not message.pose_stamped:
        return ServiceFailure(_message_of(message.error_code))
    return _checked(read_framed_pose(message.pose_stamped[0]))


def read_marker(message: GetInteractiveMarkers.Response, link: str) -> FramedPose | ServiceFailure:
    """
    Return the pose of the interactive marker of a link; a ServiceFailure if RViz has no such marker.

    :param message: the response.
    :param link: name of the marker.
    :raises SolverError: for a pose that is not finite.
    """
    for marker in message.markers:
        if marker.name == link:
            return _checked(read_framed_pose(marker))
    return ServiceFailure(
        f'RViz has no marker for {quote(link)}. Start the node with the parameter '
        'interactive_group, or choose another source of the target.'
    )


def _checked(target: FramedPose) -> FramedPose:
    _numbers(target.pose.ravel(), target.pose.size)
    return target


def _numbers(values: Iterable[float], count: int) -> FloatArray:
    """
    Return ``count`` numbers (count,).

    Raise SolverError for another number of them, and for numbers that are not finite or too large.
    """
    numbers = np.fromiter(values, np.float64)
    if len(numbers) != count or not is_within_reason(numbers):
        raise SolverError('The response of the node has wrong numbers; it is not used.')
    return numbers


def _message_of(code: MoveItErrorCodes) -> str:
    """Return the text of an error code, or a sentence with its number if the message has no text."""
    text = _text(read_text(code))
    if text or code.val == SUCCESS:
        return text
    return 'No solution.' if code.val == NO_SOLUTION else f'The node refuses: code {code.val}.'


def _text(text: str) -> str:
    return text[:MOST_TEXT]
