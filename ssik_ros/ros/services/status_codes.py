"""
Choose MoveIt's error code of a response from its refusal and cause: :func:`code_of`.

The codes that the node sends come from here, except FAILURE after an exception or without a robot, and PREEMPTED for a
cancelled goal.
"""

from typing import Any

from moveit_msgs.msg import MoveItErrorCodes

from ssik_ros.results import Cause
from ssik_ros.server.requests.refusals import Refusal

SOURCE = 'ssik_ros'
"""Text of ``error_code.source``."""

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
    Refusal.BUSY: MoveItErrorCodes.FAILURE,
    Refusal.FAULT: MoveItErrorCodes.FAILURE,
}


def code_of_cause(cause: Cause, report_timeout: bool = False) -> int:
    """
    Return MoveIt's error code for the cause of a failed search; SUCCESS for the cause NONE.

    BAD_STATE gives INVALID_ROBOT_STATE; all other causes give NO_IK_SOLUTION, unless TIMED_OUT applies.

    :param cause: why the pose has no solution; NONE for a solved pose.
    :param report_timeout: whether a search that the time budget ended gets the code TIMED_OUT.
    """
    if cause == Cause.NONE:
        return _SUCCESS
    if cause == Cause.BAD_STATE:
        # The solver may find this fault too.
        return int(MoveItErrorCodes.INVALID_ROBOT_STATE)
    if cause == Cause.DEADLINE and report_timeout:
        return int(MoveItErrorCodes.TIMED_OUT)
    return int(MoveItErrorCodes.NO_IK_SOLUTION)


def code_of(
    response: Any,
    unknown_link: int = MoveItErrorCodes.NO_IK_SOLUTION,
    report_timeout: bool = False,
) -> int:
    """
    Return MoveIt's error code for a response: of its refusal, else of its cause, else SUCCESS.

    A refusal with the cause BAD_STATE gives INVALID_ROBOT_STATE. A response that is not solved and has neither gives
    NO_IK_SOLUTION.

    :param response: an object with ``refusal`` and ``cause``. If it has an attribute ``solved``, this decides about
        SUCCESS; otherwise a response without cause is a success.
    :param unknown_link: code of a request for an unknown link.
    :param report_timeout: whether a search that the time budget ended gets the code TIMED_OUT.
    """
    refusal, cause = response.refusal, response.cause
    if refusal is Refusal.NONE:
        if getattr(response, 'solved', not cause):
            return _SUCCESS
        return int(
            code_of_cause(cause, report_timeout) if cause else _OF_REFUSAL[Refusal.NO_SOLVER]
        )
    if cause == Cause.BAD_STATE:
        return int(MoveItErrorCodes.INVALID_ROBOT_STATE)
    return int(unknown_link if refusal is Refusal.UNKNOWN_LINK else _OF_REFUSAL[refusal])


def write_code(message: MoveItErrorCodes, code: int, text: str) -> None:
    """
    Fill an error code message with its number and, if the message has the fields, its text and source.

    :param message: the message to fill.
    :param code: the number.
    :param text: the reason.
    """
    if hasattr(type(message), 'message'):
        message.val, message.message, message.source = code, text, SOURCE
    else:
        # moveit_msgs before 2.5 has only the number.
        message.val = code


def read_text(message: MoveItErrorCodes) -> str:
    """
    Return the text of an error code; empty if the message has only the number, as in moveit_msgs before 2.5.

    :param message: the error code.
    """
    return str(getattr(message, 'message', ''))
