"""
Convert requests for branches to arrays that the kernels read, with the plans of the chain.

Shapes: ``n`` joints. A pose is the pose of the tip in the base frame, unless a request has a tool.
"""

import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidLimits, TopologyMismatch
from ssik_ros.kernels.closed_form.branches import held_search, held_slide, plan_layout, search
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.branch_arrays import Prepared
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, tip_pose, WITHIN_LIMITS
from ssik_ros.solvers.closed_form.plan import (
    AnalyticPlan,
    CERTIFIED_ERROR,
    LARGEST_CAPACITY,
    make_plan,
)
from ssik_ros.solvers.closed_form.posture_search import Goal, KeptLimits

SMALL_ARM = 3e-4
"""Size of an arm [m]. For smaller arms the largest accepted residual of a branch shrinks in proportion to the size."""
ORIENTATION_ROUNDING = 1e-13
"""Frobenius norm of FK - T that rounding of the orientation can cause."""
SECOND_TRY_SAMPLES = 50
"""Number of values of a sampled joint in the second try, if the first one found no branch."""
TURNING = (candidates.SPHERICAL_WRIST, candidates.THREE_PARALLEL)
"""Classes whose branches are followed along the range of the held joint."""
MOST_OPTIONS = 64
"""Number of recent options that are kept as arrays."""


class RequestArrays:
    """
    The plans of one chain, one for each joint that requests hold, and the conversion of requests to kernel arrays.

    ``plan`` is the default plan; others are made when they are first asked for. Several threads may use one instance.
    """

    def __init__(
        self, chain: SerialChain, samples: int, parallel: float, meeting: float, held: int | None
    ) -> None:
        """
        Choose the closed form of a chain.

        :param chain: up to seven revolute or prismatic joints.
        :param samples: number of values of the held joint to try, if a request gives none.
        :param parallel, meeting: tolerances for parallel and for meeting axes, see
            :func:`ssik_ros.solvers.closed_form.plan.make_plan`.
        :param held: index of the joint of seven to hold; None lets the planner choose.
        :raises TopologyMismatch: if the chain has no closed form.
        """
        self.chain = chain
        self.samples = samples
        self._parallel, self._meeting = parallel, meeting
        self.plan = self._make_plan(held)
        self._plans = {self.plan.held: self.plan}
        self._options: dict[tuple[int | float | None, ...], FloatArray] = {}
        self._share = min(1.0, chain.length / SMALL_ARM)
        self._places = _places_of_parts(self.plan.size)
        self._no_samples = np.zeros(1)
        self._no_seed = np.zeros(self.plan.size)

    def has_arcs(self, request: BranchRequest) -> bool:
        """
        Return whether the search tries values of the held joint only on arcs of its range.

        An arc is an interval of values at which a branch is within the limits. The held joint must have no given
        values, and the request must keep limits. All joints must be revolute, in a class that supports arcs.

        :param request: options of the request.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        plan = self.plan_for(request.held)
        is_sampled = plan.held >= 0 and request.held_values is None
        is_limited = request.mode == WITHIN_LIMITS
        is_turning = plan.ints[search.KIND] in TURNING and plan.ints[search.SLIDES] == 0
        return bool(is_sampled and is_limited and is_turning)

    def is_refinable(self, request: BranchRequest) -> bool:
        """
        Return whether more samples or a posture search could find more branches.

        This is so if the arm has a held joint, and the request does not give its values.

        :param request: options of the request.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        return self.plan_for(request.held).held >= 0 and request.held_values is None

    def prepare(self, request: BranchRequest, pose: FloatArray | None = None) -> Prepared:
        """
        Return a request as arrays for the kernel, which only reads them.

        :param request: options of the request.
        :param pose: (4, 4) pose of the tip. The tried values of a held prismatic joint depend on it; without a pose, all
            are 0.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        :raises InvalidLimits: if a prismatic joint is held and other prismatic joints without limits leave its range
            unbounded.
        """
        plan = self.plan_for(request.held)
        samples = self._held_values(plan, request, pose)
        return self._prepared(request, samples, len(samples))

    def prepare_arcs(self, request: BranchRequest) -> Prepared:
        """
        Return the kernel arrays of a search that samples the held joint only on arcs of its range.

        An arc is an interval of values at which a branch is within the limits.

        :param request: options of the request; :meth:`has_arcs` must be true for it.
        :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
        """
        low, high = self.held_range(self.plan_for(request.held).held, request)
        wanted = request.samples or self.samples
        spread = np.array([low, high, wanted, 0.0])
        return self._prepared(request, spread, 3 * wanted + SECOND_TRY_SAMPLES)._replace(
            is_on_arcs=True
        )

    def _prepared(self, request: BranchRequest, samples: FloatArray, values: int) -> Prepared:
        """
        Return the kernel arrays of a request.

        :param samples: values of the held joint to try, or the settings of a search on arcs.
        :param values: number of values of the held joint for whose branches there must be room.
        """
        plan = self.plan_for(request.held)
        seed = self._no_seed if request.seed is None else request.seed
        reals, options = self._reals(plan, request), self._options_for(plan, request)
        capacity = min(LARGEST_CAPACITY, search.BRANCHES_OF_SIX * values)
        return Prepared(plan.ints, reals, samples, seed, options, capacity)

    def accepted(self, tolerance: float | None) -> float:
        """
        Return the largest Frobenius norm of FK - T that a branch of this arm may have.

        For arms of a size below 0.3 mm it shrinks in proportion to the size, down to 1e-13. Otherwise, on an arm of a
        micrometre, a tolerance meant for metres would accept an error of a thousandth of the arm.

        :param tolerance: the norm for larger arms; None means the default.
        """
        wanted = CERTIFIED_ERROR if tolerance is None else tolerance
        return max(wanted * self._share, min(wanted, ORIENTATION_ROUNDING))

    def _options_for(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """Return the options of a request as the kernel reads them; recent results are cached."""
        has_seed, thresholds = request.seed is not None, (request.tolerance, request.same)
        key = (
            plan.held,
            request.mode,
            request.metric,
            request.max_solutions,
            has_seed,
            *thresholds,
        )
        options = self._options.get(key)
        if options is None:
            options = plan.options
            options[search.MODE], options[search.METRIC] = request.mode, request.metric
            options[search.MAX_SOLUTIONS] = min(request.max_solutions, LARGEST_CAPACITY)
            options[search.HAS_SEED] = has_seed
            options[search.ERROR_OPTION] = self.accepted(request.tolerance)
            if request.same is not None:
                options[search.SEPARATION_OPTION] = request.same
            if len(self._options) >= MOST_OPTIONS:
                self._options.clear()
            self._options[key] = options
        return options

    def can_hold_instead(self, joint: int) -> bool:
        """
        Return whether a joint can be held in place of the joint that the default plan holds.

        This is False for the joint of the default plan, for an arm that needs no held joint, and if the other joints
        have no closed form.

        :param joint: index of the joint.
        """
        try:
            return joint != self.plan.held and self.plan_for(joint).held == joint
        except TopologyMismatch:
            return False

    def _make_plan(self, held: int | None) -> AnalyticPlan:
        """Return a new plan that holds joint ``held``; None lets the planner choose the joint."""
        return make_plan(self.chain, held, parallel=self._parallel, meeting=self._meeting)

    def plan_for(self, held: int | None) -> AnalyticPlan:
        """
        Return the plan that holds a joint; the plan of each joint is made when it is first asked for.

        Return the default plan for None, and for an arm that needs no held joint.

        :param held: index of the joint.
        :raises TopologyMismatch: if no closed form solves the arm with this joint held.
        """
        if held is None or self.plan.held < 0:
            return self.plan
        if held not in self._plans:
            self._plans[held] = self._make_plan(held)
        return self._plans[held]

    def _held_values(
        self, plan: AnalyticPlan, request: BranchRequest, pose: FloatArray | None
    ) -> FloatArray:
        """
        Return the values to try for the held joint [rad or m]; without a held joint, one number that is not read.

        If the request does not give them, they are spread evenly over the joint's range; with a seed, the seed's value
        comes first. The range of a prismatic joint depends on the pose. Raise InvalidLimits if that range has no bound.
        """
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
            seed_value = float(request.seed[plan.held])
            values.insert(
                0, held_search.into_range(seed_value, low, high, self.is_slide(plan.held))
            )
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
        """
        Return the range of values to try for a held prismatic joint [m]; (0, 0) without a pose.

        Raise InvalidLimits if other prismatic joints without limits leave the range without a bound.
        """
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
        Return (low, high), the values to try for a held revolute joint [rad]: its limits, or a full turn.

        A full turn is used if limits are ignored, infinite, or at least 2 pi apart.

        :param held: index of the joint.
        :param request: options of the request.
        """
        lower, upper, are_kept = self.limits(request)
        low, high = held_search.turning_range(float(lower[held]), float(upper[held]), are_kept)
        return float(low), float(high)

    def goal(self, pose: FloatArray, request: BranchRequest) -> Goal:
        """
        Return the pose, limits, tolerance, seed and metric of a request, as a :class:`Goal` of posture searches.

        :param pose: (4, 4) requested pose; the goal has the pose of the tip.
        :param request: options of the request.
        """
        return Goal(
            tip_pose(pose, request),
            self.limits(request),
            self.accepted(request.tolerance),
            request.seed,
            request.metric,
        )

    def limits(self, request: BranchRequest) -> KeptLimits:
        """
        Return the lower and upper limits of a request; a limit that the request leaves None comes from the chain.

        The limits are marked as kept if the mode of the request is WITHIN_LIMITS.
        """
        lower = self.chain.lower if request.lower is None else request.lower
        upper = self.chain.upper if request.upper is None else request.upper
        return KeptLimits(lower, upper, request.mode == WITHIN_LIMITS)

    def _reals(self, plan: AnalyticPlan, request: BranchRequest) -> FloatArray:
        """
        Return the plan's real numbers, changed for the limits and the tool of a request.

        Without limits and tool, return the plan's own array, not a copy.
        """
        if request.lower is None and request.upper is None and request.tool is None:
            return plan.reals
        reals, places = plan.reals.copy(), self._places
        if request.tool is not None:
            home, packed = self.chain.home @ request.tool, reals[places.home]
            se3.from_matrix(packed, home, 0)
            se3.invert(reals[places.inverse], packed)
            hull = reals[places.hull]
            lever = hull[reach_hull.POINT : reach_hull.POINT + 3] - home[:3, 3]
            hull[reach_hull.LEVER] = math.sqrt(lever.dot(lever))
        if request.lower is not None:
            reals[places.lower] = request.lower
        if request.upper is not None:
            reals[places.upper] = request.upper
        return reals


def _places_of_parts(n: int) -> Any:
    """Return the parts of a plan's real numbers as slices, in a named tuple with the fields of ``plan_layout.Plan``."""
    indices: Any = np.arange(plan_layout.plan_size(n))
    make: Any = plan_layout.Plan
    return make(*(slice(part[0], part[-1] + 1) for part in plan_layout.PLAN.show(indices, n)))
