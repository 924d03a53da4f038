"""
Count the branches within limits of many poses of one arm; for most arms of six joints, without computing the branches.

For other arms, and at singular poses, the branches are computed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.counting import count_poses
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, PLAIN

CHUNK = 4096
"""Number of poses in one kernel call."""


class BranchCounts(NamedTuple):
    """Numbers of branches within limits of many poses; ``is_doubtful`` marks singular poses, which may have more."""

    counts: IntArray
    """(m,) number of branches that were found within limits; -1 if a pose is not a rigid transform."""
    searched: int
    """Number of poses that were searched one by one instead of counted together."""
    is_doubtful: NDArray[np.bool_]
    """(m,) True if a pose is singular or nearly singular, so that further branches may exist."""


def is_countable(arm: AnalyticArm) -> bool:
    """
    Return whether the counting kernel supports an arm: six joints, no held joint, no elimination.

    :param arm: closed form of the arm.
    """
    plan = arm.plan
    return plan.size == 6 and plan.held < 0 and int(plan.ints[search.CUT]) < 0


def count_branches(
    arm: AnalyticArm, poses: FloatArray, request: BranchRequest = PLAIN, threads: int = 1
) -> BranchCounts:
    """
    Return the number of branches within limits that the closed form finds for each pose; -1 for a pose not rigid.

    Singular poses are solved one by one. If :func:`is_countable` is false for the arm, the branches of each pose are
    computed; for an arm with a held joint, they are the branches at samples of this joint.

    :param arm: closed form of the arm.
    :param poses: (m, 4, 4) poses of the tip in the base, contiguous.
    :param request: limits and tool; its seed is ignored.
    :param threads: number of threads that share the work.
    :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
    :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
    """
    unseeded = request._replace(seed=None)
    if not is_countable(arm):
        branches = search_batch(arm, poses, None, unseeded, threads)
        is_doubtful = branches.counts[:, search.DOUBT] > 0
        return BranchCounts(branches.counts[:, search.COUNT].copy(), len(poses), is_doubtful)
    counts = np.zeros(len(poses), dtype=np.int64)
    prepared = arm.requests.prepare(unseeded)

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
        refined = arm.branches_refined(poses[pose], unseeded)
        counts[pose] = -1 if refined is None else len(refined.q)
    return BranchCounts(counts, searched, is_doubtful)
