"""
Find the IK solutions (branches) of a pose of one chain by closed form, as arrays; see :class:`AnalyticArm`.

Shapes: ``n`` joints, ``k`` branches. A pose is the pose of the tip in the base frame, unless a request has a tool.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import held_search, search
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import EXACT_MEETING, EXACT_PARALLEL
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.branch_request import Branches, BranchRequest, PLAIN
from ssik_ros.solvers.closed_form.difficult_poses import DifficultPoses
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.request_arrays import RequestArrays


class AnalyticArm:
    """The closed form of one chain: returns the branches of poses as arrays. Several threads may call it at once."""

    def __init__(
        self,
        chain: SerialChain,
        samples: int = 16,
        *,
        parallel: float = EXACT_PARALLEL,
        meeting: float = EXACT_MEETING,
        held: int | None = None,
    ) -> None:
        """
        Choose the closed form of a chain.

        :param chain: up to seven revolute or prismatic joints.
        :param samples: number of values of the held joint at which a pose of seven joints is solved.
        :param parallel, meeting: tolerances for parallel and for meeting axes, see :func:`make_plan`.
        :param held: index of the joint of seven to hold; None lets the planner choose.
        :raises TopologyMismatch: if the chain has no closed form.
        """
        self.chain = chain
        self.samples = samples
        self.requests = RequestArrays(chain, samples, parallel, meeting, held)
        """Requests as arrays, to prepare one for many poses."""
        self.plan = self.requests.plan
        self._pool: list[BranchArrays] = []
        per_pose = 1 if self.plan.held < 0 else samples + 1
        self._capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * per_pose)
        self.difficult = DifficultPoses(self.requests, self.branches, self._capacity)
        """Slower searches for difficult poses."""

    def branches(self, pose: FloatArray, request: BranchRequest = PLAIN) -> Branches | None:
        """
        Return the branches of a pose, or None if the pose is not a rigid transform.

        By default they are within the limits; with a seed the nearest comes first. If a joint is held, these are the
        branches at the tried values of this joint. At a (nearly) singular pose branches may be missing.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: options of the request.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
        """
        return self._search(pose, self.requests.prepare(request, pose))

    def prepare_rows(self, request: BranchRequest) -> Prepared | None:
        """
        Return the arrays of a request for :meth:`rows`, to be used for many poses.

        Return None if a held joint is sampled over its whole range. Arrays are returned if no joint is held, if the
        request gives the held values, or if only values with a branch within the limits are sampled.

        :param request: options of the request. Values of the seed are ignored; only its presence counts.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        if self.requests.has_arcs(request):
            return self.requests.prepare_arcs(request)
        return None if self.requests.is_refinable(request) else self.requests.prepare(request)

    def rows(
        self,
        pose: FloatArray,
        request: BranchRequest,
        prepared: Prepared,
        seed: FloatArray,
        columns: int,
    ) -> FloatArray | None:
        """
        Return the branches of a pose as rows, for a request that is prepared once and used for many poses.

        If ``prepared`` samples the held joint on arcs (intervals with a branch within the limits) and no branch is
        found, the slower searches of :meth:`branches_refined` follow.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: options of the request.
        :param prepared: the same request, from :meth:`prepare_rows`.
        :param seed: (n,) replaces the seed of the request; ignored if the request has no seed.
        :param columns: number of leading columns to return, at most n + 3.
        :returns: (k, columns) joint values, then position error [m], rotation error [rad] and Frobenius norm of FK - T.
            They are sorted, best first, if the request has a seed. None if the pose is not a rigid transform. None also
            for an arm without a held joint at a (nearly) singular pose: then call :meth:`branches_refined`.
        """
        is_on_arcs = prepared.is_on_arcs
        if is_on_arcs:
            # The search writes the number of tried values into this array.
            prepared = prepared._replace(samples=prepared.samples.copy())
        arrays = self._take_arrays(prepared.capacity)
        try:
            count = arrays.search(prepared, pose, seed)
            if count or not is_on_arcs:
                is_doubtful = self.plan.held < 0 and arrays.counters[search.DOUBT] != 0
                unknown = count < 0 or is_doubtful
                return None if unknown else arrays.rows[:count, :columns].copy()
            branches = self._read(arrays, count, prepared)
        finally:
            self._pool.append(arrays)
        seeded = request if request.seed is None else request._replace(seed=seed)
        branches = self.difficult.beyond_arcs(pose, seeded, branches)
        return np.hstack([branches.q, branches.errors])[:, :columns].copy()

    def _search(self, pose: FloatArray, prepared: Prepared) -> Branches | None:
        """Return the branches of a pose for a request as arrays, or None if the pose is not a rigid transform."""
        arrays = self._take_arrays(prepared.capacity)
        try:
            count = arrays.search(prepared, pose)
            return None if count < 0 else self._read(arrays, count, prepared)
        finally:
            self._pool.append(arrays)

    def _take_arrays(self, capacity: int) -> BranchArrays:
        """
        Take arrays for at least ``capacity`` branches from the pool, or make new ones.

        The caller puts them into the pool after use.
        """
        try:
            arrays = self._pool.pop()
        except IndexError:
            return BranchArrays(self.plan.size, max(self._capacity, capacity))
        return arrays if arrays.capacity >= capacity else BranchArrays(self.plan.size, capacity)

    def branches_refined(
        self, pose: FloatArray, request: BranchRequest = PLAIN
    ) -> Branches | None:
        """
        Return the branches of a pose, with a slower search for singular poses and for poses without a branch.

        If the pose is (nearly) singular and no joint is sampled, search the isolated branches and one point of each
        curve of postures. If a joint is held and no branch is within the limits, try more values of this joint, then a
        search that moves all joints. Return None if the pose is not a rigid transform.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: options of the request.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
        """
        if not self.requests.is_refinable(request):
            branches = self.branches(pose, request)
            if branches is None or not branches.is_doubtful:
                return branches
            return self.difficult.settle(pose, request, branches)
        if self.requests.has_arcs(request):
            branches = self._search(pose, self.requests.prepare_arcs(request))
            return (
                None if branches is None else self.difficult.beyond_arcs(pose, request, branches)
            )
        branches = self.branches(pose, request)
        return None if branches is None else self.difficult.refine(pose, request, branches)

    def _read(self, arrays: BranchArrays, count: int, prepared: Prepared) -> Branches:
        """
        Return the branches and counts of a finished search as copies.

        :param arrays: arrays of the search, whose first ``count`` rows are branches.
        :param prepared: the request of the search.
        """
        n, counts = self.plan.size, arrays.counters[: search.COUNTERS].tolist()
        raw, certified, different, dropped, _, _, proved, doubt = counts
        q, errors = arrays.rows[:count, :n].copy(), arrays.rows[:count, n:].copy()
        if proved:
            return Branches(q, errors, 0, 0, 0, 0, 0, is_too_far=True)
        samples = prepared.samples
        tried = int(samples[held_search.TRIED]) if prepared.is_on_arcs else len(samples)
        is_doubtful = doubt != 0 and prepared.ints[search.HELD] < 0
        return Branches(
            q, errors, raw, certified, different, dropped, tried, is_doubtful=is_doubtful
        )
