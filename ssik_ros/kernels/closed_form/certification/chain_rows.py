"""Poses and moved axes of a chain at many postures."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.certification import certify


@kernel
def evaluate_rows(screws, poses, axes, points, home, slides, q):
    """
    Write the screws and the pose of the tip at every posture.

    :param screws: (k, 6 n) axis, then a point of it, joint by joint.
    :param poses: (k, 12).
    :param axes, points: (3 n,) the chain.
    :param home: (12,) M.
    :param slides: which joints are prismatic, see :mod:`chain`.
    :param q: (k, n) joint values [rad or m].
    """
    k, n = q.shape
    for row in range(k):
        certify.evaluate(axes, points, home, n, slides, q[row], screws[row], poses[row])
