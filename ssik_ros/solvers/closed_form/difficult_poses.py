"""
Branches of difficult poses: singular ones, and those where no tried value of the held joint has a branch within limits.

Shapes: ``n`` joints, ``k`` branches. A pose is the pose of the tip in the base frame, unless a request has a tool.
"""

from collections.abc import Callable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.solvers.closed_form.branch_request import (
    Branches,
    BranchRequest,
    is_met,
    KEEP_ALL,
    PLAIN,
    with_row,
)
from ssik_ros.solvers.closed_form.placing import place
from ssik_ros.solvers.closed_form.posture_search import Goal, PostureSearch, Searched
from ssik_ros.solvers.closed_form.request_arrays import RequestArrays, SECOND_TRY_SAMPLES
from ssik_ros.solvers.closed_form.singular_poses import SingularPoses

FINER_SAMPLES = (SECOND_TRY_SAMPLES, 256, 1024)
"""Numbers of values of the held joint to try in turn while all branches are outside the limits."""
LAST_BRANCHES, LAST_STARTS = 8, 512
"""Starts of a last try: the branches that miss the limits least, and spread starts of about 10 us each."""
MORE_STARTS, MOST_ENDS = 4096, 16
"""If the last try fails but a posture is nearly a solution: number of further spread starts, and the most ends of their
descents that are refined."""
NEARLY_INSIDE = 0.06
"""A posture outside the limits is nearly a solution if no joint is outside by more than this [rad or m]."""


class DifficultPoses:
    """
    Slower searches for the poses of one chain at which a plain search is empty or incomplete.

    Several threads may call one instance at once.
    """

    def __init__(
        self,
        requests: RequestArrays,
        branches: Callable[[FloatArray, BranchRequest], Branches | None],
        capacity: int,
    ) -> None:
        """
        Store the parts; each slower search is created at its first use.

        :param requests: the plans of the chain.
        :param branches: the plain search, see :meth:`ssik_ros.solvers.closed_form.arm.AnalyticArm.branches`.
        :param capacity: most branches of one plain search.
        """
        self._requests, self._branches, self._capacity = requests, branches, capacity
        self._search: PostureSearch | None = None
        self._singular: SingularPoses | None = None

    def beyond_arcs(self, pose: FloatArray, request: BranchRequest, result: Branches) -> Branches:
        """
        Return ``result`` if it has a branch within the limits or a proof, otherwise the result of slower searches.

        If ``result`` has no branch outside the limits either, a proof is tried that the pose is out of reach. Then
        :meth:`refine` follows.

        :param result: result of a search on arcs: intervals of the held joint in which a branch is within the limits.
        """
        if result.is_too_far or is_met(result, request):
            return result
        goal = self._requests.goal(pose, request)
        if result.branches == 0 and self._posture_search().proves_none(goal):
            return result._replace(is_too_far=True)
        return self.refine(pose, request, result._replace(branches=0, dropped=0))

    def settle(self, pose: FloatArray, request: BranchRequest, result: Branches) -> Branches:
        """
        Return the branches of a singular pose that a search finds: isolated ones, and one point of each curve.

        :param result: result of the plain search; the returned copy has other branches, counts and curves.
        """
        free = request._replace(mode=KEEP_ALL, max_solutions=search.BRANCHES_OF_SIX)
        everywhere = self._branches(pose, free)
        settled = self._singular_poses().settle(
            self._requests.goal(pose, request), result.q if everywhere is None else everywhere.q
        )
        count, most = len(settled.rows), request.max_solutions
        rows, n = settled.rows[:most], self._requests.plan.size
        return result._replace(
            q=np.ascontiguousarray(rows[:, :n]),
            errors=np.ascontiguousarray(rows[:, n:]),
            certified=max(result.certified, count + settled.outside),
            branches=count + settled.outside,
            dropped=settled.outside,
            starts=settled.starts,
            curves=settled.curves[:most] if settled.curves.any() else None,
        )

    def near(self, pose: FloatArray, q: FloatArray) -> FloatArray | None:
        """
        Return a posture (n,) within the limits that reaches a singular pose, refined from ``q``; None if that fails.

        :param pose: (4, 4) pose of the tip in the base.
        :param q: (n,) posture within the limits of the chain.
        """
        goal = self._requests.goal(pose, PLAIN)
        return self._singular_poses().refinement.refine(
            goal.pose, q, goal.limits.bounds, goal.tolerance
        )

    def _singular_poses(self) -> SingularPoses:
        """Return the search for postures of singular poses; the first call creates it."""
        if self._singular is None:
            self._singular = SingularPoses(self._requests.plan, self._posture_search())
        return self._singular

    def refine(self, pose: FloatArray, request: BranchRequest, result: Branches) -> Branches:
        """
        Return ``result`` if it has a branch within the limits or a proof, otherwise the branches of slower searches.

        More values of the held joint are tried first (50, 256, 1024; only 50 if no value reached the pose). A posture
        search, which moves all joints, comes last.
        """
        for samples in FINER_SAMPLES:
            # A pose that no sample reaches at all is most likely out of reach: one more try is enough.
            if result.is_too_far or is_met(result, request):
                break
            if not result.branches and samples > SECOND_TRY_SAMPLES:
                break
            samples = max(samples, request.samples or 0)
            result = self._branches(pose, request._replace(samples=samples)) or result
        if result.is_too_far or is_met(result, request):
            return result
        # Postures that meet the tolerance only when moved onto a limit count as outside.
        return self._branches_by_search(pose, request, result._replace(dropped=result.branches))

    def _branches_by_search(
        self, pose: FloatArray, request: BranchRequest, result: Branches
    ) -> Branches:
        """
        Find one posture by a search that moves all joints, and return the branches at its value of the held joint.

        The posture itself is one of the branches. If the search fails, return ``result`` with the number of starts
        added, and with ``is_too_far`` if the pose is proved to be out of reach. If only postures outside the limits
        reach the pose, and ``result`` counts none, one is counted.

        :param result: result of sampling the held joint, without a branch within the limits.
        """
        plan, goal = self._requests.plan_for(request.held), self._requests.goal(pose, request)
        search_for = self._posture_search()
        posture = search_for.find(goal)
        starts = result.starts + posture.starts
        if posture.q is None and request.seed is not None and not posture.is_too_far:
            # The first starts depend on the seed, so that a second search without it tries other starts.
            posture = search_for.find(goal._replace(seed=None))
            starts += posture.starts
        if posture.q is None and not posture.is_too_far:
            is_searched = posture.is_outside and not result.branches
            outside = self._outside_limits(pose, request, is_searched)
            if len(outside) and not result.branches:
                result = result._replace(raw=result.raw + 1, certified=1, branches=1, dropped=1)
            posture, more = self._beside_limits(goal, posture, outside, result.branches > 0)
            starts += more
        if posture.q is None:
            return result._replace(starts=starts, is_too_far=posture.is_too_far)
        row = place(plan, posture.q, goal.pose, goal.seed, goal.limits[:2], request.mode)
        values = posture.q[plan.held : plan.held + 1].copy()
        there = self._branches(pose, request._replace(held_values=values))
        if row is None or there is None or row[-1] > goal.tolerance:
            return result._replace(starts=starts)
        return with_row(there, row, request, plan)._replace(
            samples=result.samples + 1, starts=starts
        )

    def _outside_limits(
        self, pose: FloatArray, request: BranchRequest, is_searched: bool
    ) -> FloatArray:
        """
        Return postures (k, n) that reach a pose when limits are ignored; k is 0 if none is found.

        :param is_searched: True also runs a posture search if no sampled value of the held joint reaches the pose.
        """
        free = request._replace(mode=KEEP_ALL, max_solutions=self._capacity)
        everywhere = self._branches(pose, free)
        if everywhere is not None and len(everywhere.q):
            return everywhere.q
        if is_searched:
            goal = self._requests.goal(pose, request)
            limits = goal.limits._replace(are_kept=False)
            posture = self._posture_search().find(goal._replace(limits=limits))
            if posture.q is not None:
                return posture.q[None]
        return np.empty((0, self._requests.plan.size))

    def _beside_limits(
        self, goal: Goal, posture: Searched, outside: FloatArray, is_reached: bool
    ) -> tuple[Searched, int]:
        """
        Try once more, after a failed posture search, to find a posture on or next to the limits.

        Return the search result with the new posture as ``q``, or with None, and the number of new descents. Nothing is
        tried if no posture outside the limits reaches the pose and no descent came near. Then the pose is most likely
        out of reach.

        New descents start at spread postures and at the postures of ``outside`` that miss the limits least. Their ends,
        and postures with all joints but one on a limit, are refined. If that fails, but a descent came near the pose or
        a posture of ``outside`` is nearly inside, postures with more free joints and more starts follow.

        :param posture: result of the failed search; its ``close`` postures are refined, too.
        :param outside: (k, n) postures that reach the pose, limits ignored.
        :param is_reached: True if such a posture exists, even if ``outside`` is empty.
        """
        singular, aim, limits = self._singular_poses(), goal.pose, goal.limits
        close = list(posture.close)
        if not (is_reached or close):
            return posture, 0
        refinement, bounds = singular.refinement, limits.bounds
        seeds, least_motion = singular.nearest_inside(outside, limits, LAST_BRANCHES)
        search_for = self._posture_search()
        ends, starts = search_for.find_several(goal, seeds, (LAST_STARTS,))
        close += ends
        beginnings = [*close, *refinement.on_edges(aim, bounds)]
        q = refinement.first_refined(aim, beginnings, bounds, goal.tolerance)
        is_near = bool(close) or least_motion < NEARLY_INSIDE
        if q is None and is_near:
            faces = refinement.on_faces(aim, bounds)
            q = refinement.first_refined(aim, faces, bounds, goal.tolerance)
        if q is None and is_near:
            ends, more = search_for.find_several(goal, (), (MORE_STARTS,))
            q = refinement.first_refined(aim, ends[:MOST_ENDS], bounds, goal.tolerance)
            starts += more
        return posture._replace(q=q), starts

    def warm_up_search(self, pose: FloatArray) -> None:
        """
        Run the posture search once, so that its first real use is fast; do nothing for a chain without a held joint.

        :param pose: (4, 4) any pose of the tip.
        """
        if self._requests.plan.held >= 0:
            self._posture_search().find(self._requests.goal(pose, PLAIN))

    def _posture_search(self) -> PostureSearch:
        """Return the posture search; the first call creates it."""
        if self._search is None:
            self._search = PostureSearch(self._requests.chain)
        return self._search
