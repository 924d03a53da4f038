"""
A request to lead a link along straight lines, and its response, without ROS.

A :class:`PathRequest` gets a :class:`PathResponse` with a :class:`TimedPath`. A path that ends early is a success.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.results import Cause
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    FullState,
    NOTHING_GIVEN,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass


@dataclass(slots=True)
class PathRequest:
    """Request to lead a link along straight lines from its present pose through waypoints."""

    group: str
    """Name of the planning group."""
    waypoints: Sequence[FloatArray]
    """(4, 4) pose of the link at each waypoint, in ``frame``."""
    frame: str = ''
    """Frame of the waypoints; the name of the link means that each waypoint is relative to the pose before."""
    link: str = ''
    """The link, or carried object, that follows the lines; empty for the only tip."""
    max_step: float = 0.01
    """Largest distance between neighbouring samples [m]; the largest angle [rad] is 3.5 times this number."""
    state: StateGiven = NOTHING_GIVEN
    """State in which the path begins; joints that it does not name have their current values."""
    jump_threshold: float = 0.0
    """Largest step as a multiple of the mean of the other steps, each the sum over its joints; 0 for any."""
    prismatic_jump: float = 0.0
    """Largest step of a sliding joint [m]; 0 for any."""
    revolute_jump: float = 0.0
    """Largest step of a revolute joint, and of each variable of other joints that are not prismatic [rad or m]; 0 for
    any."""
    avoid_collisions: bool = False
    """Whether all postures must be free of collisions."""
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    """Constraints that all postures must satisfy."""
    velocity_scale: float = 1.0
    """Part of the velocity limits that is used; outside (0, 1] it is 1. It has no effect on joints without a limit."""
    acceleration_scale: float = 1.0
    """Part of the acceleration limits that is used; outside (0, 1] it is 1."""
    speed_link: str = ''
    """The link whose speed is limited; empty for the link of the path."""
    max_speed: float = 0.0
    """Speed limit of this link [m/s]; 0 for any."""


class TimedPath(NamedTuple):
    """A joint path of a group as points with times and velocities; no point equals the next one."""

    positions: FloatArray
    """(k, n) [rad or m]."""
    times: FloatArray
    """(k,) from the start [s]."""
    velocities: FloatArray
    """(k, n) [rad/s or m/s]."""


class PathResponse(NamedTuple):
    """The path as far as it could be followed, and why no further."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Why the path ends early, or the cause of a refusal; else NONE."""
    text: str
    """One sentence or more about the outcome."""
    start: FullState | None = None
    """State in which the path begins; None for a refused request and for a request without waypoints."""
    path: TimedPath | None = None
    """Points with times; None for a refused request and for a request without waypoints."""
    fraction: float = 0.0
    """Followed waypoints, the last one in part, over all of them."""
    failed_waypoint: int = -1
    """Index of the first waypoint that was not reached; -1 if all were reached."""

    @property
    def solved(self) -> bool:
        """Return whether the request was accepted, however far the path goes: MoveIt calls that a success."""
        return self.refusal is Refusal.NONE
