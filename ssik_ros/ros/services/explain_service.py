"""``~/explain_ik``: why a pose has no solution, and what would help."""

from array import array
from collections.abc import Callable
import math

from ssik_msgs.srv import ExplainIk

from ssik_ros.ros.conversions.messages import read_constraints, read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always, Served
from ssik_ros.ros.services.status_codes import code_of_ik, write_code
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import FramedPose, IkRequest


class ExplainService:
    """Handler of ``~/explain_ik``; may be called by several threads at once."""

    def __init__(self, served: Callable[[], Served], live: LiveState) -> None:
        """
        Take the way to what is served.

        :param served: returns it, or raises where there is no robot yet.
        :param live: where the robot is.
        """
        self._served = served
        self._live = live

    def explain_ik(
        self, request: ExplainIk.Request, response: ExplainIk.Response
    ) -> ExplainIk.Response:
        """
        Answer ``~/explain_ik``.

        :param request, response: the messages of the service.
        """
        answered: ExplainIk.Response = answer_always(self._explain, request, response)
        return answered

    def _explain(self, request: ExplainIk.Request, response: ExplainIk.Response) -> None:
        served = self._served()
        stamped, timeout = request.pose_stamped, request.timeout
        request = IkRequest(
            group=request.group,
            links=(request.link,),
            poses=(FramedPose(stamped.header.frame_id, read_pose(stamped.pose)),),
            state=read_state(request.robot_state),
            timeout=timeout.sec + 1e-9 * timeout.nanosec,
            avoid_collisions=request.avoid_collisions,
            carried=read_carried(request.robot_state),
            constraints=read_constraints(request.constraints),
        )
        known = served.server.explain(request, self._live.current(served.server.states))
        _write(response, known)
        code = code_of_ik(known.answer, served.report_timeout)
        result = known.answer.result
        note_cause(known.answer.cause, result is not None and result.clock_ended)
        write_code(response.error_code, code, known.answer.text)


def _write(response: ExplainIk.Response, known: Explanation) -> None:
    """Fill everything but the code."""
    response.cause = known.answer.cause.name
    response.joint_names = list(known.joint_names)
    if known.nearest is not None:
        response.nearest = array('d', known.nearest.tobytes())
    response.distance = 1000.0 * known.distance
    response.angle = math.degrees(known.angle)
    response.limit_joints = [limit.joint for limit in known.limits]
    response.limit_values = array('d', [limit.limit for limit in known.limits])
    response.limit_excesses = array('d', [limit.excess for limit in known.limits])
    response.colliding = list(known.colliding)
    response.advice = list(known.advice)
