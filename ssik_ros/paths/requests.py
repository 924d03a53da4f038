"""What a caller asks of a tool path, and what the plan of one says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.paths import layers
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.results import Cause
from ssik_ros.value_class import dataclass

ProgressReport = Callable[[float, str], None]


class PathObjective(Enum):
    """What the best joint path has least of."""

    JOINT_LENGTH = layers.SUM_OF_STEPS
    """Sum of ``|dq|`` over all joints and steps [rad and m]."""
    SQUARED_STEPS = layers.SUM_OF_SQUARES
    """Sum of dq^2."""
    LARGEST_SPEED = layers.LARGEST_STEP
    """Largest ``|dq|`` of a step as a part of the joint's velocity limit [s]."""
    TIME = layers.SUM_OF_LARGEST
    """Sum over the steps of the time that the slowest joint takes [s]."""


@dataclass(frozen=True, eq=False)
class ToolPathRequest:
    """Settings of a plan; the waypoints are given beside them."""

    spin_axis: Sequence[float] | None = None
    """Axis in the tip frame about which the tool may turn freely; None for exact poses."""
    objective: PathObjective = PathObjective.JOINT_LENGTH
    largest_turn: float = 0.35
    """Largest step of a revolute joint between neighbouring waypoints [rad]."""
    largest_slide: float = 0.1
    """Largest step of a prismatic joint [m]."""
    locked: Mapping[str, float] = field(default_factory=dict)
    """Joints that do not move, with their values [rad or m]."""
    start: Sequence[float] | None = None
    """Joint values at the first waypoint; None for any."""
    end: Sequence[float] | None = None
    """Joint values at the last waypoint; None for any."""
    obstacles: Sequence[WorldObject] | None = None
    """Objects in the frame of the base link; None for no collision checks at all, not even of the robot with itself."""
    clearance: float = 0.0
    """Least distance to obstacles, and of links from each other [m]."""
    timeout: float | None = None
    """Wall-clock budget [s]; None for no limit."""
    is_cancelled: Callable[[], bool] | None = None
    """Is asked again and again; the plan ends soon after it returns true."""
    report_progress: ProgressReport | None = None
    """Is told the part that is done, from 0 to 1, and what is done next."""


@dataclass(frozen=True, eq=False)
class ToolPath:
    """The best joint path that was found, or why there is none."""

    valid: bool
    joint_names: tuple[str, ...]
    positions: FloatArray
    """(m, n) one row per waypoint [rad or m]; if there is no path, the longest piece that works."""
    cost: float
    """Value of the objective; infinite if there is no path."""
    lower_bound: float
    """A proved bound: no path has a lower cost."""
    cause: Cause = Cause.NONE
    reason: str = ''
    """Why there is no path; empty if there is one."""
    failed_waypoint: int = -1
    """Index of the first waypoint that no path from the start reaches, -1 for none."""
    first_waypoint: int = 0
    """Index of the waypoint that the first row of ``positions`` belongs to."""
    seconds: float = 0.0
    notes: Sequence[str] = ()
    """What a user should know of this plan, one sentence each."""

    @property
    def gap(self) -> float:
        """Return by how much at most the cost is above the least possible one, as a part of the cost."""
        if not np.isfinite(self.cost) or self.cost <= 0.0:
            return 0.0
        return 1.0 - self.lower_bound / self.cost
