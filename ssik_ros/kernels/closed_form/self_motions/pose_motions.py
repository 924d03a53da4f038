"""
All curves of one pose by one call, for arms exactly of a class of which eight values of a joint are solved at once.

Problem
-------
The same as that of :mod:`lane_trace`, without given postures.

Solutions
---------
The curves within limits: every one that passes one of the scanned values of the held joint, and those on the arcs that are
found between.

Method
------
The candidates of :mod:`held_search` before their certification, which following a curve does as well.

Degeneracies
------------
Those of :mod:`arcs` and of :mod:`lane_trace`. Where nothing is met the caller has slower ways.

Cost
----
About as long for the curves as for the candidates of the pose.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import held_search, search as common
from ssik_ros.kernels.closed_form.self_motions import lane_trace, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry.vectors import copy

NOT_RIGID, TOO_FAR = -2, -3
"""Returned in place of the number of curves; TOO_FAR: proved to be out of reach."""


@kernel
def find(
    knots, heads, target, seeds, is_done, free, curve_work, counters, ints, reals, spread,
    matrix_t, seed, options, work, places, stack, scratch,
):  # fmt: skip
    """
    Write all curves of a pose; return how many there are, or why that is not known.

    :param knots, heads, free: as for :func:`lane_trace.follow`.
    :param target: (12,) out: T, made exact.
    :param seeds: (m, 7) scratch, with room for every candidate.
    :param is_done: (m,) integers, scratch.
    :param curve_work: (lane_trace.scratch_size(len(seeds)),).
    :param counters, ints, reals, spread, matrix_t, seed, options, work, places, stack, scratch: as for
        :func:`held_search.search`; the seed is not read, and TRIED is how many postures stand in the seeds.
    """
    spread[held_search.TRIED] = 0.0
    run = common.BranchRun(counters, ints, reals, seed, options, work, seeds.shape[0])
    if not common.begin(run, matrix_t):
        return NOT_RIGID
    copy(target, common.target_of(run))
    if common.is_refused(run):
        return TOO_FAR
    held_search.collect(run, spread, places, stack, scratch)
    wanted = int(spread[held_search.WANTED])
    pending = held_search.open_scratch(N, wanted, seeds.shape[0], scratch)[2]
    lower, upper = common.limits_of(run)
    count = int(pending[0])
    spread[held_search.TRIED] = count
    for row in range(count):
        is_done[row] = 0
        for k in range(N):
            value = pending[1 + row * (N + 1) + k]
            # Its winding next to the middle of the range; where every angle has one inside, any will do.
            has_limits = upper[k] - lower[k] < 2.0 * math.pi
            middle = 0.5 * (lower[k] + upper[k]) if has_limits else 0.0
            seeds[row, k] = segments.winding(value, middle)
    rows = seeds[:count]
    return lane_trace.follow(knots, heads, ints, reals, target, rows, is_done, free, curve_work)
