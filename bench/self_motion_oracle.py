"""
Solutions of a pose, all at values of a held joint or some on every curve, by Newton from many starts, compiled by numba.

The oracle of ``test/self_motions/newton_oracle.py`` again, one start at a time instead of all together: it has forward
kinematics of its own and shares no code with the package.
"""

import math

import numba
import numpy as np

from ssik_ros.model.kinematic_tree import JointKind

STEPS = 40
EXACT = 1e-12
SAME = 1e-6
LONGEST = 0.7
"""Longest change of a joint in one step [rad]."""
SINGULAR = 1e-13


@numba.njit(cache=True)
def _cross(out, a, b):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@numba.njit(cache=True)
def _rotate(rotation, axis, angle, scratch):
    """Multiply a rotation by one about an axis, from the right."""
    x, y, z = axis
    s, c = math.sin(angle), math.cos(angle)
    v = 1.0 - c
    own = (
        (c + x * x * v, x * y * v - z * s, x * z * v + y * s),
        (x * y * v + z * s, c + y * y * v, y * z * v - x * s),
        (x * z * v - y * s, y * z * v + x * s, c + z * z * v),
    )
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += rotation[i, k] * own[k][j]
            scratch[i, j] = total
    rotation[:] = scratch


@numba.njit(cache=True)
def _evaluate(error, jacobian, axes, points, home, slides, q, target, screws, rotation, scratch):
    """Write error (6,) and Jacobian (6, n); return the trace of the rotation that is left."""
    n = len(q)
    place = np.zeros(3)
    rotation[:] = np.eye(3)
    for k in range(n):
        for i in range(3):
            z, p = 0.0, place[i]
            for j in range(3):
                z += rotation[i, j] * axes[k, j]
                p += rotation[i, j] * points[k, j]
            screws[k, i], screws[k, 3 + i] = z, p
        if slides[k]:
            for i in range(3):
                place[i] += screws[k, i] * q[k]
            continue
        _rotate(rotation, axes[k], q[k], scratch)
        for i in range(3):
            moved = 0.0
            for j in range(3):
                moved += rotation[i, j] * points[k, j]
            place[i] = screws[k, 3 + i] - moved
    tip, there = np.zeros(3), np.zeros((3, 3))
    for i in range(3):
        tip[i] = place[i]
        for j in range(3):
            tip[i] += rotation[i, j] * home[j, 3]
            for k in range(3):
                there[i, j] += rotation[i, k] * home[k, j]
    column = np.zeros(3)
    for k in range(n):
        _cross(column, screws[k, :3], tip - screws[k, 3:])
        for i in range(3):
            jacobian[i, k] = screws[k, i] if slides[k] else column[i]
            jacobian[3 + i, k] = 0.0 if slides[k] else screws[k, i]
    trace = 0.0
    error[:] = 0.0
    for j in range(3):
        _cross(column, there[:, j], target[:3, j])
        for i in range(3):
            error[3 + i] += 0.5 * column[i]
            trace += there[i, j] * target[i, j]
    for i in range(3):
        error[i] = target[i, 3] - tip[i]
    return trace


@numba.njit(cache=True)
def _solve(matrix, right):
    """Solve six equations in place; return whether that succeeded."""
    n = len(right)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if not abs(matrix[best, k]) > SINGULAR:
            return False
        if best != k:
            for j in range(k, n):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
            right[k], right[best] = right[best], right[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k + 1, n):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
    return True


@numba.njit(cache=True)
def _solve_step(step, matrix, right, error, jacobian, held):
    """Write the step (n,) with a joint held, or the shortest one where none is; return whether there is one."""
    n = len(step)
    free = [k for k in range(n) if k != held]
    for i in range(6):
        right[i] = error[i]
        for j in range(6):
            matrix[i, j] = jacobian[i, free[j]]
            if held < 0:
                matrix[i, j] = np.dot(jacobian[i], jacobian[j])
    if not _solve(matrix, right):
        return False
    step[:] = 0.0
    for i in range(6):
        if held < 0:
            step += right[i] * jacobian[i]
        else:
            step[free[i]] = right[i]
    return True


@numba.njit(cache=True)
def _descend(q, chain, target, held, scratch):
    """Move a posture to a solution, in place; return whether it arrived."""
    n = len(q)
    axes, points, home, slides = chain
    error, jacobian, screws, rotation, three, matrix, right, step = scratch
    for _ in range(STEPS):
        trace = _evaluate(
            error, jacobian, axes, points, home, slides, q, target, screws, rotation, three
        )
        size = 0.0
        for i in range(6):
            size += error[i] * error[i]
        if math.sqrt(size) < 0.01 * EXACT:
            return trace > 0.0
        if not _solve_step(step, matrix, right, error, jacobian, held):
            return False
        longest = 0.0
        for k in range(n):
            longest = max(longest, abs(step[k]))
        for k in range(n):
            q[k] += min(1.0, LONGEST / max(longest, 1e-300)) * step[k]
    trace = _evaluate(
        error, jacobian, axes, points, home, slides, q, target, screws, rotation, three
    )
    size = 0.0
    for i in range(6):
        size += error[i] * error[i]
    return math.sqrt(size) < EXACT and trace > 0.0


@numba.njit(cache=True)
def find_solutions(chain, lower, upper, target, held, values, starts, seed):
    """
    Return the different solutions (k, n) within the limits at values of a joint.

    :param chain: axes, points, home, and which joints slide.
    :param lower, upper: (n,) finite limits.
    :param held: index of the joint. -1 holds no joint: then each Newton step is the shortest one, and finds short
        closed curves.
    :param values: of the held joint; without a held joint, values of the last joint at the starts.
    :param starts: number of random start postures of Newton at each value.
    :param seed: of the generator.
    """
    n = len(lower)
    np.random.seed(seed)
    scratch = (
        np.empty(6),
        np.empty((6, n)),
        np.empty((n, 6)),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((6, 6)),
        np.empty(6),
        np.empty(n),
    )
    kept, q, count = np.empty((len(values) * starts, n)), np.empty(n), 0
    for value in values:
        first = count
        for _ in range(starts):
            for k in range(n):
                q[k] = lower[k] + (upper[k] - lower[k]) * np.random.random()
            q[held] = value
            if not _descend(q, chain, target, held, scratch):
                continue
            is_inside, is_new = True, True
            for k in range(n):
                if k != held and not chain[3][k]:
                    away = q[k] - 0.5 * (lower[k] + upper[k])
                    q[k] -= 2.0 * math.pi * np.round(away / (2.0 * math.pi))
                is_inside = is_inside and lower[k] <= q[k] <= upper[k]
            for row in range(first, count):
                away = 0.0
                for k in range(n):
                    away = max(away, abs(q[k] - kept[row, k]))
                is_new = is_new and away >= SAME
            if is_inside and is_new:
                kept[count] = q
                count += 1
    return kept[:count].copy()


def solutions(body, target, held, values, starts, seed):
    """
    Return the different solutions (k, n) within the limits at values of a joint.

    :param body: the chain.
    :param target: (4, 4).
    :param held, values, starts, seed: as for :func:`find_solutions`.
    """
    lower = np.where(np.isfinite(body.lower), body.lower, -np.pi)
    upper = np.where(np.isfinite(body.upper), body.upper, np.pi)
    axes, points, home = (
        np.ascontiguousarray(part) for part in (body.axes, body.points, body.home)
    )
    chain = axes, points, home, body.kinds == JointKind.PRISMATIC
    return find_solutions(
        chain, lower, upper, np.ascontiguousarray(target), held, values, starts, seed
    )
