"""
Postures of singular waypoints next to postures of their neighbours.

At a singular pose, such as one with a straight wrist, the closed form returns one point of each curve of postures. This
point may be far from the postures of the waypoints before and after. A path that passes such a pose needs other points
of the curve: those next to the postures of its neighbours.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.paths.tool_chain import PostureRows, ToolChain

MOST_MOVED = 2_000
"""Postures of neighbours that are moved onto singular waypoints, of one path; each takes about 0.2 ms."""
POSTURE_SEPARATION = 1e-9
"""If all joints of two postures differ by less than this, they are one posture [rad or m]."""


def add_neighbours(chain: ToolChain, postures: PostureRows, poses: FloatArray) -> PostureRows:
    """
    Return postures of waypoints, with further postures at singular waypoints next to postures of their neighbours.

    :param chain: joints without free parameters.
    :param postures: all postures of all waypoints by the closed form.
    :param poses: (m, 4, 4) waypoints, in the order of the path.
    """
    is_singular = postures.counts[:, 2] != 0
    if not is_singular.any():
        return postures
    rows = np.split(postures.q, np.cumsum(np.bincount(postures.owners, minlength=len(poses)))[:-1])
    for waypoint, q in _moved(chain, rows, poses, is_singular):
        if not (np.abs(rows[waypoint] - q) < POSTURE_SEPARATION).all(axis=1).any():
            rows[waypoint] = np.vstack([rows[waypoint], q])
    counts = postures.counts.copy()
    counts[:, 0] = np.maximum(counts[:, 0], [len(layer) for layer in rows])
    owners: IntArray = np.repeat(np.arange(len(rows)), [len(layer) for layer in rows])
    return PostureRows(np.vstack(rows), owners, counts)


def _moved(
    chain: ToolChain, rows: list[FloatArray], poses: FloatArray, is_singular: NDArray[np.bool_]
) -> list[tuple[int, FloatArray]]:
    """
    Continue postures of regular waypoints along the singular waypoints next to them; return (waypoint, posture) pairs.

    The search ends before there are more than MOST_MOVED pairs.

    :param rows: postures (k, n) of each waypoint.
    :param poses: (m, 4, 4) waypoints.
    :param is_singular: (m,) mask of singular waypoints.
    """
    moved: list[tuple[int, FloatArray]] = []
    for before, waypoints in _stretches(is_singular):
        present = list(rows[before])
        for waypoint in waypoints:
            if len(moved) + len(present) > MOST_MOVED:
                return moved
            ends = [chain.arm.difficult.near(poses[waypoint], q) for q in present]
            present = [q for q in ends if q is not None]
            moved += [(waypoint, q) for q in present]
    return moved


def _stretches(is_singular: NDArray[np.bool_]) -> Iterator[tuple[int, range]]:
    """
    Yield each regular waypoint with the run of singular waypoints that follows it, once forwards and once backwards.

    The run is a range of indices, the nearest first; it may be empty.
    """
    count = len(is_singular)
    for waypoint in np.flatnonzero(~is_singular).tolist():
        for step in (1, -1):
            end = waypoint + step
            while 0 <= end < count and is_singular[end]:
                end += step
            yield waypoint, range(waypoint + step, end, step)
