"""
One pose, one seed, one answer, asked from Python at the least cost: a search, or a closed form that takes less time.

Problem
    Find a state within limits that reaches a pose within tolerance: with restarts alone (:func:`search_one`), or by a
    closed form of all joints that needs no elimination (:func:`answer`).

Method
    All arrays that stay from call to call lie in blocks of memory: that of
    :func:`ssik_ros.kernels.search.single.ask`, and one of the closed form. With a closed form

    1. the seed's own pose is compared with the target. Where it is near, the seed is the start of one descent, whose
       result counts when no joint has gone further than a bound: near a singular posture a descent may jump to another
       branch;
    2. otherwise the closed form writes the branch that is nearest to the seed;
    3. where there is none, a state within tolerance of a pose beyond the edge is looked for from the candidates that the
       closed form has made, brought inside the limits: nearest to the pose first, as many as the search has starts.

Solutions
    Each is measured at exactly the numbers that are returned. The seed is returned bit by bit where it solves.

Cost
    That of the search or of the closed form; the call itself takes about 0.2 us.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import branch_block, search as closed_form
from ssik_ros.kernels.geometry.addresses import integers_at
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import newton_search, single
from ssik_ros.kernels.search.pose_search import (
    BAD_STATE,
    BAD_TARGET,
    CANCELLED,
    CLOCK_ENDED,
    DEADLINE,
    EXHAUSTED,
    FOUND,
    ITERATIONS,
    RUNNING,
    SEARCHES,
    STOP,
)

TOLERANCE, FARTHEST, LONGEST_WAY = 0, 1, 2
"""What a closed form's block holds of its own: norm over both errors that an answer may have; error at the seed, and way of
a joint, from which on the closed form answers."""
NUMBERS = 3
NOT_ASKED = -1
"""What stands in place of the number of branches where no closed form was asked."""
MISSHAPEN = -1
"""Code for arrays of other shapes than are asked for, which nobody has looked at."""


@kernel
def search_one(address, timeout_ns, flag, q0, target, q):
    """
    Run a search for one pose whose arrays lie in one block.

    :param address: of the block, see :func:`ssik_ros.kernels.search.single.ask`.
    :param timeout_ns: wall-clock budget; <= 0 for none.
    :param flag: address of an int64 that ends the search when it is not zero.
    :param q0: (n,) start, the first n variables of the problem; the others keep what stands in ``reference``.
    :param target: (4, 4).
    :param q: (n,) result: the solution, or the best state seen.
    :returns: code as of :func:`ssik_ros.kernels.search.newton_search.search`, or MISSHAPEN; updates, searches, norm of the
        error, position and rotation error, branches.
    """
    if q0.shape[0] != q.shape[0] or target.shape[0] != 4 or target.shape[1] != 4:
        return MISSHAPEN, 0, 0, math.inf, math.inf, math.inf, NOT_ASKED
    ints, counters, _own_cancel, reals, options, work = single.views(address)
    cancel = integers_at(flag, 0, 1)
    single.load(ints, work, q0, target)
    code = newton_search.prove_or_begin(ints, reals, options, timeout_ns, counters, work)
    if code == RUNNING:
        code = newton_search.find(ints, reals, options, 1, cancel, counters, work)
    norm, position, rotation = _write_state(ints, reals, options, work, code, q)
    code = FOUND if code == RUNNING else code
    return code, counters[ITERATIONS], counters[SEARCHES], norm, position, rotation, NOT_ASKED


@kernel
def answer(address, closed, timeout_ns, flag, q0, target, q):
    """
    Follow the seed, ask the closed form, or search at the edge.

    :param closed: address of the closed form's block, see :mod:`ssik_ros.kernels.closed_form.branches.branch_block`; the NUMBERS are
        its own.
    :param address, timeout_ns, flag, q0, target, q: as for :func:`search_one`; starts at the edge are as many as the
        options of the search allow.
    :returns: as :func:`search_one`; at last how many branches there are without regard to limits.
    """
    if q0.shape[0] != q.shape[0] or target.shape[0] != 4 or target.shape[1] != 4:
        return MISSHAPEN, 0, 0, math.inf, math.inf, math.inf, NOT_ASKED
    ints, counters, _own_cancel, reals, options, work = single.views(address)
    cancel = integers_at(flag, 0, 1)
    single.load(ints, work, q0, target)
    code = newton_search.prove_or_begin(ints, reals, options, timeout_ns, counters, work)
    branches = NOT_ASKED
    if code == RUNNING:
        stop, numbers = counters[STOP], branch_block.floats(closed, branch_block.OWN)
        code = _follow(ints, reals, options, numbers, cancel, counters, work)
        if code != RUNNING:
            w = layout.view_workspace(ints, work)
            written, branches, position, rotation = _ask_closed_form(
                closed, w.matrices, w.reference, q
            )
            # Not hypot, which C libraries round differently.
            norm = math.sqrt(position * position + rotation * rotation)
            if written > 0 and norm <= numbers[TOLERANCE]:
                return FOUND, counters[ITERATIONS], 1, norm, position, rotation, branches
            # What the closed form certifies is not enough: nothing is proved.
            branches = NOT_ASKED if written > 0 else branches
            # The descent has moved the state; the first start is the seed again.
            newton_search.begin(ints, reals, options, timeout_ns, counters, work)
            counters[STOP] = stop
            count = 0
            if written == 0:
                count = _place_candidates(ints, reals, options, closed, q.shape[0], work)
            if count > 0:
                code = _search_beside(
                    ints, reals, options, closed, count, q.shape[0], cancel, counters, work
                )
            else:
                code = newton_search.find(ints, reals, options, 1, cancel, counters, work)
    norm, position, rotation = _write_state(ints, reals, options, work, code, q)
    code = FOUND if code == RUNNING else code
    return code, counters[ITERATIONS], counters[SEARCHES], norm, position, rotation, branches


@kernel
def _follow(ints, reals, options, numbers, cancel, counters, work):
    """Descend from the state if it is near; return RUNNING when that led to a solution that is near, too."""
    if not numbers[FARTHEST] > 0.0:
        return EXHAUSTED
    counters[SEARCHES] = 1
    limited = options[newton_search.LIMITED] != 0.0
    options[newton_search.NEAR_SQUARED] = numbers[FARTHEST] * numbers[FARTHEST]
    code = newton_search.descend(ints, reals, options, limited, cancel, counters, work)
    options[newton_search.NEAR_SQUARED] = 0.0
    if code != RUNNING or not newton_search.settle(ints, reals, options, counters, work):
        return EXHAUSTED
    w = layout.view_workspace(ints, work)
    for k in range(w.state.shape[0]):
        if not abs(w.state[k] - w.reference[k]) <= numbers[LONGEST_WAY]:
            return EXHAUSTED
    return RUNNING


@kernel
def _place_candidates(ints, reals, options, closed, n, work):
    """
    Write the candidates of a closed form inside the limits to its rows, and their squared errors; return how many.

    :param n: number of joints.
    """
    rows = branch_block.rows_of(closed, n)
    raw = closed_form.candidates_in(branch_block.floats(closed, branch_block.WORK), n)
    count = branch_block.integers(closed, branch_block.COUNTERS)[closed_form.RAW]
    w, variable_i = layout.view_workspace(ints, work), layout.view_tables(ints, reals).variable_i
    for i in range(count):
        for k in range(n):
            w.trial[k] = raw[i, k]
        if options[newton_search.LIMITED] != 0.0:
            steps.clamp_seed(variable_i, w.lower, w.upper, w.trial, w.trial)
        square, _ = newton_search.look(ints, reals, options, work, w.trial)
        for k in range(n):
            rows[i, k] = w.trial[k]
        rows[i, n] = square
    return count


@kernel
def _search_beside(ints, reals, options, closed, count, n, cancel, counters, work):
    """
    Descend from the candidates of a closed form that were placed, the nearest ones first; return as a search does.

    :param count, n: how many candidates there are, of how many joints.
    """
    rows, w = branch_block.rows_of(closed, n), layout.view_workspace(ints, work)
    limited = options[newton_search.LIMITED] != 0.0
    while counters[SEARCHES] < options[newton_search.MAX_SEARCHES]:
        best = 0
        for i in range(1, count):
            best = i if rows[i, n] < rows[best, n] else best
        square = rows[best, n]
        if square == math.inf:
            break
        for k in range(n):
            w.state[k] = rows[best, k]
        for i in range(count):
            # Where a subproblem has no solution, its two candidates are one.
            rows[i, n] = math.inf if rows[i, n] == square else rows[i, n]
        counters[SEARCHES] += 1
        code = newton_search.descend(ints, reals, options, limited, cancel, counters, work)
        if code == DEADLINE or code == CANCELLED:
            counters[CLOCK_ENDED] = 1
            return code
        if code == RUNNING and newton_search.settle(ints, reals, options, counters, work):
            return RUNNING
    return EXHAUSTED


@kernel
def _ask_closed_form(closed, target, seed, q):
    """
    Write the branch that is nearest to the seed.

    :returns: how many branches were written, how many there are, those outside the limits included, and position and
        rotation error.
    """
    n = q.shape[0]
    written = branch_block.search_block(closed, target, seed)
    rows = branch_block.rows_of(closed, n)
    counters = branch_block.integers(closed, branch_block.COUNTERS)
    if written > 0:
        for k in range(n):
            q[k] = rows[0, k]
    return written, counters[closed_form.CERTIFIED], rows[0, n], rows[0, n + 1]


@kernel
def _write_state(ints, reals, options, work, code, q):
    """
    Write the solution, or the best state seen; return the norm of its error, its position and its rotation error.

    :param code: RUNNING where the state is a solution.
    """
    w = layout.view_workspace(ints, work)
    if code == RUNNING:
        # As a search with every option writes it, to the last bit.
        position, rotation = w.errors[0, 0], w.errors[0, 1]
        square = position * position + rotation * rotation
    elif code != BAD_TARGET and code != BAD_STATE:
        square = newton_search.settle_for_best(ints, reals, options, work)
    else:
        return math.inf, math.inf, math.inf
    for k in range(q.shape[0]):
        q[k] = w.state[k]
    return math.sqrt(square), w.errors[0, 0], w.errors[0, 1]
