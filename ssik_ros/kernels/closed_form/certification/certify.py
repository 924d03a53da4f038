"""
Certify candidates of a closed form on the true chain of the arm: forward kinematics, Newton steps, duplicates.

:func:`certify` improves one candidate, :func:`measure` writes the errors of a posture, and :func:`meet_half_way`
decides whether two close postures are one solution.

Problem
-------
Given joint vectors from a closed form, find those that reach the target up to rounding, each once.

Method
------
1. FK(q) = E_1 ... E_n M, the motion of each joint and then the pose M of the tip at zero. For each joint its axis z_i
   through p_i at q is written, too.
2. Error at the tip: position t_T - t, and rotation w = sum over the columns of (r_i x r_i^T) / 2. w is the rotation
   axis times the sine of the angle. T is the target, t_T its position, r_i and r_i^T the columns of both rotations.
   Residual: Frobenius norm of FK(q) - T.
3. While the residual is above rounding and falls: Newton steps with the columns (z_i x (t - p_i), z_i), or (z_i, 0) for
   prismatic joints, on the joints that are not held. The equations are solved by Gaussian elimination with pivoting. A
   damped least-squares step is taken instead if a pivot vanishes, or if not exactly six joints move.
4. The caller accepts a candidate if its residual is within its tolerance.
5. Two accepted candidates that :func:`are_near` calls near are one solution if their midpoint also reaches the target.
   So two true solutions near a fold stay two.

Degeneracies
------------
At singular poses Newton may stop short of rounding. Candidates within tolerance are accepted.

Cost
----
One forward pass, and one more pass and one solution for each Newton step. Good candidates skip this kernel:
:mod:`lane_pipeline` measures eight of them at once.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.geometry import joint_values, so3, vectors
from ssik_ros.kernels.geometry.vectors import copy, copy_table
from ssik_ros.kernels.rows import linalg
from ssik_ros.kernels.rows.views import Floats, Memory

NEWTON_STEPS = 20
RESIDUAL_ROUNDING = 1e-13
"""Residual below which Newton steps gain nothing, as a share of the size of the target."""
LAST_STEP_SHARE = 0.9
"""If a step leaves more than this share of the residual, it is the last step [1]."""
PIVOT = 1e-10
"""Pivot, relative to the largest entry of the Jacobian, below which the damped step is taken."""
DAMPED_STEP_DAMPING = 1e-6
"""Damping of the damped step, relative to the squared size of the Jacobian."""
SMALL_ARM_SIZE, SMALLEST = 0.01, 1e-9
"""Size of an arm below which positions are scaled by the size, and the smallest such scale [m]."""
LONGEST_CERTIFIED_STEP = 0.5
"""Largest change of a joint in one Newton step of a certification [rad or m]."""


class CertificationScratch(NamedTuple):
    """
    Scratch of :func:`certify`, :func:`measure` and other kernels that make Newton steps, for n joints.

    ``screws`` and ``pose`` belong to the last call of :func:`evaluate`. ``posture`` is the best posture so far, or a
    midpoint. ``system`` and ``normal`` are equations of a Newton step.
    """

    screws: Annotated[Floats, '6 * n']
    """Direction and point of each joint's axis, as :func:`evaluate` writes them."""
    pose: Annotated[Floats, 12]
    """Pose of the tip."""
    posture: Annotated[Floats, 'n']
    """A posture [rad or m]: the best so far in :func:`certify`, the midpoint in :func:`meet_half_way`."""
    system: Annotated[Floats, 6, 7]
    """Jacobian, then the error, as :func:`write_system` writes them."""
    normal: Annotated[Floats, 6, 7]
    """Equations that are solved in place, later a step."""


SCRATCH = Memory(CertificationScratch, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def evaluate(axes, points, home, n, slides, q, screws, pose):
    """
    Write the pose of the tip and the axis of every joint at joint values q, in the base frame.

    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param home: (12,) M, pose of the tip with all joints at zero: rotation row by row, then translation.
    :param n: number of joints.
    :param slides: bit mask of the prismatic joints, see :mod:`chain`.
    :param q: (n,) joint values [rad or m].
    :param screws: (6 n,) out: axis z_i, then a point p_i of it, joint by joint.
    :param pose: (12,) out: pose of the tip at q, rotation row by row, then translation.
    """
    c0, c1, c2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    t = (0.0, 0.0, 0.0)
    for i in range(n):
        h, o = triple(axes, i), triple(points, i)
        z = vectors.combine(c0, c1, c2, h)
        p = vectors.add(vectors.combine(c0, c1, c2, o), t)
        vectors.write(screws, 6 * i, z)
        vectors.write(screws, 6 * i + 3, p)
        if is_slide(slides, i):
            t = vectors.add(t, vectors.scale(q[i], z))
            continue
        s, c = so3.sine_cosine(q[i])
        c0, c1 = vectors.turn(z, c, s, c0), vectors.turn(z, c, s, c1)
        c2 = vectors.cross(c0, c1)
        t = vectors.subtract(p, vectors.combine(c0, c1, c2, o))
    for k in range(3):
        column = vectors.combine(c0, c1, c2, (home[k], home[3 + k], home[6 + k]))
        pose[k], pose[3 + k], pose[6 + k] = column
    pose[9], pose[10], pose[11] = vectors.add(
        vectors.combine(c0, c1, c2, (home[9], home[10], home[11])), t
    )


@inline_kernel
def residual(pose, target):
    """
    Return the Frobenius norm of the difference of two transforms.

    :param pose, target: (12,) transforms: rotation row by row, then translation.
    """
    total = 0.0
    for i in range(12):
        total += (pose[i] - target[i]) ** 2
    return math.sqrt(total)


@inline_kernel
def rounding(target):
    """
    Return the pose error that rounding may cause at a target (12,), as a Frobenius norm of FK - T.

    Newton steps gain nothing below this error.
    """
    return RESIDUAL_ROUNDING * (2.0 + abs(target[9]) + abs(target[10]) + abs(target[11]))


@kernel
def measure(axes, points, home, n, slides, q, target, errors, scratch):
    """
    Write the errors of the tip at q: position error [m], rotation error [rad], Frobenius norm of FK(q) - T.

    :param axes, points, home, n, slides: the chain, as for :func:`evaluate`.
    :param q: (n,) joint values [rad or m].
    :param target: (12,) T, target pose of the tip: rotation row by row, then translation.
    :param errors: (3,) out.
    :param scratch: flat scratch of ``scratch_size(n)`` numbers.
    """
    room = view_scratch(scratch, n)
    evaluate(axes, points, home, n, slides, q, room.screws, room.pose)
    write_errors(errors, room.pose, target)


@inline_kernel
def _squares(pose, target):
    """
    Return (rotation, translation): sums of squared differences of two transforms (12,), the second in [m^2].

    :param pose, target: the transforms: rotation row by row, then translation.
    """
    rotation = translation = 0.0
    for i in range(9):
        rotation += (pose[i] - target[i]) ** 2
    for i in range(9, 12):
        translation += (pose[i] - target[i]) ** 2
    return rotation, translation


@kernel
def write_errors(errors, pose, target):
    """
    Write the errors of a pose: position error [m], rotation error [rad], Frobenius norm of pose - target.

    :param errors: (3,) out.
    :param pose, target: (12,) transforms: rotation row by row, then translation.
    """
    rotation, translation = _squares(pose, target)
    errors[0] = math.sqrt(translation)
    # The norm of the difference of two rotations is 2 sqrt(2) sin(angle / 2).
    errors[1] = 2.0 * math.asin(min(1.0, math.sqrt(0.125 * rotation)))
    errors[2] = math.sqrt(rotation + translation)


@kernel
def _solve_regular(system, m):
    """
    Solve m linear equations in place by Gaussian elimination with pivoting; return whether it succeeded.

    :param system: (m, m + 1 or more) matrix, then the right-hand side, which becomes the solution; further columns are
        ignored.
    :param m: number of equations.
    :returns: False if a pivot is smaller than PIVOT times the largest entry; then the system holds no usable solution.
    """
    largest = linalg.largest_entry(system, m)
    for k in range(m):
        best, pivot = linalg.find_pivot(system, k, m)
        if not pivot > PIVOT * largest:
            return False
        if best != k:
            linalg.exchange_rows(system, k, best, k, m + 1)
        linalg.clear_below(system, k, m, system[k, k], k + 1, m + 1)
    for k in range(m - 1, -1, -1):
        total = system[k, m]
        for j in range(k + 1, m):
            total -= system[k, j] * system[j, m]
        system[k, m] = total / system[k, k]
    return True


@kernel
def write_system(system, screws, slides, free, count, pose, target, scale):
    """
    Write the linear equations J x = e of a Newton step: Jacobian J of the free joints, and pose error e of the tip.

    Rows 0 to 2 are linear, rows 3 to 5 angular. The linear error is the vector from the tip to the target's origin. The
    angular error is the axis of the missing rotation, times the sine of its angle.

    :param system: (6, 7) out: columns of ``count`` joints, then the error in column ``count``.
    :param screws: (6 n,) axis and point of each joint, from :func:`evaluate`.
    :param slides: bit mask of the prismatic joints.
    :param free: (n,) indices of the joints, of which the first ``count`` may move.
    :param count: number of joints that may move.
    :param pose, target: (12,) pose of the tip at q, and its target: rotation row by row, then translation.
    :param scale: factor on the linear rows, one over the length that counts as one [1/m].
    """
    t = (pose[9], pose[10], pose[11])
    for j in range(count):
        i = free[j]
        z, p = triple(screws, 2 * i), triple(screws, 2 * i + 1)
        if is_slide(slides, i):
            v, z = z, (0.0, 0.0, 0.0)
        else:
            v = vectors.cross(z, vectors.subtract(t, p))
        for k in range(3):
            system[k, j] = scale * v[k]
            system[3 + k, j] = z[k]
    w = (0.0, 0.0, 0.0)
    for k in range(3):
        have = (pose[k], pose[3 + k], pose[6 + k])
        want = (target[k], target[3 + k], target[6 + k])
        w = vectors.add(w, vectors.cross(have, want))
    for k in range(3):
        system[k, count] = scale * (target[9 + k] - pose[9 + k])
        system[3 + k, count] = 0.5 * w[k]


@kernel
def write_normal(normal, system, count):
    """
    Write the normal equations J^T J x = J^T e of a least-squares step from the equations J x = e.

    :param normal: (6, 7) out: J^T J, and J^T e in column ``count``; only the first ``count`` rows are written.
    :param system: (6, 7) from :func:`write_system`: Jacobian J in ``count`` columns, then the error e.
    :param count: number of joints that may move.
    """
    for a in range(count):
        for b in range(count + 1):
            total = 0.0
            for i in range(6):
                total += system[i, a] * system[i, b]
            normal[a, b] = total


@kernel
def _solve_damped(normal, system, count):
    """
    Compute the damped least-squares step of ``count`` joints, which exists at singular postures, too.

    :param normal: (6, 7) out: the step is in column ``count`` of its first ``count`` rows.
    :param system: (6, 7) from :func:`write_system`: Jacobian in ``count`` columns, then the error.
    :param count: number of joints that may move.
    """
    size = 0.0
    for i in range(6):
        for j in range(count):
            size += system[i, j] * system[i, j]
    write_normal(normal, system, count)
    for a in range(count):
        normal[a, a] += DAMPED_STEP_DAMPING * size
    _solve_regular(normal, count)


@kernel
def move(out, q, free, count, step, most):
    """
    Write a posture moved by one step of the free joints; a step that is too long is scaled down as a whole.

    :param out, q: (n,) new and old posture [rad or m], which may be the same array.
    :param free: (n,) indices of the joints; the first ``count`` of them move.
    :param count: number of joints that move.
    :param step: (., 7) table whose column ``count`` is the step.
    :param most: largest change of a joint [rad or m].
    """
    longest = 0.0
    for j in range(count):
        longest = max(longest, abs(step[j, count]))
    scale = most / longest if longest > most else 1.0
    copy(out, q)
    for j in range(count):
        out[free[j]] += scale * step[j, count]


@kernel
def _step(q, room, slides, free, count, target):
    """
    Move the free joints of q by one Newton step, at most LONGEST_CERTIFIED_STEP per joint, in place.

    Unless six joints move and their Jacobian is regular, the step is the damped least-squares step.

    :param q: (n,) joint values [rad or m].
    :param room: a :class:`CertificationScratch` with axes of the joints and pose of the tip at q.
    :param slides: bit mask of the prismatic joints.
    :param free, count: (n,) indices of the joints, of which the first ``count`` may move.
    :param target: (12,) target pose of the tip.
    """
    system, normal = room.system, room.normal
    write_system(system, room.screws, slides, free, count, room.pose, target, 1.0)
    regular = False
    if count == 6:
        copy_table(normal, system)
        regular = _solve_regular(normal, 6)
    if not regular:
        _solve_damped(normal, system, count)
    move(q, q, free, count, normal, LONGEST_CERTIFIED_STEP)


@kernel
def certify(axes, points, home, n, slides, q, free, count, target, near, errors, scratch):
    """
    Improve a candidate by Newton steps, in place, and return its residual, the Frobenius norm of FK(q) - T.

    At most NEWTON_STEPS steps are made; they end when the residual hardly falls. The caller decides by the residual
    whether the candidate is a solution.

    :param axes, points, home, n, slides: the chain, as for :func:`evaluate`.
    :param q: (n,) the candidate in, the posture with the smallest residual out.
    :param free: (n,) indices of the joints; the first ``count`` of them may move.
    :param count: number of joints that may move.
    :param target: (12,) T, target pose of the tip: rotation row by row, then translation.
    :param near: residual above which the candidate is not changed.
    :param errors: (3,) out: position error [m], rotation error [rad] and residual at exactly the returned q; not
        written if the first residual is above ``near``.
    :param scratch: flat scratch of ``scratch_size(n)`` numbers.
    """
    room = view_scratch(scratch, n)
    screws, pose, best = room.screws, room.pose, room.posture
    evaluate(axes, points, home, n, slides, q, screws, pose)
    smallest = residual(pose, target)
    if not smallest <= near:
        return smallest
    enough = rounding(target)
    write_errors(errors, pose, target)
    if smallest <= enough:
        return smallest
    copy(best, q)
    for _ in range(NEWTON_STEPS):
        if smallest <= enough:
            break
        _step(q, room, slides, free, count, target)
        evaluate(axes, points, home, n, slides, q, screws, pose)
        now = residual(pose, target)
        if now < smallest:
            is_slow = now > LAST_STEP_SHARE * smallest
            smallest = now
            copy(best, q)
            write_errors(errors, pose, target)
            if is_slow:
                break
        else:
            break
    copy(q, best)
    return smallest


@inline_kernel
def difference(a, b, slides):
    """
    Return the difference a - b of two values of a joint, wrapped to [-pi, pi) for a revolute joint [rad or m].

    :param a, b: values of the joint.
    :param slides: True for a prismatic joint, whose difference is not wrapped.
    """
    return a - b if slides else joint_values.wrapped(a - b)


@inline_kernel
def are_near(store, row, q, n, slides, same):
    """
    Return whether no joint of two solutions differs by more than ``same``; angles are compared modulo 2 pi.

    :param store, row: (., n) table of solutions, and the row of the first solution.
    :param q: (n,) the second solution.
    :param n, slides: number of joints, and bit mask of the prismatic joints.
    :param same: largest difference [rad or m].
    """
    for i in range(n):
        change = difference(q[i], store[row, i], is_slide(slides, i))
        if abs(change) > same:
            return False
    return True


@kernel
def repeats(store, row, n, slides, same):
    """
    Return whether row ``row`` of a table nearly equals an earlier row: no joint differs by more than ``same``.

    :param store: (., n) joint values.
    :param n, slides: number of joints, and bit mask of the prismatic joints.
    :param same: largest difference [rad or m].
    """
    is_repeat = False
    for other in range(row):
        is_repeat = is_repeat or are_near(store, other, store[row], n, slides, same)
    return is_repeat


@inline_kernel
def share_of(points, n):
    """
    Return the length that counts as one when position errors are added to rotation errors of an arm [m].

    It is 1, or for an arm smaller than SMALL_ARM_SIZE the arm's size: the sum of the coordinate differences of
    neighbouring points, at least SMALLEST.

    :param points: (3 n,) a point on each axis [m].
    :param n: number of joints.
    """
    total = 0.0
    for i in range(3 * n - 3):
        total += abs(points[i + 3] - points[i])
    return 1.0 if total >= SMALL_ARM_SIZE else max(total, SMALLEST)


@kernel
def meet_half_way(axes, points, home, n, slides, store, row, q, target, reached, scratch):
    """
    Return whether two close postures are the same solution: the posture half way between them also reaches the target.

    The error of the midpoint may exceed the larger of both errors only by rounding. Near a fold, two solutions of a
    small arm differ by little in metres. So position errors are divided by :func:`share_of`, the size of an arm smaller
    than SMALL_ARM_SIZE, else 1.

    :param axes, points, home, n, slides, target: the chain and the target, as for :func:`certify`.
    :param store, row: (., n) table of postures, and the row of the first posture.
    :param q: (n,) the second posture.
    :param reached: larger residual of both postures, the Frobenius norm of FK - T.
    :param scratch: flat scratch of ``scratch_size(n)`` numbers.
    """
    room = view_scratch(scratch, n)
    middle, pose = room.posture, room.pose
    for i in range(n):
        middle[i] = store[row, i] + 0.5 * difference(q[i], store[row, i], is_slide(slides, i))
    evaluate(axes, points, home, n, slides, middle, room.screws, pose)
    share, (turned, moved) = share_of(points, n), _squares(pose, target)
    left, exact = math.sqrt(turned + moved / (share * share)), rounding(target)
    return left <= exact + (reached if reached <= exact else reached / share)
