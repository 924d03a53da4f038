"""
Newton's method for eight candidates at once, for chains that nearly fit a class.

Problem
-------
Joint vectors that nearly reach a pose, of six or seven joints that may move, are given. Move them to solutions.

Solutions
---------
If a candidate is close enough, the nearest solution, to first order. No result is checked here.

Method
------
1. The columns (z_i x (t - p_i), z_i) of the moving joints are J, and e is the error at the tip, as in :mod:`certify`.
   The shortest step is J^T y with J J^T y = e, six equations solved by elimination.
2. Stop when every candidate is exact up to rounding, or after STEPS steps.

Degeneracies
------------
At a singular posture J J^T is singular, so it is damped by TRACE_DAMPING. Candidates that do not arrive are left to
:func:`certify.certify`, which improves one candidate at a time. With seven joints, a fold of the branches of six joints
does not make J J^T singular.

Cost
----
A forward pass and the solution of six equations for each step, eight candidates at a time.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.geometry import lanes, vectors
from ssik_ros.kernels.geometry.lane_poses import load_vector
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import combine

STEPS = 4
"""Most steps; three lead from an error of 1e-2 to rounding at a regular posture."""
TRACE_DAMPING = 1e-14
"""Damping of the equations, relative to the sum of the diagonal."""
ROWS = 6
COLUMNS = ROWS + 1
"""Columns of the equations: J J^T, and the error."""


@inline_kernel
def scratch_size(n):
    """
    Return the size of the scratch of :func:`polish`, in numbers.

    :param n: number of joints.
    """
    return LANES * (ROWS * n + ROWS * COLUMNS)


@inline_kernel
def _entry(n, row, column):
    """
    Return the offset in the scratch of entry (row, column) of the equations J J^T y = e, eight numbers (lanes).

    :param n: number of joints.
    :param column: 0 to 5 for the matrix, 6 for the right side e.
    """
    return LANES * (ROWS * n + COLUMNS * row + column)


@inline_kernel
def _store(scratch, start, v):
    """Write the components of v, eight lanes each, one after the other into ``scratch`` from offset ``start`` on."""
    for k in range(3):
        lanes.store(scratch, start + k * LANES, v[k])


@kernel
def write_screws(area, axes, points, home, n, slides, scratch):
    """
    Write a point and the direction of every joint axis at eight postures, and return the pose of the tip.

    :param area: (8 n or more,) joint values, eight of each joint [rad or m].
    :param axes, points, home, n, slides: the chain, as for :func:`certify.evaluate`.
    :param scratch: (scratch_size(n),) out: for each joint a point of its axis, then the axis, eight numbers (lanes) for
        each component.
    :returns: (x, y, z, t): columns of the tip's rotation and its origin, each a vector of lanes.
    """
    zero, one = lanes.spread(0.0), lanes.spread(1.0)
    c0, c1, c2, t = (one, zero, zero), (zero, one, zero), (zero, zero, one), (zero, zero, zero)
    for i in range(n):
        h, o = triple(axes, i), triple(points, i)
        z = combine(c0, c1, c2, h)
        p = vectors.add(combine(c0, c1, c2, o), t)
        _store(scratch, LANES * ROWS * i, p)
        _store(scratch, LANES * (ROWS * i + 3), z)
        value = lanes.load(area, LANES * i)
        if is_slide(slides, i):
            t = vectors.add(t, vectors.scale(value, z))
            continue
        s, c = lanes.sine_cosine(value)
        c0, c1 = vectors.turn(z, c, s, c0), vectors.turn(z, c, s, c1)
        c2 = vectors.cross(c0, c1)
        t = vectors.subtract(p, combine(c0, c1, c2, o))
    return (
        combine(c0, c1, c2, (home[0], home[3], home[6])),
        combine(c0, c1, c2, (home[1], home[4], home[7])),
        combine(c0, c1, c2, (home[2], home[5], home[8])),
        vectors.add(combine(c0, c1, c2, (home[9], home[10], home[11])), t),
    )


@kernel
def write_columns(n, slides, t, scratch):
    """
    Replace the joint axes that :func:`write_screws` wrote by the columns of the Jacobian J at eight postures.

    A column is (z_i x (t - p_i), z_i), or (z_i, 0) for a prismatic joint.

    :param n, slides: number of joints, and bit mask of the prismatic joints.
    :param t: origin of the tip, three lane values.
    :param scratch: (scratch_size(n),) points and axes in, columns of J out.
    """
    for i in range(n):
        point = load_vector(scratch, 0, ROWS * i)
        axis = load_vector(scratch, 0, ROWS * i + 3)
        if is_slide(slides, i):
            _store(scratch, LANES * ROWS * i, axis)
            _store(scratch, LANES * (ROWS * i + 3), vectors.scale(0.0, axis))
        else:
            _store(scratch, LANES * ROWS * i, vectors.cross(axis, vectors.subtract(t, point)))


@inline_kernel
def error_at(x, y, z, t, target):
    """
    Return (shift, turn), the pose error of the tip at eight postures: two vectors (x, y, z), each component in lanes.

    The first is the vector from the tip to the origin of the target [m]. The second is the axis of the missing
    rotation, times the sine of its angle.

    :param x, y, z, t: pose of the tip, from :func:`write_screws`.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    """
    turn = vectors.cross(x, (target[0], target[3], target[6]))
    turn = vectors.add(turn, vectors.cross(y, (target[1], target[4], target[7])))
    turn = vectors.add(turn, vectors.cross(z, (target[2], target[5], target[8])))
    return vectors.subtract((target[9], target[10], target[11]), t), vectors.scale(0.5, turn)


@kernel
def _write_equations(area, axes, points, home, n, held, target, scratch):
    """
    Write the Jacobian J and the six equations J J^T y = e of eight candidates; return which of them are not yet exact.

    The column of a held joint is zero.

    :param area: (8 n or more,) joint angles, eight of each joint [rad].
    :param axes, points, home, n: the chain of n revolute joints, as for :func:`certify.evaluate`.
    :param held: index of a joint that does not move, or -1.
    :param target: (12,) target pose of the tip.
    :param scratch: (scratch_size(n),) out.
    :returns: the bits of the candidates whose error is above rounding: bit i for candidate i.
    """
    x, y, z, t = write_screws(area, axes, points, home, n, 0, scratch)
    write_columns(n, 0, t, scratch)
    if held >= 0:
        for row in range(ROWS):
            lanes.store(scratch, LANES * (ROWS * held + row), 0.0)
    trace = lanes.spread(0.0)
    for row in range(ROWS):
        for column in range(row, ROWS):
            total = lanes.spread(0.0)
            for i in range(n):
                start = LANES * ROWS * i
                entry = lanes.load(scratch, start + LANES * row)
                total = total + entry * lanes.load(scratch, start + LANES * column)
            lanes.store(scratch, _entry(n, row, column), total)
            lanes.store(scratch, _entry(n, column, row), total)
        trace = trace + lanes.load(scratch, _entry(n, row, row))
    for row in range(ROWS):
        total = lanes.load(scratch, _entry(n, row, row)) + TRACE_DAMPING * trace
        lanes.store(scratch, _entry(n, row, row), total)
    shift, turn = error_at(x, y, z, t, target)
    for k in range(3):
        lanes.store(scratch, _entry(n, k, ROWS), shift[k])
        lanes.store(scratch, _entry(n, 3 + k, ROWS), turn[k])
    enough = certify.rounding(target)
    error = vectors.dot(shift, shift) + 2.0 * vectors.dot(turn, turn)
    return lanes.bits_of(error > enough * enough)


@kernel
def _solve(scratch, n):
    """
    Solve J J^T y = e for eight candidates in place; y replaces the error e in the last column.

    The matrix is positive definite, so no rows are exchanged.

    :param scratch: (scratch_size(n),).
    :param n: number of joints.
    """
    for k in range(ROWS):
        inverse = 1.0 / lanes.load(scratch, _entry(n, k, k))
        for j in range(k + 1, COLUMNS):
            value = lanes.load(scratch, _entry(n, k, j)) * inverse
            lanes.store(scratch, _entry(n, k, j), value)
        for i in range(k + 1, ROWS):
            factor = lanes.load(scratch, _entry(n, i, k))
            for j in range(k + 1, COLUMNS):
                value = lanes.load(scratch, _entry(n, i, j))
                value = value - factor * lanes.load(scratch, _entry(n, k, j))
                lanes.store(scratch, _entry(n, i, j), value)
    for k in range(ROWS - 2, -1, -1):
        total = lanes.load(scratch, _entry(n, k, ROWS))
        for j in range(k + 1, ROWS):
            entry = lanes.load(scratch, _entry(n, k, j))
            total = total - entry * lanes.load(scratch, _entry(n, j, ROWS))
        lanes.store(scratch, _entry(n, k, ROWS), total)


@kernel
def polish(area, axes, points, home, n, held, target, scratch):
    """
    Move eight candidates towards solutions next to them by at most STEPS Newton steps, in place.

    A joint whose step is larger than LONGEST_CERTIFIED_STEP stays. So a candidate may not arrive, for example at a
    singular posture, and the caller must measure the results.

    :param area: (8 n or more,) joint angles, eight of each joint [rad].
    :param axes, points, home: the chain of n revolute joints, as for :func:`certify.evaluate`.
    :param n: number of joints.
    :param held: index of a joint that does not move; -1 lets all joints move.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param scratch: (scratch_size(n),) overwritten.
    """
    for _ in range(STEPS):
        if _write_equations(area, axes, points, home, n, held, target, scratch) == 0:
            return
        _solve(scratch, n)
        for i in range(n):
            step = lanes.spread(0.0)
            for row in range(ROWS):
                column = lanes.load(scratch, LANES * (ROWS * i + row))
                step = step + column * lanes.load(scratch, _entry(n, row, ROWS))
            # A huge or undefined step belongs to a singular posture: leave the joint where it is.
            size = lanes.absolute(step)
            step = lanes.select(size <= certify.LONGEST_CERTIFIED_STEP, step, 0.0)
            lanes.store(area, LANES * i, lanes.load(area, LANES * i) + step)
