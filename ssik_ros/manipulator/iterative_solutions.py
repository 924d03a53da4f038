"""Answers from a solver of the registry, for arms without a closed form and for those who name a method."""

import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.manipulator.solve_settings import repair_target, SolveSettings
from ssik_ros.manipulator.solver_answer import Answer
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.results import IkResult, IkStatus

CLOSED_FORM_ONLY = ('enumerate_windings', 'arm_angle', 'redundancy_samples')
"""Settings that need all branches."""


def find_by_iteration(
    solver: IkSolver,
    kinematics: ChainKinematics,
    group: JointGroup,
    target: FloatArray,
    settings: SolveSettings,
) -> Answer:
    """
    Return the solutions that a solver of the registry finds; one unless more are asked for.

    :param solver: the solver, made for the group.
    :param kinematics: of the group's tip in its base.
    :param group: the joints.
    :param target: (4, 4) pose of the tip in the base.
    :param settings: of the solve.
    :raises InvalidOption: for settings that only a closed form can honour.
    :raises InvalidTarget: when the target is no rigid transform.
    """
    _check_honoured(solver, settings)
    exact = repair_target(target, settings.policy.rigid)
    if settings.max_solutions == 0:
        return Answer(np.empty((0, group.variable_count)), np.empty(0))
    result = solver.solve(_request(group, exact, settings))
    if result.status == IkStatus.REFUSED:
        raise InvalidTarget(
            f'Target or seed is not usable: {result.summary()} T_target = {target.tolist()}',
            result=result,
        )
    q = _ordered(result.solutions, group, settings)
    residuals = np.array([np.linalg.norm(kinematics.pose(row) - exact) for row in q])
    return _answer(q, residuals, result)


def _answer(q: FloatArray, residuals: FloatArray, result: IkResult) -> Answer:
    """Return what a result says."""
    count = len(q)
    return Answer(
        q=q,
        residuals=residuals,
        refinement='lm',
        raw=count,
        branches=count,
        representatives=count,
        cause=result.cause,
        clock_ended=result.clock_ended,
        detail=result.summary(),
    )


def _check_honoured(solver: IkSolver, settings: SolveSettings) -> None:
    """Raise for settings that the solver would have to ignore."""
    for name in CLOSED_FORM_ONLY:
        value: Any = getattr(settings, name)
        if value:
            raise InvalidOption(
                f'{name}={value!r} needs a closed form of the arm; {solver.name} has none.',
                name=name,
            )
    if settings.arm_angle is not None:
        raise InvalidOption(f'arm_angle needs a closed form of the arm; {solver.name} has none.')
    if settings.respect_limits is not True:
        raise InvalidOption(
            f'respect_limits={settings.respect_limits!r} needs a closed form of the arm; {solver.name} always '
            'keeps the limits.',
            name='respect_limits',
        )


def _request(group: JointGroup, target: FloatArray, settings: SolveSettings) -> SolveRequest:
    """Return the settings as a request."""
    names = group.joint_names
    return SolveRequest(
        targets=target,
        seed=settings.seed,
        locked={names[joint]: value for joint, value in settings.hold},
        consistency_limits=settings.seed_tolerance,
        max_solutions=1 if settings.max_solutions is None else settings.max_solutions,
        timeout=settings.timeout,
    )


def _ordered(q: FloatArray, group: JointGroup, settings: SolveSettings) -> FloatArray:
    """Return the solutions by their distance to the seed, where the solver does not order so already."""
    if settings.seed is None or settings.seed_metric == 'wrap_l2' or len(q) < 2:
        return q
    away = np.abs(q - settings.seed)
    endless = np.isinf(group.lower) & np.isinf(group.upper)
    turns = np.abs(np.mod(away + math.pi, 2.0 * math.pi) - math.pi)
    largest = np.where(endless, turns, away).max(axis=1)
    ordered: FloatArray = q[np.argsort(largest, kind='stable')]
    return ordered
