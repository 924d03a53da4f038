"""
One cycle of a control loop: towards a target, within the motion that one cycle allows.

Problem
    Given a configuration, a target and the largest motion of each joint in one cycle, find a configuration inside
    that box and the joint limits that reaches the target, or the nearest one that the cycle has seen.

Method
    Steps by the law from the configuration, confined to the box. If a bound stops a joint, the best of all steps in the
    box is taken, see :func:`ssik_ros.kernels.rows.steps.optimal_step`. If a step does not shrink the error, it is undone
    and its damping raised: in a narrow box long steps end in a corner, while short steps follow the gradient. The cycle
    ends if a step no longer shrinks the error noticeably.

Solutions
    One; nothing is allocated.

Degeneracies
    Invalid targets and states leave the configuration unchanged, and so do targets far out of reach. A target that is
    out of reach next to the tip is approached: a straight arm slides along the edge of its reach.

Cost
    One start, with a repeated evaluation for every undone step.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import descent, laws, null_space, restart_search, state

# Numbers of a cycle: error norm before and after, iterations, joints stopped by the cycle's motion and by limits.
BEFORE = 0
AFTER = 1
ITERATIONS = 2
STEP_STOPPED = 3
LIMIT_STOPPED = 4
NUMBERS = 5
LEAST_EXTRA = 1e-3
MOST_EXTRA = 1e9
EXTRA_GROWTH = 30.0
"""Extra damping after an undone step: first value, largest value, growth factor."""
SETTLED = 1e-6
"""Relative decrease of the squared error below which the cycle is over."""
NEARLY_REACHED = 0.1
"""Largest error norm of a target out of reach that is approached."""
AT_BOUND = 1e-9
"""Largest distance from a bound at which a joint counts as stopped by the bound [rad or m]."""


@inline_kernel
def confine(ints, reals, base, centre, bounds, own):
    """
    Narrow limits and sampling ranges to a box around a configuration.

    :param base: options of the search; own: a copy of them, whose ranges are overwritten.
    :param bounds: (nv,) half the width of the box; may be infinite.
    """
    variable_i = layout.view_tables(ints, reals).variable_i
    nv = bounds.shape[0]
    for v in range(nv):
        low, high = -math.inf, math.inf
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            at = variable_i[v, layout.VARIABLE_Q]
            low, high = centre[at] - bounds[v], centre[at] + bounds[v]
        for row in range(0, 4, 2):
            lower = state.OPTIONS + row * nv + v
            upper = lower + nv
            own[lower] = max(base[lower], low)
            own[upper] = min(base[upper], high)
            # A centre outside the limits, by rounding or by a seed, must not leave an empty range.
            own[lower] = min(own[lower], base[upper])
            own[upper] = max(own[upper], own[lower])


@kernel
def follow(ints, reals, base, own, bounds, cancel, counters, work, q, report, scratch):
    """
    Move a configuration towards the target in ``matrices`` of the workspace.

    :param base: options of a search with a seed and one start.
    :param own: a copy of these options, overwritten.
    :param bounds: (nv,) largest motion of each joint.
    :param cancel, counters, work: as for one search.
    :param q: (nq,) configuration, moved in place.
    :param report: (NUMBERS,) out.
    :param scratch: (:func:`steps.optimal_size`,) numbers for the best steps; empty for cheaper ones.
    :returns: code of the search.
    """
    w = layout.view_workspace(ints, work)
    vectors.copy(w.reference, q)
    confine(ints, reals, base, q, bounds, own)
    vectors.fill(report, 0.0)
    code = restart_search.begin(ints, reals, own, False, 0, counters, work)
    if code == state.BAD_TARGET or code == state.BAD_STATE:
        return code
    report[BEFORE], inside = descent.measure(ints, reals, own, work, w.state)
    report[AFTER] = report[BEFORE]
    is_beyond = code == state.OUT_OF_REACH
    if code != state.RUNNING and not (is_beyond and report[BEFORE] <= NEARLY_REACHED):
        return code
    _, inside = approach(ints, reals, own, cancel, counters, work, scratch)
    if inside and own[state.IMPROVES] != 0.0:
        null_space.improve(ints, reals, own, cancel, counters, work)
    report[AFTER], inside = descent.measure(ints, reals, own, work, w.state)
    report[ITERATIONS] = counters[state.ITERATIONS]
    vectors.copy(q, w.state)
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(bounds.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            value = q[variable_i[v, layout.VARIABLE_Q]]
            lower = base[state.OPTIONS + v]
            upper = base[state.OPTIONS + bounds.shape[0] + v]
            at_limit = value <= lower + AT_BOUND or value >= upper - AT_BOUND
            at_box = value <= w.lower[v] + AT_BOUND or value >= w.upper[v] - AT_BOUND
            if at_limit:
                report[LIMIT_STOPPED] += 1.0
            elif at_box:
                report[STEP_STOPPED] += 1.0
    if inside:
        return state.FOUND
    return state.OUT_OF_REACH if is_beyond else state.EXHAUSTED


@kernel
def approach(ints, reals, options, cancel, counters, work, scratch):
    """
    Take steps from the state towards the targets; each accepted step comes nearer.

    :param options: whose limits are the box.
    :param scratch: as for :func:`follow`.
    :returns: squared error, and whether every tolerance is kept.
    """
    t, w = layout.view_problem(ints, reals, work)
    limited = options[state.LIMITED] != 0.0
    scales = state.joint_scales(ints, options)
    mu, extra = options[state.GAIN], 0.0
    square, inside = descent.measure(ints, reals, options, work, w.state)
    iteration = 0
    while not inside and iteration < options[state.MAX_ITERATIONS]:
        if cancel[0] != 0:
            break
        iteration += 1
        counters[state.ITERATIONS] += 1
        vectors.copy(w.trial, w.state)
        damping = laws.damping_of(
            options[state.LAW],
            options[state.GAIN],
            options[state.OWN_DAMPING],
            mu,
            square,
        )
        damping, largest = damping + extra, options[state.LARGEST_STEP]
        left = steps.bounded_step(ints, reals, work, damping, limited, scales, largest)
        if scratch.shape[0] > 0 and _is_stopped(w):
            # The step has overwritten the Jacobian.
            descent.measure(ints, reals, options, work, w.state)
            left = steps.optimal_step(
                ints, reals, work, damping, limited, scales, largest, scratch
            )
        steps.advance(t.variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
        after, inside = descent.measure(ints, reals, options, work, w.state)
        if after < square:
            mu = laws.follow(mu, square, left, after)
            extra = 0.0 if extra < LEAST_EXTRA else extra / EXTRA_GROWTH
            settled = square - after < SETTLED * square
            square = after
            if settled:
                break
        else:
            inside = False
            vectors.copy(w.state, w.trial)
            extra = max(LEAST_EXTRA, EXTRA_GROWTH * extra)
            descent.measure(ints, reals, options, work, w.state)
            if extra > MOST_EXTRA:
                break
    return square, inside


@inline_kernel
def _is_stopped(w):
    """Return whether a bound has stopped a joint in the last step."""
    stopped = False
    for v in range(w.free.shape[0]):
        stopped = stopped or (w.free[v] == 0.0 and w.lower[v] < w.upper[v])
    return stopped
