"""
Second derivative of the errors of a chain along a step.

Problem
    With e the rows of a chain and d a step, find e_dd, the second derivative of e(q + t d) by t at t = 0.

Method
    1. Along the step every node turns about and slides along an axis that its parent carries, at a constant rate. With
       S the twist of that motion in world axes at the world's origin (angular part w, linear part r x w), the twist V
       and its derivative A go from parent to child: V' = V + S, A' = A + V x S.
    2. A point r of a frame has the velocity v + w x r and the acceleration a + dw x r + w x (v + w x r).
    3. For the rotation vector u = log(R), R = R_A R_B^T, with O = w_A - R w_B: u' = Jl^-1(u) O, and u'' follows from
       O' = dw_A - R dw_B - O x R w_B and from the derivative of Jl^-1(u) O = O - u x O / 2 + b u x (u x O).
    4. Along the axes of A, R_A^T x has the second derivative R_A^T (x'' - 2 w x x' - dw x x + w x (w x x)).

Degeneracies
    b(|u|) is a series that is two per cent off at half a turn.

Cost
    Some 60 operations a node: a quarter of its forward kinematics.

References
    [Featherstone2008] for twists and their derivatives; [Sola2018] for the Jacobians of the logarithm.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.mechanisms import layout

ANGULAR, LINEAR = 0, 3
ANGULAR_CHANGE, LINEAR_CHANGE = 6, 9
NO_MOTION = 12
"""Where in the scratch twelve zeros stand for the world, behind the twelve numbers of a motion at hand."""


@inline_kernel
def cross(ax, ay, az, bx, by, bz):
    """Return a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline_kernel
def point_motion(rates, p):
    """
    Return velocity and acceleration of a point that a frame carries.

    :param rates: (12,) of the frame.
    :param p: (12,) pose with the point as its origin.
    """
    wx, wy, wz = rates[0], rates[1], rates[2]
    x, y, z = cross(wx, wy, wz, p[9], p[10], p[11])
    vx, vy, vz = rates[3] + x, rates[4] + y, rates[5] + z
    ax, ay, az = cross(rates[6], rates[7], rates[8], p[9], p[10], p[11])
    x, y, z = cross(wx, wy, wz, vx, vy, vz)
    return vx, vy, vz, rates[9] + ax + x, rates[10] + ay + y, rates[11] + az + z


@inline_kernel
def carry(out, parent, sx, sy, sz, lx, ly, lz):
    """Write the rates of a node from those of its parent and the twist of its own motion."""
    wx, wy, wz = parent[0], parent[1], parent[2]
    vx, vy, vz = parent[3], parent[4], parent[5]
    ax, ay, az = cross(wx, wy, wz, sx, sy, sz)
    bx, by, bz = cross(wx, wy, wz, lx, ly, lz)
    cx, cy, cz = cross(vx, vy, vz, sx, sy, sz)
    out[6], out[7], out[8] = parent[6] + ax, parent[7] + ay, parent[8] + az
    out[9] = parent[9] + bx + cx
    out[10] = parent[10] + by + cy
    out[11] = parent[11] + bz + cz
    out[0], out[1], out[2] = wx + sx, wy + sy, wz + sz
    out[3], out[4], out[5] = vx + lx, vy + ly, vz + lz


@inline_kernel
def write_rates(t, w, still):
    """Write the rates of all nodes along a step; step 1 of the method."""
    for i in range(t.node.shape[0]):
        kind, v = t.node[i, layout.NODE_KIND], t.node[i, layout.NODE_VARIABLE]
        above = t.node[i, layout.NODE_PARENT]
        parent = still if above < 0 else w.rates[above]
        pose, rate = w.poses[i], t.factors[i, layout.NODE_MULTIPLIER] * w.step[v]
        if kind < layout.FIRST_TURN:
            x, y, z = rate * pose[kind], rate * pose[3 + kind], rate * pose[6 + kind]
            carry(w.rates[i], parent, 0.0, 0.0, 0.0, x, y, z)
            continue
        if kind == layout.BALL:
            b, c = w.step[v + 1], w.step[v + 2]
            x = pose[0] * rate + pose[1] * b + pose[2] * c
            y = pose[3] * rate + pose[4] * b + pose[5] * c
            z = pose[6] * rate + pose[7] * b + pose[8] * c
        else:
            k = kind - layout.FIRST_TURN
            x, y, z = rate * pose[k], rate * pose[3 + k], rate * pose[6 + k]
        lx, ly, lz = cross(pose[9], pose[10], pose[11], x, y, z)
        carry(w.rates[i], parent, x, y, z, lx, ly, lz)


@inline_kernel
def turn_from_b_to_a(a, b, x, y, z):
    """Return R_A R_B^T times a vector."""
    p = b[0] * x + b[3] * y + b[6] * z
    q = b[1] * x + b[4] * y + b[7] * z
    r = b[2] * x + b[5] * y + b[8] * z
    return (
        a[0] * p + a[1] * q + a[2] * r,
        a[3] * p + a[4] * q + a[5] * r,
        a[6] * p + a[7] * q + a[8] * r,
    )


@inline_kernel
def rotation_motion(u, a, b, moves_a, moves_b):
    """
    Return first and second derivative of the rotation vector; step 3 of the method.

    :param u: (3,) the rotation vector.
    :param a, b: (12,) poses; moves_a, moves_b: (12,) their rates.
    """
    wx, wy, wz = turn_from_b_to_a(a, b, moves_b[0], moves_b[1], moves_b[2])
    ox, oy, oz = moves_a[0] - wx, moves_a[1] - wy, moves_a[2] - wz
    gx, gy, gz = cross(ox, oy, oz, wx, wy, wz)
    wx, wy, wz = turn_from_b_to_a(a, b, moves_b[6], moves_b[7], moves_b[8])
    gx, gy, gz = moves_a[6] - wx - gx, moves_a[7] - wy - gy, moves_a[8] - wz - gz
    ux, uy, uz = u[0], u[1], u[2]
    square = ux * ux + uy * uy + uz * uz
    share = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square / 1209600.0))
    # u x O, u x (u x O)
    ax, ay, az = cross(ux, uy, uz, ox, oy, oz)
    bx, by, bz = cross(ux, uy, uz, ax, ay, az)
    dx = ox - 0.5 * ax + share * bx
    dy = oy - 0.5 * ay + share * by
    dz = oz - 0.5 * az + share * bz
    growth = 1.0 / 720.0 + square * (2.0 / 30240.0 + 3.0 * square / 1209600.0)
    growth *= 2.0 * (ux * dx + uy * dy + uz * dz)
    # u' x O + u x O', of which Jl^-1 takes the half.
    px, py, pz = cross(dx, dy, dz, ox, oy, oz)
    qx, qy, qz = cross(ux, uy, uz, gx, gy, gz)
    px, py, pz = px + qx, py + qy, pz + qz
    # u' x (u x O) + u x (u' x O + u x O')
    kx, ky, kz = cross(dx, dy, dz, ax, ay, az)
    qx, qy, qz = cross(ux, uy, uz, px, py, pz)
    kx, ky, kz = kx + qx, ky + qy, kz + qz
    return (
        dx,
        dy,
        dz,
        gx - 0.5 * px + share * kx + growth * bx,
        gy - 0.5 * py + share * ky + growth * by,
        gz - 0.5 * pz + share * kz + growth * bz,
    )


@inline_kernel
def seen_by(a, rates, x, y, z, dx, dy, dz, ex, ey, ez):
    """
    Return the second derivative of R_A^T x; step 4 of the method.

    :param a, rates: (12,) pose of A and its rates.
    :param x, y, z: a vector; dx, dy, dz: its first derivative; ex, ey, ez: its second one.
    """
    wx, wy, wz = rates[0], rates[1], rates[2]
    px, py, pz = cross(wx, wy, wz, x, y, z)
    # w x (w x x) - 2 w x x' in one product.
    qx, qy, qz = cross(wx, wy, wz, px - 2.0 * dx, py - 2.0 * dy, pz - 2.0 * dz)
    rx, ry, rz = cross(rates[6], rates[7], rates[8], x, y, z)
    sx, sy, sz = ex + qx - rx, ey + qy - ry, ez + qz - rz
    return (
        a[0] * sx + a[3] * sy + a[6] * sz,
        a[1] * sx + a[4] * sy + a[7] * sz,
        a[2] * sx + a[5] * sy + a[8] * sz,
    )


@inline_kernel
def write_rows(row, a, b, moves_a, moves_b, turn, out):
    """Write the six second derivatives of a constraint, masked ones included."""
    vx, vy, vz, ax, ay, az = point_motion(moves_a, a)
    px, py, pz, bx, by, bz = point_motion(moves_b, b)
    vx, vy, vz, ax, ay, az = vx - px, vy - py, vz - pz, ax - bx, ay - by, az - bz
    dx, dy, dz, ex, ey, ez = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if row[layout.CONSTRAINT_MASK] >= 8:
        dx, dy, dz, ex, ey, ez = rotation_motion(turn, a, b, moves_a, moves_b)
    if row[layout.CONSTRAINT_WORLD] == 0:
        x, y, z = a[9] - b[9], a[10] - b[10], a[11] - b[11]
        ax, ay, az = seen_by(a, moves_a, x, y, z, vx, vy, vz, ax, ay, az)
        x, y, z = turn[0], turn[1], turn[2]
        ex, ey, ez = seen_by(a, moves_a, x, y, z, dx, dy, dz, ex, ey, ez)
    out[0], out[1], out[2], out[3], out[4], out[5] = ax, ay, az, ex, ey, ez


@kernel
def bend(address):
    """
    Write J^T e_dd of a step, at the state whose poses, rotation vectors and Jacobian are at hand.

    :param rates: (N, 12) scratch: twist of each node and its derivative.
    :param right: (n,) result.
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
