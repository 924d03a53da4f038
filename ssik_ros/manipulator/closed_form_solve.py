"""
Solve a pose by the closed form of an arm: find its branches, then filter them by the settings of the solve.

For an arm with a held joint these are the branches at given values or at samples of this joint. The filters are, in
this order: limits, held joints, arm angle, distance from the seed. Then the windings of joints are added if requested,
and ``max_solutions`` cuts the list.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arrays import FloatArray, wrap_angles
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify, windings as winding_kernels
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.manipulator.batch_solutions import BatchSolutions
from ssik_ros.manipulator.prepared_solve import PreparedSolve
from ssik_ros.manipulator.solution import Candidates, RefinementMode, SolverFacts
from ssik_ros.manipulator.solve_settings import (
    read_seed,
    read_target,
    repair_target,
    SolveSettings,
    WRAP,
)
from ssik_ros.manipulator.tolerance_policy import TolerancePolicy
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.arm_angle import ArmAngle
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_arrays import Prepared
from ssik_ros.solvers.closed_form.branch_block import PlainBranches
from ssik_ros.solvers.closed_form.branch_request import (
    Branches,
    BranchRequest,
    cause_of_absence,
    Holding,
    KEEP_ALL,
    METRICS,
    WITHIN_LIMITS,
    WRAP_ONLY,
)
from ssik_ros.solvers.closed_form.plan import AnalyticPlan, LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.rescue import rescue
from ssik_ros.solvers.closed_form.windings import enumerate_windings

MODES: dict[bool | str, int] = {True: WITHIN_LIMITS, False: KEEP_ALL, WRAP: WRAP_ONLY}
FLOAT64 = np.dtype(np.float64)
NOT_MET = (Cause.UNREACHABLE, Cause.NOT_FOUND)
"""Causes where nothing reached the pose: proved, or as far as was tried."""
AT_VALUE = 1e-9
"""Difference of a joint from the value it is held at that is rounding [rad]."""
AT_ANGLE = 1e-6
"""Difference from an arm angle that is rounding [rad]."""
NEARLY = 0.05
"""Distance of axes from a common point, relative to the chain's size, below which they nearly meet."""


class ArmClosedForm:
    """
    The closed form ``arm`` of one ``chain``; ``facts`` has its name, tier, reason, held joint and drift for reports.

    ``arm_angle`` computes arm angles; None unless the chain has seven revolute joints, a spherical shoulder and a
    spherical wrist.
    """

    def __init__(self, chain: SerialChain, policy: TolerancePolicy) -> None:
        """
        Choose the closed form of a chain.

        :param chain: the chain.
        :param policy: tolerances for parallel and for meeting axes.
        :raises TopologyMismatch: if the chain has no closed form.
        """
        self.chain = chain
        self.arm = AnalyticArm(chain, parallel=policy.axis_parallel, meeting=policy.axis_intersect)
        self.facts = describe_plan(self.arm.plan)
        self.arm_angle = ArmAngle.of_chain(chain)


class ClosedFormSolve(PreparedSolve):
    """
    Solves poses by the closed form of an arm, with options that were checked once; a call gives only target and seed.

    The branches of a pose are found, at given values or at samples of the held joint if the arm has one. Then they are
    filtered by limits, held joints, arm angle and distance from the seed, as the settings ask. If ``allow_refinement``
    is set and no branch is found, perturbed targets are tried, unless the pose is proved too far away.
    """

    def __init__(self, form: ArmClosedForm, settings: SolveSettings) -> None:
        """
        Prepare the parts that all requests share.

        :param form: the closed form.
        :param settings: settings of the requests, with the seed of requests that give none.
        """
        super().__init__(settings, form.facts)
        self._form, self._is_rescued = form, settings.allow_refinement
        self._plain: PlainBranches | None = None
        self._prepared: Prepared | None = None
        if settings.is_plain:
            arm, request = form.arm, _branch_request(form, settings)
            self._request = request
            self._plain = PlainBranches.of(arm, request)
            self._prepared = arm.prepare_rows(request)

    def find(
        self, T_target: ArrayLike, q_seed: ArrayLike | None, with_errors: bool
    ) -> FloatArray | None:
        """
        Return the solutions as rows, best first, by the fast path; None if the caller has to call :meth:`solve`.

        Return None if the settings need filters, or if the pose is not quite rigid. For an arm without a held joint,
        return None at a nearly singular pose. Return None also for an arm whose held joint is sampled over its whole
        range, and for no branch with ``allow_refinement``. Arguments, columns and errors are as for
        :meth:`PreparedSolve.find`.
        """
        rows = None
        if self._plain is not None:
            rows = self._plain.find(T_target, q_seed, with_errors)
            if rows is not None and not self._is_rescued:
                return rows
        if rows is None and self._prepared is not None:
            seed = self.settings.seed if q_seed is None else read_seed(q_seed, self.dof)
            columns = self.dof + 3 * with_errors
            pose: Any = T_target
            is_ready = type(pose) is np.ndarray and pose.dtype is FLOAT64
            if not (is_ready and pose.shape == (4, 4) and pose.flags.c_contiguous):
                pose = read_target(T_target)
            rows = self._form.arm.rows(pose, self._request, self._prepared, seed, columns)
        needs_rescue = self._is_rescued and rows is not None and not len(rows)
        return None if needs_rescue else rows

    def _solve(self, target: FloatArray, settings: SolveSettings) -> Candidates:
        """Return the filtered solutions for a target (4, 4), which may be nearly rigid; the settings have the seed."""
        return _Request(self._form, target, settings).solve()

    def solve_batch(
        self, targets: FloatArray, seeds: FloatArray | None, threads: int
    ) -> BatchSolutions:
        """
        Return the solutions of many poses; a pose that is not a rigid transform is marked as refused.

        If the settings need no filters and no rescue, each kernel call solves a chunk of poses. Poses that are not
        quite rigid, or that samples of a held joint did not reach, are then solved again one by one. With filters or a
        rescue, all poses are solved one by one. Arguments are as for :meth:`PreparedSolve.solve_batch`.
        """
        settings, arm = self.settings, self._form.arm
        if not settings.is_plain or settings.allow_refinement:
            return super().solve_batch(targets, seeds, threads)
        seeds = settings.seed[None] if seeds is None else seeds
        request = _branch_request(self._form, settings)._replace(seed=seeds[0])
        branches = search_batch(arm, targets, seeds, request, threads)
        counts = branches.counts[:, search.COUNT]
        again = (counts < 0) | ((counts == 0) & arm.requests.is_refinable(request))
        if not again.any():
            return BatchSolutions.from_counts(branches.q, branches.residuals, counts)
        # Poses that are not exactly rigid, and poses that samples of the held joint did not reach.
        ends = np.cumsum(np.maximum(counts, 0))[:-1]
        parts, residuals = np.split(branches.q, ends), np.split(branches.residuals, ends)
        left = np.flatnonzero(again).tolist()
        return self._solve_each(left, targets, seeds, parts, residuals, counts.copy())


class _Request:
    """The solve of one pose by a closed form, with the settings of that solve."""

    def __init__(self, form: ArmClosedForm, target: FloatArray, settings: SolveSettings) -> None:
        """
        Convert the settings to a request for the closed form.

        :param form: closed form of the arm.
        :param target: (4, 4) pose of the end effector in the base; may be nearly rigid.
        :param settings: settings of the solve, with the seed.
        """
        self._form, self._target, self._settings = form, target, settings
        self._arm, self._chain, self._n = form.arm, form.chain, form.arm.plan.size
        self._branch_request = _branch_request(form, settings)
        if settings.arm_angle is not None:
            self._branch_request = self._at_arm_angle(settings.arm_angle)

    def solve(self) -> Candidates:
        """
        Return the solutions, and the numbers of candidates that each filter dropped.

        :raises InvalidTarget: if the target is not a rigid transform.
        :raises InvalidOption: for ``enumerate_windings`` with ``respect_limits`` False.
        """
        settings, branches = self._settings, self._branches()
        if settings.is_plain and (len(branches.q) or not settings.allow_refinement):
            return self._plain(branches)
        solved = self._filtered(branches)
        if solved.cause in NOT_MET and self._branch_request.held_values is not None:
            solved = solved._replace(cause=self._cause_of_narrowness())
        return solved

    def _branches(self) -> Branches:
        """
        Return the branches of the pose; if its rotation is not quite orthonormal, make it so first.

        Raise InvalidTarget if the pose is too far from a rigid transform.
        """
        branches = self._arm.branches_refined(self._target, self._branch_request)
        if branches is None:
            branches = self._arm.branches_refined(self._exact(), self._branch_request)
        assert branches is not None, 'The closed form refuses a target that is a rigid transform.'
        return branches

    def _exact(self) -> FloatArray:
        """Return the rigid transform (4, 4) nearest to the target; raise InvalidTarget if it is too far away."""
        return repair_target(self._target, self._settings.policy.rigid)

    def _cause_of_narrowness(self) -> Cause:
        """
        Return the cause of a solve that found no branch at the requested values of held joints or near the seed.

        The pose is solved again without held joints, arm angle and seed tolerance. If nothing reaches the pose then,
        return the cause of this solve. Otherwise return CONSISTENCY if a seed tolerance and no held joint was set, else
        CONSTRAINTS.
        """
        settings = self._settings
        wide = settings._replace(hold=(), arm_angle=None, seed_tolerance=None)
        cause = _Request(self._form, self._target, wide).solve().cause
        if cause in NOT_MET:
            return cause
        is_near = settings.seed_tolerance is not None and not settings.hold
        return Cause.CONSISTENCY if is_near else Cause.CONSTRAINTS

    def _plain(self, branches: Branches) -> Candidates:
        """Return all branches as candidates, with the counts of branches outside the limits and above ``max_solutions``."""
        kept = max(0, branches.branches - branches.dropped)
        cut = kept - len(branches.q)
        return self._explained(
            branches,
            Candidates(
                q=branches.q,
                residuals=branches.errors[:, 2],
                raw_candidates=branches.branches,
                dropped_by_limits=branches.dropped,
                dropped_by_max_solutions=0 if self._settings.max_solutions is None else cut,
                geometric_branches=kept,
                winding_representatives=kept,
                curves=branches.curves,
            ),
        )

    def _filtered(self, branches: Branches) -> Candidates:
        """
        Return the branches that pass all filters as candidates, with the number that each filter dropped.

        If no branch is found and ``allow_refinement`` is set, solutions come from the rescue, see
        :mod:`ssik_ros.solvers.closed_form.rescue`. A pose that is proved too far away is not rescued.
        """
        settings = self._settings
        rows = np.hstack([branches.q, branches.errors])
        raw, dropped, refined = branches.branches, branches.dropped, 0
        refinement: RefinementMode = 'none'
        if settings.allow_refinement and not len(rows) and not branches.is_too_far:
            accepted = self._arm.requests.accepted(settings.policy.fk_atol)
            iterations = settings.refinement_max_iters
            saved = rescue(self._arm, self._target, self._branch_request, accepted, iterations)
            rows, refined, refinement = saved.rows, saved.tried, 'lm'
            raw, dropped = raw + len(rows) + saved.outside, dropped + saved.outside
        before = len(rows)
        rows = self._at_angle(self._at_hold(rows))
        by_hold, before = before - len(rows), len(rows)
        rows = self._near_seed(rows)
        branch_count = len(rows)
        rows, total = self._with_windings(rows)
        rows = rows[: settings.max_solutions]
        return self._explained(
            branches,
            Candidates(
                q=np.ascontiguousarray(rows[:, : self._n]),
                residuals=rows[:, -1],
                refinement=refinement,
                raw_candidates=raw,
                dropped_by_limits=dropped,
                dropped_by_hold=by_hold,
                dropped_by_seed_tolerance=before - branch_count,
                dropped_by_max_solutions=total - len(rows),
                geometric_branches=branch_count,
                winding_representatives=total,
                refinement_engaged=refined,
                curves=self._curves_at(branches, rows),
            ),
        )

    def _explained(self, branches: Branches, solved: Candidates) -> Candidates:
        """
        Return candidates with the cause of the failure.

        If there are solutions, or if only ``max_solutions`` left none, return the candidates unchanged. Otherwise the
        last filter of the seed tolerance or of held joints that dropped a branch gives the cause, CONSISTENCY or
        CONSTRAINTS. If neither did, the closed form does.
        """
        if len(solved.q) or solved.dropped_by_max_solutions:
            return solved
        outside = branches._replace(certified=solved.dropped_by_limits)
        cause = cause_of_absence(self._arm.plan, outside, Cause.LIMITS)
        if solved.raw_candidates and solved.dropped_by_seed_tolerance:
            cause = Cause.CONSISTENCY
        elif solved.raw_candidates and solved.dropped_by_hold:
            cause = Cause.CONSTRAINTS
        return solved._replace(cause=cause)

    def _curves_at(self, branches: Branches, rows: FloatArray) -> FloatArray | None:
        """
        Return for each row the curve of solutions through its posture (k, n + 2); None if all branches are isolated.

        A curve is its unit tangent (n,), then its lengths against the tangent and along it [rad]. A row on no curve has
        zeros.

        :param branches: branches of the pose; a row belongs to a branch that is equal modulo 2 pi.
        :param rows: (k, ...) rows that begin with joint values (n,).
        """
        if branches.curves is None:
            return None
        curves = np.zeros((len(rows), self._n + 2))
        for place, row in enumerate(rows):
            distances = np.abs(self._chain.wrap_turns(branches.q - row[: self._n])).max(axis=1)
            if len(distances) and distances.min() <= AT_VALUE:
                curves[place] = branches.curves[int(distances.argmin())]
        return curves

    def _at_arm_angle(self, angle: float) -> BranchRequest:
        """
        Return the request with the first joint held at all values at which the elbow can have an arm angle.

        Raise InvalidOption for an arm without an arm angle, or if ``hold`` is set, too. Raise InvalidTarget for a
        target that is not a rigid transform.

        :param angle: the arm angle [rad].
        """
        measure = self._form.arm_angle
        if measure is None:
            raise InvalidOption(
                'arm_angle needs an arm of seven joints whose first three and last three axes meet in a point '
                f'each; this one is solved by {self._form.facts.solver_name} ({self._form.facts.reason}).',
                name='arm_angle',
            )
        if self._settings.hold:
            raise InvalidOption('arm_angle and hold both fix the redundancy; give one of them.')
        values = measure.first_joint(self._exact(), angle)
        return self._branch_request._replace(held=0, held_values=values)

    def _at_angle(self, rows: FloatArray) -> FloatArray:
        """
        Return the rows with the requested arm angle, within 1e-6 rad; all rows if the settings request none.

        :param rows: (k, n + 3) joint values and errors.
        """
        measure, wanted = self._form.arm_angle, self._settings.arm_angle
        if measure is None or wanted is None or not len(rows):
            return rows
        differences = np.array([measure.measure(q) - wanted for q in rows[:, : self._n]])
        return rows[np.abs(wrap_angles(differences)) <= AT_ANGLE]

    def _at_hold(self, rows: FloatArray) -> FloatArray:
        """
        Return the rows whose held joints have their values within 1e-9, with these joints set to exactly these values.

        Angles are compared modulo 2 pi.
        A row that then misses the pose is dropped. With ``respect_limits`` True, all rows are dropped if a held value
        is outside the limits.

        :param rows: (k, n + 3) joint values and errors.
        """
        if not self._settings.hold or not len(rows):
            return rows
        for joint, value in self._settings.hold:
            wanted = rows[:, : self._n].copy()
            wanted[:, joint] -= value
            differences = self._chain.wrap_turns(wanted)[:, joint]
            rows = rows[np.abs(differences) <= AT_VALUE].copy()
            rows[:, joint] = value
            inside = self._chain.lower[joint] <= value <= self._chain.upper[joint]
            if self._settings.respect_limits is True and not inside:
                rows = rows[:0]
        if not len(rows):
            return rows
        rows = self._measured(np.ascontiguousarray(rows[:, : self._n]))
        return rows[rows[:, -1] <= self._settings.policy.fk_atol]

    def _near_seed(self, rows: FloatArray) -> FloatArray:
        """
        Return the rows whose joints are all within the seed tolerance of the seed; all rows without a tolerance.

        Angles without limits, or all angles if limits are ignored, are compared modulo 2 pi.
        """
        settings = self._settings
        if settings.seed_tolerance is None or not len(rows):
            return rows
        differences = rows[:, : self._n] - settings.seed
        is_endless = self._endless() | (settings.respect_limits is False)
        differences = np.where(is_endless, self._chain.wrap_turns(differences), differences)
        return rows[(np.abs(differences) <= settings.seed_tolerance).all(axis=1)]

    def _endless(self) -> NDArray[np.bool_]:
        """Return a mask (n,) of the joints without limits."""
        endless: NDArray[np.bool_] = np.isinf(self._chain.lower) & np.isinf(self._chain.upper)
        return endless

    def _with_windings(self, rows: FloatArray) -> tuple[FloatArray, int]:
        """
        Return each row at all its windings, at most ``max_solutions`` rows, and the number of rows without this cap.

        A winding differs by whole turns of joints within their limits. One beyond a limit by rounding is moved onto it,
        and left out if it then misses the pose by too much. Unless ``enumerate_windings`` is set, return the rows
        unchanged and their number. Raise InvalidOption if ``enumerate_windings`` is set with ``respect_limits``
        False.

        :param rows: (k, n + 3) joint values and errors.
        """
        settings = self._settings
        if not settings.enumerate_windings or not len(rows):
            return rows, len(rows)
        if settings.respect_limits is False:
            raise InvalidOption(
                'enumerate_windings needs limits: without them there is no end of windings. '
                "Use respect_limits=True or 'wrap'."
            )
        wound = enumerate_windings(
            np.ascontiguousarray(rows[:, : self._n]),
            *self._winding_limits(),
            settings.seed,
            METRICS[settings.seed_metric],
            settings.max_solutions,
            int(self._arm.plan.ints[search.SLIDES]),
        )
        measured = self._measured(wound.q)
        # A winding that was moved onto its limit must be as exact as a branch has to be.
        least = np.maximum(rows[wound.of_branch, -1], settings.policy.subproblem_postverify)
        is_exact = measured[:, -1] <= least
        return measured[is_exact], wound.total - int(np.count_nonzero(~is_exact))

    def _winding_limits(self) -> tuple[FloatArray, FloatArray]:
        """
        Return the lower and upper limits (n,) for windings: the chain's limits, narrowed by the seed tolerance.

        Joints without limits are not narrowed.
        A held joint has its value as both limits.
        """
        settings = self._settings
        lower, upper = self._chain.lower.copy(), self._chain.upper.copy()
        if settings.seed_tolerance is not None:
            is_limited = ~self._endless()
            near, far = (
                settings.seed - settings.seed_tolerance,
                settings.seed + settings.seed_tolerance,
            )
            lower[is_limited] = np.maximum(lower, near)[is_limited]
            upper[is_limited] = np.minimum(upper, far)[is_limited]
        for joint, value in settings.hold:
            lower[joint] = upper[joint] = value
        return lower, upper

    def _measured(self, q: FloatArray) -> FloatArray:
        """
        Return joint vectors (k, n) with their errors at the target appended, as rows (k, n + 3).

        The errors are position [m], rotation [rad] and the Frobenius norm of FK - T.
        """
        errors = np.empty((len(q), 3))
        winding_kernels.measure_rows(
            errors,
            q,
            *self._chain.packed,
            pose_numbers(self._exact()),
            np.empty(certify.scratch_size(self._n)),
        )
        return np.hstack([q, errors])


def _branch_request(form: ArmClosedForm, settings: SolveSettings) -> BranchRequest:
    """
    Return the settings of a solve as a request to the closed form.

    ``max_solutions`` is passed on only if no filter follows.
    """
    policy = settings.policy
    held, values = _holding(form, settings)
    cap = settings.max_solutions if settings.is_plain else None
    return BranchRequest(
        seed=settings.seed,
        mode=MODES[settings.respect_limits],
        metric=METRICS[settings.seed_metric],
        max_solutions=LARGEST_CAPACITY if cap is None else cap,
        held=held,
        held_values=values,
        samples=settings.redundancy_samples,
        tolerance=policy.fk_atol,
        same=policy.subproblem_dedup,
    )


def _holding(form: ArmClosedForm, settings: SolveSettings) -> Holding:
    """
    Return the joint of seven to hold and its values, from ``hold`` or from the seed tolerance.

    With ``hold`` it is one of its joints, with one value. With a seed tolerance it is the sampled joint; its values are
    the seed's one and others spread within the tolerance. Both are None if the arm holds no joint, or if the closed
    form chooses.
    """
    plan, chain = form.arm.plan, form.chain
    holding = Holding.among(plan, dict(settings.hold))
    if plan.held < 0 or settings.hold or settings.seed_tolerance is None:
        return holding
    # Samples far from the seed would only be thrown away.
    seed, room = settings.seed[plan.held], settings.seed_tolerance[plan.held]
    low, high = max(-math.pi, seed - room), min(math.pi, seed + room)
    slides = chain.kinds[plan.held] == JointKind.PRISMATIC
    if settings.respect_limits is True or slides:
        low = max(seed - room, chain.lower[plan.held])
        high = min(seed + room, chain.upper[plan.held])
    if not (math.isfinite(high - low) and low <= high):
        return holding
    count = settings.redundancy_samples or form.arm.samples
    values = low + (np.arange(count) + 0.5) * (high - low) / count
    return Holding(plan.held, np.insert(values, 0, min(max(seed, low), high)))


def describe_plan(plan: AnalyticPlan) -> SolverFacts:
    """
    Return the solver of an arm as ssik names it: dotted name, tier, reason, held joint and drift.

    The drift is the distance of the axes from the class of the closed form [m], 0 for an exact fit.

    :param plan: the plan of the closed form.
    """
    chain: Any = plan.chain
    is_elimination = 'general' in plan.name
    tier, name = (2 if is_elimination else 0), f'ikgeo.{plan.name}'
    if plan.held >= 0:
        name = _seven_name(AxisGeometry.of_chain(chain)) or _near_seven_name(plan)
        if chain.kinds[plan.held] == JointKind.PRISMATIC:
            # The classes need seven revolute joints, which an arm on a rail does not have.
            name = 'jointlock.seven_r'
        if name.startswith('jointlock'):
            tier = max(tier, 1)
    held = None if plan.held < 0 else chain.joint_names[plan.held]
    return SolverFacts(name, tier, plan.reason, held, True, plan.drift)


def _seven_name(axes: AxisGeometry) -> str:
    """Return ssik's name of the class of seven joints, such as ``seven_r.srs``; empty if the axes belong to no class."""
    shoulder, wrist = axes.meet(0, 1, 2) is not None, axes.meet(4, 5, 6) is not None
    if shoulder and wrist:
        return 'seven_r.srs'
    if (shoulder and axes.meet(4, 5) is not None) or (wrist and axes.meet(1, 2) is not None):
        return 'seven_r.spherical_shoulder'
    return ''


def _near_seven_name(plan: AnalyticPlan) -> str:
    """Return the name of the class that seven axes nearly fit, with ``_polished`` added, else ``jointlock.seven_r``."""
    if plan.drift == 0.0:
        return 'jointlock.seven_r'
    loose = AxisGeometry.of_chain(plan.chain, near=NEARLY)
    near = _seven_name(loose)
    return f'{near}_polished' if near else 'jointlock.seven_r'
