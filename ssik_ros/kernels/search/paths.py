"""
Many poses in one call: each on its own, or one after the other as the path of an arm.

Problem
    Given poses, write for each a configuration that reaches it. On a path, neighbouring configurations should be near
    each other, and the caller must see where they are not.

Method
    On their own, poses are searched like single ones: the result does not depend on the other poses. On a path the
    search of a pose starts at the configuration before it and is first confined to a box around that one. When the
    box holds no solution: with a hard bound, the nearest state in the box that is found goes into the path;
    otherwise the search goes on without the box, and the caller sees the jump by the length of the step.

Solutions
    One row for each pose; its code says whether it is one.

Degeneracies
    A pose that is no rigid transform leaves a row of NaN and does not end the path.

Cost
    That of one search for each pose.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import descent, restart_search, state, tracking

BOX_SEARCHES = 3
"""Searches within the box."""

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
    Search every pose on its own.

    :param targets: (N, 4 t, 4); seeds: (N, nq) or (1, nq), one for all.
    :param first, end: rows to solve.
    :param cancel: (1,) int64; not zero ends the batch, the remaining rows keep their contents.
    :param counters, work, out: as for one search; ``out`` has two rows.
    :param q: (N, nq); numbers: (N, 1 + 2 c) E, then position and rotation error of each constraint; codes: (N, CODES).
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
    """Write the result of a search into the rows of its pose."""
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
    ints, reals, base, own, targets, bounds, hard, cancel, counters, work, out, q, numbers, codes
):
    """
    Search the poses of a path one after the other, each from the configuration before it.

    :param base: options of a search with a seed; own: a copy of them, overwritten.
    :param targets: (N, 4 t, 4); the configuration before the first one stands in ``reference`` of the workspace.
    :param bounds: (nv,) largest step of each joint from pose to pose.
    :param hard: whether a step may never be longer.
    :param cancel, counters, work, out, q, numbers, codes: as for :func:`solve_each`.
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
            tracking.confine(ints, reals, base, w.reference, bounds, own)
            own[state.MAX_SEARCHES] = min(BOX_SEARCHES, base[state.MAX_SEARCHES])
            code = restart_search.search(
                ints, reals, own, state.FRESH, 0, cancel, counters, work, out
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
            come_nearer(ints, reals, own, cancel, counters, work)
        write_row(ints, code, counters, work, out, q[i], numbers[i], codes[i])
        refused = code == state.BAD_TARGET or code == state.BAD_STATE
        if code == state.FOUND or (hard and not refused):
            vectors.copy(w.reference, q[i])


@kernel
def come_nearer(ints, reals, options, cancel, counters, work):
    """Replace the best state of a search in a box by that of a descent in which every step comes nearer, if it is."""
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.reference)
    square, _ = tracking.approach(ints, reals, options, cancel, counters, work)
    if square < w.scalars[state.BEST_ERROR] ** 2:
        w.scalars[state.BEST_ERROR] = math.sqrt(square)
        vectors.copy(w.best, w.state)
    descent.measure(ints, reals, options, work, w.best)
