"""
Write errors and Jacobian rows of tasks. A task asks that a tip meet a target, measured in a constraint base.

:func:`measure` writes the errors, :func:`fill_rows` the rows for a step.

Problem
    A task is a constraint of :mod:`ssik_ros.kernels.rows.rows`: frame a is the constraint base C, the goal is the
    target T, frame b is the tip B, and all three may move. Only the selected rows are written. In each set, rows of
    joints in their limit margins follow the rows of the tasks. The first three rows of a task are
    R_C^T (p_T - p_B) (x, y, z). The last three are the rotation vector log(R_B^T R_T) in the axes of the tip (alpha,
    beta, gamma). alpha and beta without gamma keep the z axes together; gamma without both keeps the spin about them.

Method
    Fixed placements are folded once for each solve. Poses, errors and columns are computed as for a constraint. A
    dependent joint adds its rate times its own columns to the columns of the joint that drives it.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import se3, so3, vectors
from ssik_ros.kernels.rows import layout, rows, tree
from ssik_ros.kernels.tasks import packing


@kernel
def fold(out, run, slot_i, slot_f, poses, q, moved, spare):
    """
    Write the pose of the last object of a chain of objects; each object is placed in the object before it.

    :param out: (12,) out; the identity for an empty chain.
    :param run: (k,) indices of the objects, the outermost one first.
    :param slot_i, slot_f: tables of the objects: kind and place of the joint value, and translation along z for a unit
        of this value. It is 1 for a slide, 0 for a rotation, else the screw lead.
    :param poses: (S, 12) local pose of each object.
    :param q: (nq,) joint values [rad or m].
    :param moved: True includes the motion of the last object, if it is a joint.
    :param spare: (12,) scratch.
    """
    count = run.shape[0]
    if count == 0:
        se3.identity(out)
        return
    vectors.put(out, poses[run[0]], 12)
    for i in range(count):
        slot = run[i]
        if i > 0:
            vectors.put(spare, out, 12)
            se3.compose(out, spare, poses[slot])
        if slot_i[slot, packing.SLOT_KIND] >= 0 and (moved or i < count - 1):
            add_motion(out, slot_i, slot_f[slot], q, slot)


@kernel
def add_motion(out, slot_i, lead, q, slot):
    """
    Multiply the pose ``out`` (12,) in place by the motion of a joint.

    :param slot_i: table of the objects.
    :param lead: translation along z for a unit of the joint value: 1 for a slide, 0 for a rotation, else the screw
        lead.
    :param q: (nq,) joint values [rad or m].
    :param slot: row of the joint in ``slot_i``.
    """
    kind, at = slot_i[slot, packing.SLOT_KIND], slot_i[slot, packing.SLOT_Q]
    if kind == layout.SPHERICAL:
        tree.turn_by_quaternion(out, q, at)
        return
    if kind != layout.PRISMATIC:
        sine, cosine = so3.sine_cosine(q[at])
        tree.turn_columns(out, 0, 1, sine, cosine)
    for k in range(3):
        out[9 + k] += lead * q[at] * out[3 * k + 2]


@kernel
def prepare(ints, reals, work, poses, q):
    """
    Write the fixed placements of all nodes, and of constraint base, target and tip of each task; once for each solve.

    :param poses: (S, 12) local poses of all objects.
    :param q: (nq,) joint values; joints that the solve does not move become part of the fixed placements.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for i in range(ints[packing.NODES]):
        run = vector(ints, ints[packing.AT_RUN] + t.node_run[i, 0], t.node_run[i, 1])
        fold(w.node_f[i], run, t.slot_i, t.slot_f, poses, q, False, w.spare)
    for e in range(ints[packing.TASKS]):
        for f in range(3):
            start = t.task_i[e, packing.TASK_RUN + f]
            run = vector(
                ints,
                ints[packing.AT_RUN] + start,
                t.task_i[e, packing.TASK_RUN_SIZE + f],
            )
            fold(w.placements[3 * e + f], run, t.slot_i, t.slot_f, poses, q, True, w.spare)


@kernel
def measure(ints, reals, work, q):
    """
    Write poses and errors of all tasks at the joint values ``q``; return whether every task is within its precision.

    The largest linear error [m] and angular error [rad] go to ``scalars``. Residual and Jacobian are written by
    :func:`fill_rows` only.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    tree.forward(t.node_i, w.node_f, q, w.poses)
    linear, angular = 0.0, 0.0
    within = True
    for e in range(ints[packing.TASKS]):
        task_error(ints, reals, work, e)
        linear = max(linear, w.errors[e, 0])
        angular = max(angular, w.errors[e, 1])
        # NaN is never within the precision.
        if not (
            w.errors[e, 0] <= t.task_f[e, packing.TASK_PRECISION]
            and w.errors[e, 1] <= t.task_f[e, packing.TASK_PRECISION + 1]
        ):
            within = False
    w.scalars[0], w.scalars[1] = linear, angular
    return within


@kernel
def task_error(ints, reals, work, e):
    """
    Write the errors of task ``e`` at the present node poses into the workspace.

    The frames of base, target and tip, the six error components and the matrices for its Jacobian are written. So are
    the norms of linear [m] and angular [rad] error. A task without a target has zero errors.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    frames = matrix(work, ints[packing.AT_FRAMES] + packing.FRAMES_SIZE * e, 3, 12)
    maps = matrix(work, ints[packing.AT_MAPS] + packing.MAPS_SIZE * e, 3, 9)
    for f in range(3):
        node = t.task_i[e, packing.TASK_NODE + f]
        tree.frame_pose(frames[f], w.poses, node, w.placements[3 * e + f], 0)
    if t.task_i[e, packing.TASK_HAS_TARGET] == 0:
        vectors.copy(frames[1], frames[2])
    rows.constraint_error(t.task_i[e], frames, True, w.spare, w.components[e], maps)
    mask = t.task_i[e, layout.CONSTRAINT_MASK]
    w.errors[e, 0], w.errors[e, 1] = rows.norms(mask, w.components[e])


@kernel
def fill_rows(ints, reals, work, q):
    """
    Write residual and Jacobian of all sets at the joint values ``q``, which :func:`measure` must have measured last.

    In each set, rows of limit margins follow the rows of its tasks. ``counts`` gets the number of rows of each set.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for g in range(ints[packing.SETS]):
        row = first = t.set_i[g, packing.SET_ROW]
        for e in tasks_of(t, g):
            row = rows_of_task(ints, reals, work, e, row)
        for k in margins_of(t, g):
            row = margin_row(t, w, q, t.margin[k], row)
        w.counts[g] = row - first


@inline_kernel
def tasks_of(t, g):
    """Return the Python range of the rows of set ``g`` in the task table ``t.task_i``."""
    first = t.set_i[g, packing.SET_ELEMENT]
    return range(first, first + t.set_i[g, packing.SET_ELEMENTS])


@inline_kernel
def margins_of(t, g):
    """
    Return the Python range of the entries of set ``g`` in ``t.margin``.

    Each entry is a variable that the set keeps away from its limits.
    """
    first = t.set_i[g, packing.SET_MARGIN]
    return range(first, first + t.set_i[g, packing.SET_MARGINS])


@inline_kernel
def margin_row(t, w, q, v, row):
    """
    Write row ``row`` of Jacobian and residual for joint ``v`` if its value is in a limit margin.

    The residual is the length of the motion that takes the joint out of the margin [rad or m].

    :returns: the next free row; ``row`` if nothing was written.
    """
    motion = way_out_of_margin(t, q, v)
    if motion == 0.0:
        return row
    vectors.fill(w.jacobian[row], 0.0)
    w.jacobian[row, v] = -1.0 if motion < 0.0 else 1.0
    w.residual[row] = abs(motion)
    return row + 1


@inline_kernel
def way_out_of_margin(t, q, v):
    """
    Return the signed motion that takes joint ``v`` out of its limit margin [rad or m]; 0 if it is not in a margin.

    A margin is a range next to a limit; a set keeps the joint out of this range.

    :param q: (nq,) joint values.
    """
    value = q[t.variable_i[v, packing.VARIABLE_Q]]
    margin = t.variable_f[v, packing.VARIABLE_MARGIN]
    below = t.variable_f[v, packing.VARIABLE_LOWER] + margin - value
    above = value - (t.variable_f[v, packing.VARIABLE_UPPER] - margin)
    if below <= 0.0 and above <= 0.0:
        return 0.0
    # Where both margins overlap, the upper one counts for turning joints, the nearer limit for slides.
    turns = t.variable_i[v, packing.VARIABLE_TURNS] == 1
    if above > 0.0 and (below <= 0.0 or turns or above > below):
        return -above
    return below


@inline_kernel
def write_errors(t, w, e, out, row):
    """
    Write the selected, weighted errors of task ``e`` into ``out`` from ``row`` on; return the next free row.

    :param t, w: tables and workspace of the packed task sets, measured.
    """
    mask = t.task_i[e, layout.CONSTRAINT_MASK]
    for k in range(6):
        if (mask >> k) & 1:
            out[row] = t.task_f[e, packing.TASK_ERROR_WEIGHT + k] * w.components[e, k]
            row += 1
    return row


@kernel
def rows_of_task(ints, reals, work, e, row):
    """
    Write the selected, weighted rows of residual and Jacobian of task ``e``, from row ``row`` on.

    :returns: the next free row.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    first = row
    row = write_errors(t, w, e, w.residual, row)
    rows.clear_rows(w.jacobian, first, row)
    frames = matrix(work, ints[packing.AT_FRAMES] + packing.FRAMES_SIZE * e, 3, 12)
    maps = matrix(work, ints[packing.AT_MAPS] + packing.MAPS_SIZE * e, 3, 9)
    weights = vector(reals, ints[packing.AT_TASK_F] + packing.TASK_REALS * e, 6)
    rows.add_columns(
        t.task_i[e], t.path, t.node_i, w.node_f, w.poses, frames, maps, weights, w.jacobian, first
    )
    return row
