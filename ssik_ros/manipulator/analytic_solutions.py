"""
Answers from the closed form of an arm: all branches, then what was asked to be done with them.

In order: branches within limits, held joints, distance from the seed, turns of joints, a cap.
"""

import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, TopologyMismatch
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify, windings as winding_kernels
from ssik_ros.manipulator.solution import RefinementMode
from ssik_ros.manipulator.solve_settings import repair_target, SolveSettings, WRAP
from ssik_ros.manipulator.solver_answer import Answer, SolverFacts
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import (
    AnalyticArm,
    Branches,
    BranchRequest,
    KEEP_ALL,
    METRICS,
    WITHIN_LIMITS,
    WRAP_ONLY,
)
from ssik_ros.solvers.closed_form.arm_angle import ArmAngle
from ssik_ros.solvers.closed_form.plan import AnalyticPlan, LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.rescue import rescue
from ssik_ros.solvers.closed_form.windings import enumerate_windings

MODES: dict[bool | str, int] = {True: WITHIN_LIMITS, False: KEEP_ALL, WRAP: WRAP_ONLY}
NOT_MET = (Cause.UNREACHABLE, Cause.NOT_FOUND)
"""Causes where nothing reached the pose: proved, or as far as was tried."""
AT_VALUE = 1e-9
"""Difference of a joint from the value it is held at that is rounding [rad]."""
AT_ANGLE = 1e-6
"""Difference from an arm angle that is rounding [rad]."""


class AnalyticSolutions:
    """The closed form of one chain, behind the settings of a solve."""

    def __init__(
        self, chain: SerialChain, policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY
    ) -> None:
        """
        Find the closed form.

        :param policy: says up to where axes count as parallel and as meeting.
        :raises TopologyMismatch: when the chain has none.
        """
        self.chain = chain
        self.arm = AnalyticArm(chain, parallel=policy.axis_parallel, meeting=policy.axis_intersect)
        self.facts = describe_plan(self.arm.plan)
        self.arm_angle = ArmAngle.of_chain(chain)

    def branches(
        self, target: FloatArray, settings: SolveSettings, question: BranchRequest
    ) -> Branches:
        """
        Return the branches of one pose, its rotation made exact first where it is nearly one.

        :param target: (4, 4) contiguous.
        :param settings: of the solve.
        :param question: what is asked.
        :raises InvalidTarget: when the target is no rigid transform.
        """
        found = self.arm.branches_refined(target, question)
        if found is None:
            exact = repair_target(target, settings.policy.rigid)
            found = self.arm.branches_refined(exact, question)
        if found is None:
            raise TopologyMismatch('The closed form refuses a target that is a rigid transform.')
        return found

    def question(self, settings: SolveSettings) -> BranchRequest:
        """
        Return what is asked of the closed form.

        :param settings: of the solve.
        """
        policy = settings.policy
        held, values = self._held(settings)
        cap = settings.max_solutions if is_plain(settings) else None
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

    def answer(self, target: FloatArray, settings: SolveSettings) -> Answer:
        """
        Return the solutions of one pose.

        :param target: (4, 4) contiguous.
        :param settings: of the solve.
        :raises InvalidTarget: when the target is no rigid transform.
        """
        question = self.question(settings)
        if settings.arm_angle is not None:
            target, question = self._at_arm_angle(target, settings, question)
        found = self.branches(target, settings, question)
        if is_plain(settings) and (len(found.q) or not settings.allow_refinement):
            return self._plain(found, settings)
        answer = self._filtered(target, settings, question, found)
        if answer.cause in NOT_MET and question.held_values is not None:
            answer = answer._replace(cause=self._cause_of_narrowness(target, settings))
        return answer

    def _cause_of_narrowness(self, target: FloatArray, settings: SolveSettings) -> Cause:
        """Return why nothing was found at the values to which a joint was narrowed."""
        wide = settings._replace(hold=(), arm_angle=None, seed_tolerance=None)
        cause = self.answer(target, wide).cause
        if cause in NOT_MET:
            return cause
        is_near = settings.seed_tolerance is not None and not settings.hold
        return Cause.CONSISTENCY if is_near else Cause.CONSTRAINTS

    def _plain(self, found: Branches, settings: SolveSettings) -> Answer:
        """Return the branches as the answer."""
        kept = max(0, found.branches - found.dropped)
        count = len(found.q)
        return Answer(
            q=found.q,
            residuals=found.errors[:, 2],
            raw=found.branches,
            dropped_by_limits=found.dropped,
            dropped_by_max_solutions=kept - count if settings.max_solutions is not None else 0,
            branches=kept,
            representatives=kept,
            cause=_cause(
                count, found.branches, found.dropped, 0, 0, kept - count, self._proves(found)
            ),
        )

    def _filtered(
        self, target: FloatArray, settings: SolveSettings, question: BranchRequest, found: Branches
    ) -> Answer:
        """Return what is left of the branches after everything that was asked."""
        rows = np.hstack([found.q, found.errors])
        raw, dropped, refined = found.branches, found.dropped, 0
        refinement: RefinementMode = 'none'
        if settings.allow_refinement and not len(rows) and not found.is_too_far:
            saved = rescue(
                self.arm,
                target,
                question,
                self.arm.accepted(settings.policy.fk_atol),
                settings.refinement_max_iters,
            )
            rows, refined, refinement = saved.rows, saved.tried, 'lm'
            raw, dropped = raw + len(rows) + saved.outside, dropped + saved.outside
        rows, by_hold = self._apply_hold(rows, target, settings)
        if settings.arm_angle is not None:
            rows, by_angle = self._apply_arm_angle(rows, settings.arm_angle)
            by_hold += by_angle
        rows, by_tolerance = self._apply_seed_tolerance(rows, settings)
        branches = len(rows)
        rows, total = self._apply_windings(rows, target, settings)
        if settings.max_solutions is not None:
            rows = rows[: settings.max_solutions]
        n = self.arm.plan.size
        cut = total - len(rows)
        return Answer(
            q=np.ascontiguousarray(rows[:, :n]),
            residuals=rows[:, -1],
            refinement=refinement,
            raw=raw,
            dropped_by_limits=dropped,
            dropped_by_hold=by_hold,
            dropped_by_seed_tolerance=by_tolerance,
            dropped_by_max_solutions=cut,
            branches=branches,
            representatives=total,
            refined=refined,
            cause=_cause(len(rows), raw, dropped, by_hold, by_tolerance, cut, self._proves(found)),
        )

    def _proves(self, found: Branches) -> bool:
        """Return whether no branch means that there is none: values of a sampled joint prove nothing."""
        plan = self.arm.plan
        return (plan.held < 0 and plan.drift == 0.0) or found.is_too_far

    def _held(self, settings: SolveSettings) -> tuple[int | None, FloatArray | None]:
        """Return the joint of seven to hold and its values; None for the arm's own."""
        plan = self.arm.plan
        if plan.held < 0:
            return None, None
        if settings.hold:
            # The joint that is sampled anyway, such as a rail, rather than another one.
            own = [pair for pair in settings.hold if pair[0] == plan.held]
            joint, value = (own or settings.hold)[0]
            return joint, np.array([value])
        if settings.seed is None or settings.seed_tolerance is None:
            return None, None
        # Samples far from the seed would only be thrown away.
        seed, room = settings.seed[plan.held], settings.seed_tolerance[plan.held]
        low, high = max(-math.pi, seed - room), min(math.pi, seed + room)
        slides = self.chain.kinds[plan.held] == JointKind.PRISMATIC
        if settings.respect_limits is True or slides:
            low = max(seed - room, self.chain.lower[plan.held])
            high = min(seed + room, self.chain.upper[plan.held])
        if not (math.isfinite(high - low) and low <= high):
            return None, None
        count = settings.redundancy_samples or self.arm.samples
        values = low + (np.arange(count) + 0.5) * (high - low) / count
        return plan.held, np.insert(values, 0, min(max(seed, low), high))

    def _at_arm_angle(
        self, target: FloatArray, settings: SolveSettings, question: BranchRequest
    ) -> tuple[FloatArray, BranchRequest]:
        """Return the target, made exact, and a question for the values that joint 1 has at an arm angle."""
        if self.arm_angle is None:
            raise InvalidOption(
                'arm_angle needs an arm of seven joints whose first three and last three axes meet in a point '
                f'each; this one is solved by {self.facts.solver_name} ({self.facts.reason}).',
                name='arm_angle',
            )
        if settings.hold:
            raise InvalidOption('arm_angle and hold both fix the redundancy; give one of them.')
        exact = repair_target(target, settings.policy.rigid)
        values = self.arm_angle.first_joint(exact, settings.arm_angle or 0.0)
        return target, question._replace(held=0, held_values=values)

    def _apply_arm_angle(self, rows: FloatArray, wanted: float) -> tuple[FloatArray, int]:
        """Return the rows at an arm angle, and how many others there were."""
        measure = self.arm_angle
        if measure is None or not len(rows):
            return rows, 0
        n = self.arm.plan.size
        away = np.array([measure.measure(q) - wanted for q in rows[:, :n]])
        keep = np.abs(np.mod(away + math.pi, 2.0 * math.pi) - math.pi) <= AT_ANGLE
        return rows[keep], int((~keep).sum())

    def _apply_hold(
        self, rows: FloatArray, target: FloatArray, settings: SolveSettings
    ) -> tuple[FloatArray, int]:
        """Return the rows in which held joints have their values, exactly, and how many others there were."""
        if not settings.hold or not len(rows):
            return rows, 0
        before = len(rows)
        for joint, value in settings.hold:
            wanted = rows[:, : self.arm.plan.size].copy()
            wanted[:, joint] -= value
            away = self.chain.wrap_turns(wanted)[:, joint]
            rows = rows[np.abs(away) <= AT_VALUE].copy()
            rows[:, joint] = value
            inside = self.chain.lower[joint] <= value <= self.chain.upper[joint]
            if settings.respect_limits is True and not inside:
                rows = rows[:0]
        rows = self._measured(rows, target, settings)
        return rows, before - len(rows)

    def _apply_seed_tolerance(
        self, rows: FloatArray, settings: SolveSettings
    ) -> tuple[FloatArray, int]:
        """Return the rows near the seed, and how many others there were."""
        if settings.seed_tolerance is None or settings.seed is None or not len(rows):
            return rows, 0
        away = rows[:, : self.arm.plan.size] - settings.seed
        turns = self.chain.wrap_turns(away)
        endless = np.isinf(self.chain.lower) & np.isinf(self.chain.upper)
        if settings.respect_limits is False:
            endless = np.ones_like(endless)
        away = np.where(endless, turns, away)
        keep = (np.abs(away) <= settings.seed_tolerance).all(axis=1)
        return rows[keep], int((~keep).sum())

    def _apply_windings(
        self, rows: FloatArray, target: FloatArray, settings: SolveSettings
    ) -> tuple[FloatArray, int]:
        """Return the rows with all turns of their joints, and how many there are without a cap."""
        if not settings.enumerate_windings or not len(rows):
            return rows, len(rows)
        if settings.respect_limits is False:
            raise InvalidOption(
                'enumerate_windings needs limits: without them the turns have no end. '
                "Use respect_limits=True or 'wrap'."
            )
        lower, upper = self.chain.lower, self.chain.upper
        if settings.seed is not None and settings.seed_tolerance is not None:
            lower = np.maximum(lower, settings.seed - settings.seed_tolerance)
            upper = np.minimum(upper, settings.seed + settings.seed_tolerance)
            endless = np.isinf(self.chain.lower) & np.isinf(self.chain.upper)
            lower = np.where(endless, self.chain.lower, lower)
            upper = np.where(endless, self.chain.upper, upper)
        for joint, value in settings.hold:
            lower, upper = lower.copy(), upper.copy()
            lower[joint] = upper[joint] = value
        n = self.arm.plan.size
        turns = enumerate_windings(
            np.ascontiguousarray(rows[:, :n]),
            lower,
            upper,
            settings.seed,
            METRICS[settings.seed_metric],
            settings.max_solutions,
            int(self.arm.plan.ints[search.SLIDES]),
        )
        # Turns change a pose by rounding alone.
        errors = self._errors(turns.q, target, settings)
        return np.hstack([turns.q, errors]), turns.total

    def _measured(
        self, rows: FloatArray, target: FloatArray, settings: SolveSettings
    ) -> FloatArray:
        """Return the rows that still reach the target, with the errors at them."""
        n = self.arm.plan.size
        if not len(rows):
            return rows
        q = np.ascontiguousarray(rows[:, :n])
        rows = np.hstack([q, self._errors(q, target, settings)])
        return rows[rows[:, -1] <= settings.policy.fk_atol]

    def _errors(self, q: FloatArray, target: FloatArray, settings: SolveSettings) -> FloatArray:
        """Return the errors (k, 3) at joint vectors (k, n)."""
        chain, n = self.chain, self.arm.plan.size
        exact = repair_target(target, settings.policy.rigid)
        errors = np.empty((len(q), 3))
        winding_kernels.measure_rows(
            errors,
            q,
            chain.axes.ravel(),
            chain.points.ravel(),
            np.concatenate([chain.home[:3, :3].ravel(), chain.home[:3, 3]]),
            int(self.arm.plan.ints[search.SLIDES]),
            np.concatenate([exact[:3, :3].ravel(), exact[:3, 3]]),
            np.empty(certify.scratch_size(n)),
        )
        return errors


def is_plain(settings: SolveSettings) -> bool:
    """
    Return whether the branches within limits are the answer as they are.

    :param settings: of the solve.
    """
    return not (
        settings.hold
        or settings.enumerate_windings
        or settings.seed_tolerance is not None
        or settings.arm_angle is not None
    )


def _cause(
    count: int,
    raw: int,
    by_limits: int,
    by_hold: int,
    by_tolerance: int,
    cut: int,
    is_proved: bool,
) -> Cause:
    """Return why there is no solution: the last filter that took one away."""
    not_met = Cause.UNREACHABLE if is_proved else Cause.NOT_FOUND
    if count or cut:
        return Cause.NONE
    if not raw:
        return not_met
    if by_tolerance:
        return Cause.CONSISTENCY
    if by_hold:
        return Cause.CONSTRAINTS
    return Cause.LIMITS if by_limits else not_met


def describe_plan(plan: AnalyticPlan) -> SolverFacts:
    """
    Return name, tier and reason of a closed form in ssik's words.

    :param plan: how the chain is solved.
    """
    chain: Any = plan.chain
    is_elimination = 'general' in plan.name
    tier, name = (2 if is_elimination else 0), f'ikgeo.{plan.name}'
    if plan.held >= 0:
        name = _seven_name(AxisGeometry.of_chain(chain)) or _near_seven_name(plan)
        if chain.kinds[plan.held] == JointKind.PRISMATIC:
            # An arm on a rail is none of seven turning joints, wherever its axes meet.
            name = 'jointlock.seven_r'
        if name.startswith('jointlock'):
            tier = max(tier, 1)
    held = None if plan.held < 0 else chain.joint_names[plan.held]
    return SolverFacts(name, tier, plan.reason, held, True, plan.drift)


def _seven_name(axes: AxisGeometry) -> str:
    """Return the name of a class of seven joints, empty for none."""
    shoulder, wrist = axes.meet(0, 1, 2) is not None, axes.meet(4, 5, 6) is not None
    if shoulder and wrist:
        return 'seven_r.srs'
    if (shoulder and axes.meet(4, 5) is not None) or (wrist and axes.meet(1, 2) is not None):
        return 'seven_r.spherical_shoulder'
    return ''


def _near_seven_name(plan: AnalyticPlan) -> str:
    """Return the name of a class that seven joints nearly have, that of a sampled joint for none."""
    if plan.drift == 0.0:
        return 'jointlock.seven_r'
    loose = AxisGeometry.of_chain(plan.chain, near=NEARLY)
    near = _seven_name(loose)
    return f'{near}_polished' if near else 'jointlock.seven_r'


NEARLY = 0.05
"""Distance of axes from a point, relative to the chain's size, up to which they nearly meet."""
