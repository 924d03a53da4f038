"""
Solve many poses in one call: each independently, or in order as the path of an arm.

:func:`solve_each` solves independent poses, :func:`solve_path` a path.

Problem
    For each of several poses, write a configuration that reaches it. On a path, neighbouring configurations should be
    near each other, and the caller must see the jumps.

Method
    Independent poses are searched like single poses; the result does not depend on the other poses. On a path, the
    search of a pose starts at the configuration of the last pose that has one, and is first confined to a box around
    it. If no solution is found in the box and the bound is hard, the nearest state in the box becomes part of the path.
    If the bound is not hard, the search continues without the box, and the caller sees the jump by the length of the
    step.

Solutions
    One row for each pose; its code says whether the row is a solution.

Degeneracies
    If a pose is not a rigid transform, its row is NaN, and the path continues.

Cost
    One search for each pose.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import descent, restart_search, state, tracking

BOX_SEARCHES = 3
"""Number of searches within the box."""

# Columns of ``codes``: how each search ended.
CODE = 0
ITERATIONS = 1
SEARCHES = 2
LIMITS_SEEN = 3
STALLED = 4
SINGULAR_SEEN = 5
UNSAMPLED_VARIABLE = 6
CODES = 7


@kernel
def solve_each(
    ints,
    reals,
    options,
    targets,
    seeds,
    first,
    end,
    cancel,
    counters,
    work,
    out,
    q,
    numbers,
    codes,
):
    """
    Search the poses ``first`` to ``end`` - 1 of N, independently of each other.

    :param targets: (N, 4 t, 4) for each pose its t target matrices, one below the other.
    :param seeds: (N, nq), or (1, nq) for one seed for all poses.
    :param first, end: first pose to search, and the pose after the last one.
    :param cancel: (1,) int64; not zero ends the batch, and the rows of the other poses are not written.
    :param counters, work: state of one search at a time, scratch for the caller.
    :param out: (2, nq + 2 c + 2) scratch: a solution and a candidate, as :func:`restart_search.search` writes them.
    :param q: (N, nq) out: solution of each pose, or the best state without a solution; NaN for a refused pose.
    :param numbers: (N, 1 + 2 c) out: E, half the squared weighted residual, then position error [m] and rotation error
        [rad] of each of c constraints; NaN for a refused pose.
    :param codes: (N, CODES) out: code of the search, FOUND for a solution, then its counts, see CODE to CODES.
    """
    w = layout.view_workspace(ints, work)
    for i in range(first, end):
        if cancel[0] != 0:
            return
        for k in range(w.matrices.shape[0]):
            vectors.copy(w.matrices[k], targets[i, k])
        vectors.copy(w.reference, seeds[i if seeds.shape[0] > 1 else 0])
        code = restart_search.search(
            ints, reals, options, state.FRESH, 0, cancel, counters, work, out
        )
        write_row(ints, code, counters, work, out, q[i], numbers[i], codes[i])


@kernel
def write_row(ints, code, counters, work, out, q, numbers, codes):
    """
    Write the result of the search of one pose into its rows: the solution, else the best state.

    For a refused pose (invalid target or seed), ``q`` and ``numbers`` are NaN. Without a solution, ``errors`` of the
    workspace must belong to ``best``.

    :param code: result of :func:`restart_search.search`.
    :param out: its array of solutions.
    :param q, numbers, codes: (nq,), (1 + 2 c,), (CODES,) out: rows of the arrays of :func:`solve_each`.
    """
    w = layout.view_workspace(ints, work)
    refused = code == state.BAD_TARGET or code == state.BAD_STATE
    if refused:
        vectors.fill(q, math.nan)
        vectors.fill(numbers, math.nan)
    elif code == state.FOUND:
        nq = q.shape[0]
        vectors.copy(q, out[0])
        numbers[0] = 0.5 * w.scalars[state.ERROR] ** 2
        vectors.copy(numbers[1:], out[0, nq:])
    else:
        vectors.copy(q, w.best)
        numbers[0] = 0.5 * w.scalars[state.BEST_ERROR] ** 2
        for c in range(w.errors.shape[0]):
            numbers[1 + 2 * c] = w.errors[c, 0]
            numbers[2 + 2 * c] = w.errors[c, 1]
    codes[CODE] = code
    codes[ITERATIONS] = counters[state.ITERATIONS]
    codes[SEARCHES] = counters[state.SEARCHES]
    codes[LIMITS_SEEN] = counters[state.LIMITS_SEEN]
    codes[STALLED] = counters[state.STALLED]
    codes[SINGULAR_SEEN] = counters[state.SINGULAR_SEEN]
    codes[UNSAMPLED_VARIABLE] = counters[state.UNSAMPLED_VARIABLE]


@kernel
def solve_path(
    ints,
    reals,
    base,
    box_options,
    targets,
    bounds,
    hard,
    cancel,
    counters,
    work,
    out,
    q,
    numbers,
    codes,
):
    """
    Search the poses of a path in order, each from the configuration of the last pose that has one.

    A pose has a configuration if it is solved, or with ``hard`` unless it is refused. After the first pose, each search
    is first confined to a box of ``bounds`` around this configuration. If its starts there are used up, a search
    without the box follows, unless ``hard``.

    :param base: options of a search with a seed.
    :param box_options: a copy of these options, overwritten.
    :param targets: (N, 4 t, 4) for each pose its t target matrices, one below the other.
    :param work: workspace; ``reference`` has the configuration before the first pose.
    :param bounds: (nv,) largest step of each joint from pose to pose [rad or m].
    :param hard: True never leaves the box, and takes the state in it nearest to the target if it has no solution.
    :param cancel, counters, out, q, numbers, codes: flag, scratch and results, described at :func:`solve_each`.
    """
    w = layout.view_workspace(ints, work)
    iterations, searches = 0, 0
    for i in range(targets.shape[0]):
        if cancel[0] != 0:
            return
        for k in range(w.matrices.shape[0]):
            vectors.copy(w.matrices[k], targets[i, k])
        code = state.EXHAUSTED
        iterations, searches = 0, 0
        if i > 0:
            tracking.confine(ints, reals, base, w.reference, bounds, box_options)
            box_options[state.MAX_SEARCHES] = min(BOX_SEARCHES, base[state.MAX_SEARCHES])
            code = restart_search.search(
                ints, reals, box_options, state.FRESH, 0, cancel, counters, work, out
            )
            iterations = counters[state.ITERATIONS]
            searches = counters[state.SEARCHES]
        if i == 0 or (not hard and code == state.EXHAUSTED):
            code = restart_search.search(
                ints, reals, base, state.FRESH, 0, cancel, counters, work, out
            )
            counters[state.ITERATIONS] += iterations
            counters[state.SEARCHES] += searches
        stopped = code == state.EXHAUSTED or code == state.OUT_OF_REACH
        if i > 0 and hard and stopped:
            come_nearer(ints, reals, box_options, cancel, counters, work)
        write_row(ints, code, counters, work, out, q[i], numbers[i], codes[i])
        refused = code == state.BAD_TARGET or code == state.BAD_STATE
        if code == state.FOUND or (hard and not refused):
            vectors.copy(w.reference, q[i])


@kernel
def come_nearer(ints, reals, options, cancel, counters, work):
    """
    Take steps towards the target of a failed search inside its box, from ``reference`` of the workspace.

    Steps that do not come nearer are undone. If the end is nearer to the target than ``best``, it replaces ``best``.
    Then ``best`` is measured again.

    :param options: of the search, with the box as limits.
    """
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.reference)
    square, _ = tracking.approach(ints, reals, options, 0.0, cancel, counters, work, w.scalars[:0])
    if square < w.scalars[state.BEST_ERROR] ** 2:
        w.scalars[state.BEST_ERROR] = math.sqrt(square)
        vectors.copy(w.best, w.state)
    descent.measure(ints, reals, options, work, w.best)
