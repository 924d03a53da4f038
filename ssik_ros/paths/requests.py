"""Request, result and progress of a tool path plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
import math
import sys
from typing import NamedTuple

import numpy as np

from ssik_ros.arguments import (
    check_callable,
    check_kind,
    check_listed,
    check_mapping,
    read_count,
    read_flag,
    read_float,
    read_numbers,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, tells_near_names
from ssik_ros.kernels.paths import layers
from ssik_ros.model.collision.objects import CarriedObject, read_carried, read_objects, WorldObject
from ssik_ros.results import Cause
from ssik_ros.value_class import dataclass


class PathProgress(NamedTuple):
    """Progress of a plan, as the caller's callback gets it: finished share, phase, waypoint and cost so far."""

    part: float
    """Finished part of the plan, from 0 to 1."""
    phase: str
    """Name of the present phase."""
    waypoint: int = 0
    """Index of the waypoint that this phase has come to."""
    best_cost: float = math.inf
    """Cost of the best path so far, which is not verified yet; infinite before the first path."""


ProgressReport = Callable[[PathProgress], None]


class PathObjective(Enum):
    """Quantity that a plan minimises: joint length, squared steps, largest speed, or time."""

    JOINT_LENGTH = layers.SUM_OF_STEPS
    """Sum of ``|dq|`` over all joints and steps [rad and m]."""
    SQUARED_STEPS = layers.SUM_OF_SQUARES
    """Sum of ``dq^2`` over all joints and steps."""
    LARGEST_SPEED = layers.LARGEST_STEP
    """Largest ``|dq|`` of a step over the joint's velocity limit [s]; with a tool speed, over the step's time, too."""
    TIME = layers.SUM_OF_LARGEST
    """Sum over the steps of the time that the slowest joint takes at its velocity limit [s]."""


LEAST_POSITIVE, LARGEST_FINITE = math.ulp(0.0), sys.float_info.max
"""Smallest positive and largest finite number."""
NUMBERS = {
    'corner': (0.0, LARGEST_FINITE, 'a distance [m]'),
    'largest_turn': (LEAST_POSITIVE, LARGEST_FINITE, 'a positive number'),
    'largest_slide': (LEAST_POSITIVE, LARGEST_FINITE, 'a positive number'),
    'clearance': (0.0, LARGEST_FINITE, 'a distance [m]'),
    'tool_speed': (LEAST_POSITIVE, LARGEST_FINITE, 'a positive number [m/s]'),
    'timeout': (0.0, math.inf, 'a time [s]'),
    'bound_seconds': (0.0, LARGEST_FINITE, 'a time [s]'),
}
"""Settings that are numbers, with the least and the largest allowed value, and with words for an allowed value."""
Range = tuple[float, float]
FIXED_ANGLE: Range = (0.0, 0.0)
"""The angle of the pose itself [rad]."""
ANY_ANGLE: Range = (-math.pi, math.pi)
"""Every angle [rad]."""


@dataclass(frozen=True, eq=False)
class PathTolerance:
    """
    The poses that the tool may have at a waypoint: a box of positions, and a range of orientations.

    Orientations vary by spin about the tool axis and tilt within a cone, or by roll, pitch and yaw.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """Tool axis in the tip frame, for spin and cone."""
    spin: Range = FIXED_ANGLE
    """Range of the turn about the tool axis [rad]; (-pi, pi) for a free spin."""
    cone: float = 0.0
    """Largest angle between the tool axis and its direction at the waypoint [rad]."""
    position: tuple[Sequence[float], Sequence[float]] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    """Lower and upper corner of a box in the waypoint's frame [m]."""
    roll: Range = FIXED_ANGLE
    """Range of the turn about the waypoint's x axis [rad]; the pose is waypoint * Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch: Range = FIXED_ANGLE
    """Range of the turn about the y axis [rad], within (-pi / 2, pi / 2)."""
    yaw: Range = FIXED_ANGLE
    """Range of the turn about the z axis [rad]."""


class CommonSpin(NamedTuple):
    """A spin that the tool may have at each waypoint of a path, about the same axis and in the same range."""

    axis: FloatArray
    """(3,) unit tool axis in the tip frame."""
    lower: float
    """Least angle [rad]; -inf for a free spin."""
    upper: float
    """Largest angle [rad]; inf for a free spin."""


@dataclass(frozen=True, eq=False)
class PathPenalties:
    """
    Weights and zones of penalties that postures near limits, singularities and obstacles add to the objective.

    A weight is the penalty of a path whose waypoints are all at the worst place: at a limit, singular, or at the
    clearance. The penalty falls to zero at the edge of the zone. A path has the mean penalty of its postures, or the
    largest one for the objective LARGEST_SPEED.
    """

    limits: float = 0.0
    """At a joint limit."""
    limit_zone: float = 0.1
    """Width of the zone at each limit in which postures cost something, as a part of the joint's range."""
    singularities: float = 0.0
    """At a singular posture."""
    singular_zone: float = 0.1
    """
    Smallest singular value of the Jacobian below which postures cost something [1].

    The Jacobian has lengths in units of the length of the arm.
    """
    obstacles: float = 0.0
    """At the clearance."""
    obstacle_zone: float = 0.05
    """Distance beyond the clearance below which postures cost something [m]."""


@dataclass(frozen=True, eq=False)
class ToolPathRequest:
    """All settings of a tool path plan, except for the waypoints."""

    spin_axis: Sequence[float] | None = None
    """Axis in the tip frame about which the tool may turn freely; None for exact poses, or for ``tolerance``."""
    tolerance: PathTolerance | Sequence[PathTolerance | None] | None = None
    """Where the tool may be: at all waypoints, or at each one; None for exact poses."""
    largest_deviation: float | None = None
    """How far the tool may leave the tolerance between waypoints [m]; None for any, see ``ToolPath.deviation``."""
    tool: FloatArray | None = None
    """(4, 4) pose in the tip frame of the tool that follows the waypoints; None for the tip itself."""
    workpiece: str | None = None
    """Link that carries the waypoints, a second tip of the group that a positioner moves; None for the base link."""
    tool_speed: float | None = None
    """Speed of the tool along the path [m/s]: no joint is faster than its velocity limit then; None for any speed."""
    corner: float = 0.0
    """Largest shift of a waypoint at a rounded corner of the path [m]."""
    is_closed: bool = False
    """Whether the last posture is the first one again."""
    passes: Sequence[int] = ()
    """Index of the first waypoint of each further pass; joints travel freely from one pass to the next, without collisions."""
    penalties: PathPenalties = PathPenalties()
    objective: PathObjective = PathObjective.JOINT_LENGTH
    largest_turn: float = 0.35
    """Largest step of a revolute joint between neighbouring waypoints [rad]."""
    largest_slide: float = 0.1
    """Largest step of a prismatic joint [m]."""
    locked: Mapping[str, float] = field(default_factory=dict)
    """Joints that do not move, with their values [rad or m]."""
    state: FloatArray | None = None
    """(nq) full state, read for joints outside the group [rad or m]; None for default values."""
    start: Sequence[float] | Mapping[str, float] | None = None
    """Joint values at the first waypoint, in order or by name; None for any."""
    end: Sequence[float] | Mapping[str, float] | None = None
    """Joint values at the last waypoint; None for any."""
    obstacles: Sequence[WorldObject] | None = None
    """Objects in the frame of the group's base link; None for no collision checks at all, not even of the robot with itself."""
    carried: Sequence[CarriedObject] = ()
    """Objects on links, a tool or the workpiece; checked as far as ``obstacles`` is not None."""
    clearance: float = 0.0
    """Least distance to obstacles, and of links from each other [m]."""
    accepts: Callable[[FloatArray], bool] | None = None
    """Is asked whether the path, or a corner of free travel, may take a posture (n,) in the order of ``joint_names``; None for any."""
    timeout: float | None = None
    """Wall-clock budget [s]; None for no limit."""
    bound_seconds: float = 0.0
    """How long the plan works on its lower bound, at most until the timeout [s]; 0 for no limit of time."""
    bound_rounds: int = 0
    """Most rounds that refine the lower bound; 0 for 60. If both are zero, a quick bound is returned, far lower."""
    is_cancelled: Callable[[], bool] | None = None
    """Is asked again and again; the plan ends soon after it returns true."""
    report_progress: ProgressReport | None = None
    """Is told again and again how far the plan is."""

    def __post_init__(self) -> None:
        """
        Raise SsikError for a setting of a wrong type, and for a number that makes no sense.

        Convert ``obstacles`` and ``carried`` to objects.
        """
        for name, (least, most, wanted) in NUMBERS.items():
            value = getattr(self, name)
            if value is not None and not least <= read_float(name, value) <= most:
                raise InvalidOption(f'{name} is {wanted}, not {value!r}.')
        if self.largest_deviation is not None:
            read_float('largest_deviation', self.largest_deviation)
        read_count('bound_rounds', self.bound_rounds)
        read_flag('is_closed', self.is_closed)
        for name in ('spin_axis', 'state', 'start', 'end', 'tool'):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                read_numbers(name, value)
        for name in ('accepts', 'is_cancelled', 'report_progress'):
            if getattr(self, name) is not None:
                check_callable(name, getattr(self, name))
        check_kind('penalties', self.penalties, PathPenalties)
        check_kind('objective', self.objective, PathObjective)
        check_mapping('locked', self.locked, 'values by the name of a joint')
        if self.spin_axis is not None and self.tolerance is not None:
            raise InvalidOption('Give spin_axis or tolerance, not both.')
        for tolerance in self.tolerances:
            if tolerance is not None:
                check_kind('tolerance', tolerance, PathTolerance)
        if self.obstacles is not None:
            object.__setattr__(self, 'obstacles', read_objects('obstacles', self.obstacles))
        object.__setattr__(self, 'carried', read_carried('carried', self.carried))

    @property
    def tolerances(self) -> list[PathTolerance | None]:
        """
        Return the tolerances of the waypoints: one for all, or one for each; None is an exact pose.

        A ``spin_axis`` becomes a tolerance with a free spin.
        """
        if self.spin_axis is not None:
            return [PathTolerance(axis=self.spin_axis, spin=ANY_ANGLE)]
        if self.tolerance is None or isinstance(self.tolerance, PathTolerance):
            return [self.tolerance]
        return list(check_listed('tolerance', self.tolerance))


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a planned joint path: a pass along waypoints, or free travel to the next pass."""

    is_travel: bool
    first: int
    """Index of the first waypoint; of travel, of the waypoint that it leaves."""
    last: int
    """Index of the last waypoint; of travel, of the waypoint that it leads to."""
    positions: FloatArray
    """(k, n) one row per waypoint; of travel, the corners of straight motions, both waypoints included [rad or m]."""
    times: FloatArray | None = None
    """(k,) when each row is reached, from the start of the path [s]; None where unknown."""


@tells_near_names
@dataclass(frozen=True, eq=False)
class ToolPath:
    """Result of a plan: the best joint path that was found, or the reason for the failure (then ``valid`` is False)."""

    valid: bool
    joint_names: tuple[str, ...]
    positions: FloatArray
    """(m, n) one row per waypoint [rad or m]. If the plan failed, the longest part of a path that works."""
    cost: float
    """Value of the objective and penalties; infinite if the plan failed."""
    lower_bound: float
    """A proved bound: no path has a lower cost."""
    cause: Cause = Cause.NONE
    reason: str = ''
    """Why the plan failed; empty if it succeeded."""
    failed_waypoint: int = -1
    """Index of the first waypoint that the search did not reach from the start; -1 if no waypoint is to blame."""
    first_waypoint: int = 0
    """Index of the waypoint that the first row of ``positions`` belongs to."""
    seconds: float = 0.0
    """Duration of the planning [s]."""
    penalty: float = 0.0
    """Part of the cost that comes from penalties."""
    deviation: float = 0.0
    """
    Proved: between waypoints of a pass, the position of the tool leaves its tolerance by at most this [m].

    It is 0 if no path was found.
    """
    times: FloatArray | None = None
    """(m,) when each waypoint is reached at the tool speed, or as fast as velocity limits allow [s]; None where unknown."""
    notes: Sequence[str] = ()
    """Notes on this plan for the user, one sentence each."""
    stretches: Sequence[Stretch] = ()
    """Passes and the free travel between them in their order; empty if no path was found."""

    @property
    def success(self) -> bool:
        """Return ``valid``; all results have the attribute ``success``."""
        return self.valid

    @property
    def gap(self) -> float:
        """
        Return how far the cost may be above the least possible cost, as a share of the cost.

        It is 0 if the plan failed or its cost is 0.
        """
        if not np.isfinite(self.cost) or self.cost <= 0.0:
            return 0.0
        return 1.0 - self.lower_bound / self.cost
