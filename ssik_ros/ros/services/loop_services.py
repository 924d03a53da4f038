"""``~/solve_goals`` and ``~/complete_state``: goals on any links of a robot with loops, and all joints from some."""

from array import array
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from ssik_msgs.msg import ChainReport, LinkGoal
from ssik_msgs.srv import CompleteState, SolveGoals

from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.ros.conversions.messages import read_framed_pose, read_seconds, read_state
from ssik_ros.ros.conversions.pose_conversions import read_pose, write_pose
from ssik_ros.ros.services.service_handlers import Served, Service
from ssik_ros.server.loops.loop_requests import (
    CompletionRequest,
    GoalsRequest,
    LoopResponse,
    PoseGoal,
)


def _read_goals(message: SolveGoals.Request) -> GoalsRequest:
    return GoalsRequest(
        goals=[_read_goal(goal) for goal in message.goals],
        state=read_state(message.robot_state),
        locked_joints=message.locked_joints,
        free_root=message.free_root,
        translation_tolerance=message.translation_tolerance,
        rotation_tolerance=message.rotation_tolerance,
        timeout=read_seconds(message.timeout),
        max_iterations=message.max_iterations,
        max_restarts=message.max_restarts,
        seed=message.seed,
    )


def _write_goals(
    message: SolveGoals.Response, response: LoopResponse, served: Served, request: Any
) -> None:
    if response.state is not None:
        write_pose(message.root_pose, response.state.root_pose)
    _write_chains(message, response, served)


def _read_completion(message: CompleteState.Request) -> CompletionRequest:
    state = read_state(message.robot_state)
    return CompletionRequest(message.names, message.positions, state, message.steps)


def _write_completion(
    message: CompleteState.Response, response: LoopResponse, served: Served, request: Any
) -> None:
    message.clamped = list(response.clamped)
    _write_chains(message, response, served)


def _read_goal(message: LinkGoal) -> PoseGoal:
    """Return the goal of a message; names and numbers are not checked here."""
    return PoseGoal(
        name=message.name,
        link=message.link,
        pose=read_framed_pose(message.pose_stamped),
        offset=read_pose(message.offset),
        free=message.free_dof,
        world_axes=message.world_axes,
    )


def _write_chains(
    message: SolveGoals.Response | CompleteState.Response, response: LoopResponse, served: Served
) -> None:
    """Fill what both messages have."""
    if response.state is not None:
        served.writer.write(message.state, response.state)
    message.chains = [_write_chain(chain) for chain in response.chains]


def _write_chain(chain: ChainResult) -> ChainReport:
    """Return the message about one chain."""
    errors = chain.closure_errors
    return ChainReport(
        status=int(chain.status),
        iterations=chain.iterations,
        restarts=chain.restarts,
        joint_names=list(chain.joint_names),
        closures=list(chain.closures),
        translation_errors=array('d', errors[:, 0].tobytes()),
        rotation_errors=array('d', errors[:, 1].tobytes()),
        limits_active=list(chain.limits_active),
    )


_LINK = int(MoveItErrorCodes.INVALID_LINK_NAME)
LOOP_SERVICES = (
    Service(
        *(SolveGoals, '~/solve_goals', 'solve_goals', _read_goals, _write_goals),
        part='loops',
        unknown_link=_LINK,
    ),
    Service(
        *(CompleteState, '~/complete_state', 'complete', _read_completion, _write_completion),
        part='loops',
        unknown_link=_LINK,
    ),
)
"""A row for each service."""
