"""
Sentences for the text of a response: possible mistakes in its request, and how near a failed search came.

:func:`notes_on_request` is for every response, :func:`notes_on_failure` and :func:`describe_nearest` for a failure.
"""

from collections.abc import Sequence

import numpy as np

from ssik_ros.errors import counted, list_names, quote
from ssik_ros.model.forward_kinematics import compute_joint_poses, pose_errors
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.results import Cause, IkResult
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.requests.ik_requests import FramedPose, FullState, LinkGoal

HALF_TURN_ABOUT_X = np.diag([1.0, -1.0, -1.0])
POSE_FREEDOMS = 6
MILLIMETRE_FACTOR = 100.0
"""Distance of a goal, in lengths of the arm, above which its numbers may be millimetres [1]."""


def notes_on_request(server: GroupServer, state: FullState) -> list[str]:
    """
    Return notes, one sentence each: on a seed outside its limits, and on mimic joints that contradict their leaders.

    :param server: the group.
    :param state: seed, and joints outside the group.
    """
    notes = []
    group = server.group
    seed = state.positions[server.places].tolist()
    outside = []
    for value, lowest, highest, name in zip(
        seed, server.lowest, server.highest, group.variable_names
    ):
        if not lowest <= value <= highest:
            outside.append(name)
    if outside:
        names = list_names(outside)
        notes.append(f'The seed is outside the limits at {names}; the search begins within.')
    if state.contradicted:
        names = list_names(state.contradicted)
        notes.append(
            f'The state contradicts itself: the leader decides about {names}, not the value given.'
        )
    return notes


def notes_on_failure(
    server: GroupServer,
    goals: Sequence[LinkGoal],
    poses: Sequence[FramedPose],
    state: FullState,
    result: IkResult,
) -> list[str]:
    """
    Return possible mistakes in poses that were not reached, one sentence each.

    :param server: the group.
    :param goals: in the model frame.
    :param poses: the same poses in the frames of the request.
    :param state: seed, and joints outside the group.
    :param result: the solver's result.
    """
    notes, excess = [], 0.0
    if result.is_proved:
        excess, reach = max(_excess(server, goal, state) for goal in goals)
        if excess > 0.0:
            within = ' within the joint limits' if result.cause == Cause.LIMITS else ''
            ask = (
                ' Are these millimetres? Lengths are in metres.'
                if excess > MILLIMETRE_FACTOR * max(reach, 0.01)
                else ''
            )
            notes.append(f'It is at least {excess:.4g} m beyond reach{within}.{ask}')
    count = len(server.group.idx_q)
    if count < POSE_FREEDOMS and not server.kinematics.position_only and not excess > 0.0:
        notes.append(
            f'The group has {counted(count, "joint")}, a pose has {POSE_FREEDOMS} degrees of freedom '
            '(position_only_ik leaves the orientation free).'
        )
    # Where a position is out of reach, its orientation is not to blame.
    if not excess > 0.0 and any(
        np.array_equal(framed.pose[:3, :3], HALF_TURN_ABOUT_X) for framed in poses
    ):
        notes.append(
            'The quaternion is x = 1, y = z = w = 0, a rotation by pi about x; in ROS, w comes last.'
        )
    if len(goals) > 1 and result.searches and np.isfinite(result.q).all():
        notes.append(_describe_tips(server, goals, server.with_group(state, result.q)))
    return notes


def _excess(server: GroupServer, goal: LinkGoal, state: FullState) -> tuple[float, float]:
    """
    Return (excess, reach) [m]: how far a goal is beyond the longest reach of a group, negative within it.

    The reach is the sum of the lengths from the first moving joint of the chain to the goal, prismatic joints at their
    farther limits. Both numbers are 0 if the reach has no bound, as with planar and floating joints. They are also 0 if
    the group does not move the link, or if it moves the base of the solver.
    """
    tree, group = server.robot.tree, set(server.group.joint_indices.tolist())
    solver = server.require_solver()
    link = goal.link or solver.tip_frames[0]
    path = tree.joint_path(link)
    moves = [joint in group or int(tree.leaders[joint]) in group for joint in path]
    if not any(moves) or group & set(tree.joint_path(solver.base_frame)):
        return 0.0, 0.0
    chain = path[moves.index(True) :]
    first, parent = chain[0], int(tree.parents[chain[0]])
    above = np.eye(4) if parent < 0 else compute_joint_poses(tree, state.positions)[parent]
    centre = (state.root_pose @ above @ tree.placements[first])[:3, 3]
    end = tree.link_placements[tree.link(link)]
    reach = float(np.linalg.norm((end if goal.tool is None else end @ goal.tool)[:3, 3]))
    for joint in chain:
        kind, place = JointKind(tree.kinds[joint]), tree.idx_q[joint]
        if joint != first:
            reach += float(np.linalg.norm(tree.placements[joint, :3, 3]))
        if kind == JointKind.PRISMATIC:
            reach += max(abs(float(tree.lower[place])), abs(float(tree.upper[place])))
        elif kind not in (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.SPHERICAL):
            return 0.0, 0.0
    return float(np.linalg.norm(goal.pose[:3, 3] - centre)) - reach, reach


def describe_nearest(
    server: GroupServer, goals: Sequence[LinkGoal], state: FullState, result: IkResult
) -> str:
    """
    Return the distance between the nearest state of a failed search and the goal, as text with units.

    The text has a length and an angle; with position-only kinematics only the length. It is empty if there are several
    goals, or if the search has no nearest state.

    :param server: the group.
    :param goals: poses in the model frame.
    :param state: seed, and joints outside the group.
    :param result: the solver's result.
    """
    q = result.nearest
    if len(goals) != 1 or q is None or not np.isfinite(q).all():
        return ''
    nearest = server.with_group(state, q)
    ((distance, angle),) = _errors_at(server, goals, nearest)
    if server.kinematics.position_only:
        return f'{distance:.4g} m'
    return describe_error(distance, angle)


def describe_error(distance: float, angle: float) -> str:
    """
    Return a position error and an orientation error as text with units.

    :param distance: [m].
    :param angle: [rad].
    """
    return f'{distance:.4g} m and {angle:.4g} rad'


def _errors_at(
    server: GroupServer, goals: Sequence[LinkGoal], state: FullState
) -> list[tuple[float, float]]:
    """
    Return, for each goal, distance [m] and angle [rad] between its pose and its link or carried object in ``state``.

    A goal without a link is for the first tip of the solver.
    """
    poses = server.frames.links_in_root(
        [goal.link or server.require_solver().tip_frames[0] for goal in goals], state
    )
    heres = [state.root_pose @ pose for pose in poses]
    return [
        pose_errors(here if goal.tool is None else here @ goal.tool, goal.pose)
        for goal, here in zip(goals, heres, strict=True)
    ]


def _describe_tips(server: GroupServer, goals: Sequence[LinkGoal], nearest: FullState) -> str:
    """Return a sentence about how far the link of each goal is from its pose in the nearest state."""
    errors = _errors_at(server, goals, nearest)
    parts = [
        f'{quote(goal.link)} {describe_error(distance, angle)}'
        for goal, (distance, angle) in zip(goals, errors, strict=True)
    ]
    return f'In the nearest posture they are off by: {", ".join(parts)}.'


NOT_REACHED = (
    *(Cause.UNREACHABLE, Cause.LIMITS, Cause.NOT_FOUND, Cause.BUDGET),
    *(Cause.DEADLINE, Cause.SINGULAR),
)
"""Causes of poses that no posture was found for."""
