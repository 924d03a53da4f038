"""
One chain and its closed form: the branches of a pose as arrays, for the solver and for façades.

``n`` joints, ``k`` branches. Poses are those of the tip in the base.
"""

from collections.abc import Callable
import math
from typing import NamedTuple, TypeVar

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidLimits
from ssik_ros.kernels.closed_form.branches import held_search, held_slide, search
from ssik_ros.kernels.closed_form.certification import ranking
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.kernels.rows import reach_hull
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
from ssik_ros.solvers.closed_form.posture_search import KeptLimits, PostureSearch
from ssik_ros.solvers.closed_form.singular_poses import SingularPoses

KEEP_ALL = ranking.KEEP_ALL
WITHIN_LIMITS = ranking.WITHIN_LIMITS
WRAP_ONLY = ranking.WRAP_ONLY
METRICS = {'wrap_l2': ranking.SUM_OF_SQUARES, 'wrap_linf': ranking.LARGEST}


SMALL_ARM = 3e-4
"""Size of an arm below which the residual that a branch may have shrinks with the arm [m]."""
ROUNDING = 1e-13
"""Residual that rounding of an orientation may leave."""
AT_ONCE = 50
"""Values of a sampled joint that are tried once more where no branch was found."""
FINER_SAMPLES = (AT_ONCE, 256, 1024)
"""Numbers of values to try, one after the other, while all branches are outside the limits."""
FEW_STARTS, MANY_STARTS = 16, 64
"""First starts of a search if no sample has met the pose: they take no longer than the samples."""
TURNING = (candidates.SPHERICAL_WRIST, candidates.THREE_PARALLEL)
"""Classes whose branches are followed over the held joint."""


class Branches(NamedTuple):
    """The branches of one pose, best first, and the count of the others."""

    q: FloatArray
    """(k, n) joint angles [rad]."""
    errors: FloatArray
    """(k, 3) position error [m], rotation error [rad], Frobenius norm of FK - T."""
    raw: int
    """Candidates of the closed form."""
    certified: int
    """Candidates that reach the pose."""
    branches: int
    """Of these, different ones."""
    dropped: int
    """Of these, outside the limits."""
    samples: int
    """Values of a held joint that were tried; 1 where none is held, 0 where a proof came first that there are none."""
    starts: int = 0
    """Descents of a search, where no value of the held joint had met the pose."""
    is_too_far: bool = False
    """Whether a proof says that the pose is out of reach: the hull of what the arm reaches, or the length of its links."""
    is_doubtful: bool = False
    """Whether other branches may exist, because the pose is singular or nearly so: then the branches prove nothing."""
    curves: FloatArray | None = None
    """(k, n + 2) the curves of postures through the branches, see :class:`ssik_ros.solvers.closed_form.singular_poses.Settled`;
    None where all branches are isolated."""


def cause_of_absence(plan: AnalyticPlan, found: Branches, beyond: Cause) -> Cause:
    """
    Return why a pose has no branch within limits: the one rule for all callers.

    UNREACHABLE needs a certificate: the hull of what the arm reaches, or a closed form that finds all branches, met no
    singular or nearly singular posture and found none. Whatever else finds nothing has proved nothing.

    :param plan: of the arm.
    :param found: the branches of the pose.
    :param beyond: the cause if branches exist outside of the limits of the request.
    """
    if found.is_too_far:
        return Cause.UNREACHABLE
    if found.certified:
        return beyond
    return Cause.UNREACHABLE if plan.is_complete and not found.is_doubtful else Cause.NOT_FOUND


class BranchRequest(NamedTuple):
    """What a caller wants besides the pose."""

    seed: FloatArray | None = None
    """(n,) reference of the order, and of the winding of each joint."""
    mode: int = WITHIN_LIMITS
    metric: int = ranking.SUM_OF_SQUARES
    max_solutions: int = LARGEST_CAPACITY
    lower: FloatArray | None = None
    """(n,) limits in place of the chain's."""
    upper: FloatArray | None = None
    tool: FloatArray | None = None
    """(4, 4) pose of the tool, which the pose then describes, in the tip."""
    held: int | None = None
    """Index of the joint to hold, for chains of seven."""
    held_values: FloatArray | None = None
    """Values of the held joint to try; None for values spread over its limits, the seed's first."""
    samples: int | None = None
    """How many values of the held joint to spread over its limits; None means the arm's own number."""
    tolerance: float | None = None
    """Frobenius norm of FK - T up to which a branch counts; None means the plan's."""
    same: float | None = None
    """Difference of two branches below which they may be one [rad]; None means the plan's."""


PLAIN = BranchRequest()


Found = TypeVar('Found')
Read = Callable[[BranchArrays, int, Prepared], Found]


class AnalyticArm:
    """The closed form of one chain; several threads may call it at once."""

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
        Find the closed form.

        :param chain: up to seven revolute or prismatic joints.
        :param samples: values of the held joint that a pose of seven joints is solved for.
        :param parallel, meeting: up to where axes count as parallel and as meeting, see :func:`make_plan`.
        :param held: index of the joint of seven to hold; None means the one that suits best.
        :raises TopologyMismatch: when the chain has none.
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
        Return the branches of a pose, None when it is no rigid transform.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request: what is wanted.
        :raises TopologyMismatch: when the request holds a joint for which there is no closed form.
        """
        return self._search(pose, self.prepare(request, pose), None, self._read)

    def prepare_rows(self, request: BranchRequest) -> Prepared | None:
        """
        Prepare requests for :meth:`rows`; None if the arm samples a joint without knowing its arcs.

        :param request: what is wanted; of the seed it counts only whether there is one.
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
        Return the branches of a pose and nothing else, for a request that is prepared once and sent often.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param request, prepared: what is wanted, and the same from :meth:`prepare_rows`.
        :param seed: (n,) in place of the request's; not read if that has none.
        :param columns: how many of the n + 3 numbers of each branch to return.
        :returns: (k, columns) joint angles, then errors, best first; None if the pose is no rigid transform, or singular, so
            that :meth:`branches_refined` has to look at it.
        """
        is_on_arcs = prepared.is_on_arcs
        if is_on_arcs:
            # The search writes how many values it has tried.
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
        Return the best branch (n + 3,) of a rigid transform and how many branches exist without limits.

        Without a branch within limits: None, and -1 if the pose is singular, so that :meth:`branches_refined` has to look.

        :param pose, prepared, seed: as for :meth:`rows`.
        """
        return self._search(pose, prepared, seed, _read_best) or (None, 0)

    def _search(
        self, pose: FloatArray, prepared: Prepared, seed: FloatArray | None, read: Read[Found]
    ) -> Found | None:
        """Return what a function reads from the arrays after a search; None for no rigid transform."""
        arrays = self._take_arrays(prepared.capacity)
        try:
            count = arrays.search(prepared, pose, seed)
            return None if count < 0 else read(arrays, count, prepared)
        finally:
            self._pool.append(arrays)

    def _take_arrays(self, capacity: int) -> BranchArrays:
        """Return idle arrays with room for so many branches."""
        try:
            arrays = self._pool.pop()
        except IndexError:
            return BranchArrays(self.plan.size, max(self._capacity, capacity))
        return arrays if arrays.capacity >= capacity else BranchArrays(self.plan.size, capacity)

    def branches_refined(
        self, pose: FloatArray, request: BranchRequest = PLAIN
    ) -> Branches | None:
        """
        Return the branches of a pose, a sampled joint being sampled where they are within limits.

        Where no sample meets the pose, a search for one posture says which value of the joint does.

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
        """Return the branches of a search on arcs; if there are none, what a proof, finer samples or a search find."""
        if found.is_too_far or _is_met(found, request):
            return found
        held, limits = self._plan_for(request.held).held, self._limits(request)
        if found.branches == 0 and self._posture_search(held).proves_none(
            _tip_pose(pose, request), limits
        ):
            return found._replace(is_too_far=True)
        return self._refine(pose, request, found._replace(branches=0, dropped=0))

    def _settled(self, pose: FloatArray, request: BranchRequest, found: Branches) -> Branches:
        """Return the branches of a singular pose: isolated ones, and one point of each curve of postures."""
        if self._singular is None:
            self._singular = SingularPoses(self.plan)
        free = request._replace(mode=KEEP_ALL, max_solutions=search.BRANCHES_OF_SIX)
        everywhere = self.branches(pose, free)
        settled = self._singular.settle(
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

    def _limits(self, request: BranchRequest) -> KeptLimits:
        """Return the limits of a request, the chain's where it has none."""
        lower = self.chain.lower if request.lower is None else request.lower
        upper = self.chain.upper if request.upper is None else request.upper
        return KeptLimits(lower, upper, request.mode == WITHIN_LIMITS)

    def _branches_by_search(
        self, pose: FloatArray, request: BranchRequest, found: Branches
    ) -> Branches:
        """
        Return the branches at the held joint's value in a posture that a search finds, that posture among them.

        :param found: what samples have met: nothing within limits.
        """
        plan, limits = self._plan_for(request.held), self._limits(request)
        tolerance, aim = self.accepted(request.tolerance), _tip_pose(pose, request)
        search_for = self._posture_search(plan.held)
        posture = search_for.find(aim, request.seed, limits, tolerance)
        starts = found.starts + posture.starts
        if posture.q is None and request.seed is not None and not posture.is_too_far:
            # The first starts depend on the seed: others may come near.
            posture = search_for.find(aim, None, limits, tolerance)
            starts += posture.starts
        if posture.q is None:
            found = found._replace(starts=starts, is_too_far=posture.is_too_far)
            if not (posture.is_outside and found.branches == 0):
                return found
            free = limits._replace(are_kept=False)
            met = int(search_for.find(aim, request.seed, free, tolerance).q is not None)
            return found._replace(raw=found.raw + met, certified=met, branches=met, dropped=met)
        row = place(plan, posture.q, aim, request.seed, limits[:2], request.mode)
        values = posture.q[plan.held : plan.held + 1].copy()
        there = self.branches(pose, request._replace(held_values=values))
        if row is None or there is None or row[-1] > tolerance:
            return found._replace(starts=starts)
        return with_row(there, row, request, plan)._replace(
            samples=found.samples + 1, starts=starts
        )

    def warm_up_search(self, pose: FloatArray) -> None:
        """
        Set up what a pose needs that samples of the held joint miss; nothing where none is held.

        :param pose: (4, 4) a pose.
        """
        held = self.plan.held
        if held >= 0:
            limits = KeptLimits(self.chain.lower, self.chain.upper, True)
            self._posture_search(held).find(pose, None, limits, TOLERANCE)

    def _posture_search(self, held: int) -> PostureSearch:
        """Return the search that moves a joint, made at the first call."""
        if held not in self._searches:
            is_fast = self._plan_for(held).ints[search.KIND] in TURNING
            starts = FEW_STARTS if is_fast else MANY_STARTS
            self._searches[held] = PostureSearch(self.chain, held, starts)
        return self._searches[held]

    def prepare_arcs(self, request: BranchRequest) -> Prepared:
        """
        Return a request of which :meth:`has_arcs` is true as arrays for a search on arcs.

        :param request: what is wanted.
        """
        low, high = self.held_range(self._plan_for(request.held).held, request)
        wanted = request.samples or self.samples
        spread = np.array([low, high, wanted, 0.0])
        return self._prepared(request, spread, 3 * wanted + AT_ONCE)._replace(is_on_arcs=True)

    def _read(self, arrays: BranchArrays, count: int, prepared: Prepared) -> Branches:
        """Return what a search has written."""
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
        """Return the branches of finer samples of a held joint, then those of a search, if there are none yet."""
        for samples in FINER_SAMPLES:
            # Where nothing reaches the pose at all, it is most likely out of reach: one more try is enough.
            if found.is_too_far or _is_met(found, request):
                break
            if not found.branches and samples > AT_ONCE:
                break
            samples = max(samples, request.samples or 0)
            found = self.branches(pose, request._replace(samples=samples)) or found
        if found.is_too_far or _is_met(found, request):
            return found
        # Those that are exact only beside a limit are outside.
        return self._branches_by_search(pose, request, found._replace(dropped=found.branches))

    def has_arcs(self, request: BranchRequest) -> bool:
        """
        Return whether a sampled joint is sampled on the arcs that are within limits.

        :param request: what the caller wants.
        """
        plan = self._plan_for(request.held)
        is_sampled = plan.held >= 0 and request.held_values is None
        is_limited = request.mode == WITHIN_LIMITS
        is_turning = plan.ints[search.KIND] in TURNING and plan.ints[search.SLIDES] == 0
        return bool(is_sampled and is_limited and is_turning)

    def is_refinable(self, request: BranchRequest) -> bool:
        """
        Return whether postures may lie between the samples that are tried, and may be looked for.

        :param request: what the caller wants.
        """
        return self._plan_for(request.held).held >= 0 and request.held_values is None

    def prepare(self, request: BranchRequest, pose: FloatArray | None = None) -> Prepared:
        """
        Return a request as arrays for the kernel, which only reads them.

        :param request: all but the pose.
        :param pose: (4, 4); of a slide, the values that are tried depend on it.
        :raises TopologyMismatch: when the request holds a joint for which there is no closed form.
        """
        plan = self._plan_for(request.held)
        samples = self._held_values(plan, request, pose)
        return self._prepared(request, samples, len(samples))

    def _prepared(self, request: BranchRequest, samples: FloatArray, values: int) -> Prepared:
        """Return a request as arrays with the values of the held joint, and room for the branches at so many."""
        plan = self._plan_for(request.held)
        seed = self._no_seed if request.seed is None else request.seed
        reals, options = self._reals(plan, request), self._options_for(plan, request)
        capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * values)
        return Prepared(plan.ints, reals, samples, seed, options, capacity)

    def accepted(self, tolerance: float | None) -> float:
        """
        Return the Frobenius norm of FK - T up to which a branch of this arm counts.

        On an arm of a micrometre a tolerance meant for metres lets in what misses the pose by a thousandth of the arm.

        :param tolerance: the norm for larger arms; None for the default.
        """
        wanted = TOLERANCE if tolerance is None else tolerance
        return max(wanted * self._share, min(wanted, ROUNDING))

    def _options_for(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """Return the kernel's options; those of the last few different requests are kept."""
        has_seed, own = request.seed is not None, (request.tolerance, request.same)
        key = (plan.held, request.mode, request.metric, request.max_solutions, has_seed, *own)
        options = self._options.get(key)
        if options is None:
            options = plan.options
            options[search.MODE], options[search.METRIC] = request.mode, request.metric
            options[search.MAX_SOLUTIONS] = request.max_solutions
            options[search.HAS_SEED] = has_seed
            options[search.TOLERANCE] = self.accepted(request.tolerance)
            if request.same is not None:
                options[search.SAME] = request.same
            if len(self._options) >= 64:
                self._options.clear()
            self._options[key] = options
        return options

    def _make_plan(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds a joint."""
        return make_plan(self.chain, held, parallel=self._parallel, meeting=self._meeting)

    def holds(self, joint: int) -> bool:
        """
        Return whether the six other joints can be solved with a joint held.

        :param joint: its index.
        :raises TopologyMismatch: when they cannot.
        """
        return self._plan_for(joint).held == joint

    def _plan_for(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds a joint, made at the first call; None means the arm's own."""
        if held is None or self.plan.held < 0:
            return self.plan
        if held not in self._plans:
            self._plans[held] = self._make_plan(held)
        return self._plans[held]

    def _held_values(
        self, plan: AnalyticPlan, request: BranchRequest, pose: FloatArray | None
    ) -> FloatArray:
        """Return the values of the held joint: the seed's, then some that spread over the limits."""
        if plan.held < 0:
            return self._no_samples
        if request.held_values is not None:
            return request.held_values
        if self.is_slide(plan.held):
            low, high = self._slide_range(plan, request, pose)
        else:
            low, high = self.held_range(plan.held, request)
        # Halfway points: postures at the ends of the range lie on a limit.
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

        :param joint: its index, or -1 for none.
        """
        return joint >= 0 and bool(self.chain.kinds[joint] == JointKind.PRISMATIC)

    def _slide_range(
        self, plan: AnalyticPlan, request: BranchRequest, pose: FloatArray | None
    ) -> tuple[float, float]:
        """Return the range over which the values of a held slide are spread [m]; nothing much without a pose."""
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
        Return the range over which the values of a held revolute joint are spread: its limits, or 2 pi [rad].

        :param held: index of the joint.
        :param request: what the caller wants.
        """
        lower, upper, are_kept = self._limits(request)
        low, high = held_search.turning_range(float(lower[held]), float(upper[held]), are_kept)
        return float(low), float(high)

    def _reals(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """Return the plan's numbers with the limits and the tool of a request."""
        if request.lower is None and request.upper is None and request.tool is None:
            return plan.reals
        n, reals = plan.size, plan.reals.copy()
        if request.tool is not None:
            home = self.chain.home @ request.tool
            reals[6 * n : 6 * n + 9] = home[:3, :3].ravel()
            reals[6 * n + 9 : 6 * n + 12] = home[:3, 3]
            inverse = np.empty(12)
            se3.invert(inverse, reals[6 * n : 6 * n + 12].copy())
            reals[6 * n + 12 : 6 * n + 24] = inverse
            hull = search.plan_size(n) - reach_hull.BLOCK
            place = reals[hull + reach_hull.POINT : hull + reach_hull.POINT + 3]
            reals[hull + reach_hull.LEVER] = np.linalg.norm(place - home[:3, 3])
        if request.lower is not None:
            reals[6 * n + 24 : 7 * n + 24] = request.lower
        if request.upper is not None:
            reals[7 * n + 24 : 8 * n + 24] = request.upper
        return reals


def _read_best(arrays: BranchArrays, count: int, _: Prepared) -> tuple[FloatArray | None, int]:
    """Return the first row of a search, None if there is no row, and how many branches reach the pose, -1 in doubt."""
    if count > 0:
        return arrays.rows[0].copy(), int(arrays.counters[search.CERTIFIED])
    is_doubtful = arrays.counters[search.DOUBT] != 0
    return None, -1 if is_doubtful else int(arrays.counters[search.CERTIFIED])


def _tip_pose(pose: FloatArray, request: BranchRequest) -> FloatArray:
    """Return the pose of the tip: that of the tool without the tool."""
    return pose if request.tool is None else pose @ invert_pose(request.tool)


def _is_met(found: Branches, request: BranchRequest) -> bool:
    """Return whether there is a branch within limits, even where none is wanted."""
    is_any_wanted = request.max_solutions > 0
    return len(found.q) > 0 if is_any_wanted else found.branches > found.dropped


def with_row(
    found: Branches, row: FloatArray, request: BranchRequest, plan: AnalyticPlan
) -> Branches:
    """
    Return branches with one more, in its place of their order, unless they have it.

    :param found: the branches, best first.
    :param row: (n + 3,) joint values and errors.
    :param request: what says which order.
    :param plan: of the chain.
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
