"""
Compute one joint step for several task sets in order of their priority, within joint limits.

:func:`compute_step` writes the step, and :func:`apply_step` moves the joints by it.

Problem
    Sets with rows J_i and errors e_i, the most important one first, ask for J_i dq = e_i. Joint weights W make some
    joints move more than others: with x = W^(-1/2) dq and J_i W^(1/2) for J_i all formulas are the unweighted ones.

Method
    Inverses. pseudo_inverse and damped_least_squares: J^T (J J^T + damping I)^-1; undamped: by rank; transpose: a J^T
    with a = e.JJ^Te / |JJ^Te|^2, the best length along the gradient. The caller may give the motion of a set instead.

    Strict priorities. With B an orthonormal basis of the rows of all sets above, P_i = J_i - J_i B^T B, and x the
    motion so far, x += P_i^+ (e_i - J_i x). The motion that is added lies in the complement of B, so that nothing above
    changes, whatever damping P_i^+ has. A joint that would go beyond a limit goes to the limit, by the shortest
    motion in the same complement, and its axis joins B: the level is solved again for the others. Where B leaves no
    such motion, the level's own motion is shortened until it ends inside.

    That is true of the linear model; :mod:`ssik_ros.kernels.tasks.protection` makes it true of the robot.

    Nested priorities, an option. From the last set to the first, x <- x_i + (I - J_i^+ J_i) x, which is
    x <- x + J_i^+ (e_i - J_i x). Joints that would go beyond a limit go there; their columns are dropped and their
    motion is taken out of all errors, then everything is solved again.

Cost
    O(m^2 n) per set and O(n r) for each row against r rows of the basis; each joint stopped at a limit repeats its
    level.

References
    [Siciliano1991] for projected priorities, [Flacco2015] for limits in the null space of higher tasks.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.rows import layout, linalg, steps
from ssik_ros.kernels.tasks import orthogonal_rows, packing

LIMIT_SLACK = 1e-12
"""Rounding by which a step may end beyond a limit before it counts [rad or m]; the value itself is then clamped."""
OWN_DAMPING = -1.0
"""Stands for the damping and the method of each set itself."""
QUARTIC_DAMPING = 0.05
"""Factor of |e|^4 in the damping lambda."""
QUADRATIC_DAMPING = 1e-3
"""Factor of |e|^2 in the damping lambda."""
LARGEST_DAMPING = 1.0
LEAST_DAMPING = 1e-13

# Reasons, with the numbers of the document.
CANNOT_INVERT = 2
STEPS_TOO_BIG = 32
LIMIT_HIT = 64


@inline_kernel
def fading_damping(square):
    """Return the damping for a squared residual: LEAST_DAMPING without error, growing to about LARGEST_DAMPING."""
    return (
        min(square * (QUARTIC_DAMPING * square + QUADRATIC_DAMPING), LARGEST_DAMPING)
        + LEAST_DAMPING
    )


@kernel
def compute_step(ints, reals, work, q, damping, sets):
    """
    Write the joint step of the first ``sets`` task sets into ``move`` of the workspace, divided by the joint scales.

    The rows must be written by :func:`task_rows.fill_rows`; the Jacobian is multiplied by the scales in place. If all
    sets take part with strict priorities, ``levels`` gets the motion of each. After CANNOT_INVERT, ``move`` is not
    complete.

    :param q: (nq,) joint values before the step.
    :param damping: damping of all sets, instead of their own methods; ``OWN_DAMPING`` keeps the methods.
    :param sets: number of sets that take part, from the highest priority on; with nested priorities all take part.
    :returns: reason bits: 0 or a sum of CANNOT_INVERT, if a step is not finite, and LIMIT_HIT, if a joint was stopped
        at a limit.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = ints[packing.VARIABLES]
    if ints[packing.WEIGHTED] == 1:
        for a in range(w.jacobian.shape[0]):
            for v in range(nv):
                w.jacobian[a, v] *= t.variable_f[v, packing.VARIABLE_SCALE]
    vectors.fill(w.move, 0.0)
    vectors.fill(w.held, 0.0)
    if ints[packing.NESTED] == 1:
        return nested_step(ints, reals, work, q, damping)
    reason, rank = 0, 0
    for g in range(sets):
        flag, rank = add_level(ints, reals, work, q, g, rank, damping)
        reason |= flag
        if flag & CANNOT_INVERT:
            break
        if sets == ints[packing.SETS]:
            for v in range(nv):
                w.levels[g, v] = w.move[v] - w.level[v]
        if g + 1 < sets:
            first = t.set_i[g, packing.SET_ROW]
            for a in range(first, first + int(w.counts[g])):
                rank = orthogonal_rows.add_row(
                    w.basis, rank, w.jacobian[a], orthogonal_rows.COVERED
                )
    return reason


@kernel
def add_level(ints, reals, work, q, g, rank, damping):
    """
    Add the step of set ``g`` to ``move``, without motion along the first ``rank`` rows of ``basis``.

    These rows span the motions that sets of higher priority notice, so those keep their errors to first order. Joints
    stop at their limits; if this does not suffice, the set's own motion is shortened.

    :param rank: number of rows of ``basis`` that are in use.
    :param damping: damping instead of the set's own method; ``OWN_DAMPING`` keeps the method.
    :returns: (reason bits, new rank); the axes of stopped joints are added to the basis. The bits are 0 or a sum:
        CANNOT_INVERT if the step is not finite, LIMIT_HIT if it would take a joint beyond a limit.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = ints[packing.VARIABLES]
    m = int(w.counts[g])
    vectors.copy(w.level, w.move)
    if m == 0:
        return 0, rank
    reason = 0
    for _ in range(nv + 1):
        write_right_side(ints, reals, work, g)
        if rank > 0:
            project(ints, reals, work, g, rank)
        invert(ints, reals, work, g, rank, damping)
        finite, blocked = True, False
        for v in range(nv):
            finite = finite and math.isfinite(w.step[v])
            blocked = blocked or overshoot(t, w, q, v) != 0.0
        if not finite:
            return reason | CANNOT_INVERT, rank
        if not blocked:
            vectors.add_scaled(w.move, 1.0, w.step, nv)
            return reason, rank
        reason |= LIMIT_HIT
        before = rank
        rank = stop_at_limits(ints, reals, work, q, rank)
        if rank == before:
            break
    shorten_level(ints, reals, work, q)
    return reason, rank


@kernel
def write_right_side(ints, reals, work, g):
    """Write the residual that the motion ``move`` leaves in set ``g``, e - J move, into ``right``."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    first = t.set_i[g, packing.SET_ROW]
    for a in range(int(w.counts[g])):
        total = w.residual[first + a]
        for v in range(w.move.shape[0]):
            total -= w.jacobian[first + a, v] * w.move[v]
        w.right[a] = total


@kernel
def project(ints, reals, work, g, rank):
    """
    Write the Jacobian rows of set ``g`` into ``projected``, without their parts along the first rows of ``basis``.

    Rows of which only rounding is left become zero.

    :param rank: number of rows of the basis.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv, m = ints[packing.VARIABLES], int(w.counts[g])
    first = t.set_i[g, packing.SET_ROW]
    projected = matrix(work, ints[packing.AT_PROJECTED], m, nv)
    for a in range(m):
        vectors.copy(projected[a], w.jacobian[first + a])
        square = vectors.inner(projected[a], projected[a], nv)
        left = linalg.reject(projected[a], w.basis, rank, nv)
        if left <= orthogonal_rows.COVERED * math.sqrt(square):
            # Only rounding is left: an inverse without damping would blow it up.
            vectors.fill(projected[a], 0.0)


@kernel
def invert(ints, reals, work, g, rank, damping):
    """
    Write the joint motion that set ``g`` wants for the residual in ``right`` into ``step``, by the set's method.

    The methods are pseudo-inverse, damped least squares, inverse by rank, and transpose; or the caller gives the motion.

    :param rank: number of rows of ``basis``, along which the motion must not go. 0 uses the rows of the Jacobian, other
        numbers the rows in ``projected``.
    :param damping: if not negative, damped least squares with this damping are used instead.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv, m = ints[packing.VARIABLES], int(w.counts[g])
    if w.given[g] == 1.0:
        write_given_step(t, w, g)
        linalg.reject(w.step, w.basis, rank, nv)
        return
    place = ints[packing.AT_PROJECTED]
    if rank == 0:
        place = ints[packing.AT_JACOBIAN] + t.set_i[g, packing.SET_ROW] * nv
    rows = matrix(work, place, m, nv)
    method = t.set_i[g, packing.SET_METHOD]
    if damping >= 0.0 or method == packing.PSEUDO_INVERSE or method == packing.DAMPED:
        damping = damping if damping >= 0.0 else t.set_f[g, 0]
        steps.damped_step(rows, w.right, damping, w.normal, w.solution, w.step)
    elif method == packing.UNDAMPED:
        # The inverse by rank overwrites its rows.
        copy = matrix(work, ints[packing.AT_PROJECTED], m, nv)
        vectors.copy_table(copy, rows)
        orthogonal_rows.least_step(
            w.step, copy, w.right, w.own_basis, w.factors, w.columns, w.normal
        )
    else:
        # The nested formula has the inverse that the set would use without the others.
        error = w.right
        if ints[packing.NESTED] == 1:
            first = ints[packing.AT_RESIDUAL] + t.set_i[g, packing.SET_ROW]
            error = vector(work, first, m)
        gradient_step(rows, w.right, error, w.step)


@inline_kernel
def write_given_step(t, w, g):
    """
    Write the motion of set ``g`` that the caller has chosen into ``step``.

    It is ``motion`` plus ``inverse`` times ``right``, divided by the joint scales.
    """
    first = t.set_i[g, packing.SET_ROW]
    for v in range(w.step.shape[0]):
        total = w.motion[g, v]
        for a in range(int(w.counts[g])):
            total += w.inverse[first + a, v] * w.right[a]
        w.step[v] = total / t.variable_f[v, packing.VARIABLE_SCALE]


@kernel
def gradient_step(rows, right, error, step):
    """
    Write the gradient step a J^T right into ``step``, with the length a that minimises |error - a J J^T error|.

    If the gradient is zero, the step is zero.

    :param rows: (m, nv) J.
    :param right, error: (m,) residual that gives the direction of the step, and residual that gives its length.
    """
    m, nv = rows.shape
    above, below = 0.0, 0.0
    write_gradient(rows, error, step)
    for a in range(m):
        change = 0.0
        for v in range(nv):
            change += rows[a, v] * step[v]
        above += error[a] * change
        below += change * change
    length = above / below if below > linalg.SMALLEST_PIVOT else 0.0
    write_gradient(rows, right, step)
    vectors.stretch(step, length, nv)


@inline_kernel
def write_gradient(rows, error, out):
    """Write J^T error into ``out`` (nv,); ``rows`` (m, nv) is J."""
    for v in range(rows.shape[1]):
        total = 0.0
        for a in range(rows.shape[0]):
            total += rows[a, v] * error[a]
        out[v] = total


@inline_kernel
def overshoot(t, w, q, v):
    """
    Return how far ``move`` plus ``step`` would take joint ``v`` beyond a limit [rad or m]; 0 if it ends inside.

    The number is positive above and negative below. It is 0 for joints without limits, and for joints that are held at
    a limit already.

    :param q: (nq,) joint values before the motion.
    """
    if t.variable_i[v, packing.VARIABLE_LIMITED] == 0 or w.held[v] == 1.0:
        return 0.0
    motion = t.variable_f[v, packing.VARIABLE_SCALE] * (w.move[v] + w.step[v])
    end = q[t.variable_i[v, packing.VARIABLE_Q]] + motion
    if end > t.variable_f[v, packing.VARIABLE_UPPER] + LIMIT_SLACK:
        return end - t.variable_f[v, packing.VARIABLE_UPPER]
    if end < t.variable_f[v, packing.VARIABLE_LOWER] - LIMIT_SLACK:
        return end - t.variable_f[v, packing.VARIABLE_LOWER]
    return 0.0


@kernel
def stop_at_limits(ints, reals, work, q, rank):
    """
    Change the motion ``move`` so that joints that ``move`` plus ``step`` take beyond a limit end at this limit.

    The axes of these joints are added to ``basis``, so that later steps do not move them; ``held`` and ``hits`` mark
    them. A joint that cannot move at right angles to the basis only gets its entry in ``hits``.

    :returns: the new rank of the basis; the old one if no such joint can move without moving along the basis.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = ints[packing.VARIABLES]
    for v in range(nv):
        beyond = overshoot(t, w, q, v)
        if beyond == 0.0 or rank == nv:
            continue
        w.hits[v] = beyond
        axis = w.basis[rank]
        vectors.write_unit(axis, v)
        left = linalg.reject(axis, w.basis, rank, nv)
        if left <= orthogonal_rows.COVERED:
            continue
        limit = packing.VARIABLE_UPPER if beyond > 0.0 else packing.VARIABLE_LOWER
        motion = t.variable_f[v, limit] - q[t.variable_i[v, packing.VARIABLE_Q]]
        motion = motion / t.variable_f[v, packing.VARIABLE_SCALE] - w.move[v]
        for k in range(nv):
            w.move[k] += motion * axis[k] / (left * left)
            axis[k] /= left
        w.held[v] = 1.0
        rank += 1
    return rank


@kernel
def shorten_level(ints, reals, work, q):
    """
    Shorten the motion of the present set until it ends inside the limits, and write the result into ``move``.

    Its motion leads from ``level`` to ``move`` plus ``step``.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = w.move.shape[0]
    for v in range(nv):
        w.step[v] += w.move[v] - w.level[v]
        w.move[v] = w.level[v]
        w.held[v] = 0.0
    share = 1.0
    for v in range(nv):
        beyond = overshoot(t, w, q, v)
        if beyond != 0.0:
            motion = t.variable_f[v, packing.VARIABLE_SCALE] * w.step[v]
            share = min(share, max(0.0, 1.0 - beyond / motion))
    vectors.add_scaled(w.move, share, w.step, nv)


@kernel
def nested_step(ints, reals, work, q, damping):
    """
    Write the joint step of task sets with nested priorities into ``move``, divided by the joint scales.

    :param damping: damping of all sets, instead of their own methods; ``OWN_DAMPING`` keeps the methods.
    :returns: reason bits: CANNOT_INVERT if a step is not finite, LIMIT_HIT if a joint was stopped at a limit, or 0.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = ints[packing.VARIABLES]
    reason = 0
    vectors.fill(w.wish, 0.0)
    for _ in range(nv + 1):
        vectors.fill(w.move, 0.0)
        for g in range(ints[packing.SETS] - 1, -1, -1):
            if w.counts[g] > 0.0:
                write_right_side(ints, reals, work, g)
                invert(ints, reals, work, g, 0, damping)
                vectors.add_scaled(w.move, 1.0, w.step, nv)
        blocked = False
        for v in range(nv):
            w.step[v] = 0.0
            if not math.isfinite(w.move[v]):
                return reason | CANNOT_INVERT
        for v in range(nv):
            beyond = overshoot(t, w, q, v)
            if beyond != 0.0:
                drop_joint(ints, reals, work, q, v, beyond)
                blocked = True
        if not blocked:
            break
        reason |= LIMIT_HIT
    for v in range(nv):
        if w.held[v] == 1.0:
            w.move[v] = w.wish[v]
    return reason


@kernel
def drop_joint(ints, reals, work, q, v, beyond):
    """
    Fix the motion of variable ``v`` at the way to the limit that it would cross; the other joints do the rest.

    ``wish`` gets the way to the limit divided by the scale of the joint. Its effect is subtracted from the residual of
    all sets, and the column of the variable in the Jacobian becomes zero.

    :param beyond: how far the joint would end beyond the limit; positive at the upper limit.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    limit = packing.VARIABLE_UPPER if beyond > 0.0 else packing.VARIABLE_LOWER
    motion = t.variable_f[v, limit] - q[t.variable_i[v, packing.VARIABLE_Q]]
    w.hits[v] = beyond
    w.held[v] = 1.0
    w.wish[v] = motion / t.variable_f[v, packing.VARIABLE_SCALE]
    for a in range(w.jacobian.shape[0]):
        w.residual[a] -= w.jacobian[a, v] * w.wish[v]
        w.jacobian[a, v] = 0.0


@kernel
def apply_step(ints, reals, work, q):
    """
    Move the joints ``q`` by ``move`` times their scales, within limits; shorten the motion if a joint moves too far.

    Too far is more than its largest step, unless largest steps are ignored, or half a turn for a turning joint.

    :returns: STEPS_TOO_BIG if a largest step was exceeded, even if largest steps are ignored; else 0.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    nv = ints[packing.VARIABLES]
    ratio, turn = 0.0, 0.0
    for v in range(nv):
        w.step[v] = w.move[v] * t.variable_f[v, packing.VARIABLE_SCALE]
        size = abs(w.step[v])
        ratio = max(ratio, size / t.variable_f[v, packing.VARIABLE_MAX_STEP])
        if t.variable_i[v, packing.VARIABLE_TURNS] == 1:
            turn = max(turn, size)
    share = math.pi / turn if turn > math.pi else 1.0
    if ratio > 1.0 and ints[packing.IGNORE_MAX_STEPS] == 0:
        share = min(share, 1.0 / ratio)
    displace(ints, reals, work, q, share)
    return STEPS_TOO_BIG if ratio > 1.0 else 0


@kernel
def displace(ints, reals, work, q, share):
    """
    Move the joints ``q`` in place by a share of ``step`` [rad or m], clamped to their limits.

    ``travel`` grows by the motion before clamping. Turning joints of the kind PERIODIC, which have no limits, are
    wrapped to (-pi, pi].

    :param share: factor on ``step``.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for v in range(ints[packing.VARIABLES]):
        kind = t.variable_i[v, packing.VARIABLE_KIND]
        at = t.variable_i[v, packing.VARIABLE_Q]
        motion = share * w.step[v]
        w.travel[v] += motion
        if kind == layout.PERIODIC:
            q[at] = so3.wrap_to_pi(q[at] + motion)
        elif kind == layout.LINEAR:
            end = max(q[at] + motion, t.variable_f[v, packing.VARIABLE_LOWER])
            q[at] = min(end, t.variable_f[v, packing.VARIABLE_UPPER])
        elif kind == layout.BALL_FIRST:
            so3.rotate_quaternion(
                q[at : at + 4], motion, share * w.step[v + 1], share * w.step[v + 2]
            )
