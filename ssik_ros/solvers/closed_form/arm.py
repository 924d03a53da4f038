"""
One chain and its closed form: the branches of a pose as arrays, for the solver and for façades.

``n`` joints, ``k`` branches. Poses are those of the tip in the base.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays
from ssik_ros.solvers.closed_form.placing import place
from ssik_ros.solvers.closed_form.plan import (
    AnalyticPlan,
    LARGEST_CAPACITY,
    make_plan,
    SAME,
    TOLERANCE,
)
from ssik_ros.solvers.closed_form.posture_search import Limits, PostureSearch

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
"""Values that are tried in turn while there are branches, but all outside the limits."""
FEW_STARTS, MANY_STARTS = 16, 64
"""First starts of a search where samples have met nothing: as long as the samples took, or less."""
TURNING = (candidates.SPHERICAL_WRIST, candidates.THREE_PARALLEL)
"""Classes whose branches are followed over the held joint."""


class Branches(NamedTuple):
    """The branches of one pose, best first, and what became of the others."""

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


class BranchRequest(NamedTuple):
    """What is asked besides the pose."""

    seed: FloatArray | None = None
    """(n,) reference of the order, and of the turn of each joint."""
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


class Prepared(NamedTuple):
    """A question as arrays for the kernel."""

    ints: NDArray[np.int64]
    reals: FloatArray
    samples: FloatArray
    """Values of the held joint; one number that is not read where none is held."""
    seed: FloatArray
    options: FloatArray


class AnalyticArm:
    """The closed form of one chain; may be asked from several threads at once."""

    def __init__(
        self,
        chain: SerialChain,
        samples: int = 16,
        *,
        parallel: float = EXACT_PARALLEL,
        meeting: float = EXACT_MEETING,
    ) -> None:
        """
        Find the closed form.

        :param chain: up to seven revolute or prismatic joints.
        :param samples: values of the held joint that a pose of seven joints is solved for.
        :param parallel, meeting: up to where axes count as parallel and as meeting, see :func:`make_plan`.
        :raises TopologyMismatch: when the chain has none.
        """
        self.chain = chain
        self.samples = samples
        self._parallel, self._meeting = parallel, meeting
        self.plan = self._make_plan(None)
        self._plans = {self.plan.held: self.plan}
        self._searches: dict[int, PostureSearch] = {}
        self._pool: list[BranchArrays] = []
        self._options: dict[tuple[int | float | None, ...], FloatArray] = {}
        per_pose = 1 if self.plan.held < 0 else samples + 1
        self._capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * per_pose)
        places = np.vstack([chain.points, chain.home[:3, 3]])
        size = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
        self._share = min(1.0, size / SMALL_ARM)
        self._no_samples = np.zeros(1)
        self._no_seed = np.zeros(self.plan.size)

    def branches(self, pose: FloatArray, question: BranchRequest = PLAIN) -> Branches | None:
        """
        Return the branches of a pose, None when it is no rigid transform.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param question: what else is asked.
        :raises TopologyMismatch: when the question holds a joint for which there is no closed form.
        """
        ints, reals, samples, seed, options = self.prepare(question, pose)
        arrays = self._take_arrays(len(samples))
        try:
            count = arrays.search(ints, reals, samples, pose, seed, options)
            if count < 0:
                return None
            return self._read(arrays, count, len(samples))
        finally:
            self._pool.append(arrays)

    def rows(
        self, pose: FloatArray, prepared: Prepared, seed: FloatArray, columns: int
    ) -> FloatArray | None:
        """
        Return the branches of a pose and nothing else, for a question that was prepared once and is asked often.

        :param pose: (4, 4) pose of the tip in the base, contiguous.
        :param prepared: from :meth:`prepare`, for a chain without a held joint.
        :param seed: (n,) in place of the prepared question's; not read if that has none.
        :param columns: how many of the n + 3 numbers of each branch to return.
        :returns: (k, columns) joint angles, then errors, best first; None for no rigid transform.
        """
        arrays = self._take_arrays(1)
        try:
            ints, reals, samples, _, options = prepared
            count = arrays.search(ints, reals, samples, pose, seed, options)
            return None if count < 0 else arrays.rows[:count, :columns].copy()
        finally:
            self._pool.append(arrays)

    def best(
        self, pose: FloatArray, prepared: Prepared, seed: FloatArray
    ) -> tuple[FloatArray | None, int]:
        """
        Return the best branch (n + 3,) of a rigid transform, None for none, and how many there are without limits.

        :param pose, prepared, seed: as for :meth:`rows`.
        """
        arrays = self._take_arrays(1)
        try:
            ints, reals, samples, _, options = prepared
            count = arrays.search(ints, reals, samples, pose, seed, options)
            certified = int(arrays.counters[search.CERTIFIED])
            return (arrays.rows[0].copy() if count > 0 else None), certified
        finally:
            self._pool.append(arrays)

    def branches_refined(
        self, pose: FloatArray, question: BranchRequest = PLAIN
    ) -> Branches | None:
        """
        Return the branches of a pose, a sampled joint being sampled where they are within limits.

        Where no sample meets the pose, a search for one posture says which value of the joint does.

        :param pose, question: as for :meth:`branches`.
        """
        if not self.is_refinable(question):
            return self.branches(pose, question)
        if self.has_arcs(question):
            found = self._branches_on_arcs(pose, question)
            if found is None or found.is_too_far or _is_met(found, question):
                return found
            if found.branches == 0 and self._is_proved_away(pose, question):
                return found._replace(is_too_far=True)
            found = self._refine(pose, question, found._replace(branches=0, dropped=0))
        else:
            found = self._refine(pose, question, self.branches(pose, question))
        if found is None or found.is_too_far or _is_met(found, question):
            return found
        # Those that are exact only beside a limit are outside.
        return self._branches_by_search(pose, question, found._replace(dropped=found.branches))

    def _is_proved_away(self, pose: FloatArray, question: BranchRequest) -> bool:
        """Return whether a proof says that no posture reaches a pose, limits left out."""
        aim = pose if question.tool is None else pose @ invert_pose(question.tool)
        lower = self.chain.lower if question.lower is None else question.lower
        upper = self.chain.upper if question.upper is None else question.upper
        search_for = self._posture_search(self._plan_for(question.held).held)
        return search_for.proves_none(aim, Limits(lower, upper, question.mode == WITHIN_LIMITS))

    def _branches_by_search(
        self, pose: FloatArray, question: BranchRequest, found: Branches
    ) -> Branches:
        """
        Return the branches at the held joint's value in a posture that a search finds, that posture among them.

        :param found: what samples have met: nothing within limits.
        """
        plan = self._plan_for(question.held)
        tolerance = self.accepted(question.tolerance)
        lower = self.chain.lower if question.lower is None else question.lower
        upper = self.chain.upper if question.upper is None else question.upper
        aim = pose if question.tool is None else pose @ invert_pose(question.tool)
        limits = Limits(lower, upper, question.mode == WITHIN_LIMITS)
        search_for = self._posture_search(plan.held)
        posture = search_for.find(aim, question.seed, limits, tolerance)
        starts = found.starts + posture.starts
        if posture.q is None:
            found = found._replace(starts=starts, is_too_far=posture.is_too_far)
            if not (posture.is_outside and found.branches == 0):
                return found
            posture = search_for.find(
                aim, question.seed, limits._replace(are_kept=False), tolerance
            )
            met = int(posture.q is not None)
            return found._replace(raw=found.raw + met, certified=met, branches=met, dropped=met)
        row = place(plan, posture.q, aim, question.seed, (lower, upper), question.mode)
        values = posture.q[plan.held : plan.held + 1].copy()
        there = self.branches(pose, question._replace(held_values=values))
        if row is None or there is None or row[-1] > tolerance:
            return found._replace(starts=starts)
        return with_row(there, row, question, plan)._replace(
            samples=found.samples + 1, starts=starts
        )

    def warm_up_search(self, pose: FloatArray) -> None:
        """
        Set up what a pose needs that samples of the held joint miss; nothing where none is held.

        :param pose: (4, 4) a pose.
        """
        held = self.plan.held
        if held >= 0:
            limits = Limits(self.chain.lower, self.chain.upper, True)
            self._posture_search(held).find(pose, None, limits, TOLERANCE)

    def _posture_search(self, held: int) -> PostureSearch:
        """Return the search that moves a joint, made at the first call."""
        if held not in self._searches:
            is_fast = self._plan_for(held).ints[search.KIND] in TURNING
            starts = FEW_STARTS if is_fast else MANY_STARTS
            self._searches[held] = PostureSearch(self.chain, held, starts)
        return self._searches[held]

    def _branches_on_arcs(self, pose: FloatArray, question: BranchRequest) -> Branches | None:
        """Return the branches within limits at values of the held joint on the arcs where there are any."""
        plan, spread = self._plan_for(question.held), self.spread(question)
        seed = self._no_seed if question.seed is None else question.seed
        options, reals = self._options_for(plan, question), self._reals(plan, question)
        arrays = self._take_arrays(self.arc_capacity(question) // search.BRANCHES_OF_SIX)
        try:
            count = arrays.search_arcs(plan.ints, reals, spread, pose, seed, options)
            tried = int(spread[held_search.TRIED])
            return None if count < 0 else self._read(arrays, count, tried)
        finally:
            self._pool.append(arrays)

    def spread(self, question: BranchRequest) -> FloatArray:
        """
        Return how the held joint is sampled, for :mod:`ssik_ros.kernels.closed_form.branches.held_search`.

        :param question: what is asked.
        """
        low, high = self.held_range(self._plan_for(question.held).held, question)
        return np.array([low, high, question.samples or self.samples, 0.0])

    def arc_capacity(self, question: BranchRequest) -> int:
        """
        Return how many branches a search on arcs may keep.

        :param question: what is asked.
        """
        values = 3 * (question.samples or self.samples) + AT_ONCE
        return min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * values)

    def _read(self, arrays: BranchArrays, count: int, samples: int) -> Branches:
        """Return what a search has written."""
        rows, n = arrays.rows, self.plan.size
        raw, certified, different, dropped, _, _, proved = arrays.counters[
            : search.COUNTERS
        ].tolist()
        q, errors = rows[:count, :n].copy(), rows[:count, n:].copy()
        if proved:
            return Branches(q, errors, 0, 0, 0, 0, 0, is_too_far=True)
        return Branches(q, errors, raw, certified, different, dropped, samples)

    def _refine(
        self, pose: FloatArray, question: BranchRequest, found: Branches | None
    ) -> Branches | None:
        """Return the branches of finer samples of a held joint where there are none yet."""
        for samples in FINER_SAMPLES:
            # Where nothing reaches the pose at all, it is most likely out of reach: one more try is enough.
            if found is None or found.is_too_far or _is_met(found, question):
                break
            if not found.branches and samples > AT_ONCE:
                break
            samples = max(samples, question.samples or 0)
            found = self.branches(pose, question._replace(samples=samples))
        return found

    def has_arcs(self, question: BranchRequest) -> bool:
        """
        Return whether a sampled joint is sampled on the arcs that are within limits.

        :param question: what is asked.
        """
        plan = self._plan_for(question.held)
        is_sampled = plan.held >= 0 and question.held_values is None
        is_limited = question.mode == WITHIN_LIMITS
        is_turning = plan.ints[search.KIND] in TURNING and plan.ints[search.SLIDES] == 0
        return bool(is_sampled and is_limited and is_turning)

    def is_refinable(self, question: BranchRequest) -> bool:
        """
        Return whether postures may lie between the samples that are tried, and may be looked for.

        :param question: what is asked.
        """
        return self._plan_for(question.held).held >= 0 and question.held_values is None

    def prepare(self, question: BranchRequest, pose: FloatArray | None = None) -> Prepared:
        """
        Return a question as arrays for the kernel, which only reads them.

        :param question: what is asked besides the pose.
        :param pose: (4, 4); of a slide, the values that are tried depend on it.
        :raises TopologyMismatch: when the question holds a joint for which there is no closed form.
        """
        plan = self._plan_for(question.held)
        seed = self._no_seed if question.seed is None else question.seed
        return Prepared(
            plan.ints,
            self._reals(plan, question),
            self._held_values(plan, question, pose),
            seed,
            self._options_for(plan, question),
        )

    def accepted(self, tolerance: float | None) -> float:
        """
        Return the Frobenius norm of FK - T up to which a branch of this arm counts.

        On an arm of a micrometre a tolerance meant for metres lets in what misses the pose by a thousandth of the arm.

        :param tolerance: the norm for larger arms; None for the default.
        """
        wanted = TOLERANCE if tolerance is None else tolerance
        return max(wanted * self._share, min(wanted, ROUNDING))

    def _options_for(self, plan: AnalyticPlan, question: BranchRequest) -> FloatArray:
        """Return the kernel's options; those of the last few different questions are kept."""
        has_seed, own = question.seed is not None, (question.tolerance, question.same)
        key = (plan.held, question.mode, question.metric, question.max_solutions, has_seed, *own)
        options = self._options.get(key)
        if options is None:
            options = plan.options
            options[search.MODE], options[search.METRIC] = question.mode, question.metric
            options[search.MAX_SOLUTIONS] = question.max_solutions
            options[search.HAS_SEED] = has_seed
            options[search.TOLERANCE] = self.accepted(question.tolerance)
            if question.same is not None:
                options[search.SAME] = question.same
            if len(self._options) >= 64:
                self._options.clear()
            self._options[key] = options
        return options

    def _take_arrays(self, samples: int) -> BranchArrays:
        """Return arrays that nobody else uses, large enough for so many values of a held joint."""
        wanted = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * samples)
        try:
            arrays = self._pool.pop()
        except IndexError:
            return BranchArrays(self.plan.size, max(self._capacity, wanted))
        return arrays if arrays.capacity >= wanted else BranchArrays(self.plan.size, wanted)

    def _make_plan(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds a joint."""
        return make_plan(self.chain, held, parallel=self._parallel, meeting=self._meeting)

    def _plan_for(self, held: int | None) -> AnalyticPlan:
        """Return the plan that holds a joint, made at the first call; None means the arm's own."""
        if held is None or self.plan.held < 0:
            return self.plan
        if held not in self._plans:
            self._plans[held] = self._make_plan(held)
        return self._plans[held]

    def _held_values(
        self, plan: AnalyticPlan, question: BranchRequest, pose: FloatArray | None
    ) -> FloatArray:
        """Return the values of the held joint: the seed's, then some that spread over the limits."""
        if plan.held < 0:
            return self._no_samples
        if question.held_values is not None:
            return question.held_values
        if self.is_slide(plan.held):
            low, high = self._slide_range(plan, question, pose)
        else:
            low, high = self.held_range(plan.held, question)
        # Halfway points: the ends of the range are the postures nobody wants.
        count = self.samples if question.samples is None else question.samples
        step = (high - low) / count
        values = [low + (i + 0.5) * step for i in range(count)]
        if question.seed is not None:
            own = float(question.seed[plan.held])
            values.insert(0, held_search.into_range(own, low, high, self.is_slide(plan.held)))
        return np.array(values)

    def is_slide(self, joint: int) -> bool:
        """
        Return whether a joint is prismatic.

        :param joint: its index, or -1 for none.
        """
        return joint >= 0 and bool(self.chain.kinds[joint] == JointKind.PRISMATIC)

    def _slide_range(
        self, plan: AnalyticPlan, question: BranchRequest, pose: FloatArray | None
    ) -> tuple[float, float]:
        """Return the range over which the values of a held slide are spread [m]; nothing much without a pose."""
        if pose is None:
            return 0.0, 0.0
        low, high = held_slide.slide_range(plan.ints, self._reals(plan, question), pose)
        if not math.isinf(high - low):
            return low, high
        name = self.chain.joint_names[plan.held]
        raise InvalidLimits(
            f"'{name}' slides, and so do others without limits: how far it could be for a pose has no bound. "
            'Give them limits, or it a value to hold.',
            joint=name,
        )

    def held_range(self, held: int, question: BranchRequest) -> tuple[float, float]:
        """
        Return the range over which the values of a held joint that turns are spread: its limits, or a turn [rad].

        :param held: index of the joint.
        :param question: what is asked.
        """
        lower = self.chain.lower if question.lower is None else question.lower
        upper = self.chain.upper if question.upper is None else question.upper
        low, high = held_search.turning_range(
            float(lower[held]), float(upper[held]), question.mode == WITHIN_LIMITS
        )
        return float(low), float(high)

    def _reals(self, plan: AnalyticPlan, question: BranchRequest) -> FloatArray:
        """Return the plan's numbers with the limits and the tool of a question."""
        if question.lower is None and question.upper is None and question.tool is None:
            return plan.reals
        n, reals = plan.size, plan.reals.copy()
        if question.tool is not None:
            home = self.chain.home @ question.tool
            reals[6 * n : 6 * n + 9] = home[:3, :3].ravel()
            reals[6 * n + 9 : 6 * n + 12] = home[:3, 3]
            inverse = np.empty(12)
            se3.invert(inverse, reals[6 * n : 6 * n + 12].copy())
            reals[6 * n + 12 : 6 * n + 24] = inverse
            hull = search.plan_size(n) - reach_hull.BLOCK
            place = reals[hull + reach_hull.POINT : hull + reach_hull.POINT + 3]
            reals[hull + reach_hull.LEVER] = np.linalg.norm(place - home[:3, 3])
        if question.lower is not None:
            reals[6 * n + 24 : 7 * n + 24] = question.lower
        if question.upper is not None:
            reals[7 * n + 24 : 8 * n + 24] = question.upper
        return reals


def _is_met(found: Branches, question: BranchRequest) -> bool:
    """Return whether there is a branch within limits, even where none is wanted."""
    is_any_wanted = question.max_solutions > 0
    return len(found.q) > 0 if is_any_wanted else found.branches > found.dropped


def with_row(
    found: Branches, row: FloatArray, question: BranchRequest, plan: AnalyticPlan
) -> Branches:
    """
    Return branches with one more, in its place of their order, unless they have it.

    :param found: the branches, best first.
    :param row: (n + 3,) joint values and errors.
    :param question: what says which order.
    :param plan: of the chain.
    """
    n, chain = plan.size, plan.chain
    same = SAME if question.same is None else question.same
    away = chain.wrap_turns(found.q - row[:n])
    if (np.abs(away) < same).all(axis=1).any():
        return found
    rows = np.vstack([np.hstack([found.q, found.errors]), row])
    if question.seed is not None:
        lower = chain.lower if question.lower is None else question.lower
        upper = chain.upper if question.upper is None else question.upper
        slides, metric = int(plan.ints[search.SLIDES]), question.metric
        keys = [
            ranking.distance(each, question.seed, n, slides, lower, upper, metric)
            for each in np.ascontiguousarray(rows[:, :n])
        ]
        rows = rows[np.argsort(keys, kind='stable')]
    rows = rows[: question.max_solutions]
    return found._replace(
        q=np.ascontiguousarray(rows[:, :n]),
        errors=np.ascontiguousarray(rows[:, n:]),
        raw=found.raw + 1,
        certified=found.certified + 1,
        branches=found.branches + 1,
    )
