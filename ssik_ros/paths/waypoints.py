"""The waypoints of a tool path: checks, straight lines, rounded corners, and the time from one to the next."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_float
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.paths.rotations import angles_between
from ssik_ros.problem.pose_input import read_poses
from ssik_ros.tasks import pose_formats
from ssik_ros.tolerances import DEFAULT_TOLERANCES

MOST_WAYPOINTS = 100_000
LINE_STEP, LINE_TURN = 0.01, 0.05
"""Largest distance [m] and rotation [rad] between waypoints on a straight line."""
CORNER_ANGLE = 1e-3
"""Change of direction above which a waypoint is a corner [rad]."""
TURN_SPEED = 1.0
"""Speed at which the tool turns at most where the tool speed is given [rad/s]."""
SHORTEST_TIME = 1e-4
"""Least time from one waypoint to the next [s]."""


def check_waypoints(waypoints: ArrayLike) -> FloatArray:
    """
    Return waypoints as an array (m, 4, 4) of poses, after checks.

    :param waypoints: (m, 4, 4), or a list of poses in any form; at least two.
    :raises InvalidTarget: for values that are not finite, matrices that are not rigid transforms, fewer than two or too
        many.
    :raises TypeError, ValueError: as :func:`ssik_ros.problem.pose_input.read_poses`.
    """
    poses = read_poses(waypoints, 'waypoints')
    if not 2 <= len(poses) <= MOST_WAYPOINTS:
        raise InvalidTarget(f'A tool path has 2 to {MOST_WAYPOINTS} waypoints, not {len(poses)}.')
    wrong = wrong_poses(poses)
    if len(wrong):
        index = int(wrong[0])
        raise InvalidTarget(f'Waypoint {index} is not a finite rigid transform.', waypoint=index)
    return poses


def wrong_poses(poses: FloatArray) -> IntArray:
    """
    Return the indices of matrices that are not rigid transforms with finite numbers; empty if all are.

    If any number is not finite, only matrices with such numbers are returned.

    :param poses: (m, 4, 4) matrices.
    """
    wrong = ~np.isfinite(poses).all(axis=(1, 2))
    if not wrong.any():
        turned = np.einsum('mji,mjk->mik', poses[:, :3, :3], poses[:, :3, :3]) - np.eye(3)
        wrong = np.abs(turned).max(axis=(1, 2)) > DEFAULT_TOLERANCES.rigid
        wrong |= np.abs(poses[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1) > DEFAULT_TOLERANCES.rigid
        wrong |= np.linalg.det(poses[:, :3, :3]) < 0.0
    return np.flatnonzero(wrong)


def straight_lines(
    poses: ArrayLike, step: float = LINE_STEP, turn: float = LINE_TURN
) -> FloatArray:
    """
    Return waypoints (k, 4, 4) on straight lines between poses, on which the tool turns about one axis.

    The waypoints of a line have equal distances. The poses themselves are among them, up to rounding.

    :param poses: (m, 4, 4), or a list of poses in any form; at least two.
    :param step: largest distance of neighbouring waypoints [m].
    :param turn: largest rotation between them [rad].
    :raises InvalidTarget: for matrices that are not poses, and for too many waypoints.
    :raises InvalidOption: for a step or a turn that is not positive.
    :raises TypeError, ValueError: for poses of another form.
    """
    corners = check_waypoints(poses)
    for name, value in (('step', step), ('turn', turn)):
        if not 0.0 < read_float(name, value) < math.inf:
            raise InvalidOption(f'{name} is a positive number, not {value!r}.')
    rows = [np.append(pose[:3, :3].ravel(), pose[:3, 3]) for pose in corners]
    lengths, angles = _gaps(corners)
    counts = np.maximum(1, np.ceil(np.maximum(lengths / step, angles / turn) - 1e-9))
    if counts.sum() >= MOST_WAYPOINTS:
        raise InvalidTarget(
            f'These lines need {counts.sum() + 1:.0f} waypoints, and a tool path has at most {MOST_WAYPOINTS}: take longer steps.'
        )
    placed = [corners[0]]
    for first, last, count in zip(rows, rows[1:], counts.astype(int).tolist(), strict=False):
        parts = np.arange(1, count + 1) / count
        placed += [
            pose_formats.to_matrix(pose_formats.interpolate(first, last, part))
            for part in parts.tolist()
        ]
    return np.array(placed)


def _gaps(poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distances (m - 1,) [m] and the rotations (m - 1,) [rad] from each pose to the next."""
    lengths = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    return lengths, angles_between(poses[:-1, :3, :3], poses[1:, :3, :3])


def round_corners(poses: FloatArray, most: float) -> FloatArray:
    """
    Return a copy of waypoints, with positions near corners of the path moved onto parabolas.

    A corner is a waypoint at which the direction of straight lines changes. Orientations are unchanged.

    :param poses: (m, 4, 4).
    :param most: largest shift of a waypoint, 0 or more [m].
    """
    places, rounded = poses[:, :3, 3], poses.copy()
    corners = _corners(places)
    ends = [0, *corners.tolist(), len(places) - 1]
    for number, corner in enumerate(corners, start=1):
        before, after = places[ends[number - 1]], places[ends[number + 1]]
        sides = before - places[corner], after - places[corner]
        lengths = [float(np.linalg.norm(side)) for side in sides]
        units = [side / length for side, length in zip(sides, lengths, strict=True)]
        # The parabola through both ends of the corner passes it at reach / 4 |sum of the units|.
        sharpness = float(np.linalg.norm(units[0] + units[1]))
        reach = min(4.0 * most / max(sharpness, 1e-9), 0.5 * min(lengths))
        for row in range(ends[number - 1] + 1, ends[number + 1]):
            side = 0 if row < corner else 1
            distance = float(np.linalg.norm(places[row] - places[corner]))
            if distance < reach:
                part = 0.5 * (1.0 + (2 * side - 1) * distance / reach)
                first, last = (1.0 - part) ** 2, part**2
                rounded[row, :3, 3] = places[corner] + reach * (first * units[0] + last * units[1])
    return rounded


def _corners(places: FloatArray) -> 'np.ndarray[tuple[int], np.dtype[np.int64]]':
    """
    Return the indices of corners: positions (m, 3) at which a straight line changes its direction abruptly.

    A corner turns by more than CORNER_ANGLE, and by more than four times the turn at each neighbour. So waypoints on a
    smooth curve are not corners.
    """
    steps = np.diff(places, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    units = steps / np.maximum(lengths, 1e-12)[:, None]
    crosses = np.linalg.norm(np.cross(units[:-1], units[1:]), axis=1)
    angles = np.arctan2(crosses, np.einsum('mi,mi->m', units[:-1], units[1:]))
    angles[(lengths[:-1] < 1e-9) | (lengths[1:] < 1e-9)] = 0.0
    # A curve turns a little at each waypoint; a corner turns much more than its neighbours.
    around = np.maximum(np.append(0.0, angles[:-1]), np.append(angles[1:], 0.0))
    return np.asarray(np.flatnonzero((angles > CORNER_ANGLE) & (angles > 4.0 * around)) + 1)


def step_times(poses: FloatArray, speed: float) -> FloatArray:
    """
    Return the time (m - 1,) that the tool takes from each waypoint to the next [s].

    It moves at most at ``speed`` and turns at most at TURN_SPEED; each step takes at least SHORTEST_TIME.

    :param poses: (m, 4, 4).
    :param speed: speed of the tool, positive [m/s].
    """
    lengths, angles = _gaps(poses)
    return np.asarray(np.maximum(np.maximum(lengths / speed, angles / TURN_SPEED), SHORTEST_TIME))
