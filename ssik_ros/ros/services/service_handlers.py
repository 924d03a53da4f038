"""
One handler function for all services: a table describes each service, and the handler reads, solves and responds.

For each call, the handler adds the state of the robot and records time and result. An error becomes a response with an
error code.
"""

from collections.abc import Callable
import logging
import math
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from moveit_msgs.msg import MoveItErrorCodes
from rclpy.node import Node

from ssik_ros.errors import shorten
from ssik_ros.results import Cause, CAUSE_ADVICE, no_solution
from ssik_ros.ros.conversions.messages import read_seconds, StateWriter
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import CallRecords, KEPT
from ssik_ros.ros.process.taken_requests import Handling, PRESENT
from ssik_ros.ros.services.status_codes import code_of, SOURCE, write_code
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.requests.refusals import explain_refusal, Refusal, RequestRefused
from ssik_ros.server.robot_server import RobotServer

if TYPE_CHECKING:
    from ssik_ros.server.reach_queries import ReachQueries
    from ssik_ros.server.tasks.task_sets import TaskSets

_LOGGER = logging.getLogger('ssik_ros.services')

SUCCESS, NO_CAUSE, DEADLINE = int(MoveItErrorCodes.SUCCESS), Cause.NONE, Cause.DEADLINE
NO_ROBOT = 'The node has no robot yet. Publish its robot_description, or wait until it is loaded.'
LEAST_TIME = 1e-9
"""Budget of a request whose time ends while it is read [s]; zero would mean the default."""
WITHOUT_STATE = frozenset(
    {
        MoveItErrorCodes.FAILURE,
        MoveItErrorCodes.INVALID_GROUP_NAME,
        MoveItErrorCodes.INVALID_ROBOT_STATE,
    }
)
"""Codes of responses for which the state of the robot did not matter."""


class Served(NamedTuple):
    """The robot that a node serves; replaced as a whole when the robot or a parameter changes."""

    server: RobotServer
    """Handles requests for planning groups."""
    writer: StateWriter
    """Writes states of the robot into messages."""
    loops: LoopServer | None = None
    """Handles requests for goals and loops; None without them."""
    task_sets: 'TaskSets | None' = None
    """The task sets of a file; None without a file."""
    reach: 'ReachQueries | None' = None
    """Handles requests about a reach map; None if no map is named."""
    origins: tuple[str, str] = ('', '')
    """Origins of URDF and SRDF, such as ``topic /robot_description``."""
    report_times: bool = False
    """Whether response texts end with the time in the solver."""
    report_timeout: bool = False
    """Whether a search that the clock ended gets the code TIMED_OUT."""
    now: Callable[[], Any] | None = None
    """Returns the present time as a stamp message; None leaves stamps zero."""


class _Refused(NamedTuple):
    """The result of a request that was not solved: it was refused, or its deadline passed while it waited."""

    refusal: Refusal
    cause: Cause
    text: str
    solve_ns: int = 0


class Service(NamedTuple):
    """Description of one service: message type, name, method that solves, and functions for its messages."""

    kind: Any
    """Type of the messages."""
    name: str
    """Name of the service in the namespace of the node; ``~/`` stands for the name of the node."""
    method: str
    """Method of ``part`` that solves; called with a request and the current state of the robot."""
    read: Callable[[Any], Any]
    """Returns the request in a message; may raise RequestRefused."""
    write: Callable[[Any, Any, Served, Any], None]
    """Called with the response message to fill, a response, the robot and the request message; does not write codes."""
    part: str = 'server'
    """Field of :class:`Served` that has the method."""
    unknown_link: int = MoveItErrorCodes.NO_IK_SOLUTION
    """Code of a request for an unknown link."""
    is_timed: bool = False
    """Whether ``report_times`` applies."""
    budget: Callable[[Any], float] | None = None
    """Returns the time that a message has from its arrival to its deadline, inf for none [s]; None if no field of the
    message bounds the whole request. The request has a field ``timeout``, which counts from the call."""


class ServiceHandlers:
    """The handlers of all services of a node; several threads may call them at once."""

    def __init__(self, node: Node, live: LiveState) -> None:
        """
        Prepare without a robot and without services.

        :param node: the node; its clock stamps responses.
        :param live: the current state of the robot.
        """
        self._node, self._live = node, live
        self.served: Served | None = None
        self.records: dict[str, CallRecords] = {}
        """Calls by service."""

    def serve(self, served: Served) -> None:
        """
        Serve another robot from now on.

        Every request whose handling begins later uses this robot, even if the request waits already. A request in
        progress ends with the robot before.

        :param served: the robot.
        """
        self.served = served._replace(now=lambda: self._node.get_clock().now().to_msg())

    def handler(self, service: Service) -> Callable[[Any, Any], Any]:
        """
        Return the function that handles the calls of a service, and add a record for them.

        The function never raises: it fills the response message with the result, or with the reason of a failure.

        :param service: description of the service.
        """
        kind, _, method, read, write, part, unknown_link, is_timed, budget = service
        records = self.records[service.name] = CallRecords()
        calls, live, clock = records.calls, self._live, time.monotonic
        code_kind = getattr(kind.Response(), 'error_code', None)
        has_code = code_kind is not None
        # moveit_msgs before 2.5 has only the number.
        has_text = hasattr(code_kind, 'message')

        def handle(message: Any, response: Any) -> Any:
            handling = PRESENT.handling or Handling(clock())
            code, cause, is_late = SUCCESS, NO_CAUSE, False
            try:
                served = self.served
                if served is None:
                    return _refuse(response, NO_ROBOT)
                merged = live.find(served.server.states)
                request, waited = None, clock() - handling.arrived
                if handling.is_late or waited >= handling.budget:
                    result: Any = _late(handling.budget, waited)
                else:
                    try:
                        request = read(message)
                        if handling.budget < math.inf:
                            left = handling.arrived + handling.budget - handling.reserve - clock()
                            request.timeout = max(left, LEAST_TIME)
                        result = getattr(getattr(served, part), method)(request, merged.state)
                    except RequestRefused as error:
                        request = None
                        result = _Refused(*explain_refusal(error, (), Refusal.FAULT))
                    else:
                        write(response, result, served, message)
                text, cause = result.text, result.cause
                if cause or result.refusal:
                    code = code_of(result, unknown_link, served.report_timeout)
                    is_late = _was_late(result)
                if merged.has_defaults and code not in WITHOUT_STATE:
                    text = self._add_assumption(service, served, request, text)
                if is_timed and served.report_times:
                    text = f'{text} [solver {result.solve_ns / 1000:.1f} us]'
                if has_text:
                    written = response.error_code
                    written.val, written.message, written.source = code, text, SOURCE
                elif has_code:
                    write_code(response.error_code, code, text)
            except Exception as error:
                response = _fault(kind.Response(), error)
                code, cause, is_late = MoveItErrorCodes.FAILURE, NO_CAUSE, False
            took, overrun = clock() - handling.arrived, None
            if is_late:
                overrun = took - handling.budget if handling.budget < math.inf else math.nan
            calls.append((took, getattr(response, 'error_code', None), cause, overrun))
            # A failure is counted at once, because its text may be long.
            if code != SUCCESS or len(calls) >= KEPT:
                records.count()
            return response

        handle.budget = budget  # type: ignore[attr-defined]
        return handle

    def _add_assumption(self, service: Service, served: Served, request: Any, text: str) -> str:
        """
        Append a sentence about joints without a reported position, for which default values were used; return the text.

        If no joint is missing, or if ``request`` is ``None`` or has no state, the text is unchanged. If the response
        has no error code, the sentence is logged too.
        """
        given = getattr(request, 'state', None)
        assumption = '' if given is None else self._live.assumption(served.server.states, given)
        if assumption and not hasattr(service.kind.Response(), 'error_code'):
            _LOGGER.warning('%s: %s', service.name, assumption)
        return f'{text} {assumption}'.strip() if assumption else text


def read_budget(timeout: Any) -> float:
    """
    Return the time budget in a message [s]; inf for zero or less.

    :param timeout: a Duration message.
    """
    seconds = read_seconds(timeout)
    return seconds if seconds > 0.0 else math.inf


def _late(budget: float, waited: float) -> _Refused:
    """Return the result, with the cause DEADLINE, of a request that waited too long: ``waited`` of ``budget`` [s]."""
    waits = f'The request waited {waited:.3g} s behind others, and had {budget:.3g} s.'
    text = no_solution(DEADLINE, f'{CAUSE_ADVICE[DEADLINE]}. {waits}')
    return _Refused(Refusal.NONE, DEADLINE, text)


def _was_late(result: Any) -> bool:
    """Return whether a request failed because its time ran out."""
    cause = result.cause
    return bool(cause != NO_CAUSE and (cause == DEADLINE or getattr(result, 'clock_ended', False)))


def _fault(response: Any, error: Exception) -> Any:
    """Log an exception, and return a response with its text and the code FAILURE."""
    _LOGGER.exception('Internal fault during a request')
    return _refuse(response, f'{type(error).__name__}: {shorten(error)}')


def _refuse(response: Any, text: str) -> Any:
    """Fill and return a response with the code FAILURE and a text, as far as its message has fields for them."""
    if hasattr(response, 'error_code'):
        write_code(response.error_code, int(MoveItErrorCodes.FAILURE), text)
    elif hasattr(response, 'message'):
        response.message = text
    return response
