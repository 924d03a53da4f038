"""
Residual and Jacobian of an arm of revolute joints with one target pose: the fast path of the most common problem.

Problem
    The same as :func:`ssik_ros.kernels.rows.rows.evaluate` for one constraint with six unit rows in root axes. Its
    frame b is moved by a chain of revolute joints, and each joint has its own variable.

Method
    Poses are passed from joint to joint in registers; only axes and origins are stored. If a step follows, the columns
    (z x (p - o), z) of the Jacobian are computed from them.

Solutions
    The same numbers, up to the order of roundings.

Degeneracies
    Only the degeneracies of the logarithm.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import se3, so3
from ssik_ros.kernels.rows import layout, tree

SINE, COSINE = 0, 1
"""Columns of the poses with sine and cosine of each joint during a forward pass."""


@kernel
def evaluate(ints, reals, work, q):
    """
    Write residual, Jacobian and errors of a serial problem at a configuration into its workspace.

    A serial problem has one target pose for a chain of revolute joints, see :func:`is_serial`.

    :param ints, reals, work: packed problem and its workspace.
    :param q: (nq,) position variables [rad].
    """
    compare(ints, reals, work, q)
    fill_jacobian(ints, reals, work)


@inline_kernel
def compare(ints, reals, work, q):
    """
    Write residual and errors of a serial problem at the configuration ``q``, without the Jacobian.

    ``poses`` of the workspace gets axes, origins, sines and cosines of the joints; :func:`fill_jacobian` needs them.
    """
    t, w = layout.view_problem(ints, reals, work)
    node_f, poses = t.node_f, w.poses
    n = ints[layout.NODES]
    # Sines and cosines are computed in a separate pass, see docs/explanation/performance.md.
    for i in range(n):
        value = q[t.node_i[i, layout.NODE_Q]]
        value = value * node_f[i, layout.NODE_MULTIPLIER] + node_f[i, layout.NODE_OFFSET]
        poses[i, SINE], poses[i, COSINE] = so3.sine_cosine(value)
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    x, y, z = 0.0, 0.0, 0.0
    for i in range(n):
        b0, b1, b2, b3, b4 = node_f[i, 0], node_f[i, 1], node_f[i, 2], node_f[i, 3], node_f[i, 4]
        b5, b6, b7, b8 = node_f[i, 5], node_f[i, 6], node_f[i, 7], node_f[i, 8]
        px, py, pz = node_f[i, 9], node_f[i, 10], node_f[i, 11]
        s, c = poses[i, SINE], poses[i, COSINE]
        b0, b1 = c * b0 + s * b1, c * b1 - s * b0
        b3, b4 = c * b3 + s * b4, c * b4 - s * b3
        b6, b7 = c * b6 + s * b7, c * b7 - s * b6
        x, y, z = place(r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz, x, y, z)
        r0, r1, r2 = turn_row(r0, r1, r2, b0, b1, b2, b3, b4, b5, b6, b7, b8)
        r3, r4, r5 = turn_row(r3, r4, r5, b0, b1, b2, b3, b4, b5, b6, b7, b8)
        r6, r7, r8 = turn_row(r6, r7, r8, b0, b1, b2, b3, b4, b5, b6, b7, b8)
        poses[i, 2], poses[i, 5], poses[i, 8] = r2, r5, r8
        poses[i, 9], poses[i, 10], poses[i, 11] = x, y, z
    last = n - 1
    poses[last, 0], poses[last, 1], poses[last, 3] = r0, r1, r3
    poses[last, 4], poses[last, 6], poses[last, 7] = r4, r6, r7
    b = w.frames[2]
    tree.frame_pose(b, poses, last, t.constraint_f[0], layout.CONSTRAINT_PLACEMENT_B)
    g = w.targets[t.constraint_i[0, layout.CONSTRAINT_TARGET]]
    ex, ey, ez = g[9] - b[9], g[10] - b[10], g[11] - b[11]
    wx, wy, wz = se3.relative_rotation_vector(b, g)
    w.residual[0], w.residual[1], w.residual[2] = ex, ey, ez
    w.residual[3], w.residual[4], w.residual[5] = wx, wy, wz
    w.errors[0, 0] = math.sqrt(ex * ex + ey * ey + ez * ez)
    w.errors[0, 1] = math.sqrt(wx * wx + wy * wy + wz * wz)


@inline_kernel
def place(r0, r1, r2, r3, r4, r5, r6, r7, r8, px, py, pz, x, y, z):
    """Return the point R (px, py, pz) + (x, y, z), where R has the rows (r0, r1, r2), (r3, r4, r5), (r6, r7, r8)."""
    return (
        r0 * px + r1 * py + r2 * pz + x,
        r3 * px + r4 * py + r5 * pz + y,
        r6 * px + r7 * py + r8 * pz + z,
    )


@inline_kernel
def turn_row(x, y, z, b0, b1, b2, b3, b4, b5, b6, b7, b8):
    """Return the row vector (x, y, z) times the matrix with the entries b0 to b8, row by row."""
    return x * b0 + y * b3 + z * b6, x * b1 + y * b4 + z * b7, x * b2 + y * b5 + z * b8


@inline_kernel
def fill_jacobian(ints, reals, work):
    """Write the Jacobian of a serial problem at the configuration of the last call of :func:`compare`."""
    t, w = layout.view_problem(ints, reals, work)
    poses, b = w.poses, w.frames[2]
    px, py, pz = b[9], b[10], b[11]
    for i in range(ints[layout.NODES]):
        turn, v = t.node_f[i, layout.NODE_MULTIPLIER], t.node_i[i, layout.NODE_V]
        x, y, z = turn * poses[i, 2], turn * poses[i, 5], turn * poses[i, 8]
        dx, dy, dz = px - poses[i, 9], py - poses[i, 10], pz - poses[i, 11]
        w.jacobian[0, v] = y * dz - z * dy
        w.jacobian[1, v] = z * dx - x * dz
        w.jacobian[2, v] = x * dy - y * dx
        w.jacobian[3, v], w.jacobian[4, v], w.jacobian[5, v] = x, y, z


@kernel
def is_serial(ints, reals):
    """
    Return whether the fast path of this module can solve a packed problem.

    It needs one unweighted target pose in root axes, and a chain of revolute joints with a variable each.
    """
    t = layout.view_tables(ints, reals)
    n = ints[layout.NODES]
    if ints[layout.CONSTRAINTS] != 1:
        return False
    if n == 0 or n != ints[layout.VARIABLES] or n != ints[layout.POSITIONS]:
        return False
    if t.constraint_i[0, layout.CONSTRAINT_PLAIN] != 1:
        return False
    if t.constraint_i[0, layout.CONSTRAINT_NODE_B] != n - 1:
        return False
    for i in range(n):
        if t.node_i[i, layout.NODE_KIND] != layout.REVOLUTE:
            return False
        if t.node_i[i, layout.NODE_PARENT] != i - 1:
            return False
        for k in range(i):
            if t.node_i[k, layout.NODE_V] == t.node_i[i, layout.NODE_V]:
                return False
    return True
