"""
Requests of services that wait to be handled in this process, and the responses to them.

Requests are taken from the middleware before they can be handled, so that deadlines count from their arrival. The time
of receipt that the middleware gives cannot be used: Fast DDS fills it with the time of sending, by the sender's clock.
"""

import inspect
import math
import threading
import time
from typing import Any, NamedTuple

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation

from ssik_ros.problem.scheduling import RequestQueue
from ssik_ros.ros.process.wait_set import Ready

MOST_WAITING = 1000
"""Requests that wait to be handled in this process; further ones stay in the queues of the middleware."""
TAKEN_AT_ONCE = 32
"""Requests of one service that are taken before another callback runs: reading a large request takes time."""


class Handling(NamedTuple):
    """Times of the request that a handler handles now; the handler reads them from ``PRESENT.handling``."""

    arrived: float
    """Time at which the request was taken from the middleware, by ``time.monotonic`` [s]."""
    budget: float = math.inf
    """Time from the arrival to the deadline [s]; infinite without a deadline."""
    is_late: bool = False
    """Whether the request is late, see :class:`RequestQueue`."""
    reserve: float = 0.0
    """How long before its deadline the request has to end, to leave time for the responses to other requests [s]."""


class _Present(threading.local):
    """Storage with one value per thread: the times of the request that the thread handles, or None."""

    handling: Handling | None = None
    """Times of the request that the thread handles; None outside of an :class:`InlineExecutor`."""


PRESENT = _Present()


class TakenRequest(NamedTuple):
    """A request that was taken from the middleware and waits to be handled, with its service and time of arrival."""

    service: Any
    """Service of rclpy."""
    request: Any
    """The request message."""
    header: Any
    """Header of the request, which addresses the response."""
    arrived: float
    """Time of arrival, by ``time.monotonic`` [s]."""
    budget: float = math.inf
    """Time from the arrival to the deadline [s]; infinite without a deadline."""


class TakenRequests:
    """
    The requests that were taken from the middleware; several threads may use them at once.

    A handler may have an attribute ``budget``: a function of a request that returns the time from its arrival to its
    deadline [s].
    """

    def __init__(self) -> None:
        """Begin without requests."""
        self.queue: RequestQueue[TakenRequest] = RequestQueue(MOST_WAITING)
        """The requests that wait to be handled."""
        self._taking, self._change = threading.Lock(), threading.Lock()
        self._handled = 0
        """Number of requests that are being handled."""

    def take(self, service: Any) -> None:
        """
        Move up to ``TAKEN_AT_ONCE`` requests of a service from the middleware to the queue, if it has room.

        :param service: of rclpy.
        """
        budget_of = getattr(service.callback, 'budget', None)
        with self._taking:
            for _ in range(min(TAKEN_AT_ONCE, self.queue.room)):
                request, header = take_request(service)
                if header is None:
                    return
                arrived = time.monotonic()
                budget = math.inf if budget_of is None else budget_of(request)
                taken = TakenRequest(service, request, header, arrived, budget)
                self.queue.put(taken, arrived, budget)

    def respond(self, taken: TakenRequest, *, is_late: bool = False) -> None:
        """
        Call the handler of a taken request and send the response, even if the handler raises.

        The handler reads arrival, budget and ``is_late`` from ``PRESENT.handling``.

        :param taken: the request.
        :param is_late: whether the request is late, see :class:`RequestQueue`.
        """
        service, request, header, arrived, budget = taken
        others = len(self.queue) + self._handled
        self._count(1)
        response = service.srv_type.Response()
        PRESENT.handling = Handling(arrived, budget, is_late, self.queue.reserve(budget, others))
        begin = time.monotonic()
        try:
            response = service.callback(request, response)
        finally:
            PRESENT.handling = None
            self._count(-1)
            # If a handler raises, its client still gets a response; with rclpy's executors the client waits.
            service.send_response(response, header)
            if is_late:
                self.queue.note_response(time.monotonic() - begin)

    def _count(self, change: int) -> None:
        """Add ``change``, 1 or -1, to the number of requests that are being handled."""
        with self._change:
            self._handled += change


def is_taken_early(ready: Ready) -> bool:
    """
    Return whether the requests of a ready entity go to the queue: only for a service in a reentrant callback group.

    Its callback must not be a coroutine.
    """
    kind, entity, _ = ready
    return (
        kind == 'service'
        and type(entity.callback_group) is ReentrantCallbackGroup
        and not inspect.iscoroutinefunction(entity.callback)
    )


def take_request(service: Any) -> tuple[Any, Any]:
    """Return the next request of a service with its header; both are None if no request waits or the service is destroyed."""
    try:
        with service.handle:
            request, header = service.handle.service_take_request(service.srv_type.Request)
    except rclpy_implementation.InvalidHandle:
        return None, None
    return request, header
