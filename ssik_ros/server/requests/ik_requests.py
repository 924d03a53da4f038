"""
Requests by name, as a service receives them, and their responses.

Poses are (4, 4) transforms; names are names of the robot's links, frames and joints. Nothing here knows
ROS: a service reads a request from its message and writes the response into another one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.results import Cause, IkResult
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.value_class import dataclass

AT_MODEL_FRAME: FloatArray = np.eye(4)
"""Pose of the root link of most robots; this very object is recognised, and nothing is multiplied."""
AT_MODEL_FRAME.setflags(write=False)


class FullState(NamedTuple):
    """Positions of all joints of the robot, and the pose of its root link."""

    positions: FloatArray
    """(nq) full state, followers included."""
    root_pose: FloatArray
    """(4, 4) pose of the root link in the model frame."""
    contradicted: tuple[str, ...] = ()
    """Followers that a request gave other values than their leaders."""


class ObjectGiven(NamedTuple):
    """An object that a request says is carried, or no longer."""

    object: WorldObject
    """Its pose is in ``frame``; without shapes the object of this name in the world is meant."""
    frame: str
    """Empty for the link that carries it."""
    link: str
    touch_links: frozenset[str] = frozenset()
    is_gone: bool = False
    """Whether it is carried no more."""


class CarriedGiven(NamedTuple):
    """Carried objects of a request."""

    objects: Sequence[ObjectGiven] = ()
    forgets: bool = False
    """Whether the robot carries nothing else: a state with is_diff=false replaces the whole robot state."""


NOTHING_CARRIED = CarriedGiven()


class StateGiven(NamedTuple):
    """The part of a state that a request names; everything else keeps its current value."""

    names: Sequence[str] = ()
    """Joints with one variable, or variables as ``joint/x``; the last of a repeated name counts."""
    positions: Sequence[float] = ()
    multi_dof_names: Sequence[str] = ()
    """Joints with several variables, the virtual joint of the semantic description among them."""
    multi_dof_poses: Sequence[FloatArray] = ()
    """(4, 4) each."""
    multi_dof_frame: str = ''
    """The frame of the transforms; empty for the model frame."""
    carried: CarriedGiven = NOTHING_CARRIED


class FramedPose(NamedTuple):
    """A pose in a named frame."""

    frame: str
    """Empty for the model frame, or a link of the robot."""
    pose: FloatArray
    """(4, 4)."""


class LinkGoal(NamedTuple):
    """One pose that one link is to reach."""

    link: str
    """Empty for the only tip of the group."""
    pose: FloatArray
    """(4, 4) pose of the link, or of the object that it carries, in the model frame."""
    tool: FloatArray | None = None
    """(4, 4) pose in the link of the carried object that is meant; None for the link itself."""


LARGEST_RESPONSE = 10_000
"""Postures in one response."""
NOTHING_GIVEN = StateGiven()


class BranchOptions(NamedTuple):
    """Fields of a request for every branch, in addition to :class:`IkRequest`."""

    max_solutions: int = 0
    """Zero, or more than ``LARGEST_RESPONSE``: so many."""
    enumerate_windings: bool = False
    """Whether each branch comes once for every winding of its joints."""
    tolerance: float = 0.0
    """Norm over position [m] and orientation [rad] error; zero means the solver's own."""


class SelfMotionOptions(NamedTuple):
    """Fields of a request for self-motions, in addition to :class:`IkRequest`."""

    free_axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Axis of the link about which it may spin, in its own frame; zero for none."""
    resolution: float = 0.0
    """No curve is missed on which the held joint moves by more than this [rad or m]; zero for the arm's own."""
    spacing: float = 0.0
    """Distance of two postures of a curve at most [rad]; zero for 0.1."""


@dataclass(slots=True)
class IkRequest:
    """Find joint positions of a group with which links are at poses."""

    group: str
    links: Sequence[str]
    """The link of each pose; empty for the only tip of the group."""
    poses: Sequence[FramedPose]
    state: StateGiven = NOTHING_GIVEN
    timeout: float = 0.0
    """Wall-clock budget [s]; zero or less means the group's own."""
    avoid_collisions: bool = False
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    branches: BranchOptions = BranchOptions()
    """Only ``~/solve_all`` reads it."""
    self_motions: SelfMotionOptions = SelfMotionOptions()
    """Only ``~/self_motions`` reads it."""


@dataclass(slots=True)
class FkRequest:
    """Compute the poses of links, of carried objects and of their subframes."""

    links: Sequence[str]
    frame: str = ''
    """Of the poses: empty for the model frame."""
    state: StateGiven = NOTHING_GIVEN


@dataclass(slots=True)
class StateRequest:
    """Check a state for collisions and constraints."""

    group: str = ''
    """Only collisions of links that its joints move count; empty for the whole robot."""
    state: StateGiven = NOTHING_GIVEN
    constraints: ConstraintsGiven = NO_CONSTRAINTS


class IkResponse(NamedTuple):
    """A full state, or the reason of a failure."""

    refusal: Refusal
    cause: Cause
    text: str
    """One sentence or more about the outcome."""
    state: FullState | None = None
    """Full state with the group at the solution; None without a solution."""
    result: IkResult | None = None
    """The solver's result; None if it was not called."""
    solve_ns: int = 0
    """Time within the solver [ns]."""
    colliding: tuple[str, ...] = ()
    """Two bodies that collide in the last candidate, if collisions are the cause."""

    @property
    def solved(self) -> bool:
        """Return whether there is a solution."""
        return self.state is not None

    @property
    def clock_ended(self) -> bool:
        """Return whether the clock ended the search."""
        return self.result is not None and self.result.clock_ended


class Branch(NamedTuple):
    """One posture of a group in which the links are at their poses."""

    positions: FloatArray
    """(n) the group's variables [rad or m]."""
    position_error: float
    """[m], measured at these positions; of several tips the largest."""
    orientation_error: float
    """[rad]."""
    distance: float
    """Root of the sum of squares of the differences from the seed; joints without limits modulo 2 pi."""
    limit_margin: float
    """Smallest distance of a variable to a limit of its own [rad or m]; inf without limits."""
    label: str
    branch: int
    """Postures of one number differ in their windings; from 0 on in the order of the response."""
    windings: Sequence[int]
    """Winding of each variable: how often 2 pi was added to its angle within (-pi, pi]; empty if the request did not enumerate windings."""


class BranchReport(NamedTuple):
    """How branches were found, and why the others were dropped: the fields of ssik_msgs/BranchDiagnostic."""

    solver: str = ''
    tier: str = ''
    reason: str = ''
    complete: bool = False
    """Whether the pose has no other postures within limits."""
    redundancy_samples: int = 0
    searches: int = 0
    raw_candidates: int = 0
    certified: int = 0
    different: int = 0
    dropped_by_limits: int = 0
    dropped_by_collision: int = 0
    dropped_by_clock: int = 0
    dropped_by_verification: int = 0
    dropped_by_max: int = 0
    clock_ended: bool = False
    solver_time: float = 0.0
    """Time within the solvers [s]."""


class BranchesResponse(NamedTuple):
    """Every branch, best first, or the reason of a failure."""

    refusal: Refusal
    cause: Cause
    text: str
    joint_names: Sequence[str] = ()
    """The variables of all positions."""
    branches: Sequence[Branch] = ()
    report: BranchReport = BranchReport()

    @property
    def solved(self) -> bool:
        """Return whether there is at least one posture."""
        return bool(self.branches)

    @property
    def clock_ended(self) -> bool:
        """Return whether the clock ended the search."""
        return self.report.clock_ended


class FkResponse(NamedTuple):
    """Poses of links in one frame."""

    refusal: Refusal
    cause: Cause
    text: str
    links: Sequence[str] = ()
    """The links that exist, in the order of the request."""
    poses: Sequence[FloatArray] = ()
    """(4, 4) each."""
    frame: str = ''
    """The frame of the poses; empty without poses."""
