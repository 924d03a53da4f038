"""
Refine a posture that nearly reaches a pose, with every joint within its limits.

Problem
-------
A posture within the limits nearly reaches a pose, and a solution within the limits is near. It may be singular, and on
limits of several joints. Refine the posture to it.

Method
------
1. Equations: six rows as in :mod:`singular_refinement`; prismatic joints move in units of the chain's length.
2. Levenberg-Marquardt within bounds: of all steps within the limits and a largest step, take the step x that minimises
   |J x - e|^2 + (d |e|)^2 |x|^2, see :mod:`ssik_ros.kernels.rows.bounded_squares`. A joint that the step takes to a
   limit ends exactly on it, and the next step may take it off the limit again.
3. In a curved valley a step along the valley climbs its side, and the next step comes down again. So up to two steps
   may miss the smallest error so far. If the third step misses it, too, go back and repeat with a larger d.
4. Stop when steps no longer reduce the error.

Degeneracies
------------
Any rank of the Jacobian is allowed, and any number of joints on limits. The last solution of the equations of a step
comes from an orthogonal factorisation, so that small singular values keep their digits.

Cost
----
One forward pass and about one factorisation of n + 6 rows for each joint on a limit, in each step. From 1e-3 a regular
posture needs three steps, a double solution about twenty.

References
----------
[Fan2005], [Stark1995]
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.closed_form.singular.singular_refinement import (
    Aim,
    LONGEST_REFINEMENT_STEP,
    ROWS,
    write_equations,
)
from ssik_ros.kernels.geometry.vectors import copy
from ssik_ros.kernels.rows import bounded_squares
from ssik_ros.kernels.rows.views import Floats, Memory

LEAST_BOUNDED_DAMPING = 1e-9
"""Smallest damping that is added to the Jacobian; it keeps steps small along directions in which nothing changes."""
MOST_UPHILL = 2
"""Most steps in a row that may miss the smallest error so far."""
MOST_REFUSALS = 6
"""Most times in a row that the steps go back."""
BOUNDED_ERROR_FLOOR = 1e-15
"""Error below which no step improves a posture within limits [1]."""
BOUNDED_SHRINK, MORE = 0.5, 8.0
"""Factors of the damping after a successful step and after a failed one."""


class BoundedScratch(NamedTuple):
    """
    Views of the scratch of :func:`refine_within`: equations, bounds, step and best posture.

    ``table`` (6 + n, n + 1) is the Jacobian above the damping, with the error as the last column. ``bounds`` (2, n) are
    the least and the largest ``step`` (n,), prismatic joints in units of length. ``best`` (n,) is the best posture so
    far, ``squares`` scratch of the solver.
    """

    certification: Annotated[Floats, 'certify.scratch_size(n)']
    """Scratch of :func:`write_equations`."""
    table: Annotated[Floats, 'ROWS + n', 'n + 1']
    """Jacobian over the damping, then the error."""
    bounds: Annotated[Floats, 2, 'n']
    """Least and largest step."""
    step: Annotated[Floats, 'n']
    """Step, in radians and units of length."""
    best: Annotated[Floats, 'n']
    """Best posture so far."""
    squares: Annotated[Floats, 'bounded_squares.scratch_size(ROWS + n, n)']
    """Scratch of :func:`bounded_squares.solve_within`."""


SCRATCH = Memory(BoundedScratch, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def refine_within(
    q, lower, upper, axes, points, home, n, slides, joints, target, unit, most_steps, scratch
):
    """
    Improve a posture in place, without leaving the limits, until rounding stops the progress.

    :param q: (n,) a posture within the limits in, the posture with the smallest error out [rad or m].
    :param lower, upper: (n,) limits [rad or m].
    :param axes, points, home, n, slides, target, unit: chain, target pose and unit of length, as in
        :class:`singular_refinement.Aim`.
    :param joints: (n,) indices of the joints: 0 to n - 1.
    :param most_steps: largest number of steps, including failed steps.
    :param scratch: (scratch_size(n),) numbers.
    :returns: Frobenius norm of FK(q) - T at the improved posture, which need not be a solution.
    """
    aim = Aim(axes, points, home, n, slides, joints, n, target, unit)
    room = view_scratch(scratch, n)
    table, step, best = room.table, room.step, room.best
    least, largest = room.bounds[0], room.bounds[1]
    error = here = write_equations(table, q, aim, room.certification)
    copy(best, q)
    damping, refusals, uphill = 1.0, 0, 0
    for _ in range(most_steps):
        if not error > BOUNDED_ERROR_FLOOR or refusals > MOST_REFUSALS:
            break
        _damp(table, aim, max(LEAST_BOUNDED_DAMPING, damping * here))
        for v in range(n):
            scale = unit if is_slide(slides, v) else 1.0
            least[v] = max((lower[v] - q[v]) / scale, -LONGEST_REFINEMENT_STEP)
            largest[v] = min((upper[v] - q[v]) / scale, LONGEST_REFINEMENT_STEP)
        bounded_squares.solve_within(step, table, least, largest, room.squares)
        for v in range(n):
            # Not the sum of a value and a difference: a joint on a limit is exactly there.
            if step[v] == least[v] and step[v] > -LONGEST_REFINEMENT_STEP:
                q[v] = lower[v]
            elif step[v] == largest[v] and step[v] < LONGEST_REFINEMENT_STEP:
                q[v] = upper[v]
            else:
                q[v] += step[v] * (unit if is_slide(slides, v) else 1.0)
        here = write_equations(table, q, aim, room.certification)
        if here < error:
            copy(best, q)
            error, damping, refusals, uphill = here, damping * BOUNDED_SHRINK, 0, 0
        elif uphill < MOST_UPHILL:
            uphill += 1
        else:
            copy(q, best)
            here = write_equations(table, q, aim, room.certification)
            damping, refusals, uphill = damping * MORE, refusals + 1, 0
    copy(q, best)
    write_equations(table, q, aim, room.certification)
    return certify.residual(certify.view_scratch(room.certification, n).pose, target)


@kernel
def _damp(table, aim, damping):
    """
    Complete the equations of a step: scale the columns of prismatic joints, and append the damping rows.

    :param table: (6 + n, n + 1) changed in place. It has the Jacobian in its first six rows, with the error in the
        last column; the n rows below become ``damping`` times the unit matrix.
    :param aim: a :class:`singular_refinement.Aim`: its unit of length scales the columns.
    :param damping: factor that keeps the step small.
    """
    n = aim.n
    for v in range(n):
        if is_slide(aim.slides, v):
            for i in range(ROWS):
                table[i, v] *= aim.unit
        for i in range(n):
            table[ROWS + i, v] = damping if i == v else 0.0
        table[ROWS + v, n] = 0.0
