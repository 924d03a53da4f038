"""
Protect task sets of higher priority: a step may cost them only a share of their own progress.

:func:`begin` is called before a step; after the step, :func:`next_trial` accepts the state or moves the joints to
another.

Problem
    Motions that :mod:`ssik_ros.kernels.tasks.task_steps` adds for a set do not change the rows of any set above to
    first order. The remaining change is of second order in the step, and steps are long if a target is far or out of reach.
    Let s_k be the state at the end of the step of sets 0 to k, as if there were no sets below k. At the end of the whole
    step set k has to have

        |e_k| <= |e_k(s_k)| + COST max(0, |e_k(before)| - |e_k(s_k)|)

    or be met: each of its tasks is nearer than ``MET``.

Method
    1. The motions of all sets together. This ends the step if each set but the last is met, or has at most ``COST`` of
       its error left.
    2. Otherwise the levels in turn, each of which finds s_g. The first one ends at s_0 by the motion of set 0. Level g
       tries the motions of sets 0 to g together, and accepts them by the rule of step 1 for the sets above g. If they
       are refused, it goes on from s_(g-1) by the motion of set g. Both are the step of sets 0 to g, so that s_g does
       not depend on the sets below. For the last set its motions together were refused in step 1.
    3. If the motion of set g costs a set above too much: damped Newton corrections back to e_k(s_k), in the same order
       of priority and within the same limits. They converge quadratically.
    4. If a correction leaves more than half of the distance, CORRECTIONS of them are not enough, or a joint would move
       further than it may: half the motion of set g, from s_(g-1) again; in the end no motion of set g.

    The states are measured by the caller between two calls of :func:`next_trial`: values of dependent joints may be
    functions of the user.

Degeneracies
    At a singular posture of a set above, corrections have no way back in the singular direction. Only short motions
    pass, so that sets below creep there; a longer motion would be the other set's loss.

Cost
    The comparison, if step 1 ends the step. Otherwise one measurement for each level, a second one for each level
    between the first and the last, and for each correction one step of the sets above.

References
    [Absil2008] for retractions: steps in a tangent space, brought back to the constraint set.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.tasks import packing, task_rows, task_steps

COST = 0.5
"""Share of its progress in a step that a set may lose to the sets below. The set still converges. A smaller share would
cost corrections even if all sets can reach their targets."""
MET = 1e-8
"""A task is met if its distance and its angle are below this [m, rad]."""
ERROR_GROWTH = 1e-8
"""Largest relative growth of the error of a set that is not met, if the set counts as unchanged."""
CORRECTIONS = 6
LEAST_SHARE = 1e-3
"""Shares of a motion below this one become zero."""
HALVED = 0.25
"""Share of the squared residual that a correction may leave."""
FAR_ENOUGH = 1e-9
"""Relative length by which a correction may take a joint beyond its largest step."""

# Entries of ``scalars`` after the entries of a handling.
BY_LEVELS = 5
"""0 while all motions were applied at once, then 1."""
LEVEL = 6
SHARE = 7
CORRECTED = 8
LEFT = 9
"""Squared residual before the last correction."""
TOGETHER = 10
"""1 while a level tries the motions of all sets down to its own together, else 0."""


@inline_kernel
def is_needed(ints):
    """Return whether task sets must be protected from each other: True for several sets with strict priorities."""
    return ints[packing.SETS] > 1 and ints[packing.NESTED] == 0


@kernel
def begin(ints, reals, work, q):
    """
    Store the joint values ``q`` and the error of each set but the last before a step, and set ``travel`` to zero.

    The errors belong to the last measurement. If protection is not needed, only ``travel`` is set.
    """
    w = packing.view_workspace(ints, work)
    vectors.fill(w.travel, 0.0)
    if not is_needed(ints):
        return
    vectors.copy(w.before, q)
    for g in range(ints[packing.SETS] - 1):
        w.set_errors[packing.BEFORE, g] = set_error(ints, reals, work, q, g)
    w.scalars[BY_LEVELS] = 0.0


@kernel
def next_trial(ints, reals, work, q):
    """
    Judge the measured state ``q`` after a step; if a set of higher priority lost too much, move q to the next trial.

    The order of trials is in the method of the module.

    :returns: True if q moved, so that the caller must measure and call again; False if q is accepted.
    """
    w = packing.view_workspace(ints, work)
    last = ints[packing.SETS] - 1
    if w.scalars[BY_LEVELS] == 0.0:
        if all_gained(ints, reals, work, q, last):
            return False
        for v in range(ints[packing.VARIABLES]):
            w.kept_hits[v] = w.hits[v]
            w.kept_travel[v] = 0.0
        vectors.copy(w.kept, w.before)
        w.scalars[BY_LEVELS], w.scalars[SHARE] = 1.0, 1.0
        start_level(ints, reals, work, q, 0)
        return True
    level = int(w.scalars[LEVEL])
    if w.scalars[TOGETHER] == 1.0:
        if not all_gained(ints, reals, work, q, level):
            start_level(ints, reals, work, q, level)
            return True
    elif w.scalars[SHARE] > 0.0 and not is_protected(ints, reals, work, q, level):
        if not (is_too_far(ints, reals, work) or not correct(ints, reals, work, q, level)):
            return True
        share = 0.5 * w.scalars[SHARE]
        w.scalars[SHARE] = share if share > LEAST_SHARE else 0.0
        start_level(ints, reals, work, q, level)
        return True
    if level == last:
        vectors.copy(w.hits, w.kept_hits)
        return False
    keep(ints, reals, work, q, level)
    w.scalars[SHARE] = 1.0
    if level + 1 < last:
        start_together(ints, reals, work, q, level + 1)
    else:
        start_level(ints, reals, work, q, level + 1)
    return True


@kernel
def all_gained(ints, reals, work, q, level):
    """
    Return whether each set above set ``level`` is met, or has at most the share ``COST`` of its error left.

    The share is of the error before the step. For a set that is met, see :func:`is_met`. The state ``q`` must be
    measured.
    """
    w = packing.view_workspace(ints, work)
    for g in range(level):
        before = w.set_errors[packing.BEFORE, g]
        if not (
            set_error(ints, reals, work, q, g) <= COST * before or is_met(ints, reals, work, q, g)
        ):
            return False
    return True


@kernel
def is_protected(ints, reals, work, q, level):
    """
    Return whether the motion of set ``level`` moves no joint too far and leaves each set above enough of its progress.

    A set may lose at most the share ``COST`` of its own progress in this step, unless :func:`is_met` accepts its
    error. The state ``q`` must be measured.
    """
    w = packing.view_workspace(ints, work)
    for g in range(level):
        alone = w.set_errors[packing.ALONE, g]
        gain = max(0.0, w.set_errors[packing.BEFORE, g] - alone)
        bound = (1.0 + ERROR_GROWTH) * alone + COST * gain
        if not (set_error(ints, reals, work, q, g) <= bound or is_met(ints, reals, work, q, g)):
            return False
    return not is_too_far(ints, reals, work)


@kernel
def is_too_far(ints, reals, work):
    """Return whether a joint has moved further since the step began than :func:`longest_way` permits."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for v in range(ints[packing.VARIABLES]):
        longest = longest_way(ints, t, v)
        if abs(w.travel[v]) > (1.0 + FAR_ENOUGH) * longest:
            return True
    return False


@inline_kernel
def longest_way(ints, t, v):
    """
    Return the largest motion of variable ``v`` that one step may make [rad or m].

    It is the joint's largest step, unless largest steps are ignored, and at most half a turn for a turning joint. For a
    sliding joint it may be infinite.
    """
    longest = math.pi if t.variable_i[v, packing.VARIABLE_TURNS] == 1 else math.inf
    if ints[packing.IGNORE_MAX_STEPS] == 0:
        longest = min(longest, t.variable_f[v, packing.VARIABLE_MAX_STEP])
    return longest


@kernel
def start_together(ints, reals, work, q, level):
    """Move ``q`` from its values before the step by the motions of the sets 0 to ``level`` together, as the next trial."""
    w = packing.view_workspace(ints, work)
    w.scalars[LEVEL], w.scalars[TOGETHER] = level, 1.0
    vectors.copy(q, w.before)
    vectors.fill(w.travel, 0.0)
    vectors.copy(w.move, w.levels[0])
    for g in range(1, level + 1):
        vectors.add_scaled(w.move, 1.0, w.levels[g], ints[packing.VARIABLES])
    task_steps.apply_step(ints, reals, work, q)


@kernel
def start_level(ints, reals, work, q, level):
    """
    Move ``q`` from the last accepted state ``kept`` by a share of the motion of set ``level``, as the next trial.

    The share is SHARE of the scalars; it is reduced if a joint would move too far since the step began.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    w.scalars[LEVEL], w.scalars[CORRECTED], w.scalars[LEFT] = level, 0.0, math.inf
    w.scalars[TOGETHER] = 0.0
    vectors.copy(q, w.kept)
    share = w.scalars[SHARE]
    room = 1.0
    for v in range(ints[packing.VARIABLES]):
        w.travel[v] = w.kept_travel[v]
        motion = share * t.variable_f[v, packing.VARIABLE_SCALE] * w.levels[level, v]
        w.step[v] = motion
        longest = longest_way(ints, t, v)
        if motion > 0.0:
            room = min(room, (longest - w.travel[v]) / motion)
        elif motion < 0.0:
            room = min(room, (longest + w.travel[v]) / -motion)
    room = max(0.0, room)
    w.scalars[SHARE] = room * share
    task_steps.displace(ints, reals, work, q, room)


@kernel
def keep(ints, reals, work, q, level):
    """
    Store the measured state ``q`` as accepted for set ``level``, with this set's error and residual.

    Later trials for sets below start from this state and compare with this error and residual.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    vectors.copy(w.kept_travel, w.travel)
    vectors.copy(w.kept, q)
    w.set_errors[packing.ALONE, level] = set_error(ints, reals, work, q, level)
    row = t.set_i[level, packing.SET_ROW]
    for e in task_rows.tasks_of(t, level):
        row = task_rows.write_errors(t, w, e, w.reference, row)
    for k in task_rows.margins_of(t, level):
        motion = task_rows.way_out_of_margin(t, q, t.margin[k])
        w.reference[row] = abs(motion)
        row += 1


@kernel
def correct(ints, reals, work, q, level):
    """
    Move ``q`` by a Newton step that brings the sets above set ``level`` towards the residuals that :func:`keep` stored.

    :returns: True if q moved. False if the last correction did not help, CORRECTIONS steps were made, or no step
        exists; then q is unchanged.
    """
    w = packing.view_workspace(ints, work)
    task_rows.fill_rows(ints, reals, work, q)
    square = 0.0
    for g in range(level):
        square += subtract_reference(ints, reals, work, q, g)
    if w.scalars[CORRECTED] >= CORRECTIONS or not square <= HALVED * w.scalars[LEFT]:
        return False
    w.scalars[CORRECTED] += 1.0
    w.scalars[LEFT] = square
    damping = task_steps.fading_damping(square)
    flag = task_steps.compute_step(ints, reals, work, q, damping, level)
    if flag & task_steps.CANNOT_INVERT:
        return False
    task_steps.apply_step(ints, reals, work, q)
    return True


@kernel
def subtract_reference(ints, reals, work, q, g):
    """
    Subtract the residual of set ``g`` that :func:`keep` stored from its present residual, in place.

    :returns: squared norm of the difference.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    row = first = t.set_i[g, packing.SET_ROW]
    for e in task_rows.tasks_of(t, g):
        row += t.task_i[e, packing.TASK_ROWS]
    place = row
    for a in range(first, row):
        w.residual[a] -= w.reference[a]
    for k in task_rows.margins_of(t, g):
        motion = task_rows.way_out_of_margin(t, q, t.margin[k])
        if motion != 0.0:
            w.residual[row] -= w.reference[place]
            row += 1
        place += 1
    difference = w.residual[first:row]
    return vectors.inner(difference, difference, row - first)


@kernel
def set_error(ints, reals, work, q, g):
    """Return the norm of the weighted errors of set ``g`` at the measured state ``q``, its limit margins included."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    square, row = margins_left(ints, reals, q, g), 0
    for e in task_rows.tasks_of(t, g):
        row = task_rows.write_errors(t, w, e, w.right, row)
    for a in range(row):
        square += w.right[a] * w.right[a]
    return math.sqrt(square)


@kernel
def margins_left(ints, reals, q, g):
    """
    Return the sum of squares of the motions that would take the joints of set ``g`` out of their limit margins.

    A limit margin is a range next to a limit. The sum is 0 if all joint values ``q`` are outside of the margins.
    """
    t = packing.view_tables(ints, reals)
    square = 0.0
    for k in task_rows.margins_of(t, g):
        motion = task_rows.way_out_of_margin(t, q, t.margin[k])
        square += motion * motion
    return square


@kernel
def is_met(ints, reals, work, q, g):
    """
    Return whether all errors of set ``g`` are at most ``MET`` [m, rad], and its joints outside of their limit margins.

    Joints may be in the margins by at most ``MET`` in all. Errors with zero weight do not count. The state ``q`` (nq,)
    must be measured.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for e in task_rows.tasks_of(t, g):
        for kind in range(2):
            counts = t.task_f[e, packing.TASK_ERROR_WEIGHT + 3 * kind] != 0.0
            if counts and not w.errors[e, kind] <= MET:
                return False
    return margins_left(ints, reals, q, g) <= MET * MET
