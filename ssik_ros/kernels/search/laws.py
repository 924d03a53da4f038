"""
Step laws: the damping on the diagonal of the normal equations, and its adaptation to the success of steps.

:func:`damping_of` returns the damping; :func:`follow` adapts it in the law ADAPTIVE.

Problem
    Given e and J = -de/dq with row weights already applied, and E = |e|^2 / 2, find the damping lambda of the step
    dq = J^T (J J^T + lambda I)^-1 e, which is (J^T J + lambda I)^-1 J^T e.

Method
    =========  ==================================================  =======================================
    law        lambda                                              as the toolbox writes it
    =========  ==================================================  =======================================
    NEWTON     d^2 + rounding                                      dq = J^+ e, s / (s^2 + d^2)
    GAUSS      d^2 + rounding                                      dq = (J^T W J)^-1 J^T W e
    CHAN       k E                                                 dq = (J^T W J + k E I)^-1 J^T W e
    WAMPLER    k                                                   dq = (J^T W J + k I)^-1 J^T W e
    SUGIHARA   E + k                                               dq = (J^T W J + (E + k) I)^-1 J^T W e
    ADAPTIVE   mu |e|^2, mu by the gain ratio                      (none)
    POSE_IK    k (min(1, |e| / fade) + c min(|e|, largest)^2)      (none)
    =========  ==================================================  =======================================

    The gain ratio is the decrease of |e|^2 over the decrease that the linear model promised. Below a quarter mu grows,
    above three quarters it shrinks. A step that increases the error is accepted, too: often it is the way around a
    bend, and a repeated evaluation costs as much as a step. Damping by |e|^2 keeps the convergence quadratic.

    Far from the target, where the linear model means little, the damping of POSE_IK grows with the squared error, so
    that steps are short. Near the target it fades with the error: convergence stays quadratic even if the arm is nearly
    singular, where a constant damping would make it slow.

Degeneracies
    ``rounding`` keeps a singular J J^T solvable. The step then equals the step of the pseudo-inverse to about eight
    digits.

Cost
    A few operations.

References
    [Chan1988], [Wampler1986], [Sugihara2011] for the laws, [Nocedal2006] section 10.3 for the gain ratio, [Fan2005]
    for damping by the squared error.
"""

import math

from ssik_ros.kernels._jit import inline_kernel

NEWTON = 0
GAUSS = 1
CHAN = 2
WAMPLER = 3
SUGIHARA = 4
ADAPTIVE = 5
POSE_IK = 6

SINGULAR_DAMPING = 1e-13
"""Least damping of each law; it matters only if the normal equations are singular."""
FADE = 0.1
"""Error below which the damping of POSE_IK fades in proportion [m, rad]."""
ERROR_DAMPING = 500.0
"""Growth c of that damping with the squared error [1/(m^2, rad^2)]."""
LARGEST_ERROR = 4.0
"""Error above which this damping does not grow further [m, rad]: far along a rail the linear model holds again."""
LARGEST_SQUARE = 16.0
"""Squared error above which the damping does not grow further: metres along a rail count like radians."""
SMALLEST_MU = 1e-5
LARGEST_MU = 10.0
MU_GROWTH = 3.0
MU_SHRINK = 0.7
POOR = 0.25
GOOD_GAIN_RATIO = 0.75
"""Gain ratios below which the damping grows, and above which it shrinks."""
SINGULAR_RATIO = 1e-11
"""If the ratio of the smallest to the largest pivot of J J^T is smaller, a plain inverse does not exist."""


@inline_kernel
def damping_of(law, gain, damping, mu, square):
    """
    Return the damping that a law adds to the diagonal of the normal equations.

    :param law: NEWTON, GAUSS, CHAN, WAMPLER, SUGIHARA, ADAPTIVE or POSE_IK.
    :param gain: k of the law; not used by NEWTON, GAUSS and ADAPTIVE.
    :param damping: squared damping d^2 of NEWTON and GAUSS.
    :param mu: factor of ADAPTIVE on the squared error.
    :param square: squared norm |e|^2 of the weighted residual.
    """
    if law == ADAPTIVE:
        return mu * min(square, LARGEST_SQUARE) + SINGULAR_DAMPING
    if law == CHAN:
        return gain * 0.5 * square + SINGULAR_DAMPING
    if law == WAMPLER:
        return gain
    if law == SUGIHARA:
        return 0.5 * square + gain
    if law == POSE_IK:
        error = math.sqrt(square)
        bounded = min(error, LARGEST_ERROR)
        return gain * (min(1.0, error / FADE) + ERROR_DAMPING * bounded * bounded)
    return damping + SINGULAR_DAMPING


@inline_kernel
def follow(mu, before, left, after):
    """
    Return mu of the adaptive law for the next step: larger after a poor step, smaller after a good one.

    :param mu: the factor of the last step.
    :param before: |e|^2 before the step.
    :param left: |e|^2 that the linear model predicted after the step.
    :param after: |e|^2 after the step.
    """
    decrease, promised = before - after, before - left
    if decrease < POOR * promised:
        return min(MU_GROWTH * mu, LARGEST_MU)
    if decrease > GOOD_GAIN_RATIO * promised:
        return max(MU_SHRINK * mu, SMALLEST_MU)
    return mu


@inline_kernel
def is_singular(normal, free):
    """
    Return whether the normal equations were singular or nearly so at the last step.

    It is False if a limit stopped a joint or a joint is held, because the normal equations lack its column then.

    :param normal: (k, k) with the inverse pivots on its diagonal, 0 for pivots lost to rounding.
    :param free: (nv,) 1 for joints that moved freely, else 0.
    """
    smallest, largest = normal[0, 0], normal[0, 0]
    for v in range(free.shape[0]):
        if free[v] == 0.0:
            return False
    for a in range(normal.shape[0]):
        # The diagonal holds the inverses of the pivots, zero for lost ones.
        smallest, largest = min(smallest, normal[a, a]), max(largest, normal[a, a])
    return smallest <= SINGULAR_RATIO * largest
