"""
Solve task sets: handle them, take single steps, evaluate rows, search from many starts, protect higher priorities.

A task set is a group of tasks with one priority; a task asks that a tip meet its target. :func:`run` does one of these
actions. All actions take the same steps, so one kernel holds them: the compiler translates the steps once.

Handling
    Steps until every task is within its precision, no step can be computed, or the steps are used up.

Search
    Start 0 is ``start`` of the workspace. The others are points of a low-discrepancy sequence in the joint ranges,
    angles without limits over a full turn; rotations of ball joints are drawn at random. A start whose tips are further
    from their targets than requested is left out. Every other start takes damped steps within limits,

        dq = J^T (J J^T + lambda I)^-1 e,   lambda = |e|^2 (QUARTIC_DAMPING |e|^2 + QUADRATIC_DAMPING) bounded above,

    whose damping fades with the error, so that the end is a Newton iteration. A start that does not shrink its error
    to ``PROGRESS`` within three steps is given up. Within precision, steps go on as long as each is worth it, so
    that equal configurations are recognised as equal and paths are straight to rounding.

References
    [Sugihara2011], [Fan2005] for the damping; [Roberts2018] for the sequence.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import clock, restarts
from ssik_ros.kernels.tasks import packing, protection, task_rows, task_steps

# Actions.
HANDLE = 0
EVALUATE = 1
"""Errors, residual and Jacobian at the present state."""
STEP = 2
"""One step for the rows that are there."""
SEARCH = 3
PROTECT = 4
"""Judge the state after a step, which was evaluated, and go elsewhere if that cost a set above too much."""

# Arguments of an action, and the state of a search.
ACTION = 0
MAX_ITERATIONS = 1
RESTORE = 2
FIRST_START = 3
END_OF_STARTS = 4
DEADLINE = 5
SEED = 6
SCRATCH = 7
NUMBERS = 9

# Reasons, with the numbers of the document.
NOT_WITHIN_TOLERANCE = 16
RESTORE_LINEAR = 4
RESTORE_ANGULAR = 8
"""Bits of the flags by which a failed solve puts the joints back."""

# How a search ends where it finds nothing.
EXHAUSTED = -1
TIME_IS_UP = -2

# Verdicts: how a search continues.
GO_ON = 0
FOUND = 1
GIVE_UP = 2

PROGRESS = 0.6
WINDOW = 3
POLISHING_STEPS = 12
LAST_STEP_GAIN = 0.8
"""A polishing step that leaves more than this share of the squared residual is the last one."""
LEAST_RESIDUAL = 1e-13
"""Residual below which polishing ends [m, rad]."""

# Single numbers of the workspace, next to the largest errors.
WANTED = 2
POLISHED = 3
"""Steps since precision was reached, plus one; 0 before."""
LAST = 4


@kernel
def run(ints, reals, work, poses, q, numbers):
    """
    Do one action for packed task sets: HANDLE, EVALUATE, STEP, SEARCH or PROTECT.

    HANDLE steps until all tasks are within precision. It also ends after MAX_ITERATIONS steps, or when no step can be
    computed (CANNOT_INVERT). If ``ints`` has STOP_ON_LIMIT_HIT, it ends after a step that meets a joint limit. EVALUATE
    writes errors, residual and Jacobian to ``work``. STEP makes one step for the rows of the last EVALUATE. SEARCH
    tries many starts. PROTECT judges the measured state after a step; if it harms a task set of higher priority, q
    moves to another state.

    :param ints, reals: tables of the packed task sets.
    :param work: workspace of the packed task sets, with the options.
    :param poses: (S, 12) local poses of all objects.
    :param q: (nq,) joint values [rad or m], moved in place, dependent joints included. A failed HANDLE puts the values
        of the start back if :func:`must_restore` says so for RESTORE. A search starts from ``start`` of the workspace
        instead and writes its solution here.
    :param numbers: (NUMBERS,) int64, the action and its arguments.
    :returns: (reason bits, iterations, largest linear error [m], largest angular error [rad]). The bits are 0 or a sum
        of NOT_WITHIN_TOLERANCE (HANDLE only), CANNOT_INVERT, STEPS_TOO_BIG and LIMIT_HIT. The first number is different
        for SEARCH: the index of the start that led to q, ``EXHAUSTED`` or ``TIME_IS_UP``. ``EXHAUSTED`` means that all
        starts failed or the time was up before the first one; ``TIME_IS_UP``, that it was up before a later one. For
        EVALUATE it is 1 if all tasks are within precision, else 0. For PROTECT it is 1 if q moved and must be evaluated
        again, else 0. The iterations of a SEARCH are the steps of the start that led to q. STEP returns the errors
        before the step; PROTECT and a failed SEARCH return errors 0.
    """
    w = packing.view_workspace(ints, work)
    action, limit = numbers[ACTION], numbers[MAX_ITERATIONS]
    index = numbers[FIRST_START]
    if action == PROTECT:
        return go_on_protecting(ints, reals, work, q), 0, 0.0, 0.0
    if action == SEARCH:
        if not begin_start(ints, reals, work, numbers, index, q):
            return EXHAUSTED, 0, 0.0, 0.0
    elif action == HANDLE:
        vectors.copy(w.start, q)
        vectors.fill(w.hits, 0.0)
    if action != STEP:
        task_rows.prepare(ints, reals, work, poses, q)
    reason, iterations, within, measured = 0, 0, False, False
    while True:
        if action != STEP:
            if not measured:
                within = task_rows.measure(ints, reals, work, q)
            halted = reason & task_steps.LIMIT_HIT and ints[packing.STOP_ON_LIMIT_HIT] == 1
            if action == HANDLE and (within or iterations >= limit or halted):
                break
            task_rows.fill_rows(ints, reals, work, q)
        if action == EVALUATE:
            return int(within), 0, w.scalars[0], w.scalars[1]
        damping = task_steps.OWN_DAMPING
        if action == SEARCH:
            square = squared_residual(ints, reals, work)
            verdict = judge(ints, reals, work, q, within, square, iterations, limit)
            if verdict == FOUND:
                reason = index
                break
            if verdict == GIVE_UP:
                index += 1
                if index >= numbers[END_OF_STARTS]:
                    return EXHAUSTED, 0, 0.0, 0.0
                if not begin_start(ints, reals, work, numbers, index, q):
                    return TIME_IS_UP, 0, 0.0, 0.0
                iterations = 0
                continue
            damping = task_steps.fading_damping(square)
        flag = task_steps.compute_step(ints, reals, work, q, damping, ints[packing.SETS])
        if flag & task_steps.CANNOT_INVERT == 0:
            protection.begin(ints, reals, work, q)
            flag |= task_steps.apply_step(ints, reals, work, q)
            if action == HANDLE and protection.is_needed(ints):
                within, measured = measure_protected(ints, reals, work, q), True
        iterations += 1
        if action != SEARCH:
            reason |= flag
            if action == STEP or flag & task_steps.CANNOT_INVERT:
                iterations -= 1 if flag & task_steps.CANNOT_INVERT else 0
                break
    if action == HANDLE and not within:
        reason |= NOT_WITHIN_TOLERANCE
        if numbers[RESTORE] != 0 and must_restore(ints, reals, work, reason, numbers[RESTORE]):
            restore(ints, reals, work, q)
    follow(ints, reals, q)
    return reason, iterations, w.scalars[0], w.scalars[1]


@kernel
def measure_protected(ints, reals, work, q):
    """
    Measure the state after a step, and correct the joints ``q`` until no set of higher priority is harmed too much.

    :returns: whether every task is within its precision at the end.
    """
    within = task_rows.measure(ints, reals, work, q)
    while protection.next_trial(ints, reals, work, q):
        within = task_rows.measure(ints, reals, work, q)
    return within


@kernel
def go_on_protecting(ints, reals, work, q):
    """
    Judge a measured state after a step; if it harms a task set of higher priority, move ``q`` to another state.

    :returns: 1 if q moved, dependent joints included, so that the caller must measure and call again; 0 if q is
        accepted.
    """
    moved = protection.next_trial(ints, reals, work, q)
    follow(ints, reals, q)
    return int(moved)


@kernel
def restore(ints, reals, work, q):
    """Copy the joint values before the solve, ``start`` of the workspace, to ``q``, and measure the errors there."""
    w = packing.view_workspace(ints, work)
    vectors.copy(q, w.start)
    task_rows.measure(ints, reals, work, q)


@kernel
def must_restore(ints, reals, work, reason, flags):
    """
    Return whether a failed solve must put the joints back to their values before the solve.

    :param reason: reason bits of the solve; with CANNOT_INVERT the result is always True.
    :param flags: sum of RESTORE_LINEAR (True if a linear error is beyond its precision) and RESTORE_ANGULAR (True if an
        angular one is).
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    if reason & task_steps.CANNOT_INVERT:
        return True
    for e in range(ints[packing.TASKS]):
        linear = w.errors[e, 0] <= t.task_f[e, packing.TASK_PRECISION]
        angular = w.errors[e, 1] <= t.task_f[e, packing.TASK_PRECISION + 1]
        if (not linear and flags & RESTORE_LINEAR) or (not angular and flags & RESTORE_ANGULAR):
            return True
    return False


@kernel
def follow(ints, reals, q):
    """Write the values of dependent joints into ``q``: the value of another joint times a factor, plus an offset."""
    t = packing.view_tables(ints, reals)
    for k in range(ints[packing.FOLLOWERS]):
        q[t.follower_i[k, 0]] = q[t.follower_i[k, 1]] * t.follower_f[k, 0] + t.follower_f[k, 1]


@kernel
def begin_start(ints, reals, work, numbers, index, q):
    """
    Write the joint values with which start number ``index`` of a search begins into ``q``.

    Start 0 is ``start`` of the workspace. Joints that the solve does not move keep the values of start 0.

    :param numbers: (NUMBERS,) arguments of :func:`run`: DEADLINE [ns] (0 for none) and SEED are read, SCRATCH is
        overwritten.
    :returns: False if the time is up, so that q is not written; else True.
    """
    deadline = numbers[DEADLINE]
    if deadline != 0 and clock.monotonic_ns(numbers[SCRATCH : SCRATCH + 2]) >= deadline:
        return False
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    w.scalars[POLISHED] = 0.0
    w.scalars[WANTED] = math.inf
    vectors.copy(q, w.start)
    if index == 0:
        return True
    nv = ints[packing.VARIABLES]
    # The generator of ball joints starts anew with every index: starts do not depend on one another.
    random = numbers[SCRATCH : SCRATCH + 1].view(np.uint64)
    numbers[SCRATCH] = numbers[SEED] + index * 1_000_003
    for v in range(nv):
        kind, at = t.variable_i[v, packing.VARIABLE_KIND], t.variable_i[v, packing.VARIABLE_Q]
        place = w.options[packing.SEQUENCE + nv + v] + index * w.options[packing.SEQUENCE + v]
        fraction = place - math.floor(place)
        if kind == layout.BALL_FIRST:
            restarts.draw_rotation(random, q[at : at + 4])
        elif kind == layout.PERIODIC:
            q[at] = so3.wrap_to_pi(so3.TWO_PI * fraction)
        elif kind == layout.LINEAR:
            q[at] = restarts.place_joint(
                t.variable_f[v, packing.VARIABLE_LOWER],
                t.variable_f[v, packing.VARIABLE_UPPER],
                w.start[at],
                fraction,
            )
    return True


@kernel
def judge(ints, reals, work, q, within, square, iterations, limit):
    """
    Decide how a search goes on at a measured state.

    A start is given up after ``limit`` steps, for a residual that is not finite, or if three steps shrink its error too
    little. It is given up at once if its tips are too far from their targets, see :func:`is_near`. Within precision,
    steps go on as long as they polish the state. If the last of them made it worse, ``q`` gets the state before.

    :param within: whether every task is within its precision.
    :param square: squared residual of the state.
    :param iterations, limit: steps of this start so far, and their largest number.
    :returns: GO_ON with this start, FOUND if ``q`` is the solution, or GIVE_UP to go on with the next start.
    """
    w = packing.view_workspace(ints, work)
    polished = w.scalars[POLISHED]
    if polished > 0.0:
        last = w.scalars[LAST]
        if not (within and square <= last):
            vectors.copy(q, w.best)
            return FOUND
        if square > LAST_STEP_GAIN * last or polished > POLISHING_STEPS:
            return FOUND
    elif within:
        pass
    elif (
        iterations >= limit
        or not math.isfinite(square)
        or (iterations == 0 and not is_near(ints, reals, work))
    ):
        return GIVE_UP
    else:
        if iterations % WINDOW == 0:
            if not square < w.scalars[WANTED]:
                return GIVE_UP
            w.scalars[WANTED] = PROGRESS * PROGRESS * square
        return GO_ON
    if square <= LEAST_RESIDUAL * LEAST_RESIDUAL:
        return FOUND
    vectors.copy(w.best, q)
    w.scalars[POLISHED] = polished + 1.0
    w.scalars[LAST] = square
    return GO_ON


@kernel
def is_near(ints, reals, work):
    """
    Return whether the tips are near enough to their targets that a start of a search is worth its steps.

    This is so if the distances of all tips, at the measured state, add up to MAX_DISTANCE at most; always if
    MAX_DISTANCE is infinite. A distance combines linear and angular error, weighted by METRIC.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    if math.isinf(w.options[packing.MAX_DISTANCE]):
        return True
    total = 0.0
    for e in range(ints[packing.TASKS]):
        square = (w.options[packing.METRIC_ANGULAR] * w.errors[e, 1]) ** 2
        mask = t.task_i[e, layout.CONSTRAINT_MASK]
        for k in range(3):
            if (mask >> k) & 1:
                square += (w.options[packing.METRIC + k] * w.components[e, k]) ** 2
        total += math.sqrt(square)
    return total <= w.options[packing.MAX_DISTANCE]


@kernel
def squared_residual(ints, reals, work):
    """Return the squared norm of the weighted residual of all task sets, as :func:`task_rows.fill_rows` wrote it."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    total = 0.0
    for g in range(ints[packing.SETS]):
        first = t.set_i[g, packing.SET_ROW]
        for a in range(first, first + int(w.counts[g])):
            total += w.residual[a] * w.residual[a]
    return total
