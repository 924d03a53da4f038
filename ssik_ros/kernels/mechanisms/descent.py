"""
Solve one chain of a mechanism with closed loops by Levenberg-Marquardt, damped least squares or the spectral step.

:func:`solve` runs the loop: steps, escapes from stalls by random motions, and secondary objectives.

Problem
    min 1/2 |e(q)|^2 within limits, where e has all rows of a chain. Among the states that meet every tolerance, find a
    state with a small secondary objective 1/2 |W (q_rest - q)|^2. q_rest are rest values, by options also the middles
    of limits and the targets of joints; W are their weights.

Method
    One loop measures a state, judges it, and makes the next step. A *descent* is a run of such steps.

    1. LM: bounded step d with damping ``mu |e|^2 + DAMPING_FLOOR max H_ii``, plus half of the acceleration a that keeps
       the residual where the linear model has it: (H + damping) a = J^T e_dd. The step is accepted if the cost falls.
       ``mu`` shrinks if the cost falls as predicted, and grows with every refusal. Turns of more than ``LONGEST_TURN``
       in one step are scaled down; the shortest steps omit a. A few times a descent may go uphill for two steps, if
       this pays within four steps; otherwise it returns to the state before. If the cost falls slowly, second
       derivatives are added to H, and the damping is raised until the sum is definite.
    2. DLS and SVD: errors clamped, fixed or spectral damping. If the error exceeds the last good one by the options'
       bound, the last good state is restored and the clamps are halved. After seven halvings: DIVERGED. The null
       space moves towards the rest poses in every step: lambda gain W^2 (q_rest - q) is added to J^T e, and
       (H + lambda I)^-1 keeps the part that the rows do not see. If all iterations together gain no more than the stall
       threshold, a further call would gain nothing: DIVERGED if the clamps were halved, else STALLED. A threshold of
       zero switches this test off.
    3. A stall away from the goal may be a singular posture. Then a descent by step 1 begins at a state moved at random;
       the better end of both descents is kept.
    4. Secondary objective: (K H + W^2) d = K g + gain W^2 (q_rest - q), with K so large that the rows come first; then
       a short descent by step 1. The result is accepted if the rows are met and the objective falls, otherwise the gain
       is halved.
    5. The status belongs to the returned state, measured once more: CONVERGED means within every tolerance.

Degeneracies
    If no variable is free, the result is CONVERGED or STALLED at once. Redundant rows make H singular; the floor of the
    damping allows this.

Cost
    One forward kinematics and at least one factorisation for each iteration; the Jacobian only after an accepted step.

References
    [Fan2005] for damping that fades with the error; [Nocedal2006] for gain ratios; [Transtrum2012] for acceleration;
    [Grippo1986] for going uphill.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.mechanisms import acceleration, layout, mechanism, normal, second_order
from ssik_ros.kernels.rows import layout as row_layout, steps
from ssik_ros.kernels.search import clock, restarts

DAMPING_FLOOR = 1e-13
"""Least damping, relative to the largest diagonal entry of H."""
PULL_FLOOR = 1e-15
FIRST_MU = 1e-3
FIRST_BOOST = 8.0
SMALLEST_MECHANISM_MU = 1e-9
LARGEST_MECHANISM_MU = 1e12
ACCEPTED = 1e-4
"""Least share of the predicted decrease for an accepted step."""
GOOD_GAIN = 0.75
POOR_GAIN = 0.25
LONGEST_TURN = 0.8
"""Longest turn in one step [rad]."""
NO_DECREASE = 1e-15
"""Relative decrease of the cost that can be rounding only."""
HALVINGS = 7
ESCAPE_SPREAD = 0.1
"""Random motion out of a stall [rad or m]; it triples with each further attempt."""
SLOW_AFTER = 6
"""Number of iterations before a descent may count as slow."""
SLOW_STEP, FAST_STEP, SLOW_STEPS = 0.97, 0.9, 3
"""Least share of the cost after a slow step; largest share after a fast step; number of slow steps that make a descent
slow."""
FIRST_RAISE, RAISE, LARGEST_RAISE = 1e-6, 8.0, 20
"""First damping, its growth factor, and most raises until a matrix with second derivatives is definite."""
UPHILL_STEPS, LONGEST_EXCURSION, MOST_EXCURSIONS = 2, 4, 3
"""Steps of an excursion that may raise the cost; steps within which it must pay; excursions of a descent."""
HIGHEST = 20.0
"""Largest ratio of the cost of an excursion to the cost at its start."""
UNBENT_STEP_SHARE = 0.1
"""If the square of a step is below this share of the tighter tolerance, the step gets no acceleration."""
LARGEST_BEND = 0.5
"""Largest ratio of the second-order part of a step to its first-order part."""
PRIORITY = 1e10
"""Weight of the rows relative to a secondary objective."""
CORRECTIONS = 6
"""Most steps that may follow a pull of the secondary objective."""
SMALLEST_GAIN = 1e-4
SETTLED_DECREASE = 1e-10
"""Relative decrease of a secondary objective below which the objective counts as reached [1]."""

# Purposes of a descent.
MAIN = 0
ESCAPE = 1
PULL = 2
LAST_WORD = 3

# Origins of the next state, other than a step of the descent.
START = 1
PULLED = 2
RETURNED = 3

REMEASURE = 2
"""Value of ANEW: measure the current state again before the next step."""


@kernel
def advance(address):
    """
    Write the state after a step, ``current`` plus ``step`` clipped to the limits, into ``trial`` of the workspace.

    :param address: address of the block of the chain.
    """
    _, t, w = layout.view_chain(address)
    vectors.copy(w.trial, w.current)
    steps.move_by(t.variable, w.lower, w.upper, True, 1.0, w.step, w.trial)


@inline_kernel
def bounds_of_step(t, w):
    """
    Write the bounds of the next step of each variable into ``low`` and ``high`` [rad or m].

    They are the distances from ``current`` to the lower and the upper limit: ``low`` is negative or 0 inside the
    limits. They are infinite for ball joints.
    """
    for v in range(t.variable.shape[0]):
        w.low[v], w.high[v] = -math.inf, math.inf
        if t.variable[v, row_layout.VARIABLE_KIND] == row_layout.LINEAR:
            value = w.current[t.variable[v, row_layout.VARIABLE_Q]]
            w.low[v], w.high[v] = w.lower[v] - value, w.upper[v] - value


@inline_kernel
def scale_step(t, w):
    """Scale ``w.step`` down so that no joint turns more than LONGEST_TURN; return its longest entry after that [rad or m]."""
    steps.shorten_turns(t.variable, w.step, LONGEST_TURN)
    return vectors.largest_of(w.step, w.step.shape[0])


@inline_kernel
def is_over(block):
    """Return whether the iteration limit or the deadline of a solve is reached, or the caller has set the cancel flag."""
    if (
        block.counters[layout.ITERATIONS] >= block.options[layout.MAX_ITERATIONS]
        or block.cancel[0] != 0
    ):
        return True
    stop = block.counters[layout.STOP]
    return stop > 0 and clock.monotonic_ns(vector(block.counters, layout.CLOCK, 2)) >= stop


@kernel
def predicted_decrease(address, damping):
    """
    Return by how much ``step`` lowers the cost 1/2 |e|^2 according to the linear model; ``right`` may be overwritten.

    :param address: address of the block of the chain.
    :param damping: damping with which the step solves (H + damping I) d = g; negative if the step does not solve this.
    """
    _, t, w = layout.view_chain(address)
    n = w.step.shape[0]
    along = vectors.inner(w.step, w.gradient, n)
    if damping >= 0.0:
        return 0.5 * (along + damping * vectors.inner(w.step, w.step, n))
    normal.multiply(t.variable, w.normal, w.step, w.right)
    return along - 0.5 * vectors.inner(w.step, w.right, n)


@inline_kernel
def largest_diagonal(t, w):
    """Return the largest diagonal entry of the normal matrix H = J^T J over the variables that are not locked."""
    largest = 0.0
    for v in range(w.held.shape[0]):
        if w.held[v] != 2.0:
            largest = max(largest, w.normal[t.variable[v, layout.VARIABLE_DIAGONAL]])
    return largest


@inline_kernel
def judge(block, w, over, pulling, cost, error, inside):
    """
    Accept or refuse the state ``trial`` that was just measured; steps 1 and 2 of the module's method.

    An accepted state becomes ``current``. The damping is adapted.

    :param over: whether the solve must end: out of iterations, out of time, or cancelled.
    :param pulling: whether the next step is to reduce the secondary objective, too.
    :param cost, error, inside: results of :func:`measure`.
    :returns: RUNNING to go on with a step from ``current``, or, if ANEW is REMEASURE, with a new measurement of
        ``trial``. CONVERGED, STALLED, DIVERGED or TIMEOUT if the descent ends.
    """
    damped = block.counters[layout.TASK] == MAIN and block.options[layout.METHOD] != layout.LM
    fresh = block.counters[layout.FRESH] != 0
    if fresh:
        if block.counters[layout.FRESH] != RETURNED:
            w.numbers[layout.MU] = FIRST_MU
            block.counters[layout.EXCURSIONS] = 0
        w.numbers[layout.BOOST] = FIRST_BOOST
        w.numbers[layout.CLAMP], w.numbers[layout.SLOW] = 1.0, 0.0
        w.numbers[layout.GOOD_ERROR] = math.inf
        w.numbers[layout.BEST_ERROR] = w.numbers[layout.COST] = math.inf
        block.counters[layout.WATCH] = 0
    block.counters[layout.FRESH] = 0
    if damped:
        return judge_damped(block, w, over, cost, error, inside)
    code = layout.RUNNING
    decrease, expected = w.numbers[layout.COST] - cost, w.numbers[layout.EXPECTED]
    if fresh or inside or decrease > ACCEPTED * expected:
        if not fresh:
            adapt(block, w, decrease, expected, cost)
            if not inside and decrease <= NO_DECREASE * cost:
                code = layout.STALLED
        take(block, w, cost)
        if inside and not pulling:
            return layout.CONVERGED
        if block.counters[layout.WATCH] > 0:
            block.counters[layout.WATCH] += 1
            if cost < w.numbers[layout.WATCH_COST]:
                block.counters[layout.WATCH] = 0
    elif may_go_uphill(block, w, cost):
        if block.counters[layout.WATCH] == 0:
            block.counters[layout.EXCURSIONS] += 1
            w.numbers[layout.WATCH_COST] = w.numbers[layout.COST]
            vectors.copy(w.good, w.current)
        block.counters[layout.WATCH] += 1
        take(block, w, cost)
    elif block.counters[layout.WATCH] == 0:
        if not expected > NO_DECREASE * w.numbers[layout.COST]:
            code = layout.STALLED
        boost = w.numbers[layout.BOOST]
        w.numbers[layout.LEAST] = boost * max(
            w.numbers[layout.LEAST], 1e-8 * w.numbers[layout.LARGEST_DIAGONAL]
        )
        w.numbers[layout.MU] = min(LARGEST_MECHANISM_MU, boost * w.numbers[layout.MU])
        w.numbers[layout.BOOST] = 2.0 * boost
    else:
        block.counters[layout.WATCH] = LONGEST_EXCURSION
    if block.counters[layout.WATCH] >= LONGEST_EXCURSION:
        # Return to the state before the excursion and measure it again.
        block.counters[layout.WATCH], block.counters[layout.FRESH] = 0, RETURNED
        vectors.copy(w.current, w.good)
        vectors.copy(w.trial, w.good)
        block.counters[layout.ANEW] = REMEASURE
        code = layout.RUNNING
    if code == layout.RUNNING and over:
        code = layout.TIMEOUT
    return code


@inline_kernel
def adapt(block, w, decrease, expected, cost):
    """
    Adapt the damping factor MU: smaller if the cost fell as expected, larger if it fell by much less.

    SLOW counts steps that lower the cost only slowly.

    :param decrease, expected: decrease of the cost, measured and predicted by the linear model.
    :param cost: cost after the step.
    """
    if decrease > GOOD_GAIN * expected:
        w.numbers[layout.MU] = max(SMALLEST_MECHANISM_MU, 0.1 * w.numbers[layout.MU])
    elif decrease < POOR_GAIN * expected:
        w.numbers[layout.MU] = min(LARGEST_MECHANISM_MU, 4.0 * w.numbers[layout.MU])
    if (
        block.counters[layout.ITERATIONS] >= SLOW_AFTER
        and cost > SLOW_STEP * w.numbers[layout.COST]
    ):
        w.numbers[layout.SLOW] += 1.0
    elif cost < FAST_STEP * w.numbers[layout.COST]:
        w.numbers[layout.SLOW] = 0.0


@inline_kernel
def take(block, w, cost):
    """
    Accept the trial state: copy ``trial`` to ``current`` and store its cost.

    The damping after a refused step starts anew (BOOST, its growth factor, and LEAST, its lower bound), and ANEW asks
    for a new Jacobian.
    """
    vectors.copy(w.current, w.trial)
    w.numbers[layout.COST] = cost
    w.numbers[layout.BOOST], w.numbers[layout.LEAST] = FIRST_BOOST, 0.0
    block.counters[layout.ANEW] = 1


@inline_kernel
def may_go_uphill(block, w, cost):
    """
    Return whether a trial state that raised the cost may be accepted, because a few steps uphill may pay later.

    Its ``cost`` must stay below HIGHEST times the cost before the first of these steps, and their number is limited.
    """
    if block.counters[layout.WATCH] == 0 and block.counters[layout.EXCURSIONS] >= MOST_EXCURSIONS:
        return False
    before = (
        w.numbers[layout.COST]
        if block.counters[layout.WATCH] == 0
        else w.numbers[layout.WATCH_COST]
    )
    return block.counters[layout.WATCH] < UPHILL_STEPS and cost < HIGHEST * before


@inline_kernel
def judge_damped(block, w, over, cost, error, inside):
    """
    Accept or refuse the state ``trial`` that was just measured, for DLS and SVD; step 2 of the module's method.

    An accepted state is copied to ``current`` and, unless the descent has converged, to ``good``. After a refused
    state, ``trial`` becomes ``good`` again, and the clamps, the largest errors in a step, are halved.

    :param over: whether the solve must end.
    :param cost, error, inside: results of :func:`measure`.
    :returns: RUNNING to go on, from a new measurement of ``trial`` if ANEW is REMEASURE. CONVERGED if ``inside``,
        DIVERGED after HALVINGS halvings, or the status of :func:`out_of_iterations`.
    """
    block.counters[layout.ANEW] = 1
    if math.isinf(w.numbers[layout.BEST_ERROR]):
        w.numbers[layout.FIRST_ERROR] = error
    if error < w.numbers[layout.BEST_ERROR] or inside:
        w.numbers[layout.BEST_ERROR], w.numbers[layout.BEST_COST] = error, cost
        vectors.copy(w.best, w.trial)
    if inside:
        vectors.copy(w.current, w.trial)
        return layout.CONVERGED
    if error <= w.numbers[layout.GOOD_ERROR] + block.options[layout.DIVERGE]:
        w.numbers[layout.GOOD_ERROR] = error
        vectors.copy(w.good, w.trial)
        vectors.copy(w.current, w.trial)
    else:
        w.numbers[layout.CLAMP] *= 0.5
        if w.numbers[layout.CLAMP] < 0.5**HALVINGS * 1.5:
            return layout.DIVERGED
        # Measure again: residual and poses belong to the refused state.
        vectors.copy(w.trial, w.good)
        block.counters[layout.ANEW] = REMEASURE
    return out_of_iterations(block, w) if over else layout.RUNNING


@inline_kernel
def out_of_iterations(block, w):
    """
    Return the status of a descent by DLS or SVD that must end: out of iterations, out of time, or cancelled.

    It is TIMEOUT if iterations are left or none was made. It is also TIMEOUT if the iterations lowered the error by
    more than the stall threshold, or this threshold is 0. Otherwise it is DIVERGED if the clamps were halved, else
    STALLED.
    """
    iterations = block.counters[layout.ITERATIONS]
    gained = w.numbers[layout.FIRST_ERROR] - w.numbers[layout.BEST_ERROR]
    if iterations == 0 or iterations < block.options[layout.MAX_ITERATIONS]:
        return layout.TIMEOUT
    if gained > block.options[layout.STALL] or block.options[layout.STALL] == 0.0:
        return layout.TIMEOUT
    return layout.DIVERGED if w.numbers[layout.CLAMP] < 1.0 else layout.STALLED


@inline_kernel
def next_task(block, w, code, over, value, count):
    """
    Choose how a solve goes on after a descent has ended, and write it into TASK; steps 3 and 4 of the module's method.

    TASK becomes ESCAPE (descend from a random state), PULL (reduce the secondary objective) or LAST_WORD (measure the
    result and end). ``best`` keeps the better end of all descents.

    :param code: status with which the descent ended at ``current``.
    :param over: whether the solve must end.
    :param value, count: results of :func:`secondary`.
    :returns: True if the caller must move ``current`` at random first, for ESCAPE; else False.
    """
    task = block.counters[layout.TASK]
    block.counters[layout.FRESH] = START
    if block.counters[layout.WATCH] > 0 and code != layout.CONVERGED:
        w.numbers[layout.COST] = w.numbers[layout.WATCH_COST]
        vectors.copy(w.current, w.good)
    if task == PULL:
        after_pull(block, w, code, over, value)
        return False
    better = task == MAIN
    if task == MAIN:
        if block.options[layout.METHOD] != layout.LM and code != layout.CONVERGED:
            w.numbers[layout.COST] = w.numbers[layout.BEST_COST]
            vectors.copy(w.current, w.best)
        w.numbers[layout.SPREAD] = ESCAPE_SPREAD / 3.0
    elif code == layout.CONVERGED or w.numbers[layout.COST] < w.numbers[layout.BEST_COST]:
        better = True
    if better:
        block.counters[layout.STATUS] = code
        w.numbers[layout.BEST_COST] = w.numbers[layout.COST]
        vectors.copy(w.best, w.current)
    vectors.copy(w.current, w.best)
    block.counters[layout.TASK] = LAST_WORD
    if code == layout.CONVERGED:
        w.numbers[layout.REST_COST] = value
        if count > 0 and not over:
            block.counters[layout.TASK] = PULL
            w.numbers[layout.GAIN] = block.options[layout.REST_FACTOR]
        return False
    tries_left = block.counters[layout.ESCAPED] < block.options[layout.ESCAPES]
    if over or code == layout.DIVERGED or not tries_left:
        return False
    block.counters[layout.TASK] = ESCAPE
    block.counters[layout.ESCAPED] += 1
    w.numbers[layout.SPREAD] *= 3.0
    return True


@inline_kernel
def after_pull(block, w, code, over, value):
    """
    Keep ``current``, the end of a pull, if it meets the goals and lowers the secondary objective, else undo the pull.

    A pull is a step towards the minimum of the secondary objective, with the descent after it. An end that is kept is
    copied to ``best``; otherwise GAIN is halved. TASK becomes LAST_WORD if no further pull pays or the solve must end.

    :param code: status of the descent after the pull.
    :param over: whether the solve must end.
    :param value: secondary objective at ``current``.
    """
    before = w.numbers[layout.REST_COST]
    if code == layout.CONVERGED and value < before:
        w.numbers[layout.REST_COST] = value
        vectors.copy(w.best, w.current)
        over = over or before - value <= SETTLED_DECREASE * before
    else:
        w.numbers[layout.GAIN] *= 0.5
        vectors.copy(w.current, w.best)
    if over or w.numbers[layout.GAIN] < SMALLEST_GAIN * block.options[layout.REST_FACTOR]:
        block.counters[layout.TASK] = LAST_WORD


@inline_kernel
def random_step(w, random):
    """
    Write a random step into ``step``: between -SPREAD and SPREAD [rad or m] for each variable, 0 for locked ones.

    :param random: (1,) uint64 state of the generator, advanced.
    """
    for v in range(w.step.shape[0]):
        w.step[v] = w.numbers[layout.SPREAD] * (2.0 * restarts.uniform(random) - 1.0)
        if w.held[v] == 2.0:
            w.step[v] = 0.0


@inline_kernel
def add_priority(w):
    """
    Scale H and g by one factor, so that the largest diagonal entry of H becomes PRIORITY.

    Rows of a secondary objective, which are added later with their own weights, then count much less.
    """
    factor = PRIORITY / max(w.numbers[layout.LARGEST_DIAGONAL], 1e-12)
    vectors.stretch(w.normal, factor, w.normal.shape[0])
    vectors.stretch(w.gradient, factor, w.gradient.shape[0])


@inline_kernel
def terms_of_step(block, t):
    """
    Return (target_mask, later_mask): bit masks of the rows in joint space that all steps of a solve use.

    The bits are TARGETS (wanted joint values), RESTS (rest values) and CENTRES (middles of limits). Rows in
    ``target_mask`` must be met; rows in ``later_mask`` form the secondary objective. With option LOW_TARGETS, targets
    are in ``later_mask`` only.

    :param block, t: block of the chain with flags and options, and its tables.
    """
    set_ones = normal.CENTRES
    for joint in range(t.joint.shape[0]):
        frame = t.joint[joint, layout.JOINT_FRAME]
        if block.flags[frame, layout.TARGET_SET] != 0:
            set_ones |= normal.TARGETS
        if block.flags[frame, layout.REST_SET] != 0:
            set_ones |= normal.RESTS
    low = block.options[layout.LOW_TARGETS] != 0.0
    later_mask = normal.RESTS + (normal.TARGETS if low else 0)
    if block.options[layout.SECONDARY] == layout.LIMIT_CENTRE:
        later_mask += normal.CENTRES
    return set_ones & (0 if low else normal.TARGETS), set_ones & later_mask


@inline_kernel
def measure(address, block, w, target_mask):
    """
    Measure the state ``trial``: write its poses, residual and errors into the workspace.

    :param address: address of the block of the chain.
    :param target_mask: bit mask of the joint rows that must be met (TARGETS); 0 for none of them.
    :returns: (cost, error, inside): 1/2 |e|^2; position plus rotation error, summed over the constraints with an error
        outside its tolerance, and likewise for the joint rows [m + rad]; True if every error is within its tolerance.
    """
    cost, error, inside = mechanism.locate(address)
    translation, rotation = 0.0, 0.0
    if target_mask != 0:
        more, translation, rotation, _ = normal.joint_terms(
            address, w.trial, target_mask, False, 1.0, math.inf, w.normal, w.gradient
        )
        cost += more
    w.numbers[layout.TARGET_TRANSLATION], w.numbers[layout.TARGET_ROTATION] = translation, rotation
    if not (
        translation < block.options[layout.TRANSLATION_TOLERANCE]
        and rotation < block.options[layout.ROTATION_TOLERANCE]
    ):
        inside = False
        error += translation + rotation
    return cost, error, inside


@inline_kernel
def secondary(address, w, later_mask):
    """
    Return (secondary objective at ``current``, number of its terms); both are 0 without an objective.

    A term is a joint with one kind of row: target, rest or centre.

    :param address: address of the block of the chain.
    :param later_mask: bit mask of the joint rows of the objective.
    """
    if later_mask == 0:
        return 0.0, 0
    value, _, _, count = normal.joint_terms(
        address, w.current, later_mask, False, 1.0, math.inf, w.normal, w.gradient
    )
    return value, count


@inline_kernel
def linearise(address, t, w, target_mask, later_mask, clamp, pulling):
    """
    Write the normal equations at ``current``, which must be the last measured state: H = J^T J and g = J^T e.

    Second derivatives are added to H if the descent has made SLOW_STEPS slow steps and ``pulling`` is False.

    :param target_mask, later_mask: bit masks of the joint rows to meet, and of the rows of the secondary objective.
    :param clamp: factor on the options' largest errors in a step, above which an error is scaled down; infinity for no
        clamp.
    :param pulling: True adds the secondary objective, with less weight than all other rows.
    """
    mechanism.jacobian(address, True)
    normal.gather(address, clamp)
    if w.numbers[layout.SLOW] >= SLOW_STEPS and not pulling:
        second_order.add_second_order(address)
    terms, gain = target_mask, 1.0
    for part in range(2):
        if terms != 0:
            normal.joint_terms(address, w.current, terms, True, gain, clamp, w.normal, w.gradient)
        w.numbers[layout.LARGEST_DIAGONAL] = largest_diagonal(t, w)
        if not pulling or part == 1:
            return
        add_priority(w)
        terms, gain = later_mask, w.numbers[layout.GAIN]


@inline_kernel
def add_pull(address, block, w, later_mask, damping):
    """
    Add ``damping`` times the pull of the secondary objective, its negative gradient, to g.

    The arrays ``factor`` and ``pull`` of the workspace are overwritten.

    :param address: address of the block of the chain.
    :param later_mask: bit mask of the joint rows of the objective.
    """
    vectors.fill(w.pull, 0.0)
    # Its part of H goes where the factors of the step are written next: the pull adds no damping.
    normal.joint_terms(
        address,
        w.current,
        later_mask,
        True,
        block.options[layout.REST_FACTOR],
        math.inf,
        w.factor,
        w.pull,
    )
    vectors.add_scaled(w.gradient, damping, w.pull, w.pull.shape[0])


@inline_kernel
def step_on(address, block, t, w, target_mask, later_mask, pulling):
    """
    Compute a step from ``current`` and write the state after it into ``trial``; the caller measures it next.

    :param address: address of the block of the chain.
    :param target_mask, later_mask: bit masks of the joint rows to meet, and of the rows of the secondary objective.
    :param block, t, w: views of this block, its tables and its workspace.
    :param pulling: True makes the step reduce the secondary objective, too.
    :returns: False, without a new trial state, if no variable would move by more than the stall threshold or too many
        corrections followed a pull; else True.
    """
    numbers = w.numbers
    damped = block.counters[layout.TASK] == MAIN and block.options[layout.METHOD] != layout.LM
    at_hand = block.counters[layout.ANEW] != 0
    if at_hand:
        clamp = numbers[layout.CLAMP] if damped else math.inf
        linearise(address, t, w, target_mask, later_mask, clamp, pulling)
        bounds_of_step(t, w)
        block.counters[layout.ANEW] = 0
    damping = max(2.0 * numbers[layout.MU] * numbers[layout.COST], numbers[layout.LEAST])
    damping += DAMPING_FLOOR * numbers[layout.LARGEST_DIAGONAL]
    sigma = -1.0
    if damped:
        damping = block.options[layout.DAMPING] * block.options[layout.DAMPING]
        sigma = block.options[layout.SIGMA] if block.options[layout.METHOD] == layout.SVD else -1.0
        if at_hand and later_mask != 0:
            add_pull(address, block, w, later_mask, damping if sigma < 0.0 else sigma * sigma)
    if pulling:
        damping = PULL_FLOOR * numbers[layout.LARGEST_DIAGONAL]
        block.counters[layout.TRIES] = 0
    for _ in range(LARGEST_RAISE):
        block.counters[layout.HELD] = normal.bounded_step(address, damping, sigma)
        if block.counters[layout.HELD] != normal.INDEFINITE:
            break
        damping = max(RAISE * damping, FIRST_RAISE * numbers[layout.LARGEST_DIAGONAL])
    longest = scale_step(t, w)
    is_plain = block.counters[layout.HELD] == 0 and sigma < 0.0 and longest < LONGEST_TURN
    moved = longest > block.options[layout.STALL]
    if pulling:
        block.counters[layout.FRESH] = PULLED
        if not moved:
            numbers[layout.GAIN] = 0.0
    elif block.counters[layout.TASK] == PULL:
        block.counters[layout.TRIES] += 1
        moved = moved and block.counters[layout.TRIES] <= CORRECTIONS
    if moved:
        block.counters[layout.ITERATIONS] += 1
        numbers[layout.LEAST] = max(numbers[layout.LEAST], damping)
        numbers[layout.EXPECTED] = predicted_decrease(address, damping if is_plain else -1.0)
        tolerance = min(
            block.options[layout.TRANSLATION_TOLERANCE], block.options[layout.ROTATION_TOLERANCE]
        )
        curved = longest * longest > UNBENT_STEP_SHARE * tolerance
        if curved and not damped and not pulling and numbers[layout.SLOW] < SLOW_STEPS:
            bend_step(address, t, w, at_hand)
        advance(address)
    return moved


@inline_kernel
def bend_step(address, t, w, at_hand):
    """
    Add half of the acceleration along a step to ``step``, so that the motion follows the curve of the residual.

    The acceleration keeps the residual where the linear model has it, to second order. A large one is scaled down.

    :param address: address of the block of the chain.
    :param at_hand: True if the poses in the workspace belong to ``current``; False measures them again.
    """
    if not at_hand:
        vectors.copy(w.trial, w.current)
        mechanism.locate(address)
    acceleration.bend(address)
    for v in range(w.step.shape[0]):
        if w.held[v] != 0.0:
            w.right[v] = 0.0
    normal.solve_factored(t.variable, w.factor, w.right)
    n = w.step.shape[0]
    length, bend = vectors.largest_of(w.step, n), 0.5 * vectors.largest_of(w.right, n)
    share = 0.5 if bend <= LARGEST_BEND * length else 0.5 * LARGEST_BEND * length / bend
    vectors.add_scaled(w.step, share, w.right, n)


@inline_kernel
def start(block, w):
    """Set counters, status and the stored secondary objective to their values at the beginning of a solve."""
    for k in (layout.ITERATIONS, layout.ESCAPED, layout.HELD, layout.TASK, layout.TRIES):
        block.counters[k] = 0
    block.counters[layout.STATUS], block.counters[layout.FRESH] = layout.RUNNING, START
    w.numbers[layout.REST_COST] = 0.0


@kernel
def solve(address, seed, stop):
    """
    Solve one chain of a mechanism, from the state that its table holds.

    The final state is written into the table if it meets every tolerance or KEEP_FAILED is set. ``counters`` gets at
    BAD the row of a frame whose numbers are invalid, else -1. The workspace keeps the numbers of the result.

    :param address: address of the chain's :class:`~ssik_ros.kernels.mechanisms.layout.Block`.
    :param seed: seed of the random states.
    :param stop: monotonic time at which to stop [ns]; 0 means no deadline.
    :returns: CONVERGED if every tolerance is met, else STALLED if no step helps. DIVERGED if DLS or SVD moved away from
        the goal. TIMEOUT if iterations or time are used up or the cancel flag is set; but if all iterations of DLS or
        SVD gained nothing, STALLED or DIVERGED. BAD_FRAME for invalid numbers of a frame.
    """
    block, t, w = layout.view_chain(address)
    block.counters[layout.RANDOM], block.counters[layout.STOP] = seed, stop
    block.counters[layout.BAD] = mechanism.load(address)
    if block.counters[layout.BAD] >= 0:
        return layout.BAD_FRAME
    random = block.counters[layout.RANDOM : layout.RANDOM + 1].view(np.uint64)
    target_mask, later_mask = terms_of_step(block, t)
    start(block, w)
    vectors.copy(w.trial, w.current)
    while True:
        cost, error, inside = measure(address, block, w, target_mask)
        if block.counters[layout.TASK] == LAST_WORD:
            break
        over = is_over(block)
        pulling = block.counters[layout.TASK] == PULL and block.counters[layout.FRESH] == START
        code = judge(block, w, over, pulling, cost, error, inside)
        if code == layout.RUNNING:
            if block.counters[layout.ANEW] == REMEASURE:
                continue
            if step_on(address, block, t, w, target_mask, later_mask, pulling):
                continue
            code = layout.STALLED
        task = block.counters[layout.TASK]
        value, count = secondary(address, w, later_mask)
        random_start = next_task(block, w, code, over, value, count)
        if block.counters[layout.TASK] == LAST_WORD and code == layout.CONVERGED and task != PULL:
            break
        vectors.copy(w.trial, w.current)
        if random_start:
            random_step(w, random)
            advance(address)
    w.numbers[layout.COST] = cost
    # The status describes the returned state.
    if inside:
        block.counters[layout.STATUS] = layout.CONVERGED
    elif block.counters[layout.STATUS] == layout.CONVERGED:
        block.counters[layout.STATUS] = layout.STALLED
    vectors.copy(w.current, w.trial)
    if inside or block.options[layout.KEEP_FAILED] != 0.0:
        mechanism.store(block, t, w)
    w.numbers[layout.STEPS] = block.counters[layout.ITERATIONS]
    w.numbers[layout.TRIED] = block.counters[layout.ESCAPED]
    return block.counters[layout.STATUS]
