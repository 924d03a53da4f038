"""
Error and Jacobian rows of tasks: a tip that is to meet a target, measured in a constraint base.

Problem
    With the constraint base C, the target T and the tip B, all poses in the world, the rows of an task are, in this
    order and only those selected: R_C^T (p_T - p_B) (x, y, z), and the rotation vector log(R_B^T R_T) in the axes of
    the tip (alpha, beta, gamma). alpha and beta without gamma keep the z axes together, gamma alone the spin about
    them, as in :mod:`ssik_ros.kernels.rows.rows`. The Jacobian is J = -de/dq.

Method
    A joint that turns about z with moments v(r) = z x (r - o) changes each of the three frames that it carries. With
    b, t, c = 1 for those among tip, target and constraint base, the exact columns are

        position   R_C^T (b v(p_B) - t v(p_T) + c z x (p_T - p_B))
        rotation   (b - t) M z

    where M is the derivative of the rotation rows by a turn of the tip. A sliding joint has v = z and M z = 0, a
    screw the sum of both, a dependent joint its rate times its own columns, added to those of its master.

Degeneracies
    Those of the rotation rows: at an angle of pi the axis is one of two, opposite z axes are turned about x.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

import math

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.geometry import se3, so3
from ssik_ros.kernels.rows import layout, rows, tree
from ssik_ros.kernels.tasks import packing


@kernel
def fold(out, run, slot_i, slot_f, poses, q, moved, spare):
    """
    Write the pose that a run of objects leads to, each in the one before it.

    :param out: (12,).
    :param run: (k,) slots, from the outermost on.
    :param slot_i, slot_f: kind, place of the value, and screw lead per radian of each slot.
    :param poses: (S, 12) local poses; q: joint values.
    :param moved: whether the last one's own motion is included.
    :param spare: (12,) scratch.
    """
    count = run.shape[0]
    if count == 0:
        for k in range(12):
            out[k] = 1.0 if k == 0 or k == 4 or k == 8 else 0.0
        return
    for k in range(12):
        out[k] = poses[run[0], k]
    for i in range(count):
        slot = run[i]
        if i > 0:
            for k in range(12):
                spare[k] = out[k]
            se3.compose(out, spare, poses[slot])
        if slot_i[slot, packing.SLOT_KIND] >= 0 and (moved or i < count - 1):
            add_motion(out, slot_i, slot_f[slot], q, slot)


@kernel
def add_motion(out, slot_i, lead, q, slot):
    """Append a joint's own motion to a pose (12,)."""
    kind, at = slot_i[slot, packing.SLOT_KIND], slot_i[slot, packing.SLOT_Q]
    if kind == layout.SPHERICAL:
        b0, b1, b2, b3, b4, b5, b6, b7, b8 = so3.matrix_of(q[at], q[at + 1], q[at + 2], q[at + 3])
        for k in range(3):
            u, v, t = out[3 * k], out[3 * k + 1], out[3 * k + 2]
            out[3 * k] = u * b0 + v * b3 + t * b6
            out[3 * k + 1] = u * b1 + v * b4 + t * b7
            out[3 * k + 2] = u * b2 + v * b5 + t * b8
        return
    if kind != layout.PRISMATIC:
        s, c = so3.sine_cosine(q[at])
        for k in range(3):
            u, v = out[3 * k], out[3 * k + 1]
            out[3 * k], out[3 * k + 1] = c * u + s * v, c * v - s * u
    for k in range(3):
        out[9 + k] += lead * q[at] * out[3 * k + 2]


@kernel
def prepare(ints, reals, work, poses, q):
    """Write the placements of all nodes and frames, from the poses and values that do not change in a solve."""
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
    Write poses, frames, errors and maps at some joint values; return whether every task is within its precision.

    Also writes the largest linear and angular error into ``scalars``.
    """
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    tree.forward(t.node_i, w.node_f, q, w.poses)
    linear, angular = 0.0, 0.0
    within = True
    for e in range(ints[packing.TASKS]):
        task_error(ints, reals, work, e)
        linear = max(linear, w.errors[e, 0])
        angular = max(angular, w.errors[e, 1])
        # Written so that NaN is never within.
        if not (
            w.errors[e, 0] <= t.task_f[e, packing.TASK_PRECISION]
            and w.errors[e, 1] <= t.task_f[e, packing.TASK_PRECISION + 1]
        ):
            within = False
    w.scalars[0], w.scalars[1] = linear, angular
    return within


@kernel
def task_error(ints, reals, work, e):
    """Write frames, the six error components, the maps and the two distances of one task."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    frames = matrix(work, ints[packing.AT_FRAMES] + 36 * e, 3, 12)
    maps = matrix(work, ints[packing.AT_MAPS] + 27 * e, 3, 9)
    components = w.components[e]
    for f in range(3):
        node = t.task_i[e, packing.TASK_NODE + f]
        tree.frame_pose(frames[f], w.poses, node, w.placements[3 * e + f], 0)
    base, target, tip = frames[packing.BASE], frames[packing.TARGET], frames[packing.TIP]
    if t.task_i[e, packing.TASK_HAS_TARGET] == 0:
        for k in range(12):
            target[k] = tip[k]
    dx, dy, dz = target[9] - tip[9], target[10] - tip[10], target[11] - tip[11]
    bits = t.task_i[e, packing.TASK_BITS]
    square = 0.0
    for i in range(3):
        maps[0, 3 * i], maps[0, 3 * i + 1], maps[0, 3 * i + 2] = base[i], base[3 + i], base[6 + i]
        components[i] = base[i] * dx + base[3 + i] * dy + base[6 + i] * dz
        if bits & (1 << i):
            square += components[i] * components[i]
    w.errors[e, 0] = math.sqrt(square)
    rotation = t.task_i[e, packing.TASK_ROTATION]
    if rotation == packing.NO_ROTATION:
        w.errors[e, 1] = 0.0
        return
    if rotation == layout.FULL:
        rows.full_rotation(frames, layout.FRAME_B, True, w.spare, components, maps)
    elif rotation == layout.ALIGN:
        rows.axis_alignment(frames, layout.FRAME_B, w.spare, components, maps)
    else:
        rows.spin_about_z(frames, components, maps)
    w.errors[e, 1] = math.sqrt(
        components[3] * components[3]
        + components[4] * components[4]
        + components[5] * components[5]
    )


@kernel
def fill_rows(ints, reals, work, q):
    """Write residual and Jacobian of all sets where :func:`measure` was called last; limit rows come last."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    for g in range(ints[packing.SETS]):
        row = t.set_i[g, packing.SET_ROW]
        first_row, first = row, t.set_i[g, packing.SET_ELEMENT]
        for e in range(first, first + t.set_i[g, packing.SET_ELEMENTS]):
            row = rows_of_task(ints, reals, work, e, row)
        first = t.set_i[g, packing.SET_MARGIN]
        for k in range(first, first + t.set_i[g, packing.SET_MARGINS]):
            row = margin_row(
                t.variable_i, t.variable_f, q, t.margin[k], w.jacobian, w.residual, row
            )
        w.counts[g] = row - first_row


@kernel
def margin_row(variable_i, variable_f, q, v, jacobian, residual, row):
    """Write the row of a joint that is nearer to a limit than its margin, if it is; return the next free row."""
    way = way_out_of_margin(variable_i, variable_f, q, v)
    if way == 0.0:
        return row
    for k in range(jacobian.shape[1]):
        jacobian[row, k] = 0.0
    jacobian[row, v] = -1.0 if way < 0.0 else 1.0
    residual[row] = abs(way)
    return row + 1


@kernel
def way_out_of_margin(variable_i, variable_f, q, v):
    """Return how far a joint has to move to leave the margin of a limit, with sign; 0 where it is outside."""
    value = q[variable_i[v, packing.VARIABLE_Q]]
    margin = variable_f[v, packing.VARIABLE_MARGIN]
    below = variable_f[v, packing.VARIABLE_LOWER] + margin - value
    above = value - (variable_f[v, packing.VARIABLE_UPPER] - margin)
    if below <= 0.0 and above <= 0.0:
        return 0.0
    # Where both margins overlap, the upper one counts for turning joints, the nearer limit for slides.
    turns = variable_i[v, packing.VARIABLE_TURNS] == 1
    if above > 0.0 and (below <= 0.0 or turns or above > below):
        return -above
    return below


@kernel
def rows_of_task(ints, reals, work, e, row):
    """Write the selected, weighted rows of one task; return the next free row."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    bits = t.task_i[e, packing.TASK_BITS]
    end = row + t.task_i[e, packing.TASK_ROWS]
    rows.clear_rows(w.jacobian, row, end)
    a = row
    for k in range(6):
        if selected(bits, k):
            kind = 0 if k < 3 else 1
            weight = t.task_f[e, packing.TASK_ERROR_WEIGHT + kind]
            w.residual[a] = weight * w.components[e, k]
            a += 1
    start = t.task_i[e, packing.TASK_PATH]
    for entry in range(start, start + t.task_i[e, packing.TASK_PATHS]):
        node = t.path[entry, packing.PATH_NODE]
        moves = t.path[entry, packing.PATH_MOVES]
        kind, v = t.node_i[node, layout.NODE_KIND], t.node_i[node, layout.NODE_V]
        if kind == layout.SPHERICAL:
            for axis in range(3):
                add_column(ints, reals, work, e, row, node, moves, axis, 1.0, 0.0, v + axis)
        else:
            turn = w.node_f[node, packing.NODE_RATE]
            slide = turn * w.node_f[node, layout.NODE_LEAD]
            if kind == layout.PRISMATIC:
                turn = 0.0
            add_column(ints, reals, work, e, row, node, moves, 2, turn, slide, v)
    return end


@kernel
def selected(bits, k):
    """Return whether row k of x, y, z, alpha, beta, gamma is among the constraint bits."""
    if k < 3:
        return bits & (1 << k) != 0
    return bits & 8 != 0 if k < 5 else bits & 16 != 0


@kernel
def add_column(ints, reals, work, e, row, node, moves, axis, turn, slide, v):
    """Add the effect of one joint axis, through every frame it carries, to the rows of an task."""
    t, w = packing.view_tables(ints, reals), packing.view_workspace(ints, work)
    base, target, tip = w.frames[3 * e], w.frames[3 * e + 1], w.frames[3 * e + 2]
    pose = w.poses[node]
    zx, zy, zz = pose[axis], pose[3 + axis], pose[6 + axis]
    b = 1.0 if moves & packing.MOVES_TIP else 0.0
    g = 1.0 if moves & packing.MOVES_TARGET else 0.0
    c = 1.0 if moves & packing.MOVES_BASE else 0.0
    # Everything is linear in the lever arm: b (p_B - o) - t (p_T - o) + c (p_T - p_B).
    lx = b * (tip[9] - pose[9]) - g * (target[9] - pose[9]) + c * (target[9] - tip[9])
    ly = b * (tip[10] - pose[10]) - g * (target[10] - pose[10]) + c * (target[10] - tip[10])
    lz = b * (tip[11] - pose[11]) - g * (target[11] - pose[11]) + c * (target[11] - tip[11])
    along = (b - g) * slide
    vx = turn * (zy * lz - zz * ly) + along * zx
    vy = turn * (zz * lx - zx * lz) + along * zy
    vz = turn * (zx * ly - zy * lx) + along * zz
    spin = (b - g) * turn
    bits = t.task_i[e, packing.TASK_BITS]
    linear = t.task_f[e, packing.TASK_ROW_WEIGHT]
    angular = t.task_f[e, packing.TASK_ROW_WEIGHT + 1]
    for k in range(3):
        if bits & (1 << k):
            change = base[k] * vx + base[3 + k] * vy + base[6 + k] * vz
            w.jacobian[row, v] += linear * change
            row += 1
    m = w.maps[3 * e + 1]
    for k in range(3):
        if bits & (8 if k < 2 else 16):
            change = m[3 * k] * zx + m[3 * k + 1] * zy + m[3 * k + 2] * zz
            w.jacobian[row, v] += angular * spin * change
            row += 1
