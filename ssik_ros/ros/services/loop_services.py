"""``~/solve_goals`` and ``~/complete_state``: goals on any links of a robot with loops, and all joints from some."""

from array import array
from collections.abc import Callable

from ssik_msgs.msg import ChainReport, LinkGoal
from ssik_msgs.srv import CompleteState, SolveGoals

from ssik_ros.mechanisms.names import SOLVE_STATUS
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.results import Cause
from ssik_ros.ros.conversions.messages import read_state, StateWriter
from ssik_ros.ros.conversions.pose_conversions import read_pose, write_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always
from ssik_ros.ros.services.status_codes import code_of_loops, write_code
from ssik_ros.server.loops.loop_requests import (
    CompletionRequest,
    GoalsRequest,
    LoopResponse,
    PoseGoal,
)
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.requests.ik_requests import FramedPose


class LoopServices:
    """Handlers of both services; may be called by several threads at once."""

    def __init__(self, live: LiveState) -> None:
        """
        Serve nothing yet.

        :param live: the state of the running robot.
        """
        self._live = live
        self._served: tuple[LoopServer, StateWriter] | None = None

    def serve(self, server: LoopServer) -> None:
        """
        Solve requests for a robot from the next one on.

        :param server: the robot.
        """
        self._served = server, StateWriter(server.robot)

    def solve_goals(
        self, request: SolveGoals.Request, response: SolveGoals.Response
    ) -> SolveGoals.Response:
        """
        Handle ``~/solve_goals``.

        :param request, response: the messages of the service.
        """
        answered: SolveGoals.Response = answer_always(self._solve, request, response)
        return answered

    def complete_state(
        self, request: CompleteState.Request, response: CompleteState.Response
    ) -> CompleteState.Response:
        """
        Handle ``~/complete_state``.

        :param request, response: the messages of the service.
        """
        answered: CompleteState.Response = answer_always(self._complete, request, response)
        return answered

    def _solve(self, request: SolveGoals.Request, response: SolveGoals.Response) -> None:
        server, writer = self._require_served()
        solve_request = GoalsRequest(
            goals=[_read_goal(goal) for goal in request.goals],
            state=read_state(request.robot_state),
            locked_joints=request.locked_joints,
            free_root=request.free_root,
            translation_tolerance=request.translation_tolerance,
            rotation_tolerance=request.rotation_tolerance,
            timeout=request.timeout.sec + 1e-9 * request.timeout.nanosec,
            max_iterations=request.max_iterations,
            max_restarts=request.max_restarts,
            seed=request.seed,
        )
        loop_response = server.solve_goals(solve_request, self._live.current(server.states))
        if loop_response.state is not None:
            write_pose(response.root_pose, loop_response.state.root_pose)
        _write_loop_response(response, loop_response, writer, Cause.NOT_FOUND)

    def _complete(self, request: CompleteState.Request, response: CompleteState.Response) -> None:
        server, writer = self._require_served()
        solve_request = CompletionRequest(
            request.names, request.positions, read_state(request.robot_state), request.steps
        )
        loop_response = server.complete(solve_request, self._live.current(server.states))
        response.clamped = list(loop_response.clamped)
        _write_loop_response(response, loop_response, writer, Cause.LOOP)

    def _require_served(self) -> tuple[LoopServer, StateWriter]:
        if self._served is None:
            raise RuntimeError('The node has no robot yet.')
        return self._served


def offers(services: LoopServices) -> tuple[tuple[type, str, Callable[..., object]], ...]:
    """
    Return type, name and handler of each service.

    :param services: the handlers.
    """
    return (
        (SolveGoals, '~/solve_goals', services.solve_goals),
        (CompleteState, '~/complete_state', services.complete_state),
    )


def _read_goal(message: LinkGoal) -> PoseGoal:
    """Return the goal of a message; names and numbers are not checked here."""
    stamped = message.pose_stamped
    return PoseGoal(
        name=message.name,
        link=message.link,
        pose=FramedPose(stamped.header.frame_id, read_pose(stamped.pose)),
        offset=read_pose(message.offset),
        free=message.free_dof,
        world_axes=message.world_axes,
    )


def _write_loop_response(
    response: SolveGoals.Response | CompleteState.Response,
    loop_response: LoopResponse,
    writer: StateWriter,
    failure: Cause,
) -> None:
    """Fill the fields that both responses have; ``failure`` is the cause of an unexplained failure."""
    if loop_response.state is not None:
        writer.write(response.state, loop_response.state)
    response.chains = [_write_chain(chain) for chain in loop_response.chains]
    ended = any(chain.status == SOLVE_STATUS.TIMEOUT for chain in loop_response.chains)
    if loop_response.solved:
        failure = Cause.NONE
    elif ended:
        failure = Cause.BUDGET
    note_cause(failure)
    write_code(response.error_code, code_of_loops(loop_response), loop_response.text)


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
