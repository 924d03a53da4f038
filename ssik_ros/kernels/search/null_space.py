"""
Moves within the null space of a redundant arm: secondary objectives, and the pull towards the seed.

:func:`improve` serves the secondary objectives, :func:`pull_to_seed` the pull.

Problem
    Among the configurations with the same targets, find one nearby with a larger
    F(q) = -kq sum phi(d_v) - kp |q - posture|^2 / 2 + km m(q), where d_v are the distances of joint v to its two
    limits, phi(d) = (pi - d)^3 / (3 (pi - ps)^2) for d < pi and 0 beyond, and m = sqrt(det(J J^T)).

    In the search for the solution nearest to the seed, find a nearby configuration that is nearer to the seed instead.

Method
    Gradient ascent within the null space: dq = (I - J^+ J) grad F, scaled to a trust radius. The radius doubles after
    progress and halves otherwise. Newton steps after each step bring the targets back. The derivative of -phi is the
    toolbox's (d - pi)^2 / (ps - pi)^2. The derivative of m comes from central differences, which work for all kinds of
    joints and rows.

    A step towards the seed is the Newton correction of the targets plus the projected pull. A few corrections without a
    pull bring the last state back to the targets.

Solutions
    A local maximum along the self-motion, or the best point reached within a fixed number of steps; never worse than
    the start.

Degeneracies
    Without a null space nothing moves. Nor does it if m = 0 is a minimum with a vanishing gradient.

Cost
    For each step one gradient (2 n Jacobians if km is set, otherwise none) and about three Newton steps.

References
    [Yoshikawa1985] for manipulability.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout, linalg, rows, steps
from ssik_ros.kernels.search import descent, laws, state

FIRST_PULL = 0.1
LARGEST_PULL = 0.3
SMALLEST_PULL = 1e-4
"""Trust radius as the longest joint step: first, largest, smallest [rad or m]. At the smallest, the ascent ends."""
STEPS = 60
RESTORED_SQUARE = 1e-20
"""Largest squared error after the targets are restored [m^2, rad^2]; far below every tolerance."""
CENTRAL_DIFFERENCE = 1e-5
"""Step of the central differences [rad or m]."""
PROJECTION_DAMPING = 1e-14
"""Damping of the projection into the null space; it matters only if the normal equations are singular."""
CORRECTIONS = 6
"""Most Newton steps that bring the targets back after a step."""
LARGEST_PULL_TO_SEED = 0.3
"""Longest pull towards the seed in one step [rad or m]: further, its linear model breaks the target."""
SETTLED_PULL = 1e-2
"""Relative gain in squared distance, per unit of pull gain, below which a pull has arrived."""
FINE_GAIN = 0.5
"""Pull gain of the last steps towards a solution that will be kept; halves the way to the nearest one."""
FINELY_SETTLED = 1e-7
"""As SETTLED_PULL, for a solution that will be kept."""
MOST_IDLE = 5
"""Most steps towards a solution that will be kept that come no nearer, one after the other."""
AT_REST = 3e-4
"""Longest part of the difference to the seed along the self-motion, per distance, at which a state is the nearest one."""
FIRST_BEND = 0.01
SMALLEST_BEND = 1e-6
"""Trust radius where a self-motion bends sharply: first, smallest [rad or m]."""
CLOSING_STEPS = 6
"""Most Newton steps without a pull that bring a pulled solution back to the target."""


@kernel
def manipulability(ints, reals, work, q):
    """
    Return Yoshikawa's manipulability sqrt(det(J J^T)) at ``q``; 0 at singular postures and with more rows than joints.

    J has the weighted rows of the problem. Poses, residual, Jacobian, errors and ``normal`` of the workspace are
    overwritten.
    """
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
def objective(ints, reals, options, work, q):
    """
    Return the weighted sum F of the secondary objectives at ``q``: distance from limits, posture, manipulability.

    Larger is better. The gains are in the options. With a posture, ``gradient`` of the workspace is overwritten. With
    manipulability, poses, residual, Jacobian, errors and ``normal`` are.
    """
    t, w = layout.view_problem(ints, reals, work)
    nv = ints[layout.VARIABLES]
    influence = state.influence(ints, options)
    value = 0.0
    closest = options[state.CLOSEST]
    for v in range(nv):
        if t.variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR or w.lower[v] >= w.upper[v]:
            continue
        x = q[t.variable_i[v, layout.VARIABLE_Q]]
        reach, gain = influence[v], options[state.LIMIT_GAIN]
        for d in (x - w.lower[v], w.upper[v] - x):
            if d < reach:
                value -= gain * (reach - d) ** 3 / (3.0 * (reach - closest) ** 2)
    if options[state.POSTURE_GAIN] != 0.0:
        posture = state.posture(ints, options)
        steps.difference_to(t.variable_i, w.lower, w.upper, posture, q, w.gradient)
        value -= 0.5 * options[state.POSTURE_GAIN] * steps.squared_norm(w.gradient)
    if options[state.MANIPULABILITY_GAIN] != 0.0:
        value += options[state.MANIPULABILITY_GAIN] * manipulability(ints, reals, work, q)
    return value


@kernel
def gradient(ints, reals, options, work, q):
    """
    Write the gradient (nv,) of :func:`objective` at ``q`` into ``gradient`` of the workspace.

    With manipulability, poses, residual, Jacobian, errors, ``normal``, ``trial`` and ``step`` are overwritten, too.
    """
    t, w = layout.view_problem(ints, reals, work)
    nv = ints[layout.VARIABLES]
    influence = state.influence(ints, options)
    closest = options[state.CLOSEST]
    posture = state.posture(ints, options)
    steps.difference_to(t.variable_i, w.lower, w.upper, posture, q, w.gradient)
    for v in range(nv):
        w.gradient[v] *= options[state.POSTURE_GAIN]
        if t.variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR or w.lower[v] >= w.upper[v]:
            continue
        x = q[t.variable_i[v, layout.VARIABLE_Q]]
        below, above, reach = x - w.lower[v], w.upper[v] - x, influence[v]
        scale = options[state.LIMIT_GAIN] / (reach - closest) ** 2
        if below < reach:
            w.gradient[v] += scale * (reach - below) ** 2
        if above < reach:
            w.gradient[v] -= scale * (reach - above) ** 2
    if options[state.MANIPULABILITY_GAIN] == 0.0:
        return
    for v in range(nv):
        change = 0.0
        for sign in (1.0, -1.0):
            vectors.copy(w.trial, q)
            vectors.fill(w.step, 0.0)
            # A ball joint turns by all three of its variables at once.
            w.step[v] = sign * CENTRAL_DIFFERENCE
            steps.advance(t.variable_i, w.lower, w.upper, False, 1.0, w.step, w.trial)
            change += sign * manipulability(ints, reals, work, w.trial)
        w.gradient[v] += options[state.MANIPULABILITY_GAIN] * change / (2.0 * CENTRAL_DIFFERENCE)


@kernel
def pulled_step(ints, reals, work, pull, limited):
    """
    Write the part of the joint motion ``gradient`` that keeps the targets (its part in the null space) into ``step``.

    It is scaled so that its longest entry is ``pull``. The Jacobian must belong to the state; columns of joints that
    cannot move become zero. The residual becomes zero, too.

    :param pull: longest motion of a joint [rad or m].
    :param limited: True leaves out joints at or beyond a limit that would move further out.
    :returns: longest entry of this part before scaling; 0 if this part is zero, which then is not scaled.
    """
    t, w = layout.view_problem(ints, reals, work)
    nv = ints[layout.VARIABLES]
    vectors.fill(w.residual, 0.0)
    for v in range(nv):
        outward = limited and steps.pushes_out(
            t.variable_i, v, w.state, w.lower, w.upper, w.gradient[v]
        )
        w.free[v] = 1.0
        if outward or w.lower[v] >= w.upper[v]:
            steps.drop_column(w.jacobian, v, w.free)
    steps.damped_step(w.jacobian, w.residual, PROJECTION_DAMPING, w.normal, w.right, w.step)
    vectors.fill(w.step, 0.0)
    steps.add_null_space_pull(w.jacobian, w.normal, w.right, w.gradient, w.free, w.step)
    longest = vectors.largest_of(w.step, nv)
    if longest > 0.0:
        vectors.stretch(w.step, pull / longest, nv)
    return longest


@kernel
def improve(ints, reals, options, cancel, counters, work):
    """
    Polish a solution, then move it within its null space towards better secondary objectives.

    The state ends as the best configuration seen, measured. Its objectives are never worse than those after the polish.
    """
    descent.polish(ints, reals, options, 0.0, work)
    ascend(
        ints,
        reals,
        options,
        False,
        float(STEPS),
        FIRST_PULL,
        SMALLEST_PULL,
        cancel,
        counters,
        work,
    )


@kernel
def ascend(ints, reals, options, to_seed, most, pull, smallest, cancel, counters, work):
    """
    Move an exact state within its null space towards a local optimum; the state ends as the best one seen, measured.

    The optimum is of the secondary objectives, or of the nearness to the seed. It may not be reached within the steps
    or the time. A state counts only if it is on the targets and, unless the search ignores limits, within them.
    ``kept`` is overwritten.

    :param to_seed: True moves towards the seed, False towards better secondary objectives.
    :param most: largest number of steps.
    :param pull: longest joint motion in the first step, the trust radius [rad or m].
    :param smallest: trust radius at which the ascent ends [rad or m].
    """
    t, w = layout.view_problem(ints, reals, work)
    limited = options[state.LIMITED] != 0.0
    vectors.copy(w.kept, w.state)
    value = value_of(ints, reals, options, to_seed, work)
    iteration = 0
    while pull > smallest and iteration < most:
        if descent.is_over(counters, cancel) != state.RUNNING:
            break
        iteration += 1
        counters[state.ITERATIONS] += 1
        if to_seed:
            squared_distance(ints, reals, work, w.state)
        else:
            gradient(ints, reals, options, work, w.state)
        descent.measure(ints, reals, options, work, w.state)
        length = pulled_step(ints, reals, work, pull, limited)
        if to_seed and length <= AT_REST * math.sqrt(-value):
            break
        steps.advance(t.variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
        square, inside = correct(ints, reals, options, work, limited)
        after = value_of(ints, reals, options, to_seed, work)
        fits = not limited or descent.within_limits(ints, reals, work, w.state)
        if inside and square < RESTORED_SQUARE and fits and after > value:
            value = after
            vectors.copy(w.kept, w.state)
            pull = min(2.0 * pull, LARGEST_PULL)
            if length < smallest:
                break
        else:
            vectors.copy(w.state, w.kept)
            pull *= 0.5
    vectors.copy(w.state, w.kept)
    descent.measure(ints, reals, options, work, w.state)


@kernel
def value_of(ints, reals, options, to_seed, work):
    """
    Return the number at the state that :func:`ascend` makes larger.

    :param to_seed: True for minus the squared distance to the seed, False for the sum of the secondary objectives.
    """
    w = layout.view_workspace(ints, work)
    if to_seed:
        return -squared_distance(ints, reals, work, w.state)
    return objective(ints, reals, options, work, w.state)


@kernel
def correct(ints, reals, options, work, limited):
    """
    Bring the state back to the targets by at most CORRECTIONS Newton steps, and measure it.

    :param limited: True keeps the steps inside the limits.
    :returns: (square, inside): squared norm of the weighted residual, and whether every error is within tolerance.
    """
    w = layout.view_workspace(ints, work)
    square, inside = descent.measure(ints, reals, options, work, w.state)
    for _ in range(CORRECTIONS):
        if square < RESTORED_SQUARE:
            break
        descent.take_step(ints, reals, options, work, square, laws.SMALLEST_MU, limited)
        square, inside = descent.measure(ints, reals, options, work, w.state)
    return square, inside


@kernel
def squared_distance(ints, reals, work, q):
    """
    Return the squared distance in joint space from ``q`` to the seed; a metre counts as a radian.

    ``gradient`` of the workspace gets the difference seed minus q. Angles without limits are compared modulo 2 pi, ball
    joints by the rotation between them.
    """
    t, w = layout.view_problem(ints, reals, work)
    steps.difference_to(t.variable_i, w.lower, w.upper, w.reference, q, w.gradient)
    return steps.squared_norm(w.gradient)


@kernel
def pull_to_seed(ints, reals, options, bound, cancel, counters, work):
    """
    Move a polished solution within its null space towards the seed.

    The state ends, measured, as the nearest state seen that is within limits and as exact as the solution; the solution
    itself is one of these. If it is nearer than ``bound``, finer steps follow, towards the nearest state of its
    self-motion. ``trial`` and ``kept`` are overwritten.

    :param bound: squared distance to the seed beyond which the caller has no use for the solution.
    """
    w = layout.view_workspace(ints, work)
    gain, settled = options[state.PULL_GAIN], SETTLED_PULL
    vectors.copy(w.trial, w.state)
    nearest = squared_distance(ints, reals, work, w.trial)
    before = nearest
    closing, iteration, exact = 0, 0, descent.POLISHED_ERROR * descent.POLISHED_ERROR
    idle = 0
    while iteration < options[state.MAX_ITERATIONS]:
        if descent.is_over(counters, cancel) != state.RUNNING:
            break
        distance = squared_distance(ints, reals, work, w.state)
        square, inside = descent.measure(ints, reals, options, work, w.state)
        if iteration == 0:
            exact = max(exact, square)
        inside = inside and square <= exact
        if inside and distance < nearest and descent.within_limits(ints, reals, work, w.state):
            nearest = distance
            vectors.copy(w.trial, w.state)
            idle = 0
        elif settled == FINELY_SETTLED:
            idle += 1
            if idle > MOST_IDLE:
                break
        arrived = abs(before - distance) <= settled * gain * before
        if (
            arrived
            and iteration > 0
            and gain > 0.0
            and settled == SETTLED_PULL
            and distance < bound
        ):
            gain, settled = max(gain, FINE_GAIN), FINELY_SETTLED
            arrived = False
        is_closing = (iteration > 0 and arrived) or closing > 0
        before = distance
        if is_closing and (inside or closing >= CLOSING_STEPS):
            break
        if is_closing:
            closing += 1
            descent.take_step(ints, reals, options, work, square, laws.SMALLEST_MU, True)
        else:
            step_to_seed(ints, reals, options, gain, work, square)
        iteration += 1
        counters[state.ITERATIONS] += 1
    vectors.copy(w.state, w.trial)
    descent.measure(ints, reals, options, work, w.state)
    if not descent.is_exact(w.errors, descent.POLISHED_ERROR):
        # The start was left inexact near a singular posture. The nearest state is kept as it is or becomes exact.
        vectors.copy(w.kept, w.state)
        descent.polish(ints, reals, options, descent.POLISHED_ERROR, work)
        if not descent.is_exact(w.errors, descent.POLISHED_ERROR):
            vectors.copy(w.state, w.kept)
            descent.measure(ints, reals, options, work, w.state)
            return
    if gain > 0.0 and nearest < bound:
        # Where a self-motion bends sharply, the damped steps above come to rest before its nearest state.
        most = min(float(STEPS), options[state.MAX_ITERATIONS] - iteration)
        ascend(ints, reals, options, True, most, FIRST_BEND, SMALLEST_BEND, cancel, counters, work)


@kernel
def step_to_seed(ints, reals, options, gain, work, square):
    """
    Move the state by one step that corrects the targets and pulls the joints towards the seed within the null space.

    :param gain: share of the difference to the seed that the pull covers.
    :param work: ``gradient`` has the difference to the seed, and is overwritten.
    :param square: squared norm of the weighted residual at the state, which must be measured with its Jacobian.
    """
    t, w = layout.view_problem(ints, reals, work)
    gradient = w.gradient
    largest = 0.0
    for v in range(gradient.shape[0]):
        gradient[v] *= gain
        if steps.pushes_out(t.variable_i, v, w.state, w.lower, w.upper, gradient[v]):
            gradient[v] = 0.0
        largest = max(largest, abs(gradient[v]))
    if largest > LARGEST_PULL_TO_SEED:
        vectors.stretch(gradient, LARGEST_PULL_TO_SEED / largest, gradient.shape[0])
    damping = laws.damping_of(laws.POSE_IK, options[state.GAIN], 0.0, 0.0, square)
    steps.limited_step(ints, reals, work, damping, True)
    steps.add_null_space_pull(w.jacobian, w.normal, w.right, gradient, w.free, w.step)
    steps.advance(t.variable_i, w.lower, w.upper, True, 1.0, w.step, w.state)
