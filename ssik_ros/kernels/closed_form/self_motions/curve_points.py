"""
Compute points of the curve on which seven joints keep a pose: Newton steps across the curve, and the tangent.

Problem
-------
FK(q) = T are six equations for seven joints. A seventh equation, row . q = aim, selects a point of the curve.

Solutions
---------
The point that Newton's method reaches from the given start, and the unit tangent there.

Method
------
1. Seven equations: the columns of the Jacobian J as in :mod:`certify` with the error e at the tip, and the row.
   Gaussian elimination with pivoting of [J; row] gives the step and the tangent at once: [J; row] t = (0, 1).
2. Stop after a step that is small enough; the remaining error is about its square.

Degeneracies
------------
[J; row] is singular if the row is perpendicular to the tangent, and at singular postures. So the functions return the
determinant with its sign. Along a curve, the sign changes at a crossing with another curve.

Cost
----
A forward pass and an elimination of seven equations for each step.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.branches import plan_layout, search
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import linalg
from ssik_ros.kernels.rows.views import Floats, Memory

N = 7
"""Number of joints."""
STEP, TANGENT = N, N + 1
"""Columns of the equations after the matrix: right side, later the step; unit vector, later the tangent."""
COLUMNS = N + 2
MISS, PIVOT = 0, 1
"""Indices into ``facts``."""
SINGULAR_EQUATIONS = 1e-12
"""Pivot, relative to the largest entry, below which the equations count as singular."""
LONGEST_NEWTON_STEP = 0.3
"""Longest accepted Newton step [rad or m]."""
LAST_STEP = 1e-7
"""Largest last Newton step of a point that is exact up to rounding [rad or m]."""
EXACT_STEPS = 8
LEAST_TANGENT = 1e-11
"""Least size of the tangent before it is normalized; below it, the tangent is undefined."""

CLEAR = 0.02
"""Least component of a joint in the tangent at which the joint's equation determines the tangent."""


class Curve(NamedTuple):
    """
    One curve of postures of a seven-joint chain that keep a target pose, with the scratch to compute its points.

    ``axes`` (21,), ``points`` (21,), ``home`` (12,), ``slides``: the chain, as for :func:`certify.evaluate`. ``held``:
    the joint by which the curve's direction is chosen. ``lower``, ``upper`` (7,): limits, infinite for joints that may
    turn fully. ``target`` (12,): the pose. ``screws`` (42,) and ``pose`` (12,): axes of the joints and pose of the tip
    at the last posture. ``system`` (7, 9): the seven equations of a Newton step; ``row`` (7,): coefficients of the
    seventh equation, row . q = aim. ``tangent`` (7,): unit tangent. ``free``: the indices 0 to 6. ``facts``: length of
    the first step of the last correction, and least pivot of the last elimination.
    """

    axes: np.ndarray
    points: np.ndarray
    home: np.ndarray
    slides: int
    held: int
    lower: Annotated[Floats, N]
    """Lower limits; -inf for revolute joints whose range covers a full turn."""
    upper: Annotated[Floats, N]
    """Upper limits; inf for the same joints."""
    target: np.ndarray
    """(12,) T."""
    screws: Annotated[Floats, 6 * N]
    pose: Annotated[Floats, 12]
    system: Annotated[Floats, N, COLUMNS]
    """The seven equations."""
    row: Annotated[Floats, N]
    """Row of the seventh equation."""
    tangent: Annotated[Floats, N]
    """Out: unit tangent."""
    free: np.ndarray
    """(7,) indices of all joints."""
    facts: Annotated[Floats, 2]
    """Out: length of the first step of the last correction, least pivot of the last elimination."""
    errors: Annotated[Floats, 3]
    """Errors of a posture, see :func:`measure`."""
    q: Annotated[Floats, N]
    """A posture to work with."""


SCRATCH = Memory(Curve, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def _write_limits(c, lower, upper):
    """
    Write the limits of a plan into a curve, infinite for revolute joints whose range covers a full turn.

    :param c: a :class:`Curve`, whose ``lower`` and ``upper`` are written.
    :param lower, upper: (7,) limits of the plan [rad or m].
    """
    for k in range(N):
        is_free = not upper[k] - lower[k] < 2.0 * math.pi and not is_slide(c.slides, k)
        c.lower[k] = -math.inf if is_free else lower[k]
        c.upper[k] = math.inf if is_free else upper[k]


@inline_kernel
def open_curve(ints, reals, target, free, work):
    """
    Return a :class:`Curve` for an arm and a target pose: views of the plan, and views of the scratch.

    :param ints, reals: integers and real numbers of the arm's plan, see :mod:`search`.
    :param target: (12,) pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    """
    plan = plan_layout.view_plan(reals, N)
    slides, held = ints[search.SLIDES], ints[search.HELD]
    c = _view(work, plan.axes, plan.points, plan.home, slides, held, target, free)
    _write_limits(c, plan.lower, plan.upper)
    return c


@kernel
def _eliminate(system):
    """
    Solve seven equations in place for two right sides; return (determinant, least absolute pivot).

    Both are zero, and the system is spoilt, if the equations are singular.

    :param system: (7, 9) matrix, then two right sides; the solutions replace the right sides.
    """
    largest, determinant, least = linalg.largest_entry(system, N), 1.0, math.inf
    for k in range(N):
        best, size = linalg.find_pivot(system, k, N)
        pivot = system[best, k]
        determinant *= pivot
        if not size > SINGULAR_EQUATIONS * largest:
            return 0.0, 0.0
        least = min(least, size)
        if best != k:
            determinant = -determinant
            linalg.exchange_rows(system, k, best, k, COLUMNS)
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
    Write the Newton step towards the curve and the unit tangent at a posture, without moving it.

    The step is in column STEP of ``c.system``, the tangent in ``c.tangent``.

    :param c: from :func:`open_curve`; ``c.row`` (7,) is the seventh equation, row . q = aim.
    :param q: (7,) the posture.
    :param aim: wanted value of ``row . q``.
    :returns: determinant of [J; row], with the Jacobian J; 0 if the equations are singular, then the step is undefined
        and ``c.tangent`` is not written.
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
    Move a posture onto the curve by Newton steps, in place, to the point with ``row . q`` = ``aim``.

    This fails if the equations are singular, a step is longer than LONGEST_NEWTON_STEP, or ``most`` steps are too few.

    :param c: from :func:`open_curve`; ``c.row`` is given. The tangent, and the length of the first step in ``c.facts``,
        are written.
    :param q: (7,) the posture; after a failure it may have moved, too.
    :param aim: wanted value of ``row . q``.
    :param last: step length at which the iteration ends [rad or m].
    :param most: most steps.
    :returns: last determinant of [J; row], with the Jacobian J; 0 after a failure.
    """
    for count in range(most):
        determinant = solve_there(c, q, aim)
        size = 0.0
        for k in range(N):
            size += c.system[k, STEP] ** 2
        size = math.sqrt(size)
        if count == 0:
            c.facts[MISS] = size
        if determinant == 0.0 or not size <= LONGEST_NEWTON_STEP:
            return 0.0
        for k in range(N):
            q[k] += c.system[k, STEP]
        if size <= last:
            return determinant
    return 0.0


@inline_kernel
def correct_exactly(c, q, aim):
    """
    Move q (7,) in place onto the curve up to rounding, to the point with ``c.row . q`` = ``aim``.

    :param c: from :func:`open_curve`; ``c.row`` is given, ``c.tangent`` is written.
    :returns: determinant of [J; row], with the Jacobian J; 0 if Newton's method fails, see :func:`correct`.
    """
    return correct(c, q, aim, LAST_STEP, EXACT_STEPS)


@inline_kernel
def dot(a, b):
    """Return the scalar product of two joint vectors (7,)."""
    return vectors.inner(a, b, N)


@kernel
def measure(c, q, errors):
    """
    Write the pose errors of a posture: position error [m], rotation error [rad], Frobenius norm of FK(q) - T.

    :param c: from :func:`open_curve`: chain and target T.
    :param q: (7,) the posture.
    :param errors: (3,) out.
    """
    certify.evaluate(c.axes, c.points, c.home, N, c.slides, q, c.screws, c.pose)
    certify.write_errors(errors, c.pose, c.target)


@kernel
def write_first_tangent(c, q):
    """
    Write the unit tangent of a curve at its first posture into ``c.tangent``.

    The tangent points to larger values of one joint. This is the held joint if its component of the tangent exceeds
    CLEAR, otherwise the next joint of which this holds. Without such a joint, it is the joint whose equation gives the
    largest determinant. ``c.row`` is overwritten.

    :param c: from :func:`open_curve`: chain, pose and held joint.
    :param q: (7,) a posture on the curve.
    :returns: a number with the sign of the determinant of [J; tangent], with the Jacobian J; 0 if the tangent is
        undefined.
    """
    best, largest = -1, 0.0
    for k in range(N):
        joint = (c.held + k) % N
        vectors.write_unit(c.row, joint)
        # With this row the joint's component of the tangent is positive, so the sign is also the sign of [J; tangent].
        determinant = solve_there(c, q, q[joint])
        if abs(determinant) > largest:
            best, largest = joint, abs(determinant)
        if determinant != 0.0 and c.tangent[joint] > CLEAR:
            return determinant
    if best < 0:
        return 0.0
    vectors.write_unit(c.row, best)
    return solve_there(c, q, q[best])
