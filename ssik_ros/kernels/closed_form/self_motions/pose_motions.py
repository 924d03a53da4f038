"""
Find curves on which seven joints keep a pose, within the limits, by one call of :func:`find`.

Problem
-------
Only a pose is given. Find postures that reach it, and follow the curves through them. The arm must fit exactly a class
whose kernel solves eight values of the held joint at once.

Solutions
---------
The curves within limits that pass a scanned value of the held joint, and curves on the arcs found between the values.

Method
------
Candidates come from :mod:`held_search` without certification, because following a curve with :mod:`lane_trace`
certifies them, too.

Degeneracies
------------
As in :mod:`arcs` and in :mod:`lane_trace`: short curves between scanned values may be missed. If no candidate is found,
the caller uses slower methods.

Cost
----
About the same time for the candidates of the pose and for the curves.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import held_search, search as common
from ssik_ros.kernels.closed_form.self_motions import lane_trace
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.vectors import copy

NOT_RIGID, TOO_FAR = -2, -3
"""Returned in place of the number of curves. TOO_FAR: the pose is proved to be out of reach."""


@kernel
def find(
    knots, heads, target, seeds, is_done, free, curve_work, counters, ints, reals, spread,
    matrix_t, seed, options, work, places, stack, scratch,
):  # fmt: skip
    """
    Write the curves of a pose within the limits to which sampled values of the held joint lead; return their number.

    Short curves between the sampled values may be missed.

    :param knots: (., segments.COLUMNS) out: knots of all curves in turn, postures with tangent and arc length.
    :param heads: (m, 2) integers out: first row and number of rows of each curve.
    :param target: (12,) out: the target with an orthonormal rotation, row by row, then its translation.
    :param seeds: (m, 7) scratch, with room for every candidate.
    :param is_done: (m,) integers, scratch.
    :param free: (7,) indices of the joints: 0 to 6.
    :param curve_work: (lane_trace.scratch_size(len(seeds)),) scratch.
    :param counters, ints, reals: counters of the search for candidates, and the plan of the arm.
    :param spread: (held_search.SPREAD,) range of the held joint and requested number of values; TRIED becomes the
        number of postures in ``seeds``.
    :param matrix_t: (4, 4) target pose of the tip.
    :param seed, options: the seed is not read, because HAS_SEED of the options must be 0.
    :param work, places, stack, scratch: scratch, as for :func:`held_search.search`.
    :returns: number of curves; -1 if their knots do not fit; NOT_RIGID (-2) if the pose is not a rigid transform;
        TOO_FAR (-3) if the pose is proved to be out of reach.
    """
    spread[held_search.TRIED] = 0.0
    run = common.BranchRun(counters, ints, reals, seed, options, work, seeds.shape[0])
    if not common.begin(run, matrix_t):
        return NOT_RIGID
    copy(target, common.work_of(run).target)
    if common.is_refused(run):
        return TOO_FAR
    held_search.collect(run, spread, places, stack, scratch)
    wanted = int(spread[held_search.WANTED])
    pending = held_search.view_scratch(scratch, N, wanted, seeds.shape[0]).pending
    lower, upper = common.limits_of(run)
    count = int(pending[0])
    spread[held_search.TRIED] = count
    for row in range(count):
        is_done[row] = 0
        for k in range(N):
            value = pending[1 + row * (N + 1) + k]
            # Use the winding nearest to the middle of the range. If the range covers a full turn, any winding will do.
            has_limits = upper[k] - lower[k] < 2.0 * math.pi
            middle = 0.5 * (lower[k] + upper[k]) if has_limits else 0.0
            seeds[row, k] = joint_values.winding(value, middle)
    rows = seeds[:count]
    return lane_trace.follow(knots, heads, ints, reals, target, rows, is_done, free, curve_work)
