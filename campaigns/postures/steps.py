"""Short steps: the pose of a posture next to a planted one, asked for with the planted posture as seed."""

from collections.abc import Iterator

import numpy as np

from bench.arms import FloatArray
from bench.branch_sets import residuals
from campaigns.postures.judging import Fault, Judged, SEARCHES, Tally
from ssik_ros.problem.contract import SolveRequest

STEP_ROWS = 6
SHORTEST, LONGEST = 1e-5, 2e-3
"""Largest motion of a joint in a step [rad, and lengths of the arm]."""
MISSED = 0.5
"""If more than this part of a step is left, the arm has not followed it."""


def judge_steps(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Ask searches with their default tolerance for a step that a posture within the limits is known to make."""
    for row in judged.rows(STEP_ROWS):
        seed = judged.group.q[row]
        target = _step(judged, row)
        length = _error(judged, seed, target)
        allowed = max(judged.tolerance, MISSED * length)
        for name in SEARCHES:
            short = name.removeprefix('ssik_ros/')
            result = judged.manipulator.solver(name).solve(SolveRequest(targets=target, seed=seed))
            if not len(result.solutions):
                detail = f'{short}: {result.cause.name} at a step of {length:.2g}'
                yield judged.fault('step', 'steps', row, detail)
                continue
            error = _error(judged, result.q, target)
            tally.residual['steps'] = max(tally.residual['steps'], error / allowed)
            outside = float(judged.outside(result.q[None])[0])
            tally.outside = max(tally.outside, outside)
            if outside > 0.0:
                yield judged.fault('limits', 'steps', row, f'{short}: outside by {outside:.2g}')
            if error > allowed:
                detail = f'{short}: {error:.2g} of a step of {length:.2g} is left'
                yield judged.fault('step', 'steps', row, detail)


def _step(judged: Judged, row: int) -> FloatArray:
    """Return the pose (4, 4) at a posture within the limits, a short step away from a planted one."""
    robot, rng = judged.robot, judged.group.generator(row)
    length = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST)))
    moved = judged.group.q[row] + length * robot.unit * rng.uniform(-1.0, 1.0, robot.dof)
    q = np.clip(moved, robot.arm.lower, robot.arm.upper)
    return np.ascontiguousarray(robot.arm.fk(q[None])[0])


def _error(judged: Judged, q: FloatArray, target: FloatArray) -> float:
    """Return the Frobenius norm of FK(q) - T."""
    return float(residuals(judged.robot.arm, q[None], target)[0])
