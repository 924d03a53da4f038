"""
Solve a plain request (one pose, one seed, one solution) with the least overhead around a search or a closed form.

Problem
    Find a state within limits that reaches a pose within tolerance. :func:`search_one` uses restarts only.
    :func:`solve_one` uses a closed form of all joints that needs no elimination.

Method
    All arrays that stay the same from call to call are in blocks of memory: one for the search, one for the closed
    form. A call passes addresses, the seed, the target, and the array for the solution. Other results are returned as
    numbers. With a closed form

    1. the seed's own pose is compared with the target. If it is near, one descent starts at the seed. Its result is
       accepted if no joint has moved further than a bound, because near a singular posture a descent may jump to
       another branch;
    2. otherwise the closed form writes the branch nearest to the seed;
    3. if no branch exists, the pose may be just out of reach. Then descents within tolerance start at the candidates of
       the closed form, moved inside the limits: nearest to the pose first, as many as the search has starts;
    4. if there are no candidates, or the branch is not within tolerance, a search with restarts follows.

Solutions
    The errors are measured at exactly the returned numbers. The numbers of :func:`search_one` are bitwise equal to the
    result of :func:`ssik_ros.kernels.search.restart_search.search`. A seed whose pose is the target up to rounding is
    returned bit by bit.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.branches import branch_block, search as closed_form
from ssik_ros.kernels.geometry.addresses import floats_at, integers_at
from ssik_ros.kernels.geometry.vectors import put
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import descent, restart_search, state

HEAD = 3
"""Number of sizes at the head of a search's block: of ints, reals and options."""
SOLUTION_ERROR = 0
"""Index: largest norm over both errors of a solution."""
SEED_ERROR = 1
"""Index: error at the seed above which the closed form solves."""
LONGEST_WAY = 2
"""Index: motion of a joint above which the closed form solves."""
NUMBERS = 3
"""Number of these numbers in the block of a closed form."""
NOT_CALLED = -1
"""Number of branches if no closed form was called, or if it is in doubt."""
MISSHAPEN = -1
"""Code for arrays of wrong shapes; their contents were not read."""


@inline_kernel
def views(address):
    """
    Return views of the arrays in a block of memory: (ints, counters, reals, options, work).

    :param address: address of the block: the sizes of ints, reals and options (int64), then ints and counters (int64),
        then reals, options and work (float64).
    """
    sizes = integers_at(address, 0, HEAD)
    ints = integers_at(address, HEAD, sizes[0])
    at = HEAD + sizes[0]
    counters = integers_at(address, at, state.STATE_SIZE)
    at += state.STATE_SIZE
    reals = floats_at(address, at, sizes[1])
    options = floats_at(address, at + sizes[1], sizes[2])
    work = floats_at(address, at + sizes[1] + sizes[2], ints[layout.WORK_SIZE])
    return ints, counters, reals, options, work


@inline_kernel
def load(ints, work, q0, target):
    """Write the seed ``q0`` (n,) into ``reference`` and the target (4, 4) into ``matrices`` of the workspace."""
    w = layout.view_workspace(ints, work)
    put(w.reference, q0, q0.shape[0])
    for i in range(4):
        put(w.matrices[i], target[i], 4)


@inline_kernel
def is_misshapen(q0, target, q):
    """Return whether the seed ``q0`` and the result ``q`` differ in length, or the target pose is not a 4x4 matrix."""
    return q0.shape[0] != q.shape[0] or target.shape[0] != 4 or target.shape[1] != 4


@kernel
def search_one(address, timeout_ns, flag, q0, target, q):
    """
    Run a search with restarts for one pose, with all arrays in one block of memory.

    :param address: address of the block, see :func:`views`.
    :param timeout_ns: wall-clock budget [ns]; <= 0 means no budget.
    :param flag: address of an int64 that ends the search if it is not zero.
    :param q0: (n,) seed of the first n variables of the problem; the others keep their values in ``reference``.
    :param target: (4, 4) target pose.
    :param q: (n,) out: the solution, or the best state seen; not written for BAD_TARGET, BAD_STATE and MISSHAPEN.
    :returns: (code, iterations, searches, norm of the errors, position error [m], rotation error [rad], -1, E). The
        code is a code of :func:`ssik_ros.kernels.search.restart_search.search`, or MISSHAPEN for arrays of wrong
        shapes. E is half the squared weighted residual; without a solution, the norm is also of this residual. The
        three errors are infinite if q is not written; E is then infinite for MISSHAPEN, else 0.
    """
    if is_misshapen(q0, target, q):
        return MISSHAPEN, 0, 0, math.inf, math.inf, math.inf, NOT_CALLED, math.inf
    ints, counters, reals, options, work = views(address)
    cancel = integers_at(flag, 0, 1)
    load(ints, work, q0, target)
    code = restart_search.begin(ints, reals, options, True, timeout_ns, counters, work)
    if code == state.RUNNING:
        code = restart_search.find(ints, reals, options, 1, math.inf, cancel, counters, work)
    return _report(ints, reals, options, counters, work, code, NOT_CALLED, q)


@kernel
def solve_one(address, closed, timeout_ns, flag, q0, target, q):
    """
    Solve one pose: descend from the seed if it is near, else call the closed form, else search from other starts.

    :param address, timeout_ns, flag: block of the search, budget [ns] and address of the flag that ends it, see
        :func:`search_one`.
    :param q0, target: (n,) seed; (4, 4) target pose.
    :param q: (n,) out: the solution, or the best state seen; not written for BAD_TARGET, BAD_STATE and MISSHAPEN.
    :param closed: address of the block of the closed form, see
        :mod:`ssik_ros.kernels.closed_form.branches.branch_block`; its part OWN has the NUMBERS.
    :returns: (code, iterations, searches, norm of the errors, position error [m], rotation error [rad], branches, E),
        with the codes of :func:`search_one`. ``branches`` counts the certified candidates inside and outside the limits
        (two candidates may be one branch). It is NOT_CALLED (-1) if the closed form was not called or proves nothing.
    """
    if is_misshapen(q0, target, q):
        return MISSHAPEN, 0, 0, math.inf, math.inf, math.inf, NOT_CALLED, math.inf
    ints, counters, reals, options, work = views(address)
    cancel = integers_at(flag, 0, 1)
    load(ints, work, q0, target)
    code = restart_search.begin(ints, reals, options, True, timeout_ns, counters, work)
    branches = NOT_CALLED
    if code == state.RUNNING:
        stop, numbers = counters[state.STOP], branch_block.floats(closed, branch_block.OWN)
        code = _follow(ints, reals, options, numbers, cancel, counters, work)
        if code != state.RUNNING:
            w = layout.view_workspace(ints, work)
            outcome = _call_closed_form(closed, w.matrices, w.reference, q)
            written, branches, position, rotation = outcome
            # Not hypot, which C libraries round differently.
            norm = math.sqrt(position * position + rotation * rotation)
            if written > 0 and norm <= numbers[SOLUTION_ERROR]:
                iterations, energy = counters[state.ITERATIONS], 0.5 * norm * norm
                return state.FOUND, iterations, 1, norm, position, rotation, branches, energy
            # The tolerance of the closed form is wider, or the pose is singular: nothing is proved.
            states = branch_block.integers(closed, branch_block.COUNTERS)
            is_proof = written == 0 and states[closed_form.DOUBT] == 0
            branches = branches if is_proof else NOT_CALLED
            # The descent has moved the state; the first start is the seed again.
            restart_search.begin(ints, reals, options, False, timeout_ns, counters, work)
            counters[state.STOP] = counters[state.STOP_WITH_SOLUTION] = stop
            count = 0
            if written == 0:
                count = _place_candidates(ints, reals, options, closed, q.shape[0], work)
            if count > 0:
                code = _search_beside(
                    ints, reals, options, closed, count, q.shape[0], cancel, counters, work
                )
            else:
                if is_proof:
                    counters[state.NEAR_MISSES] = state.ALL_COUNT
                code = restart_search.find(
                    ints, reals, options, 1, math.inf, cancel, counters, work
                )
    return _report(ints, reals, options, counters, work, code, branches, q)


@kernel
def _follow(ints, reals, options, numbers, cancel, counters, work):
    """
    Descend from the state, if it is near the target; accept the end if it is exact and no joint moved far.

    A SEED_ERROR of 0 prevents the descent. Without a descent the state stays. A descent that is not accepted leaves the
    state where it ended.

    :param numbers: (NUMBERS,) SOLUTION_ERROR, SEED_ERROR (largest error at the start) and LONGEST_WAY (largest motion
        of a joint) of the closed form's block.
    :returns: RUNNING if the state is a solution, else EXHAUSTED.
    """
    if not numbers[SEED_ERROR] > 0.0:
        return state.EXHAUSTED
    counters[state.SEARCHES] = 1
    limited = options[state.LIMITED] != 0.0
    options[state.NEAR_SQUARED] = numbers[SEED_ERROR] * numbers[SEED_ERROR]
    code = descent.descend(ints, reals, options, limited, cancel, counters, work)
    options[state.NEAR_SQUARED] = 0.0
    if code != state.RUNNING or not restart_search.settle(ints, reals, options, 1, counters, work):
        return state.EXHAUSTED
    w = layout.view_workspace(ints, work)
    if not descent.is_exact(w.errors, descent.POLISHED_ERROR):
        return state.EXHAUSTED
    for k in range(w.state.shape[0]):
        if not abs(w.state[k] - w.reference[k]) <= numbers[LONGEST_WAY]:
            return state.EXHAUSTED
    return state.RUNNING


@kernel
def _place_candidates(ints, reals, options, closed, n, work):
    """
    Write the candidates of the last call of the closed form, moved inside the limits, into the rows of its block.

    They are not moved if the search ignores limits. Column n of each row gets the squared weighted residual of the
    moved candidate.

    :param closed: address of the block of the closed form.
    :param n: number of joints.
    :returns: number of candidates.
    """
    rows = branch_block.rows_of(closed, n)
    raw = closed_form.view_work(branch_block.floats(closed, branch_block.WORK), n, 0).candidates
    count = branch_block.integers(closed, branch_block.COUNTERS)[closed_form.RAW]
    w, variable_i = layout.view_workspace(ints, work), layout.view_tables(ints, reals).variable_i
    for i in range(count):
        put(w.trial, raw[i], n)
        if options[state.LIMITED] != 0.0:
            steps.clamp_seed(variable_i, w.lower, w.upper, w.trial, w.trial)
        square, _ = descent.look(ints, reals, options, work, w.trial)
        put(rows[i], w.trial, n)
        rows[i, n] = square
    return count


@kernel
def _search_beside(ints, reals, options, closed, count, n, cancel, counters, work):
    """
    Descend from the candidates that :func:`_place_candidates` wrote, nearest to the pose first.

    The first descent that ends in a solution ends the search.

    :param closed: address of the block of the closed form.
    :param count, n: number of candidates, and number of joints.
    :returns: RUNNING if the state is a solution, EXHAUSTED if all candidates or starts are used up, else DEADLINE or
        CANCELLED.
    """
    rows, w = branch_block.rows_of(closed, n), layout.view_workspace(ints, work)
    limited = options[state.LIMITED] != 0.0
    while counters[state.SEARCHES] < options[state.MAX_SEARCHES]:
        best = 0
        for i in range(1, count):
            best = i if rows[i, n] < rows[best, n] else best
        square = rows[best, n]
        if square == math.inf:
            break
        put(w.state, rows[best], n)
        for i in range(count):
            # Where a subproblem has no solution, its two candidates are one.
            rows[i, n] = math.inf if rows[i, n] == square else rows[i, n]
        counters[state.SEARCHES] += 1
        code = descent.descend(ints, reals, options, limited, cancel, counters, work)
        if code == state.DEADLINE or code == state.CANCELLED:
            counters[state.CLOCK_ENDED] = 1
            return code
        if code == state.RUNNING and restart_search.settle(
            ints, reals, options, 1, counters, work
        ):
            return state.RUNNING
    return state.EXHAUSTED


@kernel
def _call_closed_form(closed, target, seed, q):
    """
    Call the closed form for one pose; write the branch within limits that is nearest to the seed into ``q``, if any.

    :param closed: address of the block of the closed form.
    :param target: (4, 4) target pose.
    :param seed: (n,) the seed [rad or m].
    :returns: (number of written branches, number of certified candidates with those outside the limits,
        position error [m], rotation error [rad]); the errors mean nothing if no branch was written.
    """
    n = q.shape[0]
    written = branch_block.search_block(closed, target, seed)
    rows = branch_block.rows_of(closed, n)
    counters = branch_block.integers(closed, branch_block.COUNTERS)
    if written > 0:
        put(q, rows[0], n)
    return written, counters[closed_form.CERTIFIED], rows[0, n], rows[0, n + 1]


@kernel
def _report(ints, reals, options, counters, work, code, branches, q):
    """
    Write the solution, or the best state seen, into ``q``; return the eight results of :func:`search_one`.

    For a refused target or seed ``q`` is not written, the errors are infinite, and E is 0.

    :param code: RUNNING if the state is a solution, else the code of the failure.
    :param branches: number of certified candidates, or NOT_CALLED; it is the seventh result.
    """
    w = layout.view_workspace(ints, work)
    iterations, searches = counters[state.ITERATIONS], counters[state.SEARCHES]
    if code == state.BAD_TARGET or code == state.BAD_STATE:
        return code, iterations, searches, math.inf, math.inf, math.inf, branches, 0.0
    if code == state.RUNNING:
        code = state.FOUND
        square = steps.squared_norm(w.residual)
        position, rotation = w.errors[0, 0], w.errors[0, 1]
        norm = math.sqrt(position * position + rotation * rotation)
    else:
        square = restart_search.settle_for_best(ints, reals, options, work)
        norm = math.sqrt(square)
    put(q, w.state, q.shape[0])
    # Take the root and square it again: this gives the same bytes as a search whose result is an array.
    error = math.sqrt(square)
    energy = 0.5 * error * error
    return code, iterations, searches, norm, w.errors[0, 0], w.errors[0, 1], branches, energy
