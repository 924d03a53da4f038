"""
Decide why a search or a closed form has no solution: the order of causes, for Python and for the C library.

A cause is a number of :class:`ssik_ros.results.Cause`. The caller collects the facts, and a kernel returns the cause.
An argument ``beyond`` is the cause of postures that exist only outside the limits of the request: LIMITS, or
CONSISTENCY if the request narrows the limits around its seed.
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.search import state, tracking

# The numbers of ssik_ros.results.Cause that a kernel returns.
NONE = 0
UNREACHABLE = 1
LIMITS = 2
CONSISTENCY = 5
SINGULAR = 6
BUDGET = 7
DEADLINE = 8
BAD_TARGET = 9
BAD_STATE = 10
VALIDATION = 14
NOT_FOUND = 16

EVIDENCE = 100
"""If at least this many starts were made and all stalled, the cause is NOT_FOUND instead of SINGULAR or BUDGET."""
AT_THE_EDGE = 5.0
"""If a pose has no branch, but its nearest state misses it by at most this many tolerances, nothing is proved."""


@kernel
def of_absence(is_too_far, is_doubtful, is_beyond, is_complete, beyond):
    """
    Return the cause why a closed form has no branch of a pose within the limits: UNREACHABLE, NOT_FOUND or ``beyond``.

    UNREACHABLE needs a proof: the reach hull or the length of the links, or a complete closed form without any branch
    at a pose that is not (nearly) singular. At a singular pose, branches may be missing.

    :param is_too_far: whether the pose is proved to be out of reach, whatever the limits.
    :param is_doubtful: whether the pose is (nearly) singular.
    :param is_beyond: whether branches exist outside the limits.
    :param is_complete: whether the closed form finds every branch.
    :param beyond: cause if branches exist only outside the limits: LIMITS, or CONSISTENCY for a request that narrows
        them around its seed.
    """
    if is_too_far:
        return UNREACHABLE
    if is_doubtful:
        return NOT_FOUND
    if is_beyond:
        return beyond
    return UNREACHABLE if is_complete else NOT_FOUND


@kernel
def of_absences(causes, counts, is_complete, beyond):
    """
    Write for each of m poses the cause why a closed form has no branch within the limits, by :func:`of_absence`.

    :param causes: (m,) out: the causes; NONE for a pose with branches within the limits.
    :param counts: (m, search.COUNTERS) counters of the search for branches within limits.
    :param is_complete: whether the closed form finds every branch.
    :param beyond: cause if branches exist only outside the limits: LIMITS or CONSISTENCY.
    """
    for row in range(causes.shape[0]):
        is_too_far, is_doubtful = counts[row, search.PROVED] > 0, counts[row, search.DOUBT] > 0
        is_beyond = counts[row, search.DROPPED] > 0
        causes[row] = of_absence(is_too_far, is_doubtful, is_beyond, is_complete, beyond)
        if counts[row, search.COUNT] > 0:
            causes[row] = NONE


@kernel
def of_search(code, counters, refusals, is_proved, beyond):
    """
    Return the cause why a search has no solution, a number of :class:`ssik_ros.results.Cause`.

    :param code: final code of the search, of :mod:`ssik_ros.kernels.search.state`.
    :param counters: (state.STATE_SIZE,) counters of the search.
    :param refusals: number of candidates that the caller has refused.
    :param is_proved: whether the proof of the code OUT_OF_REACH also holds without limits of prismatic joints.
    :param beyond: cause if solutions exist only outside the limits: LIMITS or CONSISTENCY.
    """
    cause = _of_code(code, is_proved)
    if cause != NONE:
        return cause
    if refusals > 0:
        return VALIDATION
    if code == state.DEADLINE or code == state.CANCELLED:
        return DEADLINE
    if counters[state.LIMITS_SEEN] > 0:
        return beyond
    searches = counters[state.SEARCHES]
    if searches >= EVIDENCE and counters[state.STALLED] == searches:
        return NOT_FOUND
    return SINGULAR if searches > 0 and counters[state.SINGULAR_SEEN] == searches else BUDGET


@kernel
def of_step(code, is_proved, report):
    """
    Return the cause why a cycle of a control loop does not reach its target, as a number of ``results.Cause``.

    :param code: code that :func:`tracking.follow` returned.
    :param is_proved: whether the proof of the code OUT_OF_REACH also holds without limits of prismatic joints.
    :param report: (tracking.NUMBERS,) numbers of the cycle, as it wrote them.
    """
    cause = _of_code(code, is_proved)
    if cause != NONE:
        return cause
    if report[tracking.STEP_STOPPED] > 0.0:
        return CONSISTENCY
    return LIMITS if report[tracking.LIMIT_STOPPED] > 0.0 else SINGULAR


@kernel
def _of_code(code, is_proved):
    """
    Return the cause that the code of a search or of a cycle names; NONE if other facts decide.

    :param is_proved: True makes OUT_OF_REACH the cause UNREACHABLE, False LIMITS: whether its proof holds without
        limits of prismatic joints.
    """
    if code == state.BAD_TARGET:
        return BAD_TARGET
    if code == state.BAD_STATE:
        return BAD_STATE
    if code == state.OUT_OF_REACH:
        return UNREACHABLE if is_proved else LIMITS
    return NONE


@kernel
def of_both(exact, searched, residual, tolerance):
    """
    Return the cause of a request for which neither a closed form nor a search has a solution.

    The closed form decides, unless the search ended by the clock. The closed form proves that the exact pose is out of
    reach, and nothing about poses within the tolerance: UNREACHABLE becomes NOT_FOUND if the search nearly met the
    pose.

    :param exact, searched: causes of the closed form and of the search.
    :param residual: smallest norm over position [m] and rotation [rad] error that the search met.
    :param tolerance: largest norm of a solution.
    """
    if searched == DEADLINE:
        return DEADLINE
    if exact == UNREACHABLE and is_nearly_met(residual, tolerance):
        return NOT_FOUND
    return exact


@kernel
def is_nearly_met(residual, tolerance):
    """
    Return whether a search misses a pose by at most AT_THE_EDGE tolerances.

    Then a closed form does not prove that the pose is out of reach.

    :param residual: smallest norm over position [m] and rotation [rad] error that the search met.
    :param tolerance: largest norm of a solution.
    """
    return residual <= AT_THE_EDGE * tolerance
