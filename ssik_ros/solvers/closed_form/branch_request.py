"""
Request and result of a search for all branches (IK solutions) of a pose by closed form.

:class:`BranchRequest` has the options, :class:`Branches` the result. Functions tell whether a result has a branch, find
the cause of an empty result, and add a branch to a result.

Shapes: ``n`` joints, ``k`` branches. A pose is the pose of the tip in the base frame, unless a request has a tool.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import ranking
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.kernels.search import causes
from ssik_ros.results import Cause, CAUSES
from ssik_ros.solvers.closed_form.plan import AnalyticPlan, BRANCH_SEPARATION, LARGEST_CAPACITY

KEEP_ALL = ranking.KEEP_ALL
WITHIN_LIMITS = ranking.WITHIN_LIMITS
WRAP_ONLY = ranking.WRAP_ONLY
METRICS = {'wrap_l2': ranking.SUM_OF_SQUARES, 'wrap_linf': ranking.LARGEST_DIFFERENCE}


class BranchRequest(NamedTuple):
    """
    Options of a search for branches, all but the pose: seed, order, limits, tool, held joint and tolerances.

    ``mode`` is WITHIN_LIMITS, WRAP_ONLY (move joints into limits by whole turns, drop nothing) or KEEP_ALL (ignore
    limits). ``metric`` is the distance from the seed: SUM_OF_SQUARES or LARGEST_DIFFERENCE of the joint differences. At
    most ``max_solutions`` branches are returned; 0 only counts them.
    """

    seed: FloatArray | None = None
    """(n,) seed: branches are sorted by their distance from it, and each joint takes the winding nearest to it."""
    mode: int = WITHIN_LIMITS
    metric: int = ranking.SUM_OF_SQUARES
    max_solutions: int = LARGEST_CAPACITY
    lower: FloatArray | None = None
    """(n,) lower limits that replace the lower limits of the chain [rad or m]; None keeps those."""
    upper: FloatArray | None = None
    """(n,) upper limits, in the same way."""
    tool: FloatArray | None = None
    """(4, 4) pose of the tool in the tip frame. If given, the requested pose is the pose of the tool."""
    held: int | None = None
    """Index of the joint to hold in a chain of seven joints; None for the joint of the arm's plan."""
    held_values: FloatArray | None = None
    """Values of the held joint to try [rad or m]; None spreads values over its limits, with the seed's value first."""
    samples: int | None = None
    """Number of values to spread over the limits of the held joint; None means the number set for the arm."""
    tolerance: float | None = None
    """Largest Frobenius norm of FK - T of an accepted branch; None means the default of the plan."""
    same: float | None = None
    """If all joints of two branches differ by less than this, they may be one branch [rad or m]; None: 1e-3."""


PLAIN = BranchRequest()


class Holding(NamedTuple):
    """The joint of seven to hold (index) and its values (k,); None lets the closed form choose joint or values."""

    held: int | None = None
    held_values: FloatArray | None = None

    @classmethod
    def among(cls, plan: AnalyticPlan, values: Mapping[int, float]) -> 'Holding':
        """
        Return which of several joints with given values the closed form holds.

        It is the joint that the plan samples anyway, such as a rail, or else the first one. The result has no joint if
        none is given, or if the arm needs no held joint.

        :param plan: plan of the arm.
        :param values: values of joints by index [rad or m].
        """
        if plan.held < 0 or not values:
            return cls()
        joint = plan.held if plan.held in values else next(iter(values))
        return cls(joint, np.array([values[joint]]))


class Branches(NamedTuple):
    """
    Branches of one pose, and counts of its candidates: found, certified, different and outside the limits.

    Flags say whether the pose is proved unreachable, and whether more branches may exist. The branches are sorted, best
    first, if the request has a seed. Without a seed their order is open.
    """

    q: FloatArray
    """(k, n) joint values [rad or m]."""
    errors: FloatArray
    """(k, 3) position error [m], rotation error [rad], Frobenius norm of FK - T."""
    raw: int
    """Number of candidates from the closed form."""
    certified: int
    """Number of candidates that reach the pose."""
    branches: int
    """Number of different branches among the certified candidates."""
    dropped: int
    """Number of different branches outside the limits."""
    samples: int
    """Tried values of the held joint: 1 if no joint is held, 0 if a proof excluded the pose before the first value."""
    starts: int = 0
    """Number of descents of slower searches; 0 if they did not run."""
    is_too_far: bool = False
    """True if the pose is proved to be out of reach, by the reach hull of the arm or by the length of its links."""
    is_doubtful: bool = False
    """True if the pose is (nearly) singular. Then more branches may exist, and an empty result proves nothing."""
    curves: FloatArray | None = None
    """(k, n + 2) curve of postures through each branch, see
    :class:`ssik_ros.solvers.closed_form.singular_poses.Settled`; None if all branches are isolated."""


def cause_of_absence(plan: AnalyticPlan, branches: Branches, beyond: Cause) -> Cause:
    """
    Return the cause why a pose has no branch within the limits: UNREACHABLE, NOT_FOUND or ``beyond``.

    The kernel :func:`ssik_ros.kernels.search.causes.of_absence` decides.

    :param plan: plan of the arm.
    :param branches: branches of the pose.
    :param beyond: cause to return if branches exist outside the limits of the request.
    """
    facts = branches.is_too_far, branches.is_doubtful, branches.certified > 0
    cause: int = causes.of_absence(*facts, plan.is_complete, beyond)
    return CAUSES[cause]


def tip_pose(pose: FloatArray, request: BranchRequest) -> FloatArray:
    """Return the pose (4, 4) of the tip for a requested pose; the two differ if the request has a tool."""
    return pose if request.tool is None else pose @ invert_pose(request.tool)


def is_met(branches: Branches, request: BranchRequest) -> bool:
    """
    Return whether the pose has a branch within the limits.

    With ``max_solutions`` 0 no rows are kept; then the counts of branches decide.
    """
    is_any_wanted = request.max_solutions > 0
    return len(branches.q) > 0 if is_any_wanted else branches.branches > branches.dropped


def with_row(
    branches: Branches, row: FloatArray, request: BranchRequest, plan: AnalyticPlan
) -> Branches:
    """
    Return branches with one more branch; unchanged if an existing branch agrees in all joints up to whole turns.

    Joints agree if they differ by less than ``request.same`` (1e-3 by default). With a seed the branches are sorted by
    distance from it; without a seed the new one comes last. Branches above ``max_solutions`` are cut off. The counts
    ``raw``, ``certified`` and ``branches`` rise by one.

    :param branches: branches of the same request.
    :param row: (n + 3,) joint values and errors.
    :param request: options of the request; its seed, limits and metric define the order.
    :param plan: plan of the chain.
    """
    n, chain = plan.size, plan.chain
    same = BRANCH_SEPARATION if request.same is None else request.same
    differences = chain.wrap_turns(branches.q - row[:n])
    if (np.abs(differences) < same).all(axis=1).any():
        return branches
    rows = np.vstack([np.hstack([branches.q, branches.errors]), row])
    if request.seed is not None:
        lower = chain.lower if request.lower is None else request.lower
        upper = chain.upper if request.upper is None else request.upper
        slides, metric = int(plan.ints[search.SLIDES]), request.metric
        keys = [
            ranking.distance(each, request.seed, n, slides, lower, upper, metric)
            for each in np.ascontiguousarray(rows[:, :n])
        ]
        rows = rows[np.argsort(keys, kind='stable')]
    rows = rows[: request.max_solutions]
    return branches._replace(
        q=np.ascontiguousarray(rows[:, :n]),
        errors=np.ascontiguousarray(rows[:, n:]),
        raw=branches.raw + 1,
        certified=branches.certified + 1,
        branches=branches.branches + 1,
    )
