"""
Turn the real and nearly real roots of a cut loop into candidates: six angles, and how far the loop is from closing.

A root is an angle of the joint where the loop is cut, at which the loop can close. A single root has one null vector.
Roots closer than ``JOINED`` are treated in two ways: one by one, and as a space that several solutions span. Candidates
that do not nearly close the loop are dropped.
"""

import math

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.closed_form.elimination import elimination as el, null_vectors as nv
from ssik_ros.kernels.closed_form.elimination.closed_loop import turn
from ssik_ros.kernels.closed_form.elimination.line_representation import write_line
from ssik_ros.kernels.closed_form.elimination.loop_workspace import (
    CERTAIN,
    INCOMPLETE,
    JOINTS,
    MULTIPLE,
    NEARLY_COMPLEX,
    W_COSINE,
    W_IMAGINARY,
    W_INVERSES,
    W_LINE,
    W_LOOP,
    W_LU,
    W_MULTIPLE,
    W_ONE,
    W_POSES,
    W_REAL,
    W_SCRATCH,
    W_SINE,
    W_SPACE,
    W_VECTORS,
)
from ssik_ros.kernels.geometry.se3 import compose
from ssik_ros.kernels.geometry.so3 import wrap_to_pi
from ssik_ros.kernels.geometry.vectors import copy
from ssik_ros.kernels.rows.eigenvalues import eigenvalues, SCRATCH_ROWS

W_RIGHT, W_A, W_B, W_C = W_POSES + 12, W_POSES + 24, W_POSES + 36, W_POSES + 48
"""Offsets of further poses; the first is the left side of the loop."""
SPLIT_ROOT_FACTOR = 4.0
"""A real root that rounding has split into nearly complex ones is nearer to them than this times their imaginary
part."""
SPLIT = 3.0
"""If a root is nearer to the middle of nearly complex ones than their imaginary part over this, rounding has split
it."""
JOINED = 1e-4
"""If the difference of roots is smaller, they share a null space [rad]."""
CANDIDATE_SEPARATION = 1e-9
"""If all joints of two candidates differ by less than this, they are one [rad]."""
HOPELESS_MISS = 0.3
"""Miss of the target above which a candidate belongs to no solution, in link lengths and radians."""
DOUBTFUL_MISS = 1e-5
"""Miss of the target above which the root of a candidate is in doubt, in link lengths and radians."""
MISSES = 10.0
"""
If all candidates of nearly complex roots miss the target by more than this times the imaginary part, the roots may be
complex; in link lengths and radians.
"""
DIFFERENT_ROOTS = 1e-3
"""Difference of a joint above which two close candidates belong to two solutions [rad]."""


@kernel
def _complete(candidate, elimination, k, qk, qa, qb, work):
    """
    Complete the six angles of the loop from three of them, and measure by how much the loop does not close.

    :param candidate: (7,) out: angles in the order of the loop [rad], then the miss in link lengths and radians.
    :param elimination: the :class:`Elimination` of joint k.
    :param k: joint where the loop is cut.
    :param qk, qa, qb: angles of the joints k, k+1 and k+2 [rad].
    :param work: the float workspace.
    """
    loop, inverses = matrix(work, W_LOOP, 6, 12), matrix(work, W_INVERSES, 6, 12)
    left, right = vector(work, W_POSES, 12), vector(work, W_RIGHT, 12)
    a, b, c = vector(work, W_A, 12), vector(work, W_B, 12), vector(work, W_C, 12)
    turn(a, qk, loop[k])
    turn(b, qa, loop[(k + 1) % 6])
    compose(c, a, b)
    turn(a, qb, loop[(k + 2) % 6])
    compose(left, c, a)
    line = matrix(work, W_LINE, 15, 1)
    write_line(line, 0, left)
    q1, q2 = el.other_angles(line, elimination, vector(work, W_SCRATCH, 14))
    turn(a, -q1, inverses[(k + 4) % 6])
    turn(b, -q2, inverses[(k + 3) % 6])
    compose(c, inverses[(k + 5) % 6], a)
    compose(right, c, b)
    sine = cosine = miss = 0.0
    for r in range(3):
        cosine += left[3 * r] * right[3 * r] + left[3 * r + 1] * right[3 * r + 1]
        sine += left[3 * r + 1] * right[3 * r] - left[3 * r] * right[3 * r + 1]
        miss = max(miss, abs(left[3 * r + 2] - right[3 * r + 2]), abs(left[9 + r] - right[9 + r]))
    candidate[k] = qk
    candidate[(k + 1) % 6] = qa
    candidate[(k + 2) % 6] = qb
    candidate[(k + 3) % 6] = math.atan2(sine, cosine)
    candidate[(k + 4) % 6] = q2
    candidate[(k + 5) % 6] = q1
    candidate[6] = miss


@kernel
def _is_new(candidates, first, count):
    """
    Return whether the candidate in row ``count`` is worth keeping.

    Its miss of the target must be below HOPELESS_MISS [link lengths and rad]; a NaN fails. It must also differ from
    each of the rows ``first`` to ``count`` - 1 in some joint. Angles that differ by less than CANDIDATE_SEPARATION
    [rad], up to whole turns, count as equal.

    :param candidates: (ROWS, 7) six angles [rad], then the miss, by which the loop does not close.
    :param first, count: first row to compare with, and row of the candidate, which is the last one.
    """
    if not candidates[count, 6] < HOPELESS_MISS:
        return False
    for row in range(first, count):
        same = True
        for j in range(JOINTS):
            same = (
                same
                and abs(wrap_to_pi(candidates[row, j] - candidates[count, j]))
                < CANDIDATE_SEPARATION
            )
        if same:
            return False
    return True


@kernel
def _count_apart(candidates, first, count):
    """
    Return the number of different solutions among the rows from ``first`` on, before row ``count``.

    Only rows with a miss below DOUBTFUL_MISS count. A row within DIFFERENT_ROOTS of an earlier one of these rows in
    every joint belongs to the same solution.

    :param candidates: (ROWS, 7) six angles [rad], then the miss, by which the loop does not close.
    """
    solutions = 0
    for row in range(first, count):
        is_apart = candidates[row, 6] < DOUBTFUL_MISS
        for other in range(first, row):
            largest = 0.0
            for j in range(JOINTS):
                largest = max(largest, abs(wrap_to_pi(candidates[row, j] - candidates[other, j])))
            is_apart = is_apart and (
                largest > DIFFERENT_ROOTS or not candidates[other, 6] < DOUBTFUL_MISS
            )
        solutions += 1 if is_apart else 0
    return solutions


@kernel
def _drop_others(candidates, first, count):
    """
    Remove the rows from ``first`` on that miss the target by DOUBTFUL_MISS or more; return the new number of rows.

    The kept rows move up.

    :param candidates: (ROWS, 7) six angles [rad], then the miss; the first ``count`` rows are in use.
    """
    kept = first
    for row in range(first, count):
        if candidates[row, 6] < DOUBTFUL_MISS:
            copy(candidates[kept], candidates[row])
            kept += 1
    return kept


@kernel
def _add_shared(candidates, count, roots, begin, end, elimination, k, work, ints):
    """
    Add the candidates of several roots that lie close together; return the new number of filled rows.

    A root is an angle of joint k, where the loop is cut, at which the loop can close. The roots are treated as one
    multiple root at their mean, whose null space several solutions span. Candidates that miss the target by
    HOPELESS_MISS or more, or that repeat one of these candidates, are left out.

    :param candidates: (ROWS, 7) out; ``count`` rows are filled.
    :param count: number of filled rows.
    :param roots: (32,); the roots ``begin`` .. ``end`` - 1 are used.
    :param elimination, k: the :class:`Elimination`, and the joint of the roots.
    :param work, ints: the float and the integer workspace.
    """
    m = end - begin
    middle = 0.0
    for i in range(begin, end):
        middle += roots[i] / m
    sine, cosine = matrix(work, W_SINE, 6, 9), matrix(work, W_COSINE, 6, 9)
    one = matrix(work, W_ONE, 6, 9)
    lu, pivots = matrix(work, W_LU, 12, 12), ints
    space, vectors = matrix(work, W_SPACE, m, 12), matrix(work, W_VECTORS, m, 12)
    nv.factorise_equations(lu, pivots, sine, cosine, one, middle)
    nv.null_space(space, lu, pivots, m)
    modes = nv.split_space(vectors, space, m, vector(work, W_SCRATCH, nv.SCRATCH))
    first = count
    for i in range(modes):
        qa, qb = nv.read_angles(vectors[i])
        _complete(candidates[count], elimination, k, middle, qa, qb, work)
        count += 1 if _is_new(candidates, first, count) else 0
    return count


@kernel
def _add_single(candidates, count, first, q, elimination, k, work, ints):
    """
    Add the candidate of one root to the rows of ``candidates``; return the new number of filled rows.

    A root is an angle of joint k, where the loop is cut, at which the loop can close. A candidate is left out if it
    misses the target by HOPELESS_MISS or more, or equals a row from ``first`` on.

    :param candidates, count: (ROWS, 7) candidates, of which ``count`` rows are filled.
    :param q: the root [rad].
    :param elimination, k, work, ints: the :class:`Elimination`, the joint of the root, and the workspace, as for
        :func:`_add_shared`.
    """
    sine, cosine = matrix(work, W_SINE, 6, 9), matrix(work, W_COSINE, 6, 9)
    one = matrix(work, W_ONE, 6, 9)
    lu, pivots = matrix(work, W_LU, 12, 12), ints
    x = vector(work, W_VECTORS, 12)
    nv.factorise_equations(lu, pivots, sine, cosine, one, q)
    nv.null_vector(x, lu, pivots)
    qa, qb = nv.read_angles(x)
    _complete(candidates[count], elimination, k, q, qa, qb, work)
    return count + 1 if _is_new(candidates, first, count) else count


@kernel
def _are_complex(middle, part, work, ints):
    """
    Return whether a group of nearly real roots is surely complex, so that it belongs to no solution.

    A root is an angle of joint k, where the loop is cut. The roots are computed again with their middle as origin.
    Multiple real roots that rounding has split become real again, or come much closer. The result is False if the
    eigenvalues do not converge.

    :param middle: mean of the real parts [rad].
    :param part: largest imaginary part [rad].
    :param work, ints: the float and the integer workspace.
    """
    sine, cosine = matrix(work, W_SINE, 6, 9), matrix(work, W_COSINE, 6, 9)
    one, lu = matrix(work, W_ONE, 6, 9), matrix(work, W_LU, 12, 12)
    inverse, x = matrix(work, W_SPACE, 12, 12), vector(work, W_VECTORS, 12)
    real, imaginary = vector(work, W_REAL, 12), vector(work, W_IMAGINARY, 12)
    nv.factorise_equations(lu, ints, sine, cosine, one, middle)
    nv.write_inverse_distances(inverse, lu, ints, sine, cosine, middle, x)
    scratch = vector(work, W_SCRATCH, SCRATCH_ROWS * 12)
    if eigenvalues(real, imaginary, vector(work, W_SPACE, 144), 12, scratch) != 0:
        return False
    for i in range(12):
        nearness = math.sqrt(real[i] * real[i] + imaginary[i] * imaginary[i])
        if not nearness * SPLIT_ROOT_FACTOR * part > 1.0:
            continue
        if nearness * part > SPLIT or abs(imaginary[i]) < 0.5 * nearness:
            return False
    return True


@kernel
def _join_ends(roots, total):
    """
    Make a group of roots near pi and -pi contiguous: move roots just below pi to the front, minus 2 pi, in place.

    A root is an angle of joint k, where the loop is cut, at which the loop can close. A root is moved if it is within
    JOINED of the first root, which may have been moved before. The imaginary parts move along.

    :param roots: (32,) ascending roots, of which ``total`` count, then from 16 on their imaginary parts.
    """
    for _ in range(total):
        last, part = roots[total - 1] - 2.0 * math.pi, roots[el.MOST_EIGENVALUES + total - 1]
        if total < 2 or roots[0] - last > JOINED:
            break
        for i in range(total - 1, 0, -1):
            roots[i] = roots[i - 1]
            roots[el.MOST_EIGENVALUES + i] = roots[el.MOST_EIGENVALUES + i - 1]
        roots[0], roots[el.MOST_EIGENVALUES] = last, part


@kernel
def add_candidates(candidates, count, roots, total, elimination, k, work, ints, is_careful):
    """
    Add the candidates of all roots of a cut loop to ``candidates``; return (count, complete).

    A root is an angle of joint k, where the loop is cut, at which the loop can close. The miss of a candidate is the
    distance by which the loop does not close. Candidates that miss by HOPELESS_MISS or more are left out.

    :param candidates: (ROWS, 7) out: angles in the order of the loop, then the miss; ``count`` rows are filled.
    :param count: number of filled rows before.
    :param roots: (32,) ascending angles of joint k, of which ``total`` count, then from 16 on their imaginary parts
        [rad]. Roots just below pi may be moved to the front, see :func:`_join_ends`.
    :param total: number of roots.
    :param elimination, k: the :class:`Elimination`, and the joint of the roots.
    :param work, ints: the float and the integer workspace; ``W_MULTIPLE`` gets the certainty of roots that coincide or
        are nearly complex.
    :param is_careful: True leaves out roots that look nearly real but are surely complex; this takes time.
    :returns: (count, complete): new number of filled rows; whether every group of close roots has at least as many
        candidates that reach the target as surely real roots.
    """
    _join_ends(roots, total)
    work[W_MULTIPLE] = CERTAIN
    begin, complete = 0, True
    while begin < total:
        end, real, middle, part, first = begin, 0, 0.0, 0.0, count
        while end < total and (end == begin or roots[end] - roots[end - 1] < JOINED):
            middle += roots[end]
            real += 1 if roots[el.MOST_EIGENVALUES + end] == 0.0 else 0
            part = max(part, roots[el.MOST_EIGENVALUES + end])
            end += 1
        for i in range(begin, end):
            count = _add_single(candidates, count, first, roots[i], elimination, k, work, ints)
        if end > begin + 1:
            count = _add_shared(candidates, count, roots, begin, end, elimination, k, work, ints)
        missing, nearest = real, HOPELESS_MISS
        for row in range(first, count):
            missing -= 1 if candidates[row, 6] < DOUBTFUL_MISS else 0
            nearest = min(nearest, candidates[row, 6])
        complete = complete and missing <= 0
        if real == 0 and nearest > MISSES * part:
            if is_careful and _are_complex(middle / (end - begin), part, work, ints):
                count = first
            else:
                work[W_MULTIPLE] = max(work[W_MULTIPLE], NEARLY_COMPLEX)
        elif end > begin + 1 or real == 0:
            has_all = _count_apart(candidates, first, count) >= end - begin
            count = _drop_others(candidates, first, count) if has_all else count
            work[W_MULTIPLE] = max(work[W_MULTIPLE], MULTIPLE if has_all else INCOMPLETE)
        begin = end
    return count, complete
