"""
Gauss-Newton steps of the free parameters of all waypoints at once, which make the joint steps of a path smaller.

Problem
-------
Near a sequence of postures q_i with free parameters p_i, a change dp_i moves posture i by D_i dp_i. Choose all dp_i so
that the sum of ``w_ij (q_ij + D_ij dp_i - q_i-1,j - D_i-1,j dp_i-1)^2`` over waypoints i and joints j is least.

Method
------
Each waypoint is coupled with its two neighbours only, so the normal equations are a symmetric band matrix. For the sum
of squares, w is the square of a joint's weight in the objective. For other objectives it is this weight divided by
``|dq| + softness``, computed anew for each step. D comes from differences of exact postures.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.paths.layers import SUM_OF_SQUARES
from ssik_ros.paths.search.sequences import Corridor
from ssik_ros.paths.search_space import SearchSpace
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.windings import wrap_steps

PARAMETER_CHANGE = 1e-5
"""Change of a parameter that gives a derivative [rad or m]."""
LARGEST_SLOPE = 1e3
"""Derivative above which a waypoint stays: its posture is singular, or jumps to another branch."""
WAYPOINT_DAMPING = 1e-6
"""Damping of the equations of a waypoint, as a share of their largest diagonal entry [1]."""


def newton_steps(
    space: SearchSpace,
    limits: StepLimits,
    poses: FloatArray,
    corridor: Corridor,
    softness: float,
) -> FloatArray:
    """
    Return the changes (m, r) of the free parameters that a Gauss-Newton step makes, to lower the cost of a corridor.

    Steps of free travel between passes are left out of the cost.

    :param space: the free parameters.
    :param limits: the objective.
    :param poses: (m, 4, 4) waypoints of the corridor.
    :param corridor: the sequence of postures with its parameters.
    :param softness: joint step that counts as small [rad or m]; smaller steps get nearly the same weight. Not used for
        the sum of squares.
    """
    derivatives = _derivatives(space, limits, poses, corridor)
    steps = wrap_steps(np.diff(corridor.q, axis=0), limits.turning)
    weights = limits.weights[1:] ** 2
    if limits.objective != SUM_OF_SQUARES:
        weights = limits.weights[1:] / (np.abs(steps) + softness)
    weights = np.where(np.isfinite(limits.largest[1:]), weights, 0.0)
    return _solve(derivatives, steps, weights)


def _derivatives(
    space: SearchSpace, limits: StepLimits, poses: FloatArray, corridor: Corridor
) -> FloatArray:
    """
    Return the derivatives (m, n, r) of each posture by each parameter, by differences of exact postures.

    They are zero where the posture changes too fast or jumps to another branch, so that the waypoint stays.
    """
    q, parameters, rows = corridor.q, corridor.parameters, corridor.rows
    m, n = q.shape
    derivatives = np.zeros((m, n, space.size))
    for p in range(space.size):
        moved = parameters.copy()
        is_last = ~space.is_endless[p] & (
            parameters[:, p] + PARAMETER_CHANGE > space.upper[rows, p]
        )
        moved[:, p] += np.where(is_last, -PARAMETER_CHANGE, PARAMETER_CHANGE)
        samples = space.line(rows, moved, np.zeros_like(moved)).first()
        postures, values = space.postures(rows, poses, samples)
        joint_steps = wrap_steps(postures.q - q[postures.owners], limits.turning)
        far = np.abs(joint_steps).max(axis=1)
        # The nearest posture of each waypoint, those far away before those near it.
        order = np.argsort(-far, kind='stable')
        nearest = np.full(m, -1)
        nearest[postures.owners[order]] = order
        change = (values - parameters[postures.owners])[:, p]
        good = nearest >= 0
        chosen = nearest[good]
        kept = far[chosen] < LARGEST_SLOPE * np.abs(change[chosen])
        chosen = chosen[kept]
        own_rows = postures.owners[chosen]
        derivatives[own_rows, :, p] = joint_steps[chosen] / change[chosen, None]
    return derivatives


def _solve(derivatives: FloatArray, steps: FloatArray, weights: FloatArray) -> FloatArray:
    """
    Return the changes (m, r) of the parameters that make the weighted sum of squared joint steps least.

    If the equations are singular, return zeros.

    :param derivatives: (m, n, r) of postures by parameters.
    :param steps: (m - 1, n) present joint steps from waypoint to waypoint.
    :param weights: (m - 1, n) of the squares of the joint steps.
    """
    # SciPy's linear algebra takes long to import and only paths with parameters need it.
    from scipy.linalg import LinAlgError, solveh_banded

    m, _, r = derivatives.shape
    before, after = derivatives[:-1], derivatives[1:]
    weighted = weights[:, :, None]
    blocks = np.zeros((m, r, r))
    blocks[1:] += np.einsum('mnr,mns->mrs', after * weighted, after)
    blocks[:-1] += np.einsum('mnr,mns->mrs', before * weighted, before)
    couplings = -np.einsum('mnr,mns->mrs', after * weighted, before)
    right = np.zeros((m, r))
    right[1:] -= np.einsum('mnr,mn->mr', after, weights * steps)
    right[:-1] += np.einsum('mnr,mn->mr', before, weights * steps)
    scale = np.einsum('mrr->mr', blocks)
    scale += WAYPOINT_DAMPING * (scale.max(axis=0) + 1e-12)
    band = np.zeros((2 * r, m * r))
    for a in range(r):
        for b in range(r):
            if a >= b:
                band[a - b, b::r] = blocks[:, a, b]
            # The block below the diagonal: row a of waypoint i, column b of the waypoint before.
            band[r + a - b, b : (m - 1) * r : r] = couplings[:, a, b]
    try:
        return np.asarray(solveh_banded(band, right.ravel(), lower=True)).reshape(m, r)
    except LinAlgError:
        return np.zeros((m, r))
