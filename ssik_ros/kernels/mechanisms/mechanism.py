"""
Compute poses, residual rows and exact Jacobian columns of a mechanism with closed loops, and load and store its state.

:func:`locate` writes poses and residuals, :func:`jacobian` the columns; :func:`load` and :func:`store` copy the
state.

Problem
    A closing frame A (a closure joint after its own degrees of freedom, or a goal) and its closed link B must coincide.
    The error is ``e``, and ``J = -de/dq``, so that ``J dq = e`` is a Newton step.

Method
    Each degree of freedom is a node: a slide along, or a turn about, an axis of the frame after the node before it, in
    the order X, Y, Z, EZ, EY, EX. A ball is one node. So a node's axis and origin depend on all nodes before it. Its
    unit twist is (v, w) with v = axis or w x (r - p). With d = p_A - p_B and w_e = log(R_A R_B^T):

    ==========  ================  ===========  ============  ====================  ====================
    axes        e                 r, moves A   r, moves B    M, moves A            M, moves B
    ==========  ================  ===========  ============  ====================  ====================
    world       d, w_e            p_A          p_B           Jl^-1(w_e)            Jl^-1(-w_e)
    frame A     R_A^T (d, w_e)    p_B          p_B           R_A^T Jl^-1(-w_e)     R_A^T Jl^-1(-w_e)
    ==========  ================  ===========  ============  ====================  ====================

    A column is F v(r) and M w, with F = 1 or R_A^T: positive if the node moves B, negative if it moves A, and the sum
    if it moves both. ``exact = False`` leaves the inverse Jacobians out, which is correct at w_e = 0.

    These rows equal the rows of :mod:`ssik_ros.kernels.rows.rows` with A as the goal and B as frame b, and M is the
    same code. Two things differ, for speed. A joint has several nodes about any axis instead of one about z, so nothing
    has to be multiplied between them. And the columns of a constraint are contiguous, without columns of variables that
    it does not depend on, because J^T J is sparse. Residuals are measured without columns, since a refused step needs
    no columns.

Degeneracies
    At a rotation of pi the axis is one of two.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import se3, so3, vectors
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.kernels.rows import layout as row_layout, rows, steps, tree

SHORTEST_BALL_QUATERNION = 1e-9
"""Norm of the quaternion of a ball joint below which it defines no rotation [1]."""
AT_BEFORE = 12
"""Offset in the scratch of :func:`fold`: first a pose, then the product before it."""


@kernel
def fold(table, segments, start, count, out, scratch):
    """
    Write the product of the fixed poses of ``count`` frames, from ``segments[start]`` on, into ``out``.

    :param table: (F, FRAME_REALS) numbers of the mechanism's frames.
    :param segments: rows of ``table``, one for each factor of a product.
    :param out: (12,) out: the product; the identity if ``count`` is 0.
    :param scratch: (24,) or more scratch.
    :returns: -1 if all poses are valid, else the row of a frame whose pose is not finite or has a quaternion of nearly
        zero length.
    """
    local, before = vector(scratch, 0, 12), vector(scratch, AT_BEFORE, 12)
    se3.identity(out)
    moved = False
    for k in range(start, start + count):
        frame = segments[k]
        p, q = layout.POSITION, layout.QUATERNION
        x, y, z = table[frame, q], table[frame, q + 1], table[frame, q + 2]
        w, turn = table[frame, q + 3], abs(x) + abs(y) + abs(z)
        shift = abs(table[frame, p]) + abs(table[frame, p + 1]) + abs(table[frame, p + 2])
        if not (math.isfinite(shift + turn + w) and turn + abs(w) > SHORTEST_BALL_QUATERNION):
            return frame
        if shift == 0.0 and turn == 0.0:
            continue
        so3.from_quaternion(local, x, y, z, w)
        vectors.write(local, 9, vectors.read(table[frame], p))
        if moved:
            vectors.copy(before, out)
            se3.compose(out, before, local)
        else:
            vectors.copy(out, local)
            moved = True
    return -1


@inline_kernel
def place_anew(block, t, w, start, count, out):
    """
    Write the product of the fixed poses of some frames into ``out`` (12,), unless it is there already.

    It is there if no pose of these frames has changed since the last call.

    :param start, count: first entry of the frames in the segment table, and their number.
    :returns: -1 if all poses are valid, else the row of a frame whose pose is not.
    """
    changed = 0
    for k in range(start, start + count):
        frame = t.segment[k]
        # All of them, without a branch for each.
        for i in range(layout.FIXED):
            changed |= int(w.fixed[k, i] != block.table[frame, i])
    if changed == 0:
        return -1
    for k in range(start, start + count):
        vectors.copy(w.fixed[k], block.table[t.segment[k]])
    bad = fold(block.table, t.segment, start, count, out, w.scratch)
    if bad >= 0:
        w.fixed[start, 0] = math.nan
    return bad


@kernel
def load(address):
    """
    Copy fixed poses, values, limits and locks of a chain from the table into the workspace.

    Products of fixed poses are computed again only if a pose has changed.

    :param address: address of the block of the chain.
    :returns: -1 if all poses and values are valid, else the row of a frame. Its pose or value is not finite, or it has
        a quaternion of nearly zero length. Limits are not checked.
    """
    block, t, w = layout.view_chain(address)
    for i in range(t.node.shape[0]):
        start, count = t.node[i, layout.NODE_SEGMENT], t.node[i, layout.NODE_SEGMENTS]
        bad = place_anew(block, t, w, start, count, w.placements[i])
        if bad >= 0:
            return bad
    for end in range(2 * t.constraint.shape[0]):
        c, side = end // 2, 3 * (end % 2)
        start = t.constraint[c, layout.CONSTRAINT_SEGMENT_A + side]
        count = t.constraint[c, layout.CONSTRAINT_SEGMENTS_A + side]
        bad = place_anew(block, t, w, start, count, w.end_placements[end])
        if bad >= 0:
            return bad
    return load_state(block, t, w)


@inline_kernel
def load_state(block, t, w):
    """
    Copy the joint values of a chain from the table into ``current``, its limits into ``lower`` and ``upper``.

    The limits are tightened by the limits of followers. Values are clipped to them unless they are locked. ``held``
    becomes 2 for locked variables, else 0.

    :returns: -1 if all values are valid, else the row of a frame. Its value is not finite, or its quaternion is too
        short. Limits are not checked.
    """
    for v in range(t.variable.shape[0]):
        kind, at = t.variable[v, row_layout.VARIABLE_KIND], t.variable[v, row_layout.VARIABLE_Q]
        frame, dof = t.variable[v, layout.VARIABLE_FRAME], t.variable[v, layout.VARIABLE_DOF]
        w.held[v] = 2.0 if block.flags[frame, layout.LOCKED + dof] != 0 else 0.0
        if kind == row_layout.LINEAR:
            w.lower[v], w.upper[v] = (
                block.table[frame, layout.LOWER + dof],
                block.table[frame, layout.UPPER + dof],
            )
            value = block.table[frame, layout.VALUES + dof]
            if not math.isfinite(value):
                return frame
            w.current[at] = value
        else:
            w.lower[v], w.upper[v] = -math.inf, math.inf
            if kind == row_layout.BALL_FIRST:
                total = 0.0
                for k in range(4):
                    w.current[at + k] = block.table[frame, layout.ROTATION + k]
                    total += w.current[at + k] * w.current[at + k]
                if not (math.isfinite(total) and total > SHORTEST_BALL_QUATERNION):
                    return frame
    tighten_by_followers(block, t, w)
    for v in range(t.variable.shape[0]):
        # A locked value is the user's, wherever it is.
        if t.variable[v, row_layout.VARIABLE_KIND] == row_layout.LINEAR and w.held[v] == 0.0:
            at = t.variable[v, row_layout.VARIABLE_Q]
            w.current[at] = min(max(w.current[at], w.lower[v]), w.upper[v])
    return -1


@inline_kernel
def tighten_by_followers(block, t, w):
    """
    Tighten the limits of variables so that joint values that follow them stay within their own limits, too.

    A follower has the value of a variable times a factor, plus an offset. If no value suits all limits, the upper limit
    becomes equal to the lower one.
    """
    for i in range(t.node.shape[0]):
        factor = t.factors[i, layout.NODE_MULTIPLIER]
        if t.node[i, layout.NODE_OWNER] == 0 and factor != 0.0:
            v, frame = t.node[i, layout.NODE_VARIABLE], t.node[i, layout.NODE_FRAME]
            kind = t.node[i, layout.NODE_KIND]
            offset = t.factors[i, layout.NODE_OFFSET]
            one = (block.table[frame, layout.LOWER + kind] - offset) / factor
            other = (block.table[frame, layout.UPPER + kind] - offset) / factor
            w.lower[v] = max(w.lower[v], min(one, other))
            w.upper[v] = max(w.lower[v], min(w.upper[v], max(one, other)))


@inline_kernel
def forward(t, w):
    """
    Write the poses of all nodes into ``poses``, and the poses of closing frames and closed links into ``ends``.

    Both ends of a closure, closing frame and closed link, should coincide. The poses belong to the joint values in
    ``trial``, in world axes.
    """
    for i in range(t.node.shape[0]):
        parent, kind = t.node[i, layout.NODE_PARENT], t.node[i, layout.NODE_KIND]
        at, pose = t.node[i, layout.NODE_STATE], w.poses[i]
        value, sine, cosine = 0.0, 0.0, 1.0
        if kind != layout.BALL:
            multiplier = t.factors[i, layout.NODE_MULTIPLIER]
            value = t.factors[i, layout.NODE_OFFSET] + multiplier * w.trial[at]
        if layout.FIRST_TURN <= kind < layout.BALL:
            sine, cosine = so3.sine_cosine(value)
        attach(pose, w.poses, parent, w.placements[i], t.node[i, layout.NODE_SEGMENTS])
        if kind == layout.BALL:
            tree.turn_by_quaternion(pose, w.trial, at)
        elif kind < layout.FIRST_TURN:
            for k in range(3):
                pose[9 + k] += value * pose[3 * k + kind]
        else:
            turn_about(pose, kind - layout.FIRST_TURN, sine, cosine)
    for c in range(t.constraint.shape[0]):
        for side in range(2):
            attach(
                w.ends[2 * c + side],
                w.poses,
                t.constraint[c, layout.CONSTRAINT_NODE_A + 3 * side],
                w.end_placements[2 * c + side],
                t.constraint[c, layout.CONSTRAINT_SEGMENTS_A + 3 * side],
            )


@inline_kernel
def attach(out, poses, parent, placement, segments):
    """
    Write the pose of a frame that is fixed to a node, ``poses[parent]`` times ``placement``, into ``out`` (12,).

    :param poses: (N, 12) poses of the nodes.
    :param parent: index of the node; -1 for the world, so that ``out`` is the placement.
    :param placement: (12,) pose of the frame in the node.
    :param segments: number of fixed poses in the placement; 0 means that it is the identity.
    """
    if parent < 0:
        vectors.copy(out, placement)
    elif segments == 0:
        vectors.copy(out, poses[parent])
    else:
        se3.compose(out, poses[parent], placement)


@inline_kernel
def turn_about(pose, axis, sine, cosine):
    """
    Rotate a pose (12,) in place about its own x, y or z axis.

    :param axis: 0, 1, 2 for x, y, z.
    :param sine, cosine: of the angle.
    """
    if axis == 0:
        tree.turn_columns(pose, 1, 2, sine, cosine)
    elif axis == 1:
        tree.turn_columns(pose, 2, 0, sine, cosine)
    else:
        tree.turn_columns(pose, 0, 1, sine, cosine)


@inline_kernel
def residuals(block, t, w):
    """
    Write weighted residual and errors of every constraint at the poses in the workspace.

    Both are zero for excluded constraints.

    :returns: (cost, error, inside): half the squared weighted residual; position plus rotation error, summed over the
        constraints with an error outside its tolerance [m + rad]; whether all errors are within.
    """
    cost, unmet, inside = 0.0, 0.0, True
    for c in range(t.constraint.shape[0]):
        e = w.residual[c]
        vectors.fill(e, 0.0)
        w.errors[c, 0] = w.errors[c, 1] = 0.0
        if block.flags[t.constraint[c, layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        constraint_error(t.constraint[c], w.ends[2 * c], w.ends[2 * c + 1], e, w.turns[c])
        for half in range(2):
            total = 0.0
            factor = block.options[layout.TRANSLATION_FACTOR + half]
            for k in range(3 * half, 3 * half + 3):
                total += e[k] * e[k]
                e[k] *= factor
            w.errors[c, half] = math.sqrt(total)
            cost += 0.5 * factor * factor * total
        if not (
            w.errors[c, 0] < block.options[layout.TRANSLATION_TOLERANCE]
            and w.errors[c, 1] < block.options[layout.ROTATION_TOLERANCE]
        ):
            inside = False
            unmet += w.errors[c, 0] + w.errors[c, 1]
    return cost, unmet, inside


@inline_kernel
def constraint_error(constraint, a, b, e, turn):
    """
    Write six error components of a constraint into ``e``, and its rotation vector in world axes into ``turn``.

    The constraint asks that the closing frame A and the closed link B coincide. The components are measured along the
    axes of the world or of A, as the constraint says. Those that it does not select are zero in ``e``.

    :param constraint: row of the constraint table.
    :param a, b: (12,) poses of A and B.
    :param e: (6,) out: position error [m], then rotation error [rad].
    :param turn: (3,) out: rotation vector from B to A [rad]; zero if the constraint selects no rotation.
    """
    mask = constraint[layout.CONSTRAINT_MASK]
    shift, rotation = vectors.subtract(vectors.read(a, 9), vectors.read(b, 9)), (0.0, 0.0, 0.0)
    if mask >= 8:
        rotation = se3.relative_rotation_vector(b, a)
    vectors.write(turn, 0, rotation)
    if constraint[layout.CONSTRAINT_WORLD] == 0:
        shift = vectors.transposed_times(a, shift)
        rotation = vectors.transposed_times(a, rotation)
    vectors.write(e, 0, shift)
    vectors.write(e, 3, rotation)
    for k in range(6):
        if (mask >> k) & 1 == 0:
            e[k] = 0.0


@kernel
def locate(address):
    """
    Write poses, residuals and errors of a chain at the state ``trial`` into its workspace.

    :param address: address of the chain's block.
    :returns: (cost, error, inside): half the squared weighted residual; position plus rotation error, summed over the
        constraints with an error outside its tolerance [m + rad]; whether all errors are within.
    """
    block, t, w = layout.view_chain(address)
    forward(t, w)
    return residuals(block, t, w)


@kernel
def jacobian(address, exact):
    """
    Write the weighted Jacobian of every constraint, J = -de/dq, column by column into ``blocks``.

    It belongs to the poses that :func:`residuals` has measured; it is zero for excluded constraints.

    :param address: address of the chain's block.
    :param exact: True gives rotation rows the true derivative also at a nonzero error.
    """
    block, t, w = layout.view_chain(address)
    maps = matrix(w.scratch, 0, 3, 9)
    for c in range(t.constraint.shape[0]):
        row = t.constraint[c]
        first = row[layout.CONSTRAINT_COLUMN]
        for k in range(first, first + row[layout.CONSTRAINT_COLUMNS]):
            vectors.fill(w.blocks[k], 0.0)
        if block.flags[row[layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        write_maps(row, w.ends[2 * c], w.turns[c], exact, maps)
        start = row[layout.CONSTRAINT_PATH]
        for k in range(start, start + row[layout.CONSTRAINT_PATHS]):
            i = t.path[k, layout.PATH_NODE]
            add_columns(
                t.node[i, layout.NODE_KIND],
                t.factors[i, layout.NODE_MULTIPLIER],
                t.path[k, layout.PATH_SIDE],
                row[layout.CONSTRAINT_WORLD] != 0,
                w.poses[i],
                w.ends[2 * c],
                w.ends[2 * c + 1],
                maps,
                w.blocks,
                first + t.path[k, layout.PATH_COLUMN],
            )
        weigh(row, block.options, w.blocks, first)


@inline_kernel
def weigh(constraint, options, blocks, first):
    """
    Multiply the Jacobian of one constraint in place by the row weights; rows that are not selected become zero.

    :param constraint: row of the constraint table.
    :param options: of the solve, with the weights of position and rotation.
    :param blocks: (., 6) Jacobian columns of all constraints.
    :param first: first column of this constraint.
    """
    mask = constraint[layout.CONSTRAINT_MASK]
    plain = (
        mask == 63
        and options[layout.TRANSLATION_FACTOR] == 1.0
        and options[layout.ROTATION_FACTOR] == 1.0
    )
    if not plain:
        for k in range(first, first + constraint[layout.CONSTRAINT_COLUMNS]):
            for i in range(6):
                factor = options[layout.TRANSLATION_FACTOR + i // 3]
                blocks[k, i] *= factor if (mask >> i) & 1 != 0 else 0.0


@inline_kernel
def write_maps(constraint, a, turn, exact, maps):
    """
    Write the three matrices (9,) that map world-axes motions to the errors of a constraint into ``maps``.

    They are for positions, for rotations of nodes that move the closed link B, and of nodes that move the closing frame
    A.

    :param a: (12,) pose of A.
    :param turn: (3,) rotation vector of the constraint in world axes [rad].
    :param exact: True gives the true derivative also at a nonzero error; False a cheaper one that is correct at error
        0.
    """
    is_world = constraint[layout.CONSTRAINT_WORLD] != 0
    axes = row_layout.WORLD if is_world else row_layout.GOAL
    rows.axes_of(a, axes, maps[0])
    share = 1.0 if exact else 0.0
    rows.rotation_maps(a, axes, share * turn[0], share * turn[1], share * turn[2], maps)


@inline_kernel
def add_columns(kind, factor, side, world, pose, a, b, maps, blocks, column):
    """
    Add the effect of a node on the six errors of a constraint to ``blocks[column]``, unweighted.

    A ball has three columns, of which ``column`` is the first.

    :param kind, factor, pose: kind, multiplier and pose (12,) of the node.
    :param side: MOVES_A, MOVES_B or their sum: the ends of the constraint that the node moves.
    :param world: True if the errors are measured in world axes, False in the axes of A.
    :param a, b: (12,) poses of the closing frame A and the closed link B.
    :param maps: result of :func:`write_maps`.
    """
    if kind < layout.FIRST_TURN:
        if side == layout.MOVES_A:
            factor = -factor
        # A slide that carries both ends changes the error in no axes.
        if side != layout.MOVES_A + layout.MOVES_B:
            for i in range(3):
                total = 0.0
                for k in range(3):
                    total += maps[0, 3 * i + k] * pose[3 * k + kind]
                blocks[column, i] += factor * total
        return
    first, end = kind - layout.FIRST_TURN, kind - layout.FIRST_TURN + 1
    if kind == layout.BALL:
        first, end = 0, 3
    for axis in range(first, end):
        if side & layout.MOVES_B:
            add_turn(blocks[column], pose, axis, factor, b, maps, 1)
        if side & layout.MOVES_A:
            add_turn(blocks[column], pose, axis, -factor, a if world else b, maps, 2)
        column += 1


@inline_kernel
def add_turn(out, pose, axis, factor, point, maps, side):
    """
    Add the derivative of the six errors by a rotation about an axis of ``pose``, times ``factor``, to ``out`` (6,).

    :param axis: 0, 1, 2 for the x, y, z axis of ``pose`` (12,).
    :param point: (12,) pose whose origin the rotation moves.
    :param maps, side: result of :func:`write_maps`; ``maps[side]`` is its matrix for this rotation.
    """
    x, y, z = turn = vectors.scale(factor, vectors.column(pose, axis))
    arm = vectors.subtract(vectors.read(point, 9), vectors.read(pose, 9))
    vx, vy, vz = vectors.cross(turn, arm)
    for i in range(3):
        out[i] += maps[0, 3 * i] * vx + maps[0, 3 * i + 1] * vy + maps[0, 3 * i + 2] * vz
        out[3 + i] += maps[side, 3 * i] * x + maps[side, 3 * i + 1] * y + maps[side, 3 * i + 2] * z


@kernel
def zyx_angles(r):
    """
    Return the angles (ex, ey, ez) of a rotation Rz(ez) Ry(ey) Rx(ex) [rad]; ez is 0 where ey is +-pi/2.

    :param r: array whose first nine numbers are the matrix, row by row.
    """
    cosine = math.sqrt(r[0] * r[0] + r[3] * r[3])
    ey = math.atan2(-r[6], cosine)
    if cosine > 1e-12:
        return math.atan2(r[7], r[8]), ey, math.atan2(r[3], r[0])
    # ex and ez rotate about the same line: ex takes the whole angle.
    return math.atan2(-r[5], r[4]), ey, 0.0


@inline_kernel
def store(block, t, w):
    """Write the state ``current`` into the table: joint values, quaternions of ball joints, and values of followers."""
    for v in range(t.variable.shape[0]):
        kind, at = t.variable[v, row_layout.VARIABLE_KIND], t.variable[v, row_layout.VARIABLE_Q]
        frame, dof = t.variable[v, layout.VARIABLE_FRAME], t.variable[v, layout.VARIABLE_DOF]
        if kind == row_layout.LINEAR:
            block.table[frame, layout.VALUES + dof] = w.current[at]
        elif kind == row_layout.BALL_FIRST:
            store_ball(block.table, frame, w.current, at, w.scratch)
    for i in range(t.node.shape[0]):
        if t.node[i, layout.NODE_OWNER] == 0:
            frame = t.node[i, layout.NODE_FRAME]
            value = t.factors[i, layout.NODE_OFFSET]
            value += t.factors[i, layout.NODE_MULTIPLIER] * w.current[t.node[i, layout.NODE_STATE]]
            block.table[frame, layout.VALUES + t.node[i, layout.NODE_KIND]] = value


@inline_kernel
def wind(angle, reference):
    """Return an angle moved by the whole turns that bring it nearest to a reference angle [rad]."""
    return steps.nearest_winding(angle, reference, -math.inf, math.inf)


@kernel
def store_ball(table, frame, state, at, scratch):
    """
    Write the quaternion of a ball joint into the table, and its angles (ex, ey, ez) of Rz(ez) Ry(ey) Rx(ex) [rad].

    Two triples of angles describe a rotation; the one nearer to the angles in the table is written.

    :param frame: row of the joint's frame in the table.
    :param state: the state of the chain.
    :param at: index of the quaternion in the state.
    :param scratch: (9,) or more scratch.
    """
    r = vector(scratch, 0, 9)
    for k in range(4):
        table[frame, layout.ROTATION + k] = state[at + k]
    so3.from_quaternion(r, state[at], state[at + 1], state[at + 2], state[at + 3])
    x, y, z = zyx_angles(r)
    at = layout.VALUES + layout.FIRST_TURN
    oldx, oldy, oldz = table[frame, at], table[frame, at + 1], table[frame, at + 2]
    x, y, z = wind(x, oldx), wind(y, oldy), wind(z, oldz)
    otherx, othery = wind(x + math.pi, oldx), wind(math.pi - y, oldy)
    otherz = wind(z + math.pi, oldz)
    one = abs(x - oldx) + abs(y - oldy) + abs(z - oldz)
    two = abs(otherx - oldx) + abs(othery - oldy) + abs(otherz - oldz)
    if two < one:
        x, y, z = otherx, othery, otherz
    table[frame, at], table[frame, at + 1], table[frame, at + 2] = x, y, z
