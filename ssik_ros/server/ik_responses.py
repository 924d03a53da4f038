"""
Solve a request for one solution, and make its response: the solution, or the cause of the failure in words.

:func:`solve_resolved` solves and responds; :func:`respond` makes the response from a solver's result. Both add notes on
possible mistakes in the request to the text.
"""

from ssik_ros.errors import counted
from ssik_ros.results import Cause, CAUSE_TEXT, CLOCK_ENDED, IkResult, no_solution
from ssik_ros.server.groups.group_server import JointBounds
from ssik_ros.server.groups.notes import (
    describe_nearest,
    NOT_REACHED,
    notes_on_failure,
    notes_on_request,
)
from ssik_ros.server.request_resolver import ResolvedRequest
from ssik_ros.server.requests.ik_requests import IkRequest, IkResponse
from ssik_ros.server.requests.refusals import Refusal

_PERHAPS_CONSTRAINTS = (Cause.LIMITS, Cause.BUDGET, Cause.NOT_FOUND)
"""Causes that narrower limits may have brought about."""


def solve_resolved(request: IkRequest, resolved: ResolvedRequest) -> IkResponse:
    """
    Solve a request whose names are looked up; return its response.

    If the joint constraints allow no value of a joint, nothing is solved, and the cause is CONSTRAINTS.

    :param request: the request.
    :param resolved: group, state, goals and checks of the request.
    :raises RequestRefused: for a group without solver, and links that are not fixed to a tip.
    """
    limits = _narrow_limits(resolved)
    if isinstance(limits, str):
        text = no_solution(Cause.CONSTRAINTS, f'; the joint constraints leave no room: {limits}.')
        refused = IkResponse(Refusal.NONE, Cause.CONSTRAINTS, text)
        return _with_notes(request, resolved, refused)
    result, solve_ns = resolved.group.solve(
        resolved.goals,
        resolved.state,
        timeout=request.timeout,
        accepts=resolved.checks,
        limits=limits,
    )
    return respond(request, resolved, result, solve_ns, limits)


def respond(
    request: IkRequest,
    resolved: ResolvedRequest,
    result: IkResult,
    solve_ns: int,
    limits: JointBounds | None = None,
) -> IkResponse:
    """
    Return the response for a solver's result, with notes on possible mistakes in the request.

    After a failure with narrower limits, it may solve again to tell whether the joint constraints are the cause.

    :param request: the request.
    :param resolved: group, state, goals and checks of the request.
    :param result: the result of the solver.
    :param solve_ns: time of the solver [ns].
    :param limits: narrower limits that the solver kept, if any.
    """
    if result.solved:
        state = resolved.group.with_group(resolved.state, result.q)
        said = Refusal.NONE, Cause.NONE, result.summary(), state, result, solve_ns
        response = IkResponse(*said)
    else:
        response = _describe_failure(request, resolved, result, solve_ns, limits)
    return _with_notes(request, resolved, response)


def _describe_failure(
    request: IkRequest,
    resolved: ResolvedRequest,
    result: IkResult,
    solve_ns: int,
    limits: JointBounds | None,
) -> IkResponse:
    """
    Return the response without a solution; may solve again to tell whether constraints are the cause.

    :param result: the failed solve.
    :param solve_ns: time that this solve took [ns]; a second solve gets the time that is left.
    :param limits: limits narrowed by joint constraints; None without joint constraints.
    """
    group, state, goals, checks = resolved
    text = result.summary(describe_nearest(group, goals, state, result))
    # A response without a solution never counts as a success.
    cause = result.cause or Cause.NOT_FOUND
    if checks is not None and cause == Cause.VALIDATION:
        cause = checks.cause_of(result.clock_ended)
        rest = f'{checks.describe()} ({counted(result.searches, "search")}).'
        if result.clock_ended:
            rest = f'; {CAUSE_TEXT[checks.cause]}{rest} {CLOCK_ENDED}'
        text = no_solution(cause, rest)
    elif limits is not None and _is_kept_away(request, resolved, result, solve_ns):
        cause = Cause.CONSTRAINTS
        text = no_solution(cause, f'; within the joint constraints, {CAUSE_TEXT[result.cause]}.')
    colliding = tuple(checks.pair or ()) if checks is not None and cause == Cause.COLLISION else ()
    return IkResponse(Refusal.NONE, cause, text, None, result, solve_ns, colliding)


def _narrow_limits(resolved: ResolvedRequest) -> JointBounds | str | None:
    """
    Return the joint limits (lower, upper) narrowed by the joint constraints of a request; None without constraints.

    If the constraints allow no value of a joint, return a text that says so.
    """
    checks = resolved.checks
    if checks is None or checks.constraints is None:
        return None
    return checks.constraints.narrow(resolved.group.group, resolved.state)


def _with_notes(request: IkRequest, resolved: ResolvedRequest, response: IkResponse) -> IkResponse:
    """Return the response; its text also has notes on possible mistakes in the request."""
    group, state = resolved.group, resolved.state
    notes = notes_on_request(group, state)
    if response.result is not None and response.result.cause in NOT_REACHED:
        notes += notes_on_failure(group, resolved.goals, request.poses, state, response.result)
    return response._replace(text=' '.join((response.text, *notes))) if notes else response


def _is_kept_away(
    request: IkRequest, resolved: ResolvedRequest, result: IkResult, spent_ns: int
) -> bool:
    """
    Solve again without constraints and collision checks; return whether this search finds a solution.

    The second solve takes the time left of the budget, after ``spent_ns`` [ns]. Return False without solving if no time
    is left, or if the cause of the failure cannot be the constraints.
    """
    if result.cause not in _PERHAPS_CONSTRAINTS:
        return False
    group = resolved.group
    budget = request.timeout if request.timeout > 0.0 else group.kinematics.timeout
    left = budget - 1e-9 * spent_ns
    if left <= 0.0:
        return False
    free, _ = group.solve(resolved.goals, resolved.state, timeout=left)
    return free.solved
