"""Windings of joints that may turn further than once: chosen for a whole path, so that it stays within limits."""

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, TURN, turns_within, whole_turns, wrap_angles
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.serial_chain import SerialChain


def wrap_steps(steps: FloatArray, turning: IntArray) -> FloatArray:
    """
    Return steps, each the short way round for joints that may turn without end.

    :param steps: (..., n).
    :param turning: (n,) 1 for such joints.
    """
    return np.where(turning != 0, wrap_angles(steps), steps)


def unwind(q: FloatArray, turning: IntArray, start: FloatArray | None = None) -> FloatArray:
    """
    Return a path without jumps of whole turns.

    :param q: (m, n).
    :param turning: (n,) 1 for joints that may turn without end.
    :param start: (n,) a posture whose winding the first row takes; None keeps the winding of ``q``.
    """
    steps = wrap_steps(np.diff(q, axis=0), turning)
    first = q[:1].copy()
    if start is not None:
        away = start - first[0]
        first[0] += np.where(turning != 0, whole_turns(away), 0.0)
    return np.concatenate([first, first + np.cumsum(steps, axis=0)])


def put_within_limits(
    q: FloatArray, turning: IntArray, chain: SerialChain, is_fixed: bool
) -> tuple[FloatArray, int]:
    """
    Return a copy of a path with whole turns added so that it is within limits, and the first joint that cannot be.

    :param q: (m, n) without jumps.
    :param turning: (n,) 1 for joints whose winding may be chosen.
    :param chain: its limits.
    :param is_fixed: whether the first row must stay where it is.
    :returns: the path, and the index of a joint that leaves its limits in any winding; -1 if none does.
    """
    q = q.copy()
    for joint in np.flatnonzero(turning):
        low, high = chain.lower[joint], chain.upper[joint]
        least, most = q[:, joint].min(), q[:, joint].max()
        first, last = (
            turns_within(least, low, np.inf, LIMIT_ROUNDING)[0],
            turns_within(most, -np.inf, high, LIMIT_ROUNDING)[1],
        )
        if first > last or (is_fixed and not first <= 0 <= last):
            return q, int(joint)
        # The winding nearest to zero.
        wish = -round(0.5 * (least + most) / TURN)
        turns = 0 if is_fixed else min(max(wish, first), last)
        q[:, joint] = np.clip(q[:, joint] + TURN * turns, low, high)
    return q, -1


def every_winding(
    q: FloatArray, joint: int, low: float, high: float
) -> tuple[FloatArray, IntArray]:
    """
    Return rows with every winding of one joint within limits, and the index of the row that each comes from.

    :param q: (k, n).
    :param joint: its index.
    :param low, high: its limits, finite.
    """
    value = q[:, joint]
    first, last = (
        turns.astype(np.int64) for turns in turns_within(value, low, high, LIMIT_ROUNDING)
    )
    rows, turns = [], []
    for shift in range(int(first.min(initial=0)), int(last.max(initial=-1)) + 1):
        fits = np.flatnonzero((first <= shift) & (shift <= last))
        rows.append(fits)
        turns.append(np.full(len(fits), float(shift)))
    if not rows:
        return q[:0], np.zeros(0, dtype=np.int64)
    origin = np.concatenate(rows)
    out = q[origin].copy()
    out[:, joint] = np.clip(out[:, joint] + TURN * np.concatenate(turns), low, high)
    return out, origin
