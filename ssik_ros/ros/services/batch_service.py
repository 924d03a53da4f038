"""``~/solve_batch``: many poses of one link within one deadline."""

from array import array
from collections.abc import Callable

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
from ssik_msgs.srv import SolveBatch

from ssik_ros.results import Cause
from ssik_ros.ros.conversions.messages import read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always, Served
from ssik_ros.ros.services.status_codes import code_of_cause, code_of_link_refusal, write_code
from ssik_ros.server.groups.batches import BatchRequest

CAUSE_NAMES = [cause.name for cause in Cause]


class BatchService:
    """Handler of ``~/solve_batch``; may be called by several threads at once."""

    def __init__(self, served: Callable[[], Served], live: LiveState) -> None:
        """
        Take the way to what is served.

        :param served: returns it, or raises where there is no robot yet.
        :param live: where the robot is.
        """
        self._served = served
        self._live = live

    def solve_batch(
        self, request: SolveBatch.Request, response: SolveBatch.Response
    ) -> SolveBatch.Response:
        """
        Answer ``~/solve_batch``.

        :param request, response: the messages of the service.
        """
        answered: SolveBatch.Response = answer_always(self._solve, request, response)
        return answered

    def _solve(self, request: SolveBatch.Request, response: SolveBatch.Response) -> None:
        served = self._served()
        answer = served.server.answer_batch(
            BatchRequest(
                group=request.group,
                poses=np.asarray(request.poses, dtype=np.float64),
                frame=request.frame_id,
                link=request.link,
                state=read_state(request.robot_state),
                seed_from_previous=request.seed_from_previous,
                avoid_collisions=request.avoid_collisions,
                carried=read_carried(request.robot_state),
                timeout=request.timeout.sec + 1e-9 * request.timeout.nanosec,
            ),
            self._live.current(served.server.states),
        )
        note_cause(answer.cause)
        write_code(response.error_code, code_of_link_refusal(answer.refusal), answer.text)
        if response.error_code.val != MoveItErrorCodes.SUCCESS:
            return
        note_cause(Cause.DEADLINE if (answer.causes == Cause.DEADLINE).any() else Cause.NONE)
        table = np.array(
            [code_of_cause(cause, served.report_timeout) for cause in Cause], dtype=np.int32
        )
        response.joint_names = list(answer.joint_names)
        response.solved = answer.solved
        response.positions = array('d', answer.positions.tobytes())
        response.codes = array('i', table[answer.causes].tobytes())
        response.causes = array('B', answer.causes.tobytes())
        response.cause_names = CAUSE_NAMES
        response.position_errors = array('d', answer.errors[:, 0].tobytes())
        response.orientation_errors = array('d', answer.errors[:, 1].tobytes())
