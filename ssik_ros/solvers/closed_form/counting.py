"""How many branches within limits many poses of one arm have, without the branches."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.counting import count_poses
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest, PLAIN
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays

CHUNK = 4096
"""Poses of one kernel call."""


class BranchCounts(NamedTuple):
    """How many branches some poses have."""

    counts: IntArray
    """(m,) branches within limits, -1 for no rigid transform."""
    searched: int
    """Poses that were not counted with others, but searched one by one."""
    is_doubtful: NDArray[np.bool_]
    """(m,) whether other branches may exist, because a pose is singular or nearly so."""


def is_countable(arm: AnalyticArm) -> bool:
    """
    Return whether one kernel call counts the branches of many poses: six joints with a class of their own.

    :param arm: the closed form.
    """
    plan = arm.plan
    return plan.size == 6 and plan.held < 0 and int(plan.ints[search.CUT]) < 0


def count_branches(
    arm: AnalyticArm, poses: FloatArray, request: BranchRequest = PLAIN, threads: int = 1
) -> BranchCounts:
    """
    Return how many branches within limits many poses have.

    :param arm: the closed form.
    :param poses: (m, 4, 4) contiguous.
    :param request: limits and tool; no seed is read.
    :param threads: how many threads share the work.
    """
    own = request._replace(seed=None)
    if not is_countable(arm):
        found = search_batch(arm, poses, None, own, threads)
        is_doubtful = found.counts[:, search.DOUBT] > 0
        return BranchCounts(found.counts[:, search.COUNT].copy(), len(poses), is_doubtful)
    counts = np.zeros(len(poses), dtype=np.int64)
    prepared = arm.prepare(own)

    def work(start: int) -> int:
        arrays, scratch = BranchArrays(6, prepared.capacity), np.empty(count_poses.SCRATCH)
        searched = 0
        for first in range(start, len(poses), CHUNK * threads):
            part = slice(first, first + CHUNK)
            searched += count_poses.count_many(
                counts[part],
                poses[part],
                prepared.ints,
                prepared.reals,
                prepared.samples,
                prepared.seed,
                prepared.options,
                arrays.rows,
                arrays.counters,
                arrays.work,
                scratch,
            )
        return searched

    starts = range(0, min(len(poses), CHUNK * threads), CHUNK)
    if len(starts) <= 1:
        searched = sum(work(start) for start in starts)
    else:
        with ThreadPoolExecutor(len(starts)) as pool:
            searched = sum(pool.map(work, starts))
    is_doubtful = counts == count_poses.DOUBTFUL
    for pose in np.flatnonzero(is_doubtful):
        found_one = arm.branches_refined(poses[pose], own)
        counts[pose] = -1 if found_one is None else len(found_one.q)
    return BranchCounts(counts, searched, is_doubtful)
