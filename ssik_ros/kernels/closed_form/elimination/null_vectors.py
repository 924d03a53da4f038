"""
Find the null vectors of an elimination's twelve equations at a root, and read two joint angles from each.

A root is a value of joint k, where the loop is cut, at which the equations are singular. The angles belong to joints
k+1 and k+2; x_a and x_b are the tangents of half of them.

A null vector has the entries x_a^i x_b^j, i = 3..0, j = 2..0, up to a factor. Several solutions that share the root
span a null space of as many dimensions; multiplication by x_a and by x_b acts on it linearly, and the common
eigenvectors of both are the solutions.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.elimination.elimination import (
    LEFT,
    MOST_EIGENVALUES,
    PRODUCTS,
    SIZE,
)
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import linalg
from ssik_ros.kernels.rows.eigenvectors import eigensystem, scratch_size
from ssik_ros.kernels.rows.householder import factorise, solve_factorised

REPLACING_PIVOT = 1e-15
"""Pivot, relative to the largest entry, that replaces a smaller one."""
TURN_A, TURN_B = 0.61, 1.13
"""Half-angles by which the origins of x_a and x_b are moved before a space is split; any half-angles that no
solution has are suitable."""
WEIGHT_B = 0.71
"""Share of x_b in the operator that separates the solutions of a space."""

AT_TAU = 2 * SIZE * MOST_EIGENVALUES
"""Place of a factorisation in the scratch of an operator."""
AT_REAL = 2 * MOST_EIGENVALUES * MOST_EIGENVALUES
AT_IMAGINARY = AT_REAL + MOST_EIGENVALUES
AT_REST = AT_IMAGINARY + MOST_EIGENVALUES
"""Places of the eigenvalues in the scratch of all vectors, after an operator and its modes."""
SCRATCH = AT_REST + max(
    2 * SIZE * MOST_EIGENVALUES + 3 * MOST_EIGENVALUES, scratch_size(MOST_EIGENVALUES)
)
"""Floats of scratch for :func:`split_space`."""


@kernel
def factorise_equations(lu, pivots, sine, cosine, one, q):
    """
    Write the triangular factors (LU) of the twelve equations of a cut loop at an angle of joint k.

    The unknowns are the products x_a^i x_b^j of the tangents of half the angles of joints k+1 and k+2. Vanishing pivots
    are replaced by tiny ones, so that null vectors can be computed.

    :param lu: (12, 12) out.
    :param pivots: (12,) out: int32 row exchanges.
    :param sine, cosine, one: (6, 9) coefficients of sin q_k, cos q_k and 1 in the six equations.
    :param q: angle of joint k [rad].
    """
    s, c = math.sin(q), math.cos(q)
    largest = 0.0
    for i in range(LEFT):
        for j in range(3):
            lu[2 * i, j] = lu[2 * i + 1, PRODUCTS + j] = 0.0
        for j in range(PRODUCTS):
            value = s * sine[i, j] + c * cosine[i, j] + one[i, j]
            lu[2 * i, 3 + j] = value
            lu[2 * i + 1, j] = value
            largest = max(largest, abs(value))
    for j in range(SIZE):
        place, pivot = linalg.find_pivot(lu, j, SIZE)
        pivots[j] = place
        if place != j:
            linalg.exchange_rows(lu, j, place, 0, SIZE)
        if not pivot > REPLACING_PIVOT * largest:
            lu[j, j] = REPLACING_PIVOT * largest + 1e-300
        inverse = 1.0 / lu[j, j]
        for i in range(j + 1, SIZE):
            factor = lu[i, j] * inverse
            lu[i, j] = factor
            for c_ in range(j + 1, SIZE):
                lu[i, c_] -= factor * lu[j, c_]


@inline_kernel
def _scale(x):
    """Scale a vector (12,) in place to a largest absolute entry of one; a zero vector stays zero."""
    largest = vectors.largest_of(x, SIZE)
    vectors.stretch(x, 1.0 / largest if largest > 0.0 else 0.0, SIZE)


@inline_kernel
def _solve(lu, pivots, x):
    """
    Solve the twelve equations in place: ``x`` (12,) is the right side, then the solution; ``lu`` is kept.

    :param lu, pivots: triangular factors and row exchanges, from :func:`factorise_equations`.
    """
    # Later exchanges of rows have moved the factors, so all of them come first.
    for j in range(SIZE):
        place = pivots[j]
        x[place], x[j] = x[j], x[place]
    for j in range(SIZE):
        value = x[j]
        for i in range(j + 1, SIZE):
            x[i] -= lu[i, j] * value
    linalg.back_substitute(lu, x, SIZE)


@kernel
def refine(lu, pivots, x):
    """
    Move a vector towards the null vector of the equations by one step of inverse iteration, in place.

    It is then scaled so that its largest absolute entry is 1.

    :param lu, pivots: triangular factors and row exchanges of the equations, from :func:`factorise_equations`.
    :param x: (12,) the vector, of products x_a^i x_b^j, see the module.
    """
    _solve(lu, pivots, x)
    _scale(x)


@kernel
def write_inverse_distances(out, lu, pivots, sine, cosine, q, x):
    """
    Write a matrix that tells how far the nearby roots are from an angle of joint k, where a loop is cut.

    The matrix is inv(M) D, with the value M and the derivative D of the twelve equations. A root is at the angle minus
    1 / eigenvalue [rad], to first order.

    :param out: (12, 12) out.
    :param lu, pivots: triangular factors and row exchanges of the equations at this angle, from
        :func:`factorise_equations`.
    :param sine, cosine: (6, 9) coefficients of sin q_k and cos q_k in the six equations.
    :param q: the angle of joint k [rad].
    :param x: (12,) scratch.
    """
    s, c = math.sin(q), math.cos(q)
    for column in range(SIZE):
        for i in range(LEFT):
            # Each polynomial is in two equations, in the last columns and in the first.
            for copy in range(2):
                j = column - 3 if copy == 0 else column
                is_there = 0 <= j < PRODUCTS
                x[2 * i + copy] = c * sine[i, j] - s * cosine[i, j] if is_there else 0.0
        _solve(lu, pivots, x)
        for i in range(SIZE):
            out[i, column] = x[i]


@inline_kernel
def _start(x, column):
    """Write into x (12,) a vector without structure to start an iteration from; it depends on ``column``."""
    for i in range(SIZE):
        x[i] = math.cos(1.0 + 2.7 * i + 1.3 * column * (i + 1))


@kernel
def null_vector(x, lu, pivots):
    """
    Write an approximate null vector of the equations at a root, by inverse iteration from a fixed vector.

    A root is an angle of joint k, where the loop is cut, at which the equations are singular. At another angle, the
    result is only a vector that the equations make small. Its largest absolute entry is 1.

    :param x: (12,) out: products x_a^i x_b^j up to a factor, see the module.
    :param lu, pivots: triangular factors and row exchanges of the equations at the root, from
        :func:`factorise_equations`.
    """
    _start(x, 0)
    linalg.back_substitute(lu, x, SIZE)
    _scale(x)
    refine(lu, pivots, x)


@kernel
def read_angles(x):
    """
    Return the angles (q_a, q_b) of joints k+1 and k+2 that a null vector belongs to, in [-2 pi, 2 pi] [rad].

    Joint k is the joint where the loop is cut. Each tangent of half an angle is the quotient of two entries that are
    one power apart. The largest entry of all is one of both.

    :param x: (12,) products x_a^i x_b^j, i = 3..0, j = 2..0, of the tangents of half the angles, up to a factor.
    """
    place, largest = 0, -1.0
    for i in range(SIZE):
        if abs(x[i]) > largest:
            place, largest = i, abs(x[i])
    i, j = place // 3, place % 3
    if i == 3 or (i > 0 and abs(x[place - 3]) > abs(x[place + 3])):
        qa = 2.0 * math.atan2(x[place - 3], x[place])
    else:
        qa = 2.0 * math.atan2(x[place], x[place + 3])
    if j == 2 or (j > 0 and abs(x[place - 1]) > abs(x[place + 1])):
        qb = 2.0 * math.atan2(x[place - 1], x[place])
    else:
        qb = 2.0 * math.atan2(x[place], x[place + 1])
    return qa, qb


@kernel
def _orthogonalise(space, m):
    """
    Make the rows of a table orthonormal, one after the other, in place.

    A row of which nothing remains becomes zero. Of a row that depends on earlier rows, rounding mostly leaves a rest;
    it becomes a unit vector without meaning.

    :param space: (m, 12).
    """
    for i in range(m):
        length = linalg.reject(space[i], space, i, SIZE)
        vectors.stretch(space[i], 1.0 / length if length > 0.0 else 0.0, SIZE)


@kernel
def null_space(space, lu, pivots, m):
    """
    Write an orthonormal basis of the null space of the equations at a root, by three steps of inverse iteration.

    At an angle that is not near a root, or if ``m`` is too large, some rows are only vectors without meaning. A row is
    zero if nothing at all remains of it.

    :param space: (m, 12) out.
    :param lu, pivots: triangular factors and row exchanges of the equations, from :func:`factorise_equations`.
    :param m: number of solutions that share the root.
    """
    for i in range(m):
        _start(space[i], i)
    for _ in range(3):
        for i in range(m):
            refine(lu, pivots, space[i])
        _orthogonalise(space, m)


@inline_kernel
def _is_high(index, step):
    """
    Return whether entry ``index + step`` of a null vector has one power of a variable less than entry ``index``.

    The entries are x_a^i x_b^j, i = 3..0, j = 2..0. The variable is x_a for step 3, x_b for step 1.

    :param index: 0 to 11.
    :param step: 3 or 1.
    """
    return index < SIZE - 3 if step == 3 else index % 3 < 2


@kernel
def _write_operator(out, space, m, step, turn, weight, scratch):
    """
    Add to a matrix the multiplication by a tangent of half an angle, as it acts on a space of null vectors.

    The tangent is x_a of joint k+1 (step 3) or x_b of joint k+2 (step 1), where k is the joint of the cut. It is
    measured from a moved origin: with x = tan(h) it is tan(h - turn).

    :param out: (m, m), to which ``weight`` times the matrix is added.
    :param space: (m, 12) basis of the space.
    :param m: dimension of the space.
    :param step: 3 for x_a, 1 for x_b.
    :param turn: half-angle by which the origin of the angle is moved, so that no solution is at infinity.
    :param weight: factor.
    :param scratch: (2 SIZE MOST_EIGENVALUES + 3 MOST_EIGENVALUES,).
    """
    low, high = matrix(scratch, 0, SIZE, m), matrix(scratch, SIZE * MOST_EIGENVALUES, m, SIZE)
    tau = vector(scratch, AT_TAU, MOST_EIGENVALUES)
    order = vector(scratch, AT_TAU + MOST_EIGENVALUES, MOST_EIGENVALUES)
    c, s = math.cos(turn), math.sin(turn)
    rows = 0
    for i in range(SIZE - step):
        if _is_high(i, step):
            for j in range(m):
                up, down = space[j, i], space[j, i + step]
                high[j, rows] = c * up - s * down
                low[rows, j] = s * up + c * down
            rows += 1
    rank = factorise(low, rows, m, tau, order, 1e-12)
    for column in range(m):
        right = high[column]
        solve_factorised(right, low, rows, tau, rank)
        for j in range(rank - 1, -1, -1):
            out[int(order[j]), column] += weight * right[j]


@kernel
def split_space(out, space, m, scratch):
    """
    Write the null vectors of the form x_a^i x_b^j, one for each solution, that span a space; return their number.

    Each is written up to a factor. The number is 0 if the eigenvectors do not converge. For a pair of complex solutions
    only the real part of one vector is written.

    :param out: (m, 12) out.
    :param space: (m, 12) basis of the space.
    :param m: dimension of the space.
    :param scratch: (SCRATCH,).
    """
    size = MOST_EIGENVALUES * MOST_EIGENVALUES
    operator, modes = matrix(scratch, 0, m, m), vector(scratch, size, size)
    real, imaginary = (
        vector(scratch, AT_REAL, MOST_EIGENVALUES),
        vector(scratch, AT_IMAGINARY, MOST_EIGENVALUES),
    )
    rest = vector(scratch, AT_REST, SCRATCH - AT_REST)
    vectors.fill(vector(scratch, 0, m * m), 0.0)
    _write_operator(operator, space, m, 3, TURN_A, 1.0, rest)
    _write_operator(operator, space, m, 1, TURN_B, WEIGHT_B, rest)
    if eigensystem(real, imaginary, modes, vector(scratch, 0, m * m), m, rest) != 0:
        return 0
    count = 0
    for i in range(m):
        if imaginary[i] < 0.0:
            continue
        for c in range(SIZE):
            total = 0.0
            for j in range(m):
                total += modes[i * m + j] * space[j, c]
            out[count, c] = total
        count += 1
    return count
