"""
Explain why a pose has no solution: how near a search comes, which joint limits prevent more, and remedies.

**Problem.** A pose is not reached. Find the nearest posture within the limits, and the joints whose limits would have
to be wider to reach the pose.

**Derivation.** The nearest posture is the best result of the group's solver without collision checks and constraints.
From this posture, a descent that ignores the limits goes on to the pose. Each joint that ends beyond a limit is
returned with its excess. Angles are first moved by whole turns as near to their range as possible.

**Degenerate cases.** If the links are too short, the descent misses the pose, and no limit is returned. The same
holds for a group with a joint of several variables. Other postures of the pose may exceed other limits.

**References.** docs/reference/ros2.md.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, whole_turns
from ssik_ros.errors import counted, quote
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.problem.problem import position_rows
from ssik_ros.results import Cause
from ssik_ros.server.groups.all_branches import BranchFinder
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.groups.notes import describe_error, describe_nearest
from ssik_ros.server.requests.ik_requests import FullState, IkResponse, LinkGoal
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

WITHOUT_LIMITS = SearchSettings(joint_limits=False, tolerance=1e-6, ilimit=200, slimit=1)
"""Settings of a descent that ignores the limits."""


class BindingLimit(NamedTuple):
    """A joint limit that one posture at the pose exceeds, and by how much; other postures may exceed other limits."""

    joint: str
    """Name of the variable."""
    limit: float
    """Value of the limit [rad or m]."""
    excess: float
    """How far beyond the limit the joint would have to go [rad or m]."""
    is_angle: bool
    """Whether the limit is an angle [rad], not a length [m]."""


class Explanation(NamedTuple):
    """
    Why one pose has no solution: the cause, the nearest posture, joint limits in the way, and advice.

    For a solved pose, ``solved`` is True and ``nearest`` is the solution.
    """

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Why the pose has no solution; NONE for a solved pose."""
    text: str
    """One sentence or more about the outcome."""
    solved: bool = False
    """Whether the pose has a solution."""
    clock_ended: bool = False
    """Whether the time budget ended the search."""
    joint_names: tuple[str, ...] = ()
    """Names of the variables of the group, in the order of ``nearest``."""
    nearest: FloatArray | None = None
    """
    (n,) the solution of a solved pose; else the nearest posture within the limits that a search found.

    This search ignores collisions and constraints. None if no finite posture is known.
    """
    distance: float = math.nan
    """Distance of the link at the nearest posture from the pose [m]."""
    angle: float = math.nan
    """Angle of the link at the nearest posture from the pose [rad]; 0 with position-only kinematics."""
    limits: tuple[BindingLimit, ...] = ()
    """Joint limits that would have to be wider to reach the pose from the nearest posture."""
    colliding: tuple[str, ...] = ()
    """Names of the two bodies that collide; empty unless the cause is COLLISION."""
    advice: tuple[str, ...] = ()
    """Remedies, one sentence each; empty for a solved pose."""


def explain_pose(
    finder: BranchFinder,
    goal: LinkGoal,
    state: FullState,
    response: IkResponse,
    *,
    timeout: float,
) -> Explanation:
    """
    Return why a pose has no solution, with the nearest posture, limits in the way, and advice.

    If the response has no solution, the nearest posture is searched without collision checks and constraints. If this
    search returns no finite posture, ``nearest``, limits and advice are left out.

    :param finder: branch finder of the group.
    :param goal: the pose in the model frame, and its link.
    :param state: seed, and joints outside the group.
    :param response: the response of the solver; a solved one gets no advice.
    :param timeout: budget of the search for the nearest posture [s]; zero or less means the group's budget.
    :raises RequestRefused: for a group without solver or a link that is not fixed to a tip of it.
    """
    server = finder.server
    solver = server.require_solver()
    names = server.group.variable_names
    outcome = (
        *(response.refusal, response.cause, response.text),
        *(response.solved, response.clock_ended),
    )
    if response.state is not None:
        q = response.state.positions[server.group.idx_q]
        is_free = True
    else:
        result, _ = server.solve([goal], state, timeout=timeout, wants_nearest=True)
        is_free = result.solved
        q = np.asarray(result.q)
    if not np.isfinite(q).all():
        return Explanation(*outcome, names)
    chain = finder.led_link(solver, goal)
    target = server.frames.model_in_link(solver.base_frame, state) @ goal.pose
    distance, angle = pose_errors(chain.pose(q, state.positions), target)
    if server.kinematics.position_only:
        angle = 0.0
    limits: tuple[BindingLimit, ...] = ()
    if not is_free:
        limits = _binding_limits(server, goal, q, state)
    explanation = Explanation(*outcome, names, q, distance, angle, limits, response.colliding)
    if response.result is not None and not explanation.solved:
        # One search gives all figures of a response.
        earlier = describe_nearest(server, [goal], state, response.result)
        if earlier:
            now = describe_error(distance, angle)
            explanation = explanation._replace(text=explanation.text.replace(earlier, now))
    return explanation._replace(advice=tuple(_advise(server, explanation, is_free)))


def _binding_limits(
    server: GroupServer, goal: LinkGoal, q: FloatArray, state: FullState
) -> tuple[BindingLimit, ...]:
    """
    Return the joint limits that one search without limits exceeds to reach a goal, with the excess of each joint.

    The search starts at ``q`` (n,). Angles of its result are moved by whole turns as near to their range as possible.
    Other postures of the goal may exceed other limits. The result is empty in three cases: the search misses the goal,
    all joints end within their limits, or a joint has several variables.

    :param goal: the pose in the model frame, and its link.
    :param state: root pose, and joints outside the group.
    :raises RequestRefused: for a link that is not fixed to a tip of the group.
    """
    tree, group = server.robot.tree, server.group
    kinds = [JointKind(tree.kinds[joint]) for joint in group.joint_indices]
    single = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
    if not all(kind in single for kind in kinds):
        return ()
    rows = position_rows() if server.kinematics.position_only else None
    solver = SearchSolver(server.robot, group, WITHOUT_LIMITS, rows=rows)
    result = solver.solve(
        server.make_request(solver, [goal], server.with_group(state, q), timeout=0.0)
    )
    if not result.solved:
        return ()
    free = result.q
    exceeded = []
    for place, kind in enumerate(kinds):
        value, low, high = float(free[place]), float(group.lower[place]), float(group.upper[place])
        is_angle = kind != JointKind.PRISMATIC
        if is_angle and math.isfinite(low + high):
            value -= float(whole_turns(value - 0.5 * (low + high)))
        excess, limit = max((value - high, high), (low - value, low))
        if excess > LIMIT_ROUNDING:
            exceeded.append(BindingLimit(group.variable_names[place], limit, excess, is_angle))
    return tuple(exceeded)


def _advise(server: GroupServer, explanation: Explanation, is_free: bool) -> list[str]:
    """
    Return remedies for a pose without solution, one sentence each; empty for a solved pose.

    ``explanation`` is the explanation so far. ``is_free`` tells whether the pose is reached without checks and constraints.
    """
    cause = explanation.cause
    if explanation.solved:
        return []
    advice = []
    if cause == Cause.COLLISION and explanation.colliding:
        first, second = explanation.colliding
        advice.append(f'Keep {quote(first)} and {quote(second)} apart, or allow them to touch.')
    if cause == Cause.CONSTRAINTS and is_free:
        advice.append('Without the constraints the pose is reached.')
    if cause == Cause.DEADLINE:
        more = 'it is reached without collisions and constraints' if is_free else 'give more time'
        advice.append(f'The clock ended the search: {more}.')
    for limit in explanation.limits:
        unit = 'rad' if limit.is_angle else 'm'
        advice.append(
            f'{quote(limit.joint)} would have to go {limit.excess:.4g} {unit} beyond its limit of {limit.limit:.4g} {unit}.'
        )
    if not is_free:
        advice.append(
            f'Move the pose by {describe_error(explanation.distance, explanation.angle)}, which the nearest posture leaves.'
        )
        count = len(server.group.idx_q)
        if count < 6 and not server.kinematics.position_only:
            advice.append(
                f'The group has {counted(count, "joint")}, a pose has 6 degrees of freedom: leave the orientation free '
                '(position_only_ik), or request poses that the arm can take.'
            )
    return advice
