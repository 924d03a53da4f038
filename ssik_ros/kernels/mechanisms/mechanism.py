"""
Poses, residual rows and exact Jacobian columns of a mechanism with closed loops.

Problem
    A closing frame A (a closure joint behind its own degrees of freedom, or a goal) and its closed link B are asked to
    coincide. The error is ``e``, and ``J = -de/dq``, so that ``J dq = e`` is a Newton step.

Method
    Each degree of freedom is a node: a slide along or a turn about an axis of the frame that the one before it left,
    in the order X, Y, Z, EZ, EY, EX; a ball is one node. A node's axis and origin therefore are those after all that
    stands before it, and its unit twist is (v, w) with v = axis or w x (r - p). With d = p_A - p_B and
    w_e = log(R_A R_B^T):

    ==========  =======================  ===========  ============  ===================  =================
    axes        e                        r, moves A   r, moves B    M, moves A           M, moves B
    ==========  =======================  ===========  ============  ===================  =================
    world       d, w_e                   p_A          p_B           Jl^-1(w_e)           Jl^-1(-w_e)
    frame A     R_A^T d, u = R_A^T w_e   p_B          p_B           Jl^-1(-u) R_A^T      Jl^-1(-u) R_A^T
    ==========  =======================  ===========  ============  ===================  =================

    A column is F v(r) and M w, with F = 1 or R_A^T, positive where the node moves B, negative where it moves A, and
    the sum where it moves both. ``exact = False`` leaves the inverse Jacobians out, which is right at w_e = 0.

Degeneracies
    At a rotation of pi the axis is one of two.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import se3, so3
from ssik_ros.kernels.mechanisms import layout

SHORTEST_QUATERNION = 1e-9


@inline_kernel
def put_identity(out):
    """Write the transform that moves nothing."""
    for k in range(12):
        out[k] = 1.0 if k == 0 or k == 4 or k == 8 else 0.0


@kernel
def fold(table, segments, start, count, out, scratch):
    """Write the product of the fixed poses of frames; return the row of a frame that has none, or -1."""
    local, before = vector(scratch, 0, 12), vector(scratch, 12, 12)
    put_identity(out)
    moved = False
    for k in range(start, start + count):
        frame = segments[k]
        p, q = layout.POSITION, layout.QUATERNION
        x, y, z = table[frame, q], table[frame, q + 1], table[frame, q + 2]
        w, turn = table[frame, q + 3], abs(x) + abs(y) + abs(z)
        shift = abs(table[frame, p]) + abs(table[frame, p + 1]) + abs(table[frame, p + 2])
        if not (math.isfinite(shift + turn + w) and turn + abs(w) > SHORTEST_QUATERNION):
            return frame
        if shift == 0.0 and turn == 0.0:
            continue
        so3.from_quaternion(local, x, y, z, w)
        for i in range(3):
            local[9 + i] = table[frame, p + i]
        if moved:
            for i in range(12):
                before[i] = out[i]
            se3.compose(out, before, local)
        else:
            for i in range(12):
                out[i] = local[i]
            moved = True
    return -1


@inline_kernel
def place_anew(table, segments, start, count, fixed, out, scratch):
    """Write the product of the fixed poses of frames if one has changed; return as :func:`fold` does."""
    changed = 0
    for k in range(start, start + count):
        frame = segments[k]
        # All of them, without a branch for each.
        for i in range(layout.FIXED):
            changed |= int(fixed[k, i] != table[frame, i])
    if changed == 0:
        return -1
    for k in range(start, start + count):
        for i in range(layout.FIXED):
            fixed[k, i] = table[segments[k], i]
    bad = fold(table, segments, start, count, out, scratch)
    if bad >= 0:
        fixed[start, 0] = math.nan
    return bad


@inline_kernel
def load_poses(table, node, constraint, segments, placements, end_placements, fixed, scratch):
    """
    Read the fixed poses of nodes and ends from the table, where they differ from those that were read before.

    :param fixed: (segments, FIXED) what was read; NaN where nothing was.

    :returns: the row of a frame with a number that is none, or -1.
    """
    for i in range(node.shape[0]):
        bad = place_anew(
            table,
            segments,
            node[i, layout.NODE_SEGMENT],
            node[i, layout.NODE_SEGMENTS],
            fixed,
            placements[i],
            scratch,
        )
        if bad >= 0:
            return bad
    for c in range(constraint.shape[0]):
        for side in range(2):
            bad = place_anew(
                table,
                segments,
                constraint[c, layout.CONSTRAINT_SEGMENT_A + 3 * side],
                constraint[c, layout.CONSTRAINT_SEGMENTS_A + 3 * side],
                fixed,
                end_placements[2 * c + side],
                scratch,
            )
            if bad >= 0:
                return bad
    return -1


@inline_kernel
def load(table, flags, t, w):
    """
    Read poses, state and limits of a chain from the table.

    :returns: the row of a frame with a number that is none, or -1.
    """
    bad = load_poses(
        table, t.node, t.constraint, t.segment, w.placements, w.end_placements, w.fixed, w.scratch
    )
    if bad >= 0:
        return bad
    return load_state(
        table, flags, t.node, t.factors, t.variable, w.current, w.lower, w.upper, w.held
    )


@inline_kernel
def load_state(table, flags, node, factors, variable, state, lower, upper, held):
    """Read the state and its limits; return the row of a frame with a number that is none, or -1."""
    for v in range(variable.shape[0]):
        kind, at = variable[v, layout.VARIABLE_KIND], variable[v, layout.VARIABLE_STATE]
        frame, dof = variable[v, layout.VARIABLE_FRAME], variable[v, layout.VARIABLE_DOF]
        held[v] = 2.0 if flags[frame, layout.LOCKED + dof] != 0 else 0.0
        if kind < layout.BALL:
            lower[v], upper[v] = (
                table[frame, layout.LOWER + dof],
                table[frame, layout.UPPER + dof],
            )
            value = table[frame, layout.VALUES + dof]
            if not math.isfinite(value):
                return frame
            state[at] = value
        else:
            lower[v], upper[v] = -math.inf, math.inf
            if kind == layout.BALL:
                total = 0.0
                for k in range(4):
                    state[at + k] = table[frame, layout.ROTATION + k]
                    total += state[at + k] * state[at + k]
                if not (math.isfinite(total) and total > SHORTEST_QUATERNION):
                    return frame
    tighten_by_followers(table, node, factors, lower, upper)
    for v in range(variable.shape[0]):
        # A locked value is the user's, wherever it is.
        if variable[v, layout.VARIABLE_KIND] < layout.BALL and held[v] == 0.0:
            at = variable[v, layout.VARIABLE_STATE]
            state[at] = min(max(state[at], lower[v]), upper[v])
    return -1


@inline_kernel
def tighten_by_followers(table, node, factors, lower, upper):
    """Tighten the limits of variables by those of the degrees of freedom that follow them."""
    for i in range(node.shape[0]):
        factor = factors[i, layout.NODE_MULTIPLIER]
        if node[i, layout.NODE_OWNER] == 0 and factor != 0.0:
            v, frame = node[i, layout.NODE_VARIABLE], node[i, layout.NODE_FRAME]
            kind = node[i, layout.NODE_KIND]
            offset = factors[i, layout.NODE_OFFSET]
            one = (table[frame, layout.LOWER + kind] - offset) / factor
            other = (table[frame, layout.UPPER + kind] - offset) / factor
            lower[v] = max(lower[v], min(one, other))
            upper[v] = max(lower[v], min(upper[v], max(one, other)))


@inline_kernel
def forward(state, node, factors, constraint, placements, end_placements, poses, ends, scratch):
    """Write the poses of nodes and ends at a state."""
    for i in range(node.shape[0]):
        parent, kind = node[i, layout.NODE_PARENT], node[i, layout.NODE_KIND]
        at = node[i, layout.NODE_STATE]
        if kind == layout.BALL:
            attach(poses[i], poses, parent, placements[i], node[i, layout.NODE_SEGMENTS])
            turn_by_quaternion(poses[i], state, at, scratch)
            continue
        value = factors[i, layout.NODE_OFFSET] + factors[i, layout.NODE_MULTIPLIER] * state[at]
        if kind < layout.FIRST_TURN:
            attach(poses[i], poses, parent, placements[i], node[i, layout.NODE_SEGMENTS])
            for k in range(3):
                poses[i, 9 + k] += value * poses[i, 3 * k + kind]
        else:
            sine, cosine = so3.sine_cosine(value)
            attach(poses[i], poses, parent, placements[i], node[i, layout.NODE_SEGMENTS])
            turn_columns(poses[i], kind - layout.FIRST_TURN, sine, cosine)
    for c in range(constraint.shape[0]):
        for side in range(2):
            attach(
                ends[2 * c + side],
                poses,
                constraint[c, layout.CONSTRAINT_NODE_A + 3 * side],
                end_placements[2 * c + side],
                constraint[c, layout.CONSTRAINT_SEGMENTS_A + 3 * side],
            )


@inline_kernel
def attach(out, poses, parent, placement, segments):
    """Write the pose of what has a fixed placement in a node, or in the world."""
    if parent < 0:
        for k in range(12):
            out[k] = placement[k]
    elif segments == 0:
        for k in range(12):
            out[k] = poses[parent, k]
    else:
        se3.compose(out, poses[parent], placement)


@inline_kernel
def turn_columns(pose, axis, sine, cosine):
    """Turn a pose about one of its axes; each case with places that the compiler knows."""
    if axis == 0:
        turn_pair(pose, 1, 2, sine, cosine)
    elif axis == 1:
        turn_pair(pose, 2, 0, sine, cosine)
    else:
        turn_pair(pose, 0, 1, sine, cosine)


@inline_kernel
def turn_pair(pose, a, b, sine, cosine):
    """Turn two columns of a pose in their plane."""
    for k in range(3):
        x, y = pose[3 * k + a], pose[3 * k + b]
        pose[3 * k + a] = cosine * x + sine * y
        pose[3 * k + b] = cosine * y - sine * x


@kernel
def turn_by_quaternion(pose, state, at, scratch):
    """Turn a pose in place by a rotation of its own axes."""
    r = vector(scratch, 0, 9)
    so3.from_quaternion(r, state[at], state[at + 1], state[at + 2], state[at + 3])
    for k in range(3):
        x, y, z = pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]
        for j in range(3):
            pose[3 * k + j] = x * r[j] + y * r[3 + j] + z * r[6 + j]


@inline_kernel
def residuals(flags, options, constraint, ends, residual, errors, turns):
    """
    Write residual and errors of every constraint at the poses at hand.

    :returns: half the squared weighted residual, the sum of the errors that are beyond a tolerance, and whether none is.
    """
    cost, unmet, inside = 0.0, 0.0, True
    for c in range(constraint.shape[0]):
        e = residual[c]
        for k in range(6):
            e[k] = 0.0
        errors[c, 0] = errors[c, 1] = 0.0
        if flags[constraint[c, layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        constraint_error(constraint[c], ends[2 * c], ends[2 * c + 1], e, turns[c])
        for half in range(2):
            total = 0.0
            factor = options[layout.TRANSLATION_FACTOR + half]
            for k in range(3 * half, 3 * half + 3):
                total += e[k] * e[k]
                e[k] *= factor
            errors[c, half] = math.sqrt(total)
            cost += 0.5 * factor * factor * total
        if not (
            errors[c, 0] < options[layout.TRANSLATION_TOLERANCE]
            and errors[c, 1] < options[layout.ROTATION_TOLERANCE]
        ):
            inside = False
            unmet += errors[c, 0] + errors[c, 1]
    return cost, unmet, inside


@inline_kernel
def constraint_error(constraint, a, b, e, turn):
    """Write the six error components of a constraint, zero where they do not count, and the rotation vector."""
    mask = constraint[layout.CONSTRAINT_MASK]
    dx, dy, dz = a[9] - b[9], a[10] - b[10], a[11] - b[11]
    wx, wy, wz = 0.0, 0.0, 0.0
    if mask >= 8:
        wx, wy, wz = se3.relative_rotation_vector(b, a)
    turn[0], turn[1], turn[2] = wx, wy, wz
    if constraint[layout.CONSTRAINT_WORLD] != 0:
        e[0], e[1], e[2], e[3], e[4], e[5] = dx, dy, dz, wx, wy, wz
    else:
        for k in range(3):
            e[k] = a[k] * dx + a[3 + k] * dy + a[6 + k] * dz
            e[3 + k] = a[k] * wx + a[3 + k] * wy + a[6 + k] * wz
    for k in range(6):
        if (mask >> k) & 1 == 0:
            e[k] = 0.0


@kernel
def locate(address):
    """
    Write poses, residual and errors of the trial state.

    :param address: of the chain's block: all arrays of both steps as arguments would cost more than they do.
    :returns: as :func:`residuals`.
    """
    _, flags, options, _, ints, _, reals, work = layout.view_block(address)
    t, w = layout.view_tables(ints, reals), layout.view_workspace(ints, work)
    forward(
        w.trial,
        t.node,
        t.factors,
        t.constraint,
        w.placements,
        w.end_placements,
        w.poses,
        w.ends,
        w.scratch,
    )
    return residuals(flags, options, t.constraint, w.ends, w.residual, w.errors, w.turns)


@inline_kernel
def jacobian(
    flags, options, node, factors, constraint, path, poses, ends, turns, blocks, scratch, exact
):
    """Write the weighted Jacobian of every constraint at the poses whose :func:`residuals` are at hand."""
    maps = matrix(scratch, 0, 3, 9)
    for c in range(constraint.shape[0]):
        row = constraint[c]
        first = row[layout.CONSTRAINT_COLUMN]
        for k in range(first, first + row[layout.CONSTRAINT_COLUMNS]):
            for i in range(6):
                blocks[k, i] = 0.0
        if flags[row[layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        write_maps(row, ends[2 * c], turns[c], exact, maps, scratch)
        start = row[layout.CONSTRAINT_PATH]
        for k in range(start, start + row[layout.CONSTRAINT_PATHS]):
            i = path[k, layout.PATH_NODE]
            add_columns(
                node[i, layout.NODE_KIND],
                factors[i, layout.NODE_MULTIPLIER],
                path[k, layout.PATH_SIDE],
                row[layout.CONSTRAINT_WORLD] != 0,
                poses[i],
                ends[2 * c],
                ends[2 * c + 1],
                maps,
                blocks,
                first + path[k, layout.PATH_COLUMN],
            )
        weigh(row, options, blocks, first)


@inline_kernel
def weigh(constraint, options, blocks, first):
    """Weigh the rows of a constraint's Jacobian; those that do not count become zero."""
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
def write_maps(constraint, a, turn, exact, maps, scratch):
    """Write the matrices that take world twists to rows: F, M for nodes that move A, M for nodes that move B."""
    world = constraint[layout.CONSTRAINT_WORLD] != 0
    wx, wy, wz = 0.0, 0.0, 0.0
    if exact:
        wx, wy, wz = turn[0], turn[1], turn[2]
    if world:
        for k in range(9):
            maps[0, k] = 1.0 if k % 4 == 0 else 0.0
        so3.inverse_left_jacobian(maps[1], wx, wy, wz)
        so3.inverse_left_jacobian(maps[2], -wx, -wy, -wz)
    else:
        # Jl^-1(-u) R_A^T = R_A^T Jl^-1(-w), for u = R_A^T w.
        left = vector(scratch, 27, 9)
        so3.inverse_left_jacobian(left, -wx, -wy, -wz)
        for i in range(3):
            for j in range(3):
                maps[0, 3 * i + j] = a[3 * j + i]
                total = 0.0
                for k in range(3):
                    total += a[3 * k + i] * left[3 * k + j]
                maps[1, 3 * i + j] = maps[2, 3 * i + j] = total


@inline_kernel
def add_columns(kind, factor, side, world, pose, a, b, maps, blocks, column):
    """Add the effect of a node on a constraint to its column, or to the three of a ball."""
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
            add_turn(blocks[column], pose, axis, factor, b, maps, 2)
        if side & layout.MOVES_A:
            add_turn(blocks[column], pose, axis, -factor, a if world else b, maps, 1)
        column += 1


@inline_kernel
def add_turn(out, pose, axis, factor, point, maps, side):
    """Add the effect of a turn about an axis of a pose, at a point."""
    x, y, z = factor * pose[axis], factor * pose[3 + axis], factor * pose[6 + axis]
    dx, dy, dz = point[9] - pose[9], point[10] - pose[10], point[11] - pose[11]
    vx, vy, vz = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    for i in range(3):
        out[i] += maps[0, 3 * i] * vx + maps[0, 3 * i + 1] * vy + maps[0, 3 * i + 2] * vz
        out[3 + i] += maps[side, 3 * i] * x + maps[side, 3 * i + 1] * y + maps[side, 3 * i + 2] * z


@kernel
def zyx_angles(r):
    """Return ex, ey, ez of the first nine numbers of a rotation Rz(ez) Ry(ey) Rx(ex)."""
    cosine = math.sqrt(r[0] * r[0] + r[3] * r[3])
    ey = math.atan2(-r[6], cosine)
    if cosine > 1e-12:
        return math.atan2(r[7], r[8]), ey, math.atan2(r[3], r[0])
    # ex and ez turn about one line: all of the turn goes to ex.
    return math.atan2(-r[5], r[4]), ey, 0.0


@inline_kernel
def nearest_turn(angle, reference):
    """Return the angle, up to full turns, nearest to a reference."""
    return reference + so3.wrap_to_pi(angle - reference)


@kernel
def store(table, node, factors, variable, state, scratch):
    """Write a state into the table: values, rotations of balls with the nearest equivalent angles, followers."""
    for v in range(variable.shape[0]):
        kind, at = variable[v, layout.VARIABLE_KIND], variable[v, layout.VARIABLE_STATE]
        frame, dof = variable[v, layout.VARIABLE_FRAME], variable[v, layout.VARIABLE_DOF]
        if kind < layout.BALL:
            table[frame, layout.VALUES + dof] = state[at]
        elif kind == layout.BALL:
            store_ball(table, frame, state, at, scratch)
    for i in range(node.shape[0]):
        if node[i, layout.NODE_OWNER] == 0:
            frame = node[i, layout.NODE_FRAME]
            value = factors[i, layout.NODE_OFFSET]
            value += factors[i, layout.NODE_MULTIPLIER] * state[node[i, layout.NODE_STATE]]
            table[frame, layout.VALUES + node[i, layout.NODE_KIND]] = value


@kernel
def store_ball(table, frame, state, at, scratch):
    """Write the rotation of a ball, and of the two triples of angles the one nearer to that of the table."""
    r = vector(scratch, 0, 9)
    for k in range(4):
        table[frame, layout.ROTATION + k] = state[at + k]
    so3.from_quaternion(r, state[at], state[at + 1], state[at + 2], state[at + 3])
    x, y, z = zyx_angles(r)
    at = layout.VALUES + layout.FIRST_TURN
    oldx, oldy, oldz = table[frame, at], table[frame, at + 1], table[frame, at + 2]
    x, y, z = nearest_turn(x, oldx), nearest_turn(y, oldy), nearest_turn(z, oldz)
    otherx = nearest_turn(x + math.pi, oldx)
    othery = nearest_turn(math.pi - y, oldy)
    otherz = nearest_turn(z + math.pi, oldz)
    one = abs(x - oldx) + abs(y - oldy) + abs(z - oldz)
    two = abs(otherx - oldx) + abs(othery - oldy) + abs(otherz - oldz)
    if two < one:
        x, y, z = otherx, othery, otherz
    table[frame, at], table[frame, at + 1], table[frame, at + 2] = x, y, z
