"""
A goal to plan the cheapest joint path along a tool path, and its response, without ROS.

A :class:`ToolPathGoal` has waypoints and settings and gets a :class:`ToolPathResponse`. Joints, links and frames are
given by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.paths.requests import PathProgress, ToolPath
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_requests import TimedPath
from ssik_ros.server.requests.ik_requests import NOTHING_GIVEN, StateGiven
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass


class PlanWatch(NamedTuple):
    """Callbacks of a plan: one tells whether it is cancelled, one receives its progress."""

    is_cancelled: Callable[[], bool]
    """Polled during the plan; true ends it."""
    report: Callable[[PathProgress], None]
    """Called with the progress of the plan."""


UNWATCHED = PlanWatch(lambda: False, lambda progress: None)


class NamedValues(NamedTuple):
    """Values of joints [rad or m] by name; the last of a repeated name counts."""

    names: Sequence[str] = ()
    positions: Sequence[float] = ()


FREE_POSTURE = NamedValues()


@dataclass(slots=True)
class ToolPathGoal:
    """Request for the cheapest joint path of a group along a tool path; ``settings`` chooses the cost."""

    group: str
    """Name of the planning group."""
    waypoints: FloatArray
    """(7 m,) position [m] and quaternion x, y, z, w of each of m waypoints."""
    frame: str = ''
    """Frame of the waypoints; empty for the frame of the workpiece or, without a workpiece, the model frame."""
    link: str = ''
    """The link, or carried object, that follows the waypoints; empty for the tip of the group."""
    workpiece: str = ''
    """Second tip of the group, in whose frame the waypoints are; empty for none."""
    state: StateGiven = NOTHING_GIVEN
    """Values of locked joints and of joints outside the group; others keep their current values."""
    start: NamedValues = FREE_POSTURE
    """Posture at the first waypoint, by joint; without names it is free."""
    end: NamedValues = FREE_POSTURE
    """Posture at the last waypoint, by joint; without names it is free."""
    locked: Sequence[str] = ()
    """Joints of the group that keep their values in the state."""
    avoid_collisions: bool = False
    """Whether the path must be free of collisions."""
    clearance: float = 0.0
    """Least distance between bodies [m]; needs ``avoid_collisions``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of :class:`ssik_ros.paths.requests.ToolPathRequest`."""
    velocity_scale: float = 1.0
    """Part of the velocity limits that the times use; outside (0, 1] it is 1. It has no effect on joints without a limit."""
    acceleration_scale: float = 1.0
    """Part of the acceleration limits that the times use; outside (0, 1] it is 1."""
    timeout: float = 0.0
    """Wall-clock budget [s]; zero or less for no limit."""
    watch: PlanWatch = UNWATCHED
    """Callbacks for cancellation and progress."""


class ToolPathResponse(NamedTuple):
    """The joint path that was planned for a goal, with times, as far as it goes; or the reason of a failure."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    plan: ToolPath | None = None
    """The plan; None if the goal was refused."""
    path: TimedPath | None = None
    """
    The joint path with times, as far as it was planned, without repeated postures. None if the plan has no posture.
    """
    waypoint_times: FloatArray | None = None
    """(k,) time at which the path is at each planned waypoint [s]; None without a path."""

    @property
    def solved(self) -> bool:
        """Return whether there is a path through all waypoints."""
        return self.plan is not None and self.plan.valid
