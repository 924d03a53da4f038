"""
Read responses of ``compute_ik`` from any server as results of a solver: :func:`read_response`.

Texts of servers of this package give the cause and the effort of a search. Other servers give only a code.
"""

from collections.abc import Sequence
import re
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.calls import RemoteResult
from ssik_ros.results import Cause, CAUSE_TEXT, CLOCK_ENDED, IkResult, IkStatus, no_solution
from ssik_ros.ros.services.status_codes import read_text, SOURCE

_SOLVER_TIME = re.compile(r'\[solver (\d+(?:\.\d+)?) us\]$')
_SEARCHES = re.compile(r'\b(\d+) search(?:es)?\b')
_ITERATIONS = re.compile(r'\b(\d+) iterations?\b')
_CAUSE_OF_CODE = {
    MoveItErrorCodes.TIMED_OUT: Cause.DEADLINE,
    MoveItErrorCodes.INVALID_GROUP_NAME: Cause.UNKNOWN_GROUP,
    MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS: Cause.CONSTRAINTS,
    MoveItErrorCodes.INVALID_ROBOT_STATE: Cause.BAD_STATE,
    MoveItErrorCodes.INVALID_LINK_NAME: Cause.UNKNOWN_LINK,
    MoveItErrorCodes.FRAME_TRANSFORM_FAILURE: Cause.FRAME,
    MoveItErrorCodes.COLLISION_CHECKING_UNAVAILABLE: Cause.COLLISION,
}


def read_response(
    response: GetPositionIK.Response, joint_names: tuple[str, ...], tip_count: int
) -> RemoteResult:
    """
    Return the result that a response of ``compute_ik`` contains; the solution is not verified here.

    Joints that a successful response does not name have the position NaN.

    :param response: the response.
    :param joint_names: names of the joints of the result, in its order.
    :param tip_count: number of tips of the request.
    """
    code = response.error_code
    text, source = read_text(code), getattr(code, 'source', '')
    time = _SOLVER_TIME.search(text)
    server_time_ns = round(1e3 * float(time[1])) if time else None
    own_text = text if source == SOURCE else ''
    if code.val == MoveItErrorCodes.SUCCESS:
        solution = pick_positions(response.solution.joint_state, joint_names)
        result = _make_result(IkStatus.SOLVED, Cause.NONE, solution, tip_count, own_text)
        return RemoteResult(result, '', server_time_ns)
    result = _make_result(
        IkStatus.UNSOLVED,
        cause_of(code.val, own_text),
        solution=None,
        tips=tip_count,
        text=own_text,
    )
    return RemoteResult(result, f'error code {code.val}: {text}'.rstrip(': '), server_time_ns)


def missing_response(text: str) -> RemoteResult:
    """
    Return the result for a response that did not come: a failure with the cause DEADLINE.

    :param text: the reason of the failure.
    """
    result = _make_result(IkStatus.UNSOLVED, Cause.DEADLINE, None, 1, CLOCK_ENDED)
    return RemoteResult(result, text)


def cause_of(code: int, own_text: str) -> Cause:
    """
    Return the cause of a failure: as the text says, else by the error code; BUDGET if both are unknown.

    :param code: the error code of the response.
    :param own_text: the text of a server of this package; empty for other servers.
    """
    for cause in CAUSE_TEXT:
        if no_solution(cause) in own_text:
            return cause
    return _CAUSE_OF_CODE.get(code, Cause.BUDGET)


def pick_positions(state: Any, joint_names: Sequence[str]) -> FloatArray:
    """
    Return the positions (n,) of joints by name; NaN for joints that the state does not have.

    :param state: joint states.
    :param joint_names: the joints.
    """
    positions = dict(zip(state.name, state.position))
    return np.array([positions.get(name, np.nan) for name in joint_names], dtype=np.float64)


def _make_result(
    status: IkStatus, cause: Cause, solution: FloatArray | None, tips: int, text: str
) -> IkResult:
    """
    Return a solver result for the response of a service, whose errors are not known and therefore NaN.

    The numbers of iterations and searches are read from the text of a server of this package.
    """
    solutions = np.empty((0, 0)) if solution is None else solution[None]
    return IkResult(
        status=status,
        cause=cause,
        solutions=solutions,
        errors=np.full((len(solutions), 2 * tips), np.nan),
        nearest=None,
        residual=float('nan'),
        iterations=_count(_ITERATIONS, text),
        searches=_count(_SEARCHES, text),
        clock_ended=CLOCK_ENDED in text,
    )


def _count(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0
