"""
Joint steps: damped least squares with an active set of limits, null-space pulls, moving within bounds.

Problem
    Given J dq = e, find the damped least-squares step min |J dq - e|^2 + damping |dq|^2 among the joints that may
    move; a joint may not move when it sits at a limit and the step would push it outward.

Method
    1. Solve the smaller of the two normal equations, dq = J^T (J J^T + damping I)^-1 e or
       (J^T J + damping I)^-1 J^T e, by L D L^T.
    2. Joints at a limit that the step pushes outward are fixed, their columns dropped, and step 1 is repeated. At
       most one pass per joint; at the next iteration every joint is free again.
    3. :func:`bounded_step` goes further. If the step would take a joint beyond a limit, the joint goes exactly to the
       limit. Its motion is subtracted from e, and the other joints are solved for the remainder.
    4. :func:`optimal_step` also releases joints from limits, and so finds the best of all steps inside the limits, see
       :mod:`ssik_ros.kernels.rows.bounded_squares`. It takes longer.

Cost
    O(m^2 n + m^3) per pass with m rows and n joints.

References
    [Wampler1986], [Nakamura1986] for damped least squares; [Nocedal2006] section 16.5 for active sets.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import joint_values, so3, vectors
from ssik_ros.kernels.rows import bounded_squares, layout, linalg
from ssik_ros.kernels.rows.views import Floats, Memory


@kernel
def limited_step(ints, reals, work, damping, limited):
    """
    Write the damped least-squares step of all joints that may move into ``step`` of the workspace.

    A joint may not move if it is held (``lower == upper``) or if the step pushes it out of a limit at which it is. Its
    column of the Jacobian becomes zero. The workspace must have jacobian, residual, state and limits. ``free`` is set
    to 1 for joints that may move and to 0 for the others; ``normal`` gets the factors of the normal equations.

    :param ints, reals, work: packed problem and its workspace; the Jacobian is overwritten.
    :param damping: added to the diagonal of the normal equations.
    :param limited: False ignores limits; held joints stay held in any case.
    """
    w = layout.view_workspace(ints, work)
    kinds = layout.view_tables(ints, reals).variable_i
    nv = ints[layout.VARIABLES]
    for v in range(nv):
        w.free[v] = 1.0
        if w.lower[v] >= w.upper[v]:
            drop_column(w.jacobian, v, w.free)
    for _ in range(nv + 1):
        damped_step(w.jacobian, w.residual, damping, w.normal, w.right, w.step)
        if not limited:
            return
        fixed = False
        for v in range(nv):
            if w.free[v] == 1.0 and pushes_out(kinds, v, w.state, w.lower, w.upper, w.step[v]):
                drop_column(w.jacobian, v, w.free)
                fixed = True
        if not fixed:
            return


@inline_kernel
def pushes_out(variable_i, v, q, lower, upper, step):
    """
    Return whether joint ``v`` is at or beyond a limit and a step moves it further out; False for ball joints.

    :param lower, upper: (nv,) limits [rad or m].
    :param q: (nq,) configuration before the step.
    :param step: motion of this joint [rad or m].
    """
    if step == 0.0 or variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR:
        return False
    value = q[variable_i[v, layout.VARIABLE_Q]]
    return (value <= lower[v] and step < 0.0) or (value >= upper[v] and step > 0.0)


@kernel
def bounded_step(ints, reals, work, damping, limited, scales, largest):
    """
    Write the damped least-squares step that ends inside the limits into ``step`` of the workspace.

    A joint that would leave its limits stops at the limit, and the other joints compensate. The workspace must have
    jacobian, residual, state and limits; ``lower == upper`` holds a joint. Jacobian, residual and gradient are
    overwritten. ``free`` is set to 0 for held joints and joints that a limit stopped, to 1 for the others.

    :param ints, reals, work: packed problem and its workspace.
    :param damping: added to the diagonal of the normal equations.
    :param limited: False ignores limits; held joints stay held in any case.
    :param scales: (nv,) scale of each joint, larger for joints that move more readily; empty for ones. See
        :func:`ssik_ros.kernels.search.state.joint_scales`.
    :param largest: longest step of a turning joint [rad]; if a joint exceeds it, the whole step is scaled down.
    :returns: squared norm of the residual that the step leaves according to the linear model, before it is scaled down.
    """
    t, w = layout.view_problem(ints, reals, work)
    m, nv = w.jacobian.shape
    open_step(w, scales, m)
    for _ in range(nv + 1):
        damped_step(w.jacobian, w.residual, damping, w.normal, w.right, w.step)
        if not limited or not stop_at_limits(t.variable_i, w, scales):
            break
    left = 0.0
    if m <= nv:
        # With y = (J J^T + damping I)^-1 e the residual left is e - J J^T y = damping y.
        left = damping * damping * squared_norm(w.right)
    else:
        for a in range(m):
            rest = w.residual[a]
            for v in range(nv):
                rest -= w.jacobian[a, v] * w.step[v]
            left += rest * rest
    shorten(t.variable_i, w, scales, largest)
    return left


class OptimalScratch(NamedTuple):
    """
    Scratch of :func:`optimal_step` as named arrays, for m rows and nv variables.

    These are the least-squares table, the bounds, and scratch of its solver.
    """

    table: Annotated[Floats, 'm + nv', 'nv + 1']
    """Jacobian over the damping, then the residual."""
    bounds: Annotated[Floats, 2, 'nv']
    """How far each variable may go down and up."""
    squares: Annotated[Floats, 'bounded_squares.scratch_size(m + nv, nv)']
    """Scratch of :func:`bounded_squares.solve_within`."""


OPTIMAL = Memory(OptimalScratch, 'm, nv', globals())
optimal_size = OPTIMAL.size('optimal_size')
view_optimal = OPTIMAL.kernel('view_optimal')


@kernel
def optimal_step(ints, reals, work, damping, limited, scales, largest, scratch):
    """
    Write the best of all damped steps that end inside the limits into ``step`` of the workspace.

    It minimises |J dq - e|^2 + damping |dq|^2, in scaled variables. If the passes of
    :func:`bounded_squares.solve_within` are used up, it may not be the best. It takes longer than :func:`bounded_step`.
    Jacobian and gradient are overwritten, and ``free`` is set to 0 for held joints and joints that end at a limit. The
    residual stays.

    :param damping: factor of |dq|^2.
    :param limited: False ignores limits; held joints stay held in any case.
    :param scales: (nv,) scale of each joint; empty for ones.
    :param largest: longest step of a turning joint [rad]; if a joint exceeds it, the whole step is scaled down.
    :param scratch: (optimal_size(m, nv),) numbers, overwritten.
    :returns: squared norm of the residual that the step leaves according to the linear model, before it is scaled down.
    """
    t, w = layout.view_problem(ints, reals, work)
    m, nv = w.jacobian.shape
    room = view_optimal(scratch, m, nv)
    table, bounds = room.table, room.bounds
    open_step(w, scales, m)
    least = math.sqrt(damping)
    for v in range(nv):
        for a in range(m):
            table[a, v] = w.jacobian[a, v]
        for a in range(nv):
            table[m + a, v] = least if a == v else 0.0
        table[m + v, nv] = 0.0
        bounds[0, v], bounds[1, v] = _room_of(t.variable_i, w, v, scales, limited)
    for a in range(m):
        table[a, nv] = w.residual[a]
    bounded_squares.solve_within(w.step, table, bounds[0], bounds[1], room.squares)
    left = 0.0
    for a in range(m):
        rest = w.residual[a]
        for v in range(nv):
            rest -= w.jacobian[a, v] * w.step[v]
        left += rest * rest
    for v in range(nv):
        is_stopped = w.step[v] <= bounds[0, v] or w.step[v] >= bounds[1, v]
        w.free[v] = 0.0 if is_stopped else 1.0
        if scales.shape[0] > 0:
            w.step[v] *= scales[v]
    shorten_turns(t.variable_i, w.step, largest)
    return left


@inline_kernel
def _room_of(variable_i, w, v, scales, limited):
    """
    Return (down, up): the bounds of variable ``v`` in a scaled step, down (at most 0) and up (at least 0).

    Both are 0 for a held joint (equal limits), and infinite for ball joints.

    :param w: workspace with state and limits.
    :param scales: (nv,) scale of each joint, by which its way is divided; empty for ones.
    :param limited: False ignores the limits of joints that are not held.
    """
    if w.lower[v] >= w.upper[v]:
        return 0.0, 0.0
    if not limited or variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR:
        return -math.inf, math.inf
    scale = scales[v] if scales.shape[0] > 0 else 1.0
    start = w.state[variable_i[v, layout.VARIABLE_Q]]
    return min(0.0, (w.lower[v] - start) / scale), max(0.0, (w.upper[v] - start) / scale)


@inline_kernel
def open_step(w, scales, m):
    """
    Prepare the workspace for a step: set ``free`` to 1 and ``gradient`` to 0, and scale the columns of the Jacobian.

    Joints with equal limits get ``free`` 0 and a column of zeros.

    :param w: the workspace.
    :param scales: (nv,) factor of each column; empty for ones.
    :param m: number of rows of the Jacobian.
    """
    for v in range(w.jacobian.shape[1]):
        w.free[v] = 1.0
        w.gradient[v] = 0.0
        if w.lower[v] >= w.upper[v]:
            drop_column(w.jacobian, v, w.free)
        elif scales.shape[0] > 0:
            for a in range(m):
                w.jacobian[a, v] *= scales[v]


@inline_kernel
def stop_at_limits(variable_i, w, scales):
    """
    Stop each joint that ``step`` takes beyond a limit at this limit; return whether this stopped any joint.

    For a stopped joint, the way to the limit is stored in ``gradient`` and its effect subtracted from the residual; its
    column becomes zero and ``free`` 0. A joint that is back inside its limits after whole turns is not stopped.

    :param w: the workspace.
    :param scales: (nv,) scale of each joint; empty for ones.
    """
    m, nv = w.jacobian.shape
    fixed = False
    for v in range(nv):
        kind = variable_i[v, layout.VARIABLE_KIND]
        if w.free[v] == 0.0 or kind > layout.LINEAR:
            continue
        scale = scales[v] if scales.shape[0] > 0 else 1.0
        start = w.state[variable_i[v, layout.VARIABLE_Q]]
        end = start + scale * w.step[v]
        if w.lower[v] <= end <= w.upper[v]:
            continue
        if kind == layout.PERIODIC:
            end = unwind(end, w.lower[v], w.upper[v])
            if w.lower[v] <= end <= w.upper[v]:
                continue
        motion = (w.lower[v] if end < w.lower[v] else w.upper[v]) - start
        w.gradient[v] = motion
        for a in range(m):
            w.residual[a] -= w.jacobian[a, v] * motion / scale
        drop_column(w.jacobian, v, w.free)
        fixed = True
    return fixed


@inline_kernel
def shorten(variable_i, w, scales, largest):
    """
    Convert ``step`` from scaled variables to joint units [rad or m], and scale it down to the longest permitted turn.

    A stopped joint (``free`` 0) gets its way to the limit from ``gradient``.

    :param w: the workspace.
    :param scales: (nv,) scale of each joint; empty for ones.
    :param largest: longest motion of a turning joint [rad].
    """
    for v in range(w.step.shape[0]):
        if w.free[v] == 0.0:
            w.step[v] = w.gradient[v]
        elif scales.shape[0] > 0:
            w.step[v] *= scales[v]
    shorten_turns(variable_i, w.step, largest)


@inline_kernel
def shorten_turns(variable_i, step, largest):
    """Scale a step (nv,) in place by one factor, so that no turning joint moves further than ``largest`` [rad]."""
    longest = 0.0
    for v in range(step.shape[0]):
        if variable_i[v, layout.VARIABLE_MOVES] == layout.TURNS:
            longest = max(longest, abs(step[v]))
    if longest > largest:
        vectors.stretch(step, largest / longest, step.shape[0])


@inline_kernel
def drop_column(jacobian, v, free):
    """Set column ``v`` of the Jacobian to zero and ``free[v]`` to 0, so that joint v takes no part in a step."""
    free[v] = 0.0
    for a in range(jacobian.shape[0]):
        jacobian[a, v] = 0.0


@kernel
def damped_step(jacobian, residual, damping, normal, right, step):
    """
    Write the damped least-squares step J^T (J J^T + damping I)^-1 e into ``step``, without limits.

    The smaller one of the matrices J J^T and J^T J is factorised; both give the same step.

    :param jacobian: (m, nv) J.
    :param residual: (m,) e.
    :param normal: (k, k) out, k = min(m, nv): factors of the damped matrix.
    :param right: (k,) out if m <= nv: (J J^T + damping I)^-1 e.
    :param step: (nv,) out.
    """
    m, nv = jacobian.shape
    if m > nv:
        inner_step(jacobian, residual, damping, normal, step)
    elif m == 6:
        outer_step(jacobian, residual, damping, normal, right, step, 6)
    else:
        outer_step(jacobian, residual, damping, normal, right, step, m)


@inline_kernel
def outer_step(jacobian, residual, damping, normal, right, step, m):
    """
    Write the damped least-squares step J^T (J J^T + damping I)^-1 e into ``step`` (nv,).

    :param jacobian: (m, nv) J.
    :param residual: (m,) e.
    :param normal: (m, m) out: factors of J J^T + damping I.
    :param right: (m,) out: (J J^T + damping I)^-1 e.
    :param m: number of rows; with a literal number the compiler unrolls all loops over rows.
    """
    linalg.outer_gram(normal, jacobian, damping, m)
    linalg.factorise(normal, m)
    vectors.put(right, residual, m)
    linalg.solve_factored(normal, right, m)
    for v in range(jacobian.shape[1]):
        total = 0.0
        for a in range(m):
            total += jacobian[a, v] * right[a]
        step[v] = total


@inline_kernel
def inner_step(jacobian, residual, damping, normal, step):
    """
    Write the damped step (J^T J + damping I)^-1 J^T e into ``step``, and the factors of the matrix into ``normal``.

    :param jacobian: (m, nv) J.
    :param residual: (m,) e.
    """
    m, nv = jacobian.shape
    linalg.inner_gram(normal, jacobian, damping)
    linalg.factorise(normal, nv)
    for v in range(nv):
        total = 0.0
        for a in range(m):
            total += jacobian[a, v] * residual[a]
        step[v] = total
    linalg.solve_factored(normal, step, nv)


@kernel
def add_null_space_pull(jacobian, normal, right, gradient, free, step):
    """
    Add the part of a wished joint motion that keeps the targets to ``step``.

    It is (I - J^T (J J^T + damping I)^-1 J) gradient, and nearly zero unless the Jacobian J has fewer rows than joints.

    :param jacobian: (m, nv) J, with m <= nv.

    :param normal: (m, m) factors that :func:`damped_step` wrote.
    :param right: (m,) scratch.
    :param gradient: (nv,) wished motion of the joints.
    :param free: (nv,) 1, or 0 for joints whose wish counts as zero.
    """
    m, nv = jacobian.shape
    for a in range(m):
        total = 0.0
        for v in range(nv):
            total += jacobian[a, v] * gradient[v] * free[v]
        right[a] = total
    linalg.solve_factored(normal, right, m)
    for v in range(nv):
        total = gradient[v] * free[v]
        for a in range(m):
            total -= jacobian[a, v] * right[a]
        step[v] += total


@kernel
def advance(variable_i, lower, upper, limited, scale, step, q):
    """
    Move a configuration in place by a scaled step; if limits count, every joint that moves ends inside them.

    A turning joint that crosses a limit is moved back by whole turns if this brings it inside; the pose is the same.
    Otherwise a joint stops at the limit. A joint with a step of 0 keeps its value, also outside its limits.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits [rad or m].
    :param limited: True respects the limits; ball joints have none in any case.
    :param scale: factor on the step.
    :param step: (nv,) motion of each velocity variable [rad or m].
    :param q: (nq,) the configuration, moved in place.
    """
    move_by(variable_i, lower, upper, limited, scale, step, q)


@inline_kernel
def move_by(variable_i, lower, upper, limited, scale, step, q):
    """
    Move a configuration ``q`` in place by a scaled step, as :func:`advance` does, but merged into the calling kernel.

    The arguments are described there.
    """
    for v in range(step.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_REST:
            continue
        if kind == layout.BALL_FIRST:
            so3.rotate_quaternion(
                q[at : at + 4], scale * step[v], scale * step[v + 1], scale * step[v + 2]
            )
            continue
        if step[v] == 0.0:
            continue
        value = q[at] + scale * step[v]
        if limited:
            if kind == layout.PERIODIC:
                value = unwind(value, lower[v], upper[v])
            value = min(max(value, lower[v]), upper[v])
        q[at] = value


@inline_kernel
def unwind(value, lower, upper):
    """
    Return an angle moved by whole turns into [lower, upper] [rad]; unchanged if no number of turns fits.

    An angle that ends outside by rounding only is put on the limit.
    """
    if value < lower:
        shifted = value + so3.TWO_PI * math.ceil(
            (lower - value - joint_values.LIMIT_ROUNDING) / so3.TWO_PI
        )
    elif value > upper:
        shifted = value - so3.TWO_PI * math.ceil(
            (value - upper - joint_values.LIMIT_ROUNDING) / so3.TWO_PI
        )
    else:
        return value
    if lower - joint_values.LIMIT_ROUNDING <= shifted <= upper + joint_values.LIMIT_ROUNDING:
        return min(max(shifted, lower), upper)
    return value


@inline_kernel
def nearest_winding(value, wish, lower, upper):
    """
    Return the angle nearest to ``wish`` among those in [lower, upper] that differ from ``value`` by whole turns [rad].

    If ``value`` is the only such angle inside, it is returned with the same bits. If no such angle is inside, the angle
    nearest to ``wish`` is returned.
    """
    shifted = unwind(joint_values.winding(value, wish), lower, upper)
    gained = lower <= shifted <= upper and abs(shifted - value) > joint_values.LIMIT_ROUNDING
    return value if lower <= value <= upper and not gained else shifted


@kernel
def clamp_seed(variable_i, lower, upper, seed, q):
    """
    Write a seed whose joints are moved inside the limits, by whole turns if possible, else to the nearer limit.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits [rad or m]; ball joints have none.
    :param seed: (nq,) the seed.
    :param q: (nq,) out: the moved seed; may be the same array.
    """
    vectors.copy(q, seed)
    for v in range(lower.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        if kind <= layout.LINEAR:
            at = variable_i[v, layout.VARIABLE_Q]
            value = q[at]
            if kind == layout.PERIODIC:
                value = unwind(value, lower[v], upper[v])
            q[at] = min(max(value, lower[v]), upper[v])


@kernel
def difference_to(variable_i, lower, upper, seed, q, out):
    """
    Write the difference seed minus q into ``out``, one number for each velocity variable [rad or m].

    For turning joints without limits it is wrapped to (-pi, pi]. For a ball joint it is the rotation vector from q to
    the seed, in the joint's own frame.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits; they only tell which joints have limits.
    :param seed, q: (nq,).
    :param out: (nv,).
    """
    for v in range(out.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_FIRST:
            ball_difference(q[at : at + 4], seed[at : at + 4], out[v : v + 3])
        elif kind != layout.BALL_REST:
            out[v] = seed[at] - q[at]
            if kind == layout.PERIODIC and math.isinf(lower[v]) and math.isinf(upper[v]):
                out[v] = so3.wrap_to_pi(out[v])


@kernel
def ball_difference(a, b, out):
    """Write the rotation vector from quaternion ``a`` to quaternion ``b`` into ``out`` (3,), in the axes of ``a`` [rad]."""
    w = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    x = a[3] * b[0] - a[0] * b[3] - a[1] * b[2] + a[2] * b[1]
    y = a[3] * b[1] + a[0] * b[2] - a[1] * b[3] - a[2] * b[0]
    z = a[3] * b[2] - a[0] * b[1] + a[1] * b[0] - a[2] * b[3]
    norm = math.sqrt(x * x + y * y + z * z)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    small = norm < so3.SMALL_ANGLE
    scale = 2.0 + norm * norm / 3.0 if small else 2.0 * math.atan2(norm, w) / norm
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@inline_kernel
def squared_norm(vector):
    """Return the sum of squares of a vector."""
    return vectors.inner(vector, vector, vector.shape[0])
