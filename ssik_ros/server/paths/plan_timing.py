"""
Times for planned tool paths: from rest to rest, within the limits of the joints and of the speed of the tool.

:func:`time_plan` makes a :class:`TimedPlan`. A tool path may have several passes; between two passes the arm moves
freely. Controllers that join points by cubics leave the straight line next to a corner, by about 0.15 times the shorter
line there. Free motions therefore get more points near their corners: the arm then stays close to the planned lines,
which pass obstacles.
"""

from collections.abc import Mapping
import itertools
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.paths.requests import ToolPath
from ssik_ros.paths.waypoints import step_times
from ssik_ros.server.paths.path_requests import TimedPath
from ssik_ros.server.paths.path_timing import row_times, time_path

NEAR_CORNER = 2e-4
"""Longest line next to a corner of free travel [rad or m]; each further line is at most twice as long as the one before."""


class TimedPlan(NamedTuple):
    """A planned path with times and velocities, and the time of each waypoint; :func:`time_plan` makes it."""

    path: TimedPath
    """The path with the corners of free travel, and points near them."""
    waypoint_times: FloatArray
    """(k,) time at which each row of the plan is reached [s]."""


class _Points(NamedTuple):
    """
    Points that the arm moves through in straight joint motions, among them the waypoints of the plan.

    ``rows`` has the index of the point of each waypoint.
    """

    q: FloatArray
    """(p, n) joined by straight motions."""
    rows: IntArray
    """(k,) index of the point of each row of the plan."""
    parts: FloatArray
    """(p - 1,) length of each line, as a part of the step of the plan to which it belongs."""


def time_plan(
    plan: ToolPath,
    group: JointGroup,
    limits: tuple[FloatArray, FloatArray],
    poses: FloatArray,
    settings: Mapping[str, Any],
) -> TimedPlan:
    """
    Return a planned path with times and velocities; postures that repeat are left out.

    If the plan failed, the path has the longest part that was found.

    :param plan: the plan, with one posture at least.
    :param group: the planning group of the plan.
    :param limits: velocity limits (n,) and acceleration limits (n,) of the variables of the group, as for
        :func:`time_path`.
    :param poses: (m, 4, 4) all waypoints.
    :param settings: settings of the plan that differ from the defaults; ``passes`` and ``tool_speed`` [m/s] are read.
    """
    columns = [group.variable_names.index(name) for name in plan.joint_names]
    velocity, acceleration = (bounds[columns] for bounds in limits)
    travels = np.array(settings.get('passes', ()), dtype=int) - 1 - plan.first_waypoint
    travels = travels[(travels >= 0) & (travels < len(plan.positions) - 1)]
    points = _points(plan, travels)
    least = _least_times(plan, travels, poses, settings.get('tool_speed'))
    if least is not None:
        least = np.repeat(least, np.diff(points.rows)) * points.parts
    path = time_path(points.q, velocity, acceleration, least)
    return TimedPlan(path, row_times(points.q, path)[points.rows])


def _least_times(
    plan: ToolPath, travels: IntArray, poses: FloatArray, speed: float | None
) -> FloatArray | None:
    """
    Return the shortest time (k - 1,) [s] of each step at the tool speed [m/s]; ``None`` without a tool speed.

    The time is 0 for a free motion between passes: there the tool may have any speed. ``travels`` are the indices of
    these steps.
    """
    if speed is None:
        return None
    times = step_times(poses[plan.first_waypoint :][: len(plan.positions)], speed)
    # Between passes the tool may have any speed.
    times[travels] = 0.0
    return times


def _points(plan: ToolPath, travels: IntArray) -> _Points:
    """
    Return the waypoints of a plan, the corners of the free motions between passes, and more points near these corners.

    ``travels`` (t,) are the indices of the waypoints at which a free motion begins.
    """
    q = plan.positions
    polylines = {
        stretch.first: stretch.positions for stretch in plan.stretches if stretch.is_travel
    }
    counts = np.ones(len(q) - 1, dtype=int)
    lines, parts, done = [q[:1]], [], 0
    near = np.unique(np.concatenate([travels - 1, travels, travels + 1]))
    for step in near[(near >= 0) & (near < len(q) - 1)].tolist():
        corner_points, shares = _near_corners(polylines.get(step, q[step : step + 2]))
        lines += [q[done + 1 : step + 1], corner_points[1:]]
        parts += [np.ones(step - done), shares]
        counts[step], done = len(shares), step + 1
    lines.append(q[done + 1 :])
    parts.append(np.ones(len(q) - 1 - done))
    rows = np.append(0, np.cumsum(counts))
    return _Points(np.concatenate(lines), rows, np.concatenate(parts))


def _near_corners(polyline: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Return a polyline (r, n) with more points near its corners: points (p, n), and the lengths of its lines.

    The lengths (p - 1,) are parts of the whole length and sum to 1. All are 0 if the polyline has no length. The length
    of a line is the largest change of a joint.
    """
    points, lengths = [polyline[:1]], []
    for start, end in itertools.pairwise(polyline):
        length = float(np.abs(end - start).max())
        ahead = NEAR_CORNER * 2.0 ** np.arange(64)
        ahead = ahead[ahead < 0.5 * length]
        offsets = np.concatenate([ahead, length - ahead[::-1], [length]])
        points.append(start + (offsets / length if length else offsets)[:, None] * (end - start))
        points[-1][-1] = end
        lengths.append(np.diff(offsets, prepend=0.0))
    line_lengths = np.concatenate(lengths)
    return np.concatenate(
        points
    ), line_lengths / line_lengths.sum() if line_lengths.any() else line_lengths
