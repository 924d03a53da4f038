"""Times of planned tool paths: from rest to rest, within limits, and no faster than the tool may be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.paths.requests import ToolPath
from ssik_ros.paths.waypoints import step_times
from ssik_ros.server.paths.path_requests import TimedPath
from ssik_ros.server.paths.path_timing import time_path


def time_plan(
    plan: ToolPath,
    group: JointGroup,
    limits: tuple[FloatArray, FloatArray],
    poses: FloatArray,
    settings: Mapping[str, Any],
) -> TimedPath:
    """
    Return a planned path, or its longest piece, with times; postures that repeat are left out.

    :param plan: the plan, with one row at least.
    :param group: the group that it is for.
    :param limits: of velocity and acceleration (n) of the variables of the group.
    :param poses: (m, 4, 4) all waypoints.
    :param settings: those of the plan that are not at their defaults.
    """
    columns = [group.variable_names.index(name) for name in plan.joint_names]
    velocity, acceleration = (own[columns] for own in limits)
    return time_path(plan.positions, velocity, acceleration, _least_times(plan, poses, settings))


def _least_times(
    plan: ToolPath, poses: FloatArray, settings: Mapping[str, Any]
) -> FloatArray | None:
    """Return the times (k - 1) that the steps take at the tool speed; None for any speed."""
    speed = settings.get('tool_speed')
    if speed is None:
        return None
    times = step_times(poses[plan.first_waypoint :][: len(plan.positions)], speed)
    # Between passes the tool may have any speed.
    travels = np.array(settings.get('passes', ()), dtype=int) - 1 - plan.first_waypoint
    times[travels[(travels >= 0) & (travels < len(times))]] = 0.0
    return times
