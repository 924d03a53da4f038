"""MoveIt's error codes for answers: the one place that knows them."""

from moveit_msgs.msg import MoveItErrorCodes

from ssik_ros.results import Cause
from ssik_ros.server.loops.loop_requests import LoopResponse
from ssik_ros.server.paths.path_requests import PathResponse
from ssik_ros.server.requests.ik_requests import BranchesResponse, IkResponse
from ssik_ros.server.requests.refusals import Refusal

SOURCE = 'ssik_ros'
"""What ``error_code.source`` says."""

_SUCCESS = int(MoveItErrorCodes.SUCCESS)
_OF_REFUSAL = {
    Refusal.NONE: MoveItErrorCodes.SUCCESS,
    Refusal.UNKNOWN_GROUP: MoveItErrorCodes.INVALID_GROUP_NAME,
    Refusal.BAD_STATE: MoveItErrorCodes.INVALID_ROBOT_STATE,
    Refusal.GOAL_COUNT: MoveItErrorCodes.INVALID_LINK_NAME,
    Refusal.UNKNOWN_FRAME: MoveItErrorCodes.FRAME_TRANSFORM_FAILURE,
    Refusal.UNKNOWN_LINK: MoveItErrorCodes.INVALID_LINK_NAME,
    Refusal.BAD_TARGET: MoveItErrorCodes.NO_IK_SOLUTION,
    Refusal.NO_SOLVER: MoveItErrorCodes.NO_IK_SOLUTION,
    Refusal.NO_COLLISION_CHECK: MoveItErrorCodes.COLLISION_CHECKING_UNAVAILABLE,
    Refusal.CONSTRAINTS: MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS,
    Refusal.NOT_SEARCHABLE: MoveItErrorCodes.NO_IK_SOLUTION,
    Refusal.BAD_TOLERANCE: MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS,
    Refusal.BAD_STEP: MoveItErrorCodes.FAILURE,
    Refusal.BAD_OPTION: MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS,
    Refusal.FAULT: MoveItErrorCodes.FAILURE,
}


def code_of_refusal(refusal: Refusal) -> int:
    """
    Return the code of a request about poses of links, as ``compute_fk`` has it.

    :param refusal: what was wrong; NONE is success.
    """
    return int(_OF_REFUSAL[refusal])


def code_of_cause(cause: Cause, report_timeout: bool = False) -> int:
    """
    Return the code of a pose that was searched for.

    :param cause: why it has no solution; NONE where it has one.
    :param report_timeout: whether a search that the clock ended is told apart.
    """
    if cause == Cause.NONE:
        return _SUCCESS
    if cause == Cause.BAD_STATE:
        # The solver may find so too, of numbers that no name tells.
        return int(MoveItErrorCodes.INVALID_ROBOT_STATE)
    if cause == Cause.DEADLINE and report_timeout:
        return int(MoveItErrorCodes.TIMED_OUT)
    return int(MoveItErrorCodes.NO_IK_SOLUTION)


def code_of_ik(answer: IkResponse | BranchesResponse, report_timeout: bool = False) -> int:
    """
    Return the code of an answer of ``compute_ik`` or ``~/solve_all``.

    MoveIt answers a link that it cannot find a pose for with "no solution".

    :param answer: the answer.
    :param report_timeout: whether a search that the clock ended is told apart.
    """
    if answer.solved:
        return _SUCCESS
    if answer.refusal is Refusal.NONE and answer.cause != Cause.NONE:
        return code_of_cause(answer.cause, report_timeout)
    if answer.cause == Cause.BAD_STATE:
        return int(MoveItErrorCodes.INVALID_ROBOT_STATE)
    if answer.refusal in (Refusal.NONE, Refusal.UNKNOWN_LINK):
        return int(MoveItErrorCodes.NO_IK_SOLUTION)
    return code_of_refusal(answer.refusal)


def code_of_link_refusal(refusal: Refusal) -> int:
    """
    Return the code of a request about a link that is to be somewhere.

    :param refusal: what was wrong; NONE is success.
    """
    if refusal is Refusal.UNKNOWN_LINK:
        return int(MoveItErrorCodes.NO_IK_SOLUTION)
    return code_of_refusal(refusal)


def code_of_path(answer: PathResponse) -> int:
    """
    Return the code of an answer of ``compute_cartesian_path``: success, however far the path was followed.

    :param answer: the answer.
    """
    return code_of_link_refusal(answer.refusal)


def code_of_loops(answer: LoopResponse) -> int:
    """
    Return the code of an answer about a robot with loops.

    :param answer: the answer.
    """
    if answer.refusal is Refusal.NONE and not answer.solved:
        return int(MoveItErrorCodes.NO_IK_SOLUTION)
    return code_of_refusal(answer.refusal)


def write_code(message: MoveItErrorCodes, code: int, text: str) -> None:
    """
    Fill an error code with its number and, where the message has the fields, its reason.

    :param message: the message to fill.
    :param code: the number.
    :param text: the reason.
    """
    if hasattr(type(message), 'message'):
        # By the slots, as in ssik_ros.ros.conversions.messages.
        message._val, message._message, message._source = code, text, SOURCE
    else:
        # moveit_msgs before 2.5 has the number alone.
        message.val = code
