"""The solvers, asked for planted postures: ``solve`` for all branches, ``ssik_ros/Analytic`` and ``ssik_ros/Auto`` for one."""

from collections.abc import Iterator

import numpy as np

from bench.campaign.judging import (
    Fault,
    FROBENIUS,
    ISOLATED,
    judge_nothing,
    judge_solutions,
    Judged,
    LOCATED,
    NEAREST,
    SEARCHES,
    Tally,
)
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause

ANALYTIC = 'ssik_ros/Analytic'


def judge_solve(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask for all branches, many poses at once and one by one, and judge every solution."""
    arm = judged.manipulator
    plan = arm.dispatch_plan
    options = {} if plan.is_analytic else {'target_tolerance': judged.tolerance}
    allowed = arm.policy.fk_atol if plan.is_analytic else FROBENIUS * judged.tolerance
    batch = arm.solve_batch(judged.poses, threads=1, **options)
    counts = np.diff(batch.offsets)
    errors = judged.errors(np.repeat(np.arange(len(counts)), counts), batch.q)
    for row, pose in enumerate(judged.poses):
        solutions, own = batch[row], errors[batch.offsets[row] : batch.offsets[row + 1]]
        yield from judge_solutions(judged, tally, row, solutions, 'solve', allowed, own)
        if len(solutions):
            if judged.is_complete and judged.sigma[row] >= ISOLATED:
                unsure = max(NEAREST, LOCATED / judged.sigma[row])
                nearest = judged.distances(solutions, judged.group.q[row]).min()
                if nearest > unsure:
                    yield judged.fault('missing', 'solve', row, f'nearest {nearest:.2g}')
            continue
        solutions, diagnostic = arm.solve(pose, explain=True, **options)
        if not len(solutions):
            # If only samples of a held joint were tried, the cause LIMITS describes the samples and proves nothing.
            is_fact = judged.is_complete or diagnostic.cause == Cause.UNREACHABLE
            yield from judge_nothing(judged, row, 'solve', diagnostic.cause, is_fact)


def judge_analytic(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the solver of planning groups for one solution."""
    if not judged.manipulator.dispatch_plan.is_analytic:
        return
    solver, allowed = judged.manipulator.solver(ANALYTIC), judged.manipulator.policy.fk_atol
    for row, pose in enumerate(judged.poses):
        result = solver.solve(SolveRequest(targets=pose))
        yield from judge_solutions(judged, tally, row, result.solutions, 'Analytic', allowed)
        if not len(result.solutions):
            yield from judge_nothing(judged, row, 'Analytic', result.cause, result.is_proved)


def judge_auto(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the default solver of planning groups for one solution."""
    solver, allowed = judged.manipulator.solver(SEARCHES[0]), FROBENIUS * judged.tolerance
    for row in range(len(judged.poses)):
        result = solver.solve(judged.request(row))
        yield from judge_solutions(judged, tally, row, result.solutions, 'Auto', allowed)
        if not len(result.solutions):
            yield from judge_nothing(judged, row, 'Auto', result.cause, result.is_proved)
