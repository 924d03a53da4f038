"""
Damped normal equations of a chain: sparse by their profile, solved within bounds.

:func:`gather` and :func:`joint_terms` write the equations, and :func:`bounded_step` solves them.

Problem
    min |J d - e|^2 + damping |d|^2 with low <= d <= high, where each constraint depends on few of the variables.

Method
    1. H = J^T J and g = J^T e are gathered constraint by constraint. H is stored by its profile: each row begins at its
       first column that can be filled, and ends at the diagonal. Variables that many constraints depend on (a platform)
       have the last numbers. So the profile is hardly larger than the fill of the factors.
    2. H + damping I = L D L^T within the profile.
    3. Bounds: solve; hold variables beyond a bound at the bound, and move them to the right side; repeat. If no
       variable is beyond a bound, free the held variable with the largest pull inward. Passes that hold or free are
       counted.
    4. The spectral step damps single directions instead, by the eigenvalues s^2 of H: s / (s^2 + damping_s) with
       damping_s = sigma^2 - s^2 below sigma, and zero above.

Degeneracies
    A pivot lost to rounding (``LOST``) leaves its unknown at zero. So loops that are closed with redundant rows need no
    special case.

Cost
    The sum of squares of the profile's row lengths, for each pass.

References
    [George1981] for profiles; [Nocedal2006] for active sets; [Nakamura1986] for damping by singular values.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import se3, so3, vectors
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.kernels.rows import layout as row_layout

LOST = 1e-15
"""If a pivot is below this share of its diagonal entry, it counts as lost."""
NEGATIVE = 1e-9
"""If a pivot is below minus this share of its diagonal entry, it counts as negative."""
INDEFINITE = -1
TARGETS = 1
RESTS = 2
CENTRES = 4
FREE_AGAIN = 1e-12
"""Least pull inward that frees a held variable, relative to the largest gradient."""
SWEEPS = 30
AT_TURN, AT_WEIGHTS, AT_COLUMNS, AT_OWN, AT_GOAL, AT_INVERSE = 3, 6, 12, 21, 33, 45
"""Offsets in the scratch of a joint, which begins with the translation error: rotation error, weights, derivatives of the
rotation error, two rotations, inverse of a Jacobian."""
ROTATED_OFF = 1e-30
"""Squared off-diagonal part of a matrix that counts as diagonal, relative to the squared matrix."""


@kernel
def gather(address, clamp):
    """
    Write the normal equations of all constraints into the workspace: H = J^T J and g = J^T e.

    Jacobians and residuals must be current. H is stored by its profile, the part of each row from its first nonzero
    column to the diagonal.

    :param address: address of the chain's block.
    :param clamp: factor on the options' largest errors in a step, above which an error is scaled down in g; infinity
        for no clamp.
    """
    block, t, w = layout.view_chain(address)
    vectors.fill(w.normal, 0.0)
    vectors.fill(w.gradient, 0.0)
    e = vector(w.scratch, 0, 6)
    for c in range(t.constraint.shape[0]):
        for half in range(2):
            largest = clamp * block.options[layout.TRANSLATION_CLAMP + half]
            scale = 1.0
            if w.errors[c, half] > largest:
                scale = largest / w.errors[c, half]
            for k in range(3 * half, 3 * half + 3):
                e[k] = scale * w.residual[c, k]
        first = t.constraint[c, layout.CONSTRAINT_COLUMN]
        for a in range(t.constraint[c, layout.CONSTRAINT_COLUMNS]):
            va = t.column[first + a]
            j = w.blocks[first + a]
            j0, j1, j2, j3, j4, j5 = j[0], j[1], j[2], j[3], j[4], j[5]
            w.gradient[va] += j0 * e[0] + j1 * e[1] + j2 * e[2] + j3 * e[3] + j4 * e[4] + j5 * e[5]
            row = t.variable[va, layout.VARIABLE_DIAGONAL] - va
            for b in range(a + 1):
                o = w.blocks[first + b]
                w.normal[row + t.column[first + b]] += (
                    j0 * o[0] + j1 * o[1] + j2 * o[2] + (j3 * o[3] + j4 * o[4] + j5 * o[5])
                )


@kernel
def joint_terms(address, state, which, build, gain, clamp, normal, gradient):
    """
    Measure joint rows at a state (targets, rest poses, centres of limits), and add them to the normal equations.

    :param address: address of the chain's block.
    :param state: (STATES,) the state to measure [rad or m].
    :param which: sum of the bits TARGETS, RESTS and CENTRES of the rows to measure.
    :param build: False only measures, and leaves H and g as they are.
    :param gain: factor on the errors in g.
    :param clamp: factor on the options' largest errors in a step, above which an error is scaled down in g; infinity
        for no clamp.
    :param normal, gradient: profile of H and vector g, added to in place.
    :returns: (half the squared weighted errors; largest absolute translation error of a variable [m]; largest rotation
        error of a variable [rad]; number of measured terms, each a joint with one kind of row).
    """
    block, t, w = layout.view_chain(address)
    e, weights = vector(w.scratch, 0, 6), vector(w.scratch, AT_WEIGHTS, 6)
    cost, translation, rotation, count = 0.0, 0.0, 0.0, 0
    for turn in range(3 * t.joint.shape[0]):
        joint, kind = t.joint[turn // 3], 1 << (turn % 3)
        frame = joint[layout.JOINT_FRAME]
        if kind & which == 0:
            continue
        if kind != CENTRES and block.flags[frame, layout.TARGET_SET + (kind == RESTS)] == 0:
            continue
        count += 1
        joint_errors(block, t, w, joint, state, kind)
        for k in range(6):
            cost += 0.5 * (weights[k] * e[k]) ** 2
            if weights[k] != 0.0 and k < 3:
                translation = max(translation, abs(e[k]))
            elif weights[k] != 0.0:
                rotation = max(rotation, abs(e[k]))
        if build:
            for half in range(2):
                three = vector(w.scratch, AT_TURN * half, 3)
                total = vectors.inner(three, three, 3)
                largest = clamp * block.options[layout.TRANSLATION_CLAMP + half]
                scale = gain
                if total > largest * largest:
                    scale *= largest / math.sqrt(total)
                vectors.stretch(three, scale, 3)
            add_joint(joint, t.variable, e, weights, w.scratch, normal, gradient)
    return cost, translation, rotation, count


@inline_kernel
def joint_errors(block, t, w, joint, state, kind):
    """
    Write errors and weights of one joint's six rows into the scratch of the workspace.

    The errors come first (6 numbers), the weights at AT_WEIGHTS. For three coupled rotations their derivatives follow
    at AT_COLUMNS. Weights of locked and missing variables are zero, and for CENTRES also of variables without two
    different finite limits.

    :param joint: row of the joint table.
    :param state: (STATES,) the state to measure.
    :param kind: TARGETS, RESTS or CENTRES.
    """
    e, weights = vector(w.scratch, 0, 6), vector(w.scratch, AT_WEIGHTS, 6)
    frame, rotation = joint[layout.JOINT_FRAME], joint[layout.JOINT_ROTATION]
    wanted = layout.TARGET if kind == TARGETS else layout.REST
    for d in range(6):
        e[d] = weights[d] = 0.0
        v = joint[layout.JOINT_VARIABLES + d]
        if v < 0 or w.held[v] == 2.0:
            continue
        low, high = w.lower[v], w.upper[v]
        value = state[t.variable[v, row_layout.VARIABLE_Q]]
        if kind == CENTRES:
            if high - low < math.inf and high > low:
                weights[d] = 2.0 / (high - low)
                e[d] = 0.5 * (low + high) - value
            continue
        weights[d] = block.table[frame, layout.TARGET_WEIGHT]
        if kind == RESTS:
            weights[d] = block.table[frame, layout.REST_WEIGHT + d]
        if d < layout.FIRST_TURN or rotation == layout.SINGLE:
            e[d] = block.table[frame, wanted + d] - value
            if d >= layout.FIRST_TURN and block.flags[frame, layout.TRACK_WRAP] == 0:
                short = so3.wrap_to_pi(e[d])
                if low <= value + short <= high:
                    e[d] = short
            e[d] = min(max(e[d], low - value), high - value)
    if kind != CENTRES and rotation != layout.SINGLE:
        rotation_errors(block.table, t.variable, joint, wanted, state, w.scratch)


@kernel
def rotation_errors(table, variable, joint, wanted, state, scratch):
    """
    Write the rotation vector from the present to the wanted rotation of a joint, and its derivative (3, 3).

    The derivative is with respect to the joint's three rotation variables. R is the present, R_t the wanted rotation.
    If the joint has angles about z, y, x: e = log(R_t R^T) in the axes before the turns, and the columns are Jl^-1(-e)
    times the axes. For a ball joint: e = log(R^T R_t) in the axes of the ball, and the columns are Jl^-1(e).

    :param table, variable: numbers of the mechanism's frames; the variable table.
    :param joint: row of the joint table.
    :param wanted: TARGET or REST, column of ``table`` where the wanted values begin.
    :param state: (STATES,) the present state.
    :param scratch: gets the vector at AT_TURN and the derivative at AT_COLUMNS.
    """
    e, columns = vector(scratch, AT_TURN, 3), matrix(scratch, AT_COLUMNS, 3, 3)
    rotation, goal = vector(scratch, AT_OWN, 12), vector(scratch, AT_GOAL, 12)
    inverse = vector(scratch, AT_INVERSE, 9)
    at = wanted + layout.FIRST_TURN
    frame = joint[layout.JOINT_FRAME]
    turns_to_rotation(goal, table[frame, at], table[frame, at + 1], table[frame, at + 2])
    first = variable[joint[layout.JOINT_VARIABLES + 3], row_layout.VARIABLE_Q]
    ball = joint[layout.JOINT_ROTATION] == layout.BALL_ROTATION
    ey, ez = 0.0, 0.0
    if ball:
        so3.from_quaternion(
            rotation, state[first], state[first + 1], state[first + 2], state[first + 3]
        )
    else:
        ey = state[variable[joint[layout.JOINT_VARIABLES + 4], row_layout.VARIABLE_Q]]
        ez = state[variable[joint[layout.JOINT_VARIABLES + 5], row_layout.VARIABLE_Q]]
        turns_to_rotation(rotation, state[first], ey, ez)
    x, y, z = se3.relative_rotation_vector(rotation, goal)
    if ball:
        vectors.write(e, 0, vectors.transposed_times(rotation, (x, y, z)))
        so3.inverse_left_jacobian(inverse, e[0], e[1], e[2])
        for k in range(9):
            columns[k // 3, k % 3] = inverse[k]
        return
    e[0], e[1], e[2] = x, y, z
    so3.inverse_left_jacobian(inverse, -x, -y, -z)
    sine, cosine = so3.sine_cosine(ez)
    for i in range(3):
        # Axes of EX, EY, EZ: the first column of R, Rz e_y and e_z.
        columns[i, 0] = (
            inverse[3 * i] * rotation[0]
            + inverse[3 * i + 1] * rotation[3]
            + inverse[3 * i + 2] * rotation[6]
        )
        columns[i, 1] = inverse[3 * i + 1] * cosine - inverse[3 * i] * sine
        columns[i, 2] = inverse[3 * i + 2]


@kernel
def turns_to_rotation(out, ex, ey, ez):
    """Write the rotation Rz(ez) Ry(ey) Rx(ex) row by row into the first nine numbers of ``out``."""
    sx, cx = so3.sine_cosine(ex)
    sy, cy = so3.sine_cosine(ey)
    sz, cz = so3.sine_cosine(ez)
    out[0], out[1], out[2] = cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx
    out[3], out[4], out[5] = sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx
    out[6], out[7], out[8] = -sy, cy * sx, cy * cx


@inline_kernel
def add_joint(joint, variable, e, weights, scratch, normal, gradient):
    """
    Add the rows of one joint, which :func:`joint_errors` has written, to the normal equations.

    :param joint: row of the joint table.
    :param variable: the variable table.
    :param e, weights: (6,) errors, scaled by the caller, and weights.
    :param scratch: has the derivatives of three coupled rotations at AT_COLUMNS.
    :param normal, gradient: profile of H and vector g, added to in place.
    """
    columns = matrix(scratch, AT_COLUMNS, 3, 3)
    coupled = joint[layout.JOINT_ROTATION] != layout.SINGLE
    for d in range(6):
        v = joint[layout.JOINT_VARIABLES + d]
        if v < 0 or weights[d] == 0.0:
            continue
        if d < 3 or not coupled:
            square = weights[d] * weights[d]
            normal[variable[v, layout.VARIABLE_DIAGONAL]] += square
            gradient[v] += square * e[d]
            continue
        for o in range(3):
            u = joint[layout.JOINT_VARIABLES + 3 + o]
            total = 0.0
            for k in range(3):
                product = weights[3 + k] * weights[3 + k] * columns[k, d - 3]
                total += product * columns[k, o]
                if o == 0:
                    gradient[v] += product * e[3 + k]
            if u <= v:
                normal[variable[v, layout.VARIABLE_DIAGONAL] - v + u] += total


@inline_kernel
def factorise(t, w, damping):
    """
    Write the factors L D L^T of H + damping I into ``factor``; return False if a pivot is clearly negative.

    Rows and columns of held variables are replaced by rows and columns of the identity. A pivot that is lost to
    rounding makes its unknown 0.

    :param t, w: tables and workspace of the chain.
    :param damping: added to the diagonal of H.
    """
    definite = True
    for i in range(t.variable.shape[0]):
        diagonal = t.variable[i, layout.VARIABLE_DIAGONAL]
        row, first = diagonal - i, t.variable[i, layout.VARIABLE_FIRST]
        if w.held[i] != 0.0:
            for j in range(first, i):
                w.factor[row + j] = 0.0
            w.factor[diagonal] = 1.0
            continue
        for j in range(first, i):
            total = 0.0
            if w.held[j] == 0.0:
                total = w.normal[row + j]
                other = t.variable[j, layout.VARIABLE_DIAGONAL] - j
                for k in range(max(first, t.variable[j, layout.VARIABLE_FIRST]), j):
                    total -= w.factor[row + k] * w.factor[other + k]
            w.factor[row + j] = total
        pivot = whole = w.normal[diagonal] + damping
        for j in range(first, i):
            scaled = w.factor[row + j]
            # The diagonal holds 1 / D.
            share = scaled * w.factor[t.variable[j, layout.VARIABLE_DIAGONAL]]
            pivot -= scaled * share
            w.factor[row + j] = share
        w.factor[diagonal] = 1.0 / pivot if pivot > LOST * whole else 0.0
        definite = definite and pivot > -NEGATIVE * abs(whole) and whole >= 0.0
    return definite


@kernel
def solve_factored(variable, factor, right):
    """
    Replace the right side ``right`` (n,) in place by the solution of equations that :func:`factorise` has factorised.

    An unknown whose pivot was lost to rounding becomes 0.

    :param variable: the variable table, with the profile.
    :param factor: the factors.
    """
    n = variable.shape[0]
    for i in range(n):
        row = variable[i, layout.VARIABLE_DIAGONAL] - i
        total = right[i]
        for k in range(variable[i, layout.VARIABLE_FIRST], i):
            total -= factor[row + k] * right[k]
        right[i] = total
    for i in range(n):
        right[i] *= factor[variable[i, layout.VARIABLE_DIAGONAL]]
    for i in range(n - 1, -1, -1):
        row = variable[i, layout.VARIABLE_DIAGONAL] - i
        value = right[i]
        for k in range(variable[i, layout.VARIABLE_FIRST], i):
            right[k] -= factor[row + k] * value


@kernel
def multiply(variable, normal, x, out):
    """
    Write the product H x into ``out`` (n,).

    :param variable: the variable table, with the profile.
    :param normal: H, stored by its profile.
    :param x: (n,) the vector.
    """
    for i in range(variable.shape[0]):
        row = variable[i, layout.VARIABLE_DIAGONAL] - i
        total = normal[row + i] * x[i]
        for k in range(variable[i, layout.VARIABLE_FIRST], i):
            total += normal[row + k] * x[k]
            out[k] += normal[row + k] * x[i]
        out[i] = total


@kernel
def bounded_step(address, damping, sigma):
    """
    Write the step d with (H + damping I) d = g within the bounds ``low`` and ``high`` into ``step``.

    Variables that would go beyond a bound are held at it, see step 3 of the module's method. If the passes do not
    settle, the last solution is clipped to the bounds. ``held`` becomes 1 or -1 for variables at the upper or lower
    bound, and 0 for free ones; 2 marks locked ones.

    :param address: address of the chain's block.
    :param damping: added to the diagonal of H in the ordinary step.
    :param sigma: singular value below which the spectral step damps; negative for the ordinary step.
    :returns: number of variables held at a bound, or INDEFINITE if H + damping I has a negative pivot.
    """
    _, t, w = layout.view_chain(address)
    n = t.variable.shape[0]
    for v in range(n):
        if w.held[v] != 2.0:
            w.held[v] = 0.0
        w.step[v] = 0.0
    count, freed = 0, 0
    for _ in range(3 * n + 3):
        # The part of the held variables goes to the right side.
        vectors.fill(w.right, 0.0)
        if count > 0:
            for v in range(n):
                if w.held[v] == 0.0:
                    w.step[v] = 0.0
            multiply(t.variable, w.normal, w.step, w.right)
        for v in range(n):
            w.right[v] = w.gradient[v] - w.right[v] if w.held[v] == 0.0 else 0.0
        if sigma < 0.0:
            if not factorise(t, w, damping):
                return INDEFINITE
            solve_factored(t.variable, w.factor, w.right)
        else:
            spectral_solve(address, sigma)
        beyond = hold_violators(w)
        count += beyond
        if beyond == 0:
            if count == 0 or freed > n or not free_one(t, w, damping):
                return count
            count -= 1
            freed += 1
    for v in range(n):
        w.step[v] = min(max(w.step[v], w.low[v]), w.high[v]) if w.held[v] != 2.0 else 0.0
    return count


@inline_kernel
def hold_violators(w):
    """
    Copy the solution ``right`` to ``step`` for free variables, and hold those beyond a bound at the bound.

    :returns: number of variables that are held now but were free before.
    """
    beyond = 0
    for v in range(w.step.shape[0]):
        if w.held[v] != 0.0:
            continue
        w.step[v] = w.right[v]
        if w.step[v] > w.high[v]:
            w.held[v], w.step[v] = 1.0, w.high[v]
            beyond += 1
        elif w.step[v] < w.low[v]:
            w.held[v], w.step[v] = -1.0, w.low[v]
            beyond += 1
    return beyond


@inline_kernel
def free_one(t, w, damping):
    """
    Free the variable at a bound whose gradient pulls it inward most, by setting its ``held`` to 0.

    :param damping: damping of the step, which weakens the pull.
    :returns: False if no variable at a bound is pulled inward; else True.
    """
    n = t.variable.shape[0]
    multiply(t.variable, w.normal, w.step, w.right)
    most, which = FREE_AGAIN * vectors.largest_of(w.gradient, n), -1
    for v in range(n):
        if abs(w.held[v]) == 1.0:
            inward = -w.held[v] * (w.gradient[v] - w.right[v] - damping * w.step[v])
            if inward > most:
                most, which = inward, v
    if which >= 0:
        w.held[which] = 0.0
        return True
    return False


@kernel
def spectral_solve(address, sigma):
    """
    Replace ``right`` in place by the solution of H x = right, with eigenvalues of H below sigma^2 raised to sigma^2.

    Only free variables take part; ``pull`` is overwritten.

    :param address: address of the chain's block.
    :param sigma: least singular value of J that counts in full; smaller ones are raised to it.
    """
    _, t, w = layout.view_chain(address)
    n = t.variable.shape[0]
    a, columns = matrix(w.dense, 0, n, n), matrix(w.dense, n * n, n, n)
    for i in range(n):
        for j in range(n):
            a[i, j] = 0.0
            columns[i, j] = 1.0 if i == j else 0.0
        row = t.variable[i, layout.VARIABLE_DIAGONAL] - i
        for j in range(t.variable[i, layout.VARIABLE_FIRST], i + 1):
            if w.held[i] == 0.0 and w.held[j] == 0.0:
                a[i, j] = a[j, i] = w.normal[row + j]
    diagonalise(a, columns)
    vectors.fill(w.pull, 0.0)
    for k in range(n):
        square = max(a[k, k], 0.0)
        divisor = max(square, sigma * sigma)
        total = vectors.inner(columns[k], w.right, n)
        for i in range(n):
            w.pull[i] += columns[k, i] * total / divisor
    vectors.copy(w.right, w.pull)


@kernel
def diagonalise(a, vectors):
    """
    Write eigenvalues and eigenvectors of a symmetric matrix, by Jacobi rotations.

    :param a: (n, n) the matrix in; its diagonal has the eigenvalues out.
    :param vectors: (n, n) the identity in; row k is the eigenvector of eigenvalue k out.
    """
    n = a.shape[0]
    whole = 0.0
    for i in range(n):
        for j in range(n):
            whole += a[i, j] * a[i, j]
    for _ in range(SWEEPS):
        off = 0.0
        for i in range(n):
            for j in range(i):
                off += a[i, j] * a[i, j]
        if off <= ROTATED_OFF * whole:
            return
        for p in range(n):
            for q in range(p + 1, n):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                slope = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                slope = -slope if theta < 0.0 else slope
                cosine = 1.0 / math.sqrt(slope * slope + 1.0)
                sine = slope * cosine
                for k in range(n):
                    x, y = a[k, p], a[k, q]
                    a[k, p], a[k, q] = cosine * x - sine * y, sine * x + cosine * y
                for k in range(n):
                    x, y = a[p, k], a[q, k]
                    a[p, k], a[q, k] = cosine * x - sine * y, sine * x + cosine * y
                    x, y = vectors[p, k], vectors[q, k]
                    vectors[p, k], vectors[q, k] = cosine * x - sine * y, sine * x + cosine * y
