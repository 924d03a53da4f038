"""
Solutions at singular postures to rounding, where Newton's steps are long, slow or lead away.

Problem
-------
Given a joint vector near a solution at which the Jacobian is singular or nearly so, return that solution as exactly as
its pose can tell.

Method
------
1. Equations: position error over the chain's length unit, and rotation error, six rows.
2. Levenberg-Marquardt: (J^T J + d I) x = J^T e with a damping d proportional to the square of the error, which keeps
   the rate of Newton where solutions form a continuum, and goes down by a factor of four in the error of a double
   solution. A step that does not gain is tried again with more damping.
3. Where the squares in J^T J have cost too many digits, steps of the pseudo-inverse from the singular values of J.
4. Until no step gains any more: the floor of rounding. A double solution is then known to the square root of it.

Degeneracies
------------
Any rank of the Jacobian. At a minimum of the error that is no solution the steps end there.

Cost
----
One forward pass and one elimination of as many equations as joints may move, for each step; some twenty from a double
solution that Newton has found to 1e-9.

References
----------
[Fan2005]
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.closed_form.singular import singular_values
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.vectors import copy, copy_table

ROWS = 6
MOST_STEPS = 60
FEWER = 0.2
MORE = 8.0
"""Factors of the damping after a step that gains and after one that does not."""
MOST_REFUSALS = 10
"""Steps in a row that may not gain."""
FLOOR = 2e-16
"""Error below which nothing can be gained."""
STALLED, WORTH_IT = 1e-14, 1e-5
"""Errors between which the squares in the normal equations may have ended the steps."""
NEGLIGIBLE = 1e-10
"""Singular value, relative to the largest, that says nothing."""
LONGEST_STEP = 0.3
"""Largest change of a joint in one step [rad or m]."""
ALONE = 1e-15
"""Smallest pivot, relative to the largest entry, of equations that rounding may have made singular."""


class Aim(NamedTuple):
    """A chain, the joints of it that may move, and the pose that they have to reach."""

    axes: np.ndarray
    """(3 n,) unit directions."""
    points: np.ndarray
    """(3 n,) a point of each axis [m]."""
    home: np.ndarray
    """(12,) M."""
    n: int
    """Number of joints."""
    slides: int
    """Which joints are prismatic, see :mod:`chain`."""
    free: np.ndarray
    """(n,) indices of the joints that may move."""
    moving: int
    """How many of these are meant."""
    target: np.ndarray
    """(12,) T."""
    unit: float
    """Length that counts as one [m]."""


@inline_kernel
def scratch_size(n):
    """
    Return how many numbers :func:`refine` needs for a chain of n joints.

    :param n: number of joints.
    """
    return 8 * n + 12 + 3 * 42 + 42


@kernel
def write_equations(system, q, aim, scratch):
    """
    Write the Jacobian of the free joints and the error at the tip, and return its norm.

    :param system: (6, 7) columns of ``count`` joints, then the error in column ``count``.
    :param q: (n,) joint values.
    :param aim: chain and pose.
    :param scratch: (6 n + 12,) numbers; the last twelve are FK(q) then.
    """
    n, slides, free, count, target = aim.n, aim.slides, aim.free, aim.moving, aim.target
    screws, pose = vector(scratch, 0, 6 * n), vector(scratch, 6 * n, 12)
    certify.evaluate(aim.axes, aim.points, aim.home, n, slides, q, screws, pose)
    t, scale = (pose[9], pose[10], pose[11]), 1.0 / aim.unit
    for j in range(count):
        i = free[j]
        z, p = triple(screws, 2 * i), triple(screws, 2 * i + 1)
        if is_slide(slides, i):
            v, z = z, (0.0, 0.0, 0.0)
        else:
            v = vectors.cross(z, vectors.subtract(t, p))
        for k in range(3):
            system[k, j] = scale * v[k]
            system[3 + k, j] = z[k]
    w = (0.0, 0.0, 0.0)
    for k in range(3):
        have = (pose[k], pose[3 + k], pose[6 + k])
        want = (target[k], target[3 + k], target[6 + k])
        w = vectors.add(w, vectors.cross(have, want))
    total = 0.0
    for k in range(3):
        system[k, count] = scale * (target[9 + k] - pose[9 + k])
        system[3 + k, count] = 0.5 * w[k]
        total += system[k, count] ** 2 + system[3 + k, count] ** 2
    return math.sqrt(total)


@kernel
def write_normal(normal, system, count):
    """
    Write J^T J and J^T e.

    :param normal: (6, 7) in its first ``count`` rows, and column ``count``.
    :param system: (6, 7).
    """
    for a in range(count):
        for b in range(count + 1):
            total = 0.0
            for i in range(ROWS):
                total += system[i, a] * system[i, b]
            normal[a, b] = total


@kernel
def solve_positive(normal, count):
    """
    Solve symmetric positive equations in place; the solution stands in column ``count``.

    :param normal: (6, 7) of which ``count`` rows and one column more are meant.
    """
    largest = 0.0
    for i in range(count):
        largest = max(largest, normal[i, i])
    for k in range(count):
        pivot = max(normal[k, k], ALONE * largest + 1e-300)
        for i in range(k + 1, count):
            factor = normal[i, k] / pivot
            for j in range(k + 1, count + 1):
                normal[i, j] -= factor * normal[k, j]
        normal[k, k] = pivot
    for k in range(count - 1, -1, -1):
        total = normal[k, count]
        for j in range(k + 1, count):
            total -= normal[k, j] * normal[j, count]
        normal[k, count] = total / normal[k, k]


@kernel
def move(out, q, free, count, step):
    """
    Write a posture one step on, shortened where it is too long.

    :param out, q: (n,); all of q is copied.
    :param free: (n,) indices of the joints that move.
    :param step: (., 7) of which column ``count`` is the step.
    """
    longest = 0.0
    for j in range(count):
        longest = max(longest, abs(step[j, count]))
    scale = LONGEST_STEP / longest if longest > LONGEST_STEP else 1.0
    copy(out, q)
    for j in range(count):
        out[free[j]] += scale * step[j, count]


@kernel
def refine(q, aim, scratch):
    """
    Improve a solution in place until rounding ends it, and return the Frobenius norm of FK(q) - T.

    :param q: (n,) the candidate, then the best state met.
    :param aim: chain and pose.
    :param scratch: (scratch_size(n),) numbers.
    """
    n, free, count = aim.n, aim.free, aim.moving
    walk, trial = vector(scratch, 0, 6 * n + 12), vector(scratch, 6 * n + 12, n)
    system = matrix(scratch, 7 * n + 12, ROWS, 7)
    other = matrix(scratch, 7 * n + 54, ROWS, 7)
    normal = matrix(scratch, 7 * n + 96, ROWS, 7)
    error = write_equations(system, q, aim, walk)
    damping, refusals = 1.0, 0
    for _ in range(MOST_STEPS):
        if not error > FLOOR or refusals > MOST_REFUSALS:
            break
        write_normal(normal, system, count)
        for j in range(count):
            normal[j, j] += damping * error * error
        solve_positive(normal, count)
        move(trial, q, free, count, normal)
        gained = write_equations(other, trial, aim, walk)
        if gained < error:
            copy(q, trial)
            copy_table(system, other)
            error, damping, refusals = gained, damping * FEWER, 0
        else:
            damping *= MORE
            refusals += 1
    if STALLED < error < WORTH_IT:
        _step_without_squares(q, aim, error, scratch)
    write_equations(other, q, aim, walk)
    return certify.residual(vector(scratch, 6 * n, 12), aim.target)


@kernel
def _step_without_squares(q, aim, error, scratch):
    """Improve a posture in place by steps of the pseudo-inverse from singular values, as long as any gains."""
    n, count = aim.n, aim.moving
    walk, trial = vector(scratch, 0, 6 * n + 12), vector(scratch, 6 * n + 12, n)
    system = matrix(scratch, 7 * n + 12, ROWS, 7)
    columns, step = matrix(scratch, 7 * n + 54, ROWS, 7), matrix(scratch, 7 * n + 96, ROWS, 7)
    values, vectors_ = vector(scratch, 7 * n + 138, 6), matrix(scratch, 7 * n + 144, 6, 6)
    best, since = vector(scratch, 7 * n + 180, n), 0
    copy(best, q)
    for _ in range(MOST_STEPS):
        now = write_equations(system, q, aim, walk)
        since += 1
        if now < error:
            error, since = now, 0
            copy(best, q)
        if error <= FLOOR or since > MOST_REFUSALS:
            break
        copy_table(columns, system)
        singular_values.decompose(values, vectors_, columns, ROWS, count)
        for j in range(count):
            step[j, count] = 0.0
            for k in range(count):
                if values[k] > NEGLIGIBLE * values[0]:
                    along = 0.0
                    for i in range(ROWS):
                        along += _image(system, vectors_, i, k, count) * system[i, count]
                    step[j, count] += vectors_[j, k] * along / (values[k] * values[k])
        move(trial, q, aim.free, count, step)
        copy(q, trial)
    copy(q, best)


@inline_kernel
def _image(system, vectors_, row, column, count):
    """Return one number of the Jacobian times its right singular vectors."""
    total = 0.0
    for j in range(count):
        total += system[row, j] * vectors_[j, column]
    return total
