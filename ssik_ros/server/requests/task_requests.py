"""
Requests and responses of the services for task sets, without ROS.

A task set is a list of tasks of a task set file; each task moves a tip to its target. :class:`TaskSetsRequest` asks for
joint positions, :class:`ConfigsRequest` for several configurations, :class:`LedPathRequest` for a joint path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.results import Cause
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    FramedPose,
    FullState,
    NOTHING_GIVEN,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass

NO_ROWS: FloatArray = np.empty((0, 0))


class TargetGiven(NamedTuple):
    """A pose for a frame of the task set file."""

    name: str
    """Name of the frame in the file."""
    pose: FramedPose
    """Target pose of this frame."""


@dataclass(slots=True)
class TaskSetsRequest:
    """Request to move joints so that the tips of task sets meet their targets."""

    task_sets: Sequence[str] = ()
    """Names, the one of the highest priority first; empty for all task sets of the file."""
    targets: Sequence[TargetGiven] = ()
    """Poses that replace poses of the file."""
    state: StateGiven = NOTHING_GIVEN
    """Joint values at the start; joints that it does not name have their current values."""
    priority: str = ''
    """``strict`` or ``nested``; empty for the setting of the file."""
    max_iterations: int = 0
    """Largest number of steps; zero for the setting of the first task set."""


@dataclass(slots=True)
class CheckedRequest:
    """Common fields of :class:`ConfigsRequest` and :class:`LedPathRequest`: a task set, its joints, and the checks."""

    task_set: str = ''
    """Name of the task set; empty for the only one of the file."""
    joints: Sequence[str] = ()
    """Joints whose values make a configuration; empty for the joints that the task set moves."""
    targets: Sequence[TargetGiven] = ()
    """Poses that replace poses of the file."""
    state: StateGiven = NOTHING_GIVEN
    """Joint values at the start; joints that it does not name have their current values."""
    avoid_collisions: bool = False
    """Whether configurations must be free of collisions."""
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    """Constraints that configurations must satisfy."""


@dataclass(slots=True)
class ConfigsRequest(CheckedRequest):
    """Request for configurations in which all tips of a task set meet their targets."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of :class:`ssik_ros.tasks.configuration_search.SearchOptions` that differ from their defaults."""


@dataclass(slots=True)
class LedPathRequest(CheckedRequest):
    """Request for a joint path along which a tip moves straight to its target, or through waypoints."""

    tip: str = ''
    """Name of the tip that is led; empty for the tip of the task set's first enabled task."""
    points: int = 0
    """Number of points of a straight path, the start included."""
    waypoints: Sequence[FramedPose] = ()
    """Poses through which the tip is led, instead of a straight path."""
    max_joint_step: float = 0.0
    """Largest step of a joint [rad or m]; zero for no limit."""
    tolerance: float = 0.0
    """Largest error [m, rad]; zero for the default, -1 for the precision of the tasks."""
    partial: bool = False
    """Whether a path that ends early is returned up to its end; else it is left out."""


class TaskLeft(NamedTuple):
    """
    The errors of one task that are left after a solve, along the directions that the task constrains.

    ``task_set``, ``tip`` and ``target`` are names; the target is empty if the tip has none.
    """

    task_set: str
    tip: str
    target: str
    linear: float
    """Position error [m]."""
    angular: float
    """Orientation error [rad]."""
    within: bool
    """Whether both errors are within the precision of the task."""


class TaskSetsResponse(NamedTuple):
    """Joint positions with which tips of task sets meet their targets or come near, and the remaining errors."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    state: FullState | None = None
    """Full state with the joints at the end of the solve; None for a request that was refused."""
    reason: int = 0
    """Bits of :class:`ssik_ros.tasks.constants.Reason`: why the solve ended."""
    iterations: int = 0
    """Number of steps."""
    linear: float = 0.0
    """Largest position error of all tips [m]."""
    angular: float = 0.0
    """Largest orientation error of all tips [rad]."""
    tasks: Sequence[TaskLeft] = ()
    """Remaining errors of each task."""
    limit_hits: Mapping[str, float] = {}
    """How far each joint that stopped at a limit would have passed it [rad or m]; negative at a lower limit."""


class ConfigsResponse(NamedTuple):
    """Configurations in which all tips of a task set meet their targets, nearest to the start first."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: Sequence[str] = ()
    """Names of the variables of a configuration."""
    configs: FloatArray = NO_ROWS
    """(k, n) values of the joints [rad or m]."""
    distances: Sequence[float] = ()
    """Weighted joint distance of each configuration from the start."""
    clock_ended: bool = False
    """Whether the search took its whole time."""


class LedPathResponse(NamedTuple):
    """
    A joint path, or its part before the first point that was not reached.

    This part is empty unless the request is ``partial``.
    """

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: Sequence[str] = ()
    """Names of the variables of a configuration."""
    configs: FloatArray = NO_ROWS
    """(k, n) values of the joints at each point [rad or m]."""
    fraction: float = 0.0
    """Share of the points that were reached, 0 to 1."""
    failed_index: int = -1
    """Index of the first point that was not reached; -1 for none."""
