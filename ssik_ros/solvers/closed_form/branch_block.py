"""
Find the branches of one pose by a single kernel call, for loops with a hundred thousand calls a second.

:class:`PlainBranches` is the call, for arms without a held joint and without elimination. :class:`BranchBlock` is the
memory that it needs.
"""

from collections.abc import Callable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import branch_block, search
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_arrays import Prepared
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

NDARRAY, FLOAT64 = np.ndarray, np.dtype(np.float64)
POSE_SHAPE = (4, 4)


class BranchBlock:
    """
    Request, result and scratch arrays of one search, in one block of memory that a kernel reads by its address.

    The layout is in :mod:`ssik_ros.kernels.closed_form.branches.branch_block`.
    """

    __slots__ = ('address', 'block', 'q', 'rows')

    def __init__(self, prepared: Prepared, numbers: FloatArray | None = None) -> None:
        """
        Allocate the block and copy the request into it.

        :param prepared: request for a chain without a held joint.
        :param numbers: extra numbers for the caller's use, copied to the part OWN of the block; None for no extra
            numbers.
        """
        n, capacity = len(prepared.seed), search.BRANCHES_OF_SIX
        parts = {
            branch_block.PLAN_INTS: prepared.ints,
            branch_block.COUNTERS: np.zeros(search.COUNTERS + capacity, dtype=np.int64),
            branch_block.PLAN_REALS: prepared.reals,
            branch_block.SAMPLES: prepared.samples,
            branch_block.OPTIONS: prepared.options,
            branch_block.POSE: np.zeros(16),
            branch_block.SEED: np.zeros(n),
            branch_block.ROWS: np.zeros(capacity * (n + 3)),
            branch_block.FOUND: np.zeros(capacity * n),
            branch_block.WORK: np.zeros(search.work_size(n, capacity)),
            branch_block.OWN: np.zeros(0) if numbers is None else numbers,
        }
        sizes = [len(parts[part]) for part in range(branch_block.PARTS)]
        begins = branch_block.HEAD + np.concatenate([[0], np.cumsum(sizes)])
        head = np.column_stack([begins[:-1], sizes]).ravel()
        arrays = [head, *(parts[part] for part in range(branch_block.PARTS))]
        self.block = np.concatenate([array.view(np.float64) for array in arrays])
        self.address = address_of(self.block)
        rows, solutions = (
            self.block[begins[part] :][: sizes[part]].reshape(capacity, -1)
            for part in (branch_block.ROWS, branch_block.FOUND)
        )
        self.rows = tuple(rows[:count] for count in range(capacity + 1))
        """Views of the first k rows of joint values and errors (k, n + 3); index k."""
        self.q = tuple(solutions[:count] for count in range(capacity + 1))
        """Views of the first k rows of joint values (k, n); index k."""


class PlainBranches:
    """Finds the branches of single poses for one fixed request, by one kernel call; several threads may call it."""

    __slots__ = ('_idle', '_request', '_seed', '_shape', '_solve')

    def __init__(self, arm: AnalyticArm, request: BranchRequest) -> None:
        """
        Prepare the request.

        :param arm: an arm without a held joint and without elimination.
        :param request: options of the request, which must have a seed; it serves calls without a seed.
        """
        self._seed = request.seed
        self._shape = (arm.plan.size,)
        self._request = arm.requests.prepare(request)
        self._solve: Callable[..., int] = branch_block.solve
        self._idle: list[BranchBlock] = []

    @classmethod
    def of(cls, arm: AnalyticArm, request: BranchRequest) -> 'PlainBranches | None':
        """
        Return the call, or None for an arm that a single kernel call does not solve: with a held joint, or elimination.

        :param arm: closed form of any arm.
        :param request: options of the request, which must have a seed; it serves calls without a seed.
        """
        is_served = arm.plan.held < 0 and arm.plan.ints[search.CUT] < 0
        return cls(arm, request) if is_served else None

    def find(self, pose: object, seed: object, with_errors: bool) -> FloatArray | None:
        """
        Return the branches, nearest to the seed first; None if an argument has another type or shape.

        Return None also if the pose is not rigid, or is (nearly) singular, or if the seed is not finite or too large.

        :param pose: (4, 4) pose of the tip in the base.
        :param seed: (n,) replaces the seed of the request; None keeps it.
        :param with_errors: True returns joint values and errors (k, n + 3), False joint values (k, n).
        """
        if type(pose) is not NDARRAY or pose.dtype is not FLOAT64 or pose.shape != POSE_SHAPE:
            return None
        if seed is None:
            seed = self._seed
        elif not (type(seed) is NDARRAY and seed.dtype is FLOAT64 and seed.shape == self._shape):
            return None
        try:
            block = self._idle.pop()
        except IndexError:
            block = BranchBlock(self._request)
        count = self._solve(block.address, pose, seed)
        branches = None
        if count >= 0:
            branches = (block.rows if with_errors else block.q)[count].copy()
        self._idle.append(block)
        return branches
