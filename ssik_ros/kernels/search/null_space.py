"""
Secondary objectives: what a redundant arm does with the freedom that its targets leave.

Problem
    Among the configurations with the same targets, find one nearby with a larger
    F(q) = -kq sum phi(d_v) - kp |q - posture|^2 / 2 + km m(q), where d_v are the distances of joint v to its two
    limits, phi(d) = (pi - d)^3 / (3 (pi - ps)^2) for d < pi and 0 beyond, and m = sqrt(det(J J^T)).

Method
    Gradient ascent within the null space: dq = (I - J^+ J) grad F, scaled to a trust radius that doubles after
    progress and halves without, each step followed by Newton steps that bring the targets back. The derivative of
    -phi is the toolbox's (d - pi)^2 / (ps - pi)^2; that of m comes from central differences, which hold for every
    kind of joint and row.

Solutions
    A local maximum along the self-motion, or the best point reached within a fixed number of steps; never worse than
    the start.

Degeneracies
    Without a null space, and where m = 0 is a minimum with a vanishing gradient, nothing moves.

Cost
    Each step one gradient (2 n Jacobians where km counts, none otherwise) and about three Newton steps.

References
    [Yoshikawa1985] for manipulability.
"""

import math

from ssik_ros.kernels._jit import kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout, linalg, rows, steps

# Single numbers, counted from where they start in a search's options.
ACTIVE = 0
LIMIT_GAIN = 1
MANIPULABILITY_GAIN = 2
POSTURE_GAIN = 3
CLOSEST = 4
"""ps: distance to a limit that the pull away from it is scaled for [rad or m]."""
AT_ARRAYS = 5
"""Where influence (nv), pi of each joint, and posture (nq) start in the options."""
NUMBERS = 6

FIRST_PULL = 0.1
LARGEST_PULL = 0.3
SMALLEST_PULL = 1e-4
"""Longest joint step of a pull: at first, ever, and when it is over [rad or m]."""
STEPS = 60
EXACT = 1e-20
"""Squared error to which the targets are brought back: far below every tolerance."""
DIFFERENCE = 1e-5
"""Step of the central differences [rad or m]."""
ROUNDING = 1e-14
"""Damping of projections."""


@kernel
def manipulability(ints, reals, work, q):
    """Return sqrt(det(J J^T)) at a configuration; 0 with more rows than joints."""
    w = layout.view_workspace(ints, work)
    rows.evaluate(ints, reals, work, q, False)
    m, nv = w.jacobian.shape
    if m > nv:
        return 0.0
    linalg.outer_gram(w.normal, w.jacobian, 0.0, m)
    linalg.factorise(w.normal, m)
    product = 1.0
    for a in range(m):
        if w.normal[a, a] <= 0.0:
            return 0.0
        product /= w.normal[a, a]
    return math.sqrt(product)


@kernel
def objective(ints, reals, options, at, work, q):
    """
    Return F at a configuration; overwrites what the last evaluation left.

    :param at: where the numbers of this module start in the options.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    nv = ints[layout.VARIABLES]
    start = int(options[at + AT_ARRAYS])
    influence = vector(options, start, nv)
    value = 0.0
    closest = options[at + CLOSEST]
    for v in range(nv):
        if variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR or w.lower[v] >= w.upper[v]:
            continue
        x = q[variable_i[v, layout.VARIABLE_Q]]
        reach = influence[v]
        for d in (x - w.lower[v], w.upper[v] - x):
            if d < reach:
                value -= (
                    options[at + LIMIT_GAIN] * (reach - d) ** 3 / (3.0 * (reach - closest) ** 2)
                )
    if options[at + POSTURE_GAIN] != 0.0:
        posture = vector(options, start + nv, ints[layout.POSITIONS])
        steps.difference_to(variable_i, w.lower, w.upper, posture, q, w.gradient)
        value -= 0.5 * options[at + POSTURE_GAIN] * steps.squared_norm(w.gradient)
    if options[at + MANIPULABILITY_GAIN] != 0.0:
        value += options[at + MANIPULABILITY_GAIN] * manipulability(ints, reals, work, q)
    return value


@kernel
def gradient(ints, reals, options, at, work, q):
    """
    Write grad F into ``gradient`` of the workspace; overwrites what the last evaluation left, and trial and step.

    :param at: where the numbers of this module start in the options.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    nv = ints[layout.VARIABLES]
    start = int(options[at + AT_ARRAYS])
    influence = vector(options, start, nv)
    closest = options[at + CLOSEST]
    posture = vector(options, start + nv, ints[layout.POSITIONS])
    steps.difference_to(variable_i, w.lower, w.upper, posture, q, w.gradient)
    for v in range(nv):
        w.gradient[v] *= options[at + POSTURE_GAIN]
        if variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR or w.lower[v] >= w.upper[v]:
            continue
        x = q[variable_i[v, layout.VARIABLE_Q]]
        below, above, reach = x - w.lower[v], w.upper[v] - x, influence[v]
        scale = options[at + LIMIT_GAIN] / (reach - closest) ** 2
        if below < reach:
            w.gradient[v] += scale * (reach - below) ** 2
        if above < reach:
            w.gradient[v] -= scale * (reach - above) ** 2
    if options[at + MANIPULABILITY_GAIN] == 0.0:
        return
    for v in range(nv):
        change = 0.0
        for sign in (1.0, -1.0):
            vectors.copy(w.trial, q)
            for k in range(nv):
                w.step[k] = 0.0
            # A ball joint turns by all three of its variables at once.
            w.step[v] = sign * DIFFERENCE
            steps.advance(variable_i, w.lower, w.upper, False, 1.0, w.step, w.trial)
            change += sign * manipulability(ints, reals, work, w.trial)
        w.gradient[v] += options[at + MANIPULABILITY_GAIN] * change / (2.0 * DIFFERENCE)


@kernel
def pulled_step(ints, reals, work, pull, limited):
    """
    Write the step along the projected gradient whose longest part is ``pull``.

    Expects the gradient in the workspace and the Jacobian of an evaluation at the state.

    :returns: the longest part of the projected gradient itself.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    nv = ints[layout.VARIABLES]
    for a in range(w.residual.shape[0]):
        w.residual[a] = 0.0
    for v in range(nv):
        outward = limited and steps.pushes_out(
            variable_i, v, w.state, w.lower, w.upper, w.gradient[v]
        )
        w.free[v] = 1.0
        if outward or w.lower[v] >= w.upper[v]:
            steps.drop_column(w.jacobian, v, w.free)
    steps.damped_step(w.jacobian, w.residual, ROUNDING, w.normal, w.right, w.step)
    for v in range(nv):
        w.step[v] = 0.0
    steps.add_null_space_pull(w.jacobian, w.normal, w.right, w.gradient, w.free, w.step)
    longest = 0.0
    for v in range(nv):
        longest = max(longest, abs(w.step[v]))
    if longest > 0.0:
        for v in range(nv):
            w.step[v] *= pull / longest
    return longest
