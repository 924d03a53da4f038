"""
Data classes and interfaces between solvers and their callers (node, benchmark, command line, classes for users).

:class:`SolveRequest` goes to an :class:`IkSolver` or a :class:`BranchSolver`; :class:`SolverSpec` describes a kind of
solver. A solver is made once for a robot and a group; several threads may call it at once. Poses of targets are poses
of the solver's tip frames in its base frame.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause, IkResult
from ssik_ros.value_class import dataclass

Validation = Callable[[FloatArray], bool]


@dataclass(slots=True)
class SolveRequest:
    """
    One inverse-kinematics request to a solver: target poses, seed, limits and budgets.

    ``n`` joint variables of the group, ``t`` tips; None in a field means the solver's own value or no restriction. A
    candidate is a solution if it is within tolerance at every tip, inside all limits of this request, and
    ``validate(q)`` is true. Otherwise the search goes on to the next candidate.
    """

    targets: FloatArray
    """(t, 4, 4), or (4, 4) for one tip: poses of the tip frames in the base frame."""
    seed: FloatArray | None = None
    """(n,) first start and reference of distances; None means :func:`ssik_ros.model.default_seed.default_seed`."""
    state: FloatArray | None = None
    """(nq,) full state of the robot, read for joints outside the group; None means default values."""
    locked: Mapping[str, float | None] | None = None
    """Joints of the group held at a value, or at the seed's value for None [rad or m]; None means no joint."""
    tool_offsets: FloatArray | None = None
    """(t, 4, 4) or (4, 4): pose of the tool, which the targets then describe, in the tip frame."""
    lower: FloatArray | None = None
    """(n,) narrower lower limits for this request [rad or m]."""
    upper: FloatArray | None = None
    """(n,) narrower upper limits for this request [rad or m]."""
    consistency_limits: FloatArray | None = None
    """(n,) largest distance of each joint from the seed [rad or m]."""
    max_solutions: int = 1
    """Stop after so many distinct solutions."""
    timeout: float | None = None
    """Wall-clock budget from the call [s]; None and 0 set no limit, a negative number is refused."""
    max_searches: int | None = None
    """Budget of starts, the seed included."""
    tolerance: float | FloatArray | None = None
    """Norm over position [m] and orientation [rad] error per tip: a number or (t,)."""
    validate: Validation | None = None
    """Called with each candidate (n,); a false result refuses it, an exception ends the solve and propagates."""
    cancel: NDArray[np.int64] | None = None
    """(1,) flag that another thread sets to end the search at its next iteration."""
    wants_nearest: bool = False
    """Whether to search for the nearest posture also where a pose is proved to be out of reach."""


ONE = 1
"""
The ``max_solutions`` of a plain request, compared by identity.

This takes less time than a comparison of values, and True, 1.0 and other kinds of numbers are not this object.
"""
ONE_TIP = (1, 4, 4)
"""Shape that the targets of a group with one tip may have instead of (4, 4)."""


def is_plain(request: SolveRequest) -> bool:
    """
    Return whether a request wants one solution and nothing special.

    The state, the tolerance, the timeout and the cancel flag may have any value. A ``max_solutions`` other than the
    object ONE makes the request special. Planners and control loops send nearly nothing else; solvers have fast paths
    for such requests.
    """
    return (
        request.max_solutions is ONE
        and request.validate is None
        and request.tool_offsets is None
        and request.lower is None
        and request.upper is None
        and request.consistency_limits is None
        and request.max_searches is None
        and not request.wants_nearest
        and not request.locked
    )


class IkSolver(Protocol):
    """
    Interface that every solver of a planning group has: names of its joints and frames, ``solve`` and ``warm_up``.

    A solver may also have ``tier`` and ``reason``, which are shown to users. The tier is ``closed_form``,
    ``elimination``, ``search`` or ``iterative``. The reason is a part of a sentence that says why the solver suits this
    chain. A solver that chooses a method for each request may have ``reason_for(request)``, which returns a text that
    names the method and says why.
    """

    name: str
    """The name under which the registry made it, such as ``ssik_ros/PoseIK``."""
    joint_names: tuple[str, ...]
    """The joints of a solution, in its order."""
    base_frame: str
    """The link in which target poses are given."""
    tip_frames: tuple[str, ...]
    """The links that get the target poses, in the order of the targets."""

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Solve one request and return its result, which also describes a failed search.

        An invalid request raises a :class:`~ssik_ros.errors.RequestError` or another error of the package; a failed
        search does not.
        """
        ...

    def warm_up(self) -> None:
        """Do all set-up that would otherwise delay the first request, such as first calls of kernels."""
        ...


class BranchSet(NamedTuple):
    """Result of :meth:`BranchSolver.solve_all`: the branches of one pose, best first, and counts of candidates."""

    q: FloatArray
    """(k, n) verified joint vectors, one for each branch, nearest to the seed among its windings [rad or m]."""
    errors: FloatArray
    """(k, 2 t) position error [m] and rotation error [rad] at each target, one after the other."""
    labels: tuple[str, ...]
    """A name of each branch, different ones for different branches."""
    cause: Cause
    """Cause of the failure; NONE if at least one branch was found."""
    raw: int
    """Number of candidates before any check."""
    certified: int
    """Number of candidates that reach the pose."""
    different: int
    """Number of different candidates among the certified ones."""
    dropped: int
    """Number of different candidates outside of the limits."""
    samples: int
    """Number of values of a held joint that were tried; 1 if no joint is held, 0 if no value had to be tried."""
    searches: int
    """Number of starts of a search; 0 for closed forms."""
    clock_ended: bool
    """Whether a search for branches was ended by its time; False for closed forms."""


@runtime_checkable
class BranchSolver(Protocol):
    """Interface of an :class:`IkSolver` that can also return the branches of a pose, not only one solution."""

    is_complete: bool
    """Whether all branches are returned, and not only branches at samples of a redundancy."""

    def solve_all(self, request: SolveRequest) -> BranchSet:
        """
        Return the branches of a pose that are within limits and accepted by ``request.validate``, best first.

        If ``is_complete`` is True, these are all branches, except at a (nearly) singular pose, where further branches
        may exist. If it is False, only branches at samples of a redundancy are returned. Without any branch, the result
        has the cause.

        :param request: the request; ``max_solutions`` is not read, and a closed form ignores budgets.
        """
        ...


SolverFactory = Callable[[RobotModel, JointGroup, Any], IkSolver]


@dataclass(frozen=True, slots=True)
class SolverSpec:
    """
    Entry of the solver registry: name, description, options and factory of a kind of solver.

    ``options_type`` and ``factory`` may be import paths (``module:attribute``): they are imported when the solver is
    used, so that listing solvers stays cheap.
    """

    name: str
    """Name in a kinematics.yaml, ``package/Solver``."""
    description: str
    """One sentence for listings."""
    options_type: type | str
    """Frozen dataclass of the solver's parameters."""
    parameters_file: str
    """
    YAML file that documents and bounds every field of ``options_type``, next to the solver's module.

    It is given as ``package:relative/path``, and has the syntax of generate_parameter_library.
    """
    factory: SolverFactory | str
    """Called with robot, group and options."""
    aliases: tuple[str, ...] = ()
    """Other names of the solver, such as the name of the MoveIt plugin that it replaces."""
    parameter_aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of parameters, as ``{'epsilon': 'target_tolerance'}``."""
    position_only: bool = False
    """Whether the factory takes the keyword ``position_only=True``, for targets without orientation."""
