"""
Find the exact position of an isolated solution at which the Jacobian has several null vectors.

Problem
-------
Rounding leaves such a solution uncertain by the square root of the rounding error. At the solution the error vanishes,
and so does the Jacobian J on its null space. This second condition determines the position up to rounding.

Method
------
Let N be the null vectors of J, L the left null vectors, and D_i the derivative of J along the i-th column of N, by
central differences. The motion N t must satisfy L^T (J + sum_i t_i D_i) N = 0: k^2 equations for k unknowns, solved by
least squares. The pseudo-inverse gives the other components from the error. Both are repeated.

Degeneracies
------------
If the derivatives vanish, too, the position does not change in these directions.

Cost
----
2 k^2 + 2 k + 1 forward passes and two decompositions of 6x6 matrices for each of three steps.
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.singular import singular_refinement as sr
from ssik_ros.kernels.geometry.vectors import copy, copy_table
from ssik_ros.kernels.rows import singular_values
from ssik_ros.kernels.rows.views import Floats, Memory

STEPS = 3
SIDE = 1e-3
"""Distance of the places for the differences of J [rad]."""
SAYS_NOTHING = 1e-6
"""Relative damping of the least squares; it keeps the solution in directions with vanishing derivatives."""
LARGEST_CORRECTION = 1e-3
"""Longest correction of a solution [rad]; the error of the given solution is smaller."""


class PointScratch(NamedTuple):
    """Scratch of :func:`sharpen` for one solution, in addition to the scratch of a refinement."""

    system: Annotated[Floats, sr.ROWS, 7]
    """Equations at the solution."""
    right: Annotated[Floats, 6, 6]
    """Right singular vectors of the Jacobian."""
    values: Annotated[Floats, 6]
    """Its singular values."""
    left: Annotated[Floats, 6, 6]
    """Its left singular vectors."""
    one: Annotated[Floats, 6, 6]
    """Derivative of the Jacobian along a null vector."""
    two: Annotated[Floats, 6, 6]
    """Derivative of the Jacobian along another null vector."""
    normal: Annotated[Floats, 6, 7]
    """Normal equations, then their solution."""
    table: Annotated[Floats, sr.ROWS, 7]
    """Equations at other postures."""


SCRATCH = Memory(PointScratch, '', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def _write_left(left, values, system, count, spare):
    """
    Write the left singular vectors of a Jacobian as the columns of ``left`` (6, 6), the largest singular value first.

    :param values: (6,) out: singular values.
    :param system: (6, 7) Jacobian in its first ``count`` columns; not changed.
    :param count: number of joints that may move.
    :param spare: (6, 6) scratch.
    """
    for i in range(count):
        for j in range(sr.ROWS):
            spare[i, j] = system[j, i]
    singular_values.decompose(values, left, spare, count, sr.ROWS)


@kernel
def _write_derivative(out, q, probe, vectors, column, aim, table, scratch):
    """
    Write the derivative of the Jacobian along a direction of the joints, by central differences.

    :param out: (6, 6) out.
    :param q: (n,) the posture.
    :param vectors: (6, 6) directions in the free joints, one in each column.
    :param column: which of these directions.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param probe, table, scratch: (n,), (6, 7) and (6 n + 12,) scratch.
    """
    for side in range(2):
        sign = 1.0 - 2.0 * side
        copy(probe, q)
        for j in range(aim.moving):
            probe[aim.free[j]] += sign * SIDE * vectors[j, column]
        sr.write_equations(table, probe, aim, scratch)
        for i in range(sr.ROWS):
            for j in range(aim.moving):
                value = sign * table[i, j] / (2.0 * SIDE)
                out[i, j] = value if side == 0 else out[i, j] + value


@kernel
def _form(left, row, table, right, column, count):
    """
    Return entry (row, column) of the product L^T A N of three matrices.

    :param left, table, right: (6, 6) or (6, 7) matrices L, A and N.
    :param row, column: the column of L and the column of N.
    :param count: number of joints that may move: columns of A, and rows of N.
    """
    total = 0.0
    for i in range(sr.ROWS):
        inner = 0.0
        for j in range(count):
            inner += table[i, j] * right[j, column]
        total += left[i, row] * inner
    return total


@kernel
def sharpen(q, nulls, aim, probe, extra, scratch):
    """
    Move an isolated solution at which the Jacobian has several null vectors, in place, to its exact position.

    At the exact position the error vanishes, and the Jacobian on its null vectors. STEPS corrections are made, and the
    result is not checked.

    :param q: (n,) in: the solution, exact to the square root of rounding; out: exact to rounding if the steps converge.
    :param nulls: number of null vectors.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param probe: (n,) scratch.
    :param extra: (scratch_size(),) scratch.
    :param scratch: (6 n + 12,) scratch.
    """
    count = aim.moving
    system, right, values, left, one, two, normal, table = view_scratch(extra)
    first, skipped = count - nulls, sr.ROWS - nulls
    for _ in range(STEPS):
        sr.write_equations(system, q, aim, scratch)
        copy_table(table, system)
        singular_values.decompose(values, right, table, sr.ROWS, count)
        _write_left(left, values, system, count, one)
        # The normal equations of the k^2 ones.
        size = 0.0
        for a in range(nulls):
            _write_derivative(one, q, probe, right, first + a, aim, table, scratch)
            normal[a, nulls] = 0.0
            for b in range(nulls):
                _write_derivative(two, q, probe, right, first + b, aim, table, scratch)
                normal[a, b] = 0.0
                for row in range(nulls):
                    for column in range(nulls):
                        mine = _form(left, skipped + row, one, right, first + column, count)
                        other = _form(left, skipped + row, two, right, first + column, count)
                        normal[a, b] += mine * other
                        if a == b:
                            miss = _form(left, skipped + row, system, right, first + column, count)
                            normal[a, nulls] -= mine * miss
            size += normal[a, a]
        for a in range(nulls):
            normal[a, a] += SAYS_NOTHING * size + 1e-300
        sr.solve_positive(normal, nulls)
        _move(q, right, left, values, system, normal, nulls, aim)


@kernel
def _move(q, right, left, values, system, normal, nulls, aim):
    """
    Add one correction to a solution in place.

    Along the null vectors it is the given motion; perpendicular to them, the pseudo-inverse removes the pose error.

    :param q: (n,) the solution.
    :param right, left: (6, 6) right and left singular vectors of the Jacobian; the last ``nulls`` right vectors are
        null vectors.
    :param values: (6,) singular values.
    :param system: (6, 7) Jacobian, then the error.
    :param normal: (6, 7) motion along each null vector in column ``nulls``, cut to LARGEST_CORRECTION.
    :param nulls: number of null vectors.
    :param aim: a :class:`singular_refinement.Aim`, which names the joints that may move.
    """
    count = aim.moving
    for j in range(count):
        step = 0.0
        for a in range(nulls):
            step += right[j, count - nulls + a] * min(
                max(normal[a, nulls], -LARGEST_CORRECTION), LARGEST_CORRECTION
            )
        # J^+ e = J^T U S^-2 U^T e over the singular values that do not vanish.
        for k in range(count - nulls):
            inner = outer = 0.0
            for i in range(sr.ROWS):
                inner += left[i, k] * system[i, count]
                outer += left[i, k] * system[i, j]
            step += outer * inner / (values[k] * values[k])
        q[aim.free[j]] += step
