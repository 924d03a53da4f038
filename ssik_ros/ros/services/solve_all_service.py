"""``~/solve_all``: every posture of a group that reaches a pose, best first."""

from array import array
from collections.abc import Callable

from ssik_msgs.msg import BranchDiagnostic, IkBranch
from ssik_msgs.srv import SolveAll

from ssik_ros.ros.conversions.messages import read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always, Served
from ssik_ros.ros.services.status_codes import code_of_ik, write_code
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchOptions,
    BranchReport,
    FramedPose,
    IkRequest,
)


class SolveAllService:
    """Handler of ``~/solve_all``; may be called by several threads at once."""

    def __init__(self, served: Callable[[], Served], live: LiveState) -> None:
        """
        Take the way to what is served.

        :param served: returns it, or raises where there is no robot yet.
        :param live: where the robot is.
        """
        self._served = served
        self._live = live

    def solve_all(
        self, request: SolveAll.Request, response: SolveAll.Response
    ) -> SolveAll.Response:
        """
        Answer ``~/solve_all``.

        :param request, response: the messages of the service.
        """
        answered: SolveAll.Response = answer_always(self._solve, request, response)
        return answered

    def _solve(self, request: SolveAll.Request, response: SolveAll.Response) -> None:
        served = self._served()
        server = served.server
        answer = server.answer_all(
            _read_request(request), _read_wishes(request), self._live.current(server.states)
        )
        response.joint_names = list(answer.joint_names)
        response.branches = [_write_branch(branch) for branch in answer.branches]
        response.diagnostic = _write_report(answer.report)
        code = code_of_ik(answer, served.report_timeout)
        note_cause(answer.cause, answer.report.clock_ended)
        write_code(response.error_code, code, answer.text)


def _read_request(request: SolveAll.Request) -> IkRequest:
    """Return the part of a request that ``compute_ik`` has too."""
    stamped, timeout = request.pose_stamped, request.timeout
    return IkRequest(
        group=request.group,
        links=(request.link,),
        poses=(FramedPose(stamped.header.frame_id, read_pose(stamped.pose)),),
        state=read_state(request.robot_state),
        timeout=timeout.sec + 1e-9 * timeout.nanosec,
        avoid_collisions=request.avoid_collisions,
        carried=read_carried(request.robot_state),
    )


def _read_wishes(request: SolveAll.Request) -> BranchOptions:
    """Return what is asked beside it."""
    return BranchOptions(request.max_solutions, request.enumerate_windings, request.tolerance)


def _write_branch(branch: Branch) -> IkBranch:
    """Return the message of one posture."""
    return IkBranch(
        positions=array('d', branch.positions.tobytes()),
        position_error=branch.position_error,
        orientation_error=branch.orientation_error,
        distance=branch.distance,
        limit_margin=branch.limit_margin,
        label=branch.label,
        branch=branch.branch,
        windings=array('i', branch.turns),
    )


def _write_report(report: BranchReport) -> BranchDiagnostic:
    """Return the message about how the branches were found."""
    return BranchDiagnostic(
        solver=report.solver,
        tier=report.tier,
        reason=report.reason,
        complete=report.complete,
        redundancy_samples=report.samples,
        searches=report.searches,
        raw_candidates=report.raw,
        certified=report.certified,
        different=report.different,
        dropped_by_limits=report.dropped_by_limits,
        dropped_by_collision=report.dropped_by_collision,
        dropped_by_clock=report.dropped_by_clock,
        dropped_by_verification=report.dropped_by_verification,
        dropped_by_max=report.dropped_by_max,
        clock_ended=report.clock_ended,
        solver_time=1e-9 * report.solve_ns,
    )
