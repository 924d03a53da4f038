"""Compute the pose of the tip and the axes of the joints in the base frame, for many postures of a chain."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.certification import certify


@kernel
def evaluate_rows(screws, poses, axes, points, home, slides, q):
    """
    Write the axis of every joint and the pose of the tip at each of k postures, in the base frame.

    :param screws: (k, 6 n) out: axis, then a point of it, joint by joint.
    :param poses: (k, 12) out: rotation row by row, then translation.
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param home: (12,) M, pose of the tip with all joints at zero: rotation row by row, then translation.
    :param slides: bit mask of the prismatic joints, see :mod:`chain`.
    :param q: (k, n) joint values [rad or m].
    """
    k, n = q.shape
    for row in range(k):
        certify.evaluate(axes, points, home, n, slides, q[row], screws[row], poses[row])
