"""
Solves of an arm that are checked and set up once for a combination of options, then called for many poses.

:class:`ssik_ros.Manipulator` keeps up to 64 of them, one for each combination.
:class:`ssik_ros.manipulator.closed_form_solve.ClosedFormSolve` calls the closed form of an arm. :class:`SearchSolve`
serves arms without a closed form, and solves with the name or with parameters of a search.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_float
from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.manipulator.batch_solutions import BatchSolutions
from ssik_ros.manipulator.diagnostic import Diagnostic
from ssik_ros.manipulator.solution import Candidates, SolverFacts
from ssik_ros.manipulator.solve_settings import (
    read_seed,
    read_target,
    repair_target,
    SolveSettings,
)
from ssik_ros.manipulator.tolerance_policy import TolerancePolicy
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.results import Cause, IkStatus

FULL_POSE = 6
"""Joints that an arm needs to reach any full pose."""
RANKED = 16
"""Solutions of a search that a cost chooses from."""
COPIED = tuple(field.name for field in fields(Diagnostic) if field.name in Candidates._fields)
"""Fields that a report copies from its candidates."""
CLOSED_FORM_ONLY = ('enumerate_windings', 'arm_angle', 'redundancy_samples')
"""Settings that need all branches."""


class PreparedSolve(ABC):
    """
    A solve whose options are already checked; a call gives only target and seed.

    ``settings`` has the options and the default seed, ``facts`` describe the solver, ``dof`` is the number of joint
    variables. Several threads may call a solve at once, unless its settings have a scene, which serves one thread.
    """

    def __init__(self, settings: SolveSettings, facts: SolverFacts) -> None:
        """
        Keep the settings that all requests share.

        :param settings: settings of the requests, with the seed of requests that give none.
        :param facts: name of the solver, and the reason for its choice.
        """
        self.dof, self.settings, self.facts = len(settings.seed), settings, facts

    def find(
        self, T_target: ArrayLike, q_seed: ArrayLike | None, with_errors: bool
    ) -> FloatArray | None:
        """
        Return the solutions as rows, best first, by the fast path; None if the caller has to call :meth:`solve`.

        The base class has no fast path and always returns None.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param q_seed: (dof,) reference of the order; None means the default seed.
        :param with_errors: True returns rows (k, dof + 3) with the errors: position [m], rotation [rad], Frobenius norm
            of FK - T. False returns joint vectors (k, dof).
        :raises ValueError, TypeError: if the target is not a pose, or if the seed is malformed.
        """
        del T_target, q_seed, with_errors
        return None

    def solve(self, T_target: ArrayLike, q_seed: ArrayLike | None) -> Candidates:
        """
        Return the solutions of one pose, and the number of candidates that each filter dropped.

        :param T_target: pose of the end effector in the base, in any form of :func:`ssik_ros.pose`.
        :param q_seed: (dof,) reference of the order; None means the default seed.
        :raises ValueError, TypeError: as :meth:`find`; also for ``seed_tolerance`` without a seed.
        """
        target, settings = read_target(T_target), self.settings
        if q_seed is not None:
            settings = settings._replace(seed=read_seed(q_seed, self.dof))
        elif settings.seed_tolerance is not None:
            raise InvalidOption(
                'seed_tolerance needs q_seed, the posture that it is measured from.'
            )
        if not settings.is_chosen:
            return self._solve(target, settings)
        # The scene refuses some solutions, and the cost orders the others: both need all of them.
        candidates = self._solve(target, settings._replace(max_solutions=None))
        return _choose(candidates, settings, self.settings.max_solutions)

    @abstractmethod
    def _solve(self, target: FloatArray, settings: SolveSettings) -> Candidates:
        """
        Return the solutions for a target, before the scene and the cost choose among them.

        :param target: (4, 4) pose of the end effector in the base.
        :param settings: settings of this solve, with the seed.
        """

    def solve_batch(
        self, targets: FloatArray, seeds: FloatArray | None, threads: int
    ) -> BatchSolutions:
        """
        Return the solutions of many poses; a pose that is not a rigid transform is marked as refused.

        :param targets: (m, 4, 4) poses of the end effector in the base.
        :param seeds: (1, dof) one seed for all poses, or (m, dof); None means the default seed.
        :param threads: threads that share the work, if one kernel call solves many poses.
        """
        del threads
        count = len(targets)
        q, residuals = [np.empty((0, self.dof))] * count, [np.empty(0)] * count
        counts = np.full(count, -1, dtype=np.int64)
        return self._solve_each(range(count), targets, seeds, q, residuals, counts)

    def _solve_each(
        self,
        poses: Iterable[int],
        targets: FloatArray,
        seeds: FloatArray | None,
        q: list[FloatArray],
        residuals: list[FloatArray],
        counts: IntArray,
    ) -> BatchSolutions:
        """
        Solve some poses of a batch one by one, and return the solutions of all poses.

        A pose that is not a rigid transform keeps the solutions that it has.

        :param poses: indices of the poses to solve.
        :param targets: (m, 4, 4) all poses of the batch.
        :param seeds: (1, dof) one seed for all poses, or (m, dof); None means the default seed.
        :param q, residuals, counts: solutions of each pose, their residuals, and how many a pose has; changed in place.
        """
        for pose in poses:
            seed = None if seeds is None else seeds[pose if len(seeds) > 1 else 0]
            try:
                one = self.solve(targets[pose], seed)
            except InvalidTarget:
                continue
            q[pose], residuals[pose], counts[pose] = one.q, one.residuals, len(one.q)
        rows = np.concatenate([np.empty((0, self.dof)), *q])
        return BatchSolutions.from_counts(rows, np.concatenate([np.empty(0), *residuals]), counts)

    def explain(self, candidates: Candidates, made_with: TolerancePolicy) -> Diagnostic:
        """
        Return the report of a solve: counts of candidates, warnings, and the cause of a failure.

        :param candidates: the result of :meth:`solve`.
        :param made_with: tolerances that were given when the arm was made; changes that have no effect are warned
            about.
        """
        count, facts, policy = len(candidates.q), self.facts, self.settings.policy
        return Diagnostic(
            solver_name=facts.solver_name,
            solver_tier=facts.tier,
            dispatch_reason=facts.reason,
            final_count=count,
            max_fk_residual=max(candidates.residuals.tolist(), default=math.nan),
            fk_atol=policy.fk_atol,
            warnings=(*_few_joints(self.dof, count), *policy.unused_changes(made_with)),
            **{name: getattr(candidates, name) for name in COPIED},
        )


def _few_joints(dof: int, count: int) -> tuple[str, ...]:
    """
    Return a warning, as a tuple of one text, if an arm of fewer than six joints has no solution; else an empty tuple.

    :param count: number of solutions.
    """
    if count or dof >= FULL_POSE:
        return ()
    return (
        f'An arm of {dof} joints reaches few full poses: leave rows free with arm.ik_LM(T, mask=[1, 1, 1, 0, 1, 1]), or '
        'the whole orientation with arm.solve_position(xyz).',
    )


class SearchSolve(PreparedSolve):
    """
    The prepared solve by a named solver, or by ``ssik_ros/Auto``.

    It returns up to ``max_solutions`` solutions, by default one. With a cost it finds up to 16 and sorts them.
    """

    def __init__(
        self,
        solver: IkSolver,
        kinematics: ChainKinematics,
        group: JointGroup,
        settings: SolveSettings,
        facts: SolverFacts,
    ) -> None:
        """
        Keep the parts that all requests share.

        :param solver: the solver, made for the group.
        :param kinematics: kinematics of the group's tip in its base.
        :param group: the joints.
        :param settings: settings of the requests; :meth:`solve` refuses those that only a closed form can keep.
        :param facts: name of the solver, and the reason for its choice.
        """
        super().__init__(settings, facts)
        self._solver, self._kinematics, self._group = solver, kinematics, group

    def _solve(self, target: FloatArray, settings: SolveSettings) -> Candidates:
        """
        Return the solutions for a target; their residuals are Frobenius norms of FK - T.

        Raise InvalidTarget if the target is not nearly rigid, or if the solver refuses target or seed. Raise
        InvalidOption for settings that need a closed form.

        :param target: (4, 4) pose of the end effector in the base.
        :param settings: settings of this solve, with the seed.
        """
        # The search asks the scene itself, so that it needs no more solutions than are wanted.
        settings = settings._replace(max_solutions=self.settings.max_solutions)
        _check_honoured(self._solver, settings)
        exact = repair_target(target, settings.policy.rigid)
        if settings.max_solutions == 0:
            return Candidates(np.empty((0, self.dof)), np.empty(0))
        result = self._solver.solve(_request(self._group, exact, settings))
        if result.status == IkStatus.REFUSED:
            raise InvalidTarget(
                f'Target or seed is not usable: {result.summary()} T_target = {target.tolist()}',
                result=result,
            )
        q = _ordered(result.solutions, self._group, settings)
        residuals = np.array([np.linalg.norm(self._kinematics.pose(row) - exact) for row in q])
        count = len(q)
        return Candidates(
            q=q,
            residuals=residuals,
            refinement='lm',
            raw_candidates=count,
            geometric_branches=count,
            winding_representatives=count,
            cause=result.cause,
            clock_ended=result.clock_ended,
            detail=result.summary(),
        )


def _check_honoured(solver: IkSolver, settings: SolveSettings) -> None:
    """
    Raise InvalidOption for settings that need a closed form, which ``solver`` does not have.

    They are ``enumerate_windings``, ``arm_angle``, ``redundancy_samples``, and ``respect_limits`` other than True.
    """
    for name in CLOSED_FORM_ONLY:
        value: Any = getattr(settings, name)
        if value is not None and value is not False:
            raise InvalidOption(
                f'{name}={value!r} needs a closed form of the arm; {solver.name} has none.',
                name=name,
            )
    if settings.respect_limits is not True:
        raise InvalidOption(
            f'respect_limits={settings.respect_limits!r} needs a closed form of the arm; {solver.name} always '
            'keeps the limits.',
            name='respect_limits',
        )


def _request(group: JointGroup, target: FloatArray, settings: SolveSettings) -> SolveRequest:
    """Return the request for a target (4, 4) with the settings of a solve."""
    names = group.joint_names
    return SolveRequest(
        targets=target,
        seed=settings.seed,
        locked={names[joint]: value for joint, value in settings.hold},
        consistency_limits=settings.seed_tolerance,
        max_solutions=_count(settings),
        validate=None if settings.scene is None else settings.scene.is_free,
        timeout=settings.timeout,
    )


def _count(settings: SolveSettings) -> int:
    """Return the number of solutions to search for: 16 with a cost, else ``max_solutions``, and 1 by default."""
    if settings.cost is not None:
        return RANKED
    return 1 if settings.max_solutions is None else settings.max_solutions


def _ordered(q: FloatArray, group: JointGroup, settings: SolveSettings) -> FloatArray:
    """
    Return the solutions (k, n) in the order of the metric ``seed_metric``.

    For ``wrap_linf`` sort by the largest joint difference to the seed; for ``wrap_l2`` keep the order of the solver.
    """
    if settings.seed_metric == 'wrap_l2' or len(q) < 2:
        return q
    differences = np.abs(q - settings.seed)
    endless = np.isinf(group.lower) & np.isinf(group.upper)
    largest = np.where(endless, np.abs(wrap_angles(differences)), differences).max(axis=1)
    ordered: FloatArray = q[np.argsort(largest, kind='stable')]
    return ordered


def _choose(candidates: Candidates, settings: SolveSettings, most: int | None) -> Candidates:
    """
    Return the solutions that do not collide, sorted by the cost, at most ``most`` of them.

    Without a cost they keep their order. If all collide, the cause is COLLISION and the detail names two bodies that
    do.

    :param candidates: all solutions, nearest to the seed first.
    :param settings: settings of the solve, with a scene, a cost or both.
    :param most: largest number of solutions to return; None means all.
    :raises InvalidOption: if the cost function does not return a number.
    """
    rows = np.arange(len(candidates.q))
    hits = ''
    if settings.scene is not None:
        pairs = [settings.scene.colliding_pair(q) for q in candidates.q]
        rows = rows[[pair is None for pair in pairs]]
        first = next((pair for pair in pairs if pair is not None), None)
        hits = '' if first is None else f'{first[0]} with {first[1]}'
    kept = len(rows)
    if settings.cost is not None:
        rows = rows[_order(settings.cost, candidates.q[rows])]
    rows = rows[:most]
    chosen = candidates._replace(
        q=np.ascontiguousarray(candidates.q[rows]),
        residuals=candidates.residuals[rows],
        curves=None if candidates.curves is None else candidates.curves[rows],
        dropped_by_max_solutions=candidates.dropped_by_max_solutions + kept - len(rows),
        geometric_branches=min(candidates.geometric_branches, kept),
        winding_representatives=min(candidates.winding_representatives, kept),
    )
    if kept or not len(candidates.q):
        return chosen
    count = len(candidates.q)
    which = (
        'The only solution of the pose collides,'
        if count == 1
        else f'All {count} solutions of the pose collide, the nearest one'
    )
    return chosen._replace(
        cause=Cause.COLLISION, detail=f'{which} {hits}: move the object or the pose.'
    )


def _order(cost: Callable[[FloatArray], float], q: FloatArray) -> IntArray:
    """
    Return the indices (k,) that sort joint vectors (k, n) by their cost; equal costs keep their order.

    Raise InvalidOption if a cost is not a number.
    """
    values = [read_float('The cost of a solution', cost(row)) for row in q]
    if any(map(math.isnan, values)):
        raise InvalidOption('cost returned NaN: it must return a number for each joint vector.')
    order: IntArray = np.argsort(values, kind='stable')
    return order
