"""
The damped step of six rows and at least six joints, in registers: the fast path of the most common problem.

Problem
    The same as :func:`ssik_ros.kernels.rows.steps.bounded_step` for a Jacobian of six rows: min |J dq - e|^2 + damping
    |dq|^2 with every joint inside its limits.

Method
    dq = J^T y with (J J^T + damping I) y = e. The 21 numbers of the lower triangle and the right side are single
    variables, so that the factors L D L^T never wait for memory. The forward substitution is part of the elimination.
    The active set of limits is handled as in :mod:`ssik_ros.kernels.rows.steps`.

Solutions
    The same numbers, up to the order of roundings.

Degeneracies
    A pivot lost to rounding is left out: its unknown becomes zero.

Cost
    27 n products, and about 160 operations for the factors and the substitutions.

References
    [Wampler1986], [Nakamura1986] for damped least squares; [Nocedal2006] section 16.5 for active sets.
"""

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.rows import layout, linalg, steps

ROWS = 6


@inline_kernel
def bounded_step(ints, reals, work, damping, limited, scales, largest):
    """
    Write the damped least-squares step that ends inside the limits into ``step``, for six rows and at least six joints.

    It does the same as :func:`ssik_ros.kernels.rows.steps.bounded_step`, with two exceptions. Of the factors,
    ``normal`` gets only the inverse pivots on its diagonal, and ``right`` is not written.

    :param damping: added to the diagonal of the normal equations.
    :param limited: False ignores limits; held joints stay held in any case.
    :param scales: (nv,) scale of each joint; empty for ones.
    :param largest: longest step of a turning joint [rad]; if a joint exceeds it, the whole step is scaled down.
    :returns: squared norm of the residual that the step leaves according to the linear model, before it is scaled down.
    """
    t, w = layout.view_problem(ints, reals, work)
    steps.open_step(w, scales, ROWS)
    left = 0.0
    for _ in range(ints[layout.VARIABLES] + 1):
        # With y = (J J^T + damping I)^-1 e the residual left is e - J J^T y = damping y.
        square = damped_step(w.jacobian, w.residual, damping, w.normal, w.step)
        left = damping * damping * square
        if not limited or not steps.stop_at_limits(t.variable_i, w, scales):
            break
    steps.shorten(t.variable_i, w, scales, largest)
    return left


@inline_kernel
def damped_step(jacobian, residual, damping, normal, step):
    """
    Write the damped least-squares step J^T (J J^T + damping I)^-1 e.

    :param jacobian: (6, nv) J.
    :param residual: (6,) e.
    :param normal: (6, 6) gets the inverse pivots on its diagonal; 0 for a pivot lost to rounding.
    :param step: (nv,) out.
    :returns: squared norm of (J J^T + damping I)^-1 e.
    """
    y0, y1, y2, y3, y4, y5 = solve(gram(jacobian, damping), residual, normal)
    for v in range(jacobian.shape[1]):
        step[v] = (
            jacobian[0, v] * y0
            + jacobian[1, v] * y1
            + jacobian[2, v] * y2
            + jacobian[3, v] * y3
            + jacobian[4, v] * y4
            + jacobian[5, v] * y5
        )
    return y0 * y0 + y1 * y1 + y2 * y2 + y3 * y3 + y4 * y4 + y5 * y5


@inline_kernel
def gram(jacobian, damping):
    """
    Return the lower triangle of J J^T + damping I, column by column from the diagonal down.

    :returns: (column 0, ..., column 4, last entry): tuples of 6, 5, 4, 3 and 2 numbers, then one number.
    """
    m00 = m11 = m22 = m33 = m44 = m55 = damping
    m10 = m20 = m21 = m30 = m31 = m32 = m40 = m41 = m42 = m43 = 0.0
    m50 = m51 = m52 = m53 = m54 = 0.0
    for v in range(jacobian.shape[1]):
        a, b, c = jacobian[0, v], jacobian[1, v], jacobian[2, v]
        d, e, f = jacobian[3, v], jacobian[4, v], jacobian[5, v]
        m00, m10, m20, m30, m40, m50 = (
            m00 + a * a,
            m10 + a * b,
            m20 + a * c,
            m30 + a * d,
            m40 + a * e,
            m50 + a * f,
        )
        m11, m21, m31, m41, m51 = m11 + b * b, m21 + b * c, m31 + b * d, m41 + b * e, m51 + b * f
        m22, m32, m42, m52 = m22 + c * c, m32 + c * d, m42 + c * e, m52 + c * f
        m33, m43, m53 = m33 + d * d, m43 + d * e, m53 + d * f
        m44, m54, m55 = m44 + e * e, m54 + e * f, m55 + f * f
    return (
        (m00, m10, m20, m30, m40, m50),
        (m11, m21, m31, m41, m51),
        (m22, m32, m42, m52),
        (m33, m43, m53),
        (m44, m54),
        m55,
    )


@inline_kernel
def inverse(pivot):
    """Return 1 / pivot, or 0 if the pivot is lost to rounding."""
    return 1.0 / pivot if pivot > linalg.SMALLEST_PIVOT else 0.0


@inline_kernel
def solve(columns, right, normal):
    """
    Return the solution (y0, ..., y5) of a symmetric positive semidefinite system of six equations.

    :param columns: lower triangle, column by column, as of :func:`gram`.
    :param right: (6,) right side.
    :param normal: (6, 6) gets the inverse pivots on its diagonal.
    """
    (m00, m10, m20, m30, m40, m50), (m11, m21, m31, m41, m51), (m22, m32, m42, m52) = columns[:3]
    (m33, m43, m53), (m44, m54), m55 = columns[3:]
    y0, y1, y2, y3, y4, y5 = right[0], right[1], right[2], right[3], right[4], right[5]
    d0 = inverse(m00)
    a1, a2, a3, a4, a5 = m10 * d0, m20 * d0, m30 * d0, m40 * d0, m50 * d0
    m11, m21, m31 = m11 - a1 * m10, m21 - a2 * m10, m31 - a3 * m10
    m41, m51 = m41 - a4 * m10, m51 - a5 * m10
    m22, m32, m42, m52 = m22 - a2 * m20, m32 - a3 * m20, m42 - a4 * m20, m52 - a5 * m20
    m33, m43, m53 = m33 - a3 * m30, m43 - a4 * m30, m53 - a5 * m30
    m44, m54, m55 = m44 - a4 * m40, m54 - a5 * m40, m55 - a5 * m50
    y1, y2, y3, y4, y5 = y1 - a1 * y0, y2 - a2 * y0, y3 - a3 * y0, y4 - a4 * y0, y5 - a5 * y0
    d1 = inverse(m11)
    b2, b3, b4, b5 = m21 * d1, m31 * d1, m41 * d1, m51 * d1
    m22, m32, m42, m52 = m22 - b2 * m21, m32 - b3 * m21, m42 - b4 * m21, m52 - b5 * m21
    m33, m43, m53 = m33 - b3 * m31, m43 - b4 * m31, m53 - b5 * m31
    m44, m54, m55 = m44 - b4 * m41, m54 - b5 * m41, m55 - b5 * m51
    y2, y3, y4, y5 = y2 - b2 * y1, y3 - b3 * y1, y4 - b4 * y1, y5 - b5 * y1
    d2 = inverse(m22)
    c3, c4, c5 = m32 * d2, m42 * d2, m52 * d2
    m33, m43, m53 = m33 - c3 * m32, m43 - c4 * m32, m53 - c5 * m32
    m44, m54, m55 = m44 - c4 * m42, m54 - c5 * m42, m55 - c5 * m52
    y3, y4, y5 = y3 - c3 * y2, y4 - c4 * y2, y5 - c5 * y2
    d3 = inverse(m33)
    e4, e5 = m43 * d3, m53 * d3
    m44, m54, m55 = m44 - e4 * m43, m54 - e5 * m43, m55 - e5 * m53
    y4, y5 = y4 - e4 * y3, y5 - e5 * y3
    d4 = inverse(m44)
    f5 = m54 * d4
    d5 = inverse(m55 - f5 * m54)
    y5 = (y5 - f5 * y4) * d5
    y4 = y4 * d4 - f5 * y5
    y3 = y3 * d3 - e4 * y4 - e5 * y5
    y2 = y2 * d2 - c3 * y3 - c4 * y4 - c5 * y5
    y1 = y1 * d1 - b2 * y2 - b3 * y3 - b4 * y4 - b5 * y5
    y0 = y0 * d0 - a1 * y1 - a2 * y2 - a3 * y3 - a4 * y4 - a5 * y5
    normal[0, 0], normal[1, 1], normal[2, 2] = d0, d1, d2
    normal[3, 3], normal[4, 4], normal[5, 5] = d3, d4, d5
    return y0, y1, y2, y3, y4, y5
