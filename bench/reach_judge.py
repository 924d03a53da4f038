"""
Judge reach maps without code of the package: many descents within the limits, from random joint values.

A descent is Levenberg-Marquardt; a joint that pushes against a limit is held there. A posture that a descent finds is
a proof. If no descent finds one, this is only evidence; its weight is measured on poses that are reached.
"""

import math
from typing import Any, NamedTuple

from numba import njit
import numpy as np
from numpy.typing import NDArray

from bench.arms import Arm, FloatArray

STEPS = 60
"""Most steps of a descent."""
FOUND = 1e-8
"""Norm of position [m] and rotation [rad] error at which a posture has the pose."""
TURNING = 2.0 * math.pi


class JudgeChain(NamedTuple):
    """A chain of revolute joints as the judge reads it."""

    placements: FloatArray
    """(n, 4, 4)."""
    axes: FloatArray
    """(n, 3)."""
    tip: FloatArray
    """(4, 4)."""
    lower: FloatArray
    upper: FloatArray
    """(n,), infinite for none."""


def chain_of(arm: Arm) -> JudgeChain:
    """
    Return an arm as arrays.

    :param arm: of revolute joints.
    """
    if not all(joint.is_revolute for joint in arm.joints):
        raise ValueError(f'{arm.name} has a joint that slides')
    placements = np.array([joint.placement for joint in arm.joints])
    axes = np.array([joint.axis for joint in arm.joints])
    return JudgeChain(placements, axes, arm.tip_placement.copy(), arm.lower, arm.upper)


@njit(cache=False)
def _times(out: Any, a: Any, b: Any) -> None:
    """Write the product of two matrices (4, 4) that are rigid transforms."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
        out[i, 3] = a[i, 0] * b[0, 3] + a[i, 1] * b[1, 3] + a[i, 2] * b[2, 3] + a[i, 3]


@njit(cache=False)
def _pose_of(out: Any, chain: Any, q: Any, points: Any, axes: Any, room: Any) -> None:
    """
    Write the pose of the tip, and points and directions of the axes.

    :param out: (4, 4).
    :param points, axes: (n, 3) out.
    :param room: (2, 4, 4) scratch.
    """
    moved, turn = room[0], room[1]
    out[:] = 0.0
    out[0, 0] = out[1, 1] = out[2, 2] = out[3, 3] = 1.0
    for k in range(len(q)):
        _times(moved, out, chain.placements[k])
        x, y, z = chain.axes[k, 0], chain.axes[k, 1], chain.axes[k, 2]
        for i in range(3):
            points[k, i] = moved[i, 3]
            axes[k, i] = moved[i, 0] * x + moved[i, 1] * y + moved[i, 2] * z
        s, c = math.sin(q[k]), math.cos(q[k])
        d = 1.0 - c
        turn[0, 0], turn[0, 1], turn[0, 2] = c + x * x * d, x * y * d - z * s, x * z * d + y * s
        turn[1, 0], turn[1, 1], turn[1, 2] = x * y * d + z * s, c + y * y * d, y * z * d - x * s
        turn[2, 0], turn[2, 1], turn[2, 2] = x * z * d - y * s, y * z * d + x * s, c + z * z * d
        turn[:3, 3] = 0.0
        _times(out, moved, turn)
    _times(moved, out, chain.tip)
    out[:3] = moved[:3]


@njit(cache=False)
def _error(out: Any, actual: Any, pose: Any) -> float:
    """Write the error from an actual pose to a target: translation [m] and rotation vector [rad]. Return its norm."""
    r = np.empty((3, 3))
    for i in range(3):
        out[i] = pose[i, 3] - actual[i, 3]
        for j in range(3):
            r[i, j] = (
                pose[i, 0] * actual[j, 0] + pose[i, 1] * actual[j, 1] + pose[i, 2] * actual[j, 2]
            )
    x, y, z = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    sine, cosine = (
        0.5 * math.sqrt(x * x + y * y + z * z),
        0.5 * (r[0, 0] + r[1, 1] + r[2, 2] - 1.0),
    )
    factor = 0.5 * math.atan2(sine, cosine) / sine if sine > 1e-12 else 0.5
    out[3], out[4], out[5] = factor * x, factor * y, factor * z
    if sine <= 1e-12 and cosine < 0.0:
        # Half a turn: the axis from the largest diagonal element.
        k = np.argmax(np.array([r[0, 0], r[1, 1], r[2, 2]]))
        size = math.sqrt(2.0 * (1.0 + r[k, k]))
        for i in range(3):
            out[3 + i] = math.pi * (r[i, k] + (1.0 if i == k else 0.0)) / size
    return math.sqrt((out * out).sum())


@njit(cache=False)
def _solve(square: Any, right: Any) -> None:
    """Solve a positive definite system (6, 6) in place, by Cholesky."""
    for i in range(6):
        for j in range(i + 1):
            total = square[i, j]
            for k in range(j):
                total -= square[i, k] * square[j, k]
            square[i, j] = math.sqrt(max(total, 1e-30)) if i == j else total / square[j, j]
    for i in range(6):
        for k in range(i):
            right[i] -= square[i, k] * right[k]
        right[i] /= square[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            right[i] -= square[k, i] * right[k]
        right[i] /= square[i, i]


@njit(cache=False)
def _move(move: Any, chain: Any, q: Any, columns: Any, error: Any, damping: float) -> None:
    """Write a step (n,) of least squares in which no joint goes on against a limit."""
    n = len(q)
    square, right, free = np.empty((6, 6)), np.empty(6), np.ones(n)
    for _ in range(n):
        for i in range(6):
            right[i] = error[i]
            for j in range(i + 1):
                total = 0.0
                for k in range(n):
                    total += free[k] * columns[i, k] * columns[j, k]
                square[i, j] = total
            square[i, i] += damping
        _solve(square, right)
        is_held = False
        for k in range(n):
            total = 0.0
            for i in range(6):
                total += columns[i, k] * right[i]
            move[k] = free[k] * total
            is_up, is_down = q[k] >= chain.upper[k], q[k] <= chain.lower[k]
            if (is_up and move[k] > 0.0) or (is_down and move[k] < 0.0):
                free[k], is_held = 0.0, True
        if not is_held:
            break


@njit(cache=False)
def descend(chain: Any, pose: Any, q: Any) -> Any:
    """
    Move joint values (n,) towards a pose, in place, and return the error that is left.

    :param chain: :class:`JudgeChain`.
    :param pose: (4, 4).
    """
    n = len(q)
    points, axes, error, room = (
        np.empty((n, 3)),
        np.empty((n, 3)),
        np.empty(6),
        np.zeros((2, 4, 4)),
    )
    columns, move, new, actual = np.empty((6, n)), np.empty(n), np.empty(n), np.empty((4, 4))
    other_error, damping = np.empty(6), 1e-2
    _pose_of(actual, chain, q, points, axes, room)
    left = _error(error, actual, pose)
    for step in range(STEPS):
        if left < FOUND or (step >= 20 and left > 0.1) or damping > 1e8:
            break
        for k in range(n):
            x, y = actual[0, 3] - points[k, 0], actual[1, 3] - points[k, 1]
            z = actual[2, 3] - points[k, 2]
            columns[0, k] = axes[k, 1] * z - axes[k, 2] * y
            columns[1, k] = axes[k, 2] * x - axes[k, 0] * z
            columns[2, k] = axes[k, 0] * y - axes[k, 1] * x
            columns[3:, k] = axes[k]
        _move(move, chain, q, columns, error, damping * min(left * left, 1.0) + 1e-13)
        share = min(1.0, 0.5 / max(np.abs(move).max(), 1e-12))
        for k in range(n):
            new[k] = min(max(q[k] + share * move[k], chain.lower[k]), chain.upper[k])
        _pose_of(actual, chain, new, points, axes, room)
        other = _error(other_error, actual, pose)
        if other < left:
            q[:], error[:], left, damping = new, other_error, other, max(0.3 * damping, 1e-6)
            continue
        damping *= 10.0
        _pose_of(actual, chain, q, points, axes, room)
    return left


@njit(cache=False)
def find(chain: Any, poses: Any, starts: Any, seed: int) -> Any:
    """
    Return which poses (m,) a posture within the limits has, by so many descents for each.

    :param chain: :class:`JudgeChain`.
    :param poses: (m, 4, 4).
    """
    np.random.seed(seed)
    n, found = len(chain.lower), np.zeros(len(poses), dtype=np.bool_)
    low, high = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    for i in range(len(poses)):
        for _ in range(starts):
            q = low + (high - low) * np.random.rand(n)
            if descend(chain, poses[i], q) < FOUND:
                found[i] = True
                break
    return found


@njit(cache=False)
def _mark(cells: Any, chain: Any, count: int, step: float, bins: int, seed: int) -> None:
    """Mark the cells of the poses of random postures; ``cells`` is (height, angle, x, y) about the base."""
    np.random.seed(seed)
    n = len(chain.lower)
    low, high = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    points, axes, room = np.empty((n, 3)), np.empty((n, 3)), np.zeros((2, 4, 4))
    pose, q = np.empty((4, 4)), np.empty(n)
    for _ in range(count):
        for k in range(n):
            q[k] = low[k] + (high[k] - low[k]) * np.random.random()
        _pose_of(pose, chain, q, points, axes, room)
        at = _cell(pose, step, bins, cells.shape)
        if at[0] >= 0:
            cells[at[0], at[1], at[2], at[3]] = 1


@njit(cache=False)
def _cell(pose: Any, step: float, bins: int, shape: Any) -> Any:
    """Return the cell of a pose, -1 first for none: both rotations about the base's z and the tip's z are left out."""
    angle, yaw = math.acos(min(1.0, max(-1.0, pose[2, 2]))), math.atan2(pose[1, 2], pose[0, 2])
    c, s = math.cos(yaw), math.sin(yaw)
    x, y = c * pose[0, 3] + s * pose[1, 3], c * pose[1, 3] - s * pose[0, 3]
    i = math.floor(pose[2, 3] / step) + shape[0] // 2
    j = min(bins - 1, int(angle / math.pi * bins))
    k, m = (
        math.floor(x / step) + shape[2] // 2,
        math.floor(y / step) + shape[3] // 2,
    )
    if not (0 <= i < shape[0] and 0 <= k < shape[2] and 0 <= m < shape[3]):
        return (-1, 0, 0, 0)
    return (i, j, k, m)


@njit(cache=False)
def _look_up(cells: Any, poses: Any, step: float, bins: int) -> Any:
    """Return which poses (m,) lie in marked cells."""
    found = np.zeros(len(poses), dtype=np.bool_)
    for i in range(len(poses)):
        at = _cell(poses[i], step, bins, cells.shape)
        found[i] = at[0] >= 0 and cells[at[0], at[1], at[2], at[3]] != 0
    return found


class SampledMap:
    """
    A map from forward samples in four dimensions, after RM4D.

    A cell holds the height of the pose, the angle between the z axes of tip and base, and the base's position seen from
    the tip. The rotations of the first and the last joint are left out. A pose is called reachable if its cell has a
    sample.
    """

    def __init__(
        self,
        chain: JudgeChain,
        samples: int,
        step: float = 0.05,
        bins: int = 36,
        reach: float = 1.5,
    ) -> None:
        """
        Sample.

        :param samples: random postures.
        :param step: edge of a cell [m].
        :param bins: of the angle.
        :param reach: beyond which there are no cells [m].
        """
        self.step, self.bins = step, bins
        size = 2 * math.ceil(reach / step)
        self.cells: NDArray[np.uint8] = np.zeros((size, bins, size, size), dtype=np.uint8)
        _mark(self.cells, chain, samples, step, bins, 0)

    def reaches(self, poses: FloatArray) -> NDArray[np.bool_]:
        """
        Return which poses (m,) are called reachable.

        :param poses: (m, 4, 4).
        """
        found: NDArray[np.bool_] = _look_up(self.cells, poses, self.step, self.bins)
        return found
