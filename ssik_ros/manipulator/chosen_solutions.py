"""Choose among the solutions of a pose: drop those that collide with a scene, and sort the others by a cost."""

from collections.abc import Callable
import math

import numpy as np

from ssik_ros.arguments import read_float
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.solution import Candidates
from ssik_ros.manipulator.solve_settings import SolveSettings
from ssik_ros.results import Cause


def choose(candidates: Candidates, settings: SolveSettings, most: int | None) -> Candidates:
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
        dropped_by_max_solutions=candidates.dropped_by_max_solutions + kept - len(rows),
        branches=min(candidates.branches, kept),
        representatives=min(candidates.representatives, kept),
    )
    if kept or not len(candidates.q):
        return chosen
    return chosen._replace(
        cause=Cause.COLLISION,
        detail=f'All {len(candidates.q)} solutions of the pose collide, the nearest one {hits}: move the object or the pose.',
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
