"""
Joint paths along sampled poses by the planner of tool paths, for arms with one redundant joint.

**Problem.** For such an arm, the search from sample to sample only knows postures that a solver finds from the postures
before. It ends when these reach a joint limit, even if other postures of the same poses lead on.

**Method.** The planner searches all samples at once, from the given posture, for the least sum of squared joint steps.
If no path reaches the end, a second plan covers only the samples before the first one that cannot be reached.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import SsikError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.control import do_nothing, import_library
from ssik_ros.paths.requests import ToolPathRequest
from ssik_ros.results import Cause
from ssik_ros.server.scene.world import Surroundings

JOINTS = 7
"""Number of joints of an arm with one redundant joint."""


class LinePlanning(NamedTuple):
    """Settings of the planner that runs when the search from sample to sample ends early."""

    around: Callable[[], Surroundings]
    """Function that returns the objects around the robot."""
    padding: float
    """Bodies nearer than this to each other collide [m]."""
    timeout: float
    """Budget [s]; 0 for no planner."""


class PlannedLine(NamedTuple):
    """The planner's result: one posture for each reached sample, and the reason why later samples are not reached."""

    rows: FloatArray
    """(k, n) the start, and a posture for each of the samples that are reached."""
    cause: Cause
    """Why the later samples are not reached; NONE if all samples are reached."""
    text: str
    """The planner's sentence about it, and whether the clock ended its search."""


def load_planner() -> None:
    """
    Import the modules of the planner in advance, so that the first plan does not wait for them.

    :raises SolverError: if a module is missing.
    """
    from ssik_ros.paths.planner import LIBRARIES

    for name in LIBRARIES:
        import_library(name, do_nothing)


def plan_line(
    robot: RobotModel, group: JointGroup, poses: FloatArray, request: ToolPathRequest
) -> PlannedLine:
    """
    Return planned postures for the samples, up to the first sample that the planner does not reach.

    The samples before it are planned again. If this plan fails too, the result has its part from the start on, or only
    the start posture. After an SsikError it also has only the start posture, with the error as the text.

    :param robot, group: the robot, and a group with one tip.
    :param poses: (m, 4, 4) sampled poses of the link in the base frame of the group; the first one is the start.
    :param request: settings of the plan; ``start`` has the n numbers of the first posture.
    """
    # Tens of modules that most requests do without.
    from ssik_ros.paths.planner import plan_tool_path

    start = np.array([request.start])
    try:
        path = whole = plan_tool_path(robot, group, poses, request)
        if not whole.valid and whole.failed_waypoint > 1:
            path = plan_tool_path(robot, group, poses[: whole.failed_waypoint], request)
    except SsikError as error:
        return PlannedLine(start, Cause.NOT_FOUND, str(error))
    rows = path.positions if path.first_waypoint == 0 and len(path.positions) else start
    said = ' '.join(note for note in (whole.reason, *path.notes) if note)
    text = f'Of the samples, counted from the start as 0, it says: {said}' if said else ''
    return PlannedLine(rows, whole.cause, text)
