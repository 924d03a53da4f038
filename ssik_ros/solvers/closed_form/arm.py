"""
Closed form of one chain: return the branches of a pose as arrays, for the solver and for façades.

Shapes: ``n`` joints, ``k`` branches. A pose is the pose of the tip in the base frame, unless a request has a tool.
"""

from collections.abc import Callable
import math
from typing import NamedTuple, TypeVar

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidLimits
from ssik_ros.kernels.closed_form.branches import held_search, held_slide, plan_places, search
from ssik_ros.kernels.closed_form.certification import ranking
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.kernels.rows.places import at
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import EXACT_MEETING, EXACT_PARALLEL
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.placing import place
from ssik_ros.solvers.closed_form.plan import (
    AnalyticPlan,
    LARGEST_CAPACITY,
    make_plan,
    SAME,
    TOLERANCE,
)
from ssik_ros.solvers.closed_form.posture_search import KeptLimits, PostureSearch, Searched
from ssik_ros.solvers.closed_form.singular_poses import SingularPoses

KEEP_ALL = ranking.KEEP_ALL
WITHIN_LIMITS = ranking.WITHIN_LIMITS
WRAP_ONLY = ranking.WRAP_ONLY
METRICS = {'wrap_l2': ranking.SUM_OF_SQUARES, 'wrap_linf': ranking.LARGEST}


SMALL_ARM = 3e-4
"""Size of an arm [m]. For smaller arms the largest accepted residual of a branch shrinks in proportion to the size."""
ROUNDING = 1e-13
"""Frobenius norm of FK - T that rounding of the orientation can cause."""
AT_ONCE = 50
"""Number of values of a sampled joint in the second try, if the first one found no branch."""
FINER_SAMPLES = (AT_ONCE, 256, 1024)
"""Numbers of values of the held joint to try in turn while all branches are outside the limits."""
LAST_BRANCHES, LAST_STARTS = 8, 512
"""Starts of a last try: the branches that miss the limits least, and spread starts of about 10 us each."""
TURNING = (candidates.SPHERICAL_WRIST, candidates.THREE_PARALLEL)
"""Classes whose branches are followed along the range of the held joint."""


class Branches(NamedTuple):
    """Branches of one pose, best first, with counts of the rejected candidates."""

    q: FloatArray
    """(k, n) joint angles [rad]."""
    errors: FloatArray
    """(k, 3) position error [m], rotation error [rad], Frobenius norm of FK - T."""
    raw: int
    """Number of candidates from the closed form."""
    certified: int
    """Number of candidates that reach the pose."""
    branches: int
    """Number of different branches among the certified candidates."""
    dropped: int
    """Number of different branches outside the limits."""
    samples: int
    """Tried values of the held joint: 1 if no joint is held, 0 if a proof excluded the pose before the first value."""
    starts: int = 0
    """Number of descents of the posture search; 0 if a value of the held joint met the pose."""
    is_too_far: bool = False
    """True if the pose is proved to be out of reach, by the reach hull of the arm or by the length of its links."""
    is_doubtful: bool = False
    """True if the pose is (nearly) singular. Then more branches may exist, and an empty result proves nothing."""
    curves: FloatArray | None = None
    """(k, n + 2) curve of postures through each branch, see
    :class:`ssik_ros.solvers.closed_form.singular_poses.Settled`; None if all branches are isolated."""


def cause_of_absence(plan: AnalyticPlan, found: Branches, beyond: Cause) -> Cause:
    """
    Return why a pose has no branch within the limits. All callers use this rule.

    UNREACHABLE needs a proof. One proof is the reach hull of the arm. The other is a complete closed form that found no
    branch and met no singular or nearly singular posture. At such a posture the branches outside the limits are no proof
    either. Without a proof the cause is NOT_FOUND.

    :param plan: plan of the arm.
    :param found: branches of the pose.
    :param beyond: cause to return if branches exist outside the limits of the request.
    """
    if found.is_too_far:
        return Cause.UNREACHABLE
    if found.is_doubtful:
        return Cause.NOT_FOUND
    if found.certified:
        return beyond
    return Cause.UNREACHABLE if plan.is_complete else Cause.NOT_FOUND


class BranchRequest(NamedTuple):
    """Options of a request for branches: everything except the pose."""

    seed: FloatArray | None = None
    """(n,) seed: branches are sorted by their distance from it, and each joint takes the winding nearest to it."""
    mode: int = WITHIN_LIMITS
    metric: int = ranking.SUM_OF_SQUARES
    max_solutions: int = LARGEST_CAPACITY
    lower: FloatArray | None = None
    """(n,) lower limits that replace the chain's [rad or m]."""
    upper: FloatArray | None = None
    tool: FloatArray | None = None
    """(4, 4) pose of the tool in the tip frame. If given, the requested pose is the pose of the tool."""
    held: int | None = None
    """Index of the joint to hold in a chain of seven joints."""
    held_values: FloatArray | None = None
    """Values of the held joint to try [rad or m]; None spreads values over its limits, with the seed's value first."""
    samples: int | None = None
    """Number of values to spread over the limits of the held joint; None means the number set for the arm."""
    tolerance: float | None = None
    """Largest Frobenius norm of FK - T of an accepted branch; None means the default of the plan."""
    same: float | None = None
    """If all joints of two branches differ by less than this, they may be one branch [rad]; None means the default."""


PLAIN = BranchRequest()


Found = TypeVar('Found')
Read = Callable[[BranchArrays, int, Prepared], Found]


class AnalyticArm:
    """Closed form of one chain. Several threads may call it at once."""

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
        self._parallel, self._meeting = parallel, meeting
        self.plan = self._make_plan(held)
        self._plans = {self.plan.held: self.plan}
        self._searches: dict[int, PostureSearch] = {}
        self._singular: SingularPoses | None = None
        self._pool: list[BranchArrays] = []
        self._options: dict[tuple[int | float | None, ...], FloatArray] = {}
        per_pose = 1 if self.plan.held < 0 else samples + 1
        self._capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * per_pose)
        places = np.vstack([chain.points, chain.home[:3, 3]])
        size = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
        self._share = min(1.0, size / SMALL_ARM)
        self._no_samples = np.zeros(1)
        self._no_seed = np.zeros(self.plan.size)

    def branches(self, pose: FloatArray, request: BranchRequest = PLAIN) -> Branches | None:
        """
        Return the branches of a pose, or None if the pose is not a rigid transform.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: options of the request.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        return self._search(pose, self.prepare(request, pose), None, self._read)

    def prepare_rows(self, request: BranchRequest) -> Prepared | None:
        """
        Prepare a request for :meth:`rows`; return None if the arm samples a joint without following arcs.

        :param request: options of the request. Values of the seed are ignored; only its presence counts.
        """
        if self.has_arcs(request):
            return self.prepare_arcs(request)
        return None if self.is_refinable(request) else self.prepare(request)

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

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: options of the request.
        :param prepared: the same request, from :meth:`prepare_rows`.
        :param seed: (n,) replaces the seed of the request; ignored if the request has no seed.
        :param columns: number of leading columns to return, at most n + 3.
        :returns: (k, columns) joint values, then errors, best first. None if the pose is not a rigid transform, or is
            singular: then call :meth:`branches_refined`.
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
            found = self._read(arrays, count, prepared)
        finally:
            self._pool.append(arrays)
        own = request if request.seed is None else request._replace(seed=seed)
        found = self._beyond_arcs(pose, own, found)
        return np.hstack([found.q, found.errors])[:, :columns].copy()

    def best(
        self, pose: FloatArray, prepared: Prepared, seed: FloatArray
    ) -> tuple[FloatArray | None, int]:
        """
        Return the best branch (n + 3,) of a rigid transform, and the number of branches regardless of limits.

        Without a branch within the limits, None is the first item. Then a number of -1 means that the pose is singular:
        call :meth:`branches_refined`.

        :param pose, prepared, seed: as for :meth:`rows`.
        """
        return self._search(pose, prepared, seed, _read_best) or (None, 0)

    def _search(
        self, pose: FloatArray, prepared: Prepared, seed: FloatArray | None, read: Read[Found]
    ) -> Found | None:
        """Search the branches of a pose and return ``read(arrays, ...)``; None if the pose is not a rigid transform."""
        arrays = self._take_arrays(prepared.capacity)
        try:
            count = arrays.search(prepared, pose, seed)
            return None if count < 0 else read(arrays, count, prepared)
        finally:
            self._pool.append(arrays)

    def _take_arrays(self, capacity: int) -> BranchArrays:
        """Return unused arrays with room for at least ``capacity`` branches."""
        try:
            arrays = self._pool.pop()
        except IndexError:
            return BranchArrays(self.plan.size, max(self._capacity, capacity))
        return arrays if arrays.capacity >= capacity else BranchArrays(self.plan.size, capacity)

    def branches_refined(
        self, pose: FloatArray, request: BranchRequest = PLAIN
    ) -> Branches | None:
        """
        Return the branches of a pose; try harder if the plain search is in doubt or has no branch within the limits.

        If a joint is sampled and no sample meets the pose, a posture search finds the value of that joint. If a pose is
        singular, candidates are reduced to isolated branches and one point of each curve of postures.

        :param pose, request: as for :meth:`branches`.
        """
        if not self.is_refinable(request):
            found = self.branches(pose, request)
            if found is None or not found.is_doubtful:
                return found
            return self._settled(pose, request, found)
        if self.has_arcs(request):
            found = self._search(pose, self.prepare_arcs(request), None, self._read)
            return None if found is None else self._beyond_arcs(pose, request, found)
        found = self.branches(pose, request)
        return None if found is None else self._refine(pose, request, found)

    def _beyond_arcs(self, pose: FloatArray, request: BranchRequest, found: Branches) -> Branches:
        """Return the result of a search on arcs; if it is empty, try a proof, finer samples and a posture search."""
        if found.is_too_far or _is_met(found, request):
            return found
        held, limits = self._plan_for(request.held).held, self._limits(request)
        if found.branches == 0 and self._posture_search(held).proves_none(
            _tip_pose(pose, request), limits
        ):
            return found._replace(is_too_far=True)
        return self._refine(pose, request, found._replace(branches=0, dropped=0))

    def _settled(self, pose: FloatArray, request: BranchRequest, found: Branches) -> Branches:
        """Return the branches of a singular pose: isolated branches, and one point of each curve of postures."""
        free = request._replace(mode=KEEP_ALL, max_solutions=search.BRANCHES_OF_SIX)
        everywhere = self.branches(pose, free)
        settled = self._singular_poses().settle(
            _tip_pose(pose, request),
            found.q if everywhere is None else everywhere.q,
            request.seed,
            self._limits(request),
            request.metric,
            self.accepted(request.tolerance),
        )
        count, most = len(settled.rows), request.max_solutions
        rows, n = settled.rows[:most], self.plan.size
        return found._replace(
            q=np.ascontiguousarray(rows[:, :n]),
            errors=np.ascontiguousarray(rows[:, n:]),
            certified=max(found.certified, count + settled.outside),
            branches=count + settled.outside,
            dropped=settled.outside,
            starts=settled.starts,
            curves=settled.curves[:most] if settled.curves.any() else None,
        )

    def _singular_poses(self) -> SingularPoses:
        """Return the search for postures of singular poses; the first call creates it."""
        if self._singular is None:
            self._singular = SingularPoses(self.plan)
        return self._singular

    def _limits(self, request: BranchRequest) -> KeptLimits:
        """Return the limits of a request, or the limits of the chain if the request has none."""
        lower = self.chain.lower if request.lower is None else request.lower
        upper = self.chain.upper if request.upper is None else request.upper
        return KeptLimits(lower, upper, request.mode == WITHIN_LIMITS)

    def _branches_by_search(
        self, pose: FloatArray, request: BranchRequest, found: Branches
    ) -> Branches:
        """
        Return the branches at one value of the held joint; a posture search finds this value.

        The posture of the search is one of the returned branches.

        :param found: result of the samples, without a branch within the limits.
        """
        plan, limits = self._plan_for(request.held), self._limits(request)
        tolerance, aim = self.accepted(request.tolerance), _tip_pose(pose, request)
        search_for = self._posture_search(plan.held)
        posture = search_for.find(aim, request.seed, limits, tolerance)
        starts = found.starts + posture.starts
        if posture.q is None and request.seed is not None and not posture.is_too_far:
            # The first starts depend on the seed, so that a second search without it tries other starts.
            posture = search_for.find(aim, None, limits, tolerance)
            starts += posture.starts
        if posture.q is None and not posture.is_too_far:
            is_searched = posture.is_outside and not found.branches
            outside = self._outside_limits(pose, request, is_searched)
            if len(outside) and not found.branches:
                found = found._replace(raw=found.raw + 1, certified=1, branches=1, dropped=1)
            posture, more = self._beside_limits(
                request, aim, posture, outside, found.branches > 0, tolerance
            )
            starts += more
        if posture.q is None:
            return found._replace(starts=starts, is_too_far=posture.is_too_far)
        row = place(plan, posture.q, aim, request.seed, limits[:2], request.mode)
        values = posture.q[plan.held : plan.held + 1].copy()
        there = self.branches(pose, request._replace(held_values=values))
        if row is None or there is None or row[-1] > tolerance:
            return found._replace(starts=starts)
        return with_row(there, row, request, plan)._replace(
            samples=found.samples + 1, starts=starts
        )

    def _outside_limits(
        self, pose: FloatArray, request: BranchRequest, is_searched: bool
    ) -> FloatArray:
        """
        Return postures (k, n) that reach a pose whatever the limits; may be empty.

        :param is_searched: whether a posture search may find one where no sample of the held joint meets the pose.
        """
        free = request._replace(mode=KEEP_ALL, max_solutions=self._capacity)
        everywhere = self.branches(pose, free)
        if everywhere is not None and len(everywhere.q):
            return everywhere.q
        if is_searched:
            limits = self._limits(request)._replace(are_kept=False)
            tolerance, aim = self.accepted(request.tolerance), _tip_pose(pose, request)
            search_for = self._posture_search(self._plan_for(request.held).held)
            posture = search_for.find(aim, request.seed, limits, tolerance)
            if posture.q is not None:
                return posture.q[None]
        return np.empty((0, self.plan.size))

    def _beside_limits(
        self,
        request: BranchRequest,
        aim: FloatArray,
        posture: Searched,
        outside: FloatArray,
        is_reached: bool,
        tolerance: float,
    ) -> tuple[Searched, int]:
        """
        Return the result of a last try after a posture search, and its descents.

        Few descents reach a solution in a corner of the limits, and at a singular solution a descent ends short of it.
        New descents begin at spread starts and at the postures that miss the limits least, unless none reaches the pose
        whatever the limits or comes near it: then it is most likely out of reach. The ends of all descents are refined.

        :param aim: (4, 4) pose of the tip in the base.
        :param outside: (k, n) postures that reach the pose whatever the limits.
        :param is_reached: whether there is such a posture, maybe not in ``outside``.
        """
        singular, limits = self._singular_poses(), self._limits(request)
        close, starts = list(posture.close), 0
        if is_reached or close:
            seeds = singular.nearest_inside(outside, limits, LAST_BRANCHES)
            search_for = self._posture_search(self._plan_for(request.held).held)
            ends, starts = search_for.find_several(aim, seeds, limits, tolerance, (LAST_STARTS,))
            close += ends
        polished = (singular.polish(aim, q, limits, tolerance) for q in close)
        return posture._replace(q=next((q for q in polished if q is not None), None)), starts

    def warm_up_search(self, pose: FloatArray) -> None:
        """
        Set up the search that runs if no sample of the held joint meets a pose. Without a held joint, do nothing.

        :param pose: (4, 4) any pose of the tip.
        """
        held = self.plan.held
        if held >= 0:
            limits = KeptLimits(self.chain.lower, self.chain.upper, True)
            self._posture_search(held).find(pose, None, limits, TOLERANCE)

    def _posture_search(self, held: int) -> PostureSearch:
        """Return the posture search that moves joint ``held``; the first call creates it."""
        if held not in self._searches:
            self._searches[held] = PostureSearch(self.chain, held)
        return self._searches[held]

    def prepare_arcs(self, request: BranchRequest) -> Prepared:
        """
        Return a request as arrays for a search on arcs; :meth:`has_arcs` must be true for the request.

        :param request: options of the request.
        """
        low, high = self.held_range(self._plan_for(request.held).held, request)
        wanted = request.samples or self.samples
        spread = np.array([low, high, wanted, 0.0])
        return self._prepared(request, spread, 3 * wanted + AT_ONCE)._replace(is_on_arcs=True)

    def _read(self, arrays: BranchArrays, count: int, prepared: Prepared) -> Branches:
        """Copy the result of a search out of its arrays."""
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

    def _refine(self, pose: FloatArray, request: BranchRequest, found: Branches) -> Branches:
        """Return the branches of finer samples of the held joint, then of a posture search, if none are found yet."""
        for samples in FINER_SAMPLES:
            # A pose that no sample reaches at all is most likely out of reach: one more try is enough.
            if found.is_too_far or _is_met(found, request):
                break
            if not found.branches and samples > AT_ONCE:
                break
            samples = max(samples, request.samples or 0)
            found = self.branches(pose, request._replace(samples=samples)) or found
        if found.is_too_far or _is_met(found, request):
            return found
        # Postures that meet the tolerance only when moved onto a limit count as outside.
        return self._branches_by_search(pose, request, found._replace(dropped=found.branches))

    def has_arcs(self, request: BranchRequest) -> bool:
        """
        Return whether the held joint is sampled on the arcs of its range where a branch is within the limits.

        :param request: options of the request.
        """
        plan = self._plan_for(request.held)
        is_sampled = plan.held >= 0 and request.held_values is None
        is_limited = request.mode == WITHIN_LIMITS
        is_turning = plan.ints[search.KIND] in TURNING and plan.ints[search.SLIDES] == 0
        return bool(is_sampled and is_limited and is_turning)

    def is_refinable(self, request: BranchRequest) -> bool:
        """
        Return whether finer samples or a posture search may find more: the arm has a held joint without given values.

        :param request: options of the request.
        """
        return self._plan_for(request.held).held >= 0 and request.held_values is None

    def prepare(self, request: BranchRequest, pose: FloatArray | None = None) -> Prepared:
        """
        Return a request as arrays for the kernel, which only reads them.

        :param request: options of the request.
        :param pose: (4, 4) pose of the tip; the tried values of a held prismatic joint depend on it.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        plan = self._plan_for(request.held)
        samples = self._held_values(plan, request, pose)
        return self._prepared(request, samples, len(samples))

    def _prepared(self, request: BranchRequest, samples: FloatArray, values: int) -> Prepared:
        """Return a request as arrays with ``samples`` of the held joint, and room for branches at ``values`` values."""
        plan = self._plan_for(request.held)
        seed = self._no_seed if request.seed is None else request.seed
        reals, options = self._reals(plan, request), self._options_for(plan, request)
        capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * values)
        return Prepared(plan.ints, reals, samples, seed, options, capacity)

    def accepted(self, tolerance: float | None) -> float:
        """
        Return the largest Frobenius norm of FK - T that a branch of this arm may have.

        It shrinks with arms below :data:`SMALL_ARM`: on an arm of a micrometre, a tolerance meant for metres would
        accept an error of a thousandth of the arm.

        :param tolerance: the norm for larger arms; None means the default.
        """
        wanted = TOLERANCE if tolerance is None else tolerance
        return max(wanted * self._share, min(wanted, ROUNDING))

    def _options_for(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """Return the options of a request as the kernel reads them; up to 64 recent results are cached."""
        has_seed, own = request.seed is not None, (request.tolerance, request.same)
        key = (plan.held, request.mode, request.metric, request.max_solutions, has_seed, *own)
        options = self._options.get(key)
        if options is None:
            options = plan.options
            options[search.MODE], options[search.METRIC] = request.mode, request.metric
            options[search.MAX_SOLUTIONS] = min(request.max_solutions, LARGEST_CAPACITY)
            options[search.HAS_SEED] = has_seed
            options[search.TOLERANCE] = self.accepted(request.tolerance)
            if request.same is not None:
                options[search.SAME] = request.same
            if len(self._options) >= 64:
                self._options.clear()
            self._options[key] = options
        return options

    def _make_plan(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds joint ``held``."""
        return make_plan(self.chain, held, parallel=self._parallel, meeting=self._meeting)

    def holds(self, joint: int) -> bool:
        """
        Return whether the plan for a held joint holds this joint; False for chains that hold none.

        :param joint: index of the joint.
        :raises TopologyMismatch: if the other six joints have no closed form.
        """
        return self._plan_for(joint).held == joint

    def _plan_for(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds a joint, made at the first call; None means the default plan of the arm."""
        if held is None or self.plan.held < 0:
            return self.plan
        if held not in self._plans:
            self._plans[held] = self._make_plan(held)
        return self._plans[held]

    def _held_values(
        self, plan: AnalyticPlan, request: BranchRequest, pose: FloatArray | None
    ) -> FloatArray:
        """Return the values of the held joint to try: the seed's, then values spread evenly over its range."""
        if plan.held < 0:
            return self._no_samples
        if request.held_values is not None:
            return request.held_values
        if self.is_slide(plan.held):
            low, high = self._slide_range(plan, request, pose)
        else:
            low, high = self.held_range(plan.held, request)
        # Midpoints of equal parts: postures at the ends of the range would lie on a limit.
        count = self.samples if request.samples is None else request.samples
        step = (high - low) / count
        values = [low + (i + 0.5) * step for i in range(count)]
        if request.seed is not None:
            own = float(request.seed[plan.held])
            values.insert(0, held_search.into_range(own, low, high, self.is_slide(plan.held)))
        return np.array(values)

    def is_slide(self, joint: int) -> bool:
        """
        Return whether a joint is prismatic.

        :param joint: index of the joint; -1 returns False.
        """
        return joint >= 0 and bool(self.chain.kinds[joint] == JointKind.PRISMATIC)

    def _slide_range(
        self, plan: AnalyticPlan, request: BranchRequest, pose: FloatArray | None
    ) -> tuple[float, float]:
        """Return the range of values to try for a held prismatic joint [m]; (0, 0) without a pose."""
        if pose is None:
            return 0.0, 0.0
        low, high = held_slide.slide_range(plan.ints, self._reals(plan, request), pose)
        if not math.isinf(high - low):
            return low, high
        name = self.chain.joint_names[plan.held]
        raise InvalidLimits(
            f"'{name}' slides, and so do others without limits: how far it could be for a pose has no bound. "
            'Give them limits, or it a value to hold.',
            joint=name,
        )

    def held_range(self, held: int, request: BranchRequest) -> tuple[float, float]:
        """
        Return the range of values to try for a held revolute joint [rad]: its limits, or a range of 2 pi.

        :param held: index of the joint.
        :param request: options of the request.
        """
        lower, upper, are_kept = self._limits(request)
        low, high = held_search.turning_range(float(lower[held]), float(upper[held]), are_kept)
        return float(low), float(high)

    def _reals(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """Return the real numbers of a plan, with the limits and the tool of a request written into them."""
        if request.lower is None and request.upper is None and request.tool is None:
            return plan.reals
        n, reals = plan.size, plan.reals.copy()
        if request.tool is not None:
            home = self.chain.home @ request.tool
            packed, inverse = np.empty(12), np.empty(12)
            packed[:9], packed[9:] = home[:3, :3].ravel(), home[:3, 3]
            se3.invert(inverse, packed)
            _put(reals, plan_places.HOME, n, packed)
            _put(reals, plan_places.INVERSE, n, inverse)
            hull = at(plan_places.HULL, n)
            place = reals[hull + reach_hull.POINT : hull + reach_hull.POINT + 3]
            reals[hull + reach_hull.LEVER] = np.linalg.norm(place - home[:3, 3])
        if request.lower is not None:
            _put(reals, plan_places.LOWER, n, request.lower)
        if request.upper is not None:
            _put(reals, plan_places.UPPER, n, request.upper)
        return reals


def _put(reals: FloatArray, place: tuple[int, int], n: int, values: FloatArray) -> None:
    """Write a part of a plan for n joints."""
    start = at(place, n)
    reals[start : start + len(values)] = values


def _read_best(arrays: BranchArrays, count: int, _: Prepared) -> tuple[FloatArray | None, int]:
    """Return the first row, or None, and the number of branches that reach the pose, -1 if in doubt."""
    if count > 0:
        return arrays.rows[0].copy(), int(arrays.counters[search.CERTIFIED])
    is_doubtful = arrays.counters[search.DOUBT] != 0
    return None, -1 if is_doubtful else int(arrays.counters[search.CERTIFIED])


def _tip_pose(pose: FloatArray, request: BranchRequest) -> FloatArray:
    """Return the pose of the tip: remove the tool of the request from the requested pose."""
    return pose if request.tool is None else pose @ invert_pose(request.tool)


def _is_met(found: Branches, request: BranchRequest) -> bool:
    """Return whether a branch is within the limits, also for requests with ``max_solutions`` 0."""
    is_any_wanted = request.max_solutions > 0
    return len(found.q) > 0 if is_any_wanted else found.branches > found.dropped


def with_row(
    found: Branches, row: FloatArray, request: BranchRequest, plan: AnalyticPlan
) -> Branches:
    """
    Insert a row into sorted branches, unless the same branch is there already.

    :param found: branches, best first.
    :param row: (n + 3,) joint values and errors.
    :param request: options of the request; its seed, limits and metric define the order.
    :param plan: plan of the chain.
    """
    n, chain = plan.size, plan.chain
    same = SAME if request.same is None else request.same
    away = chain.wrap_turns(found.q - row[:n])
    if (np.abs(away) < same).all(axis=1).any():
        return found
    rows = np.vstack([np.hstack([found.q, found.errors]), row])
    if request.seed is not None:
        lower = chain.lower if request.lower is None else request.lower
        upper = chain.upper if request.upper is None else request.upper
        slides, metric = int(plan.ints[search.SLIDES]), request.metric
        keys = [
            ranking.distance(each, request.seed, n, slides, lower, upper, metric)
            for each in np.ascontiguousarray(rows[:, :n])
        ]
        rows = rows[np.argsort(keys, kind='stable')]
    rows = rows[: request.max_solutions]
    return found._replace(
        q=np.ascontiguousarray(rows[:, :n]),
        errors=np.ascontiguousarray(rows[:, n:]),
        raw=found.raw + 1,
        certified=found.certified + 1,
        branches=found.branches + 1,
    )
