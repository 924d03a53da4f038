"""
The solution next to a seed, where the seed is close to the target already: a step of a control loop.

Problem
-------
Given a chain of six joints, a target and a seed whose pose is near the target, return the solution that Newton reaches
from the seed, to rounding; or say at once that the seed is too far away for that.

Method
------
1. The seed itself, bit by bit, where it is within tolerance and within the limits.
2. Nothing where the error at the seed is above a bound: a closed form finds all branches in the time of a few steps.
3. Newton on the chain (:func:`ssik_ros.kernels.analytic.certify.certify`). The result counts when it is within
   tolerance and within the limits, and when no joint has gone further than a bound: near a singular posture Newton may
   jump to another branch, and which one is nearest is then the closed form's to say.

Cost
----
One forward pass for a seed that is too far away; four or five Newton steps otherwise.
"""

import math

from ssik_ros.kernels import se3
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import matrix
from ssik_ros.kernels._jit import vector
from ssik_ros.kernels.analytic import certify

NOT_HERE, THE_SEED, REACHED = 0, 1, 2
"""What :func:`follow` says: nothing was found, the seed solves, or Newton arrived."""

# Integers of a chain.
N, SLIDES, FREE = 0, 1, 2
"""Number of joints, which of them are prismatic (see :mod:`chain`), and the indices of all (n)."""

# Real numbers of a chain: options, then axes, points (3 n each), home (12), lower and upper limits (n each).
TOLERANCE, FARTHEST, LONGEST_WAY, RIGID = 0, 1, 2, 3
"""Norm over both errors up to which a pose is reached; Frobenius norm of FK(seed) - T, and way of a joint, from which on
the closed form is asked; deviation of R^T R from identity that a rotation may have."""
OPTIONS = 4

# Numbers of a question: answer (n + 3), seed (n), target (4, 4), then scratch.
LEFT = 3
"""Behind the joints of an answer: position error [m], rotation error [rad], Frobenius norm of FK - T."""


def question_size(n: int) -> int:
    """
    Return how many numbers a question has.

    :param n: number of joints.
    """
    return 2 * n + LEFT + 16 + 12 + certify.scratch_size(n)


@kernel
def follow(ints, reals, question):
    """
    Write the solution next to the seed, and return how it was found.

    :param ints, reals: the chain, as said above.
    :param question: (question_size(n),) seed and target; the answer is written.
    """
    n = ints[N]
    at = n + LEFT
    seed, matrix_t = vector(question, at, n), matrix(question, at + n, 4, 4)
    if not se3.is_rigid(matrix_t, 0, reals[RIGID]):
        return NOT_HERE
    target = vector(question, at + n + 16, 12)
    own = vector(question, at + n + 28, certify.scratch_size(n))
    se3.from_matrix(target, matrix_t, 0)
    se3.orthonormalise(target)
    axes, points = vector(reals, OPTIONS, 3 * n), vector(reals, OPTIONS + 3 * n, 3 * n)
    home = vector(reals, OPTIONS + 6 * n, 12)
    slides, free = ints[SLIDES], vector(ints, FREE, n)
    q, errors = vector(question, 0, n), vector(question, n, LEFT)
    for i in range(n):
        q[i] = seed[i]
    certify.measure(axes, points, home, n, slides, q, target, errors, own)
    if not errors[2] <= reals[FARTHEST]:
        return NOT_HERE
    if _is_answer(reals, q, errors):
        return THE_SEED
    certify.certify(
        axes, points, home, n, slides, q, free, n, target, reals[FARTHEST], errors, own
    )
    for i in range(n):
        if not abs(q[i] - seed[i]) <= reals[LONGEST_WAY]:
            return NOT_HERE
    return REACHED if _is_answer(reals, q, errors) else NOT_HERE


@kernel
def _is_answer(reals, q, errors):
    """Return whether a state reaches the target within the limits."""
    n = q.shape[0]
    lower, upper = OPTIONS + 6 * n + 12, OPTIONS + 7 * n + 12
    inside = math.hypot(errors[0], errors[1]) <= reals[TOLERANCE]
    for i in range(n):
        inside = inside and reals[lower + i] <= q[i] <= reals[upper + i]
    return inside
