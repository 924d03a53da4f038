"""
The loop of a solve: Levenberg-Marquardt or damped least squares, ways out of stalls, secondary objectives.

Problem
    min 1/2 |e(q)|^2 within limits, e all rows of a chain; then, of the states that meet every tolerance, the one with
    the smallest secondary objective 1/2 |W (q_rest - q)|^2.

Method
    One loop measures a state, judges it, and makes the next step; a *descent* is a run of such steps.

    1. LM: bounded step d with damping ``mu |e|^2 + FLOOR max H_ii``, and half of the acceleration a that keeps the
       residual where the linear model has it: (H + damping) a = J^T e_dd. It is taken if the cost falls. ``mu`` shrinks
       where the cost falls as predicted, and grows with every refusal. Turns of more than ``LONGEST_TURN`` in one step
       are scaled down, the shortest go without a. A few times a descent may go uphill for two steps, if that pays within
       four; otherwise it goes on from where it went up. Where it falls slowly, second derivatives are added to H, and the
       damping is raised until that is definite.
    2. DLS and SVD: errors clamped, fixed or spectral damping. When the error grows beyond the last good one by the
       options' bound, the last good state comes back and the clamps are halved, seven times at most: then DIVERGED.
       The null space moves towards the rest poses in every step: lambda gain W^2 (q_rest - q) is added to J^T e, of which
       (H + lambda I)^-1 leaves what the rows do not see. Where all iterations brought no nearer by more than the stall
       threshold, the next call would bring no more: DIVERGED if the clamps were halved, else STALLED. A threshold of zero
       switches that off.
    3. A stall away from the goal may be a singular posture: a descent by step 1 from a state moved at random; the
       better of both ends is kept.
    4. Secondary objective: (K H + W^2) d = K g + gain W^2 (q_rest - q), with K so large that the rows come first; then
       a short descent by step 1. Taken where the rows are met and the objective falls, otherwise the gain is halved.
    5. The status is that of the state handed back, measured once more: within every tolerance is CONVERGED.

Degeneracies
    No variable is free: CONVERGED or STALLED at once. Redundant rows make H singular, which the floor bears.

Cost
    One factorisation and one forward kinematics an iteration; the Jacobian only where a step starts anew.

References
    [Fan2005] for damping that fades with the error; [Nocedal2006] for gain ratios; [Transtrum2012] for acceleration;
    [Grippo1986] for going uphill.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.mechanisms import acceleration, layout, mechanism, normal, second_order
from ssik_ros.kernels.search import clock, restarts

FLOOR = 1e-13
"""Damping, relative to the largest diagonal entry of H, that is always there."""
PULL_FLOOR = 1e-15
FIRST_MU = 1e-3
FIRST_BOOST = 8.0
SMALLEST_MU = 1e-9
LARGEST_MU = 1e12
ACCEPTED = 1e-4
"""Share of the predicted decrease from which a step is taken."""
GOOD_GAIN = 0.75
POOR_GAIN = 0.25
LONGEST_TURN = 0.8
"""[rad]"""
NO_DECREASE = 1e-15
"""Relative decrease of the cost that rounding alone can make."""
HALVINGS = 7
ESCAPE_SPREAD = 0.1
"""Random motion out of a stall [rad or m], three times as much in each further try."""
SLOW_AFTER = 6
"""Iterations from which on a descent may count as slow."""
SLOW, FAST, SLOW_STEPS = 0.97, 0.9, 3
"""Share of the cost that a slow step leaves at least, a fast one at most; slow steps that make a descent slow."""
FIRST_RAISE, RAISE, LARGEST_RAISE = 1e-6, 8.0, 20
"""How damping is raised until a matrix with second derivatives is definite."""
UPHILL_STEPS, LONGEST_EXCURSION, MOST_EXCURSIONS = 2, 4, 3
"""Steps of an excursion that may raise the cost, steps until it has to pay, excursions of a descent."""
HIGHEST = 20.0
"""How far above its start the cost of an excursion may go, as a factor."""
FLAT = 0.1
"""Share of the tighter tolerance up to which the square of a step is too little to bend it: it ends within as it is."""
LARGEST_BEND = 0.5
"""How long the second-order part of a step may be, relative to the first."""
PRIORITY = 1e10
"""How much more the rows weigh than a secondary objective."""
CORRECTIONS = 6
"""Steps that may follow a pull of the secondary objective."""
SMALLEST_GAIN = 1e-4
SETTLED = 1e-10
"""Relative decrease of a secondary objective below which it counts as reached."""

# What the descent at hand is for.
MAIN = 0
ESCAPE = 1
PULL = 2
LAST_WORD = 3

# How the state to be measured came about, if not by a step of the descent.
START = 1
PULLED = 2
RETURNED = 3

REMEASURE = 2
"""In place of ANEW = 1: the state to step from has to be measured again."""


@inline_kernel
def advance(variable, lower, upper, held, step, state, out):
    """Write the state that a step leads to, never outside the limits."""
    for v in range(variable.shape[0]):
        kind, at = variable[v, layout.VARIABLE_KIND], variable[v, layout.VARIABLE_STATE]
        if kind < layout.BALL:
            out[at] = state[at]
            if held[v] != 2.0:
                out[at] = min(max(state[at] + step[v], lower[v]), upper[v])
        elif kind == layout.BALL:
            for k in range(4):
                out[at + k] = state[at + k]
            so3.rotate_quaternion(vector(out, at, 4), step[v], step[v + 1], step[v + 2])


@inline_kernel
def bounds_of_step(variable, lower, upper, state, low, high):
    """Write how far each variable may move from a state."""
    for v in range(variable.shape[0]):
        low[v], high[v] = -math.inf, math.inf
        if variable[v, layout.VARIABLE_KIND] < layout.BALL:
            value = state[variable[v, layout.VARIABLE_STATE]]
            low[v], high[v] = lower[v] - value, upper[v] - value


@inline_kernel
def scale_step(variable, step):
    """Scale a step down to the longest turn; return the largest motion of a variable."""
    turn, largest = 0.0, 0.0
    for v in range(step.shape[0]):
        size = abs(step[v])
        largest = max(largest, size)
        if variable[v, layout.VARIABLE_KIND] >= layout.FIRST_TURN:
            turn = max(turn, size)
    if turn > LONGEST_TURN:
        for v in range(step.shape[0]):
            step[v] *= LONGEST_TURN / turn
        largest *= LONGEST_TURN / turn
    return largest


@inline_kernel
def is_over(options, cancel, counters):
    """Return whether the solve has to end now: iterations, a stop from outside, the deadline."""
    if counters[layout.ITERATIONS] >= options[layout.MAX_ITERATIONS] or cancel[0] != 0:
        return True
    stop = counters[layout.STOP]
    return stop > 0 and clock.monotonic_ns(vector(counters, layout.CLOCK, 2)) >= stop


@inline_kernel
def copy(out, state):
    """Copy one array to another."""
    for k in range(state.shape[0]):
        out[k] = state[k]


@inline_kernel
def predicted_decrease(variable, hessian, gradient, step, right, damping):
    """
    Return how much the cost falls by the step, in the linear model.

    :param damping: with which the step solves (H + damping I) d = g; negative where it solves something else.
    """
    along, square = 0.0, 0.0
    for v in range(step.shape[0]):
        along += step[v] * gradient[v]
        square += step[v] * step[v]
    if damping >= 0.0:
        return 0.5 * (along + damping * square)
    normal.multiply(variable, hessian, step, right)
    curved = 0.0
    for v in range(step.shape[0]):
        curved += step[v] * right[v]
    return along - 0.5 * curved


@inline_kernel
def largest_diagonal(variable, hessian, held):
    """Return the largest diagonal entry of a variable that is not locked."""
    largest = 0.0
    for v in range(held.shape[0]):
        if held[v] != 2.0:
            largest = max(largest, hessian[variable[v, layout.VARIABLE_DIAGONAL]])
    return largest


@inline_kernel
def judge(options, counters, numbers, over, cost, error, inside, current, trial, good, best):
    """
    Take or refuse the state that was just measured; steps 1 and 2 of the method.

    :returns: RUNNING to step on from ``current``, or the status with which the descent ends.
    """
    damped = counters[layout.TASK] == MAIN and options[layout.METHOD] != layout.LM
    if counters[layout.FRESH] != 0:
        if counters[layout.FRESH] != RETURNED:
            numbers[layout.MU] = FIRST_MU
        numbers[layout.BOOST] = FIRST_BOOST
        numbers[layout.CLAMP], numbers[layout.SLOW] = 1.0, 0.0
        numbers[layout.GOOD_ERROR] = math.inf
        numbers[layout.BEST_ERROR] = numbers[layout.COST] = math.inf
        counters[layout.WATCH] = 0
        if counters[layout.FRESH] != RETURNED:
            counters[layout.EXCURSIONS] = 0
    fresh = counters[layout.FRESH] != 0
    pulling = counters[layout.TASK] == PULL and counters[layout.FRESH] == START
    counters[layout.FRESH] = 0
    if damped:
        return judge_damped(
            options, counters, numbers, over, cost, error, inside, current, trial, good, best
        )
    code = layout.RUNNING
    decrease, expected = numbers[layout.COST] - cost, numbers[layout.EXPECTED]
    if fresh or inside or decrease > ACCEPTED * expected:
        if not fresh:
            adapt(counters, numbers, decrease, expected, cost)
            if not inside and decrease <= NO_DECREASE * cost:
                code = layout.STALLED
        take(counters, numbers, cost, current, trial)
        if inside and not pulling:
            return layout.CONVERGED
        if counters[layout.WATCH] > 0:
            counters[layout.WATCH] += 1
            if cost < numbers[layout.WATCH_COST]:
                counters[layout.WATCH] = 0
    elif may_go_uphill(counters, numbers, cost):
        if counters[layout.WATCH] == 0:
            counters[layout.EXCURSIONS] += 1
            numbers[layout.WATCH_COST] = numbers[layout.COST]
            copy(good, current)
        counters[layout.WATCH] += 1
        take(counters, numbers, cost, current, trial)
    elif counters[layout.WATCH] == 0:
        if not expected > NO_DECREASE * numbers[layout.COST]:
            code = layout.STALLED
        boost = numbers[layout.BOOST]
        numbers[layout.LEAST] = boost * max(numbers[layout.LEAST], 1e-8 * numbers[layout.LARGEST])
        numbers[layout.MU] = min(LARGEST_MU, boost * numbers[layout.MU])
        numbers[layout.BOOST] = 2.0 * boost
    else:
        counters[layout.WATCH] = LONGEST_EXCURSION
    if counters[layout.WATCH] >= LONGEST_EXCURSION:
        # Back to where it went up, which has to be measured again.
        counters[layout.WATCH], counters[layout.FRESH] = 0, RETURNED
        copy(current, good)
        copy(trial, good)
        counters[layout.ANEW] = REMEASURE
        code = layout.RUNNING
    if code == layout.RUNNING and over:
        code = layout.TIMEOUT
    return code


@inline_kernel
def adapt(counters, numbers, decrease, expected, cost):
    """Fit the damping to how well the last decrease was predicted, and see whether the descent is slow."""
    if decrease > GOOD_GAIN * expected:
        numbers[layout.MU] = max(SMALLEST_MU, 0.1 * numbers[layout.MU])
    elif decrease < POOR_GAIN * expected:
        numbers[layout.MU] = min(LARGEST_MU, 4.0 * numbers[layout.MU])
    if counters[layout.ITERATIONS] >= SLOW_AFTER and cost > SLOW * numbers[layout.COST]:
        numbers[layout.SLOW] += 1.0
    elif cost < FAST * numbers[layout.COST]:
        numbers[layout.SLOW] = 0.0


@inline_kernel
def take(counters, numbers, cost, current, trial):
    """Make the trial state the current one."""
    copy(current, trial)
    numbers[layout.COST] = cost
    numbers[layout.BOOST], numbers[layout.LEAST] = FIRST_BOOST, 0.0
    counters[layout.ANEW] = 1


@inline_kernel
def may_go_uphill(counters, numbers, cost):
    """Return whether a step that raised the cost may be taken all the same."""
    if counters[layout.WATCH] == 0 and counters[layout.EXCURSIONS] >= MOST_EXCURSIONS:
        return False
    before = numbers[layout.COST] if counters[layout.WATCH] == 0 else numbers[layout.WATCH_COST]
    return counters[layout.WATCH] < UPHILL_STEPS and cost < HIGHEST * before


@inline_kernel
def judge_damped(
    options, counters, numbers, over, cost, error, inside, current, trial, good, best
):
    """Judge a state on the ladder of clamps; step 2 of the method."""
    counters[layout.ANEW] = 1
    if math.isinf(numbers[layout.BEST_ERROR]):
        numbers[layout.FIRST_ERROR] = error
    if error < numbers[layout.BEST_ERROR] or inside:
        numbers[layout.BEST_ERROR], numbers[layout.BEST_COST] = error, cost
        copy(best, trial)
    if inside:
        copy(current, trial)
        return layout.CONVERGED
    if error <= numbers[layout.GOOD_ERROR] + options[layout.DIVERGE]:
        numbers[layout.GOOD_ERROR] = error
        copy(good, trial)
        copy(current, trial)
    else:
        numbers[layout.CLAMP] *= 0.5
        if numbers[layout.CLAMP] < 0.5**HALVINGS * 1.5:
            return layout.DIVERGED
        # Measured anew: residual and poses are those of the refused state.
        copy(trial, good)
        counters[layout.ANEW] = REMEASURE
    return out_of_iterations(options, counters, numbers) if over else layout.RUNNING


@inline_kernel
def out_of_iterations(options, counters, numbers):
    """Return how a descent with fixed damping ends that is over: with a word that says whether to call again."""
    iterations = counters[layout.ITERATIONS]
    gained = numbers[layout.FIRST_ERROR] - numbers[layout.BEST_ERROR]
    if iterations == 0 or iterations < options[layout.MAX_ITERATIONS]:
        return layout.TIMEOUT
    if gained > options[layout.STALL] or options[layout.STALL] == 0.0:
        return layout.TIMEOUT
    return layout.DIVERGED if numbers[layout.CLAMP] < 1.0 else layout.STALLED


@inline_kernel
def next_task(options, counters, numbers, code, over, value, count, current, good, best):
    """
    Decide what follows a descent; steps 3 and 4 of the method.

    :param code: the status with which it ended at ``current``.
    :param value, count: secondary objective there, and of how many joints.
    :returns: whether to go on from ``current`` moved at random, rather than from ``current``.
    """
    task = counters[layout.TASK]
    counters[layout.FRESH] = START
    if counters[layout.WATCH] > 0 and code != layout.CONVERGED:
        numbers[layout.COST] = numbers[layout.WATCH_COST]
        copy(current, good)
    if task == PULL:
        after_pull(options, counters, numbers, code, over, value, current, best)
        return False
    better = task == MAIN
    if task == MAIN:
        if options[layout.METHOD] != layout.LM and code != layout.CONVERGED:
            numbers[layout.COST] = numbers[layout.BEST_COST]
            copy(current, best)
        numbers[layout.SPREAD] = ESCAPE_SPREAD / 3.0
    elif code == layout.CONVERGED or numbers[layout.COST] < numbers[layout.BEST_COST]:
        better = True
    if better:
        counters[layout.STATUS] = code
        numbers[layout.BEST_COST] = numbers[layout.COST]
        copy(best, current)
    copy(current, best)
    counters[layout.TASK] = LAST_WORD
    if code == layout.CONVERGED:
        numbers[layout.REST_COST] = value
        if count > 0 and not over:
            counters[layout.TASK] = PULL
            numbers[layout.GAIN] = options[layout.REST_FACTOR]
        return False
    tries_left = counters[layout.ESCAPED] < options[layout.ESCAPES]
    if over or code == layout.DIVERGED or not tries_left:
        return False
    counters[layout.TASK] = ESCAPE
    counters[layout.ESCAPED] += 1
    numbers[layout.SPREAD] *= 3.0
    return True


@inline_kernel
def after_pull(options, counters, numbers, code, over, value, current, best):
    """Keep or undo a pull of the secondary objective, and decide whether to pull again."""
    before = numbers[layout.REST_COST]
    if code == layout.CONVERGED and value < before:
        numbers[layout.REST_COST] = value
        copy(best, current)
        over = over or before - value <= SETTLED * before
    else:
        numbers[layout.GAIN] *= 0.5
        copy(current, best)
    if over or numbers[layout.GAIN] < SMALLEST_GAIN * options[layout.REST_FACTOR]:
        counters[layout.TASK] = LAST_WORD


@inline_kernel
def random_step(spread, random, held, step):
    """Write a random step of every variable that is not locked."""
    for v in range(step.shape[0]):
        step[v] = spread * (2.0 * restarts.uniform(random) - 1.0)
        if held[v] == 2.0:
            step[v] = 0.0


@inline_kernel
def add_priority(hessian, gradient, largest):
    """Make the rows weigh more than a secondary objective by far."""
    factor = PRIORITY / max(largest, 1e-12)
    for k in range(hessian.shape[0]):
        hessian[k] *= factor
    for v in range(gradient.shape[0]):
        gradient[v] *= factor


@inline_kernel
def terms_of_step(options, flags, joints):
    """Return which joint rows there are, of the problem itself, and of the secondary objective."""
    set_ones = normal.CENTRES
    for joint in range(joints.shape[0]):
        frame = joints[joint, layout.JOINT_FRAME]
        if flags[frame, layout.TARGET_SET] != 0:
            set_ones |= normal.TARGETS
        if flags[frame, layout.REST_SET] != 0:
            set_ones |= normal.RESTS
    low = options[layout.LOW_TARGETS] != 0.0
    later = normal.RESTS + (normal.TARGETS if low else 0)
    if options[layout.SECONDARY] == layout.LIMIT_CENTRE:
        later += normal.CENTRES
    return set_ones & (0 if low else normal.TARGETS), set_ones & later


@inline_kernel
def measure(address, table, flags, options, t, w, own):
    """
    Write poses, residual and errors of the trial state.

    :returns: cost, sum of unmet errors, whether every tolerance is met.
    """
    cost, error, inside = mechanism.locate(address)
    translation, rotation = 0.0, 0.0
    if own != 0:
        more, translation, rotation, _ = normal.joint_terms(
            table, flags, options, t.variable, t.joint, w.lower, w.upper, w.held, w.trial, own, False,
            1.0, math.inf, w.normal, w.gradient, w.scratch
        )  # fmt: skip
        cost += more
    w.numbers[layout.TARGET_TRANSLATION], w.numbers[layout.TARGET_ROTATION] = translation, rotation
    if not (
        translation < options[layout.TRANSLATION_TOLERANCE]
        and rotation < options[layout.ROTATION_TOLERANCE]
    ):
        inside = False
        error += translation + rotation
    return cost, error, inside


@inline_kernel
def secondary(table, flags, options, t, w, later):
    """Return the secondary objective at ``current``, and of how many joints it is."""
    if later == 0:
        return 0.0, 0
    value, _, _, count = normal.joint_terms(
        table, flags, options, t.variable, t.joint, w.lower, w.upper, w.held, w.current, later, False,
        1.0, math.inf, w.normal, w.gradient, w.scratch
    )  # fmt: skip
    return value, count


@inline_kernel
def linearise(table, flags, options, t, w, own, later, clamp, pulling):
    """Write H and g at ``current``, which was measured last; with a pull, the secondary objective's as well."""
    mechanism.jacobian(
        flags, options, t.node, t.factors, t.constraint, t.path, w.poses, w.ends, w.turns, w.blocks,
        w.scratch, True
    )  # fmt: skip
    normal.gather(
        options, clamp, t.variable, t.constraint, t.column, w.blocks, w.residual, w.errors, w.normal,
        w.gradient, w.scratch
    )  # fmt: skip
    if w.numbers[layout.SLOW] >= SLOW_STEPS and not pulling:
        second_order.add_second_order(
            flags,
            options,
            t.node,
            t.factors,
            t.variable,
            t.constraint,
            t.path,
            w.poses,
            w.ends,
            w.motions,
            w.normal,
            w.scratch,
        )
    terms, gain = own, 1.0
    for part in range(2):
        if terms != 0:
            normal.joint_terms(
                table, flags, options, t.variable, t.joint, w.lower, w.upper, w.held, w.current, terms,
                True, gain, clamp, w.normal, w.gradient, w.scratch
            )  # fmt: skip
        w.numbers[layout.LARGEST] = largest_diagonal(t.variable, w.normal, w.held)
        if not pulling or part == 1:
            return
        add_priority(w.normal, w.gradient, w.numbers[layout.LARGEST])
        terms, gain = later, w.numbers[layout.GAIN]


@inline_kernel
def add_pull(table, flags, options, t, w, later, damping):
    """Add to g what moves the null space of a step with some damping towards the secondary objective."""
    for v in range(w.pull.shape[0]):
        w.pull[v] = 0.0
    # Its part of H goes where the factors of the step are written next: the pull adds no damping.
    normal.joint_terms(
        table, flags, options, t.variable, t.joint, w.lower, w.upper, w.held, w.current, later, True,
        options[layout.REST_FACTOR], math.inf, w.factor, w.pull, w.scratch
    )  # fmt: skip
    for v in range(w.pull.shape[0]):
        w.gradient[v] += damping * w.pull[v]


@inline_kernel
def step_on(address, table, flags, options, t, w, counters, own, later, pulling):
    """
    Write the next state to be measured into ``trial``: a step from ``current``.

    :returns: False when nothing would move by more than the stall threshold, or too many corrections followed a pull.
    """
    numbers = w.numbers
    damped = counters[layout.TASK] == MAIN and options[layout.METHOD] != layout.LM
    at_hand = counters[layout.ANEW] != 0
    if at_hand:
        clamp = numbers[layout.CLAMP] if damped else math.inf
        linearise(table, flags, options, t, w, own, later, clamp, pulling)
        bounds_of_step(t.variable, w.lower, w.upper, w.current, w.low, w.high)
        counters[layout.ANEW] = 0
    damping = max(2.0 * numbers[layout.MU] * numbers[layout.COST], numbers[layout.LEAST])
    damping += FLOOR * numbers[layout.LARGEST]
    sigma = -1.0
    if damped:
        damping = options[layout.DAMPING] * options[layout.DAMPING]
        sigma = options[layout.SIGMA] if options[layout.METHOD] == layout.SVD else -1.0
        if at_hand and later != 0:
            add_pull(table, flags, options, t, w, later, damping if sigma < 0.0 else sigma * sigma)
    if pulling:
        damping = PULL_FLOOR * numbers[layout.LARGEST]
        counters[layout.TRIES] = 0
    for _ in range(LARGEST_RAISE):
        counters[layout.HELD] = normal.bounded_step(
            t.variable,
            w.normal,
            w.gradient,
            damping,
            sigma,
            w.low,
            w.high,
            w.held,
            w.step,
            w.right,
            w.pull,
            w.factor,
            w.dense,
        )
        if counters[layout.HELD] != normal.INDEFINITE:
            break
        damping = max(RAISE * damping, FIRST_RAISE * numbers[layout.LARGEST])
    longest = scale_step(t.variable, w.step)
    is_plain = counters[layout.HELD] == 0 and sigma < 0.0 and longest < LONGEST_TURN
    moved = longest > options[layout.STALL]
    if pulling:
        counters[layout.FRESH] = PULLED
        if not moved:
            numbers[layout.GAIN] = 0.0
    elif counters[layout.TASK] == PULL:
        counters[layout.TRIES] += 1
        moved = moved and counters[layout.TRIES] <= CORRECTIONS
    if moved:
        counters[layout.ITERATIONS] += 1
        numbers[layout.LEAST] = max(numbers[layout.LEAST], damping)
        numbers[layout.EXPECTED] = predicted_decrease(
            t.variable, w.normal, w.gradient, w.step, w.right, damping if is_plain else -1.0
        )
        tolerance = min(options[layout.TRANSLATION_TOLERANCE], options[layout.ROTATION_TOLERANCE])
        curved = longest * longest > FLAT * tolerance
        if curved and not damped and not pulling and numbers[layout.SLOW] < SLOW_STEPS:
            bend_step(address, flags, options, t, w, at_hand)
        advance(t.variable, w.lower, w.upper, w.held, w.step, w.current, w.trial)
    return moved


@inline_kernel
def bend_step(address, flags, options, t, w, at_hand):
    """
    Add to a step d half of the acceleration a that keeps a path along d where the linear model has it.

    :param at_hand: whether the poses are those of ``current``; else they are measured again.
    """
    if not at_hand:
        copy(w.trial, w.current)
        mechanism.locate(address)
    acceleration.bend(
        flags, options, t.node, t.factors, t.constraint, t.column, w.poses, w.ends, w.turns, w.blocks,
        w.step, w.rates, w.right, w.scratch
    )  # fmt: skip
    for v in range(w.step.shape[0]):
        if w.held[v] != 0.0:
            w.right[v] = 0.0
    normal.solve_factored(t.variable, w.factor, w.right)
    length, bend = 0.0, 0.0
    for v in range(w.step.shape[0]):
        length = max(length, abs(w.step[v]))
        bend = max(bend, 0.5 * abs(w.right[v]))
    share = 0.5 if bend <= LARGEST_BEND * length else 0.5 * LARGEST_BEND * length / bend
    for v in range(w.step.shape[0]):
        w.step[v] += share * w.right[v]


@inline_kernel
def start(counters, numbers):
    """Set the counters of a solve to its beginning."""
    for k in (layout.ITERATIONS, layout.ESCAPED, layout.HELD, layout.TASK, layout.TRIES):
        counters[k] = 0
    counters[layout.STATUS], counters[layout.FRESH] = layout.RUNNING, START
    numbers[layout.REST_COST] = 0.0


@kernel
def solve(address, seed, stop):
    """
    Solve one chain from the state in the table, and write the state that was found there.

    ``counters`` hands back the row of a frame whose numbers are none. The workspace keeps what a result tells of the
    final state.

    :param address: of the chain's :class:`~ssik_ros.kernels.mechanisms.layout.Block`.
    :param seed: of random states.
    :param stop: monotonic time at which to stop [ns]; 0 for none.
    :returns: the status, or BAD_FRAME.
    """
    table, flags, options, cancel, ints, counters, reals, work = layout.view_block(address)
    t, w = layout.view_tables(ints, reals), layout.view_workspace(ints, work)
    counters[layout.RANDOM], counters[layout.STOP] = seed, stop
    counters[layout.BAD] = mechanism.load(table, flags, t, w)
    if counters[layout.BAD] >= 0:
        return layout.BAD_FRAME
    random = counters[layout.RANDOM : layout.RANDOM + 1].view(np.uint64)
    own, later = terms_of_step(options, flags, t.joint)
    start(counters, w.numbers)
    copy(w.trial, w.current)
    while True:
        cost, error, inside = measure(address, table, flags, options, t, w, own)
        if counters[layout.TASK] == LAST_WORD:
            break
        over = is_over(options, cancel, counters)
        pulling = counters[layout.TASK] == PULL and counters[layout.FRESH] == START
        code = judge(
            options, counters, w.numbers, over, cost, error, inside, w.current, w.trial, w.good, w.best
        )  # fmt: skip
        if code == layout.RUNNING:
            if counters[layout.ANEW] == REMEASURE:
                continue
            if step_on(address, table, flags, options, t, w, counters, own, later, pulling):
                continue
            code = layout.STALLED
        task = counters[layout.TASK]
        value, count = secondary(table, flags, options, t, w, later)
        random_start = next_task(
            options, counters, w.numbers, code, over, value, count, w.current, w.good, w.best
        )
        if counters[layout.TASK] == LAST_WORD and code == layout.CONVERGED and task != PULL:
            break
        copy(w.trial, w.current)
        if random_start:
            random_step(w.numbers[layout.SPREAD], random, w.held, w.step)
            advance(t.variable, w.lower, w.upper, w.held, w.step, w.current, w.trial)
    w.numbers[layout.COST] = cost
    # The word is that of the state handed back.
    if inside:
        counters[layout.STATUS] = layout.CONVERGED
    elif counters[layout.STATUS] == layout.CONVERGED:
        counters[layout.STATUS] = layout.STALLED
    copy(w.current, w.trial)
    if inside or options[layout.KEEP_FAILED] != 0.0:
        mechanism.store(table, t.node, t.factors, t.variable, w.current, w.scratch)
    w.numbers[layout.STEPS] = counters[layout.ITERATIONS]
    w.numbers[layout.TRIED] = counters[layout.ESCAPED]
    return counters[layout.STATUS]
