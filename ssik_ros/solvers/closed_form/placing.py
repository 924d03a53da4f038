"""Move a posture by whole turns of joints into the limits, and measure its position and rotation error at a pose."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.solvers.closed_form.plan import AnalyticPlan


def measure(plan: AnalyticPlan, q: FloatArray, pose: FloatArray) -> FloatArray:
    """
    Return joint values and their errors (n + 3,): position [m], rotation [rad], Frobenius norm of FK - T.

    :param plan: plan of the chain.
    :param q: (n,) joint values [rad or m].
    :param pose: (4, 4) target pose of the tip in the base.
    """
    n, errors = plan.size, np.empty(3)
    axes, points, home, slides = plan.chain.packed
    certify.measure(
        axes,
        points,
        home,
        n,
        slides,
        q,
        pose_numbers(pose),
        errors,
        np.empty(certify.scratch_size(n)),
    )
    return np.concatenate([q, errors])


def place(
    plan: AnalyticPlan,
    q: FloatArray,
    pose: FloatArray,
    seed: FloatArray | None,
    limits: tuple[FloatArray, FloatArray],
    mode: int,
) -> FloatArray | None:
    """
    Move joints by whole turns into the limits, and return joint values and errors (n + 3,); None if that fails.

    The errors are position [m], rotation [rad] and Frobenius norm of FK - T. They are not checked against a tolerance.

    :param plan: plan of the chain.
    :param q: (n,) joint values [rad or m].
    :param pose: (4, 4) target pose of the tip in the base.
    :param seed: (n,) each joint takes the winding nearest to the seed; None takes the winding nearest to ``q``.
    :param limits: lower and upper limits, (n,) each; may be infinite.
    :param mode: from :mod:`ranking`: WITHIN_LIMITS; WRAP_ONLY, which never fails; or KEEP_ALL, which ignores limits and
        wraps angles to (-pi, pi].
    """
    q, slides = q.copy(), int(plan.ints[search.SLIDES])
    wishes = q.copy() if seed is None else seed
    if not ranking.place(q, plan.size, slides, limits[0], limits[1], wishes, mode):
        return None
    return measure(plan, q, pose)
