"""
Points of the curve on which seven joints keep a pose: Newton across the curve, and the tangent there.

Problem
-------
FK(q) = T are six equations for seven joints. A seventh one, row . q = aim, chooses a point of the curve.

Solutions
---------
The one that Newton's method reaches from the given start, and the unit tangent there.

Method
------
1. The columns of the Jacobian J as in :mod:`certify`, the error e at the tip, and the row below them are seven equations.
   Gaussian elimination with pivoting of [J; row] solves for the step and for the tangent at once: [J; row] t = (0, 1).
2. Steps end when the last one was small enough; its square is what is left.

Degeneracies
------------
[J; row] is singular where the row lies across the tangent, and at singular postures: the determinant, its sign included,
is returned. Its sign changes along a curve where another one crosses it.

Cost
----
A forward pass and an elimination of seven equations for each step.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide

N = 7
"""Joints."""
STEP, TANGENT = N, N + 1
"""Columns of the equations behind the matrix: right side and then the step; unit vector and then the tangent."""
COLUMNS = N + 2
MISS, PIVOT = 0, 1
"""Numbers of the facts."""
SINGULAR = 1e-12
"""Pivot, relative to the largest entry, below which the equations count as singular."""
LONGEST = 0.3
"""Longest step of Newton's method that is believed [rad or m]."""
EXACT = 1e-7
"""Last step after which a point is exact to rounding [rad or m]."""
EXACT_STEPS = 8
ALONG = 1e-11
"""Size of the tangent before it is made a unit vector, from which on it is none."""

CLEAR = 0.02
"""Part of a joint in the tangent from which on the joint's equation serves to find it."""

LOWER, UPPER = 6 * N + 24, 7 * N + 24
"""Limits in the real numbers of a plan."""


class Curve(NamedTuple):
    """The chain, the pose and scratch."""

    axes: np.ndarray
    points: np.ndarray
    home: np.ndarray
    slides: int
    held: int
    lower: np.ndarray
    """(7,) limits; infinite for joints of which every angle has a winding inside."""
    upper: np.ndarray
    target: np.ndarray
    """(12,) T."""
    screws: np.ndarray
    pose: np.ndarray
    system: np.ndarray
    """(7, 9)."""
    row: np.ndarray
    """(7,) the seventh equation."""
    tangent: np.ndarray
    """(7,) out."""
    free: np.ndarray
    """(7,) indices of all joints."""
    facts: np.ndarray
    """(2,) out: length of the first step of the last correction, least pivot of its last elimination."""


@inline_kernel
def scratch_size():
    """Return how many numbers :func:`open_curve` needs."""
    return 2 * N + 6 * N + 12 + N * COLUMNS + 2 * N + 2


@kernel
def _write_limits(work, ints, reals):
    """Write limits that count to the head of the scratch."""
    for k in range(N):
        low, high = reals[LOWER + k], reals[UPPER + k]
        is_free = not high - low < 2.0 * math.pi and not is_slide(ints[search.SLIDES], k)
        work[k] = -math.inf if is_free else low
        work[N + k] = math.inf if is_free else high


@inline_kernel
def open_curve(ints, reals, target, free, work):
    """
    Return the chain, the pose and scratch under their names.

    :param ints, reals: the plan.
    :param target: (12,) T.
    :param free: (7,) integers, 0 to 6.
    :param work: (scratch_size(),).
    """
    _write_limits(work, ints, reals)
    own = 2 * N
    return Curve(
        vector(reals, 0, 3 * N),
        vector(reals, 3 * N, 3 * N),
        vector(reals, 6 * N, 12),
        ints[search.SLIDES],
        ints[search.HELD],
        vector(work, 0, N),
        vector(work, N, N),
        target,
        vector(work, own, 6 * N),
        vector(work, own + 6 * N, 12),
        matrix(work, own + 6 * N + 12, N, COLUMNS),
        vector(work, own + 6 * N + 12 + N * COLUMNS, N),
        vector(work, own + 7 * N + 12 + N * COLUMNS, N),
        free,
        vector(work, own + 8 * N + 12 + N * COLUMNS, 2),
    )


@kernel
def _eliminate(system):
    """
    Solve seven equations in place for two right sides; return the determinant and the least pivot, 0 if singular.

    :param system: (7, 9).
    """
    largest, determinant, least = 0.0, 1.0, math.inf
    for i in range(N):
        for j in range(N):
            largest = max(largest, abs(system[i, j]))
    for k in range(N):
        best = k
        for i in range(k + 1, N):
            if abs(system[i, k]) > abs(system[best, k]):
                best = i
        pivot = system[best, k]
        determinant *= pivot
        if not abs(pivot) > SINGULAR * largest:
            return 0.0, 0.0
        least = min(least, abs(pivot))
        if best != k:
            determinant = -determinant
            for j in range(k, COLUMNS):
                system[k, j], system[best, j] = system[best, j], system[k, j]
        inverse = 1.0 / pivot
        for i in range(k + 1, N):
            factor = system[i, k] * inverse
            for j in range(k + 1, COLUMNS):
                system[i, j] -= factor * system[k, j]
    for k in range(N - 1, -1, -1):
        inverse = 1.0 / system[k, k]
        for c in (STEP, TANGENT):
            total = system[k, c]
            for j in range(k + 1, N):
                total -= system[k, j] * system[j, c]
            system[k, c] = total * inverse
    return determinant, least


@kernel
def solve_there(c, q, aim):
    """
    Write step and tangent at a posture and return the determinant, 0 where there is no step.

    :param c: of :func:`open_curve`; its ``row`` is the seventh equation, its ``tangent`` is written.
    :param q: (7,).
    :param aim: what ``row . q`` shall be.
    """
    certify.evaluate(c.axes, c.points, c.home, N, c.slides, q, c.screws, c.pose)
    certify.write_system(c.system, c.screws, c.slides, c.free, N, c.pose, c.target, 1.0)
    left = aim
    for k in range(N):
        c.system[6, k] = c.row[k]
        c.system[k, TANGENT] = 0.0
        left -= c.row[k] * q[k]
    c.system[6, STEP], c.system[6, TANGENT] = left, 1.0
    determinant, c.facts[PIVOT] = _eliminate(c.system)
    if determinant == 0.0:
        return 0.0
    size = 0.0
    for k in range(N):
        size += c.system[k, TANGENT] ** 2
    size = 1.0 / math.sqrt(size)
    for k in range(N):
        c.tangent[k] = size * c.system[k, TANGENT]
    return determinant


@kernel
def correct(c, q, aim, last, most):
    """
    Move a posture onto the curve, in place; return the last determinant, 0 where that fails.

    :param c: of :func:`open_curve`; its ``row`` is the seventh equation; tangent and first step are written.
    :param q: (7,).
    :param aim: what ``row . q`` shall be.
    :param last: step after which the next one is not worth its time [rad or m].
    :param most: steps at most.
    """
    for count in range(most):
        determinant = solve_there(c, q, aim)
        size = 0.0
        for k in range(N):
            size += c.system[k, STEP] ** 2
        size = math.sqrt(size)
        if count == 0:
            c.facts[MISS] = size
        if determinant == 0.0 or not size <= LONGEST:
            return 0.0
        for k in range(N):
            q[k] += c.system[k, STEP]
        if size <= last:
            return determinant
    return 0.0


@inline_kernel
def correct_exactly(c, q, aim):
    """Move a posture onto the curve to rounding, see :func:`correct`."""
    return correct(c, q, aim, EXACT, EXACT_STEPS)


@inline_kernel
def dot(a, b):
    """Return the scalar product of two joint vectors."""
    total = 0.0
    for k in range(N):
        total += a[k] * b[k]
    return total


@kernel
def fix_joint(c, joint):
    """
    Let the seventh equation say what a joint shall be.

    :param joint: its index.
    """
    for k in range(N):
        c.row[k] = 1.0 if k == joint else 0.0


@kernel
def write_first_tangent(c, q):
    """
    Write the tangent of the curve at a posture without a known direction.

    :param c: of :func:`open_curve`; its ``tangent`` is written.
    :param q: (7,) a posture on the curve.
    :returns: a number with the sign of the determinant of [J; tangent], 0 where there is no tangent.
    """
    best, largest = -1, 0.0
    for k in range(N):
        joint = (c.held + k) % N
        fix_joint(c, joint)
        # The joint's part of the tangent is positive then: the sign is that of [J; tangent], too.
        determinant = solve_there(c, q, q[joint])
        if abs(determinant) > largest:
            best, largest = joint, abs(determinant)
        if determinant != 0.0 and c.tangent[joint] > CLEAR:
            return determinant
    if best < 0:
        return 0.0
    fix_joint(c, best)
    return solve_there(c, q, q[best])
