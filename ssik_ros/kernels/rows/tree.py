"""
Forward kinematics of a tree of nodes: one pass from the root, every axis turned to +z beforehand.

:func:`forward` writes the poses of all nodes, :func:`frame_poses` the poses of frames that are fixed to them.

Rotating a joint's frame until its axis is +z is free at solve time: the constant placements on both sides contain the
rotation. Every revolute joint then mixes two columns.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.rows import layout


@kernel
def forward(node_i, node_f, q, poses):
    """
    Write the pose of every node, after the motion of its own joint, in the root frame: forward kinematics.

    :param node_i: (N, NODE_INTS) node table, parents before children.
    :param node_f: (N, NODE_REALS) for each node its placement in the frame of the moved parent, mimic factors, screw
        lead.
    :param q: (nq,) position variables [rad or m].
    :param poses: (N, 12) out.
    """
    for i in range(node_i.shape[0]):
        kind = node_i[i, layout.NODE_KIND]
        if kind == layout.SPHERICAL:
            place_ball(node_i, node_f, q, poses, i)
        else:
            place_axis(node_i, node_f, q, poses, i, kind)


@inline_kernel
def place_axis(node_i, node_f, q, poses, i, kind):
    """
    Write the root-frame pose of node ``i``, which rotates about or slides along its z axis, into ``poses[i]``.

    Its parent must have its pose already. The motion is applied to the placement first, which keeps the chain of
    dependent products through the parents short.

    :param node_i, node_f: node tables.
    :param q: (nq,) position variables [rad or m].
    :param poses: (N, 12) poses of the nodes.
    :param kind: REVOLUTE, PRISMATIC or SCREW.
    """
    b0, b1, b2, b3, b4 = node_f[i, 0], node_f[i, 1], node_f[i, 2], node_f[i, 3], node_f[i, 4]
    b5, b6, b7, b8 = node_f[i, 5], node_f[i, 6], node_f[i, 7], node_f[i, 8]
    px, py, pz = node_f[i, 9], node_f[i, 10], node_f[i, 11]
    value = q[node_i[i, layout.NODE_Q]]
    value = value * node_f[i, layout.NODE_MULTIPLIER] + node_f[i, layout.NODE_OFFSET]
    if kind != layout.PRISMATIC:
        s, c = so3.sine_cosine(value)
        b0, b1 = c * b0 + s * b1, c * b1 - s * b0
        b3, b4 = c * b3 + s * b4, c * b4 - s * b3
        b6, b7 = c * b6 + s * b7, c * b7 - s * b6
    if kind != layout.REVOLUTE:
        distance = value * node_f[i, layout.NODE_LEAD]
        px, py, pz = px + distance * b2, py + distance * b5, pz + distance * b8
    parent = node_i[i, layout.NODE_PARENT]
    if parent < 0:
        poses[i, 0], poses[i, 1], poses[i, 2], poses[i, 3] = b0, b1, b2, b3
        poses[i, 4], poses[i, 5], poses[i, 6], poses[i, 7] = b4, b5, b6, b7
        poses[i, 8], poses[i, 9], poses[i, 10], poses[i, 11] = b8, px, py, pz
        return
    for k in range(3):
        x, y, z = poses[parent, 3 * k], poses[parent, 3 * k + 1], poses[parent, 3 * k + 2]
        poses[i, 3 * k] = x * b0 + y * b3 + z * b6
        poses[i, 3 * k + 1] = x * b1 + y * b4 + z * b7
        poses[i, 3 * k + 2] = x * b2 + y * b5 + z * b8
        poses[i, 9 + k] = x * px + y * py + z * pz + poses[parent, 9 + k]


@inline_kernel
def place_ball(node_i, node_f, q, poses, i):
    """
    Write the pose of node ``i``, a ball joint with a quaternion in ``q``, in the root frame into ``poses[i]``.

    Its parent must have its pose already.

    :param node_i, node_f: node tables.
    :param q: (nq,) position variables [rad or m].
    :param poses: (N, 12) poses of the nodes.
    """
    frame_pose(poses[i], poses, node_i[i, layout.NODE_PARENT], node_f[i], 0)
    turn_by_quaternion(poses[i], q, node_i[i, layout.NODE_Q])


@inline_kernel
def turn_by_quaternion(pose, q, start):
    """
    Rotate a pose (12,) in place about its own axes by a quaternion.

    :param q: array with the quaternion (x, y, z, w) from index ``start`` on.
    """
    x, y, z, w = q[start], q[start + 1], q[start + 2], q[start + 3]
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = so3.matrix_of(x, y, z, w)
    for k in range(3):
        u, v, t = pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]
        pose[3 * k] = u * b0 + v * b3 + t * b6
        pose[3 * k + 1] = u * b1 + v * b4 + t * b7
        pose[3 * k + 2] = u * b2 + v * b5 + t * b8


@inline_kernel
def turn_columns(pose, a, b, sine, cosine):
    """
    Rotate a pose (12,) in place about one of its own axes: the turn takes axis ``a`` towards axis ``b``.

    :param a, b: columns 0, 1, 2 for x, y, z; literal numbers let the compiler unroll.
    :param sine, cosine: of the angle.
    """
    for k in range(3):
        x, y = pose[3 * k + a], pose[3 * k + b]
        pose[3 * k + a] = cosine * x + sine * y
        pose[3 * k + b] = cosine * y - sine * x


@inline_kernel
def frame_pose(out, poses, node, row, start):
    """
    Write the root-frame pose of a frame that is fixed to a node.

    :param out: (12,) out.
    :param poses: (N, 12) poses of the nodes.
    :param node: the node; -1 if the frame is fixed to the root.
    :param row: array that has the pose (12 numbers) of the frame in the moved frame of the node, from index ``start``
        on.
    """
    if node < 0:
        for k in range(12):
            out[k] = row[start + k]
        return
    b0, b1, b2, b3, b4 = row[start], row[start + 1], row[start + 2], row[start + 3], row[start + 4]
    b5, b6, b7, b8 = row[start + 5], row[start + 6], row[start + 7], row[start + 8]
    px, py, pz = row[start + 9], row[start + 10], row[start + 11]
    for i in range(3):
        x, y, z = poses[node, 3 * i], poses[node, 3 * i + 1], poses[node, 3 * i + 2]
        out[3 * i] = x * b0 + y * b3 + z * b6
        out[3 * i + 1] = x * b1 + y * b4 + z * b7
        out[3 * i + 2] = x * b2 + y * b5 + z * b8
        out[9 + i] = x * px + y * py + z * pz + poses[node, 9 + i]


@kernel
def frame_poses(out, node_i, node_f, q, poses, frame_nodes, placements):
    """
    Write the poses of several frames in the root frame, for one configuration.

    :param out: (F, 4, 4) out.
    :param node_i, node_f: node tables, parents before children.
    :param q: (nq,) position variables [rad or m].
    :param poses: (N, 12) out: poses of the nodes.
    :param frame_nodes: (F,) node to which each frame is fixed, -1 for the root.
    :param placements: (F, 12) pose of each frame in the moved frame of its node.
    """
    forward(node_i, node_f, q, poses)
    for f in range(frame_nodes.shape[0]):
        node = frame_nodes[f]
        placement = placements[f]
        for i in range(3):
            if node < 0:
                (x, y, z), t = vectors.unit(i), 0.0
            else:
                (x, y, z), t = vectors.read(poses[node], 3 * i), poses[node, 9 + i]
            out[f, i, 0] = x * placement[0] + y * placement[3] + z * placement[6]
            out[f, i, 1] = x * placement[1] + y * placement[4] + z * placement[7]
            out[f, i, 2] = x * placement[2] + y * placement[5] + z * placement[8]
            out[f, i, 3] = x * placement[9] + y * placement[10] + z * placement[11] + t
            out[f, 3, i] = 0.0
        out[f, 3, 3] = 1.0
