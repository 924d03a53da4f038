"""
Windings of joints that can turn by more than a full turn, chosen so that a whole path stays within limits.

A winding is a joint value plus whole turns.
"""

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, TURN, turns_within, whole_turns, wrap_angles
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.serial_chain import SerialChain


def wrap_steps(steps: FloatArray, turning: IntArray) -> FloatArray:
    """
    Return joint steps, wrapped to [-pi, pi) for joints that may turn without end.

    :param steps: (..., n) differences of joint values [rad or m].
    :param turning: (n,) 1 for joints that may turn without end, else 0.
    """
    return np.where(turning != 0, wrap_angles(steps), steps)


def unwind(q: FloatArray, turning: IntArray, start: FloatArray | None = None) -> FloatArray:
    """
    Return a path in which joints that may turn without end take the short way from each row to the next.

    :param q: (m, n) postures.
    :param turning: (n,) 1 for joints that may turn without end, else 0.
    :param start: (n,) posture to which the first row is moved by whole turns; None leaves the first row as it is.
    """
    steps = wrap_steps(np.diff(q, axis=0), turning)
    first = q[:1].copy()
    if start is not None:
        difference = start - first[0]
        first[0] += np.where(turning != 0, whole_turns(difference), 0.0)
    return np.concatenate([first, first + np.cumsum(steps, axis=0)])


def put_within_limits(
    q: FloatArray, turning: IntArray, chain: SerialChain, is_fixed: bool
) -> tuple[FloatArray, int]:
    """
    Return a copy of a path whose joints are shifted by whole turns into their limits, and the first joint that fails.

    :param q: (m, n) without jumps of whole turns.
    :param turning: (n,) 1 for joints that may be shifted, else 0.
    :param chain: the chain with the limits.
    :param is_fixed: True if the first row must not be shifted; then no row is.
    :returns: the path, and the index of the first joint that leaves its limits with every shift; -1 if none does.
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
    Return each row once for every value of one joint, shifted by whole turns, that is within its limits.

    The second array has the index of the original row of each returned row.

    :param q: (k, n) postures.
    :param joint: index of the joint.
    :param low, high: its limits, finite [rad].
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
