"""
Refuse requests that name something unknown, have an invalid value, or cannot be served.

:class:`Refusal` is the kind of fault, :class:`RequestRefused` the exception with it. A decorator from
:func:`refused_as` turns every SsikError of a method into a response with a refusal.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
import functools
from typing import Any, TypeVar

from ssik_ros.errors import describe_choices, RequestError, SsikError
from ssik_ros.results import Cause


class Refusal(IntEnum):
    """Kind of fault of a request; each interface translates it into its own codes."""

    NONE = 0
    UNKNOWN_GROUP = 1
    """No such planning group, or no such task set."""
    BAD_STATE = 2
    """The state names unknown joints, has missing, infinite or too large values, or carries an invalid object."""
    GOAL_COUNT = 3
    """The number of poses is not the number of links, or not one that the request may have; or no link is named."""
    UNKNOWN_FRAME = 4
    UNKNOWN_LINK = 5
    """No such link, tip or target; a link that is not rigid with a tip of the group; or two poses for one tip."""
    BAD_TARGET = 6
    """A pose that is not finite, is not rigid or is too far away, or another goal that cannot be served."""
    NO_SOLVER = 7
    """The group exists, but no solver could be made for it, or none for this kind of request."""
    NO_COLLISION_CHECK = 8
    """Collisions are to be avoided, but there is nothing to check them with."""
    CONSTRAINTS = 9
    """Constraints of a kind that is not honoured, with an unknown name, or with an invalid number."""
    NOT_SEARCHABLE = 10
    """The search needs random starts, but a joint without finite limits has no range to draw them from."""
    FAULT = 11
    """The request was in order, but solving it failed."""

    BAD_TOLERANCE = 12
    """A tolerance that is negative or not finite."""
    BAD_STEP = 13
    """A step of a path that is not above zero, or divides it into too many samples."""
    BAD_OPTION = 14
    """Something else that a request says has no meaning, or contradicts itself."""
    BUSY = 15
    """The node already works on as many requests of this kind as it allows at once."""

    def error(self, message: str) -> 'RequestRefused':
        """
        Return the error that refuses a request.

        :param message: one sentence.
        """
        return RequestRefused(self, message)


CAUSE_OF_REFUSAL = {
    Refusal.UNKNOWN_GROUP: Cause.UNKNOWN_GROUP,
    Refusal.BAD_STATE: Cause.BAD_STATE,
    Refusal.GOAL_COUNT: Cause.BAD_TARGET,
    Refusal.UNKNOWN_FRAME: Cause.FRAME,
    Refusal.UNKNOWN_LINK: Cause.UNKNOWN_LINK,
    Refusal.BAD_TARGET: Cause.BAD_TARGET,
    Refusal.NO_COLLISION_CHECK: Cause.COLLISION,
    Refusal.CONSTRAINTS: Cause.CONSTRAINTS,
    Refusal.NOT_SEARCHABLE: Cause.BUDGET,
    Refusal.BAD_TOLERANCE: Cause.CONSTRAINTS,
    Refusal.BAD_STEP: Cause.CONSTRAINTS,
    Refusal.BAD_OPTION: Cause.CONSTRAINTS,
}
Blamed = type[SsikError] | tuple[type[SsikError], ...]


class RequestRefused(RequestError):
    """The error that refuses a request; ``refusal`` is the kind of fault."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        """
        Keep the kind of fault and the text.

        :param refusal: the kind of fault.
        :param message: the text, with the wrong name and the names that exist.
        """
        super().__init__(message, refusal=refusal)
        self.refusal = refusal


def unknown(
    refusal: Refusal, message: str, name: str, candidates: Iterable[str]
) -> RequestRefused:
    """
    Return the error for a name that does not exist; its text ends with a similar name, if any, and up to 20 names.

    :param refusal: the kind of fault.
    :param message: the fault in words, without the full stop.
    :param name: the name as the user wrote it.
    :param candidates: the names that exist.
    """
    return refusal.error(f'{message}. {describe_choices(name, candidates)}')


def explain_refusal(
    error: SsikError, kind: Blamed, refusal: Refusal
) -> tuple[Refusal, Cause, str]:
    """
    Return the refusal, cause and text for an error that ended a request.

    :param error: the error; a :class:`RequestRefused` has its own refusal.
    :param kind: other errors of these types are faults of the request.
    :param refusal: the refusal for errors of these types; for all other types it is ``FAULT``.
    """
    effective = refusal if isinstance(error, kind) else Refusal.FAULT
    if isinstance(error, RequestRefused):
        effective = error.refusal
    return effective, CAUSE_OF_REFUSAL.get(effective, Cause.NONE), str(error)


Response = TypeVar('Response')
Method = Callable[[Any, Any, Any], Response]


def refused_as(
    respond: Callable[..., Response], kind: Blamed, refusal: Refusal
) -> Callable[[Method[Response]], Method[Response]]:
    """
    Return a decorator: if the method raises an SsikError, it returns a response with the refusal instead.

    The method is called with a request and the current state of the robot.

    :param respond: makes the response from refusal, cause and text.
    :param kind: errors of these types are faults of the request.
    :param refusal: the refusal for errors of these types. A :class:`RequestRefused` has its own refusal, and all other
        errors get ``FAULT``.
    """

    def decorate(method: Method[Response]) -> Method[Response]:
        @functools.wraps(method)
        def respond_always(server: Any, request: Any, current: Any) -> Response:
            try:
                return method(server, request, current)
            except SsikError as error:
                return respond(*explain_refusal(error, kind, refusal))

        return respond_always

    return decorate
