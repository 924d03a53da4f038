"""
Requests to a robot server and their responses, without ROS.

:class:`IkRequest` serves inverse kinematics, all branches and self-motions, :class:`FkRequest` forward kinematics, and
:class:`StateRequest` the check of a state. Poses are (4, 4) transforms; links, frames and joints are given by name. A
service reads a request from its message and writes the response into another message.
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
    """(nq,) values of all joints [rad or m], mimic joints included."""
    root_pose: FloatArray
    """(4, 4) pose of the root link in the model frame."""
    contradicted: tuple[str, ...] = ()
    """Names of mimic joints whose values in the request contradict the values of the joints that they follow."""


class ObjectGiven(NamedTuple):
    """An object that a request attaches to a link or detaches."""

    object: WorldObject
    """Its pose is in ``frame``; without shapes the object of this name in the world is meant."""
    frame: str
    """Empty for the link that carries it."""
    link: str
    """Link that carries the object; may be empty if ``is_gone``."""
    touch_links: frozenset[str] = frozenset()
    """Links that the object may touch without a collision."""
    is_gone: bool = False
    """Whether the object is detached."""


class CarriedGiven(NamedTuple):
    """The objects that a request attaches or detaches; with ``forgets``, the robot carries no other objects."""

    objects: Sequence[ObjectGiven] = ()
    forgets: bool = False
    """Whether the robot carries nothing else: a state with is_diff=false replaces the whole robot state."""


NOTHING_CARRIED = CarriedGiven()


class StateGiven(NamedTuple):
    """The part of a state that a request names; everything else keeps its current value."""

    names: Sequence[str] = ()
    """Joints with one variable, or variables as ``joint/x``; the last of a repeated name counts."""
    positions: Sequence[float] = ()
    """Value of each of ``names`` [rad or m]."""
    multi_dof_names: Sequence[str] = ()
    """Joints with several variables, the virtual joint of the semantic description among them."""
    multi_dof_poses: Sequence[FloatArray] = ()
    """(4, 4) pose of each of these joints; for the virtual joint, the pose of the root link."""
    multi_dof_frame: str = ''
    """The frame of these poses; empty for the model frame."""
    carried: CarriedGiven = NOTHING_CARRIED
    """Objects that the request attaches or detaches."""


class FramedPose(NamedTuple):
    """A pose in a named frame."""

    frame: str
    """Name of a link, an object or another frame; empty for the model frame."""
    pose: FloatArray
    """(4, 4)."""


class LinkGoal(NamedTuple):
    """A target pose for one link; or for a carried object or its subframe, whose pose in the link is ``tool``."""

    link: str
    """Empty for the only tip of the group."""
    pose: FloatArray
    """(4, 4) pose of the link, of the carried object or of its subframe, in the model frame."""
    tool: FloatArray | None = None
    """(4, 4) pose in the link of the carried object or subframe that the goal is for; None for the link itself."""


LARGEST_RESPONSE = 10_000
"""Postures in one response."""
NOTHING_GIVEN = StateGiven()


class BranchOptions(NamedTuple):
    """The options of a request for all branches, in addition to the fields of :class:`IkRequest`."""

    max_solutions: int = 0
    """Largest number of postures in the response; zero, or a larger number, means ``LARGEST_RESPONSE``."""
    enumerate_windings: bool = False
    """Whether each branch is returned once for every winding of its joints within the limits."""
    tolerance: float = 0.0
    """Largest norm of position [m] and orientation [rad] error; zero means the solver's tolerance."""


class SelfMotionOptions(NamedTuple):
    """
    The options of a request for self-motions, in addition to the fields of :class:`IkRequest`.

    The held joint is the joint whose value a curve varies; a closed form computes all other joints from it.
    """

    free_axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Axis in the frame of the link about which the link may rotate freely; zero for no such axis."""
    resolution: float = 0.0
    """
    If the curves are complete, none is missing on which the held joint moves by more than this [rad or m].

    The text of the response says whether they are. Zero means the default of the arm.
    """
    spacing: float = 0.0
    """Largest arc length between neighbouring postures of a curve in the response [rad]; zero for 0.1."""


@dataclass(slots=True)
class IkRequest:
    """
    Request for joint positions of a group that put links at poses: one solution, all branches, or self-motions.

    ``links`` and ``poses`` must have the same length.
    """

    group: str
    """Name of the planning group."""
    links: Sequence[str]
    """The link of each pose; empty for the only tip of the group."""
    poses: Sequence[FramedPose]
    """Target pose of each link."""
    state: StateGiven = NOTHING_GIVEN
    """Seed, and joints outside the group; other joints keep their current values."""
    timeout: float = 0.0
    """Wall-clock budget [s]; zero or less means the budget of the group."""
    avoid_collisions: bool = False
    """Whether solutions must be free of collisions."""
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    """Constraints that solutions must satisfy."""
    branches: BranchOptions = BranchOptions()
    """Only ``~/solve_all`` reads it."""
    self_motions: SelfMotionOptions = SelfMotionOptions()
    """Only ``~/self_motions`` reads it."""


@dataclass(slots=True)
class FkRequest:
    """Request for the poses of links, of carried objects and of their subframes."""

    links: Sequence[str]
    """Names of links, carried objects and subframes."""
    frame: str = ''
    """Frame of the poses in the response; empty for the model frame."""
    state: StateGiven = NOTHING_GIVEN
    """Joint values that the request names; all others keep their current values."""


@dataclass(slots=True)
class StateRequest:
    """Request to check a state for collisions and constraints."""

    group: str = ''
    """Planning group: only collisions of links that its joints move count. Empty for the whole robot."""
    state: StateGiven = NOTHING_GIVEN
    """The state to check; joints that it does not name have their current values."""
    constraints: ConstraintsGiven = NO_CONSTRAINTS
    """Constraints to check."""


class IkResponse(NamedTuple):
    """Response to a request for one solution: a full state, or the reason of a failure."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
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
        """Return whether the time budget ended the search before it was complete."""
        return self.result is not None and self.result.clock_ended


class Branch(NamedTuple):
    """One posture of a group in which the links are at their poses."""

    positions: FloatArray
    """(n,) the group's variables [rad or m]."""
    position_error: float
    """[m], measured at these positions; of several tips the largest."""
    orientation_error: float
    """[rad], in the same way."""
    distance: float
    """Root of the sum of squares of the differences from the seed; angles without limits modulo 2 pi."""
    limit_margin: float
    """Smallest distance of any variable from its limits [rad or m]; inf without limits."""
    label: str
    """Name that the solver gives the branch; different branches have different names."""
    branch: int
    """Number of the branch, from 0 in the order of the response; postures of one branch differ only in windings."""
    windings: Sequence[int]
    """
    Winding of each variable: how often 2 pi was added to its angle within (-pi, pi]; 0 for lengths.

    Empty if the request did not enumerate windings.
    """


class BranchReport(NamedTuple):
    """How branches were computed, and how many were dropped and why: the fields of ssik_msgs/BranchDiagnostic."""

    solver: str = ''
    """Name of the solver; empty if none was called."""
    tier: str = ''
    """Kind of the solver, such as ``closed_form`` or ``iterative``; empty if it has no kind."""
    reason: str = ''
    """Why this solver was chosen."""
    complete: bool = False
    """Whether a complete closed form made the postures and none was left out; proves nothing at a singular pose."""
    redundancy_samples: int = 0
    """Values of a held joint that were tried; 1 if no joint is held, 0 if none was tried, as in a search."""
    searches: int = 0
    """Starts of a search; 0 for closed forms."""
    raw_candidates: int = 0
    """Candidates before any check."""
    certified: int = 0
    """Candidates that reach the pose."""
    different: int = 0
    """Different candidates among the certified ones."""
    dropped_by_limits: int = 0
    """Different candidates outside the joint limits."""
    dropped_by_collision: int = 0
    """Candidates that the collision or constraint checks refused."""
    dropped_by_clock: int = 0
    """Candidates that were not checked, because of the deadline or a cancellation."""
    dropped_by_verification: int = 0
    """Postures that forward kinematics or the limits refused at the end."""
    dropped_by_max: int = 0
    """Postures above the largest number in the response; windings count if they are enumerated."""
    clock_ended: bool = False
    """Whether the deadline or a cancellation ended the search."""
    solver_time: float = 0.0
    """Time within the solvers [s]."""


class BranchesResponse(NamedTuple):
    """The branches that were found, nearest to the seed first, or the reason of a failure."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the failure; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: Sequence[str] = ()
    """The variables of all positions."""
    branches: Sequence[Branch] = ()
    """The postures; empty without a solution."""
    report: BranchReport = BranchReport()
    """How the branches were computed, and how many were dropped."""

    @property
    def solved(self) -> bool:
        """Return whether there is at least one posture."""
        return bool(self.branches)

    @property
    def clock_ended(self) -> bool:
        """Return whether the time budget ended the search before it was complete."""
        return self.report.clock_ended


class FkResponse(NamedTuple):
    """Poses of links, of carried objects and of their subframes, all in one frame."""

    refusal: Refusal
    """Kind of fault of the request; NONE without a fault. Names that exist have poses even if others do not."""
    cause: Cause
    """Cause of the refusal of the whole request; else NONE."""
    text: str
    """One sentence or more about the outcome."""
    links: Sequence[str] = ()
    """Those names of the request that exist, in its order."""
    poses: Sequence[FloatArray] = ()
    """(4, 4) each."""
    frame: str = ''
    """The frame of the poses; empty if an error ended the request before any pose was computed."""
