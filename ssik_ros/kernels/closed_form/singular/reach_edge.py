"""
Move a posture that nearly reaches a pose to the edge of reach, such as a straight arm.

Problem
-------
A posture that nearly reaches a pose is given, and descents do not get nearer. At the edge of reach one direction u
(force and moment) is felt by no joint, J^T u = 0: motions of the joints change the error along u only to second order.
A descent that follows the gradient takes thousands of steps along a narrow valley.

Method
------
Unknowns: the values q of the joints that may move, the direction u, and the distance s of the pose from the edge.
Equations: the error of the pose is s u, J^T u = 0, and u has length one. There are as many equations as unknowns.
Newton's method converges quadratically if the second derivatives along u are regular on the null space of J.

Degeneracies
------------
If J lacks two ranks, or the second derivatives vanish, the steps of least squares may lead nowhere. The caller has to
measure the result.

Cost
----
One factorisation of m + 7 rows for m moving joints in each step, and 4 to 8 steps.

References
----------
[Nocedal2006], chapter 18 for Newton's method on the equations of Lagrange.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.singular import singular_refinement as sr
from ssik_ros.kernels.closed_form.singular.singular_refinement import ROWS
from ssik_ros.kernels.rows import bounded_squares, singular_values
from ssik_ros.kernels.rows.views import Floats, Memory

MOST_STEPS = 15
LONGEST_EDGE_STEP = 0.3
"""Largest change of a joint in one step towards the edge of reach [rad or m]."""
SETTLED_STEP = 1e-12
"""Largest change of a joint in the last step of a converged posture [rad or m]."""
EXTRA = ROWS + 1
"""Unknowns apart from the joints: the direction, and the distance."""


class EdgeScratch(NamedTuple):
    """
    Views of the scratch of :func:`move_to_edge`, for n joints of which m may move.

    ``motions`` (6, m + 1) is the Jacobian, then the error; ``force`` (6,) the direction u that no joint feels.
    ``turned``, ``values`` and ``vectors`` are the singular value decomposition that gives u. ``equations``, ``bounds``,
    ``squares`` and ``step`` are the least-squares problem of a Newton step and its solution.
    """

    refinement: Annotated[Floats, 'sr.scratch_size(n)']
    """Scratch of :mod:`singular_refinement`."""
    motions: Annotated[Floats, ROWS, 'm + 1']
    """Jacobian of the moving joints, then the error."""
    turned: Annotated[Floats, 'm', ROWS]
    """Transposed Jacobian, for its singular values."""
    values: Annotated[Floats, ROWS]
    """Singular values."""
    vectors: Annotated[Floats, ROWS, ROWS]
    """Right singular vectors of the transposed Jacobian."""
    force: Annotated[Floats, ROWS]
    """The direction u."""
    equations: Annotated[Floats, 'm + EXTRA', 'm + EXTRA + 1']
    """Matrix and right side of the equations."""
    step: Annotated[Floats, 'm + EXTRA']
    """Changes of joints, direction and distance."""
    bounds: Annotated[Floats, 2, 'm + EXTRA']
    """Infinite bounds of the step."""
    squares: Annotated[Floats, 'bounded_squares.scratch_size(m + EXTRA, m + EXTRA)']
    """Scratch of :func:`bounded_squares.solve_within`."""


SCRATCH = Memory(EdgeScratch, 'n, m', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def move_to_edge(q, axes, points, home, n, slides, free, moving, target, unit, scratch):
    """
    Move a posture in place towards the edge of reach, where no joint motion reduces the pose error to first order.

    Newton's method may fail, so the caller has to measure the result.

    :param q: (n,) a posture that nearly reaches the pose [rad or m].
    :param axes, points, home, n, slides, target, unit: chain, target pose and unit of length, as in
        :class:`singular_refinement.Aim`.
    :param free: (n,) indices of the joints; the first ``moving`` of them may move.
    :param moving: number of joints that may move.
    :param scratch: (scratch_size(n, moving),) numbers.
    """
    aim = sr.Aim(axes, points, home, n, slides, free, moving, target, unit)
    room = view_scratch(scratch, n, moving)
    force, step, distance = room.force, room.step, 0.0
    for k in range(moving + EXTRA):
        room.bounds[0, k], room.bounds[1, k] = -math.inf, math.inf
    sr.write_equations(room.motions, q, aim, room.refinement)
    _write_force(room, moving)
    for i in range(ROWS):
        distance += force[i] * room.motions[i, moving]
    for _ in range(MOST_STEPS):
        _write_newton(room, distance, moving)
        bounded_squares.solve_within(
            step, room.equations, room.bounds[0], room.bounds[1], room.squares
        )
        longest = SETTLED_STEP
        for j in range(moving):
            longest = max(longest, abs(step[j]))
        share = min(1.0, LONGEST_EDGE_STEP / longest)
        for j in range(moving):
            q[free[j]] += share * step[j]
        if longest <= SETTLED_STEP:
            break
        for i in range(ROWS):
            force[i] += share * step[moving + i]
        distance += share * step[moving + ROWS]
        sr.write_equations(room.motions, q, aim, room.refinement)


@kernel
def _write_force(room, moving):
    """
    Write into ``room.force`` the direction u of force and moment that the joints feel least.

    u is the left singular vector of the Jacobian with the smallest singular value.

    :param room: an :class:`EdgeScratch` with the Jacobian in ``motions``.
    :param moving: number of joints that may move.
    """
    for j in range(moving):
        for i in range(ROWS):
            room.turned[j, i] = room.motions[i, j]
    singular_values.decompose(room.values, room.vectors, room.turned, moving, ROWS)
    for i in range(ROWS):
        room.force[i] = room.vectors[i, ROWS - 1]


@kernel
def _write_newton(room, distance, moving):
    """
    Write into ``room.equations`` the linear equations of one Newton step towards the edge of reach.

    The step solves error = distance u, J^T u = 0 and |u| = 1 to first order, with unknown joints, u and distance.

    :param room: an :class:`EdgeScratch` with Jacobian and error in ``motions`` and u in ``force``.
    :param distance: current distance of the pose from the edge of reach.
    :param moving: number of joints that may move.
    """
    motions, force, equations, last = room.motions, room.force, room.equations, moving + EXTRA
    for i in range(last):
        for j in range(last + 1):
            equations[i, j] = 0.0
    for i in range(ROWS):
        for j in range(moving):
            equations[i, j] = equations[ROWS + j, moving + i] = motions[i, j]
            equations[ROWS + j, last] -= motions[i, j] * force[i]
        equations[i, moving + i] = distance
        equations[i, last - 1] = equations[last - 1, moving + i] = force[i]
        equations[i, last] = motions[i, moving] - distance * force[i]
        equations[last - 1, last] -= 0.5 * force[i] * force[i]
    equations[last - 1, last] += 0.5
    for i in range(moving):
        for j in range(moving):
            equations[ROWS + i, j] = bend(motions, force, i, j)


@kernel
def bend(motions, force, i, j):
    """
    Return the derivative of component i of J^T u with respect to joint j, at a fixed direction u.

    Joints before the i-th rotate column i of J. The i-th joint and those after it move the tip, which changes the
    linear part of the column.

    :param motions: (6, m or more) Jacobian J: motion of the tip for each joint, in their order, linear first.
    :param force: (6,) the direction u: force, then moment.
    :param i, j: positions of both joints among the columns of J.
    """
    a, b = min(i, j), max(i, j)
    total = 0.0
    for k in range(3):
        x, y = (k + 1) % 3, (k + 2) % 3
        total += force[k] * (motions[3 + x, a] * motions[y, b] - motions[3 + y, a] * motions[x, b])
        if i > j:
            total += force[3 + k] * (
                motions[3 + x, j] * motions[3 + y, i] - motions[3 + y, j] * motions[3 + x, i]
            )
    return total
