"""
Refine solutions at singular postures to rounding, where Newton's method diverges or converges slowly.

Problem
-------
A joint vector near a solution is given, and the Jacobian there is singular or nearly singular. Return this solution as
exactly as its pose determines it.

Method
------
1. Equations: position error over the chain's length unit, and rotation error, six rows.
2. Levenberg-Marquardt: (J^T J + d I) x = J^T e with a damping d proportional to the square of the error. This keeps the
   rate of Newton's method on a continuum of solutions. The error of a double solution falls by a factor of four in each
   step. If a step does not reduce the error, repeat it with more damping.
3. If the squares in J^T J have cost too many digits, take steps of the pseudo-inverse from the singular values of J.
4. Stop when steps no longer reduce the error. A double solution is then known to the square root of rounding.

Degeneracies
------------
Any rank of the Jacobian is allowed. If the error has a minimum that is not a solution, the steps end there.

Cost
----
One forward pass and one elimination of as many equations as joints may move, for each step. A double solution that
Newton has found to 1e-9 needs about twenty steps.

References
----------
[Fan2005]
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import certify, nearby_branches
from ssik_ros.kernels.geometry.vectors import copy, copy_table
from ssik_ros.kernels.rows import linalg, singular_values
from ssik_ros.kernels.rows.views import Floats, Memory

ROWS = 6
MOST_STEPS = 60
REFINEMENT_SHRINK = 0.2
MORE = 8.0
"""Factors of the damping after a successful step and after a failed one."""
MOST_REFUSALS = 10
"""Most failed steps in a row."""
ERROR_FLOOR = 2e-16
"""Error below which no step improves a posture [1]."""
STALLED, WORTH_IT = 1e-14, 1e-5
"""Errors between which the squares in the normal equations may have ended the steps."""
NEGLIGIBLE = 1e-10
"""Singular value, relative to the largest, that counts as zero."""
LONGEST_REFINEMENT_STEP = 0.3
"""Largest change of a joint in one step of the refinement [rad or m]."""
ALONE = 1e-15
"""Smallest pivot, relative to the largest entry, of equations that rounding may have made singular."""


class Aim(NamedTuple):
    """
    The problem of a refinement: a chain, which of its joints may move, and the pose that the tip has to reach.

    ``axes``, ``points`` (3 n,), ``home`` (12,), ``n`` and ``slides`` (bit mask of the prismatic joints) are the chain,
    as for :func:`certify.evaluate`; ``target`` (12,) is the pose. The first ``moving`` entries of ``free`` are the
    joints that may move; lengths are divided by ``unit`` [m].
    """

    axes: np.ndarray
    """(3 n,) unit directions."""
    points: np.ndarray
    """(3 n,) a point of each axis [m]."""
    home: np.ndarray
    """(12,) M, pose of the tip with all joints at zero: rotation row by row, then translation [m]."""
    n: int
    """Number of joints."""
    slides: int
    """Bit mask of the prismatic joints, see :mod:`chain`."""
    free: np.ndarray
    """(n,) indices of the joints; the first ``moving`` of them may move."""
    moving: int
    """Number of joints that may move."""
    target: np.ndarray
    """(12,) T, target pose of the tip: rotation row by row, then translation [m]."""
    unit: float
    """Unit of length [m]."""


class RefinementScratch(NamedTuple):
    """
    Views of the scratch of a refinement: postures, equations and singular vectors.

    The first fields have the sizes of a :class:`certify.CertificationScratch`, whose kernels take the same array.
    ``pose`` is FK(q); ``trial`` and ``best`` are postures: after a step, and the best so far. ``system`` and ``other``
    are the Jacobian, then the error, at the posture and at another one; ``normal`` the normal equations or their
    solution; ``values`` and ``vectors`` singular values and vectors.
    """

    screws: Annotated[Floats, '6 * n']
    """Axes of the joints after :func:`write_equations`."""
    pose: Annotated[Floats, 12]
    """FK(q) after :func:`write_equations`."""
    trial: Annotated[Floats, 'n']
    """Posture after a step."""
    system: Annotated[Floats, ROWS, 7]
    """Equations at the posture."""
    other: Annotated[Floats, ROWS, 7]
    """Equations at another posture, or a copy of them."""
    normal: Annotated[Floats, ROWS, 7]
    """Normal equations, later a step."""
    values: Annotated[Floats, 6]
    """Singular values."""
    vectors: Annotated[Floats, 6, 6]
    """Singular vectors."""
    best: Annotated[Floats, 'n']
    """Best posture so far."""


SCRATCH = Memory(RefinementScratch, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def write_equations(system, q, aim, scratch):
    """
    Write the Jacobian of the free joints and the pose error of the tip at q; return the norm of the error.

    Rows 0 to 2 are linear, in units of ``aim.unit``, rows 3 to 5 angular. The error is the motion that is missing to
    the target, see :func:`certify.write_system`.

    :param system: (6, 7) out: columns of the free joints, then the error in the next column.
    :param q: (n,) joint values [rad or m].
    :param aim: an :class:`Aim`: chain, joints that may move, and target.
    :param scratch: at least (6 n + 12,) numbers; the twelve numbers from 6 n on become FK(q).
    """
    n, slides, free, count, target = aim.n, aim.slides, aim.free, aim.moving, aim.target
    room = certify.view_scratch(scratch, n)
    screws, pose = room.screws, room.pose
    certify.evaluate(aim.axes, aim.points, aim.home, n, slides, q, screws, pose)
    certify.write_system(system, screws, slides, free, count, pose, target, 1.0 / aim.unit)
    total = 0.0
    for k in range(3):
        total += system[k, count] ** 2 + system[3 + k, count] ** 2
    return math.sqrt(total)


@kernel
def is_regular(q, aim, least, scratch):
    """
    Return whether the Jacobian of the joints that may move has full rank at a posture, by a margin.

    :param q: (n,) joint values.
    :param aim: an :class:`Aim`: chain, joints that may move, and target.
    :param least: the margin. With six moving joints, the smallest pivot over the largest entry must be larger; with
        fewer, the smallest singular value over the largest one.
    :param scratch: (scratch_size(n),) numbers.
    """
    room, count = view_scratch(scratch, aim.n), aim.moving
    write_equations(room.system, q, aim, scratch)
    if count == ROWS:
        return nearby_branches.smallest_pivot(room.system) > least
    singular_values.decompose(room.values, room.vectors, room.system, ROWS, count)
    return room.values[count - 1] > least * room.values[0]


@kernel
def solve_positive(normal, count):
    """
    Solve linear equations with a symmetric positive matrix, in place; a vanishing pivot is replaced by a tiny one.

    :param normal: (6, 7) matrix in its first ``count`` rows and columns, right side in column ``count``, which becomes
        the solution.
    :param count: number of equations.
    """
    largest = 0.0
    for i in range(count):
        largest = max(largest, normal[i, i])
    for k in range(count):
        pivot = max(normal[k, k], ALONE * largest + 1e-300)
        linalg.clear_below(normal, k, count, pivot, k + 1, count + 1)
        normal[k, k] = pivot
    linalg.back_substitute(normal, normal[:, count], count)


@kernel
def refine(q, aim, scratch):
    """
    Move a posture towards a nearby solution, also a singular one, in place, until rounding stops the progress.

    :param q: (n,) the candidate in, the posture with the smallest error out [rad or m].
    :param aim: an :class:`Aim`: chain, joints that may move, and target.
    :param scratch: (scratch_size(n),) numbers.
    :returns: Frobenius norm of FK(q) - T at the result, which need not be a solution.
    """
    room, free, count = view_scratch(scratch, aim.n), aim.free, aim.moving
    system, other, normal = room.system, room.other, room.normal
    error = write_equations(system, q, aim, scratch)
    damping, refusals = 1.0, 0
    for _ in range(MOST_STEPS):
        if not error > ERROR_FLOOR or refusals > MOST_REFUSALS:
            break
        certify.write_normal(normal, system, count)
        for j in range(count):
            normal[j, j] += damping * error * error
        solve_positive(normal, count)
        certify.move(room.trial, q, free, count, normal, LONGEST_REFINEMENT_STEP)
        gained = write_equations(other, room.trial, aim, scratch)
        if gained < error:
            copy(q, room.trial)
            copy_table(system, other)
            error, damping, refusals = gained, damping * REFINEMENT_SHRINK, 0
        else:
            damping *= MORE
            refusals += 1
    if STALLED < error < WORTH_IT:
        _step_without_squares(q, aim, error, scratch)
    write_equations(other, q, aim, scratch)
    return certify.residual(room.pose, aim.target)


@kernel
def _step_without_squares(q, aim, error, scratch):
    """
    Improve a posture in place by steps of the pseudo-inverse, which keep digits that normal equations lose.

    :param q: (n,) the posture in, the posture with the smallest error out.
    :param aim: an :class:`Aim`: chain, joints that may move, and target.
    :param error: norm of the pose error at q.
    :param scratch: (scratch_size(n),) numbers.
    """
    room, count, since = view_scratch(scratch, aim.n), aim.moving, 0
    system, step, values, vectors = room.system, room.normal, room.values, room.vectors
    copy(room.best, q)
    for _ in range(MOST_STEPS):
        now = write_equations(system, q, aim, scratch)
        since += 1
        if now < error:
            error, since = now, 0
            copy(room.best, q)
        if error <= ERROR_FLOOR or since > MOST_REFUSALS:
            break
        copy_table(room.other, system)
        singular_values.decompose(values, vectors, room.other, ROWS, count)
        for j in range(count):
            step[j, count] = 0.0
            for k in range(count):
                if values[k] > NEGLIGIBLE * values[0]:
                    along = 0.0
                    for i in range(ROWS):
                        along += _image(system, vectors, i, k, count) * system[i, count]
                    step[j, count] += vectors[j, k] * along / (values[k] * values[k])
        certify.move(room.trial, q, aim.free, count, step, LONGEST_REFINEMENT_STEP)
        copy(q, room.trial)
    copy(q, room.best)


@inline_kernel
def _image(system, vectors_, row, column, count):
    """
    Return entry (row, column) of the product of the Jacobian and its right singular vectors.

    :param system: (6, 7) Jacobian in its first ``count`` columns.
    :param vectors_: right singular vectors, one in each column.
    :param count: number of joints that may move.
    """
    total = 0.0
    for j in range(count):
        total += system[row, j] * vectors_[j, column]
    return total
