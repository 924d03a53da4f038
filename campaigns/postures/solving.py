"""The solvers, asked for planted postures: ``solve`` for all branches, ``ssik_ros/Analytic`` and ``ssik_ros/Auto`` for one."""

from collections.abc import Iterator

import numpy as np

from campaigns.postures.judging import (
    branch_distance,
    Fault,
    FROBENIUS,
    ISOLATED,
    judge_nothing,
    judge_solutions,
    Judged,
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
        solutions, row_errors = batch[row], errors[batch.offsets[row] : batch.offsets[row + 1]]
        yield from judge_solutions(judged, tally, row, solutions, 'solve', allowed, row_errors)
        if len(solutions):
            if judged.is_complete and judged.sigma[row] >= ISOLATED:
                nearest = judged.distances(solutions, judged.group.q[row]).min()
                if nearest > branch_distance(float(judged.sigma[row])):
                    yield judged.fault('missing', 'solve', row, f'nearest {nearest:.2g}')
            continue
        solutions, diagnostic = arm.solve(pose, explain=True, **options)
        if not len(solutions):
            # If only samples of a held joint were tried, the cause LIMITS describes the samples and proves nothing.
            is_fact = judged.is_complete or diagnostic.cause == Cause.UNREACHABLE
            yield from judge_nothing(judged, row, 'solve', diagnostic.cause, is_fact)


def judge_analytic(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the closed form of planning groups for one solution."""
    if judged.manipulator.dispatch_plan.is_analytic:
        allowed = judged.manipulator.policy.fk_atol
        requests = [SolveRequest(targets=pose) for pose in judged.poses]
        yield from _judge_solver(judged, tally, ANALYTIC, requests, allowed)


def judge_auto(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask the default solver of planning groups for one solution."""
    requests = [judged.request(row) for row in range(len(judged.poses))]
    yield from _judge_solver(judged, tally, SEARCHES[0], requests, FROBENIUS * judged.tolerance)


def _judge_solver(
    judged: Judged, tally: Tally, name: str, requests: list[SolveRequest], allowed: float
) -> Iterator[Fault]:
    """Judge the response of a solver to a request for each pose; its error must not exceed the allowed one."""
    solver, short = judged.manipulator.solver(name), name.removeprefix('ssik_ros/')
    for row, request in enumerate(requests):
        result = solver.solve(request)
        yield from judge_solutions(judged, tally, row, result.solutions, short, allowed)
        if not len(result.solutions):
            yield from judge_nothing(judged, row, short, result.cause, result.is_proved)
