"""
Second derivative of the errors of a chain along a step.

Problem
    Let e be the rows of a chain and d a step. Find e_dd, the second derivative of e(q + t d) by t at t = 0.

Method
    1. Along the step every node turns about and slides along an axis that its parent carries, at a constant rate. Let S
       be the twist of this motion in world axes at the world's origin (angular part w, linear part r x w). The twist V
       and its derivative A propagate from parent to child: V' = V + S, A' = A + V x S.
    2. A point r of a frame has the velocity v + w x r and the acceleration a + dw x r + w x (v + w x r).
    3. For the rotation vector u = log(R), R = R_A R_B^T, with O = w_A - R w_B: u' = Jl^-1(u) O, and u'' follows from
       O' = dw_A - R dw_B - O x R w_B and from the derivative of Jl^-1(u) O = O - u x O / 2 + b u x (u x O).
    4. Along the axes of A, R_A^T x has the second derivative R_A^T (x'' - 2 w x x' - dw x x + w x (w x x)).

Degeneracies
    b(|u|) is a series with an error of 0.3 per cent at half a turn; there its derivative is wrong by five per cent.

Cost
    About 60 operations for each node: a quarter of its forward kinematics.

References
    [Featherstone2008] for twists and their derivatives; [Sola2018] for the Jacobians of the logarithm.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.vectors import (
    add,
    column,
    cross,
    dot,
    read,
    scale,
    subtract,
    times,
    transposed_times,
    write,
)
from ssik_ros.kernels.mechanisms import layout

ANGULAR, LINEAR = 0, 3
ANGULAR_CHANGE, LINEAR_CHANGE = 6, 9
NO_MOTION = 12
"""Offset in the scratch of twelve zeros that represent the world; the twelve numbers of the current motion come
first."""


@inline_kernel
def point_motion(rates, p):
    """
    Return (velocity, acceleration) of a point that is fixed to a moving frame, in world axes.

    :param rates: (12,) of the frame: its twist (angular, linear at the world's origin), and the derivative of the
        twist.
    :param p: (12,) pose whose origin is the point.
    """
    w, point = read(rates, ANGULAR), read(p, 9)
    velocity = add(read(rates, LINEAR), cross(w, point))
    turned = cross(read(rates, ANGULAR_CHANGE), point)
    return velocity, add(add(read(rates, LINEAR_CHANGE), turned), cross(w, velocity))


@inline_kernel
def carry(out, parent, turn, slide):
    """
    Write the twist of a node and its derivative, from those numbers of its parent.

    The node moves at a constant rate relative to its parent.

    :param out, parent: (12,) of the node and of its parent: twist (angular, linear at the world's origin), then its
        derivative.
    :param turn, slide: angular and linear part of the twist of the node relative to its parent, at the world's origin.
    """
    w, v = read(parent, ANGULAR), read(parent, LINEAR)
    write(out, ANGULAR_CHANGE, add(read(parent, ANGULAR_CHANGE), cross(w, turn)))
    change = add(read(parent, LINEAR_CHANGE), cross(w, slide))
    write(out, LINEAR_CHANGE, add(change, cross(v, turn)))
    write(out, ANGULAR, add(w, turn))
    write(out, LINEAR, add(v, slide))


@inline_kernel
def write_rates(t, w, still):
    """
    Write the twist of every node and its derivative into ``w.rates`` (., 12).

    The variables of the chain move at the constant rates ``w.step``.

    :param t, w: tables and workspace of the chain, with the poses of the nodes.
    :param still: twelve zeros, the rates of the world.
    """
    for i in range(t.node.shape[0]):
        kind, v = t.node[i, layout.NODE_KIND], t.node[i, layout.NODE_VARIABLE]
        above = t.node[i, layout.NODE_PARENT]
        parent = still if above < 0 else w.rates[above]
        pose, rate = w.poses[i], t.factors[i, layout.NODE_MULTIPLIER] * w.step[v]
        if kind < layout.FIRST_TURN:
            carry(w.rates[i], parent, (0.0, 0.0, 0.0), scale(rate, column(pose, kind)))
            continue
        if kind == layout.BALL:
            turn = times(pose, (rate, w.step[v + 1], w.step[v + 2]))
        else:
            turn = scale(rate, column(pose, kind - layout.FIRST_TURN))
        carry(w.rates[i], parent, turn, cross(read(pose, 9), turn))


@inline_kernel
def rotation_motion(u, a, b, moves_a, moves_b):
    """
    Return (first, second) derivative of the rotation vector u = log(R_A R_B^T) between two moving frames.

    This is step 3 of the module's method.

    :param u: the rotation vector in world axes [rad].
    :param a, b: (12,) poses of A and B.
    :param moves_a, moves_b: (12,) of A and B: twist, then its derivative.
    """
    turn = times(a, transposed_times(b, read(moves_b, ANGULAR)))
    o = subtract(read(moves_a, ANGULAR), turn)
    g = cross(o, turn)
    turn = times(a, transposed_times(b, read(moves_b, ANGULAR_CHANGE)))
    g = subtract(subtract(read(moves_a, ANGULAR_CHANGE), turn), g)
    square = dot(u, u)
    share = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square / 1209600.0))
    # u x O, u x (u x O)
    once = cross(u, o)
    twice = cross(u, once)
    first = add(subtract(o, scale(0.5, once)), scale(share, twice))
    growth = 1.0 / 720.0 + square * (2.0 / 30240.0 + 3.0 * square / 1209600.0)
    growth *= 2.0 * dot(u, first)
    # u' x O + u x O', of which Jl^-1 takes the half; then u' x (u x O) + u x (u' x O + u x O').
    p = add(cross(first, o), cross(u, g))
    k = add(cross(first, once), cross(u, p))
    second = add(add(subtract(g, scale(0.5, p)), scale(share, k)), scale(growth, twice))
    return first, second


@inline_kernel
def seen_by(a, rates, x, first, second):
    """
    Return the second derivative of R_A^T x, a vector x measured in the axes of a moving frame A.

    This is step 4 of the module's method.

    :param a, rates: (12,) pose of A; (12,) its twist, then the derivative of the twist.
    :param x, first, second: the vector in world axes, and its first and second derivative.
    """
    w = read(rates, ANGULAR)
    # w x (w x x) - 2 w x x' in one product.
    turned = cross(w, subtract(cross(w, x), scale(2.0, first)))
    return transposed_times(
        a, subtract(add(second, turned), cross(read(rates, ANGULAR_CHANGE), x))
    )


@inline_kernel
def write_rows(row, a, b, moves_a, moves_b, turn, out):
    """
    Write the second derivatives of the six errors of a constraint along a step into ``out``.

    They are in the axes of the world or of A, as the constraint says, and without weights. Rows that the constraint
    does not select are written, too. If it selects no rotation, the three rotation numbers are zero.

    :param row: row of the constraint table.
    :param a, b: (12,) poses of the closing frame A and the closed link B.
    :param moves_a, moves_b: (12,) of A and B along the step: twist, then its derivative.
    :param turn: (3,) rotation vector from B to A in world axes [rad].
    :param out: (6,) out: position, then rotation.
    """
    first, second = point_motion(moves_a, a)
    first_b, second_b = point_motion(moves_b, b)
    first, second = subtract(first, first_b), subtract(second, second_b)
    u = read(turn, 0)
    first_turn, second_turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if row[layout.CONSTRAINT_MASK] >= 8:
        first_turn, second_turn = rotation_motion(u, a, b, moves_a, moves_b)
    if row[layout.CONSTRAINT_WORLD] == 0:
        offset = subtract(read(a, 9), read(b, 9))
        second = seen_by(a, moves_a, offset, first, second)
        second_turn = seen_by(a, moves_a, u, first_turn, second_turn)
    write(out, 0, second)
    write(out, 3, second_turn)


@kernel
def bend(address):
    """
    Write J^T e'' into ``right`` of the workspace, where e'' is the second derivative of all errors along ``step``.

    Excluded constraints add nothing. ``rates`` gets the twists of all nodes and their derivatives. Poses, rotation
    vectors and Jacobian of the workspace must belong to the state at which the step begins.

    :param address: address of the block of the chain.
    """
    block, t, w = layout.view_chain(address)
    bent, still = vector(w.scratch, 0, 6), vector(w.scratch, NO_MOTION, 12)
    vectors.fill(still, 0.0)
    write_rates(t, w, still)
    vectors.fill(w.right, 0.0)
    for c in range(t.constraint.shape[0]):
        row = t.constraint[c]
        if block.flags[row[layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:
            continue
        of_a, of_b = row[layout.CONSTRAINT_NODE_A], row[layout.CONSTRAINT_NODE_B]
        moves_a = still if of_a < 0 else w.rates[of_a]
        moves_b = still if of_b < 0 else w.rates[of_b]
        write_rows(row, w.ends[2 * c], w.ends[2 * c + 1], moves_a, moves_b, w.turns[c], bent)
        for k in range(6):
            counts = (row[layout.CONSTRAINT_MASK] >> k) & 1
            bent[k] *= counts * block.options[layout.TRANSLATION_FACTOR + k // 3]
        first = row[layout.CONSTRAINT_COLUMN]
        for a in range(first, first + row[layout.CONSTRAINT_COLUMNS]):
            j = w.blocks[a]
            w.right[t.column[a]] += (
                j[0] * bent[0] + j[1] * bent[1] + j[2] * bent[2]
                + (j[3] * bent[3] + j[4] * bent[4] + j[5] * bent[5])
            )  # fmt: skip
