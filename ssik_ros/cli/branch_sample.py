"""Number of branches of an arm at random poses, and time of a solve on this machine."""

import math
import time

import numpy as np

from ssik_ros.arrays import finite_range
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.value_class import dataclass

POSES = 50
SAMPLE_SEED = 20_250_801


@dataclass(frozen=True, slots=True)
class BranchSample:
    """Statistics of solves at random poses within the limits; branches are counted without limits."""

    poses: int
    """Number of poses."""
    solved: int
    """Number of poses with at least one branch."""
    fewest: int
    """Smallest number of branches of a pose; 0 if a pose has none."""
    median: float
    """Median of the number of branches."""
    most: int
    """Largest number of branches of a pose."""
    worst_residual: float
    """Largest Frobenius norm of the difference between the (4, 4) pose of a branch and its target; NaN if no pose was
    solved."""
    median_us: float
    """Median time of a solve for all branches of a pose [us]."""


def sample_branches(arm: AnalyticArm, poses: int = POSES) -> BranchSample:
    """
    Solve random poses of an arm, and return the statistics of its branches and times.

    The poses are from random joint values within the limits, the same ones in every call. The branches are counted
    without limits. One more solve runs before the measurement, so that no time includes a warm-up.

    :param arm: the closed form of the arm.
    :param poses: number of random poses, at least 1.
    """
    rng = np.random.default_rng(SAMPLE_SEED)
    lower, upper = finite_range(arm.chain.lower, arm.chain.upper)
    request = BranchRequest(mode=KEEP_ALL)
    arm.branches(arm.chain.home.copy(), request)
    counts, times, residuals = [], [], [0.0]
    for _ in range(poses):
        pose = arm.chain.pose(rng.uniform(lower, upper))
        start = time.perf_counter()
        branches = arm.branches(pose, request)
        times.append(1e6 * (time.perf_counter() - start))
        counts.append(0 if branches is None else len(branches.q))
        if branches is not None:
            residuals.extend(branches.errors[:, 2].tolist())
    return BranchSample(
        poses,
        sum(count > 0 for count in counts),
        min(counts),
        float(np.median(counts)),
        max(counts),
        max(residuals) if any(counts) else math.nan,
        float(np.median(times)),
    )
