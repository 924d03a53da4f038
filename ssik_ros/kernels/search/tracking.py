"""
One cycle of a control loop: a motion towards a target, no longer than one cycle allows.

:func:`follow` makes one cycle. :func:`condition_number` measures how near a state is to a singular posture.

Problem
    Given a configuration, a target, and the largest motion of each joint in one cycle, find a configuration inside
    that box and the joint limits that reaches the target, or the nearest one that the cycle has seen. A largest
    acceleration may also bound how much the motion of a joint changes from cycle to cycle.

Method
    Steps by the law from the configuration, confined to the box. If a bound stops a joint, the best of all steps in the
    box is taken, see :func:`ssik_ros.kernels.rows.steps.optimal_step`. If a step does not shrink the error, it is undone
    and its damping raised: in a narrow box long steps end in a corner, while short steps follow the gradient. The cycle
    ends if a step no longer shrinks the error noticeably.

    A target that the cycle cannot reach is approached a second time, from the beginning, with a damping in proportion to
    the error. Where the reach ends, and in singular postures, an undamped step overshoots: a motion of the joints by their
    whole box brings the tip nearer by a micrometre, and the next cycle moves them back. The calm state is taken if it is
    about as near.

    With largest accelerations the box begins and ends where joints can still stop before their limits. While joints
    have to brake for the target, the cycle takes one step, towards a part of the way that all joints can stop after. If
    the target moves, this part is of the way that is left to its last place; its motion is followed.
    A wished posture is approached in the null space then, by a second bounded problem that keeps the motion of the tip.

Solutions
    One; nothing is allocated. Any difference from the target larger than rounding is followed.

Degeneracies
    Invalid targets and states leave the configuration unchanged, and so do targets far out of reach; with largest
    accelerations the joints brake. A target that is out of reach next to the tip is approached: a straight arm slides
    along the edge of its reach. If a joint is too fast to stop before its limit, it stops at the limit.

Cost
    One start, with a repeated evaluation for every undone step.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import bounded_squares, layout, singular_values, steps
from ssik_ros.kernels.search import descent, laws, null_space, restart_search, state

# Numbers of a cycle: squared error before and after, iterations, joints stopped by the cycle's motion and by limits.
BEFORE = 0
AFTER = 1
ITERATIONS = 2
STEP_STOPPED = 3
LIMIT_STOPPED = 4
NUMBERS = 5

# Rows of (nv,) numbers: the bounds of the motions of a cycle, and the bound that stopped each joint.
LARGEST_MOTION = 0
LARGEST_CHANGE = 1
LAST_MOTION = 2
STOPPED_BY = 3
CYCLE_ROWS = 4

# Bounds that stop a joint.
BY_NOTHING = 0.0
BY_LIMIT = 1.0
BY_VELOCITY = 2.0
BY_ACCELERATION = 3.0
LEAST_EXTRA = 1e-3
MOST_EXTRA = 1e9
EXTRA_GROWTH = 30.0
"""Extra damping after an undone step: first value, largest value, growth factor."""
SETTLED_CYCLE = 1e-6
"""Relative decrease of the squared error below which the cycle ends [1]."""
NEARLY_REACHED = 0.1
"""Largest squared error of a target out of reach that is approached."""
KEEPS_TIP = 1e4
"""Weight of the tip's motion, relative to the wished motion of the joints."""
BEND = 0.5
"""Damping of calm steps, as a multiple of the error: a bound of how much the way of the tip bends [m/rad^2]."""
AS_NEAR = 1.01
"""Largest ratio of the squared error after calm steps to the smallest one seen."""
AT_BOUND = 1e-9
"""Largest distance from a bound at which a joint counts as stopped by the bound [rad or m]."""


class Cycle(NamedTuple):
    """
    Bounds of the joint motions in one cycle of a control loop, and the bound that stopped each joint.

    Each field has a number for each of nv velocity variables. Motions are in [rad or m] per cycle. ``largest_motion``
    and ``largest_change`` are given: they bound the motion, and its difference from ``last_motion``, the motion of the
    cycle before; infinite means no bound. A cycle writes its motions into ``last_motion``. ``stopped_by`` is written:
    BY_NOTHING, BY_LIMIT, BY_VELOCITY (``largest_motion``) or BY_ACCELERATION (``largest_change``).
    """

    largest_motion: np.ndarray
    """(nv,) largest motion in one cycle; may be infinite."""
    largest_change: np.ndarray
    """(nv,) largest difference between the motions of two cycles; infinite for none."""
    last_motion: np.ndarray
    """(nv,) motion of the cycle before; each cycle writes its own."""
    stopped_by: np.ndarray
    """(nv,) out: BY_NOTHING, BY_LIMIT, BY_VELOCITY or BY_ACCELERATION."""


@inline_kernel
def view_cycle(numbers, nv):
    """Return the rows of the flat array ``numbers`` (CYCLE_ROWS * nv,) as a :class:`Cycle` of views."""
    rows = matrix(numbers, 0, CYCLE_ROWS, nv)
    return Cycle(rows[LARGEST_MOTION], rows[LARGEST_CHANGE], rows[LAST_MOTION], rows[STOPPED_BY])


@inline_kernel
def confine(ints, reals, base, centre, bounds, box_options):
    """
    Narrow the joint limits and sampling ranges in ``box_options`` to a box around a configuration.

    Ball joints are not confined. A joint whose box is outside its limits gets the nearer limit as its only value.

    :param base: options of the search, with the limits of the joints.
    :param centre: (nq,) the configuration [rad or m].
    :param bounds: (nv,) half the width of the box [rad or m]; may be infinite.
    :param box_options: a copy of ``base``, whose limits and ranges are overwritten.
    """
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(bounds.shape[0]):
        low, high = -math.inf, math.inf
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            at = variable_i[v, layout.VARIABLE_Q]
            low, high = centre[at] - bounds[v], centre[at] + bounds[v]
        _narrow(base, box_options, v, bounds.shape[0], low, high)


@inline_kernel
def _narrow(base, box_options, v, nv, low, high):
    """
    Narrow limits and sampling range of variable ``v`` in ``box_options`` to [low, high].

    The result is also within the limits in the options ``base``. An empty range becomes a single value.

    :param nv: number of velocity variables.
    """
    for row in range(0, state.ALPHA, 2):
        lower = state.OPTIONS + row * nv + v
        upper = lower + nv
        box_options[lower] = max(base[lower], low)
        box_options[upper] = min(base[upper], high)
        # A centre outside the limits, by rounding or by a seed, must not leave an empty range.
        box_options[lower] = min(box_options[lower], base[upper])
        box_options[upper] = max(box_options[upper], box_options[lower])


@inline_kernel
def stoppable(distance, change):
    """
    Return the largest motion of a joint in this cycle after which it can still stop within ``distance`` [rad or m].

    :param distance: distance from the joint's value at the beginning of the cycle to the stop, not negative [rad or m].
    :param change: largest difference between the motions of two cycles, positive [rad or m].
    """
    if not distance > change:
        return max(distance, 0.0)
    # With motions x, x - change, x - 2 change, ... the distance is at most (x + change / 2)^2 / (2 change).
    return max(change, math.sqrt(2.0 * change * distance) - 0.5 * change)


@inline_kernel
def confine_cycle(ints, reals, base, q, cycle, cycle_options):
    """
    Narrow the joint limits and sampling ranges in ``cycle_options`` to the values that one cycle can reach.

    A joint must also be able to stop before its limit; if it is too fast for that, it brakes as hard as it may.

    :param base: options of the search, with the limits of the joints.
    :param q: (nq,) configuration at the beginning of the cycle [rad or m].
    :param cycle: a :class:`Cycle`.
    :param cycle_options: a copy of ``base``, whose limits and ranges are overwritten.
    :returns: whether the change of motion is bounded for any joint.
    """
    variable_i = layout.view_tables(ints, reals).variable_i
    lower, upper = state.limits(ints, base)
    is_smooth = False
    nv = lower.shape[0]
    for v in range(nv):
        low, high = -math.inf, math.inf
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            value, change = q[variable_i[v, layout.VARIABLE_Q]], cycle.largest_change[v]
            low, high = value - cycle.largest_motion[v], value + cycle.largest_motion[v]
            if change < math.inf:
                is_smooth = True
                last = cycle.last_motion[v]
                least, most = value + (last - change), value + (last + change)
                low = max(low, value - stoppable(value - lower[v], change))
                high = min(high, value + stoppable(upper[v] - value, change))
                # A joint that is too fast for its bounds brakes as hard as it may.
                low, high = min(max(low, least), most), max(min(high, most), least)
        _narrow(base, cycle_options, v, nv, low, high)
    return is_smooth


@inline_kernel
def share_to_aim_at(ints, reals, options, cycle, work, damping):
    """
    Return the share (0 to 1) of the way to the targets after which every joint can still stop in time.

    The cycle then aims at this share. The way of each joint is estimated by one damped step.

    :param cycle: a :class:`Cycle`.
    :param work: workspace with the measured state; Jacobian, residual and step are overwritten.
    :param damping: of this step.
    """
    t, w = layout.view_problem(ints, reals, work)
    scales = state.joint_scales(ints, options)
    steps.bounded_step(ints, reals, work, damping, False, scales, math.inf)
    share = 1.0
    for v in range(w.step.shape[0]):
        change, distance = cycle.largest_change[v], abs(w.step[v])
        is_joint = t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR
        if not is_joint or not distance > change or not change > 0.0:
            continue
        fastest = cycle.largest_motion[v]
        # Over more than this distance the joint moves as fast as it may.
        distance = min(distance, max(change, 0.5 * fastest * (fastest / change + 1.0)))
        share = min(share, stoppable(distance, change) / distance)
    return share


@kernel
def follow(
    ints, reals, base, cycle_options, cycle, previous, cancel, counters, work, q, report, scratch
):
    """
    Move a configuration by one cycle of a control loop towards the targets in ``matrices`` of the workspace.

    An invalid configuration is never moved. An invalid target stops the joints, and so does a target out of reach whose
    squared error is above NEARLY_REACHED. To stop, joints brake if changes of motion are bounded; otherwise they stay.
    A nearer target out of reach is approached.

    :param base: options of a search with a seed and one start.
    :param cycle_options: a copy of these options, overwritten.
    :param cycle: (CYCLE_ROWS * nv,) bounds of the cycle and motion of the last one, see :class:`Cycle`; updated.
    :param previous: the targets of the cycle before in the layout of ``matrices``, used as scratch but the same at the
        end; empty if the targets rest. If changes of motion are bounded, joints follow the motion of the targets, and
        brake for the rest of the way. This needs ``scratch``.
    :param cancel: (1,) int64; not zero ends the cycle early.
    :param counters, work: scratch, as a search uses it; ``matrices`` of the workspace has the targets.
    :param q: (nq,) configuration [rad or m], moved in place.
    :param report: (NUMBERS,) out: squared error before and after, iterations, number of joints that bounds of the cycle
        stopped, number of joints that limits stopped.
    :param scratch: (:func:`steps.optimal_size`,) numbers for the best steps; empty for cheaper ones, which brake at
        limits only.
    :returns: FOUND if the targets are reached within tolerance. Otherwise OUT_OF_REACH if a target is proved to be out
        of reach, else EXHAUSTED. BAD_STATE for an invalid configuration, BAD_TARGET for an invalid target. After
        BAD_TARGET and OUT_OF_REACH ``q`` may have moved, see above.
    """
    w = layout.view_workspace(ints, work)
    bounds = view_cycle(cycle, w.step.shape[0])
    vectors.copy(w.reference, q)
    is_smooth = confine_cycle(ints, reals, base, q, bounds, cycle_options)
    vectors.fill(report, 0.0)
    brakes, share = is_smooth and scratch.shape[0] > 0, 1.0
    if brakes and previous.shape[0] > 0:
        # A target that moves is braked for relative to its motion.
        _exchange(w.matrices, previous)
        share = _share(ints, reals, cycle_options, bounds, counters, work, scratch)
        _exchange(w.matrices, previous)
    elif brakes:
        share = _share(ints, reals, cycle_options, bounds, counters, work, scratch)
    code = restart_search.begin(ints, reals, cycle_options, False, 0, counters, work)
    if code == state.BAD_STATE:
        return code
    if code == state.BAD_TARGET:
        if is_smooth:
            _end_cycle(ints, reals, base, bounds, work, q, report)
        return code
    report[BEFORE], inside = descent.measure(ints, reals, base, work, w.reference)
    is_beyond = code == state.OUT_OF_REACH
    if code == state.RUNNING or report[BEFORE] <= NEARLY_REACHED:
        if share < 1.0:
            counters[state.ITERATIONS] += 1
            _step_by_share(ints, reals, cycle_options, share, work, scratch)
        else:
            _, reaches = approach(ints, reals, cycle_options, 0.0, cancel, counters, work, scratch)
            if not reaches and not is_smooth:
                _approach_calmly(ints, reals, cycle_options, cancel, counters, work, q, scratch)
        if brakes and cycle_options[state.POSTURE_GAIN] != 0.0:
            _pull_to_posture(ints, reals, base, cycle_options, bounds, work, scratch)
            if share == 1.0:
                # The pull has moved the tip by its square.
                approach(ints, reals, cycle_options, 0.0, cancel, counters, work, scratch)
        elif (
            not is_smooth
            and cycle_options[state.IMPROVES] != 0.0
            and descent.is_exact(w.errors, descent.POLISHED_ERROR)
        ):
            null_space.improve(ints, reals, cycle_options, cancel, counters, work)
    elif not is_smooth:
        report[AFTER] = report[BEFORE]
        return code
    report[AFTER], inside = descent.measure(ints, reals, base, work, w.state)
    report[ITERATIONS] = counters[state.ITERATIONS]
    _end_cycle(ints, reals, base, bounds, work, q, report)
    if inside:
        return state.FOUND
    return state.OUT_OF_REACH if is_beyond else state.EXHAUSTED


@inline_kernel
def _exchange(matrices, numbers):
    """Exchange the target matrices (4 t, 4) with the flat array ``numbers`` (16 t,), row by row, in place."""
    for i in range(matrices.shape[0]):
        for j in range(4):
            matrices[i, j], numbers[4 * i + j] = numbers[4 * i + j], matrices[i, j]


@kernel
def _share(ints, reals, options, cycle, counters, work, scratch):
    """
    Return the share of the way to the targets that this cycle should cover, see :func:`share_to_aim_at`.

    It is 1 if a target or the configuration is invalid.

    :param cycle: a :class:`Cycle`.
    :param work: its state becomes the configuration at the beginning of the cycle, moved inside the limits.
    :param scratch: gets the residual at the beginning of the cycle.
    """
    w = layout.view_workspace(ints, work)
    code = restart_search.begin(ints, reals, options, False, 0, counters, work)
    if code == state.BAD_STATE or code == state.BAD_TARGET:
        return 1.0
    square, _ = descent.measure(ints, reals, options, work, w.reference)
    for a in range(w.residual.shape[0]):
        scratch[a] = w.residual[a]
    damping = descent.damping_of(options, options[state.GAIN], square)
    return share_to_aim_at(ints, reals, options, cycle, work, damping)


@inline_kernel
def _step_by_share(ints, reals, options, share, work, scratch):
    """
    Move the state by the best step within the limits that covers a share of the way to the targets.

    :param share: the share, 0 to 1.
    :param work: measured at ``reference``, the configuration at the beginning of the cycle; the state differs from it
        by the motion that the joints cannot avoid.
    :param scratch: begins with the residual that :func:`_share` wrote, and is overwritten.
    """
    t, w = layout.view_problem(ints, reals, work)
    limited, scales = options[state.LIMITED] != 0.0, state.joint_scales(ints, options)
    square = steps.squared_norm(w.residual)
    damping = descent.damping_of(options, options[state.GAIN], square)
    for a in range(w.residual.shape[0]):
        w.residual[a] -= (1.0 - share) * scratch[a]
    for v in range(w.step.shape[0]):
        if t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            at = t.variable_i[v, layout.VARIABLE_Q]
            motion = w.state[at] - w.reference[at]
            for a in range(w.residual.shape[0]):
                w.residual[a] -= w.jacobian[a, v] * motion
    largest = options[state.LARGEST_STEP]
    steps.optimal_step(ints, reals, work, damping, limited, scales, largest, scratch)
    steps.advance(t.variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)


@inline_kernel
def _pull_to_posture(ints, reals, base, options, cycle, work, scratch):
    """
    Move the state towards the wished posture as far as the tip stays and the bounds of the cycle permit.

    The step comes from a bounded least-squares problem in which motions of the tip weigh KEEPS_TIP times more.

    :param base: options with the joint limits.
    :param options: options with the limits of the cycle and the wished posture.
    :param cycle: a :class:`Cycle`.
    :param scratch: (:func:`steps.optimal_size`,) numbers, overwritten.
    """
    t, w = layout.view_problem(ints, reals, work)
    descent.measure(ints, reals, options, work, w.state)
    m, nv = w.jacobian.shape
    room = steps.view_optimal(scratch, m, nv)
    table, bounds = room.table, room.bounds
    lower, upper = state.limits(ints, base)
    posture = state.posture(ints, options)
    steps.difference_to(t.variable_i, lower, upper, posture, w.reference, w.gradient)
    share = 1.0
    for v in range(nv):
        distance = abs(w.gradient[v])
        if distance > 0.0 and t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            longest = min(stoppable(distance, cycle.largest_change[v]), cycle.largest_motion[v])
            share = min(share, longest / distance)
    for v in range(nv):
        for a in range(m):
            table[a, v] = KEEPS_TIP * w.jacobian[a, v]
        for a in range(nv):
            table[m + a, v] = 1.0 if a == v else 0.0
        bounds[0, v] = bounds[1, v] = table[m + v, nv] = 0.0
        if t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR and w.lower[v] < w.upper[v]:
            at = t.variable_i[v, layout.VARIABLE_Q]
            bounds[0, v] = min(0.0, w.lower[v] - w.state[at])
            bounds[1, v] = max(0.0, w.upper[v] - w.state[at])
            table[m + v, nv] = share * w.gradient[v] - (w.state[at] - w.reference[at])
    for a in range(m):
        table[a, nv] = 0.0
    bounded_squares.solve_within(w.step, table, bounds[0], bounds[1], room.squares)
    steps.advance(t.variable_i, w.lower, w.upper, True, 1.0, w.step, w.state)


@inline_kernel
def _end_cycle(ints, reals, base, cycle, work, q, report):
    """
    Copy the state to ``q``; write the motion of each joint, and the bound at which it ended, into ``cycle``.

    A joint at a limit counts as stopped by the limit, even if it did not move. The motion of ball joints is not
    written; they count as not stopped.

    :param base: options with the joint limits.
    :param cycle: a :class:`Cycle`; ``last_motion`` and ``stopped_by`` are written.
    :param q: (nq,) configuration at the beginning of the cycle in, at its end out.
    :param report: LIMIT_STOPPED and STEP_STOPPED grow by the number of stopped joints.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    lower, upper = state.limits(ints, base)
    for v in range(w.step.shape[0]):
        cycle.stopped_by[v] = BY_NOTHING
        if variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR:
            continue
        at = variable_i[v, layout.VARIABLE_Q]
        value, motion = w.state[at], w.state[at] - q[at]
        cycle.last_motion[v] = motion
        is_low, is_high = value <= w.lower[v] + AT_BOUND, value >= w.upper[v] - AT_BOUND
        if value <= lower[v] + AT_BOUND or value >= upper[v] - AT_BOUND:
            cycle.stopped_by[v] = BY_LIMIT
            report[LIMIT_STOPPED] += 1.0
        elif is_low or is_high:
            is_fastest = abs(motion) >= cycle.largest_motion[v] - AT_BOUND
            cycle.stopped_by[v] = BY_VELOCITY if is_fastest else BY_ACCELERATION
            report[STEP_STOPPED] += 1.0
    vectors.copy(q, w.state)


@kernel
def condition_number(ints, reals, options, work, scratch):
    """
    Return the condition number of the Jacobian at the state: its largest by its smallest singular value.

    It is infinite if the smallest one is zero. Joints with equal limits are left out; if all have equal limits, it is
    0.

    :param options: of the search; their limits tell which joints may move.
    :param scratch: at least as many numbers as the Jacobian has.
    """
    w = layout.view_workspace(ints, work)
    descent.measure(ints, reals, options, work, w.state)
    m, nv = w.jacobian.shape
    lower, upper = state.limits(ints, options)
    free = 0
    for v in range(nv):
        if lower[v] < upper[v]:
            free += 1
    # As many columns as there are singular values that may differ from zero.
    table = matrix(scratch, 0, max(m, free), min(m, free))
    column = 0
    for v in range(nv):
        if not lower[v] < upper[v]:
            continue
        for a in range(m):
            if m <= free:
                table[column, a] = w.jacobian[a, v]
            else:
                table[a, column] = w.jacobian[a, v]
        column += 1
    largest, smallest = singular_values.extreme_values(table)
    return largest / smallest if smallest > 0.0 else math.inf


@kernel
def approach(ints, reals, options, bend, cancel, counters, work, scratch):
    """
    Take steps from the state towards the targets, each of which must come nearer; others are undone.

    :param options: options whose limits are the box of the cycle.
    :param bend: least damping, as a multiple of the error norm: 0 for fast steps, BEND for calm ones that do not
        overshoot. With calm steps, a step that gains nothing noticeable is undone, too.
    :param cancel: (1,) int64; not zero ends the steps.
    :param counters, work: ITERATIONS of the counters grows with each step; the state of the workspace moves.
    :param scratch: (:func:`steps.optimal_size`,) numbers for the best steps within bounds; empty for cheaper ones.
    :returns: (square, inside): squared norm of the weighted residual, and whether the targets are reached exactly and
        within tolerance.
    """
    t, w = layout.view_problem(ints, reals, work)
    limited = options[state.LIMITED] != 0.0
    scales = state.joint_scales(ints, options)
    mu, extra = options[state.GAIN], 0.0
    square, inside = descent.measure(ints, reals, options, work, w.state)
    # However small a tolerance permits, a cycle follows every motion of its target.
    inside = inside and descent.is_exact(w.errors, descent.SEED_POSE_ERROR)
    iteration = 0
    while not inside and iteration < options[state.MAX_ITERATIONS]:
        if cancel[0] != 0:
            break
        iteration += 1
        counters[state.ITERATIONS] += 1
        vectors.copy(w.trial, w.state)
        damping = descent.damping_of(options, mu, square)
        damping = max(damping, bend * math.sqrt(square)) + extra
        largest = options[state.LARGEST_STEP]
        left = steps.bounded_step(ints, reals, work, damping, limited, scales, largest)
        if scratch.shape[0] > 0 and _is_stopped(w):
            # The step has overwritten the Jacobian.
            descent.measure(ints, reals, options, work, w.state)
            left = steps.optimal_step(
                ints, reals, work, damping, limited, scales, largest, scratch
            )
        steps.advance(t.variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
        after, inside = descent.measure(ints, reals, options, work, w.state)
        inside = inside and descent.is_exact(w.errors, descent.POLISHED_ERROR)
        settled = square - after < SETTLED_CYCLE * square
        if after < square and not (settled and bend > 0.0):
            mu = laws.follow(mu, square, left, after)
            extra = 0.0 if extra < LEAST_EXTRA else extra / EXTRA_GROWTH
            square = after
            if settled:
                break
        else:
            inside = False
            vectors.copy(w.state, w.trial)
            extra = max(LEAST_EXTRA, EXTRA_GROWTH * extra)
            descent.measure(ints, reals, options, work, w.state)
            if after < square or extra > MOST_EXTRA:
                break
    return square, inside


@inline_kernel
def _approach_calmly(ints, reals, options, cancel, counters, work, q, scratch):
    """
    Approach targets out of the reach of a cycle again from the cycle's beginning, by calm steps that do not overshoot.

    The calm end becomes the state if it is about as near to the targets; otherwise the state stays.

    :param work: workspace with the end of the first approach as the state.
    :param q: (nq,) configuration at the beginning of the cycle; used as scratch, but the same at the end.
    """
    t, w = layout.view_problem(ints, reals, work)
    nearest, _ = descent.measure(ints, reals, options, work, w.state)
    vectors.copy(q, w.state)
    vectors.copy(w.state, w.reference)
    for v in range(w.step.shape[0]):
        if t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            at = t.variable_i[v, layout.VARIABLE_Q]
            w.state[at] = min(max(w.state[at], w.lower[v]), w.upper[v])
    square, _ = approach(ints, reals, options, BEND, cancel, counters, work, scratch)
    if square > AS_NEAR * nearest:
        vectors.copy(w.state, q)
        descent.measure(ints, reals, options, work, w.state)
    vectors.copy(q, w.reference)


@inline_kernel
def _is_stopped(w):
    """
    Return whether a limit or a bound of the cycle has stopped a joint in the last step.

    Joints with equal limits do not count.

    :param w: the workspace.
    """
    stopped = False
    for v in range(w.free.shape[0]):
        stopped = stopped or (w.free[v] == 0.0 and w.lower[v] < w.upper[v])
    return stopped
