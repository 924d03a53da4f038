"""
The ROS services ``~/solve_goals`` and ``~/complete_state`` for robots with or without closed loops.

The first one reaches poses of links, the second one finds all joint positions from some. ``LOOP_SERVICES`` describes
both for the handler.
"""

from array import array
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from ssik_msgs.msg import ChainReport, LinkGoal
from ssik_msgs.srv import CompleteState, SolveGoals

from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.ros.conversions.pose_conversions import write_pose
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.ros.services.service_handlers import Served, Service
from ssik_ros.server.loops.loop_requests import (
    CompletionRequest,
    GoalsRequest,
    LoopResponse,
    PoseGoal,
)

_read_goal = request_reader(PoseGoal, LinkGoal)
_read_goals = request_reader(
    GoalsRequest,
    SolveGoals.Request,
    goals=lambda message: [_read_goal(goal) for goal in message.goals],
)
_read_completion = request_reader(CompletionRequest, CompleteState.Request)


def _write_goals(
    message: SolveGoals.Response, response: LoopResponse, served: Served, request: Any
) -> None:
    if response.state is not None:
        write_pose(message.root_pose, response.state.root_pose)
    _write_chains(message, response, served)


def _write_completion(
    message: CompleteState.Response, response: LoopResponse, served: Served, request: Any
) -> None:
    message.clamped = list(response.clamped)
    _write_chains(message, response, served)


def _write_chains(
    message: SolveGoals.Response | CompleteState.Response, response: LoopResponse, served: Served
) -> None:
    """Fill ``state`` and ``chains`` of a message from a response; without a state, ``state`` keeps its default."""
    if response.state is not None:
        served.writer.write(message.state, response.state)
    message.chains = [_write_chain(chain) for chain in response.chains]


def _write_chain(chain: ChainResult) -> ChainReport:
    """Return the report message for one chain."""
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


LOOP_SERVICES = tuple(
    service._replace(part='loops', unknown_link=int(MoveItErrorCodes.INVALID_LINK_NAME))
    for service in (
        Service(SolveGoals, '~/solve_goals', 'solve_goals', _read_goals, _write_goals),
        Service(
            CompleteState, '~/complete_state', 'complete', _read_completion, _write_completion
        ),
    )
)
"""A row for each service."""
