"""
Solve any request to ``ssik_ros/Auto``: try several IK methods in turn, which share the timeout of the request.

:class:`GeneralRequests` takes the methods and their order from :mod:`ssik_ros.solvers.auto.methods`. Without a closed
form, a search that begins at joint limits comes last. A faster path for plain requests,
:mod:`ssik_ros.solvers.auto.plain_requests`, may run before: requests that it cannot solve come here.
"""

import dataclasses
import time

from ssik_ros.arguments import read_float
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers.auto.methods import GroupMethods
from ssik_ros.solvers.auto.policy import SolveMethod
from ssik_ros.solvers.closed_form.solver import AnalyticSolver, with_nearest

LAST_TRY = 0.05
"""Least time left for the last search, which begins at joint limits; the deadline does not interrupt it [s]."""


class GeneralRequests:
    """
    Solves any request for one group by closed form, Levenberg-Marquardt search or PoseIK, in the order of the policy.

    Several threads may call it at once.
    """

    def __init__(self, methods: GroupMethods) -> None:
        """
        Store the solvers that requests are passed to.

        :param methods: closed form, searches and PoseIK of the group.
        """
        self._methods = methods

    def solve(
        self, request: SolveRequest, tried: IkResult | None = None, began: float | None = None
    ) -> IkResult:
        """
        Return the result of any request, by the methods of the policy; this is the general path.

        If ``tried`` is solved, proved to have no solution, refused or ended by the clock, it is returned unchanged.
        With a complete closed form, which the fast path has called, every ``tried`` is returned unchanged.

        :param tried: result of the fast path; None if the fast path has not run.
        :param began: monotonic time at which the fast path began, if the request has a budget [s]; None means now.
        """
        began = time.monotonic() if began is None else began
        if tried is not None and (self._methods.is_complete or _is_final(tried)):
            return tried
        order = self._methods.for_request(request)
        if order[0] == SolveMethod.POSE_IK:
            return self._methods.pose_ik.solve(request)
        stop = _Deadline(request, began)
        if self._methods.closed_form is None or SolveMethod.CLOSED_FORM not in order:
            return self._search_only(request, tried, stop)
        if tried is None and order[0] == SolveMethod.SEARCH:
            tried = self._methods.first_starts.solve(request)
            if _is_final(tried):
                return tried
        return self._use_closed_form(self._methods.closed_form, request, tried, stop)

    def _search_only(
        self, request: SolveRequest, tried: IkResult | None, stop: '_Deadline'
    ) -> IkResult:
        """
        Return the result of searches without the closed form.

        If the group has a closed form, Levenberg-Marquardt with other starts is the only search. Without a closed form,
        PoseIK follows, then a search that begins on joint limits if at least 0.05 s are left. If all
        Levenberg-Marquardt starts of an arm of usual size got stuck, nothing follows.

        :param tried: result of the first starts; None if they have not run yet.
        :param stop: deadline of the request; after it or a cancel, PoseIK does not run and the cause is DEADLINE.
        """
        if tried is None:
            search = (
                self._methods.first_starts
                if self._methods.closed_form is None
                else self._methods.more_starts
            )
            tried = search.solve(request)
        is_hopeless = tried.cause == Cause.NOT_FOUND and not self._methods.has_unusual_size
        if _is_final(tried) or is_hopeless or self._methods.closed_form is not None:
            return tried
        remaining = stop.remaining(request)
        if remaining is None:
            return tried._replace(cause=Cause.DEADLINE, clock_ended=True)
        result = self._methods.pose_ik.solve(remaining)
        if _is_final(result) or not stop.leaves(LAST_TRY):
            return result
        return self._methods.edges.solve(request, result, self._methods.tolerance(request))

    def _use_closed_form(
        self,
        closed_form: AnalyticSolver,
        request: SolveRequest,
        tried: IkResult | None,
        stop: '_Deadline',
    ) -> IkResult:
        """
        Return the result of the closed form or, if it has no solution within the tolerance, of a further search.

        After a complete closed form, a search follows only if none has run before, and no validation refused all
        branches. If the closed form is not complete, and all first starts of an arm of usual size got stuck, no search
        follows; with a held joint, the closed form is skipped, too.

        :param closed_form: closed form of the chain.
        :param tried: result of the first starts; None if the closed form comes first.
        :param stop: deadline of the request; after it or a cancel, the search does not run and the cause is DEADLINE.
        """
        # If all first starts got stuck, sampling a joint takes longer and hardly ever finds a solution.
        is_stuck = tried is not None and tried.cause == Cause.NOT_FOUND
        is_hopeless = is_stuck and not (
            self._methods.is_complete or self._methods.has_unusual_size
        )
        if tried is not None and is_hopeless and closed_form.arm.plan.held >= 0:
            return tried
        # A search of this solver finds the nearest posture.
        without = request
        if request.wants_nearest:
            without = dataclasses.replace(request, wants_nearest=False)
        exact = closed_form.solve(without)
        tolerance = self._methods.tolerance(request)
        if exact.status == IkStatus.REFUSED or _is_within(exact, tolerance):
            return exact
        if tried is not None and is_hopeless:
            return with_nearest(exact, tried, tolerance) if exact.is_proved else tried
        if self._methods.is_complete and (tried is not None or exact.cause == Cause.VALIDATION):
            return exact if tried is None else with_nearest(exact, tried, tolerance)
        remaining = stop.remaining(request)
        if remaining is None:
            return _unsolved(exact, Cause.DEADLINE)
        search = (
            self._methods.starts_at_the_edge
            if self._methods.is_complete
            else self._methods.more_starts
        )
        result = search.solve(remaining)
        if result.solved or result.clock_ended or exact.solved:
            return result
        return with_nearest(exact, result, tolerance) if self._methods.is_complete else result


class _Deadline:
    """The time at which a request ends, for several solvers that share its budget."""

    def __init__(self, request: SolveRequest, began: float) -> None:
        """Set the deadline of a request that began at the monotonic time ``began`` [s]; a timeout of None or 0 sets none."""
        timeout = request.timeout
        # The first method that runs refuses a negative number and NaN.
        seconds = 0.0 if timeout is None else read_float('timeout', timeout)
        self._is_set = seconds > 0.0
        self._stop = began + seconds

    def leaves(self, seconds: float) -> bool:
        """Return whether at least ``seconds`` are left until the deadline [s]; True without a deadline."""
        return not self._is_set or self._stop - time.monotonic() >= seconds

    def remaining(self, request: SolveRequest) -> SolveRequest | None:
        """
        Return a copy of the request whose timeout is the time left; the request itself if it has no deadline.

        Return None if no time is left or the caller has cancelled.
        """
        if request.cancel is not None and request.cancel[0]:
            return None
        if not self._is_set:
            return request
        left = self._stop - time.monotonic()
        return dataclasses.replace(request, timeout=left) if left > 0.0 else None


def _is_final(result: IkResult) -> bool:
    """Return whether a result needs no further method: solved, proved unsolvable, refused, or ended by the clock."""
    return (
        result.solved
        or result.is_proved
        or result.clock_ended
        or result.status == IkStatus.REFUSED
    )


def _is_within(result: IkResult, tolerance: float) -> bool:
    """Return whether a result has a solution whose residual is at most ``tolerance``."""
    return result.solved and result.residual <= tolerance


def _unsolved(result: IkResult, cause: Cause) -> IkResult:
    """
    Return a copy of a result without its solutions, with another cause, and marked as ended by the clock.

    A dropped solution becomes the nearest posture.
    """
    nearest = result.q if result.nearest is None else result.nearest
    return result._replace(
        status=IkStatus.UNSOLVED,
        cause=cause,
        solutions=result.solutions[:0],
        errors=result.errors[:0],
        nearest=nearest,
        clock_ended=True,
    )
