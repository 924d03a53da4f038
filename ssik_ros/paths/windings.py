"""
Windings of joints that can turn by a full turn or more, chosen so that a whole path stays within limits.

A winding is a joint value plus whole turns.
"""

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray, IntArray, TURN, turns_within, whole_turns, wrap_angles
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.serial_chain import SerialChain


def wrap_steps(steps: FloatArray, turning: IntArray) -> FloatArray:
    """
    Return joint steps, wrapped to [-pi, pi) for joints whose windings do not count.

    :param steps: (..., n) differences of joint values [rad or m].
    :param turning: (n,) 1 for joints whose steps are wrapped, else 0.
    """
    return np.where(turning != 0, wrap_angles(steps), steps)


def unwind(q: FloatArray, turning: IntArray, start: FloatArray | None = None) -> FloatArray:
    """
    Return a path in which joints take the short way from each row to the next, by shifts of whole turns.

    :param q: (m, n) postures.
    :param turning: (n,) 1 for joints whose values may be shifted by whole turns, else 0.
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

    All rows of a joint get the same shift. Of several shifts, the joint takes the one that moves the middle of its
    values nearest to zero. Values that rounding leaves outside are moved to the limit.

    :param q: (m, n) without jumps of whole turns.
    :param turning: (n,) 1 for joints that may be shifted, else 0; the others are not checked.
    :param chain: the chain with the limits.
    :param is_fixed: True if the first row must not be shifted; then no row is.
    :returns: the path, and the index of the first joint that leaves its limits with every shift; -1 if none does. After
        a failure, only the joints before this one are shifted.
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

    The second array has the index of the original row of each returned row. Rows are sorted by the shift, the most
    negative one first.

    :param q: (k, n) postures.
    :param joint: index of the joint.
    :param low, high: its limits, finite [rad].
    """
    rows, shifts = shifts_within(q[:, joint], low, high, LIMIT_ROUNDING)
    out = q[rows]
    out[:, joint] = np.clip(out[:, joint] + shifts, low, high)
    return out, rows


def shifts_within(
    angles: FloatArray, low: float, high: float, slack: ArrayLike
) -> tuple[IntArray, FloatArray]:
    """
    Return all whole turns that move angles into a range: the index (s,) of the angle, and the turns (s,) [rad].

    They are sorted by the turns, the most negative first, then by the index.

    :param angles: (k,) [rad].
    :param low, high: ends of the range, finite [rad].
    :param slack: distance from the range that still counts as inside, one or (k,) [rad].
    """
    first, last = turns_within(angles, low, high, slack)
    counts = np.maximum(last - first + 1.0, 0.0).astype(np.int64)
    rows = np.repeat(np.arange(len(angles)), counts)
    turns = first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = np.argsort(turns, kind='stable')
    return rows[order], TURN * turns[order]
