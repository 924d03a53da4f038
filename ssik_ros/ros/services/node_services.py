"""
The services of the node: message in, request to the robot's server, answer out.

Every handler answers whatever happens: an exception becomes FAILURE with its text, and a line in the log.
"""

from collections.abc import Callable
import functools
import logging
from typing import Any, NamedTuple

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK, GetPositionIK
from rclpy.node import Node

from ssik_ros.errors import shorten
from ssik_ros.ros.conversions.messages import read_ik_request, read_state, StateWriter
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.conversions.pose_conversions import write_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.status_codes import code_of_ik, code_of_refusal, write_code
from ssik_ros.server.requests.ik_requests import IkResponse
from ssik_ros.server.robot_server import RobotServer

_LOGGER = logging.getLogger('ssik_ros.services')

SUCCESS = int(MoveItErrorCodes.SUCCESS)
TIME_MARK = ' [solver '
"""Begins the time within the solver, which ends a message."""
WITHOUT_STATE = frozenset(
    {
        MoveItErrorCodes.FAILURE,
        MoveItErrorCodes.INVALID_GROUP_NAME,
        MoveItErrorCodes.INVALID_ROBOT_STATE,
    }
)
"""Codes of answers that were given before anybody asked where the robot is."""
UNCHECKED = 'Not checked for collisions: solve_ik leaves that to its caller.'


def answer_always(handler: Callable[..., None], request: Any, response: Any) -> Any:
    """
    Return the response that a handler fills; a fresh one with FAILURE when it raises.

    :param handler: called with both messages.
    :param request, response: the messages of a service with an ``error_code``.
    """
    try:
        handler(request, response)
    except Exception as error:
        _LOGGER.exception('Internal fault while answering a request')
        response = type(response)()
        write_code(
            response.error_code,
            MoveItErrorCodes.FAILURE,
            f'{type(error).__name__}: {shorten(error)}',
        )
    return response


def tell_assumptions(
    handler: Callable[..., Any], live: LiveState, find_served: 'Callable[[], Served | None]'
) -> Callable[[Any, Any], Any]:
    """
    Return a handler that does the same, and ends its answer by what it assumed about where the robot is.

    An answer without an ``error_code`` has no place for a sentence, which goes into the log.

    :param handler: called with request and response.
    :param live: where the robot is.
    :param find_served: returns what is served, None where there is no robot yet.
    """

    def handle(request: Any, response: Any) -> Any:
        answer = handler(request, response)
        served = find_served()
        if served is None:
            return answer
        code = getattr(answer, 'error_code', None)
        if code is not None and code.val in WITHOUT_STATE:
            return answer
        text = live.assumption(served.server.states, lambda: read_state(_state_of(request)))
        if not text:
            return answer
        if code is None:
            _LOGGER.warning('%s: %s', type(request).__name__, text)
        else:
            # What is measured stays the end of the message.
            before, mark, after = getattr(code, 'message', ''), '', ''
            if served.report_times and TIME_MARK in before:
                before, mark, after = before.rpartition(TIME_MARK)
            write_code(code, code.val, f'{before} {text}{mark}{after}'.lstrip())
        return answer

    return handle


def _state_of(request: Any) -> Any:
    """Return the robot state of a request, whatever it calls it."""
    request = getattr(request, 'ik_request', request)
    return getattr(request, 'robot_state', None) or request.start_state


class Served(NamedTuple):
    """A robot that is served: exchanged as a whole when the robot or a parameter changes."""

    server: RobotServer
    writer: StateWriter
    report_times: bool
    report_timeout: bool = False
    """Whether a search that the clock ended has a code of its own."""


class KinematicsServices:
    """Handlers of ``compute_ik``, ``solve_ik`` and ``compute_fk``; may be called by several threads at once."""

    def __init__(self, node: Node, live: LiveState) -> None:
        """
        Serve nothing yet.

        :param node: the node; its clock stamps poses.
        :param live: where the robot is.
        """
        self._node = node
        self._live = live
        self.served: Served | None = None

    def serve(self, server: RobotServer, report_times: bool, report_timeout: bool = False) -> None:
        """
        Answer for a robot from the next request on.

        :param server: the robot.
        :param report_times: whether messages end by the time within the solver.
        :param report_timeout: whether a search that the clock ended has a code of its own.
        """
        before = self.served
        same = before is not None and before.server.robot is server.robot
        writer = before.writer if before is not None and same else StateWriter(server.robot)
        self.served = Served(server, writer, report_times, report_timeout)

    def compute_ik(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """
        Answer ``compute_ik``.

        :param request, response: the messages of the service.
        """
        return answer_always(self._solve, request, response)

    def solve_ik(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response
    ) -> GetPositionIK.Response:
        """
        Answer ``solve_ik``, whose callers check collisions themselves.

        :param request, response: the messages of the service.
        """
        asked = request.ik_request.avoid_collisions
        request.ik_request.avoid_collisions = False
        return answer_always(functools.partial(self._solve, note=asked), request, response)

    def compute_fk(
        self, request: GetPositionFK.Request, response: GetPositionFK.Response
    ) -> GetPositionFK.Response:
        """
        Answer ``compute_fk``.

        :param request, response: the messages of the service.
        """
        return answer_always(self._forward, request, response)

    def _solve(
        self, request: GetPositionIK.Request, response: GetPositionIK.Response, note: bool = False
    ) -> None:
        served = self.served or self.require_served()
        request = read_ik_request(request._ik_request)
        answer = served.server.answer(request, self._live.current(served.server.states))
        if answer.state is not None:
            served.writer.write(response._solution, answer.state)
        code = SUCCESS
        if answer.state is None:
            code = code_of_ik(answer, served.report_timeout)
            note_cause(answer.cause, answer.result is not None and answer.result.clock_ended)
        text = _text(answer, served, note) if note or served.report_times else answer.text
        write_code(response._error_code, code, text)

    def _forward(self, request: GetPositionFK.Request, response: GetPositionFK.Response) -> None:
        served = self.require_served()
        answer = served.server.forward(
            list(request.fk_link_names),
            request.header.frame_id,
            read_state(request.robot_state),
            self._live.current(served.server.states),
            read_carried(request.robot_state),
        )
        stamp = self._node.get_clock().now().to_msg()
        for link, pose in zip(answer.links, answer.poses, strict=True):
            stamped = PoseStamped()
            stamped.header.stamp = stamp
            stamped.header.frame_id = answer.frame
            write_pose(stamped.pose, pose)
            response.pose_stamped.append(stamped)
            response.fk_link_names.append(link)
        write_code(response.error_code, code_of_refusal(answer.refusal), answer.text)

    def require_served(self) -> Served:
        """
        Return what is served.

        :raises RuntimeError: while there is no robot.
        """
        if self.served is None:
            raise RuntimeError('The node has no robot yet.')
        return self.served


def _text(answer: IkResponse, served: Served, note: bool) -> str:
    """Return the message of an answer."""
    text = answer.text
    if note:
        text = f'{text} {UNCHECKED}'
    if served.report_times:
        text = f'{text}{TIME_MARK}{answer.solve_ns / 1000:.1f} us]'
    return text
