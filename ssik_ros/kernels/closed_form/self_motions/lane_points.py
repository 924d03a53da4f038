"""
Compute points of eight curves on which seven joints keep a pose, at once in SIMD lanes.

Problem
-------
FK(q) = T are six equations for seven joints. A seventh equation, row . q = aim, selects a point of the curve. Each of
eight postures has its own pair of row and aim.

Solutions
---------
The Newton step and the unit tangent.

Method
------
:mod:`curve_points` does the same for one curve by another factorisation.

1. Householder reflections H_1 ... H_6 move the rows of the Jacobian J into the first six coordinates: J H_1 ... H_6 =
   [L, 0] with L lower triangular. The tangent t is H_1 ... H_6 applied to the seventh unit vector, up to its sign.
2. Solve L y = e by forward substitution. The reflections applied to (y, 0) give the shortest step. A multiple of t is
   added to meet the seventh equation.
3. Six reflections are a rotation, so det [J; t] is the product of the diagonal of L.

Degeneracies
------------
The least diagonal element of L measures the distance of a posture from a singular posture.

Cost
----
A forward pass and about six hundred multiplications for eight postures.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification import newton_lanes
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry import lanes
from ssik_ros.kernels.geometry.lanes import LANES

ROWS = 6
ERROR = ROWS * N
"""Rows of eight numbers: the Jacobian column by column, the error, then the rows below."""
Q = ERROR + ROWS
ROW = Q + N
AIM = ROW + N
STEP = AIM + 1
TANGENT = STEP + N
SIZE = TANGENT + N
"""Length of the step."""
LEAST_DIAGONAL = SIZE + 1
"""Least diagonal element of L."""
ALONG = LEAST_DIAGONAL + 1
"""row . t, never negative."""
SIGN = ALONG + 1
"""Determinant of [J; t]."""
DIAGONAL = SIGN + 1
"""Diagonal of L; the other elements of L are in the Jacobian."""
FACTOR = DIAGONAL + ROWS
"""Factor 2 / v^2 of each reflection; its vector v is in the Jacobian."""
NUMBERS = FACTOR + ROWS
"""Number of these rows."""


@inline_kernel
def number_of(numbers, row, lane):
    """
    Return one number of a lane from the table of numbers of eight postures.

    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each lane.
    :param row: row of the number, such as LEAST_DIAGONAL.
    :param lane: index of the posture, 0 to 7.
    """
    return numbers[LANES * row + lane]


@inline_kernel
def set_number(numbers, row, lane, value):
    """
    Set one number of a lane in the table of numbers of eight postures to ``value``.

    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each lane.
    :param row: row of the number, such as AIM.
    :param lane: index of the posture, 0 to 7.
    """
    numbers[LANES * row + lane] = value


@inline_kernel
def read(out, numbers, row, lane):
    """
    Write a joint vector of a lane, such as its posture, into ``out`` (7 or more,).

    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each lane.
    :param row: first row of the vector: Q, STEP or TANGENT.
    :param lane: index of the posture, 0 to 7.
    """
    for k in range(N):
        out[k] = number_of(numbers, row + k, lane)


@inline_kernel
def place_across(numbers, lane, q, row):
    """
    Put a posture q into a lane, with a seventh equation that keeps the next postures in a plane through q.

    The equation is row . x = row . q, so the plane is perpendicular to ``row``.

    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each lane; Q, ROW and AIM of the lane are written.
    :param lane: index of the lane, 0 to 7.
    :param q, row: (7,) the posture and the row.
    """
    aim = 0.0
    for k in range(N):
        set_number(numbers, Q + k, lane, q[k])
        set_number(numbers, ROW + k, lane, row[k])
        aim += row[k] * q[k]
    set_number(numbers, AIM, lane, aim)


@inline_kernel
def place_holding(numbers, lane, q, joint):
    """
    Put a posture into a lane, with the seventh equation that one joint keeps its value.

    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each lane; Q, ROW and AIM of the lane are written.
    :param lane: index of the lane, 0 to 7.
    :param q: (7,) the posture.
    :param joint: index of the joint.
    """
    for k in range(N):
        set_number(numbers, Q + k, lane, q[k])
        set_number(numbers, ROW + k, lane, 1.0 if k == joint else 0.0)
    set_number(numbers, AIM, lane, q[joint])


@inline_kernel
def take_step(numbers, lane):
    """
    Add the Newton step of a lane to its posture Q, in place; other lanes do not move.

    :param numbers: (8 NUMBERS,) after :func:`solve_there`.
    :param lane: index of the posture, 0 to 7.
    """
    for k in range(N):
        numbers[LANES * (Q + k) + lane] += numbers[LANES * (STEP + k) + lane]


@inline_kernel
def entry_at(row, joint):
    """
    Return the offset in ``numbers`` of an entry of the Jacobian, eight numbers, one for each lane.

    :param row, joint: row (0 to 5) and column (0 to 6) of the entry.
    """
    return LANES * (ROWS * joint + row)


@kernel
def solve_there(c, numbers):
    """
    Write the Newton step towards the curve and the unit tangent of eight postures, without moving these.

    Also write the error, SIZE (length of the step), LEAST_DIAGONAL (least diagonal of the factor L), ALONG (row .
    tangent) and SIGN (determinant of [J; tangent]). The Jacobian J is replaced by its factors.

    :param c: from :func:`curve_points.open_curve`.
    :param numbers: (8 NUMBERS,) with the postures Q, and ROW and AIM of their seventh equations row . q = aim.
    """
    _write_equations(c, numbers)
    solve_equations(numbers)


@kernel
def solve_equations(numbers):
    """
    Write the Newton step and the unit tangent of eight systems of equations, whose Jacobian and error are given.

    Also write SIZE (length of the step), LEAST_DIAGONAL (least diagonal of the factor L), ALONG (row . tangent) and
    SIGN (determinant of [J; tangent]). The Jacobian J is replaced by its factors. If J is singular, or ROW
    perpendicular to the tangent, numbers may be infinite or NaN.

    :param numbers: (8 NUMBERS,) with J, the six errors ERROR, the postures Q, and ROW and AIM of their seventh
        equations row . q = aim.
    """
    least, product = lanes.spread(math.inf), lanes.spread(1.0)
    for row in range(ROWS):
        diagonal = _reflect(numbers, row)
        lanes.store(numbers, LANES * (DIAGONAL + row), diagonal)
        least = lanes.lesser(lanes.absolute(diagonal), least)
        product = product * diagonal
        # Forward substitution.
        left = lanes.load(numbers, LANES * (ERROR + row))
        for j in range(row):
            left = left - lanes.load(numbers, entry_at(row, j)) * lanes.load(
                numbers, LANES * (STEP + j)
            )
        lanes.store(numbers, LANES * (STEP + row), left / diagonal)
        lanes.store(numbers, LANES * (TANGENT + row), 0.0 * left)
    lanes.store(numbers, LANES * (STEP + ROWS), lanes.spread(0.0))
    lanes.store(numbers, LANES * (TANGENT + ROWS), lanes.spread(1.0))
    for row in range(ROWS - 1, -1, -1):
        _apply(numbers, row, STEP)
        _apply(numbers, row, TANGENT)
    lanes.store(numbers, LANES * LEAST_DIAGONAL, least)
    _meet_aim(numbers, product)


@kernel
def inverse_norm(numbers):
    """
    Return the Frobenius norm of the pseudoinverse of the Jacobian J, in eight lanes.

    :param numbers: (8 NUMBERS,) after :func:`solve_equations`; its errors are overwritten.
    """
    square = lanes.spread(0.0)
    for column in range(ROWS):
        for row in range(column, ROWS):
            left = lanes.spread(1.0 if row == column else 0.0)
            for k in range(column, row):
                entry = lanes.load(numbers, entry_at(row, k))
                left = left - entry * lanes.load(numbers, LANES * (ERROR + k))
            left = left / lanes.load(numbers, LANES * (DIAGONAL + row))
            lanes.store(numbers, LANES * (ERROR + row), left)
            square = square + left * left
    return lanes.root(square)


@kernel
def _write_equations(c, numbers):
    """
    Write into ``numbers`` the Jacobian and the pose error of the tip at the eight postures that it contains at Q.

    :param c: from :func:`curve_points.open_curve`: chain and target.
    :param numbers: (8 NUMBERS,) rows of eight numbers, one for each posture.
    """
    area = vector(numbers, LANES * Q, LANES * N)
    x, y, z, t = newton_lanes.write_screws(area, c.axes, c.points, c.home, N, c.slides, numbers)
    newton_lanes.write_columns(N, c.slides, t, numbers)
    shift, turn = newton_lanes.error_at(x, y, z, t, c.target)
    for k in range(3):
        lanes.store(numbers, LANES * (ERROR + k), shift[k])
        lanes.store(numbers, LANES * (ERROR + 3 + k), turn[k])


@inline_kernel
def _reflect(numbers, row):
    """
    Reflect Jacobian row ``row`` so that only its diagonal entry is left; return this entry of L in eight lanes.

    The rows below are reflected, too. The vector of the reflection replaces the row, its factor is stored at FACTOR.

    :param numbers: (8 NUMBERS,) in which the rows before ``row`` are reflected already.
    """
    square = lanes.spread(0.0)
    for k in range(row, N):
        entry = lanes.load(numbers, entry_at(row, k))
        square = square + entry * entry
    size, first = lanes.root(square), lanes.load(numbers, entry_at(row, row))
    diagonal = lanes.select(first >= 0.0, -size, size)
    factor = 1.0 / (square + size * lanes.absolute(first))
    lanes.store(numbers, entry_at(row, row), first - diagonal)
    lanes.store(numbers, LANES * (FACTOR + row), factor)
    for other in range(row + 1, ROWS):
        total = lanes.spread(0.0)
        for k in range(row, N):
            entry = lanes.load(numbers, entry_at(row, k))
            total = total + entry * lanes.load(numbers, entry_at(other, k))
        total = total * factor
        for k in range(row, N):
            entry = lanes.load(numbers, entry_at(other, k))
            entry = entry - total * lanes.load(numbers, entry_at(row, k))
            lanes.store(numbers, entry_at(other, k), entry)
    return diagonal


@inline_kernel
def _apply(numbers, row, start):
    """
    Apply the reflection that is stored in Jacobian row ``row`` to a vector of seven rows, in place.

    :param numbers: (8 NUMBERS,) after :func:`_reflect` of this row.
    :param start: first row of the vector, STEP or TANGENT.
    """
    total = lanes.spread(0.0)
    for k in range(row, N):
        value = lanes.load(numbers, LANES * (start + k))
        total = total + value * lanes.load(numbers, entry_at(row, k))
    total = total * lanes.load(numbers, LANES * (FACTOR + row))
    for k in range(row, N):
        value = lanes.load(numbers, LANES * (start + k))
        value = value - total * lanes.load(numbers, entry_at(row, k))
        lanes.store(numbers, LANES * (start + k), value)


@kernel
def _meet_aim(numbers, product):
    """
    Complete the Newton steps: add the multiple of the tangent by which row . q becomes AIM.

    The sign of the tangent is chosen so that ROW . tangent is not negative. SIZE (length of the step), ALONG (ROW .
    tangent) and SIGN (determinant of [J; tangent]) are written.

    :param numbers: with the shortest step and a unit tangent of either sign.
    :param product: product of the diagonal of L, in eight lanes.
    """
    along, left = lanes.spread(0.0), lanes.load(numbers, LANES * AIM)
    for k in range(N):
        row = lanes.load(numbers, LANES * (ROW + k))
        along = along + row * lanes.load(numbers, LANES * (TANGENT + k))
        q = lanes.load(numbers, LANES * (Q + k))
        left = left - row * (q + lanes.load(numbers, LANES * (STEP + k)))
    left, square = left / along, lanes.spread(0.0)
    side = lanes.select(along >= 0.0, 1.0, lanes.spread(-1.0))
    for k in range(N):
        t = lanes.load(numbers, LANES * (TANGENT + k))
        step = lanes.load(numbers, LANES * (STEP + k)) + left * t
        lanes.store(numbers, LANES * (TANGENT + k), side * t)
        lanes.store(numbers, LANES * (STEP + k), step)
        square = square + step * step
    lanes.store(numbers, LANES * SIZE, lanes.root(square))
    lanes.store(numbers, LANES * ALONG, side * along)
    lanes.store(numbers, LANES * SIGN, side * product)
