"""
Write residual and Jacobian rows of a packed problem: the constraints of targets, closures of loops, and tasks.

:func:`evaluate` writes all of them for one configuration.

Problem
    A constraint asks that frame b have the pose of a goal G, both in the root frame. The goal is G = T_a * placement_a
    * target, without a target frame a itself; tasks give another frame. Rows measure ``e = goal - actual``. The
    Jacobian is ``J = -de/dq``, so ``J dq = e`` is a Newton step.

Method
    Position: dp = p_G - p_B, in the axes F of the position frame: e = F^T dp. Rotation: w = log(R_G R_B^T) in root
    axes, then in the axes of the rotation frame. A joint turns about the axis z through the point o. Set b, g, f to 1
    if the joint moves frame b, the goal, the position axes, else to 0. Its exact column is

        position   F^T z x ((b - g) (p_B - o) + (f - g) (p_G - p_B))
        rotation   (b M_B - g M_G) z

    M is F^T in the fast form, which is exact at w = 0, and with ``exact`` the true derivative:

    =============  ========================================================
    rotation axes  M
    =============  ========================================================
    WORLD          Jl^-1(-w) where the joint moves b, Jl^-1(w) where it moves the goal
    GOAL, FRAME_B  R_G^T Jl^-1(-w)
    FRAME_A        R_A^T Jl^-1(-w)
    =============  ========================================================

    ALIGN makes the z axes of G and B coincide and leaves the spin free. SPIN measures the rotation about z after the
    shortest rotation has made the axes coincide. Their columns are always exact.

Degeneracies
    At a rotation of pi the axis is one of two. Z axes that point against each other are turned about x, and their spin
    counts as pi.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import se3, so3, vectors
from ssik_ros.kernels.rows import layout, tree

PARALLEL_SINE = 1e-12
"""If the sine is smaller, two z axes count as parallel: the rotation between them has no unique axis."""


@kernel
def evaluate(ints, reals, work, q, exact):
    """
    Write poses, residual, Jacobian and errors of a packed problem at a configuration into its workspace.

    The workspace must already have the targets.

    :param ints, reals: packed problem.
    :param work: workspace; its fields ``poses``, ``residual``, ``jacobian`` and ``errors`` are written.
    :param q: (nq,) position variables [rad or m].
    :param exact: True gives rotation rows the true derivative also at a nonzero error; False a cheaper one.
    """
    t, w = layout.view_problem(ints, reals, work)
    tree.forward(t.node_i, t.node_f, q, w.poses)
    row = 0
    for c in range(ints[layout.CONSTRAINTS]):
        if t.constraint_i[c, layout.CONSTRAINT_PLAIN] == 1 and not exact:
            plain_rows(ints, reals, work, c, row)
            row += 6
        else:
            row = general_rows(ints, reals, work, c, row, exact)


@kernel
def plain_rows(ints, reals, work, c, row):
    """
    Write six unweighted rows of residual and Jacobian for constraint ``c``, in root axes, from row ``row`` on.

    The constraint asks that frame b reaches a target given in the root frame; frame a must not move. The numbers equal
    the ones of :func:`general_rows` with ``exact`` False. The workspace also gets position and rotation error of the
    constraint.

    :param ints, reals, work: packed problem and its workspace, which has the poses of the nodes.
    """
    t, w = layout.view_problem(ints, reals, work)
    b, node_b = w.frames[2], t.constraint_i[c, layout.CONSTRAINT_NODE_B]
    tree.frame_pose(b, w.poses, node_b, t.constraint_f[c], layout.CONSTRAINT_PLACEMENT_B)
    g = w.targets[t.constraint_i[c, layout.CONSTRAINT_TARGET]]
    px, py, pz = b[9], b[10], b[11]
    ex, ey, ez = g[9] - px, g[10] - py, g[11] - pz
    wx, wy, wz = se3.relative_rotation_vector(b, g)
    w.residual[row], w.residual[row + 1], w.residual[row + 2] = ex, ey, ez
    w.residual[row + 3], w.residual[row + 4], w.residual[row + 5] = wx, wy, wz
    w.errors[c, 0] = math.sqrt(ex * ex + ey * ey + ez * ez)
    w.errors[c, 1] = math.sqrt(wx * wx + wy * wy + wz * wz)
    clear_rows(w.jacobian, row, row + 6)
    first = t.constraint_i[c, layout.CONSTRAINT_PATH]
    for k in range(first, first + t.constraint_i[c, layout.CONSTRAINT_PATHS]):
        node = t.path[k, layout.PATH_NODE]
        kind = t.node_i[node, layout.NODE_KIND]
        v = t.node_i[node, layout.NODE_V]
        dx, dy, dz = px - w.poses[node, 9], py - w.poses[node, 10], pz - w.poses[node, 11]
        if kind == layout.SPHERICAL:
            for axis in range(3):
                add_turn(w.jacobian, row, v + axis, 1.0, w.poses, node, axis, dx, dy, dz)
        else:
            multiplier = t.node_f[node, layout.NODE_MULTIPLIER]
            if kind != layout.PRISMATIC:
                add_turn(w.jacobian, row, v, multiplier, w.poses, node, 2, dx, dy, dz)
            if kind != layout.REVOLUTE:
                slide = multiplier * t.node_f[node, layout.NODE_LEAD]
                for i in range(3):
                    w.jacobian[row + i, v] += slide * w.poses[node, 3 * i + 2]


@inline_kernel
def clear_rows(jacobian, first, end):
    """Set the rows ``first`` .. ``end`` - 1 of a Jacobian to zero."""
    for row in range(first, end):
        vectors.fill(jacobian[row], 0.0)


@inline_kernel
def add_turn(jacobian, row, v, turn, poses, node, axis, dx, dy, dz):
    """
    Add to column ``v`` of a Jacobian the twist (linear, angular) that a rotation of a node gives to a point.

    The twist goes to the rows ``row`` to ``row`` + 5, in root axes.

    :param turn: angle of the rotation for a unit of variable ``v`` [rad].
    :param poses: (N, 12) poses of the nodes.
    :param node: the node that rotates.
    :param axis: its rotation axis: 0, 1, 2 for x, y, z of the node.
    :param dx, dy, dz: vector from the node's origin to the point [m].
    """
    zx, zy, zz = vectors.scale(turn, vectors.column(poses[node], axis))
    jacobian[row, v] += zy * dz - zz * dy
    jacobian[row + 1, v] += zz * dx - zx * dz
    jacobian[row + 2, v] += zx * dy - zy * dx
    jacobian[row + 3, v] += zx
    jacobian[row + 4, v] += zy
    jacobian[row + 5, v] += zz


@kernel
def general_rows(ints, reals, work, c, row, exact):
    """
    Write the selected, weighted rows of constraint ``c`` from row ``row`` on; return the next free row.

    Rows of residual and Jacobian are written. The errors are measured along the axes that the constraint chooses, and
    reduced by its box (tolerated deviations). Position and rotation error go to ``errors``.

    :param ints, reals, work: packed problem and its workspace, which has the poses of the nodes.
    :param exact: True gives rotation rows the true derivative also at a nonzero error; False a cheaper one.
    """
    t, w = layout.view_problem(ints, reals, work)
    constraint_i, constraint_f = t.constraint_i[c], t.constraint_f[c]
    constraint_frames(constraint_i, constraint_f, w.targets, w.poses, w.frames)
    constraint_error(constraint_i, w.frames, exact, w.spare, w.components, w.maps)
    for k in range(6):
        w.active[k] = constraint_f[layout.CONSTRAINT_WEIGHT + k]
    if constraint_i[layout.CONSTRAINT_BOXED] == 1:
        apply_box(constraint_f, w.components, w.active)
    mask = constraint_i[layout.CONSTRAINT_MASK]
    w.errors[c, 0], w.errors[c, 1] = norms(mask, w.components)
    first = row
    for k in range(6):
        if (mask >> k) & 1:
            w.residual[row] = constraint_f[layout.CONSTRAINT_WEIGHT + k] * w.components[k]
            row += 1
    clear_rows(w.jacobian, first, row)
    add_columns(
        constraint_i, t.path, t.node_i, t.node_f, w.poses, w.frames, w.maps, w.active, w.jacobian, first
    )  # fmt: skip
    return row


@inline_kernel
def add_columns(constraint_i, path, node_i, node_f, poses, frames, maps, weights, jacobian, row):
    """
    Add the columns of all joints that move a constraint to its rows of the Jacobian.

    :param constraint_i: row of the constraint table.
    :param path, node_i, node_f: path table and node tables.
    :param poses: (N, 12) poses of the nodes.
    :param frames: (3, 12) frame a, goal, frame b, in the root frame.
    :param maps: (3, 9) matrices that :func:`constraint_error` wrote.
    :param weights: (6,) weights of the error components; 0 for components inside their boxes.
    :param jacobian: changed in place.
    :param row: first row of the constraint.
    """
    mask = constraint_i[layout.CONSTRAINT_MASK]
    frame = constraint_i[layout.CONSTRAINT_POSITION_FRAME]
    moves_axes = 8 >> frame if frame != layout.WORLD else 0
    start = constraint_i[layout.CONSTRAINT_PATH]
    for entry in range(start, start + constraint_i[layout.CONSTRAINT_PATHS]):
        node, side = path[entry, layout.PATH_NODE], path[entry, layout.PATH_SIDE]
        kind, v = node_i[node, layout.NODE_KIND], node_i[node, layout.NODE_V]
        turn, slide = node_f[node, layout.NODE_RATE], 0.0
        if kind != layout.REVOLUTE:
            slide = turn * node_f[node, layout.NODE_LEAD]
        if kind == layout.PRISMATIC:
            turn = 0.0
        ball = kind == layout.SPHERICAL
        for axis in range(0 if ball else 2, 3):
            add_axis(
                poses[node], axis, turn, slide, side, moves_axes, mask, frames, maps, weights, jacobian,
                row, v
            )  # fmt: skip
            v += 1


@kernel
def add_axis(
    pose, axis, turn, slide, side, moves_axes, mask, frames, maps, weights, jacobian, row, v
):
    """
    Add the effect of one joint axis on the rows of a constraint to column ``v`` of the Jacobian.

    :param pose: (12,) of the joint's node, in the root frame.
    :param axis: 0, 1, 2 for x, y, z of the node.
    :param turn, slide: rotation about the axis [rad] and motion along it [m] for a unit of the variable.
    :param side: bits MOVES_B, MOVES_GOAL, MOVES_A of the frames that the joint moves.
    :param moves_axes: the bit of the frame whose axes measure positions; 0 for root axes.
    :param mask: bit k is set if component k has a row.
    :param frames: (3, 12) frame a, goal, frame b, in the root frame.
    :param maps, weights: (3, 9) matrices of :func:`constraint_error`; (6,) weights of the error components.
    :param row: first row of the constraint.
    """
    goal, b = frames[1], frames[2]
    moves_b = 1.0 if side & layout.MOVES_B else 0.0
    moves_goal = 1.0 if side & layout.MOVES_GOAL else 0.0
    sign = moves_b - moves_goal
    share = (1.0 if side & moves_axes else 0.0) - moves_goal
    zx, zy, zz = pose[axis], pose[3 + axis], pose[6 + axis]
    lx = sign * (b[9] - pose[9]) + share * (goal[9] - b[9])
    ly = sign * (b[10] - pose[10]) + share * (goal[10] - b[10])
    lz = sign * (b[11] - pose[11]) + share * (goal[11] - b[11])
    vx = turn * (zy * lz - zz * ly) + sign * slide * zx
    vy = turn * (zz * lx - zx * lz) + sign * slide * zy
    vz = turn * (zx * ly - zy * lx) + sign * slide * zz
    for k in range(3):
        if (mask >> k) & 1:
            change = maps[0, 3 * k] * vx + maps[0, 3 * k + 1] * vy + maps[0, 3 * k + 2] * vz
            jacobian[row, v] += weights[k] * change
            row += 1
    for k in range(3):
        if (mask >> (3 + k)) & 1:
            i = 3 * k
            of_b = maps[1, i] * zx + maps[1, i + 1] * zy + maps[1, i + 2] * zz
            of_goal = maps[2, i] * zx + maps[2, i + 1] * zy + maps[2, i + 2] * zz
            jacobian[row, v] += weights[3 + k] * turn * (moves_b * of_b - moves_goal * of_goal)
            row += 1


@kernel
def constraint_frames(constraint_i, constraint_f, targets, poses, frames):
    """
    Write the root-frame poses of frame a, the goal and frame b into the rows 0, 1, 2 of ``frames`` (3, 12).

    The goal is frame a times the target; without a target it is frame a.

    :param constraint_i, constraint_f: rows of the constraint tables.
    :param targets: (., 12) target poses.
    :param poses: (N, 12) poses of the nodes.
    """
    a, b = constraint_i[layout.CONSTRAINT_NODE_A], constraint_i[layout.CONSTRAINT_NODE_B]
    tree.frame_pose(frames[0], poses, a, constraint_f, layout.CONSTRAINT_PLACEMENT_A)
    target = constraint_i[layout.CONSTRAINT_TARGET]
    if target < 0:
        vectors.copy(frames[1], frames[0])
    else:
        se3.compose(frames[1], frames[0], targets[target])
    tree.frame_pose(frames[2], poses, b, constraint_f, layout.CONSTRAINT_PLACEMENT_B)


@inline_kernel
def axes_of(pose, frame, out):
    """
    Write into ``out`` (9,) the matrix that turns a vector in root axes into a vector in the axes of ``pose``.

    If ``frame`` is WORLD, the identity is written and the pose is not read.
    """
    for i in range(3):
        for j in range(3):
            unit = 1.0 if i == j else 0.0
            out[3 * i + j] = unit if frame == layout.WORLD else pose[3 * j + i]


@inline_kernel
def rotation_maps(pose, frame, wx, wy, wz, maps):
    """
    Write the matrices that map a small rotation of frame b or of the goal to the change of the rotation error.

    They are exact at any error. ``maps[1]`` is for rotations of frame b, ``maps[2]`` for rotations of the goal.

    :param pose: pose of frame a if ``frame`` is FRAME_A, else of the goal.
    :param frame: whose axes measure the error: WORLD, FRAME_A, GOAL or FRAME_B.
    :param wx, wy, wz: rotation vector from b to the goal, in root axes [rad].
    :param maps: (3, 9) out; ``maps[0]`` stays.
    """
    so3.inverse_left_jacobian(maps[1], -wx, -wy, -wz)
    if frame == layout.WORLD:
        so3.inverse_left_jacobian(maps[2], wx, wy, wz)
        return
    for i in range(3):
        for j in range(3):
            maps[2, 3 * i + j] = (
                pose[i] * maps[1, j] + pose[3 + i] * maps[1, 3 + j] + pose[6 + i] * maps[1, 6 + j]
            )
    vectors.copy(maps[1], maps[2])


@kernel
def constraint_error(constraint_i, frames, exact, spare, e, maps):
    """
    Write the six error components of a constraint, and the matrices that turn root-frame motions into changes of them.

    :param constraint_i: row of the constraint table.
    :param frames: (3, 12) frame a, goal, frame b in the root frame.
    :param exact: True gives the matrices of the true derivative also at a nonzero error.
    :param spare: (12,) scratch.
    :param e: (6,) out: position error [m], then rotation error [rad], along the axes that the constraint chooses.
    :param maps: (3, 9) out: matrices for positions, for rotations of frame b, and for rotations of the goal.
    """
    goal, b = frames[1], frames[2]
    frame = constraint_i[layout.CONSTRAINT_POSITION_FRAME]
    axes_of(frames[max(frame - 1, 0)], frame, maps[0])
    dx, dy, dz = goal[9] - b[9], goal[10] - b[10], goal[11] - b[11]
    vectors.write(e, 0, vectors.times(maps[0], (dx, dy, dz)))
    kind = constraint_i[layout.CONSTRAINT_ROTATION_KIND]
    frame = constraint_i[layout.CONSTRAINT_ROTATION_FRAME]
    if kind == layout.NO_ROTATION:
        e[3] = e[4] = e[5] = 0.0
    elif kind == layout.FULL:
        full_rotation(frames, frame, exact, e, maps)
    elif kind == layout.ALIGN:
        axis_alignment(frames, frame, spare, e, maps)
    else:
        spin_about_z(frames, e, maps)


@kernel
def full_rotation(frames, frame, exact, e, maps):
    """
    Write the rotation vector from b to the goal into ``e[3:]`` [rad], and its derivatives into ``maps``.

    ``maps[1]`` is for rotations of frame b, ``maps[2]`` for rotations of the goal.

    :param frames: (3, 12) frame a, goal, frame b.
    :param frame: whose axes measure the vector: WORLD, FRAME_A, GOAL or FRAME_B.
    :param exact: True gives the true derivative also at a nonzero error; False a cheaper one that is correct at error
        0.
    :param e, maps: (6,), (3, 9) out; ``e[:3]`` and ``maps[0]`` stay.
    """
    wx, wy, wz = se3.relative_rotation_vector(frames[2], frames[1])
    axes_of(frames[max(frame - 1, 0)], frame, maps[1])
    vectors.write(e, 3, vectors.times(maps[1], (wx, wy, wz)))
    if exact:
        rotation_maps(frames[0 if frame == layout.FRAME_A else 1], frame, wx, wy, wz, maps)
    else:
        vectors.copy(maps[2], maps[1])


@kernel
def axis_alignment(frames, frame, spare, e, maps):
    """
    Write the shortest rotation that takes the z axis of b to the goal's z axis, and its exact maps.

    Measured in frame b: with t = R_B^T z_G, e = f(t_z) (-t_y, t_x, 0), f = angle / sine. Measured in the goal: with u =
    R_G^T z_B, e = f(u_z) (u_y, -u_x, 0). The third component is zero by construction. Opposite axes are turned by pi
    about x.

    :param frames: (3, 12) frame a, goal, frame b.
    :param frame: FRAME_B to measure in frame b, otherwise in the goal.
    :param spare: (12,) scratch.
    :param e: (6,) out: the rotation in its last three numbers.
    :param maps: (3, 9) out: the same map in ``maps[1]`` and ``maps[2]``.
    """
    in_b = frame == layout.FRAME_B
    frame_pose, other_pose = (frames[2], frames[1]) if in_b else (frames[1], frames[2])
    t = spare[9:12]
    vectors.write(t, 0, vectors.transposed_times(frame_pose, vectors.column(other_pose, 2)))
    sine = math.sqrt(t[0] * t[0] + t[1] * t[1])
    sign = 1.0 if in_b else -1.0
    local = spare[:9]
    vectors.fill(local, 0.0)
    e[5] = 0.0
    if sine < PARALLEL_SINE:
        e[3], e[4] = (0.0 if t[2] > 0.0 else math.pi), 0.0
        local[0] = local[4] = 1.0
    else:
        angle = math.atan2(sine, t[2])
        f = angle / sine
        if sine < so3.SMALL_ANGLE and t[2] > 0.0:
            slope = -1.0 / 3.0
        else:
            slope = (f * t[2] - 1.0) / (sine * sine)
        e[3], e[4] = -sign * f * t[1], sign * f * t[0]
        # Columns: the change of t by a unit turn of b about each own axis, dt = sign * t x axis.
        for axis in range(3):
            x, y, z = vectors.unit(axis)
            dtx = sign * (t[1] * z - t[2] * y)
            dty = sign * (t[2] * x - t[0] * z)
            dtz = sign * (t[0] * y - t[1] * x)
            local[axis] = sign * (slope * dtz * t[1] + f * dty)
            local[3 + axis] = -sign * (slope * dtz * t[0] + f * dtx)
    for i in range(3):
        for j in range(3):
            maps[1, 3 * i + j] = (
                local[3 * i] * frame_pose[3 * j]
                + local[3 * i + 1] * frame_pose[3 * j + 1]
                + local[3 * i + 2] * frame_pose[3 * j + 2]
            )
    vectors.copy(maps[2], maps[1])


@kernel
def spin_about_z(frames, e, maps):
    """
    Write the rotation about z that remains after the z axes coincide, and its exact map.

    The goal is tilted by the shortest rotation that takes its z axis to b's z axis. The error is the angle about z from
    the x axis of b to the tilted x axis. Its derivative is (z_B + z_G) / (1 + z_B . z_G): the spin of a swing-twist
    decomposition. If the z axes are opposite, no shortest rotation exists: the angle is pi and the map zero.

    :param frames: (3, 12) frame a, goal, frame b.
    :param e: (6,) out: the angle in ``e[5]``, zeros in ``e[3]`` and ``e[4]``.
    :param maps: (3, 9) out: the same map in ``maps[1]`` and ``maps[2]``.
    """
    goal, b = frames[1], frames[2]
    gx, gy, gz = goal[2], goal[5], goal[8]
    bx, by, bz = b[2], b[5], b[8]
    cosine = gx * bx + gy * by + gz * bz
    e[3], e[4] = 0.0, 0.0
    vectors.fill(maps[1], 0.0)
    if cosine < -1.0 + PARALLEL_SINE:
        # No shortest rotation exists: return an error beyond every tolerance.
        e[5] = math.pi
    else:
        ax, ay, az = gy * bz - gz * by, gz * bx - gx * bz, gx * by - gy * bx
        x, y, z = goal[0], goal[3], goal[6]
        cx, cy, cz = ay * z - az * y, az * x - ax * z, ax * y - ay * x
        scale = 1.0 / (1.0 + cosine)
        tx = x + cx + (ay * cz - az * cy) * scale
        ty = y + cy + (az * cx - ax * cz) * scale
        tz = z + cz + (ax * cy - ay * cx) * scale
        along = b[0] * tx + b[3] * ty + b[6] * tz
        across = b[1] * tx + b[4] * ty + b[7] * tz
        e[5] = math.atan2(across, along)
        maps[1, 6] = (bx + gx) * scale
        maps[1, 7] = (by + gy) * scale
        maps[1, 8] = (bz + gz) * scale
    vectors.copy(maps[2], maps[1])


@inline_kernel
def apply_box(constraint_f, e, active):
    """
    Reduce each error component in place to the distance from the box of tolerated deviations.

    If the deviation d = -e is inside [lower, upper], the component and its weight become zero. If lower equals upper,
    the weight stays.

    :param constraint_f: row of the constraint table, which has the bounds.
    :param e, active: (6,) errors and weights.
    """
    for k in range(6):
        d = -e[k]
        lower = constraint_f[layout.CONSTRAINT_LOWER + k]
        upper = constraint_f[layout.CONSTRAINT_UPPER + k]
        # NaN stays NaN: it must not count as inside.
        e[k] = 0.0 if lower <= d <= upper else (upper - d if d > upper else lower - d)
        if e[k] == 0.0 and lower < upper:
            active[k] = 0.0


@inline_kernel
def norms(mask, e):
    """
    Return (position error [m], rotation error [rad]): norms of ``e[:3]`` and ``e[3:]``, selected components only.

    :param mask: bit k is set if component k is selected.
    """
    position, rotation = 0.0, 0.0
    for k in range(3):
        if (mask >> k) & 1:
            position += e[k] * e[k]
        if (mask >> (3 + k)) & 1:
            rotation += e[3 + k] * e[3 + k]
    return math.sqrt(position), math.sqrt(rotation)
