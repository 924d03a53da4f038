"""
Times for the points of a joint path that is followed exactly, joint velocities and accelerations bounded.

**Problem.** Points q_0 .. q_k are joined by straight lines in joint space. Find times that begin and end at rest.

**Derivation.** Let s be the time that the path takes at the velocity limits: L_i = max_j |dq_ij| / v_j, or the least
time of the line if that is longer. So |dq_j/ds| <= v_j. Let u = ds/dt <= 1. Half of each acceleration limit a_j is for
the change of u: |du/dt| <= A_i, the smallest a_j / (2 |dq_j/ds|) of a line. The other half is for the corners, at which
dq/ds changes by c_j within the mean of the two lengths L: u^2 <= a_j L / (2 c_j). The largest u that keeps both follows
from a pass forward, u_(i+1)^2 <= u_i^2 + 2 A_i L_i, and the same backward. A line takes 2 L_i / (u_i + u_(i+1)).

**Degenerate cases.** Points that repeat are left out, and a single line gets a point in its middle. At sharp corners, a
floor below u keeps times finite; accelerations may exceed their limits there.

**References.** docs/reference/ros2.md.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.joint_group import with_default
from ssik_ros.server.paths.path_requests import TimedPath

LONGEST_PATH = 2.0**31
"""Bound of the duration of a path [s]: messages count seconds in 32 bits."""
SLOWEST = 1e-3
"""Smallest u between points, of the speed at the velocity limits."""
SAME_JOINT_POINT = 1e-12
"""Largest difference of a joint between two points of a path that count as one [rad or m]."""


def row_times(points: FloatArray, path: TimedPath) -> FloatArray:
    """
    Return the time (k,) [s] of each given point of a path; a repeated point has the time of the point before.

    :param points: (k, n) the points as they were given to :func:`time_path`.
    :param path: the result of :func:`time_path`.
    """
    moves = (np.abs(np.diff(points, axis=0)) > SAME_JOINT_POINT).any(axis=1)
    index = np.append(0, np.cumsum(moves))
    # A path of one step has a point in its middle.
    step = 2 if index[-1] == 1 and len(path.times) == 3 else 1
    times: FloatArray = path.times[step * index]
    return times


def time_path(
    points: FloatArray,
    velocity: FloatArray,
    acceleration: FloatArray,
    least_times: FloatArray | None = None,
) -> TimedPath:
    """
    Return a joint path with times and velocities, at rest at both ends; repeated points are left out.

    A path of one step gets a point in its middle.

    :param points: (k, n) at least one point [rad or m].
    :param velocity: (n,) limits; a joint without one (inf) gets 1 rad/s or 1 m/s.
    :param acceleration: (n,) limits, which may be exceeded at sharp corners.
    :param least_times: (k - 1,) shortest times of the steps, in addition to the limits [s]; None for no such times.
    """
    steps = np.diff(points, axis=0)
    moves = (np.abs(steps) > SAME_JOINT_POINT).any(axis=1)
    kept = np.concatenate([points[:1], points[1:][moves]])
    if len(kept) == 1:
        return TimedPath(kept, np.zeros(1), np.zeros_like(kept))
    least = np.zeros(len(kept) - 1) if least_times is None else least_times[moves]
    if len(kept) == 2:
        # Both ends are at rest: somewhere between them it has to move.
        kept = np.stack([kept[0], 0.5 * (kept[0] + kept[1]), kept[1]])
        least = np.repeat(0.5 * least, 2)
    steps = np.diff(kept, axis=0)
    lengths = np.maximum((np.abs(steps) / with_default(velocity)).max(axis=1), least)
    slopes = steps / lengths[:, None]
    speeds = _speeds(lengths, slopes, acceleration)
    seconds = 2.0 * lengths / (speeds[:-1] + speeds[1:])
    times = np.concatenate([[0.0], np.cumsum(seconds)])
    padded = np.concatenate([slopes[:1], slopes, slopes[-1:]])
    velocities = 0.5 * (padded[:-1] + padded[1:]) * speeds[:, None]
    return TimedPath(kept, times, velocities)


def _speeds(lengths: FloatArray, slopes: FloatArray, acceleration: FloatArray) -> FloatArray:
    """
    Return the path speed (k,) at each point, from 0 to 1; 1 is the speed at the velocity limits. Both ends are 0.

    ``lengths`` (k - 1,) are the times of the lines at the velocity limits [s]. ``slopes`` (k - 1, n) are the joint
    velocities on the lines at these limits [rad/s or m/s].
    """
    half = 0.5 * acceleration
    with np.errstate(divide='ignore'):
        gains = (half / np.abs(slopes)).min(axis=1)
        between = 0.5 * (lengths[:-1] + lengths[1:])[:, None]
        corners = (half * between / np.abs(np.diff(slopes, axis=0))).min(axis=1)
    squares = np.concatenate([[0.0], np.clip(corners, SLOWEST**2, 1.0), [0.0]])
    rise = 2.0 * gains * lengths
    for i in range(len(lengths)):
        squares[i + 1] = min(squares[i + 1], squares[i] + rise[i])
    for i in reversed(range(len(lengths))):
        squares[i] = min(squares[i], squares[i + 1] + rise[i])
    return np.asarray(np.sqrt(squares))
