"""Pose and Jacobian of one frame relative to another at given joint values."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.rows import layout, rows, tree


@kernel
def pose_of_b_in_a(ints, reals, work, q, out):
    """
    Write the pose of frame b, measured in frame a, for the two frames of a problem's first constraint.

    :param ints, reals, work: packed problem and its workspace.
    :param q: (nq,) position variables [rad or m].
    :param out: (4, 4) out: the homogeneous transform.
    """
    t, w = layout.view_problem(ints, reals, work)
    tree.forward(t.node_i, t.node_f, q, w.poses)
    rows.constraint_frames(t.constraint_i[0], t.constraint_f[0], w.targets, w.poses, w.frames)
    se3.invert(w.spare, w.frames[0])
    se3.compose(w.frames[1], w.spare, w.frames[2])
    se3.to_matrix(out, w.frames[1])


@kernel
def twist_of_b_in_a(ints, reals, work, q, out):
    """
    Write the Jacobian of frame b relative to frame a of a problem's first constraint.

    The constraint must select all six rows, with unit weights, measured in the axes of frame a.

    :param ints, reals, work: packed problem and its workspace.
    :param q: (nq,) position variables [rad or m].
    :param out: (6, nv) out: twist (linear, angular) of b in the axes of a, per unit of each velocity variable.
    """
    w = layout.view_workspace(ints, work)
    rows.evaluate(ints, reals, work, q, False)
    for i in range(6):
        for v in range(ints[layout.VARIABLES]):
            out[i, v] = w.jacobian[i, v]
