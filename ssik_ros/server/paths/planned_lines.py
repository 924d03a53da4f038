"""
Joint paths along sampled poses by the planner of tool paths, for arms with one redundant joint.

**Problem.** For such an arm, the search from sample to sample only knows postures that a solver finds from the postures
before. It ends when these reach a joint limit, even if other postures of the same poses lead on.

**Method.** The planner searches all samples at once, from the given posture, for the least sum of squared joint steps.
If no path reaches the end, a second plan covers only the samples before the first one that cannot be reached.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import SsikError
from ssik_ros.model.collision.objects import CarriedObject, WorldObject
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.control import do_nothing, import_library
from ssik_ros.paths.requests import PathObjective, ToolPath, ToolPathRequest
from ssik_ros.results import Cause
from ssik_ros.server.scene.world import Surroundings
from ssik_ros.value_class import dataclass

JOINTS = 7
"""Of an arm with one redundant joint."""
LARGEST_PLANNED_TURN, LARGEST_SLIDE = 0.35, 0.1
"""Largest steps of a plan; the search halves those that are longer than the thresholds of a request [rad, m]."""


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


@dataclass(slots=True, eq=False)
class LineRequest:
    """Request for a joint path along sampled poses."""

    robot: RobotModel
    group: JointGroup
    poses: FloatArray
    """(m, 4, 4) of the link in the base frame of the group; the first one is the start."""
    start: FloatArray
    """(n,) posture at the first pose."""
    state: FloatArray
    """(nq,) full state, for joints outside the group."""
    tool: FloatArray | None
    """(4, 4) pose of the link in the tip frame; None for the tip."""
    timeout: float
    """Budget [s]."""
    is_cancelled: Callable[[], bool]
    """Polled during the plan; true ends it."""
    obstacles: Sequence[WorldObject] | None = None
    """Objects, with poses in the base frame of the group; None if collisions do not matter."""
    carried: Sequence[CarriedObject] = ()
    """Objects that links carry."""
    padding: float = 0.0
    """Bodies nearer than this to each other collide [m]."""
    accepts: Callable[[FloatArray], bool] | None = None
    """Function that tells whether a posture (n,) keeps the constraints; None without constraints."""


def place_in_link(items: Sequence[WorldObject], base: FloatArray) -> list[WorldObject]:
    """
    Return copies of objects with their poses in a link instead of the model frame.

    :param items: the objects, with poses in the model frame.
    :param base: (4, 4) pose of the model frame in the link.
    """
    return [dataclasses.replace(item, pose=base @ item.pose) for item in items]


def load_planner() -> None:
    """Import the modules of the planner in advance, so that the first plan does not wait for them."""
    from ssik_ros.paths.planner import LIBRARIES

    for name in LIBRARIES:
        import_library(name, do_nothing)


def plan_line(asked: LineRequest) -> PlannedLine:
    """
    Return planned postures for the samples, up to the first sample that no path reaches.

    After an SsikError, return only the start posture, with the error as the text.

    :param asked: start, sampled poses, objects and budget.
    """
    try:
        path = whole = _plan(asked, asked.poses)
        if not whole.valid and whole.failed_waypoint > 1:
            path = _plan(asked, asked.poses[: whole.failed_waypoint])
    except SsikError as error:
        return PlannedLine(asked.start[None], Cause.NOT_FOUND, str(error))
    rows = path.positions if path.first_waypoint == 0 else path.positions[:0]
    if not len(rows):
        rows = asked.start[None]
    said = ' '.join(note for note in (whole.reason, *path.notes) if note)
    text = f'Of the samples, counted from the start as 0, it says: {said}' if said else ''
    return PlannedLine(rows, whole.cause, text)


def _plan(asked: LineRequest, poses: FloatArray) -> ToolPath:
    """Return the planner's best joint path along poses (m, 4, 4), the first ones of the request."""
    # Tens of modules that most requests do without.
    from ssik_ros.paths.planner import plan_tool_path

    request = ToolPathRequest(
        objective=PathObjective.SQUARED_STEPS,
        largest_turn=LARGEST_PLANNED_TURN,
        largest_slide=LARGEST_SLIDE,
        tool=asked.tool,
        state=asked.state,
        start=asked.start.tolist(),
        obstacles=asked.obstacles,
        carried=asked.carried,
        clearance=asked.padding,
        accepts=asked.accepts,
        timeout=asked.timeout,
        is_cancelled=asked.is_cancelled,
    )
    return plan_tool_path(asked.robot, asked.group, poses, request)
