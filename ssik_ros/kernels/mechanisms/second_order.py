"""
Add second derivatives of the errors to the normal matrix, for unreachable goals.

Problem
    The Hessian of 1/2 |e|^2 is J^T J + sum e_k d2 e_k. If the error stays large, steps with J^T J only approach the
    optimum slowly.

Method
    With d = p_A - p_B and w = log(R_A R_B^T). A motion i of A or B turns with w_i (0 for translations), shifts d by
    d_i, has the signed axis a_i (plus for A, minus for B) and turns the rotation vector by c_i:

    1. Translation, all three rows: d_i . d_j + d . (w_i x d_j), the last term only if i carries j.
    2. Rotation, all three rows: c_i . a_j + w . (w_i x a_j), likewise. This uses that Jl^-1(w)^T w = w.
    3. The part that J^T J has already is subtracted. If only some of the three translation rows are selected, only
       d . (w_i x d_j) is added, with the selected rows of d; nothing is added if A moves and its axes measure d. If
       only some of the three rotation rows are selected, nothing is added for rotations.

Degeneracies
    The sum may be indefinite. Then the step adds damping until it is definite.

References
    [Sola2018] for the Jacobians of the logarithm.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.vectors import (
    add,
    column,
    cross,
    dot,
    read,
    scale,
    subtract,
    times,
    write,
)
from ssik_ros.kernels.mechanisms import layout

AT_MAPS = 6
"""Offset in the scratch of a constraint: inverse Jacobians of the logarithm, after the axes of its ends."""
ALL_TRANSLATION = 7
ALL_ROTATION = 56


@kernel
def add_second_order(address):
    """
    Add the second derivatives of all constraint errors to H, at a state whose Jacobian and residual are current.

    Constraints that are excluded add nothing. Constraints that select only some rows may add nothing, see step 3 of the
    module's method.

    :param address: address of the chain's block.
    """
    block, t, w = layout.view_chain(address)
    for c in range(t.constraint.shape[0]):
        row = t.constraint[c]
        if block.flags[row[layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        mask = row[layout.CONSTRAINT_MASK]
        count, moved = list_motions(t, w, row, w.ends[2 * c], w.ends[2 * c + 1], w.turns[c])
        shift = block.options[layout.TRANSLATION_FACTOR]
        turn = block.options[layout.ROTATION_FACTOR]
        whole = mask & ALL_TRANSLATION == ALL_TRANSLATION
        world = row[layout.CONSTRAINT_WORLD] != 0
        if not whole and moved and not world:
            shift = 0.0
        if mask & ALL_ROTATION != ALL_ROTATION:
            turn = 0.0
        write_distance(row, w.ends[2 * c], w.ends[2 * c + 1], w.scratch)
        add_pairs(t, w, w.turns[c], count, whole, shift * shift, turn * turn)


@inline_kernel
def write_distance(row, a, b, scratch):
    """
    Write the vector p_A - p_B in world axes [m] into the first three numbers of ``scratch``.

    Only components that the constraint selects are kept: along the axes of the world, or along the axes of A if the
    constraint is measured there.

    :param row: row of the constraint table.
    :param a, b: (12,) poses of the closing frame A and the closed link B.
    """
    mask = row[layout.CONSTRAINT_MASK]
    offset, total = subtract(read(a, 9), read(b, 9)), (0.0, 0.0, 0.0)
    for k in range(3):
        if (mask >> k) & 1 != 0:
            axis = column(a, k)
            total = add(total, scale(dot(axis, offset), axis))
    write(scratch, 0, total)
    if row[layout.CONSTRAINT_WORLD] != 0:
        for k in range(3):
            scratch[k] = offset[k] if (mask >> k) & 1 != 0 else 0.0


@inline_kernel
def list_motions(t, w, row, a, b, turn):
    """
    Write the elementary motions of both ends of a constraint, one for each axis of a node, into ``motions``.

    Nodes that move both ends are left out.

    :param row: row of the constraint table.
    :param a, b: (12,) poses of the closing frame A and the closed link B.
    :param turn: (3,) rotation vector of the constraint in world axes [rad].
    :returns: (number of motions, whether any node, also one that moves both ends, moves A).
    """
    maps = matrix(w.scratch, AT_MAPS, 2, 9)
    so3.inverse_left_jacobian(maps[0], turn[0], turn[1], turn[2])
    so3.inverse_left_jacobian(maps[1], -turn[0], -turn[1], -turn[2])
    start = row[layout.CONSTRAINT_PATH]
    count, moved = 0, False
    for k in range(start, start + row[layout.CONSTRAINT_PATHS]):
        side = t.path[k, layout.PATH_SIDE]
        moved = moved or side & layout.MOVES_A != 0
        # A joint that carries both ends changes no error.
        if side == layout.MOVES_A + layout.MOVES_B:
            continue
        i = t.path[k, layout.PATH_NODE]
        kind = t.node[i, layout.NODE_KIND]
        factor = t.factors[i, layout.NODE_MULTIPLIER]
        ball = kind == layout.BALL
        point, sign = (a, 1.0) if side == layout.MOVES_A else (b, -1.0)
        left = maps[0] if side == layout.MOVES_A else maps[1]
        # Along the axes of A, the rows see every motion at p_B.
        seen, turns = point if row[layout.CONSTRAINT_WORLD] != 0 else b, kind >= layout.FIRST_TURN
        for axis in range(3 if ball else 1):
            along = scale(factor, column(w.poses[i], axis if ball else kind % 3))
            write_motion(w.motions[count], w.poses[i], along, turns, point, seen, sign, left)
            w.motions[count, layout.MOTION_VARIABLE] = t.node[i, layout.NODE_VARIABLE] + axis
            w.motions[count, layout.MOTION_SIDE] = side
            count += 1
    return count, moved


@inline_kernel
def write_motion(out, pose, axis, turns, point, seen, sign, left):
    """
    Write one elementary motion, a translation along or a rotation about an axis, into ``out`` (MOTION,).

    The numbers are its turn, and its effects on the distance, on the rotation vector and on the rows.

    :param pose: (12,) of the node; the axis goes through its origin.
    :param axis: the axis in world axes, times the multiplier of the node.
    :param turns: True for a rotation, False for a translation.
    :param point: (12,) pose of the end that moves.
    :param seen: (12,) pose at whose origin the rows measure a rotation.
    :param sign: 1 if the motion moves A, -1 if it moves B.
    :param left: (9,) matrix from the axis to the derivative of the rotation vector.
    """
    vectors.fill(out, 0.0)
    if not turns:
        write(out, layout.SHIFT, scale(sign, axis))
        write(out, layout.ROWS, scale(sign, axis))
        return
    origin = read(pose, 9)
    write(out, layout.TURN, axis)
    write(out, layout.SHIFT, scale(sign, cross(axis, subtract(read(point, 9), origin))))
    write(out, layout.ROWS, scale(sign, cross(axis, subtract(read(seen, 9), origin))))
    write(out, layout.SPIN, scale(sign, times(left, axis)))
    write(out, layout.AXIS, scale(sign, axis))


@inline_kernel
def add_pairs(t, w, rotation, count, whole, shift, turn):
    """
    Add the second derivatives of one constraint by all pairs of its motions to H.

    Of two motions on one end, the earlier one carries the later one.

    :param rotation: (3,) rotation vector of the constraint in world axes [rad].
    :param count: number of motions in ``motions``.
    :param whole: True if all three position errors are selected.
    :param shift, turn: squared weights of position and rotation; 0 leaves their part out.
    """
    d, u = read(w.scratch, 0), read(rotation, 0)
    for j in range(count):
        for i in range(j + 1):
            one, other = w.motions[i], w.motions[j]
            carries = one[layout.MOTION_SIDE] == other[layout.MOTION_SIDE]
            spun, slide = read(one, layout.SPIN), 0.0
            if whole:
                slide = dot(read(one, layout.SHIFT), read(other, layout.SHIFT))
            spin = dot(spun, subtract(read(other, layout.AXIS), read(other, layout.SPIN)))
            if carries:
                turned = read(one, layout.TURN)
                slide += dot(d, cross(turned, read(other, layout.SHIFT)))
                spin += dot(u, cross(turned, read(other, layout.AXIS)))
            if whole:
                for k in range(3):
                    slide -= one[layout.ROWS + k] * other[layout.ROWS + k]
            value = shift * slide + turn * spin
            p, q = int(one[layout.MOTION_VARIABLE]), int(other[layout.MOTION_VARIABLE])
            if p == q and i != j:
                value *= 2.0
            p, q = min(p, q), max(p, q)
            w.normal[t.variable[q, layout.VARIABLE_DIAGONAL] - q + p] += value
